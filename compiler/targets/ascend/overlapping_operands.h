// SPDX-License-Identifier: Apache-2.0
/// Element-wise work that reads, of the tile that it writes, other elements than those at the same place.
#pragma once

#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

/// Looks for elements of UB that one iteration of a nest surely reads and another one writes: the vector unit has no
/// order for them. Of a function of T.tile that is an error, and false; of a loop of the user's, which runs row by row
/// or element by element then, a warning. Offsets may be values, as long as their distance is known.
bool checkOperands(tile::ParallelOp nest);

} // namespace tilewright::ascend
