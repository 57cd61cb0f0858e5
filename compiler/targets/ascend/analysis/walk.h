// SPDX-License-Identifier: Apache-2.0
/// A forward analysis. What is known at a point: which instances have been issued (records), which
/// of them each queue knows to be complete, and which ones each set flag will tell about. Paths meet
/// by what both know of what both have issued; a loop is walked until nothing changes. A record
/// keeps its newest instance only: a queue that knows it knows all older ones, as queues are in
/// order.
///
/// Where branches ask for the number of an iteration in a loop of unknown length (turns.h), its first and last iterations
/// are walked one by one, and those between them until nothing changes; runs that are too short to have both are walked
/// as they are. All of these ways meet behind the loop. Each run goes one of them, so nothing is lost; and in none of them
/// does the walk take a branch in an iteration that never does, so a set in the one and the wait in another one match.
///
/// Variables to which constants are assigned (whether a loop has been left) keep ways apart on which they differ.
#pragma once

#include "compiler/targets/ascend/analysis/happens_before.h"
#include "compiler/targets/ascend/analysis/path_state.h"
#include "compiler/targets/ascend/analysis/turns.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tilewright::ascend::model {

/// Which hazards are asked for; of flags, nothing but when they are set and waited for.
enum class Question : uint8_t { All, OfFirst, Any, Flags };

class Walk {
public:
  Walk(const Program& program, const Conflicts& conflicts, unsigned without,
       Question question = Question::All, const WantedHazard* isWanted = nullptr,
       const IsWantedFlag* mustBeHeld = nullptr)
      : program(program), conflicts(conflicts), without(without), question(question),
        isWanted(isWanted), mustBeHeld(mustBeHeld), layout(program), turns(program),
        phases(program.nodes.size()), lastSet(program.flags.size()),
        reported(conflicts.numInstances()), numBits(conflicts.numRecords() + numWaits(program)),
        found(conflicts.numRecords()), told(numBits) {
    inserted.resize(program.flags.size());
    findSharing();
    for (unsigned flag = 0; flag < program.flags.size(); ++flag)
      if (program.flags[flag].isCross)
        crossFlags.push_back(flag);
    asked.resize(program.variables);
    for (const Node& node : program.nodes) {
      noteAsked(node);
      noteInserted(node.sync);
      std::ranges::for_each(node.before, [&](const Sync& sync) { noteInserted(sync); });
      std::ranges::for_each(node.after, [&](const Sync& sync) { noteInserted(sync); });
    }
  }

  Verdict run(bool isEmptyIncluded = true) {
    mayBeEmpty = isEmptyIncluded;
    States states = initial();
    walk(program.body, states);
    return finish(states);
  }

  /// In parts: before anything has run, a node of the outermost block, and the end.
  States initial() const {
    States states;
    states.emplace_back(layout, program.flags.size(), program.variables, numBits);
    return states;
  }
  void walkNode(const Node* node, States& states) {
    synchronise(node->before, node, states);
    walkInner(node, states);
    for (const unsigned variable : node->forgets)
      assign(variable, kNoValue, node, states);
    synchronise(node->after, node, states);
  }
  /// Whether a walk that takes all turns of a loop for any of its phase leaves none out.
  bool areTurnsAlike(const Node* loop) const {
    const Turns::Ends ends = turns.endsOf(loop);
    return (loop->trips < 0 || loop->trips > 2) && ends.first == 0 && ends.last == 0 &&
           loop->goesOn.empty() && loop->notes == kNone && loop->goesBy == kNone;
  }
  /// In parts: one turn of such a loop, without what stands around it.
  void enterTurn(const Node* loop) {
    const int64_t most = loop->trips < 0 ? kEndless : loop->trips - 1;
    phases[loop->id] = 0;
    turns.set(loop, {0, most, 0, most, 0, conflicts.periodOf(loop)});
  }
  const Turn& turnOf(const Node* loop) const {
    return turns.of(loop);
  }
  void synchronise(const std::vector<Sync>& syncs, const Node* at, States& states) {
    for (State& state : states)
      for (const Sync& sync : syncs)
        synchronise(sync, at, state);
  }
  Verdict finish(const States& states) {
    for (const State& state : states)
      for (unsigned flag = 0; flag < state.count.size(); ++flag)
        if (state.count[flag] > 0)
          fault(FaultKind::NotWaitedFor, lastSet[flag], flag);
    return verdictSoFar();
  }
  Verdict verdictSoFar() {
    sortHazards();
    return std::move(verdict);
  }
  /// What is asked for is known. Of what stands behind all loops around the first wanted statement nothing leads back.
  bool isAnswered() const {
    if (question == Question::OfFirst)
      return firstWanted != kNone && openLoops == 0;
    return question == Question::Any &&
           (firstWanted != kNone || !verdict.unheld.empty() || !verdict.faults.empty());
  }
  const Layout& rows() const {
    return layout;
  }
  size_t bits() const {
    return numBits;
  }

