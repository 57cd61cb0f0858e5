// SPDX-License-Identifier: Apache-2.0
/// Whether two vector cores that share a block's work need no order between them.
#pragma once

#include "compiler/targets/ascend/shared_tiles.h"

namespace tilewright::ascend {

/// An operation of the vector cores that writes a tensor, of which not each row is one core's alone:
/// what the other core reads or writes of it, nothing orders. Null if there is none.
///
///     tile.copy %D[0, 0] [1, 64] to %d              // both cores, which have a single row whole
///     tile.parallel ... { .. %d .. }
///     tile.copy %d to %D[0, 0] [1, 64]              // the first one, before or after the second has read
///
/// Safe is what only the first core touches, and what all operations divide alike: from multiples of the
/// rows that they take.
/// `ofReads`: only of a tensor that is read, too, or of which one core may store what the other one stores.
mlir::Operation* unorderedWrite(tile::LaunchOp launch, const SharedTiles& tiles, bool ofReads);

} // namespace tilewright::ascend
