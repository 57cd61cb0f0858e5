// SPDX-License-Identifier: Apache-2.0
#include "simulator/memory/global_memory.h"
#include "simulator/launch.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace tilewright::ascend {
namespace {

struct Registry {
  std::shared_mutex mutex;
  struct Range {
    size_t bytes = 0;
    int32_t device = -1;
  };
  std::map<uint64_t, Range> ranges;
  std::atomic<uint64_t> version{1};
  std::map<uint64_t, uint64_t> unwritten; ///< begin to end, apart from each other
};

/// Takes [begin, end) out of the set.
void cut(std::map<uint64_t, uint64_t>& set, uint64_t begin, uint64_t end) {
  auto it = set.upper_bound(begin);
  if (it != set.begin() && std::prev(it)->second > begin)
    --it;
  while (it != set.end() && it->first < end) {
    uint64_t first = it->first, last = it->second;
    it = set.erase(it);
    if (first < begin)
      set[first] = begin;
    if (last > end)
      it = set.emplace(end, last).first;
  }
}

Registry& registry() {
  static auto* instance = new Registry; // lives as long as the process: exit handlers may use it
  return *instance;
}

} // namespace

void addGlobalMemory(void* base, size_t bytes) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  auto begin = reinterpret_cast<uint64_t>(base);
  r.ranges[begin] = {bytes};
  cut(r.unwritten, begin, begin + bytes);
  ++r.version;
}

bool removeGlobalMemory(void* base) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  ++r.version;
  auto found = r.ranges.find(reinterpret_cast<uint64_t>(base));
  if (found == r.ranges.end())
    return false;
  cut(r.unwritten, found->first, found->first + found->second.bytes);
  r.ranges.erase(found);
  return true;
}

void setMemoryDevice(void* base, int32_t device) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  if (auto found = r.ranges.find(reinterpret_cast<uint64_t>(base)); found != r.ranges.end())
    found->second.device = device;
  ++r.version;
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
  if (address >= it->first + it->second.bytes)
    return false;
  range = {it->first, it->first + it->second.bytes, it->second.device};
  return true;
}

bool visitGlobalMemory(void (*visit)(GlobalRange, void*), void* argument) {
  Registry& r = registry();
  std::shared_lock lock(r.mutex, std::try_to_lock);
  if (!lock)
    return false;
  for (const auto& [begin, held] : r.ranges)
    visit({begin, begin + held.bytes, held.device}, argument);
  return true;
}

void markUnwritten(const void* base, size_t bytes) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  auto begin = reinterpret_cast<uint64_t>(base);
  cut(r.unwritten, begin, begin + bytes);
  r.unwritten[begin] = begin + bytes;
}

void markWritten(const void* base, size_t bytes) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  auto address = reinterpret_cast<uint64_t>(base);
  cut(r.unwritten, address, address + bytes);
}

void forgetUnwritten() {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  r.unwritten.clear();
}

bool anythingUnwritten() {
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  return !r.unwritten.empty();
}

std::vector<Interval> unwrittenIn(const Region& region) {
  constexpr uint64_t block = 32;
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  auto firstBehind = [&](uint64_t address) {
    auto it = r.unwritten.upper_bound(address);
    return it != r.unwritten.begin() && std::prev(it)->second > address ? std::prev(it) : it;
  };
  std::vector<Interval> found;
  Interval hull = region.hull();
  auto any = firstBehind(hull.begin);
  if (any == r.unwritten.end() || any->first >= hull.end)
    return found;
  std::vector<Interval> parts;
  region.intervals(parts);
  for (Interval part : parts)
    for (auto it = firstBehind(part.begin); it != r.unwritten.end() && it->first < part.end; ++it) {
      uint64_t begin = (std::max(it->first, part.begin) + block - 1) / block * block;
      uint64_t end = std::min(it->second, part.end) / block * block;
      if (begin < end)
        found.push_back({begin, end});
    }
  return found;
}

uint64_t globalMemoryVersion() {
  return registry().version.load(std::memory_order_relaxed);
}

} // namespace tilewright::ascend
