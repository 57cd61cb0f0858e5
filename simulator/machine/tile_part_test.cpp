// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/tile_part.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilewright::ascend {
namespace {

std::string outside(const std::vector<PartDim>& dims, const std::vector<PartDim>& tensor = {},
                    bool isTransposed = false) {
  return outsideOf(
      {"x", tensor.empty(), isTransposed, dims.data(), dims.size(), tensor.data(), tensor.size()});
}

TEST(TileParts, SayWhereTheyLie) {
  EXPECT_EQ(outside({{4, 4, 8}, {0, 24, 24}}), "");
  EXPECT_EQ(outside({{5, 4, 8}, {0, 24, 24}}),
            "'x' is written at [5, 0] to [8, 23], but its shape is (8, 24)");
  EXPECT_EQ(outside({{0, 2, 8}, {1, 4, 4}, {0, 16, 24}}),
            "'x' is written at [0, 1, 0] to [1, 4, 15], but its shape is (8, 4, 24)");
  EXPECT_EQ(outside({{-1, 1, 8}}), "'x' is written at [-1], but its shape is (8)");
}

TEST(TileParts, OfNothingMayLieAnywhere) {
  EXPECT_EQ(outside({{9, 0, 8}, {0, 24, 24}}), "");
  EXPECT_EQ(outside({{9, 2, 8}, {0, -3, 24}}), "");
}

TEST(TileParts, AreReadAsFarAsTheTensorGoes) {
  const std::vector<PartDim> part = {{5, 4, 8}, {0, 24, 24}};
  const std::string told = "'x' is read at [5, 0] to [8, 23], but its shape is (8, 24)";
  EXPECT_EQ(outside(part, {{16, 4, 20}, {0, 24, 24}}), told);
  EXPECT_EQ(outside(part, {{16, 4, 19}, {0, 24, 24}}), "");
  EXPECT_EQ(outside(part, {{20, 4, 20}, {0, 24, 24}}), "");
  EXPECT_EQ(outside(part, {{7, 1, 7}, {16, 4, 24}, {0, 24, 24}}), "");
  EXPECT_EQ(outside(part, {{6, 1, 7}, {16, 4, 24}, {0, 24, 24}}), told);
  EXPECT_EQ(outside(part, {{-2, 4, 20}, {0, 24, 24}}),
            "'x' is read at [7, 0] to [8, 23], but its shape is (8, 24)");
  EXPECT_EQ(outside({{-2, 4, 8}, {0, 24, 24}}, {{-2, 4, 20}, {0, 24, 24}}), "");
  EXPECT_EQ(outside({{7, 1, 8}}, {{7, 1, 7}}), "");
  EXPECT_EQ(outside({{8, 1, 8}}, {{6, 1, 7}}), "'x' is read at [8], but its shape is (8)");
}

TEST(TileParts, MayBeTransposed) {
  const std::vector<PartDim> part = {{5, 4, 8}, {0, 24, 24}};
  EXPECT_EQ(outside(part, {{0, 24, 24}, {16, 4, 19}}, true), "");
  EXPECT_EQ(outside(part, {{0, 24, 22}, {16, 4, 20}}, true),
            "'x' is read at [5, 0] to [8, 21], but its shape is (8, 24)");
}

} // namespace
} // namespace tilewright::ascend
