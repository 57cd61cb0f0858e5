// SPDX-License-Identifier: Apache-2.0
/// Tiles that a kernel uses before it sets them.
#pragma once

#include "compiler/ir/kernel_arguments.h"

namespace tilewright {

/// The first op that reads or updates a tile, if it surely does so before any sets it, though one sets it later. Only
/// of what belongs to a thread or to all threads alike: of what they share, others may set it meanwhile.
mlir::Operation* earlyUse(mlir::Value tile, const tile::BufferTraffic& traffic);

} // namespace tilewright
