// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/parse_kernel.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tilewright;
using npu::Access;

namespace {

std::string extentOf(const Access& access) {
  if (access.region)
    return "region";
  if (access.piece) {
    const auto& [steps, rows] = *access.piece;
    return std::to_string(rows.count) + " * " + std::to_string(rows.bytes) + " by " +
           std::to_string(rows.pitch) + " of " + std::to_string(access.bytes) + ", rows of " +
           std::to_string(steps[0].second) + ", columns of " + std::to_string(steps[1].second);
  }
  if (access.rows)
    return std::to_string(access.rows->count) + " * " + std::to_string(access.rows->bytes) +
           " by " + std::to_string(access.rows->pitch);
  return ShapedType::isDynamic(access.bytes) ? "?" : std::to_string(access.bytes);
}

/// Parses one kernel and gives the accesses of its only instruction as text: "R 128", "W ?", with a `*` those
/// behind a barrier that it has inside, with "at most" those that may be less, with "2 * 64 by 96" those of two rows of 64 bytes, 96 bytes apart,
/// with "of 8192" such a piece of a tile, and the elements from one row and one column of the tile to the next.
std::vector<std::string> accessesOf(const std::string& instruction) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  DialectRegistry registry;
  ir::registerDialects(registry);
  context.appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = ir::parseKernel(
      "func.func @f(%A: !tile.buffer<64x64xf16, global>, %l1: !tile.buffer<64x64xf16, L1>,"
      " %c: !tile.buffer<64x64xf32, L0C>, %C: !tile.buffer<64x64xf32, global>,"
      " %t: !tile.buffer<256xui8, UB>, %a: !tile.buffer<64x64xf16, L0A>, %x: "
      "!tile.buffer<8x40xf32, UB>, %n: index) {\n"
      "%c0 = arith.constant 0 : index\n%c16 = arith.constant 16 : index\n" +
          instruction + "\nreturn\n}\n",
      context);
  std::vector<std::string> texts;
  EXPECT_TRUE(module);
  if (module)
    module->walk([&](npu::Instruction op) {
      SmallVector<Access> accesses;
      op.getAccesses(accesses);
      for (const Access& access : accesses)
        texts.push_back((access.isBehindBarrier ? "*" : "") +
                        std::string(access.isWrite ? "W " : "R ") +
                        (access.isAtMost ? "at most " : "") + extentOf(access));
    });
  return texts;
}

using Texts = std::vector<std::string>;
const std::string x = "%x[%c0] : !tile.buffer<8x40xf32, UB>";

TEST(NpuAccess, Counts) {
  EXPECT_EQ(accessesOf("npu.binary add " + x + ", " + x + ", " + x + " count(%c16)"),
            (Texts{"W 64", "R 64", "R 64"}));
  EXPECT_EQ(accessesOf("npu.binary mul_add_dst " + x + ", " + x + ", " + x + " count(%c16)"),
            (Texts{"R 64", "W 64", "R 64", "R 64"}));
  EXPECT_EQ(accessesOf("npu.unary exp " + x + ", " + x + " count(%n)"), (Texts{"W ?", "R ?"}));
}

TEST(NpuAccess, Repeats) {
  // A repeat begins 5 blocks on; its 12 lanes end 16 bytes into the next block, or the next but one.
  EXPECT_EQ(accessesOf("npu.unary exp " + x + ", " + x +
                       " repeat <lanes = 12, times = 4, blocks = [1, 2], strides = [5, 0]>"),
            (Texts{"W 4 * " + std::to_string(32 + 16) + " by " + std::to_string(5 * 32),
                   "R " + std::to_string(64 + 16)}));
  // One block for all lanes is read whole, though less than a block is left for the last ones.
  EXPECT_EQ(accessesOf("npu.unary exp " + x + ", " + x +
                       " repeat <lanes = 12, times = 2, blocks = [1, 0], strides = [2, 0]>"),
            (Texts{"W 2 * 48 by 64", "R 32"}));
}

TEST(NpuAccess, Calls) {
  const std::string call =
      "npu.call \"f\"(%x : !tile.buffer<8x40xf32, UB>) offsets [%c0] bytes [99] "
      "access [\"rw\"] pipe v on vector";
  EXPECT_EQ(accessesOf(call), (Texts{"R 99", "W 99"}));
  EXPECT_EQ(accessesOf(call + " {rows = array<i64: 3, 8, 40>}"),
            (Texts{"R 3 * 32 by 160", "W 3 * 32 by 160"}));
}

