// SPDX-License-Identifier: Apache-2.0
/// Programs for the tests of the analysis: random ones, and by hand.
#pragma once

#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/insert_flags.h"
#include "compiler/targets/ascend/analysis/replay.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

namespace tilewright::ascend::model::testing {

/// What random programs may hold.
struct Mix {
  bool cube = false, vector = true;
  bool branches = true;
  bool userFlags = false;
  /// Offsets that grow with a loop (not only modulo something).
  bool linear = true;
  /// Statements that do nothing in some iterations.
  bool idle = false;
  /// Offsets that several loops choose together.
  bool sums = false;
  /// Branches that ask for the number of an iteration.
  bool asks = false;
  /// Offsets in which values that never change have a part.
  bool values = false;
  /// Loops that are left early: the iterations behind that do nothing.
  bool exits = false;
  /// Loops of unknown length that have a turn if one before them has.
  bool ties = false;
  /// Loops that ask for a variable which their turns count.
  bool counters = false;
  /// Loops of unknown length that make a few turns at most.
  bool bounds = false;
  /// Variables that say which part of the memory is meant, and go round.
  bool parts = false;
  /// Offsets that come again after many turns of one loop.
  bool turns = false;
  /// Most of it is one long loop.
  bool isLong = false;
};

/// Enough for numbers that come again after many turns.
constexpr int64_t kLongWithTurns = 30;

/// That random programs have.
constexpr unsigned kFirstValue = 1U << 24, kSecondValue = kFirstValue + 1,
                   kFirstVariable = 1U << 28;

class RandomProgram {
public:
  RandomProgram(unsigned seed, Mix mix) : mix(mix), random(seed) {
    if (mix.parts)
      addParts();
    if (mix.isLong)
      fillLong();
    else if (mix.turns)
      fillTurns();
    else
      fill(program.body, nullptr, 0, below(3) + 2);
    if (mix.userFlags)
      addUserFlags();
  }
  Program program;

private:
  int64_t below(int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
  }
  bool chance(int percent) {
    return below(100) < percent;
  }

  void addParts() {
    slots = 2 + below(3);
    for (const unsigned variable : {0U, 1U})
      program.toldApart[variable] = static_cast<int>(slots + 1);
    program.variables = 2;
    assign(program.body, nullptr, 0, static_cast<int>(below(2)));
    assign(program.body, nullptr, 1, 0);
  }

  /// Each of the ways in which kernels write it: to the next number, with the last one's way back before or behind it.
  void goRound(Block& block, Node* parent) {
    const auto variable = static_cast<unsigned>(below(4) == 0);
    const auto add = [&] {
      Node* node = program.add(block, parent, NodeKind::Assign);
      node->variable = variable;
      return node;
    };
    const auto goBack = [&] {
      Node* branch = addIfOn(block, parent, variable, Comparison::Equal, static_cast<int>(slots));
      assign(branch->body, branch, variable, 0);
    };
    const int64_t kind = below(8);
    if (kind == 0)
      return assign(block, parent, variable,
                    static_cast<int>(below(chance(10) ? slots + 4 : slots)));
    if (kind == 1) { // what the other one holds
      Node* node = add();
      node->source = 1 - variable;
      for (int number = 0; number <= slots; ++number)
        node->becomes.push_back(number);
      node->becomes.push_back(kNoValue);
      return;
    }
    if (kind == 2)
      goBack();
    Node* node = add();
    node->isStep = kind < 6;
    node->value = 1;
    for (int number = 0; number <= slots; ++number)
      node->becomes.push_back(node->isStep ? number + 1 : static_cast<int>((number + 1) % slots));
    node->becomes.push_back(node->isStep ? static_cast<int>(slots + 1) : kNoValue);
    if (node->isStep && kind > 2)
      goBack();
  }

