// SPDX-License-Identifier: Apache-2.0
// Filling GM with one value, which takes UB from its start on.
#ifndef TILEWRIGHT_ASCENDC_GLOBAL_MEMORY_H
#define TILEWRIGHT_ASCENDC_GLOBAL_MEMORY_H

#include "copies.h"
#include "queues.h"
#include "vector.h"

namespace AscendC {

/// The second pipe of the event goes on when what the first has begun has ended.
inline void twMeet(HardEvent event, TwPlace place) {
  const int32_t id = twAllocateEventId(event, place);
  twSetFlag(event, id, place);
  twWaitFlag(event, id, place);
  twReleaseEventId(event, id);
}

/// `size` counts elements. Who loads UB afterwards waits for PIPE_MTE3 before, and other cores by SyncAll.
template <class T>
void InitGlobalMemory(const GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size,
                      const TwNotDeducedT<T> value, TwPlace place = TwPlace::here()) {
  static_assert(std::is_same_v<T, uint16_t> || std::is_same_v<T, int16_t> ||
                    std::is_same_v<T, half> || std::is_same_v<T, uint32_t> ||
                    std::is_same_v<T, int32_t> || std::is_same_v<T, float>,
                "InitGlobalMemory takes uint16_t, int16_t, half, uint32_t, int32_t and float");
  const TPipe* pipe = GetTPipePtr();
  if (pipe && twHost::agentView().livePipes > 0 && pipe->firstFree(TwSpace::UB) > 0)
    twHost::failKernel("InitGlobalMemory works in UB, from its start on: call it before InitBuffer "
                       "gives that away",
                       place);
  constexpr uint64_t most = 32768 / sizeof(T);
  const auto filled = static_cast<uint32_t>(std::min(size, most));
  if (filled == 0)
    return;
  LocalTensor<T> values(TPosition::VECCALC, 0, filled);
  twMeet(HardEvent::MTE3_V, place); // an earlier call may still be storing
  twHost::issueBarrier(twHost::Pipe::V, place);
  Duplicate(values, static_cast<T>(value), static_cast<int32_t>(filled), place);
  twMeet(HardEvent::V_MTE3, place);
  for (uint64_t at = 0; at < size; at += filled) {
    const uint64_t count = std::min<uint64_t>(filled, size - at);
    twPadOut(gmWorkspaceAddr[at], values, 1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, place);
  }
  twMeet(HardEvent::MTE3_V, place);
}
/// The older name.
template <class T>
void InitOutput(const GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size,
                const TwNotDeducedT<T> value, TwPlace place = TwPlace::here()) {
  InitGlobalMemory<T>(gmWorkspaceAddr, size, value, place);
}

} // namespace AscendC

#endif
