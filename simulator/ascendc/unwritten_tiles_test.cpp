// SPDX-License-Identifier: Apache-2.0
// Tiles of which a part was never written: loads to L0A and L0B take whole fractals, and only a result that comes of
// that part and is stored is told.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <cstring>

#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {

constexpr uint32_t side = 32;

enum class Load { Plain, Transposed, Squares, Image };

/// What of tiles of 32 x 32 is written, multiplied and stored.
struct Tile {
  uint32_t rows = side, columns = side,
           depth = side; ///< written: rows of A, columns of B, rows of B
  uint32_t m = side, n = side, k = side;
  uint32_t storedRows = side, storedColumns = side;
  bool addsToIt = false, startsAgain = false; ///< a second product, of what is all there
  uint32_t depthOfA = side;                   ///< behind it A has zeros
  bool isNz = false;                          ///< how it is stored
};

template <class T> void loadB(LocalTensor<T> b2, LocalTensor<T> b1, Load load) {
  constexpr uint32_t k1 = side / (32 / sizeof(T));
  if (load == Load::Squares && sizeof(T) == 1) {
    LoadDataWithTranspose(b2, b1, LoadData2dTransposeParams(0, 1, 1, 0, 0));
    return;
  }
  for (uint16_t i = 0; i < k1; ++i) {
    LocalTensor<T> to = b2[i * side * (side / k1)];
    if (load == Load::Squares)
      LoadDataWithTranspose(to, b1, LoadData2dTransposeParams(i, 2, 2, 0, 0));
    else if (load == Load::Transposed)
      LoadData(to, b1, LoadData2DParams(i, 2, 2, 0, 0, true, 0));
    else
      LoadData(to, b1, LoadData2DParams(i * 2, 2, 1, 0, 0, false, 0));
  }
}

/// B is stored with k inside for plain loads, with n inside for others.
template <class T, class C, Load load>
__global__ __aicore__ void product(GM_ADDR a, GM_ADDR b, GM_ADDR c, Tile tile) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  constexpr uint32_t all = side * side, k0 = 32 / sizeof(T), k1 = side / k0;
  constexpr bool isPlain = load == Load::Plain || load == Load::Image;
  GlobalTensor<T> aGm, bGm;
  GlobalTensor<C> cGm;
  aGm.SetGlobalBuffer((__gm__ T*)a);
  bGm.SetGlobalBuffer((__gm__ T*)b);
  cGm.SetGlobalBuffer((__gm__ C*)c);
  LocalTensor<T> a1(TPosition::A1, 0, all), b1(TPosition::A1, 8192, all);
  LocalTensor<T> whole(TPosition::A1, 16384, all);
  LocalTensor<T> a2(TPosition::A2, 0, all), b2(TPosition::B2, 0, all);
  LocalTensor<C> c1(TPosition::CO1, 0, all);
  DataCopy(a1, aGm, Nd2NzParams(1, tile.rows, tile.depthOfA, 0, side, side, 1, 0));
  DataCopy(b1, bGm, Nd2NzParams(1, isPlain ? tile.columns : tile.depth, side, 0, side, side, 1, 0));
  DataCopy(whole, aGm, Nd2NzParams(1, side, side, 0, side, side, 1, 0));
  PipeBarrier<PIPE_ALL>();
  if constexpr (load == Load::Image) {
    LoadData3DParamsV2<T> image;
    image.l1H = 1;
    image.l1W = image.mExtension = image.kExtension = image.channelSize = side;
    LoadData(a2, a1, image);
  } else {
    for (uint16_t i = 0; i < side / 16; ++i)
      LoadData(a2[i * k1 * 16 * k0], a1, LoadData2DParams(i, k1, 2, 0, 0, false, 0));
  }
  loadB(b2, b1, load);
  PipeBarrier<PIPE_ALL>();
  Mmad(c1, a2, b2, MmadParams(tile.m, tile.n, tile.k, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  if (tile.addsToIt || tile.startsAgain) {
    for (uint16_t i = 0; i < side / 16; ++i)
      LoadData(a2[i * k1 * 16 * k0], whole, LoadData2DParams(i, k1, 2, 0, 0, false, 0));
    loadB(b2, whole, load);
    PipeBarrier<PIPE_ALL>();
    Mmad(c1, a2, b2, MmadParams(side, side, side, 0, false, tile.startsAgain));
    PipeBarrier<PIPE_ALL>();
  }
  FixpipeParamsV220 store(tile.storedColumns, tile.storedRows, side, side, false);
  if (!tile.isNz)
    return Fixpipe<C, C>(cGm, c1, store);
  store.dstStride = side * 2;
  Fixpipe<C, C, CFG_NZ>(cGm, c1, store);
}

template <class T, class C, Load load> std::string findings(const Tile& tile) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<T> a(side * side), b(side * side);
  DeviceBuffer<C> c(side * side);
  for (T& x : a.data)
    x = T(1);
  for (T& x : b.data)
    x = T(1);
  product<T, C, load><<<1, nullptr, nullptr>>>(a.gm(), b.gm(), c.gm(), tile);
  return allFindings();
}

