// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

#include <limits>

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ScalarsTest : public KernelTest {
protected:
  Value scalar(std::string_view dtype) {
    return line().scalar("s" + std::to_string(++count), dt(dtype));
  }
  Value literal(int64_t value) {
    return b.constant(value);
  }
  Value literal(double value) {
    return b.constant(value);
  }
  int count = 0;
};

TEST_F(ScalarsTest, PromotesDtypes) {
  Value i8 = scalar("int8"), u8 = scalar("uint8"), i32 = scalar("int32"), f16 = scalar("float16"),
        f32 = scalar("float32"), f64 = scalar("float64"), flag = scalar("bool"),
        f8 = scalar("float8_e4m3fn");
  launch();
  auto sum = [&](Value a, Value c) { return b.binary("add", a, c).dtype().name(); };
  EXPECT_EQ(sum(i8, i8), "int8");
  EXPECT_EQ(sum(i8, literal(int64_t{5})), "int32");
  EXPECT_EQ(sum(literal(int64_t{300}), i8), "int32");
  EXPECT_EQ(sum(u8, i32), "int32");
  EXPECT_EQ(sum(u8, i8), "uint8");
  EXPECT_EQ(sum(f16, f32), "float32");
  EXPECT_EQ(sum(f16, literal(2.0)), "float32");
  EXPECT_EQ(sum(f16, literal(int64_t{2})), "float16");
  EXPECT_EQ(sum(f64, literal(0.1)), "float64");
  EXPECT_EQ(sum(i32, literal(0.5)), "float32");
  EXPECT_EQ(sum(i32, f16), "float16");
  EXPECT_EQ(sum(flag, flag), "int32");
  EXPECT_EQ(sum(flag, i8), "int8");
  EXPECT_EQ(sum(f8, f8), "float32");
  EXPECT_EQ(b.binary("and", flag, flag).dtype().name(), "bool");
  EXPECT_EQ(b.binary("lt", i8, f64).dtype().name(), "bool");
  EXPECT_EQ(b.binary("shl", i8, i32).dtype().name(), "int32");
  EXPECT_EQ(b.binary("shl", i8, u8).dtype().name(), "int8");
  EXPECT_EQ(b.binary("shr", u8, literal(int64_t{20})).dtype().name(), "int32");
  EXPECT_EQ(b.unary("exp", i32).dtype().name(), "float32");
  EXPECT_EQ(b.unary("exp", f16).dtype().name(), "float16");
  EXPECT_EQ(b.unary("floor", i32).dtype().name(), "int32");
  EXPECT_EQ(b.unary("isnan", f32).dtype().name(), "bool");
  EXPECT_EQ(b.unary("neg", flag).dtype().name(), "int32");
  EXPECT_EQ(b.constantValue(b.unary("isinf", i32)), 0);
  EXPECT_TRUE(messages().empty());
  EXPECT_NE(finish(), nullptr);
}

TEST_F(ScalarsTest, FoldsWhatIsKnown) {
  launch();
  auto fold = [&](std::string_view op, int64_t x, int64_t y) {
    return b.constantValue(b.binary(op, literal(x), literal(y)));
  };
  EXPECT_EQ(fold("ceildiv", 1000, 64), 16);
  EXPECT_EQ(fold("floordiv", -7, 2), -4);
  EXPECT_EQ(fold("lt", 1, 2), 1);
  EXPECT_EQ(fold("logical_and", 5, 0), 0);
  EXPECT_EQ(b.constantValue(b.cast(literal(2.9), dt("int32"))), 2);
  EXPECT_EQ(b.constantValue(b.unary("neg", literal(int64_t{3}))), -3);
  EXPECT_EQ(b.constantValue(b.unary("logical_not", literal(int64_t{3}))), 0);
  EXPECT_EQ(b.constantValue(b.binary("add", literal(int64_t{2147483647}), literal(int64_t{1}))),
            2147483648LL);
  EXPECT_EQ(b.constantValue(
                b.binary("add", b.constant(int64_t{2147483647}, dt("int32")), literal(int64_t{1}))),
            -2147483648LL);
  // Only the launch's own extent is left.
  EXPECT_THAT(finishedText(), Not(HasSubstr("addi")));
}

