// SPDX-License-Identifier: Apache-2.0
// Initialisation, devices and contexts of the C interface.
#include "acl/acl.h"

#include "simulator/acl/device_memory.h"
#include "simulator/acl/devices.h"
#include "simulator/acl/kernel_run.h"
#include "simulator/acl/modelled_chip.h"

#include <fstream>

using namespace tilewright::acl;

namespace {

aclError checkDevice(const Call& call, int32_t device) {
  size_t count = Runtime::instance().devices.size();
  if (device >= 0 && size_t(device) < count)
    return ACL_SUCCESS;
  return call.fail(ACL_ERROR_RT_INVALID_DEVICEID, "deviceId is ", device, " but there are ", count,
                   " devices (TILEWRIGHT_ASCEND_DEVICES)");
}

void destroyStreamsOf(const void* context) {
  Runtime& runtime = Runtime::instance();
  for (const void* handle : runtime.streams.handles()) {
    auto stream = runtime.streams.find(handle);
    if (stream && stream->context == context && runtime.streams.remove(handle))
      Scheduler::instance().removeStream(stream.get());
  }
}

void destroyContext(const void* handle) {
  std::shared_ptr<Context> context = Runtime::instance().contexts.remove(handle);
  if (!context)
    return;
  Scheduler::instance().drain(*context->defaultStream);
  Scheduler::instance().removeStream(context->defaultStream.get());
  destroyStreamsOf(handle);
}

/// Ends all that lives on a device.
void releaseDevice(int device) {
  Runtime& runtime = Runtime::instance();
  drainDevice(device);
  for (const void* handle : runtime.contexts.handles())
    if (auto context = runtime.contexts.find(handle); context && context->device == device)
      destroyContext(handle);
  DeviceMemory::instance().releaseAll(device);
  std::lock_guard lock(runtime.mutex);
  runtime.devices[size_t(device)] = {};
}

aclError resetDevice(const Call& call, int32_t device, bool force) {
  if (aclError code = checkDevice(call, device))
    return code;
  Runtime& runtime = Runtime::instance();
  {
    std::lock_guard lock(runtime.mutex);
    int& uses = runtime.devices[size_t(device)].useCount;
    if (uses == 0)
      return call.fail(ACL_ERROR_RT_INVALID_DEVICEID, "device ", device, " is not set");
    uses = force ? 0 : uses - 1;
    if (uses > 0)
      return ACL_SUCCESS;
  }
  releaseDevice(device);
  return ACL_SUCCESS;
}

} // namespace

aclError aclInit(const char* configPath) {
  return guarded("aclInit", [&](const Call& call) -> aclError {
    if (configPath && *configPath && !std::ifstream(configPath))
      return call.fail(ACL_ERROR_INVALID_FILE, "configPath '", configPath, "' cannot be read");
    Runtime& runtime = Runtime::instance();
    std::lock_guard lock(runtime.mutex);
    if (++runtime.initCount > 1)
      return call.fail(ACL_ERROR_REPEAT_INITIALIZE, "acl is initialised already (call ",
                       runtime.initCount, ")");
    return ACL_SUCCESS;
  });
}

aclError aclFinalize() {
  return guarded("aclFinalize", [&](const Call& call) -> aclError {
    Runtime& runtime = Runtime::instance();
    {
      std::lock_guard lock(runtime.mutex);
      if (runtime.initCount == 0)
        return call.fail(runtime.wasFinalized ? ACL_ERROR_REPEAT_FINALIZE : ACL_ERROR_UNINITIALIZE,
                         runtime.wasFinalized ? "acl is finalised already"
                                              : "acl was not initialised");
      if (--runtime.initCount > 0)
        return ACL_SUCCESS;
      runtime.wasFinalized = true;
    }
    for (size_t device = 0; device < runtime.devices.size(); ++device)
      releaseDevice(int(device));
    return ACL_SUCCESS;
  });
}

aclError aclrtSetDevice(int32_t deviceId) {
  return guarded("aclrtSetDevice", [&](const Call& call) -> aclError {
    if (aclError code = checkDevice(call, deviceId))
      return code;
    installStreamHook();
    Runtime& runtime = Runtime::instance();
    std::lock_guard lock(runtime.mutex);
    Runtime::Device& device = runtime.devices[size_t(deviceId)];
    if (!device.primary)
      device.primary = makeContext(deviceId, true);
    ++device.useCount;
    currentContextHandle() = device.primary;
    return ACL_SUCCESS;
  });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return guarded("aclrtResetDevice",
                 [&](const Call& call) { return resetDevice(call, deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return guarded("aclrtResetDeviceForce",
                 [&](const Call& call) { return resetDevice(call, deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return guarded("aclrtGetDevice", [&](const Call& call) -> aclError {
    if (!deviceId)
      return call.null("deviceId");
    std::shared_ptr<Context> context = currentContext(call);
    if (!context)
      return ACL_ERROR_RT_CONTEXT_NULL;
    *deviceId = context->device;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return guarded("aclrtGetDeviceCount", [&](const Call& call) -> aclError {
    if (!count)
      return call.null("count");
    *count = uint32_t(Runtime::instance().devices.size());
    return ACL_SUCCESS;
  });
}

const char* aclrtGetSocName() {
  return modelledChip().socName.c_str();
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return guarded("aclrtGetRunMode", [&](const Call& call) -> aclError {
    if (!runMode)
      return call.null("runMode");
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
  });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return guarded("aclrtCreateContext", [&](const Call& call) -> aclError {
    if (!context)
      return call.null("context");
    if (aclError code = checkDevice(call, deviceId))
      return code;
    *context = makeContext(deviceId, false);
    currentContextHandle() = *context;
    return ACL_SUCCESS;
  });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return guarded("aclrtDestroyContext", [&](const Call& call) -> aclError {
    Runtime& runtime = Runtime::instance();
    std::shared_ptr<Context> object = runtime.contexts.find(context);
    if (!object)
      return call.fail(ACL_ERROR_RT_INVALID_HANDLE,
                       runtime.contexts.complaint("context", context, "a context"));
    if (object->isPrimary)
      return call.invalid("context is the device's own; it ends with aclrtResetDevice");
    destroyContext(context);
    return ACL_SUCCESS;
  });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return guarded("aclrtSetCurrentContext", [&](const Call& call) -> aclError {
    Runtime& runtime = Runtime::instance();
    if (!runtime.contexts.find(context))
      return call.fail(ACL_ERROR_RT_INVALID_HANDLE,
                       runtime.contexts.complaint("context", context, "a context"));
    currentContextHandle() = context;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return guarded("aclrtGetCurrentContext", [&](const Call& call) -> aclError {
    if (!context)
      return call.null("context");
    if (!currentContext(call))
      return ACL_ERROR_RT_CONTEXT_NULL;
    *context = currentContextHandle();
    return ACL_SUCCESS;
  });
}
