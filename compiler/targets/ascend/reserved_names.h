// SPDX-License-Identifier: Apache-2.0
/// Names that emitted text must not use for its own.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

namespace tilewright::ascend {

/// Keywords, and what our headers and the vendor's put into scope.
llvm::SmallVector<llvm::StringRef> reservedNames();

/// True of functions of our headers that the text calls by a plain word, which a kernel may have for a name: both are
/// told apart where they meet.
bool isPlainFunction(llvm::StringRef word);

/// True of a name that begins as macros of C's headers do, of which there are hundreds, or as constants of Ascend C.
bool beginsAsReserved(llvm::StringRef name);

} // namespace tilewright::ascend
