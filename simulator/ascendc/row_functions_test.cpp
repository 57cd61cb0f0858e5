// SPDX-License-Identifier: Apache-2.0
// SoftMax and its parts, norms, top-k, means, quantisation, against plain code in double.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {
constexpr uint32_t rows = 5, columns = 24, blocks = rows * 8;
template <class T> LocalTensor<T> ub(uint32_t byte, uint32_t n) {
  return LocalTensor<T>(TPosition::VECCALC, byte, n);
}
constexpr uint32_t tmpByte = 100000;
std::vector<float> randomFloats(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> numbers(-3, 3);
  std::vector<float> v(n);
  for (float& x : v)
    x = numbers(random);
  return v;
}
template <class... Args> std::string run(void (*kernel)(Args...), Args... a) {
  catchLaunches();
  nextOptions() = {};
  kernel<<<1, nullptr, nullptr>>>(a...);
  return allFindings();
}
} // namespace

/// x: source, then an earlier sum and maximum of each row; y: SoftMax with sum and max, SoftMax alone,
/// SimpleSoftMax, SoftmaxFlashV2 without and with what came before.
__global__ __aicore__ void softmaxes(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)y);
  constexpr uint32_t n = rows * columns;
  auto src = ub<float>(0, n), inSum = ub<float>(4096, blocks), inMax = ub<float>(8192, blocks);
  DataCopy(src, in, n);
  DataCopy(inSum, in[n], blocks);
  DataCopy(inMax, in[n + blocks], blocks);
  PipeBarrier<PIPE_ALL>();
  auto at = [](uint32_t k) { return ub<float>(16384 + k * 1024, 256); };
  auto tmp = ub<uint8_t>(tmpByte, 4096);
  SoftMaxTiling tiling;
  tiling.srcM = rows;
  tiling.srcK = columns;
  SoftMax(at(0), at(1), at(2), src, tmp, tiling);
  SoftMax(at(3), src, tiling, SoftMaxShapeInfo{rows, columns, rows, 20});
  SimpleSoftMax(at(4), inSum, inMax, src, tiling);
  PipeBarrier<PIPE_V>();
  SoftmaxFlashV2<float>(at(5), at(6), at(7), src, at(8), inSum, inMax, tmp, tiling);
  SoftmaxFlashV2<float, true>(at(9), at(10), at(11), src, at(12), inSum, inMax, tiling);
  PipeBarrier<PIPE_ALL>();
  for (uint32_t k = 0; k < 13; ++k) {
    bool perRow = k == 1 || k == 2 || k == 6 || k == 7 || k >= 10;
    if (k == 3) // columns 20 to 23 are padding, which SoftMax leaves alone
      for (uint32_t r = 0; r < rows; ++r)
        DataCopyPad(out[k * 256 + r * columns], at(k)[r * columns],
                    DataCopyExtParams(1, 80, 0, 0, 0));
    else if (k != 8)
      DataCopy(out[k * 256], at(k), perRow ? blocks : n);
  }
}
TEST(RowFunctions, G72_SoftMax) {
  std::vector<float> values = randomFloats(rows * columns + 2 * blocks, 1);
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t e = 0; e < 8; ++e) {
      values[rows * columns + r * 8 + e] = 2.0f + static_cast<float>(r);
      values[rows * columns + blocks + r * 8 + e] = 0.5f * static_cast<float>(r);
    }
  DeviceBuffer<float> x(values), y(13 * 256);
  ASSERT_EQ(run(softmaxes, x.gm(), y.gm()), "");
  for (uint32_t r = 0; r < rows; ++r) {
    const float* row = &values[r * columns];
    double max = *std::max_element(row, row + columns), sum = 0, part = 0;
    double partMax = *std::max_element(row, row + 20);
    double inSum = 2.0 + r, inMax = 0.5 * r, newMax = std::max(max, inMax), newSum = 0;
    for (uint32_t c = 0; c < columns; ++c) {
      sum += std::exp(row[c] - max);
      part += c < 20 ? std::exp(row[c] - partMax) : 0;
      newSum += std::exp(row[c] - newMax);
    }
    auto near = [&](uint32_t k, uint32_t index, double wanted) {
      EXPECT_NEAR(y[k * 256 + index], wanted, 1e-6 * std::max(1.0, std::fabs(wanted)))
          << k << ", row " << r;
    };
    for (uint32_t c = 0; c < columns; ++c) {
      uint32_t i = r * columns + c;
      near(0, i, std::exp(row[c] - max) / sum);
      if (c < 20)
        near(3, i, std::exp(row[c] - partMax) / part);
      near(4, i, std::exp(row[c] - inMax) / inSum);
      near(5, i, std::exp(row[c] - max));
      near(9, i, std::exp(row[c] - newMax));
    }
    for (uint32_t e = 0; e < 8; ++e) {
      near(1, r * 8 + e, sum);
      near(2, r * 8 + e, max);
      near(6, r * 8 + e, sum);
      near(7, r * 8 + e, max);
      near(10, r * 8 + e, std::exp(inMax - newMax) * inSum + newSum);
      near(11, r * 8 + e, newMax);
      near(12, r * 8 + e, std::exp(inMax - newMax));
    }
  }
}

