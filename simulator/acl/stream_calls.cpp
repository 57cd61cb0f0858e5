// SPDX-License-Identifier: Apache-2.0
// Streams and events of the C interface.
#include "acl/acl.h"

#include "simulator/acl/devices.h"

using namespace tilewright::acl;

namespace {

aclError createStream(const Call& call, aclrtStream* stream) {
  if (!stream)
    return call.null("stream");
  std::shared_ptr<Context> context = currentContext(call);
  if (!context)
    return ACL_ERROR_RT_CONTEXT_NULL;
  auto object = std::make_shared<Stream>();
  object->device = context->device;
  object->context = currentContextHandle();
  Scheduler::instance().addStream(object);
  *stream = Runtime::instance().streams.insert(object);
  return ACL_SUCCESS;
}

aclError destroyStream(const Call& call, aclrtStream handle, bool force) {
  Runtime& runtime = Runtime::instance();
  auto noStream = [&] {
    return call.fail(ACL_ERROR_RT_INVALID_HANDLE,
                     runtime.streams.complaint("stream", handle, "a stream"));
  };
  std::shared_ptr<Stream> stream = runtime.streams.find(handle);
  if (!stream)
    return noStream();
  aclError code = ACL_SUCCESS;
  if (!force)
    code = synchronize(call, *stream, -1, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  if (!runtime.streams.remove(handle))
    return noStream(); // another thread, or a host function of the stream, destroyed it meanwhile
  Scheduler::instance().removeStream(stream.get());
  return code;
}

std::shared_ptr<Event> findEvent(const Call& call, const char* parameter, aclrtEvent handle) {
  Runtime& runtime = Runtime::instance();
  std::shared_ptr<Event> event = runtime.events.find(handle);
  if (!event)
    call.fail(ACL_ERROR_RT_INVALID_HANDLE, runtime.events.complaint(parameter, handle, "an event"));
  return event;
}

aclError createEvent(const Call& call, aclrtEvent* event, uint32_t flags) {
  constexpr uint32_t known =
      ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;
  if (!event)
    return call.null("event");
  if (flags == 0 || (flags & ~known) != 0)
    return call.invalid(joined("flag is ", flags, ", which is no union of ACL_EVENT_* flags"));
  if (!currentContext(call))
    return ACL_ERROR_RT_CONTEXT_NULL;
  auto object = std::make_shared<Event>();
  object->flags = flags;
  *event = Runtime::instance().events.insert(object);
  return ACL_SUCCESS;
}

bool isComplete(const Event& event) {
  return Scheduler::instance().locked([&] { return event.completed == event.submitted; });
}

aclError synchronizeEvent(const Call& call, aclrtEvent handle, int32_t timeoutMs) {
  std::shared_ptr<Event> event = findEvent(call, "event", handle);
  if (!event)
    return ACL_ERROR_RT_INVALID_HANDLE;
  std::optional<Clock::time_point> deadline;
  if (timeoutMs >= 0)
    deadline = Clock::now() + std::chrono::milliseconds(timeoutMs);
  Scheduler& scheduler = Scheduler::instance();
  WaitResult result =
      scheduler.runUntil([&] { return event->completed == event->submitted; }, deadline);
  if (result == WaitResult::TimedOut)
    return call.fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "event is not recorded after ", timeoutMs,
                     " ms");
  if (result == WaitResult::Stuck)
    return call.fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
                     "the wait cannot end: ", scheduler.describeBlocked());
  return ACL_SUCCESS;
}

} // namespace