TEST_F(ScalarsTest, IndicesAreComputedIn64Bits) {
  auto ids = launch();
  EXPECT_EQ(ids[0].dtype().name(), "int32");
  Value big = line().binary("mul", ids[0], literal(int64_t{100000}));
  Value bigger = line().binary("mul", big, literal(int64_t{100000}));
  EXPECT_EQ(bigger.dtype().name(), "int32");
  Buffer A = alloc("A", {4}, "local", "int32");
  line().store(A, std::vector<Index>{int64_t{0}}, bigger);
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("arith.muli %0, %c100000 : index"));
  EXPECT_THAT(text, HasSubstr("arith.index_cast %1 : index to i32"));
}

TEST_F(ScalarsTest, FoldsNeutralElements) {
  auto ids = launch();
  Value same =
      line().binary("add", b.binary("mul", ids[0], literal(int64_t{1})), literal(int64_t{0}));
  Buffer A = alloc("A", {4}, "local", "int64");
  line().store(A, std::vector<Index>{int64_t{0}}, b.cast(same, dt("int64")));
  std::string text = finishedText();
  EXPECT_THAT(text, Not(HasSubstr("muli")));
  EXPECT_THAT(text, Not(HasSubstr("addi")));
}

TEST_F(ScalarsTest, FloorsByPowersOfTwoWithoutDivision) {
  auto ids = launch();
  line().deviceAssert(b.binary("eq", b.binary("floordiv", ids[0], literal(int64_t{8})),
                               b.binary("floormod", ids[0], literal(int64_t{8}))),
                      "m");
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("arith.shrsi %arg0, %c3"));
  EXPECT_THAT(text, HasSubstr("arith.andi %arg0, %c7"));
}

TEST_F(ScalarsTest, UnsignedIntegersUseUnsignedOps) {
  Value u = scalar("uint32"), i = scalar("int32");
  launch();
  line().deviceAssert(b.binary("lt", b.binary("floordiv", u, u), b.binary("shr", u, u)), "m");
  line().deviceAssert(b.binary("lt", b.binary("truncdiv", i, i), b.binary("shr", i, i)), "m");
  line().deviceAssert(b.binary("lt", b.cast(u, dt("float32")), b.cast(i, dt("float32"))), "m");
  std::string text = finishedText();
  for (const char* op :
       {"arith.divui", "arith.shrui", "arith.cmpi ult", "arith.divsi", "arith.shrsi",
        "arith.cmpi slt", "arith.uitofp", "arith.sitofp", "arith.cmpf olt"})
    EXPECT_THAT(text, HasSubstr(op));
}

TEST_F(ScalarsTest, FmaIsFusedForFloats) {
  Value f16 = scalar("float16"), f32 = scalar("float32"), i = scalar("int32"),
        f8 = scalar("float8_e4m3fn");
  launch();
  auto fused = [&](Value x, Value y, Value z) { return b.fma(x, y, z).dtype().name(); };
  EXPECT_EQ(fused(f16, f16, f16), "float16");
  EXPECT_EQ(fused(f16, literal(0.1), f16), "float16");
  EXPECT_EQ(fused(f16, f16, f32), "float32");
  EXPECT_EQ(fused(i, literal(0.1), literal(int64_t{1})), "float32");
  EXPECT_EQ(fused(f8, f8, f8), "float32");
  EXPECT_EQ(fused(i, i, literal(int64_t{1})), "int32");
  EXPECT_TRUE(b.fma(f32, Value(), f32).isPoison());
  EXPECT_TRUE(messages().empty());
}