  /// Walks the body of a loop in its place; false if that is left to it.
  std::function<bool(const Node* loop, States& states)> walkBody;

  CrossTimes times; ///< if flags are asked for

private:
  void noteInserted(const Sync& sync) {
    if (sync.insertion != kNone && sync.flag != kNone)
      for (unsigned slot = 0; slot < sync.slots(); ++slot)
        inserted[sync.flag + slot] = true;
  }

  void noteAsked(const Node& node) {
    const auto note = [&](unsigned variable) {
      if (variable != kNone)
        asked[variable] = true;
    };
    if (node.kind == NodeKind::If)
      note(node.variable);
    note(node.source);
    for (const unsigned variable : variablesOf(node, program))
      note(variable);
    if (node.kind != NodeKind::Loop)
      return;
    note(node.goesBy);
    for (const TurnCondition& each : node.goesOn)
      note(each.variable);
  }

  /// Flags of one id: between cores, and, where what was inserted has flags of its own, within them.
  void findSharing() {
    sharing.resize(program.flags.size());
    const bool isAnyOwned = std::ranges::any_of(
        program.nodes, [](const Node& node) { return node.sync.owner != kNone; });
    std::map<std::tuple<unsigned, unsigned, unsigned>, std::vector<unsigned>> byId;
    for (unsigned flag = 0; flag < program.flags.size(); ++flag)
      if (const Flag& each = program.flags[flag]; each.id != kNone && (each.isCross || isAnyOwned))
        byId[{each.isCross ? kQueues : each.from.index(),
              each.isCross ? static_cast<unsigned>(each.to.agent) : each.to.index(), each.id}]
            .push_back(flag);
    for (const auto& [id, flags] : byId)
      for (const unsigned flag : flags)
        std::ranges::copy_if(flags, std::back_inserter(sharing[flag]),
                             [&](unsigned other) { return other != flag; });
  }

  /// Behind the records: the last wait for each flag, if there are any between cores.
  static size_t numWaits(const Program& program) {
    return std::ranges::any_of(program.flags, &Flag::isCross) ? program.flags.size() : 0;
  }
  size_t lastWait(unsigned number) const {
    return conflicts.numRecords() + number;
  }

  void sortHazards() {
    std::vector<Hazard>& hazards = verdict.hazards;
    if (question != Question::All)
      std::erase_if(hazards, [&](const Hazard& each) { return each.later->id != firstWanted; });
    const auto textOrder = [](const Hazard& a, const Hazard& b) {
      const auto key = [](const Hazard& h) {
        return std::tuple(h.later->id, h.earlier->id, h.carriedBy ? h.carriedBy->id : kNone,
                          h.samePhases);
      };
      return key(a) < key(b);
    };
    std::sort(hazards.begin(), hazards.end(), textOrder);
    hazards.erase(std::unique(hazards.begin(), hazards.end()), hazards.end());
  }

  void fault(FaultKind kind, const Node* at, unsigned flag) {
    if (question == Question::Any && !inserted[flag])
      return;
    const Fault found{kind, at, flag};
    if (std::find(verdict.faults.begin(), verdict.faults.end(), found) == verdict.faults.end())
      verdict.faults.push_back(found);
  }

  void walk(const Block& block, States& states) {
    for (const Node* node : block) {
      if (isAnswered())
        return;
      walkNode(node, states);
    }
  }

  void walkInner(const Node* node, States& states) {
    switch (node->kind) {
    case NodeKind::Statement:
      for (State& state : states)
        issue(node, state);
      break;
    case NodeKind::Sync:
      for (State& state : states)
        synchronise(node->sync, node, state);
      break;
    case NodeKind::Loop:
      walkLoop(node, states);
      break;
    case NodeKind::If:
      walkBranch(node, states);
      break;
    case NodeKind::Assign:
      assign(node->variable, node, states, [&](const State& state) {
        return assigned(*node, state.values[node->source == kNone ? node->variable : node->source]);
      });
      break;
    }
  }

