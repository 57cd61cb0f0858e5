// SPDX-License-Identifier: Apache-2.0
// Unordered accesses to GM, within a core and between cores, found when a launch has ended. The
// result depends on the logs alone, so not on the number of host threads.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_GLOBAL_HAZARDS_H
#define TILEWRIGHT_SIMULATOR_SYNC_GLOBAL_HAZARDS_H

#include "simulator/sync/core_hazards.h"

#include <atomic>

namespace tilewright::ascend {

/// `cores` in the order of the launch. Adds one finding per pair of places. Ends soon, with what has been found, once
/// `isOver`.
void findGlobalHazards(const std::vector<const CoreHazards*>& cores, bool relaxed, Report& report,
                       const std::atomic<bool>& isOver);

} // namespace tilewright::ascend

#endif
