// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/constant.h"
#include "compiler/builder/kernel_fixture.h"
#include "compiler/builder/promotion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilewright::builder {
namespace {

std::optional<int64_t> fold(std::string_view op, int64_t a, int64_t b,
                            std::string_view dtype = "int32", bool wide = false) {
  auto result = foldBinary(parseBinary(op).value(), Constant::ofInteger(a), Constant::ofInteger(b),
                           dt(dtype), wide);
  return result ? std::optional(result->integer) : std::nullopt;
}

TEST(FoldInteger, FloorsAndTruncates) {
  // Expected values from Python's // and %, and C's / and %.
  for (auto [a, b, floorDiv, floorMod, truncDiv, truncMod, ceilDiv] :
       {std::array<int64_t, 7>{7, 2, 3, 1, 3, 1, 4},
        {-7, 2, -4, 1, -3, -1, -3},
        {7, -2, -4, -1, -3, 1, -3},
        {-7, -2, 3, -1, 3, -1, 4},
        {6, 3, 2, 0, 2, 0, 2},
        {0, 5, 0, 0, 0, 0, 0}}) {
    EXPECT_EQ(fold("floordiv", a, b), floorDiv);
    EXPECT_EQ(fold("floormod", a, b), floorMod);
    EXPECT_EQ(fold("truncdiv", a, b), truncDiv);
    EXPECT_EQ(fold("truncmod", a, b), truncMod);
    EXPECT_EQ(fold("ceildiv", a, b), ceilDiv);
  }
}

TEST(FoldInteger, WrapsToTheDtypeUnlessWide) {
  EXPECT_EQ(fold("add", 2147483647, 1), -2147483648LL);
  EXPECT_EQ(fold("add", 2147483647, 1, "int32", true), 2147483648LL);
  EXPECT_EQ(fold("mul", 200, 2, "uint8"), 144);
  EXPECT_EQ(fold("sub", 0, 1, "uint16"), 65535);
  EXPECT_EQ(fold("mul", int64_t(1) << 40, int64_t(1) << 40, "int64", true), std::nullopt);
  EXPECT_EQ(fold("shl", 1, 31), std::numeric_limits<int32_t>::min());
}

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

TEST(FoldInteger, DividesTheLeastInteger) {
  for (const char* op : {"floordiv", "truncdiv", "ceildiv"}) {
    EXPECT_EQ(fold(op, kLeast, -1, "int64"), kLeast);
    EXPECT_EQ(fold(op, std::numeric_limits<int32_t>::min(), -1),
              std::numeric_limits<int32_t>::min());
    EXPECT_EQ(fold(op, -128, -1, "int8"), -128);
  }
  EXPECT_EQ(fold("floormod", kLeast, -1, "int64"), 0);
  EXPECT_EQ(fold("truncmod", kLeast, -1, "int64"), 0);
  // From Python's integers.
  EXPECT_EQ(fold("ceildiv", kLeast, 3, "int64"), -3074457345618258602);
  EXPECT_EQ(fold("floordiv", kLeast, 3, "int64"), -3074457345618258603);
  EXPECT_EQ(fold("floormod", kLeast, 3, "int64"), 1);
  EXPECT_EQ(fold("floormod", kLeast, -3, "int64"), -2);
  EXPECT_EQ(fold("ceildiv", kLeast, kLeast, "int64"), 1);
  EXPECT_EQ(fold("ceildiv", kLeast, std::numeric_limits<int64_t>::max(), "int64"), -1);
}

TEST(FoldInteger, LeavesWhatIsUndefined) {
  for (const char* op : {"floordiv", "floormod", "truncdiv", "truncmod", "ceildiv"}) {
    EXPECT_EQ(fold(op, 1, 0), std::nullopt);
    EXPECT_EQ(fold(op, 1, 0, "uint8"), std::nullopt);
  }
  EXPECT_EQ(fold("floordiv", kLeast, -1, "int64", true), std::nullopt);
  EXPECT_EQ(fold("shl", 1, 32), std::nullopt);
  EXPECT_EQ(fold("shr", 1, -1), std::nullopt);
  EXPECT_EQ(fold("pow", 2, -1), std::nullopt);
}

TEST(FoldInteger, ComparesByTheDtypesSign) {
  EXPECT_EQ(fold("lt", -1, 1), 1);
  EXPECT_EQ(fold("lt", -1, 1, "uint64"), 0);
  EXPECT_EQ(fold("min", -1, 1, "uint64"), 1);
  EXPECT_EQ(fold("max", -1, 1, "int64"), 1);
  EXPECT_EQ(fold("shr", -8, 1, "int32"), -4);
  EXPECT_EQ(fold("pow", 3, 4), 81);
  EXPECT_EQ(fold("pow", -1, 1000000000000000001, "int64"), -1);
}

TEST(FoldReal, RoundsOnceToTheDtype) {
  auto add = [](double a, double b, std::string_view dtype) {
    return foldBinary(BinaryOp::Add, Constant::ofReal(a), Constant::ofReal(b), dt(dtype), false);
  };
  EXPECT_EQ(add(1.0, 1e-9, "float32")->real, 1.0);
  EXPECT_EQ(add(1.0, 1e-9, "float64")->real, 1.000000001);
  EXPECT_EQ(add(2048.0, 1.0, "float16")->real, 2048.0);
  EXPECT_EQ(add(256.0, 1.0, "bfloat16")->real, 256.0);
  EXPECT_FALSE(add(1.0, 1.0, "float8_e4m3fn"));
}

TEST(FoldReal, TheLessZeroIsTheNegativeOne) {
  for (auto [a, b] : {std::pair(0.0, -0.0), std::pair(-0.0, 0.0)}) {
    auto fold = [&, a = a, b = b](BinaryOp op) {
      return foldBinary(op, Constant::ofReal(a), Constant::ofReal(b), dt("float32"), false)->real;
    };
    EXPECT_TRUE(std::signbit(fold(BinaryOp::Min)));
    EXPECT_FALSE(std::signbit(fold(BinaryOp::Max)));
  }
}

TEST(FoldCast, KeepsWhatTheKernelWouldCompute) {
  auto toInt = [](double value, std::string_view dtype) {
    return foldCast(Constant::ofReal(value), Dtype::float32(), dt(dtype));
  };
  EXPECT_EQ(toInt(-2.9, "int32")->integer, -2);
  EXPECT_EQ(toInt(0.5, "bool")->integer, 1);
  EXPECT_FALSE(toInt(1e30, "int32"));
  EXPECT_FALSE(toInt(-1.0, "uint8"));
  EXPECT_FALSE(toInt(std::numeric_limits<double>::quiet_NaN(), "int32"));
  EXPECT_EQ(foldCast(Constant::ofInteger(300), Dtype::int32(), dt("uint8"))->integer, 44);
  EXPECT_EQ(foldCast(Constant::ofInteger(2049), Dtype::int32(), dt("float16"))->real, 2048.0);
  EXPECT_EQ(foldCast(Constant::ofReal(0.1), dt("float64"), dt("float16"))->real, 0.0999755859375);
  auto fromInteger = [](int64_t value, std::string_view from) {
    return foldCast(Constant::ofInteger(value), dt(from), dt("float32"));
  };
  EXPECT_EQ(fromInteger(kLeast, "int64")->real, -0x1p63);
  EXPECT_EQ(fromInteger(kLeast, "uint64")->real, 0x1p63);
  EXPECT_EQ(fromInteger(-2048, "uint64")->real, 0x1p64); // 2^64 - 2048 is one of double's
  EXPECT_FALSE(fromInteger(-1, "uint64"));
  EXPECT_FALSE(fromInteger(std::numeric_limits<int64_t>::max(), "int64"));
}

TEST(Promotion, FollowsTheTable) {
  auto common = [](std::string_view a, std::string_view b) {
    EXPECT_EQ(promote(dt(a), dt(b)), promote(dt(b), dt(a))) << a << " " << b;
    return promote(dt(a), dt(b)).name();
  };
  EXPECT_EQ(common("int8", "int8"), "int8");
  EXPECT_EQ(common("int8", "int32"), "int32");
  EXPECT_EQ(common("uint8", "int32"), "int32");
  EXPECT_EQ(common("uint32", "int32"), "uint32");
  EXPECT_EQ(common("bool", "int8"), "int8");
  EXPECT_EQ(common("bool", "float16"), "float16");
  EXPECT_EQ(common("int64", "float16"), "float16");
  EXPECT_EQ(common("float16", "float32"), "float32");
  EXPECT_EQ(common("float16", "bfloat16"), "float32");
  EXPECT_EQ(common("float32", "float64"), "float64");
  // A value of 4 bits, though it takes 8 in memory.
  EXPECT_EQ(common("float4_e2m1_unpacked", "float6_e2m3fn"), "float6_e2m3fn");
  EXPECT_EQ(common("float4_e2m1_unpacked", "float4_e2m1fn"), "float32");
}

TEST(Promotion, LiteralsAreWeak) {
  EXPECT_EQ(literalBeside(5, dt("int8")).name(), "int32");
  EXPECT_EQ(literalBeside(5, dt("int8"), /*staysNarrow=*/true).name(), "int8");
  EXPECT_EQ(literalBeside(5, dt("uint32")).name(), "uint32");
  EXPECT_EQ(literalBeside(300, dt("int8")).name(), "int32");
  EXPECT_EQ(literalBeside(-1, dt("uint8")).name(), "int32");
  EXPECT_EQ(literalBeside(int64_t(1) << 40, dt("int32")).name(), "int64");
  EXPECT_EQ(literalBeside(5, dt("float16")).name(), "float16");
  EXPECT_EQ(literalBeside(5, dt("bool")).name(), "int32");
  EXPECT_EQ(literalAlone(1).name(), "int32");
  EXPECT_EQ(literalAlone(int64_t(1) << 31).name(), "int64");
}

} // namespace
} // namespace tilewright::builder
