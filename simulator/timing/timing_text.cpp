// SPDX-License-Identifier: Apache-2.0
#include "simulator/timing/timing_output.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace tilewright::ascend {
namespace {

constexpr size_t mostCores = 4;  // with all details; the others are like them
constexpr size_t mostCauses = 4; // per pipe

__attribute__((format(printf, 2, 3))) void append(std::string& text, const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0)
    text.append(line, std::min(size_t(length), sizeof line - 1));
}

void appendPipe(std::string& text, const TimingReport& report, const CoreTime& core, Pipe pipe) {
  const PipeTime& time = core.pipes[unsigned(pipe)];
  if (time.busyCycles == 0 && time.operations == 0)
    return;
  append(text, "  %-5s busy %10.2f us (%5.1f %%)  %8llu instructions", pipeLabel(pipe),
         report.microseconds(time.busyCycles),
         100 * time.busyCycles / std::max(core.endCycle - core.startCycle, 1.0),
         static_cast<unsigned long long>(time.operations));
  std::vector<std::pair<double, std::string>> causes;
  causes.reserve(time.stallCycles.size());
  for (const auto& [cause, cycles] : time.stallCycles)
    causes.emplace_back(cycles, cause);
  std::sort(causes.rbegin(), causes.rend());
  for (size_t i = 0; i < std::min(causes.size(), mostCauses); ++i)
    append(text, "%s %.2f us for %s", i ? "," : "  waited", report.microseconds(causes[i].first),
           causes[i].second.c_str());
  text += "\n";
}

} // namespace

std::string timingText(const TimingReport& report) {
  std::string text;
  if (!report.kernel.empty())
    text += "kernel " + report.kernelName() + ", ";
  append(text, "modelled time on %s at %.0f MHz: task %.2f us", report.chip.c_str(),
         report.clockMHz, report.taskMicroseconds);
  const std::vector<KindTime> kinds = report.kinds();
  for (const KindTime& kind : kinds)
    append(text, ", %s cores %.2f us on average (%zu of %zu)", kind.name(), kind.microseconds,
           kind.launched, kind.ofChip);
  text += "\n";
  if (!report.stuck.empty())
    text += "the records wait for each other for ever: " + report.stuck + "\n";
  for (const auto& [limit, share] : report.limitShares)
    append(text, "  %s at %.1f %% of the chip's limit\n", limit.c_str(), 100 * share);
  for (size_t i = 0; i < std::min(report.cores.size(), mostCores); ++i) {
    const CoreTime& core = report.cores[i];
    append(text, "%s: %.2f us\n", core.name.c_str(),
           report.microseconds(core.endCycle - core.startCycle));
    for (unsigned pipe = 0; pipe < numPipes; ++pipe)
      appendPipe(text, report, core, Pipe(pipe));
    for (const auto& [path, bytes] : core.bytesByPath) {
      append(text, "  %s: %llu bytes, %.1f bytes/cycle", path.c_str(),
             static_cast<unsigned long long>(bytes),
             double(bytes) / std::max(core.endCycle - core.startCycle, 1.0));
      if (const double share = core.shareOfPath(path); share >= 0)
        append(text, ", %.1f %% of its limit of %.1f", 100 * share,
               double(bytes) / core.leastCyclesByPath.at(path));
      text += "\n";
    }
  }
  if (report.cores.size() > mostCores)
    append(text, "and %zu cores more\n", report.cores.size() - mostCores);
  return text;
}

} // namespace tilewright::ascend
