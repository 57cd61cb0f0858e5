// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/bind_addresses.h"

#include "compiler/ir/address_attribute.h"
#include "compiler/ir/dialect.h"
#include "compiler/ir/memory_ops.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// The tensor that all uses of an address make of it; null if they differ or its extents are not constant.
tile::BufferType tensorOf(BlockArgument address) {
  tile::BufferType type;
  for (Operation* user : address.getUsers()) {
    auto made = dyn_cast<tile::TensorAtOp>(user);
    if (!made || !made.getDims().empty() || !made.getStrides().empty() ||
        (type && type != made.getResult().getType()))
      return {};
    type = made.getResult().getType();
  }
  return type;
}

void bind(func::FuncOp kernel, BlockArgument address, tile::BufferType type) {
  address.setType(type);
  kernel.removeArgAttr(address.getArgNumber(), tile::kDtypeAttr);
  kernel.removeArgAttr(address.getArgNumber(), tile::kAddressAttr);
  kernel.removeArgAttr(address.getArgNumber(), tile::kPointeeAttr);
  for (Operation* user : llvm::make_early_inc_range(address.getUsers())) {
    user->getResult(0).replaceAllUsesWith(address);
    user->erase();
  }
}

} // namespace

bool hasAddresses(ModuleOp module) {
  return module->walk([](tile::TensorAtOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

void bindAddresses(ModuleOp module) {
  for (func::FuncOp kernel : module.getOps<func::FuncOp>()) {
    for (BlockArgument argument : kernel.getArguments())
      if (tile::BufferType type = tensorOf(argument))
        bind(kernel, argument, type);
    kernel.setFunctionType(FunctionType::get(
        module.getContext(), kernel.getBody().getArgumentTypes(), kernel.getResultTypes()));
  }
}

} // namespace tilewright::ascend
