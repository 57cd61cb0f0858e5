// SPDX-License-Identifier: Apache-2.0
/// The C function by which a kernel's library is called without our runtime.
#pragma once

#include "compiler/ir/kernel_arguments.h"

namespace llvm {
class Module;
}

namespace tilewright::cpu {

/// What a kernel's code needs of its caller.
struct EntryNeeds {
  int64_t scratchBytes = 0, workspaceBytes = 0;
  /// The tile registers of AMX.
  bool tiles = false;
  /// Of each launch: whether its blocks wait for each other.
  llvm::ArrayRef<bool> isCooperative;
};

/// Adds `int32_t NAME(...)` (see `cEntryName`) to a module that holds NAME_grid and NAME_blocks, and those of the kernel's
/// other launches: it runs them one after the other. It takes the tensors'
/// addresses and the scalars in the order of the signature, then the symbols; it returns 0, 1 if
/// there is no memory for the buffers on chip, 2 if a device_assert failed, 3 if several blocks
/// would wait for each other, which takes our runtime, or 4 if the system refuses the tile registers. The blocks run in the calling thread, or by
/// `tilewright_parallel_for` if the program defines that (it is a weak symbol).
void addCEntry(llvm::Module& module, llvm::StringRef name,
               llvm::ArrayRef<tile::KernelArgument> arguments, const EntryNeeds& needs);

} // namespace tilewright::cpu
