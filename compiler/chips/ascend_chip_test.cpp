// SPDX-License-Identifier: Apache-2.0
#include "compiler/chips/ascend_chip.h"

#include "compiler/chips/ascend_timing.h"

#include <gtest/gtest.h>

#include <set>

namespace tilewright::chips {
namespace {

TEST(AscendChip, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const AscendChip& chip : ascendChips()) {
    EXPECT_TRUE(names.insert(chip.name).second) << chip.name;
    EXPECT_EQ(findAscendChip(chip.name), &chip);
    EXPECT_EQ(findAscendChip(chip.socName), &chip);
  }
  EXPECT_EQ(names.size(), 5U);
  ASSERT_NE(findAscendChip("A3"), nullptr);
  EXPECT_EQ(findAscendChip("A3")->socName, "Ascend910_9391");
  EXPECT_EQ(findAscendChip("910"), nullptr);
}

// The published peaks: cube cores * 4096 multiply-adds * 2 * clock.
TEST(AscendChip, HalfPrecisionPeakIsThePublishedOne) {
  auto peakTflops = [](const char* name) {
    const AscendChip* chip = findAscendChip(name);
    return chip->cubeCores * 8192.0 * chip->clockMHz * 1e6 / 1e12;
  };
  EXPECT_NEAR(peakTflops("910B1"), 363.7, 0.05);
  EXPECT_NEAR(peakTflops("910B2"), 353.9, 0.05);
  EXPECT_NEAR(peakTflops("910B3"), 294.9, 0.05);
  EXPECT_NEAR(peakTflops("910B4"), 245.8, 0.05);
}

TEST(AscendTiming, EveryConstantHasAValueAndASource) {
  AscendTiming timing = arch2201Timing();
  EXPECT_EQ(timingConstants().size() * sizeof(TimingConstant), sizeof(AscendTiming));
  for (const NamedConstant& constant : timingConstants()) {
    EXPECT_GT((timing.*constant.member).value, 0) << constant.name;
    EXPECT_STRNE((timing.*constant.member).source, "") << constant.name;
    EXPECT_FALSE(provenanceName((timing.*constant.member).provenance).empty());
  }
}

} // namespace
} // namespace tilewright::chips
