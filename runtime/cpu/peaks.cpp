// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/peaks.h"

#include "compiler/base/tile_registers.h"
#include "runtime/cpu/launch.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Multiply-adds in flight: more than latency times throughput of any CPU.
constexpr int chains = 12;
constexpr int turns = 100'000;
constexpr int repeats = 10;
constexpr size_t copyBytes = size_t(256) << 20;

/// One thread's multiply-adds; gives the operations of one call.
using Burst = double (*)();

#if defined(__x86_64__)
[[gnu::target("avx512f")]] double burst512() {
  __m512 sums[chains];
  for (__m512& sum : sums)
    sum = _mm512_set1_ps(1);
  const __m512 factor = _mm512_set1_ps(0.5F);
  for (int turn = 0; turn < turns; ++turn)
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(sum, factor, factor);
      asm volatile("" : "+v"(sum));
    }
  return 2.0 * 16 * chains * turns;
}

[[gnu::target("avx512f,avx512bf16")]] double burstBfloat16() {
  __m512 sums[chains];
  for (__m512& sum : sums)
    sum = _mm512_set1_ps(1);
  auto ones = (__m512bh)_mm512_set1_epi16(0x3f80);
  for (int turn = 0; turn < turns; ++turn)
    for (__m512& sum : sums) {
      sum = _mm512_dpbf16_ps(sum, ones, ones);
      asm volatile("" : "+v"(sum));
    }
  return 4.0 * 16 * chains * turns;
}

[[gnu::target("avx512f,avx512vnni")]] double burstBytes() {
  __m512i sums[chains] = {};
  const __m512i ones = _mm512_set1_epi8(1);
  for (int turn = 0; turn < turns; ++turn)
    for (__m512i& sum : sums) {
      sum = _mm512_dpbusd_epi32(sum, ones, ones);
      asm volatile("" : "+v"(sum));
    }
  return 8.0 * 16 * chains * turns;
}

/// What ldtilecfg reads: eight tiles of 16 rows of 64 bytes.
struct TileShapes {
  uint8_t palette = 1, unused[15] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Of each instruction, 16 x 16 sums of 16 groups' products. Zeros: numbers would cost some of the clock.
#define TILE_BURST(multiply, groupSize)                                                            \
  const TileShapes shapes;                                                                         \
  _tile_loadconfig(&shapes);                                                                       \
  for (int turn = 0; turn < turns; ++turn) {                                                       \
    multiply(0, 4, 6);                                                                             \
    multiply(1, 4, 7);                                                                             \
    multiply(2, 5, 6);                                                                             \
    multiply(3, 5, 7);                                                                             \
  }                                                                                                \
  _tile_release();                                                                                 \
  return 4.0 * turns * 2 * 16 * 16 * 16 * (groupSize);

[[gnu::target("amx-tile,amx-bf16")]] double burstBfloat16Tiles() {
  TILE_BURST(_tile_dpbf16ps, 2)
}

[[gnu::target("amx-tile,amx-int8")]] double burstByteTiles() {
  TILE_BURST(_tile_dpbssd, 4)
}

[[gnu::target("avx2,fma")]] double burst256() {
  __m256 sums[chains];
  for (__m256& sum : sums)
    sum = _mm256_set1_ps(1);
  const __m256 factor = _mm256_set1_ps(0.5F);
  for (int turn = 0; turn < turns; ++turn)
    for (__m256& sum : sums) {
      sum = _mm256_fmadd_ps(sum, factor, factor);
      asm volatile("" : "+x"(sum));
    }
  return 2.0 * 8 * chains * turns;
}
#endif

double burstPlain() {
  using Vector [[gnu::vector_size(16)]] = float;
  Vector sums[chains];
  for (Vector& sum : sums)
    sum = Vector{1, 1, 1, 1};
  const Vector factor{0.5F, 0.5F, 0.5F, 0.5F};
  for (int turn = 0; turn < turns; ++turn)
    for (Vector& sum : sums) {
      sum = sum * factor + factor;
#if defined(__x86_64__)
      asm volatile("" : "+x"(sum));
#elif defined(__aarch64__)
      asm volatile("" : "+w"(sum));
#endif
    }
  return 2.0 * 4 * chains * turns;
}

Burst float32Burst() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return burst512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return burst256;
#endif
  return burstPlain;
}

Burst bfloat16Burst() {
#if defined(__x86_64__)
  if (std::string reason; __builtin_cpu_supports("amx-bf16") && mayUseTiles(reason))
    return burstBfloat16Tiles;
  if (__builtin_cpu_supports("avx512bf16"))
    return burstBfloat16;
#endif
  return nullptr;
}

Burst byteBurst() {
#if defined(__x86_64__)
  if (std::string reason; __builtin_cpu_supports("amx-int8") && mayUseTiles(reason))
    return burstByteTiles;
  if (__builtin_cpu_supports("avx512vnni"))
    return burstBytes;
#endif
  return nullptr;
}

/// The best of some runs of `work(thread)` on all threads at once, in seconds.
template <typename Work> double bestSeconds(int threads, Work work) {
  tbb::task_arena arena(threads, 1);
  double best = 1e30;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    auto begin = Clock::now();
    arena.execute([&] { tbb::parallel_for(0, threads, work, tbb::static_partitioner{}); });
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

double operationsPerSecond(Burst burst, int threads) {
  if (burst == nullptr)
    return 0;
  double flops = 0;
  double seconds = bestSeconds(threads, [&](int thread) {
    double own = burst();
    if (thread == 0)
      flops = own;
  });
  return flops * threads / seconds;
}

double copiedBytesPerSecond(int threads) {
  std::unique_ptr<char[]> source(new (std::nothrow) char[copyBytes]);
  std::unique_ptr<char[]> target(new (std::nothrow) char[copyBytes]);
  if (!source || !target)
    return 0;
  const size_t part = copyBytes / size_t(threads);
  auto each = [&](auto work) { return [&, work](int thread) { work(size_t(thread) * part); }; };
  bestSeconds(threads, each([&](size_t at) { std::memset(source.get() + at, 1, part); }));
  double seconds = bestSeconds(
      threads, each([&](size_t at) { std::memcpy(target.get() + at, source.get() + at, part); }));
  return 2.0 * double(part) * threads / seconds;
}

} // namespace

MachinePeaks measurePeaks() {
  const int threads = threadCount();
  return {operationsPerSecond(float32Burst(), threads),
          operationsPerSecond(bfloat16Burst(), threads), operationsPerSecond(byteBurst(), threads),
          copiedBytesPerSecond(threads)};
}

} // namespace tilewright::runtime
