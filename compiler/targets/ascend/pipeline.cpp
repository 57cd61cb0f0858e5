// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/pipeline.h"

#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/passes/analysis/thread_groups.h"
#include "compiler/passes/passes.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/bind_addresses.h"
#include "compiler/targets/ascend/build_library.h"
#include "compiler/targets/ascend/describe_resources.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/print_kernel.h"
#include "compiler/targets/ascend/report_calls.h"
#include "compiler/targets/ascend/separate_launches.h"
#include "tilewright/kernel_abi.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Pass/Pass.h>
#include <mlir/Transforms/Passes.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

constexpr llvm::StringLiteral kPrefix = "ascend-";

/// The whole lowering, one pass a line.
std::vector<std::unique_ptr<Pass>> makePipeline(const Session& session) {
  const Automation& automation = session.automation;
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(createCheckKernel(*session.chip));
  if (automation.split)
    passes.push_back(createScopeCrossFlags());
  passes.push_back(createPlaceLocals());
  if (!automation.flags)
    passes.push_back(createMarkStatements());
  passes.push_back(createPlainUpdates(!automation.flags));
  passes.push_back(createScopeVariables());
  if (automation.split) // what the user has put into UB: places go by who knows a variable
    passes.push_back(createPartVariables());
  passes.push_back(createMarkOnce());
  passes.push_back(createStageGlobalTiles(*session.chip, automation.flags));
  passes.push_back(createMarkInBounds());
  passes.push_back(createBoundArguments());
  if (automation.crossFlags)
    passes.push_back(createPairWorkspaces());
  passes.push_back(createFoldClears());
  passes.push_back(createPlaceBuffers(!automation.flags, automation.split));
  passes.push_back(createCheckScopes());
  passes.push_back(createGuardOnce());
  if (automation.split) // what the compiler has put there
    passes.push_back(createPartVariables());
  if (automation.flags)
    passes.push_back(createFollowVariables(/*tellTurns=*/false));
  passes.push_back(createStructureExits(
      /*always=*/automation.flags || automation.scalarFlags || automation.crossFlags));
  if (automation.flags)
    passes.push_back(createFollowVariables());
  passes.push_back(createAddWorkspaces(automation.flags, automation.flags && automation.crossFlags,
                                       automation.split));
  passes.push_back(createShareVectorWork());
  if (automation.flags)
    passes.push_back(createCopyRows(*session.chip));
  passes.push_back(createWideIndices());
  passes.push_back(createMarkFreshTiles());
  passes.push_back(createExpandGemms(!automation.flags));
  passes.push_back(createExpandCopies(!automation.flags));
  passes.push_back(createExpandReductions());
  passes.push_back(createVectorizeParallel(!automation.flags));
  passes.push_back(createLazyChoices());
  passes.push_back(createExpandElements(!automation.flags, automation.split));
  passes.push_back(createExpandCalls(automation.flags));
  passes.push_back(createForwardVariables());
  passes.push_back(createCubeVid());
  passes.push_back(createDropIdleWork());
  passes.push_back(createPlainDivisions());
  passes.push_back(createShareDims());
  passes.push_back(createCanonicalizerPass());
  passes.push_back(createShareNames());
  passes.push_back(createCSEPass());
  if (automation.flags) {
    passes.push_back(createForwardFills());
    passes.push_back(createRotateBuffers(*session.chip));
    passes.push_back(createLoadAhead());
  }
  passes.push_back(createDefinePadding(/*isOrdered=*/!automation.flags));
  if (automation.flags) {
    passes.push_back(createCanonicalizerPass());
    passes.push_back(createCSEPass());
  }
  // Where flags are found, they order what shares bytes, too.
  passes.push_back(createPlanMemory(*session.chip, automation.planning || automation.flags));
  const WithinCores within = automation.flags         ? WithinCores::All
                             : automation.scalarFlags ? WithinCores::ScalarUnit
                                                      : WithinCores::None;
  passes.push_back(createInsertFlags(within, automation.crossFlags));
  passes.push_back(
      createCheckHazards(within, automation.crossFlags, automation.split, session.isRelaxed));
  passes.push_back(createWideEnds());
  passes.push_back(createSplitCubeVector(automation.split));
  passes.push_back(createPlainExits());
  return passes;
}

