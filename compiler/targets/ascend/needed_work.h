// SPDX-License-Identifier: Apache-2.0
/// What one kind of core needn't do, once the other one's instructions are gone from its copy of the kernel.
#pragma once

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

/// A `while` without a body, which waits for what others write.
bool isWaiting(tile::WhileOp loop);

/// Whether how often a loop runs depends on any of these operations.
bool dependsOn(ScopeOp scope, tile::WhileOp loop, mlir::ArrayRef<mlir::Operation*> ops);

/// Of what stands in `scope`, leaves only what is seen outside of a core, or is one of `kept`, and what that depends on. A variable that decides only about itself, as one that
/// says whether a loop of the other kind of core has been left, goes with all that asks for it.
void dropNeedlessWork(mlir::Operation* scope, mlir::ArrayRef<mlir::Operation*> kept);

/// Why a core does something: what is seen outside of it, and the variable that this asks, if that is how.
struct Need {
  mlir::Operation* user = nullptr;
  mlir::Value variable;
};
Need needOf(ScopeOp scope, mlir::Operation* op);

} // namespace tilewright::ascend
