// SPDX-License-Identifier: Apache-2.0
/// One call into a kernel's code on this thread: its scratch, its way out, and its faults.
#pragma once

#include "runtime/cpu/launch.h"

namespace tilewright::runtime {

/// Runs blocks [begin, end) of one of the kernel's launches on this thread. False if it ended early: `launch.stop` was set, an
/// assertion failed, or `result` tells of a fault or of missing memory. A launch that ends early
/// stops all others.
bool callBlocks(const CpuKernel& kernel, const CpuLaunch& part, const uint64_t* slots,
                int64_t begin, int64_t end, TwLaunch& launch, LaunchResult& result);

/// What `TwLaunch.leave` points to. Never returns.
[[noreturn]] void leaveBlocks(TwLaunch* launch);

/// Makes SIGSEGV, SIGBUS, SIGFPE and SIGILL inside kernel code end the launch instead of the
/// process. Once.
void catchFaults();

} // namespace tilewright::runtime
