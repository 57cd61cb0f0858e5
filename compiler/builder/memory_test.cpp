// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

namespace tilewright {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

class MemoryTest : public KernelTest {
protected:
  static std::vector<Index> at(std::initializer_list<Index> indices) {
    return indices;
  }
};

TEST_F(MemoryTest, KnowsWhatABufferIs) {
  Value M = line().symbol("M", dt("int32"));
  Buffer A = tensor("A", {M, int64_t{32}}, "float16");
  launch();
  Buffer S = alloc("S", {64, 32}, "shared.dyn", "int8");
  EXPECT_EQ(b.rank(A), 2);
  EXPECT_EQ(b.rank(S), 2);
  EXPECT_EQ(std::get<int64_t>(b.shape(A)[1]), 32);
  EXPECT_TRUE(std::holds_alternative<Value>(b.shape(A)[0]));
  EXPECT_EQ(b.dtype(S).name(), "int8");
  EXPECT_EQ(b.scope(S), "shared.dyn");
  EXPECT_EQ(b.scope(A), "global");
  EXPECT_EQ(b.name(A), "A");
  EXPECT_THAT(finishedText(), HasSubstr("!tile.buffer<?x32xf16, global>"));
}

TEST_F(MemoryTest, LoadsAndStoresConvert) {
  Buffer A = tensor("A", {int64_t{8}}, "uint8");
  launch();
  Value value = line().load(A, at({int64_t{3}}));
  EXPECT_EQ(value.dtype().name(), "uint8");
  line().store(A, at({int64_t{-1}}), b.binary("mul", value, b.constant(0.5)));
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("arith.uitofp"));
  EXPECT_THAT(text, HasSubstr("arith.fptoui"));
  EXPECT_THAT(text, HasSubstr("%arg0[%c7]")); // -1 counts from the end
}

TEST_F(MemoryTest, ANegativeIndexOfADynamicDimCountsFromItsEnd) {
  Value M = line().symbol("M", dt("int32"));
  Buffer A = tensor("A", {M});
  launch();
  line().store(A, at({int64_t{-2}}), b.constant(1.0));
  EXPECT_THAT(finishedText(), HasSubstr("arith.addi %arg1, %c-2"));
}

TEST_F(MemoryTest, AVariableHasNoIndexOrOne) {
  launch();
  Buffer v = line().allocVar(dt("int32"), b.constant(int64_t{7}), "v");
  EXPECT_EQ(b.rank(v), 0);
  Value one = line().load(v, {});
  Value two = line().load(v, at({int64_t{0}}));
  line().store(v, {}, b.binary("add", one, two));
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("tile.alloc \"v\" : !tile.buffer<si32, var>"));
  EXPECT_THAT(text, HasSubstr("tile.store %c7_i32, %0[]"));
}

TEST_F(MemoryTest, RefusesBadAllocations) {
  launch();
  alloc("A", {4, -1});
  alloc("B", {4}, "texture");
  alloc("C", std::vector<int64_t>(17, 1));
  alloc("D", {int64_t(1) << 40, int64_t(1) << 40});
  line().alloc(std::vector<int64_t>{4}, dt("float32x4"), "shared", "E");
  EXPECT_THAT(messages(), ElementsAre("dim 1 of 'A' is -1, but it cannot be negative",
                                      "there is no scope 'texture' to allocate 'B' in",
                                      "'C' has 17 dims, but a buffer has at most 16",
                                      "'D' takes more than 128 TiB",
                                      "'E': a buffer of dtype float32x4 is not supported"));
  EXPECT_EQ(b.diagnostics()[4].severity, Severity::Unsupported);
}

