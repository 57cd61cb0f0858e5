// SPDX-License-Identifier: Apache-2.0
// What the host says about wrong flags, barriers and places: one fault each.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

enum class Fault {
  none,
  vectorWritesL1,
  scalarPastTensor,
  scalarOnNoMemory,
  scalarBarrier,
  setFlagId,
  waitFlagId,
  mode,
  setInVectorKernel,
  waitInVectorKernel,
  noSuchEvent,
  deadlock,
};

template <Fault fault> __aicore__ void misuse(GM_ADDR x) {
  LocalTensor<float> a(TPosition::VECCALC, 0, 256);
  GlobalTensor<float> gm;
  if constexpr (fault == Fault::vectorWritesL1)
    DataCopy(LocalTensor<float>(TPosition::A1, 0, 256), a, 256);
  if constexpr (fault == Fault::scalarPastTensor)
    a.SetValue(256, 1.0f);
  if constexpr (fault == Fault::scalarOnNoMemory) {
    gm.SetGlobalBuffer((__gm__ float*)0x1000);
    gm.SetValue(0, 1.0f);
  }
  if constexpr (fault == Fault::scalarBarrier) // PipeBarrier<PIPE_S> is refused by the compiler
    host::issueBarrier(host::Pipe::S, host::Place::here());
  if constexpr (fault == Fault::setFlagId)
    CrossCoreSetFlag<0, PIPE_MTE3>(16);
  if constexpr (fault == Fault::waitFlagId)
    CrossCoreWaitFlag(99);
  if constexpr (fault == Fault::mode)
    CrossCoreSetFlag<3, PIPE_MTE3>(0);
  if constexpr (fault == Fault::setInVectorKernel)
    CrossCoreSetFlag<0, PIPE_MTE3>(0);
  if constexpr (fault == Fault::waitInVectorKernel)
    CrossCoreWaitFlag(0);
  if constexpr (fault == Fault::noSuchEvent)
    SetFlag<HardEvent::M_V>(0);
  if constexpr (fault == Fault::deadlock) {
    WaitFlag<HardEvent::MTE2_V>(1);
    Duplicate(a, 1.0f, 256);
  }
  (void)gm;
  (void)x;
}

template <Fault fault> __global__ __aicore__ void vector_kernel(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Duplicate(LocalTensor<float>(TPosition::VECCALC, 0, 256), 1.0f, 256);
  PipeBarrier<PIPE_ALL>();
  misuse<fault>(x);
}

template <Fault fault> std::string messageOf() {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<float> x(256);
  vector_kernel<fault><<<1, nullptr, nullptr>>>(x.gm());
  return allFindings();
}

#define EXPECT_MESSAGE(fault, code, part)                                                          \
  do {                                                                                             \
    std::string text = messageOf<Fault::fault>();                                                  \
    EXPECT_NE(text.find(part), std::string::npos) << #fault << ": " << text;                       \
    EXPECT_NE(text.find("sync_checks_test.cpp:"), std::string::npos) << text;                      \
    EXPECT_EQ(lastReport().status, code) << #fault;                                                \
  } while (0)

TEST(SyncChecks, RightKernelSaysNothing) {
  EXPECT_EQ(messageOf<Fault::none>(), "");
}

TEST(SyncChecks, Places) {
  EXPECT_MESSAGE(vectorWritesL1, 507015, "writes L1, which a vector core doesn't have");
  EXPECT_MESSAGE(scalarPastTensor, 507035,
                 "SetValue writes behind the end of the tensor [ErrorWrite2]");
  EXPECT_MESSAGE(scalarOnNoMemory, 507035,
                 "SetValue writes GM at 0x1000, which belongs to no allocation [ErrorWrite1]");
}

TEST(SyncChecks, Barriers) {
  EXPECT_MESSAGE(scalarBarrier, 507015, "PipeBarrier doesn't take PIPE_S");
}

TEST(SyncChecks, CrossCoreFlags) {
  EXPECT_MESSAGE(setFlagId, 507015, "CrossCoreSetFlag has flag id 16, but ids go from 0 to 15");
  EXPECT_MESSAGE(waitFlagId, 507015, "CrossCoreWaitFlag has flag id 99, but ids go from 0 to 15");
  EXPECT_MESSAGE(mode, 507015, "CrossCoreSetFlag has mode 3, but arch 2201 has modes 0, 1, 2");
  EXPECT_MESSAGE(setInVectorKernel, 507015,
                 "CrossCoreSetFlag needs a mixed kernel; add "
                 "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0) or _MIX_AIC_1_2");
  EXPECT_MESSAGE(waitInVectorKernel, 507015,
                 "CrossCoreWaitFlag needs a mixed kernel; add "
                 "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0) or _MIX_AIC_1_2");
}

TEST(SyncChecks, Events) {
  EXPECT_MESSAGE(noSuchEvent, 507015, "SetFlag: arch 2201 has no event HardEvent::M_V, event id 0");
  EXPECT_MESSAGE(deadlock, 507014, "deadlock: ");
  EXPECT_NE(allFindings().find(" [ErrorSync3, 507014]"), std::string::npos) << allFindings();
}
