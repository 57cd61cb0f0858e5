// SPDX-License-Identifier: Apache-2.0
/// For which threads of a block a condition holds.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilewright {

class ThreadDivergence;
class ThreadIndices;
struct ThreadIndex;

/// The ranges of neighbours among threads: first, end, and again.
llvm::SmallVector<int64_t, 4> rangesOf(const llvm::BitVector& members);
bool areNeighbours(const llvm::BitVector& members);

/// For which threads a condition holds.
struct ThreadChoice {
  std::optional<llvm::BitVector> members; ///< if nothing else decides
  /// Whatever else decides: those for which it holds are neighbours; so are those for which it doesn't;
  /// it is the same throughout each warp.
  bool isRange = false, isRestRange = false, isOfWarps = false;

  bool isKnown() const {
    return members || isRange || isRestRange;
  }
};

/// The threads that come to a place.
struct ThreadParty {
  std::optional<llvm::BitVector> threads; ///< if known when compiling
  bool isOfWarps = true;

  /// Those of them that take one side of a branch.
  ThreadParty part(const ThreadChoice& choice, bool isElse) const;
};

class ThreadChoices {
public:
  ThreadChoices(int64_t threads, const ThreadDivergence& divergence, ThreadIndices& indices)
      : threads(threads), divergence(divergence), indices(indices) {}

  ThreadChoice choiceOf(mlir::Value condition);
  /// Numbers that are below 0 for all who take a side.
  void addBounds(mlir::Value condition, bool isElse, llvm::SmallVectorImpl<ThreadIndex>& bounds);
  /// Whether one thread at most takes a side, whichever it is.
  bool isOfOne(mlir::Value condition, bool isElse);

private:
  ThreadChoice choiceOf(mlir::arith::CmpIOp comparison);
  ThreadChoice choiceOf(llvm::BitVector members) const;

  int64_t threads;
  const ThreadDivergence& divergence;
  ThreadIndices& indices;
};

} // namespace tilewright
