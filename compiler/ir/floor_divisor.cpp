// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/floor_divisor.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::tile {

using namespace mlir;

std::optional<int64_t> floorDivisor(Operation* op) {
  constexpr int64_t mostBits = 32;
  if (!isa_and_present<arith::ShRSIOp, arith::FloorDivSIOp>(op))
    return std::nullopt;
  const std::optional<int64_t> by = getConstantIntValue(op->getOperand(1));
  const bool isShift = isa<arith::ShRSIOp>(op);
  if (!by || *by < 0 || (isShift ? *by > mostBits : *by == 0))
    return std::nullopt;
  return isShift ? int64_t{1} << *by : *by;
}

} // namespace tilewright::tile
