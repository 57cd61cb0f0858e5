// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/conflicts.h"
#include "compiler/targets/ascend/analysis/overlap.h"

#include <map>

namespace tilewright::ascend::model {

Conflicts::Conflicts(const Program& program)
    : values(program.values), period(periods(program)), depths(program.nodes.size()),
      firstInstance(program.nodes.size()) {
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::Loop)
      depths[node.id] = static_cast<unsigned>(loopsAround(&node).size());
    if (node.kind == NodeKind::Statement)
      addInstances(node);
  }
  stride = static_cast<unsigned>((instances.size() + kWordBits - 1) / kWordBits * kWordBits);
  instancesByLoop.assign(program.nodes.size(), BitSet(stride));
  for (size_t number = 0; number < instances.size(); ++number) {
    numLevels = std::max(numLevels, static_cast<unsigned>(instances[number].loops.size()) + 1);
    for (const Node* around : instances[number].loops)
      instancesByLoop[around->id].set(number);
  }
  byQueue.fill(BitSet(numRecords()));
  forEachRecord([&](unsigned instance, unsigned level) {
    byQueue[instances[instance].statement->queue.index()].set(recordOf(instance, level));
  });
  for (auto& table : tables)
    table.resize(instances.size());
}

template <typename Visit> void Conflicts::forEachRecord(Visit visit) const {
  for (unsigned instance = 0; instance < instances.size(); ++instance)
    for (unsigned level = 0; level <= inSame(instance); ++level)
      visit(instance, level);
}

void Conflicts::addInstances(const Node& statement) {
  firstInstance[statement.id] = static_cast<unsigned>(instances.size());
  Instance instance{&statement, loopsAround(&statement), {}};
  instance.phases.resize(instance.loops.size());
  size_t loop = 0;
  do {
    instances.push_back(instance);
    // The next combination of phases.
    for (loop = instance.loops.size(); loop > 0; --loop) {
      if (++instance.phases[loop - 1] < period[instance.loops[loop - 1]->id])
        break;
      instance.phases[loop - 1] = 0;
    }
  } while (loop > 0);
}

unsigned Conflicts::instanceOf(const Node* statement, const Phases& phases) const {
  const unsigned first = firstInstance[statement->id];
  unsigned offset = 0;
  for (const Node* loop : instances[first].loops)
    offset = offset * static_cast<unsigned>(period[loop->id]) + phases[loop->id];
  return first + offset;
}

bool Conflicts::samePhase(unsigned a, unsigned b, const Node* loop) const {
  const unsigned depth = depths[loop->id];
  return instances[a].phases[depth] == instances[b].phases[depth];
}

std::pair<unsigned, unsigned> Conflicts::instancesOf(const Node* statement) const {
  const unsigned first = firstInstance[statement->id];
  unsigned end = first;
  while (end < instances.size() && instances[end].statement == statement)
    ++end;
  return {first, end};
}

int64_t Conflicts::leastDistance(const Node* earlier, const Node* later, const Node* loop) const {
  const unsigned depth = depths[loop->id];
  const int64_t every = period[loop->id];
  const auto [first, end] = instancesOf(earlier);
  const auto [firstLater, endLater] = instancesOf(later);
  int64_t least = every;
  for (unsigned a = first; a < end; ++a)
    for (unsigned b = firstLater; b < endLater; ++b) {
      bool areInConflict = false;
      for (unsigned level = 0; level <= depth; ++level)
        for (const bool isGlobal : {false, true})
          areInConflict = areInConflict || conflictsOf(b, isGlobal)[recordOf(a, level)];
      const int64_t apart =
          static_cast<int64_t>(instances[b].phases[depth]) - instances[a].phases[depth];
      if (areInConflict)
        least = std::min(least, apart > 0 ? apart : apart + every);
    }
  return least;
}

const BitSet& Conflicts::conflictsOf(unsigned later, bool isGlobal) const {
  std::optional<BitSet>& known = tables[isGlobal ? 1 : 0][later];
  if (known)
    return *known;
  known.emplace(numRecords());
  forEachRecord([&](unsigned instance, unsigned level) {
    if (conflict(instances[instance], level, instances[later], isGlobal))
      known->set(recordOf(instance, level));
  });
  return *known;
}

namespace {

/// True if the machine itself keeps the order of these two.
bool isInOrder(const Node& earlier, const Access& a, const Node& later, const Access& b) {
  if (earlier.queue.agent != later.queue.agent)
    return false;
  const Pipe first = earlier.queue.pipe, second = later.queue.pipe;
  // A scalar read of a local memory ends before the next issue.
  if (first == Pipe::S && !a.isWrite && !a.isGlobal)
    return true;
  if (first != second)
    return false;
  if (b.isBehindBarrier)
    return true;
  // A pipe reads in order; the scalar unit does all in order, the cube unit accumulates safely, and
  // FIX writes global memory in order.
  return !a.isWrite || first == Pipe::S || first == Pipe::M ||
         (first == Pipe::FIX && a.isGlobal && b.isGlobal);
}

struct Offsets {
  int64_t distance = 0;
  std::vector<Unknown> unknowns;
};

/// What a loop with phase `phase` of `period` adds: step * (phase + period * x).
void addOwn(Offsets& to, int64_t step, unsigned phase, int64_t period, int64_t trips) {
  to.distance += step * static_cast<int64_t>(phase);
  const int64_t last = trips < 0 ? kUnbounded : (trips - 1 - phase) / period;
  to.unknowns.push_back({step * period, 0, last});
}

} // namespace

