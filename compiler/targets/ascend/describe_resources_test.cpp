// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/describe_resources.h"

#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/describe_hazard.h"

#include <gtest/gtest.h>
#include <mlir/Parser/Parser.h>

#include <regex>

namespace tilewright::ascend {
namespace {

using namespace mlir;

constexpr char kernelText[] = R"(
func.func @f(%A: !tile.buffer<64xf32, global>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.launch (%cid) in (%n) npu {
    %x = tile.alloc "x" at 0 : !tile.buffer<64xf32, UB> loc("k.py":3:1)
    %y = tile.alloc "y" at 256 : !tile.buffer<64xf32, UB> loc("k.py":4:1)
    %z = tile.alloc "z" at 512 : !tile.buffer<8xf32, UB> loc("k.py":4:1)
    npu.load_ub %A[0] [64] : !tile.buffer<64xf32, global> to %x[%c0] : !tile.buffer<64xf32, UB> pitch 64 loc("k.py":5:1)
    ascend.set_flag mte2 to v, %c0 {ascend.why = "exp needs what T.copy to UB writes"} loc("k.py":5:1)
    ascend.wait_flag mte2 to v, %c0 {ascend.why = "exp needs what T.copy to UB writes"} loc("k.py":6:1)
    npu.unary exp %y[%c0] : !tile.buffer<64xf32, UB>, %x[%c0] : !tile.buffer<64xf32, UB> count(%c0) loc("k.py":6:1)
    ascend.pipe_barrier v {ascend.why = "ln needs what exp writes"} loc("k.py":7:1)
    npu.unary ln %y[%c0] : !tile.buffer<64xf32, UB>, %y[%c0] : !tile.buffer<64xf32, UB> count(%c0) loc("k.py":7:1)
    ascend.set_cross_flag mte3, %c0 {ascend.why = "T.copy to L1 needs what T.copy from UB writes"} loc("k.py":8:1)
  }
  return
}
)";

class DescribeResources : public ::testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registry.insert<tile::TileDialect, AscendDialect, npu::NpuDialect, func::FuncDialect,
                    arith::ArithDialect>();
    context.appendDialectRegistry(registry);
    module = parseSourceString<ModuleOp>(kernelText, &context);
    ASSERT_TRUE(module);
    kernel = *module->getOps<func::FuncOp>().begin();
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp kernel;
  const chips::AscendChip& chip = *chips::findAscendChip("910B2");
};

TEST_F(DescribeResources, MemoryMap) {
  EXPECT_EQ(memoryMapText(kernel, chip), "UB: 544 of 196352 bytes\n"
                                         "       0 +    256  x  lines 5 to 6\n"
                                         "     256 +    256  y  lines 6 to 7\n"
                                         "     512 +     32  z  unused\n");
}

TEST_F(DescribeResources, Picture) {
  const std::string svg = memoryMapSvg(kernel, chip);
  EXPECT_EQ(svg.substr(0, 4), "<svg");
  EXPECT_NE(svg.find("<title>y: 256 bytes from 256, lines 6 to 7</title>"), std::string::npos);
}

struct Box {
  int left, upper, right, lower;
};

std::vector<Box> boxesOf(const std::string& svg, const std::regex& pattern, bool isName) {
  std::vector<Box> found;
  for (std::sregex_iterator it(svg.begin(), svg.end(), pattern), end; it != end; ++it) {
    const std::smatch& match = *it;
    const int x = std::stoi(match[1]), y = std::stoi(match[2]);
    if (isName) // the base line, and letters of 10 pixels
      found.push_back({x, y - 9, x + 6 * static_cast<int>(match.length(3)), y + 2});
    else
      found.push_back({x, y, x + std::stoi(match[3]), y + std::stoi(match[4])});
  }
  return found;
}

