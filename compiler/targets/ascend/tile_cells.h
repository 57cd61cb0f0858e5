// SPDX-License-Identifier: Apache-2.0
/// A tile cut into cells, so that each box that matters consists of whole ones.
#pragma once

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/region.h"

#include <llvm/ADT/STLFunctionalExtras.h>

namespace tilewright::ascend {

/// From `low` to before `high`, per dim.
struct TileBox {
  llvm::SmallVector<int64_t> low, high;
  bool isEmpty() const;
};

/// What a region touches at most, and what for sure. They differ where the region's place is not known.
struct TileBoxes {
  TileBox most, least;
  bool isExact() const {
    return most.low == least.low && most.high == least.high;
  }
};

TileBoxes boxesOf(const tile::BufferRegion& region, IndexRanges& ranges);

class TileCells {
public:
  explicit TileCells(llvm::ArrayRef<int64_t> shape);

  /// Whether a box had edges within cells: these are cut, and have other numbers now. A tile of very many
  /// cells is cut no further.
  bool cut(const TileBox& box);
  size_t count() const;
  /// Calls `visit` with the numbers of the cells that lie in the box, or that meet it.
  void forEachWithin(const TileBox& box, llvm::function_ref<void(size_t)> visit) const;
  void forEachMeeting(const TileBox& box, llvm::function_ref<void(size_t)> visit) const;

private:
  void forEach(const TileBox& box, bool isWithin, llvm::function_ref<void(size_t)> visit) const;

  llvm::SmallVector<llvm::SmallVector<int64_t>> edges; ///< per dim, from 0 to the extent
};

} // namespace tilewright::ascend
