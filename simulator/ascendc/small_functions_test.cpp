// SPDX-License-Identifier: Apache-2.0
// Functions that kernels call beside the instructions: of tensors, pipes, queues, registers, the
// scalar unit; and forms of instructions that other tests don't have.
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
} // namespace

#define NEED(condition) ascendc_assert(condition)

__global__ __aicore__ void objects(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  InitSocState();
  TPipe pipe;
  NEED(GetTPipePtr() == &pipe);
  NEED(GetSubBlockIdx() == 0 && GetSubBlockNum() == 1 && GetTaskRation() == 1);
  TEventID first = pipe.AllocEventID<HardEvent::MTE2_V>();
  NEED(pipe.FetchEventID<HardEvent::MTE2_V>() != first);
  NEED(pipe.FetchEventID(HardEvent::V_MTE3) == 0);
  pipe.ReleaseEventID<HardEvent::MTE2_V>(first);
  NEED(pipe.FetchEventID<HardEvent::MTE2_V>() == first);
  TQue<TPosition::VECIN, 2> queue;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(queue, 2, 100);
  pipe.InitBuffer(buffer, 1000);
  NEED(queue.VacantInQue() && !queue.HasTensorInQue() && queue.HasIdleBuffer());
  LocalTensor<float> t = queue.AllocTensor<float>(), u = queue.AllocTensor<float>();
  NEED(!queue.HasIdleBuffer());
  queue.EnQue(t);
  NEED(queue.GetTensorCountInQue() == 1 && queue.HasTensorInQue());
  t = queue.DeQue<float>();
  queue.FreeTensor(t);
  queue.FreeTensor(u);
  LocalTensor<float> b = buffer.GetWithOffset<float>(64, 256);
  NEED(b.GetSize() == 64 && b.GetPosition() == TPosition::VECCALC);
  NEED(b.GetPhyAddr(8) == b.GetPhyAddr() + 8 && b[8].GetPhyAddr() == b.GetPhyAddr(8));
  b.SetSize(32);
  NEED(b.GetSize() == 32 && b.ReinterpretCast<half>().GetSize() == 64);
  LocalTensor<float> whole = pipe.GetAbsAddr<TPosition::VECCALC, float>(0, 128);
  NEED(whole.GetSize() == 128);
  LocalTensor<uint8_t> rest;
  NEED((PopStackBuffer<uint8_t, TPosition::LCM>(rest)) && rest.GetSize() > 150000);
  LocalMemAllocator<Hardware::UB> allocator;
  LocalTensor<half> h = allocator.Alloc<TPosition::VECCALC, half, 64>();
  NEED(h.GetSize() == 64 && allocator.GetCurAddr() == 128);
  TBufPool<TPosition::VECCALC> pool, other;
  TBuf<TPosition::VECCALC> inPool;
  pipe.InitBufPool(pool, 1024);
  pipe.InitBufPool(other, 512, pool);
  pool.InitBuffer(inPool, 512);
  NEED(inPool.Get<float>().GetSize() == 128);
  pipe.Reset();
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)y, 8);
  gm.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
  NEED(gm.GetSize() == 8 && gm.GetPhyAddr(2) == gm[2].GetPhyAddr());
  gm.SetValue(0, 1.0f);
  gm(1) = gm(0) + 1.0f;
  WriteGmByPassDCache((__gm__ float*)y + 2, 3.0f);
  gm.SetValue(3, ReadGmByPassDCache((__gm__ float*)y + 2) + 1);
  DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE>(gm);
  DataSyncBarrier<MemDsbT::ALL>();
}
TEST(Small, G1_to_G9_Objects) {
  DeviceBuffer<float> y(8);
  EXPECT_EQ(runKernel(objects, 1, y.gm()), "");
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(y[i], static_cast<float>(i + 1));
}

