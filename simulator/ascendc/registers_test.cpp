// SPDX-License-Identifier: Apache-2.0
// What a register, a hint or an object decides: compare masks, counts of merges, the older way out of
// L0C, tiling data and workspaces, whole-tensor operators, printing. Each effect is compared.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {
template <class... Args>
std::string runKernel(void (*kernel)(Args...), uint32_t blocks, Args... a) {
  catchLaunches();
  nextOptions() = {};
  kernel<<<blocks, nullptr, nullptr>>>(a...);
  return allFindings();
}
template <class T> LocalTensor<T> ub(uint32_t byte, uint32_t n) {
  return LocalTensor<T>(TPosition::VECCALC, byte, n);
}
} // namespace

/// The compare mask goes to UB and comes back with its bits flipped.
__global__ __aicore__ void compareMask(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)y);
  auto a = ub<float>(0, 64), b = ub<float>(256, 64), chosen = ub<float>(512, 128);
  auto mask = ub<uint16_t>(1024, 16);
  DataCopy(ub<float>(0, 128), in, 128);
  PipeBarrier<PIPE_ALL>();
  Compare(a, b, CMPMODE::LT, uint64_t{64}, BinaryRepeatParams());
  PipeBarrier<PIPE_V>();
  Select<float, SELMODE::VSEL_CMPMASK_SPR>(chosen, a, b, 1, BinaryRepeatParams());
  GetCmpMask(mask);
  PipeBarrier<PIPE_V>();
  Not(mask, mask, 8);
  PipeBarrier<PIPE_V>();
  SetCmpMask(mask);
  PipeBarrier<PIPE_V>();
  Select<float, SELMODE::VSEL_CMPMASK_SPR>(chosen[64], a, b, 1, BinaryRepeatParams());
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, chosen, 128);
}
TEST(Registers, G50_CompareMask) {
  DeviceBuffer<float> x(128), y(128);
  for (int i = 0; i < 64; ++i) {
    x[i] = static_cast<float>(i * 7 % 13);
    x[64 + i] = 6;
  }
  // The second 8 bytes of the register belong to lanes of 16 bits, which nothing has set.
  std::string text = runKernel(compareMask, 1, x.gm(), y.gm());
  EXPECT_EQ(text, "");
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(y[i], std::min(x[i], 6.0f));
    EXPECT_EQ(y[64 + i], std::max(x[i], 6.0f));
  }
}

/// A merge that stops when a list ends, and how far it came.
__global__ __aicore__ void mergeResult(GM_ADDR x, uint32_t* counts) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in;
  in.SetGlobalBuffer((__gm__ float*)x);
  auto lists = ub<float>(0, 64), out = ub<float>(4096, 64);
  DataCopy(lists, in, 64);
  PipeBarrier<PIPE_ALL>();
  uint16_t lengths[4] = {16, 16, 0, 0};
  MrgSort(out, MrgSortSrcList<float>(lists, lists[32], lists, lists),
          MrgSort4Info(lengths, true, 3, 1));
  uint16_t a, b, c, d;
  GetMrgSortResult(a, b, c, d);
  uint32_t sorted[4];
  MrgSort<float, true>(out, MrgSortSrcList<float>(lists, lists[32], lists, lists), lengths, sorted,
                       3, 1);
  counts[0] = a;
  counts[1] = b;
  counts[2] = sorted[0];
  counts[3] = sorted[1];
}
TEST(Registers, G64_GetMrgSortResult) {
  DeviceBuffer<float> x(64);
  for (int i = 0; i < 16; ++i) { // pairs of 8 bytes: 100, 99, ... and 92.5, 91.5, ...
    x[i * 2] = 100.0f - static_cast<float>(i);
    x[32 + i * 2] = 92.5f - static_cast<float>(i);
  }
  uint32_t counts[4] = {};
  std::string text = runKernel(mergeResult, 1, x.gm(), static_cast<uint32_t*>(counts));
  // The second merge over the first one's result is a race of the test's own making.
  EXPECT_EQ(text.find("MrgSort:"), std::string::npos) << text;
  EXPECT_EQ(counts[0], 16u); // all of the first: 100 to 85
  EXPECT_EQ(counts[1], 8u);  // of the second, 92.5 to 85.5
  EXPECT_EQ(counts[2], 16u);
  EXPECT_EQ(counts[3], 8u);
}

