// SPDX-License-Identifier: Apache-2.0
/// Dims of a nest that lie as one in all of its tiles.
#pragma once

#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

/// The nest with fewer dims, on views of its tiles, where neighbours among the first ones go through memory
/// in one sequence and nothing else asks for their numbers:
///
///     tile.parallel (%i, %j, %k) in [4, 6, 40] {             tile.parallel (%r, %k) in [24, 40] {
///       %v = tile.load %x[%i, %j, %k]                  ->      %v = tile.load %y[%r, %k]      // y: x as [24, 40]
///
/// Of one or two dims it stays as it is: those are rows and columns of instructions.
tile::ParallelOp joinDims(tile::ParallelOp nest);

} // namespace tilewright::ascend
