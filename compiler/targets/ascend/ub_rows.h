// SPDX-License-Identifier: Apache-2.0
/// Regions of UB as rows, which is how instructions take them.
#pragma once

#include "compiler/ir/region.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <optional>

namespace tilewright::ascend {

/// `rows` of `columns` (values), the first element, and elements between rows.
struct UbRows {
  mlir::OpFoldResult rows, columns, offset;
  int64_t pitch = 0;
  int64_t mostRows = 1; ///< that the buffer has from the first one on
};

/// How many steps of a dim a region's buffer has, from where the region begins, if that is known.
int64_t stepsBehind(const tile::BufferRegion& region, size_t dim);

/// Nothing for a region with more than two dims that are not 1.
std::optional<UbRows> rowsInUb(const IndexMaker& make, const tile::BufferRegion& region);

/// As rowsInUb, also of more dims, where those before the last are one sequence of rows.
std::optional<UbRows> joinedRowsInUb(const IndexMaker& make, const tile::BufferRegion& region);

/// Whether nothing that means anything lies between rows: they lie side by side, or they are whole
/// rows of a buffer, which only the padding to a block keeps apart. What lies between parts of rows
/// are other elements, even where it is less than a block.
bool fillsPitch(const UbRows& rows, tile::BufferType type);

/// Whether rows behind the first begin within a block of 32 bytes.
bool beginWithinBlocks(const UbRows& rows, tile::BufferType type);

/// Rows that lie side by side as one row; others as they are.
UbRows asOneRow(const IndexMaker& make, const UbRows& rows);

/// Whether all elements of a region lie side by side.
bool isDenseInUb(const tile::BufferRegion& region);

/// Scratch memory that reduceRows of device/ascend needs to reduce rows of a tile to a number each.
int64_t reductionScratch(tile::BufferType type, int64_t rows, int64_t columns, int64_t pitch,
                         bool clear);

/// Runs `body` for each row, or once for all where they are dense; `count` is then that of all.
void forEachRow(mlir::ImplicitLocOpBuilder& builder, const IndexMaker& make, const UbRows& rows,
                bool isDense, llvm::function_ref<void(mlir::Value row, mlir::Value count)> body);

/// A nest over all elements of a region, that stores what `function` makes of each at the same place of
/// another one.
void mapByNest(mlir::ImplicitLocOpBuilder& builder, const tile::BufferRegion& source,
               const tile::BufferRegion& target,
               llvm::function_ref<mlir::Value(mlir::Value)> function);

/// The first element of a row.
mlir::Value rowStart(const IndexMaker& make, const UbRows& rows, mlir::Value row);

} // namespace tilewright::ascend
