// SPDX-License-Identifier: Apache-2.0
/// How index values grow from turn to turn of a loop.
#pragma once

#include <mlir/IR/OpDefinition.h>

#include <optional>

namespace tilewright::tile {

/// What a number grows by with each 1 that `counter`, a loop's number, grows by, if that is always the same. Other loops'
/// numbers, and what is made outside of the loop, don't grow with it.
std::optional<int64_t> growthWith(mlir::OpFoldResult number, mlir::Value counter);

} // namespace tilewright::tile
