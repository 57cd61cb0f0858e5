// SPDX-License-Identifier: Apache-2.0
// C = max(A @ B * scale, 0): a kernel written, compiled and run in C++, with no Python in the
// process.
#include <tilewright/tilewright.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

namespace T = tilewright::language;

namespace {

T::PrimFunc matmulScaleRelu(int64_t M, int64_t N, int64_t K, int64_t blockM, int64_t blockN,
                            int64_t blockK) {
  return T::prim_func("gemm_fused", [&] {
    auto A = T::Tensor("A", {M, K}, T::float32);
    auto B = T::Tensor("B", {K, N}, T::float32);
    auto C = T::Tensor("C", {M, N}, T::float32);
    auto scale = T::Scalar("scale", T::float32);

    T::Kernel({T::ceildiv(N, blockN), T::ceildiv(M, blockM)}, {.threads = 128},
              [&](T::Expr bx, T::Expr by) {
                auto A_shared = T::alloc_shared({blockM, blockK}, T::float32);
                auto B_shared = T::alloc_shared({blockK, blockN}, T::float32);
                auto C_local = T::alloc_fragment({blockM, blockN}, T::float32);
                T::clear(C_local);

                T::Pipelined(T::ceildiv(K, blockK), {.num_stages = 3}, [&](T::Expr k) {
                  T::copy(A[{by * blockM, k * blockK}], A_shared);
                  T::copy(B[{k * blockK, bx * blockN}], B_shared);
                  T::gemm(A_shared, B_shared, C_local);
                });

                T::Parallel({blockM, blockN}, [&](T::Expr i, T::Expr j) {
                  C_local[{i, j}] = T::max(C_local[{i, j}] * scale, 0.0f);
                });

                T::copy(C_local, C[{by * blockM, bx * blockN}]);
              });
  });
}

std::vector<float> randomValues(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return normal(generator); });
  return values;
}

/// The largest difference from the same in float64, over a sample of rows.
double largestError(std::span<const float> a, std::span<const float> b, std::span<const float> c,
                    int64_t M, int64_t N, int64_t K, double scale) {
  double largest = 0;
  std::vector<double> row(N);
  for (int64_t m = 0; m < M; m += 7) {
    std::fill(row.begin(), row.end(), 0);
    for (int64_t k = 0; k < K; ++k)
      for (int64_t n = 0; n < N; ++n)
        row[n] += double(a[m * K + k]) * double(b[k * N + n]);
    for (int64_t n = 0; n < N; ++n)
      largest = std::max(largest, std::abs(std::max(row[n] * scale, 0.0) - double(c[m * N + n])));
  }
  return largest;
}

template <typename F> double milliseconds(F work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

} // namespace

int main() {
  const int64_t M = 1000, N = 777, K = 513; // no multiples of the blocks
  const double scale = 0.5;
  std::vector<float> a = randomValues(M * K, 1), b = randomValues(K * N, 2), c(M * N);

  T::PrimFunc kernel = matmulScaleRelu(M, N, K, 64, 64, 32);
  if (!kernel) {
    std::fprintf(stderr, "%s", kernel.messages().c_str());
    return 1;
  }

  std::vector<tilewright::Diagnostic> diagnostics;
  std::optional<tilewright::Artifact> artifact;
  double compileTime = milliseconds([&] { artifact = compile(*kernel.module, {}, diagnostics); });
  for (const tilewright::Diagnostic& diagnostic : diagnostics)
    std::fprintf(stderr, "%s", render(diagnostic).c_str());
  if (!artifact)
    return 1;

  std::string error;
  auto loaded = tilewright::LoadedKernel::load(artifact->library, artifact->manifest, error);
  auto call = [&] {
    return loaded && loaded->run({{std::span<const float>(a), {M, K}},
                                  {std::span<const float>(b), {K, N}},
                                  {std::span<float>(c), {M, N}},
                                  scale},
                                 error);
  };
  if (!call()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }

  double difference = largestError(a, b, c, M, N, K, scale);
  double best = milliseconds(call);
  for (int i = 0; i < 10; ++i)
    best = std::min(best, milliseconds(call));
  std::printf(
      "gemm_fused %lldx%lldx%lld: largest error %.1e, %.2f ms, %.1f GFLOP/s, compiled in %.0f ms\n",
      static_cast<long long>(M), static_cast<long long>(N), static_cast<long long>(K), difference,
      best, 2e-6 * double(M) * double(N) * double(K) / best, compileTime);
  return difference < 1e-4 * std::sqrt(double(K)) ? 0 : 1;
}
