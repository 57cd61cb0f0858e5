// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/integer_choices.h"

#include <gtest/gtest.h>
#include <random>

namespace tilewright::ascend {
namespace {

constexpr unsigned kMost = 1000;

LinearSum constant(int64_t number) {
  return {.constant = number, .factors = {}};
}

/// The least of two sums, as a variable.
LinearSum leastOf(IntegerChoices& set, const LinearSum& a, const LinearSum& b) {
  const LinearSum least = IntegerChoices::of(set.addVariable());
  set.require(a.plus(least, -1));
  set.require(b.plus(least, -1));
  set.requireOne({{least.plus(a, -1)}, {least.plus(b, -1)}});
  return least;
}

TEST(IntegerChoices, SumsAlone) {
  IntegerChoices set;
  const LinearSum x = IntegerChoices::of(set.addVariable());
  set.require(x.plus(constant(-3)));
  EXPECT_FALSE(set.areImpossible(kMost));
  set.require(constant(2).plus(x, -1));
  EXPECT_TRUE(set.areImpossible(kMost));
}

TEST(IntegerChoices, NumbersBeyond32Bits) {
  for (const int64_t bound : {int64_t{1} << 31, (int64_t{1} << 40) + 1}) {
    IntegerChoices set;
    const LinearSum x = IntegerChoices::of(set.addVariable());
    set.require(x.plus(constant(bound)));
    set.require(constant(bound - 1).plus(x, -1));
    EXPECT_FALSE(set.areImpossible(kMost));
    set.require(x.plus(constant(-bound)));
    EXPECT_TRUE(set.areImpossible(kMost));
  }
}

/// What no alternative allows is found only by trying each.
TEST(IntegerChoices, TheLeastIsOneOfTwo) {
  for (const int64_t bound : {10, 9}) {
    IntegerChoices set;
    const LinearSum x = IntegerChoices::of(set.addVariable());
    const LinearSum least = leastOf(set, x, constant(9));
    set.require(x.plus(constant(-20)));
    set.require(constant(bound - 1).plus(least, -1));
    EXPECT_EQ(set.areImpossible(kMost), bound == 9);
  }
}

TEST(IntegerChoices, TooManyStepsAreNoProof) {
  IntegerChoices set;
  const LinearSum x = IntegerChoices::of(set.addVariable());
  const LinearSum least = leastOf(set, x, constant(9));
  set.require(x.plus(constant(-20)));
  set.require(constant(8).plus(least, -1));
  EXPECT_FALSE(set.areImpossible(0));
}

/// Against all integers of a small range.
TEST(IntegerChoices, RandomSets) {
  std::mt19937 random(3); // the same in each run
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  unsigned impossible = 0;
  for (int round = 0; round < 400; ++round) {
    constexpr int most = 6;
    IntegerChoices set;
    std::vector<std::vector<std::vector<LinearSum>>> all;
    const unsigned x = set.addVariable(), y = set.addVariable();
    for (const unsigned each : {x, y}) {
      all.push_back({{IntegerChoices::of(each)}});
      all.push_back({{constant(most).plus(IntegerChoices::of(each), -1)}});
    }
    const auto randomSum = [&] {
      LinearSum sum = constant(pick(-6, 4));
      sum.add(IntegerChoices::of(x), pick(-2, 2));
      return sum.add(IntegerChoices::of(y), pick(-2, 2));
    };
    for (int i = pick(1, 4); i > 0; --i)
      all.push_back({{randomSum()}, {randomSum(), randomSum()}});
    for (const auto& each : all)
      if (each.size() == 1)
        set.require(each[0][0]);
      else
        set.requireOne(each);
    const auto holds = [&](const LinearSum& sum, int atX, int atY) {
      int64_t value = sum.constant;
      for (const auto& [variable, factor] : sum.factors)
        value += factor * (variable == x ? atX : atY);
      return value >= 0;
    };
    bool isAny = false;
    for (int atX = 0; atX <= most; ++atX)
      for (int atY = 0; atY <= most; ++atY)
        isAny = isAny || std::ranges::all_of(all, [&](const auto& choice) {
                  return std::ranges::any_of(choice, [&](const auto& alternative) {
                    return std::ranges::all_of(
                        alternative, [&](const LinearSum& sum) { return holds(sum, atX, atY); });
                  });
                });
    const bool isProven = set.areImpossible(kMost);
    EXPECT_FALSE(isAny && isProven) << "round " << round;
    impossible += isProven ? 1 : 0;
  }
  EXPECT_GT(impossible, 40U);
}

/// Rows of 128 that lie apart by a fraction of a row: with fractions alone they are the same.
TEST(IntegerChoices, SumsBetweenIntegers) {
  for (const int64_t columns : {64, 128}) {
    IntegerChoices set;
    const LinearSum row = IntegerChoices::of(set.addVariable()),
                    other = IntegerChoices::of(set.addVariable()),
                    column = IntegerChoices::of(set.addVariable());
    set.require(column.plus(constant(-1)));
    set.require(constant(columns).plus(column, -1));
    set.requireZero(LinearSum().plus(row, 128).plus(other, -128).plus(column, -1));
    EXPECT_FALSE(set.areImpossible(kMost));
    set.askForInteger(row.plus(other, -1));
    EXPECT_EQ(set.areImpossible(kMost), columns == 64);
  }
}

/// Of numbers that have no room, nothing is taken for known.
TEST(IntegerChoices, SumsWithoutRoom) {
  IntegerChoices set;
  const LinearSum x = IntegerChoices::of(set.addVariable(), int64_t{1} << 62);
  set.require(LinearSum().plus(x, -4).plus(constant(-1)));
  set.require(IntegerChoices::of(0).plus(constant(-1)));
  EXPECT_FALSE(LinearSum().plus(x, -4).hasRoom);
  EXPECT_FALSE(set.areImpossible(kMost));
}

} // namespace
} // namespace tilewright::ascend