  void walkBranch(const Node* node, States& states) {
    const std::optional<bool> taken = turns.isTaken(*node);
    States into, past;
    for (State& state : states) {
      const std::optional<bool> here = isTakenIn(state, *node, taken);
      if (!here)
        past.push_back(state);
      (here == false ? past : into).push_back(std::move(state));
    }
    if (!into.empty())
      walk(node->body, into);
    if (!past.empty())
      walk(node->otherwise, past);
    if (node->notes != kNone) {
      assign(node->notes, 1, node, into);
      assign(node->notes, 0, node, past);
    }
    join(into, past, node, FaultKind::OnePathOnly);
    states = std::move(into);
  }

  /// By the conditions of a branch, and the variable that it asks.
  static std::optional<bool> isTakenIn(const State& state, const Node& branch,
                                       std::optional<bool> byConditions) {
    const std::optional<bool> byVariable = isSaidIn(state, branch);
    if (!branch.isBoth)
      return byConditions ? byConditions : byVariable;
    return byConditions == true || byVariable == false ? byVariable : byConditions;
  }
  static std::optional<bool> isSaidIn(const State& state, const Node& branch) {
    if (branch.variable == kNone || state.values[branch.variable] == kNoValue)
      return std::nullopt;
    const int difference = state.values[branch.variable] - branch.value;
    return holds(branch.compares, difference, difference);
  }

  void assign(unsigned variable, int value, const Node* at, States& states) {
    assign(variable, at, states, [value](const State&) { return value; });
  }
  template <typename Change>
  void assign(unsigned variable, const Node* at, States& states, Change change) {
    if (!asked[variable])
      return;
    States before;
    std::swap(before, states);
    for (State& state : before) {
      state.values[variable] = change(state);
      States one;
      one.push_back(std::move(state));
      join(states, one, at, FaultKind::OnePathOnly);
    }
  }

  /// An instruction knows what the scalar unit knew when it issued it.
  static void dispatch(Queue queue, State& state) {
    state.known(queue) |= state.known({queue.agent, Pipe::S});
  }

  /// Adds what was issued on a queue.
  template <typename Set> void addIssued(Set& to, Queue queue, State& state) {
    const std::span<uint64_t> words = to.words(), issued = state.issued().words();
    const std::span<const uint64_t> onQueue = conflicts.recordsOn(queue).words();
    for (size_t w = 0; w < onQueue.size(); ++w)
      words[w] |= issued[w] & onQueue[w];
  }

  void issue(const Node* statement, State& state) {
    const unsigned instance = conflicts.instanceOf(statement, phases, state.values);
    dispatch(statement->queue, state);
    // A hazard of a statement behind the first wanted one doesn't matter now.
    if (question == Question::All || (question != Question::Flags && statement->id <= firstWanted))
      findHazards(statement, instance, state);
    if (statement->hasBarrier()) {
      BitRow known = state.known(statement->queue);
      addIssued(known, statement->queue, state);
    }
    const unsigned mine = conflicts.recordOf(instance, conflicts.inSame(instance));
    if (state.issued()[mine])
      state.forEachKnowledge([&](BitRow each) { each.reset(mine); });
    state.issued().set(mine);
  }

  void findHazards(const Node* statement, unsigned instance, State& state) {
    const std::span<const uint64_t> onGlobal = conflicts.conflictsOf(instance, true).words(),
                                    onChip = conflicts.conflictsOf(instance, false).words(),
                                    remote = state.remote(statement->queue.agent).words(),
                                    known = state.known(statement->queue).words(),
                                    issued = state.issued().words();
    const std::span<uint64_t> unordered = found.words();
    for (size_t w = 0; w < unordered.size(); ++w)
      unordered[w] = (onGlobal[w] | onChip[w]) & issued[w] & ~remote[w] & ~known[w];
    if (found.isEmpty())
      return;
    std::optional<BitSet>& before = reported[instance];
    if (!before)
      before.emplace(conflicts.numRecords());
    mergeTurns(found);
    found -= *before;
    *before |= found;
    found.forEach([&](size_t record) { hazard(record, instance); });
  }

