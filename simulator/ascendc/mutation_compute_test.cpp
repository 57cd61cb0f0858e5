// SPDX-License-Identifier: Apache-2.0
// Each synchronisation of kernels that sort, reduce, add atomically and multiply with double
// buffers, taken out.
#include "kernel_operator.h"

#include "simulator/ascendc/mutation.h"

using namespace AscendC;
using namespace tilewright::ascend::testing;

/// The largest 16 of 4 x 128 values with their indices: each core sorts its part, core 0 merges.
__global__ __aicore__ void top_k(GM_ADDR x, GM_ADDR space, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  constexpr uint32_t n = 128, pairs = 2 * n, k = 16;
  uint32_t me = static_cast<uint32_t>(GetBlockIdx());
  GlobalTensor<float> in, lists, out;
  in.SetGlobalBuffer((__gm__ float*)x + me * n);
  lists.SetGlobalBuffer((__gm__ float*)space);
  out.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> values(TPosition::VECCALC, 0, n);
  LocalTensor<int32_t> indices(TPosition::VECCALC, 512, n);
  LocalTensor<float> sorted(TPosition::VECCALC, 1024, pairs),
      merged(TPosition::VECCALC, 4096, pairs);
  CreateVecIndex(indices, static_cast<int32_t>(me * n), n);
  DataCopy(values, in, n);
  SetFlag<HardEvent::MTE2_V>(0);
  WaitFlag<HardEvent::MTE2_V>(0);
  PipeBarrier<PIPE_V>();
  Sort32(sorted, values, indices.ReinterpretCast<uint32_t>(), n / 32);
  PipeBarrier<PIPE_V>();
  const uint16_t lengths[4] = {32, 32, 32, 32};
  MrgSort4Info merge(lengths, false, 15, 1);
  MrgSort(merged, MrgSortSrcList<float>(sorted, sorted[64], sorted[128], sorted[192]), merge);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(lists[me * 2 * k], merged, 2 * k);
  SetFlag<HardEvent::MTE3_MTE2>(0);
  WaitFlag<HardEvent::MTE3_MTE2>(0);
  SyncAll();
  if (me != 0)
    return;
  DataCopy(sorted, lists, 4 * 2 * k);
  SetFlag<HardEvent::MTE2_V>(1);
  WaitFlag<HardEvent::MTE2_V>(1);
  const uint16_t shortLengths[4] = {k, k, k, k};
  MrgSort4Info mergeShort(shortLengths, false, 15, 1);
  MrgSort(merged, MrgSortSrcList<float>(sorted, sorted[32], sorted[64], sorted[96]), mergeShort);
  PipeBarrier<PIPE_V>();
  Extract(values, indices.ReinterpretCast<uint32_t>(), merged, 1);
  PipeBarrier<PIPE_V>();
  Cast(values[32], indices, RoundMode::CAST_NONE, k);
  SetFlag<HardEvent::V_MTE3>(1);
  WaitFlag<HardEvent::V_MTE3>(1);
  DataCopy(out, values, k);
  DataCopy(out[k], values[32], k);
}

/// Softmax of rows of 64, eight at a time: maxima, which the scalar unit reads, exponents, sums,
/// quotients.
__global__ __aicore__ void softmax_rows(GM_ADDR x, GM_ADDR y, uint32_t tiles) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  constexpr uint32_t n = 64, rows = 8, size = rows * n;
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x);
  out.SetGlobalBuffer((__gm__ float*)y);
  TPipe pipe;
  TQue<TPosition::VECIN, 1> inQueue;
  TQue<TPosition::VECOUT, 1> outQueue;
  TBuf<TPosition::VECCALC> work;
  pipe.InitBuffer(inQueue, 1, size * 4);
  pipe.InitBuffer(outQueue, 1, size * 4);
  pipe.InitBuffer(work, 1024);
  LocalTensor<float> most = work.Get<float>(), sums = most[16], all = most[64];
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    LocalTensor<float> t = inQueue.AllocTensor<float>();
    DataCopy(t, in[tile * size], size);
    inQueue.EnQue(t);
    t = inQueue.DeQue<float>();
    LocalTensor<float> r = outQueue.AllocTensor<float>();
    WholeReduceMax(most, t, 64, rows, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    for (uint32_t row = 0; row < rows; ++row)
      Adds(r[row * n], t[row * n], -most.GetValue(row), n);
    PipeBarrier<PIPE_V>();
    Exp(r, r, size);
    PipeBarrier<PIPE_V>();
    WholeReduceSum(sums, r, 64, rows, 1, 1, 8);
    PipeBarrier<PIPE_V>();
    Brcb(all, sums, 1, {1, 8});
    PipeBarrier<PIPE_V>();
    Div(r, r, all, 64, rows, {1, 1, 0, 8, 8, 1});
    PipeBarrier<PIPE_V>();
    inQueue.FreeTensor(t);
    outQueue.EnQue(r);
    r = outQueue.DeQue<float>();
    DataCopy(out[tile * size], r, size);
    outQueue.FreeTensor(r);
  }
}

