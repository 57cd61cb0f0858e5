// SPDX-License-Identifier: Apache-2.0
/// Masks of a bit per element, which instructions take as sequences of bytes.
#pragma once

#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

/// What names elements of such a tile by rows and columns names them in the sequence, if its rows would be
/// padded in UB: a mask of (64, 8) bytes that is combined with another by a bitwise function.
void nameAsSequences(mlir::Operation* kernel);

} // namespace tilewright::ascend
