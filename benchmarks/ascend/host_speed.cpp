// SPDX-License-Identifier: Apache-2.0
// How fast the host runs kernels: `host_speed add` and `host_speed matmul` print seconds of one
// launch on their last line. Kernels written by hand: queues for add, manual flags for matmul.
#include "acl/acl.h"
#include "kernel_operator.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace AscendC;

__global__ __aicore__ void add_half(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t tile,
                                    uint64_t total) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  uint64_t length = total / GetBlockNum(), first = length * GetBlockIdx();
  GlobalTensor<half> a, b, c;
  a.SetGlobalBuffer((__gm__ half*)x + first);
  b.SetGlobalBuffer((__gm__ half*)y + first);
  c.SetGlobalBuffer((__gm__ half*)z + first);
  TPipe pipe;
  TQue<TPosition::VECIN, 2> aQueue, bQueue;
  TQue<TPosition::VECOUT, 2> cQueue;
  pipe.InitBuffer(aQueue, 2, tile * sizeof(half));
  pipe.InitBuffer(bQueue, 2, tile * sizeof(half));
  pipe.InitBuffer(cQueue, 2, tile * sizeof(half));
  for (uint64_t i = 0; i < length; i += tile) {
    LocalTensor<half> p = aQueue.AllocTensor<half>(), q = bQueue.AllocTensor<half>();
    DataCopy(p, a[i], tile);
    DataCopy(q, b[i], tile);
    aQueue.EnQue(p);
    bQueue.EnQue(q);
    p = aQueue.DeQue<half>();
    q = bQueue.DeQue<half>();
    LocalTensor<half> r = cQueue.AllocTensor<half>();
    Add(r, p, q, tile);
    cQueue.EnQue(r);
    aQueue.FreeTensor(p);
    bQueue.FreeTensor(q);
    r = cQueue.DeQue<half>();
    DataCopy(c[i], r, tile);
    cQueue.FreeTensor(r);
  }
}

/// C = A * B, all `size` x `size`; tiles of 128 x 256 x 64, two buffers in L1 and L0.
__global__ __aicore__ void matmul_half(GM_ADDR pa, GM_ADDR pb, GM_ADDR pc, uint32_t size) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  constexpr uint32_t tm = 128, tn = 256, tk = 64;
  GlobalTensor<half> a, b, c;
  a.SetGlobalBuffer((__gm__ half*)pa);
  b.SetGlobalBuffer((__gm__ half*)pb);
  c.SetGlobalBuffer((__gm__ half*)pc);
  LocalTensor<float> c1(TPosition::CO1, 0, tm * tn);
  for (int p = 0; p < 2; ++p) {
    SetFlag<HardEvent::MTE1_MTE2>(p);
    SetFlag<HardEvent::M_MTE1>(p);
  }
  SetFlag<HardEvent::FIX_M>(0);
  for (uint32_t t = GetBlockIdx(); t < size / tm * (size / tn); t += GetBlockNum()) {
    uint32_t m = t / (size / tn) * tm, n = t % (size / tn) * tn;
    for (uint32_t k = 0; k < size; k += tk) {
      uint32_t p = k / tk % 2;
      LocalTensor<half> a1(TPosition::A1, p * 65536, tm * tk);
      LocalTensor<half> b1(TPosition::B1, 131072 + p * 65536, tk * tn);
      LocalTensor<half> a2(TPosition::A2, p * 32768, tm * tk);
      LocalTensor<half> b2(TPosition::B2, p * 32768, tk * tn);
      WaitFlag<HardEvent::MTE1_MTE2>(p);
      DataCopy(a1, a[m * size + k], Nd2NzParams(1, tm, tk, 0, size, tm, 1, 0));
      DataCopy(b1, b[k * size + n], Nd2NzParams(1, tk, tn, 0, size, tk, 1, 0));
      SetFlag<HardEvent::MTE2_MTE1>(p);
      WaitFlag<HardEvent::MTE2_MTE1>(p);
      WaitFlag<HardEvent::M_MTE1>(p);
      for (uint32_t r = 0; r < tm / 16; ++r)
        LoadData(a2[r * tk * 16], a1, LoadData2DParams(r, tk / 16, tm / 16, 0, 0, false, 0));
      for (uint32_t r = 0; r < tk / 16; ++r)
        LoadData(b2[r * tn * 16], b1, LoadData2DParams(r, tn / 16, tk / 16, 0, 0, true, 0));
      SetFlag<HardEvent::MTE1_MTE2>(p);
      SetFlag<HardEvent::MTE1_M>(p);
      WaitFlag<HardEvent::MTE1_M>(p);
      if (k == 0)
        WaitFlag<HardEvent::FIX_M>(0);
      Mmad(c1, a2, b2, MmadParams(tm, tn, tk, 0, false, k == 0));
      SetFlag<HardEvent::M_MTE1>(p);
    }
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 fix(tn, tm, tm, size, false);
    fix.quantPre = F322F16;
    Fixpipe(c[m * size + n], c1, fix);
    SetFlag<HardEvent::FIX_M>(0);
  }
  for (int p = 0; p < 2; ++p) {
    WaitFlag<HardEvent::MTE1_MTE2>(p);
    WaitFlag<HardEvent::M_MTE1>(p);
  }
  WaitFlag<HardEvent::FIX_M>(0);
}

int main(int argc, char** argv) {
  bool isMatmul = argc > 1 && std::strcmp(argv[1], "matmul") == 0;
  uint64_t size = isMatmul ? 1024 : 8192, bytes = size * size * sizeof(half);
  aclInit(nullptr);
  aclrtSetDevice(0);
  uint8_t* buffers[3];
  std::vector<half> values(size * size, half(0.5f));
  for (uint8_t*& buffer : buffers) {
    aclrtMalloc(reinterpret_cast<void**>(&buffer), bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(buffer, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  }
  auto start = std::chrono::steady_clock::now();
  if (isMatmul)
    matmul_half<<<16, nullptr, nullptr>>>(buffers[0], buffers[1], buffers[2], size);
  else
    add_half<<<32, nullptr, nullptr>>>(buffers[0], buffers[1], buffers[2], 16384, size * size);
  int error = aclrtSynchronizeDevice();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  aclrtMemcpy(values.data(), bytes, buffers[2], bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  float expected = isMatmul ? 0.25f * static_cast<float>(size) : 1.0f;
  for (half v : values)
    if (static_cast<float>(v) != expected)
      error = 1;
  ::printf("%.6f\n", seconds.count());
  return error;
}
