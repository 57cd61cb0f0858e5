// SPDX-License-Identifier: Apache-2.0
/// Where gemms clear what they add to, and conditions where loops are in their first turns: there `init=(k == 0)`
/// holds.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/IRMapping.h>

namespace tilewright::ascend {

/// Whether the loop is not proven to run at least one turn, wherever it is come to.
bool mayRunNoIteration(tile::ForOp loop);

/// Conditions in the first turn of loops around an operation.
class FirstTurn {
public:
  explicit FirstTurn(mlir::Operation* place) : builder(place) {}

  /// From the innermost loop on.
  void add(tile::ForOp loop);
  /// Whether it holds then for sure.
  bool holds(mlir::Value condition);

private:
  bool isFixed(mlir::Value value) const;
  mlir::Value atFirst(mlir::Value value, mlir::IRMapping& values,
                      llvm::SmallVector<mlir::Operation*>& made);

  mlir::OpBuilder builder;
  mlir::IRMapping firsts;
  tile::ForOp outermost;
};

/// Whether a condition holds in no turn of the loop but the first one, for sure.
bool holdsInFirstTurnOnly(mlir::Value condition, tile::ForOp loop);

/// Whether something that stands before `op` in its block, behind `first` if that is there too, may leave it.
bool mayBeSkipped(mlir::Operation* op, mlir::Operation* first);

/// The uses of a buffer in text order.
llvm::SmallVector<mlir::Operation*> usersInOrder(mlir::func::FuncOp kernel, mlir::Value buffer);

/// Whether k is known to be 1 at least: where a gemm multiplies nothing, it clears nothing.
bool multipliesSomething(tile::GemmOp gemm);

/// Has the gemm that follows clear what `fill` fills with zeros, in the first turn of loops around it, and
/// erases the fill. False, and nothing is done, where it isn't sure to follow.
bool foldIntoGemm(mlir::func::FuncOp kernel, tile::FillOp fill);

} // namespace tilewright::ascend
