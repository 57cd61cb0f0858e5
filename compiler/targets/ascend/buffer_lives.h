// SPDX-License-Identifier: Apache-2.0
/// How long the buffers of a kernel are needed.
#pragma once

#include "compiler/ir/memory_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

struct BufferLife {
  tile::AllocOp alloc;
  /// Numbers of operations in text order, from the first to the last that may need what it holds.
  int64_t first = 0, last = 0;
  /// The first and the last in the text that touch it; null if nothing does.
  mlir::Operation* firstUser = nullptr;
  mlir::Operation* lastUser = nullptr;
};

/// Of every buffer on chip, in the order of the allocs. A buffer that an iteration overwrites before
/// it reads it is not needed from one iteration to the next.
llvm::SmallVector<BufferLife> findBufferLives(mlir::func::FuncOp kernel);

/// On an scf.if that stands where a load that a tensor's edge may cut begins, and fills what the load then leaves: both
/// together overwrite all of the tile, whichever way the branch goes.
inline constexpr llvm::StringLiteral kOverwritesAttr = "ascend.overwrites";

/// On a buffer of which nothing is read but what one copy has written in the same turn of all loops around that.
inline constexpr llvm::StringLiteral kFreshAttr = "ascend.fresh";

/// Whether each iteration of `loop` overwrites all of the buffer that it needs before anything else in it touches it.
bool startsAfresh(tile::AllocOp alloc, mlir::Operation* loop);

} // namespace tilewright::ascend
