// SPDX-License-Identifier: Apache-2.0
// The kernel is run as far as its variables go: stores, loads, and the loops and branches around them. All that decides
// what a turn makes of the variables is what they are at its begin, and its number modulo something; where both come again,
// all that follows does, too. What never comes again, as what counts all turns, counts as unknown before each.
#include "compiler/targets/ascend/turning_variables.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/targets/ascend/integer_results.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/scalar_agents.h"

#include <mlir/Dialect/SCF/IR/SCF.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace tilewright::ascend {

using namespace mlir;

namespace {

using Known = std::optional<int64_t>;
/// Of all variables.
using Contents = std::map<void*, Known>;

/// By the turns of the loops around, the outermost first: of as many as `turns` has, round and round.
struct ByTurns {
  std::vector<ByTurns> turns;
  int64_t number = 0;

  bool operator==(const ByTurns& other) const = default;

  int64_t at(ArrayRef<int64_t> path) const {
    return turns.empty() ? number : turns[size_t(path[0]) % turns.size()].at(path.drop_front());
  }
  void countTurns(size_t depth, std::vector<int64_t>& periods) const {
    if (turns.empty())
      return;
    periods[depth] = std::lcm(periods[depth], int64_t(turns.size()));
    for (const ByTurns& turn : turns)
      turn.countTurns(depth + 1, periods);
  }
};

/// What variables are at the begin of each turn of a loop: of the first ones, and of those that then come again and again.
struct Begins {
  std::vector<Contents> turns;
  size_t first = 0;
  bool areAll = false; ///< no turn is left out

  const Contents& at(size_t turn) const {
    return turn < first ? turns[turn] : turns[first + (turn - first) % (turns.size() - first)];
  }
};

/// Whether each kind of core does all that changes what it reads: none has a part in what stands in the other's scope, or what
/// is read outside of scopes is for that kind alone.
bool isOneForAllReaders(Value variable) {
  std::optional<Agent> storing, reading;
  bool isReadByBoth = false;
  for (Operation* user : variable.getUsers()) {
    auto scope = user->getParentOfType<ScopeOp>();
    const bool isStore = isa<tile::StoreOp>(user);
    std::optional<Agent>& agent = isStore ? storing : reading;
    if (scope && agent && agent != scope.getAgent())
      isReadByBoth = true;
    if (scope)
      agent = scope.getAgent();
    else if (!isStore)
      isReadByBoth = true;
  }
  return !storing || (!isReadByBoth && (!reading || reading == storing)) ||
         isOfOneAlone(variable, *storing);
}

/// What a branch asks of the variable that says whether a loop is left, if it is that.
struct ExitQuestion {
  Value state;
  bool isAllLeft = false; ///< it is run unless the loop is left, else only where no turn has ended
};
std::optional<ExitQuestion> exitQuestionOf(scf::IfOp branch) {
  auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  auto load = compare ? compare.getLhs().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
  auto state = load ? load.getBuffer().getDefiningOp<tile::AllocOp>() : tile::AllocOp();
  if (!state || !state->hasAttr(kExitStateAttr) || state.getSymName() != kExitStateName)
    return std::nullopt;
  const std::optional<int64_t> with = getConstantIntValue(compare.getRhs());
  const arith::CmpIPredicate asked = compare.getPredicate();
  if (asked == arith::CmpIPredicate::ne && with == kLeftState)
    return ExitQuestion{state, true};
  if (asked == arith::CmpIPredicate::eq && with == 0)
    return ExitQuestion{state, false};
  return std::nullopt;
}

bool isInBody(Operation* op, tile::WhileOp loop) {
  return loop.getBody().isAncestor(op->getParentRegion());
}

/// The variable that says whether a loop around `target` is left, where nothing comes to that then; null: there is none.
Value exitStateOf(Operation* loop, Operation* target) {
  for (auto branch : loop->getRegions().back().front().getOps<scf::IfOp>()) {
    const std::optional<ExitQuestion> asked = exitQuestionOf(branch);
    if (!asked || !asked->isAllLeft)
      return {};
    // The turns of a for that is left go on, outside of that branch, and a while asks once more.
    auto open = dyn_cast<tile::WhileOp>(loop);
    const bool isFor = isa<tile::ForOp>(loop) && branch->isAncestor(target),
               isWhile = open && questionOf(open).state == asked->state && isInBody(target, open);
    return isFor || isWhile ? asked->state : Value();
  }
  return {};
}

/// Whether no turn of a loop ends early but the last one.
bool endsOnlyLoops(Value state) {
  return llvm::all_of(state.getUsers(), [](Operation* user) {
    auto store = dyn_cast<tile::StoreOp>(user);
    const std::optional<int64_t> value =
        store ? getConstantIntValue(store.getValue()) : std::optional<int64_t>(0);
    return value == 0 || value == kLeftState;
  });
}

class VariableRun {
public:
  explicit VariableRun(tile::LoadOp read) : target(read), variables{read.getBuffer()} {}
  /// Its number is how many turns the loop makes; `most`: if all holds that isn't known of what it asks.
  VariableRun(tile::WhileOp loop, bool most) : target(loop), countsMost(most) {
    loop.getCondition().walk([&](tile::LoadOp load) {
      const bool decides = !most || isVariable(load.getBuffer());
      if (decides && !llvm::is_contained(variables, load.getBuffer()))
        variables.push_back(load.getBuffer());
    });
  }

