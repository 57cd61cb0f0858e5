// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/watchdog.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <unistd.h>

namespace tilewright::ascend {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Launch {
  SteadyClock::time_point due;
  std::function<double()> look;
};

/// Lives as long as the process, as its thread does.
struct Watchdog {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<unsigned long, Launch> launches;
  SteadyClock::time_point sleepsUntil = SteadyClock::time_point::max();
  unsigned long last = 0;
  pid_t process = 0; ///< whose thread it is: a fork has none

  [[noreturn]] void watch();
};

/// Not in the heap: what a kernel writes past the end of its memory there must not lock everybody out.
Watchdog& watchdog() {
  alignas(Watchdog) static std::byte place[sizeof(Watchdog)];
  static auto* instance = new (place) Watchdog;
  return *instance;
}

SteadyClock::time_point after(double seconds) {
  constexpr double longest = 1e9; // what the clock can hold
  auto wait = std::chrono::duration<double>(std::min(seconds, longest));
  return SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(wait);
}

void Watchdog::watch() {
  // Short launches follow each other: stay awake a little, so that they need not wake anybody.
  constexpr double linger = 0.25;
  bool hasLingered = false;
  std::unique_lock lock(mutex);
  for (;;) {
    sleepsUntil = SteadyClock::time_point::max();
    for (auto& [number, launch] : launches) {
      if (launch.due <= SteadyClock::now())
        launch.due = after(launch.look());
      sleepsUntil = std::min(sleepsUntil, launch.due);
    }
    if (launches.empty() && !hasLingered)
      sleepsUntil = after(linger);
    hasLingered = launches.empty();
    if (sleepsUntil == SteadyClock::time_point::max())
      changed.wait(lock);
    else
      changed.wait_until(lock, sleepsUntil);
  }
}

} // namespace

Watch::Watch(double seconds, std::function<double()> look) {
  Watchdog& w = watchdog();
  std::lock_guard lock(w.mutex);
  number = ++w.last;
  SteadyClock::time_point due = after(seconds);
  w.launches[number] = {due, std::move(look)};
  if (w.process != getpid()) {
    w.process = getpid();
    std::thread([&w] { w.watch(); }).detach();
  } else if (due < w.sleepsUntil) {
    w.changed.notify_one();
  }
}

Watch::~Watch() {
  Watchdog& w = watchdog();
  std::lock_guard lock(w.mutex);
  w.launches.erase(number);
}

} // namespace tilewright::ascend
