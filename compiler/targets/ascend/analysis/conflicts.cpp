// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/conflicts.h"
#include "compiler/targets/ascend/analysis/overlap.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tilewright::ascend::model {

Conflicts::Conflicts(const Program& program)
    : values(program.values), apart(program.apart), toldApart(program.toldApart),
      variables(program.nodes.size()), period(periods(program)), depths(program.nodes.size()),
      firstInstance(program.nodes.size()), kinds(program.nodes.size()),
      asked(program.nodes.size()) {
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::Loop)
      depths[node.id] = static_cast<unsigned>(loopsAround(&node).size());
    if (node.kind == NodeKind::Statement) {
      if (!toldApart.empty())
        variables[node.id] = fewVariablesOf(node, program);
      addInstances(node);
    }
  }
  stride = static_cast<unsigned>((instances.size() + kWordBits - 1) / kWordBits * kWordBits);
  instancesByLoop.assign(program.nodes.size(), BitSet(stride));
  for (size_t number = 0; number < instances.size(); ++number) {
    numLevels = std::max(numLevels, inSame(static_cast<unsigned>(number)) + 1);
    for (const Node* around : instances[number].loops)
      instancesByLoop[around->id].set(number);
  }
  byQueue.fill(BitSet(numRecords()));
  forEachRecord([&](unsigned instance, unsigned level) {
    byQueue[instances[instance].statement->queue.index()].set(recordOf(instance, level));
  });
  for (auto& table : tables)
    table.resize(instances.size());
  for (auto& table : tablesByPhases)
    table.resize(instances.size());
  for (const bool isGlobal : {false, true})
    for (unsigned number = 0; number < instances.size(); ++number)
      alike[isGlobal ? 1 : 0].push_back(firstAlike(number, isGlobal));
}

/// The first instance of a statement that has the same phases of the loops whose numbers its accesses take modulo
/// something.
unsigned Conflicts::firstAlike(unsigned number, bool isGlobal) const {
  const Instance& instance = instances[number];
  Phases phases(depths.size());
  const auto add = [&](unsigned loop) {
    if (loop < depths.size())
      phases[loop] = instance.phases[depths[loop]];
  };
  const auto addAll = [&](const Range& range) {
    for (const Term& term : range.terms)
      if (term.modulus > 1) {
        add(term.loop);
        std::ranges::for_each(term.others, add);
      }
  };
  for (const Access& access : instance.statement->accesses)
    if (access.isGlobal == isGlobal)
      access.forEachRange(addAll);
  return instanceWith(instance.statement, phases, instance.numbers);
}

template <typename Visit> void Conflicts::forEachRecord(Visit visit) const {
  for (unsigned instance = 0; instance < instances.size(); ++instance)
    for (unsigned level = 0; level <= inSame(instance); ++level)
      visit(instance, level);
}

void Conflicts::addInstances(const Node& statement) {
  firstInstance[statement.id] = static_cast<unsigned>(instances.size());
  asked[statement.id] = loopsAskedBy(statement);
  for (const Access& access : statement.accesses)
    kinds[statement.id] |= 1U << (2 * int{access.isGlobal} + int{isOfPhases(access)});
  for (const Access& access : statement.accesses)
    if (access.place != kNowhere) // of which the phases alone don't decide
      kinds[statement.id] |= 1U << (2 * int{access.isGlobal});
  Instance instance{&statement, loopsAround(&statement), {}, {}};
  instance.phases.resize(instance.loops.size());
  size_t loop = 0;
  do {
    addInstancesOf(instance);
    // The next combination of phases.
    for (loop = instance.loops.size(); loop > 0; --loop) {
      const bool isOne = isOfPhase(instance, static_cast<unsigned>(loop - 1));
      if (isOne && ++instance.phases[loop - 1] < phasesOf(*instance.loops[loop - 1]))
        break;
      instance.phases[loop - 1] = 0;
    }
  } while (loop > 0);
}

