// SPDX-License-Identifier: Apache-2.0
/// The loops of a kernel whose iterations may overlap: T.Pipelined with two stages or more.
#pragma once

#include "compiler/ir/structure_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// On a buffer that has a version per stage of its loop: how many.
inline constexpr char kVersionsAttr[] = "ascend.versions";

/// What one version of a buffer takes, or all of it if it has no versions.
int64_t bytesOfVersion(mlir::Value buffer);

/// Those that count up by 1 from a constant, are never left early, and leave all waits to the compiler.
llvm::SmallVector<tile::ForOp> pipelinedLoops(mlir::func::FuncOp kernel);

} // namespace tilewright::ascend
