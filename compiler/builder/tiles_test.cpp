// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

namespace tilewright {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class TilesTest : public KernelTest {
protected:
  static Region element(Buffer buffer, std::vector<Index> offsets) {
    return {buffer, std::move(offsets), {}, {}};
  }
  static Region part(Buffer buffer, std::vector<Index> offsets, std::vector<Index> extents) {
    return {buffer, std::move(offsets), std::move(extents), {}};
  }
};

// Copy: extents

TEST_F(TilesTest, AnElementLoadTakesTheOtherSidesExtents) {
  Buffer A = tensor("A", {int64_t{4}, int64_t{100}, int64_t{100}});
  auto ids = launch();
  Buffer S = alloc("S", {64, 32});
  line().copy(element(A, {int64_t{1}, ids[0], int64_t{32}}), S);
  line().copy(S, element(A, {int64_t{2}, ids[0], int64_t{0}}));
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("%arg0[1, %arg1, 32] [1, 64, 32]"));
  EXPECT_THAT(text, HasSubstr("%arg0[2, %arg1, 0] [1, 64, 32]"));
}

TEST_F(TilesTest, TheExtentOfASliceIsKnownWhereItsVariablesCancel) {
  Buffer A = tensor("A", {int64_t{640}});
  auto ids = launch();
  Buffer S = alloc("S", {64});
  auto times = [&](Value x) { return b.binary("mul", x, b.constant(int64_t{64})); };
  Value start = times(ids[0]), stop = times(b.binary("add", ids[0], b.constant(int64_t{1})));
  line().copy(part(A, {start}, {b.binary("sub", stop, start)}), S);
  EXPECT_THAT(finishedText(), ContainsRegex("%arg0\\[%[0-9]+\\] \\[64\\] : "));
}

TEST_F(TilesTest, UnitExtentsMayStandAnywhere) {
  Buffer A = tensor("A", {int64_t{4}, int64_t{64}, int64_t{32}});
  launch();
  Buffer S = alloc("S", {64, 1, 32});
  line().copy(part(A, {int64_t{3}, int64_t{0}, int64_t{0}}, {int64_t{1}, int64_t{64}, int64_t{32}}),
              S);
  EXPECT_THAT(finishedText(),
              HasSubstr("[3, 0, 0] [1, 64, 32] : !tile.buffer<4x64x32xf32, global> to %0"));
}

TEST_F(TilesTest, FewerExtentsAreAlignedFromTheEnd) {
  Buffer A = tensor("A", {int64_t{64}, int64_t{32}});
  launch();
  Buffer S = alloc("S", {16, 32});
  line().copy(part(A, {int64_t{0}, int64_t{0}}, {int64_t{1}, int64_t{32}}), S);
  EXPECT_THAT(finishedText(), HasSubstr("%arg0[0, 0] [16, 32]"));
}

// A slice of a single row is a part like any other, on both ways and for sums.
TEST_F(TilesTest, ASingleRowOfAnNpusLargerTile) {
  Buffer a = tensor("A", {int64_t{64}, int64_t{32}}, "float32");
  std::vector<Index> grid = {int64_t{4}};
  line().beginLaunch(grid, {}, {{"npu", true}});
  Buffer tile = alloc("tile", {16, 32}, "UB", "float32");
  const auto row = part(a, {int64_t{5}, int64_t{0}}, {int64_t{1}, int64_t{32}});
  line().copy(row, tile);
  line().copy(tile, row);
  line().atomicTile("add", row, tile, {});
  const auto rows = part(tile, {int64_t{0}, int64_t{0}}, {int64_t{16}, int64_t{32}});
  line().copy(row, rows);
  EXPECT_THAT(messages(), testing::IsEmpty());
  line().copy(element(a, {int64_t{5}, int64_t{0}}), tile);
  line().copy(rows, part(a, {int64_t{0}, int64_t{3}}, {int64_t{16}, int64_t{1}}));
  EXPECT_THAT(messages(), ElementsAre("copy takes (16, 1) elements: of 'tile' it names (16, 32), "
                                      "and of 'A' (16, 1); name as many of both"));
  const std::string text = finishedText();
  for (const char* expected :
       {"tile.copy %arg0[5, 0] [16, 32] : !tile.buffer<64x32xf32, global> to %0 : "
        "!tile.buffer<16x32xf32, UB> ends",
        "tile.copy %0[0, 0] [1, 32] : !tile.buffer<16x32xf32, UB> to %arg0[5, 0] [1, 32]",
        "tile.atomic_tile add %0[0, 0] [1, 32] : !tile.buffer<16x32xf32, UB> into %arg0[5, 0] [1, "
        "32]",
        "tile.copy %arg0[5, 0] [1, 32] : !tile.buffer<64x32xf32, global> to %0[0, 0] [1, 32]",
        "tile.copy %arg0[5, 0] [16, 32] : !tile.buffer<64x32xf32, global> to %0 : "
        "!tile.buffer<16x32xf32, UB>\n",
        "tile.copy %0[0, 0] [16, 1] : !tile.buffer<16x32xf32, UB> to %arg0[0, 3] [16, 1]"})
    EXPECT_THAT(text, HasSubstr(expected));
}

