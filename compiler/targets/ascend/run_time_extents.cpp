// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/run_time_extents.h"

#include "compiler/passes/analysis/same_number.h"
#include "compiler/targets/ascend/argument_bounds.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Builders.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;

/// The number without bounds that it has for sure: `min(n, 128)` of a tile of 128 rows.
static OpFoldResult withoutBounds(OpFoldResult count, int64_t most) {
  while (auto value = dyn_cast<Value>(count)) {
    auto smaller = value.getDefiningOp<arith::MinSIOp>();
    if (!smaller)
      break;
    const auto isBound = [&](Value side) {
      const std::optional<int64_t> bound = getConstantIntValue(side);
      return bound && *bound >= most;
    };
    if (isBound(smaller.getRhs()))
      count = smaller.getLhs();
    else if (isBound(smaller.getLhs()))
      count = smaller.getRhs();
    else
      break;
  }
  return count;
}

RunTimeExtent
RunTimeExtent::of(Operation* op,
                  std::initializer_list<std::pair<const BufferRegion*, size_t>> sides) {
  RunTimeExtent extent;
  extent.most = std::numeric_limits<int64_t>::max();
  for (const auto& [region, dim] : sides) {
    const int64_t first = getConstantIntValue(region->offsets[dim]).value_or(0);
    extent.most = std::min(extent.most, region->type().getShape()[dim] - first);
    const OpFoldResult count = region->extents[dim];
    if (!extent.count || getConstantIntValue(count))
      extent.count = count;
    if (const std::optional<int64_t> known = getConstantIntValue(extent.count))
      return {extent.count, *known};
  }
  extent.most = std::clamp<int64_t>(boundedRangeAt(op, extent.count).high, 1, extent.most);
  return extent;
}

bool RunTimeExtent::isKnown() const {
  return getConstantIntValue(count).has_value();
}

bool RunTimeExtent::isSameAs(const RunTimeExtent& other) const {
  if (isKnown() || other.isKnown())
    return isKnown() && other.isKnown() && most == other.most;
  return isSameNumber(cast<Value>(withoutBounds(count, most)),
                      cast<Value>(withoutBounds(other.count, other.most)));
}

} // namespace tilewright::ascend
