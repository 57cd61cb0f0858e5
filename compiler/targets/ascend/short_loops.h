// SPDX-License-Identifier: Apache-2.0
/// Loops that are no loops: `for i in range(n - 1, n)`.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/index_terms.h"

namespace tilewright::ascend {

/// Whether a loop makes no more than one turn, whatever its ends are.
bool hasOneTurnAtMost(tile::ForOp loop, IndexTerms& indices);

} // namespace tilewright::ascend
