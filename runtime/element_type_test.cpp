// SPDX-License-Identifier: Apache-2.0
#include "runtime/element_type.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace tilewright::runtime {
namespace {

TEST(ElementType, EncodesFloat32AsTheMachineDoes) {
  const ElementType& type = *ElementType::find("float32");
  uint64_t state = 1;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double value;
    std::memcpy(&value, &state, sizeof value);
    auto narrow = float(value);
    auto bits = encodeFloat(type, value);
    if (std::isfinite(value) && std::isinf(narrow)) {
      EXPECT_FALSE(bits) << value;
    } else if (!std::isnan(value)) {
      uint32_t expected;
      std::memcpy(&expected, &narrow, sizeof expected);
      ASSERT_EQ(bits, expected) << value;
    }
  }
}

TEST(ElementType, DecodesWhatItEncodes) {
  for (const char* name : {"float16", "bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz",
                           "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn"}) {
    const ElementType& type = *ElementType::find(name);
    for (uint64_t bits = 0; bits < uint64_t(1) << type.bits; ++bits) {
      double value = decodeFloat(type, bits);
      if (!std::isnan(value)) {
        ASSERT_EQ(encodeFloat(type, value), bits) << name << " " << value;
      }
    }
  }
  const ElementType& half = *ElementType::find("float16");
  EXPECT_EQ(decodeFloat(half, 0x3c00), 1.0);
  EXPECT_EQ(decodeFloat(half, 0x0001), 0x1p-24);
  EXPECT_EQ(decodeFloat(half, 0xfbff), -65504.0);
  EXPECT_TRUE(std::isnan(decodeFloat(half, 0x7e00)));
  EXPECT_EQ(decodeFloat(*ElementType::find("float32"), 0x40490fdb), double(3.14159274F));
  EXPECT_EQ(decodeFloat(*ElementType::find("float8_e4m3fn"), 0x7e), 448.0);
}

TEST(ElementType, EncodesIntegersInRange) {
  auto encode = [](const char* type, int64_t value, bool isUnsigned = false) {
    return encodeInteger(*ElementType::find(type), value, isUnsigned);
  };
  EXPECT_EQ(encode("int8", -128), uint64_t(-128));
  EXPECT_FALSE(encode("int8", -129));
  EXPECT_FALSE(encode("int8", 128));
  EXPECT_EQ(encode("uint8", 255), 255u);
  EXPECT_FALSE(encode("uint8", 256));
  EXPECT_FALSE(encode("uint8", -1));
  EXPECT_EQ(encode("int64", std::numeric_limits<int64_t>::min()), uint64_t(1) << 63);
  EXPECT_FALSE(encode("int64", -1, true));
  EXPECT_EQ(encode("uint64", -1, true), ~uint64_t(0));
  EXPECT_FALSE(encode("uint64", -1));
  EXPECT_EQ(encode("bool", 1), 1u);
  EXPECT_FALSE(encode("bool", 2));
}

TEST(ElementType, UnpackedFloatsTakeABytePerElement) {
  const ElementType& unpacked = *ElementType::find("float4_e2m1_unpacked");
  const ElementType& packed = *ElementType::find("float4_e2m1fn");
  EXPECT_EQ(unpacked.elementsPerByte(), 1);
  EXPECT_EQ(packed.elementsPerByte(), 2);
  for (uint64_t bits = 0; bits < 16; ++bits) {
    const double value = decodeFloat(packed, bits);
    EXPECT_EQ(decodeFloat(unpacked, bits), value);
    EXPECT_EQ(decodeFloat(unpacked, bits | 0xA0), value); // the upper half isn't looked at
    EXPECT_EQ(encodeFloat(unpacked, value), bits);
  }
  EXPECT_EQ(decodeFloat(unpacked, 15), -6.0);
  EXPECT_TRUE(isAccepted(unpacked, {DlUInt, 8, 1}));
  EXPECT_TRUE(isAccepted(unpacked, {DlInt, 8, 1}));
  EXPECT_TRUE(isAccepted(unpacked, {DlFloat4E2M1FN, 8, 1}));
  EXPECT_FALSE(isAccepted(unpacked, {DlFloat4E2M1FN, 4, 2}));
  EXPECT_FALSE(isAccepted(unpacked, {DlFloat, 32, 1}));
}

TEST(ElementType, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(nameOf({DlFloat, 32, 4}), "float32x4");
  EXPECT_EQ(nameOf({DlComplex, 64, 1}), "complex64");
  EXPECT_EQ(nameOf({DlOpaque, 64, 1}), "type code 3 of 64 bits");
  EXPECT_EQ(ElementType::find("int3"), nullptr);
  EXPECT_EQ(ElementType::find("float8_e8m0"), ElementType::find("float8_e8m0fnu"));
}

} // namespace
} // namespace tilewright::runtime
