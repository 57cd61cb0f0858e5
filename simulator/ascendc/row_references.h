// SPDX-License-Identifier: Apache-2.0
// The host's side of instruction_rows.h: numbers rounded without any code of the simulator, the
// walk over lanes as the documentation has it, random shapes, and the comparison.
#ifndef TILEWRIGHT_ASCENDC_ROW_REFERENCES_H
#define TILEWRIGHT_ASCENDC_ROW_REFERENCES_H

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace tilewright::ascend::testing {

// --- numbers --------------------------------------------------------------------------------

/// A binary float with `digits` digits (one of them implied) and exponents from `lowest`.
struct FloatFormat {
  int digits, lowest, highest;
};
template <class T> constexpr FloatFormat formatOf() {
  if constexpr (std::is_same_v<T, half>)
    return {11, -24, 16};
  else if constexpr (std::is_same_v<T, bfloat16_t>)
    return {8, -133, 128};
  else
    return {24, -149, 128};
}
template <class T> constexpr bool isFloat = !std::is_integral_v<T>;

/// `x` rounded to nearest, ties to even, in format T; too large gives infinity.
template <class T> double roundTo(double x) {
  constexpr FloatFormat f = formatOf<T>();
  if (x == 0 || !std::isfinite(x))
    return x;
  int exponent;
  std::frexp(x, &exponent);
  int quantum = std::max(exponent - f.digits, f.lowest);
  double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum);
  return std::fabs(rounded) >= std::ldexp(1.0, f.highest) ? std::copysign(INFINITY, x) : rounded;
}
/// The value of the bits of a half or bfloat16_t: sign, exponent, mantissa.
template <class T> double valueOfBits(uint16_t bits) {
  constexpr FloatFormat f = formatOf<T>();
  constexpr int mantissaBits = f.digits - 1, exponents = 1 << (15 - mantissaBits);
  int exponent = (bits & 0x7FFF) >> mantissaBits, mantissa = bits & ((1 << mantissaBits) - 1);
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == exponents - 1)
    return mantissa ? NAN : sign * INFINITY;
  double digits = exponent ? mantissa + (1 << mantissaBits) : mantissa;
  return sign * std::ldexp(digits, f.lowest + std::max(exponent, 1) - 1);
}
template <class T> uint16_t bitsOfValue(double x) {
  constexpr FloatFormat f = formatOf<T>();
  constexpr int mantissaBits = f.digits - 1;
  auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  if (x != x)
    return 0x7FFF;
  double magnitude = std::fabs(roundTo<T>(x));
  if (std::isinf(magnitude))
    return static_cast<uint16_t>(sign | (0x7FFF >> mantissaBits << mantissaBits));
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  int quantum = std::max(exponent - f.digits, f.lowest);
  auto digits = static_cast<int>(std::ldexp(magnitude, -quantum));
  int field = digits >> mantissaBits ? quantum - f.lowest + 1 : 0;
  return static_cast<uint16_t>(sign | field << mantissaBits | (digits & ((1 << mantissaBits) - 1)));
}

/// An element as double, or as int64_t if it is an integer.
template <class T> auto loadAs(const uint8_t* at) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, float>) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<std::conditional_t<isFloat<T>, double, int64_t>>(value);
  } else {
    uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return valueOfBits<T>(bits);
  }
}
/// The nearest element; integers wrap.
template <class T, class V> void storeAs(uint8_t* at, V value) {
  if constexpr (std::is_same_v<T, float>) {
    auto f = static_cast<float>(value);
    std::memcpy(at, &f, sizeof f);
  } else if constexpr (isFloat<T>) {
    uint16_t bits = bitsOfValue<T>(static_cast<double>(value));
    std::memcpy(at, &bits, sizeof bits);
  } else {
    auto i = static_cast<T>(static_cast<uint64_t>(static_cast<int64_t>(value)));
    std::memcpy(at, &i, sizeof i);
  }
}
template <class I> int64_t saturate(double x) {
  constexpr double low = static_cast<double>(std::numeric_limits<I>::min()),
                   high = static_cast<double>(std::numeric_limits<I>::max());
  if (x != x)
    return 0;
  return x <= low    ? int64_t{std::numeric_limits<I>::min()}
         : x >= high ? static_cast<int64_t>(std::numeric_limits<I>::max())
                     : static_cast<int64_t>(x);
}

