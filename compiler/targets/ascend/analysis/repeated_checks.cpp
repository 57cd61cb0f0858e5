// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/repeated_checks.h"
#include "compiler/targets/ascend/analysis/known_turns.h"
#include "compiler/targets/ascend/analysis/walk.h"

#include <algorithm>
#include <functional>

namespace tilewright::ascend::model {

/// Of a few nodes, as far as they are known. Others may be taken out of the block.
class Checkpoints {
public:
  Checkpoints(const Walk& walk, const Block& body)
      : body(body), layout(walk.rows()), numBits(walk.bits()),
        step(std::max<size_t>((body.size() + most - 1) / most, 1)), start(kept(walk.initial())) {}

  bool areOf(const Walk& walk) const {
    return layout == walk.rows() && numBits == walk.bits();
  }
  /// Of a node behind the first one; null if it is none of them.
  const States* before(size_t at) const {
    const auto found = held.find(body[at]);
    return found != held.end() ? &found->second : nullptr;
  }
  /// The last one of them that stands not behind `at`, or the first node.
  size_t lastTo(size_t at) const {
    size_t last = std::min(at, body.size() - std::min<size_t>(body.size(), 1));
    while (last > 0 && !before(last))
      --last;
    return last;
  }
  /// What a walk begins with there.
  States startAt(size_t at, const Walk& walk, size_t flags) const {
    States states = at == 0 ? start : *before(at);
    for (State& state : states)
      state.moveTo(walk.rows(), flags);
    return states;
  }
  void note(size_t at, const States& states) {
    if (at > 0 && at % step == 0)
      held[body[at]] = kept(states);
  }
  /// States that outlive the walk that made them.
  States kept(const States& states) const {
    States made = states;
    for (State& state : made)
      state.moveTo(layout, state.count.size());
    return made;
  }
  void replace(const Node* node, States itsKept) {
    held[node] = std::move(itsKept);
  }
  void forgetBehind(size_t at) {
    while (++at < body.size())
      held.erase(body[at]);
  }

private:
  static constexpr size_t most = 32;
  const Block& body;
  const Layout layout; ///< of those that are held
  size_t numBits, step;
  States start;
  std::map<const Node*, States> held;
};

namespace {

/// A loop of one kind of core that most of a program is; null: there is none.
const Node* longLoopOf(const Program& program) {
  constexpr size_t least = 24;
  const auto found = std::ranges::find_if(program.body, [&](const Node* node) {
    return node->kind == NodeKind::Loop && node->body.size() >= least &&
           node->body.size() > program.body.size();
  });
  const auto isOfCube = [](const Node& node) {
    return node.kind == NodeKind::Statement && node.queue.agent == Agent::Cube;
  };
  const auto cubes = std::ranges::count_if(program.nodes, isOfCube);
  const auto all = std::ranges::count(program.nodes, NodeKind::Statement, &Node::kind);
  return found != program.body.end() && (cubes == 0 || cubes == all) ? *found : nullptr;
}

} // namespace

FirstHazards::FirstHazards(const Program& program, const Conflicts& conflicts,
                           WantedHazard isWanted)
    : program(program), conflicts(conflicts), isWanted(std::move(isWanted)),
      loop(longLoopOf(program)) {
  if (loop && !Walk(program, conflicts, kNone).areTurnsAlike(loop))
    loop = nullptr;
  if (!loop)
    return;
  const auto at = std::ranges::find(program.body, loop);
  before = static_cast<size_t>(at - program.body.begin());
  toItsEnd.assign(program.body.begin(), at);
  toItsEnd.insert(toItsEnd.end(), loop->body.begin(), loop->body.end());
}
FirstHazards::~FirstHazards() = default;

std::vector<Hazard> FirstHazards::find() {
  if (loop) {
    if (std::vector<Hazard> found = findInTurn(); !found.empty())
      return found;
    loop = nullptr;
  }
  Walk walk(program, conflicts, kNone, Question::OfFirst, &isWanted);
  if (!known || !known->areOf(walk))
    known = std::make_unique<Checkpoints>(walk, program.body);
  size_t at = known->lastTo(program.body.size());
  States states = known->startAt(at, walk, program.flags.size());
  for (; at < program.body.size() && !walk.isAnswered(); ++at) {
    known->note(at, states);
    walk.walkNode(program.body[at], states);
  }
  return walk.finish(states).hazards;
}

/// Of those that no turn of a loop carries to the next one.
std::vector<Hazard> FirstHazards::findInTurn() {
  const WantedHazard isOfTurn = [this](const Hazard& hazard) {
    return !hazard.carriedBy && isWanted(hazard);
  };
  Walk walk(program, conflicts, kNone, Question::OfFirst, &isOfTurn);
  if (!knownInTurn || !knownInTurn->areOf(walk))
    knownInTurn = std::make_unique<Checkpoints>(walk, toItsEnd);
  size_t at = knownInTurn->lastTo(toItsEnd.size());
  States states = knownInTurn->startAt(at, walk, program.flags.size());
  walk.enterTurn(loop);
  for (; at < toItsEnd.size() && !walk.isAnswered(); ++at) {
    knownInTurn->note(at, states);
    if (at == before)
      walk.synchronise(loop->before, loop, states);
    walk.walkNode(toItsEnd[at], states);
  }
  std::vector<Hazard> found = walk.verdictSoFar().hazards;
  std::erase_if(found, std::not_fn(isOfTurn));
  return found;
}

/// Where something of an insertion stands first, up to the end of the long loop's body.
size_t FirstHazards::firstOf(unsigned insertion) const {
  const size_t first = placesOf(toItsEnd, insertion).first;
  const bool isAtLoop = std::ranges::any_of(
      loop->before, [&](const Sync& sync) { return sync.insertion == insertion; });
  return isAtLoop ? std::min(first, before) : first;
}

void FirstHazards::noteInsertion(unsigned number) {
  if (known)
    known->forgetBehind(placesOf(program.body, number).first);
  if (loop && knownInTurn)
    knownInTurn->forgetBehind(firstOf(number));
}

Removals::Removals(const Program& program, const Conflicts& conflicts, WantedHazard isWanted,
                   IsWantedFlag mustBeHeld)
    : program(program), conflicts(conflicts), isWanted(std::move(isWanted)),
      mustBeHeld(std::move(mustBeHeld)) {}
Removals::~Removals() = default;

/// Whether all of the program is known as it is, and has no hazard.
bool Removals::isReady() {
  Walk walk(program, conflicts, kNone, Question::Any, &isWanted, &mustBeHeld);
  if (known && known->areOf(walk) && !isChanged)
    return isClean;
  if (!known || !known->areOf(walk)) {
    passed.clear(); // they are of those that were known
    lastUnmissed = kNone;
    known = std::make_unique<Checkpoints>(walk, program.body);
    turns = std::make_unique<KnownTurns>(program, walk);
    isClean = true;
  }
  turns->begin(walk, kNone);
  size_t at = known->lastTo(program.body.size());
  States states = known->startAt(at, walk, program.flags.size());
  for (; at < program.body.size() && !walk.isAnswered(); ++at) {
    known->note(at, states);
    walk.walkNode(program.body[at], states);
  }
  const Verdict verdict = walk.finish(states);
  isChanged = false;
  isClean = isClean && !isAny(verdict);
  if (isClean)
    turns->keep();
  return isClean;
}

/// From where the insertion begins to matter up to where it ends to.
Verdict Removals::walkWithout(unsigned without, bool areAllAsked) {
  Walk walk(program, conflicts, without, areAllAsked ? Question::All : Question::Any, &isWanted,
            &mustBeHeld);
  const auto [first, end] = placesOf(program.body, without);
  const auto isAsBefore = [&, end = end](size_t at, const States& states) {
    const States* before = at >= end ? known->before(at) : nullptr;
    return before && *before == states;
  };
  passed.clear();
  turns->begin(walk, without);
  size_t at = known->lastTo(first);
  States states = known->startAt(at, walk, program.flags.size());
  for (; at < program.body.size() && !walk.isAnswered() && !isAsBefore(at, states); ++at) {
    if (at > first && known->before(at))
      passed.emplace_back(program.body[at], known->kept(states));
    walk.walkNode(program.body[at], states);
  }
  const bool isToEnd = at == program.body.size();
  Verdict verdict = isToEnd ? walk.finish(states) : walk.verdictSoFar();
  lastUnmissed = isAny(verdict) ? kNone : without;
  return verdict;
}

bool Removals::areMissed(unsigned without) {
  if (!isReady())
    return hasHazard(program, conflicts, isWanted, without, mustBeHeld);
  return isAny(walkWithout(without, /*areAllAsked=*/false));
}

Verdict Removals::check(unsigned without) {
  return isReady() ? walkWithout(without, /*areAllAsked=*/true)
                   : model::check(program, conflicts, without);
}

void Removals::takeOut(unsigned number) {
  if (!known)
    return;
  if (number == lastUnmissed && isClean && !isChanged) {
    for (auto& [node, states] : passed)
      known->replace(node, std::move(states));
    passed.clear();
    turns->keep();
  } else {
    known->forgetBehind(placesOf(program.body, number).first);
    turns->forget();
    isChanged = true;
  }
  lastUnmissed = kNone;
}

} // namespace tilewright::ascend::model
