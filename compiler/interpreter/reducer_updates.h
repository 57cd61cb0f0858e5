// SPDX-License-Identifier: Apache-2.0
/// Updates of a reducer (T.alloc_reducer) that are written with a plain load and store:
/// `q[i] = q[i] + x`, the reducer's own operation on one of its elements. Iterations of a parallel
/// loop may all do that.
#pragma once

#include "compiler/ir/tile.h"

namespace tilewright::interpreter {

/// The load `q[i]` whose update the store ends; nothing where it is no such store.
tile::LoadOp readOfUpdate(tile::StoreOp store);
/// Whether an update begins with the load, and nothing else uses it.
bool isUpdate(tile::LoadOp load);

} // namespace tilewright::interpreter