TEST_F(MemoryTest, TilesOfWhichACallKnowsTheShape) {
  Value n = line().scalar("n", dt("int32"));
  auto ids = launch({int64_t{2}});
  const std::vector<Index> shape{n, int64_t{4}}, ofBlock{ids[0]}, large(17, n),
      negative{int64_t{-1}, n};
  line().allocSized(shape, dt("float32"), "fragment", "A");
  line().allocSized(shape, dt("float32"), "local", "B");
  line().allocSized(ofBlock, dt("float32"), "shared", "C");
  line().allocSized(large, dt("float32"), "shared", "D");
  line().allocSized(negative, dt("float32"), "shared", "E");
  EXPECT_THAT(messages(),
              ElementsAre("the shape of 'B' in scope 'local' must be known while compiling: only "
                          "tiles of the block may have the extents of a call",
                          "dim 0 of 'C' must be known while compiling, or made of symbols and "
                          "scalar arguments: the memory is set aside before the blocks run",
                          "'D' has 17 dims, but a buffer has at most 16",
                          "dim 0 of 'E' is -1, but it cannot be negative"));
}

TEST_F(MemoryTest, RefusesWrongRank) {
  launch();
  Buffer S = alloc("S", {4, 4});
  line().load(S, at({int64_t{0}}));
  EXPECT_THAT(notes(), ElementsAre("kernel.py:3:5: 'S' was allocated here"));
  expectError("'S' has 2 dims but is indexed with 1 index");
}

TEST_F(MemoryTest, RefusesIndicesThatAreNoIntegers) {
  launch();
  Buffer S = alloc("S", {4});
  line().load(S, at({b.constant(1.5)}));
  expectError("index 0 of 'S' must be an integer, but it is of dtype float32");
}

TEST_F(MemoryTest, RefusesKnownIndicesOutOfRange) {
  launch();
  Buffer S = alloc("S", {4});
  line().load(S, at({int64_t{4}}));
  line().load(S, at({int64_t{-5}}));
  EXPECT_THAT(messages(), ElementsAre("index 0 of 'S' is 4, but the dim has 4 elements",
                                      "index 0 of 'S' is -5, but the dim has 4 elements"));
}

TEST_F(MemoryTest, RefusesIndicesThatLeaveTheBufferInSomeIteration) {
  auto ids = launch({int64_t{4}}, {int64_t{64}});
  Buffer S = alloc("S", {8});
  std::vector<Index> extents{int64_t{8}};
  auto i = line().beginParallel(extents, {});
  line().load(S, at({b.binary("add", i[0], b.constant(int64_t{1}))}));
  line().load(S, at({b.binary("sub", i[0], b.constant(int64_t{1}))}));
  b.endParallel();
  Value k = line().beginFor(LoopKind::Serial, int64_t{0}, int64_t{6}, int64_t{4}, "k"); // 0, 4
  line().load(S, at({b.binary("add", k, b.constant(int64_t{3}))}));
  line().load(S, at({b.binary("mul", k, b.constant(int64_t{2}))}));
  b.endFor();
  line().load(S, at({b.binary("mul", ids[0], b.constant(int64_t{3}))}));
  line().load(S, at({b.threadBinding(0)}));
  EXPECT_THAT(messages(),
              ElementsAre("index 0 of 'S' goes from 1 to 8, but the dim has 8 elements",
                          "index 0 of 'S' goes from -1 to 6, but the dim has 8 elements",
                          "index 0 of 'S' goes from 0 to 8, but the dim has 8 elements",
                          "index 0 of 'S' goes from 0 to 9, but the dim has 8 elements",
                          "index 0 of 'S' goes from 0 to 63, but the dim has 8 elements"));
  EXPECT_THAT(notes(), ElementsAre("kernel.py:3:5: 'S' was allocated here"));
}

TEST_F(MemoryTest, WhatCountsOnlyUnderAConditionMayCountFromTheEnd) {
  Buffer A = tensor("A", {int64_t{8}});
  Value n = line().scalar("n", dt("int32"));
  launch();
  Value isAbove = line().binary("gt", n, b.constant(int64_t{0}));
  b.beginAssumption(isAbove, true);
  EXPECT_TRUE(b.isNegative(b.unary("neg", n)));
  EXPECT_TRUE(b.isNeverNegative(n));
  b.endAssumption();
  EXPECT_FALSE(b.isNegative(b.unary("neg", n)));
  EXPECT_FALSE(b.isNeverNegative(n));
  b.beginAssumption(isAbove, false);
  EXPECT_TRUE(b.isNegative(b.binary("sub", n, b.constant(int64_t{1}))));
  b.endAssumption();
  line().load(A, at({n}));
  EXPECT_NE(finish(), nullptr);
}

