// SPDX-License-Identifier: Apache-2.0
/// Takes parameters from a kernel that it has no use for.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::tile {

/// Erases the tensors among a kernel's arguments that it neither reads nor writes, but for those whose numbers
/// are in `kept` and those that alone tell a symbol that is needed; with them the symbols that nothing
/// else knows, and views of them. Gives their numbers, in order. Scalars stay.
llvm::SmallVector<unsigned> dropUnusedTensors(mlir::func::FuncOp kernel,
                                              llvm::ArrayRef<unsigned> kept);

} // namespace tilewright::tile
