// SPDX-License-Identifier: Apache-2.0
/// The oracle of the tests: runs a program with given trip counts and branches, with vector clocks,
/// and compares every pair of accesses. Shares nothing with the analysis but the program.
#pragma once

#include "compiler/targets/ascend/analysis/program.h"

#include <deque>
#include <functional>
#include <map>
#include <set>

namespace tilewright::ascend::model::testing {

/// Decides trip counts (of loops whose count is not known) and branches.
using Choose = std::function<int64_t(const Node&)>;

class Replay {
public:
  /// `values`: what never changes, by its number.
  Replay(const Program& program, Choose choose, unsigned without = kNone,
         std::map<unsigned, int64_t> values = {})
      : program(program), choose(std::move(choose)), without(without), values(std::move(values)) {
    flatten(program.body);
    if (isEndless)
      events.clear(); // no run goes so
    execute();
  }

  /// Pairs of node numbers, earlier and later in the text's order, that nothing orders.
  std::set<std::pair<unsigned, unsigned>> hazards;
  bool hasFlagFault = false;
  bool isDeadlocked = false;
  bool isEndless = false;
  bool areNotesTrue = true; ///< a branch that goes by what another one notes would itself say so
  bool isClean() const {
    return hazards.empty() && !hasFlagFault && !isDeadlocked && areNotesTrue;
  }

private:
  /// Of the statements on each queue, and of the waits of each agent between cores.
  using Clock = std::array<int, kQueues + 2>;
  struct Bytes {
    const Access* access = nullptr;
    std::vector<std::pair<int64_t, int64_t>> runs;
  };
  /// A statement or sync of one iteration.
  struct Event {
    const Node* node = nullptr;
    const Sync* sync = nullptr;
    unsigned flag = kNone;
    std::vector<Bytes> bytes;
    int epoch = 0, epochOfFirst = 0; ///< of all of it, and of what stands before its barrier
    Clock local{}, remote{};         ///< what it knew when it started
    Clock behindBarrier{};           ///< and behind the barrier that it has inside
    bool done = false;
  };

  void flatten(const Block& block) {
    for (const Node* node : block) {
      flatten(node->before, node);
      if (node->kind == NodeKind::Statement) {
        if (isTrue(*node))
          events.push_back(statement(node));
      } else if (node->kind == NodeKind::Sync) {
        addSync(node->sync, node);
      } else if (node->kind == NodeKind::If) {
        bool isTaken = node->conditions.empty() ? choose(*node) : isTrue(*node);
        if (node->variable != kNone) {
          const bool said = isTrue(node->compares, assigned[node->variable] - node->value);
          if (node->isBoth)
            isTaken = isTaken && said;
          else if (node->conditions.empty())
            isTaken = said;
          areNotesTrue = areNotesTrue && (node->isBoth || said == isTaken);
        }
        flatten(isTaken ? node->body : node->otherwise);
        if (node->notes != kNone)
          assigned[node->notes] = isTaken ? 1 : 0;
      } else if (node->kind == NodeKind::Assign) {
        assigned[node->variable] = valueOf(*node);
      } else {
        flattenLoop(node);
      }
      flatten(node->after, node);
    }
  }
  /// Of a variable of which nothing is known then, any number.
  int valueOf(const Node& assignment) {
    const int before =
        assigned[assignment.source == kNone ? assignment.variable : assignment.source];
    if (assignment.isStep || assignment.becomes.empty())
      return assignment.value + (assignment.isStep ? before : 0);
    const auto last = std::ssize(assignment.becomes) - 1;
    return before >= 0 && before < last ? assignment.becomes[static_cast<size_t>(before)]
                                        : static_cast<int>(choose(assignment) % 4);
  }
  void flatten(const std::vector<Sync>& syncs, const Node* node) {
    for (const Sync& sync : syncs)
      if (without == kNone || sync.insertion != without)
        addSync(sync, node);
  }
  void flattenLoop(const Node* node) {
    if (!node->goesOn.empty())
      return flattenUntilLeft(node);
    int64_t trips = node->trips >= 0 ? node->trips : chosenTrips(*node);
    if (node->goesBy != kNone)
      trips = assigned[node->goesBy] == 0 ? 0 : std::max(trips, int64_t{1});
    if (node->notes != kNone)
      assigned[node->notes] = trips > 0 ? 1 : 0;
    length[node->id] = trips;
    for (int64_t i = 0; i < trips; ++i) {
      iteration[node->id] = i;
      flatten(node->body);
    }
  }
  int64_t chosenTrips(const Node& node) {
    const int64_t trips = choose(node);
    return node.mostTrips < 0 ? trips : std::min(trips, node.mostTrips);
  }
  void flattenUntilLeft(const Node* node) {
    const int64_t most = node->mostTrips < 0 ? 12 : node->mostTrips;
    const int64_t end = node->asksMore ? chosenTrips(*node) : most;
    const auto goesOn = [&] {
      return std::ranges::all_of(node->goesOn, [&](const TurnCondition& each) {
        return isTrue(each.compares, assigned[each.variable] - each.value);
      });
    };
    int64_t& i = iteration[node->id];
    for (i = 0; i < end && goesOn(); ++i)
      flatten(node->body);
    isEndless = isEndless || (!node->asksMore && i == most && goesOn());
  }
  /// Whether all conditions of a statement or branch hold.
  bool isTrue(const Node& node) {
    bool all = true;
    for (const Condition& condition : node.conditions) {
      int64_t number = condition.constant + choose(node) % (condition.spread + 1);
      for (const Term& term : condition.terms)
        number += term.bytes * numberOf(term);
      for (const Term& term : condition.values)
        number += term.bytes * values.at(term.loop);
      for (const Term& term : condition.left)
        number += term.bytes * (length[term.loop] - 1 - iteration[term.loop]);
      all = all && isTrue(condition.kind, number);
    }
    return all;
  }
  static bool isTrue(Comparison kind, int64_t number) {
    switch (kind) {
    case Comparison::Equal:
      return number == 0;
    case Comparison::NotEqual:
      return number != 0;
    case Comparison::Less:
      return number < 0;
    case Comparison::LessOrEqual:
      return number <= 0;
    case Comparison::Greater:
      return number > 0;
    default:
      return number >= 0;
    }
  }
  void addSync(const Sync& sync, const Node* node) {
    Event event;
    event.node = node;
    event.sync = &sync;
    event.flag = sync.flag;
    for (const Term& term : sync.turns)
      event.flag += static_cast<unsigned>(numberOf(term));
    events.push_back(event);
  }
  /// What is taken `bytes` times.
  int64_t numberOf(const Term& term) {
    if (term.variable != kNone)
      return assigned[term.variable];
    int64_t i = term.loop == kNone ? 0 : iteration[term.loop];
    for (const unsigned other : term.others)
      i += iteration[other];
    for (const unsigned value : term.values)
      i += values.at(value);
    if (term.modulus == 0)
      return i;
    const int64_t rest = floorMod(i + term.shift, term.modulus);
    return term.table.empty() ? rest : term.table.at(static_cast<size_t>(rest));
  }
  Event statement(const Node* node) {
    Event event;
    event.node = node;
    for (const Access& access : node->accesses) {
      int64_t offset = access.begin;
      for (const Term& term : access.terms)
        offset += term.bytes * numberOf(term);
      Bytes bytes{&access, {}};
      for (int64_t row = 0; row < access.rows; ++row)
        bytes.runs.emplace_back(offset + row * access.pitch,
                                offset + row * access.pitch + access.end - access.begin);
      event.bytes.push_back(bytes);
    }
    return event;
  }

