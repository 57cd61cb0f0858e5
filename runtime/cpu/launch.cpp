// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/launch.h"

#include "runtime/cpu/block_call.h"
#include "runtime/cpu/cooperative.h"
#include "runtime/cpu/printed_line.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace tilewright::runtime {

namespace {

using Clock = std::chrono::steady_clock;

/// Waking a thread and waiting for it costs about this much, so less work than this stays on one
/// thread.
constexpr int64_t wakeNanoseconds = 20'000;
/// Longest time between two polls, as far as whole blocks allow.
constexpr int64_t pollNanoseconds = 20'000'000;

std::atomic<int> wantedThreads{0};
std::atomic<bool> isForkedChild{false};

int availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return 1;
  return std::max(1, CPU_COUNT(&set));
}

/// TBB's threads; made at the first launch that needs them. Never destroyed: at exit, threads may
/// still run.
class Threads {
public:
  static std::shared_ptr<Threads> get() {
    static auto* mutex = new std::mutex;
    static auto* current = new std::shared_ptr<Threads>;
    std::scoped_lock lock(*mutex);
    int count = threadCount();
    if (!*current || (*current)->count != count)
      *current = std::make_shared<Threads>(count);
    return *current;
  }

  explicit Threads(int count)
      : count(count), allowed(tbb::global_control::max_allowed_parallelism, size_t(count)),
        arena(count, 1) {}

  const int count;

  template <typename Body> void run(int bodies, const Body& body) {
    arena.execute([&] {
      // Isolated: while it waits, this thread must not pick up another launch's blocks.
      tbb::this_task_arena::isolate(
          [&] { tbb::parallel_for(0, bodies, [&](int) { body(); }, tbb::static_partitioner{}); });
    });
  }

private:
  tbb::global_control allowed;
  tbb::task_arena arena;
};

/// One launch: threads take runs of blocks from `next` until none are left.
class Launch {
public:
  Launch(const CpuKernel& kernel, const CpuLaunch& part, const uint64_t* slots, TwLaunch& launch,
         const LaunchOptions& options, int64_t blocks)
      : kernel(kernel), part(part), slots(slots), launch(launch), options(options), total(blocks),
        launcher(pthread_self()) {}

