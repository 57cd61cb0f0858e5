// SPDX-License-Identifier: Apache-2.0
/// Formats as printf of C takes them, in parts.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>
#include <vector>

namespace tilewright::tile {

/// Plain words, and the place holder behind them, if there is one.
struct FormatPart {
  std::string words;   ///< as they are printed: `%` for `%%`
  std::string flags;   ///< `%5.2` of `%5.2f`
  char conversion = 0; ///< `f` of it; 0 where the format ends

  bool isFloat() const {
    return conversion != 0 && llvm::StringRef("fFeEgG").contains(conversion);
  }
  bool isUnsigned() const {
    return conversion != 0 && llvm::StringRef("ouxX").contains(conversion);
  }
};

/// The last part has no place holder.
std::vector<FormatPart> splitFormat(llvm::StringRef format);

} // namespace tilewright::tile
