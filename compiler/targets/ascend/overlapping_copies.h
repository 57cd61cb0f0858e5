// SPDX-License-Identifier: Apache-2.0
/// Copies, reductions and scans between parts of one tile in UB.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/region.h"
#include "compiler/ir/tensor_ops.h"

namespace tilewright::ascend {

/// Whether parts of UB may have elements in common, under a tile's own name or views of it.
bool mayOverlap(const tile::BufferRegion& first, const tile::BufferRegion& second);

/// Whether a copy in UB may write what it has still to read. Numbers that change where they lie
/// are no such.
bool mayOverwriteSource(tile::CopyOp copy);
bool mayOverwriteSource(tile::ScanOp scan);

} // namespace tilewright::ascend
