// SPDX-License-Identifier: Apache-2.0
// Loops and branches that depend on the same values: no insertion is there for runs that can't be.
#include "compiler/targets/ascend/analysis/cases.h"
#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/insert_flags.h"
#include "compiler/targets/ascend/analysis/replay.h"
#include "compiler/targets/ascend/analysis/settle_branches.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace tilewright::ascend::model {
namespace {

using testing::Replay;

constexpr unsigned kN = 1U << 24, kM = kN + 1;

Access accessAt(bool isWrite, int64_t begin, std::vector<Term> terms = {}) {
  Access result;
  result.begin = begin;
  result.end = begin + 64;
  result.isWrite = isWrite;
  result.terms = std::move(terms);
  return result;
}

Node* addStatement(Program& program, Node* parent, Pipe pipe, std::vector<Access> accesses) {
  Node* node = program.add(parent ? parent->body : program.body, parent, NodeKind::Statement);
  node->queue = {Agent::Vector, pipe};
  node->accesses = std::move(accesses);
  return node;
}

Node* addLoop(Program& program, Node* parent, unsigned value) {
  Node* loop = program.add(parent ? parent->body : program.body, parent, NodeKind::Loop);
  loop->length = {0, 1, {{value, 1}}};
  return loop;
}

std::string withFlags(Program& program) {
  const Conflicts conflicts(program);
  EXPECT_TRUE(insertFlags(program, conflicts, {}).failures.empty());
  EXPECT_TRUE(checkIterations(program, conflicts).isClean()) << print(program);
  return print(program);
}

/// Where the second loop has no iteration, and so no barrier of the program's own, the first has none, either.
TEST(Cases, TwoLoopsOfOneLength) {
  for (const unsigned second : {kN, kM}) {
    Program program;
    addStatement(program, addLoop(program, nullptr, kN), Pipe::MTE2, {accessAt(true, 0)});
    Node* loop = addLoop(program, nullptr, second);
    Sync& barrier = program.add(loop->body, loop, NodeKind::Sync)->sync;
    barrier.kind = SyncKind::Barrier;
    barrier.queue = {Agent::Vector, Pipe::MTE2};
    Node* last = addStatement(program, nullptr, Pipe::MTE2, {accessAt(true, 0)});
    const std::string text = withFlags(program);
    EXPECT_EQ(last->before.empty(), second == kN) << text;
  }
}

/// A loop of `n - m` turns, with m from 0 to 2, has one turn at most where n is 1: what then stands in the branch that isn't
/// taken for greater n never follows itself.
TEST(Cases, LoopsOfFewTurns) {
  for (const int64_t most : {1, 2}) {
    Program program;
    program.values[kM] = {0, 2};
    Node* loop = program.add(program.body, nullptr, NodeKind::Loop);
    loop->length = {0, 1, {{kN, 1}, {kM, -1}}};
    Node* branch = program.add(loop->body, loop, NodeKind::If);
    branch->conditions = {{Comparison::LessOrEqual, -most, {}, 0, {}, {{kN, 1}}}};
    Node* statement = addStatement(program, branch, Pipe::MTE3, {accessAt(true, 0)});
    const std::string text = withFlags(program);
    EXPECT_EQ(statement->before.empty(), most == 1) << text;
  }
}

/// The same beside so much else that not all of it can be written out.
TEST(Cases, TwoLoopsAmongManyStatements) {
  for (const unsigned second : {kN, kM}) {
    Program program;
    Node* first = addLoop(program, nullptr, kN);
    addStatement(program, first, Pipe::MTE2, {accessAt(true, 0)});
    Node* loop = addLoop(program, nullptr, second);
    Sync& barrier = program.add(loop->body, loop, NodeKind::Sync)->sync;
    barrier.kind = SyncKind::Barrier;
    barrier.queue = {Agent::Vector, Pipe::MTE2};
    for (Node* around : {first, loop})
      for (int64_t i = 0; i < 2 * int64_t{kMostUnrolled}; ++i)
        addStatement(program, around, Pipe::V, {accessAt(false, 64 * (i + 1))});
    Node* last = addStatement(program, nullptr, Pipe::MTE2, {accessAt(true, 0)});
    withFlags(program);
    EXPECT_EQ(last->before.empty(), second == kN);
  }
}

/// The same beside loops of other lengths, whose cases are more than are asked: only those of its own loops count.
TEST(Cases, TwoLoopsAmongLoopsOfOtherLengths) {
  Program program;
  for (unsigned value = kM; value < kM + 4; ++value)
    addStatement(program, addLoop(program, nullptr, value), Pipe::V, {accessAt(false, 64)});
  Node* first = addLoop(program, nullptr, kN);
  Node* inner = addLoop(program, first, kM + 4);
  addStatement(program, inner, Pipe::MTE2, {accessAt(true, 0)});
  Node* loop = addLoop(program, nullptr, kN);
  Sync& barrier = program.add(loop->body, loop, NodeKind::Sync)->sync;
  barrier.kind = SyncKind::Barrier;
  barrier.queue = {Agent::Vector, Pipe::MTE2};
  Node* last = addStatement(program, nullptr, Pipe::MTE2, {accessAt(true, 0)});
  const std::string text = withFlags(program);
  EXPECT_TRUE(last->before.empty()) << text;
}

/// Two branches on one value, the other way round: what the one writes the other doesn't read.
TEST(Cases, BranchesThatExcludeEachOther) {
  for (const unsigned second : {kN, kM}) {
    Program program;
    for (const unsigned value : {kN, second}) {
      Node* branch = program.add(program.body, nullptr, NodeKind::If);
      const bool isFirst = program.body.size() == 1;
      branch->conditions = {
          {isFirst ? Comparison::Greater : Comparison::LessOrEqual, -2, {}, 0, {}, {{value, 1}}}};
      addStatement(program, branch, isFirst ? Pipe::MTE2 : Pipe::V, {accessAt(isFirst, 0)});
    }
    EXPECT_EQ(withFlags(program).find("wait") != std::string::npos, second == kM);
  }
}

/// What a branch asks that the one around it answers, or the loop, also the other way round and behind an else.
TEST(Cases, BranchesThatOthersDecide) {
  const auto asks = [](Comparison kind, int64_t constant, unsigned loop, int64_t step) {
    return Condition{kind, constant, {{loop, step}}, 0, {}, {{kN, -step}}};
  };
  struct Form {
    Comparison outer, inner;
    int64_t constant = 0, step = 1; // of the inner one
    bool isElse = false;
    std::optional<bool> taken;
  };
  using enum Comparison;
  for (const Form& form : {Form{Less, GreaterOrEqual, 0, 1, false, false},
                           {Less, Less, 0, 1, false, true},
                           {Less, Greater, 0, -1, false, true}, // k < n and n - k > 0
                           {Less, Less, -1, 1, false, true},
                           {Less, Less, 1, 1, false, std::nullopt},
                           {Less, Less, 0, 1, true, false},
                           {Equal, NotEqual, 0, -1, false, false},
                           {Equal, LessOrEqual, 0, 1, false, true},
                           {NotEqual, Equal, 0, 1, false, false},
                           {NotEqual, Less, 0, 1, false, std::nullopt}}) {
    Program program;
    Node* loop = addLoop(program, nullptr, kM);
    Node* outer = program.add(loop->body, loop, NodeKind::If);
    outer->conditions = {asks(form.outer, 0, loop->id, 1)};
    Node* inner = program.add(form.isElse ? outer->otherwise : outer->body, outer, NodeKind::If);
    inner->conditions = {asks(form.inner, form.constant, loop->id, form.step)};
    settleBranches(program);
    const Condition& left = inner->conditions.front();
    const bool isOpen = !left.terms.empty() || !left.values.empty();
    EXPECT_EQ(isOpen, !form.taken);
    if (!isOpen)
      EXPECT_EQ(holds(left.kind, left.constant, left.constant), form.taken);
    // The loop goes up to the other value.
    EXPECT_FALSE(outer->conditions.front().terms.empty());
  }
}

/// Random programs of loops up to two arguments, with branches on them and on the numbers of iterations.
class ProgramOfValues {
public:
  explicit ProgramOfValues(unsigned seed, bool hasExits = false)
      : hasExits(hasExits), random(seed) {
    fill(program.body, nullptr, 0, 3);
  }
  Program program;

private:
  int64_t below(int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
  }
  unsigned value() {
    return below(3) ? kN : kM;
  }

