// SPDX-License-Identifier: Apache-2.0
#include "tilewright/compile.h"

#include "compiler/driver/compile_for_target.h"
#include "compiler/driver/convert_diagnostic.h"
#include "compiler/ir/drop_unused_tensors.h"
#include "compiler/ir/kernel_arguments.h"
#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/place_of.h"
#include "compiler/passes/analysis/early_use.h"
#include "compiler/passes/analysis/iteration_overlap.h"
#include "compiler/passes/analysis/one_array.h"

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

/// Warns of a tile that is read although no statement writes it, at the first that reads, or of which all that
/// write it read it, at the first of them; and of one that is set later only.
void warnIfNotSet(tile::AllocOp tile, const tile::BufferTraffic& traffic) {
  const std::string name = tile.getSymName().value_or("tile").str();
  mlir::Operation* early = earlyUse(tile, traffic);
  const bool isNeverWritten = traffic.reader && !traffic.isWritten;
  if (!isNeverWritten && !early && (!traffic.updater || traffic.setter))
    return;
  const bool isRead = isNeverWritten || (early && early != traffic.updater);
  mlir::Operation* at = early ? early : isRead ? traffic.reader : traffic.updater;
  mlir::InFlightDiagnostic warning = mlir::emitWarning(at->getLoc());
  warning << "'" << name << "' is " << (isRead ? "read" : "updated") << " here, but no statement "
          << (isNeverWritten ? "writes it" : "sets it before") << ": its "
          << (tile.getType().getNumElements() == 1 ? "element holds" : "elements hold")
          << " what was in memory before";
  const tile::MemorySpace space = tile.getType().getSpace();
  if (!isRead && space == tile::MemorySpace::L0C)
    warning << "; let the first gemm have init=True";
  else if (!isRead && space == tile::MemorySpace::Var)
    warning << "; give it a value first";
  else if (!isRead)
    warning << "; call T.clear(" << name << ") first";
  warning.attachNote(tile.getLoc()) << "'" << name << "' was allocated here";
  if (early)
    warning.attachNote(traffic.setter->getLoc()) << "it is set here, later";
}

/// Warns of a loop whose iterations surely depend on each other.
void warnIfDependent(tile::ParallelOp nest) {
  tile::StoreOp store = nest->hasAttr("function") ? tile::StoreOp() : dependsOnItself(nest);
  if (!store)
    return;
  auto tile = store.getBuffer().getDefiningOp<tile::AllocOp>();
  mlir::InFlightDiagnostic warning = mlir::emitWarning(nest.getLoc());
  warning << "the iterations of this T.Parallel loop depend on each other, but may run in any "
             "order, or at once: "
             "what one writes"
          << (tile && tile.getSymName() ? " of '" + tile.getSymName()->str() + "'" : "")
          << " another one reads; make it a T.serial loop, or write to another buffer";
  warning.attachNote(store.getLoc()) << "it is written here";
}

/// Warns of what no target can know to be meant, for the targets that would run it without a word.
void warnOfMemory(const BuiltKernel& kernel, const CompileOptions& options,
                  std::vector<Diagnostic>& diagnostics) {
  auto guard = kernel.lock();
  const mlir::ScopedDiagnosticHandler handler(
      kernel.module().getContext(), [&](mlir::Diagnostic& diagnostic) {
        diagnostics.push_back(convertDiagnostic(diagnostic, Severity::Error));
      });
  for (auto function : kernel.module().getOps<mlir::func::FuncOp>()) {
    if (!isOn(options, "tl.disable_buffer_init_check"))
      for (const auto& [buffer, traffic] : tile::bufferTraffic(function)) {
        auto tile = buffer.getDefiningOp<tile::AllocOp>();
        if (tile && !tile.getAddress()) // at an address that the kernel chose others may lie, too
          warnIfNotSet(tile, traffic);
      }
    if (!isOn(options, "tl.disable_data_race_check"))
      function.walk(warnIfDependent);
  }
}

/// For the runtime's checks of a call, on all targets.
void markTensors(const BuiltKernel& kernel) {
  auto guard = kernel.lock();
  for (auto function : kernel.module().getOps<mlir::func::FuncOp>())
    markTensorsApart(function);
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
  ProblemOf* cpuProblem; // null where it takes no CPU
};
constexpr Target kTargets[] = {
    {"cpu", compileForCpu, problemOfCpu},
    {"ascend", compileForAscend, problemOfChip},
    {"reference", describeForInterpreter, nullptr},
};

const Target* findTarget(std::string_view name) {
  const Target* found = std::ranges::find(kTargets, name, &Target::name);
  return found == std::end(kTargets) ? nullptr : found;
}

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
  const Target* target = findTarget(options.target);
  markTensors(kernel);
  if (target)
    artifact = target->compile(kernel, options, diagnostics);
  else
    diagnostics.push_back(
        {Severity::Unsupported,
         {},
         "there is no target '" + options.target + "' yet; there are " + targetNames(),
         {}});
  if (artifact && options.target != "reference") // which finds it when it runs
    warnOfMemory(kernel, options, diagnostics);
  addPlaces(kernel, diagnostics);
  return artifact;
}

std::string cpuProblem(const std::string& cpu, const std::string& name) {
  const Target* target = findTarget(name);
  return target && target->cpuProblem ? target->cpuProblem(cpu) : "";
}

namespace {

std::optional<Diagnostic> ofUnwritten(mlir::func::FuncOp kernel,
                                      const tile::KernelArgument& argument, bool tellsUpdates) {
  const mlir::Value tensor = kernel.getArgument(argument.number);
  const std::string start = "'" + argument.name + "' is given back, but ";
  if (!argument.written)
    return Diagnostic{Severity::Warning,
                      placeOf(tensor.getLoc()),
                      start + "no statement writes it: it holds what was in memory before",
                      {}};
  mlir::Operation* update = tellsUpdates ? tile::firstOfUpdates(kernel, tensor) : nullptr;
  if (!update)
    return std::nullopt;
  return Diagnostic{
      Severity::Warning,
      placeOf(tensor.getLoc()),
      start + "the kernel only updates what was in memory before: store its first values, "
              "such as zeros, in the kernel, or give the call a tensor that holds them",
      {{placeOf(update->getLoc()), "it is updated here"}}};
}

} // namespace

std::vector<Diagnostic> unwrittenResults(const KernelModule& module,
                                         const std::vector<size_t>& results, bool tellsUpdates) {
  const BuiltKernel& kernel = BuiltKernel::of(module);
  auto guard = kernel.lock();
  std::vector<Diagnostic> found;
  for (auto function : kernel.module().getOps<mlir::func::FuncOp>())
    for (const tile::KernelArgument& argument : tile::kernelArguments(function))
      if (argument.kind == tile::KernelArgument::Tensor &&
          llvm::is_contained(results, argument.number))
        if (std::optional<Diagnostic> one = ofUnwritten(function, argument, tellsUpdates))
          found.push_back(std::move(*one));
  return found;
}

std::vector<unsigned> dropUnusedTensors(const std::shared_ptr<KernelModule>& module,
                                        const std::vector<unsigned>& kept) {
  const BuiltKernel& kernel = BuiltKernel::of(*module);
  auto guard = kernel.lock();
  std::vector<unsigned> dropped;
  for (auto function : kernel.module().getOps<mlir::func::FuncOp>())
    llvm::append_range(dropped, tile::dropUnusedTensors(function, kept));
  return dropped;
}

} // namespace tilewright
