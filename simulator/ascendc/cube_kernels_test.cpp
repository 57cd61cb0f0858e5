// SPDX-License-Identifier: Apache-2.0
// Matmul by hand, mixed kernels with cross-core flags, SyncAll, atomics.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"
#include "simulator/ascendc/tile_matmul.h"

#include <gtest/gtest.h>
#include <random>

using namespace AscendC;
using namespace tilewright::ascend::testing;

__global__ __aicore__ void matmul(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint32_t n, uint32_t k) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  constexpr uint32_t tile = TileMatmul::tile;
  uint32_t row = GetBlockIdx() / (n / tile) * tile, column = GetBlockIdx() % (n / tile) * tile;
  TileMatmul().Run((__gm__ half*)a + row * k, (__gm__ half*)b + column,
                   (__gm__ float*)c + row * n + column, n, k);
}

/// D = A * B + 1: the cube core leaves its tile in a workspace, each vector core takes half of it.
template <bool withFlags>
__global__ __aicore__ void matmul_add(GM_ADDR a, GM_ADDR b, GM_ADDR space, GM_ADDR d) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  constexpr uint32_t tile = TileMatmul::tile, half2 = tile * tile / 2;
  if ASCEND_IS_AIC {
    TileMatmul().Run((__gm__ half*)a, (__gm__ half*)b,
                     (__gm__ float*)space + GetBlockIdx() * tile * tile, tile, tile);
    if (withFlags)
      CrossCoreSetFlag<2, PIPE_FIX>(3);
  }
  if ASCEND_IS_AIV {
    if (withFlags)
      CrossCoreWaitFlag(3);
    GlobalTensor<float> in, out;
    in.SetGlobalBuffer((__gm__ float*)space + GetBlockIdx() * half2);
    out.SetGlobalBuffer((__gm__ float*)d + GetBlockIdx() * half2);
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> unused;
    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    pipe.InitBuffer(inQueue, 1, half2 * sizeof(float));
    pipe.InitBuffer(outQueue, 1, half2 * sizeof(float));
    LocalTensor<float> x = inQueue.AllocTensor<float>();
    DataCopy(x, in, half2);
    inQueue.EnQue(x);
    x = inQueue.DeQue<float>();
    LocalTensor<float> y = outQueue.AllocTensor<float>();
    Adds(y, x, 1.0f, half2);
    outQueue.EnQue(y);
    inQueue.FreeTensor(x);
    y = outQueue.DeQue<float>();
    DataCopy(out, y, half2);
    outQueue.FreeTensor(y);
  }
}

/// Each core writes a row, all meet, each reads the next core's row.
enum class Meets : uint8_t { No, ByAll, ByFlagOfOtherPipe };
template <Meets meets> __global__ __aicore__ void rotate(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  constexpr uint32_t n = 64;
  uint32_t me = GetBlockIdx(), next = (me + 1) % GetBlockNum();
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x);
  b.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> t(TPosition::VECCALC, 0, n);
  Duplicate(t, static_cast<float>(me), n);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(a[me * n], t, n);
  if constexpr (meets == Meets::ByAll) {
    SyncAll();
  } else if constexpr (meets == Meets::ByFlagOfOtherPipe) {
    CrossCoreSetFlag<0, PIPE_V>(3);
    CrossCoreWaitFlag(3);
  }
  SetFlag<HardEvent::MTE3_MTE2>(0);
  WaitFlag<HardEvent::MTE3_MTE2>(0);
  DataCopy(t, a[next * n], n);
  SetFlag<HardEvent::MTE2_MTE3>(0);
  WaitFlag<HardEvent::MTE2_MTE3>(0);
  DataCopy(b[me * n], t, n);
}

__global__ __aicore__ void add_up(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  constexpr uint32_t n = 64;
  GlobalTensor<float> b;
  b.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> t(TPosition::VECCALC, 0, n);
  Duplicate(t, 1.0f / static_cast<float>(GetBlockIdx() + 1), n);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  SetAtomicAdd<float>();
  DataCopy(b, t, n);
  SetAtomicNone();
}

/// Nobody sets flag 5.
__global__ __aicore__ void waits_forever() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIV {
    CrossCoreWaitFlag(5);
  }
}

__global__ __aicore__ void write_the_same(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  GlobalTensor<float> g;
  g.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  Duplicate(t, static_cast<float>(GetBlockIdx()), 64);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(g, t, 64);
}

