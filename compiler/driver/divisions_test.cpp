// SPDX-License-Identifier: Apache-2.0
// Quotients of float32 with fast math, against float64, over all magnitudes.
#include "compiler/driver/compiled_kernel.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>

namespace tilewright {
namespace {

constexpr size_t kQuotients = 1 << 18;
/// Some seed, written down so that a failure comes again.
constexpr uint32_t kQuotientSeed = 20261129;

float ofBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

struct Quotients {
  std::vector<float> dividends, divisors, results;
};

/// x / d of random bits, NaNs, infinities and subnormal numbers among them. `ofExponentials`: by exp2 of d with few bits.
Quotients quotients(const std::string& cpu, bool ofExponentials) {
  Quotients all;
  std::mt19937 bits(kQuotientSeed);
  constexpr std::array edges{0.0f, -0.0f,   INFINITY, -INFINITY, NAN,
                             1.0f, FLT_MAX, FLT_MIN,  1e-40f,    -3.0f};
  for (float x : edges)
    for (float d : edges) {
      all.dividends.push_back(x);
      all.divisors.push_back(d);
    }
  while (all.dividends.size() < kQuotients) {
    all.dividends.push_back(ofBits(uint32_t(bits())));
    all.divisors.push_back(ofBits(uint32_t(bits())));
  }
  const std::string n = std::to_string(kQuotients);
  const std::string type = "!tile.buffer<" + n + "xf32, global>";
  CompiledKernel kernel(
      "func.func @f(%x: " + type + " {tile.name = \"x\"}, %d: " + type +
          " {tile.name = \"d\"}, %y: " + type +
          " {tile.name = \"y\"}) attributes {tile.kernel} {\n"
          "  %c1 = arith.constant 1 : index\n"
          "  tile.launch (%b) in (%c1) threads(128) {\n    tile.parallel (%i) in [" +
          n + "] {\n      %v = tile.load %x[%i] : " + type + "\n      %w = tile.load %d[%i] : " +
          type + "\n" + (ofExponentials ? "      %e = math.exp2 %w : f32\n" : "") +
          "      %q = arith.divf %v, " + (ofExponentials ? "%e" : "%w") +
          " : f32\n      tile.store %q, %y[%i] : " + type + "\n    }\n  }\n  return\n}\n",
      cpu, true, ofExponentials ? 13 : 22);
  EXPECT_TRUE(kernel.isLoaded());
  all.results.resize(kQuotients);
  if (kernel.isLoaded())
    kernel.run({slotOf(all.dividends), slotOf(all.divisors), slotOf(all.results)});
  return all;
}

/// An ulp of the quotient, or of a subnormal dividend divided: GPUs take those for 0.
double allowed(float x, float d, double quotient) {
  constexpr double least = FLT_TRUE_MIN;
  const double ofDividend = std::fpclassify(x) == FP_SUBNORMAL ? least / std::abs(double(d)) : 0;
  return std::max({std::abs(quotient) * 0x1p-23, ofDividend, least});
}

class DivisionsTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!canRun(GetParam()))
      GTEST_SKIP() << "this machine has no " << GetParam();
  }
};

// CUDA C++ Programming Guide, __fdividef: 2 ulp where the divisor is normal and below 2^126, 0 beyond, subnormal divisors as 0.
TEST_P(DivisionsTest, AreAsExactAsOnGpus) {
  const Quotients all = quotients(GetParam(), false);
  for (size_t i = 0; i < kQuotients; ++i) {
    const float x = all.dividends[i], d = all.divisors[i], got = all.results[i];
    const double wanted = double(x) / double(d);
    const auto rounded = float(wanted);
    if (std::fpclassify(d) == FP_SUBNORMAL)
      continue;
    ASSERT_EQ(std::isnan(got), std::isnan(wanted)) << x << " / " << d;
    if (std::isnan(wanted))
      continue;
    ASSERT_EQ(std::signbit(got), std::signbit(rounded)) << x << " / " << d << " = " << got;
    if (std::abs(wanted) > double(FLT_MAX) * (1 - 0x1p-14))
      ASSERT_GE(std::abs(got), FLT_MAX * (1 - 0x1p-13f)) << x << " / " << d;
    else
      ASSERT_LE(std::abs(double(got) - wanted), allowed(x, d, wanted))
          << x << " / " << d << " = " << got;
  }
}

TEST_P(DivisionsTest, OfExponentialsOfFewBits) {
  const Quotients all = quotients(GetParam(), true);
  size_t compared = 0;
  for (size_t i = 0; i < kQuotients; ++i) {
    const double d = std::exp2(double(all.divisors[i]));
    const double wanted = double(all.dividends[i]) / d;
    if (!(d > 0x1p-120 && d < 0x1p120 && std::abs(wanted) > 0x1p-120 && std::abs(wanted) < 0x1p120))
      continue;
    ++compared;
    ASSERT_LE(std::abs(double(all.results[i]) - wanted), std::abs(wanted) * 0x1.8p-13)
        << all.dividends[i] << " / exp2(" << all.divisors[i] << ")";
  }
  EXPECT_GT(compared, kQuotients / 4);
}

INSTANTIATE_TEST_SUITE_P(Levels, DivisionsTest, testing::Values("native", "avx512", "avx2"),
                         [](const auto& info) { return info.param; });

} // namespace
} // namespace tilewright