TEST(NpuAccess, BarriersInside) {
  const std::string scratch = " scratch %t[%c0] : !tile.buffer<256xui8, UB> of 256 size ";
  // What is folded into the scratch memory is read behind a barrier, and so is what a result is combined with.
  EXPECT_EQ(accessesOf("npu.reduce sum " + x + ", " + x + scratch + "4 x 80 pitch 80 dim 1 clear"),
            (Texts{"*W 16", "R 4 * 256 by 320", "*R 1280", "*R 256", "W 256"}));
  EXPECT_EQ(accessesOf("npu.reduce sum " + x + ", " + x + scratch + "4 x 40 pitch 40 dim 1"),
            (Texts{"*W 16", "*R 16", "R 640", "*R 256", "W 256"}));
  EXPECT_EQ(accessesOf("npu.reduce sum " + x + ", " + x + scratch + "4 x 40 pitch 40 dim 1 clear"),
            (Texts{"W 16", "R 640"}));
  // Rows of which the run tells the length may be short, and become numbers without a barrier.
  EXPECT_EQ(
      accessesOf("npu.reduce sum " + x + ", " + x + scratch +
                 "4 x 80 counts(%c16 x %n) pitch 80 dim 1 clear"),
      (Texts{"W at most 16", "R at most 4 * 256 by 320", "*R at most 1280", "*R 256", "W 256"}));
  EXPECT_EQ(accessesOf("npu.reduce sum " + x + ", " + x + scratch +
                       "4 x 80 counts(%c16 x %n) pitch 80 dim 1"),
            (Texts{"*W at most 16", "*R at most 16", "R at most 4 * 256 by 320", "*R at most 1280",
                   "*R 256", "W 256"}));
  // What lies too far apart for one instruction is gathered in the scratch memory first.
  EXPECT_EQ(
      accessesOf("npu.reduce sum " + x + ", " + x + scratch + "4 x 40 pitch 2048 dim 1 clear"),
      (Texts{"*W 16", "R 4 * 160 by 8192", "*R 256", "W 256"}));
  EXPECT_EQ(accessesOf("npu.reduce sum " + x + ", " + x + scratch +
                       "4 x 40 counts(%n x %c16) pitch 2048 dim 1 clear"),
            (Texts{"W at most 16", "R at most 4 * 160 by 8192", "*R 256", "W 256"}));
  // Columns are combined row by row, the first two at once.
  EXPECT_EQ(accessesOf("npu.reduce sum " + x + ", " + x + scratch + "4 x 40 pitch 40 dim 0 clear"),
            (Texts{"W 160", "*R 160", "*W 160", "R 320", "*R 640"}));
  EXPECT_EQ(accessesOf("npu.reduce sum " + x + ", " + x + scratch + "2 x 40 pitch 40 dim 0 clear"),
            (Texts{"W 160", "R 320"}));
  EXPECT_EQ(accessesOf("npu.reduce sum " + x + ", " + x + scratch + "2 x 40 pitch 40 dim 0"),
            (Texts{"W 160", "R 160", "*R 160", "*W 160", "R 160", "*R 320"}));
  EXPECT_EQ(accessesOf("npu.broadcast " + x + ", " + x + scratch + "4 x 40 pitch 40 dim 1"),
            (Texts{"*W 640", "R 32", "*R 256", "W 256"}));
  EXPECT_EQ(accessesOf("npu.broadcast " + x + ", " + x + scratch + "4 x 40 pitch 40 dim 0"),
            (Texts{"W 640", "R 160"}));
  // Numbers become blocks first.
  EXPECT_EQ(accessesOf("npu.row_binary mul " + x + ", " + x + ", " + x + scratch + "4 x 40"),
            (Texts{"*W 640", "*R 640", "R 32", "*R 256", "W 256"}));
}

