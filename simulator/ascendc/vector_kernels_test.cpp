// SPDX-License-Identifier: Apache-2.0
// Vector instructions as kernels call them, each against plain host code. The number in a test's
// name is that of the group in docs/ascend-host-coverage.md.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace AscendC;
using namespace tilewright::ascend::testing;

constexpr uint32_t outAt = 64 * 1024, tmpAt = 128 * 1024;

template <class T> LocalTensor<T> in(uint32_t offset = 0) {
  return LocalTensor<T>(TPosition::VECCALC, offset, (outAt - offset) / sizeof(T));
}
template <class T> LocalTensor<T> out(uint32_t offset = 0) {
  return LocalTensor<T>(TPosition::VECCALC, outAt + offset, (outAt - offset) / sizeof(T));
}
template <class T> LocalTensor<T> tmp(uint32_t offset = 0) {
  return LocalTensor<T>(TPosition::VECCALC, tmpAt + offset, (outAt - offset) / sizeof(T));
}

/// UB from 0 holds the input, zeros lie in the output; Body::run does the work.
template <class Body>
__global__ __aicore__ void harness(GM_ADDR x, GM_ADDR y, uint32_t inBytes, uint32_t outBytes) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<uint8_t> a, b;
  a.SetGlobalBuffer(x);
  b.SetGlobalBuffer(y);
  DataCopy(in<uint8_t>(), a, inBytes);
  Duplicate(out<int32_t>(), 0, static_cast<int32_t>(outBytes / 4));
  PipeBarrier<PIPE_ALL>();
  Body::run();
  PipeBarrier<PIPE_ALL>();
  DataCopy(b, out<uint8_t>(), outBytes);
}

template <class Body, class To, class From>
std::vector<To> runBody(const std::vector<From>& input, size_t outputs) {
  catchLaunches();
  auto rounded = [](size_t bytes) { return (bytes + 31) / 32 * 32; };
  std::vector<From> padded = input;
  padded.resize(rounded(input.size() * sizeof(From)) / sizeof(From));
  DeviceBuffer<From> x(padded);
  DeviceBuffer<To> y(rounded(outputs * sizeof(To)) / sizeof(To));
  harness<Body><<<1, nullptr, nullptr>>>(x.gm(), y.gm(),
                                         static_cast<uint32_t>(padded.size() * sizeof(From)),
                                         static_cast<uint32_t>(y.size() * sizeof(To)));
  EXPECT_EQ(allFindings(), "");
  y.data.resize(outputs);
  return y.data;
}

template <class T> std::vector<T> randomNumbers(size_t n, float low, float high, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> numbers(low, high);
  std::vector<T> v(n);
  for (T& x : v)
    x = static_cast<T>(numbers(random));
  return v;
}
float f(half h) {
  return static_cast<float>(h);
}

constexpr uint32_t n = 256;

// --- 37, 39: two sources --------------------------------------------------------------------

struct BinaryCount {
  static void run() {
    auto a = in<half>(), b = in<half>(2 * n);
    Add(out<half>(), a, b, n);
    Sub(out<half>(2 * n), a, b, n);
    Mul(out<half>(4 * n), a, b, n);
    Div(out<half>(6 * n), a, b, n);
    Max(out<half>(8 * n), a, b, n);
    Min(out<half>(10 * n), a, b, n);
    AddRelu(out<half>(12 * n), a, b, n);
    SubRelu(out<half>(14 * n), a, b, n);
  }
};
TEST(Vector, G37_BinaryHalfIsExact) {
  auto x = randomNumbers<half>(2 * n, -8, 8, 1);
  auto y = runBody<BinaryCount, half>(x, 8 * n);
  for (uint32_t i = 0; i < n; ++i) {
    float a = f(x[i]), b = f(x[n + i]);
    float expected[8] = {a + b,
                         a - b,
                         a * b,
                         a / b,
                         std::max(a, b),
                         std::min(a, b),
                         std::max(a + b, 0.f),
                         std::max(a - b, 0.f)};
    for (int k = 0; k < 8; ++k)
      ASSERT_EQ(y[k * n + i].bits, half(expected[k]).bits) << k << " " << a << " " << b;
  }
}

