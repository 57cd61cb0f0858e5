// SPDX-License-Identifier: Apache-2.0
/// What may differ from thread to thread of a block.
#pragma once

#include "compiler/ir/root_buffer.h"
#include "compiler/ir/structure_ops.h"

#include "llvm/ADT/DenseSet.h"

namespace tilewright {

/// A value differs if a thread id, a shuffle or something of the thread's own goes into it; an op of
/// control flow if the threads may take different ways through it. A load from memory of the block
/// gives all threads the same where its indices are the same.
class ThreadDivergence {
public:
  /// As among threads that go the same way through each of `together`.
  explicit ThreadDivergence(tile::LaunchOp launch, llvm::ArrayRef<mlir::Operation*> together = {});

  bool differs(mlir::Value value) const {
    return values.contains(value);
  }
  bool differs(mlir::Operation* structure) const {
    return structures.contains(structure);
  }

private:
  void visit(mlir::Block& block, bool isApart);
  void visitOp(mlir::Operation& op, bool isApart);
  void visitStructure(mlir::Operation& op, bool isApart);
  bool anyDiffers(mlir::ValueRange given) const;
  void mark(mlir::Value value) {
    changed |= values.insert(value).second;
  }

  llvm::DenseSet<mlir::Operation*> together;
  llvm::DenseSet<mlir::Value> values; ///< scalars, and buffers of a thread
  llvm::DenseSet<mlir::Operation*> structures;
  bool changed = false;
};

} // namespace tilewright
