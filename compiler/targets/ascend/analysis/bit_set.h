// SPDX-License-Identifier: Apache-2.0
/// A set of small numbers, of a size that is fixed when it is made.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::ascend::model {

class BitSet {
public:
  BitSet() = default;
  explicit BitSet(size_t size) : words((size + 63) / 64) {}

  bool operator[](size_t i) const {
    return words[i / 64] >> (i % 64) & 1;
  }
  void set(size_t i) {
    words[i / 64] |= uint64_t{1} << (i % 64);
  }
  void reset(size_t i) {
    words[i / 64] &= ~(uint64_t{1} << (i % 64));
  }
  BitSet& operator|=(const BitSet& other) {
    for (size_t w = 0; w < words.size(); ++w)
      words[w] |= other.words[w];
    return *this;
  }
  BitSet& operator&=(const BitSet& other) {
    for (size_t w = 0; w < words.size(); ++w)
      words[w] &= other.words[w];
    return *this;
  }
  /// Takes out what `other` has.
  BitSet& operator-=(const BitSet& other) {
    for (size_t w = 0; w < words.size(); ++w)
      words[w] &= ~other.words[w];
    return *this;
  }
  bool isEmpty() const {
    return std::all_of(words.begin(), words.end(), [](uint64_t word) { return word == 0; });
  }
  template <typename Visit> void forEach(Visit visit) const {
    for (size_t w = 0; w < words.size(); ++w)
      for (uint64_t left = words[w]; left; left &= left - 1)
        visit(w * 64 + static_cast<size_t>(std::countr_zero(left)));
  }
  bool operator==(const BitSet& other) const = default;

private:
  std::vector<uint64_t> words;
};

} // namespace tilewright::ascend::model
