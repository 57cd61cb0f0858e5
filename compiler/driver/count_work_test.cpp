// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/gemm_text.h"
#include "tilewright/work.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

Work count(const std::string& text, const std::vector<std::optional<int64_t>>& arguments) {
  std::string error;
  std::optional<Work> work = countWork(text, arguments, error);
  EXPECT_TRUE(work) << error;
  return work.value_or(Work{});
}

/// A kernel over X and Y of `n` (a symbol) floats, with this body in a launch of 4 blocks.
std::string kernelText(const std::string& body) {
  return R"(func.func @k(%X: !tile.buffer<?xf32, global> {tile.name = "X", tile.shape = affine_map<()[s0] -> (s0)>},
                         %Y: !tile.buffer<?xf32, global> {tile.name = "Y", tile.shape = affine_map<()[s0] -> (s0)>},
                         %limit: i32 {tile.name = "limit"}, %n: index {tile.symbol = "n"}) attributes {tile.kernel} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %one = arith.constant 1.0 : f32
    tile.launch (%b) in (%c4) threads(32) {
)" + body +
         "    }\n  return\n}\n";
}

TEST(CountWork, AGemmIsTwoOperationsPerProduct) {
  Work work = count(gemmText({128, 96, 64}, {32, 32, 16}, "bf16", "bf16"), {{}, {}, {}, {}});
  // The product, and a multiplication and a maximum per element of C.
  EXPECT_EQ(work.bfloat16Flops, 2.0 * 128 * 96 * 64);
  EXPECT_EQ(work.flops, 2.0 * 128 * 96 * 64 + 2.0 * 128 * 96);
  EXPECT_FALSE(work.isUpperBound);
  EXPECT_EQ(work.isRead, (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(work.isWritten, (std::vector<bool>{false, false, true, false}));
}

TEST(CountWork, LaunchesAddUp) {
  const char* const add = R"(
      %x = tile.load %X[%b] : !tile.buffer<?xf32, global>
      %y = arith.addf %x, %one : f32
      tile.store %y, %Y[%b] : !tile.buffer<?xf32, global>
)";
  // The first is done by 4 blocks; the second, which knows its threads, by each of 8 of 3 blocks.
  const std::string two = std::string(add) + "    }\n    %c3 = arith.constant 3 : index\n" +
                          "    tile.launch (%b) in (%c3) threads(8) {\n" +
                          "      %t = tile.thread_id 0\n" + add;
  EXPECT_EQ(count(kernelText(two), {{}, {}, {}, 10}).flops, 4 + 8 * 3);
}

const char* const addInLoop = R"(
      tile.for %i = %c0 to %END step %c1 {
        %x = tile.load %X[%i] : !tile.buffer<?xf32, global>
        %y = arith.addf %x, %one : f32
        tile.store %y, %Y[%i] : !tile.buffer<?xf32, global>
      }
)";

std::string withEnd(const std::string& end) {
  std::string text = addInLoop;
  return text.replace(text.find("%END"), 4, end);
}

TEST(CountWork, SymbolsGiveTheLengthOfLoops) {
  EXPECT_EQ(count(kernelText(withEnd("%n")), {{}, {}, {}, 10}).flops, 40);
  EXPECT_EQ(count(kernelText(withEnd("%n")), {{}, {}, {}, {}}).flops, std::nullopt);
}

TEST(CountWork, LoopsThatDependOnTheBlockAreWalked) {
  // 0 + 1 + 2 + 3 turns.
  EXPECT_EQ(count(kernelText(withEnd("%b")), {{}, {}, {}, 10}).flops, 6);
}

TEST(CountWork, BranchesOnIntegersAreDecided) {
  std::string body = R"(
      %isFirst = arith.cmpi eq, %b, %c0 : index
      scf.if %isFirst {
)" + withEnd("%n") + "      }\n";
  Work work = count(kernelText(body), {{}, {}, {}, 10});
  EXPECT_EQ(work.flops, 10);
  EXPECT_FALSE(work.isUpperBound);
}

TEST(CountWork, BranchesOnDataCountAsTheirLargerSide) {
  std::string body = R"(
      %first = tile.load %X[%c0] : !tile.buffer<?xf32, global>
      %isOne = arith.cmpf oeq, %first, %one : f32
      scf.if %isOne {
)" + withEnd("%n") + "      }\n";
  Work work = count(kernelText(body), {{}, {}, {}, 10});
  EXPECT_EQ(work.flops, 40);
  EXPECT_TRUE(work.isUpperBound);
}

TEST(CountWork, LoopsOnDataAreNotCounted) {
  std::string body = R"(
      %first = tile.load %X[%c0] : !tile.buffer<?xf32, global>
      %whole = arith.fptosi %first : f32 to i32
      %end = arith.index_cast %whole : i32 to index
)" + withEnd("%end");
  EXPECT_EQ(count(kernelText(body), {{}, {}, {}, 10}).flops, std::nullopt);
}

TEST(CountWork, WrongTextIsAnError) {
  std::string error;
  EXPECT_FALSE(countWork("func.func @", {}, error));
  EXPECT_FALSE(error.empty());
  EXPECT_FALSE(countWork("module {}", {}, error));
  EXPECT_EQ(error, "the text has no kernel");
  EXPECT_FALSE(countWork(kernelText(""), {{}}, error));
  EXPECT_EQ(error, "the kernel has 4 arguments but 1 were given");
}

} // namespace
} // namespace tilewright
