// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/insert_flags.h"
#include "compiler/targets/ascend/analysis/cases.h"
#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/cross_ids.h"
#include "compiler/targets/ascend/analysis/event_ids.h"
#include "compiler/targets/ascend/analysis/flag_lives.h"
#include "compiler/targets/ascend/analysis/insertion_places.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace tilewright::ascend::model {
namespace {

/// Whether the statements of a hazard are of two kinds of core.
bool isBetweenCores(const Hazard& hazard) {
  return hazard.earlier->queue.agent != hazard.later->queue.agent;
}

bool isOfScalarUnit(const Hazard& hazard) {
  return hazard.earlier->queue.pipe == Pipe::S || hazard.later->queue.pipe == Pipe::S;
}

/// Whether two parts of one statement meet in a buffer that was made for it.
bool meetInOwnBuffer(const Node& earlier, const Node& later) {
  for (const Access& access : later.accesses)
    for (const Access& other : earlier.accesses)
      if (access.isOfPart && other.isOfPart && (access.isWrite || other.isWrite) &&
          access.memory == other.memory && access.mayShareBuffer(other))
        return true;
  return false;
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

class Inserter {
public:
  Inserter(Program& program, const Conflicts& conflicts, const InsertOptions& options)
      : program(program), conflicts(conflicts), options(options) {}

  Inserted run() {
    while (addNext()) {
    }
    if (result.insertions.empty())
      return std::move(result);
    holdAll();
    prune();
    for (Insertion& insertion : result.insertions)
      moveBackIntoBranch(insertion);
    for (Insertion& insertion : result.insertions) {
      moveIntoBranch(insertion);
      while (moveBarrierIntoBranch(insertion)) {
      }
    }
    for (Insertion& insertion : result.insertions)
      if (!insertion.isCross)
        follow(insertion);
    for (unsigned crowded = shareIds(); crowded != kNone; crowded = shareIds()) {
      narrow(result.insertions[crowded]);
      releaseUnheld();
      prune();
    }
    releaseUnheld();
    shareCrossIds();
    releaseUnheld();
    pruneByRuns();
    if (endTurns())
      pruneByRuns();
    return std::move(result);
  }

private:
  bool isWanted(const Hazard& hazard) const {
    const bool isOfKind = isBetweenCores(hazard) ? options.betweenAgents : isLeftToCompiler(hazard);
    return isOfKind &&
           std::none_of(result.failures.begin(), result.failures.end(),
                        [&](const Unorderable& failed) { return failed.hazard == hazard; });
  }

  /// Of one agent.
  bool isLeftToCompiler(const Hazard& hazard) const {
    if (options.withinAgents && (!options.scalarOnly || isOfScalarUnit(hazard)))
      return true;
    return options.ofParts && isOfOneStatement(hazard);
  }

  /// Covers the first hazard in text order; false if none is left.
  bool addNext() {
    std::vector<Hazard> hazards = hazardsOfFirst(program, conflicts, wanted());
    std::erase_if(hazards, std::not_fn(wanted()));
    const Hazard* first = nullptr;
    for (const Hazard& hazard : hazards)
      if (!first || isBetter(hazard, *first))
        first = &hazard;
    if (!first)
      return false;
    if (result.insertions.size() >= 4 * program.nodes.size())
      result.failures.push_back({*first, "the analysis doesn't come to an end"});
    else
      add(*first, hazards);
    return true;
  }

  /// Of the hazards of one statement with one queue, the last earlier statement, in the innermost
  /// loop: what orders it orders the others too.
  static bool isBetter(const Hazard& a, const Hazard& b) {
    if (a.later != b.later)
      return a.later->id < b.later->id;
    const auto rank = [](const Hazard& h) {
      const size_t depth = h.carriedBy ? loopsAround(h.carriedBy).size() : ~size_t{0};
      return std::tuple(h.earlier->queue.index(), ~depth, ~h.earlier->id);
    };
    return rank(a) < rank(b);
  }

  /// `hazards`: all of its later statement.
  void add(const Hazard& hazard, const std::vector<Hazard>& hazards) {
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
            {hazard,
             "both are where not all cores of a block come alike (a branch or loop that asks "
             "for vid or for elements of UB): no flag can order them there"});
        return;
      }
      addFlags(insertion);
    }
    append(std::move(insertion));
  }

  void append(Insertion insertion) {
    insertion.number = nextNumber++;
    place(insertion);
    result.insertions.push_back(std::move(insertion));
  }

  /// Where a branch does what the next node waits for, only that branch waits.
  void moveIntoBranch(Insertion& insertion) {
    if (insertion.carriedBy || insertion.why.carriedBy)
      return;
    const auto [branch, later] = siblings(insertion.why, nullptr);
    if (branch->kind != NodeKind::If || later != insertion.waitAt ||
        !isNext(program, branch, later) || (insertion.isCross && branch->isOfSomeCores))
      return;
    const std::vector<Node*> path = pathTo(insertion.why.earlier);
    const Insertion before = insertion;
    remove(program, insertion.number);
    insertion.behind = *(std::find(path.begin(), path.end(), branch) + 1);
    insertion.setAt = nullptr;
    place(insertion);
    if (isCovered())
      return;
    remove(program, insertion.number);
    insertion = before;
    place(insertion);
  }

  /// Between cores, from one iteration to a later one, where one branch holds all that needs it: both ends
  /// stand in the branch, as the flag there and so the wait that keeps the cores together do.
  void moveBackIntoBranch(Insertion& insertion) {
    if (!insertion.isCross || !insertion.carriedBy || insertion.setAt != insertion.waitAt)
      return;
    const std::vector<Node*> earlier = pathTo(insertion.why.earlier),
                             later = pathTo(insertion.why.later);
    size_t depth = 0;
    while (depth < earlier.size() && earlier[depth] != insertion.setAt)
      ++depth;
    const size_t outer = depth;
    while (depth + 1 < std::min(earlier.size(), later.size()) && earlier[depth] == later[depth] &&
           earlier[depth]->kind == NodeKind::If && !earlier[depth]->isOfSomeCores &&
           isInSameArm(earlier[depth], earlier[depth + 1], later[depth + 1]))
      ++depth;
    if (depth == outer || depth >= earlier.size())
      return;
    const Insertion before = insertion;
    replace(insertion, withEnds(insertion, earlier[depth], later[depth]));
    if (!isCovered())
      replace(insertion, before);
  }

  void replace(Insertion& insertion, const Insertion& by) {
    remove(program, insertion.number);
    insertion = by;
    place(insertion);
  }

  /// Where only a branch needs a barrier, it stands there. True if it moved.
  bool moveBarrierIntoBranch(Insertion& insertion) {
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
    if (isCovered())
      return true;
    remove(program, insertion.number);
    insertion.waitAt = branch;
    place(insertion);
    return false;
  }

  void addFlags(Insertion& insertion) {
    insertion.firstFlag = static_cast<unsigned>(program.flags.size());
    for (unsigned slot = 0; slot < insertion.slots; ++slot)
      program.addFlag(insertion.from, insertion.to, kNone, insertion.isCross);
  }

  /// Where buffers go back in turns, they also come in turns: the source may be done with the second
  /// before the target has seen the first.
  void follow(Insertion& insertion) {
    const Node* loop = innermostLoop(insertion.why);
    if (insertion.isBarrier || insertion.behind || insertion.carriedBy || !loop)
      return;
    const auto back = std::find_if(result.insertions.begin(), result.insertions.end(),
                                   [&](const Insertion& other) {
                                     return other.slotLoop == loop && leadsBack(other, insertion);
                                   });
    if (back == result.insertions.end())
      return;
    remove(program, insertion.number);
    takeTurns(insertion, loop, back->slots);
    addFlags(insertion);
    place(insertion);
  }

  /// Between cores, the chip counts sets, but its documentation allows no two in a row, and its counter ends
  /// at 15. So a flag that one core may set again before the other has waited for it is moved to where
  /// something keeps the cores together, or gets a flag that leads back.
  void holdAll() {
    // What holds another one may have to move itself.
    constexpr unsigned mostTrials = 3;
    std::map<unsigned, unsigned> trials;
    for (unsigned number = firstUnheld(); number != kNone; number = firstUnheld())
      if (++trials[number] > mostTrials || !hold(number))
        released.insert(number);
    isHeld = true;
  }

  /// The number of an insertion, which is its index as long as nothing has been taken out.
  unsigned firstUnheld() const {
    if (std::ranges::none_of(result.insertions, &Insertion::isCross))
      return kNone;
    const std::set<unsigned> unheld = check(program, conflicts).unheld;
    const auto first =
        std::ranges::find_if(unheld, [&](unsigned number) { return !released.contains(number); });
    return first == unheld.end() ? kNone : *first;
  }

  /// Flags that nothing can hold may count, as those of kernels may.
  void releaseUnheld() {
    if (std::ranges::any_of(result.insertions, &Insertion::isCross))
      released.merge(check(program, conflicts).unheld);
  }

  bool hold(unsigned number) {
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

  bool isHeldNow(unsigned number) const {
    const Verdict verdict = check(program, conflicts);
    return !verdict.unheld.contains(number) && std::ranges::none_of(verdict.hazards, wanted());
  }

  bool tryAs(unsigned number, const Insertion& changed) {
    Insertion& insertion = result.insertions[number];
    const Insertion before = insertion;
    replace(insertion, changed);
    if (isHeldNow(number))
      return true;
    replace(insertion, before);
    return false;
  }

  /// Both ends further inside, where a branch or loop holds all that needs them, or the first set and the
  /// last wait further outside: an inner loop of no turn then sets nothing.
  bool holdBetween(unsigned number) {
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
             !earlier[depth]->isOfSomeCores &&
             isInSameArm(earlier[depth], earlier[depth + 1], later[depth + 1]);
           ++depth)
        if (tryAs(number, withEnds(changed, earlier[depth + 1], later[depth + 1])))
          return true;
    }
    return false;
  }

  /// Both ends right before what waits, in a branch or loop: no core runs ahead there.
  bool holdAtOnce(unsigned number) {
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
  bool addBack(unsigned number) {
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
  bool addMeeting(unsigned number) {
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
    addFlags(meeting);
    append(std::move(meeting));
    return isHeldNow(number) || takeBack();
  }

  /// What was added last goes again.
  bool takeBack() {
    nextNumber = result.insertions.back().number;
    remove(program, nextNumber);
    result.insertions.pop_back();
    return false;
  }

  /// As many ids as there are iterations from the set to the wait; they must go up in the loop's phases.
  void takeTurns(Insertion& insertion, const Node* loop, int64_t distance) {
    while (distance > 1 && conflicts.periodOf(loop) % distance != 0)
      --distance;
    if (distance < 2)
      return;
    insertion.slots = static_cast<unsigned>(distance);
    insertion.slotLoop = const_cast<Node*>(loop);
  }

  /// From one iteration to a later one: set once before the loop, waited for once after it. Where a
  /// statement waits for what is more than one iteration back, ids take turns. The outermost loop that
  /// carries such a hazard gets the first set and the last wait, so that nothing is drained in between.
  void carry(Insertion& insertion, const std::vector<Hazard>& hazards) {
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

  int64_t apart(const Hazard& hazard, const Node* loop) const {
    return conflicts.leastDistance(hazard.earlier, hazard.later, loop);
  }

  WantedHazard wanted() const {
    return [this](const Hazard& hazard) { return isWanted(hazard); };
  }

  /// Whether no wanted hazard is left and no core runs ahead, without an insertion, of this program or of its iterations.
  bool isCovered(unsigned without = kNone) const {
    return isCovered(program, conflicts, without);
  }
  bool isCovered(const Program& of, const Conflicts& conflictsIn, unsigned without) const {
    return !hasHazard(of, conflictsIn, wanted(), without,
                      [this](unsigned number) { return mustBeHeld(number); });
  }

  /// Takes out, one after the other, what nothing needs.
  void prune() {
    for (size_t i = 0; i < result.insertions.size();) {
      const unsigned number = result.insertions[i].number;
      if (isCovered(number)) {
        remove(program, number);
        result.insertions.erase(result.insertions.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }

  /// Takes out what no run needs: where iterations are written out, or where what never changes in a run tells runs
  /// apart. `check` takes iterations and runs as one.
  void pruneByRuns() {
    if (!result.failures.empty())
      return;
    Cases cases(program);
    const std::vector<std::unique_ptr<Cases::Case>> examples = cases.examples();
    std::erase_if(result.insertions, [&](const Insertion& insertion) {
      const unsigned number = insertion.number;
      const auto isNeeded = [&](const std::unique_ptr<Cases::Case>& example) {
        return !isCovered(example->unrolled.program, example->conflicts, number);
      };
      if (std::ranges::any_of(examples, isNeeded) || !isNeverNeeded(number, cases))
        return false;
      remove(program, number);
      for (const std::unique_ptr<Cases::Case>& example : examples)
        removeFrom(example->unrolled.program.body, number);
      return true;
    });
  }

  bool mustBeHeld(unsigned number) const {
    return isHeld && !released.contains(number);
  }

  /// Whether in no run a statement misses an insertion: of those only that `check` can't answer for.
  bool isNeverNeeded(unsigned number, Cases& cases) const {
    const Verdict verdict = check(program, conflicts, number);
    std::set<NodePair> pairs;
    for (const Hazard& hazard : verdict.hazards)
      if (isWanted(hazard))
        pairs.emplace(hazard.earlier, hazard.later);
    const bool runsAhead =
        std::ranges::any_of(verdict.unheld, [this](unsigned each) { return mustBeHeld(each); });
    if (runsAhead)
      return isCleanInRuns(Slice(program, pairs, /*withAllSyncs=*/true), number, cases, true);
    return std::ranges::all_of(byQueues(pairs), [&](const std::set<NodePair>& group) {
      const Slice slice(program, group, /*withAllSyncs=*/false);
      return !slice.keepsInsertion(number) || isCleanInRuns(slice, number, cases, false);
    });
  }

  bool isCleanInRuns(const Slice& slice, unsigned without, Cases& cases, bool withHolds) const {
    const auto isClean = [&](const Unrolled& unrolled, const Conflicts& ofIterations) {
      const auto isMissed = [&](const Hazard& hazard) {
        return slice.isAsked(unrolled.origins[hazard.earlier->id],
                             unrolled.origins[hazard.later->id]) &&
               isWanted(hazard);
      };
      return !hasHazard(unrolled.program, ofIterations, isMissed, without,
                        [&](unsigned number) { return withHolds && mustBeHeld(number); });
    };
    const std::optional<Unrolled> unrolled = unroll(program, kMostUnrolled, {}, {}, &slice);
    if (unrolled && isClean(*unrolled, Conflicts(unrolled->program)))
      return true;
    return !cases.isEmpty() && cases.always(slice, [&](Cases::Case& part, bool) {
      return isClean(part.unrolled, part.conflicts);
    });
  }

  /// Where a loop is so short that no iteration waits for one of the events that take turns, one event
  /// is enough. True if there are such.
  bool endTurns() {
    std::optional<Unrolled> unrolled = unroll(program, kMostUnrolled);
    if (!unrolled || !unrolled->isComplete)
      return false;
    const Conflicts ofIterations(unrolled->program);
    bool any = false;
    for (Insertion& insertion : result.insertions) {
      bool needsAll = true;
      for (unsigned slot = 0; slot < insertion.slots && needsAll && insertion.slots > 1; ++slot)
        needsAll = isEventNeeded(*unrolled, ofIterations, insertion, insertion.firstFlag + slot);
      if (needsAll)
        continue;
      const Insertion before = insertion;
      Insertion changed = insertion;
      changed.slots = 1;
      changed.slotLoop = nullptr;
      replace(insertion, changed);
      const Verdict verdict = checkIterations(program, conflicts);
      if (std::none_of(verdict.hazards.begin(), verdict.hazards.end(), wanted()) &&
          isHeldInIterations())
        any = true;
      else
        replace(insertion, before);
    }
    return any;
  }

  bool isHeldInIterations() const {
    const std::optional<Unrolled> unrolled = unroll(program, kMostUnrolled);
    const std::set<unsigned> unheld =
        unrolled ? check(unrolled->program, Conflicts(unrolled->program)).unheld
                 : check(program, conflicts).unheld;
    return std::ranges::includes(released, unheld);
  }

  bool isEventNeeded(Unrolled& unrolled, const Conflicts& ofIterations, const Insertion& insertion,
                     unsigned flag) const {
    constexpr unsigned trial = kNone - 1;
    std::vector<Sync*> syncs;
    for (Node& node : unrolled.program.nodes)
      if (node.kind == NodeKind::Sync && node.sync.insertion == insertion.number &&
          node.sync.flag == flag)
        syncs.push_back(&node.sync);
    for (Sync* sync : syncs)
      sync->insertion = trial;
    const bool isNeeded = !isCovered(unrolled.program, ofIterations, trial);
    for (Sync* sync : syncs)
      sync->insertion = insertion.number;
    return isNeeded;
  }

  /// Gives flags within one agent their ids. Returns the index of an insertion that must become shorter, or kNone.
  unsigned shareIds() {
    return assignEventIds(program, result.insertions, options);
  }

  /// Gives flags between cores theirs. Where none is free, a flag back tells of waits behind which some are; where
  /// too many flags are set at once, one stands behind two. None counts.
  void shareCrossIds() {
    if (std::ranges::none_of(result.insertions, &Insertion::isCross))
      return;
    const size_t mostRounds = 16 * result.insertions.size();
    CrossShortage shortage;
    for (size_t round = 0; round < mostRounds; ++round) {
      shortage = assignCrossIds(program, conflicts, result.insertions, options, released);
      if (shortage.insertion == kNone)
        return prune();
      if (!joinCarried(shortage) && !tellOfWait(shortage) && !shorten(shortage))
        break;
    }
    result.failures.push_back(
        {result.insertions[shortage.insertion].why, "all cross-core flags are taken"});
  }

  /// What other flags tell of waits is asked anew once there are less of them: nothing may be taken out for its sake.
  void forgetTold() {
    std::erase_if(result.insertions, [&](const Insertion& each) {
      if (each.tells)
        remove(program, each.number);
      return each.tells;
    });
    told.clear();
  }

  /// All that are set while one is that finds no id, and itself, but for those that only tell of waits.
  std::vector<unsigned> setTogether(const CrossShortage& shortage) const {
    std::vector<unsigned> all = shortage.together;
    all.push_back(shortage.insertion);
    std::erase_if(all, [&](unsigned each) {
      const Insertion& insertion = result.insertions[each];
      return !insertion.setAt || insertion.tells;
    });
    std::ranges::sort(all);
    return all;
  }

  /// Flags that are set all through a loop leave few ids to those in it.
  bool joinCarried(const CrossShortage& shortage) {
    constexpr size_t most = 2;
    std::vector<unsigned> carried = setTogether(shortage);
    std::erase_if(carried, [&](unsigned each) { return !result.insertions[each].carriedBy; });
    if (carried.size() <= most || !mayJoinCarried)
      return false;
    forgetTold();
    mayJoinCarried = join(carried);
    return mayJoinCarried;
  }

  /// Where too many flags are set at once.
  bool shorten(const CrossShortage& shortage) {
    std::vector<unsigned> all = setTogether(shortage);
    forgetTold();
    for (unsigned i = 0; i < result.insertions.size() && all.empty(); ++i)
      if (result.insertions[i].isCross && result.insertions[i].setAt)
        all.push_back(i);
    return unfollow() || join(all) || narrowOne(all);
  }

  /// Tiles in turn have one id there and one back: true if there were such.
  bool unfollow() {
    const std::vector<Insertion> before = result.insertions;
    const auto found = std::ranges::find_if(
        before, [](const Insertion& each) { return each.isCross && each.slots > 1; });
    if (found == before.end() || !mayUnfollow)
      return false;
    for (Insertion& each : result.insertions) {
      if (!each.isCross || each.slotLoop != found->slotLoop)
        continue;
      Insertion changed = each;
      changed.slots = 1;
      changed.slotLoop = nullptr;
      replace(each, changed);
    }
    mayUnfollow = isCovered();
    for (size_t i = 0; i < before.size() && !mayUnfollow; ++i)
      if (before[i].slots != result.insertions[i].slots)
        replace(result.insertions[i], before[i]);
    return mayUnfollow;
  }

  /// Of some flags, those two that keep the cores together least have one that stands behind both.
  bool join(const std::vector<unsigned>& some) {
    struct Pair {
      unsigned first = 0, second = 0, cost = 0;
    };
    std::vector<Pair> pairs;
    for (size_t i = 0; i < some.size(); ++i)
      for (size_t k = i + 1; k < some.size(); ++k) {
        const Insertion &a = result.insertions[some[i]], &b = result.insertions[some[k]];
        const auto apart = [](const Node* x, const Node* y) {
          return std::max(x->id, y->id) - std::min(x->id, y->id);
        };
        if (joined(a, b))
          pairs.push_back({some[i], some[k], apart(a.setAt, b.setAt) + apart(a.waitAt, b.waitAt)});
      }
    std::ranges::sort(
        pairs, {}, [](const Pair& pair) { return std::tuple(pair.cost, pair.first, pair.second); });
    constexpr size_t mostTried = 8;
    pairs.resize(std::min(pairs.size(), mostTried));
    return std::ranges::any_of(pairs,
                               [&](const Pair& pair) { return join(pair.first, pair.second); });
  }

  bool join(unsigned first, unsigned second) {
    const Insertion a = result.insertions[first], b = result.insertions[second];
    replace(result.insertions[first], *joined(a, b));
    remove(program, b.number);
    if (!isCovered()) {
      replace(result.insertions[first], a);
      place(b);
      return false;
    }
    result.insertions.erase(result.insertions.begin() + second);
    prune();
    return true;
  }

  /// The one that lives longest, if that holds the cores.
  bool narrowOne(std::vector<unsigned> some) {
    if (some.empty())
      return false;
    const Positions positions(program);
    std::ranges::sort(some, {}, [&](unsigned each) {
      return std::pair(~positions.lives[result.insertions[each].firstFlag].length(), each);
    });
    constexpr size_t mostTried = 8;
    some.resize(std::min(some.size(), mostTried));
    const auto narrowed = std::ranges::find_if(some, [&](unsigned each) {
      const Insertion before = result.insertions[each];
      narrow(result.insertions[each]);
      if (isCovered())
        return true;
      replace(result.insertions[each], before);
      return false;
    });
    if (narrowed == some.end())
      narrow(result.insertions[some.front()]);
    releaseUnheld();
    prune();
    return true;
  }

  /// A flag back, so that the core that sets one flag knows that another one has been waited for, and both can have one
  /// id: from behind that wait, or from right before the set. False if it has all of these.
  bool tellOfWait(const CrossShortage& shortage) {
    for (const CrossShortage::Untold& each : shortage.untold) {
      const Insertion &waited = result.insertions[each.waited], &set = result.insertions[each.set];
      Insertion tell;
      tell.why = {waited.why.later, set.why.earlier, nullptr, 0};
      if (tell.why.earlier->id >= tell.why.later->id)
        tell.why.carriedBy = innermostLoop(tell.why);
      tell.from = waited.why.later->queue;
      tell.to = {set.from.agent, Pipe::S};
      tell.isCross = tell.holds = tell.tells = true;
      // The last wait for a flag that a loop carries stands behind the loop.
      const std::vector<Node*> around = pathTo(each.at);
      const bool isLeft = waited.carriedBy && std::ranges::count(around, waited.carriedBy) == 0;
      const Node* behind = isLeft ? waited.carriedBy : waited.why.later;
      if (behind->id < each.at->id && told.emplace(behind, each.at, set.from.agent).second)
        std::tie(tell.setAt, tell.waitAt) = siblings({behind, each.at, nullptr, 0}, nullptr);
      else if (told.emplace(nullptr, each.at, set.from.agent).second)
        (isSetBefore(set.number, *each.at) ? tell.waitAt : tell.behind) = around.back();
      else
        continue;
      addFlags(tell);
      append(std::move(tell));
      return true;
    }
    return false;
  }

  /// Set and waited for at one point: takes an id only there. What does so already becomes a barrier
  /// of all pipes.
  void narrow(Insertion& insertion) {
    Insertion changed = atOnce(insertion);
    changed.isBarrier = changed.isBarrierOfAll = !insertion.setAt;
    replace(insertion, changed);
  }

  Program& program;
  const Conflicts& conflicts;
  const InsertOptions& options;
  Inserted result;
  /// Flags between cores, but for these by number, are not set twice in a row, and must not be.
  bool isHeld = false;
  std::set<unsigned> released;
  unsigned nextNumber = 0;
  /// By flags that only tell of a wait: behind which node, or null, before which, and to whom.
  std::set<std::tuple<const Node*, const Node*, Agent>> told;
  bool mayJoinCarried = true, mayUnfollow = true;
};

} // namespace

Inserted insertFlags(Program& program, const Conflicts& conflicts, const InsertOptions& options) {
  return Inserter(program, conflicts, options).run();
}

} // namespace tilewright::ascend::model
