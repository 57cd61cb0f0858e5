// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/event_ids.h"

#include <algorithm>
#include <set>

namespace tilewright::ascend::model {
namespace {

/// From the first set to the last wait, in text order.
struct Life {
  unsigned first = kNone, last = 0;
};

class Positions {
public:
  Positions(const Program& program, size_t numFlags) : lives(numFlags) {
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
      for (unsigned slot = 0; slot < sync.slots; ++slot) {
        Life& life = lives[sync.flag + slot];
        life.first = std::min(life.first, position);
        life.last = std::max(life.last, position);
      }
    }
  }
  unsigned position = 0;
};

struct Waiting {
  unsigned insertion = 0;
  unsigned flag = 0; ///< the first of `slots`
  Life life;
};

/// True if both take ids of the same pool.
bool isSamePool(const Flag& a, const Flag& b) {
  return a.isCross == b.isCross && (a.isCross || (a.from == b.from && a.to == b.to));
}

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

} // namespace

unsigned assignEventIds(Program& program, const std::vector<Insertion>& insertions,
                        const InsertOptions& options, std::vector<Unorderable>& failures) {
  const Positions positions(program, program.flags.size());
  std::vector<Waiting> waiting;
  std::set<unsigned> inserted;
  for (unsigned i = 0; i < insertions.size(); ++i) {
    const Insertion& each = insertions[i];
    if (each.isBarrier)
      continue;
    waiting.push_back({i, each.firstFlag, positions.lives[each.firstFlag]});
    for (unsigned slot = 0; slot < each.slots; ++slot)
      inserted.insert(each.firstFlag + slot);
  }
  std::set<unsigned> users = program.reserved;
  for (const Node& node : program.nodes)
    if (node.kind == NodeKind::Sync && node.sync.flag != kNone)
      for (unsigned slot = 0; slot < node.sync.slots; ++slot)
        users.insert(node.sync.flag + slot);
  std::sort(waiting.begin(), waiting.end(), [](const Waiting& a, const Waiting& b) {
    return std::pair(a.life.first, a.insertion) < std::pair(b.life.first, b.insertion);
  });

  unsigned crowded = kNone, longest = 0;
  std::vector<const Waiting*> done;
  for (const Waiting& each : waiting) {
    const Insertion& insertion = insertions[each.insertion];
    const Flag& flag = program.flags[each.flag];
    const unsigned end = flag.isCross ? options.endCross : options.numEvents;
    const auto isFree = [&](unsigned id) {
      for (const unsigned user : users)
        if (isSamePool(program.flags[user], flag) && program.flags[user].id == id)
          return false;
      for (const Waiting* other : done) {
        const unsigned first = program.flags[other->flag].id;
        if (isSamePool(program.flags[other->flag], flag) && id >= first &&
            id < first + insertions[other->insertion].slots && other->life.last > each.life.first)
          return false;
      }
      return true;
    };
    const unsigned id = freeId(
        insertion.slots, flag.isCross ? options.firstCross : 0, end, isFree, [&](unsigned number) {
          unsigned last = 0;
          for (const Waiting* other : done) {
            const unsigned first = program.flags[other->flag].id;
            if (isSamePool(program.flags[other->flag], flag) && number >= first &&
                number < first + insertions[other->insertion].slots)
              last = std::max(last, other->life.last);
          }
          return last;
        });
    if (id != kNone) {
      for (unsigned slot = 0; slot < insertion.slots; ++slot)
        program.flags[each.flag + slot].id = id + slot;
      done.push_back(&each);
      continue;
    }
    // The one to shorten: the longest that is in the way, or this one.
    const auto consider = [&](const Waiting& candidate) {
      const unsigned length = candidate.life.last - candidate.life.first;
      if (insertions[candidate.insertion].setAt && length + 1 > longest &&
          isSamePool(program.flags[candidate.flag], flag)) {
        longest = length + 1;
        crowded = candidate.insertion;
      }
    };
    consider(each);
    for (const Waiting* other : done)
      if (other->life.last > each.life.first)
        consider(*other);
    if (crowded == kNone && !flag.isCross)
      return each.insertion;
    if (crowded == kNone)
      failures.push_back({insertion.why, "all cross-core flags are taken"});
    return crowded;
  }
  return kNone;
}

} // namespace tilewright::ascend::model
