// SPDX-License-Identifier: Apache-2.0
// How a kernel that never ends is found: what it repeats, the states that it comes back to, and what is said of it.
#include "simulator/machine/agent.h"
#include "simulator/machine/core_group.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace tilewright::ascend {

bool Agent::isRepeated(uint32_t site, uint64_t place, const void* left, uint64_t bytes) {
  if (!watchesRepetition())
    return false;
  Fingerprint step;
  step.add(site);
  step.add(place);
  uint64_t there = step.value();
  step.add(left, bytes);
  return !repetition.note(there, step.value());
}

bool Agent::isRepeated(uint32_t site, const isa::AccessList& accesses) {
  if (!watchesRepetition())
    return false;
  constexpr uint64_t mostCompared = 65536; // bytes of a result
  Fingerprint place, step;
  place.add(site);
  for (unsigned i = 0; i < accesses.count; ++i) {
    const Access& access = accesses.items[i];
    if (access.region.empty())
      continue;
    Interval hull = access.region.hull();
    place.add(hull.begin);
    place.add(hull.end);
    if (access.kind == AccessKind::Write)
      step.add(context.at(access.space, hull.begin), std::min(hull.end - hull.begin, mostCompared));
    else if (access.kind == AccessKind::Atomic)
      step.add(calls.load(std::memory_order_relaxed)); // what it adds to changes each time
  }
  step.add(place.value());
  return !repetition.note(place.value(), step.value());
}

void Agent::noteText(const char* text) {
  isRepeated(~0u, 0, text, strlen(text));
}

void Agent::yieldTurn() {
  state = State::Spins;
  leave();
}

void Agent::noteState(uint64_t from) {
  const uint64_t* end = nullptr;
  const uint64_t* begin = fiber.wordsFrom(from, &end);
  uint64_t state = fingerprintOf(begin, end);
  state = fingerprintOf(&view, &view + 1, state);
  state = fingerprintOf(&mask, &mask + 1, state);
  recurrence.note(state, kernelCode, repetition.newResults(), repetition.isRepeating());
  if (!recurrence.wantsMemory())
    return;
  const uint64_t variables = fingerprintOfVariables(kernelCode);
  const uint64_t own = pending.empty() && variables != 0 ? fingerprintOfOwnMemory(*memory) : 0;
  recurrence.noteMemory(own != 0 ? fingerprintOf(&own, &own + 1, variables) : 0);
}

std::string Agent::sentenceOf(Ending ending) const {
  auto seconds = [](double limit) {
    std::ostringstream text;
    text << limit << " s";
    return text.str();
  };
  const std::string andOthers = ", and all other cores have ended, wait or repeat too";
  const std::string noProof =
      "; this is a limit of the host and no proof: if the kernel will end, set ";
  switch (ending) {
  case Ending::SameState:
    return "endless loop: the kernel is back in the very state that it was in before, and reads "
           "nothing new that could end it [507014]";
  case Ending::SameResults:
    return isProven()
               ? "endless wait: the kernel repeats the same instructions with the same results" +
                     andOthers + " [507014]"
               : "the kernel has repeated the same instructions with the same results for " +
                     seconds(patienceWithoutProof * options.repeatLimitSeconds) + andOthers +
                     noProof + "repeat-limit higher [507014]";
  case Ending::SameLoop:
    return "endless loop: the kernel is back in the state that it was in before, but for what is "
           "in "
           "memory" +
           andOthers + noProof + "repeat-limit higher [507014]";
  case Ending::NewResults:
    return "endless loop: the kernel repeats the same instructions at the same addresses with ever "
           "new results" +
           andOthers + noProof + "repeat-limit higher [507014]";
  case Ending::IdleLimit:
    return "the kernel's own code has run for " + seconds(options.idleLimitSeconds) +
           " without an instruction" + noProof + "idle-limit higher [507014]";
  case Ending::Blocked:
    return "the kernel has waited for " + seconds(options.blockedLimitSeconds()) +
           " in a call of the operating system, which a core has not [507014]";
  default:
    return "the kernel has run for " + seconds(options.timeLimitSeconds) + noProof +
           "time-limit higher [507014]";
  }
}

void Agent::endRepeating(Ending ending) {
  complain(sentenceOf(ending), true, lastPlace);
  endWith(507014);
}

} // namespace tilewright::ascend
