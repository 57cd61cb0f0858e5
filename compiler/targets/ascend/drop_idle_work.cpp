// SPDX-License-Identifier: Apache-2.0
/// DropIdleWork: copies that provably move nothing, in no block and no iteration, are left out, and so are
/// branches that are never taken and loops that run no turn.
///
///   %c2 = arith.constant 2 : index                    // A has 2 rows
///   tile.launch (%by) in (%c3) npu {
///     %row = arith.addi %by, %c2 : index
///     %rows = max(min(%c2 - %row, 6), 0)              // 0 in every block
///     %cut = arith.cmpi slt, %rows, %c6 : index
///     scf.if %cut { npu.duplicate %t[%c0], %zero ... }
///     npu.load_ub %A[%row, %c0] [%rows, 16] to %t[%c0] ...
///   }
/// becomes
///   tile.launch (%by) in (%c3) npu {
///     scf.if %true { npu.duplicate %t[%c0], %zero ... }
///   }
///
/// What pads a tile stays. It stands before the flags, which would order what never happens, and right before
/// a canonicalizer, which takes the branch away.
#include "compiler/ir/index_ranges.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <llvm/ADT/TypeSwitch.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

class Dropper {
public:
  void visit(Region& region) {
    ranges.enter(region);
    for (Block& block : region)
      for (Operation& op : llvm::make_early_inc_range(block)) {
        if (isIdle(&op)) {
          op.erase();
          continue;
        }
        if (auto branch = dyn_cast<scf::IfOp>(op))
          decide(branch);
        for (Region& nested : op.getRegions())
          visit(nested);
      }
    ranges.leave();
  }

private:
  bool isIdle(Operation* op) {
    return llvm::TypeSwitch<Operation*, bool>(op)
        .Case<npu::LoadUbOp, npu::StoreUbOp, npu::LoadL1Op, npu::StoreL0cOp>([&](auto transfer) {
          return llvm::any_of(transfer.getGlobalRegion().extents,
                              [&](OpFoldResult extent) { return isNothing(extent); });
        })
        .Case([&](tile::ForOp loop) {
          return ranges.rangeOf(loop.getUpper()).high <= ranges.rangeOf(loop.getLower()).low;
        })
        .Default(false);
  }

  bool isNothing(OpFoldResult extent) {
    const std::optional<int64_t> fixed = getConstantIntValue(extent);
    return (fixed ? *fixed : ranges.rangeOf(cast<Value>(extent)).high) <= 0;
  }

  void decide(scf::IfOp branch) {
    const std::optional<bool> taken = ranges.truthOf(branch.getCondition());
    if (!taken)
      return;
    OpBuilder builder(branch);
    branch.getConditionMutable().assign(
        arith::ConstantOp::create(builder, branch.getLoc(), builder.getBoolAttr(*taken)));
  }

  IndexRanges ranges;
};

struct DropIdleWork : KernelPass<DropIdleWork> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropIdleWork)
  static constexpr llvm::StringLiteral kArgument = "ascend-drop-idle-work";
  static constexpr llvm::StringLiteral kDescription =
      "leave out copies that move nothing and branches that are never taken";

  void runOnOperation() override {
    Dropper().visit(getOperation().getBody());
  }
};

} // namespace

std::unique_ptr<Pass> createDropIdleWork() {
  return std::make_unique<DropIdleWork>();
}

} // namespace tilewright::ascend
