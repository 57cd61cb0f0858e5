// SPDX-License-Identifier: Apache-2.0
// The published profile rows of `add` (half, 8192 x 8192, 910B1) from kernels of the same shape and tiling. Prints a
// JSON line per row and column: {"name", "value", "peer_value" (published), "unit", "gated", "fitted"}.
//
// Run with TILEWRIGHT_ASCEND=time-only,warm-l2,chip=910B1: memory is neither read nor written, so that its content and even
// its size do not matter here.
#include "kernel_operator.h"

#include "acl/acl.h"

using namespace AscendC;

namespace {

constexpr int64_t rows = 8192, columns = 8192;
constexpr int64_t elements = rows * columns;

/// How a kernel orders the copies and the additions of its tiles.
enum class Order : int32_t {
  Queues, ///< input, sum and output in buffers of their own: a tile's copy-out overlaps the next copy-in
  InPlace ///< the sum replaces an input, so that the next copy-in waits for the copy-out
};

struct AddPlan {
  int32_t tile;    ///< elements
  int32_t buffers; ///< per queue
  Order order;
  int32_t bypassesL2; ///< x and y are read past L2, so that z stays there
  int32_t gap;        ///< bytes of UB in front of y, against bank conflicts
};

/// Rows of this core: the first cores have one more if they can't be divided. A core's tiles follow
/// each other; the last may be short.
struct Share {
  int64_t first, elements;
  int32_t tile;

  __aicore__ explicit Share(int32_t tile) : tile(tile) {
    int64_t least = rows / GetBlockNum(), left = rows % GetBlockNum();
    first = (GetBlockIdx() * least + (GetBlockIdx() < left ? GetBlockIdx() : left)) * columns;
    elements = (least + (GetBlockIdx() < left)) * columns;
  }
  __aicore__ int64_t tiles() const {
    return (elements + tile - 1) / tile;
  }
  __aicore__ int64_t begin(int64_t i) const {
    return first + i * tile;
  }
  __aicore__ uint32_t count(int64_t i) const {
    int64_t rest = elements - i * tile;
    return uint32_t(rest < tile ? rest : tile);
  }
};

__aicore__ inline void addWithQueues(const GlobalTensor<half>& x, const GlobalTensor<half>& y,
                                     const GlobalTensor<half>& z, const AddPlan& plan) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> inX, inY;
  TQue<TPosition::VECOUT, 1> out;
  uint32_t bytes = uint32_t(plan.tile) * sizeof(half);
  pipe.InitBuffer(inX, uint8_t(plan.buffers), bytes);
  TBuf<TPosition::VECCALC> gap;
  if (plan.gap > 0)
    pipe.InitBuffer(gap, uint32_t(plan.gap));
  pipe.InitBuffer(inY, uint8_t(plan.buffers), bytes);
  pipe.InitBuffer(out, uint8_t(plan.buffers), bytes);
  Share share(plan.tile);
  for (int64_t i = 0; i < share.tiles(); ++i) {
    uint32_t count = share.count(i);
    LocalTensor<half> xIn = inX.AllocTensor<half>();
    LocalTensor<half> yIn = inY.AllocTensor<half>();
    DataCopy(xIn, x[share.begin(i)], count);
    DataCopy(yIn, y[share.begin(i)], count);
    inX.EnQue(xIn);
    inY.EnQue(yIn);
    LocalTensor<half> xLocal = inX.DeQue<half>();
    LocalTensor<half> yLocal = inY.DeQue<half>();
    LocalTensor<half> sum = out.AllocTensor<half>();
    Add(sum, xLocal, yLocal, int32_t(count));
    out.EnQue(sum);
    inX.FreeTensor(xLocal);
    inY.FreeTensor(yLocal);
    LocalTensor<half> ready = out.DeQue<half>();
    DataCopy(z[share.begin(i)], ready, count);
    out.FreeTensor(ready);
  }
}

__aicore__ inline void addInPlace(const GlobalTensor<half>& x, const GlobalTensor<half>& y,
                                  const GlobalTensor<half>& z, const AddPlan& plan) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> xBuffer, yBuffer;
  pipe.InitBuffer(xBuffer, uint32_t(plan.tile) * sizeof(half));
  pipe.InitBuffer(yBuffer, uint32_t(plan.tile) * sizeof(half));
  LocalTensor<half> xLocal = xBuffer.Get<half>();
  LocalTensor<half> yLocal = yBuffer.Get<half>();
  Share share(plan.tile);
  for (int64_t i = 0; i < share.tiles(); ++i) {
    uint32_t count = share.count(i);
    if (i > 0)
      WaitFlag<HardEvent::MTE3_MTE2>(0);
    DataCopy(xLocal, x[share.begin(i)], count);
    DataCopy(yLocal, y[share.begin(i)], count);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Add(xLocal, xLocal, yLocal, int32_t(count));
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(z[share.begin(i)], xLocal, count);
    if (i + 1 < share.tiles())
      SetFlag<HardEvent::MTE3_MTE2>(0);
  }
}

} // namespace