__global__ __aicore__ void scalars(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  NEED((ScalarCast<float, int32_t, RoundMode::CAST_FLOOR>(-1.5f) == -2));
  NEED((ScalarCast<float, int32_t, RoundMode::CAST_RINT>(2.5f) == 2));
  NEED((ScalarCast<float, half, RoundMode::CAST_ODD>(1.0f) == 1.0f));
  NEED(ScalarGetCountOfValue<1>(0xF0) == 4 && ScalarGetCountOfValue<0>(0xF0) == 60);
  NEED(ScalarCountLeadingZero(1) == 63 && ScalarGetSFFValue<1>(8) == 3);
  NEED(ToFloat(ToBfloat16(1.5f)) == 1.5f);
  half h = 3;
  h += 1.0f;
  NEED(h == 4.0f && half(1e-7f) > 0.0f && std::isinf(static_cast<float>(half(7e4f))));
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  CreateVecIndex(t, 0.0f, 64);
  WholeReduceMax<float>(t[32], t, 32, 1, 1, 1, 8);
  float value = 0, index = 0;
  GetReduceMaxMinCount(value, index);
  uint32_t bits;
  std::memcpy(&bits, &index, 4);
  NEED(value == 31 && bits == 31);
  WholeReduceSum<float>(t[32], t, 32, 1, 1, 1, 8);
  NEED(GetAccVal<float>() == 496);
  PRINTF("block %d\n", static_cast<int>(GetBlockIdx()));
}
TEST(Small, G56_G69_G70_Scalars) {
  testing::internal::CaptureStdout();
  std::string text = runKernel(scalars, 1, static_cast<uint8_t*>(nullptr));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "block 0\n");
  // The reduction right behind the index is a race of the test's own making.
  EXPECT_EQ(text.find("assertion"), std::string::npos) << text;
}

__global__ __aicore__ void forms(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)y);
  auto at = [](uint32_t i) { return LocalTensor<float>(TPosition::VECCALC, i * 256, 64); };
  TQueSync<PIPE_MTE2, PIPE_V> sync;
  DataCopy(at(0), in, 64);
  sync.SetFlag(0);
  sync.WaitFlag(0);
  Subs(at(1), at(0), 1.0f, 64);
  Divs(at(2), at(0), 4.0f, 64);
  ClampMin(at(3), at(0), at(60).ReinterpretCast<uint8_t>(), 0.5f, 64);
  Floor(at(4), at(0), 64);
  Gelu(at(5), at(0), 64);
  Log(at(6), at(0), 64);
  at(7) = at(0) + at(0);
  Compares(at(8).ReinterpretCast<uint8_t>(), at(0), 1.0f, CMPMODE::LE, 64);
  ReduceDataBlock<ReduceType::MAX>(at(9), at(0), 64, 1, 1, 1, 8);
  ReducePairElem<ReduceType::SUM>(at(10), at(0), 64, 1, 1, 1, 8);
  WholeReduceMin<float>(at(11), at(0), 64, 1, 1, 1, 8, ReduceOrder::ORDER_INDEX_VALUE);
  BlockReduceMax<float>(at(12), at(0), 1, 64, 1, 1, 8);
  AddReluCast(at(13).ReinterpretCast<half>(), at(0), at(0), 64);
  Arange(at(14).ReinterpretCast<int32_t>(), 5, 3, 64);
  SetDeqScale(half(0.5f));
  PipeBarrier<PIPE_V>();
  Cast(at(15).ReinterpretCast<half>(), at(14).ReinterpretCast<int32_t>(), RoundMode::CAST_NONE, 64);
  PipeBarrier<PIPE_V>();
  Cast(at(16), at(15).ReinterpretCast<half>(), RoundMode::CAST_NONE, 64);
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, LocalTensor<float>(TPosition::VECCALC, 256, 8 * 64), 7 * 64);
  DataCopy(out[7 * 64], at(16), 64);
  DataCopyPad(out[8 * 64], at(8), DataCopyExtParams(1, 8, 0, 0, 0));
  DataCopy(out[8 * 64 + 8], at(9), 8);
  DataCopy(out[8 * 64 + 16], at(10), 32);
  DataCopyPad(out[8 * 64 + 48], at(11), DataCopyExtParams(1, 8, 0, 0, 0));
  DataCopy(out[8 * 64 + 56], at(12), 8);
  DataCopy(out[9 * 64], at(13), 32);
  PipeBarrier<PIPE_ALL>();
  SetAtomicMax<float>();
  DataCopy(out[10 * 64], at(0), 64);
  PipeBarrier<PIPE_MTE3>();
  SetAtomicMin<float>();
  DataCopy(out[10 * 64 + 32], at(1), 32);
  DisableDmaAtomic();
}
TEST(Small, FormsOfInstructions) {
  DeviceBuffer<float> x(64), y(11 * 64);
  for (int i = 0; i < 64; ++i)
    x[i] = 0.05f * static_cast<float>(1 + i * 37 % 64);
  ASSERT_EQ(runKernel(forms, 1, x.gm(), y.gm()), "");
  const auto* bits = reinterpret_cast<const uint8_t*>(&y[8 * 64]);
  const auto* halves = reinterpret_cast<const half*>(&y[9 * 64]);
  for (int i = 0; i < 64; ++i) {
    double v = x[i];
    EXPECT_EQ(y[i], x[i] - 1.0f);
    EXPECT_EQ(y[64 + i], x[i] / 4.0f);
    EXPECT_EQ(y[128 + i], std::max(x[i], 0.5f));
    EXPECT_EQ(y[192 + i], std::floor(x[i]));
    EXPECT_NEAR(y[256 + i], 0.5 * v * (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v))),
                1e-5);
    EXPECT_NEAR(y[320 + i], std::log(v), 1e-6);
    EXPECT_EQ(y[384 + i], x[i] + x[i]);
    EXPECT_EQ(y[448 + i], static_cast<float>(half(static_cast<float>(5 + 3 * i) * 0.5f)));
    EXPECT_EQ(bits[i / 8] >> (i % 8) & 1, x[i] <= 1.0f);
    EXPECT_EQ(halves[i].bits, half(x[i] + x[i]).bits);
    if (i % 8 == 0) {
      float most = *std::max_element(&x[i], &x[i] + 8);
      EXPECT_EQ(y[8 * 64 + 8 + i / 8], most);
      EXPECT_EQ(y[8 * 64 + 56 + i / 8], most);
    }
    if (i % 2 == 0)
      EXPECT_EQ(y[8 * 64 + 16 + i / 2], x[i] + x[i + 1]);
    EXPECT_EQ(y[10 * 64 + i], i < 32 ? x[i] : std::min(x[i], x[i - 32] - 1.0f));
  }
  auto least = std::min_element(x.data.begin(), x.data.end());
  uint32_t index;
  std::memcpy(&index, &y[8 * 64 + 48], 4);
  EXPECT_EQ(index, static_cast<uint32_t>(least - x.data.begin()));
  EXPECT_EQ(y[8 * 64 + 49], *least);
}