TEST_F(ScalarsTest, EveryFunctionBuildsValidIr) {
  Value f = scalar("float32"), i = scalar("int32"), f16 = scalar("float16");
  launch();
  for (const char* op :
       {"neg",   "abs",       "exp",   "exp2",  "exp10", "log",      "log2",
        "log10", "log1p",     "expm1", "sqrt",  "rsqrt", "sigmoid",  "tanh",
        "sinh",  "cosh",      "sin",   "cos",   "tan",   "asin",     "acos",
        "atan",  "asinh",     "acosh", "atanh", "erf",   "floor",    "ceil",
        "round", "nearbyint", "trunc", "isnan", "isinf", "isfinite", "logical_not"})
    for (Value operand : {f, i, f16})
      EXPECT_FALSE(b.unary(op, operand).isPoison()) << op;
  for (const char* op : {"not", "popcount", "clz"})
    EXPECT_FALSE(b.unary(op, i).isPoison()) << op;
  for (const char* op :
       {"add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "ceildiv", "min",
        "max", "lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or"})
    for (Value operand : {f, i, f16})
      EXPECT_FALSE(b.binary(op, operand, operand).isPoison()) << op;
  for (const char* op : {"div", "pow", "fmod", "atan2", "copysign"})
    EXPECT_FALSE(b.binary(op, f, i).isPoison()) << op;
  EXPECT_FALSE(b.binary("pow", i, literal(int64_t{3})).isPoison());
  EXPECT_NE(finish(), nullptr);
}

TEST_F(ScalarsTest, EveryCastBuildsValidIr) {
  std::vector<std::string> names{"bool",
                                 "int8",
                                 "int16",
                                 "int32",
                                 "int64",
                                 "uint8",
                                 "uint16",
                                 "uint32",
                                 "uint64",
                                 "float16",
                                 "bfloat16",
                                 "float32",
                                 "float64",
                                 "float8_e4m3",
                                 "float8_e4m3fn",
                                 "float8_e5m2",
                                 "float8_e4m3fnuz",
                                 "float8_e5m2fnuz"};
  std::vector<Value> values;
  values.reserve(names.size() + 1);
  for (const std::string& name : names)
    values.push_back(scalar(name));
  auto ids = launch();
  values.push_back(ids[0]);
  for (Value value : values)
    for (const std::string& name : names)
      EXPECT_EQ(b.cast(value, dt(name)).dtype().name(), name);
  EXPECT_NE(finish(), nullptr);
  EXPECT_TRUE(messages().empty());
}

TEST_F(ScalarsTest, RefusesWhatHasNoMeaning) {
  Value f = scalar("float32"), i = scalar("int32"), scalar8 = scalar("uint8");
  launch();
  line();
  b.binary("and", f, i);
  b.binary("div", i, i);
  b.binary("floordiv", i, literal(int64_t{0}));
  b.binary("shl", i, literal(int64_t{-1}));
  b.binary("shl", i, literal(int64_t{32}));
  b.binary("shr", scalar8, b.constant(int64_t{8}, dt("uint8")));
  b.binary("pow", i, i);
  b.binary("atan2", i, i);
  b.binary("spaceship", f, f);
  b.unary("not", f);
  b.unary("frobnicate", f);
  b.cast(f, dt("float32x4"));
  b.reinterpret(f, dt("int64"));
  b.reinterpret(f, dt("bool"));
  b.constant(int64_t{300}, dt("uint8"));
  EXPECT_THAT(
      messages(),
      ElementsAre(
          "'&' of float32 and int32: it works on integers and bools only",
          "'/' of int32 and int32: write '//' for floor division, or cast one side to a float",
          "'//' of int32 and the integer 0: division by zero",
          "'<<' of int32 and the integer -1: a shift by a negative number",
          "'<<' of int32 and the integer 32: int32 has 32 bits, so the most is a shift by 31",
          "'>>' of uint8 and uint8: uint8 has 8 bits, so the most is a shift by 7",
          "'pow' of int32 and int32: a power of integers needs an exponent from 0 to 64 that is "
          "known while building; cast one side to a float",
          "'atan2' of int32 and int32: it works on floats only; cast one side",
          "there is no operator 'spaceship'", "'~' of float32: it works on integers and bools only",
          "there is no function 'frobnicate'", "a scalar of dtype float32x4 is not supported",
          "reinterpret of float32 as int64: they have 32 and 64 bits",
          "reinterpret of float32 as bool: it works on integers and floats only",
          "the integer 300 does not fit uint8"));
}