TEST(NpuAccess, Transfers) {
  EXPECT_EQ(accessesOf("npu.load_l1 %A[0, 0] [20, 40] : !tile.buffer<64x64xf16, global> to "
                       "%l1[%c0] : !tile.buffer<64x64xf16, L1> rows 64"),
            // 3 groups of 16 columns, of each 20 of 64 rows of 32 bytes.
            (Texts{"R region", "W 3 * 640 by 2048"}));
  EXPECT_EQ(accessesOf("npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to "
                       "%C[0, 0] [20, 40] : !tile.buffer<64x64xf32, global>"),
            (Texts{"R 3 * 1280 by 4096", "W region"}));
  EXPECT_EQ(accessesOf("npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to "
                       "%C[0, 0] [%n, 40] : !tile.buffer<64x64xf32, global>"),
            (Texts{"R " + std::to_string(3 * 4096), "W region"}));
  EXPECT_EQ(accessesOf("npu.move_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to "
                       "%l1[%c0] : !tile.buffer<64x64xf16, L1> rows 32 size 20 x 48"),
            (Texts{"R 3 * 1280 by 4096", "W 3 * 640 by 1024"}));
  EXPECT_EQ(accessesOf("npu.load_l0 %l1[%c0] : !tile.buffer<64x64xf16, L1> at (%c0, %c0) to "
                       "%a[%c0] : !tile.buffer<64x64xf16, L0A> rows 64 size 32 x 16"),
            (Texts{"R 1 * 1024 by 2048 of 8192, rows of 16, columns of 64", "W 1024"}));
}

TEST(NpuAccess, TransfersOfSoManyAtMost) {
  EXPECT_EQ(accessesOf("npu.fill_l1 %l1[%c0] : !tile.buffer<64x64xf16, L1> bytes 64 only(%n)"),
            (Texts{"W at most 64"}));
  EXPECT_EQ(accessesOf("npu.load_l1 %A[0, 0] [%n, 40] : !tile.buffer<64x64xf16, global> to "
                       "%l1[%c0] : !tile.buffer<64x64xf16, L1> rows 64"),
            (Texts{"R region", "W at most 6144"}));
  EXPECT_EQ(accessesOf("npu.load_l0 %l1[%c0] : !tile.buffer<64x64xf16, L1> at (%c0, %c0) to "
                       "%a[%c0] : !tile.buffer<64x64xf16, L0A> rows 64 size 32 x 16 only(%n, %c0)"),
            (Texts{"R 1 * 1024 by 2048 of 8192, rows of 16, columns of 64", "W 1024"}));
  EXPECT_EQ(accessesOf("npu.move_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 to "
                       "%l1[%c0] : !tile.buffer<64x64xf16, L1> rows 32 size 20 x 48 only(%n, %n)"),
            (Texts{"R at most 3 * 1280 by 4096", "W at most 3 * 640 by 1024"}));
  EXPECT_EQ(accessesOf("npu.move_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 only(%n) to "
                       "%l1[%c0] : !tile.buffer<64x64xf16, L1> rows 32 size 20 x 48"),
            (Texts{"R at most 12288", "W 3 * 640 by 1024"}));
  EXPECT_EQ(accessesOf("npu.store_l0c %c[%c0] : !tile.buffer<64x64xf32, L0C> rows 64 only(%n) to "
                       "%C[0, 0] [20, 40] : !tile.buffer<64x64xf32, global>"),
            (Texts{"R at most 12288", "W region"}));
}

TEST(NpuAccess, Storage) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect>();
  Builder b(&context);
  auto type = [&](ArrayRef<int64_t> shape, Type element, tile::MemorySpace space) {
    return tile::BufferType::get(shape, element, space);
  };
  using enum tile::MemorySpace;
  EXPECT_EQ(npu::rowPitch(type({8, 10}, b.getF16Type(), UB)), 16);
  EXPECT_EQ(npu::rowPitch(type({1, 10}, b.getF16Type(), UB)), 10);
  EXPECT_EQ(npu::rowPitch(type({8, 1}, b.getF16Type(), UB)), 1);
  EXPECT_EQ(npu::storageBytes(type({8, 10}, b.getF16Type(), UB)), 8 * 32);
  EXPECT_EQ(npu::storageBytes(type({10}, b.getF16Type(), UB)), 32);
  EXPECT_EQ(npu::storageBytes(type({2, 20, 40}, b.getF16Type(), L1)), 2 * 32 * 48 * 2);
  EXPECT_EQ(npu::storageBytes(type({20, 40}, b.getF32Type(), L0C)), 32 * 48 * 4);
  EXPECT_EQ(npu::storageBytes(type({20, 40}, b.getF32Type(), L1)), 32 * 40 * 4);
}

} // namespace
