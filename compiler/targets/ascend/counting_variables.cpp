// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/turning_variables.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

constexpr int64_t kMost = int64_t{1} << 16, kMostBound = int64_t{1} << 40;

/// What a store adds to its variable, if that is a constant; below 0: takes away.
std::optional<int64_t> addedBy(tile::StoreOp store) {
  Operation* sum = store.getValue().getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(sum))
    return std::nullopt;
  auto before = sum->getOperand(0).getDefiningOp<tile::LoadOp>();
  const std::optional<int64_t> by = getConstantIntValue(sum->getOperand(1));
  const bool isStep = before && before.getBuffer() == store.getBuffer() &&
                      before->getBlock() == store->getBlock() && by && *by != 0 &&
                      std::abs(*by) <= kMost;
  if (!isStep)
    return std::nullopt;
  return isa<arith::SubIOp>(sum) ? -*by : *by;
}

/// Whether a branch asks whether a loop goes on, of which no turn ends early.
bool asksForExit(scf::IfOp branch) {
  auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  auto load = compare ? compare.getLhs().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
  auto state = load ? load.getBuffer().getDefiningOp<tile::AllocOp>() : tile::AllocOp();
  if (!state || !state->hasAttr(kExitStateAttr) || state.getSymName() != kExitStateName)
    return false;
  return llvm::all_of(state->getUsers(), [](Operation* user) {
    auto store = dyn_cast<tile::StoreOp>(user);
    const std::optional<int64_t> value =
        store ? getConstantIntValue(store.getValue()) : std::optional<int64_t>(0);
    return value == 0 || value == kLeftState;
  });
}

/// The loop of which each turn runs an operation once, if it isn't left before; null if a branch may leave that out.
Operation* loopOfEachTurn(Operation* op) {
  for (Operation *inner = op, *around = op->getParentOp(); around;
       inner = around, around = around->getParentOp()) {
    if (isa<ScopeOp>(around))
      continue;
    if (auto branch = dyn_cast<scf::IfOp>(around)) {
      if (inner->getBlock() != branch.thenBlock() || !asksForExit(branch))
        return nullptr;
      continue;
    }
    auto open = dyn_cast<tile::WhileOp>(around);
    if (!isa<tile::ForOp>(around) && !(open && inner->getParentRegion() == &open.getBody()))
      return nullptr;
    Block& body = around->getRegions().back().front();
    return llvm::any_of(body, [](Operation& each) { return hasExit(&each); }) ? nullptr : around;
  }
  return nullptr;
}

/// What stands in a store's block and holds a loop that runs only behind it; null: there is none.
Operation* begunBy(tile::StoreOp first, Operation* loop) {
  Operation* inBlock = first->getBlock()->findAncestorOpInBlock(*loop);
  if (!inBlock || inBlock == first || !first->isBeforeInBlock(inBlock))
    return nullptr;
  for (Operation* op = loop; op != inBlock;) {
    op = op->getParentOp();
    if (!isa<scf::IfOp, ScopeOp>(op))
      return nullptr;
  }
  return inBlock;
}

/// The store that says what a variable is before the first turn of a loop, each time that it runs; null: none of those does,
/// or another one may stand between.
tile::StoreOp firstBefore(Operation* loop, ArrayRef<tile::StoreOp> outside) {
  for (tile::StoreOp first : outside) {
    Operation* inBlock = begunBy(first, loop);
    const auto isBetween = [&](tile::StoreOp other) {
      Operation* at = first->getBlock()->findAncestorOpInBlock(*other);
      return other != first && at && first->isBeforeInBlock(at) &&
             (at == inBlock || at->isBeforeInBlock(inBlock));
    };
    if (inBlock && llvm::none_of(outside, isBetween))
      return first;
  }
  return {};
}

/// Whether a read stands behind a store of the same turn; nothing if that isn't told.
std::optional<bool> isBehind(tile::LoadOp load, tile::StoreOp store, Operation* loop) {
  for (Operation* op = store; op != loop; op = op->getParentOp())
    if (Operation* inBlock = op->getBlock()->findAncestorOpInBlock(*load))
      return inBlock == op ? std::nullopt : std::optional(op->isBeforeInBlock(inBlock));
  return std::nullopt; // in the condition of a while
}

