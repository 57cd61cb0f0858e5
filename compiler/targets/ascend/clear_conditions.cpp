// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/clear_conditions.h"

#include "compiler/ir/index_ranges.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/loop_exits.h"
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

/// Whether `op` runs whenever `fill` has: only loops lie between, which are not left before.
bool isSureToFollow(Operation* op, Operation* fill, SmallVector<tile::ForOp>& loops) {
  for (; op->getBlock() != fill->getBlock(); op = op->getParentOp()) {
    auto loop = dyn_cast_or_null<tile::ForOp>(op->getParentOp());
    if (!loop || mayBeSkipped(op, nullptr) || mayRunNoIteration(loop))
      return false;
    loops.push_back(loop);
  }
  return !mayBeSkipped(op, fill);
}

void clearFirst(tile::GemmOp gemm, ArrayRef<tile::ForOp> loops) {
  OpBuilder builder(gemm);
  Value isFirst;
  for (tile::ForOp loop : loops) {
    const Value here = arith::CmpIOp::create(builder, gemm.getLoc(), arith::CmpIPredicate::eq,
                                             loop.getInductionVar(), loop.getLower());
    isFirst = isFirst ? arith::AndIOp::create(builder, gemm.getLoc(), isFirst, here) : here;
  }
  if (!isFirst) {
    gemm.getClearMutable().clear();
    gemm.setClearAccum(true);
    return;
  }
  if (Value own = gemm.getClear())
    isFirst = arith::OrIOp::create(builder, gemm.getLoc(), own, isFirst);
  gemm.getClearMutable().assign(isFirst);
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

bool holdsInFirstTurnOnly(Value condition, tile::ForOp loop) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return holdsInFirstTurnOnly(both.getLhs(), loop) || holdsInFirstTurnOnly(both.getRhs(), loop);
  if (auto either = condition.getDefiningOp<arith::OrIOp>())
    return holdsInFirstTurnOnly(either.getLhs(), loop) &&
           holdsInFirstTurnOnly(either.getRhs(), loop);
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
      !compare.getLhs().getType().isIndex())
    return false;
  const auto compares = [&](Value number, Value first) {
    return number == loop.getInductionVar() && isSameNumber(first, loop.getLower());
  };
  return compares(compare.getLhs(), compare.getRhs()) ||
         compares(compare.getRhs(), compare.getLhs());
}

bool mayBeSkipped(Operation* op, Operation* first) {
  for (Operation* before = op->getPrevNode(); before && before != first;
       before = before->getPrevNode())
    if (hasExit(before))
      return true;
  return false;
}

SmallVector<Operation*> usersInOrder(func::FuncOp kernel, Value buffer) {
  SmallVector<Operation*> users;
  kernel.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (llvm::is_contained(op->getOperands(), buffer))
      users.push_back(op);
  });
  return users;
}

bool multipliesSomething(tile::GemmOp gemm) {
  const tile::BufferRegion a = gemm.getARegion();
  const OpFoldResult k = a.extents[a.extents.size() - (gemm.getTransposeA() ? 2 : 1)];
  return boundedRangeAt(gemm, k).low >= 1;
}

bool foldIntoGemm(func::FuncOp kernel, tile::FillOp fill) {
  const SmallVector<Operation*> users = usersInOrder(kernel, fill.getTarget());
  auto next = llvm::find(users, fill.getOperation()) + 1;
  auto gemm = next == users.end() ? nullptr : dyn_cast<tile::GemmOp>(*next);
  SmallVector<tile::ForOp> loops;
  if (llvm::any_of(users, [](Operation* user) { return isa<tile::ViewOp, tile::AddressOp>(user); }))
    return false; // what uses these isn't known
  if (!gemm || gemm.getC() != fill.getTarget() ||
      !isSameRegion(gemm.getCRegion(), fill.getTargetRegion()) || gemm.getA() == fill.getTarget() ||
      gemm.getB() == fill.getTarget() || !isSureToFollow(gemm, fill, loops))
    return false;
  // Of a part that only the kernel knows vector instructions may fill what no gemm does.
  const SmallVector<int64_t> extents = withKnownExtents(fill.getTargetRegion()).staticExtents();
  if (llvm::is_contained(extents, ShapedType::kDynamic) && !multipliesSomething(gemm))
    return false;
  if (!gemm.getClearAccum())
    clearFirst(gemm, loops);
  fill.erase();
  return true;
}

} // namespace tilewright::ascend
