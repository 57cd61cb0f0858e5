// SPDX-License-Identifier: Apache-2.0
// A forward analysis. What is known at a point: which instances have been issued (records), which
// of them each queue knows to be complete, and which ones each set flag will tell about. Paths meet
// by what both know of what both have issued; a loop is walked until nothing changes. A record
// keeps its newest instance only: a queue that knows it knows all older ones, as queues are in
// order.
#include "compiler/targets/ascend/analysis/happens_before.h"

#include <algorithm>
#include <tuple>

namespace tilewright::ascend::model {
namespace {

struct State {
  BitSet issued;
  std::array<BitSet, kQueues> known;
  /// What cross-core flags have told an agent. Like the host, we let it order only accesses to
  /// global memory.
  std::array<BitSet, 2> remote;
  std::vector<BitSet> carried; ///< by flag
  std::vector<int> count;      ///< by flag: sets without a wait

  bool operator==(const State& other) const = default;
};

/// Of what was issued on either path: known if known wherever it was issued.
void meet(BitSet& known, const BitSet& issued, const BitSet& otherKnown,
          const BitSet& otherIssued) {
  BitSet onlyMine = known, onlyOther = otherKnown;
  onlyMine -= otherIssued;
  onlyOther -= issued;
  known &= otherKnown;
  known |= onlyMine;
  known |= onlyOther;
}

/// Which hazards are asked for.
enum class Question : uint8_t { All, OfFirst, Any };

class Walk {
public:
  Walk(const Program& program, const Conflicts& conflicts, unsigned without,
       Question question = Question::All, const WantedHazard* isWanted = nullptr)
      : program(program), conflicts(conflicts), without(without), question(question),
        isWanted(isWanted), phases(program.nodes.size()), lastSet(program.flags.size()),
        reported(conflicts.numInstances()) {}

  Verdict run() {
    State state;
    state.issued = BitSet(conflicts.numRecords());
    state.known.fill(state.issued);
    state.remote.fill(state.issued);
    state.carried.assign(program.flags.size(), state.issued);
    state.count.assign(program.flags.size(), 0);
    walk(program.body, state);
    for (unsigned flag = 0; flag < state.count.size(); ++flag)
      if (state.count[flag] > 0)
        fault(FaultKind::NotWaitedFor, lastSet[flag], flag);
    sortHazards();
    return std::move(verdict);
  }

private:
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

  /// What is asked for is known.
  bool isAnswered() const {
    return question == Question::Any && firstWanted != kNone;
  }

  void fault(FaultKind kind, const Node* at, unsigned flag) {
    const Fault found{kind, at, flag};
    if (std::find(verdict.faults.begin(), verdict.faults.end(), found) == verdict.faults.end())
      verdict.faults.push_back(found);
  }

  void walk(const Block& block, State& state) {
    for (const Node* node : block) {
      if (isAnswered())
        return;
      for (const Sync& sync : node->before)
        synchronise(sync, node, state);
      switch (node->kind) {
      case NodeKind::Statement:
        issue(node, state);
        break;
      case NodeKind::Sync:
        synchronise(node->sync, node, state);
        break;
      case NodeKind::Loop:
        walkLoop(node, state);
        break;
      case NodeKind::If: {
        State other = state;
        walk(node->body, state);
        walk(node->otherwise, other);
        join(state, other, node, FaultKind::OnePathOnly);
        break;
      }
      }
      for (const Sync& sync : node->after)
        synchronise(sync, node, state);
    }
  }

  BitSet& known(State& state, Queue queue) {
    return state.known[queue.index()];
  }

  BitSet& remote(State& state, Agent agent) {
    return state.remote[static_cast<size_t>(agent)];
  }

  template <typename Visit> static void forEachKnowledge(State& state, Visit visit) {
    for (BitSet& each : state.known)
      visit(each);
    for (BitSet& each : state.remote)
      visit(each);
    for (BitSet& each : state.carried)
      visit(each);
  }

  /// An instruction knows what the scalar unit knew when it issued it.
  void dispatch(Queue queue, State& state) {
    known(state, queue) |= known(state, {queue.agent, Pipe::S});
  }

  BitSet issuedOn(Queue queue, const State& state) {
    BitSet result = conflicts.recordsOn(queue);
    result &= state.issued;
    return result;
  }

