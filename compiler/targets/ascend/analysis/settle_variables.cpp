// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/settle_variables.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

class VariableSettler {
public:
  explicit VariableSettler(const Unrolled& unrolled)
      : unsettled(unrolled.isComplete ? std::map<unsigned, int>() : unrolled.program.toldApart) {
    values.fill(std::vector<int>(unrolled.program.variables, kNoValue));
    for (const Node* loop : unrolled.cut)
      asksLoops =
          asksLoops || loop->notes != kNone || loop->goesBy != kNone || !loop->goesOn.empty();
  }
  /// A loop that asks for variables may have had fewer turns than are written out.
  bool asksLoops = false;

  void settle(Block& block) {
    Block settled;
    for (Node* node : block) {
      if (node->kind == NodeKind::Assign)
        assign(*node, node->variable, [&](const std::vector<int>& now) {
          return assigned(*node, now[node->source == kNone ? node->variable : node->source]);
        });
      if (node->kind != NodeKind::If) {
        settled.push_back(node);
        continue;
      }
      const std::optional<bool> taken = isTaken(*node);
      if (!taken) {
        settleBoth(*node);
        settled.push_back(node);
        continue;
      }
      Block& way = *taken ? node->body : node->otherwise;
      settle(way);
      settled.insert(settled.end(), way.begin(), way.end());
      note(*node, *taken ? 1 : 0);
    }
    block = std::move(settled);
  }

private:
  /// By agent and variable: each runs its own text alone.
  using Numbers = std::array<std::vector<int>, 2>;

  static bool isOf(size_t agent, const Node& node) {
    return !node.side || static_cast<size_t>(*node.side) == agent;
  }

  template <typename Change> void assign(const Node& at, unsigned variable, Change change) {
    for (size_t agent = 0; agent < values.size(); ++agent)
      if (isOf(agent, at))
        values[agent][variable] = unsettled.contains(variable) ? kNoValue : change(values[agent]);
  }

  void settleBoth(Node& branch) {
    const Numbers before = values;
    settle(branch.body);
    const Numbers into = std::exchange(values, before);
    settle(branch.otherwise);
    for (size_t agent = 0; agent < values.size(); ++agent)
      for (size_t variable = 0; variable < values[agent].size(); ++variable)
        if (values[agent][variable] != into[agent][variable])
          values[agent][variable] = kNoValue;
    note(branch, kNoValue);
  }

  void note(const Node& branch, int value) {
    if (branch.notes != kNone)
      assign(branch, branch.notes, [&](const std::vector<int>&) { return value; });
  }

  std::optional<bool> isTaken(const Node& branch) const {
    const std::optional<bool> byVariable = isSaid(branch), byConditions = areMet(branch);
    if (!branch.isBoth)
      return byConditions ? byConditions : byVariable;
    return byConditions == true || byVariable == false ? byVariable : byConditions;
  }
  /// Nothing where the agents that ask don't know, or not the same.
  std::optional<bool> isSaid(const Node& branch) const {
    std::optional<bool> said;
    for (size_t agent = 0; agent < values.size(); ++agent) {
      if (!isOf(agent, branch))
        continue;
      if (branch.variable == kNone || values[agent][branch.variable] == kNoValue)
        return std::nullopt;
      const int difference = values[agent][branch.variable] - branch.value;
      const std::optional<bool> here = holds(branch.compares, difference, difference);
      if (said && said != here)
        return std::nullopt;
      said = here;
    }
    return said;
  }
  static std::optional<bool> areMet(const Node& branch) {
    bool areAllKnown = !branch.conditions.empty() && !branch.asksMore;
    for (const Condition& condition : branch.conditions) {
      const bool isKnown =
          condition.terms.empty() && condition.left.empty() && condition.values.empty();
      const std::optional<bool> isMet =
          isKnown ? holds(condition.kind, condition.constant, condition.constant + condition.spread)
                  : std::nullopt;
      if (isMet == false)
        return false;
      areAllKnown = areAllKnown && isMet;
    }
    return areAllKnown ? std::optional(true) : std::nullopt;
  }

  Numbers values;
  /// Variables that go on from turn to turn: where a loop may have another number of turns than are written out, nothing is
  /// known of them.
  const std::map<unsigned, int> unsettled;
};

} // namespace

void settleVariables(Unrolled& unrolled) {
  VariableSettler settler(unrolled);
  if (!settler.asksLoops)
    settler.settle(unrolled.program.body);
}

} // namespace tilewright::ascend::model
