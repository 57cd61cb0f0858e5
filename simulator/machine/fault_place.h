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
  /// The part of the fiber's stack that is in use. Libraries have no frame pointers: behind them, what looks like a
  /// return address there is taken for one.
  const uint64_t* stackBegin = nullptr;
  const uint64_t* stackEnd = nullptr;

  /// From a signal handler's third argument. Reads frames only where `fiber` has its stack.
  static CallChain of(const void* signalContext, const Fiber& fiber);
  /// Of the caller.
  static CallChain here();
};

/// Code that no kernel wrote. Allocates nothing.
bool isInLibrary(uint64_t address);
/// The kernel's code is inside malloc or its like, which may hold a lock. Allocates nothing.
bool isInHeapFunction(const CallChain& chain);

struct FaultPlace {
  std::string file; ///< empty: not known
  uint32_t line = 0;
};

/// The innermost line that lies neither in our headers nor in a library. Runs addr2line.
FaultPlace placeOf(const CallChain& chain);

/// Has addr2line write the lines to stderr itself, and allocates nothing: for a heap that is damaged.
void printPlaceOf(const CallChain& chain);

} // namespace tilewright::ascend

#endif
