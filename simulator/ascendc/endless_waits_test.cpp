// SPDX-License-Identifier: Apache-2.0
// Kernels that wait for something that never comes, in each way that a kernel can wait, and kernels that only look alike.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <chrono>
#include <ctime>
#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {
constexpr uint32_t n = 8;
const std::string sameState = "endless loop: the kernel is back in the very state that it was in "
                              "before, and reads nothing new that "
                              "could end it [507014]";
constexpr uint32_t longLoop = 120000; // long, but less than the host takes for endless

class EndlessWaits : public ::testing::Test {
protected:
  void SetUp() override {
    catchLaunches();
    nextOptions() = {};
    nextOptions().threads = 1;
    nextOptions().repeatLimitSeconds = 0.5;
    start = std::chrono::steady_clock::now();
  }
  void TearDown() override {
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(40));
  }
  static void expectEndless() {
    EXPECT_NE(allFindings().find("endless wait: the kernel repeats the same instructions with the "
                                 "same results, and all other cores have ended, wait or repeat too "
                                 "[507014]"),
              std::string::npos)
        << allFindings();
    EXPECT_NE(allFindings().find("endless_waits_test.cpp:"), std::string::npos) << allFindings();
    EXPECT_EQ(lastReport().status, 507014);
  }
  static void expectFinding(const std::string& part) {
    EXPECT_NE(allFindings().find(part), std::string::npos) << allFindings();
    EXPECT_EQ(lastReport().status, 507014);
  }
  static void expectNoEndless() {
    EXPECT_EQ(allFindings().find("endless wait:"), std::string::npos) << allFindings();
  }
  std::chrono::steady_clock::time_point start;
};

__aicore__ inline int32_t copied(const GlobalTensor<int32_t>& flag,
                                 const LocalTensor<int32_t>& to) {
  DataCopy(to, flag, n);
  SetFlag<HardEvent::MTE2_S>(0);
  WaitFlag<HardEvent::MTE2_S>(0);
  int32_t value = to.GetValue(0);
  SetFlag<HardEvent::S_MTE2>(0);
  WaitFlag<HardEvent::S_MTE2>(0);
  return value;
}
} // namespace

/// The last core sets what the others copy from GM until it is there.
template <bool sets> __global__ __aicore__ void waits_by_copies(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> flag;
  flag.SetGlobalBuffer((__gm__ int32_t*)x);
  LocalTensor<int32_t> t(TPosition::VECCALC, 0, n);
  if (GetBlockIdx() + 1 < GetBlockNum())
    while (copied(flag, t) == 0) {
    }
  else if (sets) {
    Duplicate(t, 1, n);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(flag, t, n);
  }
}

TEST_F(EndlessWaits, ByCopies) {
  for (uint32_t blocks : {2u, 8u}) {
    DeviceBuffer<int32_t> x(n);
    waits_by_copies<true><<<blocks, nullptr, nullptr>>>(x.gm());
    expectNoEndless();
    EXPECT_EQ(x[0], 1);
    DeviceBuffer<int32_t> y(n);
    waits_by_copies<false><<<blocks, nullptr, nullptr>>>(y.gm());
    expectEndless();
  }
  nextOptions().check = false;
  DeviceBuffer<int32_t> x(n);
  waits_by_copies<false><<<2, nullptr, nullptr>>>(x.gm());
  expectEndless();
}

/// With a queue of two buffers, whose addresses take turns.
__global__ __aicore__ void waits_with_a_queue(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> flag;
  flag.SetGlobalBuffer((__gm__ float*)x);
  TPipe pipe;
  TQue<TPosition::VECIN, 2> in;
  TBuf<TPosition::VECCALC> sums;
  pipe.InitBuffer(in, 2, 32);
  pipe.InitBuffer(sums, 64);
  LocalTensor<float> sum = sums.Get<float>();
  for (;;) {
    LocalTensor<float> t = in.AllocTensor<float>();
    DataCopy(t, flag, n);
    in.EnQue(t);
    t = in.DeQue<float>();
    WholeReduceSum(sum, t, 8, 1, 1, 1, 8);
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    in.FreeTensor(t);
    if (sum.GetValue(0) != 0)
      return;
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
  }
}

TEST_F(EndlessWaits, WithAQueueAndVectors) {
  DeviceBuffer<float> x(n);
  waits_with_a_queue<<<2, nullptr, nullptr>>>(x.gm());
  expectEndless();
}

