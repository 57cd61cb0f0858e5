// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/c_entry.h"

#include "compiler/targets/cpu/c_names.h"
#include "tilewright/kernel_abi.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstddef>

namespace tilewright::cpu {
namespace {

using namespace llvm;
using tile::KernelArgument;

/// Results of the entry.
constexpr int noMemory = 1, assertFailed = 2, needsRuntime = 3, noTiles = 4;

class EntryBuilder {
public:
  EntryBuilder(Module& module, StringRef name, const EntryNeeds& needs)
      : module(module), name(name), needs(needs), isCooperative(needs.isCooperative),
        builder(module.getContext()), pointer(builder.getPtrTy()), wide(builder.getInt64Ty()),
        narrow(builder.getInt32Ty()) {}

  void build(ArrayRef<KernelArgument> arguments) {
    Function* entry = startFunction(cEntryName(name), narrow, parameterTypes(arguments), false);
    Value* slots = builder.CreateAlloca(wide, builder.getInt64(arguments.size() + 1), "slots");
    for (const KernelArgument& argument : arguments)
      builder.CreateStore(entry->getArg(parameterNumber(arguments, argument)),
                          at(slots, 8 * int64_t(argument.slot)));
    Value* launch = builder.CreateAlloca(wide, builder.getInt64(sizeof(TwLaunch) / 8), "launch");
    builder.CreateMemSet(launch, builder.getInt8(0), sizeof(TwLaunch), Align(8));
    builder.CreateStore(leaveFunction(), at(launch, offsetof(TwLaunch, leave)));
    if (module.getFunction("snprintf")) // made by LowerPrints
      builder.CreateStore(printFunction(), at(launch, offsetof(TwLaunch, print)));
    for (size_t number = 0; number < isCooperative.size(); ++number)
      if (isCooperative[number])
        returnUnlessAlone(entry, countBlocks(number, slots, launch), launch);
    if (needs.tiles)
      returnIf(entry, builder.CreateIsNotNull(askForTiles()), noTiles);
    Value* workspace = needs.workspaceBytes > 0 ? makeWorkspace(entry, launch) : nullptr;
    // What a part of the grid needs: slots, launch, and a flag that memory ran out.
    Value* context = builder.CreateAlloca(wide, builder.getInt64(3), "context");
    builder.CreateStore(slots, at(context, 0));
    builder.CreateStore(launch, at(context, 8));
    builder.CreateStore(builder.getInt64(0), at(context, 16));
    BasicBlock* end = BasicBlock::Create(module.getContext(), "end", entry);
    for (size_t number = 0; number < isCooperative.size(); ++number) {
      runParts(entry, number, countBlocks(number, slots, launch), context);
      goOn(entry, builder.CreateIsNull(codeOf(context, launch)), end);
    }
    builder.CreateBr(end);
    builder.SetInsertPoint(end);
    if (workspace)
      builder.CreateCall(releaseFunction(), {workspace});
    builder.CreateRet(codeOf(context, launch));
  }

private:
  std::string nameOf(StringRef what, size_t number) const {
    return (name + what).str() + (number == 0 ? "" : "_" + std::to_string(number));
  }

  /// The number of blocks of a launch, whose grid TwLaunch has then.
  Value* countBlocks(size_t number, Value* slots, Value* launch) {
    Value* grid = at(launch, offsetof(TwLaunch, grid));
    builder.CreateCall(module.getFunction(nameOf("_grid", number)), {slots, grid});
    Value* count = builder.getInt64(1);
    for (int64_t dim = 0; dim < 3; ++dim)
      count = builder.CreateMul(count, builder.CreateLoad(wide, at(grid, 8 * dim)));
    return count;
  }

  /// What the entry returns as things stand.
  Value* codeOf(Value* context, Value* launch) {
    Value* failed = builder.CreateLoad(narrow, at(context, 16));
    Value* error = builder.CreateLoad(narrow, at(launch, offsetof(TwLaunch, device_error)));
    Value* code = builder.CreateSelect(builder.CreateIsNotNull(error),
                                       builder.getInt32(assertFailed), builder.getInt32(0));
    return builder.CreateSelect(builder.CreateIsNotNull(failed), builder.getInt32(noMemory), code);
  }

