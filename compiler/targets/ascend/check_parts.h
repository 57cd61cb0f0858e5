// SPDX-License-Identifier: Apache-2.0
/// Parts of tiles that the kernel's own numbers may put beyond the tile: on the host they are checked before anything is done with them.
/// What does it knows of bytes alone, among which the end of a row, of a plane, or of the tile of a turn is no end.
#pragma once

#include <mlir/IR/Operation.h>

namespace tilewright::ascend {

/// Puts checks before a copy, a fill, an atomic add, a reduction, a scan, a gemm or a function of `T.tile` on a part of a tile,
/// where nothing says that it stays within.
void checkParts(mlir::Operation* op);

} // namespace tilewright::ascend
