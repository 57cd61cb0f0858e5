// SPDX-License-Identifier: Apache-2.0
// What is known where a node stands, as sums that are not negative. A sum is bounded by adding known ones to it, each as
// often as it takes for a term to go, until nothing but a number is left.
#include "compiler/targets/ascend/analysis/settle_branches.h"

#include <algorithm>
#include <tuple>

namespace tilewright::ascend::model {
namespace {

/// What a sum has a multiple of: iterations before or behind the one at hand, a remainder, or a value.
struct Unit {
  enum Kind : uint8_t { Before, Behind, Value } kind = Before;
  unsigned number = 0;
  int64_t modulus = 0, shift = 0;
  std::vector<unsigned> others = {};
  std::vector<int64_t> table = {};
  auto operator<=>(const Unit&) const = default;
};

struct Sum {
  int64_t constant = 0;
  std::map<Unit, int64_t> units;

  void add(int64_t times, const Sum& other) {
    constant += times * other.constant;
    for (const auto& [unit, count] : other.units)
      if ((units[unit] += times * count) == 0)
        units.erase(unit);
  }
  Sum times(int64_t factor) const {
    Sum result;
    result.add(factor, *this);
    return result;
  }
};

/// So large numbers are left alone: no sum of some of them has no room.
constexpr int64_t kLargest = int64_t{1} << 32;

bool isSmall(int64_t number) {
  return std::abs(number) < kLargest;
}

std::optional<Sum> sumOf(const Condition& condition) {
  Sum sum{condition.constant, {}};
  bool isSmallEnough = isSmall(condition.constant) && isSmall(condition.spread);
  const auto add = [&](Unit unit, int64_t count) {
    isSmallEnough = isSmallEnough && isSmall(count);
    sum.add(1, {0, {{std::move(unit), count}}});
  };
  for (const Term& term : condition.terms)
    add({Unit::Before, term.loop, term.modulus, term.shift, term.others, term.table}, term.bytes);
  for (const Term& term : condition.left)
    add({Unit::Behind, term.loop}, term.bytes);
  for (const Term& term : condition.values)
    add({Unit::Value, term.loop}, term.bytes);
  return isSmallEnough ? std::optional(std::move(sum)) : std::nullopt;
}

class Settler {
public:
  explicit Settler(Program& program) : program(program) {
    for (const auto& [number, span] : program.values) {
      const Sum value{0, {{{Unit::Value, number}, 1}}};
      addSpan(value, span);
    }
  }

  void settle(Block& block) {
    for (Node* node : block) {
      settle(*node);
      const size_t known = notNegative.size(), unequal = notZero.size();
      const auto forget = [&] {
        notNegative.resize(known);
        notZero.resize(unequal);
      };
      if (node->kind == NodeKind::Loop)
        addIterations(*node);
      for (const Condition& condition : node->conditions)
        addKnown(condition, condition.kind);
      settle(node->body);
      forget();
      if (node->conditions.size() == 1 && !node->isBoth && !node->asksMore)
        addKnown(node->conditions.front(), opposite(node->conditions.front().kind));
      settle(node->otherwise);
      forget();
    }
  }

private:
  void addSpan(const Sum& sum, const Span& span) {
    if (isSmall(span.low)) {
      Sum above = sum;
      above.constant -= span.low;
      notNegative.push_back(std::move(above));
    }
    if (isSmall(span.high)) {
      Sum below = sum.times(-1);
      below.constant += span.high;
      notNegative.push_back(std::move(below));
    }
  }

  void addIterations(const Node& loop) {
    const Sum before{0, {{{Unit::Before, loop.id}, 1}}}, behind{0, {{{Unit::Behind, loop.id}, 1}}};
    const int64_t last = loop.trips > 0 ? loop.trips - 1 : kEndless;
    addSpan(before, {0, last});
    addSpan(behind, {0, last});
    if (loop.trips >= 0 || loop.length.step < 1 || !isSmall(loop.length.step))
      return;
    // The first number plus the steps so far is less than the end.
    Condition inside{Comparison::Greater, loop.length.constant, {{loop.id, -loop.length.step}}};
    for (const Term& term : loop.length.terms)
      (term.loop < program.nodes.size() ? inside.terms : inside.values).push_back(term);
    addKnown(inside, inside.kind);
  }

  void addKnown(const Condition& condition, Comparison kind) {
    std::optional<Sum> sum = sumOf(condition);
    if (!sum)
      return;
    const Sum most = Sum(*sum).times(-1);
    const auto atLeast = [&](int64_t least) {
      Sum above = *sum;
      above.constant += condition.spread - least;
      notNegative.push_back(std::move(above));
    };
    const auto atMost = [&](int64_t high) {
      Sum below = most;
      below.constant += high;
      notNegative.push_back(std::move(below));
    };
    switch (kind) {
    case Comparison::Equal:
      atLeast(0);
      return atMost(0);
    case Comparison::NotEqual:
      if (condition.spread == 0)
        notZero.push_back(std::move(*sum));
      return;
    case Comparison::Less:
      return atMost(-1);
    case Comparison::LessOrEqual:
      return atMost(0);
    case Comparison::Greater:
      return atLeast(1);
    case Comparison::GreaterOrEqual:
      return atLeast(0);
    }
  }