/// A row whose maximum says that all of it is masked out becomes zeros.
__global__ __aicore__ void adjusted(GM_ADDR x, GM_ADDR y, int32_t* answers) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)y);
  auto result = ub<float>(0, 16), max = ub<float>(1024, 16);
  DataCopy(result, in, 16);
  DataCopy(max, in[16], 16);
  PipeBarrier<PIPE_ALL>();
  answers[0] =
      AdjustSoftMaxRes<float, float>(result, max, 0xFF7FFFFF, 0.0f, SoftMaxShapeInfo{2, 8, 2, 8});
  answers[1] =
      AdjustSoftMaxRes<float, float>(result, max, 0x12345678, 0.0f, SoftMaxShapeInfo{2, 8, 2, 8});
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, result, 16);
}
TEST(RowFunctions, G72_AdjustSoftMaxRes) {
  DeviceBuffer<float> x(32), y(16);
  for (int i = 0; i < 32; ++i)
    x[i] = static_cast<float>(i + 1);
  for (int i = 24; i < 32; ++i)
    x[i] = -3.402823466e38f; // of the second row
  int32_t answers[2] = {-1, -1};
  ASSERT_EQ(run(adjusted, x.gm(), y.gm(), static_cast<int32_t*>(answers)), "");
  EXPECT_EQ(answers[0], 1);
  EXPECT_EQ(answers[1], 0);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(y[i], i < 8 ? static_cast<float>(i + 1) : 0.0f);
}

/// half rows with float sums, as attention uses them.
__global__ __aicore__ void halfSoftmax(GM_ADDR x, GM_ADDR y, GM_ADDR sums) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<half> in, out;
  GlobalTensor<float> sumOut;
  in.SetGlobalBuffer((__gm__ half*)x);
  out.SetGlobalBuffer((__gm__ half*)y);
  sumOut.SetGlobalBuffer((__gm__ float*)sums);
  auto src = ub<half>(0, 64), dst = ub<half>(1024, 64);
  auto sum = ub<float>(2048, 16), max = ub<float>(3072, 16);
  DataCopy(src, in, 64);
  PipeBarrier<PIPE_ALL>();
  src.SetShapeInfo(ShapeInfo(2, (const uint32_t[]){2, 32}));
  SoftMax(dst, sum, max, src, SoftMaxTiling());
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, dst, 64);
  DataCopy(sumOut, sum, 16);
}
TEST(RowFunctions, G72_SoftMaxOfHalf) {
  DeviceBuffer<half> x(64), y(64);
  DeviceBuffer<float> sums(16);
  for (int i = 0; i < 64; ++i)
    x[i] = half(static_cast<float>(i * 5 % 17) / 4);
  ASSERT_EQ(run(halfSoftmax, x.gm(), y.gm(), sums.gm()), "");
  for (int r = 0; r < 2; ++r) {
    double max = -100, sum = 0;
    for (int c = 0; c < 32; ++c)
      max = std::max<double>(max, static_cast<float>(x[r * 32 + c]));
    for (int c = 0; c < 32; ++c)
      sum += std::exp(static_cast<float>(x[r * 32 + c]) - max);
    EXPECT_NEAR(sums[r * 8], sum, 1e-5);
    for (int c = 0; c < 32; ++c)
      EXPECT_NEAR(static_cast<float>(y[r * 32 + c]),
                  std::exp(static_cast<float>(x[r * 32 + c]) - max) / sum, 1e-4);
  }
}

