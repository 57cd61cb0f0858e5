// SPDX-License-Identifier: Apache-2.0
/// T.tile.compare and T.tile.select, whose bodies compute with the bits of masks: the vector unit has
/// them as they are.
#pragma once

#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

/// Replaces the nest by instructions if it is one of these; else false.
bool expandNamedNest(tile::ParallelOp nest, bool waits);

} // namespace tilewright::ascend
