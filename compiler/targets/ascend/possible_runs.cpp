// SPDX-License-Identifier: Apache-2.0
/// A kernel is run with all that its arguments and elements can be at once: a question whose answer isn't known parts the
/// states into those in which it holds and those in which it doesn't, and an argument's range says which it was. A loop is
/// followed turn by turn, and where that doesn't end, until nothing new comes about.
#include "compiler/targets/ascend/possible_runs.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/known_elements.h"
#include "compiler/targets/ascend/turning_variables.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <algorithm>

namespace tilewright::ascend {

using namespace mlir;

namespace {

class Follower {
public:
  explicit Follower(tile::LaunchOp launch) : launch(launch) {}

  /// Whether all was followed to its end.
  bool run() {
    findWhatCounts();
    PossibleStates states{space.first()};
    Block& body = launch.getBody().front();
    const auto& ops = order[&body];
    for (size_t at = 0; at < ops.size() && !isTooLong(); ++at) {
      runOp(ops[at], states);
      for (const auto& [slot, last] : lastUses)
        if (last <= at)
          for (PossibleState& state : states)
            space.forget(state, slot);
      StateSpace::join(states, kMostStates);
    }
    return !isTooLong();
  }

  SeenPlaces seen;

private:
  static constexpr size_t kMostStates = 48, kMostSteps = 60'000;
  static constexpr int64_t kMostTurns = 16;

  bool isTooLong() const {
    return steps > kMostSteps;
  }
  /// Where there is much, less is told apart.
  bool isLong() const {
    return steps > kMostSteps / 3;
  }

  // What counts -----------------------------------------------------------------------------------

  void findWhatCounts() {
    const auto add = [&](Operation* op) {
      for (; op != launch && relevant.insert(op).second; op = op->getParentOp())
        order[op->getBlock()].push_back(op);
    };
    elements.find(launch);
    launch.walk([&](Operation* op) {
      if (isa<tile::WhileOp, tile::BreakOp, tile::ContinueOp>(op) || asksOrSays(op))
        add(op);
    });
    llvm::for_each(elements.users(), add);
    for (auto& [block, ops] : order)
      llvm::sort(ops, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    for (BlockArgument argument : launch->getParentOfType<func::FuncOp>().getArguments())
      addRoot(argument);
    for (BlockArgument argument : launch.getBody().front().getArguments())
      addRoot(argument);
    addSlots();
    findLastUses();
  }

  /// Variables, what is read of them, and what is asked before more is.
  bool asksOrSays(Operation* op) {
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return isFollowed(load.getBuffer());
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return isFollowed(store.getBuffer());
    if (auto alloc = dyn_cast<tile::AllocOp>(op))
      return isFollowed(alloc);
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch || op->getParentOfType<tile::ParallelOp>())
      return false;
    const auto isNumber = [](Type type) { return type.isIntOrIndex(); };
    return op->getParentOfType<tile::WhileOp>() || llvm::any_of(op->getResultTypes(), isNumber) ||
           asksForReads(branch.getCondition());
  }

  /// Whether a number is computed from variables and elements.
  bool asksForReads(Value number) {
    SmallVector<Value> open{number};
    constexpr size_t most = 50;
    for (size_t steps = 0; !open.empty() && steps < most; ++steps) {
      Operation* op = open.pop_back_val().getDefiningOp();
      if (auto load = dyn_cast_if_present<tile::LoadOp>(op);
          load && (isFollowed(load.getBuffer()) || elements.slotOf(load)))
        return true;
      if (op && op->getNumRegions() == 0)
        llvm::append_range(open, op->getOperands());
    }
    return !open.empty();
  }

  bool isFollowed(Value buffer) {
    const auto [found, isNew] = followed.try_emplace(buffer, false);
    if (isNew) {
      const bool is = isVariable(buffer) && launch->isAncestor(buffer.getDefiningOp());
      followed[buffer] = is; // isVariable may ask for others
      return is;
    }
    return found->second;
  }

  void addRoot(BlockArgument argument) {
    if (!argument.getType().isIntOrIndex())
      return;
    const IndexRange all = rangeOfType(argument.getType()), known = IndexRanges().rangeOf(argument);
    space.addSlot(argument, {std::max(all.low, known.low), std::min(all.high, known.high)});
  }

