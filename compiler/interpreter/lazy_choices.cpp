// SPDX-License-Identifier: Apache-2.0
#include "compiler/interpreter/lazy_choices.h"

#include "compiler/interpreter/evaluate.h"
#include "compiler/interpreter/machine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright::interpreter {
namespace {

/// Longer chains of lazy ops are computed at once: the machine goes along them by recursion.
constexpr int kLongestChain = 200;

bool isComputed(mlir::Operation* op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         llvm::isa<mlir::arith::ArithDialect, mlir::math::MathDialect>(op->getDialect());
}

bool isShift(mlir::Operation& op) {
  return llvm::isa<mlir::arith::ShLIOp, mlir::arith::ShRSIOp, mlir::arith::ShRUIOp>(op);
}

/// The lazy ops of one block. None of them is moved over a write: `stretch` counts these.
class LazyOpsOfBlock {
public:
  LazyOpsOfBlock(mlir::Block& block, bool withOwn) : block(block), withOwn(withOwn) {}

  void addTo(llvm::DenseSet<mlir::Operation*>& found) {
    int stretch = 0;
    for (mlir::Operation& op : llvm::reverse(block)) {
      stretches[&op] = stretch;
      if (!llvm::isa<tile::LoadOp>(op) && !mlir::isMemoryEffectFree(&op))
        ++stretch;
      auto load = llvm::dyn_cast<tile::LoadOp>(op);
      const bool mayWait =
          load ? withOwn || !load.getBuffer().getType().isPerThread() : isComputed(&op);
      if (mayWait && isOnlyForChoices(op))
        chains[&op] = chain(op);
    }
    // Laziness is worth its trouble for loads and what depends on them, and for what has no value for some operands.
    for (mlir::Operation& op : block)
      if (chains.contains(&op) && (llvm::isa<tile::LoadOp>(op) || isShift(op) ||
                                   llvm::any_of(op.getOperands(), [&](mlir::Value operand) {
                                     return found.contains(operand.getDefiningOp());
                                   })))
        found.insert(&op);
  }

private:
  bool isOnlyForChoices(mlir::Operation& op) const {
    return !op.use_empty() && chain(op) <= kLongestChain &&
           llvm::all_of(op.getUses(), [&](mlir::OpOperand& use) {
             mlir::Operation* user = use.getOwner();
             return user->getBlock() == &block && stretches.lookup(user) == stretches.lookup(&op) &&
                    (isLazySide(use) || chains.contains(user));
           });
  }

  int chain(mlir::Operation& op) const {
    int longest = 0;
    for (mlir::Operation* user : op.getUsers())
      longest = std::max(longest, chains.lookup(user));
    return longest + 1;
  }

  mlir::Block& block;
  bool withOwn;
  llvm::DenseMap<mlir::Operation*, int> stretches, chains;
};

} // namespace

bool isLazySide(mlir::OpOperand& use) {
  mlir::Operation* user = use.getOwner();
  if (llvm::isa<mlir::arith::SelectOp>(user))
    return use.getOperandNumber() > 0;
  return llvm::isa<mlir::arith::AndIOp, mlir::arith::OrIOp>(user) &&
         user->getResult(0).getType().isInteger(1) && use.getOperandNumber() == 1;
}

llvm::DenseSet<mlir::Operation*> findLazyOps(mlir::func::FuncOp kernel, bool withOwn) {
  llvm::DenseSet<mlir::Operation*> found;
  kernel.walk([&](mlir::Block* block) { LazyOpsOfBlock(*block, withOwn).addTo(found); });
  return found;
}

namespace {

/// Whether `op` needs this operand, of which those before it are computed already.
bool isNeeded(mlir::OpOperand& use, Scalar first) {
  if (!isLazySide(use))
    return true;
  const bool isTrue = first.integer != 0;
  if (llvm::isa<mlir::arith::SelectOp>(use.getOwner()))
    return isTrue == (use.getOperandNumber() == 1);
  return isTrue == llvm::isa<mlir::arith::AndIOp>(use.getOwner());
}

} // namespace

mlir::LogicalResult Machine::compute(Agent& agent, mlir::Operation& op,
                                     llvm::DenseSet<mlir::Operation*>& done) {
  if (auto load = llvm::dyn_cast<tile::LoadOp>(op)) {
    for (mlir::Value index : load.getIndices()) {
      mlir::Operation* from = index.getDefiningOp();
      if (from && lazyOps.contains(from) && !done.contains(from) &&
          failed(compute(agent, *from, done)))
        return mlir::failure();
    }
    done.insert(&op);
    return runLoad(agent, load);
  }
  llvm::SmallVector<Scalar, 3> operands;
  for (mlir::OpOperand& use : op.getOpOperands()) {
    mlir::Operation* from = use.get().getDefiningOp();
    const bool isLazy = from && lazyOps.contains(from);
    if (isLazy && !isNeeded(use, operands.empty() ? Scalar() : operands.front())) {
      operands.emplace_back();
      continue;
    }
    if (isLazy && !done.contains(from) && failed(compute(agent, *from, done)))
      return mlir::failure();
    operands.push_back(scalar(agent, use.get()));
  }
  std::optional<Scalar> result = evaluate(&op, operands);
  if (!result)
    return mlir::failure();
  agent.scalars[op.getResult(0)] = *result;
  done.insert(&op);
  return mlir::success();
}

} // namespace tilewright::interpreter