/// x: rows, gamma, beta; y: LayerNorm, its mean and variance, LayerNorm with rstd, mean, rstd, RmsNorm.
__global__ __aicore__ void norms(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)y);
  constexpr uint32_t n = rows * columns;
  auto src = ub<float>(0, n), gamma = ub<float>(4096, columns), beta = ub<float>(8192, columns);
  DataCopy(src, in, n);
  DataCopy(gamma, in[n], columns);
  DataCopy(beta, in[n + columns], columns);
  auto at = [](uint32_t k) { return ub<float>(16384 + k * 1024, 256); };
  Duplicate(ub<float>(16384, 8 * 256), 0.0f, 8 * 256);
  PipeBarrier<PIPE_ALL>();
  auto tmp = ub<uint8_t>(tmpByte, 4096);
  LayerNormTiling tiling{1, rows, columns, columns};
  RmsNormTiling rms{1, rows, columns, columns};
  LayerNorm(at(0), at(1), at(2), src, gamma, beta, tmp, 1e-3f, tiling);
  PipeBarrier<PIPE_V>();
  LayerNorm<float, float>(at(3), at(4), at(5), src, gamma, beta, 1e-3f, tmp,
                          LayerNormPara{rows, columns, columns}, LayerNormSeparateTiling());
  PipeBarrier<PIPE_V>();
  RmsNorm(at(6), src, gamma, tmp, 1e-3f, rms);
  PipeBarrier<PIPE_V>();
  Mean(at(7), src, tmp, MeanParams{rows, columns, 20});
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, ub<float>(16384, 8 * 256), 8 * 256);
}
TEST(RowFunctions, G72_Norms) {
  std::vector<float> values = randomFloats(rows * columns + 2 * columns, 2);
  DeviceBuffer<float> x(values), y(8 * 256);
  ASSERT_EQ(run(norms, x.gm(), y.gm()), "");
  const float *gamma = &values[rows * columns], *beta = gamma + columns;
  for (uint32_t r = 0; r < rows; ++r) {
    const float* row = &values[r * columns];
    double mean = 0, variance = 0, square = 0, part = 0;
    for (uint32_t c = 0; c < columns; ++c) {
      mean += row[c] / double{columns};
      square += double{row[c]} * row[c] / columns;
      part += c < 20 ? row[c] / 20.0 : 0;
    }
    for (uint32_t c = 0; c < columns; ++c)
      variance += (row[c] - mean) * (row[c] - mean) / columns;
    double rstd = 1 / std::sqrt(variance + 1e-3);
    EXPECT_NEAR(y[256 + r], mean, 1e-6);
    EXPECT_NEAR(y[512 + r], variance, 1e-5);
    EXPECT_NEAR(y[1024 + r], mean, 1e-6);
    EXPECT_NEAR(y[1280 + r], rstd, 1e-5);
    EXPECT_NEAR(y[7 * 256 + r], part, 1e-6);
    for (uint32_t c = 0; c < columns; ++c) {
      double normal = (row[c] - mean) * rstd * gamma[c] + beta[c];
      EXPECT_NEAR(y[r * columns + c], normal, 1e-5);
      EXPECT_NEAR(y[768 + r * columns + c], normal, 1e-5);
      EXPECT_NEAR(y[6 * 256 + r * columns + c], row[c] / std::sqrt(square + 1e-3) * gamma[c], 1e-5);
    }
  }
}

