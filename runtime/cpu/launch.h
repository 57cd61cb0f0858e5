// SPDX-License-Identifier: Apache-2.0
/// Runs a kernel's launches on the cores of this machine.
#pragma once

#include "runtime/cpu/library.h"

namespace tilewright::runtime {

enum class LaunchEnd {
  Done,
  Stopped,      // `stop` was set, or `poll` asked for it: tensors are partly written
  AssertFailed, // the kernel's device_assert number `TwLaunch.device_error - 1`
  Fault,        // the kernel touched memory that is not there
  OutOfMemory,  // no scratch
  BadGrid,      // a negative extent, or more than 2^62 blocks
  // Of kernels whose blocks wait for each other:
  TooManyBlocks, // for a thread each
  Deadlock,      // a block waits for one that has ended
};

/// What a launch tells and asks its caller.
struct LaunchOptions {
  /// Called on the launching thread, between blocks, at most every 20 ms; true ends the launch.
  bool (*poll)(void* context) = nullptr;
  void* pollContext = nullptr;
  /// Where T.print goes; null: standard output. May be called from any thread, also several at
  /// once.
  void (*print)(TwLaunch* launch, const char* text, int64_t bytes) = nullptr;
};

struct LaunchResult {
  LaunchEnd end = LaunchEnd::Done;
  size_t part = 0;               // which of the kernel's launches was the last
  int32_t assertion = 0;         // of AssertFailed: its number in the manifest
  int32_t signal = 0;            // of Fault: SIGSEGV, SIGBUS, SIGFPE or SIGILL
  const void* address = nullptr; // of Fault
};

/// Runs all blocks of the kernel's launches, one launch after the other, and waits for them. One that does
/// not end well is the last. `launch` lives as long as anyone may set its `stop`; its
/// other fields are filled here. Callable from several threads at once. Where no threads can be
/// made, and after fork() in the child, all blocks run on the caller's thread.
LaunchResult runBlocks(const CpuKernel& kernel, const uint64_t* slots, TwLaunch& launch,
                       const LaunchOptions& options = {}) noexcept;

/// `count` threads from now on, including the caller's; 0: as many as the process may use cores.
void setThreadCount(int count);
int threadCount();

/// The message for a launch that did not end well, e.g. `kernel.py:3:5: error: device_assert failed: ...`.
std::string describe(const LaunchResult& result, const Manifest& manifest, const TwLaunch& launch);

} // namespace tilewright::runtime
