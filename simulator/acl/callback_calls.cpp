// SPDX-License-Identifier: Apache-2.0
// Host functions and callbacks in streams.
#include "acl/acl.h"

#include "simulator/acl/devices.h"

#include <deque>
#include <map>
#include <pthread.h>

using namespace tilewright::acl;

namespace {

/// A callback that its stream has reached. `isDone` is read under the scheduler's lock.
struct Report {
  aclrtCallback function;
  void* userData;
  bool isDone = false;
};

/// Reports that wait for their thread's aclrtProcessReport. Used under the scheduler's lock.
std::map<uint64_t, std::deque<std::shared_ptr<Report>>>& pendingReports() {
  static auto* reports = new std::map<uint64_t, std::deque<std::shared_ptr<Report>>>;
  return *reports;
}

bool hasSubscription(uint64_t thread) {
  Runtime& runtime = Runtime::instance();
  for (const void* handle : runtime.streams.handles())
    if (auto stream = runtime.streams.find(handle); stream && stream->reportThread == thread)
      return true;
  for (const void* handle : runtime.contexts.handles())
    if (auto context = runtime.contexts.find(handle);
        context && context->defaultStream->reportThread == thread)
      return true;
  return false;
}

void submitCallback(Stream& stream, const std::shared_ptr<Report>& report, bool blocks) {
  uint64_t thread = *stream.reportThread;
  Task deliver;
  deliver.what = "the delivery of a callback";
  deliver.run = [report, thread] {
    Scheduler::instance().locked([&] { pendingReports()[thread].push_back(report); });
    Scheduler::instance().notify();
    return TaskOutcome{ACL_SUCCESS, {}, 0};
  };
  Scheduler::instance().submit(stream, std::move(deliver));
  if (!blocks)
    return;
  Task wait;
  wait.what = "a callback that no thread processes (aclrtProcessReport)";
  wait.isReady = [report] { return report->isDone; };
  wait.run = [] { return TaskOutcome{ACL_SUCCESS, {}, 0}; };
  Scheduler::instance().submit(stream, std::move(wait));
}

} // namespace

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return guarded("aclrtLaunchHostFunc", [&](const Call& call) -> aclError {
    if (!fn)
      return call.null("fn");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> object = findStream(call, stream, code);
    if (!object)
      return code;
    Task task;
    task.what = "a host function";
    task.run = [fn, args] {
      fn(args);
      return TaskOutcome{};
    };
    Scheduler::instance().submit(*object, std::move(task));
    return ACL_SUCCESS;
  });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream) {
  return guarded("aclrtLaunchCallback", [&](const Call& call) -> aclError {
    if (!fn)
      return call.null("fn");
    if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK)
      return call.invalid(joined("blockType is ", int(blockType), " but may be 0 or 1"));
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> object = findStream(call, stream, code);
    if (!object)
      return code;
    if (!object->reportThread)
      return call.fail(ACL_ERROR_RT_STREAM_NO_CB_REG,
                       "no thread subscribed to the stream; call aclrtSubscribeReport");
    submitCallback(*object, std::make_shared<Report>(Report{fn, userData}),
                   blockType == ACL_CALLBACK_BLOCK);
    return ACL_SUCCESS;
  });
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return guarded("aclrtSubscribeReport", [&](const Call& call) -> aclError {
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> object = findStream(call, stream, code);
    if (!object)
      return code;
    if (object->reportThread)
      return call.fail(ACL_ERROR_REPEAT_SUBSCRIBE, "stream has a subscribed thread already");
    object->reportThread = threadId;
    return ACL_SUCCESS;
  });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return guarded("aclrtUnSubscribeReport", [&](const Call& call) -> aclError {
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> object = findStream(call, stream, code);
    if (!object)
      return code;
    if (object->reportThread != threadId)
      return call.fail(object->reportThread ? ACL_ERROR_THREAD_NOT_SUBSCRIBE
                                            : ACL_ERROR_STREAM_NOT_SUBSCRIBE,
                       "thread ", threadId, " is not subscribed to the stream");
    object->reportThread.reset();
    return ACL_SUCCESS;
  });
}

aclError aclrtProcessReport(int32_t timeout) {
  return guarded("aclrtProcessReport", [&](const Call& call) -> aclError {
    if (timeout < -1)
      return call.invalid(joined("timeout is ", timeout, " ms but may be -1 or more"));
    auto self = uint64_t(pthread_self());
    if (!hasSubscription(self))
      return call.fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE, "this thread is subscribed to no stream");
    std::optional<Clock::time_point> deadline;
    if (timeout >= 0)
      deadline = Clock::now() + std::chrono::milliseconds(timeout);
    Scheduler& scheduler = Scheduler::instance();
    auto& reports = scheduler.locked([&]() -> auto& { return pendingReports()[self]; });
    if (scheduler.runUntil([&] { return !reports.empty(); }, deadline) != WaitResult::Done)
      return call.fail(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, "no callback came");
    std::shared_ptr<Report> report = scheduler.locked([&] {
      std::shared_ptr<Report> first = reports.front();
      reports.pop_front();
      return first;
    });
    report->function(report->userData);
    scheduler.locked([&] { report->isDone = true; });
    scheduler.notify();
    return ACL_SUCCESS;
  });
}