struct BinaryMasked {
  static void run() {
    uint64_t mask[2] = {0x00F0F00FFF00FF01ull, 0};
    // Every second block of src0; dst with a gap of a repeat.
    Add(out<float>(), in<float>(), in<float>(8192), mask, 3, {1, 2, 1, 16, 16, 8});
    PipeBarrier<PIPE_V>();
    Mul(out<float>(16384), in<float>(), in<float>(8192), 20, 2, {2, 1, 1, 16, 8, 0});
  }
};
TEST(Vector, G37_MasksRepeatsStrides) {
  auto x = randomNumbers<float>(4096, -4, 4, 2);
  auto y = runBody<BinaryMasked, float>(x, 8192);
  std::vector<float> expected(8192, 0.f);
  uint64_t mask = 0x00F0F00FFF00FF01ull;
  for (uint32_t r = 0; r < 3; ++r)
    for (uint32_t lane = 0; lane < 64; ++lane)
      if (mask >> lane & 1)
        expected[r * 128 + lane] = x[r * 128 + lane / 8 * 16 + lane % 8] + x[2048 + r * 64 + lane];
  for (uint32_t r = 0; r < 2; ++r)
    for (uint32_t lane = 0; lane < 20; ++lane)
      expected[4096 + r * 128 + lane / 8 * 16 + lane % 8] = x[r * 64 + lane] * x[2048 + lane];
  EXPECT_EQ(y, expected);
}

struct MultiplyAdd {
  static void run() {
    DataCopy(out<float>(), in<float>(2048), 256);
    DataCopy(out<float>(1024), in<float>(2048), 256);
    PipeBarrier<PIPE_V>();
    MulAddDst(out<float>(), in<float>(), in<float>(1024), 256);
    FusedMulAdd(out<float>(1024), in<float>(), in<float>(1024), 256);
  }
};
TEST(Vector, G39_MultiplyAdd) {
  auto x = randomNumbers<float>(768, -4, 4, 3);
  auto y = runBody<MultiplyAdd, float>(x, 512);
  for (uint32_t i = 0; i < 256; ++i) {
    float product = x[i] * x[256 + i], other = x[i] * x[512 + i];
    ASSERT_EQ(y[i], product + x[512 + i]);
    ASSERT_EQ(y[256 + i], other + x[256 + i]);
  }
}

// --- 38, 42: bits and shifts ----------------------------------------------------------------

struct Bits {
  static void run() {
    auto a = in<uint16_t>(), b = in<uint16_t>(512);
    And(out<uint16_t>(), a, b, 256);
    Or(out<uint16_t>(512), a, b, 256);
    Xor(out<uint16_t>(1024), a, b, tmp<uint8_t>(), 256);
    Not(out<uint16_t>(1536), a, 256);
    ShiftLeft(out<uint16_t>(2048), a, static_cast<uint16_t>(3), 256);
    ShiftRight(out<int16_t>(2560), in<int16_t>(), static_cast<int16_t>(2), 256);
  }
};
TEST(Vector, G38_G42_BitsAndShifts) {
  std::mt19937 random(4);
  std::vector<uint16_t> x(512);
  for (auto& v : x)
    v = static_cast<uint16_t>(random());
  auto y = runBody<Bits, uint16_t>(x, 6 * 256);
  for (uint32_t i = 0; i < 256; ++i) {
    uint16_t a = x[i], b = x[256 + i];
    ASSERT_EQ(y[i], a & b);
    ASSERT_EQ(y[256 + i], a | b);
    ASSERT_EQ(y[512 + i], a ^ b);
    ASSERT_EQ(y[768 + i], static_cast<uint16_t>(~a));
    ASSERT_EQ(y[1024 + i], static_cast<uint16_t>(a << 3));
    ASSERT_EQ(static_cast<int16_t>(y[1280 + i]), static_cast<int16_t>(a) >> 2);
  }
}

// --- 40, 41, 43: scalars --------------------------------------------------------------------

struct Scalars {
  static void run() {
    auto a = in<float>();
    Adds(out<float>(), a, 1.5f, 64);
    Muls(out<float>(256), a, -2.0f, 64);
    Maxs(out<float>(512), a, 0.5f, 64);
    Mins(out<float>(768), a, 0.5f, 64);
    LeakyRelu(out<float>(1024), a, 0.1f, 64);
    Duplicate(out<float>(1280), 3.0f, 64);
    PipeBarrier<PIPE_V>();
    Axpy(out<float>(1280), a, 2.0f, 64);
    Adds(out<int32_t>(1536), in<int32_t>(), 7, 64);
  }
};
TEST(Vector, G40_G41_G43_Scalars) {
  auto x = randomNumbers<float>(64, -4, 4, 5);
  auto y = runBody<Scalars, float>(x, 448);
  for (uint32_t i = 0; i < 64; ++i) {
    ASSERT_EQ(y[i], x[i] + 1.5f);
    ASSERT_EQ(y[64 + i], x[i] * -2.0f);
    ASSERT_EQ(y[128 + i], std::max(x[i], 0.5f));
    ASSERT_EQ(y[192 + i], std::min(x[i], 0.5f));
    ASSERT_EQ(y[256 + i], x[i] >= 0 ? x[i] : x[i] * 0.1f);
    float product = x[i] * 2.0f;
    ASSERT_EQ(y[320 + i], product + 3.0f);
    int32_t bits, result;
    std::memcpy(&bits, &x[i], 4);
    std::memcpy(&result, &y[384 + i], 4);
    ASSERT_EQ(result, bits + 7);
  }
}