  /// By how many turns a loop has gone on makes no other hazard.
  void mergeTurns(BitSet& records) const {
    const size_t width = conflicts.wordsOfLevel();
    for (unsigned last = 1; last < conflicts.levels(); last += 2) {
      const std::span<uint64_t> now = records.words().subspan(last * width, width),
                                earlier = records.words().subspan((last - 1) * width, width);
      for (size_t w = 0; w < width; ++w)
        earlier[w] |= std::exchange(now[w], 0);
    }
  }

  void hazard(size_t number, unsigned later) {
    const Record record = conflicts.record(number);
    Hazard found{record.statement, conflicts.record(conflicts.recordOf(later, 0)).statement,
                 nullptr, 0};
    const std::vector<const Node*>&around = conflicts.loopsOf(later),
                            &aroundEarlier = conflicts.loopsOf(record.instance);
    for (unsigned depth = 0; depth < std::min(around.size(), aroundEarlier.size()); ++depth) {
      if (around[depth] != aroundEarlier[depth])
        break;
      if (conflicts.samePhase(record.instance, later, around[depth]))
        found.samePhases |= 1U << depth;
      // A loop that is not around both has ended: then an outer one has gone on, or none.
      if (depth == record.depth)
        found.carriedBy = around[depth];
    }
    verdict.hazards.push_back(found);
    if (question != Question::All && found.later->id < firstWanted && (*isWanted)(found))
      firstWanted = found.later->id;
  }

  void synchronise(const Sync& sync, const Node* at, State& state) {
    if (without != kNone && sync.insertion == without)
      return;
    switch (sync.kind) {
    case SyncKind::Barrier: {
      dispatch(sync.queue, state);
      BitRow known = state.known(sync.queue);
      return addIssued(known, sync.queue, state);
    }
    case SyncKind::BarrierAll:
    case SyncKind::Meeting: // What it orders between agents, `interleave` tells.
      return drain(sync.queue.agent, state);
    case SyncKind::SyncAll: {
      drain(Agent::Cube, state);
      drain(Agent::Vector, state);
      told = BitSet(numBits);
      for (const Agent agent : {Agent::Cube, Agent::Vector})
        told |= state.known({agent, Pipe::S});
      for (const Agent agent : {Agent::Cube, Agent::Vector})
        state.remote(agent) |= told;
      return;
    }
    case SyncKind::Set:
      return set(sync, at, state);
    case SyncKind::Wait:
      return wait(flagOf(sync), at, state);
    }
  }

  unsigned flagOf(const Sync& sync) const {
    int64_t number = sync.flag;
    for (const Term& term : sync.turns) {
      int64_t turn = term.shift;
      term.forEachLoop([&](unsigned loop) { turn += phases[loop]; });
      number += term.ofRest(turn % term.modulus);
    }
    return static_cast<unsigned>(number);
  }

  void drain(Agent agent, State& state) {
    told = BitSet(numBits);
    for (const Queue queue : layout.queues)
      if (queue.agent == agent) {
        told |= state.known(queue);
        addIssued(told, queue, state);
      }
    for (const Queue queue : layout.queues)
      if (queue.agent == agent)
        state.known(queue) |= told;
  }

  void set(const Sync& sync, const Node* at, State& state) {
    const unsigned number = flagOf(sync);
    const Flag& flag = program.flags[number];
    dispatch(sync.queue, state);
    BitRow(told.words()).assign(state.known(sync.queue));
    addIssued(told, sync.queue, state);
    if (flag.isCross) {
      told |= state.remote(sync.queue.agent);
      if (question == Question::Flags)
        noteTimes(number, at, state);
      else
        noteSet(sync, number, state);
    }
    const bool isOtherSet = std::ranges::any_of(
        sharing[number], [&](unsigned other) { return state.count[other] > 0; });
    if (isOtherSet && !flag.isCross)
      fault(FaultKind::SetTwice, at, number);
    if (state.count[number] > 0) {
      constexpr int mostOutstanding = 15;
      if (!flag.isCross || state.count[number] >= mostOutstanding)
        fault(FaultKind::SetTwice, at, number);
      state.carried(number) &= told; // the wait may be for either
    } else {
      state.carried(number).assign(told);
    }
    ++state.count[number];
    lastSet[number] = at;
  }

