// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/argument_bounds.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

BlockArgument argumentOf(Value number) {
  auto argument = dyn_cast<BlockArgument>(IndexRanges::symbolOf(number));
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()) ? argument
                                                                           : BlockArgument();
}

void assumeArgumentBounds(func::FuncOp kernel, IndexRanges& ranges) {
  for (BlockArgument argument : kernel.getArguments())
    if (auto most = kernel.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kMostAttr))
      ranges.assume(argument, {IndexRange::kLowest, most.getInt()});
}

IndexRanges boundedRangesIn(Region* region) {
  IndexRanges ranges = rangesIn(region);
  auto kernel = region->getParentOfType<func::FuncOp>();
  if (auto own = dyn_cast<func::FuncOp>(region->getParentOp()))
    kernel = own;
  if (kernel)
    assumeArgumentBounds(kernel, ranges);
  return ranges;
}

IndexRange boundedRangeAt(Operation* place, OpFoldResult number) {
  if (std::optional<int64_t> fixed = getConstantIntValue(number))
    return {*fixed, *fixed};
  return boundedRangesIn(place->getParentRegion()).rangeOf(cast<Value>(number));
}

} // namespace tilewright::ascend
