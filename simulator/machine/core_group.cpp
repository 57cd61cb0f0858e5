// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/core_group.h"
#include "simulator/machine/guard.h"

#include <algorithm>

namespace tilewright::ascend {

void CoreGroup::run(const RunState& launch) {
  ranSomething = false;
  size_t first = agents[0]->takesTurns() ? agents[0]->random() % agents.size() : 0;
  // Agents that only poll GM get one turn a round: what they poll for may come from another group.
  std::vector<bool> polled(agents.size(), false);
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t k = 0; k < agents.size(); ++k) {
      size_t i = (first + k) % agents.size();
      Agent& agent = *agents[i];
      if (launch.isStopped)
        return;
      if (polled[i] || !agent.canRun())
        continue;
      if (launch.takesTooLong && launch.someHaveFailed && agent.state == Agent::State::New) {
        agent.state = Agent::State::Failed;
        continue;
      }
      guardedResume(agent);
      polled[i] = agent.state == Agent::State::Spins || agent.takesTurns();
      progress = ranSomething = true;
    }
  }
}

bool CoreGroup::isFinished() const {
  for (const auto& agent : agents)
    if (agent->state != Agent::State::Done && agent->state != Agent::State::Failed)
      return false;
  return true;
}

void CoreGroup::crossSet(Agent& from, uint32_t mode, uint32_t flag, const Clock& clock,
                         const RemoteClockRef& remote, uint32_t site) {
  auto known = std::make_shared<RemoteClock>(remote ? *remote : RemoteClock{});
  known->join(from.index, clock);
  RemoteClockRef ref = std::move(known);
  Place place = from.hazards.site(site).place;
  if (flag < Agent::numUserFlags)
    from.crossSets[flag] = {from.crossSets[flag].count + 1, mode, place};
  if (mode == 0 || mode == 3) {
    globalSets.push_back({&from, mode, flag, ref, place});
    return;
  }
  // Additions to GM are made in core order, between rounds; nobody may see the flag before.
  if (from.hasAtomics() || !held.empty())
    held.push_back({&from, mode, flag, site, std::move(ref)});
  else
    reach(from, mode, flag, ref, site);
}

void CoreGroup::deliverHeld() {
  for (const HeldSet& set : held)
    reach(*set.from, set.mode, set.flag, set.clock, set.site);
  held.clear();
}

size_t CoreGroup::mostArrivals(bool cube, uint32_t flag) const {
  size_t most = 0;
  for (const auto& agent : agents)
    if (agent->view.cube == cube)
      most = std::max(most, agent->numArrivals(flag));
  return most;
}

void CoreGroup::reach(Agent& from, uint32_t mode, uint32_t flag, const RemoteClockRef& ref,
                      uint32_t site) {
  Place place = from.hazards.site(site).place;
  if (mode == 2 && from.view.cube) {
    for (auto& agent : agents)
      if (!agent->view.cube)
        agent->deliver(flag, {ref}, place);
    from.noteCrossSet(flag, mostArrivals(false, flag), place);
    return;
  }
  // Vector cores of one group: a wait needs both.
  std::vector<Agent*> vectors;
  for (auto& agent : agents)
    if (!agent->view.cube)
      vectors.push_back(agent.get());
  auto& half = halves[{mode, flag}];
  half[from.view.subBlockIdx & 1].push_back({ref, place});
  const bool toCube = mode == 2;
  // Where cores meet, the other may still be on its way to its wait.
  const size_t arrived = toCube ? mostArrivals(true, flag) : from.numArrivals(flag);
  from.noteCrossSet(flag, half[from.view.subBlockIdx & 1].size() + arrived, place);
  for (Agent* v : vectors)
    if (half[v->view.subBlockIdx & 1].empty())
      return;
  RemoteClockRef both;
  for (Agent* v : vectors) {
    auto& list = half[v->view.subBlockIdx & 1];
    both = joined(both, list.front().clock);
    list.erase(list.begin());
  }
  for (auto& agent : agents)
    if (agent->view.cube == toCube)
      agent->deliver(flag, {both}, place);
}

void CoreGroup::checkHalves() {
  for (const auto& [modeAndFlag, ofBoth] : halves)
    for (auto& agent : agents) {
      const auto& half = ofBoth[agent->view.subBlockIdx & 1];
      if (agent->view.cube || half.empty())
        continue;
      auto [mode, flag] = modeAndFlag;
      agent->complain("CrossCoreSetFlag of mode " + std::to_string(mode) + " sets flag " +
                          std::to_string(flag) +
                          " on this vector core but not as often on the other of its block; a "
                          "wait needs both [ErrorSync3]",
                      true, half.front().place,
                      {{{}, "call it on both vector cores of the block, equally often"}});
    }
}

} // namespace tilewright::ascend
