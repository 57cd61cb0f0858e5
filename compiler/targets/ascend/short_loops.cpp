// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/short_loops.h"

#include "compiler/ir/index_growth.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/place_of.h"
#include "compiler/targets/ascend/argument_bounds.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

Value withoutWidening(Value value) {
  while (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(value.getDefiningOp())) {
    const Value from = value.getDefiningOp()->getOperand(0);
    if (from.getType().isIndex())
      break;
    value = from;
  }
  return value;
}

/// `base` and a constant of its type; what has no room wraps round.
struct Moved {
  Value base;
  int64_t by = 0;
};

Moved movedFrom(Value value) {
  constexpr int64_t most = int64_t{1} << 16;
  Operation* op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return {value};
  const std::optional<int64_t> by = getConstantIntValue(op->getOperand(1));
  if (!by || std::abs(*by) > most)
    return {value};
  return {op->getOperand(0), isa<arith::SubIOp>(op) ? -*by : *by};
}

/// Whether `upper` lies no farther above `lower` than `step`. Where only one of two such as `n` and `n - 1` wraps round,
/// it lies below.
bool isNoFarther(Value lower, Value upper, int64_t step, IndexTerms& indices) {
  constexpr int64_t most = int64_t{1} << 40;
  if (Operation* op = withoutWidening(upper).getDefiningOp(); isa_and_nonnull<arith::MinSIOp>(op))
    return isNoFarther(lower, op->getOperand(0), step, indices) ||
           isNoFarther(lower, op->getOperand(1), step, indices);
  std::optional<IndexSum> length = indices.of(upper), first = indices.of(lower);
  if (length && first) {
    *length += *first *= -1;
    length->simplify();
    if (length->terms.empty())
      return length->constant <= step;
  }
  const IndexRange end = IndexRanges().rangeOf(upper), begin = IndexRanges().rangeOf(lower);
  if (end.high < most && begin.low > -most && end.high - begin.low <= step)
    return true;
  const Moved above = movedFrom(withoutWidening(upper)), below = movedFrom(withoutWidening(lower));
  const int64_t apart = above.by - below.by;
  if (above.by && below.by && above.base.getType() != below.base.getType())
    return false;
  return withoutWidening(above.base) == withoutWidening(below.base) && apart >= 0 && apart <= step;
}

/// Whether a condition can't hold in two turns of a loop in a row: a start that goes up by less than the blocks in which
/// it must begin.
bool holdsInOneTurnOnly(Value condition, tile::ForOp loop) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return holdsInOneTurnOnly(both.getLhs(), loop) || holdsInOneTurnOnly(both.getRhs(), loop);
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  auto rest = compare ? compare.getLhs().getDefiningOp<arith::RemSIOp>() : arith::RemSIOp();
  if (!rest || compare.getPredicate() != arith::CmpIPredicate::eq ||
      getConstantIntValue(compare.getRhs()) != 0)
    return false;
  const std::optional<int64_t> modulus = getConstantIntValue(rest.getRhs()),
                               step = getConstantIntValue(loop.getStep()),
                               growth = tile::growthWith(rest.getLhs(), loop.getInductionVar());
  // What wraps round is the same modulo a power of two.
  return modulus && *modulus > 0 && llvm::isPowerOf2_64(static_cast<uint64_t>(*modulus)) && step &&
         growth && *growth * *step % *modulus != 0;
}

/// Whether the kernel stops in the second turn, if not in the first one: each comes to a check that can't hold in both.
bool stopsInSecondTurn(tile::ForOp loop) {
  const bool isLeft = loop->walk([](Operation* op) {
                            return isa<tile::BreakOp, tile::ContinueOp>(op)
                                       ? WalkResult::interrupt()
                                       : WalkResult::advance();
                          })
                          .wasInterrupted();
  return !isLeft &&
         llvm::any_of(loop.getBodyBlock()->getOps<npu::RequireOp>(), [&](npu::RequireOp require) {
           return holdsInOneTurnOnly(require.getCondition(), loop);
         });
}

} // namespace

bool hasOneTurnAtMost(tile::ForOp loop, IndexTerms& indices) {
  const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  const bool isKnown = turnsOf(loop).has_value();
  return step && *step > 0 && !isKnown &&
         (isNoFarther(loop.getLower(), loop.getUpper(), *step, indices) || stopsInSecondTurn(loop));
}

void boundTurns(tile::ForOp loop, int64_t most) {
  if (!getConstantIntValue(loop.getUpper()))
    loop->setAttr(kMostTurnsAttr, Builder(loop.getContext()).getI64IntegerAttr(most));
}

void nameLoop(tile::ForOp loop, StringRef number) {
  Value counted = loop.getInductionVar();
  counted.setLoc(named(number, counted.getLoc()));
}

std::optional<int64_t> mostTurnsOf(tile::ForOp loop) {
  constexpr int64_t most = int64_t{1} << 40;
  std::optional<int64_t> turns;
  if (auto given = loop->getAttrOfType<IntegerAttr>(kMostTurnsAttr))
    turns = std::max<int64_t>(given.getInt(), 0);
  const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  const IndexRange begin = boundedRangeAt(loop, getAsOpFoldResult(loop.getLower())),
                   end = boundedRangeAt(loop, getAsOpFoldResult(loop.getUpper()));
  if (!step || *step < 1 || begin.low < -most || end.high > most)
    return turns;
  const int64_t length = std::max<int64_t>(end.high - begin.low, 0);
  return std::min((length + *step - 1) / *step, turns.value_or(most));
}

} // namespace tilewright::ascend
