// SPDX-License-Identifier: Apache-2.0
/// What each vector core of a block does. Tiles of gemms that vector instructions use each has a copy of in UB.
#pragma once

#include <mlir/IR/Operation.h>

#include <optional>

namespace tilewright::ascend {

/// Whether no branch that asks for vid keeps a vector core from an operation.
bool mayRunOn(int64_t core, mlir::Operation* op);

/// The vector core of a block that runs an operation whenever the block comes to a branch around it, if one alone does.
std::optional<int64_t> onlyCoreIn(mlir::Operation* branch, mlir::Operation* op);

/// Whether a number follows from vid by arithmetic alone, or not at all: it can be computed again for another vid.
bool isMadeOfVid(mlir::Value number);

/// Whether vector cores do this copy or atomic add of a gemm's tile, because vid, or what only they know, says
/// whether or where. Others are the cube core's, or follow the tile.
bool mustBeOfVectors(mlir::Operation* op);

/// Whether only a part that vid says keeps such an operation from the cube core, which can do it for both.
bool canBothBeMoved(mlir::Operation* op);
/// Puts one operation for each vid in its place.
void moveBoth(mlir::Operation* op);

/// What a vector core writes to its copy because vid says so, the other one's copy lacks: an error where that core
/// may read it, or the cube core (`isOperand`), to which the first vector core hands its own.
llvm::LogicalResult checkCoreParts(mlir::Value tile, bool isOperand);

} // namespace tilewright::ascend
