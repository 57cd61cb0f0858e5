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

/// Those of a copy: also integers to half of their bits, where what doesn't fit becomes the largest or the
/// smallest number (arith.trunci keeps the low bits).
std::optional<llvm::SmallVector<CastStep>> castStepsOfCopy(mlir::Type from, mlir::Type to);

} // namespace tilewright::ascend
