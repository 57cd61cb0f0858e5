// SPDX-License-Identifier: Apache-2.0
// Of a deadlock on cross-core flags: the cores that would have to set them.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_FLAG_SETTERS_H
#define TILEWRIGHT_SIMULATOR_MACHINE_FLAG_SETTERS_H

#include "simulator/machine/core_group.h"

namespace tilewright::ascend {

/// Adds what the sets of a launch's cores, as far as they came, tell about the flags that are waited for.
void noteSetters(const std::vector<std::unique_ptr<CoreGroup>>& groups, ReportItem& item);

} // namespace tilewright::ascend

#endif
