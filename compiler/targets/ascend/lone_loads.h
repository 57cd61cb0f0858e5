// SPDX-License-Identifier: Apache-2.0
/// Loads of parts of tiles behind which nothing is kept.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// Of a load of a part of a row of a tile in UB: nothing but loads of the same part of its rows writes the tile, so that
/// the DMA may write the rest of its last block of 32 bytes.
inline constexpr char kLoneLoadAttr[] = "ascend.lone_load";

/// Marks those of a kernel.
void markLoneLoads(mlir::func::FuncOp kernel);

} // namespace tilewright::ascend
