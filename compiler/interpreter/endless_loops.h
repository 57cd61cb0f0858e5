// SPDX-License-Identifier: Apache-2.0
/// Finds while loops that never end, long before the kernel has run too many operations.
#pragma once

#include "compiler/ir/tile.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::interpreter {

/// The names of the buffers that a loop's condition is made of, where nothing in the loop changes it: only
/// buffers that one thread alone sees if `onlyOwn`. Nothing if it may change, or if something else
/// may end the loop.
std::optional<std::vector<std::string>> fixedCondition(tile::WhileOp loop, bool onlyOwn);

/// All elements of a kernel's memory as one number, which is the same where all of them are.
class MemoryState {
public:
  /// An element at `place` becomes `next`; `before` is what it was, if it was written.
  void change(uint64_t place, std::optional<uint64_t> before, uint64_t next) {
    const uint64_t mark = (before ? markOf(place, *before) : 0) ^ markOf(place, next);
    state ^= mark;
    seen ^= mark;
  }
  /// Something happened that this doesn't see: from here on it is like no state before.
  void changeUnseen() {
    state ^= markOf(++unseen, ~uint64_t(0));
  }
  /// What has been written, without what this doesn't see.
  uint64_t written() const {
    return seen;
  }
  bool operator==(const MemoryState& other) const {
    return state == other.state;
  }

private:
  /// The finalizer of splitmix64.
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  static uint64_t markOf(uint64_t place, uint64_t value) {
    return mix(place + 0x9e3779b97f4a7c15 * (1 + mix(value + 0x9e3779b97f4a7c15)));
  }

  uint64_t state = 0, seen = 0, unseen = 0;
};

/// A loop's turns, of which some are kept (Brent's way to find a cycle of any length).
class LoopTurns {
public:
  /// A turn begins: how many turns before the memory was the same; 0 if it never was.
  int64_t begin(const MemoryState& memory) {
    if (turn > 0 && memory == kept)
      return turn - keptTurn;
    if (std::has_single_bit(uint64_t(turn)) || turn == 0)
      kept = memory, keptTurn = turn;
    ++turn;
    return 0;
  }

private:
  MemoryState kept;
  int64_t turn = 0, keptTurn = 0;
};

} // namespace tilewright::interpreter
