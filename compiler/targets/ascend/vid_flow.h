// SPDX-License-Identifier: Apache-2.0
/// What may be something else on the second vector core of a block, because vid says so: numbers, and what tiles and
/// tensors hold.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

class VidFlow {
public:
  explicit VidFlow(mlir::func::FuncOp kernel);

  bool differs(mlir::Value value) const;

private:
  void follow(mlir::Operation* op);

  llvm::DenseSet<mlir::Value> differing;
};

} // namespace tilewright::ascend