TEST_F(TilesTest, DifferingExtentsTakeTheLargerWithinTheBuffer) {
  Buffer A = tensor("A", {int64_t{64}, int64_t{64}});
  launch();
  Buffer S = alloc("S", {8, 16});
  // [1, 32] beside [8, 16]: 1 takes 8; of 32 and 16 the larger, as far as S goes.
  line().copy(part(A, {int64_t{0}, int64_t{0}}, {int64_t{1}, int64_t{32}}), S);
  EXPECT_THAT(finishedText(), HasSubstr("%arg0[0, 0] [8, 16]"));
}

TEST_F(TilesTest, AKernelTimeExtentIsCutToTheOtherSide) {
  Value n = line().symbol("n", dt("int32"));
  Buffer A = tensor("A", {int64_t{64}, int64_t{32}});
  launch();
  Buffer S = alloc("S", {64, 32});
  line().copy(part(A, {int64_t{0}, int64_t{0}}, {n, int64_t{32}}), S);
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("arith.minsi"));
  EXPECT_THAT(text, HasSubstr("%arg0[0, 0] [%1, 32]"));
  EXPECT_THAT(text, HasSubstr("to %0[0, 0] [%1, 32]"));
}

TEST_F(TilesTest, TwoElementsAreAStoreWithACast) {
  Buffer A = tensor("A", {int64_t{4}}, "float16");
  launch();
  Buffer S = alloc("S", {4}, "shared", "float32");
  std::vector<Index> extents{int64_t{4}};
  auto i = line().beginParallel(extents, {}); // allowed here: it is no tile operation
  line().copy(element(A, {i[0]}), element(S, {i[0]}));
  b.endParallel();
  std::string text = finishedText();
  EXPECT_THAT(text, Not(HasSubstr("tile.copy")));
  EXPECT_THAT(text, HasSubstr("arith.extf"));
}

TEST_F(TilesTest, CopiesConvert) {
  launch();
  Buffer S = alloc("S", {8}, "shared", "int8"), F = alloc("F", {8}, "fragment", "float32");
  line().copy(S, F);
  EXPECT_TRUE(messages().empty());
  EXPECT_NE(finish(), nullptr);
}

TEST_F(TilesTest, CopiesPassTheirOptionsOn) {
  Buffer A = tensor("A", {int64_t{64}, int64_t{32}}, "float16");
  launch();
  Buffer S = alloc("S", {32, 64}, "shared", "float16");
  line().copy(element(A, {int64_t{0}, int64_t{0}}), S,
              {{"transpose", true},
               {"enable_relu", true},
               {"pad_value", 1.5},
               {"coalesced_width", int64_t{8}}});
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("tile.copy %arg0 : !tile.buffer<64x32xf16, global> to %0"));
  EXPECT_THAT(text, HasSubstr("pad(%cst : f16)"));
  EXPECT_THAT(text, HasSubstr("coalesced_width = 8 : i64"));
  EXPECT_THAT(text, HasSubstr("relu"));
  EXPECT_THAT(text, HasSubstr("transpose"));
}

