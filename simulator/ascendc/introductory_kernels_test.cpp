// SPDX-License-Identifier: Apache-2.0
// The shapes of kernels that users start from: queues with double buffers, manual flags; and what
// the host says when a synchronisation is missing.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {
constexpr int32_t bufferNum = 2;
}

class KernelAdd {
public:
  __aicore__ inline KernelAdd() {}
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t totalLength,
                              uint32_t newTileNum) {
    blockLength = totalLength / GetBlockNum();
    tileNum = newTileNum;
    tileLength = blockLength / tileNum / bufferNum;
    xGm.SetGlobalBuffer((__gm__ half*)x + blockLength * GetBlockIdx(), blockLength);
    yGm.SetGlobalBuffer((__gm__ half*)y + blockLength * GetBlockIdx(), blockLength);
    zGm.SetGlobalBuffer((__gm__ half*)z + blockLength * GetBlockIdx(), blockLength);
    pipe.InitBuffer(inQueueX, bufferNum, tileLength * sizeof(half));
    pipe.InitBuffer(inQueueY, bufferNum, tileLength * sizeof(half));
    pipe.InitBuffer(outQueueZ, bufferNum, tileLength * sizeof(half));
  }
  __aicore__ inline void Process() {
    for (uint32_t i = 0; i < tileNum * bufferNum; i++) {
      CopyIn(i);
      Compute();
      CopyOut(i);
    }
  }

private:
  __aicore__ inline void CopyIn(uint32_t progress) {
    LocalTensor<half> xLocal = inQueueX.AllocTensor<half>();
    LocalTensor<half> yLocal = inQueueY.AllocTensor<half>();
    DataCopy(xLocal, xGm[progress * tileLength], tileLength);
    DataCopy(yLocal, yGm[progress * tileLength], tileLength);
    inQueueX.EnQue(xLocal);
    inQueueY.EnQue(yLocal);
  }
  __aicore__ inline void Compute() {
    LocalTensor<half> xLocal = inQueueX.DeQue<half>();
    LocalTensor<half> yLocal = inQueueY.DeQue<half>();
    LocalTensor<half> zLocal = outQueueZ.AllocTensor<half>();
    Add(zLocal, xLocal, yLocal, tileLength);
    outQueueZ.EnQue<half>(zLocal);
    inQueueX.FreeTensor(xLocal);
    inQueueY.FreeTensor(yLocal);
  }
  __aicore__ inline void CopyOut(uint32_t progress) {
    LocalTensor<half> zLocal = outQueueZ.DeQue<half>();
    DataCopy(zGm[progress * tileLength], zLocal, tileLength);
    outQueueZ.FreeTensor(zLocal);
  }

  TPipe pipe;
  TQue<TPosition::VECIN, bufferNum> inQueueX, inQueueY;
  TQue<TPosition::VECOUT, bufferNum> outQueueZ;
  GlobalTensor<half> xGm, yGm, zGm;
  uint32_t blockLength, tileNum, tileLength;
};

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z,
                                                 uint32_t totalLength, uint32_t tileNum) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  KernelAdd op;
  op.Init(x, y, z, totalLength, tileNum);
  op.Process();
}

/// dst = src + 1, with flags by hand; `without` leaves one of them out.
template <int without> __global__ __aicore__ void add_one(GM_ADDR src, GM_ADDR dst, uint32_t n) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)src);
  out.SetGlobalBuffer((__gm__ float*)dst);
  LocalTensor<float> x(TPosition::VECCALC, 0, n);
  for (uint32_t i = 0; i < 2; ++i) {
    if (without != 3 && i > 0)
      WaitFlag<HardEvent::MTE3_MTE2>(0);
    DataCopy(x, in[i * n], n);
    if (without != 1) {
      SetFlag<HardEvent::MTE2_V>(0);
      WaitFlag<HardEvent::MTE2_V>(0);
    }
    Adds(x, x, 1.0f, n);
    if (without != 2) {
      SetFlag<HardEvent::V_MTE3>(0);
      WaitFlag<HardEvent::V_MTE3>(0);
    }
    DataCopy(out[i * n], x, n);
    if (without != 3 && i == 0)
      SetFlag<HardEvent::MTE3_MTE2>(0);
  }
}