  static Queue queueOf(const Event& event) {
    if (!event.sync)
      return event.node->queue;
    return event.sync->queue;
  }

  void execute() {
    // Each agent issues in order; the other goes on where one waits for a cross-core flag.
    std::array<size_t, 2> next{0, 0};
    bool isStuck = false;
    while (!isStuck) {
      isStuck = true;
      for (unsigned agent = 0; agent < 2; ++agent)
        while (next[agent] < events.size() && step(events[next[agent]], agent)) {
          ++next[agent];
          isStuck = false;
        }
    }
    isDeadlocked = next[0] < events.size() || next[1] < events.size();
    for (const auto& [flag, tokens] : outstanding)
      hasFlagFault = hasFlagFault || !tokens.empty();
    compare();
  }

  /// False if it must wait.
  bool step(Event& event, unsigned agent) {
    if (event.sync && event.sync->kind == SyncKind::SyncAll) {
      if (agent == 0)
        return event.done;
      syncAll(event);
      return true;
    }
    if (static_cast<unsigned>(queueOf(event).agent) != agent)
      return true;
    const Queue queue = queueOf(event);
    Clock& clock = clocks[queue.index()];
    joinInto(clock, clocks[Queue{queue.agent, Pipe::S}.index()]);
    if (!event.sync) {
      event.local = event.behindBarrier = clock;
      event.epochOfFirst = ++epochs[queue.index()];
      event.behindBarrier[queue.index()] = event.epochOfFirst;
      if (event.node->hasBarrier())
        clock = event.behindBarrier;
      event.epoch = ++epochs[queue.index()];
      event.remote = remotes[agent];
      event.done = true;
      return true;
    }
    switch (event.sync->kind) {
    case SyncKind::Barrier:
      clock[queue.index()] = epochs[queue.index()];
      return true;
    case SyncKind::BarrierAll:
    case SyncKind::Meeting:
      drain(agent);
      return true;
    case SyncKind::Set:
      return set(event, queue, agent);
    default:
      return wait(event, queue, agent);
    }
  }

  /// Between cores, of each id of each agent, whichever flags have it.
  unsigned counterOf(unsigned number) const {
    const Flag& flag = program.flags[number];
    constexpr unsigned ids = 16, behindFlags = 1U << 20;
    if (!flag.isCross || flag.id == kNone)
      return number;
    return behindFlags + ids * static_cast<unsigned>(flag.to.agent) + flag.id;
  }

