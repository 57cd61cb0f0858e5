// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/parse_kernel.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tilewright;
using npu::Access;

namespace {

/// Parses one kernel and gives the accesses of its only instruction as text: "R 128", "W ?".
std::vector<std::string> accessesOf(const std::string& instruction) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  DialectRegistry registry;
  ir::registerDialects(registry);
  context.appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = ir::parseKernel(
      "func.func @f(%A: !tile.buffer<64x64xf16, global>, %l1: !tile.buffer<64x64xf16, L1>,"
      " %a: !tile.buffer<64x64xf16, L0A>, %x: !tile.buffer<8x40xf32, UB>, %n: index) {\n"
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
        texts.push_back((access.isWrite ? "W " : "R ") + (access.region ? "region"
                                                          : ShapedType::isDynamic(access.bytes)
                                                              ? "?"
                                                              : std::to_string(access.bytes)));
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
  // The last repeat begins 3 * 5 blocks on; its 12 lanes end 16 bytes into the next block but one.
  EXPECT_EQ(accessesOf("npu.unary exp " + x + ", " + x +
                       " repeat <lanes = 12, times = 4, blocks = [1, 2], strides = [5, 0]>"),
            (Texts{"W " + std::to_string(15 * 32 + 32 + 16), "R " + std::to_string(64 + 16)}));
}

TEST(NpuAccess, Calls) {
  const std::string call =
      "npu.call \"f\"(%x : !tile.buffer<8x40xf32, UB>) offsets [%c0] bytes [99] "
      "access [\"rw\"] pipe v on vector";
  EXPECT_EQ(accessesOf(call), (Texts{"R 99", "W 99"}));
  // The third row begins 80 elements on.
  EXPECT_EQ(accessesOf(call + " {rows = array<i64: 3, 8, 40>}"),
            (Texts{"R " + std::to_string((80 + 8) * 4), "W " + std::to_string((80 + 8) * 4)}));
}

TEST(NpuAccess, Transfers) {
  EXPECT_EQ(accessesOf("npu.load_l1 %A[0, 0] [20, 40] : !tile.buffer<64x64xf16, global> to "
                       "%l1[%c0] : !tile.buffer<64x64xf16, L1> rows 64"),
            // 3 groups of 16 columns; the last ends after its 20 rows of 32 bytes.
            (Texts{"R region", "W " + std::to_string((2 * 64 + 20) * 32)}));
  EXPECT_EQ(accessesOf("npu.load_l0 %l1[%c0] : !tile.buffer<64x64xf16, L1> at (%c0, %c0) to "
                       "%a[%c0] : !tile.buffer<64x64xf16, L0A> rows 64 size 32 x 16"),
            (Texts{"R " + std::to_string(64 * 64 * 2), "W 1024"})); // the whole tile
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
