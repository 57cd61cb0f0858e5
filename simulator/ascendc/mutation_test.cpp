// SPDX-License-Identifier: Apache-2.0
// Each synchronisation of kernels with queues, flags, meetings and cross-core flags, taken out.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

#include "simulator/ascendc/mutation.h"
#include "simulator/ascendc/tile_matmul.h"

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

/// The introductory addition: three queues with two buffers, a function for each stage.
class KernelAdd {
public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n, uint32_t newTile) {
    tile = newTile;
    count = n / tile;
    xGm.SetGlobalBuffer((__gm__ half*)x + n * GetBlockIdx(), n);
    yGm.SetGlobalBuffer((__gm__ half*)y + n * GetBlockIdx(), n);
    zGm.SetGlobalBuffer((__gm__ half*)z + n * GetBlockIdx(), n);
    pipe.InitBuffer(inQueueX, 2, tile * sizeof(half));
    pipe.InitBuffer(inQueueY, 2, tile * sizeof(half));
    pipe.InitBuffer(outQueueZ, 2, tile * sizeof(half));
  }
  __aicore__ inline void Process() {
    for (uint32_t i = 0; i < count; ++i) {
      CopyIn(i);
      Compute();
      CopyOut(i);
    }
  }

private:
  __aicore__ inline void CopyIn(uint32_t i) {
    LocalTensor<half> x = inQueueX.AllocTensor<half>();
    LocalTensor<half> y = inQueueY.AllocTensor<half>();
    DataCopy(x, xGm[i * tile], tile);
    DataCopy(y, yGm[i * tile], tile);
    inQueueX.EnQue(x);
    inQueueY.EnQue(y);
  }
  __aicore__ inline void Compute() {
    LocalTensor<half> x = inQueueX.DeQue<half>();
    LocalTensor<half> y = inQueueY.DeQue<half>();
    LocalTensor<half> z = outQueueZ.AllocTensor<half>();
    Add(z, x, y, tile);
    outQueueZ.EnQue<half>(z);
    inQueueX.FreeTensor(x);
    inQueueY.FreeTensor(y);
  }
  __aicore__ inline void CopyOut(uint32_t i) {
    LocalTensor<half> z = outQueueZ.DeQue<half>();
    DataCopy(zGm[i * tile], z, tile);
    outQueueZ.FreeTensor(z);
  }

  TPipe pipe;
  TQue<TPosition::VECIN, 2> inQueueX, inQueueY;
  TQue<TPosition::VECOUT, 2> outQueueZ;
  GlobalTensor<half> xGm, yGm, zGm;
  uint32_t tile, count;
};
__global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n, uint32_t tile) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  KernelAdd op;
  op.Init(x, y, z, n, tile);
  op.Process();
}

/// A copy by one queue from VECIN to VECOUT, without a vector instruction.
__global__ __aicore__ void bound_copy(GM_ADDR x, GM_ADDR y, uint32_t n, uint32_t tile) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> a, b;
  a.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * n);
  b.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx() * n);
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 2, tile * 4);
  for (uint32_t i = 0; i < n; i += tile) {
    LocalTensor<float> t = queue.AllocTensor<float>();
    DataCopy(t, a[i], tile);
    queue.EnQue(t);
    t = queue.DeQue<float>();
    DataCopy(b[i], t, tile);
    queue.FreeTensor(t);
  }
}

/// Matmul and LeakyRelu: the cube core makes a tile while the vector cores copy the one before it, through two tiles of
/// GM; a flag in each direction, that of the vector cores when they begin a tile. So no flag is set twice in a row. The
/// vector cores of a block then exchange rows (mode 1).
__global__ __aicore__ void matmul_leakyrelu(GM_ADDR a, GM_ADDR space, GM_ADDR y, uint32_t tiles) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  constexpr uint32_t tile = TileMatmul::tile, size = tile * tile, part = size / 2;
  if ASCEND_IS_AIC {
    for (uint32_t i = 0; i < tiles; ++i) {
      if (i >= 1)
        CrossCoreWaitFlag<2, PIPE_FIX>(1);
      TileMatmul().Run((__gm__ half*)a + i * size, (__gm__ half*)a,
                       (__gm__ float*)space + i % 2 * size, tile, tile);
      CrossCoreSetFlag<2, PIPE_FIX>(0);
    }
    CrossCoreWaitFlag<2, PIPE_FIX>(1);
  }
  if ASCEND_IS_AIV {
    uint32_t me = static_cast<uint32_t>(GetSubBlockIdx());
    GlobalTensor<float> in, out;
    in.SetGlobalBuffer((__gm__ float*)space);
    out.SetGlobalBuffer((__gm__ float*)y);
    LocalTensor<float> t(TPosition::VECCALC, 0, part);
    SetFlag<HardEvent::MTE3_MTE2>(0);
    for (uint32_t i = 0; i < tiles; ++i) {
      CrossCoreWaitFlag<2, PIPE_MTE2>(0);
      CrossCoreSetFlag<2, PIPE_MTE2>(1); // behind the copy of the tile before
      WaitFlag<HardEvent::MTE3_MTE2>(0);
      DataCopy(t, in[i % 2 * size + me * part], part);
      SetFlag<HardEvent::MTE2_V>(0);
      WaitFlag<HardEvent::MTE2_V>(0);
      LeakyRelu(t, t, 0.5f, part);
      SetFlag<HardEvent::V_MTE3>(0);
      WaitFlag<HardEvent::V_MTE3>(0);
      DataCopy(out[i * size + me * part], t, part);
      SetFlag<HardEvent::MTE3_MTE2>(0);
    }
    CrossCoreSetFlag<1, PIPE_MTE3>(5);
    CrossCoreWaitFlag<1, PIPE_MTE2>(5);
    WaitFlag<HardEvent::MTE3_MTE2>(0);
    DataCopy(t, out[(1 - me) * part], tile);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(out[tiles * size + me * tile], t, tile);
  }
}