/// Core 1 waits for a value that core 0 writes; `writes` false: nobody does.
template <bool writes, bool cleans> __global__ __aicore__ void polls(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> a;
  a.SetGlobalBuffer((__gm__ int32_t*)x);
  if (writes && GetBlockIdx() == 0)
    WriteGmByPassDCache((__gm__ int32_t*)x, 1);
  if (GetBlockIdx() == 1)
    while (a.GetValue(0) == 0)
      if (cleans)
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE>(a);
}

TEST_F(EndlessWaits, ByScalarReads) {
  DeviceBuffer<int32_t> x(n), y(n);
  polls<true, true><<<2, nullptr, nullptr>>>(x.gm());
  expectNoEndless();
  polls<false, true><<<2, nullptr, nullptr>>>(y.gm());
  expectEndless();
  polls<false, false><<<2, nullptr, nullptr>>>(y.gm());
  expectEndless();
}

__global__ __aicore__ void reads_ub(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<int32_t> t(TPosition::VECCALC, 0, n);
  t.SetValue(0, 0);
  while (t.GetValue(0) == 0) {
  }
}
__global__ __aicore__ void only_meets(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  for (;;)
    SyncAll();
}
__global__ __aicore__ void prints(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  for (;;)
    AscendC::printf("");
}

TEST_F(EndlessWaits, WithoutGm) {
  reads_ub<<<3, nullptr, nullptr>>>(nullptr);
  expectEndless();
  only_meets<<<3, nullptr, nullptr>>>(nullptr);
  expectFinding(sameState);
  prints<<<1, nullptr, nullptr>>>(nullptr);
  EXPECT_EQ(lastReport().status, 507014);
}

__global__ __aicore__ void vectors_for_ever(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  Duplicate(t, 1.0f, 64);
  for (;;) {
    PipeBarrier<PIPE_V>();
    Muls(t, t, 2.0f, 64); // stays infinite
  }
}

TEST_F(EndlessWaits, InTimedLaunches) {
  vectors_for_ever<<<1, nullptr, nullptr>>>(nullptr);
  expectFinding(sameState);
  nextOptions().trace = true;
  vectors_for_ever<<<1, nullptr, nullptr>>>(nullptr);
  expectFinding(sameState);
  nextOptions().timeOnly = true;
  vectors_for_ever<<<1, nullptr, nullptr>>>(nullptr);
  expectFinding(sameState);
}

/// A core polls what another one counts up for ever: each poll finds something new.
__global__ __aicore__ void polls_a_counter(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> counter;
  counter.SetGlobalBuffer((__gm__ int32_t*)x);
  if (GetBlockIdx() > 0)
    while (counter.GetValue(0) >= 0) {
    }
  for (;;) {
    counter.SetValue(0, (counter.GetValue(0) + 1) & 0xFFFFFF);
    DataCacheCleanAndInvalid<int32_t>(counter);
  }
}
__global__ __aicore__ void counts_in_vectors(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<int32_t> t(TPosition::VECCALC, 0, 64);
  Duplicate(t, 1, 64);
  for (;;) {
    PipeBarrier<PIPE_V>();
    Adds(t, t, 1, 64);
  }
}
__global__ __aicore__ void counts_without_barriers(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<int32_t> t(TPosition::VECCALC, 0, 64);
  Duplicate(t, 1, 64);
  for (;;)
    Adds(t, t, 1, 64);
}
/// Comes to 5,000 addresses before it comes to one again.
__global__ __aicore__ void wanders(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  for (uint32_t i = 0;; i = (i + 1) % 5000) {
    LocalTensor<int32_t> t(TPosition::VECCALC, i * 32, 8);
    if (i == 0)
      Duplicate(LocalTensor<int32_t>(TPosition::VECCALC, 0, 40000), 1, 40000);
    PipeBarrier<PIPE_V>();
    Adds(t, t, static_cast<int32_t>(GetSystemCycle()), 8);
    PipeBarrier<PIPE_V>();
  }
}
TEST_F(EndlessWaits, WithEverNewResults) {
  nextOptions().repeatLimitSeconds = 0.1;
  const std::string loop =
      "endless loop: the kernel repeats the same instructions at the same addresses with ever new "
      "results, and all other cores have ended, wait or repeat too; this is a limit of the host "
      "and "
      "no proof: if the kernel will end, set repeat-limit higher [507014]";
  DeviceBuffer<int32_t> x(n);
  polls_a_counter<<<2, nullptr, nullptr>>>(x.gm());
  expectFinding(loop);
  counts_without_barriers<<<1, nullptr, nullptr>>>(nullptr);
  ASSERT_EQ(lastReport().findings.size(), 3u) << allFindings();
  // What has ended it, and then its races.
  EXPECT_NE(lastReport().findings[0].text.find("error: endless loop: "), std::string::npos)
      << allFindings();
  counts_in_vectors<<<1, nullptr, nullptr>>>(nullptr); // its own code could read the count
  expectFinding("this is a limit of the host and no proof");
  wanders<<<1, nullptr, nullptr>>>(nullptr);
  expectFinding(loop);
}

