// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AscendTest : public KernelTest {
protected:
  void launchOnNpu() {
    std::vector<Index> grid = {int64_t{4}};
    line().beginLaunch(grid, {}, {{"npu", true}});
  }
};

TEST_F(AscendTest, NoThreadHasANumber) {
  launchOnNpu();
  EXPECT_TRUE(line().threadBinding(0).isPoison());
  EXPECT_EQ(b.constantValue(b.threadBinding(1)), 0);
  expectError("in an is_npu kernel no thread has a number: each of its cores runs one; write "
              "T.Parallel over the elements, or tell the vector cores apart by vid, `with "
              "T.Kernel(blocks, is_npu=True) as (cid, vid):`");
}

TEST_F(AscendTest, ScopesFlagsAndAddresses) {
  Buffer a = tensor("A", {int64_t{64}, int64_t{64}}, "float16");
  launchOnNpu();
  Buffer tile = alloc("tile", {64, 64}, "L1", "float16");
  line().annotateAddress(tile, 512);
  Value vid = line().vectorId();
  line().beginScope("C");
  line().copy(a, tile);
  line().setFlag("MTE2", "PIPE_MTE1", int64_t{1});
  line().waitFlag("mte2", "mte1", vid);
  line().pipeBarrier("ALL");
  line().setCrossFlag("fix", int64_t{3}, 1);
  line().waitCrossFlag(int64_t{3}, "");
  line().endScope();
  line().syncAll();
  std::string text = finishedText();
  for (const char* expected :
       {"at 512", "ascend.scope cube", "ascend.set_flag mte2 to mte1, %c1",
        "ascend.wait_flag mte2 to mte1, %1", "ascend.pipe_barrier all",
        "ascend.set_cross_flag fix, %c3 mode 1", "ascend.wait_cross_flag %c3", "ascend.sync_all"})
    EXPECT_THAT(text, HasSubstr(expected));
}

TEST_F(AscendTest, TwoAddressesOfOneTile) {
  launchOnNpu();
  Buffer tile = alloc("tile", {64}, "L1", "float16");
  line().annotateAddress(tile, 512);
  line().annotateAddress(tile, 512);
  line().annotateAddress(tile, 1024);
  expectError("T.annotate_address gives 'tile' the address 1024, but it has been given 512");
}

TEST_F(AscendTest, MoreIsPrintedThanThereIs) {
  launchOnNpu();
  Buffer tile = alloc("tile", {4, 16}, "UB", "float16");
  line().print(tile, "7", {{"count", int64_t{64}}}, "T.dump_tensor");
  line().print(tile, "7", {{"count", int64_t{65}}}, "T.dump_tensor");
  expectError("T.dump_tensor prints 65 elements, but 'tile' has 64");
}

TEST_F(AscendTest, ScaleOfIntegers) {
  Buffer out = tensor("C", {int64_t{16}, int64_t{16}}, "float16");
  launchOnNpu();
  Buffer sums = alloc("sums", {16, 16}, "L0C", "int32");
  line().copy(sums, out);
  line().setDeqScale(b.constant(0.5));
  line().copy(sums, out);
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("scale(%cst : f32)"));
  EXPECT_EQ(text.find("scale("), text.rfind("scale("));
}

TEST_F(AscendTest, ScaleOfALoopThatHasEnded) {
  Buffer out = tensor("C", {int64_t{16}, int64_t{16}}, "float16");
  launchOnNpu();
  Buffer sums = alloc("sums", {16, 16}, "L0C", "int32");
  Value i = line().beginFor(LoopKind::Serial, int64_t{0}, int64_t{4}, int64_t{1}, "i");
  line().setDeqScale(line().cast(i, Dtype::float32()));
  line().endFor();
  line().copy(sums, out);
  expectError("the scale of this copy is a value of a loop or branch that has ended; call "
              "T.set_deq_scale here");
}

TEST_F(AscendTest, NeedsAnNpu) {
  launch();
  line().syncAll();
  expectError("T.sync_all needs T.Kernel with is_npu=True");
  EXPECT_THAT(notes(), ElementsAre("kernel.py:2:5: T.Kernel is here"));
}

