// SPDX-License-Identifier: Apache-2.0
#include "simulator/timing/engine.h"

#include "simulator/timing/durations.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilewright::ascend {
namespace {

std::string flagName(Pipe from, Pipe to, uint8_t id) {
  return std::string(pipeLabel(from)) + "_" + pipeLabel(to) + " id " + std::to_string(id);
}

} // namespace

TimingEngine::TimingEngine(const std::vector<TimedCore>& cores, const chips::AscendChip& chip,
                           const chips::AscendTiming& timing, bool startsWarm)
    : inputs(cores), startsWarm(startsWarm), timing(timing), memory(chip, timing),
      states(cores.size()) {
  report.chip = chip.name;
  report.clockMHz = chip.clockMHz;
  report.cubeCores = size_t(chip.cubeCores);
  report.vectorCores = size_t(chip.vectorCores);
  report.cores.resize(cores.size());
  size_t cubes = 0;
  for (uint32_t core = 0; core < cores.size(); ++core) {
    report.cores[core].name = cores[core].name;
    report.cores[core].isCube = cores[core].isCube;
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
  report.cores[core].endCycle = now;
  Block& block = blocks.at(inputs[core].block);
  if (--block.running > 0)
    return;
  freePlaces.push_back(block.place);
  admit(lastReason(core));
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
  if (state.scalarFreeAt > now + timeEpsilon)
    wake(state.scalarFreeAt, core, Pipe::S);
  else if (isQuiet(core) && !state.isDone)
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
    raiseCross(core, {Pipe::S, event.id, true, 3}, state.cause.by);
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
  unblock(core, state.waitsFor, pipe.taken.by);
  bool isOperation = event.kind == TraceKind::Vector || event.kind == TraceKind::Copy ||
                     event.kind == TraceKind::Cube;
  spend(isOperation ? timing.issueCycles : timing.flagIssueCycles);
  pipe.queue.push_back({state.next, {state.scalarFreeAt, state.cause.by}});
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
  while (!state.queue.empty() && state.queue.front().issued.time <= now + timeEpsilon) {
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
  case TraceKind::CrossSet:
    state.taken = latest({state.taken, head.issued});
    signalWhenDone(core, pipe,
                   {event.kind == TraceKind::CrossSet ? Pipe::S : event.other, event.id,
                    event.kind == TraceKind::CrossSet, event.mode});
    return true;
  case TraceKind::WaitFlag: {
    auto& tokens = states[core].flags[unsigned(event.other)][unsigned(pipe)][event.id % 16];
    if (tokens.empty()) {
      state.waitsFor = "flag " + flagName(event.other, pipe, event.id);
      return false;
    }
    state.taken = latest({state.taken, tokens.front(), head.issued});
    tokens.pop_front();
    return true;
  }
  case TraceKind::Barrier:
    if (!state.running.empty()) {
      state.waitsFor = "PipeBarrier";
      return false;
    }
    state.taken = latest({state.taken, state.ended, head.issued});
    return true;
  default:
    return startOperation(core, pipe, head);
  }
}

/// Of what all had to be so before something could go on, what came last; the first of those that
/// came together.
TimingEngine::Reason TimingEngine::latest(std::initializer_list<Reason> reasons) {
  Reason last = *reasons.begin();
  for (const Reason& reason : reasons)
    if (reason.time > last.time + timeEpsilon)
      last = reason;
  return last;
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
  if (state.free.time > now + timeEpsilon) {
    wake(state.free.time, core, pipe);
    return false;
  }
  const TraceEvent& event = eventOf(core, head.event);
  bool transfers = isTransfer(event);
  if (transfers && double(state.running.size()) >= timing.copiesInFlight)
    return false; // the end of one wakes the pipe
  CoreTime& result = report.cores[core];
  auto operation = uint32_t(result.operations.size());
  // If none of the first three came just now, it waited for its place among the copies in flight.
  state.taken = latest({state.taken, head.issued, state.free, state.ended});
  result.operations.push_back({head.event, pipe, false, now, -1, state.taken.by});
  countBytes(result, event);
  if (state.running.empty()) {
    settleStall(state);
    for (const auto& [reason, cycles] : state.stalls)
      result.pipes[unsigned(pipe)].stallCycles[reason] += cycles;
    state.busySince = now;
  }
  state.stalls.clear();
  state.waitsFor.clear();
  ++result.pipes[unsigned(pipe)].operations;
  Running running;
  running.operation = operation;
  running.isTransfer = transfers;
  running.before = std::exchange(state.free.by, OperationRef{core, operation});
  if (transfers) {
    running.bytes = double(event.bytes);
    running.dataFrom = now;
    if (event.from == Space::GM) {
      running.isHit = memory.read(event.address, event.bytes, event.mode == 1);
      running.dataFrom += running.isHit ? timing.hitLatencyCycles : timing.readLatencyCycles;
    }
    state.free.time = now + timing.copyIssueCycles;
    state.running.push_back(std::move(running));
    startData(core, pipe);
    return true;
  }
  double writeRate = pipe == Pipe::MTE1 ? memory.rateOf(core, uint8_t(Pipe::MTE2)) : 0;
  Duration duration = durationOf(event, timing, writeRate);
  state.free.time = now + duration.occupied;
  result.operations[operation].end = now + duration.occupied + duration.latency;
  state.running.push_back(std::move(running));
  wake(result.operations[operation].end, core, pipe, true);
  return true;
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
  std::vector<TimedOperation>& operations = report.cores[core].operations;
  Running done = std::move(state.running.front());
  state.running.pop_front();
  operations[operation].end = now;
  const OperationRef by = done.heldBy.isSet() ? done.heldBy : OperationRef{core, operation};
  states[core].ended = state.ended = {now, by};
  for (const Signal& signal : done.signals)
    raise(core, pipe, signal, by);
  if (state.running.empty()) {
    report.cores[core].pipes[unsigned(pipe)].busyCycles += now - state.busySince;
    state.idleSince = now;
  } else if (Running& next = state.running.front(); next.isTransfer) {
    if (next.isDone)
      next.heldBy = by;
    startData(core, pipe);
  } else {
    const double end = operations[next.operation].end;
    if (end < now - timeEpsilon)
      next.heldBy = by;
    wake(std::max(now, end), core, pipe, true);
  }
  wake(now, core, pipe);
  wake(now, core, Pipe::S);
}

/// If nothing runs, the flag is set by what this record of the queue waited for.
void TimingEngine::signalWhenDone(uint32_t core, Pipe pipe, const Signal& signal) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
  if (state.running.empty())
    raise(core, pipe, signal, state.taken.by);
  else
    state.running.back().signals.push_back(signal);
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
