// SPDX-License-Identifier: Apache-2.0
/// PlainDivisions: `a // b` and `a % b` of what is known not to be negative are C's `/` and `%`, which cut
/// towards zero: there is nothing to correct.
///
///   %row = arith.floordivsi %block, %c3 : index       // from 0 to 11
///   %rest = arith.remsi %block, %c3 : index
///   %isNegative = arith.cmpi slt, %rest, %c0 : index
///   %corrected = arith.addi %rest, %c3 : index
///   %column = arith.select %isNegative, %corrected, %rest : index
/// becomes
///   %row = arith.divsi %block, %c3 : index
///   %column = arith.remsi %block, %c3 : index
///
/// It stands right before a canonicalizer, which takes the unused parts away.
#include "compiler/ir/index_ranges.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;

class Simplifier {
public:
  void visit(Region& region) {
    ranges.enter(region);
    for (Block& block : region)
      for (Operation& op : llvm::make_early_inc_range(block)) {
        if (auto choice = dyn_cast<arith::SelectOp>(op))
          simplify(choice);
        else if (auto quotient = dyn_cast<arith::FloorDivSIOp>(op))
          simplify(quotient);
        else // what is simplified is gone
          for (Region& nested : op.getRegions())
            visit(nested);
      }
    ranges.leave();
  }

private:
  void simplify(arith::SelectOp choice) {
    arith::RemSIOp rest = flooredRemainder(choice);
    if (!rest || ranges.rangeOf(rest.getLhs()).low < 0 || ranges.rangeOf(rest.getRhs()).low < 0)
      return;
    // At the place, and under the name, of the choice.
    OpBuilder builder(choice);
    auto made = arith::RemSIOp::create(builder, choice.getLoc(), rest.getLhs(), rest.getRhs());
    choice.replaceAllUsesWith(made.getResult());
    choice.erase();
  }

  void simplify(arith::FloorDivSIOp quotient) {
    if (ranges.rangeOf(quotient.getLhs()).low < 0 || ranges.rangeOf(quotient.getRhs()).low < 0)
      return;
    OpBuilder builder(quotient);
    auto made =
        arith::DivSIOp::create(builder, quotient.getLoc(), quotient.getLhs(), quotient.getRhs());
    quotient.replaceAllUsesWith(made.getResult());
    quotient.erase();
  }

  IndexRanges ranges;
};

struct PlainDivisions : KernelPass<PlainDivisions> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlainDivisions)
  static constexpr llvm::StringLiteral kArgument = "ascend-plain-divisions";
  static constexpr llvm::StringLiteral kDescription =
      "divisions of what is not negative need no correction";

  void runOnOperation() override {
    Simplifier().visit(getOperation().getBody());
  }
};

} // namespace

std::unique_ptr<Pass> createPlainDivisions() {
  return std::make_unique<PlainDivisions>();
}

} // namespace tilewright::ascend
