// SPDX-License-Identifier: Apache-2.0
// What the host says about GM: the scalar unit's data cache, memory that nothing has written,
// copies with many parts; and about cross-core flags that don't match.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <chrono>
#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {
constexpr uint32_t n = 64;

/// Clears options and lets launches run at once.
class MemoryChecks : public ::testing::Test {
protected:
  void SetUp() override {
    catchLaunches();
    nextOptions() = {};
    nextOptions().threads = 1;
  }
  static void expectFinding(const std::string& part) {
    EXPECT_NE(allFindings().find(part), std::string::npos) << part << "\n" << allFindings();
    EXPECT_NE(allFindings().find("memory_checks_test.cpp:"), std::string::npos) << allFindings();
  }
};
} // namespace

/// The scalar unit reads a value, MTE3 overwrites it, the scalar unit reads again.
template <bool cleans> __global__ __aicore__ void reads_again(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x);
  b.SetGlobalBuffer((__gm__ float*)y);
  float before = a.GetValue(1);
  LocalTensor<float> t(TPosition::VECCALC, 0, n);
  Duplicate(t, before + 1, n);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(a, t, n);
  SetFlag<HardEvent::MTE3_S>(0);
  WaitFlag<HardEvent::MTE3_S>(0);
  if (cleans)
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(a);
  b.SetValue(0, a.GetValue(2) + a.GetValue(20)); // 20 lies in a line that was not read before
}

TEST_F(MemoryChecks, StaleScalarRead) {
  DeviceBuffer<float> x(n), y(16);
  reads_again<true><<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  EXPECT_EQ(allFindings(), "");
  EXPECT_EQ(y[0], 2);
  reads_again<false><<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  expectFinding("GetValue reads GM bytes 8 to 11 of an allocation of 256 bytes from the scalar "
                "unit's data cache, which is older than a write by DataCopy on PIPE_MTE3 (vector "
                "core 0)");
  expectFinding("note: the cache holds the 64-byte line since here");
  EXPECT_EQ(lastReport().findings.size(), 1u);
}

/// All of a tile is stored, of which a half has been written.
__global__ __aicore__ void stores_half(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> b;
  b.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> t(TPosition::VECCALC, 0, n);
  Duplicate(t, 3.0f, n / 2);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(b, t, n);
}

TEST_F(MemoryChecks, AnUnwrittenPartIsStored) {
  DeviceBuffer<float> x(n), y(n);
  stores_half<<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  expectFinding(
      "error: DataCopy on PIPE_MTE3 reads UB bytes 128 to 255, which nothing has written");
  EXPECT_NE(lastReport().status, 0);
  nextOptions().relaxed = true;
  stores_half<<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  nextOptions() = {};
  expectFinding("warning: DataCopy on PIPE_MTE3 reads UB bytes 128 to 255, which nothing has "
                "written");
  EXPECT_EQ(lastReport().status, 0);
  EXPECT_EQ(y[0], 3);
}

/// Two lines are cleaned and read, one behind the other, with nothing between them, twice; MTE3 overwrites both between.
__global__ __aicore__ void reads_two_lines(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x);
  b.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> t(TPosition::VECCALC, 0, n);
  const auto read = [&] {
    float sum = 0;
    for (const uint32_t element : {1U, 20U}) {
      DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(
          a[element]);
      sum += a.GetValue(element);
    }
    return sum;
  };
  Duplicate(t, read() + 1, n);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(a, t, n);
  SetFlag<HardEvent::MTE3_S>(0);
  WaitFlag<HardEvent::MTE3_S>(0);
  b.SetValue(0, read());
}

TEST_F(MemoryChecks, EachLineIsCleaned) {
  DeviceBuffer<float> x(n), y(16);
  reads_two_lines<<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  EXPECT_EQ(allFindings(), "");
  EXPECT_EQ(y[0], 2);
}

/// The scalar unit writes, MTE2 reads.
template <int variant> __global__ __aicore__ void writes_first(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x);
  b.SetGlobalBuffer((__gm__ float*)y);
  if (variant == 2)
    WriteGmByPassDCache((__gm__ float*)x, 5.0f);
  else
    a.SetValue(0, 5.0f);
  if (variant == 1)
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE>(a);
  SetFlag<HardEvent::S_MTE2>(0);
  WaitFlag<HardEvent::S_MTE2>(0);
  LocalTensor<float> t(TPosition::VECCALC, 0, n);
  DataCopy(t, a, n);
  SetFlag<HardEvent::MTE2_MTE3>(0);
  WaitFlag<HardEvent::MTE2_MTE3>(0);
  DataCopy(b, t, n);
}

