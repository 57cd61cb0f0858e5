// SPDX-License-Identifier: Apache-2.0
// The fused GEMM from tile IR to results, for every level of x86 that this machine runs, against
// float64.
#include "compiler/driver/compiled_kernel.h"
#include "compiler/driver/gemm_text.h"

#include <cmath>
#include <random>

namespace tilewright {
namespace {

std::vector<float> randomMatrix(int count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> quarters(-8, 8); // exact in float16 and bfloat16
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values)
    value = float(quarters(engine)) / 4;
  return values;
}

/// The wanted result; all sums of the inputs above are exact in float32.
std::vector<double> reference(Shape shape, const std::vector<float>& a, const std::vector<float>& b,
                              double scale) {
  const auto rows = size_t(shape.m), columns = size_t(shape.n), depth = size_t(shape.k);
  std::vector<double> c(rows * columns);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (size_t k = 0; k < depth; ++k)
        sum += double(a[i * depth + k]) * double(b[k * columns + j]);
      c[i * columns + j] = std::max(scale * sum, 0.0);
    }
  return c;
}

/// float32 bits in a 16-bit type; the values are exact there.
uint16_t narrow(float value, bool isBfloat) {
  if (isBfloat) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return uint16_t(bits >> 16);
  }
  const auto half = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &half, 2);
  return bits;
}

class GemmTest : public testing::TestWithParam<std::string> {};

TEST_P(GemmTest, Float32OfRaggedSizes) {
  if (!canRun(GetParam()))
    GTEST_SKIP() << "this machine has no " << GetParam();
  for (auto [shape, block] : {std::pair<Shape, Shape>{{128, 128, 64}, {64, 64, 32}},
                              {{100, 70, 50}, {64, 64, 32}},
                              {{33, 17, 5}, {16, 24, 8}},
                              {{1, 1, 1}, {64, 64, 32}},
                              {{77, 200, 96}, {37, 51, 19}},
                              {{64, 7, 64}, {12, 7, 64}}}) {
    SCOPED_TRACE(testing::Message()
                 << shape.m << "x" << shape.n << "x" << shape.k << " in blocks of " << block.m
                 << "x" << block.n << "x" << block.k);
    CompiledKernel kernel(gemmText(shape, block, "f32", "f32"), GetParam());
    ASSERT_TRUE(kernel.isLoaded());
    auto a = randomMatrix(shape.m * shape.k, 1), b = randomMatrix(shape.k * shape.n, 2);
    const size_t count = size_t(shape.m) * size_t(shape.n);
    std::vector<float> c(count + 16, -7.0f);
    EXPECT_EQ(kernel.run({slotOf(a), slotOf(b), slotOf(c), slotOf(0.5f)}), 0);
    auto wanted = reference(shape, a, b, 0.5);
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(double(c[i]), wanted[i]) << "at " << i;
    for (size_t i = count; i < c.size(); ++i)
      ASSERT_EQ(c[i], -7.0f) << "written past the end, at " << i;
  }
}

TEST_P(GemmTest, SmallFloatsAccumulateInFloat32) {
  if (!canRun(GetParam()))
    GTEST_SKIP() << "this machine has no " << GetParam();
  const Shape shape{65, 50, 300}, block{32, 32, 32};
  auto a = randomMatrix(shape.m * shape.k, 3), b = randomMatrix(shape.k * shape.n, 4);
  auto wanted = reference(shape, a, b, 1.0);
  for (bool isBfloat : {false, true}) {
    CompiledKernel kernel(gemmText(shape, block, isBfloat ? "bf16" : "f16", "f32"), GetParam());
    ASSERT_TRUE(kernel.isLoaded());
    std::vector<uint16_t> narrowA, narrowB;
    for (float value : a)
      narrowA.push_back(narrow(value, isBfloat));
    for (float value : b)
      narrowB.push_back(narrow(value, isBfloat));
    std::vector<float> c(wanted.size());
    kernel.run({slotOf(narrowA), slotOf(narrowB), slotOf(c), slotOf(1.0f)});
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_EQ(double(c[i]), wanted[i]) << (isBfloat ? "bfloat16" : "float16") << " at " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, GemmTest, testing::Values("native", "avx512", "avx2"),
                         [](const auto& info) { return info.param; });

} // namespace
} // namespace tilewright