bool Conflicts::conflict(const Instance& earlier, unsigned level, const Instance& later,
                         bool isGlobal) const {
  const Node &first = *earlier.statement, &second = *later.statement;
  for (const Access& a : first.accesses)
    for (const Access& b : second.accesses) {
      if (a.isGlobal != isGlobal || a.memory != b.memory || !(a.isWrite || b.isWrite) ||
          (a.isAtomic && b.isAtomic) || !a.mayShareBuffer(b))
        continue;
      if (!isInOrder(first, a, second, b) && overlapInAll(a, earlier, level, b, later))
        return true;
    }
  return false;
}

/// In each dim for itself: errs to true where dims go together.
bool Conflicts::overlapInAll(const Access& a, const Instance& earlier, unsigned level,
                             const Access& b, const Instance& later) const {
  if (!overlap(a, earlier, level, b, later))
    return false;
  if (a.otherDims.size() == b.otherDims.size())
    for (size_t dim = 0; dim < a.otherDims.size(); ++dim)
      if (!overlap(a.otherDims[dim], earlier, level, b.otherDims[dim], later))
        return false;
  return true;
}

bool Conflicts::overlap(const Range& a, const Instance& earlier, unsigned level, const Range& b,
                        const Instance& later) const {
  Offsets offsets{b.begin - a.begin, {}};
  offsets.unknowns.push_back({-a.pitch, 0, a.rows - 1});
  offsets.unknowns.push_back({b.pitch, 0, b.rows - 1});
  // Steps of each loop (or constant value) in both; modulo terms are constants of the phases.
  std::map<unsigned, std::pair<int64_t, int64_t>> steps;
  const auto collect = [&](const Range& range, const Instance& instance, bool isLater) {
    for (const Term& term : range.terms) {
      const bool isLoop = term.loop < depths.size();
      const bool isPhase = isLoop && term.modulus > 1 && period[term.loop] % term.modulus == 0 &&
                           period[term.loop] > 1;
      if (isPhase) {
        const int64_t phase = instance.phases[depths[term.loop]];
        offsets.distance += (isLater ? 1 : -1) * term.bytes * ((phase + term.shift) % term.modulus);
      } else if (term.modulus > 1) {
        offsets.unknowns.push_back({isLater ? term.bytes : -term.bytes, 0, term.modulus - 1});
      } else {
        (isLater ? steps[term.loop].second : steps[term.loop].first) += term.bytes;
      }
    }
  };
  collect(a, earlier, false);
  collect(b, later, true);

  size_t common = 0;
  while (common < earlier.loops.size() && common < later.loops.size() &&
         earlier.loops[common] == later.loops[common])
    ++common;
  for (const auto& [loop, step] : steps) {
    const auto [stepA, stepB] = step;
    if (loop >= depths.size()) {
      const auto value = values.find(loop);
      if (stepA != stepB && value == values.end())
        return true; // nothing is known of the value
      if (stepA != stepB) {
        const auto [low, high] = value->second;
        offsets.distance += (stepB - stepA) * low;
        offsets.unknowns.push_back({stepB - stepA, 0, high - low});
      }
      continue;
    }
    const unsigned depth = depths[loop];
    const int64_t every = period[loop];
    const bool isCommon = depth < common && earlier.loops[depth]->id == loop;
    const bool inA = depth < earlier.loops.size() && earlier.loops[depth]->id == loop;
    const int64_t trips = inA ? earlier.loops[depth]->trips : later.loops[depth]->trips;
    if (isCommon && depth < level) {
      addOwn(offsets, stepB - stepA, earlier.phases[depth], every, trips);
    } else if (isCommon && depth == level) {
      // later = earlier + d, d > 0
      const int64_t apart = static_cast<int64_t>(later.phases[depth]) - earlier.phases[depth];
      const int64_t nearest = apart > 0 ? apart : apart + every;
      const int64_t last = trips < 0 ? kUnbounded : (trips - 1 - nearest) / every;
      if (trips >= 0 && trips - 1 < nearest)
        return false;
      offsets.distance += stepB * nearest;
      offsets.unknowns.push_back({stepB * every, 0, last});
      addOwn(offsets, stepB - stepA, earlier.phases[depth], every, trips);
    } else {
      if (inA)
        addOwn(offsets, -stepA, earlier.phases[depth], every, trips);
      if (depth < later.loops.size() && later.loops[depth]->id == loop)
        addOwn(offsets, stepB, later.phases[depth], every, trips);
    }
  }
  // Of a loop that has gone on but moves neither: the phases alone say whether it can have.
  return canMeet(a.end - a.begin, b.end - b.begin, offsets.distance, offsets.unknowns);
}

} // namespace tilewright::ascend::model
