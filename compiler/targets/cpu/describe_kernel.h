// SPDX-License-Identifier: Apache-2.0
/// What a C program must know of a kernel.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <string>

namespace tilewright::cpu {

/// A C header with the prototype of the kernel's C entry, and its meaning in words.
std::string makeHeader(mlir::func::FuncOp kernel);

} // namespace tilewright::cpu
