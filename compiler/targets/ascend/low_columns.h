// SPDX-License-Identifier: Apache-2.0
/// Gemms into some rows of a tile in L0C, of which the kernel knows the number as it runs. The cube unit writes columns of 16
/// as high as its rows ask for: who takes the tile may count so, too.
#pragma once

#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/tile_addresses.h"

namespace tilewright::ascend {

/// On an npu.mmad: its columns of c are as high as its m asks for, and so are all of the tile.
inline constexpr llvm::StringLiteral kLowColumnsAttr = "npu.low_columns";

/// Whether columns of c's tile may lie as high as `gemm` has rows: all that uses it are gemms into one part of it, from row 0
/// on, and behind them copies out of these rows, all with one number of rows, until a gemm clears the tile. What it says of
/// one of these gemms it says of all.
bool mayHaveLowColumns(tile::GemmOp gemm);

/// How far columns of a tile in L0C lie apart where `copy` reads it, in rows: as high as the tile, or as the npu.mmad before has made
/// them. Where that number isn't known at the copy, as in the turn behind that of the product, a variable holds it.
mlir::OpFoldResult columnHeight(mlir::ImplicitLocOpBuilder& builder, tile::CopyOp copy,
                                mlir::Value buffer);

} // namespace tilewright::ascend
