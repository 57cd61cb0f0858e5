// SPDX-License-Identifier: Apache-2.0
#include "tilewright/run.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

const char* const manifest = R"({"format": 1, "name": "scale", "target": "cpu", "params": [
  {"kind": "tensor", "name": "x", "dtype": "float32", "shape": [{"terms": [[1, 0]]}]},
  {"kind": "tensor", "name": "y", "dtype": "float32", "shape": [{"terms": [[1, 0]]}]},
  {"kind": "scalar", "name": "f", "dtype": "float32"}],
  "symbols": ["n"], "out_idx": [1], "scratch_bytes": 64, "asserts": []})";

LoadedKernel loadScale() {
  std::string error;
  auto kernel = LoadedKernel::loadFile(TILEWRIGHT_TEST_KERNEL, manifest, error);
  EXPECT_TRUE(kernel) << error;
  return *kernel;
}

TEST(Run, ScalesVector) {
  LoadedKernel kernel = loadScale();
  for (int64_t n : {0, 1, 7, 100000}) {
    std::vector<float> x(n), y(n);
    for (int64_t i = 0; i < n; ++i)
      x[i] = float(i);
    std::string error;
    ASSERT_TRUE(kernel.run({{x, {n}}, {y, {n}}, 2.5}, error)) << error;
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i], 2.5f * float(i));
  }
}

std::string errorOf(std::initializer_list<Argument> arguments) {
  std::string error;
  EXPECT_FALSE(loadScale().run(arguments, error));
  return error.substr(0, error.find('\n')); // a second line says it in TileLang's words
}

TEST(Run, SaysWhatDoesNotFit) {
  std::vector<float> x(4), y(4);
  const std::vector<float> fixed(4);
  std::vector<double> wide(4);
  EXPECT_EQ(errorOf({{x, {4}}}), "scale: takes 3 arguments, but 1 were given");
  EXPECT_EQ(errorOf({1, {y, {4}}, 1.0}),
            "scale: argument 0 'x' is a number but a tensor was expected");
  EXPECT_EQ(errorOf({{x, {4}}, {y, {4}}, {x, {4}}}),
            "scale: argument 2 'f' is a tensor but a number was expected");
  EXPECT_EQ(errorOf({{x, {5}}, {y, {4}}, 1.0}),
            "scale: argument 0 'x' has 4 elements but its shape has 5");
  EXPECT_EQ(errorOf({{x, {4}}, {wide, {4}}, 1.0}),
            "scale: argument 1 'y' has dtype float64 but float32 was expected");
  EXPECT_EQ(errorOf({{x, {4}}, {fixed, {4}}, 1.0}),
            "scale: argument 1 'y' is read-only but the kernel writes it");
  std::vector<float> both(7);
  EXPECT_EQ(
      errorOf(
          {{both.data(), Dtype::float32(), {4}}, {both.data() + 3, Dtype::float32(), {4}}, 1.0}),
      "scale: argument 1 'y' is written, and overlaps in part argument 0 'x'; let them be the "
      "same or apart, or have the kernel say T.annotate_restrict_buffers(y, x)");
  EXPECT_EQ(errorOf({{x, {4}}, {y.data(), Dtype::float32(), {4}, {1, 1}}, 1.0}),
            "scale: argument 1 'y' has 2 strides but 1 dims");
  const int64_t huge = int64_t(1) << 49;
  EXPECT_EQ(errorOf({{x.data(), Dtype::float32(), {huge}}, {y, {4}}, 1.0}),
            "scale: argument 0 'x' makes 'n' 562949953421312, but at most 281474976710656 is "
            "supported");
  EXPECT_EQ(errorOf({{x, {4}}, {y, {2, 2}}, 1.0}),
            "scale: argument 1 'y' has 2 dims, shape (2, 2), but 1 dim was expected");
  EXPECT_EQ(errorOf({{x, {4}}, {y, {4}}, 1e300}),
            "scale: argument 2 'f' is 1e+300 but a value in the range of float32 was expected");
}

TEST(Run, TakesNumbersOfAnyType) {
  std::vector<float> x = {1}, y(1);
  std::string error;
  for (const Argument& two :
       std::initializer_list<Argument>{2, 2u, int64_t(2), uint64_t(2), 2.0f, 2.0}) {
    ASSERT_TRUE(loadScale().run({{x, {1}}, {y, {1}}, two}, error)) << error;
    EXPECT_EQ(y[0], 2);
  }
  ASSERT_TRUE(loadScale().run({{x, {1}}, {y, {1}}, true}, error)) << error;
  EXPECT_EQ(y[0], 1);
}

TEST(Run, LargeScratchBeginsAHugePage) {
  for (const char* bytes : {"131072", "1048576", "2097153"}) {
    std::string text = manifest, error;
    text.replace(text.find("\"scale\""), 7, "\"aligned\"");
    text.replace(text.find(": 64,"), 5, std::string(": ") + bytes + ",");
    auto kernel = LoadedKernel::loadFile(TILEWRIGHT_TEST_KERNEL, text, error);
    ASSERT_TRUE(kernel) << error;
    std::vector<float> x(1), y(1);
    ASSERT_TRUE(kernel->run({{x, {1}}, {y, {1}}, 1.0}, error)) << error;
    EXPECT_EQ(y[0], 1) << bytes;
  }
}

TEST(Run, SaysWhatCannotBeLoaded) {
  std::string error;
  EXPECT_FALSE(LoadedKernel::load(std::span<const char>(), manifest, error));
  EXPECT_EQ(error.substr(0, 37), "scale: can't load the kernel library:");
  EXPECT_FALSE(LoadedKernel::load(std::span<const char>(), "[", error));
  EXPECT_EQ(error, "manifest: not a JSON object");
}

} // namespace
} // namespace tilewright
