// SPDX-License-Identifier: Apache-2.0
/// Where the operands of a gemm come from.
#pragma once

#include "compiler/ir/region.h"
#include "compiler/ir/tensor_ops.h"

#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::cpu {

/// Rows and columns of the matrix that a region holds: its last two extents.
llvm::SmallVector<int64_t> matrixShape(const tile::BufferRegion& region);

/// Removes the gemms of a kernel that multiply no elements: at most they set their sums to 0.
void dropEmptyGemms(mlir::Operation* kernel);
/// The gemms that are left then, in the order of the text.
llvm::SmallVector<tile::GemmOp> gemmsWithElements(mlir::Operation* kernel);

/// Whether a gemm's operands and sums are tiles on chip, in the order that their shapes say: what is made of them may
/// be prepared in another form.
bool isOfPlainTiles(tile::GemmOp gemm);
/// The element in a row and a column of the matrix that a region holds: its indices in the buffer.
llvm::SmallVector<mlir::Value> placeIn(mlir::ImplicitLocOpBuilder& builder,
                                       const tile::BufferRegion& region, mlir::Value row,
                                       mlir::Value column);
/// The matrix that a region holds, its rows and columns exchanged, in a buffer of its own: made where the builder stands.
tile::BufferRegion turned(mlir::ImplicitLocOpBuilder& builder, const tile::BufferRegion& region);

/// The copy that fills the whole of an on-chip buffer, nothing else but `reader` uses: what `reader`
/// reads there might as well come from where the copy reads, if keepsValues. Null if that isn't so.
tile::CopyOp onlySource(tile::GemmOp reader, const tile::BufferRegion& region);

/// The copy that brings all of an on-chip operand which nothing else reads, of one run of memory: micro-kernels may as
/// well read it there. The gemm may stand in loops behind the copy. Null if that isn't so.
tile::CopyOp copyOfOneRun(tile::GemmOp reader, const tile::BufferRegion& region);

/// The copy in a block around the reader's, before it, that alone fills an on-chip operand which nothing else reads: what
/// is made of the operand may be made there, once for all turns of the loops between. Null if that isn't so.
tile::CopyOp earlierSource(tile::GemmOp reader, const tile::BufferRegion& region);

/// Where an on-chip operand may be brought into another form: before the outermost loop that leaves it as it is, or right
/// before the gemm.
mlir::Operation* placeToPrepare(tile::GemmOp reader, const tile::BufferRegion& region);

/// Whether the elements that a copy brings have their source's values: it doesn't convert them, or to a type that has all
/// values of theirs.
bool keepsValues(tile::CopyOp copy);

} // namespace tilewright::cpu
