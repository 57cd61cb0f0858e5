// SPDX-License-Identifier: Apache-2.0
// Finds that a core is back in a state that it was in before, with all of memory. If it has read nothing in between, or
// only what stays as it is, it will come back to it for ever: that is a proof, where Repetition has only a suspicion. Loops that count
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
  /// It may be in a loop: whether it does so should be looked at before its next step. Each round has a window of
  /// steps at which that is done.
  bool wantsTest() {
    constexpr uint64_t window = 64;
    if ((rounds == 0 && keptVariables == 0) || (looksEndless() && !isDue))
      return false;
    const uint64_t test = tests++;
    return test >= firstTest && test - firstTest < window;
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
    return movesOn ? keepFrom(place) : ++missed > patience && moveTo(place);
  }
  /// The state's fingerprint after a wanted step. `code` is an address in the kernel, `newResults` how many steps have
  /// had new results so far, and `isRepeating` says that all of them have been looked at for long.
  void note(uint64_t state, const void* code, uint64_t newResults, bool isRepeating);
  /// It is back in the same place with the same registers and stack: only what it has written to memory, or what its
  /// instructions have, may end its loop.
  bool looksEndless() const {
    return rounds >= (period < longPeriod ? 3 : 1) && steps <= period;
  }
  /// Also all of memory is as it was a round ago: nothing can end it but what it reads.
  bool isProven() const {
    return looksEndless() && hasSameMemory;
  }
  /// And it reads nothing.
  bool isClosed() const {
    return isProven() && !readsInLoop;
  }
  bool looksClosed() const {
    return looksEndless() && !readsInLoop;
  }
  /// After a wanted step: whether noteMemory should be called.
  bool wantsMemory() const {
    return isDue && steps == 0;
  }
  /// All memory that it can change or read; 0 if it can't be looked at.
  void noteMemory(uint64_t memory);
  /// Another core has ended, and may have written before.
  void forgetMemory() {
    hasSameMemory = isDue = false;
    keptMemory = turns = 0;
    nextDue = 1;
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
  bool keepFrom(Place place);

  Place anchor;
  uint64_t missed = 0, patience = 0;
  uint64_t kept = 0, keptResults = 0, keptVariables = 0;
  uint64_t steps = 0, limit = 1, period = 0;
  uint64_t rest = 0, restLength = 0;
  uint64_t tests = 0, firstTest = 0;
  uint64_t keptMemory = 0; ///< of the round before; 0: nobody has looked
  uint64_t turns = 0,
           nextDue = 1; ///< rounds since it looks endless; memory is looked at now and then
  uint32_t rounds = 0, sinceYield = 0;
  bool isDue = false, hasSameMemory = false;
  bool movesOn = false; ///< the next other place is as good
  bool hasReadData = false, hasReadElsewhere = true, readsInLoop = false, keptRepeating = false;
};

} // namespace tilewright::ascend

#endif
