// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/narrowed_stores.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

namespace tilewright::cpu {
namespace {

/// The mask of a masked store of narrowed numbers, if it is known; else null.
llvm::Constant* knownMask(const llvm::IntrinsicInst& store) {
  if (store.getIntrinsicID() != llvm::Intrinsic::masked_store ||
      !llvm::isa<llvm::FixedVectorType>(store.getArgOperand(0)->getType()) ||
      !llvm::isa<llvm::TruncInst>(store.getArgOperand(0)) ||
      store.getArgOperand(0)->getType()->getScalarSizeInBits() % 8 != 0)
    return nullptr;
  return llvm::dyn_cast<llvm::Constant>(store.getArgOperand(store.arg_size() - 1));
}

void storeLanes(llvm::IntrinsicInst& store, const llvm::Constant& mask) {
  llvm::IRBuilder<> builder(&store);
  llvm::Value* numbers = store.getArgOperand(0);
  const auto* type = llvm::cast<llvm::FixedVectorType>(numbers->getType());
  llvm::Type* element = type->getElementType();
  const llvm::Align first = store.getParamAlign(1).valueOrOne();
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    const auto* isStored =
        llvm::dyn_cast_or_null<llvm::ConstantInt>(mask.getAggregateElement(lane));
    if (!isStored || isStored->isZero())
      continue;
    llvm::Value* place = builder.CreateConstInBoundsGEP1_64(element, store.getArgOperand(1), lane);
    const uint64_t bytes = uint64_t(lane) * element->getScalarSizeInBits() / 8;
    builder
        .CreateAlignedStore(builder.CreateExtractElement(numbers, uint64_t(lane)), place,
                            llvm::commonAlignment(first, bytes))
        ->setAAMetadata(store.getAAMetadata());
  }
  store.eraseFromParent();
}

} // namespace

void storeNarrowedLanes(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& each : llvm::make_early_inc_range(llvm::instructions(function)))
      if (auto* store = llvm::dyn_cast<llvm::IntrinsicInst>(&each))
        if (const llvm::Constant* mask = knownMask(*store))
          storeLanes(*store, *mask);
}

} // namespace tilewright::cpu
