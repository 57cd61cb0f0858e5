// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/search_insertions.h"
#include "compiler/targets/ascend/analysis/insertion_places.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace tilewright::ascend::model {

void InsertionSearch::coverAll() {
  FirstHazards first(program, conflicts, state.wanted());
  while (addNext(first)) {
  }
}

void InsertionSearch::moveIntoBranches() {
  for (Insertion& insertion : result.insertions)
    moveBackIntoBranch(insertion);
  for (Insertion& insertion : result.insertions) {
    moveIntoBranch(insertion);
    while (moveBarrierIntoBranch(insertion)) {
    }
  }
}

void InsertionSearch::followBack() {
  for (Insertion& insertion : result.insertions)
    if (!insertion.isCross)
      follow(insertion);
}

/// Covers the first hazard in text order; false if none is left.
bool InsertionSearch::addNext(FirstHazards& firstHazards) {
  std::vector<Hazard> hazards = firstHazards.find();
  std::erase_if(hazards, std::not_fn(state.wanted()));
  const Hazard* first = nullptr;
  for (const Hazard& hazard : hazards)
    if (!first || isBetter(hazard, *first))
      first = &hazard;
  if (!first)
    return false;
  if (const unsigned inTurns = endTurnsFor(*first); inTurns != kNone) {
    firstHazards.noteInsertion(inTurns);
    return true;
  }
  if (result.insertions.size() >= 4 * program.nodes.size()) {
    result.failures.push_back({*first, "the analysis doesn't come to an end"});
    return true;
  }
  const unsigned number = state.nextNumber;
  add(*first, hazards);
  if (state.nextNumber != number)
    firstHazards.noteInsertion(number);
  return true;
}

/// What a flag was put in for and yet doesn't cover, as an inner loop ends before all of its ids have had their turn: it takes
/// one id, which all turns wait for. Its number, or kNone.
unsigned InsertionSearch::endTurnsFor(const Hazard& hazard) {
  const auto vain = std::ranges::find_if(result.insertions, [&](const Insertion& each) {
    return each.slots > 1 && each.why == hazard;
  });
  if (vain == result.insertions.end())
    return kNone;
  Insertion changed = *vain;
  changed.slots = 1;
  changed.slotLoop = nullptr;
  state.replace(*vain, changed);
  return changed.number;
}

/// Of the hazards of one statement with one queue, the last earlier statement, in the innermost
/// loop: what orders it orders the others too.
bool InsertionSearch::isBetter(const Hazard& a, const Hazard& b) {
  if (a.later != b.later)
    return a.later->id < b.later->id;
  const auto rank = [](const Hazard& h) {
    const size_t depth = h.carriedBy ? loopsAround(h.carriedBy).size() : ~size_t{0};
    return std::tuple(h.earlier->queue.index(), ~depth, ~h.earlier->id);
  };
  return rank(a) < rank(b);
}

/// `hazards`: all of its later statement.
void InsertionSearch::add(const Hazard& hazard, const std::vector<Hazard>& hazards) {
  const Queue from = hazard.earlier->queue, to = hazard.later->queue;
  Insertion insertion;
  insertion.why = hazard;
  insertion.from = from;
  insertion.to = to;
  insertion.isCross = isBetweenCores(hazard);
  if (insertion.isCross)
    insertion.to.pipe = Pipe::S;
  insertion.isBarrierOfAll =
      !insertion.isCross && from.pipe != to.pipe && !hasEvent(from.agent, from.pipe, to.pipe);
  insertion.isBarrier = from == to || insertion.isBarrierOfAll;
  if (insertion.isBarrier) {
    insertion.waitAt = siblings(hazard, hazard.carriedBy).second;
  } else {
    if (hazard.carriedBy)
      carry(insertion, hazards);
    else
      std::tie(insertion.setAt, insertion.waitAt) = siblings(hazard, nullptr);
    if (insertion.isCross && !isReachedByAll(insertion.waitAt)) {
      result.failures.push_back(
          {hazard, "both are where not all cores of a block come alike (a branch or loop that asks "
                   "for vid, for elements of UB or for what a T.Scope assigns): no flag can order "
                   "them there"});
      return;
    }
    state.addFlags(insertion);
  }
  state.append(insertion);
}

