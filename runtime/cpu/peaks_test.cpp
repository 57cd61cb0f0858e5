// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/peaks.h"

#include "runtime/cpu/launch.h"

#include <gtest/gtest.h>

#include <chrono>

namespace tilewright::runtime {
namespace {

/// A chain of dependent additions runs far below the peak.
TEST(MachinePeaks, AreAboveWhatPlainCodeReaches) {
  MachinePeaks peaks = measurePeaks();
  volatile float sum = 0;
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1'000'000; ++i)
    sum = sum + 1.0F;
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(peaks.flopsPerSecond, 4 * 1e6 / seconds.count());
  EXPECT_LT(peaks.flopsPerSecond, 1e12 * threadCount());
  EXPECT_GT(peaks.bytesPerSecond, 1e8);
  EXPECT_LT(peaks.bytesPerSecond, 1e13);
  if (peaks.bfloat16FlopsPerSecond != 0)
    EXPECT_GT(peaks.bfloat16FlopsPerSecond, 0.8 * peaks.flopsPerSecond);
}

} // namespace
} // namespace tilewright::runtime