/// The number that a variable, as it is read in a `while`'s condition, is below where that holds; null if it doesn't say.
Value boundIn(Value condition, Value variable, Region& asking) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    const Value bound = boundIn(both.getLhs(), variable, asking);
    return bound ? bound : boundIn(both.getRhs(), variable, asking);
  }
  if (auto more = condition.getDefiningOp<scf::IfOp>(); more && more.elseBlock()) {
    const unsigned number = cast<OpResult>(condition).getResultNumber();
    if (!matchPattern(more.elseBlock()->getTerminator()->getOperand(number), m_Zero()))
      return {};
    const Value bound = boundIn(more.getCondition(), variable, asking);
    const Value second = more.thenBlock()->getTerminator()->getOperand(number);
    return bound ? bound : boundIn(second, variable, asking);
  }
  auto less = condition.getDefiningOp<arith::CmpIOp>();
  const bool isTurned = less && less.getPredicate() == arith::CmpIPredicate::sgt;
  if (!less || (!isTurned && less.getPredicate() != arith::CmpIPredicate::slt))
    return {};
  auto read = (isTurned ? less.getRhs() : less.getLhs()).getDefiningOp<tile::LoadOp>();
  const bool isAsked =
      read && read.getBuffer() == variable && asking.isAncestor(read->getParentRegion());
  return isAsked ? (isTurned ? less.getLhs() : less.getRhs()) : Value();
}

int64_t largestOf(Type type) {
  return llvm::maxIntN(type.isIndex() ? 64 : type.getIntOrFloatBitWidth());
}

/// The greatest that is not above `most`, of `first` and `step` more again and again.
int64_t lastTo(int64_t most, IndexRange first, int64_t step) {
  const bool isKnown = first.low == first.high && first.low >= 0 && first.low <= most;
  return isKnown ? most - (most - first.low) % step : most;
}

/// Whether the kernel stops before a sum that is more than `most`: the pass WideIndices has put that right before it. Of
/// a variable that is stored there alone all reads before, in the same turn, give the same.
bool stopsAtEnd(tile::StoreOp store, int64_t step, int64_t most) {
  const auto isIt = [&](npu::RequireOp require) {
    auto compare = require.getCondition().getDefiningOp<arith::CmpIOp>();
    auto load = compare ? compare.getLhs().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
    if (!load || load.getBuffer() != store.getBuffer() ||
        compare.getPredicate() != arith::CmpIPredicate::sle)
      return false;
    const std::optional<int64_t> end = getConstantIntValue(compare.getRhs());
    Operation* inBlock = store->getBlock()->findAncestorOpInBlock(*load);
    return end && *end <= most - step && inBlock && inBlock->isBeforeInBlock(store);
  };
  return llvm::any_of(
      llvm::make_range(store->getBlock()->begin(), store->getIterator()), [&](Operation& op) {
        if (auto scope = dyn_cast<ScopeOp>(op))
          return llvm::any_of(scope.getBody().front().getOps<npu::RequireOp>(), isIt);
        auto require = dyn_cast<npu::RequireOp>(op);
        return require && isIt(require);
      });
}

/// What a counter is before a turn, by what its loop asks for.
std::optional<IndexRange> rangeByLoop(const CountedRead& read, Value variable) {
  const int64_t most = largestOf(read.start.getType());
  IndexRanges ranges;
  const IndexRange start = ranges.rangeOf(read.start);
  if (auto open = dyn_cast<tile::WhileOp>(read.loop)) {
    const Value bound = boundIn(questionOf(open).condition, variable, open.getCondition());
    if (!bound)
      return std::nullopt;
    const int64_t last = lastTo(ranges.rangeOf(bound).high - 1, start, read.step);
    return last <= most - read.step
               ? std::optional(IndexRange{start.low, std::max(start.low, last)})
               : std::nullopt;
  }
  auto counted = cast<tile::ForOp>(read.loop);
  const IndexRange begin = ranges.rangeOf(counted.getLower()),
                   end = ranges.rangeOf(counted.getUpper());
  constexpr int64_t mostTurns = int64_t{1} << 40;
  if (begin.low < 0 || end.high > mostTurns || start.high > most - read.step)
    return std::nullopt;
  const int64_t turns =
      turnsOf(counted).value_or(std::max<int64_t>(end.high, 0)); // each goes on by 1 at least
  if (turns > (most - std::max<int64_t>(start.high, 0)) / read.step)
    return std::nullopt;
  return IndexRange{start.low, start.high + read.step * std::max<int64_t>(turns - 1, 0)};
}