TEST_F(TilesTest, TransposesATileFromAnElementOn) {
  launch();
  Buffer S = alloc("S", {128, 32}), R = alloc("R", {32, 64});
  line().copy(element(S, {int64_t{64}, int64_t{0}}), R, {{"transpose", true}});
  EXPECT_THAT(finishedText(), HasSubstr("tile.copy"));
}

TEST_F(TilesTest, RefusesToTransposeBeyondATile) {
  launch();
  Buffer S = alloc("S", {128, 32}), R = alloc("R", {32, 64});
  line().copy(part(S, {int64_t{96}, int64_t{0}}, {int64_t{64}, int64_t{32}}), R,
              {{"transpose", true}});
  expectError("copy source takes elements 96 to 159 of dim 0 of 'S', but the dim has 128 elements");
}

TEST_F(TilesTest, OptionsKeepOffTheOpsOwnNames) {
  launch();
  Buffer S = alloc("S", {32}), R = alloc("R", {32});
  line().copy(S, R, {{"relu", true}, {"tl.hint", int64_t{3}}});
  expectError("T.copy has no option 'relu'");
}

TEST_F(TilesTest, OptionsMayHaveDots) {
  launch();
  Buffer S = alloc("S", {32}), R = alloc("R", {32});
  line().copy(S, R, {{"tl.hint", int64_t{3}}});
  EXPECT_THAT(finishedText(), HasSubstr("tl_hint = 3 : i64"));
}

TEST_F(TilesTest, RefusesToTransposeOneDim) {
  launch();
  Buffer S = alloc("S", {32}), R = alloc("R", {32});
  line().copy(S, R, {{"transpose", true}});
  expectError("a transposing copy needs a source of at least 2 dims, but 'S' has 1");
}

TEST_F(TilesTest, RefusesToTransposeToAnotherShape) {
  launch();
  Buffer S = alloc("S", {16, 64}), R = alloc("R", {16, 64});
  line().copy(S, R, {{"transpose", true}});
  expectError("transpose of whole buffers: 'S', transposed, is (64, 16) but 'R' is (16, 64)");
}

TEST_F(TilesTest, RefusesToTransposeToAPartOfAnotherShape) {
  launch();
  Buffer S = alloc("S", {16, 64}), R = alloc("R", {16, 64});
  line().copy(part(S, {int64_t{0}, int64_t{0}}, {int64_t{16}, int64_t{64}}), R,
              {{"transpose", true}});
  expectError("transposed source has 64 rows but destination has 16");
}

TEST_F(TilesTest, RefusesExtentsThatDisagree) {
  Buffer A = tensor("A", {int64_t{256}, int64_t{32}});
  launch();
  Buffer S = alloc("S", {64, 32});
  line().copy(part(A, {int64_t{0}, int64_t{0}}, {int64_t{32}, int64_t{32}}), S);
  EXPECT_THAT(notes(), ElementsAre("kernel.py:2:5: 'A' was declared here",
                                   "kernel.py:4:5: 'S' was allocated here"));
  expectError("copy source has 32 rows but destination has 64");
}

TEST_F(TilesTest, TheSideNearerToTheThreadsSaysHowMuchIsCopied) {
  Buffer A = tensor("A", {int64_t{256}, int64_t{32}});
  launch();
  Buffer S = alloc("S", {64, 32});
  line().copy(part(A, {int64_t{0}, int64_t{0}}, {int64_t{128}, int64_t{32}}), S);
  line().copy(S, part(A, {int64_t{8}, int64_t{0}}, {int64_t{200}, int64_t{32}}));
  EXPECT_THAT(messages(),
              ElementsAre("copy source has 128 rows but destination has 64, so 64 are copied",
                          "copy source has 64 rows but destination has 200, so 64 are copied"));
  EXPECT_FALSE(line().hasErrors());
  const std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("tile.copy %arg0[0, 0] [64, 32]"));
  EXPECT_THAT(text, HasSubstr("to %arg0[8, 0] [64, 32]"));
}

