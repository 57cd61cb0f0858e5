// SPDX-License-Identifier: Apache-2.0
/// How much of a tile a copy touches at most, where a tensor's edge cuts it when the kernel runs, and a vector instruction
/// whose count is known then only.
#pragma once

#include "compiler/ir/npu_ops.h"

namespace tilewright::ascend {

/// Sets the bytes of an access of `op` on chip, if they aren't known but have a bound.
void boundBytes(npu::Access& access, mlir::Operation* op);

/// How many elements of a dim of a tensor a copy takes at most, as it leaves neither its tile nor the tile's version.
int64_t mostByTile(mlir::Operation* op, size_t dim);

} // namespace tilewright::ascend
