// SPDX-License-Identifier: Apache-2.0
// Notices that a core does the same again and again: it waits for something that may never come. With the same
// results each time, that shows at once; with ever new ones, only that it always comes back to the same places.
// It looks at some of the core's steps only, so that others pay nothing for it.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_REPETITION_H
#define TILEWRIGHT_SIMULATOR_MACHINE_REPETITION_H

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace tilewright::ascend {

/// Of a step: what it was and which memory it touched (its place), or also what it left there (its result). Equal
/// fingerprints are taken for equal steps.
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

/// Places that have been seen: bits at their fingerprints, so that large loops cost little. A new place may pass for
/// an old one, but at most every other time.
class SeenPlaces {
public:
  /// Returns true if it is new.
  bool insert(uint64_t place);
  uint64_t size() const {
    return numSet;
  }

private:
  static constexpr uint64_t numBits = uint64_t{1} << 20;
  std::vector<uint64_t> bits; ///< none before the first place
  uint64_t numSet = 0;
};

class Repetition {
public:
  /// Called before each step; true if the step's fingerprint is wanted.
  bool isLooking() {
    constexpr uint32_t stepsBetween = 65536;
    return looking || ++skipped >= stepsBetween;
  }
  /// Returns true if the step's result is new.
  bool note(uint64_t place, uint64_t result);

  /// For long, all steps have been like earlier ones.
  bool isRepeating() const {
    constexpr uint64_t many = 2048;
    return repeats >= many;
  }
  uint64_t repeatsInARow() const {
    return repeats;
  }
  /// For longer, it has come to no new place, whatever it found there. Then every step is looked at.
  bool isCircling() const {
    return circled >= longCircle;
  }
  uint64_t stepsInCircles() const {
    return circled;
  }
  /// A loop that is not small may be the work of an algorithm that goes over its data again and again.
  bool isLargeCircle() const {
    return places.size() > longestLoop;
  }
  /// How often it has gone round, about.
  uint64_t rounds() const {
    return circled / (places.size() + 1);
  }
  /// Now and then while it repeats: others should go on.
  bool wantsToYield() const {
    constexpr uint64_t turn = 256;
    return (isRepeating() && repeats % turn == 0) || (isCircling() && circled % turn == 0);
  }
  /// Steps with new results; steps that nobody looked at are not counted.
  uint64_t newResults() const {
    return numNewResults;
  }
  uint64_t newPlaces() const {
    return numNewPlaces;
  }

private:
  static constexpr uint64_t longCircle = 4096;
  static constexpr size_t longestLoop = 1024; ///< different steps
  bool looking = false;
  uint32_t skipped = 0;
  uint64_t repeats = 0; ///< since the last new result
  uint64_t circled = 0; ///< since the last new place
  uint64_t numNewResults = 0, numNewPlaces = 0;
  std::unordered_set<uint64_t> results;
  SeenPlaces places;
};

} // namespace tilewright::ascend

#endif
