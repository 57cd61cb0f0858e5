// SPDX-License-Identifier: Apache-2.0
#include "tilewright/compile.h"

#include "compiler/driver/compile_for_target.h"
#include "compiler/driver/convert_diagnostic.h"
#include "compiler/ir/kernel_arguments.h"
#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
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

/// Warns of tiles that are read although no statement writes them, at the first that reads.
void warnOfUnwrittenTiles(const BuiltKernel& kernel, std::vector<Diagnostic>& diagnostics) {
  auto guard = kernel.lock();
  const mlir::ScopedDiagnosticHandler handler(
      kernel.module().getContext(), [&](mlir::Diagnostic& diagnostic) {
        diagnostics.push_back(convertDiagnostic(diagnostic, Severity::Error));
      });
  for (auto function : kernel.module().getOps<mlir::func::FuncOp>())
    for (const auto& [buffer, traffic] : tile::bufferTraffic(function)) {
      auto tile = buffer.getDefiningOp<tile::AllocOp>();
      // At an address that the kernel chose others may lie, too.
      if (!tile || tile.getAddress() || !traffic.reader || traffic.isWritten)
        continue;
      const bool isOne = tile.getType().getNumElements() == 1;
      mlir::InFlightDiagnostic warning = mlir::emitWarning(traffic.reader->getLoc());
      warning << "'" << tile.getSymName().value_or("tile")
              << "' is read here, but no statement writes it: its "
              << (isOne ? "element holds" : "elements hold") << " what was in memory before";
      warning.attachNote(tile.getLoc())
          << "'" << tile.getSymName().value_or("tile") << "' was allocated here";
    }
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
  if (artifact && options.target != "reference" && !isOn(options, "tl.disable_buffer_init_check"))
    warnOfUnwrittenTiles(kernel, diagnostics);
  addPlaces(kernel, diagnostics);
  return artifact;
}

std::vector<Diagnostic> unwrittenResults(const KernelModule& module,
                                         const std::vector<size_t>& results) {
  const BuiltKernel& kernel = BuiltKernel::of(module);
  auto guard = kernel.lock();
  std::vector<Diagnostic> found;
  for (auto function : kernel.module().getOps<mlir::func::FuncOp>())
    for (const tile::KernelArgument& argument : tile::kernelArguments(function))
      if (argument.kind == tile::KernelArgument::Tensor && !argument.written &&
          llvm::is_contained(results, argument.number))
        found.push_back({Severity::Warning,
                         placeOf(function.getArgument(argument.number).getLoc()),
                         "'" + argument.name +
                             "' is given back, but no statement writes it: it holds what was in "
                             "memory before",
                         {}});
  return found;
}

} // namespace tilewright