// --- UB -------------------------------------------------------------------------------------

struct Image {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(imageBytes);

  uint8_t* at(uint32_t which, uint64_t offset = 0) {
    return &bytes.at(which * regionBytes + offset);
  }
  template <class T> auto get(uint32_t which, uint64_t index) {
    return loadAs<T>(at(which, index * sizeof(T)));
  }
  template <class T, class V> void set(uint32_t which, uint64_t index, V value) {
    storeAs<T>(at(which, index * sizeof(T)), value);
  }
};

/// The byte of lane `lane` of repeat `rep`: blocks of 32 bytes, `blk` and `rep` blocks apart.
inline uint64_t laneByte(uint32_t rep, uint32_t lane, uint32_t size, uint32_t blkStride,
                         uint32_t repStride) {
  uint32_t perBlock = 32 / size;
  return 32ull * (uint64_t{rep} * repStride + uint64_t{lane / perBlock} * blkStride) +
         lane % perBlock * size;
}
inline bool isActive(const Shape& s, uint32_t rep, uint32_t lane, uint32_t lanes) {
  switch (s.form) {
  case Form::Lanes:
    return lane < s.lanes;
  case Form::Bits:
    return s.mask[lane / 64] >> (lane % 64) & 1;
  default:
    return rep * lanes + lane < s.count;
  }
}
inline uint32_t repeatsOf(const Shape& s, uint32_t lanes) {
  return s.form == Form::Counter ? (s.count + lanes - 1) / lanes : s.repeat;
}
/// f(byte in dst, in a, in b, number of the lane) for each active lane, in order.
template <class F>
void forLanes(const Shape& s, uint32_t dstSize, uint32_t aSize, uint32_t bSize, F f) {
  uint32_t lanes = 256 / std::max({dstSize, aSize, bSize});
  if (s.form == Form::Count) {
    for (uint64_t i = 0; i < s.count; ++i)
      f(i * dstSize, i * aSize, i * bSize, i);
    return;
  }
  for (uint32_t rep = 0; rep < repeatsOf(s, lanes); ++rep)
    for (uint32_t lane = 0; lane < lanes; ++lane)
      if (isActive(s, rep, lane, lanes))
        f(laneByte(rep, lane, dstSize, s.dstBlk, s.dstRep),
          laneByte(rep, lane, aSize, s.aBlk, s.aRep), laneByte(rep, lane, bSize, s.bBlk, s.bRep),
          uint64_t{rep} * lanes + lane);
}
/// dst = f(dst, a, b) for each active lane.
template <class D, class X, class Y, class F> void eachLane(const Shape& s, Image& u, F f) {
  forLanes(s, sizeof(D), sizeof(X), sizeof(Y), [&](uint64_t d, uint64_t a, uint64_t b, uint64_t) {
    uint8_t* out = u.at(Dst, d);
    storeAs<D>(out, f(loadAs<D>(out), loadAs<X>(u.at(s.first(), a)), loadAs<Y>(u.at(B, b))));
  });
}

// --- drawing --------------------------------------------------------------------------------

/// What a row wants drawn, and the source of chance.
struct Drawing {
  explicit Drawing(unsigned seed) : random(seed) {}

