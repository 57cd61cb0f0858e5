// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/repetition.h"

#include <cstring>

namespace tilewright::ascend {

void Fingerprint::add(uint64_t word) { // splitmix64
  uint64_t z = (state ^ word) + 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  state = z ^ z >> 31;
}

void Fingerprint::add(const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  for (; bytes >= sizeof(uint64_t); p += sizeof(uint64_t), bytes -= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, p, sizeof word);
    add(word);
  }
  uint64_t rest = 0;
  if (bytes > 0) // no data may have no address
    std::memcpy(&rest, p, bytes);
  add(rest ^ bytes << 56);
}

bool SeenPlaces::insert(uint64_t place) {
  constexpr uint64_t bitsOfWord = 64;
  if (numSet >= numBits / 2 || bits.empty()) {
    bits.assign(numBits / bitsOfWord, 0);
    numSet = 0;
  }
  uint64_t& word = bits[place % numBits / bitsOfWord];
  uint64_t bit = uint64_t{1} << place % bitsOfWord;
  bool isNew = !(word & bit);
  word |= bit;
  numSet += isNew;
  return isNew;
}

bool Repetition::note(uint64_t place, uint64_t result) {
  looking = true;
  skipped = 0;
  ++circled;
  if (places.insert(place)) {
    ++numNewPlaces;
    circled = 0;
  }
  if (!results.insert(result).second) {
    ++repeats;
    return false;
  }
  ++numNewResults;
  repeats = 0;
  if (results.size() > longestLoop) {
    looking = isCircling();
    results.clear();
  }
  return true;
}

} // namespace tilewright::ascend
