// SPDX-License-Identifier: Apache-2.0
/// What several cores write of one line of the scalar unit's data cache.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// Warns where a core's scalar unit writes an element of a tensor, and another core writes beside it in the same 64 bytes: the
/// cache writes all of them back, so that what the other one wrote there may be lost. Of what is sure only: nothing of
/// the kernel makes cores wait for each other, and blocks' numbers alone say where the first turns of loops write, and
/// whether. All else is left to the host.
void warnOfSharedLines(mlir::func::FuncOp kernel);

} // namespace tilewright::ascend
