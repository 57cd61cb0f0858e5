// SPDX-License-Identifier: Apache-2.0
/// What SplitThreads is made of: where a kernel's code must be cut, and the memory that holds what
/// each thread has for itself from one segment to the next.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/thread_groups.h"
#include "compiler/ir/thread_ops.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::cpu {

/// Whether threads of a block may do different things.
bool tellsThreadsApart(tile::LaunchOp launch);

/// Which ops are cuts: collective ops, the loops and branches that hold one, and the jumps of such
/// loops.
class ThreadCuts {
public:
  explicit ThreadCuts(tile::LaunchOp launch);
  bool isCut(mlir::Operation* op) const {
    return kinds.contains(op);
  }
  /// Whether a cut concerns all threads of the block, not only those of a warp.
  bool isBlockWide(mlir::Operation* op) const {
    return (kinds.lookup(op) & block) != 0;
  }
  /// Whether threads that take a side of a branch may come to none of its cuts. One that leaves a loop counts as come
  /// to: its threads can't leave it apart.
  bool mayPassBy(mlir::scf::IfOp branch) const;

private:
  static constexpr unsigned block = 1, warp = 2;
  static unsigned ownKind(mlir::Operation* op);
  unsigned visit(mlir::Operation* op);
  /// Whether who comes to a block surely comes to a cut in it.
  bool isComeTo(mlir::Block& body) const;

  llvm::DenseMap<mlir::Operation*, unsigned> kinds;
};

/// Arrays with one element (or one buffer) per thread.
class ThreadSlots {
public:
  ThreadSlots(mlir::ImplicitLocOpBuilder& builder, llvm::ArrayRef<int64_t> threadExtents);

  /// A new array of scalars of the type, for all threads.
  mlir::Value allocate(mlir::Type scalar);
  mlir::Value read(mlir::Value array, mlir::Type scalar, mlir::Value thread);
  void write(mlir::Value array, mlir::Value value, mlir::Value thread);

  /// The array that holds a value of the old code from segment to segment.
  void make(mlir::Value old) {
    arrays[old] = allocate(old.getType());
  }
  bool has(mlir::Value old) const {
    return arrays.contains(old);
  }
  mlir::Value arrayOf(mlir::Value old) const {
    return arrays.lookup(old);
  }

  /// An allocation or view of a thread's buffer, with the threads as one more dim in front.
  mlir::Value widen(mlir::Operation* op, const mlir::IRMapping& mapping);
  /// In code that was cloned for a thread: its accesses to widened buffers, and its ids.
  void adapt(mlir::Operation* op, mlir::Value thread);
  mlir::Value threadId(mlir::Value thread, int64_t dim);

  /// The thread whose value a shuffle gives to `thread`.
  mlir::Value partner(tile::ShuffleOp op, mlir::Value thread, mlir::Value lane);
  /// A vote is counted in a variable: its start, and the say of one thread.
  mlir::Value startVote(tile::VoteOp op);
  void addVote(tile::VoteOp op, mlir::Value total, mlir::Value condition, mlir::Value thread);

private:
  mlir::Value widenView(tile::ViewOp op, mlir::Value source);
  void adaptOne(mlir::Operation* op, mlir::Value thread);
  void stageOperands(mlir::Operation* op, mlir::Value thread);
  void printOnce(tile::PrintOp op, mlir::Value thread);
  mlir::Value constant(int64_t value);
  mlir::Value constant(int64_t value, mlir::Type type);

  mlir::ImplicitLocOpBuilder& builder;
  llvm::SmallVector<int64_t> threadExtents;
  int64_t threads = 1;
  llvm::DenseMap<mlir::Value, mlir::Value> arrays;
  llvm::DenseSet<mlir::Value> widened;
};

} // namespace tilewright::cpu