enum class Missing : uint8_t {
  OneOfAll,
  OneOfBlock,
  OneOfCube,
  OtherFlag,
  OneTooFew,
  Behind,
  OtherMode
};
/// Vector core 1 doesn't set what the others wait for, or the cube core sets flag 3 for 4.
template <Missing missing> __global__ __aicore__ void waits_for_some() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIV {
    const bool isFirst = GetBlockIdx() != 1;
    if constexpr (missing == Missing::OneOfAll) {
      if (isFirst)
        CrossCoreSetFlag<0, PIPE_MTE3>(3);
      CrossCoreWaitFlag<0>(3);
    } else if constexpr (missing == Missing::OneOfBlock) {
      if (isFirst) {
        CrossCoreSetFlag<1, PIPE_MTE3>(3);
        CrossCoreWaitFlag<1>(3);
      }
    } else if constexpr (missing == Missing::OtherFlag) {
      CrossCoreWaitFlag(4);
    } else if constexpr (missing == Missing::OtherMode) {
      CrossCoreSetFlag<1, PIPE_MTE3>(3);
    } else {
      if (missing == Missing::OneTooFew || isFirst)
        CrossCoreSetFlag<2, PIPE_MTE3>(3);
      if constexpr (missing == Missing::Behind) {
        if (!isFirst) {
          WaitFlag<HardEvent::V_MTE3>(0);
          CrossCoreSetFlag<2, PIPE_MTE3>(3);
          CrossCoreWaitFlag(4);
        }
      }
    }
  }
  if ASCEND_IS_AIC {
    if constexpr (missing == Missing::OtherFlag)
      CrossCoreSetFlag<2, PIPE_FIX>(3);
    else if constexpr (missing >= Missing::OneOfCube)
      for (int i = 0; i < (missing == Missing::OneTooFew ? 2 : 1); ++i)
        CrossCoreWaitFlag(3);
  }
}

__global__ __aicore__ void sets_behind_a_wait() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIC {
    WaitFlag<HardEvent::M_FIX>(0);
    CrossCoreSetFlag<2, PIPE_FIX>(3); // never comes
  }
  if ASCEND_IS_AIV {
    CrossCoreWaitFlag(3);
  }
}

/// Vector core 2 leaves the second out, and with `all` the cube cores and vector core 3 do.
template <bool all> __global__ __aicore__ void leaves_one_out() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  SyncAll<!all>();
  if ASCEND_IS_AIV {
    if (GetBlockIdx() < (all ? 2 : 4) && (all || GetBlockIdx() != 2))
      SyncAll<!all>();
  }
}

template <class T> T coreKind() {
  return g_coreType == AIC ? T(1) : T(2);
}
inline int sharedCounter = g_coreType == AIC ? 10 : 20;

/// A template and an inline variable whose values depend on the core.
__global__ __aicore__ void core_kinds(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
  GlobalTensor<int32_t> out;
  out.SetGlobalBuffer((__gm__ int32_t*)y);
  if ASCEND_IS_AIC {
    out.SetValue(0, coreKind<int32_t>() + sharedCounter);
  }
  if ASCEND_IS_AIV {
    out.SetValue(16, coreKind<int32_t>() + sharedCounter);
  }
}

class Cube : public ::testing::Test {
protected:
  void SetUp() override {
    catchLaunches();
    nextOptions() = {};
  }
};

TEST_F(Cube, Matmul) {
  constexpr uint32_t m = 128, n = 192, k = 256;
  DeviceBuffer<half> a(m * k), b(k * n);
  DeviceBuffer<float> c(m * n);
  std::mt19937 random(7);
  for (half& x : a.data)
    x = half(static_cast<float>(random() % 9) - 4);
  for (half& x : b.data)
    x = half(static_cast<float>(random() % 9) - 4);
  matmul<<<6, nullptr, nullptr>>>(a.gm(), b.gm(), c.gm(), n, k);
  EXPECT_EQ(allFindings(), "");
  for (uint32_t i = 0; i < m; ++i)
    for (uint32_t j = 0; j < n; ++j) {
      float sum = 0; // small integers: exact
      for (uint32_t l = 0; l < k; ++l)
        sum += static_cast<float>(a[i * k + l]) * static_cast<float>(b[l * n + j]);
      ASSERT_EQ(c[i * n + j], sum) << i << "," << j;
    }
}