TEST_F(ScalarsTest, ALiteralBeyondInt64IsAUint64) {
  Value u64 = scalar("uint64"), i32 = scalar("int32"), f32 = scalar("float32");
  launch();
  const Value large = b.constant(uint64_t{0xF000000000000001});
  auto of = [&](std::string_view op, Value x, Value y) {
    return b.binary(op, x, y).dtype().name();
  };
  EXPECT_EQ(large.dtype().name(), "uint64");
  EXPECT_EQ(b.constant(uint64_t{5}).dtype().name(), "int32");
  EXPECT_EQ(of("and", u64, large), "uint64");
  EXPECT_EQ(of("sub", large, u64), "uint64");
  EXPECT_EQ(of("shr", large, i32), "uint64");
  EXPECT_EQ(of("mul", f32, large), "float32");
  EXPECT_EQ(b.select(b.binary("lt", u64, large), large, u64).dtype().name(), "uint64");
  EXPECT_EQ(b.constantValue(b.binary("shr", large, literal(int64_t{60}))), 15);
  EXPECT_EQ(b.constantValue(b.binary("lt", large, literal(int64_t{3}))), 0);
  EXPECT_EQ(b.constantValue(b.unary("not", large)), 0x0FFFFFFFFFFFFFFE);
  EXPECT_TRUE(messages().empty());
  EXPECT_NE(finish(), nullptr);
}

TEST_F(ScalarsTest, ALiteralBeyondInt64MeetsNoOtherInteger) {
  Value i32 = scalar("int32"), u32 = scalar("uint32"), u64 = scalar("uint64");
  launch();
  line();
  const Value large = b.constant(uint64_t{0xF000000000000001});
  b.binary("add", i32, large);
  b.select(b.binary("lt", i32, literal(int64_t{0})), large, u32);
  b.beginSelect(b.binary("lt", i32, literal(int64_t{0})));
  b.elseSelect(u32);
  b.endSelect(large);
  b.binary("shl", u64, large);
  EXPECT_THAT(messages(),
              ElementsAre("'+' of int32 and the integer 17293822569102704641: of integers, uint64 "
                          "alone holds it; cast one side",
                          "a choice between the integer 17293822569102704641 and uint32: of "
                          "integers, uint64 alone holds it; cast one side",
                          "a choice between uint32 and the integer 17293822569102704641: of "
                          "integers, uint64 alone holds it; cast one side",
                          "'<<' of uint64 and the integer 17293822569102704641: uint64 has 64 "
                          "bits, so the most is a shift by 63"));
}

TEST_F(ScalarsTest, PoisonIsSilent) {
  launch();
  Value bad = line().unary("frobnicate", literal(1.0));
  EXPECT_TRUE(bad.isPoison());
  Value next = line().binary("add", bad, literal(int64_t{1}));
  next = line().unary("exp", next);
  next = line().select(next, next, bad);
  next = line().cast(next, dt("int32"));
  line().deviceAssert(next, "");
  line().print(next, "");
  line().beginIf(next);
  b.endIf();
  EXPECT_TRUE(next.isPoison());
  EXPECT_EQ(messages().size(), 1U);
}