// --- 44: one source -------------------------------------------------------------------------

struct Unary {
  static void run() {
    auto a = in<float>();
    Exp(out<float>(), a, 64);
    Ln(out<float>(256), a, 64);
    Abs(out<float>(512), a, 64);
    Reciprocal(out<float>(768), a, 64);
    Sqrt(out<float>(1024), a, 64);
    Rsqrt(out<float>(1280), a, 64);
    Relu(out<float>(1536), a, 64);
  }
};
TEST(Vector, G44_Unary) {
  auto x = randomNumbers<float>(64, 0.1f, 8, 6);
  auto y = runBody<Unary, float>(x, 448);
  for (uint32_t i = 0; i < 64; ++i) {
    double v = x[i];
    double expected[7] = {std::exp(v), std::log(v), v, 1 / v, std::sqrt(v), 1 / std::sqrt(v), v};
    for (int k = 0; k < 7; ++k)
      ASSERT_NEAR(y[k * 64 + i], expected[k], 2e-7 * std::max(1.0, std::fabs(expected[k]))) << k;
  }
}

// --- 45: Cast -------------------------------------------------------------------------------

template <RoundMode mode> struct ToInt {
  static void run() {
    Cast(out<int32_t>(), in<float>(), mode, 64);
  }
};
template <RoundMode mode> std::vector<int32_t> toInt(const std::vector<float>& x) {
  return runBody<ToInt<mode>, int32_t>(x, 64);
}
TEST(Vector, G45_CastToIntByAllModes) {
  auto x = randomNumbers<float>(64, -5, 5, 7);
  for (int i = 0; i < 12; ++i)
    x[i] = static_cast<float>(i) - 5.5f; // ties
  x[12] = 3e9f;
  x[13] = -3e9f;
  auto rint = toInt<RoundMode::CAST_RINT>(x), floor = toInt<RoundMode::CAST_FLOOR>(x),
       ceil = toInt<RoundMode::CAST_CEIL>(x), round = toInt<RoundMode::CAST_ROUND>(x),
       trunc = toInt<RoundMode::CAST_TRUNC>(x);
  for (int i = 0; i < 64; ++i) {
    auto clamp = [](double v) {
      return static_cast<int32_t>(std::min(std::max(v, -2147483648.0), 2147483647.0));
    };
    ASSERT_EQ(rint[i], clamp(std::nearbyint(x[i])));
    ASSERT_EQ(floor[i], clamp(std::floor(x[i])));
    ASSERT_EQ(ceil[i], clamp(std::ceil(x[i])));
    ASSERT_EQ(round[i], clamp(std::round(x[i])));
    ASSERT_EQ(trunc[i], clamp(std::trunc(x[i])));
  }
}

template <RoundMode mode> struct ToHalf {
  static void run() {
    Cast(out<half>(), in<float>(), mode, 64);
  }
};
TEST(Vector, G45_CastToHalfByAllModes) {
  auto x = randomNumbers<float>(64, -5, 5, 8);
  x[0] = 1e-7f;
  x[1] = -1e-7f;
  x[2] = 1 + 0x1p-11f; // a tie
  auto none = runBody<ToHalf<RoundMode::CAST_NONE>, half>(x, 64);
  auto floor = runBody<ToHalf<RoundMode::CAST_FLOOR>, half>(x, 64);
  auto ceil = runBody<ToHalf<RoundMode::CAST_CEIL>, half>(x, 64);
  auto trunc = runBody<ToHalf<RoundMode::CAST_TRUNC>, half>(x, 64);
  auto round = runBody<ToHalf<RoundMode::CAST_ROUND>, half>(x, 64);
  auto odd = runBody<ToHalf<RoundMode::CAST_ODD>, half>(x, 64);
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(none[i].bits, half(x[i]).bits);
    ASSERT_LE(f(floor[i]), x[i]);
    ASSERT_GE(f(ceil[i]), x[i]);
    if (f(floor[i]) == f(ceil[i]))
      continue;
    ASSERT_TRUE(f(none[i]) == f(floor[i]) || f(none[i]) == f(ceil[i]));
    ASSERT_EQ(f(trunc[i]), x[i] > 0 ? f(floor[i]) : f(ceil[i]));
    ASSERT_EQ(odd[i].bits & 1, 1) << x[i];
    ASSERT_LE(std::fabs(f(round[i]) - x[i]), std::fabs(f(none[i]) - x[i]));
  }
  EXPECT_EQ(f(none[2]), 1.0f);  // to even
  EXPECT_GT(f(round[2]), 1.0f); // away
}

