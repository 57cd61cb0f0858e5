// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/own_memory.h"

#include "simulator/machine/kernel_heap.h"
#include "simulator/machine/recurrence.h"
#include "simulator/memory/global_memory.h"

namespace tilewright::ascend {

namespace {

constexpr uint64_t mostGlobal = uint64_t{32} << 20; // bytes

void addBytes(GlobalRange range, void* argument) {
  *static_cast<uint64_t*>(argument) += range.end - range.begin;
}

void addRange(GlobalRange range, void* argument) {
  auto* fingerprint = static_cast<uint64_t*>(argument);
  *fingerprint = fingerprintOf(reinterpret_cast<const void*>(range.begin),
                               reinterpret_cast<const void*>(range.end), *fingerprint);
}

} // namespace

bool seesOwnMemory() {
  uint64_t bytes = 0;
  return visitGlobalMemory(addBytes, &bytes) && bytes <= mostGlobal;
}

uint64_t fingerprintOfOwnMemory(const LocalMemory& local) {
  uint64_t state = seesOwnMemory() ? fingerprintOfKernelHeap() : 0;
  if (state == 0 || !visitGlobalMemory(addRange, &state))
    return 0;
  for (unsigned space = 1; space < numSpaces; ++space)
    if (const uint8_t* base = local.base(static_cast<Space>(space)))
      state = fingerprintOf(base, base + spaceBytes[space], state);
  return state;
}

} // namespace tilewright::ascend
