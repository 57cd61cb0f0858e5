// SPDX-License-Identifier: Apache-2.0
#include "tilewright/tilewright.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace T = tilewright::language;

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> messages(const T::PrimFunc& kernel) {
  std::vector<std::string> all;
  all.reserve(kernel.diagnostics.size());
  for (const Diagnostic& diagnostic : kernel.diagnostics)
    all.push_back(diagnostic.message);
  return all;
}

/// Compiles, loads and runs; the error text, or nothing.
std::string run(const T::PrimFunc& kernel, std::initializer_list<Argument> arguments) {
  if (!kernel)
    return kernel.messages();
  std::vector<Diagnostic> diagnostics;
  auto artifact = compile(*kernel.module, {}, diagnostics);
  if (!artifact)
    return diagnostics.empty() ? "no diagnostics" : render(diagnostics[0]);
  std::string error;
  auto loaded = LoadedKernel::load(artifact->library, artifact->manifest, error);
  if (loaded)
    loaded->run(arguments, error);
  return error;
}

TEST(Language, FusedGemmOfAnyShape) {
  constexpr int64_t bM = 32, bN = 48, bK = 16;
  auto kernel = T::prim_func("gemm_fused", [&] {
    auto M = T::dynamic("M"), N = T::dynamic("N"), K = T::dynamic("K");
    auto A = T::Tensor("A", {M, K}, T::float32);
    auto B = T::Tensor("B", {K, N}, T::float32);
    auto C = T::Tensor("C", {M, N}, T::float32);
    auto scale = T::Scalar("scale", T::float32);
    T::Kernel({T::ceildiv(N, bN), T::ceildiv(M, bM)}, {.threads = 128},
              [&](T::Expr bx, T::Expr by) {
                auto A_shared = T::alloc_shared({bM, bK}, T::float32);
                auto B_shared = T::alloc_shared({bK, bN}, T::float32);
                auto C_local = T::alloc_fragment({bM, bN}, T::float32);
                T::clear(C_local);
                T::Pipelined(T::ceildiv(K, bK), {.num_stages = 3}, [&](T::Expr k) {
                  T::copy(A[{by * bM, k * bK}], A_shared);
                  T::copy(B[{k * bK, bx * bN}], B_shared);
                  T::gemm(A_shared, B_shared, C_local);
                });
                T::Parallel({bM, bN}, [&](T::Expr i, T::Expr j) {
                  C_local[{i, j}] = T::max(C_local[{i, j}] * scale, 0.0f);
                });
                T::copy(C_local, C[{by * bM, bx * bN}]);
              });
  });
  const int64_t M = 45, N = 70, K = 33;
  std::vector<float> a(M * K), b(K * N), c(M * N, -1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(int(i * 7 % 13) - 6);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = float(int(i * 5 % 11) - 5);
  ASSERT_EQ(run(kernel, {{a, {M, K}}, {b, {K, N}}, {c, {M, N}}, 0.5}), "");
  for (int64_t m = 0; m < M; ++m)
    for (int64_t n = 0; n < N; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < K; ++k)
        sum += double(a[m * K + k]) * double(b[k * N + n]);
      ASSERT_EQ(c[m * N + n], float(std::max(0.5 * sum, 0.0))) << m << " " << n;
    }
}

TEST(Language, KernelsFollowEachOther) {
  constexpr int64_t size = 100;
  auto kernel = T::prim_func("turned", [&] {
    auto A = T::Tensor("A", {size}, T::int32);
    auto B = T::Tensor("B", {size}, T::int32);
    T::Kernel({size}, {.threads = 32}, [&](T::Expr block) { A[{block}] = A[{block}] + 1; });
    T::Kernel({size / 2}, {.threads = 1}, [&](T::Expr block) { B[{block}] = A[{99 - block}]; });
  });
  std::vector<int32_t> a(size), b(size);
  for (int32_t i = 0; i < size; ++i)
    a[i] = i;
  ASSERT_EQ(run(kernel, {{a, {size}}, {b, {size}}}), "");
  for (int32_t i = 0; i < size; ++i)
    ASSERT_EQ(b[i], i < size / 2 ? 100 - i : 0);
}

