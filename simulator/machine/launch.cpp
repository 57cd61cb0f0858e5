// SPDX-License-Identifier: Apache-2.0
#include "simulator/launch.h"
#include "simulator/machine/core_group.h"
#include "simulator/machine/flag_setters.h"
#include "simulator/machine/guard.h"
#include "simulator/machine/host_access.h"
#include "simulator/machine/sync_sites.h"
#include "simulator/machine/time_launch.h"
#include "simulator/machine/watchdog.h"
#include "simulator/memory/global_memory.h"
#include "simulator/sync/global_hazards.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

namespace tilewright::ascend {

namespace {

constexpr double lookEvery = 0.25; // seconds

struct CoreCounts {
  uint32_t cubes, vectors;
};
CoreCounts coresOf(const std::string& chip) {
  bool small = chip.find("910B3") != std::string::npos || chip.find("910B4") != std::string::npos;
  return small ? CoreCounts{20, 40} : CoreCounts{24, 48};
}

bool hasCube(KernelType type) {
  return type != KernelType::AivOnly && type != KernelType::MixAiv10;
}
uint32_t vectorsPerBlock(KernelType type) {
  switch (type) {
  case KernelType::AicOnly:
  case KernelType::MixAic10:
    return 0;
  case KernelType::MixAic12:
    return 2;
  default:
    return 1;
  }
}

struct Start {
  Agent* agent;
  const LaunchRequest* request;
};

class Machine {
public:
  Machine(const LaunchRequest& request, const LaunchOptions& options)
      : request(request), options(options), sites(options) {}

  void run();
  /// To be called once, when it has run.
  LaunchReport gather();
  Place lastPlace() const {
    return agents.empty() || !agents.front() ? Place{} : agents.front()->lastPlace;
  }

private:
  void makeGroups();
  void makeGroup(uint32_t block);
  /// Starts blocks on cores that have become free.
  void admit();
  void runGroups(unsigned worker, unsigned workers);
  /// Ends cores that have done the same for long while nothing else happened.
  void endRepeating();
  /// Cross-core flags that nothing has waited for.
  void checkCrossFlags();
  /// False if the time has not been enough.
  bool compareGlobal();
  static LaunchReport stopped();
  double secondsLeft() const {
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return options.timeLimitSeconds - passed.count();
  }
  /// Between rounds, on one thread, in core order. True if a core can go on.
  bool settle();
  void deliverGlobal();
  void reportDeadlock();
  void noteAbsent(ReportItem& item) const;
  static void body(void* agent);

