// SPDX-License-Identifier: Apache-2.0
/// Copies between UB and elements that a tensor keeps apart: a column of a wider tensor.
///
///     tile.copy %A[%m, 5] [16, 1] to %v[0] [16]
///   ->
///     tile.copy %A[%m, 5] [16, 1] to %column[0, 0] [16, 1]   // of [16, 8]: each element has a block
///     tile.copy %column[0, 0] [16, 1] to %v[0] [16]          // within UB
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/tensor_ops.h"

namespace tilewright::ascend {

/// Whether the last wide dim of a part of a tensor is one in which elements lie apart.
bool keepsElementsApart(const tile::BufferRegion& global);

/// Of a copy with such a side: copies of one dim and of few elements in loops around them. Empty: it is
/// such a copy itself, or none of these.
llvm::SmallVector<tile::CopyOp> splitLines(tile::CopyOp copy);

} // namespace tilewright::ascend