TEST(Language, ElementsVariablesAndBranches) {
  constexpr int64_t size = 100;
  auto kernel = T::prim_func("collatz", [&] {
    auto A = T::Tensor("A", {size}, T::int32);
    auto B = T::Tensor("B", {size}, T::int32);
    T::Kernel({size}, {.threads = 1}, [&](T::Expr block) {
      auto n = T::alloc_var(T::int32, A[{block}], "n");
      auto steps = T::alloc_var(T::int32, 0, "steps");
      T::While([&] { return n > 1; },
               [&] {
                 T::If(n % 2 == 0, [&] { n = n / 2; }, [&] { n = 3 * n + 1; });
                 steps += 1;
               });
      B[{block}] = steps;
    });
  });
  std::vector<int32_t> a(size), b(size);
  for (int32_t i = 0; i < size; ++i)
    a[i] = i + 1;
  ASSERT_EQ(run(kernel, {{a, {size}}, {b, {size}}}), "");
  for (int32_t i = 0; i < size; ++i) {
    int32_t steps = 0;
    for (int32_t n = i + 1; n > 1; ++steps)
      n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    EXPECT_EQ(b[i], steps) << i;
  }
}

TEST(Language, SlicesLoopsAndCasts) {
  auto kernel = T::prim_func("rows", [&] {
    auto A = T::Tensor("A", {4, 8}, T::float32);
    auto B = T::Tensor("B", {4}, T::int32);
    T::Kernel({1}, {.threads = 32}, [&](T::Expr) {
      auto tile = T::alloc_shared({4, 8}, T::float32, "tile");
      T::copy(A[{T::slice(0, 4), T::slice(0, 8)}], tile);
      T::Parallel({4}, [&](T::Expr i) {
        auto sum = T::alloc_var(T::float32, 0, "sum");
        T::serial(8, [&](T::Expr k) { sum += tile[{i, k}]; });
        B[{i}] = T::int32(-sum + 0.5);
      });
    });
  });
  std::vector<float> a(32);
  std::vector<int32_t> b(4);
  for (int i = 0; i < 32; ++i)
    a[i] = float(i);
  ASSERT_EQ(run(kernel, {{a, {4, 8}}, {b, {4}}}), "");
  EXPECT_THAT(b, ElementsAre(-27, -91, -155, -219)); // -28 + 0.5 and so on, truncated
}

TEST(Language, ReductionsAndViews) {
  auto kernel = T::prim_func("softmax_sums", [&] {
    auto A = T::Tensor("A", {4, 8}, T::float32);
    auto B = T::Tensor("B", {4}, T::float32);
    T::Kernel({1}, {.threads = 32}, [&](T::Expr) {
      auto flat = T::alloc_shared({32}, T::float32, "flat");
      auto rows = T::view(flat, {4, 8}, T::float32);
      auto largest = T::alloc_fragment({4}, T::float32, "largest");
      auto sums = T::alloc_fragment({4, 1}, T::float32, "sums");
      T::copy(A, rows);
      T::reduce_max(rows, largest);
      T::Parallel({4, 8}, [&](T::Expr i, T::Expr j) { rows[{i, j}] -= largest[{i}]; });
      T::reduce_sum(rows, sums, 1);
      T::Parallel({4}, [&](T::Expr i) { B[{i}] = sums[{i, 0}]; });
    });
  });
  std::vector<float> a(32), b(4);
  for (int i = 0; i < 32; ++i)
    a[i] = float(i);
  ASSERT_EQ(run(kernel, {{a, {4, 8}}, {b, {4}}}), "");
  EXPECT_THAT(b, ElementsAre(-28, -28, -28, -28)); // 0 - 7, 1 - 7, ..., 7 - 7
}

