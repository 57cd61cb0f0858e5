// SPDX-License-Identifier: Apache-2.0
/// Tiles that lie where the kernel has put them, over each other.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// Warns where a tile is read that the kernel has put over another one, which has been written since. Tiles that are
/// needed one after the other may share bytes, and so may those of which one is a name for what the other one holds: a
/// read of bytes that only the other one has written shows that. Addresses are still the user's only.
void warnOfOverwrittenTiles(mlir::func::FuncOp kernel);

} // namespace tilewright::ascend