  std::optional<TurnTable> run() {
    if (variables.empty() || !llvm::all_of(variables, isVariable) || !findRelevant())
      return std::nullopt;
    Contents nothing;
    for (Value variable : variables)
      nothing[keyOf(variable)] = std::nullopt;
    ByTurns found;
    if (!descend(*path.front()->getBlock(), 0, std::move(nothing), found))
      return std::nullopt;
    return asOneSum(found);
  }

private:
  /// The variables that decide, with all that touches them.
  bool findRelevant() {
    constexpr size_t mostVariables = 8;
    launch = target->getParentOfType<tile::LaunchOp>();
    if (!launch)
      return false;
    for (size_t i = 0; i < variables.size(); ++i) {
      if (i == mostVariables)
        return false;
      for (Operation* user : variables[i].getUsers()) {
        addRelevant(user);
        if (auto store = dyn_cast<tile::StoreOp>(user)) {
          addVariables(store.getValue());
          for (Operation* op = store; op != launch && storing.insert(op).second;
               op = op->getParentOp())
            if (auto branch = dyn_cast<scf::IfOp>(op))
              addVariables(branch.getCondition());
        }
      }
    }
    for (auto& [block, ops] : order)
      llvm::sort(ops, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    for (Operation* op = target; op != launch; op = op->getParentOp())
      path.insert(path.begin(), op);
    return true;
  }

  void addRelevant(Operation* op) {
    for (; op != launch && relevant.insert(op).second; op = op->getParentOp()) {
      order[op->getBlock()].push_back(op);
      if (auto branch = dyn_cast<scf::IfOp>(op); branch && branch.getNumResults() > 0)
        addVariables(branch.getCondition());
    }
  }

  /// Those that a number is made of.
  void addVariables(Value value) {
    Operation* op = value.getDefiningOp();
    if (!op || !seen.insert(op).second)
      return;
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (isVariable(load.getBuffer()) && !plain.of(value) &&
          !llvm::is_contained(variables, load.getBuffer()))
        variables.push_back(load.getBuffer());
    } else if (op->getNumRegions() == 0) {
      for (Value operand : op->getOperands())
        addVariables(operand);
    }
  }

  bool stores(Operation* op) const {
    return storing.contains(op);
  }

  /// To the target, in each turn of the loops around it.
  bool descend(Block& block, size_t depth, Contents contents, ByTurns& found) {
    Operation* next = path[depth];
    execute(block, contents, next);
    if (next == target) {
      auto loop = dyn_cast<tile::WhileOp>(target);
      const Known number = loop ? executeWhile(loop, contents) : contents[keyOf(variables[0])];
      found.number = number.value_or(0);
      return number && !isTooLong();
    }
    Block& inner = *path[depth + 1]->getBlock();
    if (isa<tile::ForOp, tile::WhileOp>(next))
      return descendInTurns(next, inner, depth, contents, found);
    const bool isPassed = isa<scf::IfOp, ScopeOp>(next) || !stores(next);
    return isPassed && descend(inner, depth + 1, std::move(contents), found);
  }

  /// What stands in branches of which nothing is known is run only on the way to the target: what a loop's number is taken
  /// modulo there comes to light last.
  bool descendInTurns(Operation* loop, Block& inner, size_t depth, const Contents& contents,
                      ByTurns& found) {
    if (!llvm::is_contained(loops, loop))
      loops.push_back(loop);
    const Value state = exitStateOf(loop, target);
    if (state)
      goingOn.push_back(state);
    const bool isFound = descendInTurnsOf(loop, inner, depth, contents, found);
    if (state)
      goingOn.pop_back();
    return isFound;
  }

