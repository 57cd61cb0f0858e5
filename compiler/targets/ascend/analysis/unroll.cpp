// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/unroll.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

/// The number of an iteration: `first`, plus that of `loop` if there is one, which then makes `trips`; and how many
/// iterations are still to come, in each of them.
struct CopiedTurn {
  int64_t first = 0;
  unsigned loop = kNone;
  int64_t trips = 1;
  Span left{0, kEndless};
  int64_t behind = 0; ///< of those, written out behind `loop`
};

class Unroller {
public:
  Unroller(const Program& source, int64_t longest, std::optional<int64_t> mostFirst,
           const Answers& answers = {}, const Values& values = {}, const Slice* slice = nullptr)
      : source(source), longest(longest), mostFirst(mostFirst), answers(answers), values(values),
        slice(slice) {
    turns.resize(source.nodes.size());
    this->values.insert(source.values.begin(), source.values.end());
    result.program.flags = source.flags;
    result.program.reserved = source.reserved;
    result.program.values = this->values;
    result.program.apart = source.apart;
    result.program.variables = source.variables;
    result.program.toldApart = source.toldApart;
    result.program.hasPhasesOfBranches = true; // what is left of loops decides a proof
  }

  int64_t mostUnknown =
      kEndless; ///< turns of loops of unknown length, of which only the first ones are written out

  /// Nothing if more than `most` nodes would result: they are counted before any is made.
  std::optional<Unrolled> run(size_t most) {
    mostNodes = most;
    for (const bool counts : {true, false}) {
      isCounting = counts;
      numNodes = iterations = ownTurn = lastOwnTurn = 0;
      turns.assign(source.nodes.size(), {});
      result.isComplete = true;
      copy(source.body, result.program.body, nullptr);
      if (isTooLong())
        return std::nullopt;
    }
    return std::move(result);
  }

private:
  Node* add(const Node* origin, Block& block, Node* parent, NodeKind kind) {
    ++numNodes;
    if (isCounting)
      return &counted;
    result.origins.push_back(origin);
    result.turns.push_back(kind == NodeKind::Statement ? open : std::map<const Node*, int64_t>());
    Node* node = result.program.add(block, parent, kind);
    node->tag = origin->tag;
    node->side = origin->side;
    return node;
  }

  void copy(const Block& from, Block& to, Node* parent) {
    for (const Node* node : from) {
      if (isTooLong())
        return;
      copySyncs(node->before, node, to, parent);
      if (!slice || slice->keeps(node))
        copyOne(node, to, parent);
      copySyncs(node->after, node, to, parent);
    }
  }

  void copyOne(const Node* node, Block& to, Node* parent) {
    switch (node->kind) {
    case NodeKind::Statement: {
      if (isTaken(*node) == false)
        return;
      if (slice && !slice->keepsAccesses(node))
        return addBarrier(node, to, parent);
      Node* made = add(node, to, parent, NodeKind::Statement);
      if (isCounting)
        return;
      made->queue = node->queue;
      made->whole = node->whole;
      made->turn = ownTurn;
      made->turnsAround = around;
      for (const Access& access : node->accesses)
        made->accesses.push_back(fixed(access));
      return;
    }
    case NodeKind::Sync:
      return copySyncs({node->sync}, node, to, parent);
    case NodeKind::If: {
      if (const std::optional<bool> taken = isTaken(*node)) {
        copy(*taken ? node->body : node->otherwise, to, parent);
        if (asksFor(node->notes))
          addAssign(node, node->notes, *taken ? 1 : 0, to, parent);
        return forget(node, to, parent);
      }
      Node* made = add(node, to, parent, NodeKind::If);
      made->notes = asksFor(node->notes) ? node->notes : kNone;
      made->question = node->question;
      made->variable = node->variable;
      made->value = node->value;
      made->compares = node->compares;
      made->isBoth = node->isBoth;
      made->asksMore = node->asksMore;
      if (!isCounting)
        fixConditions(*node, *made);
      copy(node->body, made->body, made);
      copy(node->otherwise, made->otherwise, made);
      return forget(node, to, parent);
    }
    case NodeKind::Loop:
      copyLoop(node, to, parent);
      return forget(node, to, parent);
    case NodeKind::Assign: {
      Node* made = addAssign(node, node->variable, node->value, to, parent);
      made->isStep = node->isStep;
      made->becomes = node->becomes;
      made->source = node->source;
      return;
    }
    }
  }

  /// Iterations of which nothing is kept make no node, but there may be 2^40 of them.
  bool isTooLong() const {
    constexpr unsigned mostIterations = 1U << 16;
    return numNodes > mostNodes || iterations > mostIterations;
  }

