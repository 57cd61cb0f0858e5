// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_COMPILER_TARGETS_ASCEND_LEAVE_SCOPE_H
#define TILEWRIGHT_COMPILER_TARGETS_ASCEND_LEAVE_SCOPE_H

#include "compiler/ir/structure_ops.h"

#include <optional>
#include <string>

namespace tilewright::ascend {

/// Gives a nest in a scope of the cube core that computes with a gemm's tile to the vector cores:
///
///   ascend.scope cube { a; tile.for .. { b; nest; c }; d }
/// becomes
///   ascend.scope cube { a }
///   tile.for .. { ascend.scope cube { b }; ascend.scope vector { nest }; ascend.scope cube { c } }
///   ascend.scope cube { d }
///
/// Values are for both cores. In the nest, vid is 0, as in the scope.
void leaveCubeScope(tile::ParallelOp nest);

/// Why that can't be, a sentence's first half: the nest needs more than L0C and global memory; only the cube core knows
/// the way there, by a variable that it sets or past an exit; or vid says more about it than numbers.
std::optional<std::string> whyInCubeScope(tile::ParallelOp nest);

} // namespace tilewright::ascend

#endif