/// Comes to 300,000 addresses before it comes to one again, with new results each time.
__global__ __aicore__ void wanders_far(GM_ADDR x, uint32_t places) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> gm;
  gm.SetGlobalBuffer((__gm__ int32_t*)x);
  LocalTensor<int32_t> t(TPosition::VECCALC, 0, n);
  Duplicate(t, 1, n);
  for (uint32_t i = 0;; i = (i + 1) % places) {
    PipeBarrier<PIPE_V>();
    Adds(t, t, 1, n);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(gm[i * n], t, n);
    SetFlag<HardEvent::MTE3_V>(0);
    WaitFlag<HardEvent::MTE3_V>(0);
  }
}
TEST_F(EndlessWaits, WithEverNewPlaces) {
  nextOptions().repeatLimitSeconds = 0.5;
  constexpr uint32_t places = 300000;
  DeviceBuffer<int32_t> x(size_t{places} * n);
  wanders_far<<<1, nullptr, nullptr>>>(x.gm(), places);
  expectFinding(
      "endless loop: the kernel is back in the state that it was in before, but for what "
      "is in memory, and all other cores have ended, wait or repeat too; this is a limit "
      "of the host and no proof: if the kernel will end, set repeat-limit higher [507014]");
}

/// Comes to addresses in no order that shows.
__global__ __aicore__ void wanders_at_random(GM_ADDR x, uint32_t places) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> gm;
  gm.SetGlobalBuffer((__gm__ int32_t*)x);
  LocalTensor<int32_t> t(TPosition::VECCALC, 0, n);
  for (uint32_t state = 1;; state = state * 1664525 + 1013904223) {
    DataCopy(t, gm[(state >> 8) % places * n], n);
    PipeBarrier<PIPE_ALL>();
  }
}
TEST_F(EndlessWaits, NothingFollowsTheTimeLimit) {
  nextOptions().timeLimitSeconds = 2;
  constexpr uint32_t places = 600000;
  DeviceBuffer<int32_t> x(size_t{places} * n);
  std::clock_t before = std::clock();
  wanders_at_random<<<1, nullptr, nullptr>>>(x.gm(), places);
  expectFinding("the kernel has run for 2 s");
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC,
            5); // of the processor's time
}

/// Counts in one of six values that all stay in registers, or on the stack where there are fewer.
template <unsigned which> __aicore__ inline void counts_in_one_of_six(uint64_t steps) {
  uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
  uint64_t* all[] = {&a, &b, &c, &d, &e, &f};
  for (uint64_t& i = *all[which]; i < steps; ++i) {
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    PipeBarrier<PIPE_V>();
  }
}
/// Once its states are looked at: the same instruction with the same result, a number of times that only its registers
/// and its stack tell.
__global__ __aicore__ void counts_in_any_register(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(600)) {
  }
  constexpr uint64_t steps = 50000;
  counts_in_one_of_six<0>(steps);
  counts_in_one_of_six<1>(steps);
  counts_in_one_of_six<2>(steps);
  counts_in_one_of_six<3>(steps);
  counts_in_one_of_six<4>(steps);
  counts_in_one_of_six<5>(steps);
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  Duplicate(t, 1.0f, 64);
  for (uint64_t i = 0; i < steps; ++i) {
    PipeBarrier<PIPE_V>();
    Adds(t, t, 0.0f, 64);
  }
  GlobalTensor<int32_t> out;
  out.SetGlobalBuffer((__gm__ int32_t*)x);
  out.SetValue(0, 1);
}
TEST_F(EndlessWaits, LongLoopsWithAnEndAreLeftAlone) {
  nextOptions().repeatLimitSeconds =
      1; // looks from 0.5 s on; a limit is 7 s, however busy the machine
  DeviceBuffer<int32_t> x(n);
  counts_in_any_register<<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
  EXPECT_EQ(x[0], 1);
}