/// Each that its variables can choose, the last one the fastest; of a number that isn't told apart nothing is known.
void Conflicts::addInstancesOf(Instance& instance) {
  const std::vector<unsigned>& asked = variables[instance.statement->id];
  instance.numbers.assign(asked.size(), 0);
  size_t at = 0;
  do {
    instances.push_back(instance);
    for (at = asked.size(); at > 0; --at) {
      int& number = instance.numbers[at - 1];
      const bool isLast = number == kNoValue;
      number = isLast ? 0 : number + 1 < toldApart.at(asked[at - 1]) ? number + 1 : kNoValue;
      if (!isLast)
        break;
    }
  } while (at > 0);
}

/// Those for which there is room: of more variables nothing is known.
std::vector<unsigned> Conflicts::fewVariablesOf(const Node& statement,
                                                const Program& program) const {
  constexpr int most = 64;
  std::vector<unsigned> found = variablesOf(statement, program);
  int count = 1;
  std::erase_if(found, [&](unsigned variable) {
    const int more = toldApart.at(variable) + 1;
    if (count * more > most)
      return true;
    count *= more;
    return false;
  });
  return found;
}

/// Those that move one of its accesses. Iterations of any others touch the same bytes.
uint64_t Conflicts::loopsAskedBy(const Node& statement) const {
  uint64_t loops = 0;
  const auto add = [&](unsigned loop) {
    if (loop < depths.size())
      loops |= uint64_t{1} << depths[loop];
  };
  const auto addAll = [&](const Range& range) {
    for (const Term& term : range.terms) {
      add(term.loop);
      std::ranges::for_each(term.others, add);
    }
  };
  for (const Access& access : statement.accesses)
    access.forEachRange(addAll);
  return loops;
}

/// How many phases of a loop there are: a short one doesn't come to all.
unsigned Conflicts::phasesOf(const Node& loop) const {
  const int64_t all = period[loop.id];
  return static_cast<unsigned>(loop.trips < 0 ? all : std::clamp(loop.trips, int64_t{1}, all));
}

unsigned Conflicts::instanceOf(const Node* statement, const Phases& phases,
                               const std::vector<int>& values) const {
  std::vector<int> numbers;
  for (const unsigned variable : variables[statement->id])
    numbers.push_back(values.empty() ? kNoValue : values[variable]);
  return instanceWith(statement, phases, numbers);
}

unsigned Conflicts::instanceWith(const Node* statement, const Phases& phases,
                                 const std::vector<int>& numbers) const {
  const unsigned first = firstInstance[statement->id];
  unsigned offset = 0;
  const std::vector<const Node*>& loops = instances[first].loops;
  for (unsigned depth = 0; depth < loops.size(); ++depth)
    if (isOfPhase(instances[first], depth))
      offset = offset * phasesOf(*loops[depth]) + phases[loops[depth]->id];
  for (size_t at = 0; at < numbers.size(); ++at) {
    const int count = toldApart.at(variables[statement->id][at]);
    const bool isKnown = numbers[at] >= 0 && numbers[at] < count;
    offset = offset * static_cast<unsigned>(count + 1) +
             static_cast<unsigned>(isKnown ? numbers[at] : count);
  }
  return first + offset;
}

bool Conflicts::samePhase(unsigned a, unsigned b, const Node* loop) const {
  const unsigned depth = depths[loop->id];
  return !isOfPhase(instances[a], depth) || !isOfPhase(instances[b], depth) ||
         instances[a].phases[depth] == instances[b].phases[depth];
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
      for (unsigned level = 0; level <= levelOf(depth, /*isByOneTurn=*/true); ++level)
        for (const bool isGlobal : {false, true})
          areInConflict = areInConflict || conflictsOf(b, isGlobal)[recordOf(a, level)];
      const bool areOfPhases = isOfPhase(instances[a], depth) && isOfPhase(instances[b], depth);
      const int64_t apart =
          static_cast<int64_t>(instances[b].phases[depth]) - instances[a].phases[depth];
      if (areInConflict)
        least = std::min(least, !areOfPhases ? 1 : apart > 0 ? apart : apart + every);
    }
  return least;
}