  /// The least bound of a sum that some known ones give.
  int64_t mostOf(const Sum& sum, unsigned steps) const {
    if (sum.units.empty())
      return sum.constant;
    if (steps == 0)
      return kEndless;
    const auto& [unit, count] = *sum.units.begin();
    int64_t most = kEndless;
    for (const Sum& known : notNegative) {
      const auto found = known.units.find(unit);
      if (found == known.units.end() || (found->second > 0) == (count > 0) ||
          count % found->second != 0)
        continue;
      Sum more = sum;
      more.add(-count / found->second, known);
      if (isSmall(more.constant))
        most = std::min(most, mostOf(more, steps - 1));
    }
    return most;
  }

  std::optional<bool> isSo(const Condition& condition) const {
    constexpr unsigned mostSteps = 3;
    const std::optional<Sum> sum = sumOf(condition);
    if (!sum || sum->units.empty())
      return std::nullopt; // others know
    int64_t low = -mostOf(sum->times(-1), mostSteps);
    const int64_t high = mostOf(*sum, mostSteps);
    if (low > high)
      return std::nullopt; // stands where nothing comes
    const auto isNever = [&](int64_t number) {
      return std::ranges::any_of(notZero, [&](const Sum& known) {
        for (const int64_t sign : {1, -1}) {
          Sum rest = *sum;
          rest.add(sign, known);
          if (rest.units.empty() && rest.constant == number)
            return true;
        }
        return false;
      });
    };
    if (condition.spread == 0 && isNever(0)) {
      if (condition.kind == Comparison::Equal || condition.kind == Comparison::NotEqual)
        return condition.kind == Comparison::NotEqual;
      low += low == 0;
    }
    return holds(condition.kind, low, high == kEndless ? high : high + condition.spread);
  }

  void settle(Node& node) const {
    const Condition yes{Comparison::Equal, 0, {}}, no{Comparison::NotEqual, 0, {}};
    std::vector<Condition> open;
    for (const Condition& condition : node.conditions) {
      const std::optional<bool> known = isSo(condition);
      if (known == false) {
        node.conditions = {no};
        return;
      }
      if (!known)
        open.push_back(condition);
    }
    if (open.empty() && !node.conditions.empty())
      open.push_back(yes);
    node.conditions = std::move(open);
  }

  Program& program;
  std::vector<Sum> notNegative; ///< sums of which that is known
  std::vector<Sum> notZero;
};

/// Equal questions look the same: whether a sum is 0, or whether it is no more than 0; or the opposite.
struct Asked {
  Sum sum;
  bool isOfZero = false, isOpposite = false;

  bool isAbout(const Asked& other) const {
    return isOfZero == other.isOfZero && sum.constant == other.sum.constant &&
           sum.units == other.sum.units;
  }
};

/// Nothing of a branch that cores of a block take each in its own way: they count as one agent.
std::optional<Asked> askedBy(const Node& node) {
  if (node.kind != NodeKind::If || node.conditions.size() != 1 || node.asksMore ||
      node.variable != kNone || node.isOfSomeCores || node.conditions.front().spread != 0)
    return std::nullopt;
  const Comparison kind = node.conditions.front().kind;
  std::optional<Sum> sum = sumOf(node.conditions.front());
  if (!sum || sum->units.empty())
    return std::nullopt;
  Asked asked{std::move(*sum), kind == Comparison::Equal || kind == Comparison::NotEqual,
              kind == Comparison::NotEqual || kind == Comparison::Greater ||
                  kind == Comparison::GreaterOrEqual};
  if (kind == Comparison::Less || kind == Comparison::GreaterOrEqual)
    ++asked.sum.constant;
  if (asked.sum.units.begin()->second < 0) {
    asked.sum = asked.sum.times(-1);
    // No more than 0 is what its opposite has no more than -1 of.
    if (!asked.isOfZero) {
      ++asked.sum.constant;
      asked.isOpposite = !asked.isOpposite;
    }
  }
  return asked;
}

bool assigns(const Block& block) {
  return std::ranges::any_of(block, [](const Node* node) {
    return (node->kind == NodeKind::Assign && !node->isStep) || assigns(node->body) ||
           assigns(node->otherwise);
  });
}

/// Only exits: each variable more means more ways that are followed apart, here until the exit.
void tieExits(Program& program, const Block& block) {
  for (Node* exit : block) {
    tieExits(program, exit->body);
    tieExits(program, exit->otherwise);
    const std::optional<Asked> asked = askedBy(*exit);
    if (!asked || !(assigns(exit->body) || assigns(exit->otherwise)))
      continue;
    const Node* first = nullptr;
    bool isFirstOpposite = false;
    for (Node* node : block) {
      const std::optional<Asked> same = askedBy(*node);
      if (same && same->isAbout(*asked) && first) {
        node->variable = first->notes;
        node->value = same->isOpposite == isFirstOpposite ? 1 : 0;
      } else if (same && same->isAbout(*asked) && node != exit && node->notes == kNone) {
        node->notes = program.variables++;
        isFirstOpposite = same->isOpposite;
        first = node;
      }
      if (node == exit)
        break;
    }
    if (first)
      exit->forgets.push_back(first->notes);
  }
}

} // namespace

void settleBranches(Program& program) {
  Settler(program).settle(program.body);
  tieExits(program, program.body);
}

} // namespace tilewright::ascend::model