  bool asksFor(unsigned variable) const {
    return variable != kNone && (!slice || slice->asksFor(variable));
  }

  void forget(const Node* node, Block& to, Node* parent) {
    for (const unsigned variable : node->forgets)
      if (asksFor(variable))
        addAssign(node, variable, kNoValue, to, parent);
  }

  Node* addAssign(const Node* origin, unsigned variable, int value, Block& to, Node* parent) {
    Node* made = add(origin, to, parent, NodeKind::Assign);
    made->variable = variable;
    made->value = value;
    return made;
  }

  /// That a statement has inside.
  void addBarrier(const Node* origin, Block& to, Node* parent) {
    Sync& sync = add(origin, to, parent, NodeKind::Sync)->sync;
    sync.kind = SyncKind::Barrier;
    sync.queue = origin->queue;
  }

  /// Whether a branch is taken in this iteration, or a statement does anything, if the numbers of iterations
  /// say so.
  std::optional<bool> isTaken(const Node& node) const {
    std::optional<bool> all = node.conditions.empty() ? std::nullopt : std::optional(true);
    for (const Condition& condition : node.conditions) {
      const std::optional<Span> range = rangeOf(condition);
      const std::optional<bool> here =
          range ? holds(condition.kind, range->low, range->high) : std::nullopt;
      if (here == false)
        return false;
      if (!here)
        all = std::nullopt;
    }
    if (node.isBoth || node.asksMore)
      all = std::nullopt;
    if (const auto answer = answers.find(node.question); !all && answer != answers.end())
      return answer->second;
    return all;
  }

  /// The least and the greatest number that a condition is about.
  std::optional<Span> rangeOf(const Condition& condition) const {
    Span range{condition.constant, condition.constant + condition.spread};
    for (const Term& term : condition.terms) {
      if (term.loop >= turns.size())
        return std::nullopt;
      const CopiedTurn turn = turns[term.loop];
      Span number{turn.first, turn.trips < 0 ? kEndless : turn.first + turn.trips - 1};
      if (Term settled = term; term.modulus) {
        number = term.rests();
        if (settle(settled))
          number = {settled.ofRest(settled.shift), settled.ofRest(settled.shift)};
      }
      range.add(term.bytes, number);
    }
    for (const Term& term : condition.left)
      range.add(term.bytes, turns[term.loop].left);
    for (const Term& term : condition.values) {
      const auto value = values.find(term.loop);
      if (value == values.end())
        return std::nullopt;
      range.add(term.bytes, value->second);
    }
    return range;
  }

  /// The fewest and the most iterations.
  Span tripsOf(const Node* loop) const {
    if (loop->trips >= 0)
      return {loop->trips, loop->trips};
    const Length& length = loop->length;
    Span span{length.constant, length.constant};
    for (const Term& term : length.terms) {
      const auto value = values.find(term.loop);
      if (term.loop < turns.size() && !term.modulus && turns[term.loop].loop == kNone)
        span.add(term.bytes, {turns[term.loop].first, turns[term.loop].first});
      else if (value != values.end())
        span.add(term.bytes, value->second);
      else
        return unknownTrips(loop);
    }
    if (length.step == 0)
      return unknownTrips(loop);
    const auto trips = [&](int64_t distance) {
      return std::clamp<int64_t>((distance + length.step - 1) / length.step, 0, kEndless);
    };
    return {trips(span.low), trips(span.high)};
  }
  static Span unknownTrips(const Node* loop) {
    const int64_t least = loop->isEntered ? 1 : 0;
    return {least, loop->mostTrips < 0 ? kEndless : std::max(loop->mostTrips, least)};
  }

  /// Whether branches can say what else a loop asks before each turn, and its turns are what others know of it.
  bool fitsInBranches(const Node* loop) const {
    const auto isAsked = [&](const TurnCondition& each) {
      return !each.isLate && asksFor(each.variable);
    };
    return loop->notes == kNone && loop->goesBy == kNone && loop->goesOn.size() <= 1 &&
           std::ranges::all_of(loop->goesOn, isAsked);
  }