TEST_F(MemoryTest, SumsAreComparedWithConditions) {
  Value n = line().scalar("n", dt("int32")), m = line().scalar("m", dt("int32"));
  launch();
  Value isLess = line().binary("lt", n, m), isMore = line().binary("gt", n, m);
  Value difference = line().binary("sub", n, m);
  auto in = [&](Value condition, bool holds, Value number) {
    b.beginAssumption(condition, holds);
    const std::pair found(b.isNegative(number), b.isNeverNegative(number));
    b.endAssumption();
    return found;
  };
  using Pair = std::pair<bool, bool>;
  EXPECT_EQ(in(isLess, true, difference), Pair(true, false));
  EXPECT_EQ(in(isLess, false, difference), Pair(false, true));
  EXPECT_EQ(in(b.unary("logical_not", isLess), false, difference), Pair(true, false));
  EXPECT_EQ(in(isMore, false, difference), Pair(false, false));
  Value isEither = line().binary("logical_or", isLess, isMore);
  EXPECT_EQ(in(isEither, true, difference), Pair(false, false));
  EXPECT_EQ(in(isEither, false, difference), Pair(false, true)); // it is 0
  // Where n is more, it isn't less.
  EXPECT_EQ(in(isMore, true, b.select(isLess, b.unary("neg", n), difference)), Pair(false, true));
  Value isFive = line().binary("eq", n, b.constant(int64_t{5}));
  EXPECT_EQ(in(isMore, true, b.select(isFive, b.unary("neg", n), difference)), Pair(false, false));
  EXPECT_EQ(in(isMore, true, b.select(isLess, b.constant(int64_t{0}), difference)),
            Pair(false, true));
}

TEST_F(MemoryTest, WhatNeverRunsCountsFromNoEnd) {
  Value n = line().scalar("n", dt("int32"));
  launch();
  Buffer S = alloc("S", {8});
  std::vector<Index> extents{int64_t{8}, int64_t{4}};
  const std::vector<Value> i = line().beginParallel(extents, {});
  Value zero = b.constant(int64_t{0});
  Value isNone = b.binary("lt", i[0], zero), sum = b.binary("add", i[0], i[1]);
  auto isNegativeIn = [&](std::initializer_list<Value> conditions, Value number) {
    for (Value condition : conditions)
      b.beginAssumption(condition, true);
    const bool found = b.isNegative(number);
    line().load(S, at({i[0]}));
    for (size_t end = 0; end < conditions.size(); ++end)
      b.endAssumption();
    return found;
  };
  Value before = b.binary("sub", i[0], b.constant(int64_t{8}));
  EXPECT_TRUE(isNegativeIn({}, before));
  EXPECT_FALSE(isNegativeIn({isNone}, before));
  EXPECT_FALSE(isNegativeIn({isNone}, i[0]));
  EXPECT_FALSE(isNegativeIn({b.binary("lt", sum, zero)}, i[0]));
  EXPECT_FALSE(isNegativeIn({b.binary("lt", i[0], n), b.binary("lt", n, zero)}, i[0]));
  EXPECT_FALSE(isNegativeIn({b.binary("logical_and", isNone, b.binary("gt", n, zero))}, i[0]));
  EXPECT_FALSE(isNegativeIn({b.binary("eq", i[0], b.constant(int64_t{-1}))}, i[0]));
  // Of two ways, one of which is none, the other counts.
  Value isLow = b.binary("lt", n, zero);
  EXPECT_TRUE(isNegativeIn({b.binary("logical_or", isNone, isLow)}, n));
  EXPECT_FALSE(isNegativeIn({b.binary("logical_or", isNone, b.binary("gt", n, zero))}, n));
  b.endParallel();
  EXPECT_THAT(messages(), testing::IsEmpty());
  EXPECT_NE(finish(), nullptr);
}

