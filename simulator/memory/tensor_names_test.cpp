// SPDX-License-Identifier: Apache-2.0
#include "simulator/memory/tensor_names.h"

#include <gtest/gtest.h>

namespace tilewright::ascend {
namespace {

constexpr char kNames[] =
    "a 0 32 1 64;b 256 32 64 32 60;c 8192 16 16 4 3 10;d 0 16 0 64 64;A 0 32 64 -1 64;"
    "e*3 512 32 8 4 8;";

std::string outside(uint16_t number, int64_t begin, int64_t end, bool isWritten = true) {
  return outsideOf(*tensorNamed(kNames, number), begin, end, isWritten);
}

TEST(TensorNames, AreFoundByNumber) {
  EXPECT_FALSE(tensorNamed(kNames, 0));
  EXPECT_FALSE(tensorNamed(kNames, 7));
  EXPECT_FALSE(tensorNamed(nullptr, 1));
  EXPECT_EQ(tensorNamed(kNames, 2)->name, "b");
  EXPECT_EQ(tensorNamed(kNames, 2)->begin, 256u);
  EXPECT_EQ(ofTensor(kNames, 5), " of 'A'");
  EXPECT_EQ(ofTensor(kNames, 0), "");
}

TEST(TensorNames, SayElements) {
  EXPECT_EQ(outside(1, 400, 404), "'a' is written at [100], but its shape is (64)");
  EXPECT_EQ(outside(1, -4, 0, false), "'a' is read at [-1], but its shape is (64)");
  EXPECT_EQ(outside(1, 252, 256), "");
  // Rows of 60 lie 64 apart.
  EXPECT_EQ(outside(2, int64_t{30} * 256, int64_t{38} * 256),
            "'b' is written at [30, 0] to [37, 59], but its shape is (32, 60)");
  EXPECT_EQ(outside(2, int64_t{-3} * 256, 256),
            "'b' is written at [-3, 0] to [0, 59], but its shape is (32, 60)");
  EXPECT_EQ(outside(3, int64_t{12} * 32, int64_t{12} * 32 + 2),
            "'c' is written at [4, 0, 0], but its shape is (4, 3, 10)");
  EXPECT_EQ(outside(3, int64_t{-2} * 32, int64_t{-2} * 32 + 2),
            "'c' is written at [-1, 1, 0], but its shape is (4, 3, 10)");
}

TEST(TensorNames, OfVersions) {
  EXPECT_EQ(tensorNamed(kNames, 6)->name, "e");
  EXPECT_EQ(tensorNamed(kNames, 6)->versions, 3);
  EXPECT_EQ(outside(6, 0, 128), "");
  EXPECT_EQ(outside(6, 128, 256), "");
  EXPECT_EQ(outside(6, 224, 288), "'e' is written at [3, 0] to [4, 7], but its shape is (4, 8)");
  EXPECT_EQ(outside(6, 352, 416, false),
            "'e' is read at [3, 0] to [4, 7], but its shape is (4, 8)");
  EXPECT_EQ(outside(6, 416, 420), "'e' is written at [5, 0], but its shape is (4, 8)");
}

TEST(TensorNames, SayElementsOfAShapeThatIsKnownLater) {
  TensorName tensor = *tensorNamed("B 0 32 0 -1 -1;", 1);
  EXPECT_EQ(tensor.elementsAt(0, 4), "");
  tensor.fillShape({16, 8});
  EXPECT_EQ(tensor.shapeText(), "(16, 8)");
  EXPECT_EQ(tensor.elementsAt(36, 40), "[1, 1]");
  EXPECT_EQ(tensor.elementsAt(32, 96), "[1, 0] to [2, 7]");
  EXPECT_EQ(tensor.bytes(), 512);
}

TEST(TensorNames, SayNothingOfWhatCantBeTold) {
  EXPECT_EQ(outside(4, 1 << 20, (1 << 20) + 2), ""); // no rows
  EXPECT_EQ(outside(5, -256, -252), "'A' is written at [-1, 0], but its shape is (?, 64)");
  EXPECT_EQ(outside(5, 4096, 4100), ""); // as many rows as it has at run time
  EXPECT_EQ(outside(1, 400, 400), "");
}

} // namespace
} // namespace tilewright::ascend
