// SPDX-License-Identifier: Apache-2.0
// What the event simulation reports: totals, shares of limits, the critical path.
#include "simulator/timing/engine.h"

#include "simulator/timing/durations.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <set>

namespace tilewright::ascend {

void TimingEngine::countBytes(CoreTime& core, const TraceEvent& event) {
  if (event.kind != TraceKind::Copy &&
      (event.kind != TraceKind::Cube || CubeOp(event.op) == CubeOp::Mmad))
    return;
  const std::string path = std::string(spaceLabel(event.from)) + "->" + spaceLabel(event.to);
  core.bytesByPath[path] += event.bytes;
  if (const double least = leastPathCycles(event, timing); least > 0)
    core.leastCyclesByPath[path] += least;
}

std::string TimingEngine::describeStuck() const {
  for (uint32_t core = 0; core < states.size(); ++core) {
    const CoreState& state = states[core];
    if (state.isDone)
      continue;
    std::string text = inputs[core].name;
    if (state.next < inputs[core].trace->size())
      text += " waits for " + state.waitsFor;
    for (unsigned pipe = 0; pipe < numPipes; ++pipe)
      if (!state.pipes[pipe].queue.empty())
        text +=
            std::string("; ") + pipeLabel(Pipe(pipe)) + " waits for " + state.pipes[pipe].waitsFor;
    return text;
  }
  return {};
}

const TimingEngine::Reason& TimingEngine::lastReason(uint32_t core) const {
  const CoreState& state = states[core];
  return state.ended.time + timeEpsilon >= state.scalarFreeAt ? state.ended : state.cause;
}

void TimingEngine::markCritical() {
  // From what kept the core that ends last, along what each operation had to wait for.
  uint32_t last = 0;
  Reason latest;
  for (uint32_t core = 0; core < states.size(); ++core) {
    if (report.cores[core].endCycle > report.cores[last].endCycle)
      last = core;
    if (states[core].ended.time > latest.time)
      latest = states[core].ended;
  }
  OperationRef next = latest.by;
  if (report.stuck.empty() && !states.empty())
    next = lastReason(last).by;
  while (next.isSet()) {
    TimedOperation& operation = report.cores[next.core].operations[next.operation];
    if (operation.isCritical)
      return;
    operation.isCritical = true;
    next = operation.cause;
  }
}

void TimingEngine::finish() {
  double lastEnd = 0;
  double cubeCycles = 0;
  double vectorCycles = 0;
  size_t cubes = 0;
  size_t vectors = 0;
  for (uint32_t core = 0; core < states.size(); ++core) {
    CoreTime& result = report.cores[core];
    result.pipes[unsigned(Pipe::S)].busyCycles = states[core].scalarBusy;
    lastEnd = std::max(lastEnd, result.endCycle);
    (inputs[core].isCube ? cubes : vectors) += 1;
    cubeCycles += result.pipes[unsigned(Pipe::M)].busyCycles;
    vectorCycles += result.pipes[unsigned(Pipe::V)].busyCycles;
  }
  report.stuck = describeStuck();
  const size_t used = std::min(cubes, report.cubeCores) + std::min(vectors, report.vectorCores);
  report.taskMicroseconds =
      report.microseconds(lastEnd) + timing.launchMicroseconds +
      timing.launchPerCoreMicroseconds * double(std::max<size_t>(used, 1) - 1);
  if (lastEnd > 0) {
    report.limitShares["HBM"] =
        (memory.missBytes() + memory.writtenBytes()) / lastEnd / memory.memoryBytesPerCycle();
    if (memory.hitBytes() > 0)
      report.limitShares["L2"] = memory.hitBytes() / lastEnd / memory.l2BytesPerCycle();
    if (cubes)
      report.limitShares["cube"] = cubeCycles / lastEnd / double(report.cubeCores);
    if (vectors)
      report.limitShares["vector"] = vectorCycles / lastEnd / double(report.vectorCores);
  }
  markCritical();
}

// --- names ----------------------------------------------------------------------------------

const char* pipeLabel(Pipe pipe) {
  constexpr const char* names[numPipes] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
  return names[unsigned(pipe)];
}

const char* spaceLabel(Space space) {
  constexpr const char* names[numSpaces] = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
  return names[unsigned(space)];
}

std::string TimingReport::kernelName() const {
  if (kernel.compare(0, 2, "_Z") != 0) // else `a` is taken for the code of a type
    return kernel;
  int status = 0;
  char* text = abi::__cxa_demangle(kernel.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : kernel;
  std::free(text);
  if (name.starts_with("void ")) // of a template
    name.erase(0, 5);
  // Parameters are in the last parentheses; a template's arguments may have some of their own.
  if (!name.empty() && name.back() == ')')
    for (size_t at = name.size(), depth = 0; at-- > 0;) {
      depth += size_t(name[at] == ')') - size_t(name[at] == '(');
      if (depth == 0)
        return name.substr(0, at);
    }
  return name;
}

double CoreTime::shareOfPath(const std::string& path) const {
  const auto least = leastCyclesByPath.find(path);
  return least == leastCyclesByPath.end() ? -1
                                          : least->second / std::max(endCycle - startCycle, 1.0);
}

std::map<std::string, double> TimingReport::waitsAt(uint32_t place, Pipe pipe) const {
  std::map<std::string, double> waits;
  for (const CoreTime& core : cores)
    if (core.place == place)
      for (const auto& [cause, cycles] : core.pipes[unsigned(pipe)].stallCycles)
        waits[cause] += microseconds(cycles);
  return waits;
}

std::vector<KindTime> TimingReport::kinds() const {
  std::vector<KindTime> found;
  for (const bool isCube : {true, false}) {
    KindTime kind;
    kind.isCube = isCube;
    kind.ofChip = isCube ? cubeCores : vectorCores;
    std::map<uint32_t, double> times; // by the place on the chip
    bool isAny = false;
    for (size_t core = 0; core < cores.size(); ++core)
      if (cores[core].isCube == isCube) {
        times[cores[core].place] += cores[core].endCycle - cores[core].startCycle;
        if (!isAny || cores[core].endCycle > cores[kind.last].endCycle)
          kind.last = core;
        isAny = true;
      }
    if (!isAny)
      continue;
    kind.launched = times.size();
    for (const auto& [place, cycles] : times)
      kind.microseconds += microseconds(cycles) / double(times.size());
    for (unsigned pipe = 0; pipe < numPipes; ++pipe) {
      double busy = 0, time = 0;
      std::set<uint32_t> users;
      for (const CoreTime& core : cores)
        if (core.isCube == isCube && core.pipes[pipe].busyCycles > 0) {
          busy += core.pipes[pipe].busyCycles;
          users.insert(core.place);
        }
      for (const uint32_t place : users)
        time += times.at(place);
      if (!users.empty())
        kind.pipes[pipe] = {users.size(), microseconds(busy) / double(users.size()),
                            time > 0 ? busy / time : 0, // cores that wait for ever have no time
                            waitsAt(cores[kind.last].place, Pipe(pipe))};
    }
    found.push_back(kind);
  }
  return found;
}

double TimingReport::meanBusyMicroseconds(Pipe pipe) const {
  double sum = 0;
  std::set<uint32_t> users;
  for (const CoreTime& core : cores)
    if (core.pipes[unsigned(pipe)].busyCycles > 0) {
      sum += core.pipes[unsigned(pipe)].busyCycles;
      users.insert(core.place);
    }
  return users.empty() ? 0 : microseconds(sum / double(users.size()));
}

double TimingReport::coreMicroseconds() const {
  double sum = 0;
  std::set<uint32_t> places;
  for (const CoreTime& core : cores) {
    sum += core.endCycle - core.startCycle;
    places.insert(core.place);
  }
  return places.empty() ? 0 : microseconds(sum / double(places.size()));
}

} // namespace tilewright::ascend
