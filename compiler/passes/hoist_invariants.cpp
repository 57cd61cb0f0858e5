// SPDX-License-Identifier: Apache-2.0
/// HoistInvariants: what an element-wise nest computes of numbers from outside alone is computed before it, in launches
/// that tell threads apart.
///
///     tile.parallel (%i) in [32] {
///       %warp = arith.divui %tx, %c32 : index
///       %at = arith.addi %warp, %i : index
/// becomes
///     %warp = arith.divui %tx, %c32 : index
///     tile.parallel (%i) in [32] {
///       %at = arith.addi %warp, %i : index
///
/// Which thread runs an iteration isn't known, so what a nest takes must be the same in all threads: of %tx only what
/// the nest's own numbers meet counts. It stands before what checks that.
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright {
namespace {

class HoistInvariants : public KernelPass<HoistInvariants> {
public:
  static constexpr llvm::StringLiteral kArgument = "hoist-invariants";
  static constexpr llvm::StringLiteral kDescription =
      "compute before an element-wise nest what only numbers from outside go into";

  void runOnOperation() override {
    for (tile::LaunchOp launch : getOperation().getOps<tile::LaunchOp>())
      if (tellsThreadsApart(launch))
        launch.walk([](tile::ParallelOp nest) { hoist(nest); });
  }

private:
  static bool tellsThreadsApart(tile::LaunchOp launch) {
    return launch
        .walk([](Operation* op) {
          return isa<tile::ThreadIdOp, tile::ShuffleOp, tile::VoteOp>(op) ? WalkResult::interrupt()
                                                                          : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// A shift may be too far where a branch doesn't ask for it, which the interpreter tells.
  static bool isTotal(Operation* op) {
    if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op) &&
        !getConstantIntValue(op->getOperand(1)))
      return false;
    return isPure(op) && isa<arith::ArithDialect>(op->getDialect());
  }

  static void hoist(tile::ParallelOp nest) {
    const auto isOutside = [&](Value value) {
      return !nest.getBody().isAncestor(value.getParentRegion());
    };
    SmallVector<Operation*> ops;
    nest.walk([&](Operation* op) { ops.push_back(op); }); // operands come first
    for (Operation* op : ops)
      if (isTotal(op) && llvm::all_of(op->getOperands(), isOutside))
        op->moveBefore(nest);
  }
};

} // namespace

std::unique_ptr<Pass> createHoistInvariants() {
  return std::make_unique<HoistInvariants>();
}

} // namespace tilewright
