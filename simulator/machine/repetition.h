// SPDX-License-Identifier: Apache-2.0
// Notices that a core does the same again and again with the same results: it waits for something that may never come.
// It looks at some of the core's steps only, so that others pay nothing for it.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_REPETITION_H
#define TILEWRIGHT_SIMULATOR_MACHINE_REPETITION_H

#include <cstddef>
#include <cstdint>
#include <unordered_set>

namespace tilewright::ascend {

/// What a step was and what it left: equal fingerprints are taken for equal steps.
class Fingerprint {
public:
  void add(uint64_t word);
  void add(const void* data, size_t bytes);
  uint64_t value() const {
    return state;
  }

private:
  uint64_t state = 0x9E3779B97F4A7C15ull;
};

class Repetition {
public:
  /// Called before each step; true if the step's fingerprint is wanted.
  bool isLooking() {
    constexpr uint32_t stepsBetween = 65536;
    return looking || ++skipped >= stepsBetween;
  }
  /// Returns true if the step is new.
  bool note(uint64_t fingerprint);

  /// For long, all steps have been like earlier ones.
  bool isRepeating() const {
    constexpr uint64_t many = 2048;
    return repeats >= many;
  }
  uint64_t repeatsInARow() const {
    return repeats;
  }
  /// Now and then while it repeats: others should go on.
  bool wantsToYield() const {
    constexpr uint64_t turn = 256;
    return isRepeating() && repeats % turn == 0;
  }
  /// Steps that were new; steps that nobody looked at are not counted.
  uint64_t news() const {
    return numNews;
  }

private:
  bool looking = false;
  uint32_t skipped = 0;
  uint64_t repeats = 0; ///< since the last new step
  uint64_t numNews = 0;
  std::unordered_set<uint64_t> seen;
};

} // namespace tilewright::ascend

#endif
