// SPDX-License-Identifier: Apache-2.0
// Synchronisation of one core: flags, barriers, cross-core flags, and the queues that wait for
// them.
#include "simulator/machine/agent.h"
#include "simulator/machine/core_group.h"
#include "simulator/machine/sync_sites.h"
#include "simulator/sync/advice.h"
#include "simulator/sync/events.h"

#include <utility>

namespace tilewright::ascend {

namespace {
constexpr Pipe allPipes[] = {Pipe::V, Pipe::M, Pipe::MTE1, Pipe::MTE2, Pipe::MTE3, Pipe::FIX};

std::string eventName(Pipe from, Pipe to) {
  return std::string("HardEvent::") + pipeShort[static_cast<unsigned>(from)] + "_" +
         pipeShort[static_cast<unsigned>(to)];
}
std::string eventText(Pipe from, Pipe to, unsigned id) {
  return eventName(from, to) + ", event id " + std::to_string(id);
}
} // namespace

bool Agent::isMuted(Place place, const char* what, const std::string& detail) {
  SyncSites& sites = group.sites();
  return sites.isCounting() &&
         sites.isMuted(std::string(place.file) + ":" + std::to_string(place.line) + " " + what +
                       " " + detail);
}

bool Agent::isFlagMuted(Place place, const char* what, Pipe from, Pipe to, int32_t id) {
  if (!group.sites().isCounting())
    return false;
  // Without a comma: the text stands in a comma list.
  std::string event = eventName(from, to) + " id " + std::to_string(id);
  bool pair = group.sites().isMuted("both ends of " + event);
  return isMuted(place, what, event) || pair;
}

bool Agent::validEvent(Pipe from, Pipe to, int32_t id, Place place, const char* what) {
  constexpr int32_t numUserIds = 8;
  if (id < 0 || id >= numUserIds)
    fail(std::string(what) + " has event id " + std::to_string(id) + ", but ids go from 0 to 7",
         place, faultStatus(), {{{}, "use 0 to 5; 6 and 7 are the framework's"}});
  if (isEventOf(view.cube, from, to))
    return true;
  if (!isEventOf(!view.cube, from, to))
    fail(std::string(what) + ": arch 2201 has no event " +
             eventText(from, to, static_cast<unsigned>(id)),
         place, faultStatus(),
         {{{},
           std::string("name the pipe whose access comes first, then the one that waits; cube and "
                       "vector cores meet by ") +
               Advice(place).crossFlags()}});
  leaveToOtherCore((std::string(what) + "<" + eventName(from, to) + ">").c_str(), place);
  return false;
}

void Agent::setFlag(Pipe from, Pipe to, int32_t id, Place place) {
  lastPlace = place;
  if (!validEvent(from, to, id, place, "SetFlag") || isFlagMuted(place, "SetFlag", from, to, id))
    return;
  uint32_t site = hazards.siteOf(place, "SetFlag");
  SyncInstr instr{SyncKind::SetFlag, from, to, static_cast<uint8_t>(id), 0};
  if (from == Pipe::S) {
    const Flag& flag = flagOf(from, to, static_cast<unsigned>(id));
    while (flag.count && flag.queuedWaits >= flag.count &&
           (options.randomOrderSeed ? pumpRandom(1) : pump())) {
    }
    executeSync(instr, site);
    if (queued && !options.randomOrderSeed)
      pump();
    return;
  }
  if (queued == 0 && !options.randomOrderSeed) {
    hazards.learn(from, hazards.clock(Pipe::S));
    executeSync(instr, site);
    return;
  }
  Record record;
  record.site = site;
  record.what = instr;
  push(from, std::move(record));
}

void Agent::waitFlag(Pipe from, Pipe to, int32_t id, Place place) {
  lastPlace = place;
  if (!validEvent(from, to, id, place, "WaitFlag") || isFlagMuted(place, "WaitFlag", from, to, id))
    return;
  uint32_t site = hazards.siteOf(place, "WaitFlag");
  SyncInstr instr{SyncKind::WaitFlag, from, to, static_cast<uint8_t>(id), 0};
  Flag& flag = flagOf(from, to, static_cast<unsigned>(id));
  if (to == Pipe::S) {
    while (!flag.count) {
      if (!(options.randomOrderSeed ? pumpRandom(1) : pump()))
        deadlock("WaitFlag waits for " + eventText(from, to, static_cast<unsigned>(id)) +
                 ", which nothing sets");
    }
    executeSync(instr, site);
    return;
  }
  if (queued == 0 && !options.randomOrderSeed && flag.count) {
    hazards.learn(to, hazards.clock(Pipe::S));
    executeSync(instr, site);
    return;
  }
  Record record;
  record.site = site;
  record.what = instr;
  ++flag.queuedWaits;
  push(to, std::move(record));
}

void Agent::executeSync(const SyncInstr& instr, uint32_t site) {
  isRepeated(site);
  Flag& flag = flagOf(instr.from, instr.to, instr.id);
  switch (instr.kind) {
  case SyncKind::SetFlag:
    if (flag.count && options.check)
      complain("SetFlag sets " + eventText(instr.from, instr.to, instr.id) +
                   " again before anything waited for it [ErrorSync4]",
               true, hazards.site(site).place,
               {{hazards.site(flag.setSite).place, "it was set here before"},
                {{},
                 "add " +
                     Advice(hazards.site(site).place)
                         .waitFlag(instr.from, instr.to, std::to_string(instr.id)) +
                     " between them, or set another id"}});
    ++flag.count;
    flag.setSite = site;
    flag.clock = hazards.completed(instr.from);
    break;
  case SyncKind::WaitFlag:
    --flag.count;
    hazards.learn(instr.to, flag.clock);
    break;
  case SyncKind::Barrier:
    hazards.barrier(instr.from);
    break;
  case SyncKind::CrossSet:
    late.land(hazards.completed(instr.from));
    hazards.noteCrossSet({instr.from, instr.id, site});
    group.crossSet(*this, instr.mode, instr.id, hazards.completed(instr.from), remote, site);
    break;
  }
  if (options.trace) {
    constexpr TraceKind kinds[] = {TraceKind::SetFlag, TraceKind::WaitFlag, TraceKind::Barrier,
                                   TraceKind::CrossSet};
    bool waits = instr.kind == SyncKind::WaitFlag;
    TraceEvent e =
        syncTrace(kinds[static_cast<unsigned>(instr.kind)], waits ? instr.to : instr.from,
                  waits ? instr.from : instr.to, instr.id, site);
    e.mode = instr.mode;
    trace.push_back(e);
  }
}

bool Agent::hasPipe(Pipe pipe) const {
  return pipe == Pipe::S || pipe == Pipe::MTE2 || pipe == Pipe::MTE3 ||
         (pipe == Pipe::V) != view.cube;
}

void Agent::warnOfPipe(const char* what, Pipe pipe, Place place) {
  if (options.check)
    complain(std::string(what) + "<" + pipeNames[static_cast<unsigned>(pipe)] +
                 "> waits for nothing: a " + (view.cube ? "cube" : "vector") +
                 " core doesn't have this pipe",
             false, place,
             {{{},
               view.cube ? "its pipes are PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3 and PIPE_FIX"
                         : "its pipes are PIPE_V, PIPE_MTE2 and PIPE_MTE3"}});
}

void Agent::barrier(Pipe pipe, Place place) {
  lastPlace = place;
  if (pipe == Pipe::S)
    fail("PipeBarrier doesn't take PIPE_S", place, faultStatus(),
         {{{},
           "leave it out: the scalar unit works in order; it waits for another pipe by a flag"}});
  if (!hasPipe(pipe)) { // in a mixed kernel's common code, it is for the cores of the other kind
    if (!view.mixed)
      warnOfPipe("PipeBarrier", pipe, place);
    return;
  }
  if (isMuted(place, "PipeBarrier", pipeNames[static_cast<unsigned>(pipe)]))
    return;
  uint32_t site = hazards.siteOf(place, "PipeBarrier");
  SyncInstr instr{SyncKind::Barrier, pipe, pipe, 0, 0};
  if (queued == 0 && !options.randomOrderSeed) {
    hazards.learn(pipe, hazards.clock(Pipe::S));
    executeSync(instr, site);
    return;
  }
  Record record;
  record.site = site;
  record.what = instr;
  push(pipe, std::move(record));
}

void Agent::barrierAll(Place place) {
  lastPlace = place;
  if (isMuted(place, "PipeBarrier", "PIPE_ALL"))
    return;
  drainAll();
  uint32_t site = hazards.siteOf(place, "PipeBarrier");
  isRepeated(site);
  if (options.trace)
    trace.push_back(syncTrace(TraceKind::BarrierAll, Pipe::S, Pipe::S, 0, site));
  hazards.barrierAll();
  late.landAll();
}

void Agent::drainAll() {
  while (queued)
    if (!(options.randomOrderSeed ? pumpRandom(1) : pump()))
      deadlock("PipeBarrier<PIPE_ALL> or the end of the kernel waits for all pipes",
               Headline::FirstHead);
}

void Agent::drain(Pipe pipe) {
  auto p = static_cast<unsigned>(pipe);
  while (!live->queues[p].empty())
    if (!(options.randomOrderSeed ? pumpRandom(1) : pump()))
      deadlock(std::string("the scalar unit waits for ") + pipeNames[p]);
  hazards.learn(Pipe::S, hazards.completed(pipe));
}

// --- queues ---------------------------------------------------------------------------------

bool Agent::canExecute(const Record& record, Pipe) const {
  if (const auto* sync = std::get_if<SyncInstr>(&record.what)) {
    const Flag& flag = flagOf(sync->from, sync->to, sync->id);
    if (sync->kind == SyncKind::WaitFlag)
      return flag.count > 0;
    // A set whose flag still stands lets the wait for it go first, if that was issued.
    return sync->kind != SyncKind::SetFlag || flag.count == 0 || flag.queuedWaits < flag.count;
  }
  return executedCount[static_cast<unsigned>(record.needPipe)] >= record.needCount ||
         record.needPipe == Pipe::S;
}

void Agent::executeHead(Pipe pipe) {
  auto p = static_cast<unsigned>(pipe);
  Record record = std::move(live->queues[p].front());
  live->queues[p].pop_front();
  --queued;
  if (auto* sync = std::get_if<SyncInstr>(&record.what)) {
    hazards.learn(pipe, record.dispatch);
    if (sync->kind == SyncKind::WaitFlag)
      --flagOf(sync->from, sync->to, sync->id).queuedWaits;
    executeSync(*sync, record.site);
  } else {
    hazards.begin(pipe, record.dispatch, record.remote, record.site);
    if (auto* vector = std::get_if<VectorInstr>(&record.what))
      execute(pipe, *vector, record.site);
    else if (auto* copy = std::get_if<CopyInstr>(&record.what))
      execute(pipe, *copy, record.site);
    else
      execute(pipe, std::get<CubeInstr>(record.what), record.site);
  }
  ++executedCount[p];
}

bool Agent::pump() {
  bool any = false;
  for (bool progress = true; progress;) {
    progress = false;
    for (Pipe pipe : allPipes) {
      auto& queue = live->queues[static_cast<unsigned>(pipe)];
      while (!queue.empty() && canExecute(queue.front(), pipe)) {
        executeHead(pipe);
        progress = any = true;
      }
    }
  }
  return any;
}

bool Agent::pumpRandom(unsigned steps) {
  bool any = false;
  for (unsigned i = 0; i < steps; ++i) {
    Pipe ready[numPipes];
    unsigned count = 0;
    for (Pipe pipe : allPipes) {
      auto& queue = live->queues[static_cast<unsigned>(pipe)];
      if (!queue.empty() && canExecute(queue.front(), pipe))
        ready[count++] = pipe;
    }
    if (!count)
      return any;
    // Mostly the first by priority: a pipe that comes last waits as long as it may.
    constexpr unsigned surprise = 16, newHabits = 128;
    Pipe chosen = ready[random() % count];
    if (random() % surprise)
      for (unsigned k = 0; k < count; ++k)
        if (priorities[static_cast<unsigned>(ready[k])] > priorities[static_cast<unsigned>(chosen)])
          chosen = ready[k];
    executeHead(chosen);
    if (random() % newHabits == 0)
      priorities[random() % numPipes] = static_cast<uint8_t>(random());
    any = true;
  }
  return any;
}

void Agent::pumpSome() {
  if (pumpOnceIn == 1 || random() % pumpOnceIn == 0)
    pumpRandom(static_cast<unsigned>(random() % 3));
}

// --- cross-core -----------------------------------------------------------------------------

/// The flags between cores need the scheduler of mixed kernels; without it, a core waits for ever.
void Agent::needMixedKernel(const char* what, Place place) {
  if (!view.mixed)
    fail(std::string(what) +
             " needs a mixed kernel; add KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_" +
             (view.cube ? "AIC_1_0)" : "AIV_1_0)") + " or _MIX_AIC_1_2",
         place, faultStatus());
}

void Agent::warnOfSharedFlags() {
  if (sharedFlag && meetsByFlags && options.check)
    complain("cross-core flag " + std::to_string(sharedFlag) +
                 " is used in a kernel that calls SyncAll, which uses flags 11 to 14 itself; use 0 "
                 "to 10",
             false, sharedFlagAt);
}

namespace {
constexpr bool isFlagOfSyncAll(uint32_t flag) {
  return flag >= 11 && flag <= 14;
}
} // namespace

void Agent::crossSet(uint32_t mode, Pipe pipe, uint32_t flag, Place place) {
  lastPlace = place;
  if (flag >= 16)
    fail("CrossCoreSetFlag has flag id " + std::to_string(flag) + ", but ids go from 0 to 15",
         place, faultStatus());
  if (mode > 2)
    fail("CrossCoreSetFlag has mode " + std::to_string(mode) + ", but arch 2201 has modes 0, 1, 2",
         place, faultStatus());
  needMixedKernel("CrossCoreSetFlag", place);
  if (isFlagOfSyncAll(flag)) {
    sharedFlag = flag;
    sharedFlagAt = place;
    warnOfSharedFlags();
  }
  if (isMuted(place, "CrossCoreSetFlag", std::to_string(flag)))
    return;
  if (!hasPipe(pipe)) {
    warnOfPipe("CrossCoreSetFlag", pipe, place);
    pipe = Pipe::S;
  }
  uint32_t site = hazards.siteOf(place, "CrossCoreSetFlag");
  SyncInstr instr{SyncKind::CrossSet, pipe, pipe, static_cast<uint8_t>(flag),
                  static_cast<uint8_t>(mode)};
  if (pipe == Pipe::S || (queued == 0 && !options.randomOrderSeed)) {
    hazards.learn(pipe, hazards.clock(Pipe::S));
    executeSync(instr, site);
    return;
  }
  Record record;
  record.site = site;
  record.what = instr;
  push(pipe, std::move(record));
}

void Agent::noteCrossSet(uint32_t flag, size_t outstanding, Place setAt) {
  constexpr size_t mostOutstanding = 15;
  const Place before = std::exchange(live->crossSetAt[flag], setAt);
  if (!options.check || outstanding < 2)
    return;
  const std::string number = std::to_string(flag);
  if (outstanding > mostOutstanding)
    complain("CrossCoreSetFlag sets flag " + number +
                 " a 16th time before it is waited for; the counter ends at 15",
             true, setAt,
             {{before, "it was set here before"},
              {{}, "have this core wait for a flag of the core that waits, or use more flags"}});
  else
    complain("CrossCoreSetFlag sets cross-core flag " + number +
                 " again before it is waited for; the chip counts up to 15 sets, but the "
                 "documentation allows no two in a row",
             false, setAt,
             {{before, "it was set here before"},
              {{},
               "use another flag for every second set, or have this core wait for a flag of the "
               "core that waits"}});
}

void Agent::crossWait(uint32_t flag, Place place) {
  lastPlace = place;
  if (flag >= numCrossFlags)
    fail("CrossCoreWaitFlag has flag id " + std::to_string(flag) + ", but ids go from 0 to 15",
         place, faultStatus());
  if (flag < 16)
    needMixedKernel("CrossCoreWaitFlag", place);
  if (flag < 16 && isMuted(place, "CrossCoreWaitFlag", std::to_string(flag)))
    return;
  // In random order, what is queued may run before or after the wait.
  while (live->tokens[flag].empty()) {
    if (options.randomOrderSeed ? pumpRandom(1) : pump())
      continue;
    state = State::WaitsCross;
    waitingFor = static_cast<int>(flag);
    leave();
  }
  remote = joined(remote, live->tokens[flag].front().clock);
  live->tokens[flag].pop_front();
  --arrivals[flag].open;
  // What another core has waited for is complete here, too: all pipes stand behind the wait.
  if (const Clock* own = remote ? remote->of(index) : nullptr)
    for (unsigned p = 0; p < numPipes; ++p)
      hazards.learn(static_cast<Pipe>(p), *own);
  if (options.trace) {
    TraceEvent e = syncTrace(TraceKind::CrossWait, Pipe::S, Pipe::S, flag,
                             hazards.siteOf(place, "CrossCoreWaitFlag"));
    trace.push_back(e);
  }
}

void Agent::syncAll(bool onlyVector, Meeting by, Place place) {
  lastPlace = place;
  if (onlyVector && view.cube)
    return;
  if (by == Meeting::ByFlags)
    needMixedKernel("SyncAll", place);
  if (by == Meeting::ByFlags && !meetsByFlags) {
    meetsByFlags = true;
    warnOfSharedFlags();
  }
  if (isMuted(place, "SyncAll", onlyVector ? "of vector cores" : "of all cores"))
    return;
  drainAll();
  hazards.barrierAll();
  late.landAll();
  uint32_t flag = onlyVector ? flagOfVectors : flagOfAll;
  uint32_t site = hazards.siteOf(place, "SyncAll");
  isRepeated(site);
  group.crossSet(*this, onlyVector ? 0 : 3, flag, hazards.completed(Pipe::S), remote, site);
  if (options.trace)
    trace.push_back(syncTrace(TraceKind::SyncAll, Pipe::S, Pipe::S, flag, site));
  crossWait(flag, place);
}

// --- the end --------------------------------------------------------------------------------

void Agent::finish() {
  inside = 1;
  if (interrupted == Ending::Blocked)
    endIfInterrupted();
  if (!isViewIntact()) {
    std::memcpy(static_cast<void*>(&view), viewAtStart, sizeof viewAtStart);
    fail("a wild write of the kernel has changed what the machine knows of its core", lastPlace,
         faultStatus(),
         {{{}, "the place is that of the last instruction; check the kernel's plain pointers"}});
  }
  noteScalarWrite();
  drainAll();
  late.landAll();
  if (options.check) {
    checkFlagsAtEnd();
    checkModesAtEnd();
  }
  state = State::Done;
}

void Agent::checkFlagsAtEnd() {
  for (unsigned from = 0; from < numPipes; ++from)
    for (unsigned to = 0; to < numPipes; ++to)
      for (unsigned id = 0; id < numEventIds; ++id)
        if (const Flag& flag = live->flags[from][to][id]; flag.count)
          complain("SetFlag sets " + eventText(static_cast<Pipe>(from), static_cast<Pipe>(to), id) +
                       ", but nothing waits for it before the kernel ends; the next kernel on this "
                       "core would see it [ErrorSync3]",
                   true, hazards.site(flag.setSite).place,
                   {{{},
                     "add " +
                         Advice(hazards.site(flag.setSite).place)
                             .waitFlag(static_cast<Pipe>(from), static_cast<Pipe>(to),
                                       std::to_string(id)) +
                         " behind it, or leave it out"}});
}

/// What the next kernel on this core would begin with.
void Agent::checkModesAtEnd() {
  if (storeState.atomic != AtomicOp::None)
    complain("the kernel ends with atomic stores on, and the next kernel on this core would begin "
             "with them; call SetAtomicNone() behind the last one",
             false, storeState.setAt);
  if (mask.counterMode)
    complain("the kernel ends with masks in counter mode, and the next kernel on this core would "
             "begin with it; call SetMaskNorm() behind the last use",
             false, mask.countsSince);
}

void Agent::checkArrivals() {
  for (unsigned flag = 0; flag < 16; ++flag)
    if (arrivals[flag].open)
      complain("cross-core flag " + std::to_string(flag) + " arrives at this core " +
                   std::to_string(arrivals[flag].open) +
                   (arrivals[flag].open == 1 ? " time" : " times") +
                   " more than it is waited for; the next kernel would see it [ErrorSync3]",
               !options.relaxed, arrivals[flag].setAt,
               {{{},
                 "add " + Advice(arrivals[flag].setAt).waitCrossFlag(std::to_string(flag)) +
                     " on that core, or set it less often"}});
}

std::string Agent::describeHeads() const {
  std::string text;
  if (!live)
    return text;
  for (Pipe pipe : allPipes) {
    const auto& queue = live->queues[static_cast<unsigned>(pipe)];
    if (queue.empty())
      continue;
    const Record& head = queue.front();
    const Site& site = hazards.site(head.site);
    text += std::string(text.empty() ? "" : "; ") + pipeNames[static_cast<unsigned>(pipe)] +
            " stands at " + site.what + " in " + site.place.file + ":" +
            std::to_string(site.place.line);
    if (const auto* sync = std::get_if<SyncInstr>(&head.what);
        sync && sync->kind == SyncKind::WaitFlag)
      text += ", which waits for " + eventText(sync->from, sync->to, sync->id);
    text += ", " + std::to_string(queue.size()) + " queued";
  }
  return text;
}

uint32_t Agent::arrivedFlag() const {
  uint32_t flag = 0;
  while (flag < numUserFlags && !arrivals[flag].open)
    ++flag;
  return flag;
}

std::string Agent::describeQueuedSet(uint32_t flag) const {
  if (live)
    for (Pipe pipe : allPipes)
      for (const Record& record : live->queues[static_cast<unsigned>(pipe)])
        if (const auto* sync = std::get_if<SyncInstr>(&record.what);
            sync && sync->kind == SyncKind::CrossSet && sync->id == flag)
          return "; its CrossCoreSetFlag at line " +
                 std::to_string(hazards.site(record.site).place.line) + " is behind what " +
                 pipeNames[static_cast<unsigned>(pipe)] + " stands at";
  return "";
}

std::string Agent::describeWait() const {
  std::string text = name();
  if (state == State::WaitsCross) {
    if (waitingFor == noticeWait)
      text += std::string(" waits in ") + awaited.what;
    else if (waitingFor >= 16)
      text += " waits in SyncAll";
    else
      text += " waits for cross-core flag " + std::to_string(waitingFor);
    text += std::string(" at ") + lastPlace.file + ":" + std::to_string(lastPlace.line);
  }
  std::string heads = describeHeads();
  return heads.empty() ? text : text + "; " + heads;
}

std::string Agent::whereSet(const SyncInstr& wait) const {
  for (Pipe pipe : allPipes)
    for (const Record& record : live->queues[static_cast<unsigned>(pipe)])
      if (const auto* sync = std::get_if<SyncInstr>(&record.what);
          sync && sync->kind == SyncKind::SetFlag && sync->from == wait.from &&
          sync->to == wait.to && sync->id == wait.id)
        return std::string("its SetFlag at line ") +
               std::to_string(hazards.site(record.site).place.line) + " is behind what " +
               pipeNames[static_cast<unsigned>(pipe)] + " stands at";
  return "nothing sets it";
}

void Agent::noteSetsBehind(std::vector<ReportNote>& notes) const {
  uint32_t told = 0; // flags
  for (Pipe pipe : allPipes)
    for (const Record& record : live->queues[static_cast<unsigned>(pipe)]) {
      const auto* sync = std::get_if<SyncInstr>(&record.what);
      if (!sync || sync->kind != SyncKind::CrossSet || sync->id >= numUserFlags ||
          told >> sync->id & 1)
        continue;
      told |= 1u << sync->id;
      notes.push_back({hazards.site(record.site).place,
                       "cross-core flag " + std::to_string(sync->id) +
                           " would be set here, behind it: the cores that wait for that flag have "
                           "this one to wait for"});
    }
}

void Agent::deadlock(const std::string& waitsFor, Headline headline) {
  std::vector<ReportNote> notes;
  Place place = lastPlace;
  for (Pipe pipe : allPipes) {
    const auto& queue = live->queues[static_cast<unsigned>(pipe)];
    if (queue.empty())
      continue;
    const Record& head = queue.front();
    const Site& site = hazards.site(head.site);
    std::string text =
        std::string(pipeNames[static_cast<unsigned>(pipe)]) + " stands at this " + site.what;
    if (headline == Headline::FirstHead && notes.empty())
      place = site.place;
    if (const auto* sync = std::get_if<SyncInstr>(&head.what);
        sync && sync->kind == SyncKind::WaitFlag)
      text +=
          ", which waits for " + eventText(sync->from, sync->to, sync->id) + "; " + whereSet(*sync);
    notes.push_back({site.place, text});
  }
  noteSetsBehind(notes);
  notes.push_back({{},
                   "set the flag before its wait, on the pipe that the event names first, or leave "
                   "the wait out"});
  fail("deadlock: " + waitsFor + " [ErrorSync3, 507014]", place, 507014, std::move(notes));
}

} // namespace tilewright::ascend
