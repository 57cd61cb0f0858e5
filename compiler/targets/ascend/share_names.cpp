// SPDX-License-Identifier: Apache-2.0
/// ShareNames: where a kernel gives a name to what the grid, or the compiler for itself, has computed before, both are
/// one value in the text: it has the name.
///
///   %count = arith.ceildivsi %n, %c64 : index                            // of the grid
///   tile.launch (%block) in (%count) npu {
///     %nb = arith.ceildivsi %n, %c64 : index loc("nb")
/// becomes
///   %count = arith.ceildivsi %n, %c64 : index loc("nb")
///
/// and the CSE that it stands before takes the second one away.
#include "compiler/ir/place_of.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// Those before `op` in its block, and before what stands around it in theirs.
template <class Visit> void forEachBefore(Operation* op, Visit visit) {
  for (Operation* place = op; !isa<func::FuncOp>(place); place = place->getParentOp())
    for (Operation* before = place->getPrevNode(); before; before = before->getPrevNode())
      visit(before);
}

struct ShareNames : KernelPass<ShareNames> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShareNames)
  static constexpr llvm::StringLiteral kArgument = "ascend-share-names";
  static constexpr llvm::StringLiteral kDescription = "a value that is named later has the name";

  void runOnOperation() override {
    getOperation().walk([](Operation* op) {
      const StringRef name = nameOf(op->getLoc());
      if (name.empty() || op->getNumResults() != 1 || op->getNumRegions() != 0 ||
          op->hasTrait<OpTrait::ConstantLike>() || !isPure(op))
        return;
      forEachBefore(op, [&](Operation* before) {
        if (before->getName() == op->getName() && nameOf(before->getLoc()).empty() &&
            isSameNumber(before->getResult(0), op->getResult(0)))
          before->setLoc(named(name, before->getLoc()));
      });
    });
  }
};

} // namespace

std::unique_ptr<Pass> createShareNames() {
  return std::make_unique<ShareNames>();
}

} // namespace tilewright::ascend