  /// Whether whoever sets a flag between cores knows that the sets of its id before have been waited for. Asked of each
  /// flag of that id: where paths meet, more is known of each than of the last of them.
  void noteSet(const Sync& sync, unsigned number, State& state) {
    const bool mustHold = sync.insertion != kNone && (!mustBeHeld || (*mustBeHeld)(sync.insertion));
    const auto mayBeMet = [&](unsigned flag) {
      return state.count[flag] > 0 || (state.issued()[lastWait(flag)] && !told[lastWait(flag)]);
    };
    const bool mayMeetOther = std::ranges::any_of(sharing[number], mayBeMet);
    if (mustHold && (mayMeetOther || mayBeMet(number)))
      verdict.unheld.insert(sync.insertion);
    verdict.areMixed = verdict.areMixed || (mayMeetOther && sync.owner != kNone);
  }

  /// Of a flag between cores that is set: which others may not have its id.
  void noteTimes(unsigned number, const Node* at, State& state) {
    for (const unsigned other : crossFlags) {
      if (state.count[other] > 0 && other != number)
        times.together.emplace(number, other);
      const bool isSameWay = program.flags[other].to == program.flags[number].to;
      const size_t wait = lastWait(other);
      if (isSameWay &&
          ((other == number && state.count[other] > 0) || (state.issued()[wait] && !told[wait])))
        times.untold.try_emplace({number, other}, at);
    }
  }

  void wait(unsigned number, const Node* at, State& state) {
    const Flag& flag = program.flags[number];
    dispatch(flag.to, state);
    if (state.count[number] == 0) {
      fault(FaultKind::NeverSet, at, number);
      return;
    }
    --state.count[number];
    if (flag.isCross) {
      state.forEachKnowledge([&](BitRow each) { each.reset(lastWait(number)); });
      state.issued().set(lastWait(number));
      state.known(flag.to).set(lastWait(number));
    }
    (flag.isCross ? state.remote(flag.to.agent) : state.known(flag.to)) |= state.carried(number);
  }

  /// Ways on which all variables are the same meet; of too many others those that say which part of a tile is meant aren't
  /// known any more, or none is.
  void join(States& states, States& others, const Node* at, FaultKind kind) {
    const size_t most = program.toldApart.empty() ? 8 : 16;
    for (State& other : others) {
      const auto same = std::ranges::find(states, other.values, &State::values);
      if (same != states.end())
        same->join(other, [&](unsigned flag) { fault(kind, at, flag); });
      else
        states.push_back(std::move(other));
    }
    if (states.size() > most)
      forgetParts(states, at, kind);
    if (states.size() > most)
      forgetVariables(states, at, kind);
    if (states.size() > 1)
      std::ranges::sort(states, std::less(), &State::values);
  }

  void forgetParts(States& states, const Node* at, FaultKind kind) {
    if (program.toldApart.empty())
      return;
    States before;
    std::swap(before, states);
    for (State& state : before) {
      for (const auto& [variable, count] : program.toldApart)
        state.values[variable] = kNoValue;
      const auto same = std::ranges::find(states, state.values, &State::values);
      if (same != states.end())
        same->join(state, [&](unsigned flag) { fault(kind, at, flag); });
      else
        states.push_back(std::move(state));
    }
  }

  void forgetVariables(States& states, const Node* at, FaultKind kind) {
    for (State& state : states)
      std::ranges::fill(state.values, kNoValue);
    for (size_t i = 1; i < states.size(); ++i)
      states[0].join(states[i], [&](unsigned flag) { fault(kind, at, flag); });
    states.resize(1);
  }

  /// What holds before any turn of a loop: `now` before the next ones, or `head` before those that were walked. Whether that
  /// is all. What forgets its variables, as these have too many values, finds some of them again in the next turns, and so
  /// on without an end: so many rounds later all stay forgotten.
  bool isSettled(const Node* loop, States& head, States& now, unsigned& rounds) {
    constexpr unsigned most = 16;
    States before = head;
    join(now, before, loop, FaultKind::Unbalanced);
    if (++rounds > most && now.size() > 1)
      forgetVariables(now, loop, FaultKind::Unbalanced);
    if (now == head || isAnswered())
      return true;
    std::swap(head, now);
    return false;
  }

  void walkLoop(const Node* loop, States& states) {
    ++openLoops;
    walkTurns(loop, states);
    --openLoops;
    const auto isNotOver = [&](const State& state) { return goesOn(*loop, state) == true; };
    if (!std::ranges::all_of(states, isNotOver))
      std::erase_if(states, isNotOver);
  }

