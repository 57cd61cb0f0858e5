// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/compile_for_target.h"
#include "compiler/targets/cpu/check_kernel.h"
#include "compiler/targets/cpu/compile_source.h"
#include "compiler/targets/cpu/pipeline.h"

namespace tilewright {
namespace {

/// Whether the target can do all that the module needs; compiles the C that it brings with it.
bool checkForCpu(mlir::ModuleOp module, cpu::Session& session, cpu::OwnCode& code,
                 std::vector<Diagnostic>& diagnostics) {
  bool isSupported = true;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    llvm::StringSet<> own;
    if (const std::string source = cpu::importedSource(function); !source.empty()) {
      std::string problem;
      auto compiled = cpu::compileSource(source, session.machine, problem);
      if (!compiled) {
        diagnostics.push_back({Severity::Error, {}, problem, {}});
        return false;
      }
      code = std::move(*compiled);
      session.own = code.object;
      own.insert_range(code.functions);
    }
    for (Diagnostic& unsupported : cpu::checkKernel(function, own)) {
      diagnostics.push_back(std::move(unsupported));
      isSupported = false;
    }
  }
  return isSupported;
}

} // namespace

std::optional<Artifact> compileForCpu(const BuiltKernel& kernel, const CompileOptions& options,
                                      std::vector<Diagnostic>& diagnostics) {
  cpu::Session session;
  std::string problem;
  std::optional<cpu::Machine> machine = cpu::findMachine(options.cpu, problem);
  if (!machine) {
    diagnostics.push_back({Severity::Unsupported, {}, problem, {}});
    return std::nullopt;
  }
  session.machine = *machine;
  session.fastMath = isOn(options, "tl.enable_fast_math") || isOn(options, "tl.fast_math");
  session.expBits = unsigned(numberOf(options, "tilewright.exp_bits").value_or(session.expBits));
  session.expMost = numberOf(options, "tilewright.exp_most").value_or(session.expMost);
  session.normwiseGemm = isOn(options, "tilewright.normwise_gemm");
  session.keepStages = options.keepStages;
  session.cancel = options.cancel;

  auto guard = kernel.lock();
  mlir::ModuleOp original = kernel.module();
  cpu::OwnCode own;
  if (!checkForCpu(original, session, own, diagnostics))
    return std::nullopt;
  cpu::prepareContext(*original.getContext());
  return makeArtifact(kernel, session, Severity::Internal, diagnostics, [&](mlir::ModuleOp module) {
    if (own.hidden.empty())
      return cpu::compileModule(module, session);
    const mlir::OwningOpRef<mlir::ModuleOp> copy =
        module.clone(); // the kernel's is for all targets
    cpu::callHidden(*copy, own);
    return cpu::compileModule(*copy, session);
  });
}

std::string hostCpu() {
  std::string problem;
  std::optional<cpu::Machine> machine = cpu::findMachine("native", problem);
  if (!machine)
    return "";
  return machine->name + " " + std::string(machine->level()) +
         (machine->hasBf16Tiles ? " amx" : "");
}

std::string problemOfCpu(const std::string& cpu) {
  std::string problem;
  return cpu::findMachine(cpu, problem) ? "" : problem;
}

} // namespace tilewright
