// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/unroll.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace tilewright::ascend::model {
namespace {

/// The number of an iteration: `first`, plus that of `loop` if there is one, which then makes `trips`.
struct CopiedTurn {
  int64_t first = 0;
  unsigned loop = kNone;
  int64_t trips = 1;
};

/// How branches go of which the iteration tells nothing, by the number of what they ask.
using Answers = std::map<unsigned, bool>;

class Unroller {
public:
  Unroller(const Program& source, int64_t longest, bool hasRest = true, const Answers& answers = {})
      : source(source), longest(longest), hasRest(hasRest), answers(answers) {
    turns.resize(source.nodes.size());
    result.program.flags = source.flags;
    result.program.reserved = source.reserved;
    result.program.values = source.values;
    result.program.variables = source.variables;
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
      made->whole = node->whole;
      made->turn = ownTurn;
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
      made->question = node->question;
      made->variable = node->variable;
      made->value = node->value;
      made->compares = node->compares;
      made->conditions = fixed(node->conditions);
      copy(node->body, made->body, made);
      copy(node->otherwise, made->otherwise, made);
      return;
    }
    case NodeKind::Loop:
      copyLoop(node, to, parent);
      for (const unsigned variable : node->forgets)
        addAssign(node, variable, kNoValue, to, parent);
      return;
    case NodeKind::Assign:
      return addAssign(node, node->variable, node->value, to, parent);
    }
  }

  void addAssign(const Node* origin, unsigned variable, int value, Block& to, Node* parent) {
    Node* made = add(origin, to, parent, NodeKind::Assign);
    made->variable = variable;
    made->value = value;
  }

  /// Whether a branch is taken in this iteration, or a statement does anything, if the numbers of iterations
  /// say so.
  std::optional<bool> isTaken(const Node& node) const {
    std::optional<bool> all = node.conditions.empty() ? std::nullopt : std::optional(true);
    for (const Condition& condition : node.conditions) {
      const std::optional<std::pair<int64_t, int64_t>> range = rangeOf(condition);
      const std::optional<bool> here =
          range ? holds(condition.kind, range->first, range->second) : std::nullopt;
      if (here == false)
        return false;
      if (!here)
        all = std::nullopt;
    }
    if (const auto answer = answers.find(node.question); !all && answer != answers.end())
      return answer->second;
    return all;
  }

  /// The least and the greatest number that a condition is about.
  std::optional<std::pair<int64_t, int64_t>> rangeOf(const Condition& condition) const {
    if (!condition.left.empty())
      return std::nullopt;
    int64_t low = condition.constant, high = low + condition.spread;
    for (const Term& term : condition.terms) {
      if (term.loop >= turns.size() || (!term.modulus && turns[term.loop].trips < 0))
        return std::nullopt;
      const CopiedTurn turn = turns[term.loop];
      int64_t least = turn.first, most = turn.first + turn.trips - 1;
      if (Term settled = term; term.modulus) {
        const bool isKnown = settle(settled);
        least = isKnown ? settled.shift : 0;
        most = isKnown ? settled.shift : term.modulus - 1;
      }
      low += std::min(term.bytes * least, term.bytes * most);
      high += std::max(term.bytes * least, term.bytes * most);
    }
    return std::pair(low, high);
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
    rest->isEntered = loop->isEntered;
    rest->isEnteredIfNotEmpty = loop->isEnteredIfNotEmpty;
    rest->trips = isKnown ? loop->trips - 2 * ends : -1;
    rest->whole = loop->whole;
    result.isComplete = false;
    copyIteration(loop, {ends, rest->id, rest->trips}, rest->body, rest);
    if (isKnown)
      copyIteration(loop, {loop->trips - 1, kNone}, to, parent);
  }

  void copyIteration(const Node* loop, CopiedTurn number, Block& to, Node* parent) {
    turns[loop->id] = number;
    const unsigned outer = ownTurn;
    if (loop->whole == kNone) // else it is a part of the statement, as what it holds
      ownTurn = ++lastOwnTurn;
    copy(loop->body, to, parent);
    ownTurn = outer;
  }

  void copySyncs(const std::vector<Sync>& syncs, const Node* origin, Block& to, Node* parent) {
    for (Sync sync : syncs) {
      if (sync.slots > 1) {
        const CopiedTurn turn = turns[sync.slotLoop];
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

  /// What a branch asks in this iteration; nothing if one of its conditions can't be told.
  std::vector<Condition> fixed(std::vector<Condition> conditions) const {
    for (Condition& condition : conditions) {
      std::vector<Term> terms;
      for (Term term : condition.terms) {
        if (term.loop >= turns.size())
          return {};
        if (term.modulus && settle(term)) {
          condition.constant += term.bytes * term.shift;
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
      for (Term& term : condition.left) {
        // Its last iterations are the loop's only where all of it is still a loop.
        if (turns[term.loop].loop == kNone)
          return {};
        term.loop = turns[term.loop].loop;
      }
    }
    return conditions;
  }

  /// What an iteration adds to an offset is a constant in it; values that never change stay.
  void fix(Range& range) const {
    std::vector<Term> left;
    for (Term term : range.terms) {
      if (term.loop >= turns.size()) {
        left.push_back(term);
        continue;
      }
      if (term.modulus && settle(term)) {
        move(range, term.bytes * term.shift);
        continue;
      }
      if (!term.modulus) {
        const CopiedTurn turn = turns[term.loop];
        move(range, term.bytes * turn.first);
        term.loop = turn.loop;
      }
      if (term.loop != kNone)
        left.push_back(std::move(term));
    }
    range.terms = std::move(left);
  }

  /// Adds to the shift what is known of the loops that count in a remainder. True if that is all: then the
  /// shift is the remainder.
  bool settle(Term& term) const {
    std::vector<unsigned> loops = std::move(term.others);
    loops.insert(loops.begin(), term.loop);
    for (unsigned& loop : loops) {
      term.shift += turns[loop].first;
      loop = turns[loop].loop;
    }
    std::erase(loops, kNone);
    if (loops.empty()) {
      term.shift %= term.modulus;
      return true;
    }
    term.loop = loops.front();
    term.others.assign(loops.begin() + 1, loops.end());
    return false;
  }

  static void move(Range& range, int64_t distance) {
    range.begin += distance;
    range.end += distance;
  }

  const Program& source;
  int64_t longest;
  bool hasRest; ///< loops that are longer stay loops
  const Answers answers;
  size_t mostNodes = 0;
  std::vector<CopiedTurn> turns;         ///< by loop: of the iteration that is being copied
  unsigned ownTurn = 0, lastOwnTurn = 0; ///< of the kernel's own loops
  Unrolled result;
};

} // namespace

static std::optional<Unrolled> unroll(const Program& program, size_t most, const Answers& answers) {
  constexpr int64_t all = int64_t{1} << 40;
  for (const int64_t longest : {all, int64_t{4}, int64_t{2}})
    if (std::optional<Unrolled> result = Unroller(program, longest, true, answers).run(most))
      return result;
  return std::nullopt;
}

std::optional<Unrolled> unroll(const Program& program, size_t most) {
  return unroll(program, most, {});
}

std::optional<Unrolled> unrollFirst(const Program& program, size_t most) {
  for (const int64_t longest : {int64_t{32}, int64_t{8}, int64_t{4}})
    if (std::optional<Unrolled> result = Unroller(program, longest, false).run(most))
      return result;
  return std::nullopt;
}

namespace {

bool holdsSyncs(const Node& node) {
  const auto inBlock = [](const Block& block) {
    return std::ranges::any_of(
        block, [](const Node* each) { return each->kind == NodeKind::Sync || holdsSyncs(*each); });
  };
  return inBlock(node.body) || inBlock(node.otherwise);
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
      const std::optional<Unrolled> unrolled = unroll(program, 2 * kMostUnrolled, answers);
      if (!unrolled)
        return false;
      const Verdict verdict = check(unrolled->program, Conflicts(unrolled->program));
      for (const Hazard& hazard : verdict.hazards)
        hazards.emplace(unrolled->origins[hazard.earlier->id], unrolled->origins[hazard.later->id]);
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

  std::set<std::pair<const Node*, const Node*>> hazards; ///< of the program
  std::set<unsigned> flags;                              ///< that have faults

private:
  const Program& program;
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
  if (verdict.isClean())
    return verdict;
  const std::optional<Unrolled> unrolled = unroll(program, 2 * kMostUnrolled);
  if (!unrolled)
    return verdict;
  IterationCheck iterations(program, *unrolled);
  if (!verdict.faults.empty() && iterations.run()) {
    const auto isFault = [&](const Fault& fault) { return iterations.flags.contains(fault.flag); };
    if (iterations.flags.empty() || std::ranges::any_of(verdict.faults, isFault))
      std::erase_if(verdict.faults, std::not_fn(isFault));
  } else {
    for (const Hazard& hazard : check(unrolled->program, Conflicts(unrolled->program)).hazards)
      iterations.hazards.emplace(unrolled->origins[hazard.earlier->id],
                                 unrolled->origins[hazard.later->id]);
  }
  if (!iterations.isSure())
    std::swap(verdict.faults, verdict.unproven);
  std::erase_if(verdict.hazards, [&](const Hazard& hazard) {
    return !iterations.hazards.contains({hazard.earlier, hazard.later});
  });
  return verdict;
}

} // namespace tilewright::ascend::model
