// SPDX-License-Identifier: Apache-2.0
/// What the CPU target cannot do is found before anything is lowered, each with its place.
#pragma once

#include "tilewright/place.h"

#include <llvm/ADT/StringSet.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <vector>

namespace tilewright::cpu {

/// What a thread's scratch memory may hold, in bytes, and so a tile whose shape a call gives.
inline constexpr uint64_t kLargestScratch = uint64_t(1) << 28;

/// One diagnostic (Severity::Unsupported) for each op of the kernel that this target cannot
/// compile. `own`: the functions that the kernel brings with it.
std::vector<Diagnostic> checkKernel(mlir::func::FuncOp kernel, const llvm::StringSet<>& own = {});

} // namespace tilewright::cpu