TEST_F(Cube, MixedWithFlags) {
  constexpr uint32_t tile = 64, blocks = 3;
  DeviceBuffer<half> a(tile * tile), b(tile * tile);
  DeviceBuffer<float> space(blocks * tile * tile), d(blocks * tile * tile);
  for (uint32_t i = 0; i < tile * tile; ++i) {
    a[i] = half(i % tile == i / tile ? 2.0f : 0.0f);
    b[i] = half(static_cast<float>(i % 37));
  }
  for (unsigned threads : {1u, 2u}) {
    nextOptions().threads = threads;
    matmul_add<true><<<blocks, nullptr, nullptr>>>(a.gm(), b.gm(), space.gm(), d.gm());
    EXPECT_EQ(allFindings(), "");
    for (uint32_t i = 0; i < blocks * tile * tile; ++i)
      ASSERT_EQ(d[i], static_cast<float>(i % (tile * tile) % 37 * 2 + 1)) << i;
  }
  matmul_add<false><<<blocks, nullptr, nullptr>>>(a.gm(), b.gm(), space.gm(), d.gm());
  std::string text = allFindings();
  EXPECT_NE(text.find("nothing orders this"), std::string::npos) << text;
  EXPECT_NE(text.find("by Fixpipe on PIPE_FIX (cube core 0)"), std::string::npos) << text;
  EXPECT_NE(text.find("order the cores with CrossCoreSetFlag and CrossCoreWaitFlag ("),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("CrossCoreSetFlag<2, PIPE_FIX>(id) behind line "), std::string::npos) << text;
}

TEST_F(Cube, SyncAll) {
  constexpr uint32_t n = 64, cores = 48;
  DeviceBuffer<float> x(cores * n), y(cores * n);
  rotate<Meets::ByAll><<<cores, nullptr, nullptr>>>(x.gm(), y.gm());
  EXPECT_EQ(allFindings(), "");
  for (uint32_t i = 0; i < cores * n; ++i)
    ASSERT_EQ(y[i], static_cast<float>((i / n + 1) % cores));
  rotate<Meets::No><<<cores, nullptr, nullptr>>>(x.gm(), y.gm());
  EXPECT_NE(allFindings().find("nothing orders this"), std::string::npos);
  // 49 blocks can't all be on the chip.
  DeviceBuffer<float> bigX(49 * n), bigY(49 * n);
  rotate<Meets::ByAll><<<49, nullptr, nullptr>>>(bigX.gm(), bigY.gm());
  EXPECT_EQ(lastReport().status, 507014);
  for (const char* part : {"deadlock: the launch has 49 blocks, but the chip has cores for 48 at a "
                           "time, which wait in SyncAll for the others [507014]",
                           "launch at most 48 blocks, each of which does several parts of the"})
    EXPECT_NE(allFindings().find(part), std::string::npos) << part << allFindings();
  EXPECT_EQ(allFindings().find("doesn't wait for"), std::string::npos) << allFindings();
  rotate<Meets::ByFlagOfOtherPipe><<<cores, nullptr, nullptr>>>(x.gm(), y.gm());
  std::string text = allFindings();
  for (const char* part : {"note: vector core 0 sets cross-core flag 3 on PIPE_V, which doesn't "
                           "wait for PIPE_MTE3\n",
                           "CrossCoreSetFlag<0, PIPE_MTE3>(id) behind line "})
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
}

TEST_F(Cube, AdviceForOneStore) {
  DeviceBuffer<float> y(64);
  write_the_same<<<2, nullptr, nullptr>>>(y.gm());
  const std::string text = allFindings(),
                    advice = "store it on one core only (`if (GetBlockIdx() == 0)`), let each core "
                             "store a part of its own, put SyncAll between turns of a loop that "
                             "store it, or use SetAtomicAdd";
  EXPECT_NE(text.find(advice), std::string::npos) << text;
  EXPECT_EQ(text.find("CrossCoreSetFlag"), std::string::npos) << text;
}

TEST_F(Cube, AtomicsInOrder) {
  constexpr uint32_t cores = 48;
  float expected = 0;
  for (uint32_t i = 0; i < cores; ++i)
    expected += 1.0f / static_cast<float>(i + 1);
  for (unsigned threads : {1u, 2u, 3u}) {
    DeviceBuffer<float> y(64);
    nextOptions().threads = threads;
    add_up<<<cores, nullptr, nullptr>>>(y.gm());
    EXPECT_EQ(allFindings(), "");
    for (float v : y.data)
      ASSERT_EQ(v, expected);
  }
}

