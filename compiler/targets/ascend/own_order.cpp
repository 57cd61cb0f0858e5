// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/own_order.h"

#include "compiler/targets/ascend/analysis/cases.h"

#include <algorithm>

namespace tilewright::ascend {

using namespace mlir;
using model::Node;

OwnOrder::OwnOrder(func::FuncOp kernel) : shown(buildProgram(kernel, OwnCrossFlags::Shown)) {
  constexpr size_t most = 1500; // of statements and flags that are written out
  if (shown->exit || shown->unknownCrossFlag)
    return;
  for (Node& node : shown->program.nodes)
    if (node.kind == model::NodeKind::Sync)
      node.sync.insertion = node.sync.owner;
  std::optional<model::Interleaved> longest = interleave(shown->program, most);
  if (!longest)
    return;
  runs.push_back(std::make_unique<Run>(std::move(*longest)));
  if (isComplete() || !faults().empty())
    return;
  const std::vector<model::Values> few = model::Cases(shown->program).leastOnes();
  constexpr size_t least = 3; // of loops whose lengths no argument gives
  for (size_t turns = 0; turns < std::max(few.size(), least); ++turns) {
    std::optional<model::Interleaved> run =
        interleave(shown->program, most, few[std::min(turns, few.size() - 1)], int64_t(turns));
    if (run && run->faults.empty()) // what the kernel isn't made for it does wrong anyway
      runs.push_back(std::make_unique<Run>(std::move(*run)));
  }
}

void OwnOrder::forEachHazard(const Visit& visit) const {
  for (const std::unique_ptr<Run>& run : runs)
    for (const model::Hazard& hazard : check(run->order.program, run->conflicts).hazards)
      visit(hazard, run->conflicts);
}

bool OwnOrder::tellsOf(const model::Hazard& hazard, const model::Conflicts& conflicts) const {
  if (isComplete())
    return true;
  if (!meetings)
    addMeetings();
  const OperationPair pair{operationOf(hazard.earlier), operationOf(hazard.later)};
  return std::ranges::all_of(
      conflicts.meetingsOf(hazard.earlier, hazard.later, hazard.carriedBy),
      [&](const auto& meeting) { return (*meetings)[meeting.later->isGlobal].contains(pair); });
}

void OwnOrder::addMeetings() const {
  meetings.emplace();
  const model::Program& program = runs.front()->order.program;
  const model::Conflicts& conflicts = runs.front()->conflicts;
  const model::Phases phases(program.nodes.size());
  for (const Node& node : program.nodes) {
    if (node.kind != model::NodeKind::Statement)
      continue;
    const unsigned instance = conflicts.instanceOf(&node, phases);
    for (const bool isGlobal : {false, true})
      conflicts.conflictsOf(instance, isGlobal).forEach([&](size_t record) {
        const Node* other = conflicts.record(record).statement;
        if (other->id < node.id)
          (*meetings)[isGlobal].emplace(operationOf(other), operationOf(&node));
      });
  }
}

bool OwnOrder::leaveOut(unsigned insertion) {
  constexpr unsigned leftOut = model::kNone - 1;
  for (const std::unique_ptr<Run>& run : runs)
    if (!run->verdict)
      run->verdict = check(run->order.program, run->conflicts);
  std::vector<model::Sync*> syncs;
  for (const std::unique_ptr<Run>& run : runs)
    for (Node& node : run->order.program.nodes)
      if (node.kind == model::NodeKind::Sync && node.sync.insertion == insertion)
        syncs.push_back(&node.sync);
  const auto call = [&](unsigned name) {
    for (model::Sync* sync : syncs)
      sync->insertion = name;
  };
  call(leftOut);
  const bool isNeedless = std::ranges::all_of(runs, [](const std::unique_ptr<Run>& run) {
    const model::Verdict without = check(run->order.program, run->conflicts, leftOut);
    return without.hazards == run->verdict->hazards && without.faults == run->verdict->faults;
  });
  if (!isNeedless)
    call(insertion);
  return isNeedless;
}

bool OwnOrder::areOfAllLengths() const {
  std::set<unsigned> numbers;
  for (const Node* loop : runs.front()->order.cut) {
    if (loop->trips >= 0)
      continue;
    if (loop->length.step == 0)
      return false;
    for (const model::Term& term : loop->length.terms)
      numbers.insert(term.loop);
  }
  return numbers.size() <= 1;
}

} // namespace tilewright::ascend
