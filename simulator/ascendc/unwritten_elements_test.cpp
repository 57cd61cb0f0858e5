// SPDX-License-Identifier: Apache-2.0
// What nothing has written, computed with element by element: it is no harm where a choice leaves it out, and told where it
// is used, with the line that took it first.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {

class UnwrittenElements : public ::testing::Test {
protected:
  void SetUp() override {
    catchLaunches();
    nextOptions() = {};
    nextOptions().threads = 1;
  }
  static void expectFinding(const std::string& part) {
    EXPECT_NE(allFindings().find(part), std::string::npos) << part << "\n" << allFindings();
  }
};

template <class T> LocalTensor<T> at(uint32_t byte, uint32_t elements) {
  return {TPosition::VECCALC, byte, elements};
}
__aicore__ void store(GM_ADDR out, const LocalTensor<float>& from, uint32_t count) {
  GlobalTensor<float> global;
  global.SetGlobalBuffer((__gm__ float*)out);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(global, from, count);
}
/// Bits of the elements before `chosen` of 64 numbers, from a comparison.
__aicore__ void compareNumbers(const LocalTensor<uint8_t>& mask, int32_t chosen) {
  LocalTensor<float> numbers = at<float>(8192, 64);
  CreateVecIndex(numbers, 0.0f, 64u);
  PipeBarrier<PIPE_V>();
  CompareScalar(mask, numbers, float(chosen), CMPMODE::LT, 64);
  PipeBarrier<PIPE_V>();
}

/// Doubles 64 numbers, of which `written` are there, and takes the first `chosen` of them.
__global__ __aicore__ void doublesSome(GM_ADDR out, int32_t written, int32_t chosen) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<float> x = at<float>(0, 64), doubled = at<float>(256, 64), y = at<float>(512, 64);
  LocalTensor<uint8_t> mask = at<uint8_t>(1024, 8);
  Duplicate(x, 3.0f, written);
  compareNumbers(mask, chosen);
  Muls(doubled, x, 2.0f, 64);
  PipeBarrier<PIPE_V>();
  Select(y, mask, doubled, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
  store(out, y, 64);
}
TEST_F(UnwrittenElements, AreNoHarmWhereAChoiceLeavesThemOut) {
  DeviceBuffer<float> y(64);
  for (int32_t written : {1, 24, 33, 64}) {
    doublesSome<<<1, nullptr, nullptr>>>(y.gm(), written, written);
    EXPECT_EQ(allFindings(), "");
    const std::vector<float>& result = y.data;
    for (int32_t k = 0; k < 64; ++k)
      EXPECT_EQ(result[k], k < written ? 6.0f : -1.0f) << k;
  }
}
TEST_F(UnwrittenElements, AreToldWhereTheyAreChosen) {
  DeviceBuffer<float> y(64);
  doublesSome<<<1, nullptr, nullptr>>>(y.gm(), 24, 25);
  expectFinding("error: Muls on PIPE_V reads UB bytes 96 to 255, which nothing has written (vector "
                "core 0) [ErrorRead2]");
  expectFinding("note: DataCopy uses what comes of it here");
}

/// The same numbers without a choice: only `stored` of them go out.
__global__ __aicore__ void doublesAll(GM_ADDR out, int32_t written, uint32_t stored) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<float> x = at<float>(0, 64), y = at<float>(512, 64);
  Duplicate(x, 3.0f, written);
  PipeBarrier<PIPE_V>();
  for (int turn = 0; turn < 3; ++turn) {
    Muls(y, x, 2.0f, 64);
    PipeBarrier<PIPE_V>();
  }
  store(out, y, stored);
}
TEST_F(UnwrittenElements, AreAWarningWhereNothingUsesThem) {
  DeviceBuffer<float> y(64);
  doublesAll<<<1, nullptr, nullptr>>>(y.gm(), 24, 24);
  expectFinding("warning: Muls on PIPE_V reads UB bytes 96 to 255, which nothing has written "
                "(vector core 0) [ErrorRead2] [3 times]");
  expectFinding("note: nothing uses what comes of it");
  doublesAll<<<1, nullptr, nullptr>>>(y.gm(), 24, 64);
  expectFinding("error: Muls on PIPE_V reads UB bytes 96 to 255");
  expectFinding("[ErrorRead2] [3 times]");
  expectFinding("DataCopy uses what comes of it here");
  nextOptions().relaxed = true;
  doublesAll<<<1, nullptr, nullptr>>>(y.gm(), 24, 64);
  expectFinding("warning: Muls on PIPE_V reads UB bytes 96 to 255");
  expectFinding("DataCopy uses what comes of it here");
  EXPECT_EQ(allFindings().find("nothing uses"), std::string::npos) << allFindings();
}

