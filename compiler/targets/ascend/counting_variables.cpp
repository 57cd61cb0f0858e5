// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/index_ranges.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/turning_variables.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// The two stores of a variable that is set to `first` and then counted up by `step`.
struct Counter {
  tile::StoreOp first, next;
  int64_t start = 0, step = 0;
};

std::optional<Counter> counterOf(Value variable) {
  constexpr int64_t most = int64_t{1} << 16;
  Counter counter;
  for (Operation* user : variable.getUsers()) {
    auto store = dyn_cast<tile::StoreOp>(user);
    if (!store)
      continue;
    const std::optional<int64_t> start = getConstantIntValue(store.getValue());
    tile::StoreOp& place = start ? counter.first : counter.next;
    if (place)
      return std::nullopt;
    place = store;
    counter.start = start.value_or(counter.start);
  }
  auto sum =
      counter.next ? counter.next.getValue().getDefiningOp<arith::AddIOp>() : arith::AddIOp();
  auto before = sum ? sum.getLhs().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
  const std::optional<int64_t> step = sum ? getConstantIntValue(sum.getRhs()) : std::nullopt;
  if (!counter.first || !before || before.getBuffer() != variable ||
      before->getBlock() != counter.next->getBlock() || !step || *step < 1 || *step > most ||
      counter.start < 0 || counter.start > most)
    return std::nullopt;
  counter.step = *step;
  return counter;
}

/// The loop of which each turn runs an operation once; null if a branch may leave that out.
Operation* loopOfEachTurn(Operation* op) {
  Operation* around = op->getParentOp();
  while (isa_and_nonnull<ScopeOp>(around))
    around = around->getParentOp();
  auto open = dyn_cast_or_null<tile::WhileOp>(around);
  const bool isLoop =
      isa_and_nonnull<tile::ForOp>(around) || (open && op->getParentRegion() == &open.getBody());
  if (!isLoop)
    return nullptr;
  Block& body = around->getRegions().back().front();
  return llvm::any_of(body, [](Operation& each) { return hasExit(&each); }) ? nullptr : around;
}

/// Whether a store stands before a loop, and runs each time that the loop does.
bool beginsLoop(tile::StoreOp first, Operation* loop) {
  Operation* inBlock = first->getBlock()->findAncestorOpInBlock(*loop);
  if (!inBlock || !first->isBeforeInBlock(inBlock))
    return false;
  for (Operation* op = loop; op != inBlock;) {
    op = op->getParentOp();
    if (!isa<scf::IfOp, ScopeOp>(op))
      return false;
  }
  return true;
}

/// Whether a number that is counted up never comes to the end of its type: before that, the loop does.
bool hasRoom(Counter counter, Operation* loop) {
  const Type type = counter.next.getValue().getType();
  const int64_t most = llvm::maxIntN(type.isIndex() ? 64 : type.getIntOrFloatBitWidth());
  if (auto open = dyn_cast<tile::WhileOp>(loop)) {
    auto end = cast<tile::ConditionOp>(open.getCondition().front().getTerminator());
    auto less = end.getCondition().getDefiningOp<arith::CmpIOp>();
    auto read = less ? less.getLhs().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
    return counter.step == 1 && read && read.getBuffer() == counter.next.getBuffer() &&
           less.getPredicate() == arith::CmpIPredicate::slt;
  }
  auto counted = cast<tile::ForOp>(loop);
  const IndexRange begin = IndexRanges().rangeOf(counted.getLower()),
                   end = IndexRanges().rangeOf(counted.getUpper());
  constexpr int64_t mostTurns = int64_t{1} << 40;
  if (begin.low < 0 || end.high > mostTurns)
    return false;
  return end.high <= (most - counter.start) / counter.step;
}

} // namespace

std::optional<TurnTable> turnsOfCounter(tile::LoadOp load) {
  if (!isVariable(load.getBuffer()))
    return std::nullopt;
  std::optional<Counter> counter = counterOf(load.getBuffer());
  Operation* loop = counter ? loopOfEachTurn(counter->next) : nullptr;
  if (!loop || !loop->isProperAncestor(load) || !beginsLoop(counter->first, loop) ||
      !hasRoom(*counter, loop))
    return std::nullopt;
  Operation* inBlock = counter->next->getBlock()->findAncestorOpInBlock(*load);
  // In a scope of its own, or in the condition of a while, it isn't told which one comes first.
  if (!inBlock)
    return std::nullopt;
  const bool isBehind = counter->next->isBeforeInBlock(inBlock);
  const int64_t first = counter->start + (isBehind ? counter->step : 0);
  return TurnTable{{loop}, {first}, counter->step};
}

} // namespace tilewright::ascend