TEST(Language, SafeValuesBeyondATensor) {
  constexpr int64_t size = 10;
  auto kernel = T::prim_func("neighbours", [&] {
    auto A = T::Tensor("A", {size}, T::int32);
    auto B = T::Tensor("B", {size + 2}, T::int32);
    T::annotate_safe_value(A, 7);
    T::Kernel({1}, {.threads = 1},
              [&](T::Expr) { T::serial(size + 2, [&](T::Expr i) { B[{i}] = A[{i - 1}]; }); });
  });
  std::vector<int32_t> a(size, 1), b(size + 2);
  ASSERT_EQ(run(kernel, {{a, {size}}, {b, {size + 2}}}), "");
  for (int64_t i = 0; i < size + 2; ++i)
    EXPECT_EQ(b[i], i == 0 || i == size + 1 ? 7 : 1) << i;
}

TEST(Language, ErrorsHaveCppPlaces) {
  uint32_t first = 0;
  auto kernel = T::prim_func("wrong", [&] {
    auto A = T::Tensor("A", {64, 64}, T::float16);
    T::Kernel({1}, {.threads = 128}, [&](T::Expr bx) {
      auto S = T::alloc_shared({32, 16}, T::float16, "S");
      auto R = T::alloc_shared({64, 32}, T::float16, "R");
      auto C = T::alloc_fragment({32, 32}, T::float32, "C");
      first = std::source_location::current().line() + 1;
      T::copy(A[{bx}], S);
      T::copy(R, S);
      T::gemm(S, R, C);
      S[{0, 99}] = 1.0;
      auto shifted = bx + (S[{0, 0}] << 2);
      T::copy(A[{shifted, 0}], S); // silent: `shifted` is in error already
    });
  });
  EXPECT_FALSE(kernel);
  EXPECT_THAT(
      messages(kernel),
      ElementsAre("'A' has 2 dims but is indexed with 1 index",
                  "copy of whole buffers of different shapes: 'R' is (64, 32) but 'S' is (32, 16); "
                  "name the part that is meant: R[0:32, 0:16]",
                  "gemm K disagrees: it is 16 in A, 'S', but 64 in B, 'R'",
                  "index 1 of 'S' is 99, but the dim has 16 elements",
                  "'<<' of float16 and the integer 2: it works on integers and bools only"));
  for (size_t i = 0; i < kernel.diagnostics.size(); ++i) {
    EXPECT_THAT(kernel.diagnostics[i].place.file, HasSubstr("language_test.cpp"));
    EXPECT_EQ(kernel.diagnostics[i].place.line, int32_t(first + i));
    EXPECT_GT(kernel.diagnostics[i].place.column, 0);
  }
}

TEST(Language, TellsBodiesOfAnotherArity) {
  auto kernel = T::prim_func("arity", [&] {
    T::Kernel({4, 4}, {.threads = 128}, [&](T::Expr bx) {
      auto S = T::alloc_shared({4}, T::float32);
      T::Parallel({4}, [&](T::Expr i, T::Expr j) { S[{i}] = j; });
      S[{bx}] = 1.0;
    });
  });
  EXPECT_THAT(messages(kernel), ElementsAre("T::Kernel has 2 extents but its body takes 1",
                                            "T::Parallel has 1 extent but its body takes 2"));
}

TEST(Language, AllocationsHaveKnownShapes) {
  auto kernel = T::prim_func("dynamic", [&] {
    auto n = T::dynamic("n");
    T::Kernel({1}, {.threads = 128}, [&](T::Expr) { T::alloc_shared({n}, T::float32); });
  });
  EXPECT_THAT(messages(kernel),
              ElementsAre("the shape of an allocation must be known while building the kernel"));
}

TEST(Language, ThrowsOutsideOfAKernel) {
  EXPECT_THROW(T::alloc_shared({4}, T::float32), std::logic_error);
}

} // namespace
} // namespace tilewright
