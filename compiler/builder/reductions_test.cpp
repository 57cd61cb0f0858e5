// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

namespace tilewright {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

class ReductionsTest : public KernelTest {
protected:
  static Region part(Buffer buffer, std::vector<Index> offsets, std::vector<Index> extents) {
    return {buffer, std::move(offsets), std::move(extents), {}};
  }
};

TEST_F(ReductionsTest, ReductionsDropOrKeepTheDim) {
  launch();
  Buffer S = alloc("S", {64, 32}, "fragment"), dropped = alloc("dropped", {64}, "fragment"),
         kept = alloc("kept", {64, 1}, "fragment"), V = alloc("V", {8}, "fragment"),
         one = alloc("one", {1}, "fragment");
  line().reduce("sum", S, dropped, -1, true);
  line().reduce("max", S, kept, 1, false, {{"nan_propagate", true}});
  line().reduce("min", V, one, 0, true);
  std::string text = finishedText();
  EXPECT_THAT(text, ContainsRegex("tile.reduce +sum"));
  EXPECT_THAT(text, HasSubstr("dim 1 into"));
  EXPECT_THAT(text, HasSubstr("nan_propagate"));
}

// m numbers may be a row or a column of results; which of them, the extents say.
TEST_F(ReductionsTest, ARowOfResultsThatTheKernelCounts) {
  Value m = line().symbol("m", dt("int32"));
  std::vector<Index> grid = {int64_t{4}};
  line().beginLaunch(grid, {}, {{"npu", true}});
  Buffer S = alloc("S", {64, 32}, "UB"), rows = alloc("rows", {4, 64}, "UB"),
         column = alloc("column", {64, 8}, "UB");
  const auto some = part(S, {int64_t{0}, int64_t{0}}, {m, int64_t{32}});
  line().reduce("sum", some, part(rows, {int64_t{2}, int64_t{0}}, {int64_t{1}, m}), 1, true);
  line().reduce("max", some, part(column, {int64_t{0}, int64_t{3}}, {m, int64_t{1}}), 1, true);
  const std::string text = finishedText();
  EXPECT_THAT(text,
              ContainsRegex("tile.reduce sum .*<1x64x32xf32, UB> dim 2 into %[0-9]+\\[2, 0\\]"));
  EXPECT_THAT(text,
              ContainsRegex("tile.reduce max .*<64x32xf32, UB> dim 1 into %[0-9]+\\[0, 3\\]"));
}

// Elsewhere than on an NPU a row is refused, as where its numbers are known.
TEST_F(ReductionsTest, RefusesARowOfResultsThatTheKernelCounts) {
  Value m = line().symbol("m", dt("int32"));
  launch();
  Buffer S = alloc("S", {64, 32}), rows = alloc("rows", {4, 64}), column = alloc("column", {64, 8});
  const auto some = part(S, {int64_t{0}, int64_t{0}}, {m, int64_t{32}});
  line().reduce("sum", some, part(rows, {int64_t{2}, int64_t{0}}, {int64_t{1}, m}), 1, true);
  line().reduce("max", some, part(column, {int64_t{0}, int64_t{3}}, {m, int64_t{1}}), 1, true);
  line().reduce("max", some, part(rows, {int64_t{2}, int64_t{0}}, {int64_t{1}, m}), 0, true);
  EXPECT_THAT(messages(), ElementsAre("reduce_sum of 'S' (m, 32) over dim 1 gives (m), but 'rows' "
                                      "is (1, m)"));
}

TEST_F(ReductionsTest, RefusesBadReductions) {
  Buffer G = tensor("G", {int64_t{64}});
  launch();
  Buffer S = alloc("S", {64, 32}, "fragment"), wrong = alloc("wrong", {32}, "fragment");
  line().reduce("sum", S, wrong, 1, true);
  line().reduce("sum", S, wrong, 2, true);
  line().reduce("median", S, wrong, 0, true);
  line().reduce("bitand", S, wrong, 0, true);
  line().reduce("sum", S, G, 1, true);
  EXPECT_THAT(
      messages(),
      ElementsAre(
          "reduce_sum of 'S' (64, 32) over dim 1 gives (64), but 'wrong' is (32)",
          "reduce_sum over dim 2, but 'S' has 2 dims", "there is no reduction 'median'",
          "reduce_bitand works on integers, but 'S' is float32",
          "reduce_sum works on tiles, but 'G' is in global memory; copy it to a T.alloc_shared or "
          "T.alloc_fragment buffer first"));
}

TEST_F(ReductionsTest, Scans) {
  launch();
  Buffer S = alloc("S", {64, 32}), R = alloc("R", {64, 32}), Q = alloc("Q", {64});
  line().scan("sum", S, R, -2, true);
  EXPECT_TRUE(messages().empty());
  line().scan("sum", S, Q, 0, false);
  line().scan("min", S, R, 0, false);
  line().scan("max", S, R, 5, false);
  EXPECT_THAT(messages(),
              ElementsAre("cumsum source 'S' is (64, 32) but 'Q' is (64)",
                          "there is no scan 'cummin'", "cummax over dim 5, but 'S' has 2 dims"));
}

} // namespace
} // namespace tilewright
