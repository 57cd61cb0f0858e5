// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kAdvice =
    "a kernel's work stands in a launch, `with T.Kernel(blocks, threads=128) as bx:`";

class KernelBuilderTest : public KernelTest {
protected:
  /// The kernel of the tutorial: C = max(A @ B * scale, 0).
  void buildFusedGemm(const Index& M, const Index& N, const Index& K) {
    auto blocks = [&](const Index& extent, int64_t block) -> Index {
      if (const auto* known = std::get_if<int64_t>(&extent))
        return (*known + block - 1) / block;
      return b.binary("ceildiv", std::get<Value>(extent), b.constant(block));
    };
    Buffer A = tensor("A", {M, K}, "float16"), B = tensor("B", {K, N}, "float16"),
           C = tensor("C", {M, N}, "float16");
    Value scale = line().scalar("scale", dt("float32"));
    auto ids = launch({blocks(N, 64), blocks(M, 64)});
    Buffer aShared = alloc("A_shared", {64, 32}, "shared", "float16");
    Buffer bShared = alloc("B_shared", {32, 64}, "shared", "float16");
    Buffer cLocal = alloc("C_local", {64, 64}, "fragment", "float32");
    line().fill(cLocal, b.constant(int64_t{0}));
    Value m = line().binary("mul", ids[1], b.constant(int64_t{64}));
    Value n = line().binary("mul", ids[0], b.constant(int64_t{64}));
    Value k = line().beginFor(LoopKind::Pipelined, int64_t{0}, blocks(K, 32), int64_t{1}, "k",
                              {{"num_stages", int64_t{3}}});
    Value offset = line().binary("mul", k, b.constant(int64_t{32}));
    line().copy(Region{A, {m, offset}, {}, {}}, aShared);
    line().copy(Region{B, {offset, n}, {}, {}}, bShared);
    line().gemm(aShared, bShared, cLocal, false, false);
    b.endFor();
    std::vector<Index> extents{int64_t{64}, int64_t{64}};
    std::vector<std::string> names{"i", "j"};
    auto ij = line().beginParallel(extents, names);
    std::vector<Index> at{ij[0], ij[1]};
    Value scaled = line().binary("mul", b.load(cLocal, at), scale);
    line().store(cLocal, at, b.binary("max", scaled, b.constant(0.0, dt("float32"))));
    b.endParallel();
    line().copy(cLocal, Region{C, {m, n}, {}, {}});
  }
};

TEST_F(KernelBuilderTest, BuildsTheFusedGemm) {
  buildFusedGemm(int64_t{1000}, int64_t{1024}, int64_t{1024});
  std::string text = finishedText();
  EXPECT_THAT(
      text,
      HasSubstr(
          "func.func @kernel(%arg0: !tile.buffer<1000x1024xf16, global> {tile.name = \"A\"}"));
  EXPECT_THAT(text, HasSubstr("tile.launch (%arg4, %arg5) in (%c16, %c16) threads(128)"));
  EXPECT_THAT(text, HasSubstr("tile.alloc \"A_shared\" : !tile.buffer<64x32xf16, shared>"));
  EXPECT_THAT(text,
              HasSubstr("= %c0 to %c32 step %c1 pipelined(3) attributes {tile.name = \"k\"} {"));
  EXPECT_THAT(text, HasSubstr("] [64, 32] : !tile.buffer<1000x1024xf16, global> to %"));
  EXPECT_THAT(text, HasSubstr("tile.gemm"));
  EXPECT_THAT(text, HasSubstr("tile.parallel (%arg6, %arg7) in [64, 64] {"));
  EXPECT_THAT(text, HasSubstr("arith.maxnumf"));
}

TEST_F(KernelBuilderTest, BuildsItForDynamicShapes) {
  Value M = line().symbol("M", dt("int32")), N = line().symbol("N", dt("int32")),
        K = line().symbol("K", dt("int32"));
  buildFusedGemm(M, N, K);
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("!tile.buffer<?x?xf16, global> {tile.name = \"A\", tile.shape = "));
  EXPECT_THAT(text, HasSubstr("index {tile.symbol = \"K\"}"));
  EXPECT_THAT(text, HasSubstr("arith.ceildivsi"));
}