TEST_F(MemoryChecks, ScalarWriteInTheCache) {
  DeviceBuffer<float> x(n), y(n);
  writes_first<1><<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  EXPECT_EQ(allFindings(), "");
  writes_first<2><<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  EXPECT_EQ(allFindings(), "");
  writes_first<0><<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  expectFinding("DataCopy on PIPE_MTE2 reads GM bytes 0 to 3 of an allocation of 256 bytes (vector "
                "core 0), but what SetValue wrote there may still be in the data cache of the "
                "scalar unit (vector core 0) [ErrorSync2]");
  expectFinding("note: the write is here; add DataCacheCleanAndInvalid after it");
}

/// Each core writes `stride` bytes behind the one before.
__global__ __aicore__ void scalar_results(GM_ADDR y, uint32_t stride) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> b;
  b.SetGlobalBuffer((__gm__ int32_t*)y);
  b.SetValue(GetBlockIdx() * stride / 4, 7);
}

TEST_F(MemoryChecks, CoresShareACacheLine) {
  DeviceBuffer<int32_t> y(128);
  auto shift = (64 - reinterpret_cast<uint64_t>(y.gm()) % 64) % 64;
  scalar_results<<<3, nullptr, nullptr>>>(y.gm() + shift, 64);
  EXPECT_EQ(allFindings(), "");
  scalar_results<<<3, nullptr, nullptr>>>(y.gm() + shift, 4);
  expectFinding(
      "warning: the scalar units of vector core 0 and vector core 1 write different bytes "
      "of the 64-byte cache line at GM byte ");
  EXPECT_EQ(lastReport().status, 0);
}

/// Block 0 writes an element by its scalar unit, block 1 others from `first` on by the DMA. order 0: none; 1: the copy
/// behind the element's line; 2: before it; 3: behind it, but the line stays in the cache.
template <int order> __global__ __aicore__ void beside_another(GM_ADDR y, uint32_t first) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  GlobalTensor<int32_t> b;
  b.SetGlobalBuffer((__gm__ int32_t*)y);
  const bool isCopier = GetBlockIdx() == 1;
  const auto write = [&] {
    b.SetValue(3, 7);
    if (order < 3)
      DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(b[3]);
  };
  const auto copy = [&] {
    LocalTensor<int32_t> t(TPosition::VECCALC, 0, 8);
    Duplicate(t, 5, 8);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(b[first], t, 8);
    PipeBarrier<PIPE_ALL>();
  };
  if (isCopier == (order == 2))
    isCopier ? copy() : write();
  if (order > 0)
    SyncAll();
  if (isCopier != (order == 2))
    isCopier ? copy() : write();
}

TEST_F(MemoryChecks, CopiesBesideTheElementsOfAnotherCore) {
  DeviceBuffer<int32_t> y(128);
  uint8_t* line = y.gm() + (64 - reinterpret_cast<uint64_t>(y.gm()) % 64) % 64;
  beside_another<1><<<2, nullptr, nullptr>>>(line, 8);
  EXPECT_EQ(allFindings(), "");
  beside_another<2><<<2, nullptr, nullptr>>>(line, 8);
  EXPECT_EQ(allFindings(), "");
  beside_another<0><<<2, nullptr, nullptr>>>(line, 16);
  EXPECT_EQ(allFindings(), "");
  for (const bool isInOrder : {false, true}) {
    if (isInOrder)
      beside_another<3><<<2, nullptr, nullptr>>>(line, 8);
    else
      beside_another<0><<<2, nullptr, nullptr>>>(line, 8);
    expectFinding("warning: DataCopy on PIPE_MTE3 writes GM bytes ");
    expectFinding(" (vector core 1), over which the scalar unit's data cache of vector core 0 may "
                  "write back older bytes of a 64-byte line, as SetValue wrote bytes ");
    expectFinding("note: the write to the line is here");
    expectFinding("note: let each core write lines of its own, or copy from UB");
    EXPECT_EQ(lastReport().status, 0);
  }
}

