// SPDX-License-Identifier: Apache-2.0
/// Numbers that a call of a kernel knows before it launches anything.
#pragma once

#include <mlir/IR/Value.h>

namespace tilewright::tile {

/// Whether a number is made of a kernel's arguments alone.
bool isKnownOfCall(mlir::Value number);

} // namespace tilewright::tile
