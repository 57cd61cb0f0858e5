// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/cross_counts.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

using Kind = CrossCounts::Kind;

constexpr size_t kMostFlags = 20'000, kMostOfRun = 2'000;

/// Where a value begins to be such that `factor` times it is at least `least`, or stops being so.
int64_t leastWith(int64_t least, int64_t factor) {
  const int64_t size = std::abs(factor), up = (std::abs(least) + (least > 0 ? size - 1 : 0)) / size;
  const int64_t quotient = least > 0 ? up : -up;
  return factor > 0 ? quotient : -quotient;
}

/// Whether a sync never runs.
bool isNever(const Node& node) {
  for (const Node* each = node.parent; each; each = each->parent)
    if (each->kind == NodeKind::Loop && each->trips == 0)
      return true;
  return false;
}

/// Flags that nobody sets, or nobody waits for.
std::vector<Fault> faultsOfEnds(const Program& program) {
  std::vector<bool> set(program.flags.size()), waited(program.flags.size());
  const auto isEnd = [&](const Node& node) {
    return node.kind == NodeKind::Sync && node.sync.flag != kNone &&
           program.flags[node.sync.flag].isCross;
  };
  for (const Node& node : program.nodes)
    for (unsigned slot = 0; isEnd(node) && slot < node.sync.slots(); ++slot)
      (node.sync.kind == SyncKind::Set ? set : waited)[node.sync.flag + slot] = true;
  std::vector<Fault> faults;
  std::set<unsigned> told;
  for (const Node& node : program.nodes) {
    if (!isEnd(node) || isNever(node))
      continue;
    const bool isSet = node.sync.kind == SyncKind::Set;
    const std::vector<bool>& partners = isSet ? waited : set;
    bool hasPartner = false;
    for (unsigned slot = 0; slot < node.sync.slots(); ++slot)
      hasPartner = hasPartner || partners[node.sync.flag + slot];
    if (!hasPartner && told.insert(node.sync.flag).second)
      faults.push_back(
          {isSet ? FaultKind::NotWaitedFor : FaultKind::NeverSet, &node, node.sync.flag});
  }
  return faults;
}

class Counter {
public:
  explicit Counter(const Program& program) : program(program), slice(Slice::ofCores(program)) {
    for (const Node& node : program.nodes)
      if (slice.keeps(&node))
        addValues(node);
  }

  /// Where each run is as long; nothing if the lengths aren't known, or it is too long.
  std::optional<CrossCounts> ofConstantLengths() const {
    if (areUnknown())
      return std::nullopt;
    std::optional<Interleaved> all = interleaveFlags(program, slice, kMostFlags, kEndless);
    if (!all)
      return std::nullopt;
    if (all->faults.empty())
      return CrossCounts{.kind = Kind::Match};
    return CrossCounts{.kind = Kind::Wrong, .faults = std::move(all->faults)};
  }

  CrossCounts run() const {
    return areUnknown() ? ofLengths() : ofLongLoops();
  }

private:
  bool areUnknown() const {
    return !lengths.empty() || !asked.empty() || hasOpenLoops;
  }

  /// Values that lengths and branches are made of. Of a length, the first one that isn't in another decides.
  void addValues(const Node& node) {
    const auto isOpen = [&](const Term& term) {
      if (term.loop < program.nodes.size() || term.loop == kNone)
        return false;
      const auto known = program.values.find(term.loop);
      return known == program.values.end() || known->second.low != known->second.high;
    };
    for (const Condition& condition : node.conditions)
      for (const Term& term : condition.values)
        if (isOpen(term))
          asked.insert(term.loop);
    if (node.kind != NodeKind::Loop || node.trips >= 0)
      return;
    hasOpenLoops = hasOpenLoops || node.length.step == 0;
    const Term* widest = nullptr;
    for (const Term& term : node.length.terms)
      if (node.length.step != 0 && isOpen(term)) {
        others.insert(term.loop);
        if (!term.modulus && (!widest || widthOf(term.loop) > widthOf(widest->loop)))
          widest = &term;
      }
    if (widest)
      lengths.try_emplace(widest->loop, Of{&node, widest});
  }

