// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::tile {

/// Unit, on scalar arguments of a kernel that are addresses (discardable, as those in dialect.h).
inline constexpr llvm::StringLiteral kAddressAttr = "tile.address";
/// Unit, on tensors that may overlap others in part, as the kernel says.
inline constexpr llvm::StringLiteral kOverlapsAttr = "tile.overlaps";
/// Numbers of other tensors, on those that may not be the same memory.
inline constexpr llvm::StringLiteral kApartAttr = "tile.apart";

} // namespace tilewright::tile
