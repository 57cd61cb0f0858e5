// SPDX-License-Identifier: Apache-2.0
/// What a caller must know of a kernel, as JSON.
#pragma once

#include "compiler/ir/kernel_arguments.h"
#include "tilewright/place.h"

namespace tilewright::tile {

/// The language's name of an element type ("float16", "uint8"); empty if it has none.
std::string dtypeName(mlir::Type element);

/// Whether the blocks of this launch (or of any launch of this kernel) wait for each other.
bool waitsForBlocks(mlir::Operation* launch);

/// That an argument of a kernel, by its number, is `least` or more.
struct ArgumentLeast {
  unsigned argument;
  int64_t least;
  auto operator<=>(const ArgumentLeast&) const = default;
};

/// The most that an argument may be where all of `where` hold and a launch has blocks: a copy, or a gemm, would leave its tile.
struct ArgumentLimit {
  int64_t launch = 0;
  unsigned argument = 0;
  int64_t most = 0;
  llvm::SmallVector<ArgumentLeast> where;
  std::string tile;
  bool fills = true;       ///< the tile, or takes from it
  bool multiplies = false; ///< or is a gemm
  Place tilePlace, copyPlace;
};

/// The manifest of docs/kernel-abi.md for the kernel before any pass ran, but for `scratchBytes`,
/// which planning gave, `workspaceBytes` of global memory and, on an NPU, the cores that a launch
/// asks for per block. `usesTiles`: on a CPU, its code needs the tile registers of AMX. `isRelaxed`: on the Ascend host,
/// what the vendor's compiler orders by itself is ordered.
std::string makeManifest(mlir::func::FuncOp kernel, llvm::StringRef target, llvm::StringRef cpu,
                         int64_t scratchBytes, int64_t workspaceBytes = 0,
                         int64_t coresPerBlock = 1, bool usesTiles = false,
                         llvm::ArrayRef<ArgumentLimit> limits = {}, bool isRelaxed = false);

} // namespace tilewright::tile