  /// Goes on in a new block where the condition holds, and at `otherwise` where it doesn't.
  void goOn(Function* entry, Value* condition, BasicBlock* otherwise) {
    BasicBlock* next = BasicBlock::Create(module.getContext(), "next", entry);
    builder.CreateCondBr(condition, next, otherwise);
    builder.SetInsertPoint(next);
  }

  /// Tensors as addresses; floats that C has no type for as their bits.
  Type* parameterType(const KernelArgument& argument) {
    if (argument.kind == KernelArgument::Tensor)
      return pointer;
    if (argument.kind == KernelArgument::Symbol || argument.element.isIndex())
      return wide;
    if (argument.element.isF32())
      return builder.getFloatTy();
    if (argument.element.isF64())
      return builder.getDoubleTy();
    return builder.getIntNTy(std::max(8u, argument.element.getIntOrFloatBitWidth()));
  }

  SmallVector<Type*> parameterTypes(ArrayRef<KernelArgument> arguments) {
    SmallVector<Type*> types;
    for (const KernelArgument& argument : arguments)
      types.push_back(parameterType(argument));
    return types;
  }

  /// Symbols stand after all others in the signature already.
  static unsigned parameterNumber(ArrayRef<KernelArgument> arguments,
                                  const KernelArgument& argument) {
    return unsigned(&argument - arguments.begin());
  }

  Function* startFunction(const Twine& functionName, Type* result, ArrayRef<Type*> parameters,
                          bool isInternal) {
    auto* type = FunctionType::get(result, parameters, /*isVarArg=*/false);
    auto* function = Function::Create(
        type, isInternal ? GlobalValue::InternalLinkage : GlobalValue::ExternalLinkage,
        functionName, module);
    builder.SetInsertPoint(BasicBlock::Create(module.getContext(), "", function));
    return function;
  }

  Value* at(Value* base, int64_t bytes) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, uint64_t(bytes));
  }

  /// TwLaunch::leave returns here; a kernel whose `leave` returns ends at once.
  Function* leaveFunction() {
    IRBuilderBase::InsertPointGuard guard(builder);
    Function* function = startFunction(name + "_leave", builder.getVoidTy(), {pointer}, true);
    builder.CreateRetVoid();
    return function;
  }

  /// TwLaunch::print writes to stdout.
  Function* printFunction() {
    IRBuilderBase::InsertPointGuard guard(builder);
    Function* function =
        startFunction(name + "_print", builder.getVoidTy(), {pointer, pointer, wide}, true);
    auto print = module.getOrInsertFunction(
        "printf", FunctionType::get(narrow, {pointer}, /*isVarArg=*/true));
    Value* bytes = builder.CreateTrunc(function->getArg(2), narrow);
    builder.CreateCall(print, {builder.CreateGlobalString("%.*s"), bytes, function->getArg(1)});
    builder.CreateRetVoid();
    return function;
  }

  void returnIf(Function* entry, Value* condition, int code) {
    BasicBlock* fail = BasicBlock::Create(module.getContext(), "fail", entry);
    IRBuilder<>(fail).CreateRet(builder.getInt32(uint32_t(code)));
    goOn(entry, builder.CreateNot(condition), fail);
  }

  /// As compiler/base/tile_registers.h does; not 0: refused.
  Value* askForTiles() {
    constexpr uint64_t archPrctl = 158, requestPermission = 0x1023, tileData = 18;
    auto ask =
        module.getOrInsertFunction("syscall", FunctionType::get(wide, {wide}, /*isVarArg=*/true));
    return builder.CreateCall(ask,
                              {builder.getInt64(archPrctl), builder.getInt64(requestPermission),
                               builder.getInt64(tileData)});
  }

  /// One block may wait for all blocks: TwLaunch::sync_grid does nothing.
  void returnUnlessAlone(Function* entry, Value* count, Value* launch) {
    returnIf(entry, builder.CreateICmpSGT(count, builder.getInt64(1)), needsRuntime);
    builder.CreateStore(aloneFunction(), at(launch, offsetof(TwLaunch, sync_grid)));
  }

