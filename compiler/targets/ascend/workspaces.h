// SPDX-License-Identifier: Apache-2.0
/// Tiles of global memory that the compiler adds: one, or several, for each block.
#pragma once

#include "compiler/ir/region.h"
#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

/// Room for one tile of every block at the start of the launch; the part of this block. Its last extents are those of
/// `shape`. Where the number of blocks is known at run time only, each block has a workspace of its own.
tile::BufferRegion makeWorkspace(tile::LaunchOp launch, llvm::ArrayRef<int64_t> shape,
                                 mlir::Type element, llvm::StringRef name);

/// Says of a copy that all of a region lies within its tensor.
mlir::DenseBoolArrayAttr allInBounds(const tile::BufferRegion& region);

} // namespace tilewright::ascend
