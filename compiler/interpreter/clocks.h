// SPDX-License-Identifier: Apache-2.0
/// What atomics with an order make known to other blocks: which of each block's meetings were before.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tilewright::interpreter {

/// Threads meet where they wait for each other, and these meetings are numbered. By thread of the block: its last
/// meeting that is before what the one who knows this does now, itself or through meetings of others.
using Knowledge = std::vector<int64_t>;

/// What is known of a block: its last meeting of all threads, and of the threads those since then.
struct BlockTimes {
  int64_t round = 0;
  std::shared_ptr<const Knowledge> threads; ///< null where there are none

  void join(const BlockTimes& other);
};

/// What is known of blocks, by their numbers. Of a block that isn't here nothing is.
class Clock {
public:
  const BlockTimes* find(int64_t block) const;
  void join(int64_t block, const BlockTimes& times);
  void join(const Clock& other);

private:
  std::vector<std::pair<int64_t, BlockTimes>> blocks; ///< their numbers rise
};

} // namespace tilewright::interpreter
