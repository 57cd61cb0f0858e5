// SPDX-License-Identifier: Apache-2.0
// What the host says about kernels that are wrong: one fault each. None may end the program.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <cassert>
#include <chrono>
#include <csignal>
#include <dlfcn.h>
#include <exception>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <search.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace AscendC;
using namespace tilewright::ascend::testing;

enum class Fault : int {
  none,
  pastUb,
  fillPastUb,
  pastTensor,
  misalignedSource,
  misalignedRows,
  pastGm,
  noGm,
  neverWritten,
  padding,
  setTwice,
  setOnly,
  waitOnly,
  wrongEvent,
  mask,
  halfBlocks,
  tooManyBytes,
  freeTwice,
  dequeueEmpty,
  freeElsewhere,
  freeInLaterQueue,
  enqueueElsewhere,
  neverFreed,
  allBuffersUsed,
  noInitBuffer,
  scalarRead,
  partOverlap,
  compareCount,
  wrongType,
  crossFlagInVectorKernel,
  endlessLoop,
  endlessCalls,
  nullPointer,
  wildPointer,
  stackOverflow,
  stackOverflowOfLambda,
  divideByZero,
  assertion,
  assertionInWords,
  exception,
  largeArray,
  trap,
  callsAbort,
  raises,
  kills,
  sendsAbort,
  overflowsStack,
  assertsInLibrary,
  abortsUnseen,
  libraryAborts,
  oldHeapAddress,
  callsExit,
  callsAssert,
  nullCall,
  inLibrary,
  terminates,
  startsThread,
  launches,
  eventId,
  partialBarrier,
  hugeCopy,
  gatherOffset,
  offsetWraps,
  gmOffsetWraps,
  negativeCount,
  maskOfNoLane,
  maskOfNoBit,
  registerOfNoLane,
  registerOfNegativeLength,
  bitsBeyondLanes,
  tooManyRepeats,
  oddScalar,
  oddScalarOfGm,
  otherCore,
  otherCoresMemory,
  emptyQueue,
  emptyBuffer,
};

extern "C" void __stack_chk_fail();
namespace std {
void __glibcxx_assert_fail(const char* file, int line, const char* function,
                           const char* condition) noexcept;
}
/// That of a library, which tilewright-ascendc has not seen.
inline void (*abortOfLibrary())() {
  return reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "abort"));
}

volatile int always = 1;
volatile int zero = 0;
inline int recurse(int depth) {
  volatile char room[1024];
  room[0] = static_cast<char>(depth);
  return depth ? recurse(depth + 1) + room[0] : 0;
}

