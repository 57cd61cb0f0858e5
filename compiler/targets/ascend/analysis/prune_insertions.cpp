// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/prune_insertions.h"
#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/insertion_places.h"
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
    const std::vector<std::unique_ptr<Cases::Case>> examples = Cases(program).examples();
    std::erase_if(result.insertions, [&](const Insertion& insertion) {
      const unsigned number = insertion.number;
      const auto isNeeded = [&](const std::unique_ptr<Cases::Case>& example) {
        return !state.isCovered(example->unrolled.program, example->conflicts, number);
      };
      if (std::ranges::any_of(examples, isNeeded) || !isNeverNeeded(number, proof))
        return false;
      remove(program, number);
      for (const std::unique_ptr<Cases::Case>& example : examples)
        removeFrom(example->unrolled.program.body, number);
      return true;
    });
  }

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
  /// Whether in no run a statement misses an insertion: of those only that `check` can't answer for.
  bool isNeverNeeded(unsigned number, RunProof& proof) const {
    const Verdict verdict = check(program, conflicts, number);
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
