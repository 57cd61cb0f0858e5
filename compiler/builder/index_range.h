// SPDX-License-Identifier: Apache-2.0
/// Which values an index takes: for telling, while building, that an access leaves its buffer.
#pragma once

#include "compiler/builder/construction.h"

namespace tilewright::builder {

/// The least and greatest value, both of which are taken.
struct ExactRange {
  int64_t least;
  int64_t greatest;
};

/// The exact range of an index that is a sum of multiples of loop variables, block ids and thread ids with known
/// bounds; nothing for any other.
std::optional<ExactRange> rangeOf(mlir::Value index);

/// Whether an index is sure to be one of the numbers of int32. Its variables are, which have that dtype for promotion.
bool isOfInt32(mlir::Value index);

/// `left - right` where that is the same number for all values of the variables in them: `(k + 1) * 64 - k * 64`,
/// `k % 3 + 1 - k % 3`, `I[k] + 1 - I[k]` with nothing written between the two reads.
std::optional<int64_t> constantDifference(mlir::Value left, mlir::Value right);

/// Whether what stands here runs for all values of the loops around it: no branch and no early exit is in the way.
bool runsAlways(const Construction& state);

} // namespace tilewright::builder
