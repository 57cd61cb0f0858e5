// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/nest_terms.h"

#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {

using namespace mlir;

/// Of a part: each is a copy of its own.
constexpr size_t kMostBoxes = 4;

NestTerms::NestTerms(tile::ParallelOp nest)
    : nest(nest), builder(nest.getLoc(), nest), ranges(rangesIn(&nest.getBody())) {}

void NestTerms::undo() {
  for (Operation* op : llvm::reverse(made))
    if (op->use_empty())
      op->erase();
  made.clear();
}

Value NestTerms::keep(Value value) {
  if (Operation* op = value.getDefiningOp())
    made.push_back(op);
  return value;
}

/// The value as it is known before the nest; null if it depends on the iteration.
Value NestTerms::uniform(Value value) {
  if (!nest.getBody().isAncestor(value.getParentRegion()))
    return value;
  if (Value known = outside.lookupOrNull(value))
    return known;
  Operation* op = value.getDefiningOp();
  if (!op || !isPure(op) || op->getNumRegions() != 0)
    return {};
  for (Value operand : op->getOperands()) {
    Value same = uniform(operand);
    if (!same)
      return {};
    outside.map(operand, same);
  }
  made.push_back(builder.clone(*op, outside));
  return outside.lookup(value);
}

Value NestTerms::asIndex(Value value) {
  if (value.getType().isIndex())
    return value;
  return keep(arith::IndexCastOp::create(builder, builder.getIndexType(), value));
}

/// Either may be null, which is 0.
Value NestTerms::sum(Value left, Value right, bool isDifference) {
  if (!right)
    return left;
  if (!left && !isDifference)
    return right;
  if (!left)
    left = keep(arith::ConstantIndexOp::create(builder, 0));
  const std::optional<int64_t> first = getConstantIntValue(left),
                               second = getConstantIntValue(right);
  int64_t known = 0;
  if (first && second &&
      !(isDifference ? llvm::SubOverflow(*first, *second, known)
                     : llvm::AddOverflow(*first, *second, known)))
    return keep(arith::ConstantIndexOp::create(builder, known));
  return keep(isDifference ? arith::SubIOp::create(builder, left, right).getResult()
                           : arith::AddIOp::create(builder, left, right).getResult());
}

/// Whether a sum, difference or conversion is surely the number that it is without bounds: none of its type that wrapped
/// round.
bool NestTerms::isExact(Value value) {
  if (value.getType().isIndex())
    return true;
  const unsigned width = value.getType().getIntOrFloatBitWidth();
  const IndexRange range = ranges.rangeOf(value);
  return width < 64 && range.low > llvm::minIntN(width) && range.high < llvm::maxIntN(width);
}

std::optional<NestTerm> NestTerms::of(Value index) {
  for (auto [number, variable] : llvm::enumerate(nest.getInductionVars()))
    if (index == variable)
      return NestTerm{number, Value()};
  if (!index.getType().isIntOrIndex() || index.getType().isInteger(1))
    return std::nullopt;
  if (Value same = uniform(index))
    return NestTerm{std::nullopt, isConstantIntValue(same, 0) ? Value() : asIndex(same)};
  Operation* op = index.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(op)) {
    const Value from = op->getOperand(0);
    const unsigned width = index.getType().isIndex() ? 64 : index.getType().getIntOrFloatBitWidth();
    const bool isKept = ranges.rangeOf(from).isWithin(llvm::minIntN(width), llvm::maxIntN(width));
    return isKept ? of(from) : std::nullopt;
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) || !isExact(index))
    return std::nullopt;
  const bool isDifference = isa<arith::SubIOp>(op);
  const std::optional<NestTerm> left = of(op->getOperand(0)), right = of(op->getOperand(1));
  if (!left || !right || (right->variable && (left->variable || isDifference)))
    return std::nullopt;
  return NestTerm{left->variable ? left->variable : right->variable,
                  sum(left->base, right->base, isDifference)};
}

void NestTerms::cut(NestPart& part, Value condition, bool holds) {
  for (NestBox& box : part.boxes) {
    box.begins.resize(nest.getInductionVars().size());
    box.ends.resize(nest.getInductionVars().size());
  }
  if (!part.isKnown)
    return;
  if (const std::optional<bool> known = ranges.truthOf(condition); known == holds)
    return;
  if (Value same = uniform(condition)) {
    if (!holds) {
      Value yes = keep(arith::ConstantOp::create(builder, builder.getBoolAttr(true)));
      same = keep(arith::XOrIOp::create(builder, same, yes));
    }
    for (NestBox& box : part.boxes)
      box.conditions.push_back(same);
    return;
  }
  Operation* op = condition.getDefiningOp();
  if (holds ? isa_and_nonnull<arith::AndIOp>(op) : isa_and_nonnull<arith::OrIOp>(op)) {
    cut(part, op->getOperand(0), holds);
    cut(part, op->getOperand(1), holds);
    return;
  }
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op))
    return cutByEither(part, op, holds);
  auto negated = dyn_cast_or_null<arith::XOrIOp>(op);
  if (negated && isConstantIntValue(negated.getRhs(), 1))
    return cut(part, negated.getLhs(), !holds);
  auto comparison = dyn_cast_or_null<arith::CmpIOp>(op);
  part.isKnown = comparison && cutByComparison(part, comparison, holds);
}

