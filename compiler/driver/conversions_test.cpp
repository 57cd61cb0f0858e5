// SPDX-License-Identifier: Apache-2.0
// Conversions of small floats, against the definition of each format: every bit pattern up, and
// down to nearest even for floats on, just below and just above every value and every tie.
#include "compiler/driver/compiled_kernel.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

/// A format as its standard defines it, decoded with ldexp and rounded by search: nothing in common
/// with the code under test.
struct Format {
  const char* type;
  int bits, mantissa, bias;
  /// The top of the range: 'i' infinities and NaNs, 'n' only NaN at all ones, 'z' NaN at the
  /// pattern of -0.
  char special;

  int signShift() const {
    return bits - 1;
  }
  bool isNan(uint32_t code) const {
    const uint32_t magnitude = code & ((1u << signShift()) - 1);
    if (special == 'z')
      return code == 1u << signShift();
    const uint32_t top = ((1u << signShift()) - 1) >> mantissa << mantissa;
    return special == 'n' ? magnitude == (1u << signShift()) - 1 : magnitude > top;
  }
  bool isInfinite(uint32_t code) const {
    const uint32_t magnitude = code & ((1u << signShift()) - 1);
    return special == 'i' && magnitude == ((1u << signShift()) - 1) >> mantissa << mantissa;
  }
  double decode(uint32_t code) const {
    if (isNan(code))
      return NAN;
    const double sign = code >> signShift() ? -1 : 1;
    if (isInfinite(code))
      return sign * INFINITY;
    const uint32_t magnitude = code & ((1u << signShift()) - 1);
    const int exponent = int(magnitude >> mantissa),
              fraction = int(magnitude & ((1u << mantissa) - 1));
    if (exponent == 0)
      return sign * std::ldexp(fraction, 1 - bias - mantissa);
    return sign * std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
  }
};

const Format formats[] = {
    {"f16", 16, 10, 15, 'i'},      {"bf16", 16, 7, 127, 'i'},  {"f8E5M2", 8, 2, 15, 'i'},
    {"f8E4M3", 8, 3, 7, 'i'},      {"f8E4M3FN", 8, 3, 7, 'n'}, {"f8E4M3FNUZ", 8, 3, 8, 'z'},
    {"f8E5M2FNUZ", 8, 2, 16, 'z'}, {"f8E3M4", 8, 4, 3, 'i'},   {"f8E4M3B11FNUZ", 8, 3, 11, 'z'},
};

/// Rounds to nearest, ties to the even code, by looking at the finite values in order.
class Rounder {
public:
  explicit Rounder(const Format& format) : format(format) {
    for (uint32_t code = 0; code < 1u << format.signShift(); ++code)
      if (!format.isNan(code) && !format.isInfinite(code))
        values.push_back(format.decode(code));
  }

  /// The code of |x| rounded; one past the last finite code if it is beyond the range.
  uint32_t magnitudeCode(double x) const {
    const double magnitude = std::abs(x);
    const size_t above =
        size_t(std::lower_bound(values.begin(), values.end(), magnitude) - values.begin());
    if (above == values.size()) {
      // The next value, if the format went on: as far from the last as the last from the one
      // before.
      const double last = values.back(), next = last + (last - values[values.size() - 2]);
      const double middle = (last + next) / 2;
      const bool roundsDown =
          magnitude < middle || (magnitude == middle && (values.size() - 1) % 2 == 0);
      return uint32_t(roundsDown ? values.size() - 1 : values.size());
    }
    if (above == 0 || values[above] == magnitude)
      return uint32_t(above);
    const double below = magnitude - values[above - 1], over = values[above] - magnitude;
    if (below != over)
      return uint32_t(below < over ? above - 1 : above);
    return uint32_t(above % 2 == 0 ? above : above - 1);
  }

  bool agrees(double x, uint32_t code) const {
    if (std::isnan(x))
      return format.isNan(code);
    const uint32_t magnitude = magnitudeCode(x);
    if (magnitude >= values.size() && format.bits == 16)
      return format.isInfinite(code) && (code >> format.signShift() == std::signbit(x));
    if (magnitude >= values.size()) // 8 bits saturate
      return code == (values.size() - 1) + (std::signbit(x) ? 1u << format.signShift() : 0);
    if (format.special == 'z' && magnitude == 0)
      return code == 0;
    return code == (magnitude | uint32_t(std::signbit(x)) << format.signShift());
  }

private:
  const Format& format;
  std::vector<double> values;
};

constexpr int64_t blockElements = 4096;

/// y = x, element by element, with a conversion.
std::string copyText(int64_t count, const std::string& from, const std::string& to) {
  const std::string n = std::to_string(count), block = std::to_string(blockElements);
  const std::string source = "!tile.buffer<" + n + "x" + from + ", global>";
  const std::string target = "!tile.buffer<" + n + "x" + to + ", global>";
  return "func.func @convert(%x: " + source + " {tile.name = \"x\"}, %y: " + target +
         " {tile.name = \"y\"}) attributes {tile.kernel} {\n  %g = arith.constant " +
         std::to_string((count + blockElements - 1) / blockElements) +
         " : index\n  %s = arith.constant " + block +
         " : index\n  tile.launch (%b) in (%g) threads(128) {\n    %m = arith.muli %b, %s : "
         "index\n    tile.copy %x[%m] [" +
         block + "] : " + source + " to %y[%m] [" + block + "] : " + target +
         "\n  }\n  return\n}\n";
}

class ConversionsTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!canRun(GetParam()))
      GTEST_SKIP() << "this machine has no " << GetParam();
  }

  template <typename From, typename To>
  std::vector<To> convert(const std::vector<From>& values, const std::string& from,
                          const std::string& to) {
    CompiledKernel kernel(copyText(int64_t(values.size()), from, to), GetParam());
    EXPECT_TRUE(kernel.isLoaded());
    std::vector<To> results(values.size());
    if (kernel.isLoaded())
      kernel.run({slotOf(values), slotOf(results)});
    return results;
  }

  template <typename Code> void checkUp(const Format& format) {
    std::vector<Code> codes(size_t(1) << format.bits);
    for (size_t code = 0; code < codes.size(); ++code)
      codes[code] = Code(code);
    const auto floats = convert<Code, float>(codes, format.type, "f32");
    const auto doubles = convert<Code, double>(codes, format.type, "f64");
    for (uint32_t code = 0; code < codes.size(); ++code) {
      const double wanted = format.decode(code);
      for (double actual : {double(floats[code]), doubles[code]}) {
        ASSERT_EQ(std::isnan(actual), std::isnan(wanted)) << "code " << code;
        if (!std::isnan(wanted)) {
          ASSERT_EQ(actual, wanted) << "code " << code;
          ASSERT_EQ(std::signbit(actual), std::signbit(wanted)) << "code " << code;
        }
      }
    }
  }

  template <typename Code> void checkDown(const Format& format) {
    std::vector<float> floats;
    std::vector<double> doubles;
    for (uint32_t high = 0; high < 1u << 16; ++high)
      for (uint32_t low : {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x8000u,
                           0x8001u, 0xffffu}) {
        const uint32_t bits = high << 16 | low;
        float value;
        std::memcpy(&value, &bits, 4);
        floats.push_back(value);
        // So near a tie that rounding to float32 first would land on it.
        for (double factor : {1.0, 1 + 0x1p-40, 1 - 0x1p-40})
          if (low == 0 || low == 0x1000 || low == 0x8000)
            doubles.push_back(double(value) * factor);
      }
    const Rounder rounder(format);
    const auto fromFloats = convert<float, Code>(floats, "f32", format.type);
    for (size_t i = 0; i < floats.size(); ++i)
      ASSERT_TRUE(rounder.agrees(double(floats[i]), fromFloats[i]))
          << std::hexfloat << floats[i] << " gave code " << std::hex << int(fromFloats[i]);
    const auto fromDoubles = convert<double, Code>(doubles, "f64", format.type);
    for (size_t i = 0; i < doubles.size(); ++i)
      ASSERT_TRUE(rounder.agrees(doubles[i], fromDoubles[i]))
          << std::hexfloat << doubles[i] << " gave code " << std::hex << int(fromDoubles[i]);
  }
};

TEST_P(ConversionsTest, EveryPatternUp) {
  for (const Format& format : formats) {
    SCOPED_TRACE(format.type);
    format.bits == 16 ? checkUp<uint16_t>(format) : checkUp<uint8_t>(format);
  }
}

TEST_P(ConversionsTest, NearestEvenDown) {
  for (const Format& format : formats) {
    SCOPED_TRACE(format.type);
    format.bits == 16 ? checkDown<uint16_t>(format) : checkDown<uint8_t>(format);
  }
}

TEST_P(ConversionsTest, IntegersRoundOnce) {
  std::vector<int64_t> values;
  for (int shift = 0; shift < 63; ++shift)
    for (int64_t base : {1, 3, 5, 129, 257, 2049, 4097, 6145})
      for (int64_t nudge : {-1, 0, 1})
        if (shift < 50)
          values.insert(values.end(), {(base << shift) + nudge, -(base << shift) + nudge});
  // Rounded to float64 first, this one would become a tie of bfloat16 and go to even.
  values.push_back((int64_t(0x101) << 54) + 1);
  for (const Format& format : {formats[0], formats[1]}) {
    SCOPED_TRACE(format.type);
    const Rounder rounder(format);
    const auto codes = convert<int64_t, uint16_t>(values, "si64", format.type);
    for (size_t i = 0; i < values.size(); ++i) {
      // Round to odd in long double, which holds every int64: the search below needs no more than
      // 53 bits.
      const auto exact = static_cast<long double>(values[i]);
      auto nearest = static_cast<double>(exact);
      if (static_cast<long double>(nearest) != exact) {
        uint64_t bits;
        std::memcpy(&bits, &nearest, 8);
        if (std::abs(static_cast<long double>(nearest)) > std::abs(exact))
          --bits;
        bits |= 1;
        std::memcpy(&nearest, &bits, 8);
      }
      ASSERT_TRUE(rounder.agrees(nearest, codes[i]))
          << values[i] << " gave code " << std::hex << codes[i];
    }
  }
}

TEST_P(ConversionsTest, FloatsToIntegersSaturate) {
  const std::vector<float> values = {0.9f,     -0.9f,     2.5f, -2.5f,  1e10f, -1e10f,
                                     INFINITY, -INFINITY, NAN,  255.9f, 300.0f};
  const auto ints = convert<float, int32_t>(values, "f32", "si32");
  EXPECT_EQ(ints, (std::vector<int32_t>{0, 0, 2, -2, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0,
                                        255, 300}));
  const auto bytes = convert<float, uint8_t>(values, "f32", "ui8");
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0, 0, 2, 0, 255, 0, 255, 0, 0, 255, 255}));
}

INSTANTIATE_TEST_SUITE_P(Levels, ConversionsTest, testing::Values("native", "avx2"),
                         [](const auto& info) { return info.param; });

} // namespace
} // namespace tilewright
