// SPDX-License-Identifier: Apache-2.0
/// What only vector cores can do with a tile in L1. Columns of L1 come in groups of 32 bytes: a load that ends within
/// one writes zeros to the rest of it.
#pragma once

#include "compiler/ir/tensor_ops.h"

namespace tilewright::ascend {

/// How many columns behind its own a copy to a tile in L1 writes, too, if something else writes them that is not 0;
/// else none.
int64_t columnsOverwritten(tile::CopyOp copy);

/// Whether what is done to a tile that gemms read must be done in UB, from which all goes on to L1: a copy that writes
/// some columns of a group, converts, transposes, pads by another number than 0 or takes rows that elements of UB name, a fill of a part or
/// with such a number, and what touches single elements.
bool isDoneInUb(mlir::Operation* op, mlir::Value tile);

} // namespace tilewright::ascend