const BitSet& Conflicts::conflictsOf(unsigned later, bool isGlobal) const {
  std::optional<BitSet>& known = tables[isGlobal ? 1 : 0][later];
  if (known)
    return *known;
  known = conflictsByPhases(alike[isGlobal ? 1 : 0][later], isGlobal);
  forEachPair(later, isGlobal, /*byPhases=*/false, [&](unsigned earlier, const AccessPair& pair) {
    for (unsigned level = 0; level <= inSame(earlier); ++level)
      if (!(*known)[recordOf(earlier, level)] && overlapInAll(pair, earlier, level, later))
        known->set(recordOf(earlier, level));
  });
  return *known;
}

/// Those that the phases alone decide: all levels are alike, and so are instances whose loops that count are in
/// the same phases.
const BitSet& Conflicts::conflictsByPhases(unsigned later, bool isGlobal) const {
  std::optional<BitSet>& known = tablesByPhases[isGlobal ? 1 : 0][later];
  if (known)
    return *known;
  known.emplace(numRecords());
  forEachPair(later, isGlobal, /*byPhases=*/true, [&](unsigned earlier, const AccessPair& pair) {
    if (alike[isGlobal ? 1 : 0][earlier] == earlier && overlapInAll(pair, earlier, 0, later))
      known->set(recordOf(earlier, 0));
  });
  for (unsigned earlier = 0; earlier < instances.size(); ++earlier)
    if ((*known)[recordOf(alike[isGlobal ? 1 : 0][earlier], 0)])
      for (unsigned level = 0; level <= inSame(earlier); ++level)
        known->set(recordOf(earlier, level));
  return *known;
}

/// Calls `visit` with each instance that has an access which conflicts with `later` if their bytes meet.
template <typename Visit>
void Conflicts::forEachPair(unsigned later, bool isGlobal, bool byPhases, Visit visit) const {
  for (unsigned begin = 0, end = 0; begin < instances.size(); begin = end) {
    const Node& first = *instances[begin].statement;
    end = instancesOf(&first).second;
    for (const AccessPair& pair : pairsOf(first, *instances[later].statement, isGlobal, byPhases))
      for (unsigned earlier = begin; earlier < end; ++earlier)
        visit(earlier, pair);
  }
}