/// One element by the scalar unit, and those from `first` on by the DMA, before or after it. form 0: without flags; 1: with
/// them; 2: with them, but the line stays in the cache.
template <int form, bool copyFirst> __global__ __aicore__ void beside(GM_ADDR y, uint32_t first) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> b;
  b.SetGlobalBuffer((__gm__ int32_t*)y);
  LocalTensor<int32_t> t(TPosition::VECCALC, 0, 8);
  Duplicate(t, 5, 8);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  if (copyFirst) {
    DataCopy(b[first], t, 8);
    if (form > 0) {
      SetFlag<HardEvent::MTE3_S>(0);
      WaitFlag<HardEvent::MTE3_S>(0);
    }
  }
  b.SetValue(3, 7);
  if (form < 2)
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(b[3]);
  if (copyFirst)
    return;
  if (form > 0) {
    SetFlag<HardEvent::S_MTE3>(0);
    WaitFlag<HardEvent::S_MTE3>(0);
  }
  DataCopy(b[first], t, 8);
}

TEST_F(MemoryChecks, CopiesBesideTheScalarUnitsElements) {
  DeviceBuffer<int32_t> y(128);
  uint8_t* line = y.gm() + (64 - reinterpret_cast<uint64_t>(y.gm()) % 64) % 64;
  const std::string told =
      ", over which the scalar unit's data cache may write back older bytes of a "
      "64-byte line, as SetValue wrote bytes ";
  beside<1, false><<<1, nullptr, nullptr>>>(line, 8);
  EXPECT_EQ(allFindings(), "");
  beside<0, false><<<1, nullptr, nullptr>>>(line, 16);
  EXPECT_EQ(allFindings(), "");
  beside<0, false><<<1, nullptr, nullptr>>>(line, 8);
  expectFinding("DataCopy on PIPE_MTE3 writes GM bytes ");
  expectFinding(told);
  expectFinding("note: the write to the line is here");
  expectFinding("note: add SetFlag<HardEvent::S_MTE3>(id) and WaitFlag<HardEvent::S_MTE3>(id) "
                "between them, behind DataCacheCleanAndInvalid");
  beside<2, false><<<1, nullptr, nullptr>>>(line, 8);
  expectFinding(told);
  beside<2, true><<<1, nullptr, nullptr>>>(line, 8);
  EXPECT_EQ(allFindings(), "");
  beside<0, true><<<1, nullptr, nullptr>>>(line, 8);
  expectFinding("note: add SetFlag<HardEvent::MTE3_S>(id) and WaitFlag<HardEvent::MTE3_S>(id) "
                "between them");
  nextOptions().relaxed = true;
  beside<0, false><<<1, nullptr, nullptr>>>(line, 8);
  EXPECT_EQ(allFindings(), "");
}

/// variant 0: reads; 1: fills and reads; 2: adds atomically.
template <int variant> __global__ __aicore__ void uses(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x);
  b.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> t(TPosition::VECCALC, 0, n);
  Duplicate(t, 2.0f, n);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  if (variant == 1)
    DataCopy(a, t, n);
  if (variant == 2)
    SetAtomicAdd<float>();
  if (variant == 2)
    DataCopy(a, t, n);
  SetAtomicNone();
  SetFlag<HardEvent::MTE3_MTE2>(0);
  WaitFlag<HardEvent::MTE3_MTE2>(0);
  DataCopy(t, a, n);
  SetFlag<HardEvent::MTE2_MTE3>(0);
  WaitFlag<HardEvent::MTE2_MTE3>(0);
  DataCopy(b, t, n);
}

