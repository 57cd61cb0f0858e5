// SPDX-License-Identifier: Apache-2.0
// Memory and copies of the C interface.
#include "acl/acl.h"

#include "simulator/acl/device_memory.h"
#include "simulator/acl/devices.h"
#include "simulator/acl/modelled_chip.h"
#include "simulator/launch.h"
#include "simulator/machine/host_access.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <unordered_map>

using namespace tilewright::acl;

namespace {

/// Host memory of aclrtMallocHost, to recognise what is freed.
struct HostMemory {
  std::mutex mutex;
  std::unordered_map<void*, size_t> blocks;
  static HostMemory& instance() {
    static HostMemory* memory = new HostMemory;
    return *memory;
  }
};

constexpr size_t hostAlignment = 4096;

aclError allocate(const Call& call, void** devPtr, size_t size) {
  if (!devPtr)
    return call.null("devPtr");
  *devPtr = nullptr;
  std::shared_ptr<Context> context = currentContext(call);
  if (!context)
    return ACL_ERROR_RT_CONTEXT_NULL;
  if (size == 0)
    return call.invalid("size is 0");
  DeviceMemory& memory = DeviceMemory::instance();
  *devPtr = memory.allocate(context->device, size, modelledChip().memoryBytes);
  if (*devPtr)
    return ACL_SUCCESS;
  return call.fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "size is ", size, " bytes but device ",
                   context->device, " has ",
                   modelledChip().memoryBytes - memory.usedBytes(context->device), " left");
}

aclError checkPolicy(const Call& call, aclrtMemMallocPolicy policy) {
  int kind = int(policy) & 0xFF;
  int band = int(policy) & ~0xFF;
  if (kind > ACL_MEM_MALLOC_HUGE1G_ONLY_P2P || (band & ~0x1100) != 0)
    return call.invalid(
        joined("policy is ", int(policy), ", which is none of aclrtMemMallocPolicy"));
  return ACL_SUCCESS;
}

/// A side of a copy: is [address, address + bytes) device memory as `mustBeDevice` says? Host
/// memory cannot be checked further.
aclError checkSide(const Call& call, const char* name, const void* address, size_t bytes,
                   bool mustBeDevice, const char* kind) {
  DeviceMemory& memory = DeviceMemory::instance();
  if (!mustBeDevice) {
    if (memory.find(address))
      return call.invalid(joined(name, " is device memory but kind ", kind, " says host"));
    return ACL_SUCCESS;
  }
  std::string complaint = memory.rangeComplaint(address, bytes);
  return complaint.empty() ? ACL_SUCCESS
                           : call.invalid(joined(name, " ", complaint, " (kind ", kind, ")"));
}

const char* kindName(aclrtMemcpyKind kind) {
  switch (kind) {
  case ACL_MEMCPY_HOST_TO_HOST:
    return "HOST_TO_HOST";
  case ACL_MEMCPY_HOST_TO_DEVICE:
    return "HOST_TO_DEVICE";
  case ACL_MEMCPY_DEVICE_TO_HOST:
    return "DEVICE_TO_HOST";
  case ACL_MEMCPY_DEVICE_TO_DEVICE:
    return "DEVICE_TO_DEVICE";
  case ACL_MEMCPY_DEFAULT:
    return "DEFAULT";
  case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
    return "HOST_TO_BUF_TO_DEVICE";
  case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    return "INNER_DEVICE_TO_DEVICE";
  case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
    return "INTER_DEVICE_TO_DEVICE";
  }
  return nullptr;
}

/// -1 for host memory.
int deviceOf(const void* address) {
  std::optional<DeviceBlock> block = DeviceMemory::instance().find(address);
  return block ? block->device : -1;
}

/// Checks the two sides of a copy, of `dstBytes` and `srcBytes` bytes.
aclError checkCopy(const Call& call, const void* dst, size_t dstBytes, const void* src,
                   size_t srcBytes, aclrtMemcpyKind kind) {
  const char* name = kindName(kind);
  if (!name)
    return call.invalid(joined("kind is ", int(kind), ", which is none of aclrtMemcpyKind"));
  if (!dst)
    return call.null("dst");
  if (!src)
    return call.null("src");
  DeviceMemory& memory = DeviceMemory::instance();
  bool isDefault = kind == ACL_MEMCPY_DEFAULT;
  bool dstOnDevice = isDefault
                         ? memory.find(dst).has_value()
                         : kind != ACL_MEMCPY_HOST_TO_HOST && kind != ACL_MEMCPY_DEVICE_TO_HOST;
  bool srcOnDevice = isDefault
                         ? memory.find(src).has_value()
                         : kind != ACL_MEMCPY_HOST_TO_HOST && kind != ACL_MEMCPY_HOST_TO_DEVICE &&
                               kind != ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE;
  if (aclError code = checkSide(call, "dst", dst, dstBytes, dstOnDevice, name))
    return code;
  if (aclError code = checkSide(call, "src", src, srcBytes, srcOnDevice, name))
    return code;
  int ofDst = deviceOf(dst), ofSrc = deviceOf(src);
  if (ofDst >= 0 && ofSrc >= 0 && ofDst != ofSrc)
    return call.invalid(joined("dst is memory of device ", ofDst, " but src of device ", ofSrc,
                               "; copy it through host memory"));
  return ACL_SUCCESS;
}

