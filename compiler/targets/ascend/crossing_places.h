// SPDX-License-Identifier: Apache-2.0
/// Where the cube core does its side of a copy between the cores that stands in a branch or loop which not all cores of
/// a block take alike: no flag can order it there.
///
///   scf.if (%vid == 0) { tile.copy %c : L0C to %x : UB }      // the cube core stores before the branch
///   scf.if (%vid == 1) { tile.copy %x : UB to %a : L1 }       // it loads behind the branch: one core stores, for sure
#pragma once

#include "compiler/ir/region.h"
#include "compiler/ir/tensor_ops.h"

namespace tilewright::ascend {

/// Whether a copy leads from one kind of core to the other: from L0C to UB, or from UB to L1.
bool crossesCores(tile::CopyOp copy);

/// The outermost branch or loop around an operation that asks for vid or elements of UB; null if none does.
mlir::Operation* outermostApart(mlir::Operation* op);

/// Whether the cube core may store what a copy takes from L0C before `apart`, though the copy doesn't run on all ways.
bool maySendBefore(mlir::Operation* apart, tile::CopyOp copy);

/// Whether the cube core may load behind `apart` what a copy brings to L1, as one vector core has stored it.
bool mayFetchBehind(mlir::Operation* apart, tile::CopyOp copy);

} // namespace tilewright::ascend
