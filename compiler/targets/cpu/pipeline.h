// SPDX-License-Identifier: Apache-2.0
/// The CPU target as one call: a module of tile IR becomes a shared library.
#pragma once

#include "compiler/targets/cpu/machine.h"

#include <mlir/IR/BuiltinOps.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::cpu {

/// What a caller wants, and what it gets beside the library.
struct Session {
  Machine machine;
  /// Keep the text of every stage (costs time).
  bool keepStages = false;
  /// Verify the IR after every pass (costs time; tests do).
  bool verify = false;
  /// The ELF object of what the kernel brings with it (compile_source.h); may be empty.
  std::string own;
  /// When set from another thread, the work ends at the next pass.
  const std::atomic<bool>* cancel = nullptr;

  /// Stage name and text, in the order of the pipeline; pass names without their prefix, "llvm",
  /// "asm".
  std::vector<std::pair<std::string, std::string>> stages;
  /// Milliseconds: "passes", "translate", "optimize", "emit", "link".
  std::vector<std::pair<std::string, double>> times;
  /// The ELF shared library, its manifest and its C header.
  std::vector<char> library;
  std::string manifest;
  std::string header;
  /// A sentence, after a failure that is no diagnostic of MLIR.
  std::string problem;

  bool isCancelled() const {
    return cancel && cancel->load(std::memory_order_relaxed);
  }
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
