// SPDX-License-Identifier: Apache-2.0
/// What the two vector cores of a block do to the same bytes of global memory.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// Warns where one vector core writes what the other writes or reads, and nothing orders them: of what is sure only. The first
/// turns of all loops must touch the same bytes, and both cores must come to them; what depends on vid in another way than by
/// steps, or on elements of UB that may differ, is left to the host.
void warnOfVectorPairs(mlir::func::FuncOp kernel);

} // namespace tilewright::ascend
