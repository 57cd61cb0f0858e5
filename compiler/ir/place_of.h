// SPDX-License-Identifier: Apache-2.0
/// From an op's location to the place in the user's kernel.
#pragma once

#include "tilewright/place.h"

#include "mlir/IR/Location.h"

namespace tilewright {

/// The innermost file, line and columns of a location: inside of a macro, the macro's line. Unknown
/// if it has none.
Place placeOf(mlir::Location location);

/// What the kernel's author called the value that an op of this location makes; empty if nothing is known.
llvm::StringRef nameOf(mlir::Location location);
/// The location of a value that is called so.
mlir::Location named(llvm::StringRef name, mlir::Location location);

/// "in the macro 'load_tile', called here", innermost first, for a location inside of macros.
std::vector<Note> callSitesOf(mlir::Location location);

} // namespace tilewright