TEST_F(MemoryChecks, GlobalMemoryThatNothingHasWritten) {
  DeviceBuffer<float> space(2 * n), y(n);
  // Whole blocks of 32 bytes count.
  auto offset = (64 - reinterpret_cast<uint64_t>(space.gm()) % 64) % 64;
  uint8_t* x = space.gm() + offset;
  auto text = [&](const char* verb, uint64_t first) {
    return "DataCopy " + std::string(verb) + " GM bytes " + std::to_string(offset + first) +
           " to " + std::to_string(offset + 255) +
           " of an allocation of 512 bytes, which nothing has " +
           "written (vector core 0) [ErrorRead2]";
  };
  auto forget = [&] { tilewright::ascend::markUnwritten(x, n * sizeof(float)); };
  forget();
  uses<0><<<1, nullptr, nullptr>>>(x, y.gm());
  expectFinding(text("reads", 0).c_str());
  uses<2><<<1, nullptr, nullptr>>>(x, y.gm());
  expectFinding(text("adds atomically to", 0).c_str());
  forget();
  tilewright::ascend::markWritten(x, 3 * 32 + 1);
  uses<0><<<1, nullptr, nullptr>>>(x, y.gm());
  expectFinding(text("reads", 128).c_str()); // a begun block of 32 counts as written
  forget();
  uses<1><<<1, nullptr, nullptr>>>(x, y.gm());
  EXPECT_EQ(allFindings(), "");
  uses<0><<<1, nullptr, nullptr>>>(x, y.gm()); // the launch before has written it
  EXPECT_EQ(allFindings(), "");
  forget();
  nextOptions().check = false;
  uses<0><<<1, nullptr, nullptr>>>(x, y.gm());
  nextOptions().check = true;
  uses<0><<<1, nullptr, nullptr>>>(x, y.gm()); // nobody knows what the one before has written
  EXPECT_EQ(allFindings(), "");
}

/// 300 matrices of one row each; the last goes past L1.
__global__ __aicore__ void many_matrices(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> a;
  a.SetGlobalBuffer((__gm__ half*)x);
  LocalTensor<half> l1(TPosition::A1, 512 * 1024 - 299 * 32, 299 * 16);
  DataCopy(l1, a, Nd2NzParams(300, 1, 16, 16, 16, 1, 1, 16));
}

TEST_F(MemoryChecks, EveryMatrixOfACopyIsChecked) {
  DeviceBuffer<half> x(300 * 16);
  many_matrices<<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("writes L1 bytes 524288 to 524319, but L1 has 524288 bytes [ErrorWrite2]");
}

/// Two rows that lie `stride` elements apart.
__global__ __aicore__ void far_apart(GM_ADDR x, uint32_t stride) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> a;
  a.SetGlobalBuffer((__gm__ half*)x);
  LocalTensor<half> l1(TPosition::A1, 0, 512);
  DataCopy(l1, a, Nd2NzParams(1, 2, 16, 0, stride, 16, 1, 0));
}

TEST_F(MemoryChecks, RowsThatLieTooFarApart) {
  DeviceBuffer<half> x(65536 + 16);
  far_apart<<<1, nullptr, nullptr>>>(x.gm(), 65535);
  EXPECT_EQ(allFindings(), "");
  far_apart<<<1, nullptr, nullptr>>>(x.gm(), 65536);
  expectFinding("srcDValue is 65536, but at most 65535 is possible: copy rows that lie further "
                "apart one by one");
}

/// Both vector cores of a block add to the same values, meet (mode 1), and read the sums.
template <bool bothSet> __global__ __aicore__ void pair_sum(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIV {
    GlobalTensor<float> a, b;
    a.SetGlobalBuffer((__gm__ float*)x);
    b.SetGlobalBuffer((__gm__ float*)y + GetSubBlockIdx() * n);
    LocalTensor<float> t(TPosition::VECCALC, 0, n);
    Duplicate(t, 2.0f, n);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    SetAtomicAdd<float>();
    DataCopy(a, t, n);
    SetAtomicNone();
    if (bothSet || GetSubBlockIdx() == 0)
      CrossCoreSetFlag<1, PIPE_MTE3>(4);
    if (bothSet)
      CrossCoreWaitFlag(4);
    if (!bothSet)
      return;
    SetFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(0);
    DataCopy(t, a, n);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(b, t, n);
  }
}

TEST_F(MemoryChecks, VectorCoresOfABlockMeet) {
  DeviceBuffer<float> x(n), y(2 * n);
  pair_sum<true><<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  EXPECT_EQ(allFindings(), "");
  for (float v : y.data)
    ASSERT_EQ(v, 4.0f); // both additions are there before the flag
  pair_sum<false><<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  expectFinding(
      "CrossCoreSetFlag of mode 1 sets flag 4 on this vector core but not as often on the "
      "other of its block; a wait needs both [ErrorSync3] (vector core 0)");
  expectFinding("note: call it on both vector cores of the block, equally often");
}