TEST_F(MemoryTest, WhatNeverRunsMayNameNoElement) {
  launch({int64_t{1}});
  Buffer S = alloc("S", {1});
  Value k = line().beginFor(LoopKind::Serial, int64_t{0}, int64_t{4}, int64_t{1}, "k");
  line().beginIf(b.binary("ge", k, b.constant(int64_t{4})));
  line().load(S, at({int64_t{1}}));
  b.endIf();
  line().beginIf(b.binary("ge", k, b.constant(int64_t{3})));
  line().load(S, at({int64_t{1}}));
  b.endIf();
  b.endFor();
  EXPECT_THAT(messages(), ElementsAre("index 0 of 'S' is 1, but the dim has 1 element"));
}

TEST_F(MemoryTest, WhatIsPromisedHoldsToTheEndOfItsScope) {
  Value n = line().scalar("n", dt("int32"));
  launch();
  Value number = line().binary("sub", n, b.constant(int64_t{3}));
  line().beginIf(line().binary("gt", n, b.constant(int64_t{-7})));
  line().assume(line().binary("lt", n, b.constant(int64_t{3})));
  EXPECT_TRUE(b.isNegative(number));
  b.endIf();
  EXPECT_FALSE(b.isNegative(number));
  line().deviceAssert(line().binary("ge", n, b.constant(int64_t{3})), "n is small");
  EXPECT_TRUE(b.isNeverNegative(number));
  EXPECT_NE(finish(), nullptr);
}

TEST_F(MemoryTest, BehindALoopThatEndsEarlyAllRuns) {
  launch({int64_t{4}}, {int64_t{64}});
  Buffer S = alloc("S", {8});
  Value k = line().beginFor(LoopKind::Serial, int64_t{0}, int64_t{16}, int64_t{1}, "k");
  line().beginIf(b.binary("ge", k, b.constant(int64_t{8})));
  line().breakLoop();
  b.endIf();
  b.endFor();
  line().load(S, at({b.threadBinding(0)}));
  EXPECT_THAT(messages(),
              ElementsAre("index 0 of 'S' goes from 0 to 63, but the dim has 8 elements"));
}

TEST_F(MemoryTest, LetsThroughWhatMayBeInRange) {
  Value n = line().symbol("n", dt("int32"));
  launch();
  Buffer S = alloc("S", {8});
  std::vector<Index> extents{int64_t{16}};
  auto i = line().beginParallel(extents, {});
  line().load(S, at({b.binary("floormod", i[0], b.constant(int64_t{8}))}));
  line().load(S, at({b.binary("sub", b.binary("add", i[0], n), i[0])})); // not known
  line().beginIf(b.binary("lt", i[0], b.constant(int64_t{8})));
  line().load(S, at({i[0]}));
  b.endIf();
  line().beginSelect(b.binary("lt", i[0], b.constant(int64_t{8})));
  Value guarded = line().load(S, at({i[0]}));
  b.elseSelect(guarded);
  line().endSelect(b.constant(0.0));
  b.endParallel();
  line().beginFor(LoopKind::Serial, int64_t{0}, n, int64_t{1}, "k"); // may not run at all
  i = line().beginParallel(extents, {});
  line().load(S, at({i[0]}));
  b.endParallel();
  b.endFor();
  Value k = line().beginFor(LoopKind::Serial, int64_t{0}, int64_t{16}, int64_t{1}, "k");
  line().beginIf(b.binary("ge", k, b.constant(int64_t{8})));
  line().breakLoop();
  b.endIf();
  line().load(S, at({k}));
  b.endFor();
  EXPECT_THAT(messages(), testing::IsEmpty());
  EXPECT_NE(finish(), nullptr);
}