/// Sums of columns over all cores by atomic addition, then every core takes the mean away from its
/// rows; the largest value by atomic maximum.
__global__ __aicore__ void atomics(GM_ADDR x, GM_ADDR total, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  constexpr uint32_t n = 64, rows = 4;
  uint32_t me = static_cast<uint32_t>(GetBlockIdx());
  GlobalTensor<float> in, sums, out;
  in.SetGlobalBuffer((__gm__ float*)x + me * rows * n);
  sums.SetGlobalBuffer((__gm__ float*)total);
  out.SetGlobalBuffer((__gm__ float*)y + me * rows * n);
  LocalTensor<float> t(TPosition::VECCALC, 0, rows * n), s(TPosition::VECCALC, 4096, n);
  LocalTensor<float> mean(TPosition::VECCALC, 8192, n);
  DataCopy(t, in, rows * n);
  SetFlag<HardEvent::MTE2_V>(0);
  WaitFlag<HardEvent::MTE2_V>(0);
  Add(s, t, t[n], n);
  PipeBarrier<PIPE_V>();
  Add(s, s, t[2 * n], n);
  PipeBarrier<PIPE_V>();
  Add(s, s, t[3 * n], n);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  SetAtomicAdd<float>();
  DataCopy(sums, s, n);
  SetAtomicNone();
  SetAtomicMax<float>();
  DataCopy(sums[n], t, n);
  SetAtomicNone();
  SetFlag<HardEvent::MTE3_MTE2>(0);
  WaitFlag<HardEvent::MTE3_MTE2>(0);
  SyncAll();
  DataCopy(mean, sums, n);
  SetFlag<HardEvent::MTE2_V>(1);
  WaitFlag<HardEvent::MTE2_V>(1);
  Muls(mean, mean, 1.0f / 16.0f, n);
  PipeBarrier<PIPE_V>();
  Sub(t, t, mean, 64, rows, {1, 1, 1, 8, 8, 0});
  SetFlag<HardEvent::V_MTE3>(1);
  WaitFlag<HardEvent::V_MTE3>(1);
  DataCopy(out, t, rows * n);
}