TEST_F(Cube, DeadlockNamesWhoWaits) {
  waits_forever<<<2, nullptr, nullptr>>>();
  EXPECT_EQ(lastReport().status, 507014);
  std::string text = allFindings();
  EXPECT_NE(text.find("deadlock: 4 of 6 cores wait for a cross-core flag that no core will set"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("vector core 3 waits for cross-core flag 5 at "), std::string::npos) << text;
}

template <Missing missing> std::string findingsOfMissing(uint32_t blocks) {
  waits_for_some<missing><<<blocks, nullptr, nullptr>>>();
  EXPECT_EQ(lastReport().status, 507014);
  return allFindings();
}
TEST_F(Cube, DeadlockNamesWhoHasNotSetTheFlag) {
  auto expect = [](const std::string& text, const std::string& note, bool isThere = true) {
    EXPECT_EQ(text.find(note) != std::string::npos, isThere) << note << "\n" << text;
  };
  std::string text = findingsOfMissing<Missing::OneOfAll>(2);
  expect(text, "note: vector core 1 has never set cross-core flag 3, and waits itself; with mode "
               "0, each wait needs a set by all vector cores\n");
  expect(text, "vector core 2 has", false);
  text = findingsOfMissing<Missing::OneOfBlock>(1);
  expect(text, "note: vector core 1 has never set cross-core flag 3, and has ended; with mode 1, "
               "each wait needs a set by both vector cores of the block\n");
  text = findingsOfMissing<Missing::OneOfCube>(1);
  expect(text, "note: vector core 1 has never set cross-core flag 3, and has ended; with mode 2, "
               "each wait needs a set by both vector cores of the block\n");
  expect(text, "vector core 0 has", false);
  text = findingsOfMissing<Missing::OtherFlag>(1);
  expect(text, "note: cube core 0 has never set cross-core flag 4, and has ended; no core has: "
               "with mode 2, each wait needs a set by the cube core of the block\n");
  expect(text, "note: cross-core flag 3, set here, has arrived at vector core 0 instead");
  text = findingsOfMissing<Missing::OneTooFew>(1);
  for (const char* core : {"0", "1"})
    expect(text, std::string("note: vector core ") + core +
                     " has set cross-core flag 3 once, here, and has ended; with mode 2");
  text = findingsOfMissing<Missing::Behind>(1);
  expect(text, "note: vector core 1 has never set cross-core flag 3, and waits itself; its "
               "CrossCoreSetFlag at line ");
  expect(text, " is behind what PIPE_MTE3 stands at; with mode 2");
  text = findingsOfMissing<Missing::OtherMode>(1);
  expect(text, "note: vector core 1 has set cross-core flag 3 once, here, and has ended; in mode 1 "
               "it reaches only the vector cores of its block: with mode 2, each wait needs a set "
               "by both vector cores of the block\n");
  expect(text, "no core has", false);
  sets_behind_a_wait<<<1, nullptr, nullptr>>>();
  text = allFindings();
  expect(text, "note: cross-core flag 3 would be set here, behind it: the cores that wait for that "
               "flag have this one to wait for\n");
  expect(text, "// never comes");
}

TEST_F(Cube, DeadlockNamesWhoDoesNotCome) {
  leaves_one_out<false><<<2, nullptr, nullptr>>>();
  std::string text = allFindings();
  EXPECT_NE(text.find("vector core 3 waits in SyncAll at "), std::string::npos) << text;
  EXPECT_NE(text.find("note: vector core 2 has ended, but SyncAll waits for it"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("cube core"), std::string::npos) << text; // it is for vector cores

  leaves_one_out<true><<<2, nullptr, nullptr>>>();
  text = allFindings();
  for (const char* core : {"cube core 0", "cube core 1", "vector core 2", "vector core 3"})
    EXPECT_NE(text.find(std::string(core) + " has ended, but SyncAll waits for it"),
              std::string::npos)
        << text;
  EXPECT_EQ(text.find("vector core 0 has ended"), std::string::npos) << text;

  leaves_one_out<true><<<10, nullptr, nullptr>>>();
  text = allFindings();
  EXPECT_NE(text.find("so have 20 other cores that it waits for"), std::string::npos) << text;
}

TEST_F(Cube, PassesShareNothing) {
  DeviceBuffer<int32_t> y(32);
  core_kinds<<<1, nullptr, nullptr>>>(y.gm());
  EXPECT_EQ(y[0], 11);
  EXPECT_EQ(y[16], 22);
}
