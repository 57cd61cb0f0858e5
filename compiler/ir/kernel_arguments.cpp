// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/kernel_arguments.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/tensor_ops.h"

#include <mlir/IR/AffineExpr.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::tile {

using namespace mlir;

static AffineMap mapAttribute(func::FuncOp kernel, unsigned number, StringRef name) {
  auto attribute = kernel.getArgAttrOfType<AffineMapAttr>(number, name);
  return attribute ? attribute.getAffineMap() : AffineMap();
}

/// The shape of a tensor whose dims are all static.
static AffineMap staticShape(BufferType type, unsigned symbols) {
  SmallVector<AffineExpr> dims;
  for (int64_t dim : type.getShape())
    dims.push_back(getAffineConstantExpr(dim, type.getContext()));
  return AffineMap::get(0, symbols, dims, type.getContext());
}

/// Follows views to the kernel's argument.
static Value storageOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getSource();
  return buffer;
}

ArgumentTraffic argumentTraffic(func::FuncOp kernel) {
  ArgumentTraffic traffic;
  traffic.isRead.assign(kernel.getNumArguments(), false);
  traffic.isWritten.assign(kernel.getNumArguments(), false);
  kernel.walk([&](MemoryEffectOpInterface op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    for (auto& effect : effects) {
      auto argument = effect.getValue() ? dyn_cast<BlockArgument>(storageOf(effect.getValue()))
                                        : BlockArgument();
      if (!argument || argument.getOwner() != &kernel.getBody().front())
        continue;
      traffic.isRead[argument.getArgNumber()] |= isa<MemoryEffects::Read>(effect.getEffect());
      traffic.isWritten[argument.getArgNumber()] |= isa<MemoryEffects::Write>(effect.getEffect());
    }
  });
  return traffic;
}

/// Whether anything but views and numbers that nobody uses take it.
static bool isTouched(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation* user) {
    const bool onlyMakes = isPure(user) && user->getNumResults() > 0 && user->getNumRegions() == 0;
    return !onlyMakes || llvm::any_of(user->getResults(), isTouched);
  });
}

SmallVector<KernelArgument> kernelArguments(func::FuncOp kernel) {
  SmallVector<KernelArgument> arguments;
  const ArgumentTraffic traffic = argumentTraffic(kernel);
  for (unsigned number = 0; number < kernel.getNumArguments(); ++number) {
    KernelArgument argument{};
    argument.number = number;
    argument.used = isTouched(kernel.getArgument(number));
    argument.written = traffic.isWritten[number];
    Type type = kernel.getArgument(number).getType();
    argument.element = type;
    if (auto symbol = kernel.getArgAttrOfType<StringAttr>(number, kSymbolAttr)) {
      argument.kind = KernelArgument::Symbol;
      argument.name = symbol.str();
    } else {
      if (auto name = kernel.getArgAttrOfType<StringAttr>(number, kNameAttr))
        argument.name = name.str();
      argument.buffer = dyn_cast<BufferType>(type);
      argument.kind = argument.buffer ? KernelArgument::Tensor : KernelArgument::Scalar;
      if (argument.buffer)
        argument.element = argument.buffer.getElementType();
      else if (auto dtype = kernel.getArgAttrOfType<TypeAttr>(number, kDtypeAttr))
        argument.element = dtype.getValue();
      if (auto pointee = kernel.getArgAttrOfType<TypeAttr>(number, kPointeeAttr))
        argument.pointee = pointee.getValue();
    }
    arguments.push_back(argument);
  }
  const auto symbols = unsigned(llvm::count_if(arguments, [](const KernelArgument& argument) {
    return argument.kind == KernelArgument::Symbol;
  }));
  unsigned slot = 0;
  for (auto kind : {KernelArgument::Tensor, KernelArgument::Scalar, KernelArgument::Symbol})
    for (KernelArgument& argument : arguments)
      if (argument.kind == kind)
        argument.slot = slot++;
  for (KernelArgument& argument : arguments) {
    if (argument.kind != KernelArgument::Tensor)
      continue;
    argument.shape = mapAttribute(kernel, argument.number, kShapeAttr);
    argument.strides = mapAttribute(kernel, argument.number, kStridesAttr);
    if (!argument.shape)
      argument.shape = staticShape(argument.buffer, symbols);
  }
  return arguments;
}

} // namespace tilewright::tile
