// SPDX-License-Identifier: Apache-2.0
/// Loops that are no loops: `for i in range(n - 1, n)`, and those whose second turn stops the kernel.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/index_terms.h"

namespace tilewright::ascend {

/// Whether a loop makes no more than one turn, whatever its ends are, in runs that come to an end.
bool hasOneTurnAtMost(tile::ForOp loop, IndexTerms& indices);

} // namespace tilewright::ascend
