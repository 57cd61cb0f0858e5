// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/insertion_state.h"
#include "compiler/targets/ascend/analysis/insertion_places.h"
#include "compiler/targets/ascend/analysis/repeated_checks.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

bool isOfScalarUnit(const Hazard& hazard) {
  return hazard.earlier->queue.pipe == Pipe::S || hazard.later->queue.pipe == Pipe::S;
}

/// Whether both are parts of one statement of the kernel: of one turn of the loops around it, or, in what was
/// made for it, which the kernel knows nothing of, also of different ones.
bool isOfOneStatement(const Hazard& hazard) {
  const Node &earlier = *hazard.earlier, &later = *hazard.later;
  if (earlier.whole == kNone || earlier.whole != later.whole)
    return false;
  const bool isOfOneTurn =
      earlier.turn == later.turn && (!hazard.carriedBy || hazard.carriedBy->whole == later.whole);
  return isOfOneTurn || meetInOwnBuffer(earlier, later);
}

} // namespace

bool isBetweenCores(const Hazard& hazard) {
  return hazard.earlier->queue.agent != hazard.later->queue.agent;
}

bool InsertionState::isWanted(const Hazard& hazard) const {
  const bool isOfKind = isBetweenCores(hazard) ? options.betweenAgents ||
                                                     meetInOwnBuffer(*hazard.earlier, *hazard.later)
                                               : isLeftToCompiler(hazard);
  return isOfKind &&
         std::none_of(result.failures.begin(), result.failures.end(),
                      [&](const Unorderable& failed) { return failed.hazard == hazard; });
}

/// Of one agent.
bool InsertionState::isLeftToCompiler(const Hazard& hazard) const {
  if (options.withinAgents && (!options.scalarOnly || isOfScalarUnit(hazard)))
    return true;
  return options.ofParts && isOfOneStatement(hazard);
}

WantedHazard InsertionState::wanted() const {
  return [this](const Hazard& hazard) { return isWanted(hazard); };
}

IsWantedFlag InsertionState::mustBeHeld() const {
  return [this](unsigned) { return isHeld; };
}

bool InsertionState::isCovered(unsigned without) const {
  return isCovered(program, conflicts, without);
}

bool InsertionState::isCovered(const Program& of, const Conflicts& conflictsIn,
                               unsigned without) const {
  return !hasHazard(of, conflictsIn, wanted(), without, mustBeHeld());
}

unsigned InsertionState::firstUnheld() const {
  if (std::ranges::none_of(result.insertions, &Insertion::isCross))
    return kNone;
  const std::set<unsigned> unheld = check(program, conflicts).unheld;
  return unheld.empty() ? kNone : *unheld.begin();
}

std::vector<Insertion>::iterator InsertionState::find(unsigned number) {
  return std::ranges::find(result.insertions, number, &Insertion::number);
}

unsigned InsertionState::flagOfMeetings(Agent to) {
  const auto [found, isNew] = flagsOfMeetings.emplace(to, kNone);
  if (isNew)
    found->second = program.addFlag({to == Agent::Cube ? Agent::Vector : Agent::Cube, Pipe::S},
                                    {to, Pipe::S}, kNone, /*isCross=*/true);
  return found->second;
}

void InsertionState::meet(unsigned number) {
  if (find(number)->meeting == kNone) {
    Insertion there = atOnce(*find(number));
    there.meeting = number;
    there.firstFlag = flagOfMeetings(there.to.agent);
    replace(*find(number), there);
  }
  // What one meeting could do without, another one may need.
  bool isAny = false;
  for (size_t i = 0; i < result.insertions.size(); ++i) {
    const Insertion each = result.insertions[i];
    if (each.meeting != kNone &&
        std::ranges::count(result.insertions, each.meeting, &Insertion::meeting) == 1) {
      addOtherHalf(each);
      isAny = true;
    }
  }
  if (!isAny)
    result.failures.push_back({find(number)->why, "the analysis doesn't come to an end"});
}

void InsertionState::addOtherHalf(const Insertion& there) {
  Insertion back = there;
  back.number = nextNumber++;
  std::swap(back.why.earlier, back.why.later);
  back.from = there.why.later->queue;
  back.to = {there.from.agent, Pipe::S};
  back.firstFlag = flagOfMeetings(back.to.agent);
  back.holds = true;
  // Each stands before all others: the vector cores' half, which comes last, before the other one. So they take turns
  // also where two meet at one place.
  remove(program, there.number);
  const bool isFirst = there.from.agent == Agent::Vector;
  place(isFirst ? back : there);
  place(isFirst ? there : back);
  result.insertions.push_back(back);
}

void InsertionState::append(Insertion insertion) {
  insertion.number = nextNumber++;
  place(insertion);
  result.insertions.push_back(insertion);
}

void InsertionState::replace(Insertion& insertion, const Insertion& by) {
  remove(program, insertion.number);
  insertion = by;
  place(insertion);
}

void InsertionState::addFlags(Insertion& insertion) {
  insertion.firstFlag = static_cast<unsigned>(program.flags.size());
  for (unsigned slot = 0; slot < insertion.slots; ++slot)
    program.addFlag(insertion.from, insertion.to, kNone, insertion.isCross);
}

void InsertionState::prune() {
  Removals removals(program, conflicts, wanted(), mustBeHeld());
  for (size_t i = 0; i < result.insertions.size();) {
    const unsigned number = result.insertions[i].number;
    if (!removals.areMissed(number)) {
      removals.takeOut(number);
      remove(program, number);
      result.insertions.erase(result.insertions.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

} // namespace tilewright::ascend::model
