// SPDX-License-Identifier: Apache-2.0
/// Where functions of T.tile read and write on the CPU.
#pragma once

#include "compiler/passes/analysis/operand_overlap.h"

namespace tilewright::cpu {

/// Of a tile on chip, which lies row-major without gaps; nothing for tensors.
std::optional<llvm::SmallVector<int64_t>> denseStrides(tile::BufferType type);

} // namespace tilewright::cpu