/// L0C by DataCopy: rows with the matrices of SetFixpipeNz2ndFlag, fractals with a scale, and with a
/// scale for each column.
__global__ __aicore__ void olderCopies(GM_ADDR x, GM_ADDR scales, GM_ADDR rows, GM_ADDR halves,
                                       GM_ADDR columns) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<int8_t> in;
  GlobalTensor<uint64_t> scalesIn;
  GlobalTensor<int32_t> out;
  GlobalTensor<half> halfOut, columnOut;
  in.SetGlobalBuffer((__gm__ int8_t*)x);
  scalesIn.SetGlobalBuffer((__gm__ uint64_t*)scales);
  out.SetGlobalBuffer((__gm__ int32_t*)rows);
  halfOut.SetGlobalBuffer((__gm__ half*)halves);
  columnOut.SetGlobalBuffer((__gm__ half*)columns);
  LocalTensor<int8_t> l1(TPosition::A1, 0, 2048), a(TPosition::A2, 0, 1024),
      b(TPosition::B2, 0, 512);
  LocalTensor<uint64_t> l1Scales(TPosition::A1, 4096, 16), fb(TPosition::C2PIPE2GM, 0, 16);
  LocalTensor<int32_t> c(TPosition::CO1, 0, 512);
  DataCopy(l1, in, 1536);
  DataCopy(l1Scales, scalesIn, 16);
  PipeBarrier<PIPE_ALL>();
  LoadData(a, l1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
  LoadData(b, l1, LoadData2DParams(2, 1, 1, 0, 0, false, 0));
  DataCopy(fb, l1Scales, DataCopyParams(1, 1, 0, 0));
  PipeBarrier<PIPE_ALL>();
  Mmad(c, a, b, MmadParams(32, 16, 32, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  SetFixpipeNz2ndFlag(2, 1, 600); // the two fractals as two matrices of 16 rows
  DataCopy(out, c, DataCopyCO12DstParams(16, 16, 20, 32, NoQuant, 0, false, true));
  SetFixpipeNz2ndFlag(1, 0, 0);
  float scale = 0.5f;
  uint64_t bits = 0;
  std::memcpy(&bits, &scale, 4);
  SetFixpipePreQuantFlag(bits);
  DataCopy(halfOut, c, DataCopyCO12DstParams(16, 32, 32, 32, DEQF16, 1, false, false));
  SetFixPipeConfig(fb);
  DataCopy(columnOut, c, DataCopyCO12DstParams(16, 32, 16, 32, VDEQF16, 0, false, true));
}
TEST(Registers, G21_G36_CopiesFromL0C) {
  DeviceBuffer<int8_t> x(1536);
  DeviceBuffer<uint64_t> scales(16);
  DeviceBuffer<int32_t> rows(1200);
  DeviceBuffer<half> halves(512), columns(512);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<int8_t>(static_cast<int>(i * 37 % 11) - 5);
  for (uint32_t n = 0; n < 16; ++n) {
    float scale = 0.25f * static_cast<float>(n + 1);
    scales[n] = 0;
    std::memcpy(&scales[n], &scale, 4);
  }
  ASSERT_EQ(runKernel(olderCopies, 1, x.gm(), scales.gm(), rows.gm(), halves.gm(), columns.gm()),
            "");
  for (int m = 0; m < 32; ++m)
    for (int n = 0; n < 16; ++n) {
      int sum = 0;
      for (int k = 0; k < 32; ++k) // A in fractals of 16 x 32, B of 16 columns x 32
        sum += x[m / 16 * 512 + m % 16 * 32 + k] * x[1024 + n * 32 + k];
      ASSERT_EQ(rows[m / 16 * 600 + m % 16 * 20 + n], sum) << m << "," << n;
      ASSERT_EQ(static_cast<float>(halves[m * 16 + n]),
                static_cast<float>(half(0.5f * static_cast<float>(std::max(sum, 0)))));
      ASSERT_EQ(static_cast<float>(columns[m * 16 + n]),
                static_cast<float>(half(0.25f * static_cast<float>((n + 1) * sum))));
    }
}

struct RowTiling {
  uint32_t rows, columns;
  float factor;
};
__global__ __aicore__ void tiled(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  REGISTER_TILING_DEFAULT(RowTiling);
  GET_TILING_DATA(data, tiling);
  SetSysWorkspace(workspace);
  GM_ADDR user = GetUserWorkspace(workspace);
  ascendc_assert(user != nullptr && GetSysWorkSpacePtr() == workspace);
  ascendc_assert(GetTaskRatio() == 1 && GetTaskRation() == 1);
  SetNextTaskStart();
  WaitPreTaskEnd();
  ICachePreLoad(2);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, data.columns * sizeof(float));
  pipe.Destroy();
  GlobalTensor<float> in, out, kept;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)y);
  kept.SetGlobalBuffer((__gm__ float*)user);
  DataCachePreload(in, 0);
  LocalTensor<float> row = buffer.Get<float>();
  for (uint32_t r = 0; r < data.rows; ++r) {
    TRACE_START(1);
    DataCopy(row, in[r * data.columns], data.columns);
    PipeBarrier<PIPE_ALL>();
    Muls(row, row, data.factor, static_cast<int32_t>(data.columns));
    PipeBarrier<PIPE_ALL>();
    DataCopy(out[r * data.columns], row, data.columns);
    DataCopy(kept, row, data.columns);
    PipeBarrier<PIPE_ALL>();
    TRACE_STOP(1);
    KERNEL_LOG(KERNEL_INFO, "row %u", r);
  }
}
TEST(Registers, G14_G15_G71_TilingAndWorkspace) {
  DeviceBuffer<float> x(64), y(64), workspace(16);
  DeviceBuffer<RowTiling> tiling(1);
  tiling[0] = {4, 16, 2.5f};
  for (int i = 0; i < 64; ++i)
    x[i] = static_cast<float>(i);
  ASSERT_EQ(runKernel(tiled, 1, x.gm(), y.gm(), workspace.gm(), tiling.gm()), "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(y[i], 2.5f * static_cast<float>(i));
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(workspace[i], 2.5f * static_cast<float>(48 + i));
}

__global__ __aicore__ void operators(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)y);
  auto a = ub<float>(0, 64), b = ub<float>(256, 64);
  auto at = [](uint32_t k) { return ub<float>(512 + k * 256, 64); };
  DataCopy(ub<float>(0, 128), in, 128);
  PipeBarrier<PIPE_ALL>();
  at(0) = a + b;
  at(1) = a - b;
  at(2) = a * b;
  at(3) = a / b;
  at(4).ReinterpretCast<int16_t>() = a.ReinterpretCast<int16_t>() & b.ReinterpretCast<int16_t>();
  at(5).ReinterpretCast<int16_t>() = a.ReinterpretCast<int16_t>() | b.ReinterpretCast<int16_t>();
  auto bits = at(6).ReinterpretCast<uint8_t>();
  Duplicate(at(6), 0.0f, 64);
  PipeBarrier<PIPE_V>();
  bits = a < b;
  bits[32] = a > b;
  bits[64] = a == b;
  bits[96] = a <= b;
  bits[128] = a >= b;
  bits[160] = a != b;
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, ub<float>(512, 7 * 64), 7 * 64);
}
TEST(Registers, G3_WholeTensors) {
  DeviceBuffer<float> x(128), y(7 * 64);
  for (int i = 0; i < 64; ++i) {
    x[i] = static_cast<float>(i * 5 % 9 - 4);
    x[64 + i] = static_cast<float>(i % 7 + 1);
  }
  ASSERT_EQ(runKernel(operators, 1, x.gm(), y.gm()), "");
  const auto* bits = reinterpret_cast<const uint8_t*>(&y[6 * 64]);
  for (int i = 0; i < 64; ++i) {
    float a = x[i], b = x[64 + i];
    uint32_t ua, ub, both, either;
    std::memcpy(&ua, &a, 4);
    std::memcpy(&ub, &b, 4);
    std::memcpy(&both, &y[4 * 64 + i], 4);
    std::memcpy(&either, &y[5 * 64 + i], 4);
    EXPECT_EQ(y[i], a + b);
    EXPECT_EQ(y[64 + i], a - b);
    EXPECT_EQ(y[128 + i], a * b);
    EXPECT_EQ(y[192 + i], a / b);
    EXPECT_EQ(both, ua & ub);
    EXPECT_EQ(either, ua | ub);
    bool expected[6] = {a<b, a> b, a == b, a <= b, a >= b, a != b};
    for (int k = 0; k < 6; ++k)
      EXPECT_EQ(bits[k * 32 + i / 8] >> (i % 8) & 1, expected[k]) << k;
  }
}

