// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/pipeline.h"

#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/passes.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/c_entry.h"
#include "compiler/targets/cpu/describe_kernel.h"
#include "compiler/targets/cpu/emit_object.h"
#include "compiler/targets/cpu/link_library.h"
#include "compiler/targets/cpu/passes.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/LLVMIR/Transforms/Passes.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/Pass/Pass.h>
#include <mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h>
#include <mlir/Target/LLVMIR/Export.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;

constexpr llvm::StringLiteral kPrefix = "cpu-";

/// The whole lowering, one pass a line.
std::vector<std::unique_ptr<Pass>> makePipeline(const Session& session) {
  const Machine& machine = session.machine;
  const bool fastMath = session.fastMath;
  const unsigned expBits = session.expBits;
  std::vector<std::unique_ptr<Pass>> passes;
  passes.push_back(createDeepenGemms(machine));
  passes.push_back(createMarkInBounds());
  passes.push_back(createSkipStages());
  passes.push_back(createMarkRoundings(fastMath && expBits <= kShortExpBits));
  passes.push_back(createLowerDots(machine));
  passes.push_back(createMultiplyByPieces(machine, fastMath));
  if (session.normwiseGemm)
    passes.push_back(createMultiplyBySums(machine));
  passes.push_back(createPackGemmOperands(machine));
  passes.push_back(createStoreResults());
  passes.push_back(createReadInPlace(machine));
  passes.push_back(createFuseReductions(machine, fastMath));
  passes.push_back(createPlanScratch());
  passes.push_back(createLowerGemm(machine));
  passes.push_back(createFetchNextBlock(machine));
  passes.push_back(createLowerReductions(machine));
  passes.push_back(createLowerCopies(machine));
  passes.push_back(createLowerTables(machine));
  passes.push_back(createLowerParallel(machine, fastMath));
  passes.push_back(createMakeEntryPoints());
  passes.push_back(createLowerCalls());
  passes.push_back(createLowerPrints());
  passes.push_back(createLowerBuffers());
  passes.push_back(createExpandSmallFloats());
  if (fastMath)
    passes.push_back(createExpandDivisions(machine, expBits));
  passes.push_back(createExpandExponentials(machine, fastMath, expBits, session.expMost));
  passes.push_back(createFlattenControlFlow());
  passes.push_back(createConvertToLlvm());
  LLVM::DIScopeForLLVMFuncOpPassOptions lines;
  lines.emissionKind = LLVM::DIEmissionKind::LineTablesOnly;
  passes.push_back(LLVM::createDIScopeForLLVMFuncOpPass(lines));
  return passes;
}

/// Ends a compilation that a pass has ended.
bool fail(Session& session) {
  if (session.problem.empty())
    session.problem = "pass " + session.failedPass + " failed";
  return false;
}

/// What LLVM must know of each function, and which ones others may call.
void setFunctionAttributes(llvm::Module& module, const Machine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.cpu);
    function.addFnAttr("target-features", machine.features);
    if (machine.isX86) {
      // Some CPUs' tuning would keep LLVM's vectoriser at 256 bits, to spare their clock.
      const std::string bits = std::to_string(machine.vectorBits);
      function.addFnAttr("prefer-vector-width", bits);
      function.addFnAttr("min-legal-vector-width", bits);
    }
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.setUWTableKind(llvm::UWTableKind::Async); // so that gdb can walk the stack
  }
}

void embedManifest(llvm::Module& module, llvm::StringRef manifest) {
  auto* text = llvm::ConstantDataArray::getString(module.getContext(), manifest);
  new llvm::GlobalVariable(module, text->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, text, "tilewright_manifest");
}

std::string textOf(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

/// Keeps LLVM from printing: remarks on loops that it could not vectorise say nothing to users, and an
/// error would end the process.
struct QuietHandler : llvm::DiagnosticHandler {
  explicit QuietHandler(std::string& problem) : problem(problem) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(problem);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true;
  }

  std::string& problem;
};

std::unique_ptr<llvm::Module> translate(ModuleOp module, llvm::LLVMContext& context,
                                        Session& session) {
  const PhaseTimer timer(session, "translate");
  auto code =
      translateModuleToLLVMIR(module, context, "kernel", /*disableVerification=*/!verifiesPasses());
  if (!code)
    session.problem = "translation to LLVM IR failed";
  return code;
}

void prepareModule(llvm::Module& code, const llvm::TargetMachine& target, const Session& session) {
  code.setTargetTriple(target.getTargetTriple());
  code.setDataLayout(target.createDataLayout());
  setFunctionAttributes(code, session.machine);
  embedManifest(code, session.manifest);
}

/// True, with the problem, if somebody wants the work to end.
bool isCancelled(Session& session) {
  if (session.isCancelled())
    session.problem = "cancelled";
  return session.isCancelled();
}