struct Rows {
  char* dst;
  size_t dpitch;
  const char* src;
  size_t spitch;
  size_t width;
  size_t height;
};

// Kernels are told when they read device memory that nobody has written.
void copyBytes(void* dst, const void* src, size_t count) {
  std::memmove(dst, src, count);
  tilewright::ascend::markWritten(dst, count);
}
void setBytes(void* dst, int32_t value, size_t count) {
  std::memset(dst, value, count);
  tilewright::ascend::markWritten(dst, count);
}

void copyRows(const Rows& rows) {
  for (size_t row = 0; row < rows.height; ++row)
    copyBytes(rows.dst + row * rows.dpitch, rows.src + row * rows.spitch, rows.width);
}

/// A blocking call: first what is in the default stream, then `work`.
template <class Work> aclError runBlocking(const Call& call, Work&& work) {
  if (std::shared_ptr<Context> context = Runtime::instance().contexts.find(currentContextHandle()))
    if (aclError code =
            synchronize(call, *context->defaultStream, -1, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT))
      return code;
  tilewright::ascend::OpenDeviceMemory open;
  work();
  return ACL_SUCCESS;
}

/// A parameter that may point to device memory.
struct SideOfCopy {
  const char* name;
  const void* address;
};

template <class Work>
aclError enqueue(const Call& call, aclrtStream handle, const char* what,
                 std::initializer_list<SideOfCopy> sides, Work&& work) {
  aclError code = ACL_SUCCESS;
  std::shared_ptr<Stream> stream = findStream(call, handle, code);
  if (!stream)
    return code;
  for (const SideOfCopy& side : sides)
    if (int device = deviceOf(side.address); device >= 0 && device != stream->device)
      return call.invalid(joined(side.name, " is memory of device ", device,
                                 " but stream is of device ", stream->device));
  Task task;
  task.what = what;
  task.run = std::forward<Work>(work);
  Scheduler::instance().submit(*stream, std::move(task));
  return ACL_SUCCESS;
}

aclError check2d(const Call& call, const Rows& rows, aclrtMemcpyKind kind, bool& isEmpty) {
  isEmpty = rows.width == 0 || rows.height == 0;
  if (rows.width > rows.dpitch)
    return call.invalid(joined("width is ", rows.width, " bytes but dpitch is ", rows.dpitch));
  if (rows.width > rows.spitch)
    return call.invalid(joined("width is ", rows.width, " bytes but spitch is ", rows.spitch));
  size_t extent = 0;
  if (!isEmpty &&
      (__builtin_mul_overflow(rows.height - 1, std::max(rows.dpitch, rows.spitch), &extent) ||
       extent > SIZE_MAX / 2))
    return call.invalid(
        joined("height ", rows.height, " times the pitch is more than the address space"));
  size_t dstBytes = isEmpty ? 0 : (rows.height - 1) * rows.dpitch + rows.width;
  size_t srcBytes = isEmpty ? 0 : (rows.height - 1) * rows.spitch + rows.width;
  return checkCopy(call, rows.dst, dstBytes, rows.src, srcBytes, kind);
}

aclError checkSet(const Call& call, void* devPtr, size_t maxCount, size_t count) {
  if (!devPtr)
    return call.null("devPtr");
  if (count > maxCount)
    return call.invalid(joined("count is ", count, " bytes but maxCount is ", maxCount));
  std::string complaint = DeviceMemory::instance().rangeComplaint(devPtr, count);
  return complaint.empty() ? ACL_SUCCESS : call.invalid("devPtr " + complaint);
}

} // namespace

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return guarded("aclrtMalloc", [&](const Call& call) -> aclError {
    if (aclError code = checkPolicy(call, policy))
      return code;
    return allocate(call, devPtr, size);
  });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return guarded("aclrtMallocAlign32", [&](const Call& call) -> aclError {
    if (aclError code = checkPolicy(call, policy))
      return code;
    return allocate(call, devPtr, size);
  });
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return guarded("aclrtMallocCached", [&](const Call& call) -> aclError {
    if (aclError code = checkPolicy(call, policy))
      return code;
    return allocate(call, devPtr, size);
  });
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                            aclrtMallocConfig* cfg) {
  return guarded("aclrtMallocWithCfg", [&](const Call& call) -> aclError {
    if (aclError code = checkPolicy(call, policy))
      return code;
    if (cfg)
      return call.fail(ACL_ERROR_API_NOT_SUPPORT,
                       "cfg is not null: allocation attributes are not offered");
    return allocate(call, devPtr, size);
  });
}

