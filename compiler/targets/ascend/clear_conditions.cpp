// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/clear_conditions.h"

#include "compiler/passes/analysis/index_ranges.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/nest_indices.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>
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

/// Conditions in the first turn of loops around a gemm, from the innermost on.
class FirstTurn {
public:
  explicit FirstTurn(tile::GemmOp gemm) : builder(gemm) {}

  void add(tile::ForOp loop) {
    outermost = loop;
    firsts.map(loop.getInductionVar(), loop.getLower());
  }

  /// Whether it holds then for sure.
  bool holds(Value condition) {
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
  bool isFixed(Value value) const {
    if (!outermost || !outermost->isAncestor(value.getParentRegion()->getParentOp()))
      return true;
    Operation* op = value.getDefiningOp();
    return op && isPure(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isFixed(operand); });
  }

private:
  static bool compares(arith::CmpIPredicate predicate, int64_t difference) {
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

  /// `value` in the first turn; what computes it is made anew.
  Value atFirst(Value value, IRMapping& values, SmallVector<Operation*>& made) {
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

  OpBuilder builder;
  IRMapping firsts;
  tile::ForOp outermost;
};

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

bool mayAddTo(tile::GemmOp gemm, Operation* writer) {
  if (gemm.getClearAccum())
    return false;
  if (!gemm.getClear())
    return true;
  FirstTurn turn(gemm);
  if (turn.holds(gemm.getClear()))
    return false;
  SmallVector<scf::IfOp> branches;
  for (Operation* op = gemm; !op->getParentOp()->isAncestor(writer); op = op->getParentOp()) {
    // An exit before it may leave out the turn that clears.
    for (Operation* before = op->getPrevNode(); before; before = before->getPrevNode())
      if (hasExit(before))
        return true;
    Operation* around = op->getParentOp();
    if (auto branch = dyn_cast<scf::IfOp>(around)) {
      branches.push_back(branch);
      continue;
    }
    auto loop = dyn_cast<tile::ForOp>(around);
    if (!loop)
      return true;
    turn.add(loop);
    const auto isTaken = [&](scf::IfOp branch) {
      return turn.isFixed(branch.getCondition()) ||
             (branch.getThenRegion().isAncestor(gemm->getParentRegion()) &&
              turn.holds(branch.getCondition()));
    };
    if (turn.holds(gemm.getClear()) && llvm::all_of(branches, isTaken))
      return false;
    // In the first turn of the loops around it, too.
    if (mayRunNoIteration(loop))
      return true;
  }
  return true;
}

} // namespace tilewright::ascend
