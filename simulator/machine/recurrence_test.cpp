// SPDX-License-Identifier: Apache-2.0
// Loops of a few steps, each with a state that comes again or one that counts.
#include "simulator/machine/recurrence.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace tilewright::ascend {
namespace {

struct Step {
  unsigned line;
  bool counts;
  uint64_t state = 0;
};
/// An address in a module whose variables stay as they are and are few: with sanitizers the tests' own are not.
const void* const codeOfAModule =
    reinterpret_cast<const void*>(static_cast<double (*)(double)>(&std::cbrt));

/// Whether the loop is proven to be endless within so many rounds. `memory` counts where it does.
bool isClosed(const std::vector<Step>& loop, size_t firstStep, bool memoryCounts = false) {
  constexpr uint64_t rounds = 20000;
  Recurrence recurrence;
  uint64_t counter = 1000; // above all states that come again
  for (uint64_t i = firstStep; i < rounds * loop.size() && !recurrence.isClosed(); ++i) {
    const Step& step = loop[i % loop.size()];
    if (!recurrence.isWanted({"kernel.cpp", step.line}))
      continue;
    recurrence.note(step.counts ? ++counter : step.state, codeOfAModule, 0, true);
    if (recurrence.wantsMemory())
      recurrence.noteMemory(memoryCounts ? ++counter : 1);
  }
  return recurrence.isClosed();
}

TEST(Recurrence, ComesFromAnyStepToOneWhoseStateComesAgain) {
  const std::vector<Step> loop = {{1, true}, {2, true}, {3, false, 1}, {4, true}};
  for (size_t first = 0; first < loop.size(); ++first)
    EXPECT_TRUE(isClosed(loop, first)) << first;
  EXPECT_TRUE(isClosed({{1, false, 1}}, 0));
}

TEST(Recurrence, IsNotProvenWhereAllCounts) {
  EXPECT_FALSE(isClosed({{1, true}, {2, true}}, 0));
  EXPECT_FALSE(isClosed({{1, false, 1}, {2, false, 2}}, 0, true));
}

/// The outer loop's state comes again only after the inner loop's many steps.
TEST(Recurrence, FindsLongPeriods) {
  std::vector<Step> loop;
  constexpr unsigned inner = 100;
  loop.reserve(inner + 1);
  for (unsigned i = 0; i < inner; ++i)
    loop.push_back({i % 2 + 1, false, i + 1});
  loop.push_back({3, false, inner + 1});
  for (size_t first : {size_t{0}, size_t{1}, size_t{inner}})
    EXPECT_TRUE(isClosed(loop, first)) << first;
}

} // namespace
} // namespace tilewright::ascend
