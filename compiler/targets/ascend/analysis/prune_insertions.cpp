// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/prune_insertions.h"
#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/insertion_places.h"
#include "compiler/targets/ascend/analysis/repeated_checks.h"
#include "compiler/targets/ascend/analysis/run_proof.h"

#include <algorithm>
#include <functional>

namespace tilewright::ascend::model {
namespace {

class Pruning {
public:
  explicit Pruning(InsertionState& state)
      : state(state), program(state.program), conflicts(state.conflicts), result(state.result) {}

  void byRuns() {
    RunProof proof(program);
    struct Example {
      std::unique_ptr<Cases::Case> run;
      std::unique_ptr<Removals> removals;
    };
    std::vector<Example> examples;
    const Cases cases(program);
    for (std::unique_ptr<Cases::Case>& run : cases.examples()) {
      auto removals = std::make_unique<Removals>(run->unrolled.program, run->conflicts,
                                                 state.wanted(), state.mustBeHeld());
      examples.push_back({std::move(run), std::move(removals)});
    }
    const std::vector<Values> least = cases.leastOnes();
    const auto smallFor = [&](const Insertion& insertion) {
      const size_t turns = insertion.why.carriedBy ? 2 : 1;
      return least[std::min(turns, least.size() - 1)];
    };
    Removals ofAll(program, conflicts, state.wanted(), state.mustBeHeld());
    std::erase_if(result.insertions, [&](const Insertion& insertion) {
      const unsigned number = insertion.number;
      const auto isNeeded = [&](const Example& example) {
        return example.removals->areMissed(number);
      };
      if (std::ranges::any_of(examples, isNeeded) || isMissedIn(smallFor(insertion), insertion) ||
          !isNeverNeeded(number, ofAll, proof))
        return false;
      ofAll.takeOut(number);
      remove(program, number);
      for (const Example& example : examples) {
        example.removals->takeOut(number);
        removeFrom(example.run->unrolled.program.body, number);
      }
      return true;
    });
  }

  bool endTurns() {
    const auto takesTurns = [](const Insertion& insertion) { return insertion.slots > 1; };
    if (std::ranges::none_of(result.insertions, takesTurns))
      return false;
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
      state.replace(insertion, changed);
      const Verdict verdict = checkIterations(program, conflicts);
      if (std::none_of(verdict.hazards.begin(), verdict.hazards.end(), state.wanted()) &&
          isHeldInIterations())
        any = true;
      else
        state.replace(insertion, before);
    }
    return any;
  }

private:
  /// Whether what an insertion is there for is out of order without it in a small run.
  bool isMissedIn(const Values& run, const Insertion& insertion) const {
    if (insertion.holds)
      return false;
    const NodePair why{insertion.why.earlier, insertion.why.later};
    const Slice slice(program, {why}, /*withAllSyncs=*/false);
    const std::optional<Unrolled> unrolled = unroll(program, kMostUnrolled, run, {}, &slice);
    if (!unrolled || !unrolled->isComplete)
      return false;
    const auto isMissed = [&](const Hazard& hazard) {
      return slice.isAsked(unrolled->origins[hazard.earlier->id],
                           unrolled->origins[hazard.later->id]) &&
             state.isWanted(hazard);
    };
    return hasHazard(unrolled->program, Conflicts(unrolled->program), isMissed, insertion.number,
                     [](unsigned) { return false; });
  }

  /// Whether in no run a statement misses an insertion: of those only that `check` can't answer for.
  bool isNeverNeeded(unsigned number, Removals& ofAll, RunProof& proof) const {
    const Verdict verdict = ofAll.check(number);
    std::set<NodePair> pairs;
    for (const Hazard& hazard : verdict.hazards)
      if (state.isWanted(hazard))
        pairs.emplace(hazard.earlier, hazard.later);
    const auto isSo = [&](const Slice& slice, const IsWantedFlag& mustBeHeld) {
      return !slice.keepsInsertion(number) ||
             proof.isOrdered(slice, {number, state.wanted(), mustBeHeld});
    };
    const auto isFlagHeld = [&](unsigned flag) {
      return isSo(Slice::ofHeld(program, flag), [flag](unsigned set) { return set == flag; });
    };
    return (!state.isHeld || std::ranges::all_of(verdict.unheld, isFlagHeld)) &&
           std::ranges::all_of(byQueues(pairs), [&](const std::set<NodePair>& group) {
             return isSo(Slice(program, group, /*withAllSyncs=*/false), nullptr);
           });
  }

  bool isHeldInIterations() const {
    const std::optional<Unrolled> unrolled = unroll(program, kMostUnrolled);
    const std::set<unsigned> unheld =
        unrolled ? check(unrolled->program, Conflicts(unrolled->program)).unheld
                 : check(program, conflicts).unheld;
    return unheld.empty();
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
    const bool isNeeded = !state.isCovered(unrolled.program, ofIterations, trial);
    for (Sync* sync : syncs)
      sync->insertion = insertion.number;
    return isNeeded;
  }

  InsertionState& state;
  Program& program;
  const Conflicts& conflicts;
  Inserted& result;
};

} // namespace

void pruneByRuns(InsertionState& state) {
  if (state.result.failures.empty())
    Pruning(state).byRuns();
}

bool endTurns(InsertionState& state) {
  return Pruning(state).endTurns();
}

} // namespace tilewright::ascend::model
