// SPDX-License-Identifier: Apache-2.0
/// Which accesses of tensors and tiles never meet, by what their numbers are computed from.
#pragma once

#include "compiler/targets/ascend/analysis/program.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

/// Sets `apart` of a program that is made of a kernel.
void findApart(mlir::func::FuncOp kernel, model::Program& program);

} // namespace tilewright::ascend