/// Counts by a plain pointer into what is neither in registers nor on the stack.
enum class Counter { Gm, Ub, Heap, Variable };
int32_t counterVariable = 0;
template <Counter where> __global__ __aicore__ void counts_in_memory(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<int32_t> local(TPosition::VECCALC, 0, n);
  auto* counter = where == Counter::Gm     ? (volatile int32_t*)x
                  : where == Counter::Ub   ? (volatile int32_t*)local.GetPhyAddr()
                  : where == Counter::Heap ? (volatile int32_t*)new int32_t
                                           : (volatile int32_t*)&counterVariable;
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(900);
  *counter = 0;
  do {
    *counter = *counter + 1;
    PipeBarrier<PIPE_V>();
  } while (*counter % 4096 != 0 || std::chrono::steady_clock::now() < end);
  ((volatile int32_t*)x)[1] = 1;
  if (where == Counter::Heap)
    delete (int32_t*)counter;
}
/// A loop that has the same registers and the same stack each time round, with an end that only memory tells: its own
/// code counts there once in many instructions, or reads there what its instructions count.
template <bool countsItself> __global__ __aicore__ void ends_by_memory(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<int32_t> t(TPosition::VECCALC, 0, n);
  Duplicate(t, 0, n);
  PipeBarrier<PIPE_ALL>();
  auto* counter = (volatile int32_t*)(countsItself ? (int32_t*)x : (int32_t*)t.GetPhyAddr());
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(900);
  do {
    for (uint32_t i = 0; countsItself && i < 200; ++i)
      PipeBarrier<PIPE_V>();
    if (countsItself)
      *counter = *counter + 1;
    Adds(t, t, 1, n);
    PipeBarrier<PIPE_ALL>();
  } while (*counter % 512 != 0 || std::chrono::steady_clock::now() < end);
  ((volatile int32_t*)x)[1] = 1;
}
/// The same without an instruction, for as long as the host needs to look at plain loops.
__global__ __aicore__ void counts_in_gm_alone(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto* counter = (volatile uint64_t*)x;
  while (*counter < 1200000000)
    *counter = *counter + 1;
}
volatile bool always = true;
__global__ __aicore__ void never_calls_here(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  while (always) {
  }
}

TEST_F(EndlessWaits, CountersFarBehindTheStartOfGmAreSeen) {
  constexpr size_t far = 4u << 20; // bytes
  DeviceBuffer<int32_t> x(2 * far / sizeof(int32_t));
  counts_in_gm_alone<<<1, nullptr, nullptr>>>(x.gm() + far);
  EXPECT_EQ(allFindings(), "");
  EXPECT_EQ(x[far / sizeof(int32_t)], 1200000000);
}
TEST_F(EndlessWaits, NothingIsProvenWhereGmIsTooLargeToLookAt) {
  DeviceBuffer<int32_t> x(size_t{33} << 18); // 33 MiB
  nextOptions().idleLimitSeconds = 2.5;      // samples begin after 0.75 s
  never_calls_here<<<1, nullptr, nullptr>>>(nullptr);
  expectFinding("the kernel's own code has run for 2.5 s without an instruction");
  nextOptions().repeatLimitSeconds = 0.1;
  reads_ub<<<1, nullptr, nullptr>>>(nullptr);
  expectFinding("the kernel has repeated the same instructions with the same results for 0.7 s");
  expectFinding("this is a limit of the host and no proof");
}
TEST_F(EndlessWaits, CountersInMemoryAreSeen) {
  nextOptions().repeatLimitSeconds = 0.6; // looks from 0.3 s on; limits are 1.8 s and more
  DeviceBuffer<int32_t> x(n);
  auto expectEnd = [&] {
    EXPECT_EQ(allFindings(), "");
    EXPECT_EQ(lastReport().status, 0);
    EXPECT_EQ(x[1], 1);
    x[1] = 0;
  };
  counts_in_memory<Counter::Gm><<<1, nullptr, nullptr>>>(x.gm());
  expectEnd();
  counts_in_memory<Counter::Ub><<<1, nullptr, nullptr>>>(x.gm());
  expectEnd();
  counts_in_memory<Counter::Heap><<<1, nullptr, nullptr>>>(x.gm());
  expectEnd();
  counts_in_memory<Counter::Variable><<<1, nullptr, nullptr>>>(x.gm());
  expectEnd();
  ends_by_memory<true><<<1, nullptr, nullptr>>>(x.gm());
  expectEnd();
  ends_by_memory<false><<<1, nullptr, nullptr>>>(x.gm());
  expectEnd();
  x[0] = 0;
  counts_in_gm_alone<<<1, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
  EXPECT_EQ(x[0], 1200000000);
}

