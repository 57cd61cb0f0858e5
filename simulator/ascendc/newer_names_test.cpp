// SPDX-License-Identifier: Apache-2.0
// Names of one function: what the older interface and the newer call differently, each beside the
// other; and small structures and registers that no other test reads back.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {

template <class T> LocalTensor<T> at(uint32_t byte, uint32_t elements) {
  return {TPosition::VECCALC, byte, elements};
}

/// Runs a kernel of one core over UB: `x` from 0, `y` from 64 KiB.
template <class To, class From>
std::vector<To> runOn(void (*kernel)(GM_ADDR, GM_ADDR), const std::vector<From>& input,
                      size_t outputs) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<From> x(input);
  DeviceBuffer<To> y(outputs);
  kernel<<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  EXPECT_EQ(allFindings(), "");
  return y.data;
}

} // namespace

constexpr uint32_t outAt = 64 * 1024;

template <class T> __aicore__ void loadAll(GM_ADDR x, uint32_t elements) {
  GlobalTensor<T> in;
  in.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x));
  DataCopy(at<T>(0, elements), in, elements);
  PipeBarrier<PIPE_ALL>();
}
template <class T> __aicore__ void storeAll(GM_ADDR y, uint32_t elements) {
  GlobalTensor<T> out;
  out.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(y));
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, at<T>(outAt, elements), elements);
}

/// int32_t times the scale, to half, in the three forms of the call.
__global__ __aicore__ void dequantise(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  loadAll<int32_t>(x, 64);
  SetDeqScale(half(0.5f));
  auto in = at<int32_t>(0, 64);
  CastDequant<half, int32_t>(at<half>(outAt, 64), in, 64);
  UnaryRepeatParams params(1, 1, 4, 8);
  CastDequant<half, int32_t>(at<half>(outAt + 128, 64), in, 64, 1, params);
  uint64_t mask[2] = {~uint64_t{0}, 0};
  CastDequant<half, int32_t>(at<half>(outAt + 256, 64), in, mask, 1, params);
  storeAll<half>(y, 192);
}

TEST(NewerNames, G46_CastDequant) {
  std::vector<int32_t> x(64);
  for (int k = 0; k < 64; ++k)
    x[k] = k * 7 - 200;
  auto y = runOn<half>(dequantise, x, 192);
  for (int k = 0; k < 192; ++k)
    ASSERT_EQ(static_cast<float>(y[k]), static_cast<float>(x[k % 64]) / 2) << k;
}

/// The registers of reductions of repeats, and those of ReduceSum.
__global__ __aicore__ void reduceToRegisters(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  loadAll<float>(x, 64);
  auto in = at<float>(0, 64), out = at<float>(outAt, 8), scratch = at<float>(outAt + 1024, 64);
  Duplicate(out, 0.f, 8);
  ReduceMax(scratch, in, scratch[64], 64, true);
  float value = 0, index = 0;
  GetReduceRepeatMaxMinSpr<float>(value, index);
  PipeBarrier<PIPE_V>();
  ReduceSum(scratch, in, scratch[64], 64);
  float sum = GetReduceRepeatSumSpr<float>();
  PipeBarrier<PIPE_ALL>();
  out.SetValue(0, value);
  out.SetValue(1, index);
  out.SetValue(2, sum);
  storeAll<float>(y, 8);
}

TEST(NewerNames, G56_RegistersOfReductions) {
  std::vector<float> x(64);
  float sum = 0;
  for (int k = 0; k < 64; ++k) {
    x[k] = static_cast<float>(k * 37 % 64);
    sum += x[k];
  }
  auto y = runOn<float>(reduceToRegisters, x, 8);
  EXPECT_EQ(y[0], 63.f);
  uint32_t index = 0;
  std::memcpy(&index, &y[1], 4);
  EXPECT_EQ(x[index], 63.f);
  EXPECT_EQ(y[2], sum);
}

/// Square of a mode, or a matrix [n, c, h, w] in one of the two orders.
template <class T>
__global__ __aicore__ void transpose(GM_ADDR x, GM_ADDR y, TransposeParamsExt params,
                                     uint32_t elements) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  loadAll<T>(x, elements);
  Duplicate(at<int32_t>(outAt, elements), 0, static_cast<int32_t>(elements * sizeof(T) / 4));
  PipeBarrier<PIPE_V>();
  Transpose(at<T>(outAt, elements), at<T>(0, elements), at<uint8_t>(2 * outAt, 1024), params);
  storeAll<T>(y, elements);
}

