// SPDX-License-Identifier: Apache-2.0
// Finds that a core is back in a state that it was in before. If it has read nothing in between, or only what stays as
// it is, it will come back to it for ever: that is a proof, where Repetition has only a suspicion. Loops that count
// have another state each time round, so that a long kernel is never taken for an endless one.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_RECURRENCE_H
#define TILEWRIGHT_SIMULATOR_MACHINE_RECURRENCE_H

#include "simulator/isa/place.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::ascend {

/// Of memory that sanitizers may have poisoned; fast, as whole stacks are taken.
uint64_t fingerprintOf(const void* begin, const void* end, uint64_t seed = 0);
/// The program's variables (.data and .bss) around the code at `address`; 0 if there are too many to look at.
uint64_t fingerprintOfVariables(const void* address);
/// A compiler that keeps a kernel's variables in places of its own (a sanitizer) hides its state.
bool canSeeStates();

/// Brent's algorithm: a state is kept for twice as many steps as the one before it. Only the steps of one line of the
/// kernel count, which its loop comes to again and again.
class Recurrence {
public:
  /// The kernel has read memory: what it does next depends on that.
  void readsData() {
    hasReadData = true;
  }
  /// It has read what has no state, as the time.
  void readsElsewhere() {
    hasReadElsewhere = true;
  }
  /// Its own code has changed memory by a plain pointer, or a variable: what is in the state isn't all. So it is left
  /// alone for a while, each time for longer.
  void writesByItself() {
    constexpr uint64_t leastRest = 4096;
    Recurrence fresh;
    fresh.anchor = anchor;
    fresh.patience = patience;
    fresh.rest = fresh.restLength = restLength ? 2 * restLength : leastRest;
    *this = fresh;
  }
  /// It may be in a loop: whether it does so should be looked at before its next step.
  bool wantsTest() {
    constexpr uint32_t mostTests = 64;
    return (rounds > 0 || keptVariables != 0) && tests < mostTests && ++tests > 0;
  }
  /// After a step at `place`; true if its state is wanted.
  bool isWanted(Place place) {
    if (rest > 0) {
      --rest;
      return false;
    }
    if (place.line == anchor.line && place.file == anchor.file) {
      missed = 0;
      return true;
    }
    return ++missed > patience && moveTo(place);
  }
  /// The state's fingerprint after a wanted step. `code` is an address in the kernel, `newResults` how many steps have
  /// had new results so far, and `isRepeating` says that all of them have been looked at for long.
  void note(uint64_t state, const void* code, uint64_t newResults, bool isRepeating);
  /// It is in a loop that nothing can end but what it reads.
  bool isProven() const {
    return rounds >= (period < longPeriod ? 3 : 1) && steps <= period;
  }
  /// And it reads nothing.
  bool isClosed() const {
    return isProven() && !readsInLoop;
  }
  /// Now and then in such a loop: others should go on.
  bool wantsToYield() {
    constexpr uint32_t turn = 256;
    return rounds > 0 && ++sinceYield % turn == 0;
  }
  void forget() {
    *this = {};
  }

private:
  static constexpr uint64_t longPeriod = 1024;
  bool moveTo(Place place);

  Place anchor;
  uint64_t missed = 0, patience = 0;
  uint64_t kept = 0, keptResults = 0, keptVariables = 0;
  uint64_t steps = 0, limit = 1, period = 0;
  uint64_t rest = 0, restLength = 0;
  uint32_t rounds = 0, sinceYield = 0, tests = 0;
  bool hasReadData = false, hasReadElsewhere = true, readsInLoop = false, keptRepeating = false;
};

} // namespace tilewright::ascend

#endif
