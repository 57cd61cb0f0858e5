// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/StringRef.h>

namespace tilewright::tile {

/// On tile.assert: its condition compares a number of 64 bits, and the message has `{}` in the place of that.
inline constexpr llvm::StringLiteral kTellsAttr = "tile.tells";

} // namespace tilewright::tile
