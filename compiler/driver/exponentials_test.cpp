// SPDX-License-Identifier: Apache-2.0
// exp and exp2 of float32, against float64: in vectors and one by one, over all magnitudes.
#include "compiler/driver/compiled_kernel.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

class ExponentialsTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!canRun(GetParam()))
      GTEST_SKIP() << "this machine has no " << GetParam();
    // Every 2039th pattern of both signs, NaNs and infinities among them, and what is near the ends.
    for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 2039)
      add(uint32_t(bits));
    for (float edge :
         {-INFINITY, INFINITY, -150.0f, -149.0f, -126.0f, 128.0f, -104.0f, 88.722839f, 0.5f, -0.0f})
      for (float near : {std::nextafter(edge, -INFINITY), edge, std::nextafter(edge, INFINITY)})
        values.push_back(near);
  }

  void add(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    values.push_back(value);
  }

  /// `parallel`: the loop is one that LLVM makes vectors of.
  std::vector<float> run(const std::string& op, bool parallel, bool fast = false,
                         int64_t bits = 22) {
    const std::string n = std::to_string(values.size());
    const std::string type = "!tile.buffer<" + n + "xf32, global>";
    const std::string head =
        parallel ? "tile.parallel (%i) in [" + n + "]" : "tile.for %i = %c0 to %n step %c1";
    CompiledKernel kernel(
        "func.func @f(%x: " + type + " {tile.name = \"x\"}, %y: " + type +
            " {tile.name = \"y\"}) attributes {tile.kernel} {\n"
            "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
            "  %n = arith.constant " +
            n +
            " : index\n"
            "  tile.launch (%b) in (%c1) threads(128) {\n    " +
            head + " {\n      %v = tile.load %x[%i] : " + type + "\n      %e = math." + op +
            " %v : f32\n      tile.store %e, %y[%i] : " + type + "\n    }\n  }\n  return\n}\n",
        GetParam(), fast, bits);
    EXPECT_TRUE(kernel.isLoaded());
    std::vector<float> results(values.size());
    if (kernel.isLoaded())
      kernel.run({slotOf(values), slotOf(results)});
    return results;
  }

  void check(const std::string& op, double (*exact)(double)) {
    const std::vector<float> vectors = run(op, true);
    const std::vector<float> single = run(op, false);
    for (size_t i = 0; i < values.size(); ++i) {
      const double wanted = exact(double(values[i]));
      const auto rounded = float(wanted);
      ASSERT_EQ(std::isnan(vectors[i]), std::isnan(wanted)) << values[i];
      if (std::isnan(wanted))
        continue;
      ASSERT_EQ(vectors[i], single[i]) << values[i];
      // The spacing below the exact result: half of that of the float above it.
      const double ulp = double(rounded) - double(std::nextafter(rounded, -1.0f));
      if (std::isinf(rounded) || rounded == 0)
        ASSERT_EQ(vectors[i], rounded) << values[i];
      else
        ASSERT_LE(std::abs(double(vectors[i]) - wanted), ulp) << values[i];
    }
  }

  /// With fast math: `allowed` gives the relative error for each argument; 0 comes in place of what lies below 2^-125.
  void checkFast(const std::string& op, double (*exact)(double), double (*allowed)(double),
                 int64_t bits = 22) {
    const std::vector<float> vectors = run(op, true, true, bits);
    const std::vector<float> single = run(op, false, true, bits);
    for (size_t i = 0; i < values.size(); ++i) {
      const double wanted = exact(double(values[i]));
      const auto rounded = float(wanted);
      ASSERT_EQ(std::isnan(vectors[i]), std::isnan(wanted)) << values[i];
      if (std::isnan(wanted))
        continue;
      ASSERT_EQ(vectors[i], single[i]) << values[i];
      const double least = 2 * double(std::numeric_limits<float>::min());
      const double error = std::abs(double(vectors[i]) - wanted);
      ASSERT_GE(vectors[i], 0.0f) << values[i];
      if (rounded == 0)
        ASSERT_LT(vectors[i], least) << values[i];
      else if (std::isinf(rounded))
        ASSERT_GE(double(vectors[i]), FLT_MAX * (1 - std::max(1e-5, std::ldexp(1.0, int(-bits)))))
            << values[i];
      else
        ASSERT_LE(error, std::max(allowed(double(values[i])) * wanted, least)) << values[i];
    }
    EXPECT_EQ(vectors[indexOf(-INFINITY)], 0.0f);
    EXPECT_EQ(vectors[indexOf(INFINITY)], INFINITY);
  }

  size_t indexOf(float value) const {
    return size_t(std::find(values.begin(), values.end(), value) - values.begin());
  }

  std::vector<float> values;
};

TEST_P(ExponentialsTest, Exp2IsWithinOneUlp) {
  check("exp2", [](double x) { return std::exp2(x); });
}

TEST_P(ExponentialsTest, ExpIsWithinOneUlp) {
  check("exp", [](double x) { return std::exp(x); });
}

// PTX ISA, ex2.approx.f32: a relative error of 2^-22.
TEST_P(ExponentialsTest, FastExp2IsAsExactAsOnGpus) {
  checkFast(
      "exp2", [](double x) { return std::exp2(x); }, [](double) { return std::ldexp(1.0, -22); });
}

// x * log2(e) is rounded, as in CUDA's __expf, which is ex2.approx of the product.
TEST_P(ExponentialsTest, FastExpIsExp2OfARoundedProduct) {
  checkFast(
      "exp", [](double x) { return std::exp(x); },
      [](double x) { return std::ldexp(1.0, -22) + std::ldexp(std::abs(x), -23); });
}

// Results that are rounded to bfloat16 show 8 bits.
TEST_P(ExponentialsTest, Exp2OfFewBits) {
  checkFast(
      "exp2", [](double x) { return std::exp2(x); }, [](double) { return std::ldexp(1.0, -13); },
      13);
}

TEST_P(ExponentialsTest, ExpOfFewBits) {
  checkFast(
      "exp", [](double x) { return std::exp(x); },
      [](double x) { return std::ldexp(1.0, -13) + std::ldexp(std::abs(x), -23); }, 13);
}

INSTANTIATE_TEST_SUITE_P(Levels, ExponentialsTest, testing::Values("native", "avx512", "avx2"),
                         [](const auto& info) { return info.param; });

} // namespace
} // namespace tilewright