/// Optimises and emits; keeps the last two stages. Of no use if `session.problem` is set then.
std::string makeObject(llvm::Module& code, llvm::TargetMachine& target, Session& session) {
  {
    const PhaseTimer timer(session, "optimize");
    optimizeModule(code, session.machine, target, session.cancel);
  }
  if (isCancelled(session))
    return {};
  if (session.keepStages) {
    session.stages.emplace_back("llvm", textOf(code));
    session.stages.emplace_back("asm", emitAssembly(code, target));
  }
  const PhaseTimer timer(session, "emit");
  std::string object = emitObject(code, target, session.cancel);
  isCancelled(session);
  return object;
}

/// Gives each assertion its number in the manifest: passes may copy it into several places.
void numberAsserts(ModuleOp module) {
  int32_t number = 0;
  Builder builder(module.getContext());
  module.walk(
      [&](tile::AssertOp op) { op->setAttr(kAssertAttr, builder.getI32IntegerAttr(number++)); });
}

} // namespace

void prepareContext(MLIRContext& context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<LLVM::LLVMDialect, cf::ControlFlowDialect, vector::VectorDialect>();
}

bool lowerToLlvmDialect(ModuleOp module, Session& session) {
  const PhaseTimer timer(session, "passes");
  auto passes = makePipeline(session);
  return runPasses(module, std::move(passes), kPrefix, session) || fail(session);
}

bool compileModule(ModuleOp original, Session& session) {
  auto kernels = original.getOps<func::FuncOp>();
  if (kernels.empty()) {
    session.problem = "the module holds no kernel";
    return false;
  }
  func::FuncOp kernel = *kernels.begin();
  const StringRef name = kernel.getName();
  if (session.keepStages)
    session.stages.emplace_back("tile", stageText(original));
  OwningOpRef<ModuleOp> module = original.clone();
  if (!runPass(*module, createAssertRegions(), kPrefix, session) ||
      !runPass(*module, createTakeTurns(), kPrefix, session) ||
      !runPass(*module, createRepeatAtomics(), kPrefix, session) ||
      !runPass(*module, createJoinBarriers(), kPrefix, session) ||
      !runPass(*module, createGroupThreads(), kPrefix, session) ||
      !runPass(*module, createSplitFragments(), kPrefix, session) ||
      !runPass(*module, createInsertSyncs(), kPrefix, session) ||
      !runPass(*module, createPlaceSizedTiles(), kPrefix, session) ||
      !runPass(*module, createHoistInvariants(), kPrefix, session) ||
      !runPass(*module, createSplitThreads(), kPrefix, session) ||
      !runPass(*module, createPartOverlaps(), kPrefix, session) ||
      !runPass(*module, createFunctionOverlaps(), kPrefix, session))
    return fail(session);
  numberAsserts(*module);
  const OwningOpRef<ModuleOp> described = module->clone(); // the manifest lists all assertions
  if (!lowerToLlvmDialect(*module, session))
    return false;
  const auto scratch = (*module)->getAttrOfType<IntegerAttr>(kScratchBytesAttr).getInt();
  auto workspaceAttr = (*module)->getAttrOfType<IntegerAttr>(kWorkspaceBytesAttr);
  const int64_t workspace = workspaceAttr ? workspaceAttr.getInt() : 0;
  const bool usesTiles = (*module)->hasAttr(kTilesAttr);
  session.manifest =
      tile::makeManifest(*(*described).getOps<func::FuncOp>().begin(), "cpu", session.machine.name,
                         scratch, workspace, /*coresPerBlock=*/1, usesTiles);
  session.header = makeHeader(kernel);

  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<QuietHandler>(session.problem));
  std::unique_ptr<llvm::Module> code = translate(*module, context, session);
  if (!code)
    return false;
  std::unique_ptr<llvm::TargetMachine> target = createTargetMachine(session.machine);
  if (session.fastMath) // as CUDA's compiler does: a * b + c is rounded once
    target->Options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  SmallVector<bool> isCooperative;
  for (auto launch : kernel.getOps<tile::LaunchOp>())
    isCooperative.push_back(tile::waitsForBlocks(launch));
  addCEntry(*code, name, tile::kernelArguments(kernel),
            {scratch, workspace, usesTiles, isCooperative});
  prepareModule(*code, *target, session);
  if (isCancelled(session))
    return false;
  const std::string object = makeObject(*code, *target, session);
  if (!session.problem.empty())
    return false;
  const PhaseTimer timer(session, "link");
  std::optional<std::vector<char>> library = linkLibrary(object, session.problem, session.own);
  if (library)
    session.library = std::move(*library);
  return library.has_value();
}

} // namespace tilewright::cpu
