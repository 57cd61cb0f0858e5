// SPDX-License-Identifier: Apache-2.0
#include "tilewright/compile.h"

#include "compiler/driver/compile_for_target.h"
#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/place_of.h"

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

/// Nothing is compiled: the tile IR itself is run (tilewright/interpret.h).
std::optional<Artifact> describeForInterpreter(const BuiltKernel& kernel,
                                               const CompileOptions& /*options*/,
                                               std::vector<Diagnostic>& /*diagnostics*/) {
  auto guard = kernel.lock();
  Artifact artifact;
  artifact.name = kernel.name();
  auto kernels = kernel.module().getOps<mlir::func::FuncOp>();
  artifact.manifest = tile::makeManifest(*kernels.begin(), "reference", "", 0);
  llvm::raw_string_ostream stream(artifact.stages.emplace_back("tile", "").second);
  kernel.module().print(stream);
  return artifact;
}

struct Target {
  std::string_view name;
  CompileFor* compile;
};
constexpr Target kTargets[] = {
    {"cpu", compileForCpu},
    {"ascend", compileForAscend},
    {"reference", describeForInterpreter},
};

std::string targetNames() {
  std::string names;
  for (const Target& target : kTargets) {
    const bool isLast = &target == std::end(kTargets) - 1;
    names += names.empty() ? "'" : isLast ? " and '" : ", '";
    names += target.name;
    names += "'";
  }
  return names;
}

} // namespace

std::optional<Artifact> compile(const KernelModule& module, const CompileOptions& options,
                                std::vector<Diagnostic>& diagnostics) {
  const BuiltKernel& kernel = BuiltKernel::of(module);
  std::optional<Artifact> artifact;
  const auto* target = llvm::find_if(
      kTargets, [&](const Target& candidate) { return candidate.name == options.target; });
  if (target != std::end(kTargets))
    artifact = target->compile(kernel, options, diagnostics);
  else
    diagnostics.push_back(
        {Severity::Unsupported,
         {},
         "there is no target '" + options.target + "' yet; there are " + targetNames(),
         {}});
  addPlaces(kernel, diagnostics);
  return artifact;
}

} // namespace tilewright
