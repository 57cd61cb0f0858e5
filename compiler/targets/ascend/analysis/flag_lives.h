// SPDX-License-Identifier: Apache-2.0
/// Where flags live in the text.
#pragma once

#include "compiler/targets/ascend/analysis/program.h"

namespace tilewright::ascend::model {

/// From the first set to the last wait, in text order.
struct Life {
  unsigned first = kNone, last = 0;
  unsigned length() const {
    return last - first;
  }
};

/// Of the flags that have been inserted.
class Positions {
public:
  explicit Positions(const Program& program) : lives(program.flags.size()) {
    number(program.body);
  }
  std::vector<Life> lives; ///< by flag

private:
  void number(const Block& block) {
    for (const Node* node : block) {
      note(node->before);
      number(node->body);
      number(node->otherwise);
      note(node->after);
    }
  }
  void note(const std::vector<Sync>& syncs) {
    for (const Sync& sync : syncs) {
      ++position;
      if (sync.insertion == kNone || sync.flag == kNone)
        continue;
      for (unsigned slot = 0; slot < sync.slots(); ++slot) {
        Life& life = lives[sync.flag + slot];
        life.first = std::min(life.first, position);
        life.last = std::max(life.last, position);
      }
    }
  }
  unsigned position = 0;
};

/// The first of `slots` free ids that were used the longest ago, or kNone: so a flag is rarely set
/// again before its last wait is over.
template <typename IsFree, typename LastUse>
unsigned freeId(unsigned slots, unsigned begin, unsigned end, IsFree isFree, LastUse lastUse) {
  unsigned best = kNone, bestUse = kNone;
  for (unsigned id = begin; id + slots <= end; ++id) {
    unsigned use = 0;
    bool allFree = true;
    for (unsigned slot = 0; slot < slots; ++slot) {
      allFree = allFree && isFree(id + slot);
      use = std::max(use, lastUse(id + slot));
    }
    if (allFree && use < bestUse) {
      best = id;
      bestUse = use;
    }
  }
  return best;
}

} // namespace tilewright::ascend::model