TEST_F(AscendTest, MemoriesNeedAnNpu) {
  launch();
  alloc("tile", {64}, "UB");
  expectError("an allocation in UB needs T.Kernel with is_npu=True");
}

TEST_F(AscendTest, UnknownPipe) {
  launchOnNpu();
  line().pipeBarrier("mte4");
  expectError(
      "there is no pipe 'mte4': it is s, v, m, mte1, mte2, mte3, fix or, for a barrier, all");
}

TEST_F(AscendTest, FlagOfAllPipes) {
  launchOnNpu();
  line().setFlag("all", "v", int64_t{0});
  expectError("T.set_flag is between two single pipes, not all");
}

TEST_F(AscendTest, FlagOfOnePipe) {
  launchOnNpu();
  line().waitFlag("v", "V", int64_t{0});
  expectError("T.wait_flag has pipe 'v' on both sides; use T.pipe_barrier");
}

TEST_F(AscendTest, EventOutOfRange) {
  launchOnNpu();
  line().setFlag("mte2", "v", int64_t{8});
  expectError("the event of T.set_flag is 8, but the numbers are 0 to 7");
}

TEST_F(AscendTest, EventOfManyOutOfRange) {
  launchOnNpu();
  line().setFlag("mte2", "v", int64_t{8}, "T.init_flag");
  expectError("the event of T.init_flag is 8, but the numbers are 0 to 7");
}

TEST_F(AscendTest, CrossFlagOnAllPipes) {
  launchOnNpu();
  line().setCrossFlag("all", int64_t{0}, 2);
  expectError("T.set_cross_flag is queued on a single pipe, not all");
}

TEST_F(AscendTest, ModeOutOfRange) {
  launchOnNpu();
  line().setCrossFlag("fix", int64_t{0}, 3);
  expectError("the mode of T.set_cross_flag is 3, but it must be 0, 1 or 2");
}

TEST_F(AscendTest, AddressOfATensor) {
  Buffer a = tensor("A", {int64_t{4}});
  launchOnNpu();
  line().annotateAddress(a, 0);
  expectError("T.annotate_address needs an allocation on the chip, but 'A' is none");
}

TEST_F(AscendTest, MisalignedAddress) {
  launchOnNpu();
  Buffer tile = alloc("tile", {64}, "UB");
  line().annotateAddress(tile, 40);
  line().annotateAddress(tile, -32);
  EXPECT_THAT(
      messages(),
      ElementsAre("the address of 'tile' is 40, but it must be a multiple of 32 bytes",
                  "the address of 'tile' is -32, but it must be 0 or a positive multiple of "
                  "32 bytes"));
}

TEST_F(AscendTest, UnknownScope) {
  launchOnNpu();
  line().beginScope("A");
  EXPECT_THAT(messages(), ElementsAre("T.Scope is \"C\" or \"V\", not 'A'"));
  b.endScope();
  EXPECT_EQ(finish(), nullptr);
}

TEST_F(AscendTest, ScopeInAScope) {
  launchOnNpu();
  line().beginScope("C");
  line().beginScope("V");
  EXPECT_THAT(messages(), ElementsAre("T.Scope stands inside of another T.Scope"));
  EXPECT_THAT(notes(), ElementsAre("kernel.py:3:5: the other T.Scope is here"));
}

TEST_F(AscendTest, PartThatLeavesItsTileInSomeTurnInsideOfAScope) {
  launchOnNpu();
  Buffer slots = alloc("slots", {2, 32, 64}, "L1", "float16");
  Buffer left = alloc("left", {32, 16}, "L0A", "float16");
  line().beginScope("C");
  Value k = line().beginFor(LoopKind::Serial, int64_t{0}, int64_t{4}, int64_t{1}, "k");
  Value row = b.binary("mul", k, b.constant(int64_t{8}));
  line().copy(Region{slots, {int64_t{0}, row, int64_t{0}}, {}, {}}, left);
  line().copy(
      Region{slots, {int64_t{0}, int64_t{0}, b.binary("mul", row, b.constant(int64_t{2}))}, {}, {}},
      left);
  b.endFor();
  b.endScope();
  EXPECT_THAT(messages(),
              ElementsAre("index 1 of 'slots' goes from 0 to 55, but the dim has 32 elements"));
}

