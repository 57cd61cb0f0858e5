// SPDX-License-Identifier: Apache-2.0
#include "simulator/memory/local_memory.h"

#include <cstring>
#include <new>
#include <sys/mman.h>

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

} // namespace tilewright::ascend
