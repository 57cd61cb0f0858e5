// SPDX-License-Identifier: Apache-2.0
/// Who touched an element since the last point that orders all, for finding races.
#pragma once

#include "compiler/ir/thread_groups.h"

#include "mlir/IR/Operation.h"

#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <memory>

namespace tilewright::interpreter {

/// How an element is touched. A `SameWrite` finds the value that it writes: with other writes it can't
/// give two results. An `OwnRead` is by one who wrote the value that is there, which nobody has changed
/// since: another's `SameWrite` doesn't change what it gives.
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
  /// What a touch of this kind is by one who wrote the value that is there: a Read may be an OwnRead.
  AccessKind afterOwnWrite(AccessKind kind) const;

private:
  bool hasOther(AccessKind kind, int64_t who) const;

  static constexpr size_t kKinds = 5; ///< a SameWrite is kept as a Write
  static constexpr int64_t kNobody = -1, kSeveral = -2;
  std::array<int64_t, kKinds> by = {kNobody, kNobody, kNobody, kNobody, kNobody};
  std::array<mlir::Operation*, kKinds> lastAt = {};
  bool hasChanged = false; ///< two values were written
};

inline constexpr int64_t kMostWarps = 32; ///< of a block

/// A thread, and what orders it with others of its block and of its warp: both rounds go up at each point
/// where these wait for each other. Threads in a group of their own are one party, as those of a warp are.
struct ThreadPlace {
  int64_t block = 0, thread = 0, warp = 0, party = 0, blockRound = 0, warpRound = 0;
};

/// The threads of one block that wrote the value which an element has. What orders threads doesn't
/// change who they are: with more barriers there are no more races.
class Authors {
public:
  /// Forgets those who wrote another value than `bits`, or are of another block.
  void keepIf(int64_t itsBlock, uint64_t bits);
  void add(const ThreadPlace& place);
  bool has(const ThreadPlace& place) const;

private:
  int64_t block = -1;
  uint64_t value = 0;
  llvm::SmallVector<uint32_t, 1> lanes; ///< a bit per thread, a word per warp
};

/// What the threads of one block did with an element.
class ThreadTouches {
public:
  /// Notes a touch of an element that holds `bits` behind it; the touches that it races with, or null.
  const Touches* note(AccessKind kind, const ThreadPlace& place, mlir::Operation* op,
                      uint64_t bits);
  /// What a touch of this kind is in `touches`, which is one of ours.
  AccessKind kindIn(const Touches& touches, AccessKind kind, const ThreadPlace& place) const;
  /// How `touches`, which is one of ours, calls a thread.
  int64_t numberOf(const Touches& touches, const ThreadPlace& place) const {
    return &touches == &parties ? place.party : place.thread;
  }

private:
  Touches parties,
      lanes; ///< of the block since all its threads met; of the last party since that met
  Authors authors;
  llvm::SmallVector<int64_t, 2> writers; ///< parties of which a thread wrote since all threads met
  int64_t blockRound = -1, party = -1, warpRound = -1;
};

/// What was done with an element since the last point that orders all.
struct Access {
  Touches blocks, iterations;
  std::unique_ptr<ThreadTouches> threads;
  int64_t round = 0;  ///< of the blocks: between two waits of all
  int64_t epoch = -1; ///< of the iterations: the parallel loop that ran
  /// Of what each thread has for itself: the iteration of that loop that wrote it last.
  int64_t writer = 0;
};

} // namespace tilewright::interpreter
