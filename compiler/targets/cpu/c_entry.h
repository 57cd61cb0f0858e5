// SPDX-License-Identifier: Apache-2.0
/// The C function by which a kernel's library is called without our runtime.
#pragma once

#include "compiler/ir/kernel_arguments.h"

namespace llvm {
class Module;
}

namespace tilewright::cpu {

/// Adds `int32_t NAME(...)` (see `cEntryName`) to a module that holds NAME_grid and NAME_blocks, and those of the kernel's
/// other launches: it runs them one after the other. `isCooperative` tells of each launch whether its
/// blocks wait for each other. It takes the tensors'
/// addresses and the scalars in the order of the signature, then the symbols; it returns 0, 1 if
/// there is no memory for the buffers on chip, 2 if a device_assert failed, or 3 if several blocks
/// would wait for each other, which takes our runtime. The blocks run in the calling thread, or by
/// `tilewright_parallel_for` if the program defines that (it is a weak symbol).
void addCEntry(llvm::Module& module, llvm::StringRef name,
               llvm::ArrayRef<tile::KernelArgument> arguments, int64_t scratchBytes,
               int64_t workspaceBytes, llvm::ArrayRef<bool> isCooperative);

} // namespace tilewright::cpu
