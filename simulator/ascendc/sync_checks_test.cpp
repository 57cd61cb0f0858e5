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
  readFreed,
  writeFreed,
  scalarFreed,
  freedInTime,
  atomicsOn,
  counterModeOn,
  twoPipes,
  pipesInTurn,
  queueMessages,
  leakMessage,
  enqueuedTwice,
  freedWhileEnqueued,
  noBuffers,
  nothingToDequeue,
  noBufferLeft,
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
    twHost::issueBarrier(twHost::Pipe::S, twHost::Place::here());
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

/// Of queues, and what a kernel leaves behind.
template <Fault fault> __aicore__ void misuseOfQueue() {
  LocalTensor<float> a(TPosition::VECCALC, 65536, 64);
  if constexpr (fault >= Fault::readFreed && fault <= Fault::freedInTime) {
    TPipe pipe;
    TQue<TPosition::VECIN, 2> queue, other;
    pipe.InitBuffer(other, 1, 256);
    pipe.InitBuffer(queue, 2, 256);
    auto t = queue.template AllocTensor<float>();
    Duplicate(a, 1.0f, 64);
    Duplicate(t, 1.0f, 64);
    PipeBarrier<PIPE_V>();
    if (fault != Fault::freedInTime)
      queue.FreeTensor(t); // freed here
    if (fault == Fault::readFreed)
      Adds(a, t, 1.0f, 64);
    if (fault == Fault::writeFreed)
      Adds(t[32], a, 1.0f, 32);
    if (fault == Fault::scalarFreed)
      t.SetValue(1, 1.0f);
    if (fault == Fault::freedInTime) { // the same bytes again, and by hand what no tensor has
      queue.FreeTensor(t);
      queue.FreeTensor(queue.template AllocTensor<float>());
      auto u = queue.template AllocTensor<float>();
      Adds(a, u, 1.0f, 64);
      queue.FreeTensor(u);
      Duplicate(LocalTensor<float>(TPosition::VECCALC, 256, 64), 1.0f, 64);
    }
  }
  if constexpr (fault == Fault::atomicsOn)
    SetAtomicAdd<float>();
  if constexpr (fault == Fault::counterModeOn)
    SetMaskCount();
  if constexpr (fault == Fault::twoPipes || fault == Fault::pipesInTurn) {
    {
      TPipe first;
      first.Reset();
      first.Destroy();
      first.Init();
    }
    TPipe second;
    if (fault == Fault::twoPipes)
      TPipe third;
  }
  if constexpr (fault >= Fault::enqueuedTwice && fault <= Fault::noBufferLeft) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    if (fault != Fault::noBuffers)
      pipe.InitBuffer(queue, 1, 256);
    if (fault == Fault::nothingToDequeue)
      queue.template DeQue<float>();
    auto t = queue.template AllocTensor<float>();
    if (fault == Fault::noBufferLeft)
      queue.template AllocTensor<float>();
    queue.EnQue(t);
    if (fault == Fault::enqueuedTwice)
      queue.EnQue(t);
    queue.FreeTensor(t);
  }
  if constexpr (fault == Fault::queueMessages || fault == Fault::leakMessage) {
    TPipe pipe;
    TQue<TPosition::VECOUT, 2> queue;
    pipe.InitBuffer(queue, 2, 96);
    auto t = queue.template AllocTensor<float>();
    auto u = queue.template AllocTensor<float>();
    queue.FreeTensor(u);
    if (fault == Fault::queueMessages)
      queue.FreeTensor(u);
    (void)t;
  }
  (void)a;
}

template <Fault fault> __global__ __aicore__ void vector_kernel(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Duplicate(LocalTensor<float>(TPosition::VECCALC, 0, 256), 1.0f, 256);
  PipeBarrier<PIPE_ALL>();
  misuse<fault>(x);
  misuseOfQueue<fault>();
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
__global__ __aicore__ void flags_and_meeting(GM_ADDR x, uint32_t flag) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIC
    CrossCoreSetFlag<2, PIPE_FIX>(flag);
  else
    CrossCoreWaitFlag(flag);
  SyncAll<false>();
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
  EXPECT_MESSAGE(vectorWritesL1, 507035, "writes L1, which a vector core doesn't have");
  EXPECT_MESSAGE(
      vectorWritesL1, 507035,

      "note: cube cores and vector cores have memories of their own; what both need goes "
      "through GM");
  EXPECT_MESSAGE(scalarPastTensor, 507035, "note: use an index below the tensor's size");
  EXPECT_MESSAGE(scalarPastTensor, 507035,
                 "SetValue writes UB byte 1024, behind the end of the tensor [ErrorWrite2]");
  EXPECT_MESSAGE(scalarOnNoMemory, 507035,
                 "SetValue writes GM at 0x1000, which belongs to no allocation [ErrorWrite1]");
}

