// SPDX-License-Identifier: Apache-2.0
/// Stores that go past the caches: a store to a line that is in no cache makes the CPU read that line first, a
/// third of all traffic of a kernel that reads and writes as much.
///
/// LowerCopies and LowerParallel mark stores of which whole lines come from a nest, in a version of the nest for
/// large tensors whose lines it meets evenly:
///
///   %streams = ...   // the first element begins a line, the tensor is large
///   scf.if %streams { ... tile.store %v, %Y[..] {cpu.streamed} ... } else { ... tile.store %v, %Y[..] ... }
///
/// LowerBuffers turns the mark into an annotation of llvm.store (`kStreamTag`), which LLVM's vectoriser hands on.
/// What became a vector gets `!nontemporal` last (emit_object.cpp): the vectoriser leaves loops alone whose stores
/// have it. MakeEntryPoints ends the function that runs blocks with a fence.
#pragma once

#include "compiler/ir/memory_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace llvm {
class Module;
}

namespace tilewright::cpu {

struct Machine;

/// On tile.store: may go past the caches.
inline constexpr llvm::StringLiteral kStreamAttr = "cpu.streamed";
/// The same on llvm.store, as a tag of memory model relaxation: prefix and suffix.
inline constexpr llvm::StringLiteral kStreamTag[] = {"tilewright", "streamed"};

/// The tensors of a kernel to which stores may go past the caches: those that it only writes, and large ones if the
/// size is known. None in kernels whose blocks or threads wait for each other's stores.
class StreamTargets {
public:
  StreamTargets(mlir::func::FuncOp kernel, const Machine& machine);

  bool contains(mlir::Value buffer) const {
    return buffers.contains(buffer);
  }

  /// Whether rows along the last dim fill whole lines, when they are so many elements long and begin with one.
  static bool fillsLines(mlir::Value buffer, int64_t elements);

  /// An i1: the element at `start` begins a line and the tensor is large.
  static mlir::Value isWorthIt(mlir::ImplicitLocOpBuilder& builder, mlir::Value buffer,
                               mlir::ValueRange start);

private:
  llvm::DenseSet<mlir::Value> buffers;
};

/// Gives `!nontemporal` to the vectors that are stored by marked stores, whose lines begin evenly.
void streamMarkedStores(llvm::Module& module);

} // namespace tilewright::cpu
