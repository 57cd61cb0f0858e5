// SPDX-License-Identifier: Apache-2.0
/// Element-wise nests of which one iteration reads what another one writes.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"

#include <optional>

namespace tilewright {

/// Where an iteration of a nest accesses a buffer: a constant, its numbers times factors, and other values times
/// factors.
struct ElementPlace {
  int64_t constant = 0;
  llvm::SmallVector<int64_t> factors;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> others;
};

/// The extents of a nest, if they are numbers and it has no branch or loop within.
std::optional<llvm::SmallVector<int64_t>> extentsOfStraightNest(tile::ParallelOp nest);

/// The sum of the indices times `steps`, if it is one of the nest's numbers and of what is the same in all iterations.
std::optional<ElementPlace> placeInNest(mlir::ValueRange indices, llvm::ArrayRef<int64_t> steps,
                                        tile::ParallelOp nest);

/// `write` - `read`, if that is a number; their factors may differ.
std::optional<int64_t> distanceOf(const ElementPlace& write, const ElementPlace& read);

/// Whether an iteration reads what another one writes, if that is known. `width`: of an element.
std::optional<bool> meetElsewhere(const ElementPlace& write, const ElementPlace& read,
                                  llvm::ArrayRef<int64_t> extents, int64_t width);

/// How far what a nest writes begins behind what it reads, if one iteration surely reads what another one writes.
/// `width`: of an element.
std::optional<int64_t> overlapOf(const ElementPlace& write, const ElementPlace& read,
                                 llvm::ArrayRef<int64_t> extents, int64_t width);

/// Whether an iteration surely reads what another one stores, where both buffers are taken for one of one layout. Each
/// index counts by itself.
bool isReadElsewhere(tile::StoreOp store, tile::LoadOp load, llvm::ArrayRef<int64_t> extents,
                     tile::ParallelOp nest);

/// The first store of an element that surely another iteration reads, a constant distance away; none: null.
tile::StoreOp dependsOnItself(tile::ParallelOp nest);

} // namespace tilewright
