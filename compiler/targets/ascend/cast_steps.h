// SPDX-License-Identifier: Apache-2.0
/// Conversions of the vector unit.
#pragma once

#include "compiler/ir/npu_ops.h"

#include <optional>

namespace tilewright::ascend {

struct CastStep {
  mlir::Type to;
  npu::Rounding rounding;
};

/// The casts that turn elements of `from` into `to` with the meaning of tile.copy: to the nearest
/// float, to integers towards 0. Empty for equal types; nothing if the chip has no way.
std::optional<llvm::SmallVector<CastStep>> castSteps(mlir::Type from, mlir::Type to);

/// Whether a conversion of integers keeps the low bits of each, where the vector unit's cast would give the
/// largest or the smallest number for what does not fit.
bool keepsLowBits(mlir::Type from, mlir::Type to);

} // namespace tilewright::ascend