/// C = A * B by hand, two buffers in L1 and in L0: ND to zN, LoadData, Mmad, Fixpipe.
__global__ __aicore__ void ping_pong(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint32_t k) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  constexpr uint32_t t = 32, size = t * t, bytes = size * 2;
  GlobalTensor<half> aGm, bGm;
  GlobalTensor<float> cGm;
  aGm.SetGlobalBuffer((__gm__ half*)a);
  bGm.SetGlobalBuffer((__gm__ half*)b);
  cGm.SetGlobalBuffer((__gm__ float*)c);
  LocalTensor<float> c1(TPosition::CO1, 0, size);
  for (int32_t p = 0; p < 2; ++p) {
    SetFlag<HardEvent::MTE1_MTE2>(p);
    SetFlag<HardEvent::M_MTE1>(p);
  }
  for (uint32_t step = 0; step < k / t; ++step) {
    int32_t p = static_cast<int32_t>(step % 2);
    uint32_t at = step % 2 * bytes;
    LocalTensor<half> a1(TPosition::A1, at, size), b1(TPosition::B1, 2 * bytes + at, size);
    LocalTensor<half> a2(TPosition::A2, at, size), b2(TPosition::B2, at, size);
    WaitFlag<HardEvent::MTE1_MTE2>(p);
    DataCopy(a1, aGm[step * t], Nd2NzParams(1, t, t, 0, k, t, 1, 0));
    DataCopy(b1, bGm[step * size], Nd2NzParams(1, t, t, 0, t, t, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(p);
    WaitFlag<HardEvent::MTE2_MTE1>(p);
    WaitFlag<HardEvent::M_MTE1>(p);
    for (uint32_t i = 0; i < t / 16; ++i) {
      LoadData(a2[i * t * 16], a1, LoadData2DParams(i, t / 16, t / 16, 0, 0, false, 0));
      LoadData(b2[i * t * 16], b1, LoadData2DParams(i, t / 16, t / 16, 0, 0, true, 0));
    }
    SetFlag<HardEvent::MTE1_MTE2>(p);
    SetFlag<HardEvent::MTE1_M>(p);
    WaitFlag<HardEvent::MTE1_M>(p);
    Mmad(c1, a2, b2, MmadParams(t, t, t, 0, false, step == 0));
    SetFlag<HardEvent::M_MTE1>(p);
  }
  SetFlag<HardEvent::M_FIX>(0);
  WaitFlag<HardEvent::M_FIX>(0);
  Fixpipe<float, float, CFG_ROW_MAJOR>(cGm, c1, FixpipeParamsV220(t, t, t, t, false));
  for (int32_t p = 0; p < 2; ++p) {
    WaitFlag<HardEvent::MTE1_MTE2>(p);
    WaitFlag<HardEvent::M_MTE1>(p);
  }
}

namespace {

TEST(Mutation, TopK) {
  expectAllReported("sort and top-k", [] {
    catchLaunches();
    DeviceBuffer<float> x(512), space(128), y(32);
    for (uint32_t i = 0; i < 512; ++i)
      x[i] = static_cast<float>(i * 193 % 512);
    top_k<<<4, nullptr, nullptr>>>(x.gm(), space.gm(), y.gm());
    return y.data;
  });
  catchLaunches();
  DeviceBuffer<float> x(512), space(128), y(32);
  for (uint32_t i = 0; i < 512; ++i)
    x[i] = static_cast<float>(i * 193 % 512);
  top_k<<<4, nullptr, nullptr>>>(x.gm(), space.gm(), y.gm());
  for (uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(y[i], static_cast<float>(511 - i));
    EXPECT_EQ(x[static_cast<size_t>(y[16 + i])], y[i]);
  }
}

TEST(Mutation, Reductions) {
  constexpr uint32_t tiles = 3, n = 64, rows = tiles * 8;
  std::vector<float> last;
  expectAllReported("reductions", [&] {
    catchLaunches();
    DeviceBuffer<float> x(rows * n), y(rows * n);
    for (uint32_t i = 0; i < rows * n; ++i)
      x[i] = static_cast<float>(i * 37 % 101) / 16;
    softmax_rows<<<1, nullptr, nullptr>>>(x.gm(), y.gm(), tiles);
    if (nextOptions().countSyncs)
      last = y.data;
    return y.data;
  });
  for (uint32_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (uint32_t i = 0; i < n; ++i)
      sum += last[row * n + i];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(Mutation, Atomics) {
  constexpr uint32_t cores = 4, n = 64, all = cores * 4 * n;
  expectAllReported("atomics", [] {
    catchLaunches();
    DeviceBuffer<float> x(all), total(2 * n), y(all);
    for (uint32_t i = 0; i < all; ++i)
      x[i] = static_cast<float>(i * 37 % 101) - 50; // sums are exact in any order
    atomics<<<cores, nullptr, nullptr>>>(x.gm(), total.gm(), y.gm());
    std::vector<float> result = y.data;
    result.insert(result.end(), total.data.begin(), total.data.end());
    return result;
  });
}

TEST(Mutation, PingPong) {
  constexpr uint32_t t = 32, k = 160;
  std::vector<float> last;
  expectAllReported("matmul by hand, two buffers", [&] {
    catchLaunches();
    DeviceBuffer<half> a(t * k), b(k * t);
    DeviceBuffer<float> c(t * t);
    for (uint32_t i = 0; i < t * k; ++i) {
      a[i] = half(static_cast<float>(i * 7 % 5) - 2.0f);
      b[i] = half(static_cast<float>(i * 11 % 7) - 3.0f);
    }
    ping_pong<<<1, nullptr, nullptr>>>(a.gm(), b.gm(), c.gm(), k);
    if (nextOptions().countSyncs)
      last = c.data;
    return c.data;
  });
  float corner = 0;
  for (uint32_t l = 0; l < k; ++l)
    corner += (static_cast<float>(l * 7 % 5) - 2) * (static_cast<float>(l * t * 11 % 7) - 3);
  EXPECT_EQ(last[0], corner);
}

} // namespace
