// SPDX-License-Identifier: Apache-2.0
// The kernel is run as far as its variables go: stores, loads, and the loops and branches around them. All that decides
// what a turn makes of the variables is what they are at its begin, and its number modulo something; where both come again,
// all that follows does, too.
#include "compiler/targets/ascend/turning_variables.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/targets/ascend/integer_results.h"
#include "compiler/targets/ascend/loop_exits.h"

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

/// Whether each kind of core does all that changes what it reads: none has a part in what stands in the other's scope.
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
  return !storing || (!isReadByBoth && (!reading || reading == storing));
}

class VariableRun {
public:
  explicit VariableRun(tile::LoadOp read) : read(read) {}

  std::optional<TurnTable> run() {
    if (!isVariable(read.getBuffer()) || !findRelevant())
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
    constexpr size_t mostVariables = 4;
    launch = read->getParentOfType<tile::LaunchOp>();
    if (!launch)
      return false;
    variables = {read.getBuffer()};
    for (size_t i = 0; i < variables.size(); ++i) {
      if (i == mostVariables)
        return false;
      for (Operation* user : variables[i].getUsers()) {
        addRelevant(user);
        if (auto store = dyn_cast<tile::StoreOp>(user)) {
          addVariables(store.getValue());
          for (Operation* op = store; op != launch; op = op->getParentOp())
            storing.insert(op);
        }
      }
    }
    for (auto& [block, ops] : order)
      llvm::sort(ops, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    for (Operation* op = read; op != launch; op = op->getParentOp())
      path.insert(path.begin(), op);
    return true;
  }

  void addRelevant(Operation* op) {
    for (; op != launch && relevant.insert(op).second; op = op->getParentOp()) {
      order[op->getBlock()].push_back(op);
      if (auto branch = dyn_cast<scf::IfOp>(op))
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

  /// To the read, in each turn of the loops around it.
  bool descend(Block& block, size_t depth, Contents contents, ByTurns& found) {
    Operation* next = path[depth];
    execute(block, contents, next);
    if (next == read) {
      const Known number = contents[keyOf(read.getBuffer())];
      found.number = number.value_or(0);
      return number && !isTooLong();
    }
    Block& inner = *path[depth + 1]->getBlock();
    if (isa<tile::ForOp, tile::WhileOp>(next))
      return descendInTurns(next, inner, depth, contents, found);
    const bool isPassed = isa<scf::IfOp, ScopeOp>(next) || !stores(next);
    return isPassed && descend(inner, depth + 1, std::move(contents), found);
  }

  bool descendInTurns(Operation* loop, Block& inner, size_t depth, const Contents& contents,
                      ByTurns& found) {
    const std::optional<std::vector<Contents>> cycle = cycleOf(loop, contents);
    if (!cycle || cycle->empty())
      return false;
    if (!llvm::is_contained(loops, loop))
      loops.push_back(loop);
    for (const Contents& begin : *cycle) {
      turns[loop] = int64_t(found.turns.size());
      if (!descend(inner, depth + 1, begin, found.turns.emplace_back()))
        return false;
    }
    turns.erase(loop);
    return true;
  }

  /// What the variables are at the begin of each turn, up to where it all comes again.
  std::optional<std::vector<Contents>> cycleOf(Operation* loop, Contents now) {
    Block& body =
        loop->getRegions().back().front(); // of a while behind its condition, which stores nothing
    const bool doesConditionStore =
        llvm::any_of(loop->getRegion(0).front(), [&](Operation& op) { return stores(&op); });
    if (stores(loop) && (hasOwnExit(body) || (isa<tile::WhileOp>(loop) && doesConditionStore)))
      return std::nullopt;
    std::vector<Contents> begins;
    multiples[loop] = 1;
    for (int64_t turn = 0; turn < kMostInTable; ++turn) {
      forgetUnread(body, now);
      begins.push_back(now);
      turns[loop] = turn;
      execute(body, now, nullptr);
    }
    forgetUnread(body, now);
    begins.push_back(std::move(now));
    turns.erase(loop);
    const int64_t multiple = multiples[loop];
    for (int64_t period = multiple; period && period <= kMostInTable; period += multiple)
      if (isCovered(begins[size_t(period)], begins[0])) {
        begins.resize(size_t(period));
        return begins;
      }
    const std::optional<int64_t> all = turnsOf(loop);
    if (!all || *all > kMostInTable)
      return std::nullopt;
    begins.resize(size_t(*all));
    return begins;
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
      const Known isTaken = numberOf(branch.getCondition());
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

  void executeLoop(Operation* loop, Contents& contents) {
    if (!stores(loop))
      return;
    const std::optional<std::vector<Contents>> cycle = cycleOf(loop, contents);
    Block& body = loop->getRegions().back().front();
    const std::optional<int64_t> all = turnsOf(loop);
    if (cycle && !cycle->empty() && all && (*all > kMostInTable || *all < int64_t(cycle->size()))) {
      contents = (*cycle)[size_t(*all) % cycle->size()];
      return;
    }
    if (all && *all <= kMostInTable && !hasOwnExit(body)) {
      for (int64_t turn = 0; turn < *all; ++turn) {
        turns[loop] = turn;
        execute(body, contents, nullptr);
      }
      turns.erase(loop);
      return;
    }
    if (cycle && cycle->size() == 1)
      contents = cycle->front();
    else
      forget(loop, contents);
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
    if (!op || isa<tile::LoadOp>(op) || op->getNumRegions() != 0 || ++executed == 0)
      return std::nullopt;
    SmallVector<int64_t> numbers;
    for (Value operand : op->getOperands()) {
      const Known number = isTooLong() ? std::nullopt : numberOf(operand);
      if (!number)
        return std::nullopt;
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

  tile::LoadOp read;
  TurnTables plain{/*hasVariables=*/false};
  std::vector<Operation*> path;  ///< from the launch to the read
  std::vector<Operation*> loops; ///< of those, the outermost first
  tile::LaunchOp launch;
  SmallVector<Value> variables;
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

} // namespace tilewright::ascend
