// SPDX-License-Identifier: Apache-2.0
/// The op classes of tensor_ops.td.
#pragma once

#include "compiler/ir/region.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright::tile {

/// What all ops of tensor_ops.td have: they are collective, and don't stand in a parallel loop.
template <typename Op> class TileOperation : public mlir::OpTrait::TraitBase<Op, TileOperation> {};

inline bool isTileOperation(mlir::Operation* op) {
  return op->hasTrait<TileOperation>();
}
/// The buffer that a tile operation writes; null if `op` is none.
mlir::Value tileTarget(mlir::Operation* op);
/// Whether each thread does a tile operation by itself: what it writes is the thread's own, or it copies what is its own
/// to where each thread can write elements of its choice, as `T.copy(x, B[tx, :])` of a T.alloc_local does.
bool isOfSingleThread(mlir::Operation* op);

/// The element type that a reduction or scan of `source` elements accumulates in: the target's where that
/// holds more.
mlir::Type accumulationType(mlir::Type source, mlir::Type target);

} // namespace tilewright::tile

#define GET_OP_CLASSES
#include "compiler/ir/tensor_ops.h.inc"