  void addSlots() {
    launch.walk([&](Operation* op) {
      if (!relevant.contains(op))
        return;
      if (auto alloc = dyn_cast<tile::AllocOp>(op))
        space.addSlot(alloc, rangeOfType(alloc.getType().getElementType())); // not used of tiles
      else if (auto loop = dyn_cast<tile::ForOp>(op))
        space.addSlot(loop.getInductionVar(), IndexRange{});
      else if (isa<tile::LoadOp, scf::IfOp>(op))
        for (Value result : op->getResults())
          if (result.getType().isIntOrIndex() || isa<tile::LoadOp>(op))
            space.addSlot(result, rangeOfType(result.getType()));
    });
  }

  void findLastUses() {
    Block& body = launch.getBody().front();
    const auto& ops = order[&body];
    for (size_t at = 0; at < ops.size(); ++at) {
      DenseSet<Value> found;
      SmallVector<Value> open;
      ops[at]->walk([&](Operation* op) { llvm::append_range(open, op->getOperands()); });
      for (const unsigned slot : elements.slotsOf(ops[at]))
        lastUses[slot] = at;
      while (!open.empty()) {
        const Value value = open.pop_back_val();
        if (!found.insert(value).second)
          continue;
        if (const std::optional<unsigned> slot = space.slotOf(value))
          lastUses[*slot] = at;
        if (Operation* op = value.getDefiningOp(); op && op->getNumRegions() == 0)
          llvm::append_range(open, op->getOperands());
      }
    }
  }

  // Runs ------------------------------------------------------------------------------------------

  Seen* noted(Operation* op) {
    return isNoting ? &seen[op] : nullptr;
  }

  /// `behind`: what is to be done before what the block has read is forgotten.
  template <typename Behind> void runBlock(Block& block, PossibleStates& states, Behind behind) {
    const auto found = order.find(&block);
    if (found != order.end())
      for (Operation* op : found->second)
        if (!states.empty() && !isTooLong())
          runOp(op, states);
    behind(states);
    forgetRead(block, states);
    joinAll(states);
  }
  /// What a block has read is of no use behind it.
  void forgetRead(Block& block, llvm::MutableArrayRef<PossibleState> states) {
    const auto found = order.find(&block);
    if (found == order.end() || states.empty())
      return;
    for (Operation* op : found->second)
      for (Value result : op->getResults())
        if (const std::optional<unsigned> slot = space.slotOf(result);
            slot && !isa<tile::AllocOp>(op))
          for (PossibleState& state : states)
            space.forget(state, *slot);
  }
  void runBlock(Block& block, PossibleStates& states) {
    runBlock(block, states, [](PossibleStates&) {});
  }

  void joinAll(PossibleStates& states) const {
    StateSpace::join(states, isLong() ? 4 : kMostStates);
  }

  void runOp(Operation* op, PossibleStates& states) {
    steps += states.size();
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      const std::optional<unsigned> element = elements.slotOf(load);
      for (PossibleState& state : states) {
        space.read(state, load, element ? *element : *space.slotOf(load.getBuffer()));
        noteRead(load, space.rangeOf(state, load));
      }
    } else if (isOfTiles(op)) {
      for (PossibleState& state : states)
        elements.run(op, state);
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      PossibleStates before = std::exchange(states, {});
      for (const PossibleState& state : before)
        space.assign(state, *space.slotOf(store.getBuffer()), store.getValue(), states);
    } else if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
      for (PossibleState& state : states)
        space.forget(state, *space.slotOf(alloc));
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      runBranch(branch, states);
    } else if (auto loop = dyn_cast<tile::WhileOp>(op)) {
      runWhile(loop, states);
    } else if (auto loop = dyn_cast<tile::ForOp>(op)) {
      runFor(loop, states);
    } else if (auto scope = dyn_cast<ScopeOp>(op)) {
      runBlock(scope.getBody().front(), states);
    } else if (isa<tile::BreakOp, tile::ContinueOp>(op)) {
      llvm::append_range(isa<tile::BreakOp>(op) ? left : ended, states);
      states.clear();
    } else {
      runUnknown(op, states);
    }
  }

  /// Variables have no part in it.
  bool isOfTiles(Operation* op) {
    if (auto alloc = dyn_cast<tile::AllocOp>(op))
      return !isFollowed(alloc);
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return !isFollowed(store.getBuffer());
    return isa<tile::FillOp, tile::CopyOp, tile::ReduceOp>(op);
  }