TEST_F(MemoryTest, GlobalBuffersMayBeReadBeyondTheirEnd) {
  Buffer A = tensor("A", {int64_t{4}});
  launch();
  line().load(A, at({int64_t{4}}));
  EXPECT_TRUE(messages().empty());
  EXPECT_NE(finish(), nullptr);
}

TEST_F(MemoryTest, RefusesLiteralsThatDoNotFit) {
  launch();
  Buffer S = alloc("S", {4}, "shared", "uint8");
  line().store(S, at({int64_t{0}}), b.constant(int64_t{256}));
  EXPECT_THAT(notes(), ElementsAre("kernel.py:3:5: 'S' was allocated here"));
  expectError("the integer 256 does not fit the dtype uint8 of 'S'");
}

TEST_F(MemoryTest, RefusesRealLiteralsThatWouldBeInfinite) {
  launch();
  Buffer S = alloc("S", {4}, "shared", "float32"), D = alloc("D", {4}, "shared", "float64");
  line().store(D, at({int64_t{0}}), b.constant(1e300));
  line().store(S, at({int64_t{0}}), b.constant(3.4e38));
  line().store(S, at({int64_t{0}}), b.constant(HUGE_VAL));
  EXPECT_TRUE(messages().empty());
  line().store(S, at({int64_t{1}}), b.constant(-1e300));
  expectError(
      "the number -1e+300 does not fit the dtype float32 of 'S'; T.infinity(dtype) is meant "
      "to be infinite");
}

TEST_F(MemoryTest, NegativeLiteralsMayBeBits) {
  launch();
  Buffer S = alloc("S", {4}, "shared", "uint8");
  line().store(S, at({int64_t{0}}), b.constant(int64_t{-1}));
  EXPECT_THAT(finishedText(), HasSubstr("arith.constant -1 : i8"));
}

TEST_F(MemoryTest, LiteralsBeyondInt64FitUint64Alone) {
  launch();
  Buffer U = alloc("U", {4}, "shared", "uint64"), S = alloc("S", {4}, "shared", "int64");
  const Value large = b.constant(uint64_t{0xF000000000000001});
  line().store(U, at({int64_t{0}}), large);
  line().store(S, at({int64_t{0}}), large);
  expectError("the integer 17293822569102704641 does not fit the dtype int64 of 'S'");
}

TEST_F(MemoryTest, BuffersEndWithTheirScope) {
  launch();
  line().beginFor(LoopKind::Serial, int64_t{0}, int64_t{4}, int64_t{1}, "k");
  Buffer S = alloc("S", {4});
  b.endFor();
  line().load(S, at({int64_t{0}}));
  EXPECT_THAT(notes(), ElementsAre("kernel.py:4:5: 'S' was allocated here"));
  expectError("'S' is used after its scope ended");
}

TEST_F(MemoryTest, LocalBuffersAreNotForParallelVariables) {
  launch();
  Buffer L = alloc("L", {8}, "local");
  std::vector<Index> extents{int64_t{8}};
  auto i = line().beginParallel(extents, {});
  line().load(L, at({b.binary("add", i[0], b.constant(int64_t{0}))}));
  b.endParallel();
  EXPECT_THAT(messages(),
              ElementsAre("'L' is local to a thread, so a T.Parallel variable cannot index it; "
                          "allocate it with T.alloc_fragment"));
}

TEST_F(MemoryTest, ViewsShareStorage) {
  Value M = line().symbol("M", dt("int32"));
  Buffer A = tensor("A", {M, int64_t{32}});
  launch();
  Buffer S = alloc("S", {64, 32}, "shared", "float32");
  Buffer flat = line().view(S, at({int64_t{2048}}), dt("float32"));
  Buffer bytes = line().view(S, at({int64_t{64}, int64_t{128}}), dt("uint8"));
  Buffer rows = line().view(A, at({int64_t{32}, M}), dt("float32"));
  EXPECT_EQ(b.rank(flat), 1);
  EXPECT_EQ(b.dtype(bytes).name(), "uint8");
  EXPECT_EQ(b.name(bytes), "S");
  EXPECT_EQ(b.rank(rows), 2);
  EXPECT_THAT(finishedText(), HasSubstr("tile.view"));
}

