// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/known_turns.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

bool isIn(const Node& node, unsigned insertion) {
  const auto isIt = [insertion](const Sync& sync) { return sync.insertion == insertion; };
  const auto holds = [insertion](const Node* inner) { return isIn(*inner, insertion); };
  return isIt(node.sync) || std::ranges::any_of(node.before, isIt) ||
         std::ranges::any_of(node.after, isIt) || std::ranges::any_of(node.body, holds) ||
         std::ranges::any_of(node.otherwise, holds);
}

} // namespace

std::pair<size_t, size_t> placesOf(const Block& block, unsigned insertion) {
  size_t first = block.size(), end = block.size();
  for (size_t at = 0; at < block.size(); ++at)
    if (isIn(*block[at], insertion)) {
      first = std::min(first, at);
      end = at + 1;
    }
  return {first, end};
}

void KnownTurns::begin(Walk& walk, unsigned leftOut) {
  without = leftOut;
  places.clear();
  walked.clear();
  unused.assign(program.flags.size(), true);
  const auto note = [&](const Sync& sync) {
    if (sync.flag == kNone || (without != kNone && sync.insertion == without))
      return;
    for (unsigned slot = 0; slot < sync.slots(); ++slot)
      unused[sync.flag + slot] = false;
  };
  for (const Node& node : program.nodes) {
    note(node.sync);
    std::ranges::for_each(node.before, note);
    std::ranges::for_each(node.after, note);
  }
  walk.walkBody = [this, &walk](const Node* loop, States& states) {
    return walkBody(walk, loop, states);
  };
}

void KnownTurns::keep() {
  std::erase_if(known, [&](const Pass& pass) {
    return std::ranges::find(walked, pass.loop, &Pass::loop) != walked.end();
  });
  std::ranges::move(walked, std::back_inserter(known));
  walked.clear();
}

bool KnownTurns::walkBody(Walk& walk, const Node* loop, States& states) {
  constexpr size_t least = 2, leastInLoop = 8, most = 64;
  const Block& body = loop->body;
  std::vector<Turn> turns;
  for (const Node* around = loop; around && body.size() >= least; around = around->parent)
    if (around->kind == NodeKind::Loop)
      turns.push_back(walk.turnOf(around));
  if (turns.empty() || (turns.size() > 1 && body.size() < leastInLoop))
    return false;
  const size_t step = std::max<size_t>((body.size() + most - 1) / most, 1);
  const auto [first, end] = placesIn(loop);
  const Pass* pass = find(loop, turns, states);
  Pass made{loop, std::move(turns), std::vector<std::shared_ptr<const States>>(body.size() + 1)};
  made.before.front() = kept(states);
  size_t at = 0;
  for (size_t node = 1; pass && node <= first; ++node)
    if (pass->before[node]) {
      at = node;
      made.before[node] = pass->before[node];
    }
  if (at > 0)
    states = taken(*made.before[at], walk);
  for (; at < body.size() && !walk.isAnswered(); ++at) {
    if (pass && at >= end && pass->before[at] && areAs(states, *pass->before[at])) {
      std::copy(pass->before.begin() + static_cast<std::ptrdiff_t>(at), pass->before.end(),
                made.before.begin() + static_cast<std::ptrdiff_t>(at));
      states = taken(*pass->before.back(), walk);
      break;
    }
    if (at % step == 0 && !made.before[at])
      made.before[at] = kept(states);
    walk.walkNode(body[at], states);
  }
  if (!made.before.back())
    made.before.back() = kept(states);
  walked.push_back(std::move(made));
  return true;
}

const KnownTurns::Pass* KnownTurns::find(const Node* loop, const std::vector<Turn>& turns,
                                         const States& states) const {
  const auto found = std::ranges::find_if(known, [&](const Pass& pass) {
    return pass.loop == loop && pass.turns == turns && areAs(states, *pass.before.front());
  });
  return found != known.end() ? &*found : nullptr;
}

bool KnownTurns::areAs(const States& states, const States& others) const {
  return std::ranges::equal(states, others, [&](const State& state, const State& other) {
    return state.isAs(other, unused);
  });
}

/// What outlives the walk that made it.
std::shared_ptr<const States> KnownTurns::kept(const States& states) const {
  auto made = std::make_shared<States>(states);
  for (State& state : *made)
    state.moveTo(layout, state.count.size());
  return made;
}

/// For a walk in which nothing sets what is unused.
States KnownTurns::taken(const States& states, const Walk& walk) const {
  States made = states;
  for (State& state : made) {
    state.moveTo(walk.rows(), program.flags.size());
    for (size_t flag = 0; flag < unused.size(); ++flag)
      if (unused[flag])
        state.count[flag] = 0;
  }
  return made;
}

std::pair<size_t, size_t> KnownTurns::placesIn(const Node* loop) {
  const auto [found, isNew] = places.try_emplace(loop, loop->body.size(), loop->body.size());
  if (isNew && without != kNone)
    found->second = placesOf(loop->body, without);
  return found->second;
}

} // namespace tilewright::ascend::model