struct Tiling {
  uint32_t n;
  float value;
};

/// With tiling data in GM and a tiling key, as custom operators have it.
extern "C" __global__ __aicore__ void fill_by_tiling(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GET_TILING_DATA_WITH_STRUCT(Tiling, data, tiling);
  GlobalTensor<float> out;
  out.SetGlobalBuffer((__gm__ float*)y);
  TPipe pipe;
  TQue<TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, data.n * sizeof(float));
  LocalTensor<float> t = queue.AllocTensor<float>();
  Duplicate(t, TILING_KEY_IS(7) ? data.value : 0.0f, data.n);
  queue.EnQue(t);
  t = queue.DeQue<float>();
  DataCopy(out, t, data.n);
  queue.FreeTensor(t);
}

class Introductory : public ::testing::Test {
protected:
  void SetUp() override {
    catchLaunches();
    nextOptions() = {};
  }
};

TEST_F(Introductory, AddWithQueues) {
  constexpr uint32_t n = 8 * 2048;
  DeviceBuffer<half> x(n), y(n), z(n);
  for (uint32_t i = 0; i < n; ++i) {
    x[i] = half(static_cast<float>(i % 100));
    y[i] = half(static_cast<float>(i % 7));
  }
  add_custom<<<8, nullptr, nullptr>>>(x.gm(), y.gm(), z.gm(), n, 8);
  EXPECT_EQ(lastReport().status, 0);
  EXPECT_EQ(allFindings(), "");
  for (uint32_t i = 0; i < n; ++i)
    ASSERT_EQ(static_cast<float>(z[i]), static_cast<float>(i % 100 + i % 7)) << i;
}

template <int without> std::string runAddOne(std::vector<float>* result = nullptr) {
  constexpr uint32_t n = 512;
  DeviceBuffer<float> x(2 * n), y(2 * n);
  for (uint32_t i = 0; i < 2 * n; ++i)
    x[i] = static_cast<float>(i);
  add_one<without><<<1, nullptr, nullptr>>>(x.gm(), y.gm(), n);
  if (result)
    *result = y.data;
  return allFindings();
}

TEST_F(Introductory, AddWithFlags) {
  std::vector<float> y;
  EXPECT_EQ(runAddOne<0>(&y), "");
  for (size_t i = 0; i < y.size(); ++i)
    ASSERT_EQ(y[i], static_cast<float>(i) + 1);
}

TEST_F(Introductory, MissingFlagIsReportedWithBothPlaces) {
  std::string text = runAddOne<1>();
  EXPECT_NE(text.find("Adds on PIPE_V reads UB bytes 0 to 2047 while DataCopy on PIPE_MTE2 may "
                      "still be writing them (vector core 0) [ErrorSync2]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("add SetFlag<HardEvent::MTE2_V>(id) after line"), std::string::npos) << text;
  EXPECT_NE(text.find("introductory_kernels_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(runAddOne<2>().find("SetFlag<HardEvent::V_MTE3>"), std::string::npos);
  EXPECT_NE(runAddOne<3>().find("SetFlag<HardEvent::MTE3_MTE2>"), std::string::npos);
}

TEST_F(Introductory, OlderWaysToLaunch) {
  auto* y = static_cast<float*>(GmAlloc(64 * sizeof(float)));
  auto* tiling = static_cast<Tiling*>(GmAlloc(sizeof(Tiling)));
  *tiling = {64, 2.5f};
  ICPU_SET_TILING_KEY(7);
  ICPU_RUN_KF(fill_by_tiling, 1, reinterpret_cast<uint8_t*>(y), nullptr,
              reinterpret_cast<uint8_t*>(tiling));
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(y[i], 2.5f);
  ACLRT_LAUNCH_KERNEL(fill_by_tiling)
  (1, nullptr, reinterpret_cast<uint8_t*>(y), nullptr, reinterpret_cast<uint8_t*>(tiling));
  EXPECT_EQ(allFindings(), "");
  EXPECT_EQ(y[63], 0.0f); // no tiling key
  GmFree(tiling);
  GmFree(y);
}
