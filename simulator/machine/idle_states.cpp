// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/idle_states.h"

#include "simulator/machine/agent.h"

#include <ucontext.h>

namespace tilewright::ascend {

namespace {

/// 0 where the processor's registers aren't known.
uint64_t stateOf(const void* signalContext, const Fiber& fiber) {
#if defined(__x86_64__)
  const auto& machine = static_cast<const ucontext_t*>(signalContext)->uc_mcontext;
  uint64_t state = fingerprintOf(machine.gregs, machine.gregs + REG_EFL + 1);
  // With all vector registers, if the system has kept them; see struct _fpx_sw_bytes of Linux.
  const auto* area = reinterpret_cast<const char*>(machine.fpregs);
  struct Extended {
    uint32_t magic, extendedBytes;
    uint64_t features;
    uint32_t bytes;
  };
  constexpr size_t legacyBytes = 512, wordsAt = 464;
  constexpr uint32_t magic = 0x46505853;
  if (area) {
    const auto* extended = reinterpret_cast<const Extended*>(area + wordsAt);
    bool isExtended = extended->magic == magic && extended->bytes >= legacyBytes;
    state = fingerprintOf(area, area + wordsAt, state);
    if (isExtended)
      state = fingerprintOf(area + legacyBytes, area + extended->bytes, state);
  }
  constexpr uint64_t redZone = 128;
  const uint64_t* end = nullptr;
  const uint64_t* begin =
      fiber.wordsFrom(static_cast<uint64_t>(machine.gregs[REG_RSP]) - redZone, &end);
  return begin ? fingerprintOf(begin, end, state) : 0;
#else
  (void)signalContext;
  (void)fiber;
  return 0;
#endif
}

} // namespace

IdleStates::Seen IdleStates::note(const void* signalContext, const Agent& agent) {
  constexpr uint32_t often = 4;
  uint64_t stay = agent.calls;
  if (stay == stayed && rest > 0) {
    --rest;
    return Seen::New;
  }
  uint64_t state = stateOf(signalContext, agent.fiber);
  if (state == 0)
    return Seen::New;
  if (stay != stayed)
    rest = restLength = 0;
  if (stay != stayed || count > capacity / 2) {
    for (Entry& entry : entries)
      entry = {};
    count = 0;
    stayed = stay;
  }
  size_t at = state % capacity;
  while (entries[at].times > 0 && entries[at].state != state)
    at = (at + 1) % capacity;
  Entry& entry = entries[at];
  if (entry.times == 0) {
    ++count;
    entry = {state, 0, 1};
    return Seen::New;
  }
  uint64_t variables =
      fingerprintOfVariables(reinterpret_cast<const void*>(programCounterOf(signalContext)));
  uint64_t memory = variables ? fingerprintOfOwnMemory(agent.localMemory()) : 0;
  variables = memory ? fingerprintOf(&memory, &memory + 1, variables) : 0;
  bool isSame = variables != 0 && (entry.times == 1 || variables == entry.variables);
  entry.variables = variables;
  entry.times = isSame ? entry.times + 1 : 1;
  if (!isSame) {
    rest = restLength = 2 * restLength + 1;
    return Seen::New;
  }
  return entry.times >= often ? Seen::Often : Seen::Before;
}

} // namespace tilewright::ascend