/// Some of 64 numbers go to another place in UB, and on to GM; a second sum takes all of them.
__global__ __aicore__ void copiesSome(GM_ADDR out, int32_t written, uint32_t stored) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<float> x = at<float>(0, 64), y = at<float>(512, 64), z = at<float>(1024, 64);
  Duplicate(x, 3.0f, written);
  PipeBarrier<PIPE_V>();
  DataCopy(y, x, 64);
  PipeBarrier<PIPE_V>();
  Adds(z, y, 1.0f, 64);
  PipeBarrier<PIPE_V>();
  store(out, z, stored);
}
TEST_F(UnwrittenElements, StayThatInCopiesWithinUB) {
  DeviceBuffer<float> y(64);
  const std::string told = ": DataCopy on PIPE_V reads UB bytes 96 to 255, which nothing has";
  copiesSome<<<1, nullptr, nullptr>>>(y.gm(), 24, 24);
  expectFinding("warning" + told);
  for (int32_t k = 0; k < 24; ++k)
    EXPECT_EQ(y.data[k], 4.0f) << k;
  copiesSome<<<1, nullptr, nullptr>>>(y.gm(), 24, 32);
  expectFinding("error" + told);
  expectFinding("note: DataCopy uses what comes of it here");
}

enum class By { And, Or, Comparison };
/// A choice by two conditions, the second of which is computed from numbers of which 16 are there.
template <By by> __global__ __aicore__ void choosesByTwo(GM_ADDR out, int32_t chosen) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<float> x = at<float>(0, 64), y = at<float>(512, 64), ones = at<float>(768, 64);
  LocalTensor<uint8_t> first = at<uint8_t>(1024, 32), second = at<uint8_t>(1056, 32),
                       both = at<uint8_t>(1088, 32);
  LocalTensor<int16_t> a = first.ReinterpretCast<int16_t>(), b = second.ReinterpretCast<int16_t>(),
                       c = both.ReinterpretCast<int16_t>();
  Duplicate(x, 3.0f, 16);
  Duplicate(ones, 1.0f, 64);
  compareNumbers(first, chosen);
  CompareScalar(second, x, 2.0f, CMPMODE::GT, 64);
  PipeBarrier<PIPE_V>();
  if constexpr (by == By::And) {
    And(c, a, b, 4);
  } else if constexpr (by == By::Or) {
    Not(a, a, 4);
    PipeBarrier<PIPE_V>();
    Or(c, a, b, 4);
  } else {
    Adds(c, b, int16_t(0), 4);
  }
  PipeBarrier<PIPE_V>();
  Select(y, both, ones, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
  store(out, y, 64);
}
TEST_F(UnwrittenElements, OfAConditionCountWhereTheOtherOneLeavesThemOpen) {
  DeviceBuffer<float> y(64);
  for (int32_t chosen : {3, 16}) {
    choosesByTwo<By::And><<<1, nullptr, nullptr>>>(y.gm(), chosen);
    EXPECT_EQ(allFindings(), "");
    choosesByTwo<By::Or><<<1, nullptr, nullptr>>>(y.gm(), chosen);
    EXPECT_EQ(allFindings(), "");
    const std::vector<float>& result = y.data;
    for (int32_t k = 0; k < 64; ++k)
      EXPECT_EQ(result[k], 1.0f) << k;
  }
  const std::string told = "CompareScalar on PIPE_V reads UB bytes 64 to 255, which nothing has";
  choosesByTwo<By::And><<<1, nullptr, nullptr>>>(y.gm(), 17);
  expectFinding(told);
  choosesByTwo<By::Or><<<1, nullptr, nullptr>>>(y.gm(), 17);
  expectFinding(told);
  choosesByTwo<By::Comparison><<<1, nullptr, nullptr>>>(y.gm(), 16);
  expectFinding(told);
}