/// What plain C++ code can do.
template <Fault fault> __aicore__ void hostile(LocalTensor<float> a, LocalTensor<float> b) {
  if constexpr (fault == Fault::endlessLoop)
    while (always) {
    }
  if constexpr (fault == Fault::endlessCalls)
    while (always)
      Adds(b, b, 1.0f, 64);
  if constexpr (fault == Fault::nullPointer)
    *(volatile int*)nullptr = 1; // writes to null here
  if constexpr (fault == Fault::wildPointer)
    *(volatile int*)0x6EAD0000BEE0 = 1;
  if constexpr (fault == Fault::stackOverflow)
    always = recurse(1);
  if constexpr (fault == Fault::stackOverflowOfLambda) {
    std::function<int(int)> deeper = [&](int n) {
      return n ? deeper(n - 1) + n : 0; // recurses here
    };
    always = deeper(100000000);
  }
  if constexpr (fault == Fault::divideByZero)
    always = 5 / zero; // divides here
  if constexpr (fault == Fault::exception)
    throw 5; // throws here
  if constexpr (fault == Fault::largeArray) {
    volatile char room[16 << 20];
    room[always] = 1;
    always = room[zero + 1];
  }
  if constexpr (fault == Fault::trap)
    __builtin_trap(); // traps here
  if constexpr (fault == Fault::callsAbort)
    abort(); // aborts here
  if constexpr (fault == Fault::raises)
    raise(SIGTERM); // raises here
  if constexpr (fault == Fault::kills)
    kill(getpid(), SIGTERM); // kills here
  if constexpr (fault == Fault::sendsAbort)
    ((int (*)(int))dlsym(RTLD_DEFAULT, "raise"))(SIGABRT); // sends here
  if constexpr (fault == Fault::overflowsStack)
    __stack_chk_fail(); // overflows here
  if constexpr (fault == Fault::assertsInLibrary)
    std::__glibcxx_assert_fail("file", 1, "function", "condition"); // the library asserts
  if constexpr (fault == Fault::abortsUnseen)
    abortOfLibrary()(); // aborts as a library would
  if constexpr (fault == Fault::libraryAborts) {
    int one = 0;
    size_t count = 1;
    auto compare = reinterpret_cast<int (*)(const void*, const void*)>(abortOfLibrary());
    lfind(&one, &one, &count, sizeof one, compare); // a library aborts
  }
  if constexpr (fault == Fault::oldHeapAddress) {
    delete[] new char[5000];     // leaves addresses of the heap's functions on the stack
    *(volatile int*)nullptr = 2; // writes with an old stack
  }
  if constexpr (fault == Fault::callsExit)
    exit(3); // exits here
  if constexpr (fault == Fault::callsAssert)
    assert(always == 7); // asserts here
  if constexpr (fault == Fault::assertion)
    ASSERT(a.GetSize() == 1 && "one element");
  if constexpr (fault == Fault::assertionInWords)
    ascendc_assert(a.GetSize() == 1, "%u elements, not %.1f", a.GetSize(), half(1.0f));
  if constexpr (fault == Fault::nullCall) {
    void (*volatile nothing)() = nullptr;
    nothing(); // calls nothing
  }
  if constexpr (fault == Fault::inLibrary) {
    std::vector<int> three(3);
    always = three.at(5); // the library throws
  }
  if constexpr (fault == Fault::terminates)
    std::terminate(); // terminates here
  if constexpr (fault == Fault::startsThread) {
    std::thread other([] {}); // a thread
    other.join();
  }
  (void)a;
  (void)b;
}

/// Operands that no core has: beyond 32 or 64 bits, odd addresses, another core's, none at all.
template <Fault fault>
__aicore__ void wrongOperands(LocalTensor<float> a, LocalTensor<float> b, GlobalTensor<float> gm,
                              GM_ADDR x) {
  if constexpr (fault == Fault::maskOfNoLane)
    Adds(b, a, 1.0f, uint64_t{0}, 1, {1, 1, 8, 8});
  if constexpr (fault == Fault::maskOfNoBit) {
    uint64_t bits[] = {0, 1}; // floats have no lane 64
    Adds(b, a, 1.0f, bits, 1, {1, 1, 8, 8});
  }
  if constexpr (fault == Fault::registerOfNoLane || fault == Fault::registerOfNegativeLength) {
    if (fault == Fault::registerOfNoLane)
      SetVectorMask<float, MaskMode::NORMAL>(0, 0);
    else
      SetVectorMask<float, MaskMode::NORMAL>(-3);
    Adds<float, false>(b, a, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    ResetMask();
  }
  if constexpr (fault == Fault::bitsBeyondLanes) {
    uint64_t all[] = {~0ull, ~0ull}, more[] = {~0ull, 1};
    Adds(b, a, 1.0f, all, 1, {1, 1, 8, 8}); // all that there are
    PipeBarrier<PIPE_V>();
    Adds(b.ReinterpretCast<half>(), a.ReinterpretCast<half>(), half(1.0f), more, 1, {1, 1, 8, 8});
    PipeBarrier<PIPE_V>();
    Adds(b, a, 1.0f, more, 1, {1, 1, 8, 8}); // beyond the lanes
  }
  if constexpr (fault == Fault::tooManyRepeats)
    Adds(b, a, 1.0f, 64, static_cast<uint8_t>(zero + 256), {1, 1, 8, 8});
  if constexpr (fault == Fault::offsetWraps)
    Adds(a[1u << 30], a, 1.0f, 64); // 2^32 bytes
  if constexpr (fault == Fault::gmOffsetWraps)
    DataCopy(a, gm[uint64_t{1} << 62], 64); // 2^64 bytes
  if constexpr (fault == Fault::negativeCount)
    Adds(b, a, 1.0f, zero - 5);
  if constexpr (fault == Fault::oddScalar)
    LocalTensor<float>(TPosition::VECCALC, 2, 64).SetValue(0, 1.0f);
  if constexpr (fault == Fault::oddScalarOfGm) {
    gm.SetGlobalBuffer((__gm__ float*)(x + 2));
    a.SetValue(0, gm.GetValue(0));
  }
  if constexpr (fault == Fault::otherCore) {
    LocalTensor<half> l1(TPosition::A1, 0, 256), l0(TPosition::A2, 0, 256);
    LoadData(l0, l1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  }
  if constexpr (fault == Fault::otherCoresMemory)
    LocalTensor<half>(TPosition::A1, 0, 256).SetValue(0, half(1.0f));
  if constexpr (fault == Fault::freeElsewhere || fault == Fault::freeInLaterQueue ||
                fault == Fault::enqueueElsewhere || fault == Fault::neverFreed) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue, other;
    pipe.InitBuffer(queue, 1, 1024);
    pipe.InitBuffer(other, 1, 1024);
    auto t = queue.template AllocTensor<float>();
    auto later = other.template AllocTensor<float>(); // begins where `t` ends
    if (fault == Fault::freeElsewhere)
      queue.FreeTensor(later);
    if (fault == Fault::freeInLaterQueue)
      other.FreeTensor(t);
    if (fault == Fault::enqueueElsewhere)
      other.EnQue(t);
  }
  if constexpr (fault == Fault::emptyQueue || fault == Fault::emptyBuffer) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(queue, 1, 0);
    pipe.InitBuffer(buffer, 0);
    Adds(fault == Fault::emptyQueue ? queue.template AllocTensor<float>() : buffer.Get<float>(), a,
         1.0f, 64);
  }
  (void)a;
  (void)b;
  (void)gm;
  (void)x;
}

