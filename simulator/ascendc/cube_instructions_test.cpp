// SPDX-License-Identifier: Apache-2.0
// Cube instructions in their forms, each against plain host code.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace AscendC;
using namespace tilewright::ascend::testing;

template <class T> LocalTensor<T> l1(uint32_t byte, uint32_t n) {
  return LocalTensor<T>(TPosition::A1, byte, n);
}

/// C[m, n] = A[m, k] * B[n, k]^T (+ bias): B is stored with k inside, so L0B needs no transposition.
template <class T, class C, class Out> struct Case {
  uint32_t m, n, k;
  QuantMode_t quant;
  float scale;
  bool relu, nz, bias, unitFlags;
};

template <class T, class C, class Out>
__global__ __aicore__ void product(GM_ADDR a, GM_ADDR b, GM_ADDR biasRow, GM_ADDR c,
                                   Case<T, C, Out> p) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  constexpr uint32_t k0 = 32 / sizeof(T);
  uint32_t m16 = (p.m + 15) / 16 * 16, n16 = (p.n + 15) / 16 * 16, k1 = (p.k + k0 - 1) / k0;
  GlobalTensor<T> aGm, bGm;
  GlobalTensor<C> biasGm;
  GlobalTensor<Out> cGm;
  aGm.SetGlobalBuffer((__gm__ T*)a);
  bGm.SetGlobalBuffer((__gm__ T*)b);
  biasGm.SetGlobalBuffer((__gm__ C*)biasRow);
  cGm.SetGlobalBuffer((__gm__ Out*)c);
  auto a1 = l1<T>(0, m16 * k1 * k0), b1 = l1<T>(131072, n16 * k1 * k0);
  auto bias1 = l1<C>(262144, n16);
  LocalTensor<T> a2(TPosition::A2, 0, m16 * k1 * k0), b2(TPosition::B2, 0, n16 * k1 * k0);
  LocalTensor<C> c1(TPosition::CO1, 0, m16 * n16), bias2(TPosition::C2, 0, n16);
  DataCopy(a1, aGm, Nd2NzParams(1, p.m, p.k, 0, p.k, m16, 1, 0));
  DataCopy(b1, bGm, Nd2NzParams(1, p.n, p.k, 0, p.k, n16, 1, 0));
  if (p.bias)
    DataCopy(bias1, biasGm, n16);
  PipeBarrier<PIPE_ALL>();
  for (uint32_t i = 0; i < m16 / 16; ++i)
    LoadData(a2[i * k1 * 16 * k0], a1, LoadData2DParams(i, k1, m16 / 16, 0, 0, false, 0));
  for (uint32_t i = 0; i < k1; ++i)
    LoadData(b2[i * n16 * k0], b1, LoadData2DParams(i * (n16 / 16), n16 / 16, 1, 0, 0, false, 0));
  if (p.bias)
    DataCopy(bias2, bias1, DataCopyParams(1, n16 * sizeof(C) / 64, 0, 0));
  PipeBarrier<PIPE_ALL>();
  MmadParams mmad(p.m, p.n, p.k, p.unitFlags ? 3 : 0, false, true);
  mmad.disableGemv = true;
  if (p.bias)
    Mmad(c1, a2, b2, bias2, mmad);
  else
    Mmad(c1, a2, b2, mmad);
  if (!p.unitFlags)
    PipeBarrier<PIPE_ALL>();
  FixpipeParamsV220 fix(p.n, p.m, m16, p.nz ? m16 * (sizeof(Out) == 4 ? 2 : 1) : p.n, p.relu);
  fix.quantPre = p.quant;
  std::memcpy(&fix.deqScalar, &p.scale, sizeof p.scale);
  fix.unitFlag = p.unitFlags ? 3 : 0;
  if (p.nz)
    Fixpipe<Out, C, CFG_NZ>(cGm, c1, fix);
  else
    Fixpipe<Out, C>(cGm, c1, fix);
}

