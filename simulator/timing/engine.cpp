// SPDX-License-Identifier: Apache-2.0
#include "simulator/timing/engine.h"

#include "simulator/timing/durations.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilewright::ascend {
namespace {

constexpr double timeEpsilon = 1e-7; // cycles

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

void TimingEngine::admit() {
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
      for (PipeState& pipe : states[core].pipes)
        pipe.idleSince = start;
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
  admit();
}

void TimingEngine::wake(double time, uint32_t core, Pipe pipe, bool endsOperation) {
  wakes.push({time, ++lastOrder, core, uint8_t(pipe), endsOperation});
}

TimingReport TimingEngine::run() {
  if (startsWarm)
    warmL2();
  admit();
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
  auto blocked = [&](std::string reason) {
    state.waitsFor = std::move(reason);
    return false;
  };
  switch (event.kind) {
  case TraceKind::Scalar:
    spend(timing.scalarAccessCycles);
    return true;
  case TraceKind::BarrierAll:
    if (!isQuiet(core))
      return blocked("all pipes");
    spend(timing.flagIssueCycles);
    return true;
  case TraceKind::CrossWait:
    return takeCross(core, event);
  case TraceKind::SyncAll:
    if (!isQuiet(core))
      return blocked("all pipes");
    raiseCross(core, {Pipe::S, event.id, true, 3});
    spend(timing.flagIssueCycles);
    return true;
  case TraceKind::Notice:
    if (!isQuiet(core))
      return blocked("all pipes");
    raiseNotice(event.address);
    spend(timing.scalarAccessCycles);
    return true;
  case TraceKind::AwaitNotice:
    return isQuiet(core) ? takeNotices(core, event) : blocked("all pipes");
  case TraceKind::WaitFlag:
    if (event.pipe == Pipe::S) {
      auto& tokens = state.flags[unsigned(event.other)][unsigned(Pipe::S)][event.id % 16];
      if (tokens.empty())
        return blocked("flag " + flagName(event.other, Pipe::S, event.id));
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
            -1);
      return true;
    }
    break;
  default:
    break;
  }
  PipeState& pipe = state.pipes[unsigned(event.pipe)];
  if (double(pipe.queue.size()) >= timing.queueDepth)
    return blocked(std::string("room in the queue of ") + pipeLabel(event.pipe));
  bool isOperation = event.kind == TraceKind::Vector || event.kind == TraceKind::Copy ||
                     event.kind == TraceKind::Cube;
  spend(isOperation ? timing.issueCycles : timing.flagIssueCycles);
  pipe.queue.push_back(state.next);
  wake(state.scalarFreeAt, core, event.pipe);
  return true;
}

bool TimingEngine::takeCross(uint32_t core, const TraceEvent& event) {
  CoreState& state = states[core];
  auto& tokens = state.crossTokens[event.id % crossFlags];
  if (tokens.empty()) {
    state.waitsFor = event.id < 16 ? "cross-core flag " + std::to_string(event.id) : "SyncAll";
    return false;
  }
  double ready = tokens.front().time;
  tokens.pop_front();
  state.scalarFreeAt = std::max(now, ready) + timing.flagIssueCycles;
  state.scalarBusy += timing.flagIssueCycles;
  return true;
}

void TimingEngine::raiseNotice(uint64_t word) {
  double arrival = now + timing.crossCoreFlagCycles;
  for (uint32_t target = 0; target < states.size(); ++target) {
    states[target].notices[word].push_back({arrival, -1});
    wake(arrival, target, Pipe::S);
  }
}

bool TimingEngine::takeNotices(uint32_t core, const TraceEvent& event) {
  CoreState& state = states[core];
  auto& arrived = state.notices[event.address];
  if (arrived.size() < event.repeats) {
    state.waitsFor = "another core (IBSet, GroupBarrier or Matmul)";
    return false;
  }
  double ready = now;
  for (uint32_t i = 0; i < event.repeats; ++i) {
    ready = std::max(ready, arrived.front().time);
    arrived.pop_front();
  }
  state.scalarFreeAt = ready + timing.scalarAccessCycles;
  state.scalarBusy += timing.scalarAccessCycles;
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
    uint32_t index = state.queue.front();
    if (!executeHead(core, pipe, eventOf(core, index), index))
      break;
    state.queue.pop_front();
    tookAny = true;
  }
  if (state.queue.empty() && state.running.empty())
    state.waitsFor = "issue";
  if (tookAny)
    wake(now, core, Pipe::S); // room in the queue; all pipes may be quiet
}

bool TimingEngine::executeHead(uint32_t core, Pipe pipe, const TraceEvent& event, uint32_t index) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
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
    return startOperation(core, pipe, event, index);
  }
}

