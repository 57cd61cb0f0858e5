// SPDX-License-Identifier: Apache-2.0
// Meetings of cores that have no hardware flag: on the chip, cores poll words in GM for them. A notice
// tells all cores of the launch; each takes it from its own queue.
#include "simulator/machine/agent.h"
#include "simulator/machine/core_group.h"

namespace tilewright::ascend {

void CoreGroup::notify(Agent& from, uint64_t key, const Clock& clock,
                       const RemoteClockRef& remote) {
  auto known = std::make_shared<RemoteClock>(remote ? *remote : RemoteClock{});
  known->join(from.index, clock);
  globalSets.push_back({&from, GlobalSet::noticeMode, 0, std::move(known), {}, key});
}

void Agent::notify(NoticeOf of, uint64_t key, const char* what, Place place) {
  lastPlace = place;
  if (of == NoticeOf::Meeting && isMuted(place, what, ""))
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

int32_t Agent::arrivedKey() const {
  for (uint32_t k = 0; k < awaited.numKeys; ++k) {
    auto found = live->notices.find(awaited.key + k);
    if (found != live->notices.end() && found->second.size() >= awaited.count)
      return static_cast<int32_t>(k);
  }
  return -1;
}

bool Agent::isGroupEnding() const {
  for (const auto& other : group.agents)
    if (other.get() != this && other->state != State::Done && other->state != State::Failed)
      return false;
  return true;
}

int32_t Agent::await(const NoticeWait& wait, Place place) {
  lastPlace = place;
  if (wait.of == NoticeOf::Meeting && isMuted(place, wait.what, ""))
    return 0;
  drainAll();
  awaited = wait;
  int32_t arrived = arrivedKey();
  for (; arrived < 0; arrived = arrivedKey()) {
    if (wait.untilGroupEnds && isGroupEnding())
      return -1;
    state = State::WaitsCross;
    waitingFor = noticeWait;
    leave();
  }
  const uint64_t key = wait.key + static_cast<uint64_t>(arrived);
  auto& notices = live->notices[key];
  for (uint32_t k = 0; k < wait.count; ++k) {
    remote = joined(remote, notices.front());
    notices.pop_front();
  }
  traceNotice(TraceKind::AwaitNotice, key, wait.count, wait.what, place);
  return arrived;
}

void** Agent::mail() {
  return group.mail;
}

} // namespace tilewright::ascend
