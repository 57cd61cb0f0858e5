// SPDX-License-Identifier: Apache-2.0
#include "tilewright/compile.h"

#include "compiler/builder/built_kernel.h"
#include "compiler/driver/convert_diagnostic.h"
#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/place_of.h"
#include "compiler/targets/ascend/pipeline.h"
#include "compiler/targets/cpu/check_kernel.h"
#include "compiler/targets/cpu/compile_source.h"
#include "compiler/targets/cpu/link_library.h"
#include "compiler/targets/cpu/pipeline.h"

namespace tilewright {
namespace {

/// What has no place of its own, such as an unknown target, is told at the kernel's first line.
void addPlaces(const BuiltKernel& kernel, std::vector<Diagnostic>& diagnostics) {
  auto guard = kernel.lock();
  for (auto function : kernel.module().getOps<mlir::func::FuncOp>())
    for (Diagnostic& diagnostic : diagnostics)
      if (!diagnostic.place.isKnown())
        diagnostic.place = placeOf(function.getLoc());
}

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
  session.keepStages = options.keepStages;
  session.cancel = options.cancel;

  auto guard = kernel.lock();
  mlir::ModuleOp original = kernel.module();
  if (!checkForCpu(original, session, diagnostics))
    return std::nullopt;
  cpu::prepareContext(*original.getContext());
  mlir::ScopedDiagnosticHandler handler(original.getContext(), [&](mlir::Diagnostic& diagnostic) {
    diagnostics.push_back(convertDiagnostic(diagnostic, Severity::Internal));
  });
  Artifact artifact;
  artifact.name = kernel.name();
  if (!cpu::compileModule(original, session)) {
    if (!session.problem.empty())
      diagnostics.push_back({Severity::Internal, {}, session.problem, {}});
    return std::nullopt;
  }
  artifact.library = std::move(session.library);
  artifact.manifest = std::move(session.manifest);
  artifact.header = std::move(session.header);
  artifact.stages = std::move(session.stages);
  artifact.times = std::move(session.times);
  return artifact;
}

bool isOn(const CompileOptions& options, std::string_view key) {
  for (const auto& [name, value] : options.passConfigs)
    if (name == key) {
      if (const auto* flag = std::get_if<bool>(&value))
        return *flag;
      const auto* number = std::get_if<int64_t>(&value);
      return number && *number != 0;
    }
  return false;
}

std::optional<Artifact> compileForAscend(const BuiltKernel& kernel, const CompileOptions& options,
                                         std::vector<Diagnostic>& diagnostics) {
  ascend::Session session;
  const std::string chip = options.cpu == "native" ? "910B2" : options.cpu;
  session.chip = chips::findAscendChip(chip);
  if (!session.chip) {
    diagnostics.push_back(
        {Severity::Unsupported, {}, "there is no Ascend chip '" + chip + "'", {}});
    return std::nullopt;
  }
  session.automation = {
      isOn(options, "tl.ascend_auto_sync"), isOn(options, "tl.ascend_memory_planning"),
      isOn(options, "tl.ascend_auto_cv_combine"), isOn(options, "tl.ascend_auto_cross_core_sync")};
  session.keepStages = options.keepStages;
  session.buildLibrary = options.buildLibrary;
  session.cancel = options.cancel;
  auto guard = kernel.lock();
  mlir::ModuleOp original = kernel.module();
  ascend::prepareContext(*original.getContext());
  mlir::ScopedDiagnosticHandler handler(original.getContext(), [&](mlir::Diagnostic& diagnostic) {
    diagnostics.push_back(convertDiagnostic(diagnostic, Severity::Error));
  });
  Artifact artifact;
  artifact.name = kernel.name();
  if (!ascend::compileModule(original, session)) {
    if (!session.problem.empty())
      diagnostics.push_back({Severity::Internal, {}, session.problem, {}});
    return std::nullopt;
  }
  artifact.library = std::move(session.library);
  artifact.manifest = std::move(session.manifest);
  artifact.stages = std::move(session.stages);
  artifact.times = std::move(session.times);
  return artifact;
}

/// Nothing is compiled: the tile IR itself is run (tilewright/interpret.h).
Artifact describeForInterpreter(const BuiltKernel& kernel) {
  auto guard = kernel.lock();
  Artifact artifact;
  artifact.name = kernel.name();
  auto kernels = kernel.module().getOps<mlir::func::FuncOp>();
  artifact.manifest = tile::makeManifest(*kernels.begin(), "reference", "", 0);
  llvm::raw_string_ostream stream(artifact.stages.emplace_back("tile", "").second);
  kernel.module().print(stream);
  return artifact;
}

} // namespace

std::optional<Artifact> compile(const KernelModule& kernel, const CompileOptions& options,
                                std::vector<Diagnostic>& diagnostics) {
  std::optional<Artifact> artifact;
  if (options.target == "cpu")
    artifact = compileForCpu(BuiltKernel::of(kernel), options, diagnostics);
  else if (options.target == "ascend")
    artifact = compileForAscend(BuiltKernel::of(kernel), options, diagnostics);
  else if (options.target == "reference")
    artifact = describeForInterpreter(BuiltKernel::of(kernel));
  else
    diagnostics.push_back({Severity::Unsupported,
                           {},
                           "there is no target '" + options.target +
                               "' yet; there are 'cpu', 'ascend' and 'reference'",
                           {}});
  addPlaces(BuiltKernel::of(kernel), diagnostics);
  return artifact;
}

std::string hostCpu() {
  std::string problem;
  std::optional<cpu::Machine> machine = cpu::findMachine("native", problem);
  return machine ? machine->name + " " + std::string(machine->level()) : "";
}

} // namespace tilewright