TEST_F(TilesTest, NamesColumnsAndOtherDims) {
  Buffer A = tensor("A", {int64_t{8}, int64_t{64}, int64_t{64}});
  launch();
  Buffer S = alloc("S", {4, 64, 32}), R = alloc("R", {16}), Q = alloc("Q", {32});
  line().copy(part(A, {int64_t{0}, int64_t{0}, int64_t{0}}, {int64_t{4}, int64_t{64}, int64_t{16}}),
              S);
  line().copy(part(A, {int64_t{0}, int64_t{0}, int64_t{0}}, {int64_t{2}, int64_t{64}, int64_t{32}}),
              S);
  line().copy(part(Q, {int64_t{0}}, {int64_t{32}}), R);
  EXPECT_THAT(messages(), ElementsAre("copy source has 16 columns but destination has 32",
                                      "copy source has 2 elements in dim 0 but destination has 4",
                                      "copy source has 32 elements but destination has 16"));
}

TEST_F(TilesTest, RefusesWholeBuffersOfDifferentShapes) {
  Value M = line().symbol("M", dt("int32"));
  Buffer A = tensor("A", {M, int64_t{32}});
  launch();
  Buffer S = alloc("S", {64, 32});
  line().copy(A, S);
  expectError("copy of whole buffers of different shapes: 'A' is (M, 32) but 'S' is (64, 32)");
}

TEST_F(TilesTest, NamesThePartThatWasMeant) {
  launch();
  Buffer segment = alloc("S", {208}), row = alloc("R", {1, 208}), column = alloc("Q", {208, 1}),
         half = alloc("H", {104}), tile = alloc("U", {8, 208}), other = alloc("V", {8, 100}),
         wide = alloc("W", {4, 300});
  line().copy(segment, row);
  line().copy(column, segment);
  line().copy(segment, half);
  line().copy(other, tile);
  line().copy(wide, tile); // neither holds the other
  line().copy(half, row);
  line().copy(segment, tile);
  const std::string begin = "copy of whole buffers of different shapes: ";
  const std::string meant = "; name the part that is meant: ";
  EXPECT_THAT(messages(),
              ElementsAre(begin + "'S' is (208) but 'R' is (1, 208)" + meant + "R[0, 0:208]",
                          begin + "'Q' is (208, 1) but 'S' is (208)" + meant + "Q[0:208, 0]",
                          begin + "'S' is (208) but 'H' is (104)" + meant + "S[0:104]",
                          begin + "'V' is (8, 100) but 'U' is (8, 208)" + meant + "U[0:8, 0:100]",
                          begin + "'W' is (4, 300) but 'U' is (8, 208)",
                          begin + "'H' is (104) but 'R' is (1, 208)",
                          begin + "'S' is (208) but 'U' is (8, 208)" + meant + "U[0, 0:208]"));
}

TEST_F(TilesTest, WholeBuffersOfTheSameSymbolsAgree) {
  Value M = line().symbol("M", dt("int32"));
  Buffer A = tensor("A", {M, int64_t{32}}), C = tensor("C", {M, int64_t{32}}, "float16");
  launch();
  line().copy(A, C);
  EXPECT_THAT(finishedText(), HasSubstr("%arg0[0, 0] [%arg2, 32]"));
}

TEST_F(TilesTest, RefusesDimsWithNoCounterpart) {
  Buffer A = tensor("A", {int64_t{64}, int64_t{32}});
  launch();
  Buffer S = alloc("S", {2, 64, 32});
  line().copy(element(A, {int64_t{0}, int64_t{0}}), S);
  expectError(
      "copy between (2, 64, 32) elements of 'S' and 'A', which has 2 dims: dim 0 of the first has "
      "nothing to go with");
}

TEST_F(TilesTest, NamesTheExtentsThatWereGiven) {
  Buffer A = tensor("A", {int64_t{2}, int64_t{4}, int64_t{5}, int64_t{16}});
  launch();
  Buffer S = alloc("S", {8, 16});
  line().copy(part(A, {int64_t{0}, int64_t{0}, int64_t{2}, int64_t{0}},
                   {int64_t{2}, int64_t{4}, int64_t{1}, int64_t{16}}),
              S);
  expectError("copy between (2, 4, 1, 16) elements of 'A' and 'S', which has 2 dims: dim 0 of the "
              "first has nothing to go with");
}

