// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/overlap.h"

#include "compiler/targets/ascend/analysis/program.h"

#include <algorithm>
#include <numeric>

namespace tilewright::ascend::model {

namespace {

constexpr int64_t farthest = int64_t{1} << 60;

int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    return (a < 0) != (b < 0) ? -farthest : farthest;
  return std::clamp(result, -farthest, farthest);
}

int64_t sum(int64_t a, int64_t b) {
  return std::clamp(a + b, -farthest, farthest);
}

/// How many combinations of unknowns are tried one by one.
constexpr int64_t kMostTried = 64;

/// Unknowns of one step, or of opposite ones, make one: all numbers between the sums of their ends. False if one has
/// no number at all.
bool merge(const std::vector<Unknown>& unknowns, std::vector<Unknown>& merged) {
  for (Unknown unknown : unknowns) {
    if (unknown.low > unknown.high)
      return false;
    if (unknown.step == 0 || (unknown.low == 0 && unknown.high == 0))
      continue;
    if (unknown.step < 0)
      unknown = {-unknown.step, -unknown.high, -unknown.low};
    const auto same = std::ranges::find(merged, unknown.step, &Unknown::step);
    if (same == merged.end()) {
      merged.push_back(unknown);
      continue;
    }
    same->low = sum(same->low, unknown.low);
    same->high = sum(same->high, unknown.high);
  }
  return true;
}

/// Whether low < d < high, for any d that is `distance` plus a number of each of the unknowns from `first` on, of
/// which the last has the most. `tries` is how many combinations of the others may still be tried.
bool isBetween(int64_t low, int64_t high, int64_t distance, const std::vector<Unknown>& unknowns,
               size_t first, int64_t tries) {
  int64_t least = distance, most = distance, step = 0;
  for (size_t at = first; at < unknowns.size(); ++at) {
    least = sum(least, product(unknowns[at].step, unknowns[at].low));
    most = sum(most, product(unknowns[at].step, unknowns[at].high));
    step = std::gcd(step, unknowns[at].step);
  }
  if (most <= low || least >= high)
    return false;
  if (first == unknowns.size())
    return true;
  // The smallest d above `low` and not below `least`, in steps from an end of the range.
  const int64_t floor = std::max(low + 1, least);
  const int64_t smallest = sum(least, product(step, -floorDiv(least - floor, step)));
  if (smallest >= high || smallest > most)
    return false;
  const Unknown& unknown = unknowns[first];
  const int64_t count = unknown.high - unknown.low + 1;
  if (first + 1 == unknowns.size() || count > tries)
    return true;
  for (int64_t number = unknown.low; number <= unknown.high; ++number)
    if (isBetween(low, high, sum(distance, product(unknown.step, number)), unknowns, first + 1,
                  tries / count))
      return true;
  return false;
}

} // namespace

bool canMeet(int64_t lengthA, int64_t lengthB, int64_t distance,
             const std::vector<Unknown>& unknowns) {
  std::vector<Unknown> merged;
  if (lengthA <= 0 || lengthB <= 0 || !merge(unknowns, merged))
    return false;
  std::ranges::sort(merged, {}, [](const Unknown& each) { return each.high - each.low; });
  // The ranges meet if -lengthB < d < lengthA.
  return isBetween(-lengthB, lengthA, distance, merged, 0, kMostTried);
}

} // namespace tilewright::ascend::model