/// The 3 largest and the 5 smallest of 20 in rows of 32; indices of one's own; a row that is finished.
__global__ __aicore__ void tops(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in, out;
  GlobalTensor<int32_t> indexOut;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)y);
  indexOut.SetGlobalBuffer((__gm__ int32_t*)z);
  auto src = ub<float>(0, 64), large = ub<float>(1024, 16), small = ub<float>(2048, 16);
  auto largeIndex = ub<int32_t>(3072, 16), smallIndex = ub<int32_t>(4096, 16),
       own = ub<int32_t>(5120, 32);
  auto finish = ub<bool>(6144, 32);
  DataCopy(src, in, 64);
  CreateVecIndex(own, 100, 32);
  Duplicate(finish.ReinterpretCast<int32_t>(), 0x100, 8); // the second row
  Duplicate(large, 0.0f, 16);
  Duplicate(small, 0.0f, 16);
  Duplicate(largeIndex, 0, 16);
  Duplicate(smallIndex, 0, 16);
  PipeBarrier<PIPE_ALL>();
  TopKInfo info{2, 32, 20};
  TopK<float, false, true>(large, largeIndex, src, own, finish, ub<uint8_t>(tmpByte, 4096), 3,
                           TopkTiling(), info);
  TopK<float, true>(small, smallIndex, src, own, finish, 5, TopkTiling(), info, false);
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, large, 16);
  DataCopy(out[16], small, 16);
  DataCopy(indexOut, largeIndex, 16);
  DataCopy(indexOut[16], smallIndex, 16);
}
TEST(RowFunctions, G72_TopK) {
  std::vector<float> values = randomFloats(64, 3);
  values[7] = values[3]; // a tie: the first comes first
  DeviceBuffer<float> x(values), y(32);
  DeviceBuffer<int32_t> z(32);
  ASSERT_EQ(run(tops, x.gm(), y.gm(), z.gm()), "");
  for (uint32_t r = 0; r < 2; ++r) {
    std::vector<int32_t> order(20);
    for (int32_t i = 0; i < 20; ++i)
      order[i] = i;
    const float* row = &values[r * 32];
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return row[a] > row[b]; });
    for (uint32_t k = 0; k < 3; ++k) {
      EXPECT_EQ(y[r * 8 + k], row[order[k]]);
      EXPECT_EQ(z[r * 8 + k], r == 1 ? 20 : order[k]);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return row[a] < row[b] || (row[a] == row[b] && a < b); });
    for (uint32_t k = 0; k < 5; ++k) {
      EXPECT_EQ(y[16 + r * 8 + k], row[order[k]]);
      EXPECT_EQ(z[16 + r * 8 + k], 100 + order[k]);
    }
  }
}

/// x: 2 rows of 32 floats, scales, offsets; y: 64 bytes by one scale, 64 by 32; z: 64 int32 times
/// scales, then half back from the first 64 bytes.
__global__ __aicore__ void quantised(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR w) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in, out;
  GlobalTensor<int8_t> bytesOut;
  GlobalTensor<half> back;
  in.SetGlobalBuffer((__gm__ float*)x);
  bytesOut.SetGlobalBuffer((__gm__ int8_t*)y);
  out.SetGlobalBuffer((__gm__ float*)z);
  back.SetGlobalBuffer((__gm__ half*)w);
  auto src = ub<float>(0, 64), scales = ub<float>(512, 32), offsets = ub<float>(1024, 32);
  auto one = ub<int8_t>(2048, 64), each = ub<int8_t>(2112, 64);
  auto numbers = ub<int32_t>(4096, 64);
  auto products = ub<float>(8192, 64);
  auto halves = ub<half>(9216, 64);
  auto tmp = ub<uint8_t>(tmpByte, 4096);
  DataCopy(src, in, 64);
  DataCopy(scales, in[64], 32);
  DataCopy(offsets, in[96], 32);
  CreateVecIndex(numbers, -30, 64);
  PipeBarrier<PIPE_ALL>();
  AscendQuant(one, src, tmp, 20.0f, 1.5f, 64);
  PipeBarrier<PIPE_V>();
  AscendQuant(each, src, tmp, scales, offsets, 32, 32, 64);
  PipeBarrier<PIPE_V>();
  AscendDequant(products, numbers, scales, tmp, DequantParams{2, 32, 32});
  PipeBarrier<PIPE_V>();
  AscendAntiQuant(halves, one, half(2.0f), half(0.25f), tmp, 64);
  PipeBarrier<PIPE_ALL>();
  DataCopy(bytesOut, one, 64);
  DataCopy(bytesOut[64], each, 64);
  DataCopy(out, products, 64);
  DataCopy(back, halves, 64);
}
TEST(RowFunctions, G72_Quantisation) {
  std::vector<float> values = randomFloats(128, 4);
  DeviceBuffer<float> x(values), z(64);
  DeviceBuffer<int8_t> y(128);
  DeviceBuffer<half> w(64);
  ASSERT_EQ(run(quantised, x.gm(), y.gm(), z.gm(), w.gm()), "");
  auto quantise = [](float v, float scale, float offset) {
    half product(static_cast<float>(half(v)) * static_cast<float>(half(scale)));
    half sum(static_cast<float>(product) + static_cast<float>(half(offset)));
    return std::min(std::max(std::nearbyint(static_cast<float>(sum)), -128.0f), 127.0f);
  };
  for (int i = 0; i < 64; ++i) {
    int c = i % 32;
    EXPECT_EQ(y[i], quantise(values[i], 20, 1.5f));
    EXPECT_EQ(y[64 + i], quantise(values[i], values[64 + c], values[96 + c]));
    EXPECT_EQ(z[i], static_cast<float>(i - 30) * values[64 + c]);
    EXPECT_EQ(static_cast<float>(w[i]), (static_cast<float>(y[i]) + 2) * 0.25f);
  }
}

