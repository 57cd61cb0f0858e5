// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/repeated_checks.h"
#include "compiler/targets/ascend/analysis/insertion_places.h"
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

/// The longest loop of a program for one kind of core, if it is a long one; null: there is none.
const Node* longLoopOf(const Program& program) {
  constexpr size_t least = 24;
  const auto isOfCube = [](const Node& node) {
    return node.kind == NodeKind::Statement && node.queue.agent == Agent::Cube;
  };
  const auto cubes = std::ranges::count_if(program.nodes, isOfCube);
  if (cubes > 0 && cubes < std::ranges::count(program.nodes, NodeKind::Statement, &Node::kind))
    return nullptr;
  const Node* longest = nullptr;
  for (const Node& node : program.nodes)
    if (node.kind == NodeKind::Loop && node.body.size() >= least &&
        (!longest || node.body.size() > longest->body.size()))
      longest = &node;
  return longest;
}

/// Whether what its body does in one turn is walked alone: of all around it nothing says whether that turn is.
bool isWalkedAlone(const Walk& walk, const Node* loop) {
  for (const Node* around : pathTo(loop))
    if (around->kind == NodeKind::Loop ? !walk.areTurnsAlike(around) : around->variable != kNone)
      return false;
  return true;
}

} // namespace

FirstHazards::FirstHazards(const Program& program, const Conflicts& conflicts,
                           WantedHazard isWanted)
    : program(program), conflicts(conflicts), isWanted(std::move(isWanted)) {
  const Node* loop = longLoopOf(program);
  if (!loop || !isWalkedAlone(Walk(program, conflicts, kNone), loop))
    return;
  const Block* block = &program.body;
  for (Node* around : pathTo(loop)) {
    const bool isThere =
        std::ranges::count(*block, around) > 0; // else in the other arm of a branch
    const Block& from = isThere ? *block : around->parent->otherwise;
    toItsEnd.insert(toItsEnd.end(), from.begin(), std::ranges::find(from, around));
    entered.emplace_back(toItsEnd.size(), around);
    block = &around->body;
  }
  toItsEnd.insert(toItsEnd.end(), block->begin(), block->end());
}
FirstHazards::~FirstHazards() = default;

std::vector<Hazard> FirstHazards::find() {
  if (!toItsEnd.empty()) {
    if (std::vector<Hazard> found = findInTurn(); !found.empty())
      return found;
    toItsEnd.clear();
    knownInTurn.reset();
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
  for (const auto& [place, node] : entered)
    if (node->kind == NodeKind::Loop)
      walk.enterTurn(node);
  for (; at < toItsEnd.size() && !walk.isAnswered(); ++at) {
    knownInTurn->note(at, states);
    for (const auto& [place, node] : entered)
      if (place == at)
        walk.synchronise(node->before, node, states);
    walk.walkNode(toItsEnd[at], states);
  }
  std::vector<Hazard> found = walk.verdictSoFar().hazards;
  std::erase_if(found, std::not_fn(isOfTurn));
  return found;
}

/// Where something of an insertion stands first, up to the end of the long loop's body.
size_t FirstHazards::firstOf(unsigned insertion) const {
  size_t first = placesOf(toItsEnd, insertion).first;
  const auto isIt = [&](const Sync& sync) { return sync.insertion == insertion; };
  for (const auto& [place, node] : entered)
    if (std::ranges::any_of(node->before, isIt))
      first = std::min(first, place);
  return first;
}

void FirstHazards::noteInsertion(unsigned number) {
  if (known)
    known->forgetBehind(placesOf(program.body, number).first);
  if (knownInTurn)
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
