// SPDX-License-Identifier: Apache-2.0
#include "simulator/memory/global_memory.h"
#include "simulator/launch.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace tilewright::ascend {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::map<uint64_t, size_t> ranges;
  std::atomic<uint64_t> version{1};
};

Registry& registry() {
  static auto* instance = new Registry; // lives as long as the process: exit handlers may use it
  return *instance;
}

} // namespace

void addGlobalMemory(void* base, size_t bytes) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  r.ranges[reinterpret_cast<uint64_t>(base)] = bytes;
  ++r.version;
}

bool removeGlobalMemory(void* base) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  ++r.version;
  return r.ranges.erase(reinterpret_cast<uint64_t>(base)) != 0;
}

bool findGlobalMemory(const void* address, void** base, size_t* bytes) {
  GlobalRange range;
  if (!findGlobalRange(reinterpret_cast<uint64_t>(address), range))
    return false;
  *base = reinterpret_cast<void*>(range.begin);
  *bytes = range.end - range.begin;
  return true;
}

bool findGlobalRange(uint64_t address, GlobalRange& range) {
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  auto it = r.ranges.upper_bound(address);
  if (it == r.ranges.begin())
    return false;
  --it;
  if (address >= it->first + it->second)
    return false;
  range = {it->first, it->first + it->second};
  return true;
}

uint64_t globalMemoryVersion() {
  return registry().version.load(std::memory_order_relaxed);
}

} // namespace tilewright::ascend
