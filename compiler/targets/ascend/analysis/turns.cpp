// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/turns.h"

#include <algorithm>

namespace tilewright::ascend::model {

Turns::Turns(const Program& program)
    : values(program.values), turns(program.nodes.size()), ends(program.nodes.size()) {
  for (const Node& node : program.nodes)
    if (node.kind == NodeKind::Loop && node.trips >= 0)
      turns[node.id].most = turns[node.id].mostLeft = std::max(node.trips - 1, int64_t{0});
  // Outer loops stand before inner ones.
  for (const Node& node : program.nodes)
    if (node.kind == NodeKind::If)
      addEnds(node);
  for (const Node& node : program.nodes)
    if (node.kind == NodeKind::Loop && isDeep(&node))
      ends[node.id] = {};
}

/// Where two loops around have ends, too, the walk would take too long.
bool Turns::isDeep(const Node* loop) const {
  int around = 0;
  for (const Node* each = loop->parent; each; each = each->parent)
    around += each->kind == NodeKind::Loop && (ends[each->id].first || ends[each->id].last);
  return around > 1;
}

/// As many iterations as it takes until what a branch asks for has one answer.
void Turns::addEnds(const Node& branch) {
  constexpr int64_t mostAtOneEnd = 4;
  const auto add = [&](const Condition& condition, const Term& term, int64_t Turn::* least,
                       int64_t Ends::* end) {
    if (term.loop >= turns.size() || term.modulus || turns[term.loop].most < kEndless)
      return;
    int64_t& number = turns[term.loop].*least;
    while (number < mostAtOneEnd && !isTrue(condition))
      ++number;
    if (isTrue(condition))
      ends[term.loop].*end = std::max(ends[term.loop].*end, number);
    number = 0;
  };
  for (const Condition& condition : branch.conditions) {
    for (const Term& term : condition.terms)
      add(condition, term, &Turn::least, &Ends::first);
    for (const Term& term : condition.left)
      add(condition, term, &Turn::leastLeft, &Ends::last);
  }
}

std::optional<bool> Turns::isTaken(const Node& branch) const {
  std::optional<bool> all = branch.conditions.empty() ? std::nullopt : std::optional(true);
  for (const Condition& condition : branch.conditions) {
    const std::optional<bool> here = isTrue(condition);
    if (here == false)
      return false;
    if (!here)
      all = std::nullopt;
  }
  return branch.asksMore ? std::nullopt : all;
}

std::optional<bool> Turns::isTrue(const Condition& condition) const {
  Span sum{condition.constant, condition.constant + condition.spread};
  for (const Term& term : condition.terms) {
    if (term.loop >= turns.size())
      return std::nullopt;
    const Turn& turn = turns[term.loop];
    if (!term.modulus) {
      sum.add(term.bytes, {turn.least, turn.most});
      continue;
    }
    const bool isOne = turn.least == turn.most, isPhase = turn.period % term.modulus == 0;
    if (term.others.empty() && (isOne || isPhase)) {
      const int64_t rest =
          term.ofRest(((isOne ? turn.least : turn.phase) + term.shift) % term.modulus);
      sum.add(term.bytes, {rest, rest});
    } else {
      sum.add(term.bytes, term.rests());
    }
  }
  for (const Term& term : condition.left)
    sum.add(term.bytes, {turns[term.loop].leastLeft, turns[term.loop].mostLeft});
  for (const Term& term : condition.values) {
    const auto value = values.find(term.loop);
    if (value == values.end())
      return std::nullopt;
    sum.add(term.bytes, value->second);
  }
  return holds(condition.kind, sum.low, sum.high);
}

} // namespace tilewright::ascend::model
