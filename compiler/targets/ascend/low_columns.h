// SPDX-License-Identifier: Apache-2.0
/// Gemms into some rows of a tile in L0C, of which the kernel knows the number as it runs. The cube unit writes columns of 16
/// as high as its rows ask for: who takes the tile may count so, too.
#pragma once

#include "compiler/ir/tensor_ops.h"

namespace tilewright::ascend {

/// Whether columns of c's tile may lie as high as `gemm` has rows: all that uses it are gemms into one part of it, from row 0
/// on, and behind them copies out of these rows, all with one number of rows, until a gemm clears the tile. What it says of
/// one of these gemms it says of all.
bool mayHaveLowColumns(tile::GemmOp gemm);

} // namespace tilewright::ascend