  bool descendInTurnsOf(Operation* loop, Block& inner, size_t depth, const Contents& contents,
                        ByTurns& found) {
    for (int64_t multiple = 1; multiple != 0 && multiple <= kMostInTable;
         multiple = multiples[loop]) {
      const std::optional<Begins> begins = beginsOf(loop, contents, multiple);
      if (!begins || begins->turns.empty())
        return false;
      found.turns.clear();
      for (const Contents& begin : begins->turns) {
        turns[loop] = int64_t(found.turns.size());
        if (!descend(inner, depth + 1, begin, found.turns.emplace_back()))
          return false;
      }
      turns.erase(loop);
      const auto again = int64_t(begins->turns.size() - begins->first);
      auto open = dyn_cast<tile::WhileOp>(loop);
      if (begins->areAll)
        return (!open || isInBody(target, open)) && shorten(found.turns);
      if (multiples[loop] != 0 && again % multiples[loop] == 0)
        return comesAgain(*begins, found);
    }
    return false;
  }

  /// All turns of a loop may come again before its end.
  static bool shorten(std::vector<ByTurns>& all) {
    const auto isPeriod = [&](size_t period) {
      return std::equal(all.begin() + int64_t(period), all.end(), all.begin());
    };
    size_t period = 1;
    while (!isPeriod(period))
      ++period;
    all.resize(period);
    return true;
  }

  /// Turns may begin in another way first and yet give the same.
  static bool comesAgain(const Begins& begins, ByTurns& found) {
    const size_t again = begins.turns.size() - begins.first;
    for (size_t turn = 0; turn < begins.first; ++turn)
      if (found.turns[turn] != found.turns[turn + again])
        return false;
    found.turns.resize(again);
    return true;
  }

  /// What the variables are at the begin of each turn, up to where it all comes again.
  std::optional<Begins> beginsOf(Operation* loop, Contents now, int64_t leastMultiple = 1) {
    Block& body =
        loop->getRegions().back().front(); // of a while behind its condition, which stores nothing
    if (stores(loop) && (hasOwnExit(body) || doesConditionStore(loop)))
      return std::nullopt;
    for (size_t tries = 0; tries <= variables.size() && !isTooLong(); ++tries) {
      std::vector<Contents> all = firstTurns(loop, now, leastMultiple);
      if (all.size() <= size_t(kMostInTable))
        return Begins{std::move(all), 0, /*areAll=*/true};
      const int64_t multiple = multiples[loop];
      const std::optional<Begins> again = comingAgain(all, multiple);
      if (again && again->first == 0)
        return again;
      auto open = dyn_cast<tile::WhileOp>(loop);
      Contents behind = now;
      const Known count = open ? executeWhile(open, behind) : turnsOf(loop);
      if (count && *count <= kMostInTable) {
        all.resize(size_t(*count));
        return Begins{std::move(all), 0, /*areAll=*/true};
      }
      if (again || !forgetDrifting(all, multiple, now))
        return again;
    }
    return std::nullopt;
  }

  /// What kMostInTable turns begin with, and the one behind them; less, if one surely leaves the loop.
  std::vector<Contents> firstTurns(Operation* loop, Contents now, int64_t leastMultiple) {
    Block& body = loop->getRegions().back().front();
    const Value state = exitStateOf(loop, target);
    const bool isFollowed = llvm::is_contained(goingOn, state) &&
                            llvm::is_contained(variables, state) && endsOnlyLoops(state);
    std::vector<Contents> begins;
    multiples[loop] = leastMultiple;
    for (int64_t turn = 0; turn <= kMostInTable; ++turn) {
      forgetUnread(body, now);
      if (isFollowed)
        now[keyOf(state)] = 0;
      begins.push_back(now);
      turns[loop] = turn;
      if (turn < kMostInTable)
        execute(body, now, nullptr);
      if (isFollowed && now[keyOf(state)] == kLeftState)
        break;
    }
    turns.erase(loop);
    return begins;
  }