struct Casts {
  static void run() {
    Cast(out<float>(), in<half>(), RoundMode::CAST_NONE, 128);
    Cast(out<int8_t>(512), in<half>(), RoundMode::CAST_FLOOR, 128);
    Cast(out<int16_t>(768), in<half>(), RoundMode::CAST_RINT, 128);
    PipeBarrier<PIPE_V>();
    Cast(out<half>(1024), out<int8_t>(512), RoundMode::CAST_NONE, 128);
    Cast(out<bfloat16_t>(1280), out<float>(), RoundMode::CAST_RINT, 128);
    PipeBarrier<PIPE_V>();
    Cast(out<float>(2048), out<bfloat16_t>(1280), RoundMode::CAST_NONE, 128);
    uint64_t lanes = 64;
    Cast(out<float>(4096), in<half>(), RoundMode::CAST_NONE, lanes, 2, {1, 1, 8, 4});
  }
};
TEST(Vector, G45_CastBetweenTypes) {
  auto x = randomNumbers<half>(128, -100, 100, 9);
  auto y = runBody<Casts, uint8_t>(x, 4096 + 512);
  auto at = [&](auto zero, size_t byte) {
    std::memcpy(&zero, &y[byte], sizeof zero);
    return zero;
  };
  for (uint32_t i = 0; i < 128; ++i) {
    ASSERT_EQ(at(float{}, i * 4), f(x[i]));
    ASSERT_EQ(at(int8_t{}, 512 + i), static_cast<int8_t>(std::floor(f(x[i]))));
    ASSERT_EQ(at(int16_t{}, 768 + i * 2), static_cast<int16_t>(std::nearbyint(f(x[i]))));
    ASSERT_EQ(f(at(half{}, 1024 + i * 2)), std::floor(f(x[i])));
    ASSERT_EQ(at(bfloat16_t{}, 1280 + i * 2).bits, bfloat16_t(f(x[i])).bits);
    ASSERT_EQ(at(float{}, 4096 + i * 4), f(x[i]));
  }
}

// --- 48 to 51: Compare, Select --------------------------------------------------------------

struct Comparing {
  static void run() {
    auto a = in<float>(), b = in<float>(1024);
    Compare(out<uint8_t>(), a, b, CMPMODE::LT, 256);
    CompareScalar(out<uint8_t>(32), a, 0.5f, CMPMODE::GE, 256);
    PipeBarrier<PIPE_V>();
    Select(out<float>(1024), out<uint8_t>(), a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, 256);
    Select(out<float>(2048), out<uint8_t>(32), a, 9.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 256);
    uint64_t lanes = 64;
    Compare(a, b, CMPMODE::GT, lanes, BinaryRepeatParams());
    PipeBarrier<PIPE_V>();
    Select<float, SELMODE::VSEL_CMPMASK_SPR>(out<float>(3072), a, b, 1, BinaryRepeatParams());
  }
};
TEST(Vector, G48_G51_CompareAndSelect) {
  auto x = randomNumbers<float>(512, -1, 1, 10);
  auto y = runBody<Comparing, uint8_t>(x, 3072 + 256);
  auto at = [&](size_t byte) {
    float v;
    std::memcpy(&v, &y[byte], 4);
    return v;
  };
  for (uint32_t i = 0; i < 256; ++i) {
    float a = x[i], b = x[256 + i];
    ASSERT_EQ(y[i / 8] >> (i % 8) & 1, a < b);
    ASSERT_EQ(y[32 + i / 8] >> (i % 8) & 1, a >= 0.5f);
    ASSERT_EQ(at(1024 + i * 4), a < b ? a : b);
    ASSERT_EQ(at(2048 + i * 4), a >= 0.5f ? a : 9.0f);
    if (i < 64)
      ASSERT_EQ(at(3072 + i * 4), a > b ? a : b);
  }
}

