// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mlir/IR/Operation.h>

#include <string>

namespace tilewright::ascend {

/// What a message calls an operation: `max` of arith.maxui, `atan` of math.atan, `bitwise_lshift` of arith.shli.
std::string operationName(mlir::Operation* op);
/// The same with its dtype: `max of uint16`.
std::string operationOfDtype(mlir::Operation* op);
/// Of a call: `T.tile.block_reduce_sum`, or the name of a function that the kernel calls itself, quoted.
std::string nameOfCall(mlir::Operation* call, llvm::StringRef callee);

} // namespace tilewright::ascend