TEST(SyncChecks, Barriers) {
  EXPECT_MESSAGE(scalarBarrier, 507035, "PipeBarrier doesn't take PIPE_S");
  EXPECT_MESSAGE(scalarBarrier, 507035, "note: leave it out: the scalar unit works in order");
}

TEST(SyncChecks, CrossCoreFlags) {
  EXPECT_MESSAGE(setFlagId, 507035, "CrossCoreSetFlag has flag id 16, but ids go from 0 to 15");
  EXPECT_MESSAGE(waitFlagId, 507035, "CrossCoreWaitFlag has flag id 99, but ids go from 0 to 15");
  EXPECT_MESSAGE(mode, 507035, "CrossCoreSetFlag has mode 3, but arch 2201 has modes 0, 1, 2");
  EXPECT_MESSAGE(setInVectorKernel, 507035,
                 "CrossCoreSetFlag needs a mixed kernel; add "
                 "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0) or _MIX_AIC_1_2");
  EXPECT_MESSAGE(waitInVectorKernel, 507035,
                 "CrossCoreWaitFlag needs a mixed kernel; add "
                 "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0) or _MIX_AIC_1_2");
}

TEST(SyncChecks, Events) {
  EXPECT_MESSAGE(noSuchEvent, 507035, "SetFlag: arch 2201 has no event HardEvent::M_V, event id 0");
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

TEST(SyncChecks, FreedMemory) {
  EXPECT_MESSAGE(readFreed, 507035,
                 "Adds reads UB from byte 256 on, in a buffer that FreeTensor has given back; free "
                 "it later, or AllocTensor a new one [ErrorRead1]");
  EXPECT_MESSAGE(readFreed, 507035, "queue.FreeTensor(t); // freed here");
  EXPECT_MESSAGE(readFreed, 507035, "note: it was freed here");
  EXPECT_MESSAGE(readFreed, 507035, "note: on PIPE_V");
  EXPECT_MESSAGE(writeFreed, 507035, "Adds writes UB from byte 384 on, in a buffer");
  EXPECT_MESSAGE(scalarFreed, 507035, "SetValue writes UB from byte 260 on, in a buffer");
  EXPECT_EQ(messageOf<Fault::freedInTime>(), "");
}

TEST(SyncChecks, WhatAKernelLeavesBehind) {
  EXPECT_MESSAGE(atomicsOn, 0,
                 "warning: the kernel ends with atomic stores on, and the next kernel on this core "
                 "would begin with them; call SetAtomicNone() behind the last one");
  EXPECT_MESSAGE(counterModeOn, 0,
                 "warning: the kernel ends with masks in counter mode, and the next kernel on this "
                 "core would begin with it; call SetMaskNorm() behind the last use");
}

TEST(SyncChecks, PipesAndQueues) {
  EXPECT_MESSAGE(twoPipes, 0,
                 "warning: a kernel has one TPipe, but another one is still there; both give away "
                 "the same memory from byte 0 on");
  EXPECT_EQ(messageOf<Fault::pipesInTurn>(), "");
  EXPECT_MESSAGE(queueMessages, 507035,
                 "FreeTensor: the tensor is already free [ErrorFree]; queue of VECOUT, buffer 1 at "
                 "byte 96");
  EXPECT_MESSAGE(
      enqueuedTwice, 507035,
      "EnQue: the tensor is already in the queue or was freed; queue of VECIN, buffer 0");
  EXPECT_MESSAGE(freedWhileEnqueued, 507035,
                 "FreeTensor: the tensor is still in the queue; DeQue it first; queue of VECIN");
  EXPECT_MESSAGE(noBuffers, 507035,
                 "the queue has no buffers; call TPipe::InitBuffer first [ErrorBuffer0]; queue of "
                 "VECIN with 0 buffers of 0 bytes");
  EXPECT_MESSAGE(
      nothingToDequeue, 507035,
      "DeQue: the queue holds no tensor; EnQue one first; queue of VECIN with 1 buffers");
  EXPECT_MESSAGE(noBufferLeft, 507035,
                 "AllocTensor: all buffers of the queue are in use; free one with FreeTensor or "
                 "give InitBuffer a larger number; queue of VECIN");
  EXPECT_MESSAGE(leakMessage, 0, "FreeTensor it [ErrorLeak]; queue of VECOUT, buffer 0 at byte 0");
}

TEST(SyncChecks, FlagsOfSyncAll) {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<float> x(256);
  flags_and_meeting<<<1, nullptr, nullptr>>>(x.gm(), 10u);
  EXPECT_EQ(allFindings(), "");
  flags_and_meeting<<<1, nullptr, nullptr>>>(x.gm(), 12u);
  EXPECT_NE(
      allFindings().find("warning: cross-core flag 12 is used in a kernel that calls SyncAll, "
                         "which uses flags 11 to 14 itself; use 0 to 10"),
      std::string::npos)
      << allFindings();
}

/// One kind of core sets flag 2 `times` times in a row, the other waits for all of it; in modes 0 and 1, vector cores do
/// both. With `answers`, each set comes behind the wait for the one before it.
template <int mode, bool cubeSets, bool answers>
__global__ __aicore__ void sets_in_a_row(int times) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  constexpr bool isCube = g_coreType == AscendC::AIC, meets = mode != 2;
  constexpr bool isSetter = isCube == cubeSets, isWaiter = isCube != cubeSets;
  constexpr pipe_t pipe = isCube ? PIPE_FIX : PIPE_MTE3;
  for (int i = 0; i < times; ++i) {
    if (isSetter)
      CrossCoreSetFlag<mode, pipe>(2); // sets
    if (meets ? isSetter && answers : isWaiter)
      CrossCoreWaitFlag(2);
    if (!meets && answers && isWaiter)
      CrossCoreSetFlag<2, pipe>(3);
    if (!meets && answers && isSetter)
      CrossCoreWaitFlag(3);
  }
  if (meets && !answers && isSetter)
    for (int i = 0; i < times; ++i)
      CrossCoreWaitFlag(2);
}

