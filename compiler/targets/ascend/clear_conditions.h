// SPDX-License-Identifier: Apache-2.0
/// Conditions where loops are in their first turns: there `init=(k == 0)` holds.
#pragma once

#include "compiler/ir/structure_ops.h"

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

} // namespace tilewright::ascend
