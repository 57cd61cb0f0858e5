// SPDX-License-Identifier: Apache-2.0
/// Variables that say which part of a tile is meant, and go round a few numbers:
/// `slot = slot + 1; if slot == 3: slot = 0`.
#pragma once

#include "compiler/ir/memory_ops.h"

#include <mlir/IR/Operation.h>

#include <cstdint>
#include <optional>

namespace tilewright::ascend {

class IndexTerms;

/// How many numbers of a variable, from 0 on, are worth telling apart: parts of tiles go by it, in a way that turns alone
/// don't tell, and it is compared with small constants, or taken modulo one. Nothing if there are too many, or if something
/// else than constants, what it held before and what one other variable holds is assigned to it. With `haveCopies` each
/// kind of core has its own: both must hold the same.
std::optional<int64_t> countOfPartNumbers(mlir::Value buffer, bool haveCopies, IndexTerms& indices);

/// The read of a variable that a number is computed from, if that is all but constants; null: there is none.
tile::LoadOp readBehind(mlir::Value number);

/// What two variables come to together, always, of which `a, b = b, a` is all that changes them: the store to one of them is
/// as if what it holds were taken from that.
std::optional<int64_t> sumOfSwapped(tile::StoreOp store);

/// The other variable that a number which is assigned is computed from, if there is one.
mlir::Value sourceOf(tile::StoreOp store);

/// What a number is where all that it is computed from are constants, and a variable that holds `held`.
std::optional<int64_t> numberBy(mlir::Value number, mlir::Value variable, int64_t held);

/// Whether a variable holds the same when `at` runs as when it was read before, in all turns of loops around.
bool isStillHeld(tile::LoadOp load, mlir::Operation* at);

} // namespace tilewright::ascend
