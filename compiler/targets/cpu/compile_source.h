// SPDX-License-Identifier: Apache-2.0
/// C that a kernel brings with it (T.import_source), made an object by the system's C compiler.
#pragma once

#include "compiler/targets/cpu/machine.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <optional>
#include <string>

namespace tilewright::cpu {

/// All source text of the kernel; empty if it has none.
std::string importedSource(mlir::func::FuncOp kernel);

/// The ELF object of C (or of C++, where the text says `extern "C"`) for this machine, made by the
/// program in TILEWRIGHT_CC, or clang, cc or gcc. Nothing, and a sentence in `problem`, if there is no
/// compiler, if it finds errors, or if the code needs a function that kernels cannot have.
std::optional<std::string> compileSource(llvm::StringRef text, const Machine& machine,
                                         std::string& problem);

} // namespace tilewright::cpu