  void fillLong() {
    addStatement(program.body, nullptr);
    Node* around = nullptr;
    if (chance(50))
      around = program.add(program.body, nullptr, chance(50) ? NodeKind::Loop : NodeKind::If);
    Block& block = !around                                      ? program.body
                   : around->kind == NodeKind::If && chance(50) ? around->otherwise
                                                                : around->body;
    addStatement(block, around);
    Node* loop = program.add(block, around, NodeKind::Loop);
    loop->trips = chance(50) ? -1 : 2 + below(4);
    fill(loop->body, loop, 2, 24 + below(4));
    addStatement(block, around);
    addStatement(program.body, nullptr);
  }

  /// Too many to be written out.
  void fillTurns() {
    Node* loop = program.add(program.body, nullptr, NodeKind::Loop);
    loop->trips = chance(50) ? -1 : 2 * kLongWithTurns + below(kLongWithTurns);
    fill(loop->body, loop, 2, 4 + below(4));
  }

  void fill(Block& block, Node* parent, unsigned depth, int64_t count) {
    unsigned noted = kNone; // by a loop before
    for (int64_t i = 0; i < count; ++i) {
      const int64_t kind = below(10);
      if (depth < 3 && kind < 2 && !mix.turns && program.nodes.size() < 14) {
        Node* loop = program.add(block, parent, NodeKind::Loop);
        loop->trips = !mix.idle && !mix.sums && chance(50) ? -1 : below(mix.sums ? 4 : 6);
        if (mix.exits && chance(60))
          fillWithExit(*loop, block, parent, depth);
        else if (mix.counters && loop->trips < 0 && chance(70))
          fillCounted(*loop, block, parent, depth);
        else
          fill(loop->body, loop, depth + 1, below(3) + 1);
        if (mix.ties && loop->trips < 0 && loop->goesOn.empty())
          tie(*loop, noted);
        if (mix.bounds && loop->trips < 0 && chance(70))
          loop->mostTrips = 1 + below(4);
      } else if (mix.branches && depth < 3 && kind < 3) {
        Node* branch = program.add(block, parent, NodeKind::If);
        if (mix.asks)
          ask(*branch);
        fill(branch->body, branch, depth + 1, below(2) + 1);
        if (chance(40))
          fill(branch->otherwise, branch, depth + 1, 1);
      } else {
        addStatement(block, parent);
      }
      if (mix.parts && depth > 0 && chance(60))
        goRound(block, parent);
    }
  }

  void assign(Block& block, Node* parent, unsigned variable, int value) {
    Node* node = program.add(block, parent, NodeKind::Assign);
    node->variable = variable;
    node->value = value;
  }

  /// Of what is left of an iteration; another value ends only that.
  Node* addIfOn(Block& block, Node* parent, unsigned variable, Comparison compares, int value) {
    Node* branch = program.add(block, parent, NodeKind::If);
    branch->variable = variable;
    branch->compares = compares;
    branch->value = value;
    return branch;
  }

  void fillWithExit(Node& loop, Block& around, Node* parent, unsigned depth) {
    constexpr int goesOn = 0, isNext = 1, isLeft = 2;
    const unsigned variable = program.variables++;
    if (loop.trips < 0 && chance(30)) // nothing else ends it
      loop.goesOn = {{variable, Comparison::NotEqual, isLeft}};
    // Stands before the loop.
    around.pop_back();
    assign(around, parent, variable, goesOn);
    around.push_back(&loop);
    Node* runs = addIfOn(loop.body, &loop, variable, Comparison::NotEqual, isLeft);
    assign(runs->body, runs, variable, goesOn);
    fill(runs->body, runs, depth + 1, below(3));
    Node* exit = program.add(runs->body, runs, NodeKind::If);
    if (chance(50))
      fill(exit->body, exit, depth + 2, 1);
    assign(exit->body, exit, variable, !loop.goesOn.empty() || chance(75) ? isLeft : isNext);
    Node* rest = addIfOn(runs->body, runs, variable, Comparison::Equal, goesOn);
    fill(rest->body, rest, depth + 1, below(2) + 1);
    loop.forgets.push_back(variable);
  }

