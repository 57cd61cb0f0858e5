// SPDX-License-Identifier: Apache-2.0
/// What integer arithmetic divides by.
#pragma once

#include <mlir/IR/Operation.h>

#include <optional>

namespace tilewright::tile {

/// By which positive constant an operation divides an integer, rounding down; nothing for any other operation, null
/// among them. Shifts to the right are divisions, too.
std::optional<int64_t> floorDivisor(mlir::Operation* op);

} // namespace tilewright::tile