TEST_F(MemoryTest, RefusesViewsOfAnotherSize) {
  Value M = line().symbol("M", dt("int32"));
  Buffer A = line().tensor("A", at({int64_t{8}}), dt("float32"), at({int64_t{2}}));
  launch();
  Buffer S = alloc("S", {64, 32}, "shared", "float32");
  line().view(S, at({int64_t{2048}}), dt("float16"));
  line().view(S, at({(int64_t{1} << 59) + 2048}), dt("float32")); // as many bits, modulo 2^64
  line().view(S, at({M}), dt("float32"));
  line().view(A, at({int64_t{2}, int64_t{4}}), dt("float32"));
  EXPECT_THAT(
      messages(),
      ElementsAre("a view of shape (2048) and dtype float16 has 32768 bits but 'S' has 65536",
                  "a view of shape (576460752303425536) and dtype float32 has more than 2^63 bits "
                  "but 'S' has 65536",
                  "a view of 'S' in scope 'shared' must have a shape that is known while building",
                  "'A' has strides of its own, so it cannot be viewed in another shape"));
}

TEST_F(MemoryTest, SafeValues) {
  Buffer A = tensor("A", {int64_t{8}}, "int8");
  Buffer B = tensor("B", {int64_t{8}}, "float32");
  auto ids = launch();
  Buffer S = alloc("S", {8}, "shared", "float32");
  b.annotateSafeValue(S, b.constant(0.0)); // as without it
  b.annotateSafeValue(S, b.constant(1.0));
  b.annotateSafeValue(A, b.constant(int64_t{300}));
  b.annotateSafeValue(A, b.constant(int64_t{3}));
  Value one = line().load(A, at({ids[0]}));
  b.annotateSafeValue(A, b.constant(int64_t{4}));
  b.annotateSafeValue(B, one);
  EXPECT_THAT(messages(),
              ElementsAre("T.annotate_safe_value takes tensors, but 'S' is a tile",
                          "the integer 300 does not fit the dtype int8 of 'A'",
                          "the safe value of 'A' must be given before the first use of it",
                          "the safe value of 'B' must be a constant"));
}

TEST_F(MemoryTest, AtomicsOfOneElement) {
  Buffer A = tensor("A", {int64_t{8}}, "float32");
  Buffer F = tensor("F", {int64_t{8}}, "int32");
  auto ids = launch();
  Value before = line().atomic("add", Region{A, {ids[0]}, {}, {}}, b.constant(1.0),
                               {{"memory_order", "relaxed"}});
  EXPECT_EQ(before.dtype().name(), "float32");
  EXPECT_TRUE(
      line().atomic("store", Region{F, {ids[0]}, {}, {}}, b.constant(int64_t{1})).isPoison());
  EXPECT_FALSE(line().atomic("load", Region{F, {ids[0]}, {}, {}}, {}).isPoison());
  EXPECT_TRUE(messages().empty());
  EXPECT_THAT(finishedText(), ContainsRegex("tile.atomic +add"));
}

TEST_F(MemoryTest, RefusesBadAtomics) {
  Buffer A = tensor("A", {int64_t{8}}, "float32");
  launch();
  Region one{A, {int64_t{0}}, {}, {}};
  line().atomic("nand", one, b.constant(1.0));
  line().atomic("or", one, b.constant(int64_t{1}));
  line().atomic("add", one, b.constant(1.0), {{"memory_order", "lazy"}});
  line().atomic("add", Region{A, {int64_t{0}}, {int64_t{4}}, {false}}, b.constant(1.0));
  EXPECT_THAT(messages(),
              ElementsAre("there is no atomic operation 'nand'",
                          "atomic_or works on integers, but 'A' is of dtype float32",
                          "there is no memory order 'lazy': it is relaxed, consume, acquire, "
                          "release, acq_rel or seq_cst",
                          "atomic_add of a scalar needs one element of 'A', but it got a region"));
}

} // namespace
} // namespace tilewright
