// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ControlTest : public KernelTest {
protected:
  Value loop(LoopKind kind, Index start, Index stop, Index step = int64_t{1},
             const Attributes& attributes = {}) {
    return line().beginFor(kind, start, stop, step, "k", attributes);
  }
  std::vector<Value> parallel(std::vector<Index> extents) {
    return line().beginParallel(extents, {});
  }
};

TEST_F(ControlTest, LoopsKeepTheirKindAndOptions) {
  launch();
  loop(LoopKind::Pipelined, int64_t{0}, int64_t{8}, int64_t{1},
       {{"num_stages", int64_t{2}},
        {"order", std::vector<int64_t>{0, 1}},
        {"stage", std::vector<int64_t>{0, 1}}});
  b.endFor();
  loop(LoopKind::Unroll, int64_t{0}, int64_t{4});
  b.endFor();
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("pipelined(2) attributes {order = array<i64: 0, 1>, stage = "
                              "array<i64: 0, 1>, tile.name = \"k\"}"));
  EXPECT_THAT(text, HasSubstr("step %c1 unroll"));
}

TEST_F(ControlTest, NegativeStepsCountDown) {
  launch();
  Buffer A = alloc("A", {16}, "local", "int32");
  Value k = loop(LoopKind::Serial, int64_t{10}, int64_t{0}, int64_t{-3}); // 10, 7, 4, 1
  line().store(A, std::vector<Index>{k}, b.constant(int64_t{1}));
  b.endFor();
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("= %c0 to %c4 step %c1"));
  EXPECT_THAT(text, HasSubstr("arith.addi %1, %c10"));
}

TEST_F(ControlTest, AStepMayBeKnownInTheKernelOnly) {
  Value s = line().scalar("s", dt("int32"));
  launch();
  loop(LoopKind::Serial, int64_t{0}, int64_t{8}, s);
  b.endFor();
  EXPECT_THAT(finishedText(), HasSubstr("arith.ceildivui"));
}

TEST_F(ControlTest, TurnsNearTheLimitsAreCounted) {
  const int64_t most = std::numeric_limits<int64_t>::max(), least = -most - 1;
  launch();
  loop(LoopKind::Serial, int64_t{0}, most, int64_t{1} << 62);
  b.endFor();
  loop(LoopKind::Serial, least, most, int64_t{1} << 62);
  b.endFor();
  loop(LoopKind::Serial, most, least, least);
  b.endFor();
  loop(LoopKind::Serial, int64_t{0}, most - 1,
       int64_t{2}); // the variable itself: no sum leaves 64 bits
  b.endFor();
  std::string text = finishedText();
  for (const char* range : {"= %c0 to %c2 step %c1", "= %c0 to %c4 step %c1",
                            "= %c0 to %c9223372036854775806 step %c2"})
    EXPECT_THAT(text, HasSubstr(range));
}

TEST_F(ControlTest, RefusesBadLoops) {
  Value f = line().scalar("f", dt("float32"));
  Value n = line().scalar("n", dt("int32"));
  launch();
  for (const auto& begin : std::vector<std::function<void()>>{
           [&] { loop(LoopKind::Serial, int64_t{0}, int64_t{8}, int64_t{0}); },
           [&] { loop(LoopKind::Serial, int64_t{0}, f); },
           [&] { loop(LoopKind::Vectorized, int64_t{0}, n); },
           [&] {
             loop(LoopKind::Pipelined, int64_t{0}, n, int64_t{1}, {{"num_stages", int64_t{-1}}});
           },
           [&] {
             loop(LoopKind::Pipelined, int64_t{0}, n, int64_t{1},
                  {{"order", std::vector<int64_t>{0}}, {"stage", std::vector<int64_t>{0, 1}}});
           }}) {
    begin();
    b.endFor();
  }
  EXPECT_THAT(messages(),
              ElementsAre("a loop's step is 0",
                          "a loop's stop must be an integer, but it is of dtype float32",
                          "T.vectorized needs bounds that are known while building the kernel",
                          "num_stages must be an integer of at least 0, but it is -1",
                          "T.Pipelined has 1 entries in order but 2 in stage"));
}

