// SPDX-License-Identifier: Apache-2.0
/// Whether parts of one buffer, under its own name or as views of it, have elements in common.
#pragma once

#include "compiler/ir/region.h"

#include <optional>

namespace tilewright::tile {

/// Same: the same elements at the same places.
enum class Overlap { None, Same, Possible, Certain };

/// Whether equal indices are the same element of two buffers of one storage.
bool haveOneLayout(mlir::Value first, mlir::Value second);

/// Of parts of one storage, which lies dense unless both are parts of one strided buffer.
Overlap compareParts(const BufferRegion& first, const BufferRegion& second);

} // namespace tilewright::tile
