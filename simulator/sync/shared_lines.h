// SPDX-License-Identifier: Apache-2.0
// The scalar unit's data cache writes back 64 bytes at once: what others write beside its elements in such a line
// can be lost, though no byte is written twice.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_SHARED_LINES_H
#define TILEWRIGHT_SIMULATOR_SYNC_SHARED_LINES_H

#include "simulator/sync/core_hazards.h"

#include <atomic>
#include <vector>

namespace tilewright::ascend {

/// Writes of the DMA beside elements of the same line that the scalar unit of the same core has written and not
/// cleaned before, where the write isn't done either when the cache gets the line.
void findLinesWrittenBack(const CoreHazards& core, Report& report, const std::atomic<bool>& isOver);

/// The same of writes of other cores' DMA, as warnings.
void findCopiesInOthersLines(const std::vector<const CoreHazards*>& cores, Report& report,
                             const std::atomic<bool>& isOver);

} // namespace tilewright::ascend

#endif
