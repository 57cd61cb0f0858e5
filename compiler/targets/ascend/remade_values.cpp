// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/remade_values.h"

#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {

using namespace mlir;

bool isFixedIn(Value value, Operation* loop, ArrayRef<Value> known) {
  if (llvm::is_contained(known, value) || !loop->isAncestor(value.getParentRegion()->getParentOp()))
    return true;
  Operation* op = value.getDefiningOp();
  return op && isPure(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isFixedIn(operand, loop, known); });
}

bool isFixedIn(const tile::BufferRegion& region, Operation* loop) {
  const auto isFixed = [&](OpFoldResult number) {
    auto value = dyn_cast<Value>(number);
    return !value || isFixedIn(value, loop);
  };
  return isFixedIn(region.buffer, loop) && llvm::all_of(region.offsets, isFixed) &&
         llvm::all_of(region.extents, isFixed);
}

Value RemadeValues::of(Value value) {
  if (made.contains(value) || value.getParentRegion()->isAncestor(place->getParentRegion()))
    return made.lookupOrDefault(value);
  Operation* op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    made.map(operand, of(operand));
  builder.clone(*op, made);
  return made.lookup(value);
}

tile::BufferRegion RemadeValues::of(tile::BufferRegion region) {
  region.buffer = of(region.buffer);
  for (SmallVector<OpFoldResult>* numbers : {&region.offsets, &region.extents})
    for (OpFoldResult& number : *numbers)
      if (auto value = dyn_cast<Value>(number))
        number = of(value);
  return region;
}

} // namespace tilewright::ascend
