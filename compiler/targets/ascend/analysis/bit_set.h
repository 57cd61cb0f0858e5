// SPDX-License-Identifier: Apache-2.0
/// Sets of small numbers, of a size that is fixed when they are made: alone, or as the rows of a matrix.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tilewright::ascend::model {

constexpr size_t kWordBits = 64;

/// What all sets can; `Self` has `words()`. Operands are of one size.
template <typename Self> class BitOperations {
public:
  bool operator[](size_t i) const {
    return mine()[i / kWordBits] >> (i % kWordBits) & 1;
  }
  void set(size_t i) {
    mine()[i / kWordBits] |= uint64_t{1} << (i % kWordBits);
  }
  void reset(size_t i) {
    mine()[i / kWordBits] &= ~(uint64_t{1} << (i % kWordBits));
  }
  template <typename Other> Self& operator|=(const Other& other) {
    return combine(other, [](uint64_t a, uint64_t b) { return a | b; });
  }
  template <typename Other> Self& operator&=(const Other& other) {
    return combine(other, [](uint64_t a, uint64_t b) { return a & b; });
  }
  /// Takes out what `other` has.
  template <typename Other> Self& operator-=(const Other& other) {
    return combine(other, [](uint64_t a, uint64_t b) { return a & ~b; });
  }
  bool isEmpty() const {
    return std::ranges::all_of(mine(), [](uint64_t word) { return word == 0; });
  }
  template <typename Visit> void forEach(Visit visit) const {
    const std::span<const uint64_t> words = mine();
    for (size_t w = 0; w < words.size(); ++w)
      for (uint64_t left = words[w]; left; left &= left - 1)
        visit(w * kWordBits + static_cast<size_t>(std::countr_zero(left)));
  }

private:
  template <typename Other, typename Operation>
  Self& combine(const Other& other, Operation operation) {
    const std::span<uint64_t> words = mine();
    const std::span<const uint64_t> others = other.words();
    for (size_t w = 0; w < words.size(); ++w)
      words[w] = operation(words[w], others[w]);
    return static_cast<Self&>(*this);
  }
  std::span<uint64_t> mine() {
    return static_cast<Self*>(this)->words();
  }
  std::span<const uint64_t> mine() const {
    return static_cast<const Self*>(this)->words();
  }
};

class BitSet : public BitOperations<BitSet> {
public:
  BitSet() = default;
  explicit BitSet(size_t size) : held((size + kWordBits - 1) / kWordBits) {}

  std::span<uint64_t> words() {
    return held;
  }
  std::span<const uint64_t> words() const {
    return held;
  }
  bool operator==(const BitSet& other) const {
    return held == other.held;
  }

private:
  std::vector<uint64_t> held;
};

/// A row of a BitMatrix, as long as that is neither moved nor gone.
class BitRow : public BitOperations<BitRow> {
public:
  explicit BitRow(std::span<uint64_t> words) : held(words) {}
  std::span<uint64_t> words() {
    return held;
  }
  std::span<const uint64_t> words() const {
    return held;
  }
  template <typename Other> void assign(const Other& other) {
    std::ranges::copy(other.words(), held.begin());
  }

private:
  std::span<uint64_t> held;
};

/// Sets of one size, side by side in memory.
class BitMatrix {
public:
  BitMatrix() = default;
  BitMatrix(size_t rows, size_t size)
      : width((size + kWordBits - 1) / kWordBits), count(rows * width),
        held(std::make_unique<uint64_t[]>(count)) {}

  /// Takes the rows of another one that `isNeeded` says so of; nothing may ask for the others before they are assigned.
  template <typename IsNeeded> void copy(const BitMatrix& other, IsNeeded isNeeded) {
    if (count != other.count)
      held = std::make_unique_for_overwrite<uint64_t[]>(other.count);
    width = other.width;
    count = other.count;
    for (size_t row = 0; row * width < count; ++row)
      if (isNeeded(row))
        std::copy_n(other.held.get() + row * width, width, held.get() + row * width);
  }

  /// More rows behind those that there are.
  void addRows(size_t rows) {
    const size_t more = count + rows * width;
    auto larger = std::make_unique_for_overwrite<uint64_t[]>(more);
    std::copy_n(held.get(), count, larger.get());
    held = std::move(larger);
    count = more;
  }

  BitRow operator[](size_t row) {
    return BitRow(std::span(held.get() + row * width, width));
  }
  std::span<const uint64_t> words(size_t row) const {
    return {held.get() + row * width, width};
  }

private:
  size_t width = 0, count = 0;
  std::unique_ptr<uint64_t[]> held;
};

} // namespace tilewright::ascend::model
