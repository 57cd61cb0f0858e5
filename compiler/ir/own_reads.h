// SPDX-License-Identifier: Apache-2.0
/// What element-wise nests read of a thread's own memory.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"

namespace tilewright::tile {

/// The loads that each iteration does, of elements that don't hang on its numbers, from memory of which each thread has
/// its own and that the nest doesn't write: which thread runs an iteration isn't known.
llvm::SmallVector<LoadOp> ownReads(ParallelOp nest);

} // namespace tilewright::tile