// --- 52 to 56: reductions -------------------------------------------------------------------

float treeSum(const float* x, uint32_t count) {
  std::vector<float> v(x, x + count);
  for (; count > 1; count /= 2)
    for (uint32_t i = 0; i < count / 2; ++i)
      v[i] = v[2 * i] + v[2 * i + 1];
  return v[0];
}

struct Reducing {
  static void run() {
    auto a = in<float>();
    WholeReduceSum<float>(out<float>(), a, 64, 4, 1, 1, 8);
    WholeReduceMax<float>(out<float>(64), a, 64, 4, 1, 1, 8, ReduceOrder::ORDER_VALUE_INDEX);
    BlockReduceSum<float>(out<float>(128), a, 4, 64, 1, 1, 8);
    BlockReduceMin<float>(out<float>(256), a, 4, 64, 1, 1, 8);
    PairReduceSum<float>(out<float>(512), a, 4, 64, 1, 1, 8);
    ReduceSum(out<float>(1024), a, tmp<float>(), 250);
    ReduceMax(out<float>(1056), a, tmp<float>(1024), 250, true);
    ReduceMin(out<float>(1088), a, tmp<float>(2048), 250);
    ReduceRepeat<ReduceType::MIN, float>(out<float>(1120), a, 64, 4, 1, 1, 8,
                                         ReduceOrder::ORDER_ONLY_INDEX);
    RepeatReduceSum<float>(out<float>(1152), a, 4, 64, 0, 1, 1, 8);
  }
};
TEST(Vector, G52_to_G56_Reductions) {
  auto x = randomNumbers<float>(256, -1, 1, 11);
  auto y = runBody<Reducing, float>(x, 300);
  auto indexAt = [&](size_t i) {
    uint32_t v;
    std::memcpy(&v, &y[i], 4);
    return v;
  };
  for (uint32_t r = 0; r < 4; ++r) {
    const float* row = &x[r * 64];
    ASSERT_EQ(y[r], treeSum(row, 64));
    ASSERT_EQ(y[288 + r], treeSum(row, 64));
    auto max = std::max_element(row, row + 64);
    ASSERT_EQ(y[16 + 2 * r], *max);
    ASSERT_EQ(indexAt(16 + 2 * r + 1), static_cast<uint32_t>(max - row));
    ASSERT_EQ(indexAt(280 + r), static_cast<uint32_t>(std::min_element(row, row + 64) - row));
    for (uint32_t b = 0; b < 8; ++b) {
      ASSERT_EQ(y[32 + r * 8 + b], treeSum(row + b * 8, 8));
      ASSERT_EQ(y[64 + r * 8 + b], *std::min_element(row + b * 8, row + b * 8 + 8));
    }
    for (uint32_t p = 0; p < 32; ++p)
      ASSERT_EQ(y[128 + r * 32 + p], row[2 * p] + row[2 * p + 1]);
  }
  std::vector<float> tail(x.begin(), x.begin() + 250);
  tail.resize(256);
  float sum = treeSum(&tail[0], 64);
  for (int r = 1; r < 4; ++r)
    sum += treeSum(&tail[r * 64], 64);
  EXPECT_EQ(y[256], sum);
  auto max = std::max_element(x.begin(), x.begin() + 250);
  EXPECT_EQ(y[264], *max);
  EXPECT_EQ(indexAt(265), static_cast<uint32_t>(max - x.begin()));
  EXPECT_EQ(y[272], *std::min_element(x.begin(), x.begin() + 250));
}

// --- 57 to 59: Gather -----------------------------------------------------------------------

