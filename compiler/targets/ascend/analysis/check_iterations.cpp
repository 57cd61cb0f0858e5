// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/cases.h"

#include <algorithm>
#include <functional>

namespace tilewright::ascend::model {
namespace {

bool holdsSyncs(const Node& node) {
  const auto inBlock = [](const Block& block) {
    return std::ranges::any_of(
        block, [](const Node* each) { return each->kind == NodeKind::Sync || holdsSyncs(*each); });
  };
  return inBlock(node.body) || inBlock(node.otherwise);
}

NodePair originsOf(const Hazard& hazard, const Unrolled& unrolled) {
  return {unrolled.origins[hazard.earlier->id], unrolled.origins[hazard.later->id]};
}

/// The iterations of a program, checked with each answer to what branches with flags in them ask.
class IterationCheck {
public:
  IterationCheck(const Program& program, const Unrolled& unrolled) : program(program) {
    for (const Node& node : unrolled.program.nodes)
      if (node.kind == NodeKind::If && holdsSyncs(node)) {
        questions.insert(node.question);
        hasOthers |= node.question == kNone;
      }
    questions.erase(kNone);
  }

  /// False if there are too many iterations or answers.
  bool run() {
    constexpr size_t mostQuestions = 4;
    if (questions.size() > mostQuestions)
      return false;
    for (unsigned way = 0; way < 1U << questions.size(); ++way) {
      Answers answers;
      unsigned number = 0;
      for (const unsigned question : questions)
        answers[question] = way >> number++ & 1;
      const std::optional<Unrolled> unrolled = unroll(program, 2 * kMostUnrolled, {}, answers);
      if (!unrolled)
        return false;
      const Verdict verdict = check(unrolled->program, Conflicts(unrolled->program));
      for (const Hazard& hazard : verdict.hazards)
        hazards.insert(originsOf(hazard, *unrolled));
      for (const Fault& fault : verdict.faults)
        flags.insert(fault.flag);
    }
    return true;
  }

  /// Whether the kernel can run so that each branch goes as one of the ways has it: what two branches ask may
  /// go together.
  bool isSure() const {
    return !hasOthers && questions.size() < 2;
  }

  std::set<NodePair> hazards; ///< of the program
  std::set<unsigned> flags;   ///< that have faults

private:
  const Program& program;
  std::set<unsigned> questions;
  bool hasOthers = false; ///< branches that each iteration may ask anew
};

/// Of pairs of statements, those that are hazards in some iteration.
std::set<NodePair> hazardsOfIterations(const Program& program, const std::set<NodePair>& suspects) {
  const Slice slice(program, suspects, /*withAllSyncs=*/false);
  const std::optional<Unrolled> unrolled = unroll(program, 2 * kMostUnrolled, {}, {}, &slice);
  if (!unrolled)
    return suspects;
  std::set<NodePair> found;
  for (const Hazard& hazard : check(unrolled->program, Conflicts(unrolled->program)).hazards)
    if (const NodePair pair = originsOf(hazard, *unrolled); suspects.contains(pair))
      found.insert(pair);
  return found;
}

/// Of pairs of statements, those that are hazards in some case.
std::set<NodePair> hazardsOfCases(const Program& program, const std::set<NodePair>& suspects) {
  std::set<NodePair> found;
  Cases cases(program);
  if (cases.isEmpty() || suspects.empty())
    return suspects;
  const Slice slice(program, suspects, /*withAllSyncs=*/false);
  const bool isKnown = cases.always(slice, [&](Cases::Case& part, bool isSingle) {
    bool isAny = false;
    for (const Hazard& hazard : check(part.unrolled.program, part.conflicts).hazards) {
      const NodePair pair = originsOf(hazard, part.unrolled);
      const bool isNew = suspects.contains(pair) && !found.contains(pair);
      isAny = isAny || isNew;
      if (isNew && isSingle)
        found.insert(pair);
    }
    return !isAny || isSingle;
  });
  return isKnown ? found : suspects;
}

} // namespace

Verdict checkIterations(const Program& program, const Conflicts& conflicts) {
  Verdict verdict = check(program, conflicts);
  // A kernel that loads its first tile before the loop over all of them need not think of tensors without any.
  if (!verdict.faults.empty())
    if (Verdict notEmpty = checkIfNotEmpty(program, conflicts); notEmpty.faults.empty())
      verdict = std::move(notEmpty);
  if (verdict.isClean())
    return verdict;
  std::set<NodePair> suspects;
  for (const Hazard& hazard : verdict.hazards)
    suspects.emplace(hazard.earlier, hazard.later);
  bool areAnswered = false;
  if (!verdict.faults.empty()) {
    const std::optional<Unrolled> unrolled = unroll(program, 2 * kMostUnrolled);
    if (!unrolled)
      return verdict;
    IterationCheck iterations(program, *unrolled);
    areAnswered = iterations.run();
    if (areAnswered) {
      const auto isFault = [&](const Fault& fault) {
        return iterations.flags.contains(fault.flag);
      };
      if (iterations.flags.empty() || std::ranges::any_of(verdict.faults, isFault))
        std::erase_if(verdict.faults, std::not_fn(isFault));
      suspects = std::move(iterations.hazards);
    }
    if (!iterations.isSure())
      std::swap(verdict.faults, verdict.unproven);
  }
  std::set<NodePair> found;
  for (const std::set<NodePair>& group : byQueues(suspects))
    found.merge(hazardsOfCases(program, areAnswered ? group : hazardsOfIterations(program, group)));
  std::erase_if(verdict.hazards, [&](const Hazard& hazard) {
    return !found.contains({hazard.earlier, hazard.later});
  });
  return verdict;
}

} // namespace tilewright::ascend::model
