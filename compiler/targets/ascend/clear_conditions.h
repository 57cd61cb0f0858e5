// SPDX-License-Identifier: Apache-2.0
/// Whether a gemm clears what it adds to, where that depends on the turns of loops.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"

namespace tilewright::ascend {

/// Whether the loop is not proven to run at least one turn, wherever it is come to.
bool mayRunNoIteration(tile::ForOp loop);

/// Whether the gemm may add to what `writer` has left in its tile. It stands behind the writer, or both are
/// in one loop. One that clears the tile whenever loops begin in which the writer is not doesn't.
bool mayAddTo(tile::GemmOp gemm, mlir::Operation* writer);

} // namespace tilewright::ascend
