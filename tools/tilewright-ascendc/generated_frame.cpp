// SPDX-License-Identifier: Apache-2.0
// For test_generated_frame.py: the frame of a file that TileLang for Ascend generates. A mixed kernel with all memories in
// TBufs, both scopes, and a host function that starts it.
#include "acl/acl.h"
#include "tl_templates/ascend/common.h"
#include <runtime/rt_ffts.h>
using namespace Catlass;

extern "C" __global__ __aicore__ void main_kernel(GM_ADDR A_handle, GM_ADDR B_handle,
                                                  GM_ADDR C_handle, int64_t m, uint64_t fftsAddr) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  AscendC::TPipe pipe;
  AscendC::GlobalTensor<half> A;
  A.SetGlobalBuffer((__gm__ half*)A_handle);
  AscendC::GlobalTensor<half> B;
  B.SetGlobalBuffer((__gm__ half*)B_handle);
  AscendC::GlobalTensor<float> C;
  C.SetGlobalBuffer((__gm__ float*)C_handle);
  AscendC::TBuf<AscendC::TPosition::A2> ascend_l0a;
  pipe.InitBuffer(ascend_l0a, 65536);
  AscendC::TBuf<AscendC::TPosition::B2> ascend_l0b;
  pipe.InitBuffer(ascend_l0b, 65536);
  AscendC::TBuf<AscendC::TPosition::A1> ascend_l1;
  pipe.InitBuffer(ascend_l1, 524032);
  AscendC::TBuf<AscendC::TPosition::CO1> ascend_l0c;
  pipe.InitBuffer(ascend_l0c, 131072);
  AscendC::TBuf<AscendC::TPosition::VECCALC> ascend_ub;
  pipe.InitBuffer(ascend_ub, 196352);
  pipe.Destroy();
  auto cid = AscendC::GetBlockIdx();
  if ASCEND_IS_AIV {
    cid = cid / 2;
  }
  auto vid = AscendC::GetSubBlockIdx();
  auto a_l1 = ascend_l1.GetWithOffset<half>(256, 0);
  auto c_l0 = ascend_l0c.GetWithOffset<float>(256, 0);
  auto a_l0 = ascend_l0a.GetWithOffset<half>(256, 0);
  auto b_l0 = ascend_l0b.GetWithOffset<half>(256, 0);
  auto a_ub = ascend_ub.GetWithOffset<half>(256, 0);
  auto b_ub = ascend_ub.GetWithOffset<half>(256, 512);
  if (cid * 32 >= m)
    return;
  if ASCEND_IS_AIC {
    AscendC::CrossCoreWaitFlag(0);
    AscendC::DataCopy(a_l1, B[cid * 512], AscendC::Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::LoadData(a_l0, a_l1, AscendC::LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    AscendC::LoadData(b_l0, a_l1, AscendC::LoadData2DParams(0, 1, 1, 0, 0, true, 0));
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::MmadParams mmad;
    mmad.m = mmad.n = mmad.k = 16;
    mmad.cmatrixInitVal = true;
    AscendC::Mmad(c_l0, a_l0, b_l0, mmad);
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::Fixpipe(C[cid * 256], c_l0, AscendC::FixpipeParamsV220(16, 16, 16, 16, false));
  }
  if ASCEND_IS_AIV {
    AscendC::DataCopy(a_ub, A[cid * 512 + vid * 256], 256);
    AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(0);
    AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(0);
    tl::ascend::transpose<half>(b_ub, a_ub);
    AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0);
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);
    AscendC::DataCopy(B[cid * 512 + vid * 256], b_ub, 256);
    AscendC::CrossCoreSetFlag<2, PIPE_MTE3>(0);
  }
}

void main_kernel_tiling(int64_t rows, int64_t& m) {
  m = rows;
}
extern "C" void call(uint8_t* A_handle, uint8_t* B_handle, uint8_t* C_handle, int64_t rows,
                     aclrtStream stream) {
  int64_t m;
  main_kernel_tiling(rows, m);
  uint32_t fftsLen{0};
  uint64_t fftsAddr{0};
  rtGetC2cCtrlAddr(&fftsAddr, &fftsLen);
  main_kernel<<<(m + 31) / 32, nullptr, stream>>>(A_handle, B_handle, C_handle, m, fftsAddr);
}
