// SPDX-License-Identifier: Apache-2.0
// Takes one synchronisation at a time out of correct kernels. The oracle runs queue heads in random
// legal orders: what is not reported must give the same bits in each order.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"
#include "simulator/ascendc/tile_matmul.h"

#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

/// y = max(x + 1, 0) * x, tiles through queues with two buffers.
__global__ __aicore__ void with_queues(GM_ADDR x, GM_ADDR y, uint32_t n, uint32_t tile) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * n);
  b.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx() * n);
  TPipe pipe;
  TQue<TPosition::VECIN, 2> inQueue;
  TQue<TPosition::VECOUT, 2> outQueue;
  TBuf<TPosition::VECCALC> work;
  pipe.InitBuffer(inQueue, 2, tile * 4);
  pipe.InitBuffer(outQueue, 2, tile * 4);
  pipe.InitBuffer(work, tile * 4);
  LocalTensor<float> w = work.Get<float>();
  for (uint32_t i = 0; i < n; i += tile) {
    LocalTensor<float> t = inQueue.AllocTensor<float>();
    DataCopy(t, a[i], tile);
    inQueue.EnQue(t);
    t = inQueue.DeQue<float>();
    LocalTensor<float> r = outQueue.AllocTensor<float>();
    Adds(w, t, 1.0f, tile);
    PipeBarrier<PIPE_V>();
    Relu(w, w, tile);
    PipeBarrier<PIPE_V>();
    Mul(r, w, t, tile);
    PipeBarrier<PIPE_V>();
    inQueue.FreeTensor(t);
    outQueue.EnQue(r);
    r = outQueue.DeQue<float>();
    DataCopy(b[i], r, tile);
    outQueue.FreeTensor(r);
  }
}

/// Prefix sums of a row by the scalar unit, after a vector instruction, with flags by hand.
__global__ __aicore__ void with_flags(GM_ADDR x, GM_ADDR y, uint32_t n, uint32_t tile) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * n);
  b.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx() * n);
  LocalTensor<float> t(TPosition::VECCALC, 0, tile), r(TPosition::VECCALC, 32768, tile);
  SetFlag<HardEvent::V_MTE2>(0);
  SetFlag<HardEvent::MTE3_V>(2);
  for (uint32_t i = 0; i < n; i += tile) {
    WaitFlag<HardEvent::V_MTE2>(0);
    DataCopy(t, a[i], tile);
    SetFlag<HardEvent::MTE2_V>(1);
    WaitFlag<HardEvent::MTE2_V>(1);
    WaitFlag<HardEvent::MTE3_V>(2);
    Muls(r, t, 2.0f, tile);
    SetFlag<HardEvent::V_MTE2>(0);
    SetFlag<HardEvent::V_S>(3);
    WaitFlag<HardEvent::V_S>(3);
    for (uint32_t k = 1; k < 8; ++k)
      r.SetValue(k, r.GetValue(k) + r.GetValue(k - 1));
    SetFlag<HardEvent::S_MTE3>(4);
    WaitFlag<HardEvent::S_MTE3>(4);
    DataCopy(b[i], r, tile);
    SetFlag<HardEvent::MTE3_V>(2);
  }
  WaitFlag<HardEvent::V_MTE2>(0);
  WaitFlag<HardEvent::MTE3_V>(2);
}

/// Two rounds of meeting in GM.
__global__ __aicore__ void with_meetings(GM_ADDR x, GM_ADDR y, uint32_t n, uint32_t) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x);
  b.SetGlobalBuffer((__gm__ float*)y);
  uint32_t me = GetBlockIdx(), next = (me + 1) % GetBlockNum();
  LocalTensor<float> t(TPosition::VECCALC, 0, n);
  DataCopy(t, a[me * n], n);
  SetFlag<HardEvent::MTE2_V>(0);
  WaitFlag<HardEvent::MTE2_V>(0);
  Adds(t, t, 3.0f, n);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(b[me * n], t, n);
  SyncAll();
  DataCopy(t, b[next * n], n);
  SetFlag<HardEvent::MTE2_V>(1);
  WaitFlag<HardEvent::MTE2_V>(1);
  Muls(t, t, 2.0f, n);
  SetFlag<HardEvent::V_MTE3>(1);
  WaitFlag<HardEvent::V_MTE3>(1);
  SyncAll();
  DataCopy(b[me * n], t, n);
}