template <class T, class C, class Out> void check(Case<T, C, Out> p, unsigned seed) {
  catchLaunches();
  nextOptions() = {};
  std::mt19937 random(seed);
  uint32_t m16 = (p.m + 15) / 16 * 16, n16 = (p.n + 15) / 16 * 16;
  DeviceBuffer<T> a(p.m * p.k), b(p.n * p.k);
  DeviceBuffer<C> bias(n16);
  DeviceBuffer<Out> c(m16 * n16);
  for (auto* v : {&a.data, &b.data})
    for (T& x : *v)
      x = static_cast<T>(static_cast<int>(random() % 7) - 3);
  for (C& x : bias.data)
    x = static_cast<C>(static_cast<int>(random() % 50));
  product<T, C, Out><<<1, nullptr, nullptr>>>(a.gm(), b.gm(), bias.gm(), c.gm(), p);
  ASSERT_EQ(allFindings(), "");
  uint32_t c0 = sizeof(Out) == 4 ? 16 : 32 / sizeof(Out);
  for (uint32_t i = 0; i < p.m; ++i)
    for (uint32_t j = 0; j < p.n; ++j) {
      float sum = p.bias ? static_cast<float>(bias[j]) : 0;
      for (uint32_t l = 0; l < p.k; ++l)
        sum += static_cast<float>(a[i * p.k + l]) * static_cast<float>(b[j * p.k + l]);
      if (p.quant == DEQF16 || p.quant == REQ8 || p.quant == QF322B8_PRE)
        sum *= p.scale;
      if (p.relu)
        sum = std::max(sum, 0.0f);
      if (sizeof(Out) == 1)
        sum = std::min(std::max(std::nearbyint(sum), -128.0f), 127.0f);
      uint32_t at = p.nz ? j / c0 * m16 * c0 + i * c0 + j % c0 : i * p.n + j;
      ASSERT_EQ(static_cast<float>(c[at]), static_cast<float>(static_cast<Out>(sum)))
          << i << "," << j;
    }
}

TEST(CubeInstructions, G33_G35_Half) {
  check<half, float, float>({48, 32, 64, NoQuant, 1, false, false, false, false}, 1);
  check<half, float, half>({40, 24, 48, F322F16, 1, true, false, false, false}, 2);
  check<half, float, float>({33, 17, 20, NoQuant, 1, false, false, true, false}, 3);
  check<half, float, half>({32, 64, 32, F322F16, 1, false, true, false, false}, 4);
  check<half, float, float>({16, 32, 16, NoQuant, 1, true, true, false, true}, 5);
}
TEST(CubeInstructions, G33_G35_OtherTypes) {
  check<bfloat16_t, float, bfloat16_t>({32, 32, 64, F322BF16, 1, false, false, false, false}, 6);
  check<float, float, float>({32, 48, 40, NoQuant, 1, false, false, false, false}, 7);
  check<int8_t, int32_t, int32_t>({32, 48, 96, NoQuant, 1, false, false, true, false}, 8);
  check<int8_t, int32_t, half>({20, 40, 64, DEQF16, 0.25f, false, false, false, false}, 9);
  check<int8_t, int32_t, int8_t>({32, 64, 64, REQ8, 0.125f, true, true, false, false}, 10);
  check<half, float, int8_t>({32, 32, 32, QF322B8_PRE, 0.5f, false, false, false, false}, 11);
}

