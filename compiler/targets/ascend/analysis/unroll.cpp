// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/unroll.h"

#include <set>

namespace tilewright::ascend::model {
namespace {

/// The number of an iteration: `first`, plus that of `loop` if there is one.
struct Turn {
  int64_t first = 0;
  unsigned loop = kNone;
};

class Unroller {
public:
  Unroller(const Program& source, int64_t longest, bool hasRest = true)
      : source(source), longest(longest), hasRest(hasRest) {
    turns.resize(source.nodes.size());
    result.program.flags = source.flags;
    result.program.reserved = source.reserved;
  }

  /// Nothing if more than `most` nodes would result.
  std::optional<Unrolled> run(size_t most) {
    mostNodes = most;
    copy(source.body, result.program.body, nullptr);
    if (result.program.nodes.size() > most)
      return std::nullopt;
    return std::move(result);
  }

private:
  Node* add(const Node* origin, Block& block, Node* parent, NodeKind kind) {
    result.origins.push_back(origin);
    Node* node = result.program.add(block, parent, kind);
    node->tag = origin->tag;
    return node;
  }

  void copy(const Block& from, Block& to, Node* parent) {
    for (const Node* node : from) {
      if (result.program.nodes.size() > mostNodes)
        return;
      copySyncs(node->before, node, to, parent);
      copyOne(node, to, parent);
      copySyncs(node->after, node, to, parent);
    }
  }

  void copyOne(const Node* node, Block& to, Node* parent) {
    switch (node->kind) {
    case NodeKind::Statement: {
      if (isTaken(*node) == false)
        return;
      Node* made = add(node, to, parent, NodeKind::Statement);
      made->queue = node->queue;
      for (const Access& access : node->accesses)
        made->accesses.push_back(fixed(access));
      return;
    }
    case NodeKind::Sync:
      return copySyncs({node->sync}, node, to, parent);
    case NodeKind::If: {
      if (const std::optional<bool> taken = isTaken(*node))
        return copy(*taken ? node->body : node->otherwise, to, parent);
      Node* made = add(node, to, parent, NodeKind::If);
      copy(node->body, made->body, made);
      copy(node->otherwise, made->otherwise, made);
      return;
    }
    case NodeKind::Loop:
      return copyLoop(node, to, parent);
    }
  }

  /// Whether a branch is taken in this iteration, or a statement does anything, if the numbers of iterations
  /// say so.
  std::optional<bool> isTaken(const Node& node) const {
    std::optional<bool> all = node.conditions.empty() ? std::nullopt : std::optional(true);
    for (const Condition& condition : node.conditions) {
      const std::optional<int64_t> number = valueOf(condition);
      const std::optional<bool> here =
          number ? holds(condition.kind, *number, *number + condition.spread) : std::nullopt;
      if (here == false)
        return false;
      if (!here)
        all = std::nullopt;
    }
    return all;
  }

  std::optional<int64_t> valueOf(const Condition& condition) const {
    int64_t value = condition.constant;
    for (const Term& term : condition.terms) {
      if (term.loop >= turns.size() || turns[term.loop].loop != kNone)
        return std::nullopt;
      const int64_t turn = turns[term.loop].first;
      value += term.bytes * (term.modulus ? (turn + term.shift) % term.modulus : turn);
    }
    return value;
  }

  void copyLoop(const Node* loop, Block& to, Node* parent) {
    const bool isKnown = loop->trips >= 0, isShort = isKnown && loop->trips <= longest;
    if (!isShort && !hasRest) {
      result.isComplete = false;
      for (int64_t i = 0; i < longest; ++i)
        copyIteration(loop, {i, kNone}, to, parent);
      return;
    }
    const int64_t ends = isKnown ? 1 : 0; // written out before and behind the rest
    for (int64_t i = 0; i < (isShort ? loop->trips : ends); ++i)
      copyIteration(loop, {i, kNone}, to, parent);
    if (isShort)
      return;
    Node* rest = add(loop, to, parent, NodeKind::Loop);
    rest->trips = isKnown ? loop->trips - 2 * ends : -1;
    result.isComplete = false;
    copyIteration(loop, {ends, rest->id}, rest->body, rest);
    if (isKnown)
      copyIteration(loop, {loop->trips - 1, kNone}, to, parent);
  }

  void copyIteration(const Node* loop, Turn turn, Block& to, Node* parent) {
    turns[loop->id] = turn;
    copy(loop->body, to, parent);
  }

  void copySyncs(const std::vector<Sync>& syncs, const Node* origin, Block& to, Node* parent) {
    for (Sync sync : syncs) {
      if (sync.slots > 1) {
        const Turn turn = turns[sync.slotLoop];
        sync.slotLoop = turn.loop;
        sync.slotShift += turn.first;
        if (turn.loop == kNone) {
          sync.flag += static_cast<unsigned>(sync.slotShift % sync.slots);
          sync.slots = 1;
          sync.slotShift = 0;
        }
      }
      add(origin, to, parent, NodeKind::Sync)->sync = sync;
    }
  }

  Access fixed(Access access) const {
    fix(access);
    for (Range& dim : access.otherDims)
      fix(dim);
    return access;
  }

  /// What an iteration adds to an offset is a constant in it; values that never change stay.
  void fix(Range& range) const {
    std::vector<Term> left;
    for (Term term : range.terms) {
      if (term.loop >= turns.size()) {
        left.push_back(term);
        continue;
      }
      const Turn turn = turns[term.loop];
      const int64_t shift = term.modulus ? term.shift + turn.first : turn.first;
      term.loop = turn.loop;
      if (term.modulus && turn.loop != kNone)
        term.shift = shift;
      else
        move(range, term.bytes * (term.modulus ? shift % term.modulus : shift));
      if (turn.loop != kNone)
        left.push_back(term);
    }
    range.terms = std::move(left);
  }

  static void move(Range& range, int64_t distance) {
    range.begin += distance;
    range.end += distance;
  }

  const Program& source;
  int64_t longest;
  bool hasRest; ///< loops that are longer stay loops
  size_t mostNodes = 0;
  std::vector<Turn> turns; ///< by loop: of the iteration that is being copied
  Unrolled result;
};

} // namespace

std::optional<Unrolled> unroll(const Program& program, size_t most) {
  constexpr int64_t all = int64_t{1} << 40;
  for (const int64_t longest : {all, int64_t{4}, int64_t{2}})
    if (std::optional<Unrolled> result = Unroller(program, longest).run(most))
      return result;
  return std::nullopt;
}

std::optional<Unrolled> unrollFirst(const Program& program, size_t most) {
  for (const int64_t longest : {int64_t{32}, int64_t{8}, int64_t{4}})
    if (std::optional<Unrolled> result = Unroller(program, longest, false).run(most))
      return result;
  return std::nullopt;
}

Verdict checkIterations(const Program& program, const Conflicts& conflicts) {
  Verdict verdict = check(program, conflicts);
  if (verdict.hazards.empty())
    return verdict;
  const std::optional<Unrolled> unrolled = unroll(program, 2 * kMostUnrolled);
  if (!unrolled)
    return verdict;
  std::set<std::pair<const Node*, const Node*>> found;
  for (const Hazard& hazard : check(unrolled->program, Conflicts(unrolled->program)).hazards)
    found.emplace(unrolled->origins[hazard.earlier->id], unrolled->origins[hazard.later->id]);
  std::erase_if(verdict.hazards, [&](const Hazard& hazard) {
    return !found.contains({hazard.earlier, hazard.later});
  });
  return verdict;
}

} // namespace tilewright::ascend::model
