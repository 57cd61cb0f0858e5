// SPDX-License-Identifier: Apache-2.0
/// Clears parts of tiles in L0C, which nothing but the cube unit writes:
///
///   %zeros = tile.alloc "zeros" : !tile.buffer<64x16xf16, L1>    // filled with 0 once
///   tile.gemm %zeros, %zeros into %c {clear_accum, transpose_b}
#pragma once

#include "compiler/ir/region.h"
#include "compiler/ir/tensor_ops.h"

#include <llvm/ADT/DenseMap.h>

namespace tilewright::ascend {

class ZeroProducts {
public:
  /// Whether `fill` is one with zeros of parts that gemms can write.
  static bool canClear(tile::FillOp fill);
  /// What `fill` fills, before it, in `tile`: a product for each part of two dims. `element` is what gemms
  /// into the tile multiply.
  void clear(tile::FillOp fill, mlir::Value tile, mlir::Type element);

private:
  mlir::Value zeroTile(tile::FillOp fill, int64_t rank, int64_t rows, mlir::Type element);

  llvm::DenseMap<mlir::Type, mlir::Value> zeroTiles; ///< by type, as if of one column
};

} // namespace tilewright::ascend
