// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/cases.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

/// So many iterations are told apart.
constexpr int64_t kIterations = 4;
constexpr size_t kMostCases = 12; ///< of a value

int64_t ceilDiv(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient;
}

/// Where a value begins to be such that `factor` times it is at least `least`, or stops being so.
int64_t leastFor(int64_t least, int64_t factor) {
  return factor > 0 ? ceilDiv(least, factor) : 1 - ceilDiv(least, -factor);
}

} // namespace

Cases::Cases(const Program& program) : program(program) {
  addPoints(program);
  for (const auto& [number, all] : points) {
    const auto known = program.values.find(number);
    const Span span = known == program.values.end() ? Span{-kEndless, kEndless} : known->second;
    Symbol symbol{number, {span.low}, span.high};
    for (const int64_t point : all)
      if (point > span.low && point <= span.high && symbol.begins.size() < kMostCases)
        symbol.begins.push_back(point);
    if (symbol.begins.size() > 1)
      symbols.push_back(std::move(symbol));
  }
}

/// Where a loop gets another iteration, or a branch goes another way in one of the first ones, all other values
/// being 0.
void Cases::addPoints(const Program& program) {
  const auto addOf = [&](const Condition& condition, int64_t constant) {
    for (const Term& term : condition.values) {
      const int64_t zero = ceilDiv(-constant, term.bytes);
      addPoint(term.loop, zero);
      addPoint(term.loop, zero + 1);
    }
  };
  for (const Node& node : program.nodes) {
    for (const Condition& condition : node.conditions) {
      addOf(condition, condition.constant);
      for (const Term& term : condition.terms)
        for (int64_t i = 1; i <= kIterations; ++i)
          addOf(condition, condition.constant + term.bytes * i);
    }
    if (node.kind != NodeKind::Loop || node.trips >= 0 || node.length.step == 0)
      continue;
    for (const Term& term : node.length.terms)
      if (!term.modulus && term.loop >= program.nodes.size())
        for (int64_t trips = 0; trips <= kIterations; ++trips)
          addPoint(term.loop,
                   leastFor(trips * node.length.step + 1 - node.length.constant, term.bytes));
  }
}

void Cases::addPoint(unsigned symbol, int64_t at) {
  if (std::abs(at) < kEndless / 2)
    points[symbol].insert(at);
}

Values Cases::valuesOf(const Part& part) const {
  Values values;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const auto& [number, begins, end] = symbols[i];
    const auto [first, behind] = part[i];
    values[number] = {begins[first], behind < begins.size() ? begins[behind] - 1 : end};
  }
  return values;
}

std::unique_ptr<Cases::Case> Cases::at(const Part& part) const {
  Values values = valuesOf(part);
  std::optional<Unrolled> unrolled = unroll(program, kMostUnrolled, values, {}, slice);
  if (!unrolled)
    return nullptr;
  auto found = std::make_unique<Case>(std::move(*unrolled));
  std::erase_if(values, [&](const auto& value) { return !asked.contains(value.first); });
  found->values = std::move(values);
  return found;
}

/// The values that say how the branches and loops of the slice go, and where its statements touch memory: cases of others
/// are all alike.
void Cases::noteAsked() {
  asked.clear();
  near.clear();
  const auto addOffsets = [&](const Range& range) {
    for (const Term& term : range.terms) {
      asked.insert(term.loop);
      asked.insert(term.values.begin(), term.values.end());
    }
  };
  for (const Node& node : program.nodes) {
    if (!slice->keeps(&node))
      continue;
    const auto add = [&](const std::vector<Term>& terms) {
      for (const Term& term : terms) {
        asked.insert(term.loop);
        if (slice->isAround(&node))
          near.insert(term.loop);
      }
    };
    for (const Condition& condition : node.conditions)
      add(condition.values);
    if (node.kind == NodeKind::Loop && node.trips < 0)
      add(node.length.terms);
    for (const Access& access : node.accesses)
      access.forEachRange(addOffsets);
  }
}

