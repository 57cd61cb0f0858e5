// SPDX-License-Identifier: Apache-2.0
// What a kernel's own code can change by plain pointers, without the machine's knowledge.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_OWN_MEMORY_H
#define TILEWRIGHT_SIMULATOR_MACHINE_OWN_MEMORY_H

#include "simulator/memory/local_memory.h"

#include <cstdint>

namespace tilewright::ascend {

/// False if GM has more than 32 MiB, or somebody changes its allocations now: what a kernel writes may stay unseen.
bool seesOwnMemory();
/// Of the memories of a core, what kernels have taken from the heap, and GM. 0 if not all of it can be looked at now.
/// Allocates nothing.
uint64_t fingerprintOfOwnMemory(const LocalMemory& local);

} // namespace tilewright::ascend

#endif