/// Sums of four rows by repeats that stay where they are; the last row may lack its end, and a choice takes 32 numbers.
__global__ __aicore__ void sums(GM_ADDR out, int32_t incomplete, bool storesAll) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<float> x = at<float>(0, 256), sum = at<float>(1024, 64), y = at<float>(1280, 64);
  LocalTensor<uint8_t> mask = at<uint8_t>(1536, 8);
  Duplicate(sum, 0.0f, 64);
  for (int32_t row = 0; row < 4; ++row)
    Duplicate(x[row * 64], 1.0f, row == incomplete ? 32 : 64);
  compareNumbers(mask, 32);
  Add(sum, x, sum, uint64_t(64), uint8_t(4), BinaryRepeatParams(1, 1, 1, 0, 8, 0));
  PipeBarrier<PIPE_V>();
  LocalTensor<int32_t> whole = at<int32_t>(1024, 64); // in its place
  Cast(whole, sum, RoundMode::CAST_RINT, 64);
  PipeBarrier<PIPE_V>();
  Cast(sum, whole, RoundMode::CAST_NONE, 64);
  PipeBarrier<PIPE_V>();
  Select(y, mask, sum, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
  store(out, storesAll ? sum : y, 64);
}
TEST_F(UnwrittenElements, StayInSumsAndCasts) {
  DeviceBuffer<float> y(64);
  for (int32_t incomplete :
       {0, 3}) { // behind the first, rows follow that have all of their numbers
    sums<<<1, nullptr, nullptr>>>(y.gm(), incomplete, false);
    EXPECT_EQ(allFindings(), "");
    sums<<<1, nullptr, nullptr>>>(y.gm(), incomplete, true);
    const std::string bytes = incomplete ? "896 to 1023" : "128 to 255";
    expectFinding("error: Add on PIPE_V reads UB bytes " + bytes + ", which nothing has written");
    expectFinding("note: DataCopy uses what comes of it here");
  }
}

enum class Use { Scalar, Sum, Moved };
/// What comes of numbers of which 32 are there is used otherwise than by a store.
template <Use use> __global__ __aicore__ void usesAll(GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<float> x = at<float>(0, 64), y = at<float>(512, 64);
  Duplicate(x, 3.0f, 32);
  PipeBarrier<PIPE_V>();
  Adds(y, x, 1.0f, 64);
  PipeBarrier<PIPE_V>();
  if constexpr (use == Use::Sum) {
    WholeReduceSum(x, y, 64, 1, 1, 1, 8);
  } else if constexpr (use == Use::Moved) {
    Brcb(x, y[32], 1, {1, 8});
    store(out, x, 64);
  } else {
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    if (y.GetValue(40) > 0)
      x.SetValue(0, 1.0f);
  }
}
TEST_F(UnwrittenElements, AreToldHoweverTheyAreUsed) {
  DeviceBuffer<float> y(64);
  const std::string told = "error: Adds on PIPE_V reads UB bytes 128 to 255, which nothing has";
  usesAll<Use::Scalar><<<1, nullptr, nullptr>>>(y.gm());
  expectFinding(told);
  expectFinding("note: GetValue uses what comes of it here");
  usesAll<Use::Sum><<<1, nullptr, nullptr>>>(y.gm());
  expectFinding(told);
  expectFinding("note: WholeReduceSum uses what comes of it here");
  usesAll<Use::Moved><<<1, nullptr, nullptr>>>(y.gm());
  expectFinding(told);
  expectFinding("note: DataCopy uses what comes of it here");
}

} // namespace
