// SPDX-License-Identifier: Apache-2.0
/// Compiling for Python: on a thread of its own, so that Ctrl-C ends the call and the process at
/// once, wherever LLVM is.
#pragma once

#include "tilewright/compile.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright {

/// `compile` with the GIL free. What Python's signal handlers raise ends the call; the thread is told
/// to stop, and ends later. It holds nothing of Python. So it goes, with RuntimeError, when `isCancelled`
/// (may be empty), asked every 50 ms, says so. Called, and returns, with the GIL held.
std::pair<std::optional<Artifact>, std::vector<Diagnostic>>
compileWatchingSignals(std::shared_ptr<KernelModule> kernel, const CompileOptions& options,
                       const std::function<bool()>& isCancelled);

/// For Python's `atexit`. A compilation that was cancelled may still be inside of LLVM, which can't be
/// left halfway: the process then ends without the destructors of LLVM's globals.
void endWithoutCompilations();

} // namespace tilewright
