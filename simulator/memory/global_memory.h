// SPDX-License-Identifier: Apache-2.0
// The registry of GM allocations: accesses of a kernel must lie inside one of them.
#ifndef TILEWRIGHT_SIMULATOR_MEMORY_GLOBAL_MEMORY_H
#define TILEWRIGHT_SIMULATOR_MEMORY_GLOBAL_MEMORY_H

#include "simulator/memory/region.h"

#include <cstdint>
#include <vector>

namespace tilewright::ascend {

struct GlobalRange {
  uint64_t begin = 0, end = 0;
  int32_t device = -1; ///< -1: of none
};

/// The allocation that holds `address`.
bool findGlobalRange(uint64_t address, GlobalRange& range);

/// Calls `visit` for each allocation; false, and for none, if somebody makes or releases one now. Allocates nothing.
bool visitGlobalMemory(void (*visit)(GlobalRange range, void* argument), void* argument);

/// A launch without checks has written nobody knows what.
void forgetUnwritten();
bool anythingUnwritten();
/// Whole blocks of 32 bytes of the region that nothing has written: a copy may round up to them.
std::vector<Interval> unwrittenIn(const Region& region);

/// Changes with each allocation and release: a cached range is good as long as this stays.
uint64_t globalMemoryVersion();

} // namespace tilewright::ascend

#endif
