// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/cooperative.h"

#include "runtime/cpu/block_call.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tilewright::runtime {

namespace {

constexpr std::chrono::milliseconds pollDistance(20);

/// The blocks of one launch and the barrier between them.
class Cooperation {
public:
  Cooperation(const CpuKernel& kernel, const CpuLaunch& part, const uint64_t* slots,
              TwLaunch& launch, const LaunchOptions& options, int64_t blocks)
      : kernel(kernel), part(part), slots(slots), launch(launch), options(options),
        running(blocks) {}

  LaunchResult run() {
    std::vector<std::thread> threads;
    const int64_t count = running;
    try {
      threads.reserve(size_t(count));
      for (int64_t block = 0; block < count; ++block)
        threads.emplace_back([this, block] { runBlock(block); });
    } catch (const std::system_error&) {
      const std::scoped_lock lock(mutex);
      running -= count - int64_t(threads.size());
      end(LaunchEnd::TooManyBlocks);
    }
    wait();
    for (std::thread& thread : threads)
      thread.join();
    if (launch.stop && result.end == LaunchEnd::Done)
      result.end = LaunchEnd::Stopped;
    return result;
  }

  /// The barrier. Does not return where the launch ends before all blocks have come.
  static void arrive(TwLaunch* launch) {
    if (!current->meet())
      leaveBlocks(launch);
  }

private:
  void runBlock(int64_t block) {
    current = this;
    LaunchResult mine;
    const bool isDone = callBlocks(kernel, part, slots, block, block + 1, launch, mine);
    const std::scoped_lock lock(mutex);
    --running;
    hasEnded = true;
    if (!isDone && result.end == LaunchEnd::Done)
      result = mine;
    if (isDone && waiting > 0 && result.end == LaunchEnd::Done)
      end(LaunchEnd::Deadlock);
    changed.notify_all();
  }

  /// False where the launch has ended.
  bool meet() {
    std::unique_lock lock(mutex);
    if (launch.stop)
      return false;
    if (hasEnded) {
      end(LaunchEnd::Deadlock);
      return false;
    }
    const int64_t mine = round;
    if (++waiting == running) {
      waiting = 0;
      ++round;
      changed.notify_all();
      return true;
    }
    changed.wait(lock, [&] { return round != mine || launch.stop; });
    return round != mine;
  }

  /// On the launcher's thread: until all blocks have ended.
  void wait() {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, pollDistance, [this] { return running == 0; })) {
      lock.unlock();
      const bool isAsked = options.poll && options.poll(options.pollContext);
      lock.lock();
      if (isAsked || launch.stop) {
        launch.stop = 1;
        changed.notify_all();
      }
    }
  }

  /// With the lock held.
  void end(LaunchEnd reason) {
    if (result.end == LaunchEnd::Done)
      result.end = reason;
    launch.stop = 1;
    changed.notify_all();
  }

  static thread_local Cooperation* current;
  const CpuKernel& kernel;
  const CpuLaunch& part;
  const uint64_t* slots;
  TwLaunch& launch;
  const LaunchOptions& options;
  std::mutex mutex;
  std::condition_variable changed;
  int64_t running, waiting = 0, round = 0;
  bool hasEnded = false;
  LaunchResult result;
};

thread_local Cooperation* Cooperation::current = nullptr;

} // namespace

LaunchResult runTogether(const CpuKernel& kernel, const CpuLaunch& part, const uint64_t* slots,
                         TwLaunch& launch, const LaunchOptions& options, int64_t blocks) {
  if (blocks > largestCooperation)
    return {LaunchEnd::TooManyBlocks};
  launch.sync_grid = Cooperation::arrive;
  return Cooperation(kernel, part, slots, launch, options, blocks).run();
}

} // namespace tilewright::runtime
