// SPDX-License-Identifier: Apache-2.0
/// What the CPU target cannot do is found before anything is lowered, each with its place.
#pragma once

#include "tilewright/place.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <vector>

namespace tilewright::cpu {

/// One diagnostic (Severity::Unsupported) for each op of the kernel that this target cannot
/// compile.
std::vector<Diagnostic> checkKernel(mlir::func::FuncOp kernel);

} // namespace tilewright::cpu
