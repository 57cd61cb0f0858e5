// SPDX-License-Identifier: Apache-2.0
/// CheckHazards: says where instructions depend on each other and nothing orders them, and which
/// flags don't match. Changes nothing.
///
///   npu.load_ub ... to %x[%c0] ...
///   npu.unary exp %y[%c0] : ..., %x[%c0] : ...
///     warning: exp needs what load_ub writes, but nothing orders them: set a flag from MTE2 to V
///
/// It stands behind all that makes or takes waits. After InsertFlags it must find nothing; in a
/// kernel with flags by hand a hazard is a warning, because the vendor's compiler adds some
/// orderings by itself, and a flag that doesn't match is an error, because the chip would hang.
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/analysis/unroll.h"
#include "compiler/targets/ascend/build_program.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/passes.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;
using model::FaultKind;
using model::Hazard;

std::string advice(const Hazard& hazard) {
  const model::Queue from = hazard.earlier->queue, to = hazard.later->queue;
  if (from.agent != to.agent)
    return "set a cross-core flag on " + model::nameOf(from.pipe);
  if (from == to)
    return "add a barrier of " + model::nameOf(from.pipe);
  return "set a flag from " + model::nameOf(from.pipe) + " to " + model::nameOf(to.pipe);
}

const char* text(FaultKind kind) {
  switch (kind) {
  case FaultKind::SetTwice:
    return " is set again before anything waited for it";
  case FaultKind::NeverSet:
    return " is waited for, but nothing has set it";
  case FaultKind::OnePathOnly:
    return " is set in one branch only";
  case FaultKind::NotWaitedFor:
    return " is still set when the kernel ends";
  case FaultKind::Unbalanced:
    return " is not set as often as it is waited for in an iteration of this loop";
  }
  return "";
}

struct CheckHazards : KernelPass<CheckHazards> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckHazards)
  static constexpr llvm::StringLiteral kArgument = "ascend-check-hazards";
  static constexpr llvm::StringLiteral kDescription =
      "warn of instructions that nothing orders; refuse flags that don't match";

  void runOnOperation() override {
    const std::unique_ptr<ModelOfKernel> model = buildProgram(getOperation());
    if (model->exit || model->unknownEvent)
      return;
    const model::Conflicts conflicts(model->program);
    const model::Verdict verdict = checkIterations(model->program, conflicts);
    for (const Hazard& hazard : verdict.hazards)
      if (hazard.earlier->queue.agent == hazard.later->queue.agent || !model->hasOwnCrossFlags)
        warn(hazard);
    for (const model::Fault& fault : verdict.faults) {
      Operation* at = fault.at ? operationOf(fault.at) : getOperation();
      at->emitError() << describe(model->program.flags[fault.flag]) << text(fault.kind);
    }
    if (!verdict.faults.empty())
      signalPassFailure();
  }

  static void warn(const Hazard& hazard) {
    InFlightDiagnostic warning = operationOf(hazard.later)->emitWarning();
    warning << describe(hazard) << ", but nothing orders them: " << advice(hazard);
    warning.attachNote(operationOf(hazard.earlier)->getLoc()) << "the earlier one is here";
  }
};

} // namespace

std::unique_ptr<Pass> createCheckHazards() {
  return std::make_unique<CheckHazards>();
}

} // namespace tilewright::ascend
