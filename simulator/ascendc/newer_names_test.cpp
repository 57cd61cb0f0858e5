// SPDX-License-Identifier: Apache-2.0
// Names of one function: what the older interface and the newer call differently, each beside the
// other; and small structures and registers that no other test reads back.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <cmath>
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
  auto in = at<float>(0, 64), out = at<float>(outAt, 8), scratch = at<float>(outAt + 1024, 128);
  Duplicate(out, 0.f, 8);
  ReduceMax(scratch, in, scratch[64], 64, true);
  float value = 0, index = 0;
  GetReduceRepeatMaxMinSpr<float>(value, index);
  float alone = 0;
  GetReduceRepeatMaxMinSpr<float>(alone);
  ascendc_assert(alone == value);
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

/// Masks, atomic stores and the branches' likelihood by the names that the compilers of the chip have built in.
__global__ __aicore__ void builtInNames(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  SetAtomicAdd<float>();
  set_atomic_none();
  loadAll<float>(x, 128);
  auto in = at<float>(0, 64), out = at<float>(outAt, 64);
  Duplicate(out, 0.f, 64);
  PipeBarrier<PIPE_V>();
  set_mask_count();
  set_vector_mask(0, 40);
  if (likely(GetBlockNum() == 1))
    Adds<float, false>(out, in, 1.f, MASK_PLACEHOLDER, 1, UnaryRepeatParams());
  set_mask_norm();
  set_vector_mask(0, 2);
  PipeBarrier<PIPE_V>();
  if (unlikely(GetBlockNum() != 1))
    return;
  Adds<float, false>(out, in, 2.f, MASK_PLACEHOLDER, 1, UnaryRepeatParams());
  set_vector_mask(-1, -1);
  storeAll<float>(y, 64);
}

TEST(NewerNames, G68_BuiltInNames) {
  std::vector<float> x(128);
  for (int k = 0; k < 128; ++k)
    x[k] = static_cast<float>(k);
  auto y = runOn<float>(builtInNames, x, 64);
  for (int k = 0; k < 64; ++k) // lane 1 by its bit, 40 lanes by the counter
    ASSERT_EQ(y[k], k == 1 ? x[k] + 2 : k < 40 ? x[k] + 1 : 0) << k;
}

/// The cube core's cache line, then a flag of the cube core for its two vector cores.
__global__ __aicore__ void builtInFlags(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  constexpr uint64_t mode = 2, flag = 5;
  set_ffts_base_addr(0);
  GlobalTensor<float> shared;
  shared.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  if ASCEND_IS_AIC {
    shared.SetValue(1, 3.f);
    dcci(shared.GetPhyAddr(), SINGLE_CACHE_LINE, CACHELINE_OUT);
    pipe_barrier(PIPE_ALL);
    ffts_cross_core_sync(PIPE_FIX, 1 | (mode << 4) | (flag << 8));
  }
  if ASCEND_IS_AIV {
    wait_flag_dev(flag);
    dcci(shared.GetPhyAddr(), ENTIRE_DATA_CACHE);
    GlobalTensor<float> out;
    out.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
    out.SetValue(16 * get_subblockid(), shared.GetValue(1));
    dcci(out[16 * get_subblockid()].GetPhyAddr(), 0, 2);
  }
}

TEST(NewerNames, G12_BuiltInFlags) {
  auto y = runOn<float>(builtInFlags, std::vector<float>(16), 32);
  EXPECT_EQ(y[0], 3.f);
  EXPECT_EQ(y[16], 3.f);
}

