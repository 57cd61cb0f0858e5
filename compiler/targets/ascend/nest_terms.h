// SPDX-License-Identifier: Apache-2.0
/// Indices and guards of an element-wise nest, as they are known before it.
#pragma once

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/analysis/same_number.h"

#include <mlir/IR/IRMapping.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

#include <optional>

namespace tilewright::ascend {

/// An index: the nest's variable with this number, if any, plus an index that is the same in all iterations (null: 0).
struct NestTerm {
  std::optional<size_t> variable;
  mlir::Value base;

  bool operator==(const NestTerm& other) const {
    return variable == other.variable && isSameNumber(base, other.base);
  }
};

/// Iterations of a nest: a box.
struct NestBox {
  /// By variable: numbers from which on it goes, and before which it ends. None: all iterations.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>, 2> begins, ends;
  /// What must hold besides; the same in all iterations.
  llvm::SmallVector<mlir::Value> conditions;
  /// Indices that are not negative in it.
  llvm::SmallVector<NestTerm> notNegative;

  bool isWhole() const {
    const auto isEmpty = [](const auto& each) { return each.empty(); };
    return conditions.empty() && llvm::all_of(begins, isEmpty) && llvm::all_of(ends, isEmpty);
  }
};

/// The iterations for which a branch is taken, where they are a few boxes that have none in common.
struct NestPart {
  bool isKnown = true; ///< else they are no such boxes
  llvm::SmallVector<NestBox, 1> boxes = {NestBox()};
};

/// What is computed for terms goes before the nest.
class NestTerms {
public:
  explicit NestTerms(tile::ParallelOp nest);

  /// Nothing for an index of another kind.
  std::optional<NestTerm> of(mlir::Value index);
  /// Leaves of a part the iterations in which the condition holds, or doesn't.
  void cut(NestPart& part, mlir::Value condition, bool holds);
  /// Of a variable in a box: where it begins, at most behind `most` iterations, where it ends, and how many iterations it has
  /// there; numbers where the box has no bounds.
  mlir::OpFoldResult firstOf(const NestBox& box, size_t variable, int64_t most);
  mlir::OpFoldResult endOf(const NestBox& box, size_t variable);
  mlir::OpFoldResult countOf(const NestBox& box, size_t variable, mlir::OpFoldResult first);
  int64_t extentOf(size_t variable);
  /// Whether an index is surely one of a dim of so many elements.
  bool isWithin(mlir::Value index, int64_t extent) {
    return ranges.rangeOf(index).isWithin(0, extent - 1);
  }
  /// Takes out what nothing uses.
  void undo();

private:
  mlir::Value uniform(mlir::Value value);
  mlir::Value asIndex(mlir::Value value);
  mlir::Value sum(mlir::Value left, mlir::Value right, bool isDifference);
  bool isExact(mlir::Value value);
  bool cutByComparison(NestPart& part, mlir::arith::CmpIOp comparison, bool holds);
  void cutByEither(NestPart& part, mlir::Operation* either, bool holds);
  mlir::Value keep(mlir::Value value);

  tile::ParallelOp nest;
  mlir::ImplicitLocOpBuilder builder;
  IndexRanges ranges; ///< in the nest
  mlir::IRMapping outside;
  llvm::SmallVector<mlir::Operation*> made;
};

} // namespace tilewright::ascend
