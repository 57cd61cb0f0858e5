// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/watchdog.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace tilewright::ascend {
namespace {

using Clock = std::chrono::steady_clock;

struct Launch {
  Clock::time_point due;
  std::function<void()> interrupt;
};

/// Lives as long as the process, as its thread does.
struct Watchdog {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<unsigned long, Launch> launches;
  Clock::time_point sleepsUntil = Clock::time_point::max();
  unsigned long last = 0;
  pid_t process = 0; ///< whose thread it is: a fork has none

  [[noreturn]] void watch();
};

Watchdog& watchdog() {
  static auto* instance = new Watchdog;
  return *instance;
}

void Watchdog::watch() {
  constexpr auto again = std::chrono::milliseconds(20);
  std::unique_lock lock(mutex);
  for (;;) {
    sleepsUntil = Clock::time_point::max();
    for (auto& [number, launch] : launches) {
      if (launch.due <= Clock::now()) {
        launch.interrupt();
        launch.due = Clock::now() + again;
      }
      sleepsUntil = std::min(sleepsUntil, launch.due);
    }
    if (sleepsUntil == Clock::time_point::max())
      changed.wait(lock);
    else
      changed.wait_until(lock, sleepsUntil);
  }
}

} // namespace

Deadline::Deadline(double seconds, std::function<void()> interrupt) {
  constexpr double longest = 1e9; // what the clock can hold
  auto wait = std::chrono::duration<double>(std::min(seconds, longest));
  Watchdog& w = watchdog();
  std::lock_guard lock(w.mutex);
  number = ++w.last;
  Clock::time_point due = Clock::now() + std::chrono::duration_cast<Clock::duration>(wait);
  w.launches[number] = {due, std::move(interrupt)};
  if (w.process != getpid()) {
    w.process = getpid();
    std::thread([&w] { w.watch(); }).detach();
  } else if (due < w.sleepsUntil) {
    w.changed.notify_one();
  }
}

Deadline::~Deadline() {
  Watchdog& w = watchdog();
  std::lock_guard lock(w.mutex);
  w.launches.erase(number);
}

} // namespace tilewright::ascend
