// SPDX-License-Identifier: Apache-2.0
// Places that come again after more turns than there are phases: how far two uses lie apart says whether they meet.
#include "compiler/targets/ascend/analysis/insert_flags.h"
#include "compiler/targets/ascend/analysis/random_programs.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace tilewright::ascend::model {
namespace {

using namespace testing;

/// Of what a loop writes at two places in each turn, on one pipe: how many barriers that needs within the turn, how many
/// between turns.
struct Barriers {
  unsigned inTurn = 0, between = 0;
  bool operator==(const Barriers&) const = default;
};

Barriers barriersOf(const Term& first, int64_t begin, const Term& second, bool isOrderedLater) {
  ByHand hand;
  Node* loop = hand.loop(nullptr);
  const auto of = [&](Term term) {
    term.loop = loop->id;
    return std::vector<Term>{term};
  };
  hand.statement(loop, Pipe::MTE3, {ByHand::write(0, 32, of(first))});
  hand.statement(loop, Pipe::MTE3, {ByHand::write(begin, begin + 32, of(second))});
  if (isOrderedLater) { // each turn's end waits for the load before, that for the store of the turn before
    hand.statement(loop, Pipe::MTE2, {ByHand::write(8192, 8224)});
    hand.statement(loop, Pipe::MTE3, {ByHand::read(8192, 8224)});
  }
  const Inserted inserted = insertFlags(hand.program, Conflicts(hand.program), {});
  Barriers found;
  for (const Insertion& each : inserted.insertions)
    if (each.isBarrier)
      ++(each.why.carriedBy ? found.between : found.inTurn);
  return found;
}

TEST(TurnsApart, PlacesOfOneTurn) {
  const Term row{0, 32, 100, 0}, next{0, 32, 100, 1}, back{0, -32, 100, 0};
  EXPECT_EQ(barriersOf(row, 0, row, true), (Barriers{1, 0}));
  EXPECT_EQ(barriersOf(row, 32 * 100, row, true), (Barriers{0, 0}));
  // The next turn comes to that place.
  EXPECT_EQ(barriersOf(row, 0, next, true), (Barriers{0, 1}));
  EXPECT_EQ(barriersOf(next, 0, row, true), (Barriers{0, 1}));
  // Only the turn behind that, which waits for that one's end.
  const Term later{0, 32, 100, 2};
  EXPECT_EQ(barriersOf(row, 0, later, true), (Barriers{0, 0}));
  // Both numbers have 4 in common, which no other turn near is away.
  const Term of16{0, 32, 16, 0}, of20{0, 32, 20, 0}, nextOf20{0, 32, 20, 1};
  EXPECT_EQ(barriersOf(of16, 0, of20, true), (Barriers{1, 0}));
  EXPECT_EQ(barriersOf(of16, 64, of20, true), (Barriers{0, 0}));
  EXPECT_EQ(barriersOf(of16, 0, nextOf20, true), (Barriers{0, 1}));
  // The place counted from the end is never the same in one turn: 99 is odd.
  EXPECT_EQ(barriersOf(row, 32 * 99, back, false).inTurn, 0U);
  EXPECT_EQ(barriersOf(row, 32 * 98, back, true), (Barriers{1, 0}));
}

TEST(TurnsApart, RandomTurns) {
  const unsigned all = std::max(cases() / 100, 1U);
  for (const bool branches : {false, true}) {
    Counts counts;
    for (unsigned seed = 0; seed < all; ++seed) {
      insertAndTry(seed, {.branches = branches, .turns = true}, {}, counts);
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
    }
    EXPECT_GT(counts.insertions, all);
    EXPECT_LE(20 * counts.unneeded, counts.insertions); // of 100 times as many one in 200
  }
}

} // namespace
} // namespace tilewright::ascend::model
