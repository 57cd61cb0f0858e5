// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/index_growth.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::tile {

using namespace mlir;

std::optional<int64_t> growthWith(OpFoldResult number, Value counter) {
  if (getConstantIntValue(number))
    return 0;
  const Value value = cast<Value>(number);
  if (value == counter)
    return 1;
  Operation* op = value.getDefiningOp();
  if (!op || !counter.getParentBlock()->findAncestorOpInBlock(*op))
    return 0; // another loop's number, an argument, or made before the loop
  const auto operand = [&](unsigned at) { return growthWith(op->getOperand(at), counter); };
  if (isa<arith::IndexCastOp>(op))
    return operand(0);
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    const std::optional<int64_t> left = operand(0), right = operand(1);
    if (!left || !right)
      return std::nullopt;
    return isa<arith::AddIOp>(op) ? *left + *right : *left - *right;
  }
  if (isa<arith::MulIOp>(op))
    for (const unsigned side : {0U, 1U})
      if (const std::optional<int64_t> factor = getConstantIntValue(op->getOperand(1 - side))) {
        const std::optional<int64_t> inner = operand(side);
        return inner ? std::optional(*inner * *factor) : std::nullopt;
      }
  const bool isFixed = isPure(op) && llvm::all_of(op->getOperands(), [&](Value each) {
                         return growthWith(each, counter) == 0;
                       });
  return isFixed ? std::optional<int64_t>(0) : std::nullopt;
}

} // namespace tilewright::tile