  /// Whether a loop has one more turn, as far as variables say.
  static std::optional<bool> goesOn(const Node& loop, const State& state, bool isFirst = false) {
    std::optional<bool> all =
        loop.goesOn.empty() || loop.asksMore ? std::nullopt : std::optional(true);
    for (const TurnCondition& each : loop.goesOn) {
      if (isFirst && each.isLate)
        continue;
      const int now = state.values[each.variable], difference = now - each.value;
      const std::optional<bool> here =
          now == kNoValue ? std::nullopt : holds(each.compares, difference, difference);
      if (here == false)
        return false;
      if (!here)
        all = std::nullopt;
    }
    return all;
  }

  void walkTurns(const Node* loop, States& states) {
    const int64_t period = conflicts.periodOf(loop), trips = loop->trips;
    phases[loop->id] = 0;
    if (trips < 0)
      return loop->goesBy == kNone ? walkOpenLoop(loop, period, states)
                                   : walkTiedLoop(loop, period, states);
    if (trips <= 2 * period) {
      for (int64_t i = 0; i < trips; ++i)
        iterate(loop, {i, i, trips - 1 - i, trips - 1 - i, i, period}, states);
      return;
    }
    States head = states, now, exit;
    unsigned rounds = 0;
    while (true) {
      now = head;
      for (int64_t phase = 0; phase < period; ++phase) {
        iterate(loop, {phase, trips - 1, 0, trips - 1 - phase, phase, period}, now);
        if ((trips - 1) % period == phase)
          exit = now;
      }
      if (isSettled(loop, head, now, rounds)) {
        states = std::move(exit);
        return;
      }
    }
  }

  /// Of unknown length, where a variable may say whether it has a turn.
  void walkTiedLoop(const Node* loop, int64_t period, States& states) {
    States without, with, open;
    for (State& state : states) {
      const int value = state.values[loop->goesBy];
      (value == 0 ? without : value == 1 ? with : open).push_back(std::move(state));
    }
    if (!with.empty())
      walkOpenLoop(loop, period, with, /*hasTurn=*/true);
    if (!open.empty())
      walkOpenLoop(loop, period, open);
    join(with, open, loop, FaultKind::Unbalanced);
    join(with, without, loop, FaultKind::Unbalanced);
    states = std::move(with);
  }

  /// Of unknown length: as each number of iterations that has too few for both ends, and, if there may be more, as first ones,
  /// any number, and last ones. All ways out of it meet.
  void walkOpenLoop(const Node* loop, int64_t period, States& states, bool hasTurn = false) {
    constexpr int64_t mostOneByOne = 2;
    auto [first, last] = turns.endsOf(loop);
    const bool isEntered = hasTurn || loop->isEntered || (!mayBeEmpty && loop->isEnteredIfNotEmpty);
    const int64_t least = isEntered || loop->notes != kNone ? 1 : 0;
    const bool asksLate = std::ranges::any_of(loop->goesOn, &TurnCondition::isLate);
    if (first + last < least || (first == 0 && asksLate))
      first = 1;
    States exit;
    const auto leave = [&](States& way, bool wasEntered = true) {
      if (loop->notes != kNone)
        assign(loop->notes, wasEntered ? 1 : 0, loop, way);
      join(exit, way, loop, FaultKind::Unbalanced);
    };
    if (least == 1 && !isEntered) {
      States none = states;
      leave(none, /*wasEntered=*/false);
    }
    const int64_t most = std::max(loop->mostTrips, least);
    const bool isShort = loop->mostTrips >= 0 && most <= std::max(first + last, mostOneByOne);
    for (int64_t trips = least; trips < (isShort ? most + 1 : first + last); ++trips) {
      States way = states;
      for (int64_t i = 0; i < trips; ++i)
        iterate(loop, {i, i, trips - 1 - i, trips - 1 - i, i, period}, way);
      leave(way);
    }
    if (isShort) {
      states = std::move(exit);
      return;
    }
    for (int64_t i = 0; i < first; ++i)
      iterate(loop, {i, i, first + last - 1 - i, kEndless, i, period}, states);
    std::vector<States> afterMiddle = walkMiddle(loop, first, last, period, states);
    for (int64_t more = 0; more < period && !isAnswered(); ++more) {
      for (int64_t i = 0; i < last; ++i)
        iterate(loop,
                {first + more + i, kEndless, last - 1 - i, last - 1 - i, first + more + i, period},
                afterMiddle[more]);
      leave(afterMiddle[more]);
    }
    if (!exit.empty())
      states = std::move(exit);
  }