  /// Up or down; there are runs in which it ends.
  void fillCounted(Node& loop, Block& around, Node* parent, unsigned depth) {
    using enum Comparison;
    const unsigned variable = program.variables++;
    const bool isUp = chance(70);
    const Comparison kinds[] = {isUp ? Less : Greater, isUp ? LessOrEqual : GreaterOrEqual, Equal,
                                NotEqual};
    loop.asksMore = chance(60);
    loop.goesOn = {{variable, kinds[below(loop.asksMore ? 4 : 3)], static_cast<int>(below(2))}};
    around.pop_back();
    assign(around, parent, variable, static_cast<int>(below(isUp ? 3 : 2)));
    around.push_back(&loop);
    const auto count = [&] {
      assign(loop.body, &loop, variable, isUp ? 1 : -1);
      program.nodes.back().isStep = true;
    };
    const bool isFirst = chance(50);
    if (isFirst)
      count();
    fill(loop.body, &loop, depth + 1, below(3) + 1);
    if (!isFirst)
      count();
    if (chance(30))
      loop.forgets.push_back(variable);
  }

  void tie(Node& loop, unsigned& noted) {
    if (noted != kNone && chance(70))
      loop.goesBy = noted;
    else if (noted == kNone)
      noted = loop.notes = program.variables++;
  }

  void ask(Node& branch) {
    const std::vector<const Node*> loops = loopsAround(&branch);
    if (loops.empty())
      return;
    for (int64_t i = 0; i <= below(4) / 3; ++i) {
      const Node* loop = loops[static_cast<size_t>(below(std::ssize(loops)))];
      Condition condition{static_cast<Comparison>(below(6)), below(9) - 4, {}};
      const Term term{loop->id, chance(50) ? 1 : -1};
      if (loop->trips < 0 && loop->goesOn.empty() && chance(50))
        condition.left.push_back(term);
      else if (chance(20))
        condition = {Comparison::Equal, 0, {{loop->id, 1, 2, below(2)}}};
      else
        condition.terms.push_back(term);
      branch.conditions.push_back(condition);
    }
  }

  void addStatement(Block& block, Node* parent) {
    Node* node = program.add(block, parent, NodeKind::Statement);
    const bool cube = mix.cube && (!mix.vector || chance(50));
    constexpr Pipe vectorPipes[] = {Pipe::V, Pipe::V, Pipe::MTE2, Pipe::MTE3, Pipe::S};
    constexpr Pipe cubePipes[] = {Pipe::M, Pipe::MTE1, Pipe::MTE2, Pipe::FIX};
    node->queue.agent = cube ? Agent::Cube : Agent::Vector;
    node->queue.pipe = cube ? cubePipes[below(4)] : vectorPipes[below(5)];
    const int64_t reads = below(2), writes = reads ? below(2) : 1;
    for (int64_t i = 0; i < reads; ++i)
      node->accesses.push_back(access(node, false));
    for (int64_t i = 0; i < writes; ++i)
      node->accesses.push_back(access(node, true));
    if (mix.cube && mix.vector && chance(60)) {
      Access global = access(node, chance(50));
      global.memory = 9;
      global.isGlobal = true;
      node->accesses.push_back(global);
    }
    if (node->queue.pipe == Pipe::V && chance(20)) {
      node->accesses.back().isBehindBarrier = true;
      if (node->accesses.size() > 1 && chance(50))
        node->accesses.front().isDoneAtBarrier = true;
    }
    const std::vector<const Node*> loops = loopsAround(node);
    if (mix.idle && !loops.empty() && chance(60))
      node->conditions.push_back({Comparison::Greater,
                                  below(5) - 2,
                                  {{loops.back()->id, chance(50) ? 1 : -1}},
                                  chance(30) ? 1 : 0});
  }

