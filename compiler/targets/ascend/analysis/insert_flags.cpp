// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/insert_flags.h"
#include "compiler/targets/ascend/analysis/cross_ids.h"
#include "compiler/targets/ascend/analysis/event_ids.h"
#include "compiler/targets/ascend/analysis/flag_lives.h"
#include "compiler/targets/ascend/analysis/insertion_places.h"
#include "compiler/targets/ascend/analysis/insertion_state.h"
#include "compiler/targets/ascend/analysis/prune_insertions.h"
#include "compiler/targets/ascend/analysis/search_insertions.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace tilewright::ascend::model {
namespace {

class Inserter : InsertionState {
public:
  using InsertionState::InsertionState;

  Inserted run() {
    search.coverAll();
    if (result.insertions.empty())
      return std::move(result);
    search.holdAll();
    prune();
    search.moveIntoBranches();
    search.followBack();
    while (result.failures.empty() && lacksIds()) {
      for (unsigned crowded = shareIds(); crowded != kNone; crowded = shareIds()) {
        narrow(result.insertions[crowded]);
        search.settle();
        prune();
      }
      shareCrossIds();
    }
    pruneByRuns(*this);
    if (endTurns(*this))
      pruneByRuns(*this);
    return std::move(result);
  }

private:
  /// Gives flags within one agent their ids. Returns the index of an insertion that must become shorter, or kNone.
  unsigned shareIds() {
    return assignEventIds(program, result.insertions, options);
  }

  /// Also what has been put in for the sake of ids lacks them.
  bool lacksIds() const {
    return std::ranges::any_of(result.insertions, [&](const Insertion& each) {
      return !each.isBarrier && program.flags[each.firstFlag].id == kNone;
    });
  }

  /// Gives flags between cores theirs. Where none is free, a flag back tells of waits behind which some are; where
  /// too many flags are set at once, one stands behind two. Where all of this doesn't help, cores meet: two flags are
  /// enough for any number of meetings. None counts.
  void shareCrossIds() {
    if (std::ranges::none_of(result.insertions, &Insertion::isCross))
      return;
    const size_t mostRounds = 16 * result.insertions.size();
    for (size_t round = 0; result.failures.empty(); ++round) {
      const CrossShortage shortage = assignCrossIds(program, conflicts, result.insertions, options);
      if (shortage.insertion == kNone)
        return prune();
      const Hazard why = result.insertions[shortage.insertion].why;
      const std::set<unsigned> crowded = numbersOf(setTogether(shortage));
      const bool isOver = round >= mostRounds;
      if (!isOver && (joinCarried(shortage) || tellOfWait(shortage) || shorten(shortage)))
        continue;
      if (!meetOne(crowded) && !meetOne({}))
        result.failures.push_back({why, "all cross-core flags are taken"});
    }
  }

  std::set<unsigned> numbersOf(const std::vector<unsigned>& indices) const {
    std::set<unsigned> numbers;
    for (const unsigned index : indices)
      numbers.insert(result.insertions[index].number);
    return numbers;
  }

  /// Of some flags by number, or of all if there are none, the one that lives longest becomes a meeting. False if all
  /// of them are.
  bool meetOne(const std::set<unsigned>& some) {
    forgetTold();
    const Positions positions(program);
    const Insertion* longest = nullptr;
    const auto length = [&](const Insertion& each) {
      return positions.lives[each.firstFlag].length();
    };
    for (const Insertion& each : result.insertions)
      if (each.isCross && each.meeting == kNone && (some.empty() || some.contains(each.number)) &&
          (!longest || length(each) > length(*longest)))
        longest = &each;
    if (!longest)
      return false;
    meet(longest->number);
    search.settle();
    prune();
    return true;
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
    if (narrowed == some.end()) {
      meet(result.insertions[some.front()].number);
      search.settle();
    }
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
      append(tell);
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

  InsertionSearch search{*this};
  /// By flags that only tell of a wait: behind which node, or null, before which, and to whom.
  std::set<std::tuple<const Node*, const Node*, Agent>> told;
  bool mayJoinCarried = true, mayUnfollow = true;
};

} // namespace

Inserted insertFlags(Program& program, const Conflicts& conflicts, const InsertOptions& options) {
  return Inserter(program, conflicts, options).run();
}

} // namespace tilewright::ascend::model