/// The cube core sets flag 2 three times, after the vector cores have ended; they wait once.
__global__ __aicore__ void sets_too_often() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIC {
    CrossCoreSetFlag<2, PIPE_FIX>(2);
    CrossCoreWaitFlag(3);
    CrossCoreSetFlag<2, PIPE_FIX>(2);
    CrossCoreSetFlag<2, PIPE_FIX>(2);
  }
  if ASCEND_IS_AIV {
    CrossCoreWaitFlag(2);
    CrossCoreSetFlag<2, PIPE_MTE3>(3);
  }
}
__global__ __aicore__ void sets_on_one_core() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  if (GetBlockIdx() == 1)
    CrossCoreSetFlag<0, PIPE_MTE3>(6);
}

TEST_F(MemoryChecks, CrossCoreFlagsThatNothingWaitsFor) {
  sets_too_often<<<1, nullptr, nullptr>>>();
  expectFinding(
      "cross-core flag 2 arrives at this core 2 times more than it is waited for; the next "
      "kernel would see it [ErrorSync3] (vector core 0) [2 times]");
  expectFinding("note: add CrossCoreWaitFlag(2) on that core, or set it less often");
  nextOptions().relaxed = true;
  sets_too_often<<<1, nullptr, nullptr>>>();
  expectFinding(
      "warning: cross-core flag 2 arrives at this core 2 times more than it is waited for");
  EXPECT_EQ(lastReport().status, 0);
  nextOptions() = {};
  sets_on_one_core<<<3, nullptr, nullptr>>>();
  expectFinding(
      "CrossCoreSetFlag of mode 0 sets flag 6 on this core but not as often on another; it "
      "reaches nobody [ErrorSync3] (vector core 1)");
  expectFinding("note: call it on all cores of this kind, equally often");
}

__global__ __aicore__ void reserved_ids() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  SetFlag<HardEvent::MTE2_V>(6);
  WaitFlag<HardEvent::MTE2_V>(6);
  SetFlag<HardEvent::V_MTE3>(7);
  WaitFlag<HardEvent::V_MTE3>(7);
  TPipe pipe;
  for (int k = 0; k < 6; ++k)
    pipe.AllocEventID<HardEvent::V_MTE2>();
  auto id = pipe.AllocEventID<HardEvent::V_MTE2>();
  SetFlag<HardEvent::V_MTE2>(id);
  WaitFlag<HardEvent::V_MTE2>(id);
}

TEST_F(MemoryChecks, ReservedEventIds) {
  reserved_ids<<<1, nullptr, nullptr>>>();
  EXPECT_EQ(lastReport().status, 0);
  EXPECT_EQ(lastReport().findings.size(), 2u) << allFindings();
  expectFinding("warning: event id 6 is reserved for the framework; use 0 to 5");
  expectFinding("warning: event id 7 is reserved for the framework; use 0 to 5");
}

volatile bool alwaysTrue = true;
__global__ __aicore__ void never_calls() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  while (alwaysTrue) {
  }
}

TEST_F(MemoryChecks, PlainLoopsEndBeforeTheTimeLimit) {
  nextOptions().idleLimitSeconds = 0.3;
  auto start = std::chrono::steady_clock::now();
  never_calls<<<1, nullptr, nullptr>>>();
  expectFinding(
      "the kernel's own code has run for 0.3 s without an instruction; this is a limit of the "
      "host and no proof: if the kernel will end, set idle-limit higher [507014]");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

/// All vector cores meet by a flag of mode 0.
__global__ __aicore__ void meets_by_flag(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  uint32_t me = static_cast<uint32_t>(GetBlockIdx()), next = (me + 1) % GetBlockNum();
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x);
  b.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> t(TPosition::VECCALC, 0, n);
  Duplicate(t, static_cast<float>(me), n);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(a[me * n], t, n);
  SetFlag<HardEvent::MTE3_MTE2>(0);
  WaitFlag<HardEvent::MTE3_MTE2>(0);
  CrossCoreSetFlag<0, PIPE_MTE3>(8);
  CrossCoreWaitFlag(8);
  DataCopy(t, a[next * n], n);
  SetFlag<HardEvent::MTE2_MTE3>(0);
  WaitFlag<HardEvent::MTE2_MTE3>(0);
  DataCopy(b[me * n], t, n);
}

TEST_F(MemoryChecks, AllVectorCoresMeetByAFlag) {
  constexpr uint32_t cores = 5;
  for (unsigned threads : {1u, 2u}) {
    nextOptions().threads = threads;
    DeviceBuffer<float> x(cores * n), y(cores * n);
    meets_by_flag<<<cores, nullptr, nullptr>>>(x.gm(), y.gm());
    EXPECT_EQ(allFindings(), "");
    for (uint32_t i = 0; i < cores * n; ++i)
      ASSERT_EQ(y[i], static_cast<float>((i / n + 1) % cores));
  }
}

