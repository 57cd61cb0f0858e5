// SPDX-License-Identifier: Apache-2.0
/// Branches of an element-wise nest whose condition is the same in all of its iterations.
#pragma once

#include "compiler/ir/structure_ops.h"

#include <llvm/ADT/SmallVector.h>

#include <optional>

namespace tilewright::ascend {

/// The nest with one such branch taken out of it:
///
///     tile.parallel (%i) in [64] {          scf.if %c {
///       scf.if %c { A } else { B }            tile.parallel (%i) in [64] { A; C }
///       C                              ->   } else {
///     }                                       tile.parallel (%i) in [64] { B; C }
///                                           }
///
/// A side that does nothing goes. Gives the nests that are left; nothing if there is no such branch, and nothing is
/// changed then. `waits`: what the condition reads is ordered behind all before.
std::optional<llvm::SmallVector<tile::ParallelOp>> takeOutBranch(tile::ParallelOp nest, bool waits);

/// Whether a branch of the nest is the same in all iterations of its last dim, so that loops over the others help to
/// take it out.
bool hasBranchOfRows(tile::ParallelOp nest);

} // namespace tilewright::ascend