/// From one iteration to a later one: set once before the loop, waited for once after it. Where a
/// statement waits for what is more than one iteration back, ids take turns. The outermost loop that
/// carries such a hazard gets the first set and the last wait, so that nothing is drained in between.
void InsertionSearch::carry(Insertion& insertion, const std::vector<Hazard>& hazards) {
  const Hazard& hazard = insertion.why;
  const Node* loop = innermostLoop(hazard);
  const Node* outermost = hazard.carriedBy;
  int64_t distance = conflicts.periodOf(loop);
  int64_t ownDistance = conflicts.periodOf(hazard.carriedBy);
  for (const Hazard& other : hazards) {
    if (!(other.earlier->queue == hazard.earlier->queue))
      continue;
    const std::vector<const Node*> around = loopsAround(other.earlier);
    const unsigned depth = conflicts.depthOf(loop);
    const bool isInLoop = depth < around.size() && around[depth] == loop;
    distance = isInLoop ? std::min(distance, apart(other, loop)) : 1;
    if (other.carriedBy == hazard.carriedBy)
      ownDistance = std::min(ownDistance, apart(other, hazard.carriedBy));
    if (other.carriedBy && conflicts.depthOf(other.carriedBy) < conflicts.depthOf(outermost))
      outermost = other.carriedBy;
  }
  if (distance < 2) {
    loop = hazard.carriedBy;
    distance = ownDistance;
  }
  takeTurns(insertion, loop, distance);
  std::tie(insertion.setAt, insertion.waitAt) = siblings(hazard, loop);
  insertion.carriedBy = const_cast<Node*>(outermost);
  insertion = withEnds(insertion, insertion.setAt, insertion.waitAt);
}

int64_t InsertionSearch::apart(const Hazard& hazard, const Node* loop) const {
  return conflicts.leastDistance(hazard.earlier, hazard.later, loop);
}

/// As many ids as there are iterations from the set to the wait; they must go up in the loop's phases.
void InsertionSearch::takeTurns(Insertion& insertion, const Node* loop, int64_t distance) {
  while (distance > 1 && conflicts.periodOf(loop) % distance != 0)
    --distance;
  if (distance < 2)
    return;
  insertion.slots = static_cast<unsigned>(distance);
  insertion.slotLoop = const_cast<Node*>(loop);
}

/// Where a branch does what the next node waits for, only that branch waits.
void InsertionSearch::moveIntoBranch(Insertion& insertion) {
  if (insertion.carriedBy || insertion.why.carriedBy || insertion.meeting != kNone)
    return;
  const auto [branch, later] = siblings(insertion.why, nullptr);
  if (branch->kind != NodeKind::If || later != insertion.waitAt ||
      !isNext(program, branch, later) || (insertion.isCross && !branch->isOfAllCores()))
    return;
  const std::vector<Node*> path = pathTo(insertion.why.earlier);
  const Insertion before = insertion;
  remove(program, insertion.number);
  insertion.behind = *(std::find(path.begin(), path.end(), branch) + 1);
  insertion.setAt = nullptr;
  place(insertion);
  if (state.isCovered())
    return;
  remove(program, insertion.number);
  insertion = before;
  place(insertion);
}

/// Between cores, from one iteration to a later one, where one branch holds all that needs it: both ends
/// stand in the branch, as the flag there and so the wait that keeps the cores together do.
void InsertionSearch::moveBackIntoBranch(Insertion& insertion) {
  if (!insertion.isCross || !insertion.carriedBy || insertion.setAt != insertion.waitAt)
    return;
  const std::vector<Node*> earlier = pathTo(insertion.why.earlier),
                           later = pathTo(insertion.why.later);
  size_t depth = 0;
  while (depth < earlier.size() && earlier[depth] != insertion.setAt)
    ++depth;
  const size_t outer = depth;
  while (depth + 1 < std::min(earlier.size(), later.size()) && earlier[depth] == later[depth] &&
         earlier[depth]->kind == NodeKind::If && earlier[depth]->isOfAllCores() &&
         isInSameArm(earlier[depth], earlier[depth + 1], later[depth + 1]))
    ++depth;
  if (depth == outer || depth >= earlier.size())
    return;
  const Insertion before = insertion;
  state.replace(insertion, withEnds(insertion, earlier[depth], later[depth]));
  if (!state.isCovered())
    state.replace(insertion, before);
}

/// Where only a branch needs a barrier, it stands there. True if it moved.
bool InsertionSearch::moveBarrierIntoBranch(Insertion& insertion) {
  Node* branch = insertion.waitAt;
  if (!insertion.isBarrier || insertion.behind || branch->kind != NodeKind::If)
    return false;
  const std::vector<Node*> path = pathTo(insertion.why.later);
  const auto at = std::find(path.begin(), path.end(), branch);
  if (at == path.end())
    return false;
  remove(program, insertion.number);
  insertion.waitAt = *(at + 1);
  place(insertion);
  if (state.isCovered())
    return true;
  remove(program, insertion.number);
  insertion.waitAt = branch;
  place(insertion);
  return false;
}

/// Where buffers go back in turns, they also come in turns: the source may be done with the second
/// before the target has seen the first.
void InsertionSearch::follow(Insertion& insertion) {
  const Node* loop = innermostLoop(insertion.why);
  if (insertion.isBarrier || insertion.behind || insertion.carriedBy || !loop)
    return;
  const auto back =
      std::find_if(result.insertions.begin(), result.insertions.end(), [&](const Insertion& other) {
        return other.slotLoop == loop && leadsBack(other, insertion);
      });
  if (back == result.insertions.end())
    return;
  remove(program, insertion.number);
  takeTurns(insertion, loop, back->slots);
  state.addFlags(insertion);
  place(insertion);
}