  static std::optional<Begins> comingAgain(ArrayRef<Contents> all, int64_t multiple) {
    for (size_t first = 0; first < all.size(); ++first)
      for (size_t period = size_t(multiple); period && first + period < all.size();
           period += size_t(multiple))
        if (isCovered(all[first + period], all[first]))
          return Begins{{all.begin(), all.begin() + first + period}, first, /*areAll=*/false};
    return std::nullopt;
  }

  /// Of variables that don't come again, each by itself, nothing is known any more before a loop; whether there are some.
  static bool forgetDrifting(ArrayRef<Contents> all, int64_t multiple, Contents& before) {
    bool isAny = false;
    for (auto& [variable, known] : before) {
      std::vector<Contents> alone;
      for (const Contents& each : all)
        alone.push_back({{variable, each.at(variable)}});
      if (!known || comingAgain(alone, multiple))
        continue;
      known = std::nullopt;
      isAny = true;
    }
    return isAny;
  }

  /// What each turn writes before it reads it, no turn begins with.
  void forgetUnread(Block& body, Contents& contents) {
    auto [found, isNew] = unread.try_emplace(&body);
    if (isNew) {
      DenseSet<Value> isRead;
      for (Operation* op : order[&body]) {
        if (auto store = dyn_cast<tile::StoreOp>(op); store && !isRead.contains(store.getBuffer()))
          found->second.push_back(keyOf(store.getBuffer()));
        op->walk([&](tile::LoadOp load) { isRead.insert(load.getBuffer()); });
      }
    }
    for (void* variable : found->second)
      contents[variable] = std::nullopt;
  }

  /// Whether all that is known of `weaker` holds.
  static bool isCovered(const Contents& contents, const Contents& weaker) {
    return llvm::all_of(weaker, [&](const auto& each) {
      return !each.second || contents.at(each.first) == each.second;
    });
  }

  static bool hasOwnExit(Block& body) {
    return llvm::any_of(body, [](Operation& op) { return hasExit(&op); });
  }

  bool doesConditionStore(Operation* loop) const {
    return isa<tile::WhileOp>(loop) &&
           llvm::any_of(loop->getRegion(0).front(), [&](Operation& op) { return stores(&op); });
  }

  static void* keyOf(Value variable) {
    return variable.getAsOpaquePointer();
  }

  bool isTooLong() const {
    constexpr size_t most = 20'000;
    return executed > most;
  }

  /// Up to `end`, if there is one.
  void execute(Block& block, Contents& contents, Operation* end) {
    const auto found = order.find(&block);
    if (found == order.end())
      return;
    for (Operation* op : found->second) {
      if (op == end || isTooLong())
        return;
      ++executed;
      execute(op, contents);
    }
  }

  void execute(Operation* op, Contents& contents) {
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      contents[keyOf(store.getBuffer())] = numberOf(store.getValue());
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      loaded[load.getValue()] = contents[keyOf(load.getBuffer())];
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (branch.getNumResults() == 0 && !stores(op))
        return; // whichever way it goes
      Known isTaken = numberOf(branch.getCondition());
      if (!isTaken && isTakenIfItGoesOn(branch))
        isTaken = 1;
      if (!isTaken)
        forget(op, contents);
      else if (*isTaken)
        execute(*branch.thenBlock(), contents, nullptr);
      else if (branch.elseBlock())
        execute(*branch.elseBlock(), contents, nullptr);
    } else if (auto scope = dyn_cast<ScopeOp>(op)) {
      execute(scope.getBody().front(), contents, nullptr);
    } else if (isa<tile::ForOp, tile::WhileOp>(op)) {
      executeLoop(op, contents);
    } else {
      forget(op, contents);
    }
  }

  /// Of a loop around the target only turns count behind which it goes on, or that come to the target.
  bool isTakenIfItGoesOn(scf::IfOp branch) const {
    const std::optional<ExitQuestion> asked = exitQuestionOf(branch);
    return asked && llvm::is_contained(goingOn, asked->state) &&
           (asked->isAllLeft || endsOnlyLoops(asked->state));
  }

