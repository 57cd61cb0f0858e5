// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

class TileFunctionsTest : public KernelTest {
protected:
  void launchOnNpu() {
    std::vector<Index> grid = {int64_t{4}};
    line().beginLaunch(grid, {}, {{"npu", true}});
  }
};

TEST_F(TileFunctionsTest, AreNestsWithTheirNames) {
  launchOnNpu();
  Buffer a = alloc("a", {32, 64}, "UB"), m = alloc("m", {32}, "UB");
  Buffer x = alloc("x", {32, 64}, "UB", "float16");
  line().compute("sub", a, std::vector<TileArgument>{a, m});
  Region half{x, {int64_t{0}, int64_t{32}}, {int64_t{32}, int64_t{32}}, {}};
  Region part{a, {int64_t{0}, int64_t{0}}, {int64_t{32}, int64_t{32}}, {}};
  line().compute("cast", half, std::vector<TileArgument>{part}, {{"mode", "CAST_FLOOR"}});
  std::string text = finishedText();
  for (const char* expected :
       {"tile.parallel (%arg1, %arg2) in [32, 64]", "tile.load %1[%arg1]", "arith.subf",
        "{function = \"sub\"}", "tile.parallel (%arg1, %arg2) in [32, 32]",
        "arith.truncf %3 downward", "{function = \"cast\", mode = \"CAST_FLOOR\"}"})
    EXPECT_THAT(text, HasSubstr(expected));
}

TEST_F(TileFunctionsTest, UnknownFunction) {
  launchOnNpu();
  Buffer a = alloc("a", {32}, "UB");
  line().compute("exq", a, std::vector<TileArgument>{a});
  expectError("there is no function T.tile.exq");
}

TEST_F(TileFunctionsTest, NumbersBesideIntegers) {
  launchOnNpu();
  Buffer n = alloc("n", {64}, "UB", "int16"), mask = alloc("mask", {8}, "UB", "uint8");
  const auto with = [](Buffer tile, Value number) {
    return std::vector<TileArgument>{tile, number};
  };
  line().compute("add", n, with(n, b.constant(2.0)));
  line().compute("add", n, with(n, b.constant(1.5)));
  line().compute("max", n, with(n, b.constant(int64_t{70000})));
  line().compute("compare", mask, with(n, b.constant(0.5)), {{"mode", "GE"}});
  line().fill(n, b.constant(-0.5), "T.tile.fill");
  line().fill(n, b.constant(-0.5));
  EXPECT_THAT(messages(),
              testing::ElementsAre("T.tile.add takes whole numbers with 'n' of int16, not 1.5",
                                   "the integer 70000 does not fit the dtype int16 of 'n'",
                                   "T.tile.compare takes whole numbers with 'n' of int16, not 0.5",
                                   "T.tile.fill takes whole numbers with 'n' of int16, not -0.5"));
}

TEST_F(TileFunctionsTest, KindsOfWhatStandsBeside) {
  launchOnNpu();
  Buffer a = alloc("a", {32, 32}, "UB"), row = alloc("row", {32}, "UB");
  const std::vector<TileArgument> sources{row};
  line().compute("cast", a, sources, {{"count", 2.0}});
  line().compute("cast", a, sources, {{"mode", int64_t{3}}});
  line().compute("broadcast", a, sources, {{"axis", "row"}});
  line().compute("broadcast", a, sources, {{"axis", int64_t{-7}}});
  line().compute("broadcast", a, sources, {{"axis", int64_t{2}}});
  const std::string axis = ", but it must be 0 (one row for all) or 1 (one column)";
  EXPECT_THAT(messages(), testing::ElementsAre("count of T.tile.cast must be an integer",
                                               "mode of T.tile.cast must be a word",
                                               "axis of T.tile.broadcast must be an integer",
                                               "axis of T.tile.broadcast is -7" + axis,
                                               "axis of T.tile.broadcast is 2" + axis));
}

TEST_F(TileFunctionsTest, NumbersWithoutDims) {
  launchOnNpu();
  Buffer a = line().allocVar(dt("float32"), {}, "a");
  line().compute("exp", a, std::vector<TileArgument>{a});
  expectError("T.tile.exp needs a destination with dims");
}

} // namespace
} // namespace tilewright
