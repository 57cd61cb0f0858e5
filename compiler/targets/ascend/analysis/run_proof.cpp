// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/run_proof.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

/// In what of the program the hazards of a written-out program are.
Findings findingsOf(const std::vector<Hazard>& hazards, const Unrolled& unrolled,
                    const Values& values) {
  Finding like{.values = values};
  const auto loop = std::ranges::find(unrolled.program.nodes, NodeKind::Loop, &Node::kind);
  if (loop != unrolled.program.nodes.end()) {
    like.kind = Finding::Kind::Turns;
    like.loop = unrolled.origins[loop->id];
  }
  Findings findings;
  for (const Hazard& hazard : hazards) {
    const auto [found, isNew] = findings.try_emplace(
        {unrolled.origins[hazard.earlier->id], unrolled.origins[hazard.later->id]}, like);
    if (!isNew)
      continue;
    found->second.turnsOfEarlier = unrolled.turns[hazard.earlier->id];
    found->second.turnsOfLater = unrolled.turns[hazard.later->id];
  }
  return findings;
}

Findings allAs(const std::set<NodePair>& pairs, const Finding& finding) {
  Findings all;
  for (const NodePair& pair : pairs)
    all.emplace(pair, finding);
  return all;
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

Findings RunProof::unordered(const std::set<NodePair>& pairs) {
  Findings found;
  for (const std::set<NodePair>& group : byQueues(pairs))
    if (!isOrdered(Slice(program, group, /*withAllSyncs=*/false)))
      found.merge(hazardsOfCases(hazardsOfIterations(group)));
  showInFirstTurns(found);
  return found;
}

/// Of those that only some turns of a loop are said to have, which the first turns of all loops have.
void RunProof::showInFirstTurns(Findings& found) const {
  std::set<NodePair> pairs;
  for (const auto& [pair, finding] : found)
    if (finding.kind == Finding::Kind::Turns)
      pairs.insert(pair);
  if (pairs.empty())
    return;
  const Slice slice(program, pairs, /*withAllSyncs=*/false);
  const std::optional<Unrolled> first = unrollFirst(program, 2 * kMostUnrolled, &slice);
  if (!first)
    return;
  for (auto& [pair, finding] :
       findingsOf(check(first->program, Conflicts(first->program)).hazards, *first, {}))
    if (pairs.contains(pair))
      found[pair] = std::move(finding);
}

bool RunProof::areApart() {
  const Slice slice(program, {}, /*withAllSyncs=*/true);
  return always(slice, [](const Unrolled& unrolled, const Conflicts& conflicts) {
    return !check(unrolled.program, conflicts).areMixed;
  });
}

Findings RunProof::hazardsOfIterations(const std::set<NodePair>& suspects) const {
  const Slice slice(program, suspects, /*withAllSyncs=*/false);
  const std::optional<Unrolled> unrolled = unroll(program, 2 * kMostUnrolled, {}, {}, &slice);
  if (!unrolled)
    return allAs(suspects, {.kind = Finding::Kind::Statements});
  Findings found =
      findingsOf(check(unrolled->program, Conflicts(unrolled->program)).hazards, *unrolled, {});
  std::erase_if(found, [&](const auto& each) { return !suspects.contains(each.first); });
  return found;
}

Findings RunProof::hazardsOfCases(const Findings& suspects) {
  if (cases.isEmpty() || suspects.empty())
    return suspects;
  std::set<NodePair> pairs;
  for (const auto& [pair, finding] : suspects)
    pairs.insert(pair);
  Findings found;
  const Slice slice(program, pairs, /*withAllSyncs=*/false);
  const bool isKnown = cases.always(slice, [&](Cases::Case& part, bool isSingle) {
    bool isAny = false;
    for (auto& [pair, finding] : findingsOf(check(part.unrolled.program, part.conflicts).hazards,
                                            part.unrolled, part.values)) {
      const bool isNew = pairs.contains(pair) && !found.contains(pair);
      isAny = isAny || isNew;
      if (isNew && isSingle)
        found.emplace(pair, std::move(finding));
    }
    return !isAny || isSingle;
  });
  if (!isKnown)
    found.merge(allAs(pairs, cases.limit()));
  return found;
}

} // namespace tilewright::ascend::model
