// SPDX-License-Identifier: Apache-2.0
/// Nests that read across what they write:
///
///   tile.parallel (%d, %i) in [64, 32] { %v = tile.load %Q[%i, %d]    tile.store %v, %q[%d, %i] }
/// becomes, for vectors of 16
///   scf.for %d = 0 to 64 step 16 {
///     scf.for %i = 0 to 32 step 16 {
///       %row0 = llvm.load %Q[%i, %d] : vector<16xf32> ... %row15 = llvm.load %Q[%i + 15, %d]
///       ... four steps of shuffles ...
///       llvm.store %column0, %q[%d, %i] ... llvm.store %column15, %q[%d + 15, %i] } }
///
/// LLVM's vectoriser would gather: 16 elements of 16 lines for each vector.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/cpu/machine.h"

#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::cpu {

/// Emits such a nest of float32 with arithmetic in it; false, with nothing done, if it is none.
bool emitTransposed(mlir::ImplicitLocOpBuilder& builder, tile::ParallelOp nest,
                    const Machine& machine);

} // namespace tilewright::cpu
