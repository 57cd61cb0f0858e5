// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/own_memory.h"

#include "simulator/machine/kernel_heap.h"
#include "simulator/machine/recurrence.h"
#include "simulator/memory/global_memory.h"

#include <algorithm>

namespace tilewright::ascend {

namespace {

struct GlobalState {
  uint64_t fingerprint;
  unsigned left = 64; ///< allocations
};

void addRange(GlobalRange range, void* argument) {
  auto* state = static_cast<GlobalState*>(argument);
  constexpr uint64_t mostOfOne = uint64_t{1} << 20; // bytes
  if (state->left == 0)
    return;
  --state->left;
  state->fingerprint =
      fingerprintOf(reinterpret_cast<const void*>(range.begin),
                    reinterpret_cast<const void*>(std::min(range.end, range.begin + mostOfOne)),
                    state->fingerprint);
}

} // namespace

uint64_t fingerprintOfOwnMemory(const LocalMemory& local) {
  GlobalState state{fingerprintOfKernelHeap()};
  if (state.fingerprint == 0 || !visitGlobalMemory(addRange, &state))
    return 0;
  for (unsigned space = 1; space < numSpaces; ++space)
    if (const uint8_t* base = local.base(static_cast<Space>(space)))
      state.fingerprint = fingerprintOf(base, base + spaceBytes[space], state.fingerprint);
  return state.fingerprint;
}

} // namespace tilewright::ascend