  Span spanOf(unsigned value) const {
    const auto known = program.values.find(value);
    return known == program.values.end() ? Span{-kEndless, kEndless} : known->second;
  }
  int64_t widthOf(unsigned value) const {
    const Span span = spanOf(value);
    return span.high - span.low;
  }
  int64_t within(unsigned value, int64_t number) const {
    const Span span = spanOf(value);
    return std::clamp(number, span.low, span.high);
  }

  /// A loop's length, and the term of it that a value gives.
  struct Of {
    const Node* loop = nullptr;
    const Term* term = nullptr;
  };

  /// With which a loop makes so many turns, if all other values are what `values` says.
  int64_t valueFor(const Of& of, int64_t turns, const Values& values) const {
    const Length& length = of.loop->length;
    int64_t rest = length.constant;
    for (const Term& term : length.terms)
      if (const auto found = values.find(term.loop); &term != of.term && found != values.end())
        rest += term.bytes * found->second.low;
    const int64_t least = turns == 0 ? -length.step + 1 : (turns - 1) * length.step + 1;
    return within(of.term->loop, leastWith(least - rest, of.term->bytes));
  }

  /// Runs in which the loops of the first value make so many turns, and those of others as many, or more or fewer.
  std::vector<Values> runsOf(int64_t turns) const {
    Values base;
    for (const unsigned value : others)
      if (const int64_t zero = within(value, 0); !lengths.contains(value))
        base[value] = {zero, zero};
    std::vector<Values> runs = {base};
    const auto each = [&](const auto& numbersOf) {
      std::vector<Values> more;
      for (const Values& run : runs)
        for (const auto& [value, number] : numbersOf(run)) {
          more.push_back(run);
          more.back()[value] = {number, number};
        }
      runs = std::move(more);
    };
    bool isFirst = true;
    for (const auto& [value, of] : lengths) {
      each([&, value = value, of = of](const Values& run) {
        std::vector<std::pair<unsigned, int64_t>> numbers;
        for (const int64_t count : {turns, turns + 1, turns - 1, 2 * turns, turns / 2, int64_t{1}})
          if (numbers.empty() || (!isFirst && count >= 0))
            numbers.emplace_back(value, valueFor(of, count, run));
        return numbers;
      });
      isFirst = false;
    }
    for (const unsigned value : asked)
      if (!lengths.contains(value))
        each([&](const Values&) {
          std::set<std::pair<unsigned, int64_t>> numbers;
          for (const int64_t number : askedOf(value))
            numbers.emplace(value, within(value, number));
          return numbers;
        });
    return runs;
  }

  /// Numbers on both sides of what branches compare a value with.
  std::vector<int64_t> askedOf(unsigned value) const {
    std::vector<int64_t> numbers = {0, 1, 2};
    for (const Node& node : program.nodes)
      for (const Condition& condition : node.conditions)
        for (const Term& term : condition.values)
          if (term.loop == value && slice.keeps(&node))
            for (const int64_t offset : {-1, 0, 1})
              numbers.push_back(offset + leastWith(-condition.constant, term.bytes));
    return numbers;
  }

  static bool isOfValues(const Node* loop) {
    return loop->length.step != 0;
  }

  /// What doesn't match where no run of a length does, of the first of them; nothing where none can be followed.
  std::optional<std::vector<Fault>> ofTurns(int64_t turns) const {
    std::optional<std::vector<Fault>> faults;
    for (const Values& values : runsOf(turns)) {
      std::optional<Interleaved> found =
          interleaveFlags(program, slice, kMostOfRun, kEndless, values, turns);
      if (!found || std::ranges::any_of(found->cut, isOfValues))
        continue;
      if (found->faults.empty())
        return std::vector<Fault>();
      if (!faults)
        faults = std::move(found->faults);
    }
    return faults;
  }

  /// How much more often a flag is set than waited for.
  std::optional<int64_t> surplusOf(unsigned flag, int64_t turns) const {
    const std::optional<Unrolled> run =
        unrollFirstOf(program, kMostOfRun, kEndless, &slice, runsOf(turns).front(), turns);
    if (!run)
      return std::nullopt;
    int64_t surplus = 0;
    for (const Node& node : run->program.nodes)
      if (node.kind == NodeKind::Sync && node.sync.flag == flag)
        surplus += node.sync.kind == SyncKind::Set ? 1 : -1;
    return surplus;
  }

