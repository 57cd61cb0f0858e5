// SPDX-License-Identifier: Apache-2.0
// A kernel that programs load by its name at run time: y = x * scale + bias.
//   tilewright-ascendc build --kernel loaded_kernel.cpp -o scale.o
// load_kernel.cpp is such a program.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void scale_bias(GM_ADDR x, GM_ADDR y, GM_ADDR factors,
                                                 uint32_t total) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  uint32_t length = total / GetBlockNum();
  GlobalTensor<float> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x + length * GetBlockIdx(), length);
  yGm.SetGlobalBuffer((__gm__ float*)y + length * GetBlockIdx(), length);
  GlobalTensor<float> factorsGm;
  factorsGm.SetGlobalBuffer((__gm__ float*)factors, 2);

  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  pipe.InitBuffer(in, 1, length * sizeof(float));
  pipe.InitBuffer(out, 1, length * sizeof(float));

  LocalTensor<float> xLocal = in.AllocTensor<float>();
  DataCopy(xLocal, xGm, length);
  in.EnQue(xLocal);
  xLocal = in.DeQue<float>();
  LocalTensor<float> yLocal = out.AllocTensor<float>();
  Muls(yLocal, xLocal, factorsGm.GetValue(0), length);
  PipeBarrier<PIPE_V>();
  Adds(yLocal, yLocal, factorsGm.GetValue(1), length);
  out.EnQue(yLocal);
  in.FreeTensor(xLocal);
  yLocal = out.DeQue<float>();
  DataCopy(yGm, yLocal, length);
  out.FreeTensor(yLocal);
}
