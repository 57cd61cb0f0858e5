// SPDX-License-Identifier: Apache-2.0
/// Where a tile of gemms is copied to its twin on the vector cores, and which parts of it.
#pragma once

#include "compiler/targets/ascend/twin_flow.h"

#include <optional>

namespace tilewright::ascend {

/// The uses of what a tile and its views hold. `others` are those of the tile that are not gemms into it.
TwinUses twinUsesOf(mlir::func::FuncOp kernel, mlir::Value tile,
                    llvm::ArrayRef<mlir::Operation*> others);

/// The copies that stand where every use of the twin finds what the gemms before it have computed, and that
/// undo nothing of what the vector cores have written: of the whole tile before its uses; where that isn't
/// right, of the part that a gemm writes, behind the gemm or behind loops around it. As few as suffice.
/// Of `clears`, which fill with zeros, those that must clear the tile, too, so that gemms can add to it.
/// Nothing if even so a gemm may add to what vector instructions have written: `conflict` is the first one.
std::optional<TwinPlan> planTwin(mlir::func::FuncOp kernel, const TwinUses& uses,
                                 llvm::ArrayRef<mlir::Operation*> clears, tile::GemmOp& conflict);

} // namespace tilewright::ascend
