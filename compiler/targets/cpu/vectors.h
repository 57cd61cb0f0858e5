// SPDX-License-Identifier: Apache-2.0
/// Vectors of our own in on-chip buffers, where LLVM's vectoriser would not find them.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright::cpu {

/// Where an element of a dense buffer is, as a pointer. Before LowerBuffers; casts the buffer. A place that may lie
/// outside of the buffer needs `wraps` without `inbounds`.
mlir::Value addressOf(mlir::ImplicitLocOpBuilder& builder, mlir::Value buffer,
                      mlir::ValueRange indices,
                      mlir::LLVM::GEPNoWrapFlags wraps = mlir::LLVM::GEPNoWrapFlags::inbounds);

/// `lanes` elements along the last dim, from `indices` on, in the buffer's scalar type.
mlir::Value loadVector(mlir::ImplicitLocOpBuilder& builder, mlir::Value buffer,
                       mlir::ValueRange indices, int64_t lanes);
/// `isStreamed`: past the caches, to where a line begins (stream_stores.h).
void storeVector(mlir::ImplicitLocOpBuilder& builder, mlir::Value vector, mlir::Value buffer,
                 mlir::ValueRange indices, bool isStreamed = false);

/// The lanes of two vectors in turns: the first halves of both, and the second.
std::pair<mlir::Value, mlir::Value> interleaved(mlir::ImplicitLocOpBuilder& builder, mlir::Value a,
                                                mlir::Value b);

/// Whether it is a flat vector of a power of two of elements, and at least `lanes`.
bool isOfWholeVectors(mlir::Type type, int64_t lanes);
/// What `make` gives of each run of `lanes` elements of some such vectors, side by side again.
mlir::Value vectorByVector(mlir::ImplicitLocOpBuilder& builder, mlir::ValueRange wide,
                           int64_t lanes,
                           llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value>)> make);

/// The transpose of a square block, given and returned row by row: n vectors of n lanes, n a power
/// of two.
llvm::SmallVector<mlir::Value> transposed(mlir::ImplicitLocOpBuilder& builder,
                                          llvm::SmallVector<mlir::Value> rows);

} // namespace tilewright::cpu