  void fill(Block& block, Node* parent, unsigned depth, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t kind = below(8);
      if (kind < 2 && depth < 2 && program.nodes.size() < 14) {
        Node* loop = program.add(block, parent, NodeKind::Loop);
        loop->length = {below(2), 1 + below(2), {{value(), 1}}};
        if (hasExits)
          fillWithExit(block, parent, *loop, depth + 1);
        else
          fill(loop->body, loop, depth + 1, 1 + below(3));
      } else if (kind == 2 && depth < 3) {
        Node* branch = program.add(block, parent, NodeKind::If);
        Condition condition{static_cast<Comparison>(below(6)), -below(3), {}, 0, {}, {}};
        const std::vector<const Node*> loops = loopsAround(branch);
        if (!loops.empty() && below(3))
          condition.terms = {{loops.back()->id, -1}};
        condition.values = {{value(), 1}};
        branch->conditions = {condition};
        fill(branch->body, branch, depth + 1, 1 + below(2));
      } else {
        addRandomStatement(block, parent);
      }
    }
  }

  Node* assign(Block& block, Node* parent, unsigned variable, int value) {
    Node* node = program.add(block, parent, NodeKind::Assign);
    node->variable = variable;
    node->value = value;
    return node;
  }

  Node* addIfOn(Block& block, Node* parent, unsigned variable) {
    Node* branch = program.add(block, parent, NodeKind::If);
    branch->variable = variable;
    return branch;
  }

