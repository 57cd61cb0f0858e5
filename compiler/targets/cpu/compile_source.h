// SPDX-License-Identifier: Apache-2.0
/// C that a kernel brings with it (T.import_source), made an object by the system's C compiler.
#pragma once

#include "compiler/targets/cpu/machine.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <optional>
#include <string>
#include <vector>

namespace tilewright::cpu {

/// All source text of the kernel; empty if it has none.
std::string importedSource(mlir::func::FuncOp kernel);

/// What a C compiler made of a kernel's own source.
struct OwnCode {
  std::string object;                 ///< ELF
  std::vector<std::string> functions; ///< by the names of the source
  /// Those of them whose names LLVM or other code of the kernel takes for functions of libm or libc:
  /// in `object` they have the name that `hiddenName` gives.
  std::vector<std::string> hidden;
};

std::string hiddenName(llvm::StringRef name);

/// C (or C++, where the text says `extern "C"`) compiled for this machine by the program in
/// TILEWRIGHT_CC, or clang, cc or gcc. Nothing, and a sentence in `problem`, if there is no compiler,
/// if it finds errors, or if the code needs a function that kernels cannot have.
std::optional<OwnCode> compileSource(llvm::StringRef text, const Machine& machine,
                                     std::string& problem);

/// Calls of the functions in `own.hidden` go to the names that they have in the object.
void callHidden(mlir::ModuleOp module, const OwnCode& own);

} // namespace tilewright::cpu
