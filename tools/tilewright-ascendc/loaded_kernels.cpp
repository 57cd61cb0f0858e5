// SPDX-License-Identifier: Apache-2.0
// Kernels that test_kernel_objects.py loads by name: each writes what it was given.
#include "kernel_operator.h"

using namespace AscendC;

struct Tiling {
  uint8_t small;
  double large;
  int32_t list[3];
};

template <class T> __aicore__ inline void put(GM_ADDR out, uint32_t at, T value) {
  GlobalTensor<int64_t> g;
  g.SetGlobalBuffer((__gm__ int64_t*)out);
  g.SetValue(at + GetBlockIdx() * 8, static_cast<int64_t>(value)); // a cache line for each block
}

extern "C" __global__ __aicore__ void arguments(GM_ADDR out, int8_t a, int32_t b, uint16_t c,
                                                Tiling tiling, float d) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  put(out, 0, a);
  put(out, 1, b);
  put(out, 2, c);
  put(out, 3, tiling.small);
  put(out, 4, tiling.large);
  put(out, 5, tiling.list[2]);
  put(out, 6, d);
}

namespace ns {
__global__ __aicore__ void same(GM_ADDR out, int32_t value) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  put(out, 0, value + 1);
}
__global__ __aicore__ void same(GM_ADDR out, float value) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  put(out, 0, value * 2);
}
} // namespace ns

template <class T> __global__ __aicore__ void typed(GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  put(out, 0, sizeof(T));
}
template __global__ __aicore__ void typed<double>(GM_ADDR out);

extern "C" __global__ __aicore__ void wild(GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  put(out, 0, *reinterpret_cast<volatile int*>(16)); // the wild line
}