  /// What leaves the loop asks what a branch before has asked, the opposite, or nearly so.
  void fillWithExit(Block& around, Node* parent, Node& loop, unsigned depth) {
    const unsigned variable = program.variables++;
    around.pop_back();
    assign(around, parent, variable, 0);
    around.push_back(&loop);
    Node* runs = addIfOn(loop.body, &loop, variable);
    Condition condition{
        static_cast<Comparison>(below(6)), -below(3), {{loop.id, -1}}, 0, {}, {{value(), 1}}};
    fill(runs->body, runs, depth, below(3));
    for (int64_t branches = 1 + below(2); branches > 0; --branches) {
      Node* branch = program.add(runs->body, runs, NodeKind::If);
      branch->conditions = {condition};
      fill(branch->body, branch, depth + 1, 1);
      if (below(2))
        fill(branch->otherwise, branch, depth + 1, 1);
      fill(runs->body, runs, depth + 1, below(2));
      condition.kind = static_cast<Comparison>(below(6));
      if (below(2)) {
        condition.constant = -condition.constant;
        condition.terms.front().bytes = -condition.terms.front().bytes;
        condition.values.front().bytes = -condition.values.front().bytes;
      }
      condition.constant += below(4) ? 0 : 1;
    }
    Node* exit = program.add(runs->body, runs, NodeKind::If);
    exit->conditions = {condition};
    assign(below(4) ? exit->body : exit->otherwise, exit, variable, 1);
    Node* rest = addIfOn(runs->body, runs, variable);
    if (!below(3)) {
      rest->isBoth = true;
      condition.kind = static_cast<Comparison>(below(6));
      rest->conditions = {condition};
    }
    fill(rest->body, rest, depth, 1 + below(2));
    loop.forgets.push_back(variable);
  }

  void addRandomStatement(Block& block, Node* parent) {
    constexpr Pipe pipes[] = {Pipe::V, Pipe::V, Pipe::MTE2, Pipe::MTE3};
    Node* node = program.add(block, parent, NodeKind::Statement);
    node->queue = {Agent::Vector, pipes[below(4)]};
    for (const bool isWrite : {false, true}) {
      std::vector<Term> terms;
      if (const std::vector<const Node*> loops = loopsAround(node); !loops.empty() && !below(4))
        terms.push_back({loops.back()->id, 64, 2, 0});
      if (isWrite || below(2))
        node->accesses.push_back(accessAt(isWrite, 64 * below(3), terms));
    }
  }