TEST_F(ControlTest, ABadLoopStillFindsTheErrorsInItsBody) {
  Value f = line().scalar("f", dt("float32"));
  launch();
  Value k = loop(LoopKind::Serial, int64_t{0}, f);
  EXPECT_FALSE(k.isPoison());
  alloc("A", {4}, "nowhere");
  b.endFor();
  EXPECT_EQ(messages().size(), 2U);
}

TEST_F(ControlTest, PerfectNestsOfParallelMerge) {
  launch();
  Buffer S = alloc("S", {4, 8, 2});
  auto i = parallel({int64_t{4}});
  auto jk = parallel({int64_t{8}, int64_t{2}});
  line().store(S, std::vector<Index>{i[0], jk[0], jk[1]}, i[0]);
  b.endParallel();
  b.endParallel();
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("tile.parallel (%arg1, %arg2, %arg3) in [4, 8, 2]"));
  EXPECT_EQ(text.find("tile.parallel"), text.rfind("tile.parallel"));
}

TEST_F(ControlTest, ThreeNestedParallelMerge) {
  launch();
  Buffer S = alloc("S", {4, 8, 2});
  auto i = parallel({int64_t{4}}), j = parallel({int64_t{8}}), k = parallel({int64_t{2}});
  line().store(S, std::vector<Index>{i[0], j[0], k[0]}, i[0]);
  b.endParallel();
  b.endParallel();
  b.endParallel();
  EXPECT_THAT(finishedText(), HasSubstr("tile.parallel (%arg1, %arg2, %arg3) in [4, 8, 2]"));
}

TEST_F(ControlTest, OtherNestsOfParallelAreErrors) {
  launch();
  Buffer S = alloc("S", {4, 8});
  auto i = parallel({int64_t{4}});
  line().store(S, std::vector<Index>{i[0], int64_t{0}}, i[0]);
  parallel({int64_t{8}});
  b.endParallel();
  b.endParallel();
  parallel({int64_t{4}});
  auto j = parallel({int64_t{8}});
  line().store(S, std::vector<Index>{int64_t{0}, j[0]}, j[0]);
  b.endParallel();
  line().store(S, std::vector<Index>{int64_t{0}, int64_t{0}}, b.constant(1.0));
  b.endParallel();
  i = parallel({int64_t{4}});
  parallel({b.binary("add", i[0], b.constant(int64_t{1}))});
  b.endParallel();
  b.endParallel();
  const char* nested = "a T.Parallel inside of another must be its only statement; write one "
                       "T.Parallel with all extents";
  EXPECT_EQ(messages()[0], nested);
  EXPECT_EQ(messages()[1], nested);
  EXPECT_EQ(messages()[2], nested);
  EXPECT_EQ(messages().size(), 3U);
}

TEST_F(ControlTest, InnerExtentsDoNotDependOnOuterVariables) {
  launch();
  auto i = parallel({int64_t{4}});
  parallel({i[0]});
  b.endParallel();
  b.endParallel();
  EXPECT_THAT(
      messages(),
      ElementsAre(
          "the extents of a T.Parallel inside of another cannot depend on the outer variables"));
}

TEST_F(ControlTest, RefusesBadParallel) {
  Value f = line().scalar("f", dt("float32"));
  launch();
  parallel({});
  b.endParallel();
  parallel({int64_t{-2}});
  b.endParallel();
  parallel({f});
  b.endParallel();
  parallel({int64_t{4}});
  loop(LoopKind::Pipelined, int64_t{0}, int64_t{2});
  b.endFor();
  line().barrier();
  alloc("S", {4});
  b.endParallel();
  EXPECT_THAT(
      messages(),
      ElementsAre(
          "T.Parallel needs at least one extent",
          "an extent of T.Parallel is -2, but it cannot be negative",
          "an extent of T.Parallel must be an integer, but it is of dtype float32",
          "T.Pipelined stands inside of T.Parallel, which holds code on single elements only",
          "T.sync_threads stands inside of T.Parallel, which holds code on single elements only",
          "an allocation stands inside of T.Parallel, which holds code on single elements only"));
}