  Function* aloneFunction() {
    if (Function* known = module.getFunction((name + "_alone").str()))
      return known;
    IRBuilderBase::InsertPointGuard guard(builder);
    Function* function = startFunction(name + "_alone", builder.getVoidTy(), {pointer}, true);
    builder.CreateRetVoid();
    return function;
  }

  /// TwLaunch::workspace.
  Value* makeWorkspace(Function* entry, Value* launch) {
    Value* memory =
        builder.CreateCall(allocateFunction(), {builder.getInt64(uint64_t(needs.workspaceBytes))});
    returnIf(entry, builder.CreateIsNull(memory), noMemory);
    builder.CreateStore(memory, at(launch, offsetof(TwLaunch, workspace)));
    return memory;
  }

  FunctionCallee allocateFunction() {
    return module.getOrInsertFunction("malloc", FunctionType::get(pointer, {wide}, false));
  }
  FunctionCallee releaseFunction() {
    return module.getOrInsertFunction("free",
                                      FunctionType::get(builder.getVoidTy(), {pointer}, false));
  }

  /// `tilewright_parallel_for`: null where the program has none.
  Function* parallelForFunction() {
    constexpr StringRef symbol = "tilewright_parallel_for";
    if (Function* known = module.getFunction(symbol))
      return known;
    auto* type = FunctionType::get(builder.getVoidTy(), {wide, pointer, pointer}, false);
    return Function::Create(type, GlobalValue::ExternalWeakLinkage, symbol, module);
  }

  void runParts(Function* entry, size_t number, Value* count, Value* context) {
    Function* part = partFunction(number);
    Function* parallelFor = parallelForFunction();
    BasicBlock* parallel = BasicBlock::Create(module.getContext(), "parallel", entry);
    BasicBlock* serial = BasicBlock::Create(module.getContext(), "serial", entry);
    BasicBlock* done = BasicBlock::Create(module.getContext(), "done", entry);
    builder.CreateCondBr(builder.CreateIsNotNull(parallelFor), parallel, serial);
    builder.SetInsertPoint(parallel);
    builder.CreateCall(parallelFor, {count, part, context});
    builder.CreateBr(done);
    builder.SetInsertPoint(serial);
    builder.CreateCall(part, {context, builder.getInt64(0), count});
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
  }

  /// void part(context, begin, end): these blocks, with scratch memory of their own.
  Function* partFunction(size_t number) {
    IRBuilderBase::InsertPointGuard guard(builder);
    Function* function =
        startFunction(nameOf("_part", number), builder.getVoidTy(), {pointer, wide, wide}, true);
    Value* context = function->getArg(0);
    Value* memory = builder.CreateCall(allocateFunction(),
                                       {builder.getInt64(uint64_t(needs.scratchBytes) + 64)});
    BasicBlock* run = BasicBlock::Create(module.getContext(), "run", function);
    BasicBlock* fail = BasicBlock::Create(module.getContext(), "fail", function);
    builder.CreateCondBr(builder.CreateIsNull(memory), fail, run);
    builder.SetInsertPoint(fail);
    builder.CreateStore(builder.getInt32(1), at(context, 16));
    builder.CreateRetVoid();
    builder.SetInsertPoint(run);
    Value* mask = builder.getInt64(~uint64_t(63));
    Value* scratch =
        builder.CreateIntrinsic(Intrinsic::ptrmask, {pointer, wide}, {at(memory, 63), mask});
    Value* slots = builder.CreateLoad(pointer, at(context, 0));
    Value* launch = builder.CreateLoad(pointer, at(context, 8));
    builder.CreateCall(module.getFunction(nameOf("_blocks", number)),
                       {slots, scratch, function->getArg(1), function->getArg(2), launch});
    builder.CreateCall(releaseFunction(), {memory});
    builder.CreateRetVoid();
    return function;
  }

  Module& module;
  StringRef name;
  EntryNeeds needs;
  ArrayRef<bool> isCooperative; // of each launch
  IRBuilder<> builder;
  Type *pointer, *wide, *narrow;
};

} // namespace

void addCEntry(Module& module, StringRef name, ArrayRef<KernelArgument> arguments,
               const EntryNeeds& needs) {
  EntryBuilder(module, name, needs).build(arguments);
}

} // namespace tilewright::cpu