/// 4 rows of 13 in 16: 2 values in front and 1 behind; and 16 without their last 3.
__global__ __aicore__ void padded(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)y);
  auto src = ub<float>(0, 64), wide = ub<float>(1024, 64), narrow = ub<float>(2048, 64),
       copied = ub<float>(4096, 64);
  DataCopy(src, in, 64);
  Duplicate(narrow, 0.0f, 64);
  PipeBarrier<PIPE_ALL>();
  Pad(wide, src, PadParams{2, 1, -7}, PadTiling{4, 16, 13, 16});
  UnPad(narrow, src, UnPadParams{0, 3}, ub<uint8_t>(tmpByte, 4096), UnPadTiling{4, 16});
  uint32_t to[2] = {4, 16}, from[2] = {1, 16};
  auto tmp = ub<uint8_t>(tmpByte, 4096);
  PipeBarrier<PIPE_V>();
  BroadCast<float, 2, 0>(copied, src, to, from, tmp);
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, wide, 64);
  DataCopy(out[64], narrow, 64);
  DataCopy(out[128], copied, 64);
}
TEST(RowFunctions, G72_PadAndBroadCast) {
  DeviceBuffer<float> x(64), y(192);
  for (int i = 0; i < 64; ++i)
    x[i] = static_cast<float>(i);
  ASSERT_EQ(run(padded, x.gm(), y.gm()), "");
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 16; ++c) {
      EXPECT_EQ(y[r * 16 + c], c < 2 || c == 15 ? -7.0f : static_cast<float>(r * 16 + c - 2));
      if (c < 13)
        EXPECT_EQ(y[64 + r * 13 + c], static_cast<float>(r * 16 + c));
      EXPECT_EQ(y[128 + r * 16 + c], static_cast<float>(c));
    }
}

__global__ __aicore__ void wrongTopK(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto t = ub<float>(0, 64);
  auto i = ub<int32_t>(1024, 64);
  TopK<float>(t, i, t, i, ub<bool>(2048, 32), 40, TopkTiling(), TopKInfo{1, 32, 32});
}
__global__ __aicore__ void wrongFormat(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto t = ub<float>(0, 64);
  SoftMax<float, false, false, true>(t, t, t, t, SoftMaxTiling());
}
constexpr LayerNormConfig noBeta = {true, false, false};
__global__ __aicore__ void wrongNorm(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto t = ub<float>(0, 64);
  LayerNorm<float, float, false, noBeta>(t, t, t, t, t, t, 1e-3f, LayerNormPara{1, 8, 8},
                                         LayerNormSeparateTiling());
}
TEST(RowFunctions, Refusals) {
  auto expect = [&](void (*kernel)(GM_ADDR), const char* text) {
    std::string found = run(kernel, static_cast<uint8_t*>(nullptr));
    EXPECT_NE(found.find(text), std::string::npos) << found;
  };
  expect(wrongTopK, "TopK: k starts at 1 and ends at n");
  expect(wrongFormat, "unsupported: SoftMax in NZ format; convert to ND");
  expect(wrongNorm, "unsupported: LayerNorm without gamma or beta; give ones and zeros");
}