__global__ __aicore__ void printing(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in;
  in.SetGlobalBuffer((__gm__ float*)x);
  auto a = ub<float>(0, 16);
  DataCopy(a, in, 16);
  PipeBarrier<PIPE_ALL>();
  DumpTensor(a, 5, 4);
  DumpTensor(in, 6, 2);
  uint32_t sizes[2] = {2, 2};
  a.SetShapeInfo(ShapeInfo(2, sizes));
  ascendc_assert(a.GetShapeInfo().shapeDim == 2 && a.GetShapeInfo().shape[1] == 2);
  DumpTensor(a, 7, 4, a.GetShapeInfo());
  DumpAccChkPoint(a, 8, 2, 3);
  DumpAccChkPoint(in, 9, 14, 2);
  uint32_t version = 0;
  GetArchVersion(version);
  ascendc_assert(version == 0x220);
  AscendC::printf("arch %d, %.1f\n", static_cast<int>(GetArchVersion()), 1.5);
  PRINTF("%.1f %.2f %d\n", half(2.5f), ToBfloat16(0.25f), 7);
  int64_t before = GetSystemCycle();
  ascendc_assert(before > 0 && GetSystemCycle() >= before);
  PrintTimeStamp(9);
}
TEST(Registers, G70_Printing) {
  DeviceBuffer<float> x(16);
  for (int i = 0; i < 16; ++i)
    x[i] = 0.5f * static_cast<float>(i);
  testing::internal::CaptureStdout();
  EXPECT_EQ(runKernel(printing, 1, x.gm()), "");
  std::string text = testing::internal::GetCapturedStdout();
  size_t stamp = text.find("time stamp 9: ");
  ASSERT_NE(stamp, std::string::npos);
  EXPECT_EQ(text.substr(0, stamp), "DumpTensor 5: 4 elements of block 0\n0 0.5 1 1.5\n"
                                   "DumpTensor 6: 2 elements of block 0\n0 0.5\n"
                                   "DumpTensor 7: 4 elements of block 0\n0 0.5 1 1.5\n"
                                   "DumpAccChkPoint 8: 3 elements of block 0\n1 1.5 2\n"
                                   "DumpAccChkPoint 9: 2 elements of block 0\n7 7.5\n"
                                   "arch 220, 1.5\n2.5 0.25 7\n");
  EXPECT_GT(std::stoll(text.substr(stamp + 14)), 0);
}

