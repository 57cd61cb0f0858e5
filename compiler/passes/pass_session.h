// SPDX-License-Identifier: Apache-2.0
/// What a compilation has in common on all targets: what it keeps, how long its phases take, and
/// how it runs a pass.
#pragma once

#include <mlir/IR/BuiltinOps.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mlir {
class Pass;
} // namespace mlir

namespace tilewright {

/// The common part of what a caller wants of a compilation, and of what it gets.
struct PassSession {
  /// Keep the text of every stage (costs time).
  bool keepStages = false;
  /// When set from another thread, the work ends at the next pass.
  const std::atomic<bool>* cancel = nullptr;

  /// The ELF shared library, its manifest, and on the CPU its C header.
  std::vector<char> library;
  std::string manifest;
  std::string header;
  /// Stage name and text, in the order of the pipeline; pass names without the target's prefix.
  std::vector<std::pair<std::string, std::string>> stages;
  /// Phases and their milliseconds.
  std::vector<std::pair<std::string, double>> times;
  /// A sentence, after a failure that is no diagnostic of MLIR.
  std::string problem;
  /// That sentence is of what the machine lacks; else it is of a fault of ours.
  bool isOfMachine = false;
  /// The pass that ended the work; its diagnostics say why.
  std::string failedPass;

  bool isCancelled() const {
    return cancel && cancel->load(std::memory_order_relaxed);
  }
};

/// Set by tests (it costs time): what a pass makes of the IR must verify.
inline constexpr const char* kVerifyVariable = "TILEWRIGHT_VERIFY_PASSES";
bool verifiesPasses();

/// Adds the time of a scope to a session.
class PhaseTimer {
public:
  PhaseTimer(PassSession& session, const char* phase) : session(session), phase(phase) {}
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;
  ~PhaseTimer();

private:
  PassSession& session;
  const char* phase;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// The module as a stage shows it.
std::string stageText(mlir::ModuleOp module);

/// Runs one pass; its stage has its name without `prefix`. False after an error, which was reported.
bool runPass(mlir::ModuleOp module, std::unique_ptr<mlir::Pass> pass, llvm::StringRef prefix,
             PassSession& session);

/// Runs all of them, until one fails or the session is cancelled; then `problem` says so. Those whose arguments are
/// in `together` follow each other and all run, also where one has failed: each lowers operations of its own, and a
/// user hears of all that are wrong at once.
bool runPasses(mlir::ModuleOp module, std::vector<std::unique_ptr<mlir::Pass>> passes,
               llvm::StringRef prefix, PassSession& session,
               llvm::ArrayRef<llvm::StringRef> together = {});

} // namespace tilewright
