// SPDX-License-Identifier: Apache-2.0
// What cores tell each other: flags between cores, SyncAll, and words in GM that they poll.
#include "simulator/timing/engine.h"

#include <algorithm>

namespace tilewright::ascend {

bool TimingEngine::takeCross(uint32_t core, const TraceEvent& event) {
  CoreState& state = states[core];
  auto& tokens = state.crossTokens[event.id % crossFlags];
  const std::string name =
      event.id < 16 ? "cross-core flag " + std::to_string(event.id) : "SyncAll";
  if (tokens.empty() || tokens.front().time > now + timeEpsilon)
    return block(core, name); // the time at which it can be seen wakes the core
  unblock(core, name + " of " + inputs[tokens.front().core].name, tokens.front().by);
  tokens.pop_front();
  state.scalarFreeAt = now + timing.flagIssueCycles;
  state.scalarBusy += timing.flagIssueCycles;
  return true;
}

void TimingEngine::raiseNotice(uint32_t core, uint64_t word) {
  const double arrival = now + timing.crossCoreFlagCycles;
  const OperationRef by = states[core].cause.by;
  for (uint32_t target = 0; target < states.size(); ++target) {
    states[target].notices[word].push_back({{arrival, by}, core});
    wake(arrival, target, Pipe::S);
  }
}

bool TimingEngine::takeNotices(uint32_t core, const TraceEvent& event) {
  CoreState& state = states[core];
  auto& arrived = state.notices[event.address];
  const std::string kinds = " (IBSet, GroupBarrier or Matmul)";
  if (arrived.size() < event.repeats)
    return block(core, "another core" + kinds);
  Token last;
  for (uint32_t i = 0; i < event.repeats; ++i)
    if (arrived[i].time >= last.time)
      last = arrived[i];
  if (last.time > now + timeEpsilon)
    return block(core, "another core" + kinds);
  arrived.erase(arrived.begin(), arrived.begin() + event.repeats);
  if (last.core != none)
    unblock(core, inputs[last.core].name + kinds, last.by);
  state.scalarFreeAt = now + timing.scalarAccessCycles;
  state.scalarBusy += timing.scalarAccessCycles;
  return true;
}

void TimingEngine::raiseCross(uint32_t core, const Signal& signal, const OperationRef& by) {
  uint8_t flag = signal.id % crossFlags;
  double arrival = now + timing.crossCoreFlagCycles;
  auto give = [&](uint32_t target) {
    states[target].crossTokens[flag].push_back({{arrival, by}, core});
    wake(arrival, target, Pipe::S);
  };
  const TimedCore& self = inputs[core];
  if (signal.mode == 0 ||
      signal.mode == 3) { // all cores of a kind; SyncAll (flag 17: of both kinds)
    auto takesPart = [&](uint32_t other) {
      return flag == 17 || inputs[other].isCube == self.isCube;
    };
    ++states[core].waitingArrivals[flag];
    for (uint32_t other = 0; other < states.size(); ++other)
      if (takesPart(other) && states[other].waitingArrivals[flag] == 0)
        return;
    for (uint32_t other = 0; other < states.size(); ++other)
      if (takesPart(other)) {
        --states[other].waitingArrivals[flag];
        give(other);
      }
    return;
  }
  auto inBlock = [&](uint32_t other) { return inputs[other].block == self.block; };
  if (self.isCube) { // mode 2: both AIVs
    for (uint32_t other = 0; other < states.size(); ++other)
      if (inBlock(other) && !inputs[other].isCube)
        give(other);
    return;
  }
  auto key = std::make_tuple(self.block, signal.mode, flag);
  ++halves[self.subBlock & 1][key];
  uint32_t vectors = 0;
  for (uint32_t other = 0; other < states.size(); ++other)
    vectors += inBlock(other) && !inputs[other].isCube;
  if (vectors > 1 && (halves[0][key] == 0 || halves[1][key] == 0))
    return;
  for (auto& half : halves)
    if (half[key] > 0)
      --half[key];
  for (uint32_t other = 0; other < states.size(); ++other)
    if (inBlock(other) && inputs[other].isCube == (signal.mode == 2))
      give(other);
}

} // namespace tilewright::ascend
