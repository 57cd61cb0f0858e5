// SPDX-License-Identifier: Apache-2.0
// Random programs: what the analysis says is held against the replay of unrolled programs.
#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/insert_flags.h"
#include "compiler/targets/ascend/analysis/path_state.h"
#include "compiler/targets/ascend/analysis/random_programs.h"

#include <ctime>
#include <gtest/gtest.h>
#include <random>

namespace tilewright::ascend::model {
namespace {

using namespace testing;

/// The analysis takes all iterations as one, and all paths to a point. So where an offset moves away
/// from what stood before the loop, or where each branch orders something by other means, an
/// insertion may be for nothing: less than one in two hundred, and else less than one in a thousand.
void insertIntoAll(Mix mix, InsertOptions options) {
  for (const unsigned variant : {0, 1, 2}) {
    Counts counts;
    mix.linear = variant == 1;
    mix.branches = variant == 2;
    for (unsigned seed = 0; seed < cases(); ++seed) {
      insertAndTry(seed, mix, options, counts);
      if (::testing::Test::HasFatalFailure())
        return;
    }
    EXPECT_GT(counts.insertions, cases());
    EXPECT_LE((variant == 0 ? 1000 : 200) * counts.unneeded, counts.insertions)
        << counts.unneeded << " are not needed";
  }
}

TEST(InsertFlags, RandomVectorPrograms) {
  insertIntoAll({}, {});
}

TEST(InsertFlags, RandomCubePrograms) {
  insertIntoAll({.cube = true, .vector = false}, {});
}

TEST(InsertFlags, RandomMixedPrograms) {
  InsertOptions options;
  options.betweenAgents = true;
  insertIntoAll({.cube = true}, options);
}

/// Statements that do nothing in some iterations.
TEST(InsertFlags, RandomIdlePrograms) {
  Counts counts;
  for (unsigned seed = 0; seed < cases() / 10; ++seed) {
    insertAndTry(seed, {.linear = false, .idle = true}, {}, counts);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(counts.insertions, cases() / 10);
  EXPECT_LE(200 * counts.unneeded, counts.insertions) << counts.unneeded << " are not needed";
}

/// Slots that several loops choose together.
TEST(InsertFlags, RandomSumsOfLoops) {
  Counts counts;
  for (unsigned seed = 0; seed < cases() / 2; ++seed) {
    insertAndTry(seed, {.branches = false, .sums = true}, {}, counts);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(counts.insertions, cases() / 2);
  EXPECT_EQ(counts.unneeded, 0U) << "of " << counts.insertions;
}

/// Slots that arguments have a part in.
TEST(InsertFlags, RandomSumsWithValues) {
  Counts counts;
  for (unsigned seed = 0; seed < cases() / 2; ++seed) {
    insertAndTry(seed, {.branches = false, .linear = seed % 2 == 0, .values = true}, {}, counts);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(counts.insertions, cases() / 2);
  EXPECT_LE(1000 * counts.unneeded, counts.insertions) << counts.unneeded << " are not needed";
}

/// Two halves in turn, of which an argument says which one is first: what is written there, and in the same turn read from
/// the same or the other one, or from any of a loop of one turn.
TEST(InsertFlags, HalvesInTurnFromAnArgument) {
  const auto isOrdered = [](int64_t trips, int64_t begin, int64_t bytes, int64_t shift) {
    ByHand hand;
    Node* loop = hand.loop(nullptr, trips);
    const auto half = [&](int64_t bytes, int64_t shift) {
      return std::vector{Term{loop->id, bytes, 2, shift, {}, {}, {kFirstValue}}};
    };
    hand.statement(loop, Pipe::V, {ByHand::write(0, 32, half(32, 0))});
    hand.statement(loop, Pipe::V, {ByHand::read(begin, begin + 32, half(bytes, shift))});
    return hand.insert().find("barrier") != std::string::npos;
  };
  EXPECT_TRUE(isOrdered(1, 0, 32, 0));
  EXPECT_FALSE(isOrdered(1, 0, 32, 1));
  EXPECT_TRUE(isOrdered(-1, 0, 32, 1)); // in the next turn
  EXPECT_FALSE(isOrdered(1, 32, -32, 0));
  EXPECT_TRUE(isOrdered(1, 32, -32, 1));
  EXPECT_FALSE(isOrdered(2, 64, 32, 0));
}

/// A loop of so many turns at most fills one of two buffers in turn, and an outer turn reads the other one.
TEST(InsertFlags, LoopsOfAFewTurnsAtMost) {
  const auto takesTurns = [](int64_t most, int64_t steps) {
    ByHand hand;
    Node* outer = hand.loop(nullptr);
    Node* inner = hand.loop(outer);
    inner->mostTrips = most;
    const Term turn{outer->id, 128, 2};
    hand.statement(inner, Pipe::MTE2, {ByHand::write(0, 32, {turn, {inner->id, steps * 32}})});
    hand.statement(outer, Pipe::MTE3, {ByHand::read(0, 128, {turn})});
    return hand.insert().find("wait vector.MTE3 to vector.MTE2 0 + 1 * loop0 % 2") !=
           std::string::npos;
  };
  EXPECT_TRUE(takesTurns(4, 1));
  EXPECT_TRUE(takesTurns(2, 3));
  EXPECT_FALSE(takesTurns(5, 1));
  EXPECT_FALSE(takesTurns(3, 3));
  EXPECT_FALSE(takesTurns(-1, 1));
}

/// Branches on the number of an iteration, in loops of known and of unknown length.
TEST(InsertFlags, RandomQuestions) {
  Counts counts;
  for (unsigned seed = 0; seed < cases(); ++seed) {
    insertAndTry(seed, {.linear = seed % 2 == 0, .asks = true}, {}, counts);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(counts.insertions, cases());
  EXPECT_LE(200 * counts.unneeded, counts.insertions) << counts.unneeded << " are not needed";
}

/// Loops that are left early, and iterations that end early.
TEST(InsertFlags, RandomExits) {
  Counts counts;
  for (unsigned seed = 0; seed < cases(); ++seed) {
    insertAndTry(seed, {.branches = seed % 2 == 0, .linear = false, .exits = true}, {}, counts);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(counts.insertions, cases());
  EXPECT_LE(200 * counts.unneeded, counts.insertions) << counts.unneeded << " are not needed";
}

/// Loops that have a turn where one before them has one; some make a few turns at most.
TEST(InsertFlags, RandomTies) {
  Counts counts;
  for (unsigned seed = 0; seed < cases(); ++seed) {
    const Mix mix{.branches = seed % 2 == 0,
                  .linear = false,
                  .exits = seed % 4 == 0,
                  .ties = true,
                  .bounds = seed % 3 == 0};
    insertAndTry(seed, mix, {}, counts);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(counts.insertions, cases());
  EXPECT_LE(200 * counts.unneeded, counts.insertions) << counts.unneeded << " are not needed";
}

/// Loops of which their own counters, alone or beside other things, say that they are over.
TEST(InsertFlags, RandomCounters) {
  Counts counts;
  for (unsigned seed = 0; seed < cases(); ++seed) {
    const Mix mix{.branches = seed % 2 == 0,
                  .linear = false,
                  .exits = seed % 4 == 0,
                  .counters = true,
                  .bounds = seed % 3 == 0};
    insertAndTry(seed, mix, {}, counts);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(counts.insertions, cases());
  EXPECT_LE(200 * counts.unneeded, counts.insertions) << counts.unneeded << " are not needed";
}

/// Ways through branches that set more variables than are followed together: each turn forgets them, and finds some again.
TEST(InsertFlags, VariablesOfTooManyValues) {
  ByHand hand;
  Program& program = hand.program;
  Node* outer = hand.loop(nullptr);
  Node* loop = hand.loop(outer);
  for (program.variables = 0; program.variables < 5; ++program.variables) {
    Node* sets = program.add(loop->body, loop, NodeKind::If);
    Node* assign = program.add(sets->body, sets, NodeKind::Assign);
    assign->variable = program.variables;
    assign->value = 1;
    Node* asks = program.add(outer->body, outer, NodeKind::If);
    asks->variable = program.variables;
    hand.statement(asks, Pipe::V, {ByHand::write(0, 32)});
  }
  EXPECT_NE(hand.insert().find("barrier"), std::string::npos);
}

/// What a turn of a long loop needs is found before what it needs of others.
TEST(InsertFlags, RandomLongLoops) {
  Counts counts;
  for (unsigned seed = 0; seed < cases() / 20; ++seed) {
    insertAndTry(seed, {.branches = seed % 2 == 0, .linear = seed % 3 == 0, .isLong = true}, {},
                 counts);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(counts.insertions, cases() / 5);
  EXPECT_LE(200 * counts.unneeded, counts.insertions) << counts.unneeded << " are not needed";
}

/// Tiles are loaded row by row, if there are any rows, behind a flag; then as many rows are worked on: they wait for what
/// the loads have waited for. Without the tie there may be rows of which none has been loaded.
TEST(InsertFlags, LoopsOfAsManyTurns) {
  for (const bool isTied : {true, false}) {
    ByHand hand;
    hand.statement(nullptr, Pipe::V, {ByHand::write(0, 128)});
    Node* loads = hand.loop(nullptr);
    hand.statement(loads, Pipe::MTE2, {ByHand::write(64, 128)});
    hand.statement(loads, Pipe::V, {ByHand::read(64, 128)});
    Node* work = hand.loop(nullptr);
    hand.statement(work, Pipe::V, {ByHand::read(0, 64)});
    if (isTied) {
      loads->notes = work->goesBy = hand.program.variables++;
      work->forgets.push_back(work->goesBy);
    }
    const std::string text = hand.insert();
    EXPECT_EQ(text.find("barrier") == std::string::npos, isTied) << text;
  }
}

/// A loop asks for an element that its body writes, and ends only where that says so: then the element has been read, so
/// what stores the tile behind the loop waits for nothing. If anything else may end it, it waits.
TEST(InsertFlags, LoopsThatOneVariableEnds) {
  for (const bool endsAlone : {true, false}) {
    ByHand hand;
    Program& program = hand.program;
    const unsigned left = program.variables++;
    const auto assign = [&](Block& block, Node* parent, int value) {
      Node* node = program.add(block, parent, NodeKind::Assign);
      node->variable = left;
      node->value = value;
    };
    Node* outer = hand.loop(nullptr, 4);
    assign(outer->body, outer, 0);
    Node* loop = hand.loop(outer);
    if (endsAlone)
      loop->goesOn = {{left, Comparison::NotEqual, 1}};
    const auto ifGoesOn = [&](Node* parent) {
      Node* branch = program.add(parent->body, parent, NodeKind::If);
      branch->variable = left;
      return branch;
    };
    Node* turn = ifGoesOn(loop);
    hand.statement(turn, Pipe::S, {ByHand::read(0, 4)});
    Node* exit = program.add(turn->body, turn, NodeKind::If);
    assign(exit->body, exit, 1);
    hand.statement(ifGoesOn(turn), Pipe::V, {ByHand::read(0, 64), ByHand::write(0, 64)});
    hand.statement(outer, Pipe::MTE3, {ByHand::read(0, 64)});
    const bool waits = hand.insert().find("vector.V to vector.MTE3") != std::string::npos;
    EXPECT_EQ(waits, !endsAlone) << print(program);
  }
}

TEST(Conditions, OfRanges) {
  using enum Comparison;
  const auto text = [](Comparison kind, int64_t low, int64_t high) {
    const std::optional<bool> found = holds(kind, low, high);
    return found ? *found ? 'y' : 'n' : '?';
  };
  for (const Comparison kind : {Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual})
    for (int64_t low = -3; low <= 3; ++low)
      for (int64_t high = low; high <= 3; ++high) {
        bool some = false, all = true;
        for (int64_t number = low; number <= high; ++number) {
          const bool here = kind == Equal         ? number == 0
                            : kind == NotEqual    ? number != 0
                            : kind == Less        ? number < 0
                            : kind == LessOrEqual ? number <= 0
                            : kind == Greater     ? number > 0
                                                  : number >= 0;
          some = some || here;
          all = all && here;
        }
        EXPECT_EQ(text(kind, low, high), all    ? 'y'
                                         : some ? '?'
                                                : 'n')
            << int(kind) << " " << low << " " << high;
      }
}

/// What the analysis finds clean is clean in every run; what no run finds is found by it only where
/// paths meet.
TEST(Check, AgreesWithTheReplay) {
  unsigned clean = 0, refused = 0;
  for (unsigned seed = 0; seed < 10 * cases(); ++seed) {
    RandomProgram made(seed, {.branches = seed % 2 == 0, .userFlags = true, .asks = seed % 4 == 0});
    const Conflicts conflicts(made.program);
    const bool isClean = check(made.program, conflicts).isClean();
    const bool isRefuted = anyRun(
        made.program, kNone, kRuns, [](const Replay& run) { return !run.isClean(); },
        seed % 4 == 0 ? kLongWithAsks : 4);
    ASSERT_FALSE(isClean && isRefuted) << seed << "\n" << print(made.program);
    clean += isClean;
    refused += !isClean && !isRefuted;
  }
  EXPECT_GT(clean, cases() / 4);
  EXPECT_LE(refused, cases() / 100);
}

/// Both cores' halves of two tiles that lie one behind the other: rows of 0 or 1 times as many.
/// A ring of buffers by hand, in which a table says which one a turn takes; in some programs one of those who ask takes
/// another one.
Program randomRing(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random);
  };
  ByHand hand;
  Node* outer = below(2) ? hand.loop(nullptr, below(2) ? below(4) : -1) : nullptr;
  Node* loop = hand.loop(outer, below(2) ? below(16) : -1);
  const int64_t buffers = 2 + below(3);
  const auto term = [&] {
    Term made{loop->id, 1, std::array{2, 3, 4, 6}[below(4)], below(3)};
    if (outer && below(2))
      made.others = {outer->id};
    for (int64_t rest = 0; rest < made.modulus; ++rest)
      made.table.push_back(below(buffers));
    return made;
  };
  const Term turn = term();
  const int64_t astray = below(2) ? below(7) : -1;
  int64_t asked = 0;
  const auto number = [&] { return asked++ == astray ? term() : turn; };
  const auto buffer = [&] {
    Term place = number();
    place.bytes = 64;
    return std::vector{place};
  };
  Program& program = hand.program;
  const Queue load{Agent::Vector, Pipe::MTE2}, store{Agent::Vector, Pipe::MTE3};
  const unsigned there = 0, back = static_cast<unsigned>(buffers);
  for (unsigned id = 0; id < buffers; ++id)
    program.addFlag(load, store, id);
  for (unsigned id = 0; id < buffers; ++id)
    program.addFlag(store, load, id);
  const auto add = [&](SyncKind kind, unsigned flag, std::vector<Term> turns) {
    Sync& sync = program.add(loop->body, loop, NodeKind::Sync)->sync;
    sync.kind = kind;
    sync.queue = kind == SyncKind::Set ? program.flags[flag].from : program.flags[flag].to;
    sync.flag = flag;
    sync.turns = std::move(turns);
  };
  add(SyncKind::Wait, back, {number()});
  hand.statement(loop, Pipe::MTE2, {ByHand::write(0, 64, buffer())});
  add(SyncKind::Set, there, {number()});
  add(SyncKind::Wait, there, {number()});
  hand.statement(loop, Pipe::MTE3, {ByHand::read(0, 64, buffer())});
  add(SyncKind::Set, back, {number()});
  for (unsigned id = 0; id < buffers; ++id) {
    Sync sync;
    sync.flag = back + id;
    sync.kind = SyncKind::Set;
    sync.queue = store;
    Node* around = outer ? outer : loop;
    around->before.push_back(sync);
    sync.kind = SyncKind::Wait;
    sync.queue = load;
    around->after.push_back(sync);
  }
  return std::move(program);
}

/// What the checker says of flags in turn is what the runs show, of loops of all lengths.
TEST(Check, FlagsInTurn) {
  constexpr int64_t longest = 14;
  const unsigned all = cases() / 4;
  unsigned clean = 0;
  for (unsigned seed = 0; seed < all; ++seed) {
    const Program program = randomRing(seed);
    const std::vector<int64_t> known = periods(program);
    if (std::ranges::any_of(program.nodes,
                            [&](const Node& node) { return !isKnownByPeriods(node.sync, known); }))
      continue; // for the host
    const Verdict verdict = checkIterations(program, Conflicts(program));
    const bool isAnyWrong = anyRun(
        program, kNone, 3 * kRuns, [](const Replay& run) { return !run.isClean(); }, longest);
    ASSERT_EQ(verdict.isClean() && verdict.unproven.empty(), !isAnyWrong) << seed << "\n"
                                                                          << print(program);
    clean += verdict.isClean();
  }
  EXPECT_GT(clean, all / 4);
  EXPECT_LT(clean, 4 * all / 5);
}

TEST(InsertFlags, ValuesOfWhichTheRangeIsKnown) {
  for (const bool isKnown : {true, false}) {
    ByHand hand;
    constexpr unsigned value = 1U << 24;
    hand.statement(nullptr, Pipe::MTE3, {ByHand::write(0, 128, {{value, 128}})});
    hand.statement(nullptr, Pipe::MTE3, {ByHand::write(256, 320, {{value, 64}})});
    if (isKnown)
      hand.program.values[value] = {0, 1};
    EXPECT_EQ(hand.insert().find("barrier") == std::string::npos, isKnown) << print(hand.program);
  }
}

TEST(InsertFlags, LoadComputeStore) {
  ByHand hand;
  Node* loop = hand.loop(nullptr);
  hand.statement(loop, Pipe::MTE2, {ByHand::write(0, 64)});
  hand.statement(loop, Pipe::V, {ByHand::read(0, 64), ByHand::write(64, 128)});
  hand.statement(loop, Pipe::V, {ByHand::read(64, 128), ByHand::write(64, 128)});
  hand.statement(loop, Pipe::MTE3, {ByHand::read(64, 128)});
  EXPECT_EQ(hand.insert(), R"(+ set vector.V to vector.MTE2 0
+ set vector.MTE3 to vector.V 0
0: loop -1
  + wait vector.V to vector.MTE2 0
  1: vector.MTE2 write 0[0, 64)
  + set vector.MTE2 to vector.V 0
  + wait vector.MTE2 to vector.V 0
  + wait vector.MTE3 to vector.V 0
  2: vector.V read 0[0, 64) write 0[64, 128)
  + set vector.V to vector.MTE2 0
  + barrier vector.V
  3: vector.V read 0[64, 128) write 0[64, 128)
  + set vector.V to vector.MTE3 0
  + wait vector.V to vector.MTE3 0
  4: vector.MTE3 read 0[64, 128)
  + set vector.MTE3 to vector.V 0
+ wait vector.V to vector.MTE2 0
+ wait vector.MTE3 to vector.V 0
)");
}

TEST(InsertFlags, StoreOfTheLastIterationOnly) {
  for (const int64_t first : {2, 3}) { // iterations of four that store something
    ByHand hand;
    Node* loop = hand.loop(nullptr, 4);
    hand.statement(loop, Pipe::S, {ByHand::write(0, 64)});
    Node* store = hand.statement(loop, Pipe::MTE3, {ByHand::read(0, 64)});
    store->conditions.push_back({Comparison::Greater, 1 - first, {{loop->id, 1}}});
    const bool waits = hand.insert().find("MTE3 to vector.S") != std::string::npos;
    EXPECT_EQ(waits, first == 2) << print(hand.program);
  }
}

/// Each buffer of a pair has its event, set before the loop and waited for behind it.
TEST(InsertFlags, TwoBuffers) {
  ByHand hand;
  Node* loop = hand.loop(nullptr);
  hand.statement(loop, Pipe::MTE2, {ByHand::write(0, 64, {{0, 64, 2}})});
  hand.statement(loop, Pipe::V, {ByHand::read(0, 64, {{0, 64, 2}})});
  EXPECT_EQ(hand.insert(), R"(+ set vector.V to vector.MTE2 0
+ set vector.V to vector.MTE2 1
0: loop -1
  + wait vector.V to vector.MTE2 0 + 1 * loop0 % 2
  1: vector.MTE2 write 0[0, 64) + 64 * loop0 % 2
  + set vector.MTE2 to vector.V 0 + 1 * loop0 % 2
  + wait vector.MTE2 to vector.V 0 + 1 * loop0 % 2
  2: vector.V read 0[0, 64) + 64 * loop0 % 2
  + set vector.V to vector.MTE2 0 + 1 * loop0 % 2
+ wait vector.V to vector.MTE2 0
+ wait vector.V to vector.MTE2 1
)");
}

/// More than six events between two pipes at once: some are narrowed until six are enough.
TEST(InsertFlags, FewEventIds) {
  ByHand hand;
  for (int64_t i = 0; i < 9; ++i)
    hand.statement(nullptr, Pipe::MTE2, {ByHand::write(64 * i, 64 * i + 64)});
  for (int64_t i = 0; i < 9; ++i)
    hand.statement(nullptr, Pipe::V, {ByHand::read(64 * i, 64 * i + 64)});
  hand.insert();
  unsigned most = 0;
  for (const Flag& flag : hand.program.flags)
    most = std::max(most, flag.id == kNone ? 0 : flag.id);
  EXPECT_EQ(most, 5U);
}

/// Ids that the program itself uses between two pipes are left alone.
TEST(InsertFlags, UsersIds) {
  ByHand hand;
  hand.statement(nullptr, Pipe::MTE2, {ByHand::write(0, 64)});
  Sync sync;
  sync.flag = hand.program.addFlag({Agent::Vector, Pipe::MTE2}, {Agent::Vector, Pipe::V}, 0);
  for (const SyncKind kind : {SyncKind::Set, SyncKind::Wait}) {
    sync.kind = kind;
    sync.queue.pipe = kind == SyncKind::Set ? Pipe::MTE2 : Pipe::V;
    hand.program.add(hand.program.body, nullptr, NodeKind::Sync)->sync = sync;
  }
  hand.statement(nullptr, Pipe::MTE2, {ByHand::write(64, 128)});
  hand.statement(nullptr, Pipe::V, {ByHand::read(0, 128)});
  EXPECT_NE(hand.insert().find("+ set vector.MTE2 to vector.V 1"), std::string::npos);
}

/// All ids taken by the program itself: a barrier of all pipes is left.
TEST(InsertFlags, NoIdLeft) {
  ByHand hand;
  Sync sync;
  for (unsigned id = 0; id < 6; ++id) {
    sync.flag = hand.program.addFlag({Agent::Vector, Pipe::MTE2}, {Agent::Vector, Pipe::V}, id);
    for (const SyncKind kind : {SyncKind::Set, SyncKind::Wait}) {
      sync.kind = kind;
      sync.queue.pipe = kind == SyncKind::Set ? Pipe::MTE2 : Pipe::V;
      hand.program.add(hand.program.body, nullptr, NodeKind::Sync)->sync = sync;
    }
  }
  hand.statement(nullptr, Pipe::MTE2, {ByHand::write(0, 64)});
  hand.statement(nullptr, Pipe::V, {ByHand::read(0, 64)});
  EXPECT_NE(hand.insert().find("+ barrier_all vector"), std::string::npos) << print(hand.program);
}

/// Parts of one statement in a loop of the kernel's own: what was made for it is kept from one turn to the
/// next, all else the kernel orders.
TEST(InsertFlags, PartsOfOneStatement) {
  for (const int64_t trips : {int64_t{-1}, int64_t{3}}) {
    ByHand hand;
    Node* own = hand.loop(nullptr, trips);
    hand.statement(own, Pipe::MTE3, {ByHand::read(64, 128)}); // of another statement
    Node* load = hand.statement(own, Pipe::MTE2, {ByHand::write(0, 64)});
    Node* lines = hand.loop(own, 4);
    Node* add = hand.statement(lines, Pipe::V, {ByHand::read(0, 64), ByHand::write(64, 128)});
    for (Node* part : {load, lines, add})
      part->whole = 7;
    load->accesses.front().isOfPart = add->accesses.front().isOfPart = true;
    const Conflicts conflicts(hand.program);
    InsertOptions options;
    options.withinAgents = false;
    options.ofParts = true;
    EXPECT_TRUE(insertFlags(hand.program, conflicts, options).failures.empty());
    const std::string text = print(hand.program);
    for (const char* needed :
         {"set vector.V to vector.MTE2", "set vector.MTE2 to vector.V", "barrier vector.V"})
      EXPECT_NE(text.find(needed), std::string::npos) << needed << "\n" << text;
    EXPECT_EQ(text.find("vector.MTE3 to"), std::string::npos) << text;
    EXPECT_EQ(text.find("to vector.MTE3"), std::string::npos) << text;
    for (const Hazard& hazard : check(hand.program, conflicts).hazards)
      EXPECT_TRUE(hazard.earlier->whole == kNone || hazard.later->whole == kNone) << text;
  }
}

/// The scalar unit of a cube core has no event to FIX.
TEST(InsertFlags, NoEvent) {
  ByHand hand;
  Access global = ByHand::write(0, 64);
  global.isGlobal = true;
  hand.statement(nullptr, Pipe::S, {global}, Agent::Cube);
  hand.statement(nullptr, Pipe::FIX, {global}, Agent::Cube);
  EXPECT_NE(hand.insert().find("+ barrier_all cube"), std::string::npos) << print(hand.program);
}

/// Between cores there is nothing else.
TEST(InsertFlags, NoCrossCoreFlagLeft) {
  ByHand hand;
  Node* loop = hand.loop(nullptr);
  InsertOptions options;
  options.betweenAgents = true;
  options.endCross = 0;
  Access global = ByHand::write(0, 64);
  global.isGlobal = true;
  hand.statement(loop, Pipe::FIX, {global}, Agent::Cube);
  global.isWrite = false;
  hand.statement(loop, Pipe::MTE2, {global});
  const Conflicts conflicts(hand.program);
  const Inserted inserted = insertFlags(hand.program, conflicts, options);
  ASSERT_FALSE(inserted.failures.empty());
  EXPECT_EQ(inserted.failures[0].reason, "all cross-core flags are taken");
}

/// A flag back in an inner loop, which an outer one carries: an inner loop of no turn sets nothing.
TEST(InsertFlags, InnerLoopsBetweenCores) {
  ByHand hand;
  Node* inner = hand.loop(hand.loop(nullptr));
  Access global = ByHand::write(0, 64, {{inner->id, 64}});
  global.isGlobal = true;
  hand.statement(inner, Pipe::FIX, {global}, Agent::Cube);
  global.isWrite = false;
  hand.statement(inner, Pipe::MTE2, {global});
  InsertOptions options;
  options.betweenAgents = true;
  EXPECT_EQ(hand.insert(options), R"(+ set vector.MTE2 to cube.S 0
0: loop -1
  1: loop -1
    + wait vector.MTE2 to cube.S 0
    2: cube.FIX write 0[0, 64) + 64 * loop1
    + set cube.FIX to vector.S 1
    + wait cube.FIX to vector.S 1
    3: vector.MTE2 read 0[0, 64) + 64 * loop1
    + set vector.MTE2 to cube.S 0
+ wait vector.MTE2 to cube.S 0
)");
}

/// A branch of one vector core alone, or of their own text, or that one kind alone can ask: all set a flag behind it, or none.
TEST(InsertFlags, BranchesOfSomeCores) {
  for (const int form : {0, 1, 2, 3}) {
    ByHand hand;
    Node* branch = hand.program.add(hand.program.body, nullptr, NodeKind::If);
    branch->isOfSomeCores = form < 2, branch->isOfOneKind = form == 3;
    branch->side = form == 2 ? std::optional(Agent::Vector) : std::nullopt;
    Access global = ByHand::write(0, 64);
    global.isGlobal = true;
    hand.statement(branch, Pipe::MTE3, {global});
    global.isWrite = false;
    hand.statement(form == 1 ? branch : nullptr, Pipe::MTE2, {global}, Agent::Cube);
    const InsertOptions options{.betweenAgents = true};
    const Inserted inserted = insertFlags(hand.program, Conflicts(hand.program), options);
    EXPECT_EQ(inserted.failures.size(), form == 1 ? 1U : 0U);
    EXPECT_EQ(branch->after.size(), form == 1 ? 0U : 1U);
  }
}

/// A chain in one pipe over two buffers, in a loop: almost all pairs of statements are hazards at first, but
/// the time to find the barriers doesn't grow with their number (it was minutes here).
TEST(InsertFlags, LongBodies) {
  constexpr int64_t length = 360;
  ByHand hand;
  Node* loop = hand.loop(nullptr);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t from = i % 2 * 64, to = 64 - from;
    hand.statement(loop, Pipe::V, {ByHand::read(from, from + 64), ByHand::write(to, to + 64)});
  }
  const std::clock_t start = std::clock();
  const Conflicts conflicts(hand.program);
  const Inserted inserted = insertFlags(hand.program, conflicts, {});
  const std::clock_t end = std::clock();
  EXPECT_EQ(inserted.insertions.size(), length);
  EXPECT_TRUE(check(hand.program, conflicts).isClean());
  EXPECT_LT(static_cast<double>(end - start) / CLOCKS_PER_SEC, 10) << "seconds of the CPU";
}

/// The same without a barrier, in a loop and without one: each pair of statements is a hazard, and no proof is made
/// of so many (13 seconds for 1500 statements).
TEST(Check, LongBodiesWithoutFlags) {
  constexpr int64_t length = 1000;
  for (const bool isInLoop : {false, true}) {
    ByHand hand;
    Node* loop = isInLoop ? hand.loop(nullptr) : nullptr;
    for (int64_t i = 0; i < length; ++i)
      hand.statement(loop, Pipe::V, {ByHand::read(0, 64), ByHand::write(0, 64)});
    const std::clock_t start = std::clock();
    const Verdict verdict = checkIterations(hand.program, Conflicts(hand.program));
    const std::clock_t end = std::clock();
    constexpr size_t pairs = length * (length - 1) / 2;
    EXPECT_EQ(verdict.hazards.size(), isInLoop ? pairs + length * length : pairs);
    EXPECT_LT(static_cast<double>(end - start) / CLOCKS_PER_SEC, 3) << "seconds of the CPU";
  }
}

/// Loads, sums and stores over eight buffers: nearly each pair of neighbours needs an event, half of them
/// from one iteration to the next. What is not set costs nothing (this took 14 times as long).
TEST(InsertFlags, LongBodiesOfFlags) {
  constexpr int64_t length = 400;
  ByHand hand;
  Node* loop = hand.loop(nullptr);
  for (int64_t i = 0; i < length / 3; ++i) {
    const int64_t tile = i % 8 * 64, sum = (i + 3) % 8 * 64;
    hand.statement(loop, Pipe::MTE2, {ByHand::write(tile, tile + 64)});
    hand.statement(
        loop, Pipe::V,
        {ByHand::read(tile, tile + 64), ByHand::read(sum, sum + 64), ByHand::write(sum, sum + 64)});
    hand.statement(loop, Pipe::MTE3, {ByHand::read(tile, tile + 64)});
  }
  const std::clock_t start = std::clock();
  const Conflicts conflicts(hand.program);
  const Inserted inserted = insertFlags(hand.program, conflicts, {});
  const std::clock_t end = std::clock();
  EXPECT_EQ(inserted.insertions.size(), 529U);
  EXPECT_TRUE(check(hand.program, conflicts).isClean());
  EXPECT_LT(static_cast<double>(end - start) / CLOCKS_PER_SEC, 10) << "seconds of the CPU";
}

/// Slots of three loops around one body: what the phases of loops that an access doesn't ask for leave alike is
/// asked once (this took seconds).
TEST(InsertFlags, PhasesOfSeveralLoops) {
  ByHand hand;
  Node* outer = hand.loop(nullptr);
  Node* middle = hand.loop(outer);
  Node* inner = hand.loop(middle, 3);
  const auto slot = [](const Node* loop, int64_t of) { return Term{loop->id, 64, of, 0}; };
  for (int64_t i = 0; i < 18; ++i) {
    const int64_t two = 512 * i, three = 512 * i + 256;
    hand.statement(inner, Pipe::MTE2, {ByHand::write(two, two + 64, {slot(middle, 2)})});
    hand.statement(inner, Pipe::V,
                   {ByHand::read(two, two + 64, {slot(middle, 2)}),
                    ByHand::write(three, three + 64, {slot(outer, 3)})});
    hand.statement(inner, Pipe::MTE3,
                   {ByHand::read(three, three + 64, {slot(i % 2 ? inner : outer, i % 2 ? 6 : 3)})});
  }
  const std::clock_t start = std::clock();
  const Conflicts conflicts(hand.program);
  for (unsigned instance = 0; instance < conflicts.numInstances(); ++instance)
    conflicts.conflictsOf(instance, false);
  const std::clock_t end = std::clock();
  EXPECT_LT(static_cast<double>(end - start) / CLOCKS_PER_SEC, 0.25) << "seconds of the CPU";
}

/// A statement has an instance for each phase of the loops that move it, not of all loops around it (nests of three
/// such loops took seconds). What the others order is found all the same.
TEST(Conflicts, PhasesThatNoAccessAsksFor) {
  ByHand hand;
  Node* outer = hand.loop(nullptr);
  Node* inner = hand.loop(outer);
  const Term three{outer->id, 64, 3, 0}, two{inner->id, 64, 2, 0};
  Node* fill = hand.statement(inner, Pipe::MTE2, {ByHand::write(0, 64)});
  Node* turned = hand.statement(inner, Pipe::MTE2, {ByHand::write(256, 320, {two})});
  Node* both = hand.statement(
      inner, Pipe::V,
      {ByHand::read(0, 64), ByHand::read(256, 320, {two}), ByHand::write(512, 576, {three})});
  const Conflicts conflicts(hand.program);
  EXPECT_EQ(conflicts.numInstances(), 1U + 2U + 6U);
  Phases phases(hand.program.nodes.size());
  phases[outer->id] = 2;
  phases[inner->id] = 1;
  EXPECT_EQ(conflicts.instanceOf(fill, phases), 0U);
  EXPECT_EQ(conflicts.instanceOf(turned, phases), 2U);
  EXPECT_EQ(conflicts.instanceOf(both, phases), 8U);
  EXPECT_EQ(conflicts.leastDistance(both, fill, inner), 1);
  EXPECT_EQ(conflicts.leastDistance(both, turned, inner), 2);
  hand.insert();
  EXPECT_FALSE(anyRun(hand.program, kNone, kRuns, [](const Replay& run) { return !run.isClean(); }))
      << print(hand.program);
}

/// Of two statements in a loop of four iterations that is walked in two phases, one moves: it doesn't meet the last
/// iteration's bytes before that comes, or the first one's behind it.
TEST(Conflicts, OneOfTwoIsOfPhases) {
  for (const bool isLater : {false, true}) {
    for (const int64_t row : {0, 1, 2, 3}) {
      ByHand hand;
      Node* loop = hand.loop(nullptr, 4);
      const Access fixed = ByHand::write(64 * row, 64 * row + 64);
      const auto add = [&](bool moves) {
        return hand.statement(loop, moves ? Pipe::V : Pipe::MTE2,
                              {moves ? ByHand::read(0, 64, {{loop->id, 64}}) : fixed});
      };
      Node* first = add(!isLater);
      Node* second = add(isLater);
      hand.statement(loop, Pipe::MTE3, {ByHand::write(512, 576, {{loop->id, 64, 2, 0}})});
      const Conflicts conflicts(hand.program);
      const auto meets = [&](const Node* earlier, const Node* later, unsigned level) {
        bool any = false;
        Phases phases(hand.program.nodes.size());
        for (unsigned a = 0; a < 2; ++a)
          for (unsigned b = 0; b < 2; ++b) {
            phases[loop->id] = a;
            const unsigned before = conflicts.instanceOf(earlier, phases);
            phases[loop->id] = b;
            any = any || conflicts.conflictsOf(conflicts.instanceOf(later, phases),
                                               false)[conflicts.recordOf(before, level)];
          }
        return any;
      };
      EXPECT_TRUE(meets(first, second, 2)) << row;
      for (const unsigned level : {0U, 1U}) { // from one iteration to a later one
        EXPECT_EQ(meets(first, second, level), isLater ? row > 0 : row < 3) << row;
        EXPECT_EQ(meets(second, first, level), isLater ? row < 3 : row > 0) << row;
      }
    }
  }
}

/// What is copied at each branch and turn has no rows for queues that a kernel doesn't use.
TEST(Check, RowsOfUsedQueuesOnly) {
  ByHand hand;
  hand.statement(nullptr, Pipe::MTE2, {ByHand::write(0, 64)});
  hand.statement(nullptr, Pipe::V, {ByHand::read(0, 64)});
  const Layout without(hand.program);
  EXPECT_EQ(without.queues.size(), 4U); // and the scalar unit of each agent
  EXPECT_EQ(without.remoteOf[0], without.remoteOf[1]);
  EXPECT_EQ(without.firstFlag, 6U);
  hand.insert();
  EXPECT_EQ(Layout(hand.program).firstFlag, 6U);
  hand.program.add(hand.program.body, nullptr, NodeKind::Sync)->sync.kind = SyncKind::SyncAll;
  EXPECT_EQ(Layout(hand.program).firstFlag, 7U);
}

TEST(Check, NamesTheFaults) {
  ByHand hand;
  Node* loop = hand.loop(nullptr);
  hand.statement(loop, Pipe::V, {});
  Sync sync;
  sync.flag = hand.program.addFlag({Agent::Vector, Pipe::MTE2}, {Agent::Vector, Pipe::V}, 0);
  const auto faultWith = [&](const std::vector<SyncKind>& kinds) {
    loop->body[0]->before.clear();
    for (const SyncKind kind : kinds) {
      sync.kind = kind;
      sync.queue.pipe = kind == SyncKind::Set ? Pipe::MTE2 : Pipe::V;
      loop->body[0]->before.push_back(sync);
    }
    const Verdict verdict = check(hand.program, Conflicts(hand.program));
    return verdict.faults.empty() ? -1 : static_cast<int>(verdict.faults[0].kind);
  };
  EXPECT_EQ(faultWith({SyncKind::Set, SyncKind::Wait}), -1);
  EXPECT_EQ(faultWith({SyncKind::Wait}), static_cast<int>(FaultKind::NeverSet));
  EXPECT_EQ(faultWith({SyncKind::Set, SyncKind::Set, SyncKind::Wait, SyncKind::Wait}),
            static_cast<int>(FaultKind::SetTwice));
  EXPECT_EQ(faultWith({SyncKind::Set}), static_cast<int>(FaultKind::Unbalanced));
}

} // namespace
} // namespace tilewright::ascend::model