__global__ __aicore__ void one_row(GM_ADDR y);

template <Fault fault> __global__ __aicore__ void faulty(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> a(TPosition::VECCALC, 0, 256), b(TPosition::VECCALC, 1024, 256);
  Duplicate(a, 1.0f, 256);
  Duplicate(b, 2.0f, 256);
  PipeBarrier<PIPE_ALL>();
  if constexpr (fault == Fault::pastUb)
    Adds(LocalTensor<float>(TPosition::VECCALC, 196352, 256), a, 1.0f, 256);
  if constexpr (fault == Fault::fillPastUb)
    Duplicate(LocalTensor<float>(TPosition::VECCALC, 0, 60000), 1.0f, 60000);
  if constexpr (fault == Fault::pastTensor)
    Adds(b[128], a, 1.0f, 256);
  if constexpr (fault == Fault::misalignedSource)
    Adds(b, a[1], 1.0f, 64);
  if constexpr (fault == Fault::misalignedRows)
    WholeReduceSum(b, a[1], 64, 1, 1, 1, 8);
  if constexpr (fault == Fault::pastGm)
    DataCopy(a, gm[240], 32);
  if constexpr (fault == Fault::noGm) {
    gm.SetGlobalBuffer((__gm__ float*)0x1000);
    DataCopy(a, gm, 32);
  }
  if constexpr (fault == Fault::neverWritten)
    Adds(a, LocalTensor<float>(TPosition::VECCALC, 4096, 64), 1.0f, 64);
  if constexpr (fault == Fault::padding) {
    LocalTensor<float> c(TPosition::VECCALC, 4096, 8);
    DataCopyPad(c, gm, DataCopyExtParams(1, 20, 0, 0, 0), DataCopyPadExtParams<float>());
    PipeBarrier<PIPE_ALL>();
    Adds(a, c, 1.0f, 8);
  }
  if constexpr (fault == Fault::setTwice) {
    SetFlag<HardEvent::MTE2_V>(1);
    SetFlag<HardEvent::MTE2_V>(1);
    WaitFlag<HardEvent::MTE2_V>(1);
    WaitFlag<HardEvent::MTE2_V>(1);
  }
  if constexpr (fault == Fault::setOnly)
    SetFlag<HardEvent::MTE2_V>(1);
  if constexpr (fault == Fault::waitOnly) {
    WaitFlag<HardEvent::MTE2_V>(1);
    Adds(b, a, 1.0f, 64);
  }
  if constexpr (fault == Fault::wrongEvent)
    SetFlag<HardEvent::M_V>(0);
  if constexpr (fault == Fault::mask)
    Adds(b, a, 1.0f, 65, 1, {1, 1, 8, 8});
  if constexpr (fault == Fault::halfBlocks)
    DataCopy(a, gm, 12);
  if constexpr (fault == Fault::tooManyBytes) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer, other;
    pipe.InitBuffer(buffer, 150 * 1024);
    pipe.InitBuffer(other, 50 * 1024);
  }
  if constexpr (fault == Fault::freeTwice || fault == Fault::dequeueEmpty ||
                fault == Fault::allBuffersUsed || fault == Fault::noInitBuffer) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    if (fault != Fault::noInitBuffer)
      pipe.InitBuffer(queue, 1, 1024);
    if (fault == Fault::dequeueEmpty)
      queue.template DeQue<float>();
    auto t = queue.template AllocTensor<float>();
    if (fault == Fault::allBuffersUsed)
      queue.template AllocTensor<float>();
    queue.FreeTensor(t);
    queue.FreeTensor(t);
  }
  if constexpr (fault == Fault::scalarRead) {
    Adds(b, a, 1.0f, 64);
    a.SetValue(0, b.GetValue(3));
  }
  if constexpr (fault == Fault::partOverlap)
    Adds(a[8], a, 1.0f, 64);
  if constexpr (fault == Fault::compareCount)
    Compare(b.ReinterpretCast<uint8_t>(), a, a, CMPMODE::LT, 100);
  if constexpr (fault == Fault::wrongType)
    Cast(b.ReinterpretCast<bfloat16_t>(), a.ReinterpretCast<half>(), RoundMode::CAST_NONE, 64);
  if constexpr (fault == Fault::crossFlagInVectorKernel)
    CrossCoreSetFlag<0, PIPE_MTE3>(0);
  hostile<fault>(a, b);
  wrongOperands<fault>(a, b, gm, x);
  if constexpr (fault == Fault::eventId)
    SetFlag<HardEvent::MTE2_V>(99);
  if constexpr (fault == Fault::hugeCopy)
    DataCopy(a, gm, 0xFFFFFFF8u);
  if constexpr (fault == Fault::gatherOffset)
    Gather(b, a, a.ReinterpretCast<uint32_t>(), 0, 64);
  if constexpr (fault == Fault::launches)
    one_row<<<1, nullptr, nullptr>>>(x); // launches here
}

