// SPDX-License-Identifier: Apache-2.0
// States in which samples find a kernel's own code between two instructions: all registers and the stack.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_IDLE_STATES_H
#define TILEWRIGHT_SIMULATOR_MACHINE_IDLE_STATES_H

#include <cstddef>
#include <cstdint>

namespace tilewright::ascend {

class Agent;

class IdleStates {
public:
  enum class Seen : uint8_t { New, Before, Often };
  /// From a signal handler, with its third argument: whether the agent's code was in this state before, with the same
  /// variables of the program and the same memory; `Often` is often enough not to be chance.
  Seen note(const void* signalContext, const Agent& agent);

private:
  struct Entry {
    uint64_t state = 0, variables = 0;
    uint32_t times = 0;
  };
  static constexpr size_t capacity = 1024;
  Entry entries[capacity];
  size_t count = 0;
  uint64_t stayed = 0;               ///< the agent's calls so far
  uint32_t rest = 0, restLength = 0; ///< samples; memory has changed, so that a proof may be far
};

} // namespace tilewright::ascend

#endif