aclError aclrtCreateStream(aclrtStream* stream) {
  return guarded("aclrtCreateStream", [&](const Call& call) { return createStream(call, stream); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return guarded("aclrtCreateStreamWithConfig", [&](const Call& call) -> aclError {
    if (priority > 7)
      return call.invalid(joined("priority is ", priority, " but may be 0 to 7"));
    if ((flag & ~0x3FU) != 0)
      return call.invalid(joined("flag is ", flag, ", which is no union of ACL_STREAM_* flags"));
    return createStream(call, stream);
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return guarded("aclrtDestroyStream",
                 [&](const Call& call) { return destroyStream(call, stream, false); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return guarded("aclrtDestroyStreamForce",
                 [&](const Call& call) { return destroyStream(call, stream, true); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return guarded("aclrtSynchronizeStream", [&](const Call& call) -> aclError {
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> object = findStream(call, stream, code);
    return object ? synchronize(call, *object, -1, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) : code;
  });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return guarded("aclrtSynchronizeStreamWithTimeout", [&](const Call& call) -> aclError {
    if (timeout < -1)
      return call.invalid(joined("timeout is ", timeout, " ms but may be -1 or more"));
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> object = findStream(call, stream, code);
    return object ? synchronize(call, *object, timeout, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) : code;
  });
}

aclError aclrtSynchronizeDevice(void) {
  return guarded("aclrtSynchronizeDevice", [&](const Call& call) -> aclError {
    std::shared_ptr<Context> context = currentContext(call);
    if (!context)
      return ACL_ERROR_RT_CONTEXT_NULL;
    aclError first =
        synchronize(call, *context->defaultStream, -1, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    Runtime& runtime = Runtime::instance();
    for (const void* handle : runtime.streams.handles()) {
      std::shared_ptr<Stream> stream = runtime.streams.find(handle);
      if (!stream || stream->device != context->device)
        continue;
      aclError code = synchronize(call, *stream, -1, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
      first = first == ACL_SUCCESS ? code : first;
    }
    return first;
  });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return guarded("aclrtStreamQuery", [&](const Call& call) -> aclError {
    if (!status)
      return call.null("status");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> object = findStream(call, stream, code);
    if (!object)
      return code;
    Scheduler& scheduler = Scheduler::instance();
    if (!scheduler.isIdle(*object))
      scheduler.advance();
    *status = scheduler.isIdle(*object) ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return guarded("aclrtStreamWaitEvent", [&](const Call& call) -> aclError {
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> object = findStream(call, stream, code);
    if (!object)
      return code;
    std::shared_ptr<Event> awaited = findEvent(call, "event", event);
    if (!awaited)
      return ACL_ERROR_RT_INVALID_HANDLE;
    Scheduler::instance().waitFor(awaited, *object);
    return ACL_SUCCESS;
  });
}

aclError aclrtCreateEvent(aclrtEvent* event) {
  return guarded("aclrtCreateEvent", [&](const Call& call) {
    return createEvent(call, event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
  });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return guarded("aclrtCreateEventWithFlag",
                 [&](const Call& call) { return createEvent(call, event, flag); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return guarded("aclrtCreateEventExWithFlag",
                 [&](const Call& call) { return createEvent(call, event, flag); });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return guarded("aclrtDestroyEvent", [&](const Call& call) -> aclError {
    if (!findEvent(call, "event", event))
      return ACL_ERROR_RT_INVALID_HANDLE;
    Runtime::instance().events.remove(event); // tasks that use it hold it
    return ACL_SUCCESS;
  });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return guarded("aclrtRecordEvent", [&](const Call& call) -> aclError {
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> object = findStream(call, stream, code);
    if (!object)
      return code;
    std::shared_ptr<Event> recorded = findEvent(call, "event", event);
    if (!recorded)
      return ACL_ERROR_RT_INVALID_HANDLE;
    Scheduler::instance().record(recorded, *object);
    return ACL_SUCCESS;
  });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return guarded("aclrtResetEvent", [&](const Call& call) -> aclError {
    aclError code = ACL_SUCCESS;
    std::shared_ptr<Stream> object = findStream(call, stream, code);
    if (!object)
      return code;
    // A wait takes the number of the record that it follows, so that nothing has to be cleared.
    return findEvent(call, "event", event) ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_HANDLE;
  });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return guarded("aclrtQueryEventStatus", [&](const Call& call) -> aclError {
    if (!status)
      return call.null("status");
    std::shared_ptr<Event> object = findEvent(call, "event", event);
    if (!object)
      return ACL_ERROR_RT_INVALID_HANDLE;
    if (!isComplete(*object))
      Scheduler::instance().advance();
    *status = isComplete(*object) ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                  : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return guarded("aclrtQueryEvent", [&](const Call& call) -> aclError {
    if (!status)
      return call.null("status");
    std::shared_ptr<Event> object = findEvent(call, "event", event);
    if (!object)
      return ACL_ERROR_RT_INVALID_HANDLE;
    if (!isComplete(*object))
      Scheduler::instance().advance();
    *status = isComplete(*object) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return guarded("aclrtSynchronizeEvent",
                 [&](const Call& call) { return synchronizeEvent(call, event, -1); });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return guarded("aclrtSynchronizeEventWithTimeout", [&](const Call& call) -> aclError {
    if (timeout < -1)
      return call.invalid(joined("timeout is ", timeout, " ms but may be -1 or more"));
    return synchronizeEvent(call, event, timeout);
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end) {
  return guarded("aclrtEventElapsedTime", [&](const Call& call) -> aclError {
    if (!ms)
      return call.null("ms");
    std::shared_ptr<Event> first = findEvent(call, "start", start);
    std::shared_ptr<Event> last = first ? findEvent(call, "end", end) : nullptr;
    if (!last)
      return ACL_ERROR_RT_INVALID_HANDLE;
    return Scheduler::instance().locked([&]() -> aclError {
      for (const auto& [event, name] : {std::pair{first, "start"}, std::pair{last, "end"}}) {
        if ((event->flags & ACL_EVENT_TIME_LINE) == 0)
          return call.fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, name,
                           " was created without ACL_EVENT_TIME_LINE");
        if (event->completed == 0 || event->completed != event->submitted)
          return call.fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, name,
                           " is not recorded yet; synchronise first");
      }
      *ms = float(last->timeMs - first->timeMs);
      return ACL_SUCCESS;
    });
  });
}
