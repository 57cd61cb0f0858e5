// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_COMPILER_TARGETS_ASCEND_LEAVE_SCOPE_H
#define TILEWRIGHT_COMPILER_TARGETS_ASCEND_LEAVE_SCOPE_H

#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

/// Gives a nest in a scope of the cube core that computes with a gemm's tile to the vector cores:
///
///   ascend.scope cube { a; tile.for .. { b; nest; c }; d }
/// becomes
///   ascend.scope cube { a }
///   tile.for .. { ascend.scope cube { b }; ascend.scope vector { nest }; ascend.scope cube { c } }
///   ascend.scope cube { d }
///
/// Values are for both cores. False, and nothing is changed, where the nest needs more than L0C and global
/// memory, where vid says something about it, which is 0 in the scope, or where only the cube core knows
/// the way there: by a variable that it sets, or past an exit.
bool leaveCubeScope(tile::ParallelOp nest);

} // namespace tilewright::ascend

#endif
