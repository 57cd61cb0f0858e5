// SPDX-License-Identifier: Apache-2.0
/// Variables that say whether a loop goes on: constants are assigned to them, and small ones added or taken away (`turns = turns + 1`).
#pragma once

#include "compiler/ir/memory_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>

#include <optional>

namespace tilewright::ascend {

/// The constant that a store assigns, if it is a small one.
std::optional<int64_t> constantOf(tile::StoreOp store);
/// What a store adds to a variable; below 0: takes away.
std::optional<int64_t> stepOf(tile::StoreOp store);
/// Whether something is added to a variable.
bool isCounter(mlir::Value buffer);
/// Whether a comparison of such a variable is with what the model counts up to (model::kMostCounted).
bool isCountedFarEnough(mlir::arith::CmpIOp compare);
/// Whether there is one. Of 32 bits at least: that it comes to 2^31 is left out, for no run has so many turns.
bool isWorthCounting(mlir::Value buffer);
/// Of `not (first and more)`, where nobody asks for more unless the first holds: that.
mlir::Value askedBeforeMore(mlir::Value condition);

} // namespace tilewright::ascend