TEST_F(TilesTest, RefusesRegionsBeyondAnOnChipBuffer) {
  Buffer A = tensor("A", {int64_t{64}, int64_t{32}});
  launch();
  Buffer S = alloc("S", {64, 32});
  line().copy(element(A, {int64_t{0}, int64_t{0}}),
              part(S, {int64_t{32}, int64_t{0}}, {int64_t{64}, int64_t{32}}));
  line().copy(part(A, {int64_t{0}, int64_t{0}}, {int64_t{64}, int64_t{32}}),
              element(S, {int64_t{8}, int64_t{0}}));
  line().fill(part(S, {int64_t{0}, int64_t{0}}, {int64_t{-1}, int64_t{32}}), b.constant(0.0));
  EXPECT_THAT(
      messages(),
      ElementsAre(
          "copy destination takes elements 32 to 95 of dim 0 of 'S', but the dim has 64 elements",
          "copy destination takes elements 8 to 71 of dim 0 of 'S', but the dim has 64 elements",
          "fill has extent -1 in dim 0 of 'S', but it cannot be negative"));
}

TEST_F(TilesTest, RefusesRegionsThatLeaveTheBufferInSomeIteration) {
  Buffer A = tensor("A", {int64_t{256}, int64_t{32}});
  launch();
  Buffer S = alloc("S", {64, 32});
  Value k = line().beginFor(LoopKind::Serial, int64_t{0}, int64_t{5}, int64_t{1}, "k");
  Value row = line().binary("mul", k, b.constant(int64_t{14}));
  line().copy(element(A, {row, int64_t{0}}),
              part(S, {row, int64_t{0}}, {int64_t{16}, int64_t{32}}));
  b.endFor();
  EXPECT_THAT(messages(),
              ElementsAre("index 0 of 'S' goes from 0 to 71, but the dim has 64 elements"));
}

TEST_F(TilesTest, TileOperationsStandOutsideOfParallel) {
  launch();
  Buffer S = alloc("S", {8}), R = alloc("R", {8});
  std::vector<Index> extents{int64_t{8}};
  line().beginParallel(extents, {});
  line().copy(S, R);
  b.endParallel();
  EXPECT_THAT(notes(), ElementsAre("kernel.py:5:5: T.Parallel is here"));
  expectError("T.copy stands inside of T.Parallel, which holds code on single elements only");
}

TEST_F(TilesTest, MessagesNameTheCallThatFills) {
  launch();
  Buffer S = alloc("S", {8});
  std::vector<Index> extents{int64_t{8}};
  line().beginParallel(extents, {});
  line().fill(S, b.constant(0.0), "T.clear");
  b.endParallel();
  expectError("T.clear stands inside of T.Parallel, which holds code on single elements only");
}

TEST_F(TilesTest, AThreadsArrayIsFilledInsideOfParallel) {
  launch();
  Buffer S = alloc("S", {2, 8}, "local");
  std::vector<Index> extents{int64_t{8}};
  line().beginParallel(extents, {});
  line().fill(part(S, {int64_t{1}, int64_t{0}}, {int64_t{1}, int64_t{8}}), b.constant(2.0));
  b.endParallel();
  std::string text = finishedText();
  EXPECT_THAT(text, Not(HasSubstr("tile.fill")));
  EXPECT_THAT(text, HasSubstr("tile.store"));
}

TEST_F(TilesTest, FillsConvert) {
  launch();
  Buffer S = alloc("S", {8}, "fragment", "float16");
  line().fill(S, b.constant(int64_t{0}));
  line().fill(element(S, {int64_t{2}}), b.constant(1.0));
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("with %cst : f16"));
  EXPECT_THAT(text, HasSubstr("tile.store"));
}

// Atomics

TEST_F(TilesTest, AtomicsOfTiles) {
  Buffer A = tensor("A", {int64_t{64}, int64_t{64}});
  auto ids = launch();
  Buffer S = alloc("S", {16, 32}, "fragment");
  line().atomicTile("add", element(A, {ids[0], int64_t{0}}), S);
  EXPECT_TRUE(messages().empty());
  line().atomicTile("xor", element(A, {ids[0], int64_t{0}}), S);
  EXPECT_THAT(messages(), ElementsAre("there is no atomic_xor of tiles: it is add, max or min"));
}

} // namespace
} // namespace tilewright
