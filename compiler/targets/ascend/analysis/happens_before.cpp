// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/happens_before.h"
#include "compiler/targets/ascend/analysis/walk.h"

namespace tilewright::ascend::model {

Verdict check(const Program& program, const Conflicts& conflicts, unsigned without) {
  return Walk(program, conflicts, without).run();
}

Verdict checkIfNotEmpty(const Program& program, const Conflicts& conflicts) {
  return Walk(program, conflicts, kNone).run(/*isEmptyIncluded=*/false);
}

std::vector<Hazard> hazardsOfFirst(const Program& program, const Conflicts& conflicts,
                                   const WantedHazard& isWanted) {
  return Walk(program, conflicts, kNone, Question::OfFirst, &isWanted).run().hazards;
}

bool hasHazard(const Program& program, const Conflicts& conflicts, const WantedHazard& isWanted,
               unsigned without, const IsWantedFlag& mustBeHeld) {
  return isAny(Walk(program, conflicts, without, Question::Any, &isWanted, &mustBeHeld).run());
}

CrossTimes crossTimes(const Program& program, const Conflicts& conflicts) {
  Walk walk(program, conflicts, kNone, Question::Flags);
  walk.run();
  return std::move(walk.times);
}

} // namespace tilewright::ascend::model
