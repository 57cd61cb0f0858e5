// SPDX-License-Identifier: Apache-2.0
/// Which elements the threads of a block touch: an index as a number per thread plus what is the same
/// for all of them.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/ir/thread_groups.h"
#include "compiler/passes/analysis/thread_divergence.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <vector>

namespace tilewright {

/// `numbers[thread]` + the sum of the terms, or not known.
struct ThreadIndex {
  bool isKnown = false;
  std::vector<int64_t> numbers; ///< one for each thread
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;
  /// Filled when first asked for: the threads, by their numbers, and whether no two have the same.
  std::vector<size_t> order = {};
  bool isOwn = false;

  void sort();
};

/// An element that a thread touches: the indices of a buffer.
struct ThreadAccess {
  mlir::ValueRange indices;
  /// Loops that may have gone on since: their values are others now.
  llvm::SmallVector<mlir::Operation*, 2> stale;
};

/// Of which two threads is asked.
struct ThreadPairs {
  const llvm::BitVector* members = nullptr; ///< both are of these; of the block if null
  bool isAcrossWarps = false;               ///< they are of different warps
  llvm::ArrayRef<ThreadIndex> bounds = {};  ///< below 0 for both

  bool has(size_t one, size_t other) const {
    return one != other &&
           (!members || ((*members)[unsigned(one)] && (*members)[unsigned(other)])) &&
           (!isAcrossWarps || one / size_t(tile::kWarpSize) != other / size_t(tile::kWarpSize));
  }
  bool hasAny(size_t threads) const;
};

class ThreadIndices {
public:
  ThreadIndices(tile::LaunchOp launch, const ThreadDivergence& divergence)
      : extents(launch.getThreads()), threads(launch.getThreadCount()), divergence(divergence) {}

  /// Whether two different threads may touch one element, the one as in `before`, the other as in `now`.
  bool mayMeet(const ThreadAccess& before, const ThreadAccess& now, ThreadPairs pairs = {});
  /// A number, or a condition as 0 and 1.
  const ThreadIndex& indexOf(mlir::Value value);
  /// left - right, and `more`.
  ThreadIndex difference(mlir::Value left, mlir::Value right, int64_t more = 0);

private:
  /// How far two indices may lie apart, without what threads add: all integers between, or any.
  struct Distance {
    bool isAny = false;
    int64_t low = 0, high = 0;
  };

  ThreadIndex compute(mlir::Value value);
  ThreadIndex combined(mlir::Operation* op);
  /// Whether two numbers differ, whoever has them: the one is the other with some bits flipped.
  bool areApart(mlir::Value before, mlir::Value now, llvm::ArrayRef<mlir::Operation*> stale) const;
  static bool isBeyond(const ThreadIndex& before, const ThreadIndex& now,
                       llvm::ArrayRef<mlir::Operation*> stale, llvm::ArrayRef<ThreadIndex> bounds);
  static bool isFar(const ThreadIndex& before, const ThreadIndex& now, Distance distance);
  Distance distance(const ThreadIndex& before, const ThreadIndex& now,
                    llvm::ArrayRef<mlir::Operation*> stale) const;

  llvm::ArrayRef<int64_t> extents;
  int64_t threads;
  const ThreadDivergence& divergence;
  llvm::DenseMap<mlir::Value, std::unique_ptr<ThreadIndex>> known;
};

} // namespace tilewright
