// SPDX-License-Identifier: Apache-2.0
// Ranges that may meet, against a search of all combinations.
#include "compiler/targets/ascend/analysis/overlap.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::ascend::model {
namespace {

bool meetInSome(int64_t lengthA, int64_t lengthB, int64_t distance,
                const std::vector<Unknown>& unknowns, size_t first = 0) {
  if (first == unknowns.size())
    return std::max<int64_t>(0, distance) < std::min(lengthA, distance + lengthB);
  for (int64_t number = unknowns[first].low; number <= unknowns[first].high; ++number)
    if (meetInSome(lengthA, lengthB, distance + unknowns[first].step * number, unknowns, first + 1))
      return true;
  return false;
}

TEST(Overlap, IsExactForFewCombinations) {
  std::mt19937 random(7);
  const auto upTo = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  unsigned met = 0;
  constexpr unsigned cases = 20000;
  for (unsigned number = 0; number < cases; ++number) {
    std::vector<Unknown> unknowns(size_t(upTo(0, 3)));
    for (Unknown& unknown : unknowns) {
      const int64_t low = upTo(-3, 2);
      unknown = {upTo(-6, 6) * 4, low, low + upTo(-1, 4)};
    }
    const int64_t lengthA = upTo(0, 9), lengthB = upTo(0, 9), distance = upTo(-60, 60);
    const bool doMeet = meetInSome(lengthA, lengthB, distance, unknowns);
    ASSERT_EQ(canMeet(lengthA, lengthB, distance, unknowns), doMeet) << "case " << number;
    met += doMeet;
  }
  EXPECT_GT(met, cases / 10);
  EXPECT_LT(met, cases / 2);
}

TEST(Overlap, PiecesOfRowsInColumnsLieApart) {
  // 16 of 64 rows, in two columns of 32 bytes: those of another turn are 1 to 3 pieces further on.
  const Unknown columns{2048, -1, 1}, turns{512, 1, 3};
  EXPECT_FALSE(canMeet(512, 512, 0, {columns, turns}));
  EXPECT_TRUE(canMeet(512, 513, 0, {columns, turns}));
  EXPECT_TRUE(canMeet(512, 512, 0, {columns, {512, 1, 4}}));
}

TEST(Overlap, ErrsToTrueForManyCombinations) {
  const Unknown odd{6, 0, 1000}, other{10, 0, 1000}, third{15, 1000, 3000};
  EXPECT_TRUE(canMeet(1, 1, -16000, {odd, other, third}));
  EXPECT_FALSE(canMeet(1, 1, -14999, {odd, other, third}));
}

} // namespace
} // namespace tilewright::ascend::model
