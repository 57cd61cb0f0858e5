// SPDX-License-Identifier: Apache-2.0
/// The most that numbers can be which a kernel is given: with more of them it would leave its tiles, which is an error.
/// Only what finds flags, and says what is filled, takes that for granted: what is loaded stays within its tensor
/// with any number.
#pragma once

#include "compiler/ir/index_ranges.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// Of an argument, set by the pass BoundArguments.
inline constexpr llvm::StringLiteral kMostAttr = "ascend.most";

void assumeArgumentBounds(mlir::func::FuncOp kernel, IndexRanges& ranges);

/// As `rangesIn` and `rangeAt`, with the bounds of arguments.
IndexRanges boundedRangesIn(mlir::Region* region);
IndexRange boundedRangeAt(mlir::Operation* place, mlir::OpFoldResult number);

/// The kernel's argument that a number is; null: none.
mlir::BlockArgument argumentOf(mlir::Value number);

} // namespace tilewright::ascend
