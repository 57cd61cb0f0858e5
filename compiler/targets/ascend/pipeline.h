// SPDX-License-Identifier: Apache-2.0
/// The Ascend target as one call: a module of tile IR becomes Ascend C, and that a shared library.
#pragma once

#include "compiler/chips/ascend_chip.h"
#include "compiler/passes/pass_session.h"

#include <mlir/IR/BuiltinOps.h>

#include <string>
#include <vector>

namespace tilewright::ascend {

/// The passes that users switch, by the keys that they know.
struct Automation {
  bool flags = false;       ///< tl.ascend_auto_sync
  bool planning = false;    ///< tl.ascend_memory_planning
  bool split = false;       ///< tl.ascend_auto_cv_combine
  bool crossFlags = false;  ///< tl.ascend_auto_cross_core_sync
  bool scalarFlags = false; ///< tl.ascend_auto_sync_vs
};

/// What a caller wants, and what it gets: at least the last stage, "ascendc"; the phases "passes",
/// "print" and "build".
struct Session : PassSession {
  const chips::AscendChip* chip = nullptr;
  Automation automation;
  /// What the vendor's compiler orders by itself (`--cce-auto-sync`) counts as ordered.
  bool isRelaxed = false;
  /// Build the library, which takes a C++ compiler seconds; else the text is all.
  bool buildLibrary = true;
  /// tl.emit_line_directives: the last stage names the kernel's lines by #line instead of comments.
  bool lineDirectives = false;
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
