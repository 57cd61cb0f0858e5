// SPDX-License-Identifier: Apache-2.0
/// Extents of parts of tiles that the kernel knows as it runs.
#pragma once

#include "compiler/ir/region.h"

#include <mlir/IR/Operation.h>

#include <initializer_list>
#include <utility>

namespace tilewright::ascend {

/// How many rows or columns of a tile an operation takes: a number, or a value of the running kernel, which is at most `most`.
struct RunTimeExtent {
  mlir::OpFoldResult count;
  int64_t most = 0;

  RunTimeExtent() = default;
  RunTimeExtent(mlir::OpFoldResult count, int64_t most) : count(count), most(most) {}

  /// An extent that several regions of `op` have, by their dims: no more than each of their tiles has behind where the region
  /// begins, as far as that is known.
  static RunTimeExtent
  of(mlir::Operation* op,
     std::initializer_list<std::pair<const tile::BufferRegion*, size_t>> sides);

  bool isKnown() const;
  /// Whether both are one number for sure.
  bool isSameAs(const RunTimeExtent& other) const;
};

} // namespace tilewright::ascend