struct Gathering {
  static void run() {
    auto a = in<float>();
    ShiftLeft(tmp<uint32_t>(), in<uint32_t>(1024), 2u, 64);
    PipeBarrier<PIPE_V>();
    Gather(out<float>(), a, tmp<uint32_t>(), 0, 64);
    uint64_t kept = 0, keptBits = 0;
    GatherMask(out<float>(256), a, 1, false, 0, GatherMaskParams(1, 4, 8, 0), kept);
    GatherMask(out<float>(1024), a, in<uint32_t>(1280), false, 0, GatherMaskParams(1, 2, 8, 1),
               keptBits);
    out<int32_t>(2048).SetValue(0, static_cast<int32_t>(kept));
    out<int32_t>(2048).SetValue(1, static_cast<int32_t>(keptBits));
    Muls(tmp<int32_t>(512), in<int32_t>(1024), 32, 8);
    PipeBarrier<PIPE_V>();
    Gatherb(out<float>(2080), a, tmp<uint32_t>(512), 1, GatherRepeatParams(1, 8));
  }
};
TEST(Vector, G57_to_G59_Gather) {
  std::vector<float> x(512);
  std::vector<uint32_t> index(64);
  for (uint32_t i = 0; i < 256; ++i)
    x[i] = static_cast<float>(i) * 1.5f;
  for (uint32_t i = 0; i < 64; ++i)
    index[i] = i * 7 % 31;
  std::memcpy(&x[256], index.data(), 256);
  uint64_t bits[8] = {0xF0F01234ull, 0, 0, 0, 0x8000000000000001ull, 0, 0, 0};
  std::memcpy(&x[320], bits, sizeof bits);
  auto y = runBody<Gathering, float>(x, 600);
  for (uint32_t i = 0; i < 64; ++i)
    ASSERT_EQ(y[i], x[index[i]]);
  for (uint32_t i = 0; i < 128; ++i)
    ASSERT_EQ(y[64 + i], x[2 * i]);
  std::vector<float> kept;
  for (uint32_t r = 0; r < 2; ++r)
    for (uint32_t lane = 0; lane < 64; ++lane)
      if (bits[r * 4] >> lane & 1)
        kept.push_back(x[r * 64 + lane]);
  for (uint32_t i = 0; i < kept.size(); ++i)
    ASSERT_EQ(y[256 + i], kept[i]);
  int32_t counts[2];
  std::memcpy(counts, &y[512], 8);
  EXPECT_EQ(counts[0], 128);
  EXPECT_EQ(counts[1], static_cast<int32_t>(kept.size()));
  for (uint32_t b = 0; b < 8; ++b)
    for (uint32_t e = 0; e < 8; ++e)
      ASSERT_EQ(y[520 + b * 8 + e], x[index[b] * 8 + e]);
}

// --- 61, 62: Brcb, Transpose, TransDataTo5HD ------------------------------------------------

struct Rearranging {
  static void run() {
    Brcb(out<half>(), in<half>(), 2, BrcbRepeatParams(1, 8));
    Transpose(out<half>(1024), in<half>());
    LocalTensor<half> dst[16], src[16];
    for (uint32_t i = 0; i < 16; ++i) {
      dst[i] = out<half>(2048 + i * 32);
      src[i] = in<half>(i * 32);
    }
    const TransDataTo5HDParams once(false, false, 1, 0, 0);
    TransDataTo5HD<half>(dst, src, once);
    __ubuf__ half *to[16], *from[16];
    for (uint32_t i = 0; i < 16; ++i) {
      to[i] = (__ubuf__ half*)dst[i].GetPhyAddr(256);
      from[i] = (__ubuf__ half*)src[i].GetPhyAddr();
    }
    TransDataTo5HDImpl(to, from, once);
  }
};
TEST(Vector, G61_G62_Rearrange) {
  auto x = randomNumbers<half>(256, -9, 9, 12);
  auto y = runBody<Rearranging, half>(x, 1536);
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t j = 0; j < 16; ++j) {
      ASSERT_EQ(y[i * 16 + j].bits, x[i].bits);
      ASSERT_EQ(y[512 + j * 16 + i].bits, x[i * 16 + j].bits);
      ASSERT_EQ(y[1024 + j * 16 + i].bits, x[i * 16 + j].bits);
      ASSERT_EQ(y[1280 + j * 16 + i].bits, x[i * 16 + j].bits);
    }
}

// --- 63 to 66: sorting and sequences --------------------------------------------------------

