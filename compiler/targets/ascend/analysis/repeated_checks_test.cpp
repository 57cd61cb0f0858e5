// SPDX-License-Identifier: Apache-2.0
// What is asked again and again is answered as if nothing were kept.
#include "compiler/targets/ascend/analysis/insert_flags.h"
#include "compiler/targets/ascend/analysis/insertion_places.h"
#include "compiler/targets/ascend/analysis/random_programs.h"
#include "compiler/targets/ascend/analysis/repeated_checks.h"
#include "compiler/targets/ascend/analysis/unroll.h"

#include <gtest/gtest.h>

namespace tilewright::ascend::model {
namespace {

using namespace testing;

const WantedHazard kAll = [](const Hazard&) { return true; };
const IsWantedFlag kHeld = [](unsigned) { return true; };

using Pairs = std::set<NodePair>;
Pairs pairsOf(const Verdict& verdict) {
  Pairs pairs;
  for (const Hazard& hazard : verdict.hazards)
    pairs.emplace(hazard.earlier, hazard.later);
  return pairs;
}

/// Takes one insertion after the other out, also needed ones from some point on; returns how many were asked for.
template <typename TakeOut>
unsigned takeOutOf(const Program& program, const std::vector<Insertion>& insertions, unsigned seed,
                   TakeOut takeOut) {
  const Conflicts conflicts(program);
  Removals removals(program, conflicts, kAll, kHeld);
  unsigned asked = 0;
  for (const Insertion& each : insertions) {
    const bool isMissed = hasHazard(program, conflicts, kAll, each.number, kHeld);
    EXPECT_EQ(removals.areMissed(each.number), isMissed) << seed << ": " << each.number;
    EXPECT_EQ(pairsOf(removals.check(each.number)), pairsOf(check(program, conflicts, each.number)))
        << seed << ": " << each.number;
    ++asked;
    if (!isMissed || (seed % 3 == 0 && asked > 3)) {
      removals.takeOut(each.number);
      takeOut(each.number);
    }
  }
  return asked;
}

/// Of a program, and of its iterations as they are written out.
unsigned takeOutOf(Mix mix, unsigned seed) {
  RandomProgram made(seed, mix);
  Program& program = made.program;
  InsertOptions options;
  options.betweenAgents = true;
  const std::vector<Insertion> insertions =
      insertFlags(program, Conflicts(program), options).insertions;
  std::optional<Unrolled> unrolled = unroll(program, kMostUnrolled);
  unsigned asked = 0;
  if (unrolled) {
    Program& iterations = unrolled->program;
    asked += takeOutOf(iterations, insertions, seed,
                       [&](unsigned number) { removeFrom(iterations.body, number); });
  }
  return asked +
         takeOutOf(program, insertions, seed, [&](unsigned number) { remove(program, number); });
}

TEST(RepeatedChecks, SayWhatOneCheckSays) {
  unsigned asked = 0;
  for (unsigned seed = 0; seed < cases() / 2; ++seed) {
    asked += takeOutOf({.linear = seed % 2 == 0}, seed);
    asked += takeOutOf({.cube = true, .linear = false, .exits = seed % 2 == 0}, seed);
    if (seed % 20 == 0)
      asked += takeOutOf({.linear = seed % 40 == 0, .isLong = true}, seed);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(asked, cases());
}

} // namespace
} // namespace tilewright::ascend::model