  bool set(const Event& event, Queue queue, unsigned agent) {
    Clock told = clocks[queue.index()];
    told[queue.index()] = epochs[queue.index()];
    const Flag& flag = program.flags[event.flag];
    if (flag.isCross)
      joinInto(told, remotes[agent]);
    auto& tokens = outstanding[counterOf(event.flag)];
    // Where cores run in another order, the set before may still be there.
    const auto last = lastWait.find(counterOf(event.flag));
    const bool isAhead = flag.isCross && last != lastWait.end() &&
                         told[kQueues + last->second.first] < last->second.second;
    hasFlagFault = hasFlagFault || !tokens.empty() || isAhead;
    tokens.push_back(told);
    return true;
  }
  bool wait(const Event& event, Queue queue, unsigned agent) {
    auto& tokens = outstanding[counterOf(event.flag)];
    const bool isCross = program.flags[event.flag].isCross;
    if (tokens.empty()) {
      hasFlagFault = hasFlagFault || !isCross;
      return !isCross;
    }
    joinInto(isCross ? remotes[agent] : clocks[queue.index()], tokens.front());
    tokens.pop_front();
    if (isCross) {
      lastWait[counterOf(event.flag)] = {agent, ++waits[agent]};
      clocks[Queue{queue.agent, Pipe::S}.index()][kQueues + agent] = waits[agent];
    }
    return true;
  }
  void syncAll(Event& event) {
    // Reached by the vector agent; the cube agent passes when it is done. Both must have arrived:
    // the tests place it where they have.
    drain(0);
    drain(1);
    for (unsigned agent = 0; agent < 2; ++agent)
      for (unsigned q = 0; q < kQueues; ++q)
        remotes[agent][q] = epochs[q];
    event.done = true;
  }
  void drain(unsigned agent) {
    Clock all{};
    for (unsigned p = 0; p < kPipes; ++p) {
      joinInto(all, clocks[agent * kPipes + p]);
      all[agent * kPipes + p] = epochs[agent * kPipes + p];
    }
    for (unsigned p = 0; p < kPipes; ++p)
      joinInto(clocks[agent * kPipes + p], all);
  }
  static void joinInto(Clock& clock, const Clock& other) {
    for (size_t q = 0; q < clock.size(); ++q)
      clock[q] = std::max(clock[q], other[q]);
  }

  void compare() {
    for (size_t later = 0; later < events.size(); ++later)
      for (size_t earlier = 0; earlier < later; ++earlier)
        if (events[later].done && events[earlier].done && !events[later].sync &&
            !events[earlier].sync)
          compare(events[earlier], events[later]);
  }
  void compare(const Event& earlier, const Event& later) {
    const unsigned q = earlier.node->queue.index();
    for (const Bytes& a : earlier.bytes)
      for (const Bytes& b : later.bytes) {
        if (a.access->memory != b.access->memory || (a.access->isAtomic && b.access->isAtomic))
          continue;
        if (!(a.access->isWrite || b.access->isWrite) || isInOrder(earlier, a, later, b))
          continue;
        const Clock& local = b.access->isBehindBarrier ? later.behindBarrier : later.local;
        const int epoch = a.access->isDoneAtBarrier ? earlier.epochOfFirst : earlier.epoch;
        const bool known = local[q] >= epoch || later.remote[q] >= epoch;
        if (!known && meet(a, b))
          hazards.emplace(earlier.node->id, later.node->id);
      }
  }
  static bool isInOrder(const Event& earlier, const Bytes& a, const Event& later, const Bytes& b) {
    const Queue x = earlier.node->queue, y = later.node->queue;
    if (x.agent != y.agent)
      return false;
    if (x.pipe == Pipe::S && !a.access->isWrite)
      return true;
    if (!(x == y))
      return false;
    return !a.access->isWrite || x.pipe == Pipe::S || x.pipe == Pipe::M ||
           (x.pipe == Pipe::FIX && a.access->isGlobal && b.access->isGlobal);
  }
  static bool meet(const Bytes& a, const Bytes& b) {
    for (const auto& [begin, end] : a.runs)
      for (const auto& [otherBegin, otherEnd] : b.runs)
        if (begin < otherEnd && otherBegin < end)
          return true;
    return false;
  }

  const Program& program;
  Choose choose;
  unsigned without;
  std::map<unsigned, int64_t> values;
  std::map<unsigned, int64_t> iteration, length; ///< by loop
  std::map<unsigned, int> assigned;              ///< by variable
  std::deque<Event> events;
  std::array<Clock, kQueues> clocks{};
  std::array<Clock, 2> remotes{};
  std::array<int, kQueues> epochs{};
  std::map<unsigned, std::deque<Clock>> outstanding; ///< by counter
  std::array<int, 2> waits{};
  std::map<unsigned, std::pair<unsigned, int>>
      lastWait; ///< by counter between cores: whose, and which
};

} // namespace tilewright::ascend::model::testing
