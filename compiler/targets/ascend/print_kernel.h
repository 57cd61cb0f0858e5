// SPDX-License-Identifier: Apache-2.0
/// The text of a kernel whose ops are instructions: one op, one statement.
#pragma once

#include "compiler/targets/ascend/source_text.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <string>

namespace tilewright::ascend {

/// Ascend C of the whole translation unit: the kernel `NAME_kernel`, and the host functions
/// `NAME_grid` and `NAME_launch` of docs/kernel-abi.md. Reports ops that have no statement; the
/// text is empty then.
std::string printKernel(mlir::func::FuncOp kernel, LineStyle style);

/// The two parts of that: what stands before all functions, and the functions.
std::string printHead(mlir::func::FuncOp kernel, LineStyle style);
std::string printFunctions(mlir::func::FuncOp kernel, LineStyle style);

/// The file that a compiler takes a text of T.import_source for: "T.import_source", "T.import_source (2)", ...
std::string nameOfSource(size_t number);

} // namespace tilewright::ascend