  void noteRead(tile::LoadOp load, IndexRange range) {
    Seen* at = noted(load);
    if (!at)
      return;
    at->range = at->range ? IndexRange{std::min(at->range->low, range.low),
                                       std::max(at->range->high, range.high)}
                          : range;
  }

  void runBranch(scf::IfOp branch, PossibleStates& states) {
    PossibleStates holding, others;
    for (const PossibleState& state : states)
      space.split(state, branch.getCondition(), holding, others);
    if (Seen* at = noted(branch)) {
      at->isTaken |= !holding.empty();
      at->isPassed |= !others.empty();
    }
    runWay(branch, branch.thenBlock(), holding);
    runWay(branch, branch.elseBlock(), others);
    states = std::move(holding);
    llvm::append_range(states, others);
    joinAll(states);
  }

  void runWay(scf::IfOp branch, Block* way, PossibleStates& states) {
    if (!way || states.empty())
      return;
    runBlock(*way, states, [&](PossibleStates& all) {
      for (const auto& [result, given] :
           llvm::zip_equal(branch.getResults(), way->getTerminator()->getOperands())) {
        const std::optional<unsigned> slot = space.slotOf(result);
        if (!slot)
          continue;
        PossibleStates before = std::exchange(all, {});
        for (const PossibleState& state : before)
          space.assign(state, *slot, given, all);
      }
    });
  }

  void runWhile(tile::WhileOp loop, PossibleStates& states) {
    Block& asking = loop.getCondition().front();
    const Value condition = cast<tile::ConditionOp>(asking.getTerminator()).getCondition();
    const auto ask = [&](PossibleStates& all, PossibleStates& over) {
      PossibleStates going;
      const size_t first = over.size();
      runBlock(asking, all, [&](PossibleStates& states) {
        for (const PossibleState& state : states)
          space.split(state, condition, going, over);
      });
      forgetRead(asking, going);
      forgetRead(asking, llvm::MutableArrayRef(over).drop_front(first));
      all = std::move(going);
    };
    runTurns(loop, states, ask);
  }

  void runFor(tile::ForOp loop, PossibleStates& states) {
    const Value number = loop.getInductionVar();
    const unsigned slot = *space.slotOf(number);
    for (PossibleState& state : states)
      StateSpace::assign(state, slot, space.rangeOf(state, loop.getLower()));
    runTurns(loop, states, [&](PossibleStates& all, PossibleStates& over) {
      PossibleStates going;
      for (const PossibleState& state : all) {
        PossibleState yes = state, no = state;
        if (space.narrow(yes, arith::CmpIPredicate::slt, number, loop.getUpper()))
          going.push_back(std::move(yes));
        if (space.narrow(no, arith::CmpIPredicate::sge, number, loop.getUpper()))
          over.push_back(std::move(no));
      }
      all = std::move(going);
    });
    for (PossibleState& state : states)
      space.forget(state, slot);
  }

  void goOn(tile::ForOp loop, PossibleStates& states) {
    constexpr int64_t most = int64_t{1} << 62;
    const unsigned slot = *space.slotOf(loop.getInductionVar());
    const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    for (PossibleState& state : states) {
      const IndexRange now = state.ranges[slot];
      const bool hasRoom = step && *step > 0 && *step < most && now.isWithin(-most, most);
      StateSpace::assign(state, slot,
                         hasRoom ? IndexRange{now.low + *step, now.high + *step} : IndexRange{});
    }
  }

  /// `ask` moves the states in which a loop is over to its second argument.
  template <typename Ask> void runTurns(Operation* loop, PossibleStates& states, Ask ask) {
    PossibleStates over;
    const int64_t most = isLong() ? 3 : kMostTurns;
    for (int64_t turns = 0; !states.empty() && turns <= most && !isTooLong(); ++turns) {
      ask(states, over);
      noteTurns(loop, turns, !over.empty());
      joinAll(states);
      if (states.empty())
        break;
      runTurn(loop, states, over);
      noteTurns(loop, turns + 1, !over.empty());
    }
    if (!states.empty() && !isTooLong()) {
      if (Seen* at = noted(loop))
        at->isEndless = true;
      runUntilKnown(loop, states, over, ask);
    }
    states = std::move(over);
    joinAll(states);
  }