/// Repeats one instruction for long, as a kernel does that measures its speed.
__global__ __aicore__ void measures(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> out;
  out.SetGlobalBuffer((__gm__ int32_t*)x);
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  Duplicate(t, 1.0f, 64);
  for (uint32_t i = 0; i < longLoop; ++i) {
    PipeBarrier<PIPE_V>();
    Adds(t, t, 0.0f, 64);
  }
  out.SetValue(GetBlockIdx() * 16, 1);
}

/// One core works for long while the other waits for it.
__global__ __aicore__ void waits_for_work(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> flag;
  flag.SetGlobalBuffer((__gm__ int32_t*)x);
  LocalTensor<int32_t> t(TPosition::VECCALC, 0, n);
  if (GetBlockIdx() == 0) {
    while (copied(flag, t) == 0) {
    }
    return;
  }
  GlobalTensor<int32_t> work;
  work.SetGlobalBuffer((__gm__ int32_t*)y);
  for (uint32_t i = 0; i < longLoop; ++i)
    work.SetValue(0, work.GetValue(0) + 1);
  Duplicate(t, 1, n);
  PipeBarrier<PIPE_ALL>();
  DataCopy(flag, t, n);
}

TEST_F(EndlessWaits, AreNotTakenForWork) {
  nextOptions().repeatLimitSeconds = 0.001; // no time alone is enough
  DeviceBuffer<int32_t> x(64), y(16);
  measures<<<2, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
  EXPECT_EQ(x[0] + x[16], 2);
  nextOptions().repeatLimitSeconds = 2;
  for (unsigned threads : {1u, 2u}) {
    DeviceBuffer<int32_t> flag(n);
    nextOptions().threads = threads;
    y[0] = 0;
    waits_for_work<<<2, nullptr, nullptr>>>(flag.gm(), y.gm());
    expectNoEndless();
    EXPECT_EQ(y[0], int32_t(longLoop));
  }
}

__global__ __aicore__ void counts_without_calls(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  for (volatile uint64_t i = 0; always; i = i + 1) {
  }
}
TEST_F(EndlessWaits, OfPlainCode) {
  nextOptions().idleLimitSeconds = 20;
  never_calls_here<<<48, nullptr, nullptr>>>(nullptr);
  expectFinding(sameState);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
  nextOptions().idleLimitSeconds = 1.5; // counting is another state each time
  counts_without_calls<<<1, nullptr, nullptr>>>(nullptr);
  expectFinding(
      "the kernel's own code has run for 1.5 s without an instruction; this is a limit of "
      "the host and no proof: if the kernel will end, set idle-limit higher [507014]");
}

__global__ __aicore__ void polls_what_comes_late(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto value = (volatile __gm__ int32_t*)x;
  if (GetBlockIdx() != 0) {
    while (*value != 7) {
    }
    return;
  }
  auto begin = std::chrono::steady_clock::now();
  volatile uint64_t turns = 0;
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1800))
    for (int i = 0; i < 1000; ++i)
      turns = turns + 1;
  *value = 7;
}
TEST_F(EndlessWaits, ACoreThatStillComputesMayEndAnothersLoop) {
  nextOptions().threads = 2;
  nextOptions().check = false; // plain accesses of two cores are unordered
  DeviceBuffer<int32_t> x(64);
  polls_what_comes_late<<<2, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
  EXPECT_EQ(lastReport().status, 0);
  EXPECT_EQ(x[0], 7);
}

TEST_F(EndlessWaits, OneCoreInALoopEndsAll) {
  nextOptions().idleLimitSeconds = 0.5;
  nextOptions().threads = 2;
  never_calls_here<<<48, nullptr, nullptr>>>(nullptr);
  expectFinding("the kernel's own code has run for 0.5 s without an instruction");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}
