// SPDX-License-Identifier: Apache-2.0
/// What is sure of an index where something is built: from the bounds of the loops, known or not, the conditions around,
/// and what was promised or asserted before. Each is false where that can't be told.
#pragma once

#include "compiler/builder/construction.h"

namespace tilewright::builder {

/// Whether an index is below 0 whatever its variables are. Where nothing ever runs it isn't: it is as it is written.
bool isAlwaysNegative(const Construction& state, mlir::Value index);

/// Whether an index is 0 or more whatever its variables are. No shift and no abs is taken to leave its type.
bool isNeverNegative(const Construction& state, mlir::Value index);

/// Whether what stands here runs for no values of its variables: the conditions around contradict the bounds of the
/// loops, or each other.
bool neverRuns(const Construction& state);

} // namespace tilewright::builder
