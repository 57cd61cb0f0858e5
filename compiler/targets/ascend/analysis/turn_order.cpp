// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/turn_order.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

/// Leaves of the turns those in which `constant + step * turn` is not above 0.
void keepNotAbove(Span& turns, int64_t constant, int64_t step) {
  if (step > 0)
    turns.high = std::min(turns.high, floorDiv(-constant, step));
  else // turn >= constant / -step, rounded up
    turns.low = std::max(turns.low, -floorDiv(-constant, -step));
}

void keep(Span& turns, Comparison kind, int64_t constant, int64_t step) {
  switch (kind) {
  case Comparison::Less:
    return keepNotAbove(turns, constant + 1, step);
  case Comparison::LessOrEqual:
    return keepNotAbove(turns, constant, step);
  case Comparison::Greater:
    return keepNotAbove(turns, 1 - constant, -step);
  case Comparison::GreaterOrEqual:
    return keepNotAbove(turns, -constant, -step);
  case Comparison::Equal:
    keepNotAbove(turns, constant, step);
    return keepNotAbove(turns, -constant, -step);
  default:
    return;
  }
}

/// Of what is asked of the loop's number alone.
void keepWhere(Span& turns, const Condition& condition, Comparison kind, const Node& loop) {
  constexpr int64_t most = int64_t{1} << 40; // sums of such numbers have room
  if (condition.terms.size() != 1 || condition.spread != 0 || !condition.left.empty() ||
      !condition.values.empty() || std::abs(condition.constant) > most)
    return;
  const Term& term = condition.terms.front();
  if (term.loop == loop.id && term.modulus == 0 && term.bytes != 0 && std::abs(term.bytes) <= most)
    keep(turns, kind, condition.constant, term.bytes);
}

Span turnsLeftTo(const Node& statement, const Node& loop) {
  Span turns{0, kEndless};
  const Node* inner = &statement;
  for (const Node* node = statement.parent; node && node != &loop;
       inner = node, node = node->parent) {
    if (inner->isOfNoTurn)
      return {0, kEndless};
    if (node->kind != NodeKind::If)
      continue;
    const bool isTaken = std::ranges::find(node->body, inner) != node->body.end();
    // Not all of several need not to hold.
    if (!isTaken && (node->conditions.size() != 1 || node->asksMore || node->isBoth))
      continue;
    for (const Condition& condition : node->conditions)
      keepWhere(turns, condition, isTaken ? condition.kind : opposite(condition.kind), loop);
  }
  return turns;
}

} // namespace

bool isNeverBehind(const Node& later, const Node& earlier, const Node& loop) {
  const Span first = turnsLeftTo(earlier, loop), second = turnsLeftTo(later, loop);
  return first.low > first.high || second.low > second.high || second.high <= first.low;
}

} // namespace tilewright::ascend::model