/// Refuses a grid that no launch can have. How many cores a block takes is known only now.
bool checkGrid(func::FuncOp kernel) {
  const int64_t cores = launchKindOf(kernel).launchedPerBlock();
  for (auto launch : kernel.getOps<tile::LaunchOp>()) {
    int64_t blocks = 1;
    for (Value extent : launch.getGrid())
      if (llvm::MulOverflow(blocks, getConstantIntValue(extent).value_or(1), blocks))
        blocks = std::numeric_limits<int64_t>::max();
    if (blocks <= TW_ASCEND_MOST_CORES / cores)
      continue;
    launch.emitError() << "unsupported on ascend: the grid has " << blocks << " blocks"
                       << (cores == 1 ? "" : " of two vector cores each")
                       << ", but a launch has at most " << TW_ASCEND_MOST_CORES
                       << (cores == 1 ? "" : " cores")
                       << "; let each block do several parts of the work";
    return false;
  }
  return true;
}

/// Warns where all cores are to meet, but the chip hasn't room for all at a time: they would wait for ever.
void warnOfMeetings(func::FuncOp kernel, const chips::AscendChip& chip) {
  const LaunchKind kind = launchKindOf(kernel);
  const int64_t room =
      (kind.hasCube ? chip.cubeCores : chip.vectorCores) / std::max(kind.launchedPerBlock(), 1);
  for (auto launch : kernel.getOps<tile::LaunchOp>()) {
    int64_t blocks = 1;
    for (Value extent : launch.getGrid())
      blocks *= getConstantIntValue(extent).value_or(1);
    if (blocks <= room)
      continue;
    launch.walk([&](SyncAllOp sync) {
      sync.emitWarning() << "all blocks wait for each other here, but the grid has " << blocks
                         << ", and the chip has cores for " << room << " at a time: launch at most "
                         << room << " blocks, each of which does several parts of the work";
      return WalkResult::interrupt();
    });
  }
}

/// Where the source of the user's own was given of which the compiler tells; the first where it tells of none.
Location placeOfSource(func::FuncOp kernel, StringRef output) {
  auto places = kernel->getAttrOfType<ArrayAttr>(kSourcePlacesAttr);
  if (!places || places.empty())
    return kernel.getLoc();
  for (auto [number, place] : llvm::enumerate(places))
    if (output.contains(nameOfSource(number) + ":"))
      return cast<LocationAttr>(place);
  return cast<LocationAttr>(places[0]);
}

} // namespace

void prepareContext(MLIRContext& context) {
  context.loadDialect<npu::NpuDialect, AscendDialect, scf::SCFDialect>();
}

bool lowerToInstructions(ModuleOp module, Session& session) {
  const PhaseTimer timer(session, "passes");
  static constexpr llvm::StringRef expansions[] = {"ascend-expand-gemms", "ascend-expand-copies",
                                                   "ascend-expand-reductions",
                                                   "ascend-vectorize-parallel"};
  return runPasses(module, makePipeline(session), kPrefix, session, expansions);
}

namespace {

func::FuncOp kernelOf(ModuleOp module) {
  return *module.getOps<func::FuncOp>().begin();
}

/// One launch of a kernel: as it was written, and as instructions.
struct Part {
  OwningOpRef<ModuleOp> written, lowered;