TEST_F(KernelBuilderTest, EveryOpCarriesItsPlace) {
  buildFusedGemm(int64_t{1000}, int64_t{1024}, int64_t{1024});
  std::string text = finishedText(/*places=*/true);
  EXPECT_THAT(text, HasSubstr("loc(\"kernel.py\":6:5 to :9)")); // the launch
  EXPECT_EQ(text.find("unknown"), std::string::npos);
}

TEST_F(KernelBuilderTest, MacrosShowBothPlaces) {
  launch();
  b.enterMacro("load_tile", Place{"kernel.py", 40, 3, 0});
  b.at({"kernel.py", 90, 7, 0});
  Buffer poisoned = b.alloc(std::vector<int64_t>{-1}, dt("float32"), "shared", "A");
  b.alloc(std::vector<int64_t>{4}, dt("float32"), "shared", "B");
  b.leaveMacro();
  EXPECT_TRUE(poisoned.isPoison());
  ASSERT_EQ(b.diagnostics().size(), 1U);
  EXPECT_EQ(b.diagnostics()[0].place.line, 90);
  EXPECT_THAT(notes(), ElementsAre("kernel.py:40:3: in the macro 'load_tile', called here"));
}

TEST_F(KernelBuilderTest, MacroPlacesReachTheIr) {
  launch();
  b.enterMacro("load_tile", Place{"kernel.py", 40, 3, 0});
  b.at({"kernel.py", 90, 7, 0});
  b.alloc(std::vector<int64_t>{4}, dt("float32"), "shared", "B");
  b.leaveMacro();
  std::string text = finishedText(true);
  EXPECT_THAT(text, HasSubstr("loc(callsite("));
  EXPECT_THAT(text, HasSubstr("loc(\"load_tile\"("));
  EXPECT_THAT(text, HasSubstr("loc(\"kernel.py\":90:7)"));
  EXPECT_THAT(text, HasSubstr("loc(\"kernel.py\":40:3)"));
}

TEST_F(KernelBuilderTest, FiveErrorsGiveFiveMessages) {
  Buffer A = tensor("A", {int64_t{128}, int64_t{128}}, "float16");
  launch();
  Buffer aShared = alloc("A_shared", {64, 32}, "shared", "float16");
  Buffer bShared = alloc("B_shared", {16, 64}, "shared", "float16");
  Buffer acc = alloc("acc", {64, 64}, "fragment", "float32");
  line().gemm(aShared, bShared, acc, false, false);      // K
  line().copy(Region{A, {int64_t{0}}, {}, {}}, aShared); // rank
  Buffer missing = alloc("big", {4}, "nowhere");         // scope
  line().copy(missing, aShared);                         // silent
  line().copy(bShared, aShared);                         // shapes
  line().barrier();
  line().binary("and", b.constant(0.5), b.constant(int64_t{1})); // dtype
  EXPECT_EQ(messages().size(), 5U);
  EXPECT_THAT(
      messages(),
      ElementsAre("gemm K disagrees: it is 32 in A, 'A_shared', but 16 in B, 'B_shared'",
                  "'A' has 2 dims but is indexed with 1 index",
                  "there is no scope 'nowhere' to allocate 'big' in",
                  "copy of whole buffers of different shapes: 'B_shared' is (16, 64) but "
                  "'A_shared' is (64, 32)",
                  "'&' of the number 0.5 and the integer 1: it works on integers and bools only"));
  EXPECT_EQ(finish(), nullptr);
}

TEST_F(KernelBuilderTest, ShapesAreSumsAndProductsOfSymbols) {
  Value M = line().symbol("M", dt("int32"));
  Value twice = line().binary("mul", M, b.constant(int64_t{2}));
  tensor("A", {b.binary("add", twice, b.constant(int64_t{1})), M}, "float32");
  launch();
  EXPECT_THAT(finishedText(), HasSubstr("affine_map<()[s0] -> (s0 * 2 + 1, s0)>"));
}