  uint32_t upTo(uint32_t most) {
    return static_cast<uint32_t>(random() % (most + 1));
  }
  /// Lanes, repeats and strides for elements of these sizes that fit into a region each.
  void shape(uint32_t dstSize, uint32_t aSize, uint32_t bSize, bool mayBeInPlace = false) {
    s = Shape{};
    uint32_t widest = std::max({dstSize, aSize, bSize}), lanes = 256 / widest;
    s.form = forms[upTo(numForms - 1)];
    s.count = 1 + upTo(s.form == Form::Counter ? 6 * lanes - 1 : regionBytes / widest - 1);
    s.lanes = 1 + upTo(lanes - 1);
    s.mask[0] = upTo(3) ? random() | random() << 32 : ~0ull;
    s.mask[1] = lanes > 64 ? (upTo(3) ? random() | random() << 32 : ~0ull) : 0;
    if (!upTo(7)) // every second lane: the most runs that there are
      s.mask[0] = s.mask[1] = 0x5555555555555555ull;
    if (lanes <= 64)
      s.mask[1] = 0;
    if (lanes < 64)
      s.mask[0] &= (1ull << lanes) - 1;
    s.mask[0] |= 1;
    s.repeat = 1 + upTo(5);
    // Blocks of a repeat of each operand: a narrow one has fewer.
    auto blocks = [&](uint32_t size) { return std::max(lanes * size / 32, 1u); };
    s.dstBlk = static_cast<uint16_t>(1 + upTo(3) * upTo(1));
    s.aBlk = static_cast<uint16_t>(upTo(4) ? 1 : upTo(3));
    s.bBlk = static_cast<uint16_t>(upTo(4) ? 1 : upTo(3));
    uint32_t span = (blocks(dstSize) - 1) * s.dstBlk + 1;
    s.dstRep = static_cast<uint16_t>(span + (upTo(1) ? 0 : upTo(8)));
    s.aRep = static_cast<uint16_t>(upTo(1) ? blocks(aSize) : upTo(24));
    s.bRep = static_cast<uint16_t>(upTo(1) ? blocks(bSize) : upTo(24));
    s.inPlace = mayBeInPlace && dstSize == aSize && upTo(3) == 0;
    if (s.inPlace) {
      s.aBlk = s.dstBlk;
      s.aRep = s.dstRep;
    }
    s.choice = upTo(255);
  }
  /// A region of numbers of type T: mostly between -8 and 8, or bits by chance; a few special ones.
  template <class T> void fill(uint32_t which) {
    std::uniform_real_distribution<double> some(low, high);
    for (uint32_t i = 0; i < regionBytes / sizeof(T); ++i) {
      if constexpr (std::is_integral_v<T>) {
        image.set<T>(which, i, static_cast<int64_t>(upTo(1) ? random() : random() % 16 - 8));
      } else {
        constexpr double special[] = {0.0, -0.0, INFINITY, -INFINITY, 6e-8, 3e38};
        image.set<T>(which, i, specials && upTo(15) == 0 ? special[upTo(5)] : some(random));
      }
    }
  }

  std::mt19937_64 random;
  Shape s;
  Image image;
  Form forms[4] = {Form::Count, Form::Lanes, Form::Bits, Form::Counter};
  uint32_t numForms = 4;
  double low = -8, high = 8;
  bool specials = true;
  /// Compare the destination as floats of this size (0: bytes), within `tolerance` of the value.
  uint32_t floatBytes = 0;
  double tolerance = 0;
};

/// The usual drawing of an element-wise row.
template <class D, class X, class Y>
void drawLanes(Drawing& draw, bool mayBeInPlace = true, double scalarLow = -4,
               double scalarHigh = 4) {
  draw.shape(sizeof(D), sizeof(X), sizeof(Y), mayBeInPlace);
  double scalar = std::uniform_real_distribution<double>(scalarLow, scalarHigh)(draw.random);
  draw.s.scalar = isFloat<X> ? roundTo<X>(scalar) : std::floor(scalar);
  draw.template fill<D>(Dst);
  draw.template fill<X>(A);
  draw.template fill<Y>(B);
  draw.template fill<uint8_t>(Aux);
  draw.floatBytes = isFloat<D> ? sizeof(D) : 0;
}

// --- comparison -----------------------------------------------------------------------------

