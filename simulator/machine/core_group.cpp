// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/core_group.h"
#include "simulator/machine/guard.h"

namespace tilewright::ascend {

void CoreGroup::run() {
  ranSomething = false;
  size_t first = agents[0]->takesTurns() ? agents[0]->random() % agents.size() : 0;
  // Agents that only poll GM get one turn a round: what they poll for may come from another group.
  std::vector<bool> polled(agents.size(), false);
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t k = 0; k < agents.size(); ++k) {
      size_t i = (first + k) % agents.size();
      Agent& agent = *agents[i];
      if (polled[i] || !agent.canRun())
        continue;
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
  constexpr size_t mostOutstanding = 15;
  auto known = std::make_shared<RemoteClock>(remote ? *remote : RemoteClock{});
  known->agents.resize(numAgents);
  known->agents[from.index].join(clock);
  RemoteClockRef ref = std::move(known);
  if (mode == 0 || mode == 3) {
    globalSets.push_back({&from, mode, flag, ref});
    return;
  }
  if (mode == 2 && from.view.cube) {
    for (auto& agent : agents)
      if (!agent->view.cube) {
        agent->deliver(flag, {ref});
        if (agent->numArrivals(flag) > mostOutstanding)
          from.complain("CrossCoreSetFlag sets flag " + std::to_string(flag) +
                            " a 16th time before it is waited for; the counter ends at 15",
                        true, from.hazards.site(site).place);
      }
    return;
  }
  // Vector cores of one group: a wait needs both.
  std::vector<Agent*> vectors;
  for (auto& agent : agents)
    if (!agent->view.cube)
      vectors.push_back(agent.get());
  auto& half = halves[mode - 1][flag];
  half[from.view.subBlockIdx & 1].push_back(ref);
  if (half[from.view.subBlockIdx & 1].size() > mostOutstanding)
    from.complain("CrossCoreSetFlag sets flag " + std::to_string(flag) +
                      " a 16th time before it is waited for; the counter ends at 15",
                  true, from.hazards.site(site).place);
  for (Agent* v : vectors)
    if (half[v->view.subBlockIdx & 1].empty())
      return;
  RemoteClockRef both;
  for (Agent* v : vectors) {
    auto& list = half[v->view.subBlockIdx & 1];
    both = joined(both, list.front());
    list.erase(list.begin());
  }
  for (auto& agent : agents)
    if (agent->view.cube == (mode == 2))
      agent->deliver(flag, {both});
}

} // namespace tilewright::ascend