  /// Whether another number of turns than those up to `most` may mend a flag.
  bool mayBeMended(unsigned flag, int64_t most) const {
    const std::optional<int64_t> last = surplusOf(flag, most), before = surplusOf(flag, most - 1),
                                 first = surplusOf(flag, most - 2);
    if (!last || !before || !first || *last - *before != *before - *first)
      return true;
    const int64_t step = *last - *before;
    if (step == 0 || *last % step != 0 || *last / step > 0)
      return false;
    const auto mended = ofTurns(most - *last / step);
    return !mended || mended->empty();
  }

  /// Of turns that branches ask for, and some behind them.
  int64_t latestAsked() const {
    constexpr int64_t least = 32, most = 128, behind = 4;
    int64_t latest = least;
    for (const Node& node : program.nodes)
      for (const Condition& condition : node.conditions)
        if (slice.keeps(&node) && !condition.terms.empty())
          latest = std::max(latest, std::min(std::abs(condition.constant) + behind, most));
    return latest;
  }

  CrossCounts ofLengths() const {
    constexpr size_t mostValues = 3, leastRuns = 3;
    const bool isOne =
        lengths.size() == 1 && !hasOpenLoops &&
        std::ranges::all_of(asked, [&](unsigned value) { return lengths.contains(value); });
    if (lengths.size() + asked.size() > mostValues)
      return {};
    const int64_t most = isOne ? latestAsked() : 8;
    CrossCounts counts;
    size_t matching = 0, wrong = 0;
    int64_t turns = 0;
    for (; turns <= most; ++turns) {
      std::optional<std::vector<Fault>> faults = ofTurns(turns);
      if (!faults)
        break;
      if (faults->empty() && wrong > 0)
        return {}; // it may be made for such a length
      ++(faults->empty() ? matching : wrong);
      if (wrong == 1) {
        counts.faults = std::move(*faults);
        counts.turns = turns;
      }
    }
    if (wrong == 0)
      return {.kind = turns > most ? Kind::Match : Kind::Unknown};
    if (wrong < leastRuns || mayBeMended(counts.faults.front().flag, turns - 1))
      return {};
    counts.kind = isOne && counts.turns <= 2 ? Kind::Wrong : Kind::WrongSoFar;
    return counts;
  }

  /// Of loops that are too long, if all of them are as long, each number of turns stands for all.
  CrossCounts ofLongLoops() const {
    constexpr int64_t most = 32;
    std::set<int64_t> longOnes;
    int64_t least = 2;
    for (const Node& node : program.nodes)
      if (node.kind == NodeKind::Loop && slice.keeps(&node)) {
        if (node.trips > most)
          longOnes.insert(node.trips);
        else
          least = std::max(least, node.trips);
      }
    if (longOnes.size() != 1)
      return {};
    CrossCounts counts{.kind = Kind::WrongSoFar};
    for (int64_t longest = least; longest < least + 3; ++longest) {
      std::optional<Interleaved> found = interleaveFlags(program, slice, kMostFlags, longest);
      if (!found || found->faults.empty())
        return {};
      counts.faults = std::move(found->faults);
    }
    return counts;
  }

  const Program& program;
  const Slice slice;
  std::map<unsigned, Of> lengths; ///< by value that decides it
  std::set<unsigned> others;      ///< all values in lengths
  std::set<unsigned> asked;       ///< by branches
  bool hasOpenLoops = false;      ///< of whose lengths nothing is known
};

} // namespace

CrossCounts countCrossFlags(const Program& program) {
  const Counter counter(program);
  if (std::optional<CrossCounts> sure = counter.ofConstantLengths())
    return *sure;
  std::vector<Fault> ends = faultsOfEnds(program);
  if (!ends.empty())
    return {.kind = Kind::Wrong, .faults = std::move(ends)};
  return counter.run();
}

} // namespace tilewright::ascend::model
