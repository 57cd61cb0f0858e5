// SPDX-License-Identifier: Apache-2.0
/// Copies between parts of one tile in UB.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/region.h"

namespace tilewright::ascend {

/// Whether a copy in UB may write what it has still to read, under the tile's own name or views of it. Numbers
/// that change where they lie are no such.
bool mayOverwriteSource(tile::CopyOp copy);

} // namespace tilewright::ascend
