// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/time_launch.h"

#include "simulator/timing/timing_output.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace tilewright::ascend {
namespace {

/// `path` for the first launch of the program, `path` with a number before its suffix for the others.
std::string numbered(const std::string& path, unsigned launch) {
  if (launch <= 1)
    return path;
  size_t dot = path.rfind('.');
  if (dot == std::string::npos || path.find('/', dot) != std::string::npos)
    dot = path.size();
  return path.substr(0, dot) + "." + std::to_string(launch) + path.substr(dot);
}

void writeFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close(); // a full disk shows only here
  if (!file)
    fprintf(stderr, "warning: cannot write '%s': %s\n", path.c_str(), strerror(errno));
}

std::vector<TimedLine> linesOf(const Agent& agent) {
  std::vector<TimedLine> lines;
  for (const TraceEvent& event : agent.trace)
    if (event.site >= lines.size())
      lines.resize(event.site + 1);
  for (uint32_t i = 0; i < lines.size(); ++i) {
    const Site& site = agent.hazards.site(i);
    lines[i] = {site.place.file, site.place.line, site.what};
  }
  return lines;
}

} // namespace

void timeLaunch(const char* kernel, const std::vector<Agent*>& agents, const LaunchOptions& options,
                LaunchReport& report) {
  static std::atomic<unsigned> launches{0};
  unsigned launch = ++launches;
  const chips::AscendChip* chip = chips::findAscendChip(options.chip);
  if (!chip)
    chip = chips::findAscendChip("910B2");
  std::vector<std::vector<TimedLine>> lines(agents.size());
  std::vector<TimedCore> cores;
  for (size_t i = 0; i < agents.size(); ++i) {
    const AgentView& view = agents[i]->view;
    lines[i] = linesOf(*agents[i]);
    uint32_t block = view.cube ? view.blockIdx : view.blockIdx / std::max(view.subBlockNum, 1u);
    cores.push_back(
        {agents[i]->name(), view.cube, block, view.subBlockIdx, &agents[i]->trace, &lines[i]});
  }
  TimingReport timing = estimateTime(cores, *chip, chips::arch2201Timing(), options.warmL2);
  timing.kernel = kernel;
  report.modelledMicroseconds = timing.taskMicroseconds;
  report.coreMicroseconds = timing.coreMicroseconds();
  for (unsigned pipe = 0; pipe < numPipes; ++pipe)
    report.pipeMicroseconds[pipe] = timing.meanBusyMicroseconds(Pipe(pipe));
  if (options.printTime)
    fputs(timingText(timing).c_str(), stderr);
  if (!options.timeJson.empty())
    writeFile(numbered(options.timeJson, launch), timingJson(timing));
  if (!options.timeline.empty())
    writeFile(numbered(options.timeline, launch), timelinePage(timing, cores));
  if (!options.chromeTrace.empty())
    writeFile(numbered(options.chromeTrace, launch), chromeTrace(timing, cores));
}

} // namespace tilewright::ascend
