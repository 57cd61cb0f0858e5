// SPDX-License-Identifier: Apache-2.0
/// Updates of a reducer (T.alloc_reducer) that are written with a plain load and store:
/// `q[i] = q[i] + x`, the reducer's own operation on one of its elements; of a sum also
/// `fma(x, y, q[i])`. Iterations of a parallel loop may all do that.
#pragma once

#include "compiler/ir/memory_ops.h"

namespace tilewright::tile {

/// The load `q[i]` whose update the store ends; nothing where it is no such store.
LoadOp readOfUpdate(StoreOp store);
/// Whether an update begins with the load, and nothing else uses it.
bool isUpdate(LoadOp load);

} // namespace tilewright::tile
