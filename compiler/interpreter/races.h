// SPDX-License-Identifier: Apache-2.0
/// Who touched an element since the last point that orders all, for finding races.
#pragma once

#include "mlir/IR/Operation.h"

#include <array>
#include <cstdint>
#include <memory>

namespace tilewright::interpreter {

/// How an element is touched. A `SameWrite` finds the value that it writes: with other writes it can't
/// give two results. An `OwnRead` is by one who wrote the only value that anybody has written: another's
/// `SameWrite` doesn't change what it gives.
enum class AccessKind { Read, Write, AtomicRead, AtomicUpdate, OwnRead, SameWrite };

/// Who touched an element, of blocks, iterations or threads that have no order among themselves.
class Touches {
public:
  /// Where another touched the element with whom `who` races, touching it so: one of the two writes, one
  /// isn't atomic. Null where nobody did.
  mlir::Operation* findRace(AccessKind kind, int64_t who) const;
  /// Whether the other one of such a race is atomic.
  bool isWithAtomic(AccessKind kind, int64_t who) const;
  void add(AccessKind kind, int64_t who, mlir::Operation* op);
  /// What a touch of this kind is, after what `who` has written: a Read may be an OwnRead.
  AccessKind afterOwnWrites(AccessKind kind, int64_t who) const;

private:
  bool hasOther(AccessKind kind, int64_t who) const;

  static constexpr size_t kKinds = 5; ///< a SameWrite is kept as a Write
  static constexpr int64_t kNobody = -1, kSeveral = -2, kTold = 64;
  std::array<int64_t, kKinds> by = {kNobody, kNobody, kNobody, kNobody, kNobody};
  std::array<mlir::Operation*, kKinds> lastAt = {};
  uint64_t writers = 0;    ///< a bit for each of the first `kTold`
  bool hasChanged = false; ///< two values were written
};

inline constexpr int64_t kWarpSize = 32;

/// A thread, and what orders it with others of its block and of its warp: both numbers go up at each point
/// where these wait for each other.
struct ThreadPlace {
  int64_t thread = 0, warp = 0, blockRound = 0, warpRound = 0;
};

/// What the threads of one block did with an element.
class ThreadTouches {
public:
  /// Notes a touch; the touches that it races with, or null.
  const Touches* note(AccessKind kind, const ThreadPlace& place, mlir::Operation* op);
  /// How `touches`, which is one of ours, calls a thread.
  int64_t numberOf(const Touches& touches, const ThreadPlace& place) const {
    return &touches == &warps ? place.warp : place.thread % kWarpSize;
  }

private:
  Touches warps, lanes; ///< of the block since all its threads met; of the last warp since that met
  int64_t blockRound = -1, warp = -1, warpRound = -1;
};

/// What was done with an element since the last point that orders all.
struct Access {
  Touches blocks, iterations;
  std::unique_ptr<ThreadTouches> threads;
  int64_t round = 0;  ///< of the blocks: between two waits of all
  int64_t epoch = -1; ///< of the iterations: the parallel loop that ran
};

} // namespace tilewright::interpreter
