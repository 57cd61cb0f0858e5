// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/choices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright::builder {
namespace {

/// Whether an index is a number that its buffer always has: a constant, or the number of a loop
/// from 0 to a constant that is at most the dim.
bool isIndexInRange(mlir::Value index, int64_t dim) {
  if (auto constant = mlir::getConstantIntValue(index))
    return *constant >= 0 && *constant < dim;
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(index);
  auto parallel = argument ? mlir::dyn_cast<tile::ParallelOp>(argument.getOwner()->getParentOp())
                           : tile::ParallelOp();
  if (!parallel)
    return false;
  int64_t extent = parallel.getStaticExtents()[argument.getArgNumber()];
  return !mlir::ShapedType::isDynamic(extent) && extent <= dim;
}

/// An integer division by what may be 0. MLIR counts some of them as pure.
bool mayDivideByZero(mlir::Operation& op) {
  namespace arith = mlir::arith;
  if (!mlir::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                 arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return false;
  auto divisor = mlir::getConstantIntValue(op.getOperand(1));
  return !divisor || *divisor == 0;
}

/// Whether an op may run although its value isn't wanted. Loads of global buffers are guarded
/// anyway.
bool isSafe(mlir::Operation& op) {
  if (mayDivideByZero(op))
    return false;
  auto load = mlir::dyn_cast<tile::LoadOp>(op);
  if (!load)
    return op.getNumRegions() == 0 && mlir::isPure(&op);
  auto type = load.getBuffer().getType();
  if (type.isGlobal())
    return true;
  for (auto [index, dim] : llvm::zip(load.getIndices(), type.getShape()))
    if (!isIndexInRange(index, dim))
      return false;
  return true;
}

bool isSafe(mlir::Block& block) {
  return llvm::all_of(block.without_terminator(), [](mlir::Operation& op) { return isSafe(op); });
}

} // namespace

mlir::Value finishChoice(Construction& state, mlir::scf::IfOp op, mlir::Value whenTrue,
                         mlir::Value whenFalse) {
  mlir::Location loc = op.getLoc();
  state.ir.setInsertionPointAfter(op);
  if (isSafe(*op.thenBlock()) && isSafe(*op.elseBlock())) {
    for (mlir::Block* block : {op.thenBlock(), op.elseBlock()})
      op->getBlock()->getOperations().splice(op->getIterator(), block->getOperations(),
                                             block->begin(), block->getTerminator()->getIterator());
    mlir::Value chosen =
        state.ir.createOrFold<mlir::arith::SelectOp>(loc, op.getCondition(), whenTrue, whenFalse);
    op.erase();
    return chosen;
  }
  auto result = mlir::scf::IfOp::create(state.ir, loc, whenTrue.getType(), op.getCondition(),
                                        /*withElseRegion=*/true);
  result.getThenRegion().takeBody(op.getThenRegion());
  result.getElseRegion().takeBody(op.getElseRegion());
  result.thenYield()->setOperands(whenTrue);
  result.elseYield()->setOperands(whenFalse);
  op.erase();
  return result.getResult(0);
}

} // namespace tilewright::builder