template <Fault fault> std::string messageOf(double limit = 60) {
  catchLaunches();
  nextOptions() = {};
  nextOptions().timeLimitSeconds = limit;
  DeviceBuffer<float> x(256);
  faulty<fault><<<1, nullptr, nullptr>>>(x.gm());
  return allFindings();
}

#define EXPECT_MESSAGE(fault, part)                                                                \
  do {                                                                                             \
    std::string text = messageOf<Fault::fault>();                                                  \
    EXPECT_NE(text.find(part), std::string::npos) << #fault << ": " << text;                       \
    EXPECT_NE(text.find("checks_test.cpp:"), std::string::npos) << text;                           \
  } while (0)

TEST(Checks, RightKernelSaysNothing) {
  EXPECT_EQ(messageOf<Fault::none>(), "");
}

TEST(Checks, Memory) {
  EXPECT_MESSAGE(pastUb, "Adds writes UB bytes 196352 to 197375, but UB has 196608 bytes "
                         "[ErrorWrite2] (vector core 0)");
  EXPECT_EQ(lastReport().status, 507035);
  EXPECT_MESSAGE(pastUb,
                 "note: use a smaller tile or a lower address, or a smaller repeat or stride");
  EXPECT_MESSAGE(fillPastUb, "note: on PIPE_V: dst is UB from byte 0 on (240000 bytes)\n");
  EXPECT_MESSAGE(pastGm,
                 "note: shorten it by 64 bytes, as for the last tile, or allocate as many more");
  EXPECT_MESSAGE(noGm, "note: check the kernel's arguments and the offset into the GlobalTensor; "
                       "memory comes from aclrtMalloc");
  EXPECT_MESSAGE(pastTensor, "Adds: writes up to UB byte 2559, but the tensor ends at byte 2047");
  EXPECT_MESSAGE(misalignedRows, "WholeReduceSum: src starts at UB byte 4, which is no multiple of "
                                 "32 [ErrorRead4]");
  EXPECT_MESSAGE(misalignedSource, "Adds: src0 starts at UB byte 4, which is no multiple of 32 "
                                   "[ErrorRead4]");
  EXPECT_MESSAGE(pastGm, "DataCopy reads GM bytes 960 to 1087 of an allocation of 1024 bytes");
  EXPECT_MESSAGE(noGm, "DataCopy reads GM at 0x1000, which belongs to no allocation");
  EXPECT_MESSAGE(neverWritten, "Adds on PIPE_V reads UB bytes 4096 to 4351, which nothing has "
                               "written (vector core 0) [ErrorRead2]");
  EXPECT_MESSAGE(padding, "reads UB bytes 4116 to 4127, which are padding without a value");
  EXPECT_MESSAGE(hugeCopy, "bytes into a tensor of 1024 bytes [ErrorWrite2]");
  EXPECT_MESSAGE(gatherOffset, "offset 0 is 1065353216, which leads to UB byte");
  EXPECT_MESSAGE(offsetWraps, "Adds: writes up to UB byte 255, but the tensor ends at byte 0");
  EXPECT_MESSAGE(gmOffsetWraps,
                 "DataCopy reads GM at 0xfffffffffffff000, which belongs to no allocation");
  EXPECT_MESSAGE(
      oddScalar,
      "SetValue writes UB at 0x2, which is no multiple of the element's 4 bytes [ErrorWrite4]");
  EXPECT_MESSAGE(oddScalarOfGm, "GetValue reads GM at 0x");
  EXPECT_MESSAGE(oddScalarOfGm, "which is no multiple of the element's 4 bytes [ErrorRead4]");
  EXPECT_MESSAGE(otherCore, "LoadData is for cube cores, of which this kernel has none; "
                            "KERNEL_TYPE_MIX_AIC_1_2 gives it both");
  EXPECT_MESSAGE(otherCoresMemory, "SetValue is for cube cores, of which this kernel has none");
}

