// SPDX-License-Identifier: Apache-2.0
/// Variables that say which part of the memory a statement touches.
#include "compiler/targets/ascend/analysis/random_programs.h"

namespace tilewright::ascend::model::testing {
namespace {

/// Variables that say which part is meant, in loops and branches of which nothing is known.
TEST(ToldApart, RandomPrograms) {
  Counts counts;
  for (unsigned seed = 0; seed < cases(); ++seed) {
    const Mix mix{.branches = seed % 2 == 0,
                  .linear = false,
                  .exits = seed % 4 == 0,
                  .counters = seed % 3 == 0,
                  .parts = true};
    insertAndTry(seed, mix, {}, counts);
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
  EXPECT_GT(counts.insertions, cases());
  EXPECT_LE(50 * counts.unneeded, counts.insertions) << counts.unneeded << " are not needed";
}

/// Loops of unknown length in one another; in each turn of the inner one two statements write the slot and, `ahead` steps
/// behind, another one, before the variable goes on by `by` of three slots.
struct Ring : ByHand {
  Node* first = nullptr;
  Node* second = nullptr;

  Ring(int ahead, int by, bool isKnown = true) {
    program.variables = 1;
    program.toldApart[0] = 3;
    if (isKnown)
      step(nullptr, 0, /*isConstant=*/true);
    Node* inner = loop(loop(nullptr));
    first = statement(inner, Pipe::V, {write(0, 32, {slot()})});
    step(inner, ahead);
    second = statement(inner, Pipe::V, {write(0, 32, {slot()})});
    step(inner, by);
  }
  static Term slot() {
    Term term{kFirstVariable, 32, 3};
    term.variable = 0;
    return term;
  }
  void step(Node* parent, int by, bool isConstant = false) {
    Node* node = program.add(parent ? parent->body : program.body, parent, NodeKind::Assign);
    node->variable = 0;
    node->value = by;
    for (int slot = 0; slot < 3 && !isConstant; ++slot)
      node->becomes.push_back((slot + by) % 3);
    if (!isConstant)
      node->becomes.push_back(kNoValue);
  }
  /// Whether something has to be between the two statements in one turn, and before the first one in the next turn.
  std::pair<bool, bool> areOrdered() {
    bool isInTurn = false, isAcross = false;
    for (const Hazard& hazard : check(program, Conflicts(program)).hazards) {
      isInTurn =
          isInTurn || (hazard.earlier == first && hazard.later == second && !hazard.carriedBy);
      isAcross = isAcross || (hazard.earlier == second && hazard.later == first);
    }
    return {isInTurn, isAcross};
  }
};

TEST(ToldApart, OneStepApart) {
  EXPECT_EQ(Ring(1, 2).areOrdered(), std::pair(false, false)); // 0 1, 0 1, ...
  EXPECT_EQ(Ring(2, 0).areOrdered(), std::pair(false, true));  // 0 2, 2 1, ...
  EXPECT_EQ(Ring(3, 1).areOrdered().first, true);              // 0 0, 1 1, ...
}

/// What is as large as the last number, or no constant, may be any.
TEST(ToldApart, UnknownNumbers) {
  EXPECT_EQ(Ring(1, 2, /*isKnown=*/false).areOrdered(), std::pair(true, true));
  Ring ring(1, 2);
  ring.program.nodes.front().value = 3;
  EXPECT_EQ(ring.areOrdered(), std::pair(true, true));
}

/// The barrier between two turns is in each turn, and none is in the middle of one.
TEST(ToldApart, BarrierBetweenTurnsAlone) {
  EXPECT_EQ(Ring(1, 2).insert().find("barrier"), Ring(1, 2).insert().rfind("barrier"));
}

/// Another variable that takes the number goes on from there.
TEST(ToldApart, TakenNumbers) {
  for (const bool isTaken : {true, false}) {
    Ring ring(1, 2);
    Program& program = ring.program;
    program.variables = 2;
    program.toldApart[1] = 3;
    Node* last = ring.loop(nullptr); // in which the slot is 0 at first
    Node* takes = program.add(last->body, last, NodeKind::Assign);
    takes->variable = 1;
    takes->source = isTaken ? 0 : kNone;
    takes->value = kNoValue;
    if (isTaken)
      takes->becomes = {0, 1, 2, kNoValue};
    Term term = Ring::slot();
    term.variable = 1;
    const Node* reader = ring.statement(last, Pipe::V, {ByHand::read(0, 32, {term})});
    bool isFirst = false, isSecond = false;
    for (const Hazard& hazard : check(program, Conflicts(program)).hazards) {
      isFirst = isFirst || (hazard.earlier == ring.first && hazard.later == reader);
      isSecond = isSecond || (hazard.earlier == ring.second && hazard.later == reader);
    }
    EXPECT_TRUE(isFirst);
    EXPECT_EQ(isSecond, !isTaken);
  }
}

} // namespace
} // namespace tilewright::ascend::model::testing
