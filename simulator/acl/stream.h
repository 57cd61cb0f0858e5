// SPDX-License-Identifier: Apache-2.0
/// Streams and events. A stream is an in-order queue. Work is lazy: a task runs on the host thread
/// that first waits for something (synchronise, query, blocking copy, free). Tasks of all streams
/// run in the order of their submission, except that a stream whose head waits for an event stands
/// aside. So results do not depend on threads' timing, and errors reach the thread that waits.
#pragma once

#include "acl/acl_base.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::acl {

/// How a task ended. `modelledMs` is the device time it would have taken; negative: take the host's
/// time.
struct TaskOutcome {
  aclError code = ACL_SUCCESS;
  std::string text;
  double modelledMs = -1;
};

struct Task {
  std::function<TaskOutcome()> run;
  /// Empty: may run at once. Called under the scheduler's lock.
  std::function<bool()> isReady;
  /// Runs even after a task of the stream failed (records of events, whose waiters must not hang).
  bool runsAfterFailure = false;
  /// What it waits for, for the message of a wait that cannot end.
  std::string what;
  uint64_t order = 0;
  double notBeforeMs = 0;
};

struct Stream {
  int device = 0;
  const void* context = nullptr;
  std::optional<uint64_t> reportThread; ///< who calls aclrtProcessReport for it
  // Below: under the scheduler's lock.
  std::deque<Task> tasks;
  bool isRunning = false;
  TaskOutcome failure; ///< of the first task that failed since the last report
  double clockMs = 0;  ///< modelled time at which its last task ended
};

/// The device of the stream whose task this thread runs; -1 outside of tasks. Tasks nest.
class DeviceOfTask {
public:
  explicit DeviceOfTask(int device) : outer(current()) {
    current() = device;
  }
  DeviceOfTask(const DeviceOfTask&) = delete;
  DeviceOfTask& operator=(const DeviceOfTask&) = delete;
  ~DeviceOfTask() {
    current() = outer;
  }
  static int& current() {
    static thread_local int device = -1;
    return device;
  }

private:
  int outer;
};

struct Event {
  uint32_t flags = 0;
  // Below: under the scheduler's lock.
  uint64_t submitted = 0; ///< records enqueued
  uint64_t completed = 0; ///< number of the latest record that ran
  double timeMs = 0;
};

enum class WaitResult { Done, TimedOut, Stuck };

using Clock = std::chrono::steady_clock;

/// Runs the tasks of all streams.
class Scheduler {
public:
  static Scheduler& instance();

  void addStream(const std::shared_ptr<Stream>& stream);
  /// Forgets the stream and what it still holds.
  void removeStream(const Stream* stream);
  void submit(Stream& stream, Task task);

  /// Runs tasks until `isDone` (called under the lock) or `deadline`. Stuck: nothing can run, and
  /// no other thread submitted anything for the time that waitLimit() says.
  WaitResult runUntil(const std::function<bool()>& isDone,
                      std::optional<Clock::time_point> deadline = {});
  /// Runs tasks until `stream` is empty.
  WaitResult drain(Stream& stream, std::optional<Clock::time_point> deadline = {});
  /// Runs at most one task; for calls that ask without waiting.
  void advance();

  bool isIdle(Stream& stream);
  /// The stream's failure, which is thereby reported.
  TaskOutcome takeFailure(Stream& stream);
  /// What the heads of all blocked streams wait for.
  std::string describeBlocked();

  void record(const std::shared_ptr<Event>& event, Stream& stream);
  void waitFor(const std::shared_ptr<Event>& event, Stream& stream);
  /// Runs `body` under the scheduler's lock.
  template <class Body> decltype(auto) locked(Body&& body) {
    std::lock_guard lock(mutex);
    return body();
  }
  /// Wakes threads that wait, after something that a task's isReady looks at has changed.
  void notify() {
    changed.notify_all();
  }

private:
  std::shared_ptr<Stream> pickStream();
  bool othersRun() const;
  void runHead(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Stream>& stream);

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<Stream>> streams;
  uint64_t lastOrder = 0;
  double hostClockMs = 0; ///< modelled time up to which the host has waited
};

/// Seconds after which a wait that nothing can end is an error: TILEWRIGHT_ACL_WAIT_SECONDS,
/// else 5.
double waitLimitSeconds();

} // namespace tilewright::acl