TEST_F(ScalarsTest, ReinterpretsBits) {
  Value f = scalar("float32");
  launch();
  Value bits = line().reinterpret(f, dt("uint32"));
  EXPECT_EQ(bits.dtype().name(), "uint32");
  EXPECT_EQ(line().reinterpret(bits, dt("int32")).dtype().name(), "int32");
  line().deviceAssert(b.binary("ne", bits, literal(int64_t{0})), "m");
  EXPECT_THAT(finishedText(), HasSubstr("arith.bitcast %arg0 : f32 to i32"));
}

TEST_F(ScalarsTest, ValuesEndWithTheirScope) {
  launch();
  Value k = line().beginFor(LoopKind::Serial, int64_t{0}, int64_t{4}, int64_t{1}, "k");
  Value twice = line().binary("mul", k, literal(int64_t{2}));
  b.endFor();
  line().binary("add", k, k);
  line().unary("neg", twice);
  EXPECT_THAT(messages(), ElementsAre("'k' is used after its loop ended",
                                      "a value is used outside of the scope that computed it"));
  EXPECT_THAT(notes(), ElementsAre("kernel.py:3:5: the loop is here"));
}

// Choices

TEST_F(ScalarsTest, ALazyChoiceOfHarmlessSidesIsASelect) {
  Value x = scalar("float32");
  launch();
  line().beginSelect(b.binary("gt", x, literal(0.0)));
  Value yes = line().unary("exp", x);
  b.elseSelect(yes);
  Value chosen = line().endSelect(literal(int64_t{0}));
  EXPECT_EQ(chosen.dtype().name(), "float32");
  line().deviceAssert(b.binary("lt", chosen, literal(1.0)), "m");
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("arith.select"));
  EXPECT_THAT(text, Not(HasSubstr("scf.if")));
}

TEST_F(ScalarsTest, ALazyChoiceKeepsLoadsInTheirBranch) {
  Value n = scalar("int32");
  launch();
  Buffer S = alloc("S", {8}, "shared", "float16");
  line().beginSelect(b.binary("gt", n, literal(int64_t{0})));
  b.elseSelect(line().load(S, std::vector<Index>{b.binary("sub", n, literal(int64_t{1}))}));
  Value chosen = line().endSelect(literal(0.0));
  EXPECT_EQ(chosen.dtype().name(), "float32");
  line().deviceAssert(b.binary("lt", chosen, literal(1.0)), "m");
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("scf.if %1 -> (f32) {"));
  EXPECT_THAT(text, Not(HasSubstr("arith.select")));
}

TEST_F(ScalarsTest, AChoiceOfLoadsThatAreInRangeIsASelect) {
  launch();
  Buffer S = alloc("S", {8, 4});
  std::vector<Index> extents{int64_t{8}, int64_t{4}};
  auto ij = line().beginParallel(extents, {});
  line().beginSelect(b.binary("ge", ij[0], ij[1]));
  b.elseSelect(line().load(S, std::vector<Index>{ij[0], ij[1]}));
  Value chosen =
      line().endSelect(b.constant(-std::numeric_limits<double>::infinity(), dt("float32")));
  line().beginSelect(b.binary("eq", ij[0], ij[1]));
  b.elseSelect(chosen);
  Value turned = b.binary("sub", b.constant(int64_t{7}), ij[0]);
  Value half = b.binary("floordiv", ij[1], b.constant(int64_t{2}));
  chosen = line().endSelect(line().load(S, std::vector<Index>{turned, half}));
  line().store(S, std::vector<Index>{ij[0], ij[1]}, chosen);
  b.endParallel();
  EXPECT_THAT(finishedText(), Not(HasSubstr("scf.if")));
}

TEST_F(ScalarsTest, ErrorsInAChoicePoisonIt) {
  launch();
  line().beginSelect(b.constant(true));
  b.elseSelect(line().unary("frobnicate", literal(1.0)));
  EXPECT_TRUE(line().endSelect(literal(1.0)).isPoison());
  EXPECT_EQ(messages().size(), 1U);
}

} // namespace
} // namespace tilewright