void InsertionSearch::holdAll() {
  // What holds another one may have to move itself.
  constexpr unsigned mostTrials = 3;
  std::map<unsigned, unsigned> trials;
  for (unsigned number = state.firstUnheld(); number != kNone && result.failures.empty();
       number = state.firstUnheld())
    if (++trials[number] > mostTrials || !hold(number)) {
      state.meet(number);
      coverAll(); // what it has ordered behind its loop
    }
  state.isHeld = true;
}

void InsertionSearch::settle() {
  coverAll();
  for (unsigned number = state.firstUnheld(); number != kNone && result.failures.empty();
       number = state.firstUnheld()) {
    state.meet(number);
    coverAll();
  }
}

/// `number` is its index: nothing has been taken out.
bool InsertionSearch::hold(unsigned number) {
  Insertion& insertion = result.insertions[number];
  if (!insertion.carriedBy) {
    follow(insertion);
    if (insertion.slots > 1 && isHeldNow(number))
      return true;
  }
  const bool isAtOnce = !insertion.setAt && !insertion.behind;
  return (insertion.carriedBy && holdBetween(number)) ||
         ((insertion.carriedBy || isAtOnce) && holdAtOnce(number)) || addBack(number) ||
         addMeeting(number);
}

bool InsertionSearch::isHeldNow(unsigned number) const {
  const Verdict verdict = check(program, conflicts);
  return !verdict.unheld.contains(number) && std::ranges::none_of(verdict.hazards, state.wanted());
}

bool InsertionSearch::tryAs(unsigned number, const Insertion& changed) {
  Insertion& insertion = result.insertions[number];
  const Insertion before = insertion;
  state.replace(insertion, changed);
  if (isHeldNow(number))
    return true;
  state.replace(insertion, before);
  return false;
}

/// Both ends further inside, where a branch or loop holds all that needs them, or the first set and the
/// last wait further outside: an inner loop of no turn then sets nothing.
bool InsertionSearch::holdBetween(unsigned number) {
  const Insertion insertion = result.insertions[number];
  const std::vector<Node*> earlier = pathTo(insertion.why.earlier),
                           later = pathTo(insertion.why.later);
  for (Node* carrier = insertion.carriedBy; carrier; carrier = carrier->parent) {
    if (carrier->kind != NodeKind::Loop)
      continue;
    Insertion changed = insertion;
    changed.carriedBy = carrier;
    if (carrier != insertion.carriedBy && tryAs(number, changed))
      return true;
    size_t depth = 0;
    while (depth < later.size() && later[depth] != insertion.waitAt)
      ++depth;
    for (; depth + 1 < std::min(earlier.size(), later.size()) && earlier[depth] == later[depth] &&
           earlier[depth]->isOfAllCores() &&
           isInSameArm(earlier[depth], earlier[depth + 1], later[depth + 1]);
         ++depth)
      if (tryAs(number, withEnds(changed, earlier[depth + 1], later[depth + 1])))
        return true;
  }
  return false;
}

/// Both ends right before what waits, in a branch or loop: no core runs ahead there.
bool InsertionSearch::holdAtOnce(unsigned number) {
  const Insertion insertion = result.insertions[number];
  bool isInside = false;
  for (Node* node : pathTo(insertion.why.later)) {
    isInside = isInside || node == insertion.waitAt;
    if (!isInside || !isReachedByAll(node))
      continue;
    Insertion changed = atOnce(insertion);
    changed.waitAt = node;
    if (tryAs(number, changed))
      return true;
  }
  return false;
}

/// A flag from what waits to what sets: for the next set.
bool InsertionSearch::addBack(unsigned number) {
  const Hazard why = result.insertions[number].why;
  const Node* loop = innermostLoop(why);
  Hazard back{why.later, why.earlier, nullptr, 0};
  if (!why.carriedBy || why.later->id > why.earlier->id)
    back.carriedBy = loop;
  if (!loop || !isReachedByAll(siblings(back, back.carriedBy).second))
    return false;
  add(back, {back});
  result.insertions.back().holds = true;
  if (isHeldNow(number))
    return true;
  follow(result.insertions[number]);
  return isHeldNow(number) || takeBack();
}

/// Whoever waits tells so right before the next set; in turns, if the flag's ids take turns.
bool InsertionSearch::addMeeting(unsigned number) {
  Insertion meeting = result.insertions[number];
  meeting.behind = meeting.setAt;
  meeting.setAt = nullptr;
  meeting.carriedBy = nullptr;
  if (!meeting.behind)
    return false;
  std::swap(meeting.why.earlier, meeting.why.later);
  meeting.from = meeting.why.earlier->queue;
  meeting.to = {meeting.why.later->queue.agent, Pipe::S};
  meeting.holds = true;
  state.addFlags(meeting);
  state.append(meeting);
  return isHeldNow(number) || takeBack();
}

/// What was added last goes again.
bool InsertionSearch::takeBack() {
  state.nextNumber = result.insertions.back().number;
  remove(program, state.nextNumber);
  result.insertions.pop_back();
  return false;
}

} // namespace tilewright::ascend::model