TEST(Checks, Flags) {
  EXPECT_MESSAGE(setTwice, "SetFlag sets HardEvent::MTE2_V, event id 1 again before anything "
                           "waited for it [ErrorSync4]");
  EXPECT_MESSAGE(setOnly, "SetFlag sets HardEvent::MTE2_V, event id 1, but nothing waits for it");
  EXPECT_MESSAGE(waitOnly, "deadlock: ");
  EXPECT_EQ(lastReport().status, 507014);
  EXPECT_MESSAGE(waitOnly, "PIPE_V stands at this WaitFlag, which waits for HardEvent::MTE2_V, "
                           "event id 1; nothing sets it");
  EXPECT_MESSAGE(wrongEvent, "arch 2201 has no event HardEvent::M_V, event id 0");
  EXPECT_MESSAGE(eventId, "SetFlag has event id 99, but ids go from 0 to 7");
  EXPECT_MESSAGE(scalarRead, "GetValue on PIPE_S reads UB bytes 1036 to 1039 while Adds on PIPE_V "
                             "may still be writing them");
  EXPECT_MESSAGE(scalarRead, "add SetFlag<HardEvent::V_S>(id)");
  EXPECT_MESSAGE(crossFlagInVectorKernel, "CrossCoreSetFlag needs a mixed kernel");
}

TEST(Checks, RelaxedOrdersWhatTheCompilerOrders) {
  catchLaunches();
  nextOptions() = {};
  nextOptions().relaxed = true;
  DeviceBuffer<float> x(256);
  faulty<Fault::scalarRead><<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
}

