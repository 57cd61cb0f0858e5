// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/drop_unused_tensors.h"

#include "compiler/ir/kernel_arguments.h"

#include <mlir/IR/AffineExpr.h>

namespace tilewright::tile {

using namespace mlir;

namespace {

/// The symbols of a kernel: where they stand in maps, and who needs and gives them.
class Symbols {
public:
  explicit Symbols(ArrayRef<KernelArgument> arguments) {
    for (const KernelArgument& argument : arguments)
      if (argument.kind == KernelArgument::Symbol) {
        isNeeded.push_back(argument.used);
        isGiven.push_back(!argument.scalar.empty());
      }
  }

  /// Whether the tensor tells one that is needed, and that nobody else is known to tell.
  bool misses(const KernelArgument& tensor) const {
    return llvm::any_of(mentioned(tensor),
                        [&](unsigned symbol) { return isNeeded[symbol] && !isGiven[symbol]; });
  }

  /// The tensor stays: what its shape mentions must be known.
  void keep(const KernelArgument& tensor) {
    for (unsigned symbol : mentioned(tensor))
      isNeeded[symbol] = true;
    for (AffineExpr dim : tensor.shape.getResults())
      if (auto symbol = dyn_cast<AffineSymbolExpr>(dim))
        isGiven[symbol.getPosition()] = true;
  }

  /// How maps name those that stay, by their old positions; the others are null.
  SmallVector<AffineExpr> renumbered(MLIRContext* context) const {
    SmallVector<AffineExpr> names;
    unsigned next = 0;
    for (bool needed : isNeeded)
      names.push_back(getAffineSymbolExpr(needed ? next++ : 0, context));
    return names;
  }

  bool needs(unsigned symbol) const {
    return isNeeded[symbol];
  }
  unsigned needed() const {
    return unsigned(llvm::count(isNeeded, true));
  }

private:
  SmallVector<bool> isNeeded, isGiven;

  static SmallVector<unsigned> mentioned(const KernelArgument& tensor) {
    SmallVector<unsigned> found;
    for (AffineMap map : {tensor.shape, tensor.strides})
      for (AffineExpr dim : map ? map.getResults() : ArrayRef<AffineExpr>())
        dim.walk([&](AffineExpr part) {
          if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
            found.push_back(symbol.getPosition());
        });
    return found;
  }
};

/// Erases what is only made of a value: views and numbers that nobody uses.
void eraseUsers(Value value) {
  for (Operation* user : llvm::make_early_inc_range(value.getUsers())) {
    for (Value result : user->getResults())
      eraseUsers(result);
    user->erase();
  }
}

} // namespace

SmallVector<unsigned> dropUnusedTensors(func::FuncOp kernel, ArrayRef<unsigned> kept) {
  const SmallVector<KernelArgument> arguments = kernelArguments(kernel);
  Symbols symbols(arguments);
  SmallVector<const KernelArgument*> unused;
  for (const KernelArgument& argument : arguments) {
    if (argument.kind != KernelArgument::Tensor)
      continue;
    if (argument.used || llvm::is_contained(kept, argument.number))
      symbols.keep(argument);
    else
      unused.push_back(&argument);
  }
  for (bool changes = true; changes;) {
    changes = false;
    for (const KernelArgument*& tensor : unused)
      if (symbols.misses(*tensor)) {
        symbols.keep(*tensor);
        changes = true;
        llvm::erase(unused, tensor);
        break;
      }
  }
  SmallVector<unsigned> dropped;
  BitVector erased(kernel.getNumArguments());
  for (const KernelArgument* tensor : unused) {
    dropped.push_back(tensor->number);
    erased.set(tensor->number);
  }
  if (dropped.empty())
    return dropped;
  unsigned symbol = 0;
  for (const KernelArgument& argument : arguments)
    if (argument.kind == KernelArgument::Symbol && !symbols.needs(symbol++))
      erased.set(argument.number);
  const SmallVector<AffineExpr> names = symbols.renumbered(kernel.getContext());
  for (const KernelArgument& argument : arguments)
    for (StringRef name : {kShapeAttr, kStridesAttr})
      if (auto map = kernel.getArgAttrOfType<AffineMapAttr>(argument.number, name))
        kernel.setArgAttr(argument.number, name,
                          AffineMapAttr::get(map.getAffineMap().replaceDimsAndSymbols(
                              {}, names, 0, symbols.needed())));
  for (unsigned number : erased.set_bits())
    eraseUsers(kernel.getArgument(number));
  (void)kernel.eraseArguments(erased);
  return dropped;
}

} // namespace tilewright::tile
