// SPDX-License-Identifier: Apache-2.0
// An Ascend C kernel and its host program in one file: y = max(x * 2 - 1, 0), tiles through queues.
//   tilewright-ascendc build relu_custom.cpp -o relu_custom && ./relu_custom
// With -DFORGET_BARRIER one synchronisation is missing, and the program says which.
#include "acl/acl.h"
#include "kernel_operator.h"

#include <cstdio>
#include <vector>

using namespace AscendC;

class KernelRelu {
public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t total, uint32_t tileLength) {
    length = total / GetBlockNum();
    tile = tileLength;
    xGm.SetGlobalBuffer((__gm__ float*)x + length * GetBlockIdx(), length);
    yGm.SetGlobalBuffer((__gm__ float*)y + length * GetBlockIdx(), length);
    pipe.InitBuffer(inQueue, 2, tile * sizeof(float));
    pipe.InitBuffer(outQueue, 2, tile * sizeof(float));
  }
  __aicore__ inline void Process() {
    for (uint32_t i = 0; i < length; i += tile) {
      LocalTensor<float> in = inQueue.AllocTensor<float>();
      DataCopy(in, xGm[i], tile);
      inQueue.EnQue(in);
      Compute();
      LocalTensor<float> out = outQueue.DeQue<float>();
      DataCopy(yGm[i], out, tile);
      outQueue.FreeTensor(out);
    }
  }

private:
  __aicore__ inline void Compute() {
    LocalTensor<float> in = inQueue.DeQue<float>();
    LocalTensor<float> out = outQueue.AllocTensor<float>();
    Muls(out, in, 2.0f, tile);
    PipeBarrier<PIPE_V>();
    Adds(out, out, -1.0f, tile);
#ifndef FORGET_BARRIER
    PipeBarrier<PIPE_V>();
#endif
    Relu(out, out, tile);
    outQueue.EnQue(out);
    inQueue.FreeTensor(in);
  }

  TPipe pipe;
  TQue<TPosition::VECIN, 2> inQueue;
  TQue<TPosition::VECOUT, 2> outQueue;
  GlobalTensor<float> xGm, yGm;
  uint32_t length, tile;
};

extern "C" __global__ __aicore__ void relu_custom(GM_ADDR x, GM_ADDR y, uint32_t total,
                                                  uint32_t tile) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  KernelRelu kernel;
  kernel.Init(x, y, total, tile);
  kernel.Process();
}

int main() {
  constexpr uint32_t total = 8 * 4096, tile = 1024;
  constexpr size_t bytes = total * sizeof(float);
  std::vector<float> x(total), y(total);
  for (uint32_t i = 0; i < total; ++i)
    x[i] = static_cast<float>(i % 200) / 100.0f - 1.0f;
  aclrtStream stream = nullptr;
  void *xDevice = nullptr, *yDevice = nullptr;
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtCreateStream(&stream);
  aclrtMalloc(&xDevice, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc(&yDevice, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(xDevice, bytes, x.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  relu_custom<<<8, nullptr, stream>>>((uint8_t*)xDevice, (uint8_t*)yDevice, total, tile);
  aclError error = aclrtSynchronizeStream(stream);
  aclrtMemcpy(y.data(), bytes, yDevice, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < total; ++i) {
    float expected = x[i] * 2.0f - 1.0f;
    wrong += y[i] != (expected > 0 ? expected : 0);
  }
  ::printf("%u of %u values are wrong, the stream says %d\n", wrong, total, error);
  aclrtFree(xDevice);
  aclrtFree(yDevice);
  aclrtDestroyStream(stream);
  aclrtResetDevice(0);
  aclFinalize();
  return wrong != 0 || error != 0;
}
