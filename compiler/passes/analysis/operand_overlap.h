// SPDX-License-Identifier: Apache-2.0
/// Element-wise work that reads, of the tile that it writes, other elements than those at the same place.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"

#include <optional>
#include <string>

namespace tilewright {

/// The strides of a buffer's dims, in elements; nothing where a target doesn't know how it lies.
using StridesOf = llvm::function_ref<std::optional<llvm::SmallVector<int64_t>>(tile::BufferType)>;

/// Of what a nest writes and reads of one storage. Same: each iteration reads only what it writes itself.
enum class OperandOverlap { None, Same, InPart, Unknown };

OperandOverlap compareOperands(tile::StoreOp store, tile::LoadOp load, tile::ParallelOp nest,
                               StridesOf stridesOf);

/// Of a nest in which one iteration surely reads what another one writes: "writes 64 bytes of 't' that begin 32 bytes
/// behind the 64 that it reads of it; ...". Offsets may be values, as long as their distance is known.
std::optional<std::string> describeOverlap(tile::ParallelOp nest, StridesOf stridesOf);

} // namespace tilewright
