// SPDX-License-Identifier: Apache-2.0
// Launches with as many blocks, or accesses to GM, as would take minutes to compare one by one.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <ctime>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {
class ManyBlocks : public ::testing::Test {
protected:
  void SetUp() override {
    catchLaunches();
    nextOptions() = {};
    start = std::clock();
  }
  /// Of the processor's time, so that a busy machine doesn't count.
  static constexpr double mostSeconds = 20;
  void TearDown() override {
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, mostSeconds);
  }
  std::clock_t start = 0;
};

long peakKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}
} // namespace

__global__ __aicore__ void all_write_one_place(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  Duplicate(t, 1.0f, 64);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  DataCopy(gm, t, 64);
}
TEST_F(ManyBlocks, ThatWriteOnePlaceAreToldSoon) {
  constexpr uint32_t blocks = 65535;
  constexpr long mostKilobytes = 400000; // 6 KiB a block, with the memories of those that run
  DeviceBuffer<float> x(64);
  const long before = peakKilobytes();
  all_write_one_place<<<blocks, nullptr, nullptr>>>(x.gm());
  EXPECT_LT(peakKilobytes() - before, mostKilobytes);
  ASSERT_EQ(lastReport().findings.size(), 1u) << allFindings();
  EXPECT_NE(allFindings().find("nothing orders this write of GM bytes 0 to 255 of an allocation of "
                               "256 bytes by DataCopy on PIPE_MTE3 (vector core 1) and a write by "
                               "DataCopy on PIPE_MTE3 (vector core 0)"),
            std::string::npos)
      << allFindings();
}

/// What a core knows of others is that of its block, not of all blocks.
__global__ __aicore__ void both_kinds_meet(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIC {
    CrossCoreSetFlag<2, PIPE_FIX>(1);
    CrossCoreWaitFlag(2);
    return;
  }
  CrossCoreWaitFlag(1);
  GlobalTensor<int32_t> gm;
  gm.SetGlobalBuffer((__gm__ int32_t*)x);
  gm.SetValue(GetBlockIdx() * 16, 1);
  CrossCoreSetFlag<2, PIPE_S>(2);
}
TEST_F(ManyBlocks, ThatMeetWithinKeepLittle) {
  constexpr uint32_t blocks = 5000;
  DeviceBuffer<int32_t> x(blocks * 2 * 16);
  both_kinds_meet<<<blocks, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings(), "");
}

__global__ __aicore__ void all_set_a_flag(GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  CrossCoreSetFlag<0, PIPE_MTE3>(1);
}
TEST_F(ManyBlocks, ThatSetAFlagOfAllAreCounted) {
  DeviceBuffer<int32_t> x(16);
  all_set_a_flag<<<20000, nullptr, nullptr>>>(x.gm());
  ASSERT_EQ(lastReport().findings.size(), 1u) << allFindings();
  EXPECT_NE(allFindings().find("[20000 times]"), std::string::npos) << allFindings();
}

constexpr uint32_t numTables = 700, numRows = 4095, rowElements = 8;

/// Writes tables that lie over each other in part, one after the other.
__global__ __aicore__ void writes_many_tables(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> t(TPosition::VECCALC, 0, numRows * rowElements);
  Duplicate(t, 1.0f, numRows * rowElements);
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  for (uint32_t i = 0; i < numTables; ++i) {
    DataCopy(gm[i * rowElements], t, {numRows, 1, 0, static_cast<uint16_t>(1 + i % 2)});
    PipeBarrier<PIPE_MTE3>();
  }
}
TEST_F(ManyBlocks, TheTimeLimitEndsTheComparison) {
  nextOptions().timeLimitSeconds = 2;
  DeviceBuffer<float> x((numRows * 3 + numTables) * rowElements);
  writes_many_tables<<<1, nullptr, nullptr>>>(x.gm());
  ASSERT_EQ(lastReport().findings.size(), 1u) << allFindings();
  EXPECT_NE(
      allFindings().find(
          "the kernel has run, but its accesses to GM could not all be compared within 2 "
          "s: races may be left that nobody has told; this is a limit of the host and no proof: to "
          "look at all, set time-limit higher, or launch fewer blocks [507014]"),
      std::string::npos)
      << allFindings();
  EXPECT_EQ(lastReport().status, 507014);
}

/// Races, and then takes longer than anybody waits.
__global__ __aicore__ void races_for_ever(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)x);
  LocalTensor<float> t(TPosition::VECCALC, 0, 64);
  for (volatile bool always = true; always;) {
    Duplicate(t, 1.0f, 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm, t, 64);
  }
}
TEST_F(ManyBlocks, TheTimeLimitSaysThatRacesMayBeUntold) {
  nextOptions().timeLimitSeconds = 0.3;
  DeviceBuffer<float> x(64);
  races_for_ever<<<200, nullptr, nullptr>>>(x.gm());
  std::string text = allFindings();
  EXPECT_NE(text.find("the kernel has run for 0.3 s"), std::string::npos) << text;
  const std::string note = "  note: the launch has ended before its accesses to GM were compared: "
                           "races may be left that nobody has told\n";
  size_t at = text.find(note);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find(note, at + 1), std::string::npos) << text;
  nextOptions() = {};
  nextOptions().timeLimitSeconds = 0.3;
  nextOptions().check = false; // then nobody expects it
  races_for_ever<<<2, nullptr, nullptr>>>(x.gm());
  EXPECT_EQ(allFindings().find("races may"), std::string::npos) << allFindings();
}
