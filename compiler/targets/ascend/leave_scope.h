// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_COMPILER_TARGETS_ASCEND_LEAVE_SCOPE_H
#define TILEWRIGHT_COMPILER_TARGETS_ASCEND_LEAVE_SCOPE_H

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"

#include <llvm/ADT/SetVector.h>

#include <optional>
#include <string>

namespace tilewright::ascend {

/// On a copy between the memories of both kinds of core that stood in a scope.
inline constexpr llvm::StringLiteral kLeftScopeAttr = "ascend.left_scope";

/// Takes copies between the memories of both kinds of core out of their scopes:
///
///   ascend.scope vector { a; tile.for .. { b; copy; c }; d }
/// becomes
///   ascend.scope vector { a }
///   tile.for .. { ascend.scope vector { b }; copy; ascend.scope vector { c } }
///   ascend.scope vector { d }
/// with the stores of b and c to variables that say whether or where it is: both kinds of core count.
void leaveScopes(llvm::ArrayRef<tile::CopyOp> copies);

/// Why that can't be, a sentence's end: the other kind of core can't come to it as those of the scope do.
std::optional<std::string> whyInScope(tile::CopyOp copy);

/// Takes stores to variables out of their scopes in that way: both kinds of core do them.
void storeOnBoth(llvm::ArrayRef<mlir::Operation*> stores);

/// Whether they can: what is stored, and what in the scope says whether and where, is computed of variables and of what stands
/// outside, and not of vid.
bool canStoreOnBoth(tile::StoreOp store);

/// Gives a nest in a scope of the cube core that computes with a gemm's tile to the vector cores: so, too, and in a
/// scope of theirs. In the nest, vid is 0, as in the scope.
void leaveCubeScope(tile::ParallelOp nest);

/// Why that can't be, a sentence's first half: the nest needs more than L0C and global memory; only the cube core knows
/// the way there, by a variable that it sets or past an exit; or vid says more about it than numbers.
std::optional<std::string> whyInCubeScope(tile::ParallelOp nest);

} // namespace tilewright::ascend

#endif