struct Sorting {
  static void run() {
    auto scores = in<float>();
    CreateVecIndex(tmp<int32_t>(), 0, 128);
    PipeBarrier<PIPE_V>();
    Sort32(tmp<float>(1024), scores, tmp<uint32_t>(), 4);
    PipeBarrier<PIPE_V>();
    uint16_t lengths[4] = {32, 32, 32, 32};
    MrgSort(tmp<float>(4096),
            MrgSortSrcList<float>(tmp<float>(1024), tmp<float>(1280), tmp<float>(1536),
                                  tmp<float>(1792)),
            MrgSort4Info(lengths, false, 15, 1));
    PipeBarrier<PIPE_V>();
    Extract(out<float>(), out<uint32_t>(512), tmp<float>(4096), 4);
    LocalTensor<float> work = tmp<float>(8192);
    Sort<float, true>(tmp<float>(16384), scores, tmp<uint32_t>(), work, 4);
    PipeBarrier<PIPE_V>();
    Extract(out<float>(1024), out<uint32_t>(1536), tmp<float>(16384), 4);
    ArithProgression(out<float>(2048), 3.0f, 0.5f, 64);
  }
};
TEST(Vector, G63_to_G66_SortAndSequences) {
  auto x = randomNumbers<float>(128, -9, 9, 13);
  x[5] = x[100]; // a tie: the lower index first
  auto y = runBody<Sorting, float>(x, 576);
  std::vector<uint32_t> order(128);
  for (uint32_t i = 0; i < 128; ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] > x[b]; });
  for (uint32_t i = 0; i < 128; ++i)
    for (uint32_t base : {0u, 256u}) {
      uint32_t index;
      std::memcpy(&index, &y[base + 128 + i], 4);
      ASSERT_EQ(index, order[i]);
      ASSERT_EQ(y[base + i], x[order[i]]);
    }
  for (uint32_t i = 0; i < 64; ++i)
    ASSERT_EQ(y[512 + i], 3.0f + 0.5f * static_cast<float>(i));
}

// --- 25, 47, 68: Copy, Duplicate, the mask register -----------------------------------------

struct MaskRegister {
  static void run() {
    uint64_t lanes = 64;
    Copy(out<float>(), in<float>(), lanes, 2, CopyRepeatParams(1, 1, 8, 8));
    Duplicate(out<float>(512), 2.0f, lanes, 2, 1, 16);
    SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(0, 100);
    Adds<float, false>(out<float>(2048), in<float>(), 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    SetMaskNorm();
    SetVectorMask<float>(0, 0xFF);
    PipeBarrier<PIPE_V>();
    Adds<float, false>(out<float>(3072), in<float>(), 2.0f, MASK_PLACEHOLDER, 2, {1, 1, 8, 8});
    ResetMask();
  }
};
TEST(Vector, G25_G47_G68_CopyDuplicateMask) {
  auto x = randomNumbers<float>(128, -9, 9, 14);
  auto y = runBody<MaskRegister, float>(x, 1024);
  for (uint32_t i = 0; i < 128; ++i) {
    ASSERT_EQ(y[i], x[i]);
    ASSERT_EQ(y[128 + i / 64 * 128 + i % 64], 2.0f);
    ASSERT_EQ(y[512 + i], i < 100 ? x[i] + 1 : 0);
    ASSERT_EQ(y[768 + i], i % 64 < 8 ? x[i] + 2 : 0);
  }
}

// --- 72: advanced functions -----------------------------------------------------------------

struct Advanced {
  static void run() {
    auto a = in<float>();
    Sin(out<float>(), a, tmp<uint8_t>(), 64);
    Cos(out<float>(256), a, 64);
    Tanh(out<float>(512), a, 64);
    Sigmoid(out<float>(768), a, 64);
    Silu(out<float>(1024), a, 64);
    Power(out<float>(1280), a, a, 64);
    Round(out<float>(1536), a, 64);
    PipeBarrier<PIPE_V>();
    ClampMax(out<float>(1792), a, tmp<uint8_t>(), 1.0f, 64);
    Erf(out<float>(2048), a, 64);
  }
};
TEST(Vector, G72_Functions) {
  auto x = randomNumbers<float>(64, 0.1f, 3, 15);
  auto y = runBody<Advanced, float>(x, 9 * 64);
  for (uint32_t i = 0; i < 64; ++i) {
    double v = x[i];
    double expected[9] = {std::sin(v),
                          std::cos(v),
                          std::tanh(v),
                          1 / (1 + std::exp(-v)),
                          v / (1 + std::exp(-v)),
                          std::pow(v, v),
                          std::nearbyint(v),
                          std::min(v, 1.0),
                          std::erf(v)};
    for (int k = 0; k < 9; ++k)
      ASSERT_NEAR(y[k * 64 + i], expected[k], 1e-6 * std::max(1.0, std::fabs(expected[k]))) << k;
  }
}

struct Matrices {
  static void run() {
    auto a = in<float>();
    uint32_t shape[2] = {4, 16}, column[2] = {4, 1}, row[2] = {1, 16};
    Broadcast<float, 2, 1>(out<float>(), a, shape, column);
    Broadcast<float, 2, 0>(out<float>(256), a, shape, row);
    ReduceSum<float, Pattern::Reduce::AR>(out<float>(512), a, shape, true);
    ReduceMax<float, Pattern::Reduce::RA>(out<float>(544), a, tmp<uint8_t>(), shape, true);
    Sum(out<float>(608), a, SumParams{4, 16, 13});
    Duplicate(out<float>(640), a[8], 16);
    MulCast(out<int8_t>(704), in<half>(), in<half>(), 32);
  }
};
TEST(Vector, G39_G47_G72_Matrices) {
  auto x = randomNumbers<float>(64, -3, 3, 16);
  auto y = runBody<Matrices, float>(x, 184);
  for (uint32_t r = 0; r < 4; ++r) {
    float sum = x[r * 16], part = sum;
    for (uint32_t c = 0; c < 16; ++c) {
      ASSERT_EQ(y[r * 16 + c], x[r]);
      ASSERT_EQ(y[64 + r * 16 + c], x[c]);
      ASSERT_EQ(y[136 + c], std::max({x[c], x[16 + c], x[32 + c], x[48 + c]}));
      sum += c ? x[r * 16 + c] : 0;
      part += c && c < 13 ? x[r * 16 + c] : 0;
      ASSERT_EQ(y[160 + c], x[8]);
    }
    ASSERT_EQ(y[128 + r], sum);
    ASSERT_EQ(y[152 + r], part);
  }
  const auto* halves = reinterpret_cast<const half*>(x.data());
  const auto* bytes = reinterpret_cast<const int8_t*>(&y[176]);
  for (uint32_t i = 0; i < 32; ++i) {
    float square = f(halves[i]) * f(halves[i]);
    if (square == square)
      ASSERT_EQ(bytes[i], static_cast<int8_t>(std::min(127.0f, std::nearbyint(square))));
  }
}

// --- 16, 17, 22, 23: data movement ----------------------------------------------------------

__global__ __aicore__ void movement(GM_ADDR x, GM_ADDR y) {
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x);
  b.SetGlobalBuffer((__gm__ float*)y);
  // Two rows of 5 floats out of rows of 8, padded to 8 with -1.
  DataCopyPad(in<float>(), a, DataCopyExtParams(2, 20, 12, 0, 0),
              DataCopyPadExtParams<float>(true, 0, 3, -1.0f));
  DataCopy(in<float>(1024), a[16], DataCopyParams(2, 1, 1, 0)); // every second block
  SetFlag<HardEvent::MTE2_MTE3>(0);
  WaitFlag<HardEvent::MTE2_MTE3>(0);
  DataCopy(b, in<float>(), 16);
  DataCopyPad(b[16], in<float>(1024), DataCopyExtParams(1, 52, 0, 0, 0));
}
TEST(Vector, G16_G17_G23_Movement) {
  catchLaunches();
  DeviceBuffer<float> x(64), y(32);
  for (uint32_t i = 0; i < 64; ++i)
    x[i] = static_cast<float>(i + 1);
  movement<<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  EXPECT_EQ(allFindings(), "");
  for (uint32_t i = 0; i < 16; ++i)
    ASSERT_EQ(y[i], i % 8 < 5 ? x[i] : -1.0f) << i;
  for (uint32_t i = 0; i < 16; ++i)
    ASSERT_EQ(y[16 + i], i < 13 ? x[16 + i / 8 * 16 + i % 8] : 0) << i;
}

