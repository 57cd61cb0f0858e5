// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/check_iterations.h"
#include "compiler/targets/ascend/analysis/run_proof.h"

#include <algorithm>
#include <functional>

namespace tilewright::ascend::model {
namespace {

/// So many hazards are those of a kernel that has no flags: it is told of, without a proof of each.
constexpr size_t kMostProven = 50'000;

/// Whether one is about one of `flags`, or about any.
bool holdsSyncs(const Node& node, const std::set<unsigned>* flags = nullptr) {
  const auto isAsked = [flags](const Sync& sync) {
    const auto next = flags ? flags->lower_bound(sync.flag) : std::set<unsigned>::iterator();
    return !flags || (next != flags->end() && *next - sync.flag < sync.slots());
  };
  const auto inBlock = [&](const Block& block) {
    return std::ranges::any_of(block, [&](const Node* each) {
      return (each->kind == NodeKind::Sync && isAsked(each->sync)) || holdsSyncs(*each, flags);
    });
  };
  return inBlock(node.body) || inBlock(node.otherwise);
}

/// Whether each statement runs once and touches what is known: nothing is left to prove of what `check` finds then.
/// There may be as many hazards as pairs of statements.
bool isStraight(const Program& program) {
  return std::ranges::all_of(program.nodes, [](const Node& node) {
    bool isKnown = node.kind == NodeKind::Sync || node.kind == NodeKind::Statement;
    isKnown = isKnown && node.conditions.empty();
    for (const Access& access : node.accesses)
      access.forEachRange([&](const Range& range) { isKnown = isKnown && range.terms.empty(); });
    return isKnown;
  });
}

NodePair originsOf(const Hazard& hazard, const Unrolled& unrolled) {
  return {unrolled.origins[hazard.earlier->id], unrolled.origins[hazard.later->id]};
}

/// The iterations of a program, checked with each answer to what branches with flags in them ask.
class IterationCheck {
public:
  IterationCheck(const Program& program, const Unrolled& unrolled)
      : program(program), unrolled(unrolled) {
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

  /// Whether the kernel can run so that each branch goes as one of the ways has it: what two branches ask may go together.
  /// Branches without these faults' flags don't matter where each loop with one has a known number of turns.
  bool isSure(const std::vector<Fault>& faults) const {
    std::set<unsigned> wrong;
    for (const Fault& fault : faults)
      wrong.insert(fault.flag);
    if (!hasOthers && questions.size() < 2)
      return true;
    const auto mayDiffer = [&](const Node& node, NodeKind kind) {
      return node.kind == kind && holdsSyncs(node, &wrong);
    };
    return std::ranges::none_of(unrolled.program.nodes,
                                [&](const Node& node) { return mayDiffer(node, NodeKind::If); }) &&
           std::ranges::none_of(program.nodes, [&](const Node& node) {
             return mayDiffer(node, NodeKind::Loop) && node.trips < 0;
           });
  }

  std::set<NodePair> hazards; ///< of the program
  std::set<unsigned> flags;   ///< that have faults

private:
  const Program& program;
  const Unrolled& unrolled;
  std::set<unsigned> questions;
  bool hasOthers = false; ///< branches that each iteration may ask anew
};

} // namespace

Verdict checkIterations(const Program& program, const Conflicts& conflicts) {
  Verdict verdict = check(program, conflicts);
  // A kernel that loads its first tile before the loop over all of them need not think of tensors without any.
  if (!verdict.faults.empty())
    if (Verdict notEmpty = checkIfNotEmpty(program, conflicts); notEmpty.faults.empty())
      verdict = std::move(notEmpty);
  const bool isTold = verdict.isClean() || isStraight(program) ||
                      (verdict.faults.empty() && verdict.hazards.size() > kMostProven);
  if (!verdict.areMixed && isTold)
    return verdict;
  RunProof proof(program);
  verdict.areMixed = verdict.areMixed && !proof.areApart();
  if (verdict.isClean() || verdict.areMixed)
    return verdict;
  std::set<NodePair> suspects;
  for (const Hazard& hazard : verdict.hazards)
    suspects.emplace(hazard.earlier, hazard.later);
  if (!verdict.faults.empty()) {
    const std::optional<Unrolled> unrolled = unroll(program, 2 * kMostUnrolled);
    if (!unrolled)
      return verdict;
    IterationCheck iterations(program, *unrolled);
    if (iterations.run()) {
      const auto isFault = [&](const Fault& fault) {
        return iterations.flags.contains(fault.flag);
      };
      if (iterations.flags.empty() || std::ranges::any_of(verdict.faults, isFault))
        std::erase_if(verdict.faults, std::not_fn(isFault));
      suspects = std::move(iterations.hazards);
    }
    if (!iterations.isSure(verdict.faults))
      std::swap(verdict.faults, verdict.unproven);
  }
  verdict.findings = proof.unordered(suspects);
  std::erase_if(verdict.hazards, [&](const Hazard& hazard) {
    return !verdict.findings.contains({hazard.earlier, hazard.later});
  });
  return verdict;
}

} // namespace tilewright::ascend::model
