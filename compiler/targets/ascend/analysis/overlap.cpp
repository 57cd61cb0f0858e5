// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/overlap.h"

#include <algorithm>
#include <numeric>

namespace tilewright::ascend::model {

namespace {

constexpr int64_t farthest = int64_t{1} << 60;

int64_t floorDiv(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    return (a < 0) != (b < 0) ? -farthest : farthest;
  return std::clamp(result, -farthest, farthest);
}

int64_t sum(int64_t a, int64_t b) {
  return std::clamp(a + b, -farthest, farthest);
}

} // namespace

bool canMeet(int64_t lengthA, int64_t lengthB, int64_t distance,
             const std::vector<Unknown>& unknowns) {
  // The ranges meet if low < d < high.
  const int64_t low = -lengthB, high = lengthA;
  if (lengthA <= 0 || lengthB <= 0)
    return false;
  int64_t least = distance, most = distance, step = 0;
  const Unknown* only = nullptr;
  unsigned count = 0;
  for (const Unknown& unknown : unknowns) {
    if (unknown.low > unknown.high)
      return false;
    if (unknown.step == 0 || (unknown.low == 0 && unknown.high == 0))
      continue;
    const int64_t first = product(unknown.step, unknown.low);
    const int64_t last = product(unknown.step, unknown.high);
    least = sum(least, std::min(first, last));
    most = sum(most, std::max(first, last));
    step = std::gcd(step, unknown.step);
    only = &unknown;
    ++count;
  }
  if (most <= low || least >= high)
    return false;
  if (count == 0)
    return true;
  if (count == 1) {
    // The smallest d above `low` and not below `least`, in steps from an end of the range.
    const int64_t start = distance + product(only->step, only->low);
    const int64_t width = std::abs(only->step);
    const int64_t floor = std::max(low + 1, least);
    const int64_t d = start + product(width, -floorDiv(start - floor, width));
    return d < high && d <= most;
  }
  const int64_t d = low + 1 + ((distance - (low + 1)) % step + step) % step;
  return d < high;
}

} // namespace tilewright::ascend::model