  /// Any number of iterations behind the first ones and before the last ones; what holds behind them, by their number
  /// modulo the period.
  std::vector<States> walkMiddle(const Node* loop, int64_t first, int64_t last, int64_t period,
                                 States& head) {
    std::vector<States> after(period);
    States now;
    unsigned rounds = 0;
    while (true) {
      now = head;
      for (int64_t phase = 0; phase < period; ++phase) {
        after[phase] = now;
        iterate(loop, {first + phase, kEndless, last, kEndless, first + phase, period}, now);
      }
      if (isSettled(loop, head, now, rounds))
        return after;
    }
  }

  void iterate(const Node* loop, Turn turn, States& states) {
    std::erase_if(states, [&](const State& state) {
      return goesOn(*loop, state, /*isFirst=*/turn.least == 0) == false;
    });
    turn.phase %= turn.period;
    phases[loop->id] = static_cast<unsigned>(turn.phase);
    turns.set(loop, turn);
    if (!walkBody || !walkBody(loop, states))
      walk(loop->body, states);
    for (State& state : states)
      goOn(loop, state);
  }

  /// What was issued in this iteration of `loop` is now of the last one, and what was of that, of one before: only the newest
  /// instance of these counts.
  void goOn(const Node* loop, State& state) {
    const unsigned depth = conflicts.depthOf(loop);
    const unsigned last = Conflicts::levelOf(depth, /*isByOneTurn=*/true);
    goOn(loop, state, last, Conflicts::levelOf(depth, /*isByOneTurn=*/false));
    for (unsigned level = last + 1; level < conflicts.levels(); ++level)
      goOn(loop, state, level, last);
  }

  /// From a level to one of older records.
  void goOn(const Node* loop, State& state, unsigned from, unsigned to) {
    const size_t width = conflicts.wordsOfLevel();
    const std::span<const uint64_t> mine = conflicts.instancesIn(loop).words();
    const std::span<uint64_t> issued = state.issued().words(),
                              now = issued.subspan(from * width, width),
                              earlier = issued.subspan(to * width, width);
    BitSet moved(width * kWordBits), first(width * kWordBits);
    for (size_t w = 0; w < width; ++w) {
      moved.words()[w] = now[w] & mine[w];
      first.words()[w] = moved.words()[w] & ~earlier[w];
    }
    if (moved.isEmpty())
      return;
    state.forEachKnowledge([&](BitRow each) {
      move(each.words().subspan(from * width, width), each.words().subspan(to * width, width),
           moved, first);
    });
    for (size_t w = 0; w < width; ++w) {
      earlier[w] |= moved.words()[w];
      now[w] &= ~moved.words()[w];
    }
  }

  /// Of one set: the newest instance is known if the one that moves is, and an older one was, if there is one.
  static void move(std::span<uint64_t> from, std::span<uint64_t> to, const BitSet& moved,
                   const BitSet& first) {
    for (size_t w = 0; w < from.size(); ++w) {
      const uint64_t known = from[w] & moved.words()[w], unknown = ~from[w] & moved.words()[w];
      to[w] = (to[w] & ~unknown) | (known & first.words()[w]);
      from[w] &= ~moved.words()[w];
    }
  }

  const Program& program;
  const Conflicts& conflicts;
  unsigned without;
  Question question;
  const WantedHazard* isWanted;
  const IsWantedFlag* mustBeHeld; ///< null: all are asked for
  unsigned firstWanted = kNone;   ///< the number of the first statement that has a wanted hazard
  unsigned openLoops = 0;
  bool mayBeEmpty = true;
  std::vector<unsigned> crossFlags;
  std::vector<bool> inserted;                 ///< by flag
  std::vector<bool> asked;                    ///< by variable: whether a branch or loop asks for it
  std::vector<std::vector<unsigned>> sharing; ///< by flag: others of its id
  const Layout layout;
  Turns turns;
  Phases phases;
  std::vector<const Node*> lastSet;            ///< of each flag, where it was set last
  std::vector<std::optional<BitSet>> reported; ///< by later instance: the records of its hazards
  size_t numBits;                              ///< of what is known
  BitSet found, told;                          ///< scratch
  Verdict verdict;
};

/// Whether a walk that asks for any has found one.
inline bool isAny(const Verdict& verdict) {
  return !verdict.hazards.empty() || !verdict.unheld.empty() || !verdict.faults.empty();
}

} // namespace tilewright::ascend::model