namespace {

/// True if the machine itself keeps the order of these two.
bool isInOrder(const Node& earlier, const Access& a, const Node& later, const Access& b) {
  if (earlier.queue.agent != later.queue.agent)
    return false;
  const Pipe first = earlier.queue.pipe, second = later.queue.pipe;
  // A scalar read ends before the next issue.
  if (first == Pipe::S && !a.isWrite)
    return true;
  if (a.isHandedOver && (first == second || a.isRelease || (b.isRelease && a.isWrite)))
    return true;
  if (first != second)
    return false;
  if (b.isBehindBarrier || a.isDoneAtBarrier)
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

/// From any row of the one to any row of the other.
Offsets betweenRows(const Range& a, const Range& b) {
  Offsets offsets{b.begin - a.begin, {}};
  if (a.rows != 1)
    offsets.unknowns.push_back({-a.pitch, 0, a.rows - 1});
  if (b.rows != 1)
    offsets.unknowns.push_back({b.pitch, 0, b.rows - 1});
  return offsets;
}

/// What a loop with phase `phase` of `period` adds: step * (phase + period * x).
void addOwn(Offsets& to, int64_t step, unsigned phase, int64_t period, int64_t trips) {
  to.distance += step * static_cast<int64_t>(phase);
  const int64_t last = trips < 0 ? kUnbounded : (trips - 1 - phase) / period;
  to.unknowns.push_back({step * period, 0, last});
}

/// Whether two remainders are of one number, but for the shift.
bool areOfOneNumber(const Term& a, const Term& b) {
  Term same = b;
  same.shift = a.shift;
  same.bytes = a.bytes;
  same.modulus = a.modulus;
  return a == same;
}

/// What a remainder adds that is any.
void addAny(Offsets& to, const Term& term, int64_t bytes) {
  const auto [least, most] = term.rests();
  to.unknowns.push_back({bytes, least, most});
}

/// What two remainders add between them, of numbers that are so far apart; false if that isn't known.
bool addBoth(Offsets& to, const Term& earlier, const Term& later, int64_t distance) {
  const int64_t unit = std::gcd(earlier.modulus, later.modulus), bytes = later.bytes;
  const bool isOneModulus = earlier.modulus == later.modulus;
  if (isOneModulus && floorMod(distance, unit) == 0) { // they are the same
    addAny(to, earlier, bytes - earlier.bytes);
    return true;
  }
  if (!later.table.empty())
    return false;
  if (bytes ==
      earlier
          .bytes) { // as far apart as the numbers, but for a multiple of what both have in common
    const int64_t most = later.modulus - 1, end = 1 - earlier.modulus,
                  least = end + floorMod(distance - end, unit);
    to.distance += bytes * least;
    to.unknowns.push_back({bytes * unit, 0, floorDiv(most - least, unit)});
    return true;
  }
  if (!isOneModulus)
    return false;
  addAny(to, earlier, bytes - earlier.bytes);
  to.distance += bytes * (floorMod(distance, unit) - unit); // it has come round, or not
  to.unknowns.push_back({bytes * unit, 0, 1});
  return true;
}

/// Takes out that of the later remainders which is of the same number, if it is known what the two add.
bool addWithOther(Offsets& to, const Term& earlier, int64_t change,
                  std::vector<const Term*>& later) {
  const auto same = std::ranges::find_if(
      later, [&](const Term* other) { return areOfOneNumber(earlier, *other); });
  if (same == later.end() || !addBoth(to, earlier, **same, change + (*same)->shift - earlier.shift))
    return false;
  later.erase(same);
  return true;
}

} // namespace

bool Conflicts::isOfPhases(const Access& access) const {
  bool isMoved = false;
  access.forEachRange([&](const Range& range) {
    isMoved = isMoved ||
              std::ranges::any_of(range.terms, [&](const Term& term) { return !isOfPhases(term); });
  });
  return !isMoved;
}

bool Conflicts::isOfPhases(const Term& term) const {
  bool isMoved = false;
  term.forEachLoop([&](unsigned loop) {
    isMoved =
        isMoved || (loop < depths.size() && (term.modulus < 2 || period[loop] % term.modulus != 0));
  });
  return !isMoved;
}

std::vector<Conflicts::AccessPair> Conflicts::pairsOf(const Node& first, const Node& second,
                                                      bool isGlobal, bool byPhases) const {
  std::vector<AccessPair> pairs;
  // There are as many of these as pairs of statements: most have nothing of the kind.
  const unsigned ofPhases = 2U << (2 * int{isGlobal}), others = 1U << (2 * int{isGlobal});
  const unsigned both = kinds[first.id] & kinds[second.id];
  const unsigned either = kinds[first.id] | kinds[second.id];
  const bool mayBe = byPhases
                         ? (both & ofPhases) != 0
                         : (either & others) != 0 && (kinds[first.id] & (ofPhases | others)) != 0 &&
                               (kinds[second.id] & (ofPhases | others)) != 0;
  if (!mayBe)
    return pairs;
  for (const Access& a : first.accesses)
    for (const Access& b : second.accesses)
      if (a.isGlobal == isGlobal && a.memory == b.memory && (a.isWrite || b.isWrite) &&
          !(a.isAtomic && b.isAtomic) && a.mayShareBuffer(b) && !isInOrder(first, a, second, b) &&
          (isOfPhases(a) && isOfPhases(b) && !areApart({&a, &b})) == byPhases)
        pairs.push_back({&a, &b});
  return pairs;
}

std::vector<Conflicts::AccessPair> Conflicts::meetingsOf(const Node* earlier, const Node* later,
                                                         const Node* carriedBy) const {
  const auto [first, end] = instancesOf(earlier);
  const auto [firstLater, endLater] = instancesOf(later);
  const auto doMeet = [&, first = first, end = end, firstLater = firstLater,
                       endLater = endLater](const AccessPair& pair) {
    for (unsigned a = first; a < end; ++a)
      for (unsigned b = firstLater; b < endLater; ++b)
        if (carriedBy ? overlapInAll(pair, a, levelOf(depthOf(carriedBy), false), b) ||
                            overlapInAll(pair, a, levelOf(depthOf(carriedBy), true), b)
                      : overlapInAll(pair, a, inSame(a), b))
          return true;
    return false;
  };
  std::vector<AccessPair> meetings;
  for (const bool isGlobal : {false, true})
    for (const bool byPhases : {false, true})
      std::ranges::copy_if(pairsOf(*earlier, *later, isGlobal, byPhases),
                           std::back_inserter(meetings), doMeet);
  return meetings;
}

/// Which of the loops around both, as many as there are, has gone on from one to the other, and none around it; their
/// number: none has. Nothing where that isn't known, in what is left of a loop of which the first turns are written out.
std::optional<unsigned> Conflicts::goneOn(const Instance& earlier, unsigned level,
                                          const Instance& later, unsigned loops) {
  size_t common = 0;
  while (common < earlier.loops.size() && common < later.loops.size() &&
         earlier.loops[common] == later.loops[common])
    ++common;
  const std::vector<unsigned>&turnsOfA = earlier.statement->turnsAround,
        &turnsOfB = later.statement->turnsAround;
  const auto count =
      static_cast<ptrdiff_t>(std::min({size_t{loops}, turnsOfA.size(), turnsOfB.size()}));
  if (const unsigned depth = goneOnAt(level).depth; depth < common)
    return turnsOfA.empty() && turnsOfB.empty() ? std::optional(std::min(depth, loops))
                                                : std::nullopt;
  const auto end = turnsOfA.begin() + count;
  const auto differs = std::mismatch(turnsOfA.begin(), end, turnsOfB.begin()).first;
  return differs == end ? loops : static_cast<unsigned>(differs - turnsOfA.begin());
}

/// In each dim for itself: errs to true where dims go together.
bool Conflicts::overlapInAll(const AccessPair& pair, unsigned earlierNumber, unsigned level,
                             unsigned laterNumber) const {
  const Access &a = *pair.earlier, &b = *pair.later;
  const Instance &earlier = instances[earlierNumber], &later = instances[laterNumber];
  if (areApart(pair)) {
    const Apart& known = apart.at(placesOf(pair));
    const std::optional<unsigned> loop = goneOn(earlier, level, later, known.loops);
    if (loop && (known.when >> *loop & 1) != 0)
      return false;
  }
  if (!overlap(a, earlier, level, b, later))
    return false;
  if (a.otherDims.size() == b.otherDims.size())
    for (size_t dim = 0; dim < a.otherDims.size(); ++dim)
      if (!overlap(a.otherDims[dim], earlier, level, b.otherDims[dim], later))
        return false;
  return !a.line || !b.line || overlap(*a.line, earlier, level, *b.line, later);
}

std::optional<int64_t> Conflicts::remainder(const Term& term, const Instance& instance,
                                            const Residues& residues) const {
  if (term.modulus < 2)
    return std::nullopt;
  int64_t number = term.shift;
  if (term.variable != kNone) {
    const std::vector<unsigned>& asked = variables[instance.statement->id];
    const auto found = std::ranges::find(asked, term.variable);
    const int held = found == asked.end()
                         ? kNoValue
                         : instance.numbers[static_cast<size_t>(found - asked.begin())];
    return held == kNoValue ? std::nullopt
                            : std::optional(term.ofRest((number + held) % term.modulus));
  }
  const auto add = [&](unsigned loop) {
    if (loop >= depths.size() || period[loop] < 2 || period[loop] % term.modulus != 0)
      return false;
    number += instance.phases[depths[loop]];
    return true;
  };
  const auto addValue = [&](unsigned value) {
    const auto residue = residues.find(value);
    number += residue == residues.end() ? 0 : residue->second.number;
    return residue != residues.end();
  };
  if ((!term.isOfValues() && !add(term.loop)) || !std::ranges::all_of(term.others, add) ||
      !std::ranges::all_of(term.values, addValue))
    return std::nullopt;
  return term.ofRest(number % term.modulus);
}

std::optional<int64_t> Conflicts::valueBy(const Residues& residues, unsigned value) const {
  const auto residue = residues.find(value);
  const auto known = values.find(value);
  if (residue == residues.end() || known == values.end())
    return std::nullopt;
  const auto [low, high] = known->second;
  const auto [modulus, number] = residue->second;
  if (low <= -kEndless || high >= kEndless || high - low >= modulus)
    return std::nullopt;
  return low + floorMod(number - low, modulus);
}

/// Whether a value can have a remainder.
bool Conflicts::canBe(unsigned value, const Residue& residue) const {
  const auto known = values.find(value);
  if (known == values.end() || known->second.low <= -kEndless || known->second.high >= kEndless)
    return true;
  const auto [low, high] = known->second;
  return low + floorMod(residue.number - low, residue.modulus) <= high;
}

Conflicts::Residues Conflicts::firstResidues(const Range& a, const Range& b) const {
  constexpr int64_t most = 64;
  Residues residues;
  int64_t count = 1;
  for (const Range* range : {&a, &b})
    for (const Term& term : range->terms)
      for (const unsigned value : term.values) {
        int64_t& modulus = residues[value].modulus;
        const int64_t common = std::lcm(modulus, std::min(term.modulus, most + 1));
        count = count / modulus * common;
        modulus = common;
        if (count > most)
          return {};
      }
  return residues;
}

/// Whatever the values are of which both take remainders: each choice is tried by itself. A remainder that is the same in
/// both, in all turns, is none between them.
bool Conflicts::overlap(const Range& a, const Instance& earlier, unsigned level, const Range& b,
                        const Instance& later) const {
  const auto isIn = [](const Range& range) {
    return [&range](const Term& term) {
      return term.isOfValues() && std::ranges::find(range.terms, term) != range.terms.end();
    };
  };
  if (std::ranges::any_of(a.terms, isIn(b))) {
    Range ownOfA = a, ownOfB = b;
    std::erase_if(ownOfA.terms, isIn(b));
    std::erase_if(ownOfB.terms, isIn(a));
    return overlap(ownOfA, earlier, level, ownOfB, later);
  }
  Residues residues = firstResidues(a, b);
  if (residues.empty())
    return overlapWith({}, a, earlier, level, b, later);
  const auto areAllPossible = [&] {
    return std::ranges::all_of(residues,
                               [&](const auto& each) { return canBe(each.first, each.second); });
  };
  for (bool isMore = true; isMore;) {
    if (areAllPossible() && overlapWith(residues, a, earlier, level, b, later))
      return true;
    isMore = false; // the next choice
    for (auto& [value, residue] : residues) {
      isMore = ++residue.number < residue.modulus;
      if (isMore)
        break;
      residue.number = 0;
    }
  }
  return false;
}

std::optional<int64_t> Conflicts::change(const Term& term, const Instance& earlier, unsigned level,
                                         const Instance& later) const {
  const GoneOn gone = goneOnAt(level);
  bool isKnown = term.variable == kNone;
  int64_t change = 0;
  term.forEachLoop([&](unsigned loop) {
    if (loop == kNone) // of values, which never change
      return;
    const unsigned depth = loop < depths.size() ? depths[loop] : kNone;
    const auto isAround = [&](const Instance& instance) {
      return depth < instance.loops.size() && instance.loops[depth]->id == loop;
    };
    isKnown = isKnown && isAround(earlier) && isAround(later) &&
              (depth < gone.depth || (depth == gone.depth && gone.isByOneTurn));
    change += depth == gone.depth ? 1 : 0;
  });
  return isKnown ? std::optional(change) : std::nullopt;
}

/// As far as `residues` tells, all values being what it says.
bool Conflicts::overlapWith(const Residues& residues, const Range& a, const Instance& earlier,
                            unsigned level, const Range& b, const Instance& later) const {
  Offsets offsets = betweenRows(a, b);
  // Steps of each loop (or constant value) in both; modulo terms are constants of the phases.
  struct Steps {
    unsigned loop = 0;
    int64_t ofA = 0, ofB = 0;
  };
  std::vector<Steps> steps; // of few loops
  const auto stepsOf = [&](unsigned loop) -> Steps& {
    const auto found = std::ranges::find(steps, loop, &Steps::loop);
    return found != steps.end() ? *found : steps.emplace_back(Steps{loop});
  };
  std::vector<const Term*> turnsOfA, turnsOfB; // remainders of which the phases don't tell
  const auto collect = [&](const Range& range, const Instance& instance, bool isLater) {
    for (const Term& term : range.terms) {
      const int64_t bytes = isLater ? term.bytes : -term.bytes;
      if (const std::optional<int64_t> number = remainder(term, instance, residues))
        offsets.distance += bytes * *number;
      else if (term.modulus > 1)
        (isLater ? turnsOfB : turnsOfA).push_back(&term);
      else if (const std::optional<int64_t> value = valueBy(residues, term.loop))
        offsets.distance += bytes * *value;
      else
        (isLater ? stepsOf(term.loop).ofB : stepsOf(term.loop).ofA) += term.bytes;
    }
  };
  collect(a, earlier, false);
  collect(b, later, true);
  for (const Term* term : turnsOfA) {
    const std::optional<int64_t> moved = change(*term, earlier, level, later);
    if (!moved || !addWithOther(offsets, *term, *moved, turnsOfB))
      addAny(offsets, *term, -term->bytes);
  }
  for (const Term* term : turnsOfB)
    addAny(offsets, *term, term->bytes);

  size_t common = 0;
  while (common < earlier.loops.size() && common < later.loops.size() &&
         earlier.loops[common] == later.loops[common])
    ++common;
  const GoneOn gone = goneOnAt(level);
  for (const auto& [loop, stepA, stepB] : steps) {
    if (loop >= depths.size()) {
      const auto value = values.find(loop);
      if (stepA != stepB && (value == values.end() || value->second.low <= -kEndless))
        return true; // nothing is known of the value
      if (stepA != stepB) {
        const auto [low, high] = value->second;
        offsets.distance += (stepB - stepA) * low;
        offsets.unknowns.push_back({stepB - stepA, 0, high >= kEndless ? kUnbounded : high - low});
      }
      continue;
    }
    const unsigned depth = depths[loop];
    const int64_t every = period[loop];
    const bool isCommon = depth < common && earlier.loops[depth]->id == loop;
    const bool inA = depth < earlier.loops.size() && earlier.loops[depth]->id == loop;
    const int64_t trips = (inA ? earlier : later).loops[depth]->tripsAtMost();
    const bool isOneOfPhases = every > 1 && isOfPhase(earlier, depth) != isOfPhase(later, depth);
    if (isCommon && depth < gone.depth) {
      const Instance& moved = isOfPhase(earlier, depth) ? earlier : later;
      addOwn(offsets, stepB - stepA, moved.phases[depth], every, trips);
    } else if (isCommon && depth == gone.depth && isOneOfPhases) {
      // The one that moves is not in the loop's first iteration, or not in its last.
      const bool isLater = stepB != 0;
      const unsigned phase = (isLater ? later : earlier).phases[depth];
      const auto first = isLater && phase == 0 ? static_cast<unsigned>(every) : phase;
      const int64_t end = trips < 0 ? trips : trips - (isLater ? 0 : 1);
      if (end >= 0 && end <= first)
        return false;
      addOwn(offsets, stepB - stepA, first, every, end);
    } else if (isCommon && depth == gone.depth) {
      // later = earlier + d, d is 1, or above
      const int64_t apart = static_cast<int64_t>(later.phases[depth]) - earlier.phases[depth];
      int64_t nearest = apart > 0 ? apart : apart + every;
      if (gone.isByOneTurn && nearest != 1)
        return false;
      if (!gone.isByOneTurn && nearest == 1)
        nearest += every;
      if (trips >= 0 && trips - 1 < nearest)
        return false;
      const int64_t last = gone.isByOneTurn ? 0
                           : trips < 0      ? kUnbounded
                                            : (trips - 1 - nearest) / every;
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