/// Beside line and core: the pipe, the operands with their memories and addresses, and what to change.
TEST(Checks, NamePipeAndOperandsAndWhatToDo) {
  EXPECT_MESSAGE(mask, "note: on PIPE_V: dst is UB from byte 1024 on (1024 bytes), src0 is UB from "
                       "byte 0 on (1024 bytes)");
  EXPECT_MESSAGE(mask, "note: keep it in this range; what is left goes into a call of its own");
  EXPECT_MESSAGE(misalignedSource, "note: on PIPE_V: dst is UB from byte ");
  EXPECT_MESSAGE(misalignedSource, "note: move it to such a multiple: round up the sizes of the");
  EXPECT_MESSAGE(partOverlap, "note: work in place, or give the destination memory of its own");
  EXPECT_MESSAGE(wrongType, "note: convert to a type that it takes first, or use another");
  EXPECT_MESSAGE(pastTensor, "note: shorten the call, or give the tensor more bytes");
  EXPECT_MESSAGE(hugeCopy, "note: on PIPE_MTE2: dst is UB from byte 0 on (1024 bytes), src is GM "
                           "from byte 0 on of an allocation of 1024 bytes");
  EXPECT_MESSAGE(pastUb, "note: on PIPE_V: dst is UB from byte 196352 on");
  EXPECT_MESSAGE(noGm, "note: on PIPE_MTE2: dst is UB from byte ");
  EXPECT_MESSAGE(noGm, "src is GM at 0x1000");
  EXPECT_MESSAGE(negativeCount, "note: on PIPE_V: dst is UB from byte ");
  EXPECT_MESSAGE(negativeCount, "note: leave the call out where no elements are left");
  EXPECT_MESSAGE(maskOfNoLane, "note: on PIPE_V: dst is UB from byte ");
  EXPECT_MESSAGE(bitsBeyondLanes, "which are those of mask[0]; set mask[1] to 0");
  EXPECT_MESSAGE(tooManyRepeats, "is 0 as well; split the call, or leave it out");
  EXPECT_MESSAGE(oddScalarOfGm, "note: on PIPE_S");
  EXPECT_MESSAGE(oddScalarOfGm, "note: let the tensor start at a multiple of its element's bytes");
  EXPECT_MESSAGE(neverWritten, "note: write them first, by a copy or Duplicate, or read fewer");
  EXPECT_MESSAGE(setTwice, "note: add WaitFlag<HardEvent::MTE2_V>(1) between them, or set another");
  EXPECT_MESSAGE(setOnly, "note: add WaitFlag<HardEvent::MTE2_V>(1) behind it, or leave it out");
  EXPECT_MESSAGE(waitOnly, "note: set the flag before its wait, on the pipe that the event names");
  EXPECT_MESSAGE(wrongEvent, "note: name the pipe whose access comes first, then the one that");
  EXPECT_MESSAGE(eventId, "note: use 0 to 5; 6 and 7 are the framework's");
}

TEST(Checks, NoneInLaunchesThatOnlyTakeTime) {
  catchLaunches();
  nextOptions() = {};
  nextOptions().trace = nextOptions().timeOnly = true;
  DeviceBuffer<float> x(256);
  faulty<Fault::scalarRead><<<1, nullptr, nullptr>>>(x.gm()); // of what nothing has written now
  EXPECT_EQ(allFindings(), "");
  EXPECT_EQ(lastReport().status, 0);
}

TEST(Checks, Parameters) {
  EXPECT_MESSAGE(mask, "Adds: mask is 65, but a repeat has 64 lanes");
  const std::string noLane =
      "warning: Adds: mask is 0, but a mask must have a lane; leave the call "
      "out where no elements are left";
  EXPECT_MESSAGE(maskOfNoLane, noLane);
  EXPECT_EQ(lastReport().status, 0);
  EXPECT_MESSAGE(maskOfNoBit, noLane);
  EXPECT_MESSAGE(registerOfNoLane, noLane);
  EXPECT_MESSAGE(registerOfNegativeLength, noLane);
  EXPECT_MESSAGE(bitsBeyondLanes, "warning: Adds: mask[1] has bits, but a repeat of these elements "
                                  "has 64 lanes, which are those of mask[0]");
  EXPECT_EQ(lastReport().findings.size(), 1u) << allFindings();
  EXPECT_MESSAGE(tooManyRepeats, "warning: Adds: repeatTime is 0, so that nothing is computed; it "
                                 "has 8 bits, in which 256 is 0 as well");
  EXPECT_EQ(lastReport().status, 0);
  EXPECT_MESSAGE(negativeCount, "Adds: count is -5, but it must not be negative");
  EXPECT_MESSAGE(halfBlocks, "DataCopy moves 48 bytes, which is no multiple of 32");
  EXPECT_MESSAGE(partOverlap, "source and destination overlap in part");
  EXPECT_MESSAGE(compareCount, "must be a multiple of 256");
  EXPECT_MESSAGE(wrongType, "arch 2201 has no Cast of half to bfloat16_t");
}

