// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/clear_conditions.h"

#include "compiler/passes/analysis/index_ranges.h"
#include "compiler/targets/ascend/nest_indices.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// Whether `more` is `value` plus something that is at least 1.
bool isMoreThan(Value more, Value value, IndexRanges& ranges) {
  auto sum = more.getDefiningOp<arith::AddIOp>();
  const auto isStep = [&](Value step, Value from) {
    return isSameNumber(from, value) && ranges.rangeOf(step).low >= 1;
  };
  return sum && sum.getType().isIndex() &&
         (isStep(sum.getLhs(), sum.getRhs()) || isStep(sum.getRhs(), sum.getLhs()));
}

bool compares(arith::CmpIPredicate predicate, int64_t difference) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return difference == 0;
  case arith::CmpIPredicate::slt:
    return difference < 0;
  case arith::CmpIPredicate::sle:
    return difference <= 0;
  case arith::CmpIPredicate::sgt:
    return difference > 0;
  case arith::CmpIPredicate::sge:
    return difference >= 0;
  default:
    return false;
  }
}

} // namespace

bool mayRunNoIteration(tile::ForOp loop) {
  SmallVector<Region*> around;
  for (Region* region = loop->getParentRegion(); region; region = region->getParentRegion())
    around.push_back(region);
  IndexRanges ranges;
  for (Region* region : llvm::reverse(around))
    ranges.enter(*region);
  const Value lower = loop.getLower(), upper = loop.getUpper();
  const int64_t last = ranges.rangeOf(lower).high;
  const bool isApart = last != IndexRange::kHighest && ranges.rangeOf(upper).low > last;
  return !isApart && !ranges.isBelow(lower, upper) && !isMoreThan(upper, lower, ranges);
}

void FirstTurn::add(tile::ForOp loop) {
  outermost = loop;
  firsts.map(loop.getInductionVar(), loop.getLower());
}

bool FirstTurn::holds(Value condition) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return holds(both.getLhs()) && holds(both.getRhs());
  if (auto either = condition.getDefiningOp<arith::OrIOp>())
    return holds(either.getLhs()) || holds(either.getRhs());
  if (std::optional<int64_t> known = getConstantIntValue(condition))
    return *known != 0;
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return false;
  SmallVector<Operation*> made;
  IRMapping values = firsts;
  const Value left = atFirst(compare.getLhs(), values, made),
              right = atFirst(compare.getRhs(), values, made);
  const std::optional<int64_t> difference = differenceOf(left, right);
  for (Operation* op : llvm::reverse(made))
    op->erase();
  return difference && compares(compare.getPredicate(), *difference);
}

/// Whether it is the same in all turns of the loops.
bool FirstTurn::isFixed(Value value) const {
  if (!outermost || !outermost->isAncestor(value.getParentRegion()->getParentOp()))
    return true;
  Operation* op = value.getDefiningOp();
  return op && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isFixed(operand); });
}

/// `value` in the first turn; what computes it is made anew.
Value FirstTurn::atFirst(Value value, IRMapping& values, SmallVector<Operation*>& made) {
  if (values.contains(value) || isFixed(value))
    return values.lookupOrDefault(value);
  Operation* op = value.getDefiningOp();
  if (!op || !isPure(op) || op->getNumRegions() != 0)
    return value;
  for (Value operand : op->getOperands())
    values.map(operand, atFirst(operand, values, made));
  made.push_back(builder.clone(*op, values));
  return values.lookup(value);
}

} // namespace tilewright::ascend
