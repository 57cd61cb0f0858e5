// SPDX-License-Identifier: Apache-2.0
// Meetings of cores that have no hardware flag: on the chip, cores poll words in GM for them. A notice
// tells all cores of the launch; each takes it from its own queue.
#include "simulator/machine/agent.h"
#include "simulator/machine/core_group.h"

namespace tilewright::ascend {

void CoreGroup::notify(Agent& from, uint64_t key, const Clock& clock,
                       const RemoteClockRef& remote) {
  auto known = std::make_shared<RemoteClock>(remote ? *remote : RemoteClock{});
  known->agents.resize(numAgents);
  known->agents[from.index].join(clock);
  globalSets.push_back({&from, GlobalSet::noticeMode, 0, std::move(known), {}, key});
}

void Agent::notify(uint64_t key, const char* what, Place place) {
  lastPlace = place;
  if (isMuted(place, what, ""))
    return;
  drainAll();
  hazards.barrierAll();
  late.landAll();
  group.notify(*this, key, hazards.completed(Pipe::S), remote);
  traceNotice(TraceKind::Notice, key, 1, what, place);
}

void Agent::traceNotice(TraceKind kind, uint64_t key, uint32_t count, const char* what,
                        Place place) {
  if (!options.trace)
    return;
  TraceEvent event;
  event.kind = kind;
  event.address = key;
  event.repeats = count;
  event.site = hazards.siteOf(place, what);
  trace.push_back(event);
}

bool Agent::hasNotices() const {
  auto found = live->notices.find(awaited.key);
  return found != live->notices.end() && found->second.size() >= awaited.count;
}

bool Agent::isGroupEnding() const {
  for (const auto& other : group.agents)
    if (other.get() != this && other->state != State::Done && other->state != State::Failed)
      return false;
  return true;
}

bool Agent::await(const NoticeWait& wait, Place place) {
  lastPlace = place;
  if (isMuted(place, wait.what, ""))
    return true;
  drainAll();
  awaited = wait;
  while (!hasNotices()) {
    if (wait.untilGroupEnds && isGroupEnding())
      return false;
    state = State::WaitsCross;
    waitingFor = noticeWait;
    leave();
  }
  auto& arrived = live->notices[wait.key];
  for (uint32_t k = 0; k < wait.count; ++k) {
    remote = joined(remote, arrived.front());
    arrived.pop_front();
  }
  traceNotice(TraceKind::AwaitNotice, wait.key, wait.count, wait.what, place);
  return true;
}

void** Agent::mail() {
  return group.mail;
}

} // namespace tilewright::ascend
