// SPDX-License-Identifier: Apache-2.0
/// WideEnds: the end of a loop that is a number of 32 bits less a small one is computed in 64, where it can't wrap
/// round.
///
///   %less = arith.subi %n, %c1 : i32
///   %end = arith.index_cast %less : i32 to index
///   tile.for %k = %c0 to %end step %c1 { ... }
/// becomes
///   %number = arith.index_cast %n : i32 to index
///   %end = arith.subi %number, %c1 : index
///   tile.for %k = %c0 to %end step %c1 { ... }
///
/// Of the least `n` the loop has no turn then, in place of 2^31 - 1. The flags have been found as if it were so
/// (IndexTerms::takenFromEnd): this pass makes it true. It stands behind them, so that they see the kernel's own
/// numbers, and before the cores are split.
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/index_terms.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

struct WideEnds : KernelPass<WideEnds> {
  static constexpr llvm::StringLiteral kArgument = "ascend-wide-ends";
  static constexpr llvm::StringLiteral kDescription =
      "ends of loops that might wrap round are computed in 64 bits";

  void runOnOperation() override {
    // Of all loops first: one more end that another loop has would be another use of the number.
    std::vector<std::pair<tile::ForOp, IndexTerms::EndWithout>> found;
    IndexTerms indices;
    getOperation().walk([&](tile::ForOp loop) {
      if (const auto taken = indices.takenFromEnd(loop.getLower(), loop.getUpper()))
        found.emplace_back(loop, *taken);
    });
    for (auto& [loop, taken] : found) {
      Operation* old = loop.getUpper().getDefiningOp();
      ImplicitLocOpBuilder builder(old->getLoc(), loop);
      Value number = arith::IndexCastOp::create(builder, builder.getIndexType(), taken.number);
      Value less = arith::ConstantIndexOp::create(builder, taken.less);
      loop.getUpperMutable().assign(arith::SubIOp::create(builder, number, less));
      while (old && isOpTriviallyDead(old)) {
        Operation* before = old->getOperand(0).getDefiningOp();
        old->erase();
        old = before;
      }
    }
  }
};

} // namespace

std::unique_ptr<Pass> createWideEnds() {
  return std::make_unique<WideEnds>();
}

} // namespace tilewright::ascend
