// SPDX-License-Identifier: Apache-2.0
// Transfers from and to global memory: several of a pipe are under way, and share its path.
#include "simulator/timing/durations.h"
#include "simulator/timing/engine.h"

#include <algorithm>
#include <cmath>

namespace tilewright::ascend {

/// The first transfers of a pipe move their data together. Those to UB and from UB share one path, which one alone
/// fills; to L1, one alone is slower than the path, and as many run as fill it.
void TimingEngine::startData(uint32_t core, Pipe pipe) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
  size_t together = 2;
  size_t active = 0;
  size_t sharing = 0;
  bool toL1 = false;
  for (Running& running : state.running) {
    if (!running.isTransfer)
      break;
    toL1 = eventOf(core, report.cores[core].operations[running.operation].event).to == Space::L1;
    if (toL1)
      together = size_t(std::ceil(timing.gmToL1TotalBytes / timing.gmToL1Bytes));
    if (active == together)
      break;
    if (running.isDone)
      continue;
    const TraceEvent& event = eventOf(core, report.cores[core].operations[running.operation].event);
    if (!running.isScheduled) { // the rest of the latency, and what no rate shortens, pass first
      running.isScheduled = true;
      if (running.dataFrom + timeEpsilon < now)
        holdUp(core, running);
      running.dataFrom = std::max(running.dataFrom, now) + transferLimit(event, timing).fixedCycles;
      wake(running.dataFrom, core, pipe, true);
    }
    ++active;
    if (running.dataFrom <= now + timeEpsilon && !running.dataRuns)
      startFlow(core, pipe, running, event);
    sharing += running.dataRuns;
  }
  double parts = double(std::max<size_t>(sharing, 1));
  if (toL1)
    parts = std::max(1.0, parts * timing.gmToL1Bytes / timing.gmToL1TotalBytes);
  memory.divideLimit(core, uint8_t(pipe), parts);
  if (parts > 1)
    for (size_t i = 1; i < state.running.size() && state.running[i].isTransfer; ++i)
      if (state.running[i].dataRuns && !state.running[i].isDone)
        holdUp(core, state.running[i]);
}

/// What shares a full path, or waits for a place on it, would be no earlier if it had started earlier: it ends when the
/// path has moved its data and that of the one before.
void TimingEngine::holdUp(uint32_t core, const Running& running) {
  report.cores[core].operations[running.operation].cause = running.before;
}

void TimingEngine::startFlow(uint32_t core, Pipe pipe, Running& running, const TraceEvent& event) {
  running.dataRuns = true;
  Flow flow;
  bool bypassesL2 = event.kind == TraceKind::Copy && event.mode == 1;
  if (event.from == Space::GM) {
    flow.kind = running.isHit ? FlowKind::Hit : FlowKind::Miss;
    flow.isReadPastL2 = bypassesL2 && !running.isHit;
  } else if (bypassesL2) {
    flow.kind = FlowKind::Miss; // shares HBM with reads
  } else {
    flow.kind = FlowKind::Write;
    memory.write(event.address, event.bytes);
  }
  flow.bytesLeft = std::max(running.bytes, 1.0);
  flow.path = transferLimit(event, timing).bytesPerCycle;
  flow.limit = flow.path;
  flow.core = core;
  flow.pipe = uint8_t(pipe);
  flow.operation = running.operation;
  memory.start(flow);
}

/// Transfers end in order: one whose data is there waits for those before it.
void TimingEngine::endFlow(uint32_t core, Pipe pipe, uint32_t operation) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
  for (Running& running : state.running)
    if (running.operation == operation)
      running.isDone = true;
  while (!state.running.empty() && state.running.front().isDone)
    endOperation(core, pipe, state.running.front().operation);
  startData(core, pipe);
}

} // namespace tilewright::ascend
