// SPDX-License-Identifier: Apache-2.0
/// What `kernel.report()` shows of a compiled kernel: where its buffers lie, and why it waits.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <string>
#include <utility>

namespace tilewright::chips {
struct AscendChip;
} // namespace tilewright::chips

namespace tilewright::ascend {

/// A table per memory: address, bytes, name, and the kernel's lines from the first to the last use.
/// Of a kernel whose memory is planned.
std::string memoryMapText(mlir::func::FuncOp kernel, const chips::AscendChip& chip);

/// The same as a picture: across, the kernel from its first to its last instruction; downwards, the
/// addresses of a memory. Of several launches each comes with words that its memories begin with.
std::string memoryMapSvg(llvm::ArrayRef<std::pair<mlir::func::FuncOp, std::string>> launches,
                         const chips::AscendChip& chip);

/// "launch 2 of 3 (line 41)", of the launch of that number, from 0 on, which is the only one in `kernel`.
std::string launchWords(mlir::func::FuncOp kernel, size_t number, size_t count);

/// A line for each flag and barrier that the compiler inserted: what, where, why. Then how many the operations
/// of each line brought along for their own parts. `written` is the kernel before anything was lowered, which
/// tells which ones are its own.
std::string insertedWaitsText(mlir::func::FuncOp kernel, mlir::func::FuncOp written);

} // namespace tilewright::ascend
