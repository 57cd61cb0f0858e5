// SPDX-License-Identifier: Apache-2.0
/// Names of values: those that the kernel's author gave, and others.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <mlir/IR/Value.h>

#include <string>

namespace tilewright::ascend {

/// What the kernel calls a value; empty: nothing. An op that was made of several takes its name to all of them: only the last,
/// which no other of them reads, keeps it.
llvm::StringRef nameOfVariable(mlir::Value value);

/// What a value is called that is written out once for several uses: by what it is used for ("row", "columns",
/// "x_start"), by where it was read ("x_value"), or by how it was computed.
std::string nameByUse(mlir::Value value);

} // namespace tilewright::ascend
