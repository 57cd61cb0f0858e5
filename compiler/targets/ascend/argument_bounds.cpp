// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/argument_bounds.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/place_of.h"
#include "compiler/targets/ascend/turning_variables.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

BlockArgument argumentOf(Value number) {
  auto argument = dyn_cast<BlockArgument>(IndexRanges::symbolOf(number));
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()) ? argument
                                                                           : BlockArgument();
}

SmallVector<tile::ArgumentLimit> limitsOf(func::FuncOp kernel, int64_t launch) {
  SmallVector<tile::ArgumentLimit> limits;
  auto list = kernel->getAttrOfType<ArrayAttr>(kLimitsAttr);
  for (Attribute entry : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto fields = cast<DictionaryAttr>(entry);
    const auto integer = [&](StringRef name) { return fields.getAs<IntegerAttr>(name).getInt(); };
    const auto place = [&](StringRef name) { return placeOf(fields.getAs<LocationAttr>(name)); };
    tile::ArgumentLimit& limit = limits.emplace_back();
    limit.launch = launch;
    limit.argument = unsigned(integer("argument"));
    limit.most = integer("most");
    const ArrayRef<int64_t> where = fields.getAs<DenseI64ArrayAttr>("where").asArrayRef();
    for (size_t i = 0; i + 1 < where.size(); i += 2)
      limit.where.push_back({unsigned(where[i]), where[i + 1]});
    limit.tile = fields.getAs<StringAttr>("tile").str();
    limit.fills = fields.getAs<BoolAttr>("fills").getValue();
    limit.multiplies = fields.getAs<BoolAttr>("multiplies").getValue();
    limit.tilePlace = place("tile_place");
    limit.copyPlace = place("copy_place");
  }
  return limits;
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

/// Whether the core that does what stands at `place` has stopped before if the number is below 0.
static bool isRequiredNotNegative(Operation* place, Value number) {
  auto instruction = dyn_cast<npu::Instruction>(place);
  const auto isBefore = [&](npu::RequireOp require) {
    if (!instruction || (require.getOn() && require.getOn() != instruction.getAgent()))
      return false;
    auto scope = dyn_cast<ScopeOp>(require->getParentOp());
    Operation* op = scope && scope.getAgent() == instruction.getAgent() &&
                            scope->getBlock() == place->getBlock()
                        ? scope.getOperation()
                        : require.getOperation();
    return op->getBlock() == place->getBlock() && op->isBeforeInBlock(place);
  };
  return llvm::any_of(number.getUsers(), [&](Operation* user) {
    auto compare = dyn_cast<arith::CmpIOp>(user);
    return compare && compare.getPredicate() == arith::CmpIPredicate::sgt &&
           compare.getLhs() == number && isConstantIntValue(compare.getRhs(), -1) &&
           llvm::any_of(compare->getUsers(), [&](Operation* each) {
             auto require = dyn_cast<npu::RequireOp>(each);
             return require && isBefore(require);
           });
  });
}

IndexRange boundedRangeAt(Operation* place, OpFoldResult number) {
  if (std::optional<int64_t> fixed = getConstantIntValue(number))
    return {*fixed, *fixed};
  const auto value = cast<Value>(number);
  IndexRanges ranges = boundedRangesIn(place->getParentRegion());
  assumeCounters(value, ranges);
  IndexRange range = ranges.rangeOf(value);
  if (range.low < 0 && range.high >= 0 && isRequiredNotNegative(place, value))
    range.low = 0;
  return range;
}

} // namespace tilewright::ascend