/// LoadDataWithTranspose: L1 square blocks to L0B, shown through a product with the unit matrix.
template <class T, class C>
__global__ __aicore__ void transposed(GM_ADDR unit, GM_ADDR b, GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  constexpr uint32_t s = 32, k0 = 32 / sizeof(T), k1 = s / k0;
  GlobalTensor<T> aGm, bGm;
  GlobalTensor<C> cGm;
  aGm.SetGlobalBuffer((__gm__ T*)unit);
  bGm.SetGlobalBuffer((__gm__ T*)b);
  cGm.SetGlobalBuffer((__gm__ C*)c);
  auto a1 = l1<T>(0, s * s), b1 = l1<T>(65536, s * s);
  LocalTensor<T> a2(TPosition::A2, 0, s * s), b2(TPosition::B2, 0, s * s);
  LocalTensor<C> c1(TPosition::CO1, 0, s * s);
  DataCopy(a1, aGm, Nd2NzParams(1, s, s, 0, s, s, 1, 0));
  DataCopy(b1, bGm, Nd2NzParams(1, s, s, 0, s, s, 1, 0));
  PipeBarrier<PIPE_ALL>();
  for (uint32_t i = 0; i < s / 16; ++i)
    LoadData(a2[i * k1 * 16 * k0], a1, LoadData2DParams(i, k1, s / 16, 0, 0, false, 0));
  if (sizeof(T) == 1) // one 32 x 32 block: its two fractals lie beside each other in L0B
    LoadDataWithTranspose(b2, b1, LoadData2dTransposeParams(0, 1, 1, 0, 0));
  else
    for (uint32_t i = 0; i < k1; ++i)
      LoadDataWithTranspose(b2[i * 2 * 256], b1, LoadData2dTransposeParams(i, 2, 2, 0, 0));
  PipeBarrier<PIPE_ALL>();
  Mmad(c1, a2, b2, MmadParams(s, s, s, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  Fixpipe<C, C>(cGm, c1, FixpipeParamsV220(s, s, s, s, false));
}
template <class T, class C> void checkTransposed() {
  catchLaunches();
  nextOptions() = {};
  constexpr uint32_t s = 32;
  DeviceBuffer<T> unit(s * s), b(s * s);
  DeviceBuffer<C> c(s * s);
  for (uint32_t i = 0; i < s * s; ++i) {
    unit[i] = static_cast<T>(i / s == i % s ? 1 : 0);
    b[i] = static_cast<T>(static_cast<int>(i % 101));
  }
  transposed<T, C><<<1, nullptr, nullptr>>>(unit.gm(), b.gm(), c.gm());
  ASSERT_EQ(allFindings(), "");
  for (uint32_t i = 0; i < s * s; ++i)
    ASSERT_EQ(static_cast<float>(c[i]), static_cast<float>(b[i])) << i;
}
TEST(CubeInstructions, G29_LoadDataWithTranspose) {
  checkTransposed<half, float>();
  checkTransposed<int8_t, int32_t>();
}

/// LoadData3D as a plain load of A, InitConstValue for B, HF32 off and on.
__global__ __aicore__ void image(GM_ADDR x, GM_ADDR c, uint32_t height, uint32_t width) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  // 16 channels, filter 3 x 3, padding 1: m = height * width, k = 9 * 16.
  GlobalTensor<half> xGm;
  GlobalTensor<float> cGm;
  xGm.SetGlobalBuffer((__gm__ half*)x);
  cGm.SetGlobalBuffer((__gm__ float*)c);
  uint32_t m = height * width;
  auto x1 = l1<half>(0, m * 16);
  LocalTensor<half> a2(TPosition::A2, 0, m * 144), b2(TPosition::B2, 0, 144 * 16);
  LocalTensor<float> c1(TPosition::CO1, 0, m * 16);
  DataCopy(x1, xGm, m * 16);
  InitConstValue(b2, InitConstValueParams<half>(1, 9, 0, half(1.0f)));
  PipeBarrier<PIPE_ALL>();
  LoadData3DParamsV2<half> p;
  for (uint8_t& side : p.padList)
    side = 1;
  p.l1H = height;
  p.l1W = width;
  p.channelSize = 16;
  p.kExtension = 144;
  p.mExtension = m;
  p.filterW = p.filterH = 3;
  LoadData(a2, x1, p);
  PipeBarrier<PIPE_ALL>();
  Mmad(c1, a2, b2, MmadParams(m, 16, 144, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  Fixpipe<float, float>(cGm, c1, FixpipeParamsV220(16, m, m, 16, false));
}
TEST(CubeInstructions, G28_G32_Load3DAndInitConstValue) {
  catchLaunches();
  nextOptions() = {};
  constexpr int height = 4, width = 8;
  DeviceBuffer<half> x(height * width * 16);
  DeviceBuffer<float> c(height * width * 16);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = half(static_cast<float>(i % 13));
  image<<<1, nullptr, nullptr>>>(x.gm(), c.gm(), height, width);
  ASSERT_EQ(allFindings(), "");
  for (int y = 0; y < height; ++y)
    for (int w = 0; w < width; ++w) {
      float sum = 0;
      for (int i = y - 1; i <= y + 1; ++i)
        for (int j = w - 1; j <= w + 1; ++j)
          for (int e = 0; e < 16; ++e)
            if (i >= 0 && j >= 0 && i < height && j < width)
              sum += static_cast<float>(x[(i * width + j) * 16 + e]);
      ASSERT_EQ(c[(y * width + w) * 16], sum) << y << "," << w;
    }
}

/// Two tiles through one L0C with unit flags only: no M_FIX or FIX_M flag by hand.
template <int unitFlag> __global__ __aicore__ void with_unit_flags(GM_ADDR x, GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> xGm;
  GlobalTensor<float> cGm;
  xGm.SetGlobalBuffer((__gm__ half*)x);
  cGm.SetGlobalBuffer((__gm__ float*)c);
  auto x1 = l1<half>(0, 256);
  LocalTensor<half> a2(TPosition::A2, 0, 256), b2(TPosition::B2, 0, 256);
  LocalTensor<float> c1(TPosition::CO1, 0, 256);
  DataCopy(x1, xGm, 256);
  PipeBarrier<PIPE_ALL>();
  LoadData(a2, x1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(b2, x1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  PipeBarrier<PIPE_ALL>();
  for (uint32_t i = 0; i < 2; ++i) {
    Mmad(c1, a2, b2, MmadParams(16, 16, 16, unitFlag, false, true));
    FixpipeParamsV220 fix(16, 16, 16, 16, false);
    fix.unitFlag = unitFlag;
    Fixpipe<float, float>(cGm[i * 256], c1, fix);
  }
}
TEST(CubeInstructions, UnitFlagsOrderMmadAndFixpipe) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<half> x(256);
  DeviceBuffer<float> c(512);
  with_unit_flags<3><<<1, nullptr, nullptr>>>(x.gm(), c.gm());
  EXPECT_EQ(allFindings(), "");
  for (int seed = 1; seed < 50; ++seed) {
    nextOptions().randomOrderSeed = static_cast<uint64_t>(seed);
    with_unit_flags<3><<<1, nullptr, nullptr>>>(x.gm(), c.gm());
    EXPECT_EQ(allFindings(), "");
  }
  nextOptions() = {};
  with_unit_flags<0><<<1, nullptr, nullptr>>>(x.gm(), c.gm());
  std::string text = allFindings();
  EXPECT_NE(text.find("SetFlag<HardEvent::M_FIX>"), std::string::npos) << text;
  EXPECT_NE(text.find("SetFlag<HardEvent::FIX_M>"), std::string::npos) << text;
  // In time, too: two tiles, one after the other.
  nextOptions().check = false;
  nextOptions().trace = true;
  with_unit_flags<0><<<1, nullptr, nullptr>>>(x.gm(), c.gm());
  double unordered = lastReport().coreMicroseconds;
  with_unit_flags<3><<<1, nullptr, nullptr>>>(x.gm(), c.gm());
  constexpr double cyclesPerMicrosecond = 1800, multiplication = 62, leastStore = 20;
  EXPECT_GT((lastReport().coreMicroseconds - unordered) * cyclesPerMicrosecond,
            multiplication + leastStore);
}

/// Four fractals in each of L0A and L0B, which are m = n = 16 and k = 64 halves.
__global__ __aicore__ void of_four_fractals(GM_ADDR x, GM_ADDR c, MmadParams params) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> xGm;
  GlobalTensor<float> cGm;
  xGm.SetGlobalBuffer((__gm__ half*)x);
  cGm.SetGlobalBuffer((__gm__ float*)c);
  auto x1 = l1<half>(0, 1024);
  LocalTensor<half> a2(TPosition::A2, 0, 16384), b2(TPosition::B2, 0, 16384);
  LocalTensor<float> c1(TPosition::CO1, 0, 16384);
  DataCopy(x1, xGm, 1024);
  PipeBarrier<PIPE_ALL>();
  LoadData(a2, x1, LoadData2DParams(0, 4, 1, 0, 0, false, 0));
  LoadData(b2, x1, LoadData2DParams(0, 4, 1, 0, 0, false, 0));
  PipeBarrier<PIPE_ALL>();
  Mmad(c1, a2, b2, params);
  PipeBarrier<PIPE_ALL>();
  const uint16_t m = std::min<uint16_t>(params.m, 16), n = std::min<uint16_t>(params.n, 16);
  Fixpipe<float, float>(cGm, c1, FixpipeParamsV220(n, m, (params.m + 15) / 16 * 16, 16, false));
}
TEST(CubeInstructions, MmadOfWhatNothingLoadedIsTold) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<half> x(1024);
  DeviceBuffer<float> c(256);
  auto findings = [&](uint16_t m, uint16_t n, uint16_t k) {
    of_four_fractals<<<1, nullptr, nullptr>>>(x.gm(), c.gm(), MmadParams(m, n, k, 0, false, true));
    return allFindings();
  };
  auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  };
  EXPECT_EQ(findings(16, 16, 64), "");
  EXPECT_EQ(findings(1, 3, 50), "");
  EXPECT_EQ(findings(31, 1, 32), "");
  std::string deep = findings(16, 16, 128);
  expect(deep, "Mmad on PIPE_M reads L0A bytes 2048 to 4095, which nothing has written");
  expect(deep, "cube_instructions_test.cpp:");
  expect(deep, "note: load as many fractals as m, n and k ask for, or multiply fewer");
  expect(findings(16, 48, 64),
         "Mmad on PIPE_M reads L0B bytes 2048 to 6143, which nothing has written");
  expect(findings(160, 16, 64),
         "Mmad on PIPE_M reads L0A bytes 2048 to 20479, which nothing has written");
  // A product that adds to what nothing has written.
  of_four_fractals<<<1, nullptr, nullptr>>>(x.gm(), c.gm(),
                                            MmadParams(16, 16, 64, 0, false, false));
  const std::string added = allFindings();
  expect(added, "Mmad on PIPE_M reads L0C bytes 0 to 1023");
  expect(added, "note: the first product that goes there must not add to what it holds");
  // The vector of a product of a vector takes 32 bytes for each 16 halves.
  EXPECT_EQ(findings(1, 16, 64), "");
  expect(findings(1, 16, 65), "reads L0B bytes 2048 to 2559, which nothing has written");
}

/// With a scale for each column, from SetFixPipeConfig or not at all.
template <bool hasScales> __global__ __aicore__ void scaled_columns(GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> gm;
  gm.SetGlobalBuffer((__gm__ half*)out);
  LocalTensor<int32_t> c(TPosition::CO1, 0, 256);
  FixpipeParamsV220 params(16, 16, 16, 16, false);
  params.quantPre = VDEQF16;
  if (hasScales)
    SetFixPipeConfig(LocalTensor<uint64_t>(TPosition::C2PIPE2GM, 0, 16));
  Fixpipe<half, int32_t>(gm, c, params);
}
TEST(CubeInstructions, FixpipeWithoutItsScalesIsTold) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<half> out(256);
  scaled_columns<false><<<1, nullptr, nullptr>>>(out.gm());
  std::string text = allFindings();
  EXPECT_NE(
      text.find("error: Fixpipe: quantPre 4 takes a scale for each column, but the call has none"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find(
          "note: give Fixpipe a tensor of scales, or call SetFixPipeConfig with one before it"),
      std::string::npos)
      << text;
  scaled_columns<true><<<1, nullptr, nullptr>>>(out.gm());
  EXPECT_EQ(allFindings().find("takes a scale"), std::string::npos) << allFindings();
}