/// Two steps of a pipeline through GM: the cube core multiplies, the vector cores add and hand the
/// sum back, the cube core multiplies again.
__global__ __aicore__ void back_and_forth(GM_ADDR a, GM_ADDR space, GM_ADDR next, GM_ADDR result) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  constexpr uint32_t tile = TileMatmul::tile, half2 = tile * tile / 2;
  if ASCEND_IS_AIC {
    TileMatmul().Run((__gm__ half*)a, (__gm__ half*)a, (__gm__ float*)space, tile, tile);
    CrossCoreSetFlag<2, PIPE_FIX>(3);
    CrossCoreWaitFlag(4);
    TileMatmul().Run((__gm__ half*)next, (__gm__ half*)a, (__gm__ float*)result, tile, tile);
  }
  if ASCEND_IS_AIV {
    GlobalTensor<float> in;
    GlobalTensor<half> out;
    in.SetGlobalBuffer((__gm__ float*)space + GetSubBlockIdx() * half2);
    out.SetGlobalBuffer((__gm__ half*)next + GetSubBlockIdx() * half2);
    LocalTensor<float> x(TPosition::VECCALC, 0, half2);
    LocalTensor<half> y(TPosition::VECCALC, 32768, half2);
    CrossCoreWaitFlag(3);
    DataCopy(x, in, half2);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Mins(x, x, 3.0f, half2);
    PipeBarrier<PIPE_V>();
    Cast(y, x, RoundMode::CAST_NONE, half2);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(out, y, half2);
    CrossCoreSetFlag<2, PIPE_MTE3>(4);
  }
}

namespace {

using Run = std::function<std::vector<float>()>;

struct Counts {
  int sites = 0, reported = 0, silent = 0, wrongSilent = 0, reportedAndDiffers = 0;
};

Counts mutate(const Run& run, int orders) {
  Counts counts;
  nextOptions() = {};
  nextOptions().threads = 1;
  nextOptions().countSyncs = true;
  std::vector<float> expected = run();
  EXPECT_EQ(allFindings(), "");
  std::vector<std::string> sites = lastReport().syncSites;
  counts.sites = static_cast<int>(sites.size());
  nextOptions().countSyncs = false;
  for (int seed = 1; seed <= orders; ++seed) {
    nextOptions().randomOrderSeed = static_cast<uint64_t>(seed);
    EXPECT_EQ(run(), expected) << "order " << seed;
    EXPECT_EQ(allFindings(), "") << "order " << seed;
  }
  for (size_t site = 0; site < sites.size(); ++site) {
    nextOptions().randomOrderSeed = 0;
    nextOptions().mutedSync = static_cast<int64_t>(site);
    run();
    bool reported = !lastReport().findings.empty();
    nextOptions().check = false;
    bool differs = false;
    for (int seed = 1; seed <= orders && !differs; ++seed) {
      nextOptions().randomOrderSeed = static_cast<uint64_t>(seed);
      differs = run() != expected;
    }
    nextOptions().check = true;
    counts.reported += reported;
    counts.silent += !reported;
    counts.reportedAndDiffers += reported && differs;
    counts.wrongSilent += !reported && differs;
    EXPECT_FALSE(!reported && differs) << "not reported, but it matters: " << sites[site];
    EXPECT_TRUE(reported || !differs) << sites[site];
  }
  nextOptions() = {};
  return counts;
}

template <class Kernel> Run runnerOf(Kernel kernel, uint32_t blocks, uint32_t n, uint32_t tile) {
  return [=] {
    catchLaunches();
    DeviceBuffer<float> x(blocks * n), y(blocks * n);
    for (uint32_t i = 0; i < blocks * n; ++i)
      x[i] = static_cast<float>(i % 61) - 30;
    kernel<<<blocks, nullptr, nullptr>>>(x.gm(), y.gm(), n, tile);
    return y.data;
  };
}

void expectAll(const char* name, const Run& run) {
  const char* wanted = std::getenv("TILEWRIGHT_ORDERS"); // 1000 takes a minute
  int orders = wanted ? atoi(wanted) : 100;
  Counts c = mutate(run, orders);
  printf("%s: %d synchronisations, %d reported when taken out (%d of them change the result in "
         "some order), %d neither reported nor needed\n",
         name, c.sites, c.reported, c.reportedAndDiffers, c.silent);
  EXPECT_EQ(c.wrongSilent, 0);
  EXPECT_GT(c.reported, 0);
}

TEST(Mutation, Queues) {
  expectAll("queues", runnerOf(with_queues, 1, 512, 128));
}
TEST(Mutation, Flags) {
  expectAll("flags", runnerOf(with_flags, 1, 512, 128));
}
TEST(Mutation, Meetings) {
  expectAll("meetings", runnerOf(with_meetings, 4, 64, 0));
}

TEST(Mutation, CubeAndVector) {
  expectAll("cube and vector", [] {
    catchLaunches();
    constexpr uint32_t size = TileMatmul::tile * TileMatmul::tile;
    DeviceBuffer<half> a(size), next(size);
    DeviceBuffer<float> space(size), result(size);
    for (uint32_t i = 0; i < size; ++i)
      a[i] = half(static_cast<float>(i * 7 % 5) - 2.0f);
    back_and_forth<<<1, nullptr, nullptr>>>(a.gm(), space.gm(), next.gm(), result.gm());
    return result.data;
  });
}

} // namespace
