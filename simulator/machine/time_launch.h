// SPDX-License-Identifier: Apache-2.0
// The modelled time of a launch, from the records that its cores kept.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_TIME_LAUNCH_H
#define TILEWRIGHT_SIMULATOR_MACHINE_TIME_LAUNCH_H

#include "simulator/machine/agent.h"

#include <vector>

namespace tilewright::ascend {

/// Fills in the report's time; prints tables and writes files as the options say.
void timeLaunch(const char* kernel, const std::vector<Agent*>& agents, const LaunchOptions& options,
                LaunchReport& report);

} // namespace tilewright::ascend

#endif
