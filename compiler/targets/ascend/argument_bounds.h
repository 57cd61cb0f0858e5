// SPDX-License-Identifier: Apache-2.0
/// The most that numbers can be which a kernel is given: with more of them it would leave its tiles, which is an error
/// of the call (`runtime/arguments.h`). Only what finds flags, and says what is filled, takes that for granted: what is loaded stays within its tensor
/// with any number.
#pragma once

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/kernel_manifest.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// Of an argument, set by the pass BoundArguments.
inline constexpr llvm::StringLiteral kMostAttr = "ascend.most";

/// Of a kernel, set by the same pass: a list of dictionaries, one for each limit that a call must keep.
inline constexpr llvm::StringLiteral kLimitsAttr = "ascend.limits";

/// The limits of a kernel of one launch, which is its kernel's `launch`th.
llvm::SmallVector<tile::ArgumentLimit> limitsOf(mlir::func::FuncOp kernel, int64_t launch);

void assumeArgumentBounds(mlir::func::FuncOp kernel, IndexRanges& ranges);

/// As `rangesIn` and `rangeAt`, with the bounds of arguments; of a number also with what variables can be that loops count
/// up, and, of an instruction, by what its core has asked for right before it, such as that a copy doesn't begin before its
/// tensor.
IndexRanges boundedRangesIn(mlir::Region* region);
IndexRange boundedRangeAt(mlir::Operation* place, mlir::OpFoldResult number);

/// The kernel's argument that a number is; null: none.
mlir::BlockArgument argumentOf(mlir::Value number);

} // namespace tilewright::ascend
