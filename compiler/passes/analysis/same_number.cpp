// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/same_number.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright {

using namespace mlir;

/// Whether nothing between two loads of an element writes it.
static bool isUnchangedBetween(tile::LoadOp a, tile::LoadOp b) {
  if (a->getBlock() != b->getBlock())
    return false;
  Operation *first = a, *last = b;
  if (last->isBeforeInBlock(first))
    std::swap(first, last);
  for (Operation* op = first->getNextNode(); op != last; op = op->getNextNode()) {
    auto write = dyn_cast<tile::StoreOp>(op);
    const bool writesOther =
        write && npu::storageOf(write.getBuffer()) != npu::storageOf(a.getBuffer());
    if (!writesOther && !isa<tile::LoadOp>(op) && !isMemoryEffectFree(op))
      return false;
  }
  return true;
}

bool isSameNumber(Value a, Value b) {
  if (a == b)
    return true;
  const std::optional<int64_t> x = a ? getConstantIntValue(a) : 0;
  const std::optional<int64_t> y = b ? getConstantIntValue(b) : 0;
  if (x || y || !a || !b)
    return x && x == y;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  if (!left || !right || left->getName() != right->getName() ||
      left->getNumOperands() != right->getNumOperands() ||
      left->getAttrDictionary() != right->getAttrDictionary())
    return false;
  if (auto read = dyn_cast<tile::LoadOp>(left)) {
    if (!isUnchangedBetween(read, cast<tile::LoadOp>(right)))
      return false;
  } else if (!isPure(left)) {
    return false;
  }
  return llvm::all_of(llvm::zip(left->getOperands(), right->getOperands()), [](const auto& pair) {
    return isSameNumber(std::get<0>(pair), std::get<1>(pair));
  });
}

} // namespace tilewright
