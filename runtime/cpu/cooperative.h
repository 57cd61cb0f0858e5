// SPDX-License-Identifier: Apache-2.0
/// Launches whose blocks wait for each other (T.sync_grid): a thread per block.
#pragma once

#include "runtime/cpu/launch.h"

namespace tilewright::runtime {

/// More blocks than this are refused.
constexpr int64_t largestCooperation = 1024;

/// As `runBlocks` for one of the launches, once `launch` is filled; the caller's thread waits and polls.
LaunchResult runTogether(const CpuKernel& kernel, const CpuLaunch& part, const uint64_t* slots,
                         TwLaunch& launch, const LaunchOptions& options, int64_t blocks);

} // namespace tilewright::runtime
