// SPDX-License-Identifier: Apache-2.0
#include "compiler/interpreter/clocks.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright::interpreter {

void BlockTimes::join(const BlockTimes& other) {
  // Where all threads met later, all of their meetings before that are known.
  if (other.round > round) {
    *this = other;
  } else if (other.round == round && other.threads && other.threads != threads) {
    if (!threads) {
      threads = other.threads;
      return;
    }
    auto together = std::make_shared<Knowledge>(*threads);
    for (auto [all, more] : llvm::zip(*together, *other.threads))
      all = std::max(all, more);
    threads = std::move(together);
  }
}

static bool isBelow(const std::pair<int64_t, BlockTimes>& entry, int64_t block) {
  return entry.first < block;
}

const BlockTimes* Clock::find(int64_t block) const {
  auto found = llvm::lower_bound(blocks, block, isBelow);
  return found != blocks.end() && found->first == block ? &found->second : nullptr;
}

void Clock::join(int64_t block, const BlockTimes& times) {
  auto found = llvm::lower_bound(blocks, block, isBelow);
  if (found != blocks.end() && found->first == block)
    found->second.join(times);
  else
    blocks.insert(found, {block, times});
}

void Clock::join(const Clock& other) {
  std::vector<std::pair<int64_t, BlockTimes>> together;
  together.reserve(std::max(blocks.size(), other.blocks.size()));
  auto mine = blocks.begin();
  for (const auto& theirs : other.blocks) {
    for (; mine != blocks.end() && mine->first < theirs.first; ++mine)
      together.push_back(std::move(*mine));
    together.push_back(theirs);
    if (mine != blocks.end() && mine->first == theirs.first)
      together.back().second.join((mine++)->second);
  }
  together.insert(together.end(), std::move_iterator(mine), std::move_iterator(blocks.end()));
  blocks = std::move(together);
}

} // namespace tilewright::interpreter
