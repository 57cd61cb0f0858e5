// SPDX-License-Identifier: Apache-2.0
/// Copies and reductions between parts of one tile in UB.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/region.h"

namespace tilewright::ascend {

/// Whether parts of UB may have elements in common, under a tile's own name or views of it.
bool mayOverlap(const tile::BufferRegion& first, const tile::BufferRegion& second);

/// Whether a copy in UB may write what it has still to read. Numbers that change where they lie
/// are no such.
bool mayOverwriteSource(tile::CopyOp copy);

} // namespace tilewright::ascend