  void copyLoop(const Node* loop, Block& to, Node* parent) {
    const Span trips = tripsOf(loop);
    const bool isKnown = trips.low == trips.high, isShort = isKnown && trips.low <= longest;
    const auto left = [&](int64_t number) {
      const int64_t most = trips.high >= kEndless ? kEndless : trips.high - 1 - number;
      return Span{std::max<int64_t>(trips.low - 1 - number, 0), most};
    };
    const auto copyFirst = [&](int64_t count) {
      for (int64_t i = 0; i < count && !isTooLong(); ++i)
        copyIteration(loop, {i, kNone, 1, left(i)}, to, parent);
    };
    if (isShort)
      return copyFirst(trips.low);
    result.isComplete = false;
    result.cut.insert(loop);
    if (mostFirst && trips.high <= std::min(longest, mostInBranches) && fitsInBranches(loop)) {
      copyFirst(trips.low);
      return copyInBranches(loop, trips, to, parent);
    }
    if (!mostFirst)
      return copyFirst(std::min(longest, isKnown ? trips.low : std::max(mostUnknown, trips.low)));
    // Written out before and behind the rest.
    const int64_t first = isKnown ? 1 : std::min(trips.low, *mostFirst), behind = isKnown ? 1 : 0;
    copyFirst(first);
    Node* rest = add(loop, to, parent, NodeKind::Loop);
    rest->isEntered = trips.low > first;
    rest->isEnteredIfNotEmpty = rest->isEntered || (loop->isEnteredIfNotEmpty && first == 0);
    rest->trips = isKnown ? trips.low - first - behind : -1;
    if (loop->mostTrips >= 0)
      rest->mostTrips = std::max<int64_t>(loop->mostTrips - first, 0);
    rest->whole = loop->whole;
    rest->asksMore = loop->asksMore;
    rest->goesOn.clear();
    for (const TurnCondition& each : loop->goesOn)
      if (asksFor(each.variable))
        rest->goesOn.push_back(each);
      else
        rest->asksMore = true;
    rest->notes = asksFor(loop->notes) ? loop->notes : kNone;
    rest->goesBy = asksFor(loop->goesBy) ? loop->goesBy : kNone;
    copyIteration(loop, {first, rest->id, rest->trips, {behind, left(first).high}, behind},
                  rest->body, rest);
    if (isKnown)
      copyIteration(loop, {trips.low - 1, kNone, 1, {0, 0}}, to, parent);
  }

  /// Those that a loop may have besides the fewest: each in a branch, in that of the one before it.
  void copyInBranches(const Node* loop, const Span& trips, Block& to, Node* parent) {
    Block* block = &to;
    for (int64_t i = trips.low; i < trips.high && !isTooLong(); ++i) {
      parent = add(loop, *block, parent, NodeKind::If);
      for (const TurnCondition& asked : loop->goesOn) {
        parent->variable = asked.variable;
        parent->compares = asked.compares;
        parent->value = asked.value;
        parent->isBoth = loop->asksMore;
      }
      block = &parent->body;
      copyIteration(loop, {i, kNone, 1, {0, trips.high - 1 - i}}, *block, parent);
    }
  }

  void copyIteration(const Node* loop, CopiedTurn number, Block& to, Node* parent) {
    ++iterations;
    turns[loop->id] = number;
    if (number.loop == kNone)
      open[loop] = number.first;
    const unsigned outer = ownTurn;
    if (loop->whole == kNone) // else it is a part of the statement, as what it holds
      ownTurn = ++lastOwnTurn;
    around.push_back(iterations);
    copy(loop->body, to, parent);
    around.pop_back();
    ownTurn = outer;
    open.erase(loop);
  }

  void copySyncs(const std::vector<Sync>& syncs, const Node* origin, Block& to, Node* parent) {
    for (const Sync& kept : syncs) {
      if (slice && !slice->keeps(kept, origin))
        continue;
      Node* made = add(origin, to, parent, NodeKind::Sync);
      if (isCounting)
        continue;
      Sync sync = kept;
      std::vector<Term> left;
      for (Term& term : sync.turns)
        if (settle(term))
          sync.flag += static_cast<unsigned>(term.ofRest(term.shift));
        else
          left.push_back(std::move(term));
      sync.turns = std::move(left);
      made->sync = std::move(sync);
    }
  }

  Access fixed(Access access) const {
    fix(access);
    for (Range& dim : access.otherDims)
      fix(dim);
    if (access.line)
      fix(*access.line);
    return access;
  }

  /// What a branch asks in this iteration.
  void fixConditions(const Node& node, Node& made) const {
    for (const Condition& condition : node.conditions)
      if (std::optional<Condition> known = fixed(condition))
        made.conditions.push_back(std::move(*known));
      else
        made.asksMore = true;
  }
  /// Nothing if a condition can't be told.
  std::optional<Condition> fixed(Condition condition) const {
    std::vector<Term> terms;
    for (Term term : condition.terms) {
      if (term.loop >= turns.size())
        return std::nullopt;
      if (term.modulus && settle(term)) {
        condition.constant += term.bytes * term.ofRest(term.shift);
        continue;
      }
      if (!term.modulus) {
        condition.constant += term.bytes * turns[term.loop].first;
        term.loop = turns[term.loop].loop;
      }
      if (term.loop != kNone)
        terms.push_back(std::move(term));
    }
    condition.terms = std::move(terms);
    std::vector<Term> left;
    for (Term term : condition.left) {
      const CopiedTurn turn = turns[term.loop];
      const bool isKnown = turn.left.low == turn.left.high;
      if (turn.loop == kNone && !isKnown)
        return std::nullopt;
      condition.constant += term.bytes * (isKnown ? turn.left.low : turn.behind);
      term.loop = turn.loop;
      if (!isKnown)
        left.push_back(std::move(term));
    }
    condition.left = std::move(left);
    return condition;
  }