/// A zN matrix of 32 x 24 in UB to rows in GM; a window of rows by SliceInfo.
__global__ __aicore__ void layouts(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<half> in, out, window;
  in.SetGlobalBuffer((__gm__ half*)x);
  out.SetGlobalBuffer((__gm__ half*)y);
  window.SetGlobalBuffer((__gm__ half*)z);
  LocalTensor<half> t(TPosition::VECIN, 0, 1024), u(TPosition::VECIN, 8192, 64);
  DataCopy(t, in, 1024);
  // Rows 3 and 4 of 8 rows of 64, columns 16 to 47.
  SliceInfo from[2] = {{16, 47, 0, 2, 64}, {3, 4, 0, 1, 8}};
  SliceInfo to[2] = {{0, 31, 0, 2, 32}, {0, 1, 0, 1, 2}};
  DataCopy(u, in, to, from, 2);
  SetFlag<HardEvent::MTE2_MTE3>(0);
  WaitFlag<HardEvent::MTE2_MTE3>(0);
  DataCopy(out, t, Nz2NdParamsFull(1, 32, 24, 1, 32, 24, 1));
  DataCopy(window, u, 64);
}
TEST(Small, G20_G22_Layouts) {
  DeviceBuffer<half> x(1024), y(32 * 24), z(64);
  for (int i = 0; i < 1024; ++i)
    x[i] = half(static_cast<float>(i));
  ASSERT_EQ(runKernel(layouts, 1, x.gm(), y.gm(), z.gm()), "");
  for (int r = 0; r < 32; ++r)
    for (int c = 0; c < 24; ++c)
      ASSERT_EQ(y[r * 24 + c].bits, x[c / 16 * 512 + r * 16 + c % 16].bits) << r << "," << c;
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 32; ++c)
      ASSERT_EQ(z[r * 32 + c].bits, x[(3 + r) * 64 + 16 + c].bits);
}