  const LaunchRequest& request;
  const LaunchOptions& options;
  SyncSites sites;
  std::vector<std::unique_ptr<CoreGroup>> groups;
  std::vector<CoreGroup*> resident; ///< of groups, those that have not ended
  std::vector<Agent*> agents;
  /// Sets that wait for the other cores: by flag and core.
  struct Arrival {
    RemoteClockRef clock;
    Place place;
  };
  struct Arrivals {
    std::vector<RecordQueue<Arrival>> ofCores;
    size_t numWaiting = 0; ///< cores with one
  } arrivals[3][numCrossFlags];
  /// Cores that a flag for all of a kind needs.
  size_t numOfKind(unsigned kind) const;
  void arrive(GlobalSet& set);
  Report report;
  bool overSubscribed = false;
  uint32_t physicalBlocks = 0;
  size_t numFinished = 0;
  uint64_t numRounds = 0;
  /// How long there has been nothing new in what all cores do.
  struct Quiet {
    uint64_t news = 0;
    std::chrono::steady_clock::time_point since;
    bool lasts(uint64_t newsNow, bool isQuiet, double limitSeconds);
  } sameResults, sameLoop, samePlaces;
  std::deque<Start> starts;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  RunState state;
  std::atomic<bool> isInspecting{false}; ///< the cores' states are looked at
};

/// It catches nothing: an exception ends in std::terminate, which finds the kernel's stack as it was (guard.cpp).
void Machine::body(void* argument) {
  auto* start = static_cast<Start*>(argument);
  Agent& agent = *start->agent;
  const Kernel& kernel = *start->request->kernel;
  start->request->invoke(agent.view.cube ? kernel.aic : kernel.aiv,
                         start->request->arguments.get());
  agent.finish();
}

void Machine::makeGroups() {
  KernelType type = request.kernel->type;
  CoreCounts cores = coresOf(options.chip);
  physicalBlocks = hasCube(type) ? cores.cubes : cores.vectors;
  overSubscribed = request.blocks > physicalBlocks;
  agents.resize(size_t{request.blocks} * (vectorsPerBlock(type) + hasCube(type)));
  admit();
}

void Machine::admit() {
  while (groups.size() < request.blocks && groups.size() < numFinished + physicalBlocks)
    makeGroup(static_cast<uint32_t>(groups.size()));
}

void Machine::makeGroup(uint32_t block) {
  KernelType type = request.kernel->type;
  uint32_t vectors = vectorsPerBlock(type);
  bool cube = hasCube(type);
  uint32_t perGroup = vectors + cube;
  auto group = std::make_unique<CoreGroup>(sites, block, type);
  for (uint32_t i = 0; i < perGroup; ++i) {
    AgentView view;
    view.cube = cube && i == 0;
    uint32_t sub = cube ? i - 1 : i;
    view.blockIdx = view.cube || !vectors ? block : block * vectors + sub;
    view.blockNum = request.blocks;
    view.subBlockIdx = view.cube ? 0 : sub;
    view.subBlockNum = view.cube ? 1 : vectors;
    view.mixed = type != KernelType::AivOnly && type != KernelType::AicOnly;
    view.tilingKey = request.tilingKey;
    uint32_t index = block * perGroup + i;
    group->agents.push_back(std::make_unique<Agent>(*group, view, index, options));
    agents[index] = group->agents.back().get();
    starts.push_back({agents[index], &request});
    agents[index]->inspected = options.randomOrderSeed || !canSeeStates() ? nullptr : &isInspecting;
    agents[index]->someHaveFailed = &state.someHaveFailed;
    agents[index]->hazards.tensorNames = request.tensorNames;
    agents[index]->versions = versionsIn(request.tensorNames);
    agents[index]->hazards.listsAccesses = options.listAccesses;
    agents[index]->kernelCode = view.cube ? request.kernel->aic : request.kernel->aiv;
    agents[index]->start(body, &starts.back());
  }
  resident.push_back(group.get());
  groups.push_back(std::move(group));
}

void Machine::runGroups(unsigned worker, unsigned workers) {
  size_t first = (options.randomOrderSeed * 31 + numRounds * 7) % resident.size();
  for (size_t i = 0; i < resident.size(); ++i) {
    CoreGroup* group = resident[options.randomOrderSeed ? (first + i) % resident.size() : i];
    if (group->block % workers == worker) // a fiber stays on its thread
      group->run(state);
  }
}

constexpr unsigned cubeKind = 1, everyKind = 2; // 0: vector cores

size_t Machine::numOfKind(unsigned kind) const {
  size_t vectors = vectorsPerBlock(request.kernel->type), cubes = hasCube(request.kernel->type);
  return request.blocks * (kind == everyKind  ? vectors + cubes
                           : kind == cubeKind ? cubes
                                              : vectors);
}

void Machine::deliverGlobal() {
  for (CoreGroup* group : resident) {
    for (GlobalSet& set : group->globalSets) {
      if (set.mode != GlobalSet::noticeMode) {
        arrive(set);
        continue;
      }
      for (CoreGroup* other : resident) // the others have ended
        for (auto& agent : other->agents)
          agent->deliverNotice(set.key, set.clock);
    }
    group->globalSets.clear();
  }
}

void Machine::arrive(GlobalSet& set) {
  unsigned kind = set.mode == 3 ? everyKind : set.from->view.cube;
  Arrivals& all = arrivals[kind][set.flag];
  all.ofCores.resize(agents.size());
  auto& mine = all.ofCores[set.from->index];
  all.numWaiting += mine.empty();
  mine.push_back({std::move(set.clock), set.place});
  if (kind != everyKind)
    set.from->noteCrossSet(set.flag, mine.size() + set.from->numArrivals(set.flag), set.place);
  if (all.numWaiting < numOfKind(kind))
    return;
  auto clock = std::make_shared<RemoteClock>();
  auto isOfKind = [&](const Agent& agent) {
    return kind == everyKind || agent.view.cube == (kind == cubeKind);
  };
  for (Agent* a : agents)
    if (isOfKind(*a)) {
      auto& list = all.ofCores[a->index];
      clock->join(*list.front().clock);
      list.pop_front();
      all.numWaiting -= list.empty();
    }
  for (Agent* a : agents)
    if (isOfKind(*a))
      a->deliver(set.flag, {clock}, set.place);
}

bool Machine::Quiet::lasts(uint64_t newsNow, bool isQuiet, double limitSeconds) {
  auto now = std::chrono::steady_clock::now();
  if (!isQuiet || newsNow != news)
    since = now;
  news = newsNow;
  return std::chrono::duration<double>(now - since).count() >= limitSeconds;
}

void Machine::endRepeating() {
  // Time alone would tell a busy computer from an idle one. What may be work gets more of both.
  constexpr uint64_t leastRepeats = 300000,
                     leastRepeatsOfAll = 1000000; // steps, where nothing is proven
  constexpr uint64_t leastCircled = 100000, leastCircledOfAll = 3000000;
  constexpr double patienceWithCircles = 3, patienceWithLargeCircles = 7;
  constexpr uint64_t leastRounds = 200;
  bool anyLarge = false, allRound = true, anyClosed = false, allProven = isInspecting;
  bool looksClosed = false, allLookEndless = isInspecting;
  struct {
    bool any = false, all = true;
    uint64_t news = 0, fewest = UINT64_MAX, steps = 0;
    void add(bool does, uint64_t inARow) {
      any |= does;
      all &= does;
      fewest = std::min(fewest, inARow);
      steps += inARow;
    }
  } repeating, circling;
  repeating.news = circling.news = numFinished;
  for (CoreGroup* group : resident)
    for (auto& agent : group->agents) {
      const Repetition& r = agent->repetition;
      repeating.news += r.newResults();
      circling.news += r.newPlaces();
      if (!agent->canRun())
        continue;
      anyClosed |= agent->recurrence.isClosed();
      allProven &= agent->isProven();
      looksClosed |= agent->recurrence.looksClosed();
      allLookEndless &= agent->recurrence.looksEndless();
      repeating.add(r.isRepeating(), r.repeatsInARow());
      circling.add(r.isCircling(), r.stepsInCircles());
      anyLarge |= r.isLargeCircle();
      allRound &= !r.isLargeCircle() || r.rounds() >= leastRounds;
    }
  bool closes = anyClosed && allProven;
  bool allRepeat = repeating.any && repeating.all;
  bool repeats =
      sameResults.lasts(repeating.news, allRepeat,
                        (allProven ? 1 : Agent::patienceWithoutProof) *
                            options.repeatLimitSeconds) &&
      (allProven || (repeating.fewest >= leastRepeats && repeating.steps >= leastRepeatsOfAll));
  bool circles = samePlaces.lasts(circling.news, circling.any && circling.all,
                                  (anyLarge ? patienceWithLargeCircles : patienceWithCircles) *
                                      options.repeatLimitSeconds) &&
                 !allRepeat && allRound && circling.fewest >= leastCircled &&
                 circling.steps >= leastCircledOfAll;
  bool loops = sameLoop.lasts(numFinished, looksClosed && allLookEndless,
                              patienceWithCircles * options.repeatLimitSeconds) &&
               !allRepeat;
  if (!closes && !repeats && !circles && !loops)
    return;
  for (CoreGroup* group : resident)
    for (auto& agent : group->agents)
      if (agent->canRun())
        agent->endRepeating(agent->recurrence.isClosed() && allProven ? Ending::SameState
                            : closes || repeats                       ? Ending::SameResults
                            : loops                                   ? Ending::SameLoop
                                                                      : Ending::NewResults);
}

bool Machine::settle() {
  if (state.isStopped)
    return false;
  ++numRounds;
  for (CoreGroup* group : resident)
    for (auto& agent : group->agents)
      agent->commitAtomics();
  for (CoreGroup* group : resident)
    group->deliverHeld();
  deliverGlobal();
  endRepeating();
  const size_t finishedBefore = numFinished;
  std::erase_if(resident, [&](CoreGroup* group) {
    if (!group->isFinished())
      return false;
    ++numFinished;
    for (auto& agent : group->agents)
      agent->release();
    return true;
  });
  for (CoreGroup* group : resident)
    for (auto& agent : group->agents)
      if (numFinished != finishedBefore)
        agent->recurrence.forgetMemory();
  admit();
  bool canGoOn = false, finished = numFinished == request.blocks;
  for (CoreGroup* group : resident)
    for (auto& agent : group->agents)
      canGoOn = canGoOn || agent->canRun();
  if (!canGoOn && !finished)
    reportDeadlock();
  return canGoOn;
}

void Machine::reportDeadlock() {
  for (Agent* a : agents)
    if (a && a->state == Agent::State::Failed)
      return; // the others wait for one that has failed
  ReportItem item;
  Agent* first = nullptr;
  size_t waiting = 0;
  constexpr size_t mostShown = 8;
  for (Agent* a : agents) {
    if (!a || a->state != Agent::State::WaitsCross)
      continue;
    if (!first)
      first = a;
    if (waiting++ < mostShown)
      item.notes.push_back({{}, a->describeWait()});
  }
  if (!first)
    return;
  if (waiting > mostShown)
    item.notes.push_back({{}, "and " + std::to_string(waiting - mostShown) + " other cores"});
  const size_t notesOfWaits = item.notes.size();
  noteAbsent(item);
  const bool hasAbsent = item.notes.size() > notesOfWaits;
  noteSetters(groups, item);
  item.place = first->waitPlace();
  const std::string tooMany = "the launch has " + std::to_string(request.blocks) +
                              " blocks, but the chip has cores for " +
                              std::to_string(physicalBlocks) + " at a time";
  if (overSubscribed && first->waitsInSyncAll() && !hasAbsent) {
    item.sentence = "deadlock: " + tooMany + ", which wait in SyncAll for the others [507014]";
    item.notes.push_back({{},
                          "launch at most " + std::to_string(physicalBlocks) +
                              " blocks, each of which does several parts of the work"});
  } else {
    item.sentence = "deadlock: " + std::to_string(waiting) + " of " +
                    std::to_string(agents.size()) +
                    " cores wait for a cross-core flag that no core will set [507014]";
    item.notes.push_back({{},
                          "have a core that they wait for set the flag, or leave the wait out; "
                          "SyncAll is for all cores to call"});
    if (overSubscribed)
      item.notes.insert(item.notes.begin(), {{}, tooMany});
  }
  report.add("deadlock", std::move(item));
}

/// The cores that others wait for in SyncAll, and that have ended.
void Machine::noteAbsent(ReportItem& item) const {
  constexpr size_t mostShown = 8;
  size_t absent = 0;
  for (const Agent* other : agents) {
    bool isMissed = false;
    for (const CoreGroup* group : resident) // the others wait for nothing
      for (const auto& agent : group->agents)
        isMissed = isMissed || (other && agent->missesInSyncAll(*other));
    if (isMissed && absent++ < mostShown)
      item.notes.push_back({{}, other->name() + " has ended, but SyncAll waits for it"});
  }
  if (absent > mostShown)
    item.notes.push_back(
        {{}, "so have " + std::to_string(absent - mostShown) + " other cores that it waits for"});
}

void Machine::run() {
  makeGroups();
  unsigned workers = options.threads ? options.threads : std::thread::hardware_concurrency();
  if (sites.isCounting())
    workers = 1;
  workers = std::clamp<unsigned>(workers, 1, static_cast<unsigned>(groups.size()));

  std::mutex mutex;
  bool more = true;
  std::vector<ThreadGuard*> guards(workers, nullptr);
  std::barrier<> gate(workers);
  auto work = [&](unsigned worker) {
    ThreadGuard guard;
    {
      std::lock_guard lock(mutex);
      guards[worker] = &guard;
    }
    while (more) {
      runGroups(worker, workers);
      gate.arrive_and_wait();
      if (worker == 0)
        more = settle();
      gate.arrive_and_wait();
    }
    std::lock_guard lock(mutex);
    guards[worker] = nullptr;
  };
  constexpr double again = 0.02;
  // Plain loops: their states are looked at by signals.
  constexpr double idleBeforeSamples = 0.75, sampleEvery = 0.005;
  // A thread between two cores looks for a moment as if it ran none.
  constexpr unsigned steadyLooks = 8;
  unsigned ran = 0, looks = 0;
  Watch watch(std::min(options.timeLimitSeconds, lookEvery), [&] {
    std::lock_guard lock(mutex);
    double left = secondsLeft();
    // Short launches don't pay for it.
    isInspecting = options.timeLimitSeconds - left >= options.repeatLimitSeconds / 2;
    state.isStopped = request.stop && *request.stop != 0;
    const bool isOver = left <= 0 || state.isStopped;
    bool allAreIdle = true, allComeBack = true;
    unsigned running = 0;
    for (ThreadGuard* guard : guards) {
      if (!guard)
        continue;
      guard->look();
      if (guard->isGone())
        endDamagedProgram(Damage::Thread, guard->culprit(true));
      if (guard->runs()) {
        ++running;
        allAreIdle &= guard->idleSeconds() >= idleBeforeSamples;
        allComeBack &= guard->comesBackAlways();
      }
      state.takesTooLong =
          state.takesTooLong || guard->hasEndedOne(); // cores that haven't begun needn't
      bool isIdle = guard->idleSeconds() >= options.idleLimitSeconds;
      if (isOver || isIdle || guard->blockedSeconds() >= options.blockedLimitSeconds()) {
        guard->interrupt(isOver ? Ending::TimeLimit : isIdle ? Ending::IdleLimit : Ending::Blocked);
        state.takesTooLong = true;
      }
    }
    looks = running == ran ? looks + 1 : 0;
    ran = running;
    const bool areTheseAll = looks >= steadyLooks;
    if (isOver)
      return again;
    if (!allAreIdle || running == 0 || options.randomOrderSeed)
      return state.takesTooLong ? again : std::min(left, lookEvery);
    for (ThreadGuard* guard : guards) {
      if (!guard || !guard->runs())
        continue;
      if (allComeBack && areTheseAll)
        guard->interrupt(Ending::SameState);
      else
        guard->sample(running == 1 && areTheseAll);
    }
    state.takesTooLong = state.takesTooLong || (allComeBack && areTheseAll);
    return sampleEvery;
  });
  std::vector<std::thread> threads;
  for (unsigned w = 1; w < workers; ++w)
    threads.emplace_back(work, w);
  work(0);
  for (std::thread& t : threads)
    t.join();
}

void Machine::checkCrossFlags() {
  for (Agent* a : agents)
    if (!a || a->state != Agent::State::Done)
      return; // flags that others would have waited for
  for (auto& group : groups)
    group->checkHalves();
  for (Agent* a : agents)
    a->checkArrivals();
  for (auto& ofKind : arrivals)
    for (unsigned flag = 0; flag < 16; ++flag)
      for (size_t i = 0; i < ofKind[flag].ofCores.size(); ++i)
        if (!ofKind[flag].ofCores[i].empty()) {
          agents[i]->complain("CrossCoreSetFlag of mode 0 sets flag " + std::to_string(flag) +
                                  " on this core but not as often on another; it reaches nobody "
                                  "[ErrorSync3]",
                              true, ofKind[flag].ofCores[i].front().place,
                              {{{}, "call it on all cores of this kind, equally often"}});
          break;
        }
}

bool Machine::compareGlobal() {
  std::vector<const CoreHazards*> cores;
  for (Agent* a : agents)
    if (a)
      cores.push_back(&a->hazards);
  std::atomic<bool> isOver{false};
  {
    Watch watch(std::min(secondsLeft(), lookEvery), [&] {
      state.isStopped = request.stop && *request.stop != 0;
      isOver = isOver || state.isStopped || secondsLeft() <= 0;
      return isOver ? lookEvery : std::min(secondsLeft(), lookEvery);
    });
    findGlobalHazards(cores, options.relaxed, report, isOver);
  }
  if (!isOver)
    return true;
  std::ostringstream limit;
  limit << options.timeLimitSeconds;
  ReportItem item;
  item.place = request.place;
  item.sentence = "the kernel has run, but its accesses to GM could not all be compared within " +
                  limit.str() +
                  " s: races may be left that nobody has told; this is a limit of the host and no "
                  "proof: to look at all, set time-limit higher, or launch fewer blocks [507014]";
  report.add("unfinished", std::move(item));
  return false;
}

LaunchReport Machine::stopped() {
  forgetUnwritten(); // nobody knows what the rest would have written
  LaunchReport result;
  result.status = 507014;
  return result;
}

LaunchReport Machine::gather() {
  LaunchReport result;
  if (state.isStopped)
    return stopped();
  if (options.check)
    checkCrossFlags();
  for (Agent* a : agents) {
    if (!a)
      continue;
    a->hazards.tellUnwrittenReads();
    report.merge(a->hazards.report);
    if (a->status && !result.status)
      result.status = a->status;
  }
  // What ran until a limit has left more than can be looked at.
  const bool isTooMuch = state.takesTooLong && state.someHaveFailed;
  const bool isComplete = options.check && !isTooMuch && compareGlobal();
  if (state.isStopped)
    return stopped();
  if (!isComplete || options.timeOnly)
    forgetUnwritten(); // nobody knows what is written now
  // What has ended the launch comes first: races on the way there may be many.
  auto hasEnded = [](const ReportItem& item) {
    return item.sentence.find("507014") != std::string::npos;
  };
  std::set<std::string> said;
  const auto sayOnce = [&](std::vector<ReportNote>& notes) {
    for (ReportNote& note : notes)
      if (!note.once.empty() && !said.insert(note.once).second)
        note.once.clear();
    std::erase_if(notes,
                  [](const ReportNote& note) { return note.text.empty() && note.once.empty(); });
  };
  bool saysSo = !options.check || !isTooMuch;
  for (bool wanted : {true, false})
    for (const ReportItem& item : report.all()) {
      if (hasEnded(item) != wanted)
        continue;
      ReportItem told = item;
      if (wanted && !std::exchange(saysSo, true))
        told.notes.push_back({{},
                              "the launch has ended before its accesses to GM were compared: races "
                              "may be left that nobody has told"});
      sayOnce(told.notes);
      result.findings.push_back({render(told), told.isError});
      if (item.isError && !result.status)
        result.status = hasEnded(item) ? 507014 : faultStatusOf(request.kernel->type);
    }
  if (options.countSyncs)
    result.syncSites = sites.all();
  for (Agent* a : agents)
    if (a)
      result.accesses.insert(result.accesses.end(), a->hazards.listed.begin(),
                             a->hazards.listed.end());
  if (std::string complaint = sites.complaint(); !complaint.empty())
    result.findings.push_back({"warning: " + complaint + "\n", false});
  if (options.trace && !result.status)
    timeLaunch(request.kernel->name, agents, options, result);
  return result;
}

std::mutex lastReportMutex;
LaunchReport lastReport;

} // namespace

LaunchReport launch(const LaunchRequest& request, const LaunchOptions& options) {
  LaunchReport refused;
  auto refuse = [&](std::string text) {
    refused.status = 107000;
    refused.findings.push_back({render({request.place, std::move(text), {}}), true});
    return refused;
  };
  constexpr uint32_t mostBlocks = 65535;
  if (currentAgent())
    return refuse("a kernel was launched from inside a kernel");
  if (!request.kernel || !request.invoke)
    return refuse("the kernel is not registered; build the program with tilewright-ascendc");
  if (request.blocks == 0 || request.blocks > mostBlocks)
    return refuse("the launch has " + std::to_string(request.blocks) +
                  " blocks, but a launch has 1 to 65535");
  LaunchRequest chosen = request;
  chosen.kernel = &kernelForKey(*request.kernel, request.tilingKey);
  LaunchOptions chosenOptions = options;
  chosenOptions.check &= !options.timeOnly; // memory holds what it held before
  chosenOptions.relaxed |= request.relaxed;
  blameLaunch(chosen.kernel->name, chosen.place);
  OpenDeviceMemory open;
  auto machine = std::make_unique<Machine>(chosen, chosenOptions);
  machine->run();
  ThreadGuard guard(machine->lastPlace()); // what the kernel has damaged may show only now
  LaunchReport report = machine->gather();
  machine.reset();
  std::lock_guard lock(lastReportMutex);
  lastReport = report;
  return report;
}

LaunchReport lastLaunchReport() {
  std::lock_guard lock(lastReportMutex);
  return lastReport;
}

} // namespace tilewright::ascend
