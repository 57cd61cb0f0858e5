// SPDX-License-Identifier: Apache-2.0
/// What a caller must know of a kernel, as JSON.
#pragma once

#include "compiler/ir/kernel_arguments.h"

namespace tilewright::tile {

/// The language's name of an element type ("float16", "uint8"); empty if it has none.
std::string dtypeName(mlir::Type element);

/// Whether the blocks of this launch (or of any launch of this kernel) wait for each other.
bool waitsForBlocks(mlir::Operation* launch);

/// The manifest of docs/kernel-abi.md for the kernel before any pass ran, but for `scratchBytes`,
/// which planning gave, `workspaceBytes` of global memory and, on an NPU, the cores that a launch
/// asks for per block. `usesTiles`: on a CPU, its code needs the tile registers of AMX.
std::string makeManifest(mlir::func::FuncOp kernel, llvm::StringRef target, llvm::StringRef cpu,
                         int64_t scratchBytes, int64_t workspaceBytes = 0,
                         int64_t coresPerBlock = 1, bool usesTiles = false);

} // namespace tilewright::tile
