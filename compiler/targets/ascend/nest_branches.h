// SPDX-License-Identifier: Apache-2.0
/// Branches of an element-wise nest as choices between numbers.
#pragma once

#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

/// Whether the body holds branches.
bool hasBranches(tile::ParallelOp nest);

/// `if c: s[i, j] = x` becomes `s[i, j] = x if c else s[i, j]`: every branch of the nest, where what it does may be done
/// in all iterations. False if one can't; what is left then is no use.
bool makeChoices(tile::ParallelOp nest);

} // namespace tilewright::ascend
