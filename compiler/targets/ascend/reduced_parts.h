// SPDX-License-Identifier: Apache-2.0
/// Tiles that stand for what a reduction reads or gives: of other floats, of magnitudes, or where results may be.
#pragma once

#include "compiler/ir/region.h"

#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {

struct UbRows;

/// What a reduction reads: `first` of `tile`, in rows that are `pitch` apart.
struct ReducedNumbers {
  mlir::Value tile, first;
  int64_t pitch = 0;
};

bool isOfKnownExtents(const tile::BufferRegion& region);

/// A part of a tile of its own, as large as a region.
tile::BufferRegion makePart(mlir::ImplicitLocOpBuilder& builder, const tile::BufferRegion& like,
                            mlir::Type element, const char* name);

/// Copies by the scalar unit. Both have the same extents.
void copyElements(mlir::ImplicitLocOpBuilder& builder, const tile::BufferRegion& source,
                  const tile::BufferRegion& target);

/// Converts floats.
void copyByNest(mlir::ImplicitLocOpBuilder& builder, const tile::BufferRegion& source,
                const tile::BufferRegion& target);

/// The magnitudes of all columns of a tile; rows lie as the tile's.
ReducedNumbers magnitudesOfRows(mlir::ImplicitLocOpBuilder& builder, const ReducedNumbers& of,
                                int64_t height, int64_t width);

/// The magnitudes of some columns of a tile, by a nest, for what lies between its rows is not read.
/// There are two columns or more: rows of one number would lie side by side, not in whole blocks.
ReducedNumbers magnitudesOfPart(mlir::ImplicitLocOpBuilder& builder,
                                const tile::BufferRegion& source);

/// The magnitudes of so many rows and columns as the kernel knows.
ReducedNumbers magnitudesOfCounts(mlir::ImplicitLocOpBuilder& builder,
                                  const tile::BufferRegion& source, const UbRows& rows);

} // namespace tilewright::ascend