  func::FuncOp kernel() {
    return kernelOf(*lowered);
  }
};

/// What the caller switched on, and all of it for a kernel that was not written for an NPU: ops run there in the order
/// of the text.
Automation automationOf(ModuleOp module, Automation automation) {
  module->walk([&](tile::LaunchOp launch) {
    if (launch.getNpu())
      return;
    repeatAtomics(launch); // its threads' number is asked for here only
    automation = {true, true, true, true};
    launch.walk([](tile::SyncOp sync) { sync.erase(); });
    launch.setNpu(true);
    launch.setThreads({});
    launch->setAttr(kOfGpuAttr, UnitAttr::get(module->getContext()));
  });
  if (automation.crossFlags && !automation.split) {
    automation.crossFlags = false;
    kernelOf(module).emitWarning("tl.ascend_auto_cross_core_sync has no effect without "
                                 "tl.ascend_auto_cv_combine");
  }
  return automation;
}

bool lowerPart(Part& part, Session& session) {
  const Automation chosen = session.automation;
  part.lowered = part.written->clone();
  session.automation = automationOf(*part.lowered, chosen);
  const bool isLowered = lowerToInstructions(*part.lowered, session) && checkGrid(part.kernel());
  if (isLowered)
    warnOfMeetings(part.kernel(), *session.chip);
  session.automation = chosen;
  return isLowered;
}

/// The text of all launches; empty if something has no statement, which was reported.
std::string printParts(func::FuncOp written, MutableArrayRef<Part> parts, LineStyle style) {
  std::string text = printHead(written, style);
  SmallVector<LaunchNeeds> needs;
  for (Part& part : parts) {
    func::FuncOp kernel = part.kernel();
    const std::string functions = printFunctions(kernel, style);
    if (functions.empty())
      return functions;
    text += functions;
    auto workspace = kernel->getAttrOfType<IntegerAttr>(kWorkspaceBytesAttr);
    needs.push_back({launchKindOf(kernel).launchedPerBlock(), workspace ? workspace.getInt() : 0,
                     kernel->hasAttr(kBlockWorkspaceBytesAttr)});
  }
  return parts.size() > 1 ? text + hostOfLaunches(written.getName(), needs) : text;
}

/// What `kernel.report()` shows. Behind the printing, which may have given buffers other names.
void addDescriptions(MutableArrayRef<Part> parts, Session& session) {
  std::string memory, waits, launches;
  SmallVector<std::pair<func::FuncOp, std::string>> pictures;
  for (auto [number, part] : llvm::enumerate(parts)) {
    func::FuncOp kernel = part.kernel();
    const std::string ownWaits = insertedWaitsText(kernel, kernelOf(*part.written));
    std::string words;
    if (parts.size() > 1) {
      words = launchWords(kernel, number, parts.size());
      launches += kernel.getName().str() + ": " + words + "\n";
      memory += words + "\n";
      waits += words + "\n" + (ownWaits.empty() ? "none was put in by the compiler\n" : ownWaits);
      words += ", ";
    } else {
      waits = ownWaits;
    }
    memory += memoryMapText(kernel, *session.chip);
    pictures.emplace_back(kernel, words);
  }
  if (parts.size() > 1)
    session.stages.emplace_back("launches", launches);
  session.stages.emplace_back("memory", memory);
  session.stages.emplace_back("memory.svg", memoryMapSvg(pictures, *session.chip));
  session.stages.emplace_back("waits", waits);
}

/// What tells of the kernel; false if it can't be printed.
bool addTexts(func::FuncOp written, MutableArrayRef<Part> parts, Session& session,
              std::string& source) {
  const PhaseTimer timer(session, "print");
  source = printParts(written, parts, LineStyle::Directives);
  if (source.empty())
    return false;
  addDescriptions(parts, session);
  session.stages.emplace_back(
      "ascendc", session.lineDirectives ? source : printParts(written, parts, LineStyle::Comments));
  return true;
}

std::string manifestOf(func::FuncOp written, MutableArrayRef<Part> parts, const Session& session) {
  int64_t workspace = 0;
  SmallVector<tile::ArgumentLimit> limits;
  for (auto [number, part] : llvm::enumerate(parts)) {
    if (auto bytes = part.kernel()->getAttrOfType<IntegerAttr>(kWorkspaceBytesAttr))
      workspace = std::max(workspace, bytes.getInt());
    llvm::append_range(limits, limitsOf(part.kernel(), int64_t(number)));
  }
  // Of several launches the grid counts cores.
  const int64_t cores =
      parts.size() > 1 ? 1 : launchKindOf(parts.front().kernel()).launchedPerBlock();
  return tile::makeManifest(written, "ascend", session.chip->name, 0, workspace, cores,
                            /*usesTiles=*/false, limits, session.isRelaxed);
}

bool build(const std::string& source, MutableArrayRef<Part> parts, Session& session) {
  const PhaseTimer timer(session, "build");
  std::optional<std::vector<char>> library = buildLibrary(source, session);
  if (library) {
    session.library = std::move(*library);
  } else if (!session.isCancelled() && !session.isOfMachine) {
    // What doesn't compile is most likely the user's own.
    func::FuncOp first = parts.front().kernel();
    const bool isReported = llvm::any_of(
        parts, [&](Part& part) { return reportCalls(part.kernel(), session.problem); });
    if (!isReported && first->hasAttr(kSourcesAttr))
      emitError(placeOfSource(first, session.problem)) << session.problem;
    if (isReported || first->hasAttr(kSourcesAttr))
      session.problem.clear();
  }
  return library.has_value();
}

} // namespace

bool compileModule(ModuleOp original, Session& session) {
  if (session.keepStages)
    session.stages.emplace_back("tile", stageText(original));
  OwningOpRef<ModuleOp> bound;
  if (hasAddresses(original)) {
    bound = original.clone();
    bindAddresses(*bound);
    original = *bound;
  }
  std::vector<Part> parts;
  for (OwningOpRef<ModuleOp>& written : separateLaunches(original))
    parts.push_back({std::move(written), {}});
  for (Part& part : parts)
    if (!lowerPart(part, session))
      return false;
  std::string source;
  if (!addTexts(kernelOf(original), parts, session, source))
    return false;
  session.manifest = manifestOf(kernelOf(original), parts, session);
  return !session.buildLibrary || build(source, parts, session);
}

} // namespace tilewright::ascend