  bool hasExits;
  std::mt19937 random;
};

/// In some run in which the arguments are at most `most`.
bool isAnyRunWrong(const Program& program, unsigned without, int64_t most) {
  for (int64_t n = -1; n <= most; ++n)
    for (int64_t m = -1; m <= most; ++m) {
      const std::map<unsigned, int64_t> values{{kN, n}, {kM, m}};
      const auto choose = [&](const Node& node) -> int64_t {
        if (node.kind != NodeKind::Loop)
          return 0;
        const int64_t length = node.length.constant + values.at(node.length.terms[0].loop);
        return length <= 0 ? 0 : (length + node.length.step - 1) / node.length.step;
      };
      if (!Replay(program, choose, without, values).isClean())
        return true;
    }
  return false;
}

std::set<std::pair<unsigned, unsigned>> pairsThatMeet(const Program& program, int64_t n,
                                                      int64_t m) {
  const std::map<unsigned, int64_t> values{{kN, n}, {kM, m}};
  const auto choose = [&](const Node& node) -> int64_t {
    if (node.kind != NodeKind::Loop)
      return 0;
    const int64_t length = node.length.constant + values.at(node.length.terms[0].loop);
    return length <= 0 ? 0 : (length + node.length.step - 1) / node.length.step;
  };
  return Replay(program, choose, kNone, values).hazards;
}

/// What others decide is what the branch itself would say, in each run.
TEST(Cases, RandomBranchesThatOthersDecide) {
  unsigned settled = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Program original = std::move(ProgramOfValues(seed).program);
    Program made = std::move(ProgramOfValues(seed).program);
    settleBranches(made);
    unsigned here = 0;
    for (const Node& node : made.nodes)
      here += node.kind == NodeKind::If && node.conditions.front().values.empty();
    settled += here;
    for (int64_t n = -1; n <= 5 && here > 0; ++n)
      for (int64_t m = -1; m <= 5; ++m)
        ASSERT_EQ(pairsThatMeet(made, n, m), pairsThatMeet(original, n, m)) << seed << "\n"
                                                                            << print(original);
  }
  EXPECT_GT(settled, 20U);
}

/// A turn that loads isn't the one that leaves the loop, which asks the opposite, in whatever way: then the next one waits.
TEST(Cases, ExitsThatBranchesDecide) {
  using enum Comparison;
  struct Form {
    Comparison loads, leaves;
    int64_t constant = 0, sign = 1; // of the exit
    bool isNeeded = false;
  };
  for (const Form& form : {Form{Less, GreaterOrEqual},
                           {Less, GreaterOrEqual, -1, 1, true},
                           {Less, LessOrEqual, 0, -1},
                           {Less, Greater, 1, 1},
                           {Less, Less, 0, 1, true},
                           {LessOrEqual, Less, 0, -1},
                           {NotEqual, Equal, 0, -1},
                           {NotEqual, LessOrEqual, 0, 1, true}}) {
    Program program;
    const unsigned left = program.variables++;
    const auto assign = [&](Block& block, Node* parent, int value) {
      Node* node = program.add(block, parent, NodeKind::Assign);
      node->variable = left;
      node->value = value;
    };
    assign(program.body, nullptr, 0);
    Node* loop = program.add(program.body, nullptr, NodeKind::Loop);
    loop->trips = 40;
    loop->forgets = {left};
    Node* runs = program.add(loop->body, loop, NodeKind::If);
    runs->variable = left;
    addStatement(program, runs, Pipe::MTE2, {accessAt(true, 0)});
    addStatement(program, runs, Pipe::V, {accessAt(false, 0), accessAt(true, 64)});
    Node* loads = program.add(runs->body, runs, NodeKind::If);
    loads->conditions = {{form.loads, 0, {{loop->id, 1}}, 0, {}, {{kN, -1}}}};
    const Condition isThere{Less, -39, {{loop->id, 1}}};
    addStatement(program, loads, Pipe::MTE2, {accessAt(true, 0)})->conditions = {isThere};
    Node* exit = program.add(runs->body, runs, NodeKind::If);
    exit->conditions = {
        {form.leaves, form.constant, {{loop->id, form.sign}}, 0, {}, {{kN, -form.sign}}}};
    assign(exit->body, exit, 1);
    addStatement(program, nullptr, Pipe::MTE3, {accessAt(false, 64)});
    addStatement(program, nullptr, Pipe::MTE3, {accessAt(false, 0)});
    settleBranches(program);
    const std::string text = withFlags(program);
    EXPECT_EQ(text.find("MTE2 to vector.MTE3") != std::string::npos, form.isNeeded) << text;
  }
}