  /// Its body, in states in which it goes on; what leaves it is over.
  void runTurn(Operation* loop, PossibleStates& states, PossibleStates& over) {
    PossibleStates leftAround = std::exchange(left, {}), endedAround = std::exchange(ended, {});
    Block& body = loop->getRegions().back().front();
    runBlock(body, states);
    if (!left.empty() || !ended.empty())
      for (const auto& [block, ops] : order)
        if (block == &body || loop->isProperAncestor(block->getParentOp()))
          for (PossibleStates* each : {&left, &ended})
            forgetRead(*block, *each);
    llvm::append_range(over, left);
    llvm::append_range(states, ended);
    left = std::move(leftAround);
    ended = std::move(endedAround);
    if (auto counted = dyn_cast<tile::ForOp>(loop))
      goOn(counted, states);
    joinAll(states);
  }

  /// So many may be made, and, where one is over, no more.
  void noteTurns(Operation* loop, int64_t turns, bool isOneOver) {
    Seen* at = noted(loop);
    if (!at)
      return;
    at->mostTurns = std::max(at->mostTurns.value_or(turns), turns);
    if (isOneOver)
      at->leastTurns = std::min(at->leastTurns.value_or(turns), turns);
  }

  /// All further turns at once.
  template <typename Ask>
  void runUntilKnown(Operation* loop, PossibleStates& states, PossibleStates& over, Ask ask) {
    const PossibleState first = StateSpace::hullOf(states);
    PossibleState all = first;
    const auto runOnce = [&](PossibleStates& leaving) {
      PossibleStates now{all};
      ask(now, leaving);
      if (!now.empty())
        runTurn(loop, now, leaving);
      now.push_back(first);
      return StateSpace::hullOf(now);
    };
    const bool wasNoting = std::exchange(isNoting, false);
    bool isKnown = false;
    constexpr int mostTries = 6, exactTries = 2;
    for (int tries = 0; tries < mostTries && !isKnown && !isTooLong(); ++tries) {
      PossibleStates ignored;
      const PossibleState next = runOnce(ignored);
      isKnown = StateSpace::isCovered(next, all);
      if (!isKnown)
        widen(all, next, tries >= exactTries);
    }
    if (!isKnown)
      all = space.first();
    for (int times = 0; times < 2 && !isTooLong(); ++times) {
      PossibleStates ignored;
      const PossibleState next = runOnce(ignored);
      if (StateSpace::isCovered(next, all))
        all = next;
    }
    isNoting = wasNoting;
    runOnce(over);
  }

  void widen(PossibleState& all, const PossibleState& next, bool toEnds) const {
    const PossibleState ends = space.first();
    PossibleState wider = StateSpace::hullOf({all, next});
    for (size_t slot = 0; toEnds && slot < wider.ranges.size(); ++slot) {
      if (wider.ranges[slot].low < all.ranges[slot].low)
        wider.ranges[slot].low = ends.ranges[slot].low;
      if (wider.ranges[slot].high > all.ranges[slot].high)
        wider.ranges[slot].high = ends.ranges[slot].high;
    }
    all = std::move(wider);
  }

  /// What stands in it may run in any way.
  void runUnknown(Operation* op, PossibleStates& states) {
    for (PossibleState& state : states)
      elements.run(op, state);
    op->walk([&](Operation* inner) {
      if (!relevant.contains(inner) || inner == op)
        return;
      auto store = dyn_cast<tile::StoreOp>(inner);
      for (PossibleState& state : states)
        if (store && isFollowed(store.getBuffer()))
          space.forget(state, *space.slotOf(store.getBuffer()));
    });
    op->walk([&](Operation* inner) {
      if (Seen* at = relevant.contains(inner) && inner != op ? noted(inner) : nullptr) {
        at->isTaken = at->isPassed = at->isEndless = true;
        at->range = IndexRange{};
      }
    });
  }

  tile::LaunchOp launch;
  StateSpace space;
  KnownElements elements{space};
  DenseSet<Operation*> relevant;
  DenseMap<Block*, std::vector<Operation*>> order; ///< of what is relevant
  DenseMap<Value, bool> followed;
  DenseMap<unsigned, size_t>
      lastUses; ///< by slot: the last operation of the launch that asks for it
  PossibleStates left,
      ended; ///< of the loop that is being run: in which that, or its turn, is left
  bool isNoting = true;
  size_t steps = 0;
};

} // namespace

std::optional<SeenPlaces> seenIn(tile::LaunchOp launch) {
  Follower follower(launch);
  return follower.run() ? std::optional(std::move(follower.seen)) : std::nullopt;
}

} // namespace tilewright::ascend