  void executeLoop(Operation* loop, Contents& contents) {
    if (!stores(loop))
      return;
    if (auto open = dyn_cast<tile::WhileOp>(loop)) {
      Contents behind = contents;
      if (executeWhile(open, behind)) {
        contents = std::move(behind);
        return;
      }
    }
    Block& body = loop->getRegions().back().front();
    const std::optional<int64_t> all = turnsOf(loop);
    if (all && *all <= kMostInTable && !hasOwnExit(body) && !doesConditionStore(loop)) {
      for (int64_t turn = 0; turn < *all; ++turn) {
        turns[loop] = turn;
        execute(body, contents, nullptr);
      }
      turns.erase(loop);
      return;
    }
    const std::optional<Begins> begins = beginsOf(loop, contents);
    if (begins && !begins->turns.empty() && all &&
        (*all > kMostInTable || *all < int64_t(begins->turns.size()))) {
      contents = begins->at(size_t(*all));
      return;
    }
    if (begins && begins->turns.size() == 1)
      contents = begins->turns.front();
    else
      forget(loop, contents);
  }

  /// Turn by turn, as long as its condition is known to hold; how many these are, if it then doesn't.
  Known executeWhile(tile::WhileOp loop, Contents& contents) {
    const WhileQuestion asked = questionOf(loop);
    Block& body = loop.getBody().front();
    if (asked.state || hasOwnExit(body) || doesConditionStore(loop))
      return std::nullopt;
    Known goesOn = 1;
    int64_t turn = 0;
    for (; turn <= kMostInTable && !isTooLong(); ++turn) {
      turns[loop] = turn;
      execute(*asked.block, contents, nullptr);
      goesOn = countsMost && loop == target ? ifUnknownHolds(asked.condition, contents)
                                            : numberOf(asked.condition);
      if (!goesOn || *goesOn == 0)
        break;
      execute(body, contents, nullptr);
    }
    turns.erase(loop);
    return goesOn && *goesOn == 0 ? Known(turn) : std::nullopt;
  }

