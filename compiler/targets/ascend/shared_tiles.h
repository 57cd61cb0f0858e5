// SPDX-License-Identifier: Apache-2.0
/// Which tiles in UB the two vector cores of a block can have a half of each.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/region.h"
#include "compiler/ir/structure_ops.h"

#include <llvm/ADT/SetVector.h>

namespace tilewright::ascend {

/// A tile is shared if every operation that touches it works row by row: then one core has the
/// first half of its rows and the other the second. What isn't shared, both cores have whole.
class SharedTiles {
public:
  explicit SharedTiles(tile::LaunchOp launch);

  bool contains(mlir::Value buffer) const {
    return tiles.contains(buffer);
  }
  llvm::ArrayRef<mlir::Value> all() const {
    return tiles.getArrayRef();
  }
  /// Whether each core runs half of the iterations: something in it is shared.
  bool isShared(tile::ParallelOp nest) const;
  static bool writesGlobal(tile::ParallelOp nest);

private:
  /// Whether the region covers all rows of its tile.
  static bool hasAllRows(const tile::BufferRegion& region);
  bool keepsRows(const tile::BufferRegion& from, const tile::BufferRegion& to) const;
  /// Drops what this operation can't do by halves; true if it dropped anything.
  bool restrict(mlir::Operation* op);
  bool restrictNest(tile::ParallelOp nest);
  bool drop(mlir::Value buffer) {
    return tiles.remove(buffer);
  }

  llvm::SetVector<mlir::Value> tiles;
};

/// The first dim of the region that is more than one wide, or nothing.
std::optional<size_t> firstWideDim(const tile::BufferRegion& region);

} // namespace tilewright::ascend
