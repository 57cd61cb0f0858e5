// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/insert_flags.h"
#include "compiler/targets/ascend/analysis/cases.h"
#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/event_ids.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace tilewright::ascend::model {
namespace {

/// From the outermost block to the node.
std::vector<Node*> pathTo(const Node* node) {
  std::vector<Node*> path;
  for (const Node* each = node; each; each = each->parent)
    path.push_back(const_cast<Node*>(each));
  std::reverse(path.begin(), path.end());
  return path;
}

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

/// Whether all cores of a block come to a node alike.
bool isReachedByAll(const Node* node) {
  for (const Node* around = node->parent; around; around = around->parent)
    if (around->isOfSomeCores)
      return false;
  return true;
}

/// The nodes of one block that hold the two statements of a hazard: of the body of `loop`, or if
/// that is null, of the innermost block that has both.
std::pair<Node*, Node*> siblings(const Hazard& hazard, const Node* loop) {
  const std::vector<Node*> earlier = pathTo(hazard.earlier), later = pathTo(hazard.later);
  size_t depth = 0;
  if (loop) {
    while (earlier[depth] != loop)
      ++depth;
    return {earlier[depth + 1], later[depth + 1]};
  }
  while (earlier[depth] == later[depth])
    ++depth;
  return {earlier[depth], later[depth]};
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
      if (!result.insertions[crowded].isCross || !unfollow())
        narrow(result.insertions[crowded]);
      releaseUnheld();
      prune();
    }
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
    insertion.number = static_cast<unsigned>(result.insertions.size());
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
    place(insertion);
    result.insertions.push_back(insertion);
  }

  /// Where a branch does what the next node waits for, only that branch waits.
  void moveIntoBranch(Insertion& insertion) {
    if (insertion.carriedBy || insertion.why.carriedBy)
      return;
    const auto [branch, later] = siblings(insertion.why, nullptr);
    if (branch->kind != NodeKind::If || later != insertion.waitAt || !isNext(branch, later) ||
        (insertion.isCross && branch->isOfSomeCores))
      return;
    const std::vector<Node*> path = pathTo(insertion.why.earlier);
    const Insertion before = insertion;
    remove(insertion.number);
    insertion.behind = *(std::find(path.begin(), path.end(), branch) + 1);
    insertion.setAt = nullptr;
    place(insertion);
    if (isCovered())
      return;
    remove(insertion.number);
    insertion = before;
    place(insertion);
  }

  static bool isInSameArm(const Node* branch, Node* a, Node* b) {
    const auto isInBody = [&](Node* node) {
      return std::find(branch->body.begin(), branch->body.end(), node) != branch->body.end();
    };
    return isInBody(a) == isInBody(b);
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

  /// Both in one block. A set behind the wait lets this iteration's wait meet the last one's set.
  static Insertion withEnds(Insertion insertion, Node* setAt, Node* waitAt) {
    insertion.setAt = setAt->id < waitAt->id ? waitAt : setAt;
    insertion.waitAt = waitAt;
    return insertion;
  }

  void replace(Insertion& insertion, const Insertion& by) {
    remove(insertion.number);
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
    remove(insertion.number);
    insertion.waitAt = *(at + 1);
    place(insertion);
    if (isCovered())
      return true;
    remove(insertion.number);
    insertion.waitAt = branch;
    place(insertion);
    return false;
  }

  bool isNext(const Node* node, const Node* next) const {
    const auto holds = [&](const Block& block) {
      const auto at = std::find(block.begin(), block.end(), node);
      return at != block.end() && at + 1 != block.end() && *(at + 1) == next;
    };
    const Node* parent = node->parent;
    return parent ? holds(parent->body) || holds(parent->otherwise) : holds(program.body);
  }

  void addFlags(Insertion& insertion) {
    insertion.firstFlag = static_cast<unsigned>(program.flags.size());
    for (unsigned slot = 0; slot < insertion.slots; ++slot)
      program.addFlag(insertion.from, insertion.to, kNone, insertion.isCross);
  }

  /// The innermost loop around both, or null.
  static const Node* innermostLoop(const Hazard& hazard) {
    const std::vector<const Node*> a = loopsAround(hazard.earlier), b = loopsAround(hazard.later);
    const Node* found = nullptr;
    for (size_t depth = 0; depth < a.size() && depth < b.size() && a[depth] == b[depth]; ++depth)
      found = a[depth];
    return found;
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
    remove(insertion.number);
    takeTurns(insertion, loop, back->slots);
    addFlags(insertion);
    place(insertion);
  }

  /// Between cores the pipes don't count: a wait holds all of them.
  static bool leadsBack(const Insertion& other, const Insertion& insertion) {
    if (insertion.isCross || other.isCross)
      return insertion.isCross && other.isCross && other.from.agent == insertion.to.agent;
    return other.from == insertion.to && other.to == insertion.from;
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
    meeting.number = static_cast<unsigned>(result.insertions.size());
    meeting.from = meeting.why.earlier->queue;
    meeting.to = {meeting.why.later->queue.agent, Pipe::S};
    meeting.holds = true;
    addFlags(meeting);
    place(meeting);
    result.insertions.push_back(meeting);
    return isHeldNow(number) || takeBack();
  }

  /// What was added last goes again.
  bool takeBack() {
    remove(result.insertions.back().number);
    result.insertions.pop_back();
    return false;
  }

  /// Where ids between cores don't suffice, one flag counts to two instead: true if there was one that followed.
  bool unfollow() {
    const auto found =
        std::find_if(result.insertions.begin(), result.insertions.end(), [](const Insertion& each) {
          return each.isCross && each.slots > 1 && !each.carriedBy;
        });
    if (found == result.insertions.end())
      return false;
    Insertion changed = *found;
    changed.slots = 1;
    changed.slotLoop = nullptr;
    replace(*found, changed);
    return true;
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

  static bool isWaitLike(const Sync& sync) {
    return sync.kind != SyncKind::Set;
  }
  /// Sets stand behind waits and barriers: then they tell more.
  static void putWait(std::vector<Sync>& list, const Sync& sync) {
    list.insert(std::find_if_not(list.begin(), list.end(), isWaitLike), sync);
  }

  void place(const Insertion& insertion) {
    Sync sync;
    sync.insertion = insertion.number;
    if (insertion.isBarrier) {
      sync.kind = insertion.isBarrierOfAll ? SyncKind::BarrierAll : SyncKind::Barrier;
      sync.queue = insertion.from;
      putWait(insertion.behind ? insertion.behind->after : insertion.waitAt->before, sync);
      return;
    }
    Sync set = sync, wait = sync;
    set.kind = SyncKind::Set;
    wait.kind = SyncKind::Wait;
    set.queue = insertion.from;
    wait.queue = insertion.to;
    set.flag = wait.flag = insertion.firstFlag;
    if (insertion.carriedBy) {
      for (unsigned slot = 0; slot < insertion.slots; ++slot) {
        set.flag = wait.flag = insertion.firstFlag + slot;
        insertion.carriedBy->before.push_back(set);
        putWait(insertion.carriedBy->after, wait);
      }
    }
    set.flag = wait.flag = insertion.firstFlag;
    if (insertion.slots > 1) {
      set.slots = wait.slots = insertion.slots;
      set.slotLoop = wait.slotLoop = insertion.slotLoop->id;
    }
    if (insertion.setAt) {
      insertion.setAt->after.push_back(set);
      putWait(insertion.waitAt->before, wait);
    } else {
      putAdjacent(insertion.behind ? insertion.behind->after : insertion.waitAt->before, set, wait);
    }
  }

  /// The set tells what the waits before it have told; both stand before all other sets.
  static void putAdjacent(std::vector<Sync>& list, const Sync& set, const Sync& wait) {
    auto at = std::find_if_not(list.begin(), list.end(), isWaitLike);
    at = list.insert(at, set);
    list.insert(at + 1, wait);
  }

  void remove(unsigned number) {
    const auto isIt = [&](const Sync& sync) { return sync.insertion == number; };
    for (Node& node : program.nodes) {
      std::erase_if(node.before, isIt);
      std::erase_if(node.after, isIt);
    }
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
        remove(number);
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
      remove(number);
      for (const std::unique_ptr<Cases::Case>& example : examples)
        removeFrom(example->unrolled.program.body, number);
      return true;
    });
  }

  /// Where what has been inserted is written out as statements of its own.
  static void removeFrom(Block& block, unsigned number) {
    std::erase_if(block, [&](const Node* node) {
      return node->kind == NodeKind::Sync && node->sync.insertion == number;
    });
    for (Node* node : block) {
      removeFrom(node->body, number);
      removeFrom(node->otherwise, number);
    }
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

  /// Gives flags their ids. Returns the index of an insertion that must become shorter, or kNone.
  unsigned shareIds() {
    return assignEventIds(program, result.insertions, options, result.failures,
                          [this] { return check(program, conflicts).unheld; });
  }

  /// Set and waited for at one point: takes an id only there. What does so already becomes a barrier
  /// of all pipes.
  void narrow(Insertion& insertion) {
    Insertion changed = atOnce(insertion);
    changed.isBarrier = changed.isBarrierOfAll = !insertion.setAt;
    replace(insertion, changed);
  }

  static Insertion atOnce(Insertion insertion) {
    insertion.setAt = nullptr;
    insertion.carriedBy = nullptr;
    insertion.slots = 1;
    insertion.slotLoop = nullptr;
    return insertion;
  }

  Program& program;
  const Conflicts& conflicts;
  const InsertOptions& options;
  Inserted result;
  /// Flags between cores, but for these by number, are not set twice in a row, and must not be.
  bool isHeld = false;
  std::set<unsigned> released;
};

} // namespace

Inserted insertFlags(Program& program, const Conflicts& conflicts, const InsertOptions& options) {
  return Inserter(program, conflicts, options).run();
}

} // namespace tilewright::ascend::model
