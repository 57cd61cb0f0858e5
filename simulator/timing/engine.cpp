// SPDX-License-Identifier: Apache-2.0
#include "simulator/timing/engine.h"

#include "simulator/timing/durations.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilewright::ascend {
namespace {

bool isTransfer(const TraceEvent& event) {
  return (event.kind == TraceKind::Copy ||
          (event.kind == TraceKind::Cube && CubeOp(event.op) == CubeOp::Fixpipe)) &&
         (event.from == Space::GM || event.to == Space::GM);
}

std::string flagName(Pipe from, Pipe to, uint8_t id) {
  return std::string(pipeLabel(from)) + "_" + pipeLabel(to) + " id " + std::to_string(id);
}

} // namespace

TimingEngine::TimingEngine(const std::vector<TimedCore>& cores, const chips::AscendChip& chip,
                           const chips::AscendTiming& timing, bool startsWarm)
    : inputs(cores), startsWarm(startsWarm), chip(chip), timing(timing), memory(chip, timing),
      states(cores.size()) {
  report.chip = chip.name;
  report.clockMHz = chip.clockMHz;
  report.cores.resize(cores.size());
  size_t cubes = 0;
  for (uint32_t core = 0; core < cores.size(); ++core) {
    report.cores[core].name = cores[core].name;
    blocks[cores[core].block].cores.push_back(core);
    cubes += cores[core].isCube;
  }
  const size_t perBlock = blocks.empty() ? 1 : blocks.begin()->second.cores.size();
  const auto places =
      uint32_t(cubes ? size_t(chip.cubeCores) : size_t(chip.vectorCores) / perBlock);
  for (uint32_t place = places; place > 0; --place)
    freePlaces.push_back(place - 1);
  nextBlock = blocks.begin();
}

void TimingEngine::admit(const Reason& freedBy) {
  for (; nextBlock != blocks.end() && !freePlaces.empty(); ++nextBlock) {
    Block& block = nextBlock->second;
    block.running = block.cores.size();
    block.place = freePlaces.back();
    freePlaces.pop_back();
    const double start = now + timing.coreStartCycles;
    for (size_t i = 0; i < block.cores.size(); ++i) {
      const uint32_t core = block.cores[i];
      report.cores[core].startCycle = now;
      report.cores[core].place = uint32_t(block.place * block.cores.size() + i);
      states[core].scalarFreeAt = start;
      states[core].cause = {now, freedBy.by};
      for (PipeState& pipe : states[core].pipes)
        pipe.idleSince = pipe.emptySince = start;
      wake(start, core, Pipe::S);
    }
  }
}

void TimingEngine::endCore(uint32_t core) {
  states[core].isDone = true;
  report.cores[core].endCycle = std::max(now, states[core].scalarFreeAt);
  Block& block = blocks.at(inputs[core].block);
  if (--block.running > 0)
    return;
  freePlaces.push_back(block.place);
  admit(quietReason(core));
}

void TimingEngine::wake(double time, uint32_t core, Pipe pipe, bool endsOperation) {
  wakes.push({time, ++lastOrder, core, uint8_t(pipe), endsOperation});
}

TimingReport TimingEngine::run() {
  if (startsWarm)
    warmL2();
  admit({});
  std::vector<Flow> ended;
  for (;;) {
    double change = memory.nextChange();
    if (wakes.empty() && std::isinf(change))
      break;
    double next = std::max(now, wakes.empty() ? change : std::min(change, wakes.top().time));
    now = next;
    ended.clear();
    memory.advance(now, ended);
    for (const Flow& flow : ended)
      endFlow(flow.core, Pipe(flow.pipe), flow.operation);
    while (!wakes.empty() && wakes.top().time <= now + timeEpsilon) {
      Wake one = wakes.top();
      wakes.pop();
      if (one.endsOperation)
        endComputation(one.core, Pipe(one.pipe));
      else if (Pipe(one.pipe) == Pipe::S)
        stepScalar(one.core);
      else
        stepPipe(one.core, Pipe(one.pipe));
    }
  }
  finish();
  return std::move(report);
}