extern "C" __global__ __aicore__ void add_rows(GM_ADDR x, GM_ADDR y, GM_ADDR z, AddPlan plan) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<half> xGm, yGm, zGm;
  xGm.SetGlobalBuffer((__gm__ half*)x);
  yGm.SetGlobalBuffer((__gm__ half*)y);
  zGm.SetGlobalBuffer((__gm__ half*)z);
  if (plan.bypassesL2) {
    xGm.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    yGm.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
  }
  if (plan.order == Order::Queues)
    addWithQueues(xGm, yGm, zGm, plan);
  else
    addInPlace(xGm, yGm, zGm, plan);
}

/// A published row: microseconds.
struct Row {
  const char* name;
  uint32_t cores;
  AddPlan plan;
  bool isFitted;
  double task, core, vec, scalar, mte2, mte3;
};

// Cases 2 and 3 are published with core time = copy-in + add + copy-out, so nothing of a tile overlaps; in case 1 the
// copy-out overlaps the next copy-in.
const Row profiles[] = {
    {"add_case1",
     1,
     {4096, 1, Order::Queues, 0, 0},
     true,
     6909.6,
     6909.1,
     761.65,
     231.2,
     6208.8,
     2613.2},
    {"add_case2",
     48,
     {4096, 1, Order::InPlace, 0, 0},
     false,
     306.6,
     297.1,
     15.885,
     8.2,
     215.5,
     54.3},
    {"add_case3",
     48,
     {16384, 1, Order::InPlace, 0, 0},
     true,
     268.5,
     261.5,
     12.845,
     2.8,
     184.4,
     57.4},
    {"add_case4",
     48,
     {16384, 2, Order::Queues, 0, 0},
     false,
     264.0,
     257.6,
     12.846,
     2.8,
     250.5,
     85.0},
    {"add_case5",
     48,
     {16384, 2, Order::Queues, 1, 0},
     false,
     187.7,
     185.2,
     12.846,
     4.5,
     176.0,
     160.3},
    {"add_case6",
     48,
     {16256, 2, Order::Queues, 1, 256},
     false,
     184.5,
     178.5,
     6.954,
     3.4,
     171.6,
     121.4},
};

void print(const Row& row, const char* column, double value, double published, bool isGated) {
  printf("{\"name\": \"profile/%s/%s\", \"value\": %.4g, \"peer_value\": %g, \"unit\": \"us\", "
         "\"gated\": %s, "
         "\"fitted\": %s}\n",
         row.name, column, value, published, isGated ? "true" : "false",
         row.isFitted ? "true" : "false");
}

int main() {
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0)
    return 1;
  void *x = nullptr, *y = nullptr, *z = nullptr;
  for (void** memory : {&x, &y, &z})
    if (aclrtMalloc(memory, (elements + 16384) * sizeof(uint16_t), ACL_MEM_MALLOC_HUGE_FIRST) != 0)
      return 1;
  for (const Row& row : profiles) {
    add_rows<<<row.cores, nullptr, nullptr>>>((uint8_t*)x, (uint8_t*)y, (uint8_t*)z, row.plan);
    if (aclrtSynchronizeStream(nullptr) != 0) {
      fprintf(stderr, "error: %s\n", aclGetRecentErrMsg());
      return 1;
    }
    tilewright::ascend::LaunchReport report = tilewright::ascend::lastLaunchReport();
    enum { S, V, M, MTE1, MTE2, MTE3 };
    print(row, "task", report.modelledMicroseconds, row.task, true);
    print(row, "core", report.coreMicroseconds, row.core, true);
    print(row, "vec", report.pipeMicroseconds[V], row.vec, true);
    print(row, "scalar", report.pipeMicroseconds[S], row.scalar, false);
    print(row, "mte2", report.pipeMicroseconds[MTE2], row.mte2, true);
    print(row, "mte3", report.pipeMicroseconds[MTE3], row.mte3, true);
  }
  return aclFinalize();
}
