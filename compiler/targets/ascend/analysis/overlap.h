// SPDX-License-Identifier: Apache-2.0
/// Whether two byte ranges with offsets that depend on loops can meet.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::ascend::model {

constexpr int64_t kUnbounded = int64_t{1} << 40;

/// `step` times an integer from `low` to `high`.
struct Unknown {
  int64_t step = 0, low = 0, high = 0;
};

/// True if [0, lengthA) and [d, d + lengthB) can have a byte in common, where d is `distance` plus
/// the sum of `unknowns`. Exact where all but one have few combinations of numbers; else it errs only to true.
bool canMeet(int64_t lengthA, int64_t lengthB, int64_t distance,
             const std::vector<Unknown>& unknowns);

} // namespace tilewright::ascend::model
