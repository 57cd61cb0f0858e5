// SPDX-License-Identifier: Apache-2.0
/// Reads of a variable with no write between: they give one value.
#pragma once

#include "compiler/ir/memory_ops.h"

namespace tilewright {

/// The first read of the variable on the straight way to `load` that gives what `load` does; `load`'s own value where
/// there is none before it.
mlir::Value firstRead(tile::LoadOp load);

} // namespace tilewright