TEST_F(AscendTest, BreakOutOfAScope) {
  launchOnNpu();
  line().beginFor(LoopKind::Serial, int64_t{0}, int64_t{4}, int64_t{1}, "i");
  line().beginScope("V");
  line().breakLoop();
  EXPECT_THAT(messages(), ElementsAre("'break' leaves a loop from inside of T.Scope"));
}

TEST_F(AscendTest, RouteThatDoesNotExist) {
  Buffer a = tensor("A", {int64_t{16}, int64_t{16}}, "float16");
  launchOnNpu();
  Buffer l0 = alloc("a_l0", {16, 16}, "L0A", "float16");
  line().copy(a, l0);
  expectError("there is no copy from 'A' in global memory to 'a_l0' in L0A; it goes through L1");
}

TEST_F(AscendTest, RoutesFromWhereAProductLies) {
  launchOnNpu();
  Buffer a = alloc("a", {16, 16}, "L0A"), b = alloc("b", {16, 16}, "L0B"),
         c = alloc("c", {16, 16}, "L0C"), l1 = alloc("l1", {16, 16}, "L1");
  line().copy(a, b);
  line().copy(c, a);
  line().copy(c, l1);
  EXPECT_THAT(
      messages(),
      ElementsAre("there is no copy from 'a' in L0A to 'b' in L0B; only gemms read L0A, and "
                  "only copies from L1 fill L0B",
                  "there is no copy from 'c' in L0C to 'a' in L0A; it goes through L1"));
}

TEST_F(AscendTest, RouteBack) {
  launchOnNpu();
  Buffer from = alloc("l1", {16, 16}, "L1"), to = alloc("ub", {16, 16}, "UB");
  line().copy(from, to);
  expectError(
      "there is no copy from 'l1' in L1 to 'ub' in UB; only gemms read L1: load a tile in UB "
      "(T.alloc_ub) instead, from where this one was");
}

TEST_F(AscendTest, RoutesThatOtherStatementsTake) {
  Buffer a = tensor("A", {int64_t{16}, int64_t{16}}), b = tensor("B", {int64_t{16}, int64_t{16}});
  launchOnNpu();
  Buffer sum = alloc("sum", {16, 16}, "L0C"), left = alloc("left", {16, 16}, "L0A");
  line().copy(a, b);
  line().copy(a, sum);
  line().copy(left, b);
  EXPECT_THAT(
      messages(),
      ElementsAre("there is no copy from 'A' in global memory to 'B' in global memory; it "
                  "goes through a tile in UB (T.alloc_ub)",
                  "there is no copy from 'A' in global memory to 'sum' in L0C; a gemm writes "
                  "it",
                  "there is no copy from 'left' in L0A to 'B' in global memory; only gemms "
                  "read it"));
}

TEST_F(AscendTest, MemoryOfTheOtherCores) {
  Buffer a = tensor("A", {int64_t{16}, int64_t{16}});
  launchOnNpu();
  Buffer ub = alloc("ub", {16, 16}, "UB"), sum = alloc("sum", {16, 16}, "L0C");
  line().beginScope("C");
  line().copy(a, ub);
  line().copy(sum, ub);
  b.endScope();
  line().beginScope("V");
  line().copy(sum, ub);
  line().copy(sum, a);
  line().compute("exp", sum, std::vector<TileArgument>{sum});
  b.endScope();
  const std::string sumIsBeyond = "'sum' is in L0C, which the vector cores of this T.Scope cannot "
                                  "reach: put this into T.Scope(\"C\")";
  EXPECT_THAT(messages(),
              ElementsAre("'ub' is in UB, which the cube core of this T.Scope cannot reach: put "
                          "this into T.Scope(\"V\")",
                          sumIsBeyond, sumIsBeyond,
                          "'sum' is in L0C, which the vector cores of this T.Scope cannot reach"));
}

} // namespace
} // namespace tilewright