  /// What an iteration adds to an offset is a constant in it; values that never change stay.
  void fix(Range& range) const {
    std::vector<Term> left;
    for (Term term : range.terms) {
      if (term.loop >= turns.size() && term.values.empty()) {
        left.push_back(term);
        continue;
      }
      if (term.modulus && settle(term)) {
        move(range, term.bytes * term.ofRest(term.shift));
        continue;
      }
      if (!term.modulus) {
        const CopiedTurn turn = turns[term.loop];
        move(range, term.bytes * turn.first);
        term.loop = turn.loop;
      }
      if (term.loop != kNone || !term.values.empty())
        left.push_back(std::move(term));
    }
    range.terms = std::move(left);
  }

  /// Adds to the shift what is known of the loops and values that count in a remainder. True if that is all: then the
  /// shift is the remainder.
  bool settle(Term& term) const {
    std::vector<unsigned> loops = std::move(term.others);
    if (term.loop != kNone)
      loops.insert(loops.begin(), term.loop);
    for (unsigned& loop : loops) {
      term.shift += turns[loop].first;
      loop = turns[loop].loop;
    }
    std::erase(loops, kNone);
    std::erase_if(term.values, [&](unsigned number) {
      const auto value = values.find(number);
      const bool isKnown = value != values.end() && value->second.low == value->second.high;
      term.shift += isKnown ? floorMod(value->second.low, term.modulus) : 0;
      return isKnown;
    });
    term.loop = loops.empty() ? kNone : loops.front();
    term.others.assign(loops.begin() + (loops.empty() ? 0 : 1), loops.end());
    if (!loops.empty() || !term.values.empty())
      return false;
    term.shift %= term.modulus;
    return true;
  }

  static void move(Range& range, int64_t distance) {
    range.begin += distance;
    range.end += distance;
  }

  /// Of a loop of which it isn't known exactly how many there are, at most so many iterations stand in branches.
  static constexpr int64_t mostInBranches = 4;

  const Program& source;
  int64_t longest;
  /// Loops that are longer stay loops behind so many iterations; null: they don't.
  std::optional<int64_t> mostFirst;
  const Answers answers;
  Values values;
  const Slice* slice; ///< null: all of the program
  size_t mostNodes = 0, numNodes = 0;
  bool isCounting = false;
  Node counted;                          ///< stands for each node while they are counted
  unsigned iterations = 0;               ///< that have been copied
  std::vector<unsigned> around;          ///< the numbers of those that are being copied
  std::vector<CopiedTurn> turns;         ///< by loop: of the iteration that is being copied
  std::map<const Node*, int64_t> open;   ///< of those, the numbers of such as are written out
  unsigned ownTurn = 0, lastOwnTurn = 0; ///< of the kernel's own loops
  Unrolled result;
};

} // namespace

std::optional<Unrolled> unroll(const Program& program, size_t most, const Values& values,
                               const Answers& answers, const Slice* slice) {
  // The longest loop of which all iterations are written out, and how many of a loop of unknown length are.
  constexpr std::pair<int64_t, int64_t> choices[] = {{kEndless, 2}, {4, 2}, {2, 2}, {2, 1}, {2, 0}};
  for (const auto& [longest, mostFirst] : choices)
    if (std::optional<Unrolled> result =
            Unroller(program, longest, mostFirst, answers, values, slice).run(most))
      return result;
  return std::nullopt;
}

std::optional<Unrolled> unrollFirst(const Program& program, size_t most, const Slice* slice,
                                    const Values& values, int64_t mostUnknown) {
  for (const int64_t longest : {int64_t{32}, int64_t{8}, int64_t{4}})
    if (std::optional<Unrolled> result =
            unrollFirstOf(program, most, longest, slice, values, mostUnknown))
      return result;
  return std::nullopt;
}

std::optional<Unrolled> unrollFirstOf(const Program& program, size_t most, int64_t longest,
                                      const Slice* slice, const Values& values,
                                      int64_t mostUnknown) {
  Unroller unroller(program, longest, std::nullopt, {}, values, slice);
  unroller.mostUnknown = mostUnknown;
  return unroller.run(most);
}

} // namespace tilewright::ascend::model