/// The same bytes; of floats, every NaN is the same and zeros have no sign.
inline bool sameElement(const uint8_t* got, const uint8_t* wanted, const Drawing& draw) {
  if (std::memcmp(got, wanted, std::max(draw.floatBytes, 1u)) == 0)
    return true;
  if (!draw.floatBytes)
    return false;
  double x = draw.floatBytes == 4 ? loadAs<float>(got) : loadAs<half>(got);
  double y = draw.floatBytes == 4 ? loadAs<float>(wanted) : loadAs<half>(wanted);
  if (x != x || y != y)
    return x != x && y != y;
  return x == y || std::fabs(x - y) <= draw.tolerance * std::max(std::fabs(y), 1e-30);
}
inline std::string describe(const Shape& s) {
  static const char* const forms[] = {"count", "lanes", "bits", "counter"};
  char text[400];
  snprintf(text, sizeof text,
           "%s, count %u, lanes %u, mask %llx:%llx, repeat %u, block strides %u %u %u, repeat "
           "strides %u %u %u, scalar %g, choice %u%s",
           forms[static_cast<int>(s.form)], s.count, s.lanes,
           static_cast<unsigned long long>(s.mask[1]), static_cast<unsigned long long>(s.mask[0]),
           s.repeat, s.dstBlk, s.aBlk, s.bBlk, s.dstRep, s.aRep, s.bRep, s.scalar, s.choice,
           s.inPlace ? ", in place" : "");
  return text;
}

inline std::string hexOf(const uint8_t* at, uint32_t bytes) {
  std::string text = "0x";
  for (uint32_t k = bytes; k > 0; --k) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", at[k - 1]);
    text += digits;
  }
  return text;
}
/// Runs row number `index` of a table `cases` times; `start` launches the kernel on the images.
template <class Start>
void checkRow(const Row& row, uint32_t index, uint32_t cases, unsigned firstSeed, Start start) {
  catchLaunches();
  nextOptions() = {};
  nextOptions().threads = 1;
  std::vector<Drawing> drawings;
  std::vector<Shape> shapes;
  std::vector<uint8_t> before;
  for (uint32_t k = 0; k < cases; ++k) {
    Drawing& draw = drawings.emplace_back(firstSeed + k);
    row.draw(draw);
    shapes.push_back(draw.s);
    before.insert(before.end(), draw.image.bytes.begin(), draw.image.bytes.end());
  }
  DeviceBuffer<uint8_t> in(before), out(before);
  start(index, shapes.data(), cases, in.gm(), out.gm());
  ASSERT_EQ(allFindings(), "") << row.name << ", seeds from " << firstSeed;
  for (uint32_t k = 0; k < cases; ++k) {
    Drawing& draw = drawings[k];
    row.reference(draw.s, draw.image);
    const uint8_t* got = &out.data[uint64_t{k} * imageBytes];
    if (std::memcmp(got, draw.image.bytes.data(), imageBytes) == 0)
      continue;
    uint32_t step = std::max(draw.floatBytes, 1u);
    for (uint32_t i = 0; i < imageBytes; i += i < regionBytes ? step : 1) {
      bool same = i < regionBytes ? sameElement(got + i, &draw.image.bytes[i], draw)
                                  : got[i] == draw.image.bytes[i];
      ASSERT_TRUE(same) << row.name << ", seed " << firstSeed + k << ": byte " << i << " is "
                        << hexOf(got + i, step) << ", not " << hexOf(&draw.image.bytes[i], step)
                        << " (" << describe(draw.s) << ")";
    }
  }
}

/// All rows of a table, by `launch(row, shapes, cases, before, after)`. TILEWRIGHT_ROW_CASES sets the
/// number of cases of each row; the seeds follow each other from `firstSeed`.
template <size_t n, class Launch>
void checkTable(const Row (&table)[n], unsigned firstSeed, Launch launchCases) {
  const char* wanted = std::getenv("TILEWRIGHT_ROW_CASES");
  auto cases = static_cast<uint32_t>(wanted ? std::atoi(wanted) : 12);
  for (uint32_t i = 0; i < n; ++i)
    checkRow(table[i], i, cases, firstSeed + i * cases, launchCases);
}

} // namespace tilewright::ascend::testing

#endif
