// SPDX-License-Identifier: Apache-2.0
/// Who touched an element since the last point that orders all, for finding races.
#pragma once

#include "compiler/interpreter/clocks.h"
#include "compiler/ir/thread_groups.h"

#include "mlir/IR/Operation.h"

#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tilewright::interpreter {

/// How an element is touched. A `SameWrite` finds the value that it writes: with other writes it can't
/// give two results. An `OwnRead` is by one who wrote the value that is there, or comes after who did:
/// another's `SameWrite` of that value doesn't change what it gives. Only threads have these two.
enum class AccessKind { Read, Write, AtomicRead, AtomicUpdate, OwnRead, SameWrite };

/// Who touched an element, of blocks or iterations, which have no order among themselves.
class Touches {
public:
  /// Where another touched the element with whom `who` races, touching it so: one of the two writes, one
  /// isn't atomic. Null where nobody did.
  mlir::Operation* findRace(AccessKind kind, int64_t who) const;
  /// Whether the other one of such a race is atomic.
  bool isWithAtomic(AccessKind kind, int64_t who) const;
  void add(AccessKind kind, int64_t who, mlir::Operation* op);

private:
  bool hasOther(AccessKind kind, int64_t who) const;

  static constexpr size_t kKinds = 4;
  static constexpr int64_t kNobody = -1, kSeveral = -2;
  std::array<int64_t, kKinds> by = {kNobody, kNobody, kNobody, kNobody};
  std::array<mlir::Operation*, kKinds> lastAt = {};
};

/// A touch that races with another one.
struct Race {
  mlir::Operation* at = nullptr; ///< the other one
  bool isWithAtomic = false;     ///< one of the two
};

/// A thread, or all of a block, and what orders it with others of its block and with other blocks.
struct ThreadPlace {
  int64_t block = 0, thread = 0;
  int64_t blockRound = 0;           ///< the last meeting of all threads of the block
  int64_t meeting = 0;              ///< its own last one
  const Knowledge* known = nullptr; ///< of meetings since the block's; null without any
  const Clock* others = nullptr;    ///< what atomics told of other blocks; null without any
  bool isWhole = false;             ///< all of the block

  int64_t warp() const {
    return thread / tile::kWarpSize;
  }
  uint32_t lane() const {
    return uint32_t(1) << (thread % tile::kWarpSize);
  }
  /// Whether all that a thread did between a meeting and its next one is before what this one does now.
  bool isAfter(int64_t other, int64_t itsMeeting) const {
    return known && (*known)[size_t(other)] > itsMeeting;
  }
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

/// What the threads of one block did with an element since all of them met.
class ThreadTouches {
public:
  /// Notes a touch of an element that holds `bits` behind it, or gives one that it races with.
  std::optional<Race> note(AccessKind kind, const ThreadPlace& place, mlir::Operation* op,
                           uint64_t bits);

private:
  /// What lanes of one warp did in the same way between two meetings.
  struct Touch {
    mlir::Operation* op = nullptr; ///< the last one
    int64_t meeting = 0, warp = 0;
    uint64_t bits = 0; ///< of a write or OwnRead
    uint32_t lanes = 0;
    AccessKind kind = AccessKind::Read;
    bool isSeveral = false; ///< there were other bits before, by the only lane

    bool isOther(uint64_t than) const {
      return isSeveral || bits != than;
    }
  };
  static bool conflicts(AccessKind kind, uint64_t bits, const Touch& before);
  static bool isBefore(const Touch& touch, const ThreadPlace& place);
  bool isAfterWriter(const ThreadPlace& place, uint64_t bits) const;
  void add(AccessKind kind, const ThreadPlace& place, mlir::Operation* op, uint64_t bits);

  llvm::SmallVector<Touch, 1> touches;
  Authors authors;
  int64_t blockRound = -1;
};

/// What blocks did with an element, where atomics may order them: as Touches, but by thread and time.
class BlockTouches {
public:
  /// Notes a touch, or gives one of another block that it races with.
  std::optional<Race> note(AccessKind kind, const ThreadPlace& place, mlir::Operation* op);

private:
  /// What lanes of one warp, or all of a block, did between two meetings.
  struct Touch {
    mlir::Operation* op = nullptr; ///< the last one
    int64_t block = 0, meeting = 0, warp = 0;
    uint32_t lanes = 0;
  };
  static constexpr int64_t kWhole = -1; ///< for the warp
  static bool isBefore(const Touch& touch, const ThreadPlace& place);
  void add(AccessKind kind, const ThreadPlace& place, mlir::Operation* op);

  std::array<llvm::SmallVector<Touch, 0>, 4> touches; ///< by kind
};

/// An element in a kernel with atomics that have an order.
struct OrderedElement {
  BlockTouches blocks;
  /// What was before the writes that gave it its value, as far as they say so; null where they don't.
  std::shared_ptr<const Clock> released;
};

/// What was done with an element since the last point that orders all.
struct Access {
  Touches blocks, iterations;
  std::unique_ptr<OrderedElement> ordered; ///< takes the place of `blocks`
  std::unique_ptr<ThreadTouches> threads;
  int64_t round = 0;  ///< of the blocks: between two waits of all
  int64_t epoch = -1; ///< of the iterations: the parallel loop that ran
  /// Of what each thread has for itself: the iteration of that loop that wrote it last.
  int64_t writer = 0;
};

} // namespace tilewright::interpreter
