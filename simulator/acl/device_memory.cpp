// SPDX-License-Identifier: Apache-2.0
#include "simulator/acl/device_memory.h"

#include "simulator/acl/error_report.h"
#include "simulator/launch.h"
#include "simulator/machine/host_access.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace tilewright::acl {
namespace {

constexpr size_t alignment = 512;
constexpr size_t blockBytes = 32;
constexpr size_t pageBytes = 4096;
// Larger allocations come from the kernel: zero pages that cost nothing until they are touched. So do smaller ones, as
// long as they are few, because pages can be closed to host code.
constexpr size_t mapFrom = size_t(256) << 10;
constexpr size_t mostSmallMaps = 64;

size_t roundUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Sets address and mapped; address 0: there is not as much.
void hostAllocate(DeviceBlock& block, bool asPages) {
  void* memory = nullptr;
  if (asPages) {
    block.mapped = roundUp(block.capacity, pageBytes);
    // Between pages that fault: plain pointers of a kernel may run past an end, and the host's own memory is near.
    void* mapping = mmap(nullptr, block.mapped + 2 * pageBytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
      return;
    memory = static_cast<char*>(mapping) + pageBytes;
    if (mprotect(memory, block.mapped, PROT_READ | PROT_WRITE) != 0) {
      munmap(mapping, block.mapped + 2 * pageBytes);
      return;
    }
    ascend::closeToHost(memory, block.bytes);
  } else {
    if (posix_memalign(&memory, alignment, roundUp(block.capacity, alignment)) != 0)
      return;
    std::memset(memory, 0, block.capacity);
  }
  block.address = reinterpret_cast<uintptr_t>(memory);
}

void hostRelease(const DeviceBlock& block) {
  void* memory = reinterpret_cast<void*>(block.address);
  ascend::removeGlobalMemory(memory);
  if (block.mapped) {
    ascend::forgetClosed(memory);
    munmap(static_cast<char*>(memory) - pageBytes, block.mapped + 2 * pageBytes);
  } else {
    std::free(memory);
  }
}

} // namespace

DeviceMemory& DeviceMemory::instance() {
  static DeviceMemory* memory =
      new DeviceMemory; // outlives every static object that may still free
  return *memory;
}

void* DeviceMemory::allocate(int device, size_t bytes, size_t limit) {
  std::lock_guard lock(mutex);
  if (bytes > limit || used[device] > limit - bytes)
    return nullptr;
  size_t capacity = roundUp(bytes, blockBytes);
  DeviceBlock block{0, bytes, capacity, 0, device};
  hostAllocate(block, capacity >= mapFrom || blocks.size() < mostSmallMaps);
  if (!block.address)
    return nullptr;
  void* memory = reinterpret_cast<void*>(block.address);
  blocks.emplace(block.address, block);
  used[device] += capacity;
  ascend::addGlobalMemory(memory, capacity); // kernels may access it
  ascend::setMemoryDevice(memory, device);
  ascend::markUnwritten(memory, capacity);
  return memory;
}

std::optional<DeviceBlock> DeviceMemory::release(const void* address) {
  std::lock_guard lock(mutex);
  auto found = blocks.find(reinterpret_cast<uintptr_t>(address));
  if (found == blocks.end())
    return std::nullopt;
  DeviceBlock block = found->second;
  used[block.device] -= block.capacity;
  blocks.erase(found);
  hostRelease(block);
  return block;
}

void DeviceMemory::releaseAll(int device) {
  std::lock_guard lock(mutex);
  for (auto it = blocks.begin(); it != blocks.end();) {
    if (it->second.device != device) {
      ++it;
      continue;
    }
    hostRelease(it->second);
    it = blocks.erase(it);
  }
  used[device] = 0;
}

std::optional<DeviceBlock> DeviceMemory::find(const void* address) const {
  std::lock_guard lock(mutex);
  auto value = reinterpret_cast<uintptr_t>(address);
  auto after = blocks.upper_bound(value);
  if (after == blocks.begin())
    return std::nullopt;
  const DeviceBlock& block = std::prev(after)->second;
  if (value - block.address >= block.capacity)
    return std::nullopt;
  return block;
}

size_t DeviceMemory::usedBytes(int device) const {
  std::lock_guard lock(mutex);
  auto found = used.find(device);
  return found == used.end() ? 0 : found->second;
}

std::string DeviceMemory::rangeComplaint(const void* address, size_t bytes) const {
  std::optional<DeviceBlock> block = find(address);
  if (!block)
    return "is no device memory";
  size_t room = block->capacity - (reinterpret_cast<uintptr_t>(address) - block->address);
  if (bytes > room)
    return joined("has ", room, " bytes left in its allocation of ", block->bytes, " but ", bytes,
                  " are needed");
  return {};
}

} // namespace tilewright::acl