/// A queue whose size depends on the task.
__global__ __aicore__ void initialises_its_queue_again(GM_ADDR y, int32_t tasks) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> out;
  out.SetGlobalBuffer((__gm__ float*)y);
  TPipe pipe;
  TQue<TPosition::VECOUT, 1> queue;
  for (int32_t task = 0; task < tasks; ++task) {
    const int32_t count = 64 * (task + 1);
    pipe.InitBuffer(queue, 1, count * sizeof(float));
    LocalTensor<float> t = queue.AllocTensor<float>();
    Duplicate(t, static_cast<float>(task + 1), count);
    queue.EnQue(t);
    t = queue.DeQue<float>();
    DataCopy(out[task * 1024], t, count);
    queue.FreeTensor(t);
  }
}
TEST(Vector, QueuesAreInitialisedAgain) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<float> y(16384);
  initialises_its_queue_again<<<1, nullptr, nullptr>>>(y.gm(), 8);
  EXPECT_EQ(allFindings(), "");
  EXPECT_EQ(y[7 * 1024 + 511], 8.0f);
  initialises_its_queue_again<<<1, nullptr, nullptr>>>(y.gm(), 9);
  EXPECT_NE(allFindings().find("all 8 event ids of this HardEvent are in use; use fewer buffers, "
                               "or call TPipe::Reset before InitBuffer of the same queues again"),
            std::string::npos)
      << allFindings();
}