  Access access(const Node* node, bool isWrite) {
    Access result;
    result.memory = node->queue.agent == Agent::Cube ? 1 : 0;
    result.begin = 32 * below(4);
    result.end = result.begin + 32 * (1 + below(2));
    result.isWrite = isWrite;
    if (chance(15)) {
      result.rows = 2;
      result.pitch = 64;
      result.end = result.begin + 32;
    }
    for (const Node* loop : loopsAround(node)) {
      constexpr int64_t moduli[] = {2, 3, 5, 7, 8, 11, 13};
      if (mix.turns && chance(70))
        result.terms.push_back({loop->id, 32, moduli[below(7)], below(3)});
      else if (chance(25))
        result.terms.push_back(
            {loop->id, 32 * (1 + below(2)), !mix.linear || chance(60) ? 2 : 0, below(2)});
    }
    if (const std::vector<const Node*> loops = loopsAround(node);
        mix.sums && loops.size() > 1 && chance(60))
      result.terms.push_back({loops[0]->id, 32, 2 + below(2), below(2), {loops.back()->id}});
    if (mix.parts && chance(60)) {
      const auto variable = static_cast<unsigned>(below(4) == 0);
      Term term{kFirstVariable + variable, 32, slots + 1};
      term.variable = variable;
      result.begin = 32 * below(2);
      result.end = result.begin + 32;
      result.terms.push_back(term);
    }
    if (mix.values && chance(60))
      result.terms.push_back(termOfValues(node));
    return result;
  }

  /// A remainder of values, most often of one, and, most often, of loops' numbers.
  Term termOfValues(const Node* node) {
    const std::vector<const Node*> loops = loopsAround(node);
    const int64_t modulus = 2 + below(2);
    Term term{kNone, chance(50) ? 32 : -32, modulus, below(modulus), {}, {}, {kFirstValue}};
    if (!loops.empty() && chance(70))
      term.loop = loops.back()->id;
    if (term.loop != kNone && chance(30))
      term.others = {loops.front()->id};
    if (chance(20))
      term.values.push_back(chance(50) ? kFirstValue : kSecondValue);
    return term;
  }

  void addUserFlags() {
    // Somewhere, in pairs that may or may not match.
    std::vector<Node*> statements;
    statements.reserve(program.nodes.size());
    for (Node& node : program.nodes)
      statements.push_back(&node);
    for (int64_t i = below(5); i > 0; --i) {
      Node* first = statements[static_cast<size_t>(below(std::ssize(statements)))];
      Node* second =
          chance(60) ? first : statements[static_cast<size_t>(below(std::ssize(statements)))];
      constexpr Pipe pipes[] = {Pipe::V, Pipe::MTE2, Pipe::MTE3, Pipe::S};
      const Queue from{Agent::Vector, pipes[below(4)]}, to{Agent::Vector, pipes[below(4)]};
      Sync sync;
      if (from == to) {
        sync.kind = chance(80) ? SyncKind::Barrier : SyncKind::BarrierAll;
        sync.queue = from;
        if (from.pipe != Pipe::S || sync.kind == SyncKind::BarrierAll)
          first->before.push_back(sync);
        continue;
      }
      sync.flag = program.addFlag(from, to, static_cast<unsigned>(i));
      sync.kind = SyncKind::Set;
      sync.queue = from;
      first->before.push_back(sync);
      sync.kind = SyncKind::Wait;
      sync.queue = to;
      (chance(50) ? second->after : second->before).push_back(sync);
    }
  }

