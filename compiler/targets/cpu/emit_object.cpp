// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/emit_object.h"

#include "compiler/targets/cpu/external_symbols.h"
#include "compiler/targets/cpu/machine.h"
#include "compiler/targets/cpu/narrowed_stores.h"
#include "compiler/targets/cpu/split_functions.h"
#include "compiler/targets/cpu/stream_stores.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/InjectTLIMappings.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

namespace tilewright::cpu {
namespace {

/// Leaves loops in the form in which they can be taken out.
llvm::FunctionPassManager firstPasses() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::LoopSimplifyPass());
  return passes;
}

struct SplitLargeFunctions : llvm::PassInfoMixin<SplitLargeFunctions> {
  static llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& /*known*/) {
    bool isSplit = false;
    for (llvm::Function& function : llvm::make_early_inc_range(module))
      isSplit |= splitLargeFunction(function);
    return isSplit ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
};

llvm::FunctionPassManager scalarPasses() {
  llvm::FunctionPassManager passes;
  llvm::LoopPassManager rotate;
  rotate.addPass(llvm::LoopRotatePass());
  rotate.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(rotate), /*UseMemorySSA=*/true));
  llvm::LoopPassManager simplify;
  simplify.addPass(llvm::IndVarSimplifyPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(simplify)));
  return passes;
}

llvm::FunctionPassManager vectorPasses() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::InjectTLIMappings());
  // Only loops that we marked: what remains cannot gain, and LLVM 22 drops the last elements of a
  // vectorised maximum of floats (its check for NaN leaves the loop without running the remainder).
  passes.addPass(llvm::LoopVectorizePass(llvm::LoopVectorizeOptions(
      /*InterleaveOnlyWhenForced=*/false, /*VectorizeOnlyWhenForced=*/true)));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager hoist;
  hoist.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(hoist), /*UseMemorySSA=*/true));
  passes.addPass(llvm::LoopUnrollPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  return passes;
}

bool isSet(const std::atomic<bool>* cancel) {
  return cancel && cancel->load(std::memory_order_relaxed);
}

/// While it lives, passes of the code generator ask it whether they may do nothing.
class CancelGate final : public llvm::OptPassGate {
public:
  CancelGate(llvm::LLVMContext& context, const std::atomic<bool>* cancel)
      : context(context), cancel(cancel), before(context.getOptPassGate()) {
    context.setOptPassGate(*this);
  }
  CancelGate(const CancelGate&) = delete;
  CancelGate& operator=(const CancelGate&) = delete;
  ~CancelGate() override {
    context.setOptPassGate(before);
  }

  bool shouldRunPass(llvm::StringRef /*pass*/, llvm::StringRef /*unit*/) const override {
    return false;
  }
  bool isEnabled() const override {
    return isSet(cancel);
  }

private:
  llvm::LLVMContext& context;
  const std::atomic<bool>* cancel;
  llvm::OptPassGate& before;
};

bool runCodeGenerator(llvm::Module& module, llvm::TargetMachine& target,
                      llvm::raw_pwrite_stream& stream, llvm::CodeGenFileType type) {
  llvm::legacy::PassManager passes;
  if (target.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true))
    return false;
  passes.run(module);
  return true;
}

} // namespace

void optimizeModule(llvm::Module& module, const Machine& machine, llvm::TargetMachine& target,
                    const std::atomic<bool>* cancel) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;

  llvm::TargetLibraryInfoImpl library(target.getTargetTriple());
  addVectorMath(machine, library);
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });

  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [cancel](llvm::StringRef, const llvm::Any&) { return !isSet(cancel); });
  llvm::PassBuilder builder(&target, llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(firstPasses()));
  passes.addPass(SplitLargeFunctions());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(scalarPasses()));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(vectorPasses()));
  passes.run(module, modules);
  streamMarkedStores(module);
  storeNarrowedLanes(module);
}

std::string emitObject(llvm::Module& module, llvm::TargetMachine& target,
                       const std::atomic<bool>* cancel) {
  const CancelGate gate(module.getContext(), cancel);
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (!runCodeGenerator(module, target, stream, llvm::CodeGenFileType::ObjectFile))
    return {};
  return bytes.str().str();
}

std::string emitAssembly(const llvm::Module& module, llvm::TargetMachine& target) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  if (!runCodeGenerator(*copy, target, stream, llvm::CodeGenFileType::AssemblyFile))
    return {};
  return text.str().str();
}

} // namespace tilewright::cpu
