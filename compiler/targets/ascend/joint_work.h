// SPDX-License-Identifier: Apache-2.0
/// What both kinds of core of a block do together, as a kernel is written, and what each does by itself.
#pragma once

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"

#include <array>

namespace tilewright::ascend {

class JointWork {
public:
  explicit JointWork(tile::LaunchOp launch);

  /// Whether a block has work for both kinds at all.
  bool isOfBoth() const {
    return hasBoth;
  }
  /// What one kind of core's numbers say, by the language, and the other kind takes part in, or does. Of what stands in a scope
  /// and leaves it later: the scope.
  llvm::ArrayRef<mlir::Operation*> joint(Agent agent) const {
    return ofBoth[size_t(agent)];
  }
  /// What that kind does with numbers of its own.
  llvm::ArrayRef<mlir::Operation*> own(Agent agent) const {
    return ofOne[size_t(agent)];
  }

private:
  void add(mlir::Operation* op, const npu::Touched& touched);
  void addInScope(mlir::Operation* op, ScopeOp scope, const npu::Touched& touched);
  /// With what is in it.
  static void addWork(llvm::SmallVector<mlir::Operation*>& work, mlir::Operation* op);
  /// Of what stands in no scope.
  bool isJoint(mlir::Operation* op, const npu::Touched& touched, Agent agent);
  /// Whether a gemm's tile may get a twin in UB.
  bool isOfVectorsToo(mlir::Value tile);
  bool usesTileOfBoth(mlir::Operation* op);

  std::array<llvm::SmallVector<mlir::Operation*>, 2> ofBoth, ofOne;
  llvm::DenseMap<mlir::Value, bool> tilesOfBoth;
  bool hasBoth = false;
};

} // namespace tilewright::ascend