/// The introductory matmul and LeakyRelu: both vector cores ask a Matmul object for tile after tile of their rows.
__global__ __aicore__ void object_leakyrelu(GM_ADDR a, GM_ADDR b, GM_ADDR c, TCubeTiling t) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  using namespace matmul;
  using In = MatmulType<TPosition::GM, CubeFormat::ND, half>;
  TPipe pipe;
  Matmul<In, In, MatmulType<TPosition::VECIN, CubeFormat::ND, float>> mm;
  TQue<TPosition::VECOUT, 1> out;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
  GlobalTensor<half> aGm, bGm;
  GlobalTensor<float> cGm;
  aGm.SetGlobalBuffer((__gm__ half*)a + GetBlockIdx() * t.singleCoreM * t.Ka);
  bGm.SetGlobalBuffer((__gm__ half*)b);
  cGm.SetGlobalBuffer((__gm__ float*)c + GetBlockIdx() * t.singleCoreM * t.N);
  const uint32_t size = t.baseM * t.baseN;
  pipe.InitBuffer(out, 1, size * sizeof(float));
  mm.SetTensorA(aGm);
  mm.SetTensorB(bGm);
  for (uint32_t i = 0; mm.Iterate(); ++i) {
    LocalTensor<float> tile = out.AllocTensor<float>();
    mm.GetTensorC(tile, false, true);
    LeakyRelu(tile, tile, 0.5f, size);
    out.EnQue(tile);
    tile = out.DeQue<float>();
    DataCopy(cGm[i * size], tile, size);
    out.FreeTensor(tile);
  }
  mm.End();
}

namespace {

template <class Kernel>
MutatedRun runnerOf(Kernel kernel, uint32_t blocks, uint32_t n, uint32_t tile) {
  return [=] {
    catchLaunches();
    DeviceBuffer<float> x(blocks * n), y(blocks * n);
    for (uint32_t i = 0; i < blocks * n; ++i)
      x[i] = static_cast<float>(i % 61) - 30;
    kernel<<<blocks, nullptr, nullptr>>>(x.gm(), y.gm(), n, tile);
    return y.data;
  };
}

TEST(Mutation, Queues) {
  expectAllReported("queues", runnerOf(with_queues, 1, 512, 128));
}
TEST(Mutation, Flags) {
  expectAllReported("flags", runnerOf(with_flags, 1, 512, 128));
}
TEST(Mutation, Meetings) {
  expectAllReported("meetings", runnerOf(with_meetings, 4, 64, 0));
}

TEST(Mutation, CubeAndVector) {
  expectAllReported("cube and vector", [] {
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

TEST(Mutation, Introductory) {
  constexpr uint32_t blocks = 2, n = 256;
  expectAllReported("the introductory addition", [] {
    catchLaunches();
    DeviceBuffer<half> x(blocks * n), y(blocks * n), z(blocks * n);
    for (uint32_t i = 0; i < blocks * n; ++i) {
      x[i] = half(static_cast<float>(i % 61));
      y[i] = half(static_cast<float>(i % 7));
    }
    add_custom<<<blocks, nullptr, nullptr>>>(x.gm(), y.gm(), z.gm(), n, 64);
    return std::vector<float>(z.data.begin(), z.data.end());
  });
}
TEST(Mutation, BoundQueue) {
  expectAllReported("a queue from input to output", runnerOf(bound_copy, 1, 512, 128));
}

TEST(Mutation, MatmulLeakyRelu) {
  expectAllReported("matmul and LeakyRelu", [] {
    catchLaunches();
    constexpr uint32_t tile = TileMatmul::tile, size = tile * tile, tiles = 3;
    DeviceBuffer<half> a(tiles * size);
    DeviceBuffer<float> space(2 * size), y(tiles * size + 2 * tile);
    for (uint32_t i = 0; i < tiles * size; ++i)
      a[i] = half(static_cast<float>(i * 7 % 5) - 2.0f);
    matmul_leakyrelu<<<1, nullptr, nullptr>>>(a.gm(), space.gm(), y.gm(), tiles);
    return y.data;
  });
}

TEST(Mutation, MatmulObject) {
  expectAllReported("matmul and LeakyRelu, by the Matmul object", [] {
    catchLaunches();
    constexpr int32_t tile = 16, tiles = 2, cores = 2, m = cores * tiles * tile;
    TCubeTiling t;
    t.M = m;
    t.singleCoreM = tiles * tile;
    t.N = t.Ka = t.Kb = t.singleCoreN = t.singleCoreK = t.baseM = t.baseN = t.baseK = tile;
    DeviceBuffer<half> a(m * tile), b(tile * tile);
    DeviceBuffer<float> c(m * tile);
    for (int32_t i = 0; i < m * tile; ++i)
      a[i] = half(static_cast<float>(i * 7 % 5) - 2.0f);
    for (int32_t i = 0; i < tile * tile; ++i)
      b[i] = half(static_cast<float>(i * 11 % 7) - 3.0f);
    object_leakyrelu<<<1, nullptr, nullptr>>>(a.gm(), b.gm(), c.gm(), t);
    return c.data;
  });
}

} // namespace