void expectTold(const std::string& text, const std::string& bytes, const std::string& load) {
  for (const std::string& part :
       {"Fixpipe on PIPE_FIX reads L0C bytes " + bytes +
            ", to which Mmad has moved what nothing has written (cube core 0) [ErrorRead2]",
        std::string("note: Mmad is here; write all that it takes before, or use less of it"),
        "note: it takes that from " + load + ", which is here"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(UnwrittenTiles, ForgottenRowsOfKAreTold) {
  const Tile forgotten{.depth = 29};
  expectTold(findings<half, float, Load::Transposed>(forgotten), "0 to 4095", "LoadData");
  expectTold(findings<half, float, Load::Squares>(forgotten), "0 to 4095", "LoadDataWithTranspose");
  const Tile multipliedLess{.depth = 29, .k = 29};
  EXPECT_EQ((findings<half, float, Load::Transposed>(multipliedLess)), "");
  EXPECT_EQ((findings<half, float, Load::Squares>(multipliedLess)), "");
  const Tile byOneMore{.depth = 29, .k = 30};
  expectTold(findings<half, float, Load::Transposed>(byOneMore), "0 to 4095", "LoadData");
}

TEST(UnwrittenTiles, RowsBehindMAreNoHarm) {
  for (auto* run : {findings<half, float, Load::Plain>, findings<half, float, Load::Image>}) {
    EXPECT_EQ(run({.rows = 29, .storedRows = 29}), "");
    EXPECT_EQ(run({.rows = 29, .m = 29, .storedRows = 29}), "");
    expectTold(run({.rows = 29, .storedRows = 30}), "1856 to 1919", "LoadData");
    // A row-major tensor has no padding.
    expectTold(run({.rows = 29, .m = 29}), "1856 to 2047", "LoadData");
  }
}

TEST(UnwrittenTiles, ColumnsBehindNAreNoHarm) {
  EXPECT_EQ((findings<half, float, Load::Plain>({.columns = 29, .storedColumns = 29})), "");
  EXPECT_EQ((findings<half, float, Load::Plain>({.columns = 29, .n = 29, .storedColumns = 29})),
            "");
  for (uint32_t n : {29u, 32u})
    expectTold(findings<half, float, Load::Plain>({.columns = 29, .n = n, .storedColumns = 30}),
               "2100 to 2103", "LoadData");
}

/// A matrix of whole fractals has room for them.
TEST(UnwrittenTiles, PaddingOfNzMatricesIsNoHarm) {
  const auto plain = findings<half, float, Load::Plain>;
  EXPECT_EQ(plain({.columns = 29, .isNz = true}), "");
  EXPECT_EQ(plain({.rows = 29, .isNz = true}), "");
  EXPECT_EQ(plain({.rows = 29, .columns = 30, .isNz = true}), "");
  const auto transposed = findings<half, float, Load::Transposed>;
  expectTold(transposed({.depth = 29, .isNz = true}), "0 to 1087", "LoadData");
}

TEST(UnwrittenTiles, SumsKeepWhatIsUndefined) {
  expectTold(findings<half, float, Load::Transposed>({.depth = 29, .addsToIt = true}), "0 to 4095",
             "LoadData");
  EXPECT_EQ((findings<half, float, Load::Transposed>({.depth = 29, .startsAgain = true})), "");
  EXPECT_EQ((findings<half, float, Load::Plain>({.rows = 29, .storedRows = 29, .addsToIt = true})),
            "");
}

/// Though A and B are there.
TEST(UnwrittenTiles, WhatLiesBehindMAndNIsUndefined) {
  const auto plain = findings<half, float, Load::Plain>;
  const auto expectLeft = [&](const Tile& tile, const std::string& bytes) {
    const std::string text = plain(tile);
    for (const std::string& part :
         {"Fixpipe on PIPE_FIX reads L0C bytes " + bytes +
              ", which Mmad has left undefined, as they lie behind its m and n (cube core 0) "
              "[ErrorRead2]",
          std::string("note: Mmad is here; it makes whole groups of 16 rows and columns, of which "
                      "those behind m and n have no value: multiply more, or read less")})
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  };
  expectLeft({.m = 29}, "1856 to 2047");
  expectLeft({.n = 29}, "2100 to 2111");
  EXPECT_EQ(plain({.m = 29, .n = 29, .storedRows = 29, .storedColumns = 29}), "");
  EXPECT_EQ(plain({.m = 29, .n = 29, .startsAgain = true}), "");
  expectTold(plain({.m = 29, .addsToIt = true}), "1856 to 2047", "Mmad");
}

/// Zero times what an integer may be is zero; what a float may be has infinities.
TEST(UnwrittenTiles, IntegersTimesZeroAreNoHarm) {
  const Tile zeros{.depth = 29, .depthOfA = 29};
  EXPECT_EQ((findings<int8_t, int32_t, Load::Squares>(zeros)), "");
  expectTold(findings<half, float, Load::Squares>(zeros), "0 to 4095", "LoadDataWithTranspose");
  expectTold(findings<int8_t, int32_t, Load::Squares>({.depth = 29}), "0 to 4095",
             "LoadDataWithTranspose");
}

TEST(UnwrittenTiles, WhatALoadTellsIsToldOnce) {
  std::string text = findings<half, float, Load::Transposed>({.depth = 16});
  EXPECT_NE(text.find("LoadData on PIPE_MTE1 reads L1 bytes"), std::string::npos) << text;
  EXPECT_EQ(text.find("Fixpipe on"), std::string::npos) << text;
}

/// Rows of 13 halves, with padding that has no value.
__global__ __aicore__ void padded(GM_ADDR x, GM_ADDR c, uint32_t k) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> xGm;
  GlobalTensor<float> cGm;
  xGm.SetGlobalBuffer((__gm__ half*)x);
  cGm.SetGlobalBuffer((__gm__ float*)c);
  LocalTensor<half> x1(TPosition::A1, 0, 256), a2(TPosition::A2, 0, 256), b2(TPosition::B2, 0, 256);
  LocalTensor<float> c1(TPosition::CO1, 0, 256);
  InitConstValue(b2, InitConstValueParams<half>(1, 1, 0, half(1.0f)));
  DataCopyPad(x1, xGm, DataCopyExtParams(16, 26, 0, 0, 0), DataCopyPadExtParams<half>());
  PipeBarrier<PIPE_ALL>();
  LoadData(a2, x1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  PipeBarrier<PIPE_ALL>();
  Mmad(c1, a2, b2, MmadParams(16, 16, k, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  Fixpipe<float, float>(cGm, c1, FixpipeParamsV220(16, 16, 16, 16, false));
}
TEST(UnwrittenTiles, PaddingWithoutAValueIsTold) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<half> x(256);
  DeviceBuffer<float> c(256);
  padded<<<1, nullptr, nullptr>>>(x.gm(), c.gm(), 16);
  expectTold(allFindings(), "0 to 1023", "LoadData");
  padded<<<1, nullptr, nullptr>>>(x.gm(), c.gm(), 13);
  EXPECT_EQ(allFindings(), "");
}

/// Two products: the first's result, of A (16 x 16) and B (columns x 16), is a factor of the second.
struct Chain {
  uint32_t rows = 16, columns = 16; ///< written: of A, of B
  uint32_t m = 16, n = 16;          ///< of the first product
  uint32_t k = 16, rowsOfX = 16;    ///< of the second
  bool isSecondFactor = false;      ///< then its rows are the second product's depth
  bool isCopied = false;            ///< to GM, too
};

__global__ __aicore__ void chained(GM_ADDR x, GM_ADDR c, Chain chain) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> xGm;
  GlobalTensor<float> cGm;
  xGm.SetGlobalBuffer((__gm__ half*)x);
  cGm.SetGlobalBuffer((__gm__ float*)c);
  LocalTensor<half> a1(TPosition::A1, 0, 256), b1(TPosition::A1, 512, 256);
  LocalTensor<half> s1(TPosition::A1, 1024, 256), x1(TPosition::A1, 1536, 256);
  LocalTensor<half> a2(TPosition::A2, 0, 256), b2(TPosition::B2, 0, 256);
  LocalTensor<float> c1(TPosition::CO1, 0, 256);
  DataCopy(a1, xGm, Nd2NzParams(1, chain.rows, 16, 0, 16, 16, 1, 0));
  DataCopy(b1, xGm, Nd2NzParams(1, chain.columns, 16, 0, 16, 16, 1, 0));
  DataCopy(x1, xGm, Nd2NzParams(1, chain.rowsOfX, 16, 0, 16, 16, 1, 0));
  PipeBarrier<PIPE_ALL>();
  const LoadData2DParams whole(0, 1, 1, 0, 0, false, 0), turned(0, 1, 1, 0, 0, true, 0);
  LoadData(a2, a1, whole);
  LoadData(b2, b1, whole);
  PipeBarrier<PIPE_ALL>();
  Mmad(c1, a2, b2, MmadParams(chain.m, chain.n, 16, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  FixpipeParamsV220 store(16, 16, 16, 16, false);
  store.quantPre = QuantMode_t::F322F16;
  Fixpipe<half, float, CFG_NZ>(s1, c1, store);
  PipeBarrier<PIPE_ALL>();
  if (chain.isCopied)
    DataCopy(xGm, s1, 256);
  LoadData(a2, chain.isSecondFactor ? x1 : s1, whole);
  LoadData(b2, chain.isSecondFactor ? s1 : x1, turned);
  PipeBarrier<PIPE_ALL>();
  Mmad(c1, a2, b2, MmadParams(16, 16, chain.k, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  Fixpipe<float, float>(cGm, c1, FixpipeParamsV220(16, 16, 16, 16, false));
}
std::string findingsOf(const Chain& chain) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<half> x(256);
  DeviceBuffer<float> c(256);
  for (half& one : x.data)
    one = half(1);
  chained<<<1, nullptr, nullptr>>>(x.gm(), c.gm(), chain);
  const std::string text = allFindings();
  for (float sum : c.data)
    if (text.empty())
      EXPECT_EQ(sum, 16.0f * chain.k);
  return text;
}

/// Fixpipe to L1 stores whole fractals; what of them is used, the second product says.
TEST(UnwrittenTiles, FactorsOfSecondProductsHavePadding) {
  for (uint32_t rowsOfX : {13u, 16u})
    for (uint32_t n : {13u, 16u}) {
      EXPECT_EQ(findingsOf({.columns = 13, .n = n, .k = 13, .rowsOfX = rowsOfX}), "");
      expectTold(findingsOf({.columns = 13, .n = n, .k = 16, .rowsOfX = rowsOfX}), "0 to 1023",
                 "LoadData");
    }
  for (uint32_t m : {13u, 16u}) {
    EXPECT_EQ(findingsOf({.rows = 13, .m = m, .k = 13, .isSecondFactor = true}), "");
    expectTold(findingsOf({.rows = 13, .m = m, .k = 16, .isSecondFactor = true}), "0 to 1023",
               "LoadData");
  }
  EXPECT_EQ(findingsOf({.n = 13, .k = 13}), "");
  EXPECT_EQ(findingsOf({.columns = 13, .k = 13, .isCopied = true}), "");
  EXPECT_EQ(findingsOf({.rows = 13, .k = 13, .isSecondFactor = true, .isCopied = true}), "");
}

/// Though A and B are there.
TEST(UnwrittenTiles, WhatLiesBehindMAndNIsUndefinedInL1Too) {
  const Chain columns{.n = 13}, rows{.m = 13, .isSecondFactor = true};
  for (const Chain& chain : {columns, rows}) {
    const std::string text = findingsOf(chain);
    expectTold(text, "0 to 1023", "LoadData");
    for (const char* from : {"Fixpipe", "Mmad"})
      EXPECT_NE(text.find(std::string("note: it takes that from ") + from + ", which is here"),
                std::string::npos)
          << text;
    Chain used = chain;
    used.k = 13;
    EXPECT_EQ(findingsOf(used), "");
  }
  // What no sum goes over, the second product has in rows and columns of its own.
  expectTold(findingsOf({.m = 13}), "832 to 1023", "LoadData");
  expectTold(findingsOf({.n = 13, .isSecondFactor = true}), "52 to 63", "LoadData");
}

/// A 16 x 16 matrix of ones by one of 32 columns, and a bias of which `there` columns are.
template <class Bias>
__global__ __aicore__ void biased(GM_ADDR x, GM_ADDR bias, GM_ADDR c, uint32_t there, uint32_t n) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> xGm;
  GlobalTensor<Bias> biasGm;
  GlobalTensor<float> cGm;
  xGm.SetGlobalBuffer((__gm__ half*)x);
  biasGm.SetGlobalBuffer((__gm__ Bias*)bias);
  cGm.SetGlobalBuffer((__gm__ float*)c);
  LocalTensor<half> x1(TPosition::A1, 0, 512), a2(TPosition::A2, 0, 256), b2(TPosition::B2, 0, 512);
  LocalTensor<Bias> bias1(TPosition::C1, 1024, 32);
  LocalTensor<float> bias2(TPosition::C2, 0, 32), c1(TPosition::CO1, 0, 512);
  DataCopy(x1, xGm, Nd2NzParams(1, 32, 16, 0, 16, 32, 1, 0));
  DataCopyPad(bias1, biasGm, DataCopyExtParams(1, there * sizeof(Bias), 0, 0, 0),
              DataCopyPadExtParams<Bias>());
  PipeBarrier<PIPE_ALL>();
  LoadData(a2, x1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(b2, x1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
  DataCopy(bias2, bias1, DataCopyParams(1, 2, 0, 0));
  PipeBarrier<PIPE_ALL>();
  Mmad(c1, a2, b2, bias2, MmadParams(16, n, 16, 0, false, false));
  PipeBarrier<PIPE_ALL>();
  Fixpipe<float, float>(cGm, c1, FixpipeParamsV220(n, 16, 16, 32, false));
}
template <class Bias> std::string findingsOfBias(uint32_t there, uint32_t n) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<half> x(512);
  DeviceBuffer<Bias> bias(32);
  DeviceBuffer<float> c(512);
  for (half& one : x.data)
    one = half(1);
  for (uint32_t k = 0; k < 32; ++k)
    bias[k] = Bias(float(k));
  biased<Bias><<<1, nullptr, nullptr>>>(x.gm(), bias.gm(), c.gm(), there, n);
  const std::string text = allFindings();
  for (uint32_t k = 0; text.empty() && k < 16 * n; ++k)
    EXPECT_EQ(c[k / n * 32 + k % n], 16.0f + float(k % n));
  return text;
}
/// BT is filled by 64 bytes.
TEST(UnwrittenTiles, BiasesBehindTheLastColumnAreNoHarm) {
  for (auto* run : {findingsOfBias<float>, findingsOfBias<half>})
    for (uint32_t n : {17u, 24u, 31u, 32u}) {
      EXPECT_EQ(run(n, n), "");
      const std::string text = run(n - 1, n);
      for (const std::string& part : {"Mmad on PIPE_M reads BT bytes " + std::to_string(4 * n - 4) +
                                          " to " + std::to_string(4 * n - 1) +
                                          ", to which DataCopy has moved what nothing has written",
                                      std::string("note: DataCopy is here")})
        EXPECT_NE(text.find(part), std::string::npos) << n << text;
    }
}

__global__ __aicore__ void scaled(GM_ADDR x, GM_ADDR scales, GM_ADDR c, uint32_t there,
                                  uint32_t n) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<int8_t> xGm;
  GlobalTensor<uint64_t> scalesGm;
  GlobalTensor<half> cGm;
  xGm.SetGlobalBuffer((__gm__ int8_t*)x);
  scalesGm.SetGlobalBuffer((__gm__ uint64_t*)scales);
  cGm.SetGlobalBuffer((__gm__ half*)c);
  LocalTensor<int8_t> x1(TPosition::A1, 0, 1024), a2(TPosition::A2, 0, 512),
      b2(TPosition::B2, 0, 1024);
  LocalTensor<uint64_t> scales1(TPosition::A1, 2048, 32), fb(TPosition::C2PIPE2GM, 0, 32);
  LocalTensor<int32_t> c1(TPosition::CO1, 0, 512);
  DataCopy(x1, xGm, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
  DataCopyPad(scales1, scalesGm, DataCopyExtParams(1, there * 8, 0, 0, 0),
              DataCopyPadExtParams<uint64_t>());
  PipeBarrier<PIPE_ALL>();
  LoadData(a2, x1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(b2, x1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
  DataCopy(fb, scales1, DataCopyParams(1, 2, 0, 0));
  PipeBarrier<PIPE_ALL>();
  Mmad(c1, a2, b2, MmadParams(16, 32, 32, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  FixpipeParamsV220 store(n, 16, 16, 32, false);
  store.quantPre = QuantMode_t::VDEQF16;
  Fixpipe<half, int32_t, CFG_ROW_MAJOR>(cGm, c1, fb, store);
}
/// FB is filled by 128 bytes.
TEST(UnwrittenTiles, ScalesBehindTheLastColumnAreNoHarm) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<int8_t> x(1024);
  DeviceBuffer<uint64_t> scales(32);
  DeviceBuffer<half> c(512);
  for (int8_t& one : x.data)
    one = 1;
  const float scale = 0.5f;
  for (uint64_t& one : scales.data)
    std::memcpy(&(one = 0), &scale, sizeof scale);
  for (uint32_t n : {17u, 24u, 31u, 32u}) {
    scaled<<<1, nullptr, nullptr>>>(x.gm(), scales.gm(), c.gm(), n, n);
    EXPECT_EQ(allFindings(), "");
    EXPECT_EQ(float(c[n - 1]), 16.0f);
    scaled<<<1, nullptr, nullptr>>>(x.gm(), scales.gm(), c.gm(), n - 1, n);
    const std::string text = allFindings();
    EXPECT_NE(text.find("Fixpipe on PIPE_FIX reads FB bytes " + std::to_string(8 * n - 8) + " to " +
                        std::to_string(8 * n - 1) +
                        ", to which DataCopy has moved what nothing has written"),
              std::string::npos)
        << n << text;
  }
}

TEST(UnwrittenTiles, TheWayOfWhatIsMissingIsTold) {
  const std::string text = findingsOf({.columns = 13, .k = 16});
  size_t at = 0;
  for (const char* mover : {"Mmad is here", "from LoadData,", "from Fixpipe,", "from Mmad,",
                            "from LoadData,", "LoadData(b2, b1, whole)"})
    EXPECT_NE(at = text.find(mover, at), std::string::npos) << mover << "\n" << text;
  const std::string second = findingsOf({.rowsOfX = 13});
  EXPECT_NE(second.find("LoadData(b2, chain.isSecondFactor ? s1 : x1, turned)"), std::string::npos)
      << second;
  EXPECT_EQ(second.find("from Fixpipe,"), std::string::npos) << second;
}

} // namespace
