// SPDX-License-Identifier: Apache-2.0
// The line of a kernel at which its own code was stopped (a fault, an endless loop), from the
// debug information of the program.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_FAULT_PLACE_H
#define TILEWRIGHT_SIMULATOR_MACHINE_FAULT_PLACE_H

#include <cstdint>
#include <string>

namespace tilewright::ascend {

class Fiber;

/// Return addresses, the innermost first.
struct CallChain {
  static constexpr unsigned capacity = 24;
  uint64_t addresses[capacity] = {};
  unsigned count = 0;

  /// From a signal handler's third argument. Reads frames only where `fiber` has its stack.
  static CallChain of(const void* signalContext, const Fiber& fiber);
};

struct FaultPlace {
  std::string file; ///< empty: not known
  uint32_t line = 0;
};

/// The innermost line that lies neither in our headers nor in a library. Runs addr2line.
FaultPlace placeOf(const CallChain& chain);

} // namespace tilewright::ascend

#endif