void TimingEngine::warmL2() {
  size_t longest = 0;
  for (const TimedCore& core : inputs)
    longest = std::max(longest, core.trace->size());
  for (size_t i = 0; i < longest; ++i)
    for (const TimedCore& core : inputs) {
      if (i >= core.trace->size() || !isTransfer((*core.trace)[i]))
        continue;
      const TraceEvent& event = (*core.trace)[i];
      if (event.mode == 0 || event.kind != TraceKind::Copy)
        memory.write(event.address, event.bytes);
    }
}

// --- the scalar unit ------------------------------------------------------------------------

void TimingEngine::stepScalar(uint32_t core) {
  CoreState& state = states[core];
  const Trace& trace = *inputs[core].trace;
  while (state.next < trace.size()) {
    if (state.scalarFreeAt > now + timeEpsilon) {
      wake(state.scalarFreeAt, core, Pipe::S);
      return;
    }
    if (!issueNext(core, trace[state.next]))
      return;
    ++state.next;
  }
  if (isQuiet(core) && !state.isDone)
    endCore(core);
}

bool TimingEngine::issueNext(uint32_t core, const TraceEvent& event) {
  CoreState& state = states[core];
  auto spend = [&](double cycles) {
    state.scalarFreeAt = now + cycles;
    state.scalarBusy += cycles;
  };
  switch (event.kind) {
  case TraceKind::Scalar:
    spend(timing.scalarAccessCycles);
    return true;
  case TraceKind::BarrierAll:
    if (!awaitPipes(core))
      return false;
    spend(timing.flagIssueCycles);
    return true;
  case TraceKind::CrossWait:
    return takeCross(core, event);
  case TraceKind::SyncAll:
    if (!awaitPipes(core))
      return false;
    raiseCross(core, {Pipe::S, event.id, true, 3}, quietReason(core).by);
    spend(timing.flagIssueCycles);
    return true;
  case TraceKind::Notice:
    if (!awaitPipes(core))
      return false;
    raiseNotice(core, event.address);
    spend(timing.scalarAccessCycles);
    return true;
  case TraceKind::AwaitNotice:
    return awaitPipes(core) && takeNotices(core, event);
  case TraceKind::WaitFlag:
    if (event.pipe == Pipe::S) {
      auto& tokens = state.flags[unsigned(event.other)][unsigned(Pipe::S)][event.id % 16];
      if (tokens.empty())
        return block(core, "flag " + flagName(event.other, Pipe::S, event.id));
      unblock(core, state.waitsFor, tokens.front().by);
      tokens.pop_front();
      spend(timing.flagIssueCycles);
      return true;
    }
    break;
  case TraceKind::SetFlag:
  case TraceKind::CrossSet:
    if (event.pipe == Pipe::S) {
      spend(timing.flagIssueCycles);
      raise(core, Pipe::S, {event.other, event.id, event.kind == TraceKind::CrossSet, event.mode},
            state.cause.by);
      return true;
    }
    break;
  default:
    break;
  }
  PipeState& pipe = state.pipes[unsigned(event.pipe)];
  if (double(pipe.queue.size()) >= timing.queueDepth)
    return block(core, std::string("room in the queue of ") + pipeLabel(event.pipe));
  unblock(core, state.waitsFor,
          pipe.lastOperation == none ? OperationRef{} : OperationRef{core, pipe.lastOperation});
  bool isOperation = event.kind == TraceKind::Vector || event.kind == TraceKind::Copy ||
                     event.kind == TraceKind::Cube;
  spend(isOperation ? timing.issueCycles : timing.flagIssueCycles);
  pipe.queue.push_back({state.next, state.scalarFreeAt});
  wake(state.scalarFreeAt, core, event.pipe);
  return true;
}

bool TimingEngine::block(uint32_t core, const std::string& reason) {
  CoreState& state = states[core];
  if (state.blockedSince >= 0 && state.waitsFor != reason)
    unblock(core, state.waitsFor, state.ended.by); // of this wait one part is over
  if (state.blockedSince < 0)
    state.blockedSince = now;
  state.waitsFor = reason;
  return false;
}