TEST(NewerNames, G28_ParametersInTheirOrder) {
  const uint8_t pads[4] = {1, 2, 3, 4};
  LoadData3DParamsV2<float> p(pads, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, true, false,
                              18.f, true, false, true);
  EXPECT_EQ(std::memcmp(p.padList, pads, 4), 0);
  EXPECT_EQ(p.l1H * 100 + p.l1W * 10 + p.channelSize, 567);
  EXPECT_EQ(p.kExtension * 1000 + p.mExtension * 100 + p.kStartPt, 8910);
  EXPECT_EQ(p.mStartPt + p.padValue, 29);
  EXPECT_EQ(p.strideW * 100 + p.strideH, 1213);
  EXPECT_EQ(p.filterW * 100 + p.filterH, 1415);
  EXPECT_EQ(p.dilationFilterW * 100 + p.dilationFilterH, 1617);
  EXPECT_TRUE(p.enTranspose && !p.enSmallK && p.filterSizeW && !p.filterSizeH && p.fMatrixCtrl);
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
  for (TransposeParamsExt nothing :
       {TransposeParamsExt(1, 16, 4, 4, TransposeType::TRANSPOSE_TYPE_NONE),
        TransposeParamsExt(0, 16, 4, 4, TransposeType::TRANSPOSE_NCHW2NHWC)}) {
    transpose<uint16_t><<<1, nullptr, nullptr>>>(in.gm(), out.gm(), nothing, 256u);
    ASSERT_EQ(allFindings(), "");
    for (uint32_t k = 0; k < 256; ++k)
      ASSERT_EQ(out[k], 0);
  }
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

/// A pipe as an argument of the kernel's own template.
template <pipe_t pipe> __aicore__ void waitFor() {
  PipeBarrier<pipe>();
}
constexpr FixpipeConfig toRows = {CO2Layout::ROW_MAJOR}, toFractals = {CO2Layout::NZ};

/// A and B are a fractal of floats each; C is 16 * 16.
template <bool hf32, bool rowMajor> __global__ __aicore__ void multiply(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  out.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y));
  LocalTensor<float> ab1(TPosition::A1, 0, 256), a2(TPosition::A2, 0, 128);
  LocalTensor<float> b2(TPosition::B2, 0, 128), c1(TPosition::CO1, 0, 256);
  DataCopy(ab1, in, 256);
  waitFor<PIPE_ALL>();
  LoadData2dParams one(0, 1, 1, 0, 0, false, 0);
  LoadData(a2, ab1, one);
  LoadData(b2, ab1[128], one);
  waitFor<PIPE_ALL>();
  SetHF32Mode(hf32 ? HF32Mode::ENABLE : HF32Mode::DISABLE);
  if (rowMajor)
    SetMMRowMajor();
  else
    SetMMColumnMajor();
  Mmad(c1, a2, b2, MmadParams(16, 16, 8, 0, false, true));
  SetHF32Mode(HF32Mode::DISABLE);
  waitFor<PIPE_ALL>();
  Fixpipe<float, float, toRows>(out, c1, FixpipeParamsV220(16, 16, 16, 16, false));
  Fixpipe<float, float, toFractals>(out[256], c1, FixpipeParamsV220(16, 16, 16, 32, false));
}

TEST(NewerNames, G30_G34_G35_FormsOfTheCube) {
  // B is the unit matrix: C has what Mmad takes A for, 11 bits behind the point with HF32.
  std::vector<float> x(256);
  for (int k = 0; k < 128; ++k)
    x[k] = 1 + static_cast<float>(k) / 4096;
  for (int k = 0; k < 8; ++k)
    x[128 + k * 8 + k] = 1;
  auto check = [&](void (*kernel)(GM_ADDR, GM_ADDR), bool rounds) {
    auto y = runOn<float>(kernel, x, 512);
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 16; ++c) {
        float a = c < 8 ? x[r * 8 + c] : 0;
        float expected = rounds ? std::nearbyint(a * 2048) / 2048 : a;
        ASSERT_EQ(y[r * 16 + c], expected) << r << "," << c;
        ASSERT_EQ(y[256 + r * 16 + c], expected) << r << "," << c;
      }
  };
  check(multiply<true, true>, true);
  check(multiply<true, false>, true);
  check(multiply<false, true>, false);
  check(multiply<false, false>, false);
}

/// What a tensor keeps for its user.
__global__ __aicore__ void notes(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  loadAll<float>(x, 8);
  auto tensor = at<float>(0, 8);
  tensor.SetUserTag(-5);
  ascendc_assert(tensor.GetUserTag() == -5);
  tensor.SetBufferLen(16);
  ascendc_assert(tensor.GetSize() == 4 && tensor.GetLength() == 16);
  GlobalTensor<float> in;
  in.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x));
  in.SetL2CacheHint<CacheRwMode::READ>(CacheMode::CACHE_MODE_DISABLE);
  in.SetL2CacheHint<CacheRwMode::WRITE>(CacheMode::CACHE_MODE_DISABLE);
  ascendc_assert(in.operand().l2Bypass == static_cast<uint8_t>(CacheRwMode::RW));
  in.SetL2CacheHint<CacheRwMode::READ>(CacheMode::CACHE_MODE_NORMAL);
  ascendc_assert(in.operand().l2Bypass == static_cast<uint8_t>(CacheRwMode::WRITE));
  auto out = at<float>(outAt, 8);
  Adds(out, at<float>(0, 8), 1.f, 8);
  storeAll<float>(y, 8);
}

TEST(NewerNames, G3_G4_NotesOnTensors) {
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  auto y = runOn<float>(notes, x, 8);
  EXPECT_EQ(y[7], 9.f);
}

/// Into a part of a tensor, by full repeats.
__global__ __aicore__ void indices(GM_ADDR, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto out = at<int32_t>(outAt, 256);
  Duplicate(out, -1, 256);
  PipeBarrier<PIPE_V>();
  CreateVecIndex(out[64], 7, uint64_t{64}, 2, 1, 8);
  storeAll<int32_t>(y, 256);
}

TEST(NewerNames, G66_CreateVecIndexIntoAPart) {
  auto y = runOn<int32_t>(indices, std::vector<int32_t>(8), 256);
  for (int k = 0; k < 256; ++k)
    ASSERT_EQ(y[k], k >= 64 && k < 192 ? 7 + k - 64 : -1) << k;
}