  Mix mix;
  int64_t slots = 0; ///< that variables go round
  std::mt19937 random;
};

/// Some runs of the program; stops at the first that `stop` accepts.
template <typename Stop>
bool anyRun(const Program& program, unsigned without, unsigned runs, Stop stop,
            int64_t longest = 4) {
  for (unsigned run = 0; run < runs; ++run) {
    std::mt19937 random(run);
    const auto choose = [&](const Node& node) -> int64_t {
      const int64_t end = node.kind == NodeKind::If ? 2 : run % 2 ? longest + 1 : 3;
      return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
    };
    const std::map<unsigned, int64_t> values = {{kFirstValue, int64_t{run / 2} % 6 - 1},
                                                {kSecondValue, int64_t{run / 12} % 6}};
    if (stop(Replay(program, choose, without, values)))
      return true;
  }
  return false;
}

#ifndef TILEWRIGHT_SYNC_CASES
#define TILEWRIGHT_SYNC_CASES 400
#endif

inline unsigned cases() {
  const char* wanted = std::getenv("TILEWRIGHT_SYNC_CASES"); // a million takes an hour
  return wanted ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : TILEWRIGHT_SYNC_CASES;
}

constexpr unsigned kRuns = 24;

/// Enough for all iterations that branches on their numbers tell apart.
constexpr int64_t kLongWithAsks = 11;

struct Counts {
  unsigned insertions = 0, unneeded = 0;
};

/// Counts the insertions that no run needs.
inline void insertAndTry(unsigned seed, Mix mix, InsertOptions options, Counts& counts) {
  RandomProgram made(seed, mix);
  Program& program = made.program;
  const Conflicts conflicts(program);
  const Inserted inserted = insertFlags(program, conflicts, options);
  ASSERT_TRUE(inserted.failures.empty()) << print(program) << inserted.failures[0].reason;
  const Verdict verdict = checkIterations(program, conflicts);
  ASSERT_TRUE(verdict.isClean()) << seed << "\n" << print(program);
  const auto isAnyWrong = [&](unsigned without, unsigned runs) {
    return anyRun(
        program, without, runs, [](const Replay& run) { return !run.isClean(); },
        mix.turns  ? kLongWithTurns
        : mix.asks ? kLongWithAsks
                   : 4);
  };
  ASSERT_FALSE(isAnyWrong(kNone, kRuns)) << seed << "\n" << print(program);
  for (const Insertion& each : inserted.insertions) {
    const bool isNeeded = isAnyWrong(each.number, 40 * kRuns);
    ++counts.insertions;
    counts.unneeded += !isNeeded;
    if (!isNeeded && std::getenv("TILEWRIGHT_SHOW_UNNEEDED"))
      printf("%u: insertion %u, from %s to %s, is not needed in\n%s\n", seed, each.number,
             nameOf(each.from).c_str(), nameOf(each.to).c_str(), print(program).c_str());
  }
}

/// Statements by hand.
struct ByHand {
  Program program;
  Node* statement(Node* parent, Pipe pipe, std::vector<Access> accesses,
                  Agent agent = Agent::Vector) {
    Node* node = program.add(parent ? parent->body : program.body, parent, NodeKind::Statement);
    node->queue = {agent, pipe};
    node->accesses = std::move(accesses);
    return node;
  }
  Node* loop(Node* parent, int64_t trips = -1) {
    Node* node = program.add(parent ? parent->body : program.body, parent, NodeKind::Loop);
    node->trips = trips;
    return node;
  }
  static Access read(int64_t begin, int64_t end, std::vector<Term> terms = {}) {
    Access access;
    access.begin = begin;
    access.end = end;
    access.terms = std::move(terms);
    return access;
  }
  static Access write(int64_t begin, int64_t end, std::vector<Term> terms = {}) {
    Access access = read(begin, end, std::move(terms));
    access.isWrite = true;
    return access;
  }
  std::string insert(InsertOptions options = {}) {
    const Conflicts conflicts(program);
    const Inserted inserted = insertFlags(program, conflicts, options);
    EXPECT_TRUE(inserted.failures.empty());
    EXPECT_TRUE(checkIterations(program, conflicts).isClean());
    return print(program);
  }
};

} // namespace tilewright::ascend::model::testing
