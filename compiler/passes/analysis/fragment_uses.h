// SPDX-License-Identifier: Apache-2.0
/// What threads do with the fragments of a launch, and which of them: a fragment lies in the registers of
/// its threads, so what some of them write there the others don't have.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/passes/analysis/thread_divergence.h"
#include "compiler/passes/analysis/thread_indices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/BitVector.h"

namespace tilewright {

/// A condition in one form for all ways to write it: `n > tx` is `tx < n`, and `tx >= n` that flipped.
struct Condition {
  mlir::Value value;
  mlir::arith::CmpIPredicate predicate = mlir::arith::CmpIPredicate::eq;
  mlir::Value left, right; ///< null where it is no comparison
  bool isFlipped = false;

  static Condition of(mlir::Value value);
  /// Whether both, not flipped, are sure to be the same.
  bool isLike(const Condition& other) const;
};

/// The threads that come to a place, as far as the branches around it say.
struct Comers {
  struct Side {
    Condition condition;
    bool holds; ///< the condition, not flipped
  };
  llvm::BitVector known;            ///< those whom no branch with known threads keeps away
  llvm::SmallVector<Side, 2> sides; ///< of the branches whose threads only the run knows

  bool contains(const Comers& part) const;
  bool isApartFrom(const Comers& other) const;
};

/// An operation that uses fragments.
struct FragmentUse {
  mlir::Operation* op =
      nullptr; ///< a view, one on tiles or an element, or the outermost T.Parallel around it
  Comers comers;
  llvm::SmallVector<size_t, 2> reads, writes; ///< numbers of fragments
  bool isEach = false;                        ///< each thread may write something else
};

class FragmentUses {
public:
  explicit FragmentUses(tile::LaunchOp launch);

  llvm::SmallVector<tile::AllocOp> fragments;
  std::vector<FragmentUse> uses; ///< in the order of the text

  /// The number of the fragment that a buffer is, or shows.
  std::optional<size_t> numberOf(mlir::Value buffer) const;
  /// Whether a condition stays the same as long as there is the fragment.
  bool isSettled(const Comers& comers, size_t fragment);
  /// Whether all who come to `part` have come to `whole` before, or will, as long as there is the fragment.
  bool contains(const FragmentUse& whole, const FragmentUse& part, size_t fragment);
  /// Whether two uses touch no element of a fragment in common.
  bool areApart(const FragmentUse& left, const FragmentUse& right, size_t fragment);
  /// Whether no two threads write one element of it in `use`, in different turns of loops either.
  bool isDistinct(const FragmentUse& use, size_t fragment);
  /// Whether it writes all of a fragment, whatever was there.
  bool overwrites(const FragmentUse& use, size_t fragment);
  /// Whether threads may take different ways through a branch or loop.
  bool differs(mlir::Operation* structure) const {
    return divergence.differs(structure);
  }

private:
  void add(mlir::Operation* op);
  Comers comersAt(mlir::Operation* op);
  bool narrow(llvm::BitVector& threads, mlir::Value condition, bool holds);
  bool isEachOf(mlir::Operation* op) const;
  bool isSettled(mlir::Value value, tile::AllocOp fragment, unsigned depth = 0);

  tile::LaunchOp launch;
  ThreadDivergence divergence;
  ThreadIndices indices;
  llvm::DenseMap<mlir::Value, size_t> numbers; ///< of the allocations' buffers
};

} // namespace tilewright