  void issue(const Node* statement, State& state) {
    const unsigned instance = conflicts.instanceOf(statement, phases);
    dispatch(statement->queue, state);
    // A hazard of a statement behind the first wanted one doesn't matter now.
    if (question == Question::All || statement->id <= firstWanted)
      findHazards(statement, instance, state);
    const unsigned mine = conflicts.recordOf(instance, conflicts.inSame(instance));
    state.issued.set(mine);
    forEachKnowledge(state, [&](BitSet& each) { each.reset(mine); });
  }

  void findHazards(const Node* statement, unsigned instance, State& state) {
    BitSet unordered = conflicts.conflictsOf(instance, true);
    unordered -= remote(state, statement->queue.agent);
    unordered |= conflicts.conflictsOf(instance, false);
    unordered &= state.issued;
    unordered -= known(state, statement->queue);
    if (unordered.isEmpty())
      return;
    std::optional<BitSet>& before = reported[instance];
    if (before)
      unordered -= *before;
    else
      before.emplace(conflicts.numRecords());
    *before |= unordered;
    unordered.forEach([&](size_t record) { hazard(record, instance); });
  }

  void hazard(size_t number, unsigned later) {
    const Record& record = conflicts.record(number);
    Hazard found{record.statement, conflicts.record(conflicts.recordOf(later, 0)).statement,
                 nullptr, 0};
    const std::vector<const Node*> around = loopsAround(found.later);
    const std::vector<const Node*> aroundEarlier = loopsAround(found.earlier);
    for (unsigned depth = 0; depth < std::min(around.size(), aroundEarlier.size()); ++depth) {
      if (around[depth] != aroundEarlier[depth])
        break;
      if (conflicts.samePhase(record.instance, later, around[depth]))
        found.samePhases |= 1U << depth;
      // A loop that is not around both has ended: then an outer one has gone on, or none.
      if (depth == record.level)
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
      known(state, sync.queue) |= issuedOn(sync.queue, state);
      return;
    }
    case SyncKind::BarrierAll:
    case SyncKind::Meeting: // What it orders between agents, `interleave` tells.
      return drain(sync.queue.agent, state);
    case SyncKind::SyncAll: {
      drain(Agent::Cube, state);
      drain(Agent::Vector, state);
      BitSet all = known(state, {Agent::Cube, Pipe::S});
      all |= known(state, {Agent::Vector, Pipe::S});
      for (BitSet& each : state.remote)
        each |= all;
      return;
    }
    case SyncKind::Set:
      return set(sync, at, state);
    case SyncKind::Wait:
      return wait(flagOf(sync), at, state);
    }
  }

  unsigned flagOf(const Sync& sync) const {
    if (sync.slots <= 1)
      return sync.flag;
    const int64_t turn = phases[sync.slotLoop] + sync.slotShift;
    return sync.flag + static_cast<unsigned>(turn % sync.slots);
  }

  void drain(Agent agent, State& state) {
    BitSet all(conflicts.numRecords());
    for (unsigned pipe = 0; pipe < kPipes; ++pipe) {
      const Queue queue{agent, static_cast<Pipe>(pipe)};
      all |= known(state, queue);
      all |= issuedOn(queue, state);
    }
    for (unsigned pipe = 0; pipe < kPipes; ++pipe)
      known(state, {agent, static_cast<Pipe>(pipe)}) |= all;
  }

  void set(const Sync& sync, const Node* at, State& state) {
    const unsigned number = flagOf(sync);
    const Flag& flag = program.flags[number];
    dispatch(sync.queue, state);
    BitSet told = known(state, sync.queue);
    told |= issuedOn(sync.queue, state);
    if (flag.isCross)
      told |= remote(state, sync.queue.agent);
    if (state.count[number] > 0) {
      constexpr int mostOutstanding = 15;
      if (!flag.isCross || state.count[number] >= mostOutstanding)
        fault(FaultKind::SetTwice, at, number);
      state.carried[number] &= told; // the wait may be for either
    } else {
      state.carried[number] = told;
    }
    ++state.count[number];
    lastSet[number] = at;
  }