TEST_F(KernelBuilderTest, ExtentsMayHoldScalars) {
  Value rows = line().scalar("rows", dt("int32"));
  Value M = line().symbol("M", dt("int32"));
  Value more = line().binary("add", rows, b.constant(int64_t{1}));
  tensor("A", {more, M}, "float32");
  tensor("B", {rows}, "float32");
  launch();
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("affine_map<()[s0, s1] -> (s1 + 1, s0)>"));
  EXPECT_THAT(text, HasSubstr("affine_map<()[s0, s1] -> (s1)>"));
  EXPECT_THAT(text, HasSubstr("index {tile.scalar = \"rows\", tile.symbol = \"rows\"}"));
}

TEST_F(KernelBuilderTest, RefusesOtherShapes) {
  Value M = line().symbol("M", dt("int32")), N = line().symbol("N", dt("int32"));
  tensor("A", {line().binary("floordiv", M, N)});
  launch();
  EXPECT_THAT(
      messages(),
      ElementsAre(
          "dim 0 of 'A' must be an integer, a symbol, a sum or product of these, or one divided "
          "by a constant"));
}

TEST_F(KernelBuilderTest, RefusesBadTensors) {
  tensor("A", {int64_t{-4}});
  tensor("B", {b.constant(1.5)});
  line().tensor("C", std::vector<Index>{int64_t{4}}, dt("float32x4"));
  line().tensor("D", std::vector<Index>{int64_t{4}}, dt("float32"),
                std::vector<Index>{int64_t{4}, int64_t{1}});
  line().tensor("E", std::vector<Index>{int64_t{4}}, dt("float32"), {}, "shared");
  line().symbol("n", dt("float32"));
  line().scalar("s", dt("float32x2"));
  tensor("F", {int64_t{1} << 40, int64_t{1} << 24});
  tensor("G", {int64_t{1} << 32, int64_t{1} << 32, int64_t{0}});
  EXPECT_THAT(
      messages(),
      ElementsAre("dim 0 of 'A' is -4, but it cannot be negative",
                  "dim 0 of 'B' must be an integer, but it is of dtype float32",
                  "a tensor of dtype float32x4 is not supported", "'D' has 1 dims but 2 strides",
                  "the tensor 'E' must be in scope 'global', but it is in 'shared'",
                  "the symbol 'n' must be an integer, but it is of dtype float32",
                  "a scalar of dtype float32x2 is not supported", "'F' has more than 2^57 elements",
                  "'G' has an extent of 0, but its other extents make more than 2^57 "
                  "elements"));
  EXPECT_EQ(b.diagnostics()[2].severity, Severity::Unsupported);
}

TEST_F(KernelBuilderTest, TellsArgumentsApartFromTheBody) {
  launch();
  tensor("A", {int64_t{4}});
  expectError("the tensor 'A' must stand before T.Kernel");
}

TEST_F(KernelBuilderTest, StridedTensorsKeepTheirStrides) {
  Value lda = line().symbol("lda", dt("int64"));
  line().tensor("A", std::vector<Index>{int64_t{8}, int64_t{4}}, dt("float32"),
                std::vector<Index>{lda, int64_t{1}});
  launch();
  EXPECT_THAT(finishedText(), HasSubstr("tile.strides = affine_map<()[s0] -> (s0, 1)>"));
}

TEST_F(KernelBuilderTest, TellsSomeOfManyMacros) {
  for (int32_t level = 1; level <= 9; ++level)
    b.enterMacro("m" + std::to_string(level), {"kernel.py", level, 1, 0});
  b.error("wrong");
  EXPECT_THAT(notes(), ElementsAre("kernel.py:9:1: in the macro 'm9', called here",
                                   "kernel.py:8:1: in the macro 'm8', called here",
                                   "kernel.py:7:1: in the macro 'm7', called here",
                                   "kernel.py:2:1: in the macro 'm2', called here",
                                   "kernel.py:1:1: in the macro 'm1', called here"));
}