/// Tiles that go from core to core in a loop that has one turn where it has any of them need no flag back, beside loops of
/// other lengths in which flags do.
TEST(Cases, CoresThatMeetOnceBesideOtherLoops) {
  for (const bool isOnce : {true, false}) {
    Program program;
    Node* first = nullptr;
    for (unsigned value = kN; value < kN + 4; ++value) {
      Node* loop = addLoop(program, nullptr, value);
      Node* branch = program.add(loop->body, loop, NodeKind::If);
      const int64_t most = value == kN && isOnce ? 1 : 100;
      branch->conditions = {{Comparison::LessOrEqual, -most, {}, 0, {}, {{kN, 1}}}};
      Access tile = accessAt(true, 0);
      tile.memory = value;
      tile.isGlobal = true;
      Node* store = addStatement(program, branch, Pipe::FIX, {tile});
      store->queue.agent = Agent::Cube;
      tile.isWrite = false;
      addStatement(program, branch, Pipe::MTE2, {tile});
      first = first ? first : store;
    }
    const Conflicts conflicts(program);
    InsertOptions options;
    options.betweenAgents = true;
    const Inserted inserted = insertFlags(program, conflicts, options);
    EXPECT_TRUE(checkIterations(program, conflicts).isClean()) << print(program);
    EXPECT_EQ(std::ranges::any_of(inserted.insertions,
                                  [&](const Insertion& each) { return each.why.later == first; }),
              !isOnce)
        << print(program);
  }
}

/// What runs only if a loop has not been left, and if what leaves it is so, never runs.
TEST(Cases, BranchesThatAskForAnExitAndMore) {
  using enum Comparison;
  for (const bool asksMore : {false, true})
    for (const Comparison kind : {Less, GreaterOrEqual}) {
      Program program;
      const unsigned left = program.variables++;
      Node* loop = addLoop(program, nullptr, kN);
      Node* exit = program.add(loop->body, loop, NodeKind::If);
      exit->conditions = {{Less, -2, {{loop->id, 1}}}};
      for (const int value : {1, 0}) {
        Node* assign = program.add(value ? exit->body : exit->otherwise, exit, NodeKind::Assign);
        assign->variable = left;
        assign->value = value;
      }
      Node* rest = program.add(loop->body, loop, NodeKind::If);
      rest->variable = left;
      rest->isBoth = true;
      rest->asksMore = asksMore;
      rest->conditions = {{kind, -2, {{loop->id, 1}}}};
      addStatement(program, rest, Pipe::MTE2, {accessAt(true, 0)});
      addStatement(program, nullptr, Pipe::V, {accessAt(false, 0)});
      EXPECT_EQ(withFlags(program).find("wait") != std::string::npos, kind == GreaterOrEqual);
    }
}

/// What two turns do is in order by what the turn between them does, which takes the other branch.
TEST(Cases, BranchesThatTakeTurns) {
  for (const int64_t turns : {2, 3}) {
    Program program;
    Node* loop = addLoop(program, nullptr, kN);
    Node* last = nullptr;
    for (const int64_t rest : {int64_t{0}, turns - 1}) {
      Node* branch = program.add(loop->body, loop, NodeKind::If);
      branch->conditions = {{Comparison::Equal, -rest, {{loop->id, 1, turns}}}};
      if (rest == 0) {
        last = addStatement(program, branch, Pipe::MTE2, {accessAt(true, 0)});
        continue;
      }
      Sync& barrier = program.add(branch->body, branch, NodeKind::Sync)->sync;
      barrier.kind = SyncKind::Barrier;
      barrier.queue = {Agent::Vector, Pipe::MTE2};
    }
    const std::string text = withFlags(program);
    EXPECT_TRUE(last->before.empty()) << text;
  }
}