TEST(Checks, Queues) {
  EXPECT_MESSAGE(tooManyBytes, "InitBuffer needs 51200 bytes of UB at byte 153600, but UB has "
                               "196608 bytes; use smaller or fewer buffers [ErrorBuffer3]");
  EXPECT_MESSAGE(freeTwice, "FreeTensor: the tensor is already free [ErrorFree]");
  EXPECT_MESSAGE(freeElsewhere, "FreeTensor: the tensor doesn't come from this queue");
  EXPECT_MESSAGE(freeInLaterQueue, "FreeTensor: the tensor doesn't come from this queue");
  EXPECT_MESSAGE(enqueueElsewhere, "EnQue: the tensor doesn't come from this queue");
  EXPECT_MESSAGE(neverFreed,
                 "warning: a tensor of this queue is still in use when the kernel gives "
                 "the queue up; FreeTensor it [ErrorLeak]");
  EXPECT_EQ(lastReport().status, 0);
  EXPECT_MESSAGE(dequeueEmpty, "DeQue: the queue holds no tensor");
  EXPECT_MESSAGE(allBuffersUsed, "AllocTensor: all buffers of the queue are in use");
  EXPECT_MESSAGE(emptyQueue, "Adds: writes up to UB byte 255, but the tensor ends at byte 0");
  EXPECT_MESSAGE(emptyBuffer, "Adds: writes up to UB byte 255, but the tensor ends at byte 0");
  EXPECT_MESSAGE(noInitBuffer, "the queue has no buffers; call TPipe::InitBuffer first");
}

__global__ __aicore__ void one_row(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> t(TPosition::VECCALC, 0, 8);
  Duplicate(t, static_cast<float>(GetBlockIdx()), 8);
  PipeBarrier<PIPE_ALL>();
  DataCopy(gm[GetBlockIdx() * 8], t, 8);
}
TEST(Checks, ManyBlocks) {
  catchLaunches();
  nextOptions() = {};
  constexpr uint32_t blocks = 3000;
  DeviceBuffer<float> y(blocks * 8);
  one_row<<<blocks, nullptr, nullptr>>>(y.gm());
  EXPECT_EQ(allFindings(), "");
  for (uint32_t i = 0; i < blocks * 8; ++i)
    ASSERT_EQ(y[i], static_cast<float>(i / 8));
  one_row<<<0, nullptr, nullptr>>>(y.gm());
  EXPECT_NE(allFindings().find("the launch has 0 blocks, but a launch has 1 to 65535"),
            std::string::npos);
}

/// The message is about the line of this file that ends with the comment.
void expectLine(const std::string& text, const char* comment) {
  std::string first = text.substr(text.find('\n') + 1);
  first = first.substr(0, first.find('\n'));
  EXPECT_NE(first.find(comment), std::string::npos) << text;
}

TEST(Checks, EachAbortHasItsReason) {
  std::string text = messageOf<Fault::sendsAbort>();
  EXPECT_NE(text.find("the kernel raised SIGABRT, but a core has no signals"), std::string::npos)
      << text;
  expectLine(text, "// sends here");
  text = messageOf<Fault::overflowsStack>();
  EXPECT_NE(text.find("the kernel wrote past the end of an array of its own, and the C library "
                      "stopped it"),
            std::string::npos)
      << text;
  expectLine(text, "// overflows here");
  text = messageOf<Fault::assertsInLibrary>();
  EXPECT_NE(text.find("an assertion of a library failed in the kernel; its text stands above"),
            std::string::npos)
      << text;
  expectLine(text, "// the library asserts");
  text = messageOf<Fault::abortsUnseen>();
  EXPECT_NE(text.find("the kernel called abort(); a kernel ends by returning"), std::string::npos)
      << text;
  expectLine(text, "// aborts as a library would");
  text = messageOf<Fault::libraryAborts>();
  EXPECT_NE(text.find("a library that the kernel called ended with abort()"), std::string::npos)
      << text;
  expectLine(text, "// a library aborts");
  // Of the heap only what is in it.
  text = messageOf<Fault::oldHeapAddress>();
  EXPECT_NE(text.find("the kernel's scalar code touched address (nil)"), std::string::npos) << text;
  expectLine(text, "// writes with an old stack");
}