TEST_F(KernelBuilderTest, NamesAreThoseOfC) {
  const auto symbolOf = [](std::string_view name) {
    KernelBuilder builder(name, {"kernel.py", 1, 1, 0});
    builder.beginLaunch(std::vector<Index>{int64_t{1}}, std::vector<Index>{int64_t{1}});
    builder.endLaunch();
    const std::string text = builder.finish()->text(false);
    const size_t begin = text.find('@') + 1;
    return text.substr(begin, text.find('(', begin) - begin);
  };
  EXPECT_EQ(symbolOf("scale_2"), "scale_2");
  EXPECT_EQ(symbolOf("z\xC3\xA4hlen"), "z_hlen");
  EXPECT_EQ(symbolOf("my kernel-2"), "my_kernel_2");
  EXPECT_EQ(symbolOf("2nd"), "_2nd");
  EXPECT_EQ(symbolOf(""), "_");
}

TEST_F(KernelBuilderTest, RefusesBadLaunches) {
  std::vector<Index> one{int64_t{1}}, none, four(4, int64_t{1});
  auto attempt = [](std::vector<Index> grid, std::vector<Index> threads) {
    KernelBuilder builder("kernel", {"kernel.py", 1, 1, 0});
    builder.beginLaunch(grid, threads);
    builder.endLaunch();
    EXPECT_EQ(builder.finish(), nullptr);
    return builder.diagnostics().empty() ? "" : builder.diagnostics()[0].message;
  };
  EXPECT_EQ(attempt(none, one), "T.Kernel takes 1 to 3 grid extents, not 0");
  EXPECT_EQ(attempt(four, one), "T.Kernel takes 1 to 3 grid extents, not 4");
  EXPECT_EQ(attempt({int64_t{-1}}, one), "a grid extent is -1, but it cannot be negative");
  EXPECT_EQ(attempt(one, {int64_t{0}}), "the number of threads is 0, but it must be at least 1");
  EXPECT_EQ(attempt(one, four), "T.Kernel takes 1 to 3 thread extents, not 4");
  EXPECT_EQ(attempt(one, {int64_t{2048}}), "T.Kernel asks for more than 1024 threads in a block");
}

TEST_F(KernelBuilderTest, LaunchesOnAnNpu) {
  line().beginLaunch(std::vector<Index>{int64_t{24}}, std::vector<Index>{int64_t{2}},
                     {{"npu", true}, {"pipeline", false}});
  EXPECT_THAT(finishedText(),
              testing::ContainsRegex("threads\\(2\\) npu attributes .pipeline = false"));
}

TEST_F(KernelBuilderTest, RefusesBadLaunchesOnAnNpu) {
  line().beginLaunch(std::vector<Index>{int64_t{24}, int64_t{2}}, std::vector<Index>{int64_t{128}},
                     {{"npu", true}});
  EXPECT_THAT(messages(), ElementsAre("T.Kernel for an NPU takes 1 grid extent, not 2",
                                      "T.Kernel for an NPU takes 1 or 2 threads, not 128"));
  EXPECT_EQ(finish(), nullptr);
}

TEST_F(KernelBuilderTest, NeedsKnownThreads) {
  Value n = line().symbol("n", dt("int32"));
  launch({int64_t{1}}, {n});
  expectError("the number of threads must be known while building the kernel");
}

TEST_F(KernelBuilderTest, LaunchesDoNotNest) {
  launch();
  b.endLaunch();
  launch();
  launch();
  b.endLaunch();
  EXPECT_THAT(messages(), ElementsAre("T.Kernel stands inside of another T.Kernel"));
  EXPECT_THAT(notes(), ElementsAre("kernel.py:3:5: the first T.Kernel is here"));
}

