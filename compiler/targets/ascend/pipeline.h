// SPDX-License-Identifier: Apache-2.0
/// The Ascend target as one call: a module of tile IR becomes Ascend C, and that a shared library.
#pragma once

#include "compiler/chips/ascend_chip.h"

#include <mlir/IR/BuiltinOps.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::ascend {

/// The passes that users switch, by the keys that they know.
struct Automation {
  bool flags = false;      ///< tl.ascend_auto_sync
  bool planning = false;   ///< tl.ascend_memory_planning
  bool split = false;      ///< tl.ascend_auto_cv_combine
  bool crossFlags = false; ///< tl.ascend_auto_cross_core_sync
};

/// What a caller wants, and what it gets.
struct Session {
  const chips::AscendChip* chip = nullptr;
  Automation automation;
  /// Keep the text of every stage (costs time).
  bool keepStages = false;
  /// Build the library, which takes a C++ compiler seconds; else the text is all.
  bool buildLibrary = true;
  /// Verify the IR after every pass (costs time; tests do).
  bool verify = false;
  /// When set from another thread, the work ends at the next pass.
  const std::atomic<bool>* cancel = nullptr;

  /// Stage name and text, in the order of the pipeline; at least the last, "ascendc".
  std::vector<std::pair<std::string, std::string>> stages;
  /// Milliseconds: "passes", "print", "build".
  std::vector<std::pair<std::string, double>> times;
  /// The ELF shared library and its manifest.
  std::vector<char> library;
  std::string manifest;
  /// A sentence, after a failure that is no diagnostic of MLIR.
  std::string problem;

  bool isCancelled() const {
    return cancel && cancel->load(std::memory_order_relaxed);
  }
};

/// Loads the dialects that the pipeline needs.
void prepareContext(mlir::MLIRContext& context);

/// Lowers the module in place to instructions. False after an error, which was reported or is
/// `session.problem`.
bool lowerToInstructions(mlir::ModuleOp module, Session& session);

/// Compiles the kernel of `module`, which stays as it is, to `session.library` (if wanted) and
/// `session.manifest`. False after an error, as above.
bool compileModule(mlir::ModuleOp module, Session& session);

} // namespace tilewright::ascend