aclError aclrtFree(void* devPtr) {
  return guarded("aclrtFree", [&](const Call& call) -> aclError {
    if (!devPtr)
      return call.null("devPtr");
    DeviceMemory& memory = DeviceMemory::instance();
    std::optional<DeviceBlock> block = memory.find(devPtr);
    if (!block)
      return call.invalid("devPtr is no device memory, or was freed already");
    auto offset = reinterpret_cast<uintptr_t>(devPtr) - block->address;
    if (offset != 0)
      return call.invalid(
          joined("devPtr lies ", offset, " bytes behind the start of its allocation"));
    drainDevice(block->device); // work that was enqueued may still use it
    memory.release(devPtr);
    return ACL_SUCCESS;
  });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return guarded("aclrtMallocHost", [&](const Call& call) -> aclError {
    if (!hostPtr)
      return call.null("hostPtr");
    *hostPtr = nullptr;
    if (size == 0)
      return call.invalid("size is 0");
    void* memory = nullptr;
    if (posix_memalign(&memory, hostAlignment, size) != 0)
      return call.fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "size is ", size,
                       " bytes, which the host has not");
    HostMemory& host = HostMemory::instance();
    std::lock_guard lock(host.mutex);
    host.blocks.emplace(memory, size);
    *hostPtr = memory;
    return ACL_SUCCESS;
  });
}

aclError aclrtFreeHost(void* hostPtr) {
  return guarded("aclrtFreeHost", [&](const Call& call) -> aclError {
    if (!hostPtr)
      return call.null("hostPtr");
    HostMemory& host = HostMemory::instance();
    std::lock_guard lock(host.mutex);
    if (host.blocks.erase(hostPtr) == 0)
      return call.invalid("hostPtr is not from aclrtMallocHost, or was freed already");
    std::free(hostPtr);
    return ACL_SUCCESS;
  });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return guarded("aclrtMemset", [&](const Call& call) -> aclError {
    if (aclError code = checkSet(call, devPtr, maxCount, count))
      return code;
    return runBlocking(call, [&] { setBytes(devPtr, value, count); });
  });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream) {
  return guarded("aclrtMemsetAsync", [&](const Call& call) -> aclError {
    if (aclError code = checkSet(call, devPtr, maxCount, count))
      return code;
    return enqueue(call, stream, "a memset", {{"devPtr", devPtr}}, [=] {
      setBytes(devPtr, value, count);
      return TaskOutcome{};
    });
  });
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  return guarded("aclrtMemcpy", [&](const Call& call) -> aclError {
    if (aclError code = checkCopy(call, dst, count, src, count, kind))
      return code;
    if (count > destMax)
      return call.invalid(joined("count is ", count, " bytes but destMax is ", destMax));
    return runBlocking(call, [&] { copyBytes(dst, src, count); });
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return guarded("aclrtMemcpyAsync", [&](const Call& call) -> aclError {
    if (aclError code = checkCopy(call, dst, count, src, count, kind))
      return code;
    if (count > destMax)
      return call.invalid(joined("count is ", count, " bytes but destMax is ", destMax));
    return enqueue(call, stream, "a copy", {{"dst", dst}, {"src", src}}, [=] {
      copyBytes(dst, src, count);
      return TaskOutcome{};
    });
  });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind) {
  return guarded("aclrtMemcpy2d", [&](const Call& call) -> aclError {
    Rows rows{
        static_cast<char*>(dst), dpitch, static_cast<const char*>(src), spitch, width, height};
    bool isEmpty = false;
    aclError code = check2d(call, rows, kind, isEmpty);
    if (code != ACL_SUCCESS || isEmpty)
      return code;
    return runBlocking(call, [&] { copyRows(rows); });
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return guarded("aclrtMemcpy2dAsync", [&](const Call& call) -> aclError {
    Rows rows{
        static_cast<char*>(dst), dpitch, static_cast<const char*>(src), spitch, width, height};
    bool isEmpty = false;
    aclError code = check2d(call, rows, kind, isEmpty);
    if (code != ACL_SUCCESS || isEmpty)
      return code;
    return enqueue(call, stream, "a copy", {{"dst", dst}, {"src", src}}, [rows] {
      copyRows(rows);
      return TaskOutcome{};
    });
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return guarded("aclrtGetMemInfo", [&](const Call& call) -> aclError {
    if (!free || !total)
      return call.null(free ? "total" : "free");
    if (attr != ACL_HBM_MEM && attr != ACL_HBM_MEM_HUGE && attr != ACL_HBM_MEM_NORMAL)
      return call.invalid(joined("attr is ", int(attr), " but the chip has only HBM (1, 4, 5)"));
    std::shared_ptr<Context> context = currentContext(call);
    if (!context)
      return ACL_ERROR_RT_CONTEXT_NULL;
    *total = modelledChip().memoryBytes;
    *free = *total - DeviceMemory::instance().usedBytes(context->device);
    return ACL_SUCCESS;
  });
}