  LaunchResult run() {
    int64_t guess = part.blockNanoseconds.load(std::memory_order_relaxed);
    const int threads = isForkedChild ? 1 : int(std::min<int64_t>(threadCount(), total));
    if (total == 1 || threads == 1 || (guess > 0 && guess * total < wakeNanoseconds))
      work(/*mayGiveUp=*/threads > 1);
    if (next.load(std::memory_order_relaxed) < total && !launch.stop && threads > 1) {
      try {
        auto team = Threads::get();
        team->run(threads, [this] { work(false); });
      } catch (const std::exception&) { // no more threads can be made
        work(false);
      }
    } else if (next.load(std::memory_order_relaxed) < total && !launch.stop) {
      work(false);
    }
    if (launch.stop && result.end == LaunchEnd::Done)
      result.end = LaunchEnd::Stopped;
    return result;
  }

private:
  /// Takes runs of blocks until none are left. With `mayGiveUp`, returns as soon as the rest turns
  /// out to be worth other threads.
  void work(bool mayGiveUp) {
    const bool isLauncher = pthread_equal(launcher, pthread_self()) != 0;
    int64_t guess = part.blockNanoseconds.load(std::memory_order_relaxed);
    Clock::time_point start = Clock::now();
    while (!launch.stop) {
      int64_t begin = next.load(std::memory_order_relaxed);
      int64_t end;
      do {
        if (begin >= total)
          return;
        end = begin + runLength(begin, guess);
      } while (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
      LaunchResult mine;
      if (!callBlocks(kernel, part, slots, begin, end, launch, mine)) {
        if (mine.end != LaunchEnd::Done) {
          std::scoped_lock lock(resultMutex);
          result = mine;
        }
        return;
      }
      Clock::time_point now = Clock::now();
      guess = learn((now - start).count() / (end - begin));
      start = now;
      if (mayGiveUp && guess * (total - end) > wakeNanoseconds)
        return;
      if (isLauncher)
        pollSometimes(now);
    }
  }

  /// Long runs first, for locality; short ones at the end, for balance; none longer than a poll's
  /// distance.
  int64_t runLength(int64_t begin, int64_t guess) const {
    int64_t fair = std::max<int64_t>(1, (total - begin) / (2 * int64_t(threadCount())));
    if (guess == 0)
      return 1;
    return std::clamp<int64_t>(pollNanoseconds / guess, 1, fair);
  }

  /// Up at once, down slowly: taking a launch for too large costs a wake-up, for too small much
  /// more.
  int64_t learn(int64_t nanoseconds) const {
    int64_t old = part.blockNanoseconds.load(std::memory_order_relaxed);
    int64_t guess = std::clamp<int64_t>(std::max(nanoseconds, old - old / 8), 1, UINT32_MAX);
    if (guess != old)
      part.blockNanoseconds.store(uint32_t(guess), std::memory_order_relaxed);
    return guess;
  }

  void pollSometimes(Clock::time_point now) {
    if (!options.poll)
      return;
    if (lastPoll == Clock::time_point{})
      lastPoll = now; // the first block's end
    if ((now - lastPoll).count() < pollNanoseconds)
      return;
    lastPoll = now;
    if (options.poll(options.pollContext))
      launch.stop = 1;
  }

  const CpuKernel& kernel;
  const CpuLaunch& part;
  const uint64_t* slots;
  TwLaunch& launch;
  const LaunchOptions& options;
  const int64_t total;
  const pthread_t launcher;
  std::atomic<int64_t> next{0};
  Clock::time_point lastPoll; // used by the launcher's thread only
  std::mutex resultMutex;
  LaunchResult result;
};

/// Global memory that belongs to one call: its launches share it.
struct Workspace {
  explicit Workspace(int64_t bytes)
      : memory(bytes > 0 ? static_cast<char*>(std::aligned_alloc(64, size_t(bytes + 63) / 64 * 64))
                         : nullptr) {}
  ~Workspace() {
    std::free(memory);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  char* memory;
};

/// Runs one of the kernel's launches, to its end.
LaunchResult runLaunch(const CpuKernel& kernel, const CpuLaunch& part, const uint64_t* slots,
                       TwLaunch& launch, const LaunchOptions& options) {
  part.grid(slots, launch.grid);
  int64_t blocks = 1;
  for (int64_t extent : launch.grid) {
    bool overflows = __builtin_mul_overflow(blocks, extent, &blocks);
    if (extent < 0 || overflows || blocks > (int64_t(1) << 62))
      return {LaunchEnd::BadGrid};
  }
  if (std::ranges::find(launch.grid, 0) != std::end(launch.grid))
    return {};
  return part.isCooperative ? runTogether(kernel, part, slots, launch, options, blocks)
                            : Launch(kernel, part, slots, launch, options, blocks).run();
}

void printToStandardOutput(TwLaunch*, const char* text, int64_t bytes) {
  const std::string_view line = finishedLine(text, bytes);
  std::fwrite(line.data(), 1, line.size(), stdout);
}

} // namespace

LaunchResult runBlocks(const CpuKernel& kernel, const uint64_t* slots, TwLaunch& launch,
                       const LaunchOptions& options) noexcept {
  static const bool prepared = [] {
    pthread_atfork(nullptr, nullptr, [] { isForkedChild = true; });
    catchFaults();
    return true;
  }();
  (void)prepared;
  launch.leave = leaveBlocks;
  launch.print = options.print ? options.print : printToStandardOutput;
  launch.device_error = 0;
  const Manifest& manifest = kernel.manifest();
  const Workspace workspace(manifest.workspaceBytes);
  if (!workspace.memory && manifest.workspaceBytes > 0)
    return {LaunchEnd::OutOfMemory};
  launch.workspace = workspace.memory;
  LaunchResult result;
  for (const CpuLaunch& part : kernel.launches()) {
    result = runLaunch(kernel, part, slots, launch, options);
    result.part = size_t(&part - kernel.launches().data());
    if (result.end != LaunchEnd::Done)
      break;
  }
  if (launch.device_error != 0 && result.end == LaunchEnd::Stopped) {
    result.end = LaunchEnd::AssertFailed;
    result.assertion = launch.device_error - 1;
  }
  return result;
}

void setThreadCount(int count) {
  wantedThreads = std::max(0, count);
}

int threadCount() {
  int wanted = wantedThreads.load(std::memory_order_relaxed);
  if (wanted > 0)
    return wanted;
  static const int cores = availableCores();
  return cores;
}

static std::string describeGrid(const Manifest& manifest, size_t part, const int64_t* grid) {
  const std::string place = part < manifest.launches.size() ? manifest.launches[part].place : "";
  return (place.empty() ? manifest.name + ": " : place + ": error: ") + "the grid is (" +
         std::to_string(grid[0]) + ", " + std::to_string(grid[1]) + ", " + std::to_string(grid[2]) +
         ") but extents from 0 on, of less than 2^62 blocks, were expected";
}

std::string describe(const LaunchResult& result, const Manifest& manifest, const TwLaunch& launch) {
  const std::string& name = manifest.name;
  switch (result.end) {
  case LaunchEnd::Done:
    return name + ": done";
  case LaunchEnd::Stopped:
    return name + ": stopped; its outputs are partly written";
  case LaunchEnd::AssertFailed: {
    if (size_t(result.assertion) >= manifest.asserts.size())
      return name + ": device_assert failed";
    const DeviceAssertion& assertion = manifest.asserts[result.assertion];
    std::string place = assertion.file + ":" + std::to_string(assertion.line) + ":" +
                        std::to_string(assertion.column) + ": error: ";
    std::string message = assertion.message;
    if (const size_t at = message.find("{}"); assertion.tells && at != std::string::npos)
      message.replace(at, 2, std::to_string(launch.told));
    return (assertion.line > 0 ? place : name + ": ") + message;
  }
  case LaunchEnd::Fault: {
    char address[32];
    std::snprintf(address, sizeof address, "%p", result.address);
    if (result.signal == SIGFPE)
      return name + ": the kernel divided an integer by zero, at instruction " + address;
    if (result.signal == SIGILL)
      return name + ": the kernel has an instruction that this CPU lacks, at " + address +
             " (made for '" + manifest.cpu + "')";
    return name + ": the kernel touched memory at " + address + ", which is outside its tensors";
  }
  case LaunchEnd::OutOfMemory:
    return name + ": no memory for " + std::to_string(manifest.scratchBytes) +
           " bytes of on-chip buffers per thread" +
           (manifest.workspaceBytes == 0
                ? ""
                : " and " + std::to_string(manifest.workspaceBytes) + " bytes of workspace");
  case LaunchEnd::TooManyBlocks:
    return name + ": its blocks wait for each other, so each needs a thread of its own: " +
           std::to_string(launch.grid[0] * launch.grid[1] * launch.grid[2]) +
           " blocks are too many (at most " + std::to_string(largestCooperation) + ")";
  case LaunchEnd::Deadlock:
    return name + ": blocks wait in T.sync_grid for others that have ended";
  case LaunchEnd::BadGrid:
    return describeGrid(manifest, result.part, launch.grid);
  }
  return name;
}

} // namespace tilewright::runtime