template <int variant> __global__ __aicore__ void wrapping_sizes() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  TBufPool<TPosition::VECCALC> pool;
  pipe.InitBufPool(pool, 1024);
  TBuf<TPosition::VECCALC> buffer;
  TQue<TPosition::VECIN, 2> queue;
  if (variant == 0)
    pool.InitBuffer(buffer, 0xFFFFFFFFu);
  if (variant == 1)
    pool.InitBuffer(queue, 16, 0x10000000u);
  if (variant == 2) {
    LocalMemAllocator<Hardware::UB> memory;
    memory.Alloc<float>(0x40000001u);
  }
}

TEST_F(MemoryChecks, HugeSizesDoNotWrap) {
  wrapping_sizes<0><<<1, nullptr, nullptr>>>();
  expectFinding("InitBuffer: the TBufPool is full [ErrorBuffer3]");
  wrapping_sizes<1><<<1, nullptr, nullptr>>>();
  expectFinding("InitBuffer: the TBufPool is full [ErrorBuffer3]");
  wrapping_sizes<2><<<1, nullptr, nullptr>>>();
  expectFinding("Alloc: the memory is full [ErrorBuffer3]");
}

/// Select, and what lies in the last 8 KiB of UB before it. Variants: read behind it; of the lower end; rewritten; one mask.
template <int variant> __global__ __aicore__ void selects(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> a(TPosition::VECCALC, 0, n), b(TPosition::VECCALC, 256, n);
  LocalTensor<uint8_t> bits(TPosition::VECCALC, 512, 32);
  LocalTensor<float> kept(TPosition::VECCALC, 184 * 1024 - (variant == 1 ? 256 : 0), n);
  Duplicate(a, 1.0f, n);
  Duplicate(bits.ReinterpretCast<uint16_t>(), uint16_t{0xFF}, 16);
  Duplicate(kept, 7.0f, n);
  PipeBarrier<PIPE_V>();
  Select(b, bits, a, 2.0f,
         variant == 3 ? SELMODE::VSEL_CMPMASK_SPR : SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
  PipeBarrier<PIPE_V>();
  if (variant == 2)
    Duplicate(kept, 8.0f, n);
  PipeBarrier<PIPE_ALL>();
  DataCopy(gm, kept, n);
}

TEST_F(MemoryChecks, SelectWorksInTheLastBytesOfUb) {
  DeviceBuffer<float> y(n);
  selects<0><<<1, nullptr, nullptr>>>(y.gm());
  expectFinding("warning: DataCopy on PIPE_MTE3 reads UB bytes 188416 to 188671, which Select may "
                "have overwritten (vector core 0)");
  expectFinding("note: Select with this mode works in the last 8 KiB of UB");
  EXPECT_EQ(lastReport().findings.size(), 1u);
  EXPECT_EQ(lastReport().status, 0);
  selects<1><<<1, nullptr, nullptr>>>(y.gm());
  EXPECT_EQ(allFindings(), "");
  selects<2><<<1, nullptr, nullptr>>>(y.gm());
  EXPECT_EQ(allFindings(), "");
  selects<3><<<1, nullptr, nullptr>>>(y.gm());
  EXPECT_EQ(allFindings(), "");
}

/// Two rows of n elements; the tensor is given the first. Variants: its end; a copy into the second row; one that begins
/// there; scalars; a write; no size; a read and a write of whole blocks; reads of
/// DataCopyPad, of whole blocks and of what there is.
template <int variant> __global__ __aicore__ void given_sizes(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> gm;
  if (variant == 6)
    gm.SetGlobalBuffer((__gm__ float*)x);
  else
    gm.SetGlobalBuffer((__gm__ float*)x, variant >= 7 ? n - 3 : n);
  LocalTensor<float> t(TPosition::VECCALC, 0, 2 * n);
  Duplicate(t, 1.0f, 2 * n);
  PipeBarrier<PIPE_ALL>();
  if (variant == 0)
    DataCopy(t, gm[n / 2], n / 2);
  if (variant == 1 || variant == 6)
    DataCopy(t, gm[n / 2], n);
  if (variant == 2)
    DataCopy(t, gm[n], n);
  if (variant == 3)
    gm.GetValue(n);
  if (variant == 4)
    gm.SetValue(n + 1, 2.0f);
  if (variant == 5)
    DataCopy(gm, t, 2 * n);
  if (variant == 7)
    DataCopy(t, gm[8], n - 8);
  if (variant == 8)
    DataCopy(gm, t, n);
  if (variant == 9)
    DataCopyPad(t, gm, DataCopyExtParams(1, n * sizeof(float), 0, 0, 0), {false, 0, 0, 0});
  if (variant == 10)
    DataCopyPad(t, gm, DataCopyExtParams(1, (n - 3) * sizeof(float), 0, 0, 0), {false, 0, 0, 0});
  if (variant == 0)
    gm.GetValue(n - 1);
}

TEST_F(MemoryChecks, BehindWhatSetGlobalBufferGave) {
  DeviceBuffer<float> x(2 * n);
  const std::string behind =
      " of an allocation, which is behind the elements that SetGlobalBuffer gave the tensor";
  given_sizes<0><<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
  given_sizes<1><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("warning: DataCopy reads GM up to byte 383" + behind);
  expectFinding("note: on PIPE_MTE2: dst is UB from byte 0 on (512 bytes), src is GM from byte 128 "
                "on of an allocation of 512 bytes (128 bytes)");
  expectFinding("note: give SetGlobalBuffer the number of elements that the kernel touches, or "
                "touch fewer");
  EXPECT_EQ(lastReport().status, 0);
  given_sizes<2><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("warning: DataCopy reads GM up to byte 511" + behind);
  expectFinding("of an allocation of 512 bytes (behind the tensor's end)");
  given_sizes<3><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("warning: GetValue reads GM up to byte 259" + behind);
  given_sizes<4><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("warning: SetValue writes GM up to byte 263" + behind);
  given_sizes<5><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("warning: DataCopy writes GM up to byte 511" + behind);
  given_sizes<6><<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
  given_sizes<7><<<1, nullptr, nullptr>>>(x.gm()); // rounded up to 32 bytes
  EXPECT_EQ(allFindings(), "");
  given_sizes<8><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("warning: DataCopy writes GM up to byte 255" + behind);
  given_sizes<9><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("warning: DataCopyPad reads GM up to byte 255" + behind);
  given_sizes<10><<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
}

/// Variants: repeats that overwrite each other, a copy over its own source, an accumulation, a row for all repeats.
template <int variant> __global__ __aicore__ void overlaps(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<float> t(TPosition::VECCALC, 0, 512), out(TPosition::VECCALC, 4096, 512);
  Duplicate(t, 1.0f, 512);
  Duplicate(out, 1.0f, 512);
  PipeBarrier<PIPE_V>();
  if (variant == 0)
    Adds(out, t, 1.0f, uint64_t{64}, 4, UnaryRepeatParams(1, 1, 4, 8));
  if (variant == 1)
    DataCopy(t[8], t, 64);
  if (variant == 2)
    Add(out, out, t, uint64_t{64}, 8, BinaryRepeatParams(1, 1, 1, 0, 0, 8));
  if (variant == 3)
    Sub(t, t, t, uint64_t{64}, 8, BinaryRepeatParams(1, 1, 1, 8, 8, 0));
}

TEST_F(MemoryChecks, DestinationsOverOperands) {
  DeviceBuffer<float> x(n);
  overlaps<0><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("warning: Adds: dstRepStride is 4, but a repeat spans 8 blocks, so that repeats "
                "overwrite the results of "
                "earlier ones; make it at least that");
  EXPECT_EQ(lastReport().status, 0);
  overlaps<1><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("error: DataCopy: source and destination overlap in part (UB bytes 0 and 32)");
  expectFinding("note: work in place, or give the destination memory of its own");
  overlaps<2><<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
  overlaps<3><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("error: Sub: source and destination overlap in part (both start at UB byte 0); "
                "their strides must be the "
                "same");
}

/// Of 45 rows of 64 halves, whose fractals need 48 rows but in the last column.
__global__ __aicore__ void fractals(GM_ADDR x, uint32_t bytes) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> gm;
  gm.SetGlobalBuffer((__gm__ half*)x);
  Nd2NzParams rows{1, 45, 64, 0, 64, 48, 1, 0};
  DataCopy(LocalTensor<half>(TPosition::A1, 0, bytes / 2), gm, rows);
}

