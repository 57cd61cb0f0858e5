// SPDX-License-Identifier: Apache-2.0
/// Columns of L1 come in groups of 32 bytes: a load that ends within one writes zeros to the rest of it.
#pragma once

#include "compiler/ir/tensor_ops.h"

namespace tilewright::ascend {

/// How many columns behind its own a copy to a tile in L1 writes, too, if something else writes them that is not 0;
/// else none.
int64_t columnsOverwritten(tile::CopyOp copy);

} // namespace tilewright::ascend
