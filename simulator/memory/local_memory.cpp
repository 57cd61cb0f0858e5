// SPDX-License-Identifier: Apache-2.0
#include "simulator/memory/local_memory.h"

#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <vector>

namespace tilewright::ascend {

namespace {
constexpr size_t page = 4096;
constexpr size_t wholePages(size_t bytes) {
  return (bytes + page - 1) / page * page;
}
} // namespace

LocalMemory::LocalMemory(bool cube) : cube(cube) {
  mappingBytes = page;
  for (unsigned s = 1; s < numSpaces; ++s)
    if (isCubeSpace(static_cast<Space>(s)) == cube)
      mappingBytes += wholePages(spaceBytes[s]) + page;
  void* p = mmap(nullptr, mappingBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    throw std::bad_alloc();
  mapping = static_cast<uint8_t*>(p);
  size_t offset = page;
  for (unsigned s = 1; s < numSpaces; ++s) {
    if (isCubeSpace(static_cast<Space>(s)) != cube)
      continue;
    bases[s] = mapping + offset;
    mprotect(bases[s], wholePages(spaceBytes[s]), PROT_READ | PROT_WRITE);
    offset += wholePages(spaceBytes[s]) + page;
  }
  poison();
}

LocalMemory::~LocalMemory() {
  munmap(mapping, mappingBytes);
}

void LocalMemory::poison() {
  for (unsigned s = 1; s < numSpaces; ++s)
    if (bases[s])
      std::memset(bases[s], 0xFF, spaceBytes[s]);
}

namespace {
struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<LocalMemory>> free[2];
};
Pool& pool() {
  static auto* instance = new Pool;
  return *instance;
}
} // namespace

std::unique_ptr<LocalMemory> takeLocalMemory(bool cube) {
  std::unique_ptr<LocalMemory> memory;
  {
    std::lock_guard lock(pool().mutex);
    auto& free = pool().free[cube];
    if (!free.empty()) {
      memory = std::move(free.back());
      free.pop_back();
    }
  }
  if (!memory)
    return std::make_unique<LocalMemory>(cube);
  memory->poison();
  return memory;
}

void giveLocalMemory(std::unique_ptr<LocalMemory> memory) {
  constexpr size_t mostKept = 64;
  std::lock_guard lock(pool().mutex);
  auto& free = pool().free[memory->isCube()];
  if (free.size() < mostKept)
    free.push_back(std::move(memory));
}

} // namespace tilewright::ascend
