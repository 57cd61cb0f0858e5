// SPDX-License-Identifier: Apache-2.0
// For tests: a matmul on the cube core by hand.
#ifndef TILEWRIGHT_ASCENDC_TILE_MATMUL_H
#define TILEWRIGHT_ASCENDC_TILE_MATMUL_H

#include "kernel_operator.h"

namespace tilewright::ascend::testing {

using namespace AscendC;

/// One 64 x 64 x 64 tile at a time; C = A * B with `k` a multiple of 64.
class TileMatmul {
public:
  static constexpr uint32_t tile = 64;
  static constexpr uint32_t fractals = tile / 16;

  __aicore__ inline void Run(__gm__ half* a, __gm__ half* b, __gm__ float* c, uint32_t n,
                             uint32_t k) {
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer(a);
    bGm.SetGlobalBuffer(b);
    cGm.SetGlobalBuffer(c);
    LocalTensor<half> a1(TPosition::A1, 0, tile * tile), b1(TPosition::B1, 8192, tile * tile);
    LocalTensor<half> a2(TPosition::A2, 0, tile * tile), b2(TPosition::B2, 0, tile * tile);
    LocalTensor<float> c1(TPosition::CO1, 0, tile * tile);
    SetFlag<HardEvent::MTE1_MTE2>(0);
    SetFlag<HardEvent::M_MTE1>(0);
    SetFlag<HardEvent::FIX_M>(0);
    WaitFlag<HardEvent::FIX_M>(0);
    for (uint32_t step = 0; step < k / tile; ++step) {
      WaitFlag<HardEvent::MTE1_MTE2>(0);
      DataCopy(a1, aGm[step * tile], Nd2NzParams(1, tile, tile, 0, k, tile, 1, 0));
      DataCopy(b1, bGm[step * tile * n], Nd2NzParams(1, tile, tile, 0, n, tile, 1, 0));
      SetFlag<HardEvent::MTE2_MTE1>(0);
      WaitFlag<HardEvent::MTE2_MTE1>(0);
      WaitFlag<HardEvent::M_MTE1>(0);
      for (uint32_t i = 0; i < fractals; ++i) {
        LoadData(a2[i * fractals * 256], a1,
                 LoadData2DParams(i, fractals, fractals, 0, 0, false, 0));
        LoadData(b2[i * fractals * 256], b1,
                 LoadData2DParams(i, fractals, fractals, 0, 0, true, 0));
      }
      SetFlag<HardEvent::MTE1_MTE2>(0);
      SetFlag<HardEvent::MTE1_M>(0);
      WaitFlag<HardEvent::MTE1_M>(0);
      Mmad(c1, a2, b2, MmadParams(tile, tile, tile, 0, false, step == 0));
      SetFlag<HardEvent::M_MTE1>(0);
    }
    WaitFlag<HardEvent::MTE1_MTE2>(0);
    WaitFlag<HardEvent::M_MTE1>(0);
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    Fixpipe<float, float, CFG_ROW_MAJOR>(cGm, c1, FixpipeParamsV220(tile, tile, tile, n, false));
    PipeBarrier<PIPE_ALL>();
  }
};

} // namespace tilewright::ascend::testing

#endif
