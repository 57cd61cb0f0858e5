// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/stream_stores.h"

#include "compiler/ir/tensor_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine.h"
#include "compiler/targets/cpu/vectors.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MemoryModelRelaxationAnnotations.h>
#include <llvm/IR/Module.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

namespace tilewright::cpu {

using namespace mlir;
using tile::BufferType;

namespace {

/// A tensor of so many bytes is in no cache any more when the next kernel reads it.
constexpr int64_t leastBytes = 32 << 20;

int64_t elementBytes(Value buffer) {
  return cast<BufferType>(buffer.getType()).getElementBits() / 8;
}

/// Whether an address serves prefetches alone.
bool isOnlyAskedFor(Value address) {
  return llvm::all_of(address.getUsers(), [](Operation* user) {
    return isa<LLVM::Prefetch>(user) ||
           (isa<LLVM::GEPOp>(user) && isOnlyAskedFor(user->getResult(0)));
  });
}

bool isOnlyWritten(Value buffer) {
  return llvm::all_of(buffer.getUses(), [&](OpOperand& use) {
    Operation* user = use.getOwner();
    if (auto store = dyn_cast<tile::StoreOp>(user))
      return store.getBuffer() == buffer;
    if (auto copy = dyn_cast<tile::CopyOp>(user))
      return copy.getTarget() == buffer && copy.getSource() != buffer;
    if (isa<UnrealizedConversionCastOp>(user))
      return llvm::all_of(user->getResults(), isOnlyAskedFor);
    return isa<tile::DimOp, tile::FillOp>(user);
  });
}

/// Whether other blocks may wait for what this one stores.
bool ordersBlocks(func::FuncOp kernel) {
  auto isOrder = [](Operation* op) {
    auto sync = dyn_cast<tile::SyncOp>(op);
    const bool isOfGrid = sync && sync.getScope() == tile::SyncScope::Grid;
    return isOfGrid || isa<tile::AtomicOp, tile::AtomicTileOp, tile::CallOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return kernel.walk(isOrder).wasInterrupted();
}

bool canBeStreamed(Value buffer) {
  const auto type = dyn_cast<BufferType>(buffer.getType());
  if (!type || !isDenseTensor(buffer) || type.getElementBits() < 8 || type.getRank() == 0 ||
      !isOnlyWritten(buffer))
    return false;
  // Rows begin lines if one does.
  if (type.getRank() > 1 && (type.isDynamicDim(type.getRank() - 1) ||
                             !StreamTargets::fillsLines(buffer, type.getShape().back())))
    return false;
  return !type.hasStaticShape() || type.getNumElements() * elementBytes(buffer) >= leastBytes;
}

} // namespace

StreamTargets::StreamTargets(func::FuncOp kernel, const Machine& machine) {
  if (!machine.isX86 || ordersBlocks(kernel))
    return;
  for (BlockArgument argument : kernel.getArguments())
    if (canBeStreamed(argument))
      buffers.insert(argument);
}

bool StreamTargets::fillsLines(Value buffer, int64_t elements) {
  return elements * elementBytes(buffer) % kLineBytes == 0;
}

Value StreamTargets::isWorthIt(ImplicitLocOpBuilder& builder, Value buffer, ValueRange start) {
  IndexMath math(builder);
  Value address = addressOf(builder, buffer, start, LLVM::GEPNoWrapFlags::none);
  Value number = LLVM::PtrToIntOp::create(builder, builder.getI64Type(), address);
  auto wide = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, builder.getI64IntegerAttr(value));
  };
  Value inLine = arith::AndIOp::create(builder, number, wide(kLineBytes - 1));
  Value result = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, inLine, wide(0));
  const auto type = cast<BufferType>(buffer.getType());
  if (type.hasStaticShape())
    return result;
  Value bytes = math.constant(elementBytes(buffer));
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    bytes = math.mul(bytes, math.dim(buffer, dim));
  return math.both(result, math.atMost(math.constant(leastBytes), bytes));
}

namespace {

/// Stores a vector of bfloat16 past the caches as 32-bit words: LLVM 22 knows no such store of bfloat16, and would store
/// as usual. An empty piece of assembly keeps it from seeing through the cast.
void streamAsWords(llvm::StoreInst& store) {
  llvm::IRBuilder<> builder(&store);
  constexpr unsigned piece = kLineBytes / 2;
  auto* words = llvm::FixedVectorType::get(builder.getInt32Ty(), piece / 2);
  auto* hidden = llvm::InlineAsm::get(llvm::FunctionType::get(words, {words}, /*isVarArg=*/false),
                                      "", "=v,0", /*hasSideEffects=*/false);
  llvm::Value* value = store.getValueOperand();
  const unsigned count = llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
  for (unsigned first = 0; first < count; first += piece) {
    llvm::SmallVector<int> lanes;
    for (unsigned lane = 0; lane < piece; ++lane)
      lanes.push_back(int(first + lane));
    llvm::Value* part = builder.CreateShuffleVector(value, lanes);
    part = builder.CreateCall(hidden, {builder.CreateBitCast(part, words)});
    llvm::Value* place = builder.CreateConstGEP1_64(builder.getInt8Ty(), store.getPointerOperand(),
                                                    uint64_t(2) * first);
    llvm::StoreInst* streamed = builder.CreateAlignedStore(part, place, llvm::Align(kLineBytes));
    streamed->copyMetadata(store);
  }
  store.eraseFromParent();
}

bool isStreamOfBfloat(const llvm::Instruction& instruction) {
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  if (!store || !store->hasMetadata(llvm::LLVMContext::MD_nontemporal))
    return false;
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(store->getValueOperand()->getType());
  return type && type->getElementType()->isBFloatTy() &&
         type->getNumElements() % (kLineBytes / 2) == 0;
}

} // namespace

void streamMarkedStores(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  auto* one =
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1));
  llvm::MDNode* nontemporal = llvm::MDNode::get(context, one);
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
        if (isStreamOfBfloat(instruction)) {
          streamAsWords(llvm::cast<llvm::StoreInst>(instruction));
          continue;
        }
        auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (!store || !llvm::MMRAMetadata(*store).hasTag(kStreamTag[0], kStreamTag[1]))
          continue;
        store->setMetadata(llvm::LLVMContext::MD_mmra, nullptr);
        auto* type = llvm::dyn_cast<llvm::FixedVectorType>(store->getValueOperand()->getType());
        const uint64_t bytes = type ? type->getPrimitiveSizeInBits().getFixedValue() / 8 : 0;
        if (bytes < 16 || bytes > 64 || !llvm::isPowerOf2_64(bytes))
          continue;
        // The loop begins with a line and goes on by whole vectors.
        store->setAlignment(llvm::Align(bytes));
        store->setMetadata(llvm::LLVMContext::MD_nontemporal, nontemporal);
      }
}

} // namespace tilewright::cpu
