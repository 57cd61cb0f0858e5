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
  setOfCubeCore,
  waitOfCubeCore,
  setTwice,
  deadlock,
  deadlockAtEnd,
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
  if constexpr (fault == Fault::setOfCubeCore)
    SetFlag<HardEvent::M_FIX>(1);
  if constexpr (fault == Fault::waitOfCubeCore)
    WaitFlag<HardEvent::MTE1_M>(0);
  if constexpr (fault == Fault::setTwice) {
    SetFlag<HardEvent::V_MTE2>(3); // the first time
    SetFlag<HardEvent::V_MTE2>(3); // again
    WaitFlag<HardEvent::V_MTE2>(3);
    WaitFlag<HardEvent::V_MTE2>(3);
  }
  if constexpr (fault == Fault::deadlockAtEnd) {
    TPipe pipe;
    WaitFlag<HardEvent::MTE2_V>(1); // nothing sets it
    Duplicate(a, 1.0f, 256);
  }
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

/// A mixed kernel's code is the same for both kinds of core; each leaves out the other's events.
__global__ __aicore__ void all_cores(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  SetFlag<HardEvent::M_FIX>(1);
  WaitFlag<HardEvent::M_FIX>(1);
  SetFlag<HardEvent::V_MTE3>(1);
  WaitFlag<HardEvent::V_MTE3>(1);
  (void)x;
}
__global__ __aicore__ void cube_only(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  SetFlag<HardEvent::V_MTE3>(1);
  (void)x;
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
                 "SetValue writes UB byte 1024, behind the end of the tensor [ErrorWrite2]");
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

TEST(SyncChecks, EventsOfTheOtherKindOfCore) {
  EXPECT_MESSAGE(setOfCubeCore, 507035,
                 "SetFlag<HardEvent::M_FIX> is for cube cores, of which this kernel has none; "
                 "KERNEL_TYPE_MIX_AIC_1_2 gives it both");
  EXPECT_MESSAGE(waitOfCubeCore, 507035,
                 "WaitFlag<HardEvent::MTE1_M> is for cube cores, of which this kernel has none");
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<float> x(256);
  all_cores<<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
  cube_only<<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_NE(allFindings().find("SetFlag<HardEvent::V_MTE3> is for vector cores, of which this "
                               "kernel has none"),
            std::string::npos)
      << allFindings();
}

/// Both places, in this order.
TEST(SyncChecks, FindingsBeginAtTheKernelsOwnLine) {
  std::string text = messageOf<Fault::setTwice>();
  size_t again = text.find("// again"), first = text.find("// the first time");
  EXPECT_LT(again, first) << text;
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_NE(text.find("note: it was set here before"), std::string::npos) << text;
  text = messageOf<Fault::deadlockAtEnd>();
  size_t head = text.find("// nothing sets it");
  EXPECT_LT(head, text.find("note: ")) << text;
  EXPECT_EQ(text.find("queues.h"), std::string::npos) << text;
}