void TimingEngine::unblock(uint32_t core, const std::string& reason, const OperationRef& by) {
  CoreState& state = states[core];
  const double since = std::exchange(state.blockedSince, -1);
  if (since < 0 || now <= since + timeEpsilon)
    return;
  state.cause = {now, by};
  report.cores[core].pipes[unsigned(Pipe::S)].stallCycles[reason] += now - since;
  for (PipeState& pipe : state.pipes)
    if (pipe.queue.empty() && pipe.running.empty())
      if (const double from = std::max({since, pipe.idleSince, pipe.emptySince}); now > from)
        pipe.stalls[reason] += now - from;
}

bool TimingEngine::awaitPipes(uint32_t core) {
  if (!isQuiet(core))
    return block(core, "all pipes");
  if (states[core].waitsFor == "all pipes")
    unblock(core, "all pipes", states[core].ended.by);
  return true;
}

bool TimingEngine::isQuiet(uint32_t core) const {
  return std::all_of(
      std::begin(states[core].pipes), std::end(states[core].pipes),
      [](const PipeState& pipe) { return pipe.queue.empty() && pipe.running.empty(); });
}

// --- pipes ----------------------------------------------------------------------------------

void TimingEngine::stepPipe(uint32_t core, Pipe pipe) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
  bool tookAny = false;
  while (!state.queue.empty()) {
    if (!executeHead(core, pipe, state.queue.front()))
      break;
    state.queue.pop_front();
    state.emptySince = now;
    tookAny = true;
  }
  if (state.queue.empty() && state.running.empty()) {
    settleStall(state); // of what it waited for before
    state.waitsFor = "issue";
  }
  if (tookAny)
    wake(now, core, Pipe::S); // room in the queue; all pipes may be quiet
}

bool TimingEngine::executeHead(uint32_t core, Pipe pipe, const Queued& head) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
  const TraceEvent& event = eventOf(core, head.event);
  switch (event.kind) {
  case TraceKind::SetFlag:
    signalWhenDone(core, pipe, {event.other, event.id, false, 0});
    return true;
  case TraceKind::CrossSet:
    signalWhenDone(core, pipe, {Pipe::S, event.id, true, event.mode});
    return true;
  case TraceKind::WaitFlag: {
    auto& tokens = states[core].flags[unsigned(event.other)][unsigned(pipe)][event.id % 16];
    if (tokens.empty()) {
      state.waitsFor = "flag " + flagName(event.other, pipe, event.id);
      return false;
    }
    if (tokens.front().time >= state.cause.time)
      state.cause = tokens.front();
    tokens.pop_front();
    return true;
  }
  case TraceKind::Barrier:
    if (!state.running.empty()) {
      state.waitsFor = "PipeBarrier";
      return false;
    }
    return true;
  default:
    return startOperation(core, pipe, head);
  }
}

/// An operation starts when it is issued, when a flag allows it, or when its pipe is free: the one
/// that it waited for last counts.
OperationRef TimingEngine::causeOf(uint32_t core, Pipe pipe, double issuedAt) const {
  const PipeState& state = states[core].pipes[unsigned(pipe)];
  OperationRef before;
  double since = -1;
  if (state.lastOperation != none) {
    before = {core, state.lastOperation};
    since = report.cores[core].operations[state.lastOperation].start;
  }
  if (state.cause.by.isSet() && (state.running.empty() || state.cause.time + timeEpsilon >= now)) {
    before = state.cause.by;
    since = std::max(since, state.cause.time);
  }
  const Reason& scalar = states[core].cause;
  const bool isIssuedNow = issuedAt + timeEpsilon >= now && since + timeEpsilon < now;
  return isIssuedNow && scalar.by.isSet() && scalar.time > since ? scalar.by : before;
}

/// The pipe stands still until now; what the scalar unit waited for meanwhile is booked.
void TimingEngine::settleStall(PipeState& state) const {
  double idle = now - state.idleSince;
  for (const auto& [reason, cycles] : state.stalls)
    idle -= cycles;
  if (idle > timeEpsilon)
    state.stalls[state.waitsFor.empty() ? "issue" : state.waitsFor] += idle;
}