/// In each run what is put in suffices; in some programs it is less than if branches were not tied.
TEST(Cases, RandomExitsThatBranchesDecide) {
  unsigned tied = 0, fewer = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Program untied = std::move(ProgramOfValues(seed, /*hasExits=*/true).program);
    Program program = std::move(ProgramOfValues(seed, /*hasExits=*/true).program);
    settleBranches(program);
    if (std::ranges::all_of(program.nodes, [](const Node& node) { return node.notes == kNone; }))
      continue;
    ++tied;
    const Conflicts conflicts(program);
    const Inserted inserted = insertFlags(program, conflicts, {});
    ASSERT_TRUE(inserted.failures.empty());
    ASSERT_TRUE(checkIterations(program, conflicts).isClean()) << seed << "\n" << print(program);
    ASSERT_FALSE(isAnyRunWrong(program, kNone, 7)) << seed << "\n" << print(program);
    fewer +=
        inserted.insertions.size() < insertFlags(untied, Conflicts(untied), {}).insertions.size();
  }
  EXPECT_GT(tied, 50U);
  EXPECT_GT(fewer, 0U);
}

/// Which run leaves two statements unordered, or what is too large to tell.
TEST(Cases, FindingsNameTheirCase) {
  // A barrier in the second loop orders them, but not where that has no turn.
  const auto make = [](Program& program, unsigned second, int64_t barriers) {
    addStatement(program, addLoop(program, nullptr, kN), Pipe::MTE2, {accessAt(true, 0)});
    Node* loop = addLoop(program, nullptr, second);
    for (int64_t i = 0; i < barriers; ++i) {
      Sync& barrier = program.add(loop->body, loop, NodeKind::Sync)->sync;
      barrier.kind = SyncKind::Barrier;
      barrier.queue = {Agent::Vector, Pipe::MTE2};
    }
    return addStatement(program, nullptr, Pipe::MTE2, {accessAt(true, 0)});
  };
  const auto findingOf = [&](unsigned second, int64_t barriers) {
    Program program;
    const Node* last = make(program, second, barriers);
    const Verdict verdict = checkIterations(program, Conflicts(program));
    for (const auto& [pair, finding] : verdict.findings)
      if (pair.second == last)
        return std::optional(finding);
    return std::optional<Finding>();
  };
  EXPECT_FALSE(findingOf(kN, 1));
  const std::optional<Finding> shown = findingOf(kM, 1);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->values.at(kM).high, 0);
  EXPECT_GE(shown->values.at(kN).low, 1);
  const std::optional<Finding> large = findingOf(kN, 2 * int64_t{kMostUnrolled});
  ASSERT_TRUE(large);
  EXPECT_EQ(large->kind, Finding::Kind::Statements);
  EXPECT_TRUE(large->values.contains(kN));
}

TEST(Cases, RandomPrograms) {
  const char* wanted = std::getenv("TILEWRIGHT_SYNC_CASES");
  const unsigned count = wanted ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 60;
  unsigned insertions = 0, unneeded = 0;
  for (unsigned seed = 0; seed < count; ++seed) {
    Program program = std::move(ProgramOfValues(seed).program);
    const Conflicts conflicts(program);
    const Inserted inserted = insertFlags(program, conflicts, {});
    ASSERT_TRUE(inserted.failures.empty());
    ASSERT_TRUE(checkIterations(program, conflicts).isClean()) << seed << "\n" << print(program);
    ASSERT_FALSE(isAnyRunWrong(program, kNone, 7)) << seed << "\n" << print(program);
    for (const Insertion& each : inserted.insertions) {
      ++insertions;
      unneeded += !isAnyRunWrong(program, each.number, 7);
    }
  }
  EXPECT_GT(2 * insertions, 5 * count);
  EXPECT_LE(50 * unneeded, insertions) << unneeded << " are not needed";
}

} // namespace
} // namespace tilewright::ascend::model