TEST(SyncChecks, CrossCoreFlagsSetAgainBeforeTheWait) {
  const std::string again =
      "warning: CrossCoreSetFlag sets cross-core flag 2 again before it is waited for; the chip "
      "counts up to 15 sets, but the documentation allows no two in a row (";
  const std::string tooOften = "error: CrossCoreSetFlag sets flag 2 a 16th time before it is "
                               "waited for; the counter ends at "
                               "15 (";
  auto textOf = [](void (*kernel)(int), int times) {
    catchLaunches();
    nextOptions() = {};
    kernel<<<2, nullptr, nullptr>>>(times);
    return allFindings();
  };
  auto setsOf = [](const std::string& text) { // lines that the findings show
    size_t n = 0;
    for (size_t at = 0; (at = text.find("// sets", at)) != std::string::npos; ++at)
      ++n;
    return n;
  };
  for (auto kernel : {sets_in_a_row<2, true, false>, sets_in_a_row<2, false, false>,
                      sets_in_a_row<1, false, false>, sets_in_a_row<0, false, false>}) {
    EXPECT_EQ(textOf(kernel, 1), "");
    std::string text = textOf(kernel, 15);
    EXPECT_NE(text.find(again), std::string::npos) << text;
    EXPECT_NE(text.find("note: it was set here before"), std::string::npos) << text;
    EXPECT_NE(text.find("note: use another flag for every second set"), std::string::npos) << text;
    EXPECT_EQ(setsOf(text), 2u) << text;
    EXPECT_EQ(text.find("error"), std::string::npos) << text;
    EXPECT_EQ(lastReport().status, 0);
    text = textOf(kernel, 16);
    EXPECT_NE(text.find(tooOften), std::string::npos) << text;
    EXPECT_NE(text.find("note: have this core wait for a flag of the core that waits"),
              std::string::npos)
        << text;
  }
  for (auto kernel : {sets_in_a_row<2, true, true>, sets_in_a_row<2, false, true>,
                      sets_in_a_row<1, false, true>, sets_in_a_row<0, false, true>})
    EXPECT_EQ(textOf(kernel, 40), "");
}

