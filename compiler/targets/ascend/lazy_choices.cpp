// SPDX-License-Identifier: Apache-2.0
/// LazyChoices: on the scalar unit a choice reads what it takes, and nothing else; `and` and `or` of conditions read
/// their second one where the first leaves them open.
///
///   %x = tile.load %a[%i]
///   %doubled = arith.muli %x, %c2 : i64
///   %y = arith.select %isThere, %doubled, %none : i64
/// becomes
///   %y = scf.if %isThere -> (i64) {
///     %x = tile.load %a[%i]
///     %doubled = arith.muli %x, %c2 : i64
///     scf.yield %doubled
///   } else {
///     scf.yield %none
///   }
///
/// So it is in the language: what a choice leaves out may be an element that nothing has written, or that isn't there.
///
/// It stands behind VectorizeParallel, whose instructions compute both sides and take one, and before ExpandElements.
#include "compiler/ir/memory_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

bool isElement(Operation* op) {
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && !load.getBuffer().getType().isPerThread();
}

bool mayWait(Operation* op) {
  return isa<tile::LoadOp>(op) || (op->getNumRegions() == 0 && isPure(op));
}

/// Whether an element is read for the value in its own block.
bool readsElement(Value value, DenseSet<Operation*>& seen) {
  Operation* op = value.getDefiningOp();
  if (!op || !mayWait(op) || !seen.insert(op).second)
    return false;
  return isElement(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
           return operand.getParentBlock() == op->getBlock() && readsElement(operand, seen);
         });
}

/// What of a block is computed for one operand of an op alone, and can be moved to that op: in order, none of it over
/// a write. Empty if no element is read there.
SmallVector<Operation*> computedFor(OpOperand& operand) {
  Operation* user = operand.getOwner();
  DenseSet<Operation*> seen;
  if (operand.get().getParentBlock() != user->getBlock() || !readsElement(operand.get(), seen))
    return {};
  DenseSet<Operation*> found;
  SmallVector<Operation*> inOrder;
  bool writes = false, reads = false;
  for (Operation* op = user->getPrevNode(); op; op = op->getPrevNode()) {
    const bool isOnlyForIt = !op->use_empty() && llvm::all_of(op->getUses(), [&](OpOperand& use) {
      return &use == &operand || found.contains(use.getOwner());
    });
    const bool isLoad = isa<tile::LoadOp>(op);
    if (isOnlyForIt && mayWait(op) && !(isLoad && writes)) {
      found.insert(op);
      inOrder.push_back(op);
      reads |= isElement(op);
    }
    writes |= !isLoad && !isMemoryEffectFree(op);
  }
  if (!reads)
    inOrder.clear();
  return SmallVector<Operation*>(llvm::reverse(inOrder));
}

/// The branch that takes the place of a choice.
class Branch {
public:
  Branch(Operation* choice, Value condition)
      : builder(choice), op(scf::IfOp::create(builder, choice->getLoc(), choice->getResultTypes(),
                                              condition, /*withElseRegion=*/true)) {}

  void give(Block* side, ArrayRef<Operation*> computed, Value value) {
    builder.setInsertionPointToEnd(side);
    auto yield = scf::YieldOp::create(builder, op.getLoc(), value);
    for (Operation* each : computed)
      each->moveBefore(yield);
  }
  void give(Block* side, bool truth) {
    builder.setInsertionPointToEnd(side);
    Value constant = arith::ConstantOp::create(builder, op.getLoc(), builder.getBoolAttr(truth));
    scf::YieldOp::create(builder, op.getLoc(), constant);
  }

private:
  OpBuilder builder;

public:
  scf::IfOp op;
};

/// The branch for `choice`, which is gone then; nothing if neither side reads an element.
scf::IfOp branchOfSelect(arith::SelectOp choice) {
  const SmallVector<Operation*> first = computedFor(choice->getOpOperand(1));
  const SmallVector<Operation*> second = computedFor(choice->getOpOperand(2));
  if (first.empty() && second.empty())
    return {};
  Branch branch(choice, choice.getCondition());
  branch.give(branch.op.thenBlock(), first, choice.getTrueValue());
  branch.give(branch.op.elseBlock(), second, choice.getFalseValue());
  choice.replaceAllUsesWith(branch.op);
  choice.erase();
  return branch.op;
}

scf::IfOp branchOfCondition(Operation* both) {
  const SmallVector<Operation*> second = computedFor(both->getOpOperand(1));
  if (second.empty())
    return {};
  const bool isAnd = isa<arith::AndIOp>(both);
  Branch branch(both, both->getOperand(0));
  Block *open = branch.op.thenBlock(), *decided = branch.op.elseBlock();
  if (!isAnd)
    std::swap(open, decided);
  branch.give(open, second, both->getOperand(1));
  branch.give(decided, !isAnd);
  both->replaceAllUsesWith(branch.op);
  both->erase();
  return branch.op;
}

/// From the last op of a block on, so that the outermost choices come first, and those within them in their branches.
void visit(Block& block) {
  for (Operation* op = block.empty() ? nullptr : &block.back(); op;) {
    scf::IfOp branch;
    const bool isCondition =
        isa<arith::AndIOp, arith::OrIOp>(op) && op->getResult(0).getType().isInteger(1);
    if (auto choice = dyn_cast<arith::SelectOp>(op))
      branch = branchOfSelect(choice);
    else if (isCondition)
      branch = branchOfCondition(op);
    if (branch)
      op = branch;
    for (Region& region : op->getRegions())
      for (Block& nested : region)
        visit(nested);
    op = op->getPrevNode();
  }
}

struct LazyChoices : KernelPass<LazyChoices> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LazyChoices)
  static constexpr llvm::StringLiteral kArgument = "ascend-lazy-choices";
  static constexpr llvm::StringLiteral kDescription =
      "choices on the scalar unit read the elements that they take";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<scf::SCFDialect>();
  }
  void runOnOperation() override {
    for (Block& block : getOperation().getBody())
      visit(block);
  }
};

} // namespace

std::unique_ptr<Pass> createLazyChoices() {
  return std::make_unique<LazyChoices>();
}

} // namespace tilewright::ascend