/// What each turn of a loop adds to a variable, where, and what that is before the first one.
struct Counting {
  int64_t step = 0;
  tile::StoreOp inTurn;
  Value start;
};
std::optional<Counting> countingOf(Operation* loop, Value variable) {
  SmallVector<tile::StoreOp> inside, outside;
  for (Operation* user : variable.getUsers())
    if (auto store = dyn_cast<tile::StoreOp>(user))
      (loop->isProperAncestor(store) ? inside : outside).push_back(store);
  const std::optional<int64_t> step = inside.size() == 1 ? addedBy(inside[0]) : std::nullopt;
  if (!step || loopOfEachTurn(inside[0]) != loop)
    return std::nullopt;
  tile::StoreOp first = firstBefore(loop, outside);
  return first ? std::optional(Counting{*step, inside[0], first.getValue()}) : std::nullopt;
}

/// All but its range.
std::optional<CountedRead> countedIn(Operation* loop, tile::LoadOp load) {
  const std::optional<Counting> counting = countingOf(loop, load.getBuffer());
  if (!counting || counting->step < 0)
    return std::nullopt;
  const std::optional<bool> isNext = isBehind(load, counting->inTurn, loop);
  if (!isNext)
    return std::nullopt;
  return CountedRead{loop, counting->start, counting->step, *isNext ? counting->step : 0, {}};
}

/// Calls `visit` with all that must hold for a condition to.
template <typename Visit> void forEachPart(Value condition, Visit visit) {
  auto more = condition.getDefiningOp<scf::IfOp>();
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    forEachPart(both.getLhs(), visit);
    return forEachPart(both.getRhs(), visit);
  }
  if (!more || !more.elseBlock())
    return visit(condition);
  const unsigned number = cast<OpResult>(condition).getResultNumber();
  if (!matchPattern(more.elseBlock()->getTerminator()->getOperand(number), m_Zero()))
    return;
  forEachPart(more.getCondition(), visit);
  forEachPart(more.thenBlock()->getTerminator()->getOperand(number), visit);
}

/// Whether a counter's numbers up to where it ends a loop have room in its type.
bool hasRoom(const CountedTurns& turns) {
  const Type type = turns.start.getType();
  const unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  IndexRanges ranges;
  const IndexRange bound = ranges.rangeOf(turns.bound);
  if (width > 64 || !bound.isWithin(-kMostBound, kMostBound))
    return false;
  return turns.step > 0 ? bound.high + turns.more - 1 + turns.step <= llvm::maxIntN(width)
                        : bound.low - turns.more + 1 + turns.step >= llvm::minIntN(width);
}

/// What a comparison in a `while`'s condition says of its turns, if it is with a variable that they count.
std::optional<CountedTurns> countedBy(arith::CmpIOp compare, tile::WhileOp loop) {
  using arith::CmpIPredicate;
  auto read = compare.getLhs().getDefiningOp<tile::LoadOp>();
  if (!read || !loop.getCondition().isAncestor(read->getParentRegion()) ||
      !isVariable(read.getBuffer()))
    return std::nullopt;
  const std::optional<Counting> counting = countingOf(loop, read.getBuffer());
  if (!counting)
    return std::nullopt;
  CountedTurns turns{counting->start, compare.getRhs(), counting->step, 0};
  const CmpIPredicate asked = compare.getPredicate();
  const bool isUp = turns.step > 0,
             isOrEqual = asked == CmpIPredicate::sle || asked == CmpIPredicate::sge;
  turns.more = isOrEqual ? 1 : 0;
  if (asked == CmpIPredicate::ne) {
    // One that is never passed by.
    const std::optional<int64_t> first = getConstantIntValue(turns.start),
                                 end = getConstantIntValue(turns.bound);
    if (!first || !end || (*end - *first) % turns.step != 0 || (*end - *first) / turns.step < 0)
      return std::nullopt;
  } else if (isUp ? asked != CmpIPredicate::slt && asked != CmpIPredicate::sle
                  : asked != CmpIPredicate::sgt && asked != CmpIPredicate::sge) {
    return std::nullopt;
  }
  return hasRoom(turns) ? std::optional(turns) : std::nullopt;
}