bool TimingEngine::startOperation(uint32_t core, Pipe pipe, const Queued& head) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
  if (state.freeAt > now + timeEpsilon) {
    wake(state.freeAt, core, pipe);
    return false;
  }
  const TraceEvent& event = eventOf(core, head.event);
  bool transfers = isTransfer(event);
  if (transfers && double(state.running.size()) >= timing.copiesInFlight)
    return false; // the end of one wakes the pipe
  CoreTime& result = report.cores[core];
  auto operation = uint32_t(result.operations.size());
  result.operations.push_back(
      {head.event, pipe, false, now, -1, causeOf(core, pipe, head.issuedAt)});
  countBytes(result, event);
  if (state.running.empty()) {
    settleStall(state);
    for (const auto& [reason, cycles] : state.stalls)
      result.pipes[unsigned(pipe)].stallCycles[reason] += cycles;
    state.busySince = now;
  }
  state.stalls.clear();
  state.waitsFor.clear();
  state.cause = {};
  state.lastOperation = operation;
  ++result.pipes[unsigned(pipe)].operations;
  Running running;
  running.operation = operation;
  running.isTransfer = transfers;
  if (transfers) {
    running.bytes = double(event.bytes);
    running.dataFrom = now;
    if (event.from == Space::GM) {
      running.isHit = memory.read(event.address, event.bytes, event.mode == 1);
      running.dataFrom += running.isHit ? timing.hitLatencyCycles : timing.readLatencyCycles;
    }
    state.freeAt = now + timing.copyIssueCycles;
    state.running.push_back(std::move(running));
    startData(core, pipe);
    return true;
  }
  double writeRate = pipe == Pipe::MTE1 ? memory.rateOf(core, uint8_t(Pipe::MTE2)) : 0;
  Duration duration = durationOf(event, timing, writeRate);
  state.freeAt = now + duration.occupied;
  result.operations[operation].end = now + duration.occupied + duration.latency;
  state.running.push_back(std::move(running));
  wake(result.operations[operation].end, core, pipe, true);
  return true;
}

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

void TimingEngine::endComputation(uint32_t core, Pipe pipe) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
  if (state.running.empty())
    return;
  const Running& first = state.running.front();
  if (first.isTransfer)
    startData(core, pipe);
  else if (report.cores[core].operations[first.operation].end <= now + timeEpsilon)
    endOperation(core, pipe, first.operation);
}

void TimingEngine::endOperation(uint32_t core, Pipe pipe, uint32_t operation) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
  Running done = std::move(state.running.front());
  state.running.pop_front();
  report.cores[core].operations[operation].end = now;
  states[core].ended = {now, {core, operation}};
  for (const Signal& signal : done.signals)
    raise(core, pipe, signal, {core, operation});
  if (state.running.empty()) {
    report.cores[core].pipes[unsigned(pipe)].busyCycles += now - state.busySince;
    state.idleSince = now;
  } else if (state.running.front().isTransfer) {
    startData(core, pipe);
  } else {
    double end = report.cores[core].operations[state.running.front().operation].end;
    wake(std::max(now, end), core, pipe, true);
  }
  wake(now, core, pipe);
  wake(now, core, Pipe::S);
}

void TimingEngine::signalWhenDone(uint32_t core, Pipe pipe, const Signal& signal) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
  if (!state.running.empty()) {
    state.running.back().signals.push_back(signal);
    return;
  }
  // Nothing runs: what the flag waited for last is the pipe's operation, a flag, or being issued.
  Reason reason = states[core].cause;
  if (state.lastOperation != none)
    if (double end = report.cores[core].operations[state.lastOperation].end; end >= reason.time)
      reason = {end, {core, state.lastOperation}};
  if (state.cause.by.isSet() && state.cause.time >= reason.time)
    reason = state.cause;
  raise(core, pipe, signal, reason.by);
}

void TimingEngine::raise(uint32_t core, Pipe from, const Signal& signal, const OperationRef& by) {
  if (signal.isCross) {
    raiseCross(core, signal, by);
    return;
  }
  states[core].flags[unsigned(from)][unsigned(signal.to)][signal.id % 16].push_back(
      {{now, by}, core});
  wake(now, core, signal.to);
}

TimingReport estimateTime(const std::vector<TimedCore>& cores, const chips::AscendChip& chip,
                          const chips::AscendTiming& timing, bool startsWarm) {
  return TimingEngine(cores, chip, timing, startsWarm).run();
}

} // namespace tilewright::ascend