  void wait(unsigned number, const Node* at, State& state) {
    const Flag& flag = program.flags[number];
    dispatch(flag.to, state);
    if (state.count[number] == 0) {
      fault(FaultKind::NeverSet, at, number);
      return;
    }
    --state.count[number];
    (flag.isCross ? remote(state, flag.to.agent) : known(state, flag.to)) |= state.carried[number];
  }

  void join(State& state, const State& other, const Node* at, FaultKind kind) {
    for (unsigned q = 0; q < kQueues; ++q)
      meet(state.known[q], state.issued, other.known[q], other.issued);
    for (unsigned a = 0; a < state.remote.size(); ++a)
      meet(state.remote[a], state.issued, other.remote[a], other.issued);
    for (unsigned f = 0; f < state.count.size(); ++f) {
      if (state.count[f] != other.count[f])
        fault(kind, at, f);
      meet(state.carried[f], state.issued, other.carried[f], other.issued);
      state.count[f] = std::min(state.count[f], other.count[f]);
    }
    state.issued |= other.issued;
  }

  void walkLoop(const Node* loop, State& state) {
    const int64_t period = conflicts.periodOf(loop), trips = loop->trips;
    phases[loop->id] = 0;
    if (trips >= 0 && trips <= 2 * period) {
      for (int64_t i = 0; i < trips; ++i)
        iterate(loop, i, period, state);
      return;
    }
    // The exit after the last iteration, or after any.
    State head = state;
    while (true) {
      State now = head;
      std::optional<State> exit;
      if (trips < 0)
        exit = head;
      for (int64_t phase = 0; phase < period; ++phase) {
        iterate(loop, phase, period, now);
        if (trips < 0 && exit)
          join(*exit, now, loop, FaultKind::Unbalanced);
        else if ((trips - 1) % period == phase)
          exit = now;
      }
      join(now, head, loop, FaultKind::Unbalanced);
      if (now == head || isAnswered()) {
        state = std::move(*exit);
        return;
      }
      head = std::move(now);
    }
  }

  void iterate(const Node* loop, int64_t iteration, int64_t period, State& state) {
    phases[loop->id] = static_cast<unsigned>(iteration % period);
    walk(loop->body, state);
    goOn(loop, state);
  }

  /// What was issued in this iteration of `loop` is now of an earlier one.
  void goOn(const Node* loop, State& state) {
    const unsigned depth = conflicts.depthOf(loop);
    for (const unsigned instance : conflicts.instancesIn(loop)) {
      const unsigned target = conflicts.recordOf(instance, depth);
      for (unsigned level = depth + 1; level <= conflicts.inSame(instance); ++level) {
        const unsigned source = conflicts.recordOf(instance, level);
        if (!state.issued[source])
          continue;
        const bool isFirst = !state.issued[target];
        forEachKnowledge(state, [&](BitSet& each) { move(each, source, target, isFirst); });
        state.issued.set(target);
        state.issued.reset(source);
      }
    }
  }

  static void move(BitSet& set, unsigned source, unsigned target, bool isFirst) {
    if (set[source] && isFirst)
      set.set(target);
    else if (!set[source])
      set.reset(target);
    set.reset(source);
  }

  const Program& program;
  const Conflicts& conflicts;
  unsigned without;
  Question question;
  const WantedHazard* isWanted;
  unsigned firstWanted = kNone; ///< the number of the first statement that has a wanted hazard
  Phases phases;
  std::vector<const Node*> lastSet;            ///< of each flag, where it was set last
  std::vector<std::optional<BitSet>> reported; ///< by later instance: the records of its hazards
  Verdict verdict;
};

} // namespace

Verdict check(const Program& program, const Conflicts& conflicts, unsigned without) {
  return Walk(program, conflicts, without).run();
}

std::vector<Hazard> hazardsOfFirst(const Program& program, const Conflicts& conflicts,
                                   const WantedHazard& isWanted) {
  return Walk(program, conflicts, kNone, Question::OfFirst, &isWanted).run().hazards;
}

bool hasHazard(const Program& program, const Conflicts& conflicts, const WantedHazard& isWanted,
               unsigned without) {
  return !Walk(program, conflicts, without, Question::Any, &isWanted).run().hazards.empty();
}

} // namespace tilewright::ascend::model
