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
  uint64_t caller = 0; ///< of the library in which it stopped; 0: not known
  /// The part of the fiber's stack that is in use. Libraries have no frame pointers: behind them, what looks like a
  /// return address there is taken for one.
  const uint64_t* stackBegin = nullptr;
  const uint64_t* stackEnd = nullptr;

  /// From a signal handler's third argument. Reads frames only where `fiber` has its stack.
  static CallChain of(const void* signalContext, const Fiber& fiber);
  /// Of the caller.
  static CallChain here();
  /// A processor that stopped in a system call or a trap stands behind that instruction already.
  void stepBack();
};

/// Where the code was, from a signal handler's third argument; 0 if the processor isn't known.
uint64_t programCounterOf(const void* signalContext);
/// Code that no kernel wrote. Allocates nothing.
bool isInLibrary(uint64_t address);
/// What the kernel's code was doing in a library when a signal came.
enum class LibraryCall : uint8_t {
  None,          ///< it is in its own code
  Heap,          ///< in malloc or its like, which may hold a lock
  OverflowCheck, ///< __stack_chk_fail, or memcpy and others with a known size
  Assertion,     ///< of the C or C++ library
  OwnAbort,      ///< it called abort()
  LibraryAbort,  ///< a library that it called did
  Other,
};
/// From a signal handler's third argument; notes in `chain` which of the kernel's code called the library. Allocates
/// nothing.
LibraryCall libraryCallAt(const void* signalContext, CallChain& chain);

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
