// SPDX-License-Identifier: Apache-2.0
/// Nests as loops.
#pragma once

#include "compiler/ir/structure_ops.h"

#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {

/// A loop of so many turns, with the builder in it; its variable.
mlir::Value makeLoop(mlir::ImplicitLocOpBuilder& builder, mlir::OpFoldResult extent);
/// A loop in the place of an index of a nest, whose name it has.
mlir::Value makeLoopFor(mlir::ImplicitLocOpBuilder& builder, mlir::Value index,
                        mlir::OpFoldResult extent);

/// A loop over the first dim; the nest over the others in it.
tile::ParallelOp peelNest(tile::ParallelOp nest);

/// Views that a nest makes are the same in all iterations: they go before it, as instructions do.
void moveViewsOut(tile::ParallelOp nest);

} // namespace tilewright::ascend
