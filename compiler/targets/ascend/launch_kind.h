// SPDX-License-Identifier: Apache-2.0
/// Which cores a kernel runs on, and how its blocks are numbered.
#pragma once

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/structure_ops.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

struct LaunchKind {
  bool hasCube = false;
  bool hasVector = false;
  /// The kernel asks which vector core it runs on.
  bool usesVectorId = false;
  /// It does, or what both vector cores of a block do shows: they add to global memory.
  bool hasTwoVectors = false;
  /// Cores wait for each other: only mixed kernels may.
  bool hasCrossFlags = false;

  bool isMixed() const {
    return hasCube && hasVector;
  }
  /// Vector cores that run a block.
  int vectorCores() const {
    return !hasVector ? 0 : hasTwoVectors ? 2 : 1;
  }
  /// What KERNEL_TASK_TYPE_DEFAULT takes.
  const char* taskType() const;
  /// Cores that the launch asks for, per block of the kernel.
  int launchedPerBlock() const {
    return hasCube ? 1 : vectorCores();
  }
};

/// Whether the language gives a block two vector cores: a kernel for an NPU whose launch (null: not in one) says no `threads`.
bool mayHaveTwoVectors(tile::LaunchOp launch);

/// Of a kernel whose work is in scopes.
LaunchKind launchKindOf(mlir::func::FuncOp kernel);

/// Whether a scope tells other cores something or waits for them: then its kind of core is used, though it
/// may have no instruction.
bool speaksToOthers(ScopeOp scope);

/// Whether a scope stores elements, prints or does anything else that shows and that is no instruction of
/// either kind of core.
bool hasScalarWork(ScopeOp scope);

} // namespace tilewright::ascend
