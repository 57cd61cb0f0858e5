// SPDX-License-Identifier: Apache-2.0
/// A timing report as text, as a Chrome trace, and as an HTML page that needs nothing else.
#pragma once

#include "simulator/timing/timing_model.h"

#include <string>

namespace tilewright::ascend {

/// Tables for a terminal: per core and pipe busy time and the causes of its stalls, bytes per path,
/// limits.
std::string timingText(const TimingReport& report);

/// The same as JSON, for programs: of each kind of core and pipe, the mean over the chip's cores that use it, and of each
/// core the details.
std::string timingJson(const TimingReport& report);

/// JSON for chrome://tracing and Perfetto: a process per core, a thread per pipe and for each that
/// runs beside another of the pipe a further one.
std::string chromeTrace(const TimingReport& report, const std::vector<TimedCore>& cores);

/// A page with a lane per core and pipe: wheel zooms, drag moves, hovering shows the source line;
/// the critical path is outlined. At most `mostOperations` are kept, those of the core that
/// ends last, of cores on the path, and of the next ones.
std::string timelinePage(const TimingReport& report, const std::vector<TimedCore>& cores,
                         size_t mostOperations = 200000);

} // namespace tilewright::ascend
