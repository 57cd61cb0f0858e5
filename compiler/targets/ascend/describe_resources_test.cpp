// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/describe_resources.h"

#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/passes.h"

#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Parser/Parser.h>

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
} loc("k.py":1:1)
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
  const std::string svg = memoryMapSvg({{kernel, ""}}, chip);
  EXPECT_EQ(svg.substr(0, 4), "<svg");
  EXPECT_NE(svg.find("<title>y: 256 bytes from 256, lines 6 to 7</title>"), std::string::npos);
}

/// Those that the compiler adds for an expression are told from the kernel's own.
TEST_F(DescribeResources, TemporaryBuffers) {
  kernel.walk([&](tile::AllocOp alloc) {
    if (alloc.getSymName() == "y")
      alloc->setAttr(kTemporaryAttr, UnitAttr::get(&context));
  });
  EXPECT_NE(memoryMapText(kernel, chip).find("  x  lines 5 to 6\n"), std::string::npos);
  EXPECT_NE(memoryMapText(kernel, chip).find("  y  lines 6 to 7, temporary\n"), std::string::npos);
}

/// Of another file than the kernel's, as a macro's, a place has the file's name.
TEST_F(DescribeResources, PlacesInOtherFiles) {
  const auto at = [&](const char* file, unsigned line) {
    return FileLineColLoc::get(&context, file, line, 1);
  };
  kernel->setLoc(at("/a/k.py", 1));
  SmallVector<Operation*> unary;
  kernel.walk([&](npu::UnaryOp op) { unary.push_back(op); });
  kernel.walk([&](npu::LoadUbOp op) { op->setLoc(at("/a/helpers.py", 5)); });
  unary[0]->setLoc(at("/a/k.py", 6));
  unary[1]->setLoc(at("/b/k.py", 7)); // called the same: all of its path
  EXPECT_EQ(memoryMapText(kernel, chip), "UB: 544 of 196352 bytes\n"
                                         "       0 +    256  x  helpers.py:5 to line 6\n"
                                         "     256 +    256  y  line 6 to /b/k.py:7\n"
                                         "     512 +     32  z  unused\n");
}

constexpr char inserted[] =
    "flag MTE2_V id 0: exp needs what T.copy to UB writes\n"
    "barrier of V: ln needs what exp writes\n"
    "cross-core flag 0, behind MTE3: T.copy to L1 needs what T.copy from UB writes\n";

TEST_F(DescribeResources, Waits) {
  EXPECT_EQ(insertedWaitsText(kernel, kernel), inserted);
}

/// What differs in the flag alone stays apart; the ends of one flag are one, and so are equal ones, which are counted.
TEST_F(DescribeResources, WaitsAreOneByOne) {
  kernel.walk([&](SetFlagOp set) {
    OpBuilder builder(set);
    const auto add = [&](int64_t number, int64_t event, int64_t slots) {
      auto copy = cast<SetFlagOp>(builder.clone(*set));
      Value id = arith::ConstantIndexOp::create(builder, set.getLoc(), event);
      if (slots > 1) {
        Value turn = arith::ConstantIndexOp::create(builder, set.getLoc(), slots);
        turn = arith::RemSIOp::create(builder, set.getLoc(), kernel.getArgument(1), turn);
        id = arith::AddIOp::create(builder, set.getLoc(), turn, id);
      }
      copy.getEventMutable().assign(id);
      copy->moveBefore(set);
      copy->setAttr(kWhyNumberAttr, builder.getI64IntegerAttr(number));
    };
    add(1, 3, 1); // two of one insertion, before a loop and in it
    add(1, 3, 1);
    add(2, 1, 1); // two ids, first one by one, then in turn
    add(2, 2, 1);
    add(2, 1, 2);
    add(4, 3, 1); // as 1
    return WalkResult::interrupt();
  });
  const std::string why = ": exp needs what T.copy to UB writes";
  EXPECT_EQ(insertedWaitsText(kernel, kernel), "flag MTE2_V id 3" + why +
                                                   " (2 times)\nflag MTE2_V id 1 and 2 in turn" +
                                                   why + "\n" + inserted);
}

/// In a kernel for both kinds of core each flag says whose it is.
TEST_F(DescribeResources, WaitsOfBothKindsOfCore) {
  const auto wrap = [&](Operation* op, Agent agent) {
    OpBuilder builder(op);
    auto scope = ScopeOp::create(builder, op->getLoc(), agent);
    Block& block = scope.getBody().emplaceBlock();
    op->moveBefore(&block, block.end());
  };
  kernel.walk([&](PipeBarrierOp op) { wrap(op, Agent::Vector); });
  kernel.walk([&](SetCrossFlagOp op) { wrap(op, Agent::Cube); });
  const std::string text = insertedWaitsText(kernel, kernel);
  EXPECT_NE(text.find("barrier of V on the vector cores: ln"), std::string::npos) << text;
  EXPECT_NE(text.find("cross-core flag 0 on the cube core, behind MTE3: T.copy"), std::string::npos)
      << text;
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