__global__ __aicore__ void vector_barriers() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  PipeBarrier<PIPE_MTE3>();
  PipeBarrier<PIPE_M>();
}
__global__ __aicore__ void cube_barriers() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  PipeBarrier<PIPE_FIX>();
  PipeBarrier<PIPE_V>();
}
/// The barriers are for one kind of core each; the flag is set by a pipe that its core has, or not.
template <pipe_t pipe> __global__ __aicore__ void mixed_barriers() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  SetSyncBaseAddr(0); // without effect
  PipeBarrier<PIPE_M>();
  PipeBarrier<PIPE_V>();
  if ASCEND_IS_AIV
    CrossCoreSetFlag<2, pipe>(1);
  else
    CrossCoreWaitFlag(1);
}

TEST(SyncChecks, PipesThatACoreLacks) {
  auto textOf = [](void (*kernel)()) {
    catchLaunches();
    nextOptions() = {};
    kernel<<<1, nullptr, nullptr>>>();
    EXPECT_EQ(lastReport().status, 0);
    return allFindings();
  };
  auto expectWarning = [](const std::string& text, const char* warning, const char* note) {
    EXPECT_NE(text.find(warning), std::string::npos) << text;
    EXPECT_NE(text.find(note), std::string::npos) << text;
  };
  expectWarning(textOf(vector_barriers),
                "warning: PipeBarrier<PIPE_M> waits for nothing: a vector core doesn't have this "
                "pipe (vector core 0)",
                "note: its pipes are PIPE_V, PIPE_MTE2 and PIPE_MTE3");
  EXPECT_EQ(lastReport().findings.size(), 1u);
  expectWarning(
      textOf(cube_barriers),
      "warning: PipeBarrier<PIPE_V> waits for nothing: a cube core doesn't have this pipe",
      "note: its pipes are PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3 and PIPE_FIX");
  EXPECT_EQ(textOf(mixed_barriers<PIPE_MTE3>), "");
  expectWarning(textOf(mixed_barriers<PIPE_FIX>),
                "warning: CrossCoreSetFlag<PIPE_FIX> waits for nothing: a vector core",
                "note: its");
}

/// Faults that end a core, and findings that don't, on the vector cores of kernels of each kind that has some.
enum class Kind { race, neverWritten, leftSet, wrongId, wrongAddress, unknownGm };
template <Kind kind> __aicore__ void faultOf(GM_ADDR x) {
  if ASCEND_IS_AIC
    return;
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> a(TPosition::VECCALC, 0, 64), b(TPosition::VECCALC, 1024, 64);
  if constexpr (kind == Kind::race) {
    DataCopy(a, gm, 64);
    Adds(a, a, 1.0f, 64);
  }
  if constexpr (kind == Kind::neverWritten) {
    Adds(a, b, 1.0f, 64);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(gm, a, 64);
  }
  if constexpr (kind == Kind::leftSet)
    SetFlag<HardEvent::V_MTE3>(0);
  if constexpr (kind == Kind::wrongId)
    SetFlag<HardEvent::V_MTE3>(8);
  if constexpr (kind == Kind::wrongAddress)
    Duplicate(LocalTensor<float>(TPosition::VECCALC, 192 * 1024, 64), 1.0f, 64);
  if constexpr (kind == Kind::unknownGm)
    DataCopy(a, gm[1 << 20], 64);
}
template <Kind kind> __global__ __aicore__ void inVectorKernel(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  faultOf<kind>(x);
}
template <Kind kind> __global__ __aicore__ void inMixedKernel(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  faultOf<kind>(x);
}
template <Kind kind> __global__ __aicore__ void inMixedVectorKernel(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  faultOf<kind>(x);
}
template <Kind kind> void expectStatuses() {
  catchLaunches();
  nextOptions() = {};
  DeviceBuffer<float> x(64);
  inVectorKernel<kind><<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(lastReport().status, 507035) << allFindings();
  inMixedKernel<kind><<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(lastReport().status, 507015) << allFindings();
  inMixedVectorKernel<kind><<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(lastReport().status, 507015) << allFindings();
}
TEST(SyncChecks, TheStatusTellsTheKindOfKernel) {
  expectStatuses<Kind::race>();
  expectStatuses<Kind::neverWritten>();
  expectStatuses<Kind::leftSet>();
  expectStatuses<Kind::wrongId>();
  expectStatuses<Kind::wrongAddress>();
  expectStatuses<Kind::unknownGm>();
}
