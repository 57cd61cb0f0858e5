// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/nest_terms.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {

using namespace mlir;

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
  part.ends.resize(nest.getInductionVars().size());
  if (!part.isKnown)
    return;
  if (const std::optional<bool> known = ranges.truthOf(condition); known == holds)
    return;
  if (Value same = uniform(condition)) {
    if (!holds) {
      Value yes = keep(arith::ConstantOp::create(builder, builder.getBoolAttr(true)));
      same = keep(arith::XOrIOp::create(builder, same, yes));
    }
    part.conditions.push_back(same);
    return;
  }
  Operation* op = condition.getDefiningOp();
  if (holds ? isa_and_nonnull<arith::AndIOp>(op) : isa_and_nonnull<arith::OrIOp>(op)) {
    cut(part, op->getOperand(0), holds);
    cut(part, op->getOperand(1), holds);
    return;
  }
  auto negated = dyn_cast_or_null<arith::XOrIOp>(op);
  if (negated && isConstantIntValue(negated.getRhs(), 1))
    return cut(part, negated.getLhs(), !holds);
  auto comparison = dyn_cast_or_null<arith::CmpIOp>(op);
  part.isKnown = comparison && cutByComparison(part, comparison, holds);
}

/// Of `variable + base < bound` in any spelling: the variable ends before `bound - base`.
bool NestTerms::cutByComparison(NestPart& part, arith::CmpIOp comparison, bool holds) {
  std::optional<NestTerm> left = of(comparison.getLhs()), right = of(comparison.getRhs());
  if (!left || !right || left->variable.has_value() == right->variable.has_value())
    return false;
  using P = arith::CmpIPredicate;
  P predicate =
      holds ? comparison.getPredicate() : arith::invertPredicate(comparison.getPredicate());
  if (right->variable) {
    std::swap(left, right);
    predicate = predicate == P::sgt   ? P::slt
                : predicate == P::sge ? P::sle
                : predicate == P::slt ? P::sgt
                                      : P::eq;
  }
  if (predicate != P::slt && predicate != P::sle)
    return false;
  Value end = sum(right->base, left->base, /*isDifference=*/true);
  if (predicate == P::sle || !end) {
    Value more = keep(arith::ConstantIndexOp::create(builder, predicate == P::sle ? 1 : 0));
    end = sum(end, more, /*isDifference=*/false);
  }
  part.ends[*left->variable].push_back(end);
  return true;
}

OpFoldResult NestTerms::countOf(const NestPart& part, size_t variable) {
  const int64_t extent = *getConstantIntValue(nest.getMixedExtents()[variable]);
  const bool isBare = part.ends.empty() || part.ends[variable].empty();
  if (isBare && (variable != 0 || part.conditions.empty()))
    return builder.getIndexAttr(extent);
  Value zero = arith::ConstantIndexOp::create(builder, 0);
  Value count = arith::ConstantIndexOp::create(builder, extent);
  if (!isBare) {
    for (Value end : part.ends[variable])
      count = arith::MinSIOp::create(builder, count, end);
    count = arith::MaxSIOp::create(builder, count, zero);
  }
  if (variable == 0)
    for (Value condition : part.conditions)
      count = arith::SelectOp::create(builder, condition, count, zero);
  return count;
}

} // namespace tilewright::ascend
