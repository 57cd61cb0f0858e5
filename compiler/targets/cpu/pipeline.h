// SPDX-License-Identifier: Apache-2.0
/// The CPU target as one call: a module of tile IR becomes a shared library.
#pragma once

#include "compiler/passes/pass_session.h"
#include "compiler/targets/cpu/machine.h"

#include <mlir/IR/BuiltinOps.h>

#include <string>
#include <vector>

namespace tilewright::cpu {

/// What a caller wants, and what it gets beside the library: stages, also "llvm" and "asm"; the
/// phases "passes", "translate", "optimize", "emit" and "link".
struct Session : PassSession {
  Machine machine;
  /// exp and exp2 of float32 may be less exact (expand_exponentials.cpp), products and sums become one operation.
  bool fastMath = false;
  /// With fast math: the bits of exp and exp2 that must be right.
  unsigned expBits = 22;
  /// No argument of exp and exp2 exceeds this.
  int64_t expMost = INT64_MAX;
  /// Errors of sums of float32 gemms may be those of rows and columns of numbers as large as their largest.
  bool normwiseGemm = false;
  /// The ELF object of what the kernel brings with it (compile_source.h); may be empty.
  std::string own;
};

/// Loads the dialects and the translation that the pipeline needs.
void prepareContext(mlir::MLIRContext& context);

/// Lowers `module` in place to the LLVM dialect. False after an error (in `session.problem` or
/// reported to the context's handlers) or if cancelled.
bool lowerToLlvmDialect(mlir::ModuleOp module, Session& session);

/// Compiles the kernel of `module` (which stays as it is) to `session.library`, `manifest` and
/// `header`. False after an error or if cancelled, as `lowerToLlvmDialect`.
bool compileModule(mlir::ModuleOp module, Session& session);

} // namespace tilewright::cpu