/// A name stands in its buffer or beside it, in the memory's frame; it crosses no buffer's edge and no name.
TEST_F(DescribeResources, NamesInThePicture) {
  // Of long names only those that have a place are there.
  const std::pair<size_t, size_t> lengths[] = {{1, 3}, {12, 3}, {60, 2}, {200, 1}};
  for (const auto& [length, written] : lengths) {
    kernel.walk([&](tile::AllocOp alloc) {
      if (alloc.getSymName() != "z")
        alloc.setSymName(std::string(length, alloc.getSymName()->front()));
    });
    const std::string svg = memoryMapSvg(kernel, chip);
    const std::vector<Box> names =
        boxesOf(svg, std::regex("<text x=\"(\\d+)\" y=\"(\\d+)\">([xyz]+)</text>"), true);
    const std::string rect = "<rect x=\"(\\d+)\" y=\"(\\d+)\" width=\"(\\d+)\" height=\"(\\d+)\" ";
    const std::vector<Box> buffers = boxesOf(svg, std::regex(rect + "fill=\"#9ecae1\""), false);
    const std::vector<Box> frames = boxesOf(svg, std::regex(rect + "fill=\"none\""), false);
    ASSERT_EQ(frames.size(), 1U);
    ASSERT_EQ(buffers.size(), 3U);
    EXPECT_EQ(names.size(), written) << length;
    const auto isWithin = [](const Box& inner, const Box& outer) {
      return inner.left >= outer.left && inner.right <= outer.right && inner.upper >= outer.upper &&
             inner.lower <= outer.lower;
    };
    const auto isApart = [](const Box& one, const Box& other) {
      return one.left >= other.right || other.left >= one.right || one.upper >= other.lower ||
             other.upper >= one.lower;
    };
    for (const Box& name : names) {
      EXPECT_TRUE(isWithin(name, frames[0]));
      for (const Box& buffer : buffers)
        EXPECT_TRUE(isWithin(name, buffer) || isApart(name, buffer));
      for (const Box& other : names)
        EXPECT_TRUE(&other == &name || isApart(name, other));
    }
  }
}

constexpr char inserted[] =
    "line 5: flag from mte2 to v, exp needs what T.copy to UB writes\n"
    "line 7: barrier of v, ln needs what exp writes\n"
    "line 8: cross-core flag on mte3, T.copy to L1 needs what T.copy from UB writes\n";

TEST_F(DescribeResources, Waits) {
  EXPECT_EQ(insertedWaitsText(kernel, kernel), inserted);
}

/// What an operation brings along is told from what the kernel says itself.
TEST_F(DescribeResources, WaitsOfParts) {
  OwningOpRef<ModuleOp> lowered = module->clone();
  func::FuncOp written = kernel;
  const auto add = [&](func::FuncOp to, unsigned line, Pipe pipe) {
    tile::LaunchOp launch = *to.getOps<tile::LaunchOp>().begin();
    OpBuilder builder(launch.getBodyBlock()->getTerminator());
    PipeBarrierOp::create(builder, FileLineColLoc::get(&context, "k.py", line, 1), pipe);
  };
  func::FuncOp made = *lowered->getOps<func::FuncOp>().begin();
  add(written, 9, Pipe::V);
  add(made, 9, Pipe::V);
  for (int part = 0; part < 3; ++part)
    add(made, 10, Pipe::M);
  made.walk([&](SetFlagOp set) {
    OpBuilder builder(set);
    for (const unsigned line : {10U, 11U}) {
      Operation* flag = builder.clone(*set);
      flag->removeAttr(kWhyAttr);
      flag->setLoc(FileLineColLoc::get(&context, "k.py", line, 1));
    }
    return WalkResult::interrupt();
  });
  EXPECT_EQ(insertedWaitsText(made, written),
            inserted +
                std::string("line 10: 1 flag and 3 barriers, between parts of the operation "
                            "there\nline 11: 1 flag, between parts of the operation there\n"));
}

} // namespace
} // namespace tilewright::ascend