TEST_F(MemoryChecks, FractalsBehindTheTensor) {
  constexpr uint32_t needed = (3 * 48 + 45) * 32;
  DeviceBuffer<float> x(45 * 32);
  fractals<<<1, nullptr, nullptr>>>(x.gm(), needed);
  EXPECT_EQ(allFindings(), "");
  fractals<<<1, nullptr, nullptr>>>(x.gm(), 45 * 128);
  expectFinding(
      "DataCopy: writes fractals up to byte 6047, but the tensor ends at byte 5759; give it "
      "room for whole fractals [ErrorWrite2] (cube core 0)");
}

__global__ __aicore__ void fills_local(uint32_t ubBytes, uint32_t l1Bytes) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  TBuf<TPosition::VECCALC> ub;
  TBuf<TPosition::A1> l1;
  if ASCEND_IS_AIV
    pipe.InitBuffer(ub, ubBytes);
  if ASCEND_IS_AIC
    pipe.InitBuffer(l1, l1Bytes);
}

TEST_F(MemoryChecks, LastBytesOfUbAndL1) {
  fills_local<<<1, nullptr, nullptr>>>(196352, 524032);
  EXPECT_EQ(allFindings(), "");
  fills_local<<<1, nullptr, nullptr>>>(196353, 524033);
  expectFinding("warning: InitBuffer takes UB up to its end, but newer toolkits keep the last 256 "
                "bytes (ASC_UB_SIZE is 196352); use smaller or fewer buffers");
  expectFinding("warning: InitBuffer takes L1 up to its end, but newer toolkits keep the last 256 "
                "bytes (ASC_L1_SIZE is 524032); use smaller or fewer buffers");
  EXPECT_EQ(lastReport().status, 0);
}

