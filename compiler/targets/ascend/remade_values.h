// SPDX-License-Identifier: Apache-2.0
/// Values at other places than where they are computed.
#pragma once

#include "compiler/ir/region.h"

#include <mlir/IR/IRMapping.h>

namespace tilewright::ascend {

/// Whether a value is the same in all turns of a loop: it comes from outside, or what computes it there only
/// takes what does. What is `known` counts as fixed.
bool isFixedIn(mlir::Value value, mlir::Operation* loop, llvm::ArrayRef<mlir::Value> known = {});
/// The same of a region: its buffer, or what that is a view of, and all numbers.
bool isFixedIn(const tile::BufferRegion& region, mlir::Operation* loop);

/// Makes anew, before an operation, what isn't there yet.
class RemadeValues {
public:
  explicit RemadeValues(mlir::Operation* place) : place(place), builder(place) {}

  /// What stands for `value` from here on.
  void assume(mlir::Value value, mlir::Value other) {
    made.map(value, other);
  }
  mlir::Value of(mlir::Value value);
  tile::BufferRegion of(tile::BufferRegion region);

private:
  mlir::Operation* place;
  mlir::OpBuilder builder;
  mlir::IRMapping made;
};

} // namespace tilewright::ascend
