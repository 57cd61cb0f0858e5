// SPDX-License-Identifier: Apache-2.0
/// CubeVid: in a scope of the cube core vid is 0.
///
///   %vid = ascend.vector_id
///   %isFirst = arith.cmpi eq, %vid, %c0
///   ascend.scope cube { scf.if %isFirst { ... } }
/// becomes
///   %other = arith.cmpi eq, %c0, %c0
///   ascend.scope cube { scf.if %other { ... } }
///
/// and the canonicalizer that it stands before decides the branch. A store of vid's part is told, as nobody stores the
/// other part. It stands behind all that takes work of others out of a scope, and before flags are found.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/vector_steps.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// `value`, at the builder's place, as it is where vid is 0: itself, if arithmetic alone doesn't lead to it from there.
Value valueOfCube(Value value, OpBuilder& builder, IRMapping& made) {
  Operation* op = value.getDefiningOp();
  if (!op || made.contains(value))
    return made.lookupOrDefault(value);
  if (isa<VectorIdOp>(op)) {
    made.map(value, arith::ConstantIndexOp::create(builder, value.getLoc(), 0).getResult());
    return made.lookup(value);
  }
  if (op->getNumRegions() != 0 || op->getNumResults() != 1 || !isPure(op))
    return value;
  bool isOther = false;
  for (Value operand : op->getOperands())
    isOther |= valueOfCube(operand, builder, made) != operand;
  if (!isOther)
    made.map(value, value);
  else
    builder.clone(*op, made);
  return made.lookup(value);
}

struct CubeVid : KernelPass<CubeVid> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CubeVid)
  static constexpr llvm::StringLiteral kArgument = "ascend-cube-vid";
  static constexpr llvm::StringLiteral kDescription = "vid is 0 in scopes of the cube core";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([](ScopeOp scope) {
      if (scope.getAgent() == Agent::Cube)
        setVid(scope);
    });
  }

  static void setVid(ScopeOp scope) {
    scope.walk([](npu::StoreL0cOp store) { warnOfPartOfVid(store); });
    OpBuilder builder(scope);
    IRMapping made;
    bool asksVid = false;
    scope.walk([&](Operation* op) {
      for (OpOperand& operand : op->getOpOperands()) {
        Value taken = operand.get();
        const bool isFromOutside = !scope->isAncestor(taken.getParentRegion()->getParentOp());
        if (!isFromOutside && !taken.getDefiningOp<VectorIdOp>())
          continue;
        Value other = valueOfCube(taken, builder, made);
        asksVid |= other != taken;
        operand.set(other);
      }
    });
    // As many vector cores work for a block as before.
    if (auto launch = scope->getParentOfType<tile::LaunchOp>(); launch && asksVid)
      launch->setAttr(kAsksVidAttr, UnitAttr::get(launch.getContext()));
  }
};

} // namespace

std::unique_ptr<Pass> createCubeVid() {
  return std::make_unique<CubeVid>();
}

} // namespace tilewright::ascend
