// SPDX-License-Identifier: Apache-2.0
#include "tilewright/dtype.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(Dtype, EveryNameReadsBack) {
  for (int kind = 0; kind <= int(ScalarKind::TFloat32); ++kind) {
    for (int lanes : {1, 2, 4, 64}) {
      Dtype dtype(ScalarKind(kind), lanes);
      EXPECT_EQ(Dtype::parse(dtype.name()), dtype) << dtype.name();
    }
  }
}

TEST(Dtype, ReadsNamesAndAliases) {
  auto kindOf = [](std::string_view name) { return Dtype::parse(name).value().kind(); };
  EXPECT_EQ(kindOf("half"), ScalarKind::Float16);
  EXPECT_EQ(kindOf("float"), ScalarKind::Float32);
  EXPECT_EQ(kindOf("double"), ScalarKind::Float64);
  EXPECT_EQ(kindOf("int"), ScalarKind::Int32);
  EXPECT_EQ(kindOf("long"), ScalarKind::Int64);
  EXPECT_EQ(kindOf("short"), ScalarKind::Int16);
  EXPECT_EQ(kindOf("uint"), ScalarKind::UInt32);
  EXPECT_EQ(kindOf("float8_e4m3fn"), ScalarKind::Float8E4M3FN);
  EXPECT_EQ(kindOf("float8_e8m0fnu"), ScalarKind::Float8E8M0);
  EXPECT_EQ(kindOf("float4_e2m1fn"), ScalarKind::Float4E2M1);
  EXPECT_EQ(kindOf("float6_e3m2fn"), ScalarKind::Float6E3M2);
  EXPECT_EQ(kindOf("tfloat32"), ScalarKind::TFloat32);
}

TEST(Dtype, ReadsLanes) {
  EXPECT_EQ(Dtype::parse("float32x4"), Dtype(ScalarKind::Float32, 4));
  EXPECT_EQ(Dtype::parse("halfx2"), Dtype(ScalarKind::Float16, 2));
  EXPECT_EQ(Dtype::parse("int8x16")->name(), "int8x16");
}

TEST(Dtype, RefusesOtherNames) {
  for (const char* name :
       {"", "x", "x4", "float33", "Float16", "float16x", "float16x3", "float16x1", "float16x04",
        "float16x128", "float16x-2", " float16", "int4 "})
    EXPECT_FALSE(Dtype::parse(name)) << name;
}

TEST(Dtype, KnowsWidthAndFamily) {
  EXPECT_EQ(Dtype::parse("int4")->bits(), 4);
  EXPECT_EQ(Dtype::parse("bool")->bits(), 8);
  EXPECT_EQ(Dtype::parse("bfloat16")->bits(), 16);
  EXPECT_EQ(Dtype::parse("float32x4")->bits(), 32);
  EXPECT_TRUE(Dtype::parse("float4_e2m1fn")->isFloat());
  EXPECT_FALSE(Dtype::parse("uint8")->isSigned());
  EXPECT_TRUE(Dtype::parse("int8")->isSigned());
  EXPECT_TRUE(Dtype::parse("uint8")->isInteger());
  EXPECT_FALSE(Dtype::boolean().isInteger());
  EXPECT_FALSE(Dtype::boolean().isFloat());
}

} // namespace
} // namespace tilewright
