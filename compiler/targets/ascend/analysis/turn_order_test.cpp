// SPDX-License-Identifier: Apache-2.0
// Turns in which branches let statements run, against all turns of a loop one by one.
#include "compiler/targets/ascend/analysis/turn_order.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::ascend::model {
namespace {

bool holds(const Condition& condition, int64_t turn) {
  const int64_t number = condition.constant + condition.terms.front().bytes * turn;
  switch (condition.kind) {
  case Comparison::Equal:
    return number == 0;
  case Comparison::NotEqual:
    return number != 0;
  case Comparison::Less:
    return number < 0;
  case Comparison::LessOrEqual:
    return number <= 0;
  case Comparison::Greater:
    return number > 0;
  default:
    return number >= 0;
  }
}

/// A loop with two branches, of which each has a statement in either way.
struct TwoBranches {
  Program program;
  Node *loop, *branches[2], *ways[2][2];

  template <typename Draw> explicit TwoBranches(Draw upTo) {
    loop = program.add(program.body, nullptr, NodeKind::Loop);
    for (size_t number : {0, 1}) {
      Node* branch = branches[number] = program.add(loop->body, loop, NodeKind::If);
      for (int64_t left = upTo(1, 2); left > 0; --left) {
        const int64_t step = upTo(1, 3) * (upTo(0, 1) ? 16 : -16);
        Condition condition{Comparison(upTo(0, 5)), upTo(-120, 120), {}};
        condition.terms.push_back({loop->id, step});
        branch->conditions.push_back(condition);
      }
      branch->asksMore = upTo(0, 9) == 0;
      ways[number][0] = program.add(branch->otherwise, branch, NodeKind::Statement);
      ways[number][1] = program.add(branch->body, branch, NodeKind::Statement);
    }
  }

  bool mayRun(size_t number, bool isTaken, int64_t turn) const {
    const Node& branch = *branches[number];
    const bool doAllHold = std::ranges::all_of(
        branch.conditions, [&](const Condition& each) { return holds(each, turn); });
    return isTaken ? doAllHold : !doAllHold || branch.asksMore;
  }

  bool isBehind(bool wayOfLater, bool wayOfEarlier) const {
    for (int64_t later = 0; later < 40; ++later)
      for (int64_t earlier = 0; earlier < later; ++earlier)
        if (mayRun(1, wayOfLater, later) && mayRun(0, wayOfEarlier, earlier))
          return true;
    return false;
  }
};

TEST(TurnOrder, NeverBehindIsSoInAllTurns) {
  std::mt19937 random(5);
  const auto upTo = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  unsigned never = 0, known = 0;
  for (unsigned number = 0; number < 5000; ++number) {
    const TwoBranches turns(upTo);
    for (const bool later : {false, true})
      for (const bool earlier : {false, true}) {
        const bool isKnown =
            isNeverBehind(*turns.ways[1][later], *turns.ways[0][earlier], *turns.loop);
        const bool isNever = !turns.isBehind(later, earlier);
        ASSERT_TRUE(isNever || !isKnown) << "case " << number;
        never += isNever;
        known += isKnown;
      }
  }
  EXPECT_GT(known, never * 3 / 4);
  EXPECT_LT(never, 15000U);
}

} // namespace
} // namespace tilewright::ascend::model