template <class T> void checkTranspose(const TransposeParamsExt& p) {
  uint32_t image = p.hSize * p.wSize, elements = p.nSize * p.cSize * image;
  std::vector<T> x(elements);
  for (uint32_t k = 0; k < elements; ++k)
    x[k] = static_cast<T>(k * 7 % 113);
  DeviceBuffer<T> in(x), out(elements);
  transpose<T><<<1, nullptr, nullptr>>>(in.gm(), out.gm(), p, elements);
  ASSERT_EQ(allFindings(), "");
  bool toPixels = p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC;
  for (uint32_t n = 0; n < p.nSize; ++n)
    for (uint32_t c = 0; c < p.cSize; ++c)
      for (uint32_t k = 0; k < image; ++k) {
        uint32_t nchw = (n * p.cSize + c) * image + k, nhwc = (n * image + k) * p.cSize + c;
        ASSERT_EQ(static_cast<float>(out[toPixels ? nhwc : nchw]),
                  static_cast<float>(x[toPixels ? nchw : nhwc]))
            << n << "," << c << "," << k << " of " << sizeof(T) << " bytes";
      }
}

TEST(NewerNames, G62_TransposeOfFourDimensions) {
  catchLaunches();
  nextOptions() = {};
  for (TransposeType type :
       {TransposeType::TRANSPOSE_NCHW2NHWC, TransposeType::TRANSPOSE_NHWC2NCHW}) {
    checkTranspose<half>({3, 5, 2, 8, type});
    checkTranspose<uint16_t>({1, 32, 4, 12, type});
    checkTranspose<float>({2, 3, 8, 7, type});
    checkTranspose<int32_t>({4, 8, 1, 8, type});
    checkTranspose<int8_t>({2, 32, 16, 2, type});
    checkTranspose<uint8_t>({1, 8, 8, 4, type});
  }
}
TEST(NewerNames, G62_TransposeOfASquare) {
  catchLaunches();
  nextOptions() = {};
  std::vector<uint16_t> x(256);
  for (uint32_t k = 0; k < 256; ++k)
    x[k] = static_cast<uint16_t>(k * 251);
  DeviceBuffer<uint16_t> in(x), out(256);
  transpose<uint16_t><<<1, nullptr, nullptr>>>(in.gm(), out.gm(), TransposeParamsExt(), 256u);
  ASSERT_EQ(allFindings(), "");
  for (uint32_t k = 0; k < 256; ++k)
    ASSERT_EQ(out[k % 16 * 16 + k / 16], x[k]);
  TransposeParamsExt nothing(1, 16, 4, 4, TransposeType::TRANSPOSE_TYPE_NONE);
  transpose<uint16_t><<<1, nullptr, nullptr>>>(in.gm(), out.gm(), nothing, 256u);
  ASSERT_EQ(allFindings(), "");
  for (uint32_t k = 0; k < 256; ++k)
    ASSERT_EQ(out[k], 0);
}

template <int wrong> __global__ __aicore__ void wrongTranspose(GM_ADDR, GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto in = at<half>(0, 4096), out = at<half>(outAt, 4096);
  Duplicate(in, half(0), 4096);
  PipeBarrier<PIPE_V>();
  auto toPixels = TransposeType::TRANSPOSE_NCHW2NHWC;
  auto scratch = at<uint8_t>(2 * outAt, 1024);
  if (wrong == 0)
    Transpose(out, in, scratch, TransposeParamsExt(1, 5000, 4, 4, toPixels));
  else if (wrong == 1)
    Transpose(out, in, scratch, TransposeParamsExt(1, 2, 3, 5, toPixels));
  else if (wrong == 2)
    Transpose(in[512], in, scratch, TransposeParamsExt(1, 64, 4, 4, toPixels));
  else
    Transpose(out, in, scratch,
              TransposeParamsExt(1, 16, 4, 4, TransposeType::TRANSPOSE_NZ2ND_0213));
}
template <int wrong> std::string messageOf() {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<half> x(16);
  wrongTranspose<wrong><<<1, nullptr, nullptr>>>(x.gm(), x.gm());
  return allFindings();
}
void expectIn(const std::string& text, const char* part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(NewerNames, G62_TransposeRefuses) {
  expectIn(messageOf<0>(), "cSize is 5000 and hSize * wSize is 16, but each is at most 4095");
  expectIn(messageOf<1>(), "hSize * wSize is 15, which are 30 bytes, no multiple of 32");
  expectIn(messageOf<2>(), "the destination, at UB byte 1024, overlaps the source, at 0; each has "
                           "2048 bytes");
  expectIn(messageOf<3>(), "unsupported: Transpose of this transposeType; there are "
                           "TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC and TRANSPOSE_NHWC2NCHW");
}
