// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GemmsTest : public KernelTest {
protected:
  static Region part(Buffer buffer, std::vector<Index> offsets, std::vector<Index> extents) {
    return {buffer, std::move(offsets), std::move(extents), {}};
  }
};

TEST_F(GemmsTest, GemmTakesTransposedOperands) {
  launch();
  Buffer A = alloc("A", {32, 64}, "shared", "float16"),
         B = alloc("B", {16, 32}, "shared", "float16"),
         C = alloc("C", {64, 16}, "fragment", "float32");
  Value n = line().cast(b.threadBinding(0), dt("int32"));
  line().gemm(A, B, C, true, true, n, {{"policy", int64_t{1}}, {"k_pack", int64_t{1}}});
  line().gemm(A, B, C, true, true, int64_t{1});
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("transpose_a"));
  EXPECT_THAT(text, HasSubstr("transpose_b"));
  EXPECT_THAT(text, HasSubstr("clear(%"));
  EXPECT_THAT(text, HasSubstr("clear_accum"));
  EXPECT_THAT(text, HasSubstr("full_row"));
}

TEST_F(GemmsTest, GemmTellsEachDimThatDisagrees) {
  launch();
  Buffer A = alloc("A", {64, 32}, "shared", "float16"),
         B = alloc("B", {16, 64}, "shared", "float16"),
         C = alloc("C", {32, 32}, "fragment", "float32");
  line().gemm(A, B, C, false, false);
  EXPECT_THAT(messages(), ElementsAre("gemm K disagrees: it is 32 in A, 'A', but 16 in B, 'B'",
                                      "gemm M disagrees: it is 64 in A, 'A', but 32 in C, 'C'",
                                      "gemm N disagrees: it is 64 in B, 'B', but 32 in C, 'C'"));
  EXPECT_THAT(notes(), ElementsAre("kernel.py:3:5: 'A' was allocated here",
                                   "kernel.py:4:5: 'B' was allocated here"));
}

TEST_F(GemmsTest, NotesOfOneBufferStandOnce) {
  launch();
  Buffer A = alloc("A", {64, 32}), C = alloc("C", {64, 32}, "fragment", "float32");
  line().gemm(A, A, C, false, false);
  EXPECT_THAT(messages(), ElementsAre("gemm K disagrees: it is 32 in A, 'A', but 64 in B, 'A'"));
  EXPECT_THAT(notes(), ElementsAre("kernel.py:3:5: 'A' was allocated here"));
}

TEST_F(GemmsTest, GemmRefusesAResultThatIsAnOperand) {
  launch();
  Buffer S = alloc("S", {64, 32}, "shared", "float32"),
         R = alloc("R", {32, 32}, "shared", "float32");
  const auto rows = [&](Index first) {
    return Region{S, {first, int64_t{0}}, {int64_t{32}, int64_t{32}}, {}};
  };
  line().gemm(rows(int64_t{0}), R, rows(int64_t{32}), false, false); // side by side
  line().gemm(R, R, R, false, false);
  line().gemm(R, rows(int64_t{16}), rows(int64_t{32}), false, false);
  EXPECT_THAT(
      messages(),
      ElementsAre("gemm C, 'R', has elements of A, which would change while they are read; give "
                  "it a tile of its own",
                  "gemm C, 'S', has elements of B, which would change while they are read; give "
                  "it a tile of its own"));
}

TEST_F(GemmsTest, GemmRefusesAResultThatIsAViewOfAnOperand) {
  launch();
  Buffer S = alloc("S", {64, 32}, "shared", "float32"),
         R = alloc("R", {32, 32}, "shared", "float32");
  const std::vector<Index> halves = {int64_t{2}, int64_t{32}, int64_t{32}};
  Buffer V = line().view(S, halves, Dtype::float32());
  const auto half = [&](Index which) {
    return Region{V, {which, int64_t{0}, int64_t{0}}, {int64_t{1}, int64_t{32}, int64_t{32}}, {}};
  };
  const Region rows{S, {int64_t{32}, int64_t{0}}, {int64_t{32}, int64_t{32}}, {}};
  line().gemm(half(int64_t{0}), R, rows, false, false); // side by side
  line().gemm(half(int64_t{1}), R, rows, false, false);
  EXPECT_THAT(messages(), ElementsAre("gemm C, 'S', has elements of A, which would change while "
                                      "they are read; give it a tile of its own"));
}

TEST_F(GemmsTest, GemmTellsDtypesThatDisagree) {
  launch();
  Buffer A = alloc("A", {8, 8}, "shared", "float16"), B = alloc("B", {8, 8}, "shared", "float32"),
         C = alloc("C", {8, 8}, "fragment", "float32"), I = alloc("I", {8, 8}, "fragment", "int32"),
         H = alloc("H", {8, 8}, "fragment", "float16"), J = alloc("J", {8, 8}, "shared", "int8"),
         L = alloc("L", {8, 8}, "shared", "bool");
  line().gemm(A, B, C, false, false);
  line().gemm(A, A, I, false, false);
  line().gemm(B, B, H, false, false);
  line().gemm(J, J, H, false, false);
  line().gemm(L, L, I, false, false);
  line().gemm(A, A, H, false, false);
  line().gemm(J, J, I, false, false);
  line().gemm(A, B, I, false, false); // both at once
  line().gemm(A, B, H, false, false); // C may be right for A
  EXPECT_THAT(
      messages(),
      ElementsAre(
          "gemm operands have different dtypes: A, 'A', is float16 but B, 'B', is float32",
          "gemm of float16 accumulates in a float dtype that is as wide, but C, 'I', is int32",
          "gemm of float32 accumulates in a float dtype that is as wide, but C, 'H', is float16",
          "gemm of int8 accumulates in int32, but C, 'H', is float16",
          "gemm does not multiply bools: A, 'L', is bool",
          "gemm operands have different dtypes: A, 'A', is float16 but B, 'B', is float32",
          "gemm of float16 accumulates in a float dtype that is as wide, but C, 'I', is int32",
          "gemm operands have different dtypes: A, 'A', is float16 but B, 'B', is float32"));
}

TEST_F(GemmsTest, GemmWantsMatricesOnTheChip) {
  Buffer G = tensor("G", {int64_t{8}, int64_t{8}}, "float16");
  launch();
  Buffer A = alloc("A", {8, 8}, "shared", "float16"), V = alloc("V", {8}, "shared", "float16"),
         T = alloc("T", {2, 8, 8}, "shared", "float16"),
         C = alloc("C", {8, 8}, "fragment", "float32");
  line().gemm(G, A, C, false, false);
  line().gemm(V, A, C, false, false);
  line().gemm(T, A, C, false, false);
  line().gemm(part(T, {int64_t{1}, int64_t{0}, int64_t{0}}, {int64_t{1}, int64_t{8}, int64_t{8}}),
              A, C, false, false);
  line().gemm(A, A, C, false, false, int64_t{0}, {{"policy", int64_t{7}}});
  EXPECT_THAT(
      messages(),
      ElementsAre("gemm works on tiles, but 'G' is in global memory; copy it to a T.alloc_shared "
                  "or T.alloc_fragment buffer first",
                  "gemm needs matrices, but A, 'V', has 1 dim",
                  "gemm needs matrices, but A, 'T', has extents (2, 8, 8); those before the last "
                  "two must be 1",
                  "a gemm's policy is GemmWarpPolicy.Square, FullRow or FullCol"));
}

} // namespace
} // namespace tilewright
