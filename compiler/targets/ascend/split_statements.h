// SPDX-License-Identifier: Apache-2.0
/// The statements of a nest as nests of their own.
#pragma once

#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

/// A nest for each statement instead of `nest`; none, and nothing changed, where the body is more than a list of
/// stores or a statement needs what another one makes in the same iteration only.
llvm::SmallVector<tile::ParallelOp> splitStatements(tile::ParallelOp nest);

} // namespace tilewright::ascend
