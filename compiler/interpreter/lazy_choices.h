// SPDX-License-Identifier: Apache-2.0
/// Which values only a choice needs, and perhaps not.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseSet.h"

namespace tilewright::interpreter {

/// Loads and shifts, and ops on what they give, of which each use is a side of a choice (`T.if_then_else`, the
/// right side of `and` and `or`). A compiled kernel computes both sides, as these can't fault; by
/// the language's rules the side that isn't chosen isn't read, so it neither races nor needs a
/// value. Loads of a thread's own buffers only `withOwn`.
llvm::DenseSet<mlir::Operation*> findLazyOps(mlir::func::FuncOp kernel, bool withOwn = true);

/// Whether the first operand of a choice settles that this one isn't needed.
bool isLazySide(mlir::OpOperand& use);

} // namespace tilewright::interpreter