__global__ __aicore__ void traps(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Trap();
}
__global__ __aicore__ void boundary(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  SetLoadDataBoundary(1024);
}
__global__ __aicore__ void enhanced(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in;
  in.SetGlobalBuffer((__gm__ float*)x);
  DataCopyEnhancedParams params;
  params.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  DataCopy(ub<float>(0, 16), in, DataCopyParams(1, 1, 0, 0), params);
}
__global__ __aicore__ void wrongCopy(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  DataCopy(ub<float>(0, 16), ub<half>(64, 16), DataCopyParams(1, 1, 0, 0));
}
__global__ __aicore__ void wrongBias(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  LocalTensor<float> l1(TPosition::C1, 0, 64), table(TPosition::C2, 32, 64);
  InitConstValue(l1, InitConstValueParams<float>(1, 8, 0, 1));
  PipeBarrier<PIPE_ALL>();
  DataCopy(table, l1, DataCopyParams(1, 1, 0, 0));
}
__global__ __aicore__ void wrongDuplicate(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Duplicate(ub<int8_t>(0, 64), static_cast<int8_t>(1), 64);
}
__global__ __aicore__ void wrongAdd(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto a = ub<bfloat16_t>(0, 64);
  Add(a, a, a, 64);
}
__global__ __aicore__ void wrongRounding(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Cast(ub<int32_t>(0, 64), ub<float>(256, 64), RoundMode::CAST_NONE, 64);
}
__global__ __aicore__ void wrongWidening(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Cast(ub<float>(0, 64), ub<half>(256, 64), RoundMode::CAST_RINT, 64);
}
__global__ __aicore__ void wrongNarrowing(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Cast(ub<int8_t>(0, 64), ub<float>(256, 64), RoundMode::CAST_RINT, 64);
}
template <bool sparseMultiply> __global__ __aicore__ void wrongSparse(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  LocalTensor<int8_t> l1(TPosition::B1, 0, 512), a(TPosition::A2, 0, 512), b(TPosition::B2, 0, 512);
  LocalTensor<int32_t> c(TPosition::CO1, 0, 256);
  if (sparseMultiply)
    MmadWithSparse(c, a, b, MmadParams(16, 16, 32, 0, false, true));
  else
    LoadDataWithSparse(b, l1, l1.ReinterpretCast<uint8_t>(),
                       LoadData2DParams(0, 1, 1, 0, 0, true, 0));
}
template <int wrong> __global__ __aicore__ void wrongImage(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  LocalTensor<half> l1(TPosition::A1, 0, 512), a(TPosition::A2, 0, 512), b(TPosition::B2, 0, 512);
  LoadData3DParamsV2<half> p;
  p.l1H = p.l1W = 2;
  p.channelSize = 16;
  p.mExtension = p.kExtension = 16;
  if (wrong == 0)
    p.filterW = 3;
  if (wrong == 1)
    p.strideH = 0;
  if (wrong == 2)
    p.enTranspose = true;
  if (wrong == 2)
    LoadData(b, l1, p);
  else
    LoadData(a, l1, p);
}
TEST(Registers, WhatArch2201HasNot) {
  DeviceBuffer<float> x(16);
  auto expect = [&](void (*kernel)(GM_ADDR), const char* text) {
    std::string found = runKernel(kernel, 1, x.gm());
    EXPECT_NE(found.find(text), std::string::npos) << found;
  };
  expect(traps, "Trap was called");
  expect(boundary, "unsupported: SetLoadDataBoundary other than 0");
  expect(enhanced, "unsupported: DataCopyEnhancedParams with a conversion; arch 2201 converts on "
                   "the way out of L0C alone, by Fixpipe");
  expect(wrongCopy, "DataCopy of one type to another: only half becomes float, on its way from C1");
  expect(wrongBias,
         "destination starts at local byte 32, which is no multiple of 64 [ErrorWrite4]");
  expect(wrongDuplicate, "arch 2201 has no Duplicate of int8_t");
  expect(wrongAdd, "arch 2201 has no Add of bfloat16_t");
  expect(wrongRounding,
         "arch 2201 has no Cast of float to int32_t with this rounding mode; it takes the modes "
         "CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND or CAST_TRUNC");
  expect(wrongWidening, "note: use CAST_NONE\n");
  expect(wrongNarrowing, "arch 2201 has no Cast of float to int8_t (vector core 0)");
  expect(wrongNarrowing, "note: convert to a type that it takes first, or use another");
  expect(wrongSparse<true>, "MmadWithSparse: k is 32, which is no multiple of 64");
  expect(wrongSparse<false>, "LoadDataWithSparse can't transpose");
  expect(wrongImage<0>, "the filter of 1 x 3 is larger than the padded image of 2 x 2");
  expect(wrongImage<1>, "strides, filter sizes and dilations of LoadData3DParamsV2 start at 1");
  expect(wrongImage<2>, "enTranspose takes 16- and 32-bit elements into A2, not half into B2");
}