  /// 0 where a part of a condition, which stores nothing, is known not to hold.
  int64_t ifUnknownHolds(Value condition, const Contents& contents) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      return std::min(ifUnknownHolds(both.getLhs(), contents),
                      ifUnknownHolds(both.getRhs(), contents));
    auto more = condition.getDefiningOp<scf::IfOp>();
    const unsigned number = more ? cast<OpResult>(condition).getResultNumber() : 0;
    if (more && more.elseBlock() &&
        matchPattern(more.elseBlock()->getTerminator()->getOperand(number), m_Zero())) {
      for (auto load : more.thenBlock()->getOps<tile::LoadOp>()) {
        const auto found = contents.find(keyOf(load.getBuffer()));
        loaded[load.getValue()] = found == contents.end() ? std::nullopt : found->second;
      }
      return std::min(
          ifUnknownHolds(more.getCondition(), contents),
          ifUnknownHolds(more.thenBlock()->getTerminator()->getOperand(number), contents));
    }
    const Known known = numberOf(condition);
    return known ? int64_t(*known != 0) : 1;
  }

  /// Nothing is known any more of what an operation may store.
  void forget(Operation* op, Contents& contents) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      contents[keyOf(store.getBuffer())] = std::nullopt;
    for (Region& region : op->getRegions())
      for (Block& block : region)
        if (const auto found = order.find(&block); found != order.end())
          for (Operation* inner : found->second)
            forget(inner, contents);
  }

  Known numberOf(Value value) {
    if (const auto found = loaded.find(value); found != loaded.end())
      return found->second;
    if (const std::optional<TurnTable> table = plain.of(value)) {
      int64_t turn = 0;
      for (Operation* loop : table->loops) {
        turn += turns[loop];
        multiples[loop] =
            table->drift ? 0 : std::lcm(multiples[loop], table->period()); // 0: never again
      }
      return table->at(turn);
    }
    Operation* op = value.getDefiningOp();
    if (auto branch = dyn_cast_if_present<scf::IfOp>(op)) {
      const Known isTaken = numberOf(branch.getCondition());
      Block* block = !isTaken ? nullptr : *isTaken ? branch.thenBlock() : branch.elseBlock();
      const unsigned number = cast<OpResult>(value).getResultNumber();
      return block ? numberOf(block->getTerminator()->getOperand(number)) : std::nullopt;
    }
    if (!op || isa<tile::LoadOp>(op) || op->getNumRegions() != 0 || ++executed == 0)
      return std::nullopt;
    // Where the one operand isn't known, what the other was taken modulo decides nothing.
    DenseMap<Operation*, int64_t> before = multiples;
    SmallVector<int64_t> numbers;
    for (Value operand : op->getOperands()) {
      const Known number = isTooLong() ? std::nullopt : numberOf(operand);
      if (!number) {
        multiples = std::move(before);
        return std::nullopt;
      }
      numbers.push_back(*number);
    }
    return integerResult(op, numbers);
  }

  /// As a table of the turns of the loops, each as often as it takes, added up.
  std::optional<TurnTable> asOneSum(const ByTurns& found) const {
    constexpr int64_t mostTried = 2000;
    std::vector<int64_t> periods(loops.size(), 1);
    found.countTurns(0, periods);
    int64_t all = 1;
    for (const int64_t period : periods)
      all = std::min(all * period, mostTried + 1);
    if (all > mostTried)
      return std::nullopt;
    TurnTable table{{}, {found.at(std::vector<int64_t>(loops.size()))}};
    if (all == 1)
      return table;
    const auto widest = size_t(std::ranges::max_element(periods) - periods.begin());
    const auto inLoop = [&](size_t loop, int64_t turn) {
      std::vector<int64_t> path(loops.size());
      path[loop] = turn;
      return found.at(path);
    };
    table.values.clear();
    for (int64_t turn = 0; turn < periods[widest]; ++turn)
      table.values.push_back(inLoop(widest, turn));
    std::vector<int64_t> times(loops.size());
    for (size_t loop = 0; loop < loops.size(); ++loop) {
      const auto fits = [&](int64_t factor) {
        for (int64_t turn = 0; turn <= periods[loop]; ++turn)
          if (inLoop(loop, turn) != table.at(factor * turn))
            return false;
        return factor * periods[loop] % table.period() == 0;
      };
      times[loop] = loop == widest ? 1 : 0;
      while (loop != widest && times[loop] < table.period() && !fits(times[loop]))
        ++times[loop];
      if (times[loop] == table.period())
        return std::nullopt;
      table.loops.insert(table.loops.end(), size_t(times[loop]), loops[loop]);
    }
    return isSum(found, periods, times, table) ? std::optional(table) : std::nullopt;
  }

  static bool isSum(const ByTurns& found, ArrayRef<int64_t> periods, ArrayRef<int64_t> times,
                    const TurnTable& table) {
    std::vector<int64_t> path(periods.size());
    size_t loop = 0;
    while (loop < path.size()) {
      const int64_t sum = std::inner_product(path.begin(), path.end(), times.begin(), int64_t{0});
      if (found.at(path) != table.at(sum))
        return false;
      for (loop = 0; loop < path.size() && ++path[loop] == periods[loop]; ++loop)
        path[loop] = 0;
    }
    return true;
  }

  Operation* target;
  bool countsMost = false;
  SmallVector<Value> variables; ///< first those that are asked for
  TurnTables plain{/*hasVariables=*/false};
  std::vector<Operation*> path;  ///< from the launch to the target
  std::vector<Operation*> loops; ///< of those, the outermost first
  SmallVector<Value> goingOn;    ///< what says of such, as they are run, whether they are left
  tile::LaunchOp launch;
  DenseSet<Operation*> relevant, storing, seen;
  DenseMap<Block*, std::vector<Operation*>> order; ///< of what is relevant
  DenseMap<Block*, std::vector<void*>> unread;
  DenseMap<Operation*, int64_t> turns; ///< of the loops that are being run
  /// By loop: what its number was taken modulo.
  DenseMap<Operation*, int64_t> multiples;
  DenseMap<Value, Known> loaded;
  size_t executed = 0;
};

} // namespace

bool isVariable(Value buffer) {
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  return alloc && alloc.getType().getSpace() == tile::MemorySpace::Var &&
         alloc.getType().getRank() == 0 && alloc.getType().getElementType().isInteger() &&
         llvm::all_of(buffer.getUsers(),
                      [](Operation* user) { return isa<tile::LoadOp, tile::StoreOp>(user); }) &&
         isOneForAllReaders(buffer);
}

std::optional<TurnTable> turnsOfVariable(tile::LoadOp load) {
  return VariableRun(load).run();
}

std::optional<int64_t> turnsByVariables(tile::WhileOp loop) {
  const std::optional<TurnTable> table = VariableRun(loop, /*most=*/false).run();
  return table && table->isConstant() ? std::optional(table->values.front()) : std::nullopt;
}

std::optional<int64_t> mostTurnsByVariables(tile::WhileOp loop) {
  const std::optional<TurnTable> table = VariableRun(loop, /*most=*/true).run();
  return table && !table->drift ? std::optional(llvm::max_element(table->values)[0]) : std::nullopt;
}

} // namespace tilewright::ascend
