// SPDX-License-Identifier: Apache-2.0
/// FoldClears: a tile that is cleared before a gemm adds to it is cleared by the gemm itself.
///
///   tile.fill %c with %zero
///   tile.for %k = %c0 to %n step %c1 { tile.gemm %a, %b into %c }
/// becomes
///   tile.for %k = %c0 to %n step %c1 {
///     %first = arith.cmpi eq, %k, %c0
///     tile.gemm %a, %b into %c clear(%first)
///   }
///
/// L0C has no other way to be cleared: nothing but the cube unit writes it. It stands before the
/// placing of buffers: a fill would make it a tile of the vector cores.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// The uses of a buffer in text order.
SmallVector<Operation*> usersInOrder(func::FuncOp kernel, Value buffer) {
  SmallVector<Operation*> users;
  kernel.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (llvm::is_contained(op->getOperands(), buffer))
      users.push_back(op);
  });
  return users;
}

/// Whether `op` runs whenever `block` does: only loops lie between.
bool isOnlyInLoops(Operation* op, Block* block, SmallVector<tile::ForOp>& loops) {
  for (; op->getBlock() != block; op = op->getParentOp()) {
    auto loop = dyn_cast_or_null<tile::ForOp>(op->getParentOp());
    if (!loop)
      return false;
    loops.push_back(loop);
  }
  return true;
}

struct FoldClears : KernelPass<FoldClears> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldClears)
  static constexpr llvm::StringLiteral kArgument = "ascend-fold-clears";
  static constexpr llvm::StringLiteral kDescription = "let gemms clear the tiles that they add to";

  void runOnOperation() override {
    SmallVector<tile::FillOp> fills;
    getOperation().walk([&](tile::FillOp fill) {
      if (isZero(fill.getValue()) && fill.getTargetRegion().isWhole())
        fills.push_back(fill);
    });
    for (tile::FillOp fill : fills)
      fold(fill);
  }

  void fold(tile::FillOp fill) {
    const SmallVector<Operation*> users = usersInOrder(getOperation(), fill.getTarget());
    auto next = llvm::find(users, fill.getOperation()) + 1;
    auto gemm = next == users.end() ? nullptr : dyn_cast<tile::GemmOp>(*next);
    SmallVector<tile::ForOp> loops;
    if (!gemm || gemm.getC() != fill.getTarget() || !gemm.getCRegion().isWhole() ||
        gemm.getA() == fill.getTarget() || gemm.getB() == fill.getTarget() ||
        !isOnlyInLoops(gemm, fill->getBlock(), loops))
      return;
    if (!gemm.getClearAccum())
      clearFirst(gemm, loops);
    fill.erase();
  }

  static void clearFirst(tile::GemmOp gemm, ArrayRef<tile::ForOp> loops) {
    OpBuilder builder(gemm);
    Value isFirst;
    for (tile::ForOp loop : loops) {
      const Value here = arith::CmpIOp::create(builder, gemm.getLoc(), arith::CmpIPredicate::eq,
                                               loop.getInductionVar(), loop.getLower());
      isFirst = isFirst ? arith::AndIOp::create(builder, gemm.getLoc(), isFirst, here) : here;
    }
    if (!isFirst) {
      gemm.setClearAccum(true);
      return;
    }
    if (Value own = gemm.getClear())
      isFirst = arith::OrIOp::create(builder, gemm.getLoc(), own, isFirst);
    gemm.getClearMutable().assign(isFirst);
  }
};

} // namespace

std::unique_ptr<Pass> createFoldClears() {
  return std::make_unique<FoldClears>();
}

} // namespace tilewright::ascend