TEST_F(KernelBuilderTest, LaunchesFollowEachOther) {
  Buffer space = line().alloc(std::vector<int64_t>{4}, dt("float32"), "global", "space");
  Value first = launch({int64_t{4}}, {int64_t{64}})[0];
  line().store(space, std::vector<Index>{first}, b.constant(1.0, dt("float32")));
  b.endLaunch();
  Buffer A = tensor("A", {int64_t{4}}); // arguments may also be declared between launches
  Value second = launch({int64_t{2}, int64_t{2}}, {int64_t{32}})[1];
  line().store(A, std::vector<Index>{second}, line().load(space, std::vector<Index>{second}));
  const std::string text = finishedText();
  EXPECT_FALSE(b.hasErrors());
  EXPECT_THAT(text, HasSubstr("threads(64)"));
  EXPECT_THAT(text, HasSubstr("threads(32)"));
}

TEST_F(KernelBuilderTest, ValuesOfOneLaunchEndWithIt) {
  Buffer A = tensor("A", {int64_t{4}});
  Value block = launch()[0];
  b.endLaunch();
  launch();
  EXPECT_TRUE(line().load(A, std::vector<Index>{block}).isPoison());
  EXPECT_EQ(messages().size(), 1u);
}

TEST_F(KernelBuilderTest, NeedsALaunch) {
  EXPECT_EQ(b.finish(), nullptr);
  EXPECT_THAT(messages(), ElementsAre("the kernel 'kernel' has no T.Kernel; " + kAdvice));
  EXPECT_EQ(b.diagnostics()[0].place.line, 1);
}

TEST_F(KernelBuilderTest, NothingRunsOutsideOfTheLaunch) {
  alloc("A", {4});
  EXPECT_THAT(messages(), ElementsAre("an allocation stands outside of T.Kernel; " + kAdvice));
  launch();
  b.endLaunch();
  alloc("A", {4});
  EXPECT_EQ(messages().back(), "an allocation stands after the end of T.Kernel");
}

TEST_F(KernelBuilderTest, HandlesOfAnotherKernelAreErrors) {
  KernelBuilder other("other", {"other.py", 1, 1, 0});
  Value foreign = other.scalar("s", dt("float32"));
  Buffer buffer = other.tensor("A", std::vector<Index>{int64_t{4}}, dt("float32"));
  launch();
  EXPECT_TRUE(line().unary("exp", foreign).isPoison());
  EXPECT_TRUE(line().load(buffer, std::vector<Index>{int64_t{0}}).isPoison());
  EXPECT_EQ(b.rank(buffer), 0);
  EXPECT_THAT(messages(), ElementsAre("a value of another kernel is used",
                                      "a buffer of another kernel is used"));
}

TEST_F(KernelBuilderTest, ABuilderMayOutliveItsKernel) {
  Buffer A = tensor("A", {int64_t{4}});
  launch();
  auto kernel = finish();
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(b.finish(), nullptr);
  EXPECT_TRUE(b.load(A, std::vector<Index>{int64_t{0}}).isPoison());
  alloc("B", {4});
  EXPECT_TRUE(b.hasErrors());
  EXPECT_THAT(kernel->text(), HasSubstr("@kernel"));
}

TEST_F(KernelBuilderTest, BindingsOfAbsentDimsAreZero) {
  launch({int64_t{4}, int64_t{2}}, {int64_t{32}, int64_t{4}});
  EXPECT_EQ(b.constantValue(b.threadBinding(1)), std::nullopt);
  EXPECT_EQ(b.constantValue(b.threadBinding(2)), 0);
  EXPECT_EQ(b.constantValue(b.blockBinding(1)), std::nullopt);
  EXPECT_EQ(b.constantValue(b.blockBinding(2)), 0);
  b.threadBinding(3);
  b.blockBinding(-1);
  EXPECT_THAT(messages(), ElementsAre("thread dim is 3, but it must be 0, 1 or 2",
                                      "block dim is -1, but it must be 0, 1 or 2"));
}

} // namespace
} // namespace tilewright