/// Where the first side of `a or b` holds, and where only the second one does.
void NestTerms::cutByEither(NestPart& part, Operation* either, bool holds) {
  NestPart first = part, second = part;
  cut(first, either->getOperand(0), holds);
  cut(second, either->getOperand(0), !holds);
  cut(second, either->getOperand(1), holds);
  llvm::append_range(first.boxes, second.boxes);
  first.isKnown &= second.isKnown && first.boxes.size() <= kMostBoxes;
  part = std::move(first);
}

/// `a < b` as `b > a`.
static arith::CmpIPredicate exchanged(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::sgt:
    return P::slt;
  case P::sge:
    return P::sle;
  case P::slt:
    return P::sgt;
  case P::sle:
    return P::sge;
  default:
    return predicate;
  }
}

/// Of `variable + base < bound` in any spelling: the variable ends before `bound - base`. Of others it begins there, or does both.
bool NestTerms::cutByComparison(NestPart& part, arith::CmpIOp comparison, bool holds) {
  std::optional<NestTerm> left = of(comparison.getLhs()), right = of(comparison.getRhs());
  if (!left || !right || left->variable.has_value() == right->variable.has_value())
    return false;
  using P = arith::CmpIPredicate;
  P predicate =
      holds ? comparison.getPredicate() : arith::invertPredicate(comparison.getPredicate());
  if (right->variable) {
    std::swap(left, right);
    predicate = exchanged(predicate);
  }
  if (!llvm::is_contained({P::slt, P::sle, P::sgt, P::sge, P::eq, P::ne}, predicate))
    return false;
  const size_t variable = *left->variable;
  Value bound = sum(right->base, left->base, /*isDifference=*/true);
  const auto behind = [&](int64_t more) {
    return bound && more == 0
               ? bound
               : sum(bound, keep(arith::ConstantIndexOp::create(builder, more)), false);
  };
  if (predicate == P::ne) { // before it, and behind it
    SmallVector<NestBox, 1> after = part.boxes;
    for (NestBox& box : after)
      box.begins[variable].push_back(behind(1));
    for (NestBox& box : part.boxes)
      box.ends[variable].push_back(behind(0));
    llvm::append_range(part.boxes, after);
    return part.boxes.size() <= kMostBoxes;
  }
  const bool isFrom = predicate == P::sge || predicate == P::sgt || predicate == P::eq;
  const bool isFromInside =
      !right->base || ranges.rangeOf(right->base).low >= (predicate == P::sgt ? -1 : 0);
  for (NestBox& box : part.boxes) {
    if (isFrom)
      box.begins[variable].push_back(behind(predicate == P::sgt ? 1 : 0));
    if (isFrom && isFromInside)
      box.notNegative.push_back(*left);
    if (predicate != P::sge && predicate != P::sgt)
      box.ends[variable].push_back(behind(predicate == P::slt ? 0 : 1));
  }
  return true;
}

int64_t NestTerms::extentOf(size_t variable) {
  return *getConstantIntValue(nest.getMixedExtents()[variable]);
}

OpFoldResult NestTerms::firstOf(const NestBox& box, size_t variable, int64_t most) {
  if (box.begins.empty() || box.begins[variable].empty())
    return builder.getIndexAttr(0);
  Value first = arith::ConstantIndexOp::create(builder, 0);
  for (Value begin : box.begins[variable])
    first = builder.createOrFold<arith::MaxSIOp>(first, begin);
  Value last = arith::ConstantIndexOp::create(builder, most);
  return getAsOpFoldResult(builder.createOrFold<arith::MinSIOp>(first, last));
}

OpFoldResult NestTerms::endOf(const NestBox& box, size_t variable) {
  const bool isBare = box.ends.empty() || box.ends[variable].empty();
  if (isBare && (variable != 0 || box.conditions.empty()))
    return builder.getIndexAttr(extentOf(variable));
  Value zero = arith::ConstantIndexOp::create(builder, 0);
  Value end = arith::ConstantIndexOp::create(builder, extentOf(variable));
  if (!isBare) {
    for (Value each : box.ends[variable])
      end = arith::MinSIOp::create(builder, end, each);
    end = arith::MaxSIOp::create(builder, end, zero);
  }
  if (variable == 0)
    for (Value condition : box.conditions)
      end = arith::SelectOp::create(builder, condition, end, zero);
  return end;
}

OpFoldResult NestTerms::countOf(const NestBox& box, size_t variable, OpFoldResult first) {
  const IndexMaker make(builder);
  const OpFoldResult end = endOf(box, variable);
  return isConstantIntValue(first, 0) ? end : make.notNegative(make.sub(end, first));
}

} // namespace tilewright::ascend
