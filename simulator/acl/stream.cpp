// SPDX-License-Identifier: Apache-2.0
#include "simulator/acl/stream.h"

#include "simulator/acl/error_report.h"
#include "simulator/machine/host_access.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace tilewright::acl {
namespace {

// How many tasks the calling thread is inside of (a host function may call back into the runtime).
thread_local int nestedTasks = 0;

std::chrono::duration<double> seconds(double value) {
  return std::chrono::duration<double>(value);
}

} // namespace

double waitLimitSeconds() {
  if (const char* text = std::getenv("TILEWRIGHT_ACL_WAIT_SECONDS")) {
    char* end = nullptr;
    double value = std::strtod(text, &end);
    if (end != text && value >= 0 && value <= 86400)
      return value;
  }
  return 5;
}

Scheduler& Scheduler::instance() {
  static Scheduler* scheduler = new Scheduler; // outlives every thread
  return *scheduler;
}

void Scheduler::addStream(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(mutex);
  stream->clockMs = hostClockMs;
  streams.push_back(stream);
}

void Scheduler::removeStream(const Stream* stream) {
  std::lock_guard lock(mutex);
  std::erase_if(streams, [&](const auto& other) { return other.get() == stream; });
  changed.notify_all();
}

void Scheduler::submit(Stream& stream, Task task) {
  std::lock_guard lock(mutex);
  task.order = ++lastOrder;
  task.notBeforeMs = hostClockMs;
  stream.tasks.push_back(std::move(task));
  changed.notify_all();
}

std::shared_ptr<Stream> Scheduler::pickStream() {
  std::shared_ptr<Stream> best;
  uint64_t bestOrder = std::numeric_limits<uint64_t>::max();
  for (const auto& stream : streams) {
    if (stream->isRunning || stream->tasks.empty())
      continue;
    const Task& head = stream->tasks.front();
    if (head.order < bestOrder && (!head.isReady || head.isReady())) {
      best = stream;
      bestOrder = head.order;
    }
  }
  return best;
}

bool Scheduler::othersRun() const {
  auto running = std::count_if(streams.begin(), streams.end(),
                               [](const auto& stream) { return stream->isRunning; });
  return running > nestedTasks;
}

void Scheduler::runHead(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Stream>& stream) {
  Task task = std::move(stream->tasks.front());
  stream->tasks.pop_front();
  stream->clockMs = std::max(stream->clockMs, task.notBeforeMs);
  if (stream->failure.code != ACL_SUCCESS && !task.runsAfterFailure)
    return;
  stream->isRunning = true;
  ++nestedTasks;
  lock.unlock();
  auto start = Clock::now();
  TaskOutcome outcome;
  try {
    ascend::OpenDeviceMemory open;
    DeviceOfTask device(stream->device);
    outcome = task.run();
  } catch (const std::exception& error) {
    outcome = {ACL_ERROR_INTERNAL_ERROR,
               joined(task.what, " ended with an exception: ", error.what())};
  }
  double hostMs = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  lock.lock();
  --nestedTasks;
  stream->isRunning = false;
  stream->clockMs += outcome.modelledMs >= 0 ? outcome.modelledMs : hostMs;
  if (outcome.code != ACL_SUCCESS && stream->failure.code == ACL_SUCCESS)
    stream->failure = std::move(outcome);
  changed.notify_all();
}

WaitResult Scheduler::runUntil(const std::function<bool()>& isDone,
                               std::optional<Clock::time_point> deadline) {
  std::unique_lock lock(mutex);
  while (!isDone()) {
    if (deadline && Clock::now() >= *deadline)
      return WaitResult::TimedOut;
    if (std::shared_ptr<Stream> stream = pickStream()) {
      runHead(lock, stream);
      continue;
    }
    // Nothing for this thread to run. While other threads run tasks, they will wake us.
    bool othersWork = othersRun();
    auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    seconds(othersWork ? 1 : waitLimitSeconds()));
    bool isOurDeadline = deadline && *deadline < limit;
    auto status = changed.wait_until(lock, isOurDeadline ? *deadline : limit);
    if (status == std::cv_status::timeout && !isOurDeadline && !othersWork && !isDone() &&
        !pickStream() && !othersRun())
      return WaitResult::Stuck;
  }
  return WaitResult::Done;
}

WaitResult Scheduler::drain(Stream& stream, std::optional<Clock::time_point> deadline) {
  WaitResult result = runUntil([&] { return stream.tasks.empty() && !stream.isRunning; }, deadline);
  if (result == WaitResult::Done)
    locked([&] { hostClockMs = std::max(hostClockMs, stream.clockMs); });
  return result;
}

void Scheduler::advance() {
  std::unique_lock lock(mutex);
  if (std::shared_ptr<Stream> stream = pickStream())
    runHead(lock, stream);
}

bool Scheduler::isIdle(Stream& stream) {
  return locked([&] { return stream.tasks.empty() && !stream.isRunning; });
}

TaskOutcome Scheduler::takeFailure(Stream& stream) {
  return locked([&] { return std::exchange(stream.failure, TaskOutcome{}); });
}

std::string Scheduler::describeBlocked() {
  std::lock_guard lock(mutex);
  std::string text;
  for (const auto& stream : streams)
    if (!stream->tasks.empty())
      text += (text.empty() ? "" : "; ") + ("a stream waits for " + stream->tasks.front().what);
  return text.empty() ? "nothing is enqueued that would end the wait" : text;
}

void Scheduler::record(const std::shared_ptr<Event>& event, Stream& stream) {
  uint64_t number = locked([&] { return ++event->submitted; });
  Task task;
  task.what = "the record of an event";
  task.runsAfterFailure = true;
  task.run = [this, event, number, &stream] {
    locked([&] {
      event->completed = std::max(event->completed, number);
      event->timeMs = stream.clockMs;
    });
    return TaskOutcome{ACL_SUCCESS, {}, 0};
  };
  submit(stream, std::move(task));
}

void Scheduler::waitFor(const std::shared_ptr<Event>& event, Stream& stream) {
  // Waits for the record that is the latest now; before any record, for the first one to come.
  uint64_t number = locked([&] { return std::max<uint64_t>(event->submitted, 1); });
  Task task;
  task.what = "an event that no stream records";
  task.runsAfterFailure = true;
  task.isReady = [event, number] { return event->completed >= number; };
  task.run = [this, event, &stream] {
    locked([&] { stream.clockMs = std::max(stream.clockMs, event->timeMs); });
    return TaskOutcome{ACL_SUCCESS, {}, 0};
  };
  submit(stream, std::move(task));
}

} // namespace tilewright::acl