/// Two cores touch other numbers of bytes, in part the same ones.
template <int way> __global__ __aicore__ void touches_in_part(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> g;
  g.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> t(TPosition::VECCALC, 0, 1024);
  Duplicate(t, 1.0f, 1024);
  PipeBarrier<PIPE_ALL>();
  if (way == 0 && GetBlockIdx() == 0)
    DataCopy(g, t, 64);
  if (way == 0 && GetBlockIdx() == 1)
    DataCopy(g[48], t, 512);
  if (way == 1 && GetBlockIdx() == 0)
    DataCopy(g, t, 1024);
  if (way == 1 && GetBlockIdx() == 1)
    DataCopy(t, g[512], 8);
  if (way == 2 && GetBlockIdx() == 0)
    DataCopyPad(g[8], t, DataCopyExtParams(2, 16, 0, 48, 0));
  if (way == 2 && GetBlockIdx() == 1)
    DataCopy(g, t, 64);
}

TEST_F(MemoryChecks, RacesNameTheBytesOfEachAccess) {
  DeviceBuffer<float> x(1024);
  touches_in_part<0><<<2, nullptr, nullptr>>>(x.gm());
  expectFinding("nothing orders this write of GM bytes 192 to 2239 of an allocation of 4096 bytes "
                "by DataCopy on PIPE_MTE3 (vector core 1) and a write of bytes 0 to 255 by "
                "DataCopy on PIPE_MTE3 (vector core 0) [ErrorSync1]");
  expectFinding("note: both touch bytes 192 to 255\n");
  touches_in_part<1><<<2, nullptr, nullptr>>>(x.gm());
  expectFinding("nothing orders this read of GM bytes 2048 to 2079 of an allocation of 4096 bytes "
                "by DataCopy on PIPE_MTE2 (vector core 1) and a write of bytes 0 to 4095 by "
                "DataCopy on PIPE_MTE3 (vector core 0) [ErrorSync1]");
  expectFinding("note: both touch bytes 2048 to 2079\n");
  touches_in_part<2><<<2, nullptr, nullptr>>>(x.gm());
  expectFinding("nothing orders this write of GM bytes 32 to 111 of an allocation of 4096 bytes by "
                "DataCopyPad on PIPE_MTE3 (vector core 0) and a write of bytes 0 to 255 by "
                "DataCopy on PIPE_MTE3 (vector core 1) [ErrorSync1]");
  expectFinding("note: both touch bytes 32 to 47, and more behind them\n");
}
