// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::tile {

/// Unit, on scalar arguments of a kernel that are addresses (discardable, as those in dialect.h).
inline constexpr llvm::StringLiteral kAddressAttr = "tile.address";

} // namespace tilewright::tile
