// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/run_proof.h"

namespace tilewright::ascend::model {
namespace {

/// In what of the program the hazards of a written-out program are.
std::set<NodePair> originsOf(const std::vector<Hazard>& hazards, const Unrolled& unrolled) {
  std::set<NodePair> origins;
  for (const Hazard& hazard : hazards)
    origins.emplace(unrolled.origins[hazard.earlier->id], unrolled.origins[hazard.later->id]);
  return origins;
}

} // namespace

bool RunProof::always(const Slice& slice, const IsSo& isSo) {
  const std::optional<Unrolled> unrolled = unroll(program, kMostUnrolled, {}, {}, &slice);
  if (unrolled && isSo(*unrolled, Conflicts(unrolled->program)))
    return true;
  return !cases.isEmpty() && cases.always(slice, [&](Cases::Case& part, bool) {
    return isSo(part.unrolled, part.conflicts);
  });
}

bool RunProof::isOrdered(const Slice& slice, const RunQuestion& question) {
  const IsWantedFlag mustBeHeld =
      question.mustBeHeld ? question.mustBeHeld : [](unsigned) { return false; };
  return always(slice, [&](const Unrolled& unrolled, const Conflicts& conflicts) {
    const auto isMissed = [&](const Hazard& hazard) {
      return slice.isAsked(unrolled.origins[hazard.earlier->id],
                           unrolled.origins[hazard.later->id]) &&
             (!question.isWanted || question.isWanted(hazard));
    };
    return !hasHazard(unrolled.program, conflicts, isMissed, question.without, mustBeHeld);
  });
}

std::set<NodePair> RunProof::unordered(const std::set<NodePair>& pairs) {
  std::set<NodePair> found;
  for (const std::set<NodePair>& group : byQueues(pairs))
    if (!isOrdered(Slice(program, group, /*withAllSyncs=*/false)))
      found.merge(hazardsOfCases(hazardsOfIterations(group)));
  return found;
}

bool RunProof::areApart() {
  const Slice slice(program, {}, /*withAllSyncs=*/true);
  return always(slice, [](const Unrolled& unrolled, const Conflicts& conflicts) {
    return !check(unrolled.program, conflicts).areMixed;
  });
}

std::set<NodePair> RunProof::hazardsOfIterations(const std::set<NodePair>& suspects) const {
  const Slice slice(program, suspects, /*withAllSyncs=*/false);
  const std::optional<Unrolled> unrolled = unroll(program, 2 * kMostUnrolled, {}, {}, &slice);
  if (!unrolled)
    return suspects;
  std::set<NodePair> found =
      originsOf(check(unrolled->program, Conflicts(unrolled->program)).hazards, *unrolled);
  std::erase_if(found, [&](const NodePair& pair) { return !suspects.contains(pair); });
  return found;
}

std::set<NodePair> RunProof::hazardsOfCases(const std::set<NodePair>& suspects) {
  std::set<NodePair> found;
  if (cases.isEmpty() || suspects.empty())
    return suspects;
  const Slice slice(program, suspects, /*withAllSyncs=*/false);
  const bool isKnown = cases.always(slice, [&](Cases::Case& part, bool isSingle) {
    bool isAny = false;
    for (const NodePair& pair :
         originsOf(check(part.unrolled.program, part.conflicts).hazards, part.unrolled)) {
      const bool isNew = suspects.contains(pair) && !found.contains(pair);
      isAny = isAny || isNew;
      if (isNew && isSingle)
        found.insert(pair);
    }
    return !isAny || isSingle;
  });
  return isKnown ? found : suspects;
}

} // namespace tilewright::ascend::model
