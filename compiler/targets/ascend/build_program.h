// SPDX-License-Identifier: Apache-2.0
/// A kernel of instructions as the analyses see it.
#pragma once

#include "compiler/ir/npu_ops.h"
#include "compiler/targets/ascend/analysis/program.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

struct ModelOfKernel {
  model::Program program;
  bool hasCube = false, hasVector = false;
  /// The user's own flags between cores, or meetings of each kind of core in its own text.
  bool hasOwnCrossFlags = false;
  /// Such a flag whose number isn't known.
  mlir::Operation* unknownCrossFlag = nullptr;
  /// What ends the proof: a `break`, and the first flag of the kernel's own whose number isn't known. What
  /// such a flag orders isn't known either. Null if there is none.
  mlir::Operation* exit = nullptr;
  mlir::Operation* unknownEvent = nullptr;
  std::map<unsigned, mlir::Value> values; ///< that never change, by their numbers in `program`
};

/// The operation that a node stands for.
mlir::Operation* operationOf(const model::Node* node);
/// What the analyses call a kind of core.
model::Agent modelAgent(Agent agent);

/// What is told of a kernel that has flags of its own between cores.
enum class OwnCrossFlags : uint8_t {
  /// No such flag, and of global memory no tensor that both kinds of core touch.
  LeftOut,
  /// No such flag, but that what a core has read of such a tensor is over when it sets one; the tensor is one of each
  /// kind of core, for what is ordered within a core.
  WithinCores,
  /// Nothing of global memory either.
  WithoutGlobal,
  /// All; flags stand in each core's own text, so only `interleave` can tell what they order.
  Shown,
};

/// Ops must be instructions, waits, loops and branches. Addresses on chip are taken from the
/// allocs; an alloc without one counts as a memory of its own.
std::unique_ptr<ModelOfKernel> buildProgram(mlir::func::FuncOp kernel,
                                            OwnCrossFlags own = OwnCrossFlags::LeftOut);

} // namespace tilewright::ascend
