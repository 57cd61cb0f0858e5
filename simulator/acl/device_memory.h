// SPDX-License-Identifier: Apache-2.0
/// The global memory of the devices: which addresses are allocated, and to whom they belong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tilewright::acl {

/// One allocation: `bytes` as asked for; `capacity` bytes may be accessed by kernels (rounded up to
/// whole 32 B).
struct DeviceBlock {
  uintptr_t address = 0;
  size_t bytes = 0;
  size_t capacity = 0;
  size_t mapped = 0; ///< bytes of whole pages; 0: from the heap
  int device = 0;
};

/// All allocations of all devices. Memory starts as zeros, at 512 B boundaries. Safe from any
/// thread.
class DeviceMemory {
public:
  static DeviceMemory& instance();

  /// Null where the device's memory (`limit` bytes) or the host's does not suffice.
  void* allocate(int device, size_t bytes, size_t limit);
  /// The released block; nothing where `address` is not the start of an allocation.
  std::optional<DeviceBlock> release(const void* address);
  void releaseAll(int device);

  /// The allocation that `address` lies in (up to its capacity).
  std::optional<DeviceBlock> find(const void* address) const;
  size_t usedBytes(int device) const;
  /// Empty if [address, address + bytes) lies in one allocation, else why not ("holds 32 bytes from
  /// there").
  std::string rangeComplaint(const void* address, size_t bytes) const;

private:
  mutable std::mutex mutex;
  std::map<uintptr_t, DeviceBlock> blocks;
  std::map<int, size_t> used;
};

} // namespace tilewright::acl