bool TimingEngine::startOperation(uint32_t core, Pipe pipe, const TraceEvent& event,
                                  uint32_t index) {
  PipeState& state = states[core].pipes[unsigned(pipe)];
  if (state.freeAt > now + timeEpsilon) {
    wake(state.freeAt, core, pipe);
    return false;
  }
  bool transfers = isTransfer(event);
  if (transfers && double(state.running.size()) >= timing.copiesInFlight)
    return false; // the end of one wakes the pipe
  CoreTime& result = report.cores[core];
  auto operation = uint32_t(result.operations.size());
  int64_t cause = state.lastOperation == none ? -1 : int64_t(state.lastOperation);
  if (state.cause.operation >= 0 &&
      (state.running.empty() || state.cause.time + timeEpsilon >= now))
    cause = state.cause.operation;
  result.operations.push_back({index, pipe, false, now, -1, cause});
  countBytes(result, event);
  if (state.running.empty()) {
    if (now > state.idleSince)
      result.pipes[unsigned(pipe)].stallCycles[state.waitsFor.empty() ? "issue" : state.waitsFor] +=
          now - state.idleSince;
    state.busySince = now;
  }
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
  for (const Signal& signal : done.signals)
    raise(core, pipe, signal, int64_t(operation));
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
  if (state.running.empty())
    raise(core, pipe, signal, state.lastOperation == none ? -1 : int64_t(state.lastOperation));
  else
    state.running.back().signals.push_back(signal);
}

void TimingEngine::raise(uint32_t core, Pipe from, const Signal& signal, int64_t operation) {
  if (signal.isCross) {
    raiseCross(core, signal);
    return;
  }
  states[core].flags[unsigned(from)][unsigned(signal.to)][signal.id % 16].push_back(
      {now, operation});
  wake(now, core, signal.to);
}

// --- other cores ----------------------------------------------------------------------------

void TimingEngine::raiseCross(uint32_t core, const Signal& signal) {
  uint8_t flag = signal.id % crossFlags;
  double arrival = now + timing.crossCoreFlagCycles;
  auto give = [&](uint32_t target) {
    states[target].crossTokens[flag].push_back({arrival, -1});
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
  halves[self.subBlock & 1][key].push_back({arrival, -1});
  uint32_t vectors = 0;
  for (uint32_t other = 0; other < states.size(); ++other)
    vectors += inBlock(other) && !inputs[other].isCube;
  if (vectors > 1 && (halves[0][key].empty() || halves[1][key].empty()))
    return;
  for (auto& half : halves)
    if (!half[key].empty())
      half[key].pop_front();
  for (uint32_t other = 0; other < states.size(); ++other)
    if (inBlock(other) && inputs[other].isCube == (signal.mode == 2))
      give(other);
}

// --- the result -----------------------------------------------------------------------------

void TimingEngine::countBytes(CoreTime& core, const TraceEvent& event) {
  if (event.kind == TraceKind::Copy ||
      (event.kind == TraceKind::Cube && CubeOp(event.op) != CubeOp::Mmad))
    core.bytesByPath[std::string(spaceLabel(event.from)) + "->" + spaceLabel(event.to)] +=
        event.bytes;
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

void TimingEngine::markCritical() {
  // From the operation that ends last, along what each had to wait for.
  CoreTime* last = nullptr;
  for (CoreTime& core : report.cores)
    if (!core.operations.empty() && (!last || core.endCycle > last->endCycle))
      last = &core;
  if (!last)
    return;
  auto& operations = last->operations;
  auto latest = std::max_element(
      operations.begin(), operations.end(),
      [](const TimedOperation& a, const TimedOperation& b) { return a.end < b.end; });
  for (int64_t i = latest - operations.begin(); i >= 0 && !operations[size_t(i)].isCritical;
       i = operations[size_t(i)].cause)
    operations[size_t(i)].isCritical = true;
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
  cubes = std::min(cubes, size_t(chip.cubeCores));
  vectors = std::min(vectors, size_t(chip.vectorCores));
  report.stuck = describeStuck();
  report.taskMicroseconds =
      report.microseconds(lastEnd) + timing.launchMicroseconds +
      timing.launchPerCoreMicroseconds * double(std::max<size_t>(cubes + vectors, 1) - 1);
  if (lastEnd > 0) {
    report.limitShares["HBM"] =
        (memory.missBytes() + memory.writtenBytes()) / lastEnd / memory.memoryBytesPerCycle();
    if (cubes)
      report.limitShares["cube"] = cubeCycles / lastEnd / cubes;
    if (vectors)
      report.limitShares["vector"] = vectorCycles / lastEnd / vectors;
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

TimingReport estimateTime(const std::vector<TimedCore>& cores, const chips::AscendChip& chip,
                          const chips::AscendTiming& timing, bool startsWarm) {
  return TimingEngine(cores, chip, timing, startsWarm).run();
}

} // namespace tilewright::ascend
