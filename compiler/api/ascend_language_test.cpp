// SPDX-License-Identifier: Apache-2.0
#include "tilewright/interpret.h"
#include "tilewright/tilewright.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace T = tilewright::language;

namespace tilewright {
namespace {

/// The error text of a run on the reference interpreter, or nothing.
std::string run(const T::PrimFunc& kernel, const std::vector<HostArgument>& arguments) {
  if (!kernel)
    return kernel.messages();
  std::vector<Diagnostic> diagnostics;
  interpret(*kernel.module, arguments, diagnostics);
  return diagnostics.empty() ? "" : render(diagnostics[0]);
}

TEST(AscendLanguage, GemmOnTheCubeAndVectorCores) {
  constexpr int64_t M = 32, N = 16, K = 64;
  auto kernel = T::prim_func("gemm_exp", [&] {
    auto A = T::Tensor("A", {M, K}, T::float32);
    auto B = T::Tensor("B", {K, N}, T::float32);
    auto space = T::Tensor("workspace", {M, N}, T::float32);
    auto C = T::Tensor("C", {M, N}, T::float32);
    T::Kernel({1}, {.is_npu = true}, [&](T::Expr, T::Expr vid) {
      auto a = T::alloc_L1({M, 32}, T::float32, "a"), b = T::alloc_L1({32, N}, T::float32, "b");
      auto c = T::alloc_L0C({M, N}, T::float32, "c");
      auto tile = T::alloc_ub({M / 2, N}, T::float32, "tile");
      T::annotate_address(tile, 1024);
      T::Scope("C", [&] {
        T::serial(2, [&](T::Expr k) {
          T::copy(A[{0, k * 32}], a);
          T::copy(B[{k * 32, 0}], b);
          T::barrier_all();
          T::gemm_v0(a, b, c, {.init = k == 0});
          T::barrier_all();
        });
        T::copy(c, space);
        T::set_cross_flag("fix", 0);
      });
      T::Scope("V", [&] {
        T::wait_cross_flag(0);
        T::copy(space[{vid * (M / 2), 0}], tile);
        T::set_flag("mte2", "v", 1);
        T::wait_flag("mte2", "v", 1);
        T::tile::mul(tile, tile, 0.125f);
        T::pipe_barrier("v");
        T::tile::exp(tile, tile);
        T::barrier_all();
        T::copy(tile, C[{vid * (M / 2), 0}]);
      });
      T::sync_all();
    });
  });
  std::vector<float> a(M * K), b(K * N), space(M * N), c(M * N);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(int(i % 7) - 3) / 4;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = float(int(i % 5) - 2) / 4;
  EXPECT_EQ(run(kernel, {HostTensor{a.data(), {M, K}, {}}, HostTensor{b.data(), {K, N}, {}},
                         HostTensor{space.data(), {M, N}, {}}, HostTensor{c.data(), {M, N}, {}}}),
            "");
  for (int64_t row = 0; row < M; ++row)
    for (int64_t column = 0; column < N; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < K; ++k)
        sum += double(a[size_t(row * K + k)]) * b[size_t(k * N + column)];
      EXPECT_NEAR(c[size_t(row * N + column)], std::exp(sum / 8), 1e-5 * std::exp(sum / 8));
    }
}

TEST(AscendLanguage, MasksAndRounding) {
  auto kernel = T::prim_func("clip", [&] {
    auto A = T::Tensor("A", {64}, T::float32);
    auto C = T::Tensor("C", {64}, T::int32);
    T::Kernel({1}, {.threads = 1, .is_npu = true}, [&](T::Expr) {
      auto a = T::alloc_ub({64}, T::float32, "a"), d = T::alloc_ub({64}, T::float32, "d");
      auto c = T::alloc_ub({64}, T::int32, "c");
      auto mask = T::alloc_ub({8}, T::uint8, "mask");
      T::copy(A, a);
      T::tile::compare(mask, a, a[{2}], "GT");
      T::tile::select(d, mask, a, -5.0f, "VSEL_TENSOR_SCALAR_MODE");
      T::tile::add(d[{T::slice(0, 8)}], d[{T::slice(8, 16)}], 0.0f);
      T::tile::cast(c, d, "CAST_CEIL");
      T::copy(c, C);
    });
  });
  std::vector<float> a(64);
  std::vector<int32_t> c(64);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i) / 8 - 3.3f;
  EXPECT_EQ(run(kernel, {HostTensor{a.data(), {64}, {}}, HostTensor{c.data(), {64}, {}}}), "");
  for (size_t i = 0; i < a.size(); ++i) {
    size_t from = i < 8 ? i + 8 : i;
    EXPECT_EQ(c[i], int32_t(std::ceil(a[from] > a[2] ? a[from] : -5.0f)));
  }
}

TEST(AscendLanguage, ErrorsHaveThePlace) {
  int32_t line = 0;
  auto kernel = T::prim_func("wrong", [&] {
    T::Kernel({1}, {.is_npu = true}, [&](T::Expr, T::Expr) {
      line = __LINE__ + 1;
      T::pipe_barrier("mte4");
    });
  });
  ASSERT_EQ(kernel.diagnostics.size(), 1U);
  EXPECT_EQ(kernel.diagnostics[0].place.line, line);
}

} // namespace
} // namespace tilewright