std::vector<std::unique_ptr<Cases::Case>> Cases::examples() const {
  constexpr unsigned most = 6;
  std::set<Part> parts;
  for (unsigned number = 1; number <= most; ++number) {
    Part part;
    for (const Symbol& symbol : symbols) {
      // Behind the last point a loop may have any number of iterations.
      const size_t count = std::max<size_t>(symbol.begins.size() - 1, 1);
      const auto one = static_cast<unsigned>(number * (part.size() + 1) % count);
      part.emplace_back(one, one + 1);
    }
    parts.insert(std::move(part));
  }
  std::vector<std::unique_ptr<Case>> found;
  for (const Part& part : parts)
    if (std::unique_ptr<Case> one = at(part); one && one->unrolled.isComplete)
      found.push_back(std::move(one));
  return found;
}

std::vector<Values> Cases::leastOnes() const {
  size_t count = 1;
  for (const Symbol& symbol : symbols)
    count = std::clamp(symbol.begins.size(), count, size_t{5});
  std::vector<Values> runs;
  for (size_t run = 0; run < count; ++run) {
    Values values;
    for (const Symbol& symbol : symbols) {
      const size_t number = std::min(run, symbol.begins.size() - 1);
      // The first case may have no least number.
      const int64_t value = number == 0 ? symbol.begins[1] - 1 : symbol.begins[number];
      values[symbol.number] = {value, value};
    }
    runs.push_back(std::move(values));
  }
  return runs;
}

bool Cases::always(const Slice& of, const IsSo& isSo) {
  slice = &of;
  noteAsked();
  limitOfLast = {};
  Part all, last;
  for (const Symbol& symbol : symbols) {
    const auto count = static_cast<unsigned>(symbol.begins.size());
    all.emplace_back(0, count);
    last.emplace_back(asked.contains(symbol.number) ? count - 1 : 0, count);
  }
  left = kMostCasesAsked;
  // The longest loops need most.
  const auto longest = at(last);
  if (!longest) {
    limitOfLast.kind = Finding::Kind::Statements;
    limitOfLast.values = valuesOf(last);
    std::erase_if(limitOfLast.values,
                  [&](const auto& value) { return !asked.contains(value.first); });
  }
  if (!longest || !isSo(*longest, /*isSingle=*/true))
    return false;
  return always(all, isSo);
}

/// Of the values that are asked for, the one of most cases, and how many these are; of those near what is asked about first,
/// which often decide alone.
std::pair<size_t, unsigned> Cases::widestOf(const Part& part) const {
  const auto widestIn = [&](const std::set<unsigned>& values) {
    std::pair<size_t, unsigned> widest{0, 0};
    for (size_t i = 0; i < symbols.size(); ++i)
      if (const unsigned width = part[i].second - part[i].first;
          values.contains(symbols[i].number) && width > widest.second)
        widest = {i, width};
    return widest;
  };
  const std::pair<size_t, unsigned> widest = widestIn(near);
  return widest.second > 1 ? widest : widestIn(asked);
}

bool Cases::always(const Part& part, const IsSo& isSo) {
  if (left == 0) {
    limitOfLast.kind = Finding::Kind::Cases;
    for (const Symbol& symbol : symbols)
      if (asked.contains(symbol.number))
        limitOfLast.values[symbol.number] = {symbol.begins.front(), symbol.end};
    return false;
  }
  --left;
  const auto [number, width] = widestOf(part);
  const bool isSingle = width < 2;
  const auto found = at(part);
  if (found && isSo(*found, isSingle))
    return true;
  if (isSingle && !found) {
    limitOfLast.kind = Finding::Kind::Statements;
    limitOfLast.values = valuesOf(part);
    std::erase_if(limitOfLast.values,
                  [&](const auto& value) { return !asked.contains(value.first); });
  }
  if (isSingle)
    return false;
  const unsigned middle = (part[number].first + part[number].second + 1) / 2;
  Part low = part, high = part;
  low[number].second = high[number].first = middle;
  return always(high, isSo) && always(low, isSo);
}

} // namespace tilewright::ascend::model
