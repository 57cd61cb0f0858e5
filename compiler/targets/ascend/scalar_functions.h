// SPDX-License-Identifier: Apache-2.0
/// Functions of single numbers that the scalar unit lacks.
#pragma once

#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

/// Makes each of them a nest over one element of UB, for the vector unit:
///
///     %y = math.exp %x : f32
///   becomes
///     tile.store %x, %t[%c0]
///     tile.parallel (%i) in (%c1) { %a = tile.load %t[%i]; %b = math.exp %a; tile.store %b, %t[%i] }
///     %y = tile.load %t[%c0]
///
/// with barriers around the nest if nothing else orders the two units (`waits`). Gives the nests.
llvm::SmallVector<tile::ParallelOp> moveToVectorUnit(mlir::Operation* kernel, bool waits);

} // namespace tilewright::ascend