/// Halves to int4b_t and back by repeats: two share a byte, and a mask may take one of the two.
template <int variant> __global__ __aicore__ void int4ByRepeats(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  constexpr RoundMode mode = RoundMode::CAST_NONE;
  GlobalTensor<half> in, out;
  in.SetGlobalBuffer((__gm__ half*)x);
  out.SetGlobalBuffer((__gm__ half*)y);
  LocalTensor<half> h(TPosition::VECIN, 0, 512), back(TPosition::VECOUT, 8192, 512);
  LocalTensor<int4b_t> packed(TPosition::VECCALC, 4096, 1024);
  DataCopy(h, in, 512);
  SetFlag<HardEvent::MTE2_V>(0);
  WaitFlag<HardEvent::MTE2_V>(0);
  // A repeat has two blocks of int4b_t; these lie apart in the second variant.
  const uint16_t apart = variant == 1 ? 2 : 1, rows = 2 * apart;
  const uint64_t odd[2] = {0xaaaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa}, some[2] = {~0ull << 17, 7};
  Cast(packed, h, mode, uint64_t{128}, 4, UnaryRepeatParams(apart, 1, rows, 8));
  if (variant != 3)
    PipeBarrier<PIPE_V>();
  if (variant == 2) {
    Duplicate(h, half(-3.0f), 512);
    Duplicate(back, half(9.0f), 512);
    PipeBarrier<PIPE_V>();
    Cast(packed, h, mode, odd, 4, UnaryRepeatParams(1, 1, 2, 8));
    PipeBarrier<PIPE_V>();
    Cast(back, packed, mode, some, 4, UnaryRepeatParams(1, 1, 8, 2));
  } else {
    Cast(back, packed, mode, uint64_t{128}, 4, UnaryRepeatParams(1, apart, 8, rows));
  }
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(out, back, 512);
}
TEST(Small, Int4ByRepeats) {
  DeviceBuffer<half> x(512), y(512);
  for (int i = 0; i < 512; ++i)
    x[i] = half(static_cast<float>(i * 5 % 16 - 8));
  for (auto kernel : {int4ByRepeats<0>, int4ByRepeats<1>}) {
    ASSERT_EQ(runKernel(kernel, 1, x.gm(), y.gm()), "");
    for (int i = 0; i < 512; ++i)
      ASSERT_EQ(float(y[i]), float(x[i])) << i;
  }
  ASSERT_EQ(runKernel(int4ByRepeats<2>, 1, x.gm(), y.gm()), "");
  for (int i = 0; i < 512; ++i) {
    const int lane = i % 128;
    const float taken = lane % 2 ? -3.0f : float(x[i]);
    ASSERT_EQ(float(y[i]), lane >= 17 && lane < 67 ? taken : 9.0f) << i;
  }
  const std::string race = runKernel(int4ByRepeats<3>, 1, x.gm(), y.gm());
  EXPECT_NE(race.find("Cast on PIPE_V reads UB bytes 4096 to 4351"), std::string::npos) << race;
}

/// Each core fills a part; then the first of them reads that of all.
template <class T, bool isOlder, bool waits, bool meets>
__global__ __aicore__ void fills_memory(GM_ADDR y, uint64_t count, bool isLate) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  GlobalTensor<T> all, own;
  all.SetGlobalBuffer((__gm__ T*)y, count * GetBlockNum());
  own = all[count * GetBlockIdx()];
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  if (isLate)
    pipe.InitBuffer(buffer, 64);
  if constexpr (isOlder) {
    InitOutput<T>(own[0], count, T(2));
    InitOutput<T>(all[count * GetBlockIdx()], count, 3);
  } else {
    InitGlobalMemory(own, count, static_cast<T>(3));
  }
  if constexpr (waits) {
    SetFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(0);
  }
  if constexpr (meets)
    SyncAll();
  LocalTensor<T> t(TPosition::VECCALC, 0, 16);
  DataCopy(t, all[meets && GetBlockIdx() == 0 ? count : count * GetBlockIdx()], 16);
}
template <class T, bool isOlder> void expectFilled(uint64_t count) {
  constexpr uint32_t blocks = 3;
  DeviceBuffer<T> y(count * blocks + 1);
  y[count * blocks] = T(7);
  EXPECT_EQ(runKernel(fills_memory<T, isOlder, true, true>, blocks, y.gm(), count, false), "");
  for (uint64_t i = 0; i < count * blocks; ++i)
    ASSERT_EQ(y[i], T(3)) << i;
  EXPECT_EQ(y[count * blocks], T(7));
}
TEST(Small, FillsMemory) {
  constexpr uint64_t few = 16, many = 40000;
  expectFilled<half, false>(many);
  expectFilled<float, true>(many);
  expectFilled<int32_t, true>(few);
  expectFilled<uint16_t, false>(few * 3);
  DeviceBuffer<float> y(many);
  auto finds = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  finds(
      runKernel(fills_memory<float, false, true, false>, 1, y.gm(), few, true),
      "InitGlobalMemory works in UB, from its start on: call it before InitBuffer gives that away");
  finds(runKernel(fills_memory<float, false, false, false>, 1, y.gm(), few, false),
        "note: add SetFlag<HardEvent::MTE3_MTE2>");
  EXPECT_EQ(runKernel(fills_memory<float, false, false, false>, 1, y.gm(), uint64_t{0}, false), "");
}