TEST(Checks, HostileKernels) {
  auto start = std::chrono::steady_clock::now();
  std::string text = messageOf<Fault::endlessLoop>(0.2);
  EXPECT_NE(
      text.find("the kernel has run for 0.2 s; this is a limit of the host and no proof: if the "
                "kernel will end, set time-limit higher [507014]"),
      std::string::npos)
      << text;
  expectLine(text, "while (always)");
  EXPECT_NE(text.find("note: the last instruction before it"), std::string::npos) << text;
  EXPECT_EQ(lastReport().status, 507014);
  text = messageOf<Fault::endlessCalls>(0.2);
  EXPECT_NE(text.find("the kernel has run for 0.2 s"), std::string::npos) << text;
  text = messageOf<Fault::nullPointer>();
  EXPECT_NE(text.find("the kernel's scalar code touched address (nil)"), std::string::npos) << text;
  EXPECT_EQ(lastReport().status, 507035);
  expectLine(text, "// writes to null here");
  text = messageOf<Fault::wildPointer>();
  EXPECT_NE(text.find("touched address 0x6ead0000bee0"), std::string::npos) << text;
  text = messageOf<Fault::stackOverflow>();
  EXPECT_NE(text.find("the kernel's stack overflowed"), std::string::npos) << text;
  text = messageOf<Fault::stackOverflowOfLambda>();
  EXPECT_NE(text.find("the kernel's stack overflowed"), std::string::npos) << text;
  expectLine(text, "// recurses here"); // not what stands before the library's code
  text = messageOf<Fault::largeArray>();
  EXPECT_NE(text.find("the kernel's stack overflowed"), std::string::npos) << text;
  text = messageOf<Fault::trap>();
  EXPECT_NE(text.find("the kernel ran into a trap: __builtin_trap(), or code that never returns"),
            std::string::npos)
      << text;
  expectLine(text, "// traps here");
  text = messageOf<Fault::divideByZero>();
  EXPECT_NE(text.find("divided an integer by zero"), std::string::npos) << text;
  expectLine(text, "// divides here");
  text = messageOf<Fault::callsAbort>();
  EXPECT_NE(text.find("the kernel called abort(); a kernel ends by returning"), std::string::npos)
      << text;
  expectLine(text, "// aborts here");
  text = messageOf<Fault::raises>();
  EXPECT_NE(text.find("the kernel called raise(15), but a core has no signals"), std::string::npos)
      << text;
  expectLine(text, "// raises here");
  text = messageOf<Fault::kills>();
  EXPECT_NE(text.find("the kernel called kill(), but a core has no signals"), std::string::npos)
      << text;
  expectLine(text, "// kills here");
  text = messageOf<Fault::callsExit>();
  EXPECT_NE(text.find("the kernel called exit(3); a kernel ends by returning"), std::string::npos)
      << text;
  expectLine(text, "// exits here");
  text = messageOf<Fault::callsAssert>();
  EXPECT_NE(text.find("assertion failed: always == 7"), std::string::npos) << text;
  expectLine(text, "// asserts here");
  text = messageOf<Fault::assertion>();
  EXPECT_NE(text.find("assertion failed: a.GetSize() == 1"), std::string::npos) << text;
  text = messageOf<Fault::assertionInWords>();
  EXPECT_NE(text.find("assertion failed: a.GetSize() == 1: 256 elements, not 1.0"),
            std::string::npos)
      << text;
  text = messageOf<Fault::exception>();
  EXPECT_NE(text.find("the kernel threw a C++ exception (vector core 0)"), std::string::npos)
      << text;
  expectLine(text, "// throws here");
  text = messageOf<Fault::inLibrary>();
  EXPECT_NE(text.find("the kernel threw a C++ exception: vector::_M_range_check"),
            std::string::npos)
      << text;
  expectLine(text, "// the library throws");
  text = messageOf<Fault::terminates>();
  EXPECT_NE(text.find("the kernel called std::terminate(); a kernel ends by returning"),
            std::string::npos)
      << text;
  expectLine(text, "// terminates here");
  text = messageOf<Fault::nullCall>();
  EXPECT_NE(text.find("the kernel's scalar code touched address"), std::string::npos) << text;
  expectLine(text, "// calls nothing");
  text = messageOf<Fault::startsThread>();
  EXPECT_NE(text.find("the kernel started a thread, which a core has not"), std::string::npos)
      << text;
  expectLine(text, "// a thread");
  text = messageOf<Fault::launches>();
  EXPECT_NE(text.find("a kernel was launched from inside a kernel"), std::string::npos) << text;
  expectLine(text, "// launches here");
  // And the machine still works.
  EXPECT_EQ(messageOf<Fault::none>(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}