TEST_F(ControlTest, ParallelHoldsSerialLoopsBranchesAndVariables) {
  launch();
  Buffer S = alloc("S", {8, 4}), out = alloc("out", {8});
  auto i = parallel({int64_t{8}});
  Buffer sum = line().allocVar(dt("float32"), b.constant(0.0), "sum");
  Value k = loop(LoopKind::Serial, int64_t{0}, int64_t{4});
  line().beginIf(b.binary("gt", i[0], k));
  line().store(sum, {}, b.binary("add", b.load(sum, {}), b.load(S, std::vector<Index>{i[0], k})));
  line().beginElse();
  line().continueLoop();
  b.endIf();
  b.endFor();
  line().store(out, std::vector<Index>{i[0]}, b.load(sum, {}));
  b.endParallel();
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("scf.if"));
  EXPECT_THAT(text, HasSubstr("tile.continue"));
}

TEST_F(ControlTest, BranchesTakeIntegersAsConditions) {
  Value n = line().scalar("n", dt("int32"));
  auto ids = launch();
  Buffer S = alloc("S", {4});
  line().beginIf(n);
  line().fill(S, b.constant(1.0));
  b.endIf();
  line().beginIf(ids[0]);
  line().fill(S, b.constant(2.0));
  line().beginElse();
  line().fill(S, b.constant(3.0));
  b.endIf();
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("arith.cmpi ne, %arg0"));
  EXPECT_THAT(text, HasSubstr("} else {"));
}

TEST_F(ControlTest, WhileLoops) {
  launch();
  Buffer v = line().allocVar(dt("int32"), b.constant(int64_t{8}), "v");
  line().beginWhile();
  Value condition = line().binary("gt", b.load(v, {}), b.constant(int64_t{0}));
  b.whileCondition(condition);
  line().store(v, {}, b.binary("sub", b.load(v, {}), b.constant(int64_t{1})));
  line().beginIf(b.binary("eq", b.load(v, {}), b.constant(int64_t{3})));
  line().breakLoop();
  b.endIf();
  b.endWhile();
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("tile.while {"));
  EXPECT_THAT(text, HasSubstr("tile.condition"));
  EXPECT_THAT(text, HasSubstr("tile.break"));
}

TEST_F(ControlTest, RefusesEndlessLoops) {
  launch();
  line().beginWhile();
  b.whileCondition(b.constant(true));
  b.endWhile();
  EXPECT_THAT(messages(), ElementsAre("the condition of this while loop is always true"));
}

TEST_F(ControlTest, EarlyExitsLeaveLoops) {
  launch();
  line().breakLoop();
  loop(LoopKind::Serial, int64_t{0}, int64_t{4});
  parallel({int64_t{4}});
  line().continueLoop();
  b.endParallel();
  b.endFor();
  EXPECT_THAT(messages(),
              ElementsAre("'break' outside of a loop",
                          "'continue' inside of T.Parallel, whose iterations have no order"));
}

TEST_F(ControlTest, UnbalancedScopesAreTold) {
  launch();
  loop(LoopKind::Serial, int64_t{0}, int64_t{4});
  b.endParallel();
  b.endLaunch();
  EXPECT_EQ(b.finish(), nullptr);
  EXPECT_THAT(messages(),
              ElementsAre("T.Parallel ends here, but the innermost open scope is the loop over 'k'",
                          "T.Kernel ends here, but the innermost open scope is the loop over 'k'",
                          "the kernel ends inside of a loop over 'k'"));
  EXPECT_EQ(b.diagnostics()[0].severity, Severity::Internal);
}

TEST_F(ControlTest, ScopesOutsideOfALaunchAreErrors) {
  loop(LoopKind::Serial, int64_t{0}, int64_t{4});
  b.endFor();
  EXPECT_THAT(messages(),
              ElementsAre("a loop stands outside of T.Kernel; a kernel's work stands in a launch, "
                          "`with T.Kernel(blocks, threads=128) as bx:`"));
}

} // namespace
} // namespace tilewright
