// SPDX-License-Identifier: Apache-2.0
/// GuardOnce: what MarkOnce has marked, one vector core does.
///
///   tile.atomic_tile add %c_ub into %Z {ascend.once}     // the twin of a gemm's tile in UB
/// becomes, where both vector cores of a block run because the kernel asks for vid or adds tiles of each,
///   %first = arith.cmpi eq, (ascend.vector_id), 0
///   scf.if %first { tile.atomic_tile add %c_ub into %Z }
///
/// Else nothing needs the second one: the launch gets `ascend.one_vector`, and no branch. What stands where the
/// kernel itself tells its vector cores apart (a branch on vid, a part that vid says) stays as it is.
/// It stands behind PlaceBuffers: what stays in L0C or L1 the cube core does once, anyway.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/vector_steps.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::MemorySpace;

bool isOnce(Operation* op) {
  for (; op && !isa<tile::LaunchOp>(op); op = op->getParentOp())
    if (op->hasAttr(kOnceAttr))
      return true;
  return false;
}

/// Whether a vector core does it, and to memory that it shares with the other one.
bool isOfVectors(Operation* op) {
  if (auto copy = dyn_cast<tile::CopyOp>(op))
    return copy.getSource().getType().getSpace() == MemorySpace::UB;
  if (auto add = dyn_cast<tile::AtomicTileOp>(op))
    return add.getSource().getType().getSpace() == MemorySpace::UB;
  return true;
}

bool writesGlobal(Operation* op) {
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getBuffer().getType().isGlobal();
  auto atomic = dyn_cast<tile::AtomicOp>(op);
  return atomic && atomic.getBuffer().getType().isGlobal();
}

struct GuardOnce : KernelPass<GuardOnce> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GuardOnce)
  static constexpr llvm::StringLiteral kArgument = "ascend-guard-once";
  static constexpr llvm::StringLiteral kDescription =
      "let one vector core do what a block of two does once";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<AscendDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    for (tile::LaunchOp launch : getOperation().getOps<tile::LaunchOp>())
      if (mayHaveTwoVectors(launch))
        guard(launch);
  }

  static void guard(tile::LaunchOp launch) {
    bool asksWhich = false, bothAdd = false;
    SmallVector<Operation*> marked;
    launch.walk([&](Operation* op) {
      asksWhich |= isa<VectorIdOp>(op) && !op->use_empty();
      bothAdd |= (isa<tile::AtomicTileOp>(op) ? isOfVectors(op)
                                              : isa<tile::AtomicOp>(op) && writesGlobal(op)) &&
                 !isOnce(op);
      if (op->removeAttr(kOnceAttr) && isOfVectors(op))
        marked.push_back(op);
    });
    if (!asksWhich && !bothAdd) {
      launch->setAttr(kOneVectorAttr, UnitAttr::get(launch.getContext()));
      return;
    }
    if (!asksWhich)
      launch->setAttr(kCoresAlikeAttr, UnitAttr::get(launch.getContext()));
    for (Operation* op : marked)
      if (!npu::asksVid(op))
        guard(op);
  }

  static void guard(Operation* op) {
    if (auto copy = dyn_cast<tile::CopyOp>(op); copy && !copy.getTarget().getType().isGlobal()) {
      op->setAttr(kOnceAttr,
                  UnitAttr::get(op->getContext())); // its half, which AddWorkspaces makes
      return;
    }
    auto nest = dyn_cast<tile::ParallelOp>(op);
    if (!nest)
      return onFirstVector(op);
    // Tiles that it writes both cores need.
    SmallVector<Operation*> stores;
    bool writesTiles = false;
    nest.walk([&](Operation* inner) {
      if (writesGlobal(inner))
        stores.push_back(inner);
      else
        writesTiles |= isa<tile::StoreOp, tile::AtomicOp>(inner);
    });
    if (!writesTiles && !stores.empty())
      return onFirstVector(op);
    for (Operation* store : stores)
      if (store->use_empty())
        onFirstVector(store);
  }
};

} // namespace

std::unique_ptr<Pass> createGuardOnce() {
  return std::make_unique<GuardOnce>();
}

} // namespace tilewright::ascend
