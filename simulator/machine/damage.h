// SPDX-License-Identifier: Apache-2.0
// The last words of a program whose memory a kernel has damaged. That may show anywhere: in the machine, in malloc, in
// the host's code after the launch. All of it works without the heap, and so without what may be damaged there.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_DAMAGE_H
#define TILEWRIGHT_SIMULATOR_MACHINE_DAMAGE_H

#include "simulator/isa/place.h"
#include "simulator/machine/fault_place.h"

#include <atomic>
#include <cstdint>

namespace tilewright::ascend {

/// The launch that is to blame from now on, until the next one.
void blameLaunch(const char* kernelSymbol, Place launch);
/// The texts that blameLaunch was given are gone; the kernel's name stays known.
void forgetLaunchTexts();
/// There has been one, and the program's exit code may be ours.
bool mayBlameLaunch();

enum class Damage : uint8_t {
  Heap,     ///< the C library failed in malloc or its like, called by a kernel
  Machine,  ///< a fault in the machine's own code while a kernel runs
  Host,     ///< a fault in code of the host
  HostHeap, ///< in malloc or its like, called by code of the host
  Thread,   ///< the kernel's thread is gone
};

/// What is known of the core that did it.
struct Culprit {
  bool isKnown = false, isCube = false;
  uint32_t number = 0;
  Place last; ///< its last instruction
};

/// Ends the program with a text and exit code 66. `seen` is where it failed.
[[noreturn]] void endDamagedProgram(Damage damage, const Culprit& culprit = {},
                                    const CallChain& seen = {});

/// A stack for signal handlers, between pages that fault. How deep its handlers are nested is known without variables
/// of the thread, which a kernel can damage, too.
struct SignalStack {
  static constexpr size_t bytes = size_t{64} * 1024;
  std::atomic<char*> base{nullptr};
  std::atomic<bool> isTaken{false};
  std::atomic<int> depth{0};

  /// Null if there are no more. The calling thread's from now on.
  static SignalStack* take();
  void giveBack();
  /// That on which the caller runs; one for all others.
  static SignalStack& here();
};

} // namespace tilewright::ascend

#endif
