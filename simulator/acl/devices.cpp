// SPDX-License-Identifier: Apache-2.0
#include "simulator/acl/devices.h"

#include "simulator/acl/device_memory.h"

#include <cstdlib>

namespace tilewright::acl {
namespace {

size_t deviceCount() {
  if (const char* text = std::getenv("TILEWRIGHT_ASCEND_DEVICES")) {
    long count = std::strtol(text, nullptr, 10);
    if (count >= 1 && count <= 64)
      return size_t(count);
  }
  return 1;
}

} // namespace

Runtime::Runtime() : devices(deviceCount()) {}

Runtime& Runtime::instance() {
  static Runtime* runtime = new Runtime; // outlives every static object that may still call
  return *runtime;
}

void*& currentContextHandle() {
  static thread_local void* handle = nullptr;
  return handle;
}

std::shared_ptr<Context> currentContext(const Call& call) {
  void* handle = currentContextHandle();
  if (std::shared_ptr<Context> context = Runtime::instance().contexts.find(handle))
    return context;
  call.fail(ACL_ERROR_RT_CONTEXT_NULL,
            handle ? "the context of this thread was destroyed; call aclrtSetDevice"
                   : "this thread has no device; call aclrtSetDevice first");
  return nullptr;
}

std::shared_ptr<Stream> findStream(const Call& call, aclrtStream handle, aclError& code) {
  std::shared_ptr<Context> context = currentContext(call);
  if (!context) {
    code = ACL_ERROR_RT_CONTEXT_NULL;
    return nullptr;
  }
  if (!handle)
    return context->defaultStream;
  Runtime& runtime = Runtime::instance();
  std::shared_ptr<Stream> stream = runtime.streams.find(handle);
  if (!stream) {
    code = call.fail(ACL_ERROR_RT_INVALID_HANDLE,
                     runtime.streams.complaint("stream", handle, "a stream"));
    return nullptr;
  }
  if (stream->context != currentContextHandle()) {
    code = call.fail(ACL_ERROR_RT_STREAM_CONTEXT, "stream was created in another context (device ",
                     stream->device, ") than this thread's (device ", context->device, ")");
    return nullptr;
  }
  return stream;
}

aclError synchronize(const Call& call, Stream& stream, int timeoutMs, aclError timeoutCode) {
  std::optional<Clock::time_point> deadline;
  if (timeoutMs >= 0)
    deadline = Clock::now() + std::chrono::milliseconds(timeoutMs);
  Scheduler& scheduler = Scheduler::instance();
  WaitResult result = scheduler.drain(stream, deadline);
  if (result == WaitResult::TimedOut)
    return call.fail(timeoutCode, "the stream is not done after ", timeoutMs, " ms");
  if (result == WaitResult::Stuck)
    return call.fail(timeoutCode, "the wait cannot end: ", scheduler.describeBlocked());
  TaskOutcome failure = scheduler.takeFailure(stream);
  return failure.code == ACL_SUCCESS ? ACL_SUCCESS : call.fail(failure.code, failure.text);
}

void drainDevice(int device) {
  Runtime& runtime = Runtime::instance();
  for (const void* handle : runtime.streams.handles())
    if (auto stream = runtime.streams.find(handle); stream && stream->device == device)
      Scheduler::instance().drain(*stream);
  for (const void* handle : runtime.contexts.handles())
    if (auto context = runtime.contexts.find(handle); context && context->device == device)
      Scheduler::instance().drain(*context->defaultStream);
}

void* makeContext(int device, bool isPrimary) {
  auto context = std::make_shared<Context>();
  context->device = device;
  context->isPrimary = isPrimary;
  context->defaultStream = std::make_shared<Stream>();
  context->defaultStream->device = device;
  Scheduler::instance().addStream(context->defaultStream);
  void* handle = Runtime::instance().contexts.insert(context);
  context->defaultStream->context = handle;
  return handle;
}

} // namespace tilewright::acl
