// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::cpu {

/// Whether LowerBuffers can turn each buffer of a function into an address: the passes before it have left only ops that
/// it knows, and given each buffer its place. Tells the first op that is not so.
mlir::LogicalResult checkLowered(mlir::func::FuncOp function);

/// The launch that an op asks something of: the last argument of the entry point that it is in. Null after an error where
/// there is none.
mlir::Value launchArgument(mlir::Operation* op);

} // namespace tilewright::cpu
