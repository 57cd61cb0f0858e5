// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/compile_for_target.h"
#include "compiler/targets/cpu/check_kernel.h"
#include "compiler/targets/cpu/compile_source.h"
#include "compiler/targets/cpu/link_library.h"
#include "compiler/targets/cpu/pipeline.h"

namespace tilewright {
namespace {

/// Whether the target can do all that the module needs; compiles the C that it brings with it.
bool checkForCpu(mlir::ModuleOp module, cpu::Session& session,
                 std::vector<Diagnostic>& diagnostics) {
  bool isSupported = true;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    llvm::StringSet<> own;
    if (const std::string source = cpu::importedSource(function); !source.empty()) {
      std::string problem;
      auto object = cpu::compileSource(source, session.machine, problem);
      if (!object) {
        diagnostics.push_back({Severity::Error, {}, problem, {}});
        return false;
      }
      session.own = std::move(*object);
      for (const std::string& symbol : cpu::definedSymbols(session.own))
        own.insert(symbol);
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
  session.keepStages = options.keepStages;
  session.cancel = options.cancel;

  auto guard = kernel.lock();
  mlir::ModuleOp original = kernel.module();
  if (!checkForCpu(original, session, diagnostics))
    return std::nullopt;
  cpu::prepareContext(*original.getContext());
  return makeArtifact(kernel, session, Severity::Internal, diagnostics,
                      [&](mlir::ModuleOp module) { return cpu::compileModule(module, session); });
}

std::string hostCpu() {
  std::string problem;
  std::optional<cpu::Machine> machine = cpu::findMachine("native", problem);
  return machine ? machine->name + " " + std::string(machine->level()) : "";
}

} // namespace tilewright
