// SPDX-License-Identifier: Apache-2.0
#include "tilewright/interpret.h"

#include "compiler/builder/built_kernel.h"
#include "compiler/driver/convert_diagnostic.h"
#include "compiler/interpreter/interpret.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/passes.h"
#include "compiler/targets/ascend/passes.h"

#include "mlir/Pass/PassManager.h"

namespace tilewright {

static constexpr const char* kStepsVariable = "TILEWRIGHT_REFERENCE_STEPS";

/// How long a kernel may run, as the user says it; false where that is no number.
static bool readSteps(interpreter::InterpretOptions& options) {
  constexpr int64_t more = 10;
  if (const char* steps = std::getenv(kStepsVariable); steps && *steps != 0) {
    const llvm::StringRef text(steps);
    if (text.getAsInteger(10, options.maxSteps) || options.maxSteps <= 0 ||
        options.maxSteps > std::numeric_limits<int64_t>::max() / more)
      return false;
  }
  options.moreSteps = "; if it comes to one, give it more operations than " +
                      std::to_string(options.maxSteps) + ", of which a while loop may use one in " +
                      std::to_string(interpreter::InterpretOptions::kStepsPerTurn) +
                      " as a turn: " + kStepsVariable + "=" +
                      std::to_string(options.maxSteps * more);
  return true;
}

/// Whether a kernel is written for an NPU.
static bool isForNpu(mlir::ModuleOp module) {
  return module
      ->walk([](tile::LaunchOp launch) {
        return launch.getNpu() ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

bool interpret(const KernelModule& kernel, const std::vector<HostArgument>& arguments,
               std::vector<Diagnostic>& diagnostics, std::string* printed,
               const std::atomic<bool>* cancel, const HostFunction& call, bool reportsOutOfRange,
               bool iterationsTakeTurns, bool pairsCores) {
  const BuiltKernel& built = BuiltKernel::of(kernel);
  auto guard = built.lock();
  mlir::ModuleOp module = built.module();
  module.getContext()->printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic& diagnostic) {
    diagnostics.push_back(convertDiagnostic(diagnostic, Severity::Error));
  });
  std::vector<interpreter::Argument> bound;
  for (const HostArgument& argument : arguments) {
    if (auto* tensor = std::get_if<HostTensor>(&argument))
      bound.emplace_back(interpreter::TensorArgument{tensor->data, tensor->shape, tensor->strides,
                                                     tensor->isFresh, tensor->isResult});
    else if (auto* integer = std::get_if<int64_t>(&argument))
      bound.emplace_back(*integer);
    else
      bound.emplace_back(std::get<double>(argument));
  }
  interpreter::InterpretOptions options;
  if (!readSteps(options)) {
    mlir::emitError(mlir::UnknownLoc::get(module.getContext()))
        << kStepsVariable << " is '" << std::getenv(kStepsVariable)
        << "', which is no number of operations";
    return false;
  }
  options.cancel = cancel;
  options.printed = printed;
  options.call = call;
  options.reportsOutOfRange = reportsOutOfRange;
  options.iterationsTakeTurns = iterationsTakeTurns;
  mlir::OwningOpRef<mlir::ModuleOp> synced = module.clone();
  mlir::PassManager passes(module.getContext());
  if (pairsCores && isForNpu(module))
    passes.addNestedPass<mlir::func::FuncOp>(ascend::createPairWorkspaces());
  passes.addNestedPass<mlir::func::FuncOp>(createTakeTurns());
  passes.addNestedPass<mlir::func::FuncOp>(createRepeatAtomics(/*findsRaces=*/true));
  passes.addNestedPass<mlir::func::FuncOp>(createJoinBarriers());
  passes.addNestedPass<mlir::func::FuncOp>(createGroupThreads());
  passes.addNestedPass<mlir::func::FuncOp>(createSplitFragments());
  passes.addNestedPass<mlir::func::FuncOp>(createInsertSyncs());
  passes.addNestedPass<mlir::func::FuncOp>(createHoistInvariants());
  if (failed(passes.run(*synced)))
    return false;
  auto kernels = synced->getOps<mlir::func::FuncOp>();
  return succeeded(interpreter::interpret(*kernels.begin(), bound, options));
}

} // namespace tilewright