/// The one store of a counter in its loop.
tile::StoreOp countingStore(const CountedRead& read, Value variable) {
  for (Operation* user : variable.getUsers())
    if (auto store = dyn_cast<tile::StoreOp>(user); store && read.loop->isProperAncestor(store))
      return store;
  return {};
}

/// What a counter is before a turn; nothing if it might come to the end of its type.
std::optional<IndexRange> rangeBeforeTurns(const CountedRead& read, Value variable) {
  if (const std::optional<IndexRange> range = rangeByLoop(read, variable))
    return range;
  const int64_t most = largestOf(read.start.getType());
  if (!stopsAtEnd(countingStore(read, variable), read.step, most))
    return std::nullopt;
  return IndexRange{IndexRanges().rangeOf(read.start).low, most};
}

} // namespace

bool isCountedWithoutEnd(tile::StoreOp store) {
  constexpr int64_t mostFirst = int64_t{1} << 30;
  if (!addedBy(store) || !isVariable(store.getBuffer()))
    return false;
  auto before = cast<tile::LoadOp>(store.getValue().getDefiningOp()->getOperand(0).getDefiningOp());
  Operation* loop = loopOfEachTurn(store);
  const std::optional<CountedRead> read = loop ? countedIn(loop, before) : std::nullopt;
  return read && IndexRanges().rangeOf(read->start).isWithin(-mostFirst, mostFirst) &&
         !rangeBeforeTurns(*read, store.getBuffer());
}

std::optional<CountedRead> countedRead(tile::LoadOp load) {
  if (!isVariable(load.getBuffer()))
    return std::nullopt;
  const auto isStored = [&](Operation* loop) {
    return llvm::any_of(load.getBuffer().getUsers(), [&](Operation* user) {
      return isa<tile::StoreOp>(user) && loop->isProperAncestor(user);
    });
  };
  Operation* loop = load->getParentOp();
  while (loop && !(isLoop(loop) && isStored(loop)))
    loop = loop->getParentOp();
  std::optional<CountedRead> read = loop ? countedIn(loop, load) : std::nullopt;
  std::optional<IndexRange> range = read ? rangeBeforeTurns(*read, load.getBuffer()) : std::nullopt;
  if (!range)
    return std::nullopt;
  read->range = {range->low + read->ahead,
                 std::min(range->high + read->ahead, largestOf(read->start.getType()))};
  return read;
}

std::optional<CountedTurns> countedTurns(tile::WhileOp loop) {
  const WhileQuestion asked = questionOf(loop);
  std::optional<CountedTurns> found;
  forEachPart(asked.condition, [&](Value part) {
    auto compare = part.getDefiningOp<arith::CmpIOp>();
    if (!found && compare)
      found = countedBy(compare, loop);
    if (found && part == asked.condition)
      found->isAll = !asked.state;
  });
  return found;
}

std::optional<int64_t> mostTurnsOf(const CountedTurns& turns) {
  const std::optional<int64_t> first = getConstantIntValue(turns.start),
                               end = getConstantIntValue(turns.bound);
  if (!first || !end)
    return std::nullopt;
  const int64_t step = std::abs(turns.step),
                length = (turns.step > 0 ? *end - *first : *first - *end) + turns.more;
  return std::max<int64_t>(0, (length + step - 1) / step);
}

std::optional<TurnTable> turnsOfCounter(tile::LoadOp load) {
  const std::optional<CountedRead> read = countedRead(load);
  const std::optional<int64_t> start = read ? getConstantIntValue(read->start) : std::nullopt;
  if (!start || *start < 0 || *start > kMost)
    return std::nullopt;
  return TurnTable{{read->loop}, {*start + read->ahead}, read->step};
}

void assumeCounters(Value number, IndexRanges& ranges) {
  SmallVector<Value> open{number};
  DenseSet<Operation*> seen;
  constexpr size_t most = 64;
  while (!open.empty() && seen.size() < most) {
    Operation* op = open.pop_back_val().getDefiningOp();
    if (!op || op->getNumRegions() > 0 || !seen.insert(op).second)
      continue;
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (const std::optional<CountedRead> read = countedRead(load))
        ranges.assume(load.getValue(), read->range);
      continue;
    }
    llvm::append_range(open, op->getOperands());
  }
}

} // namespace tilewright::ascend
