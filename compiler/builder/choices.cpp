// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/choices.h"

#include "compiler/ir/index_ranges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright::builder {
namespace {

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
/// anyway, and shifts get another distance. `ranges` are those outside of the choice.
bool isSafe(mlir::Operation& op, IndexRanges& ranges) {
  if (mayDivideByZero(op))
    return false;
  auto load = mlir::dyn_cast<tile::LoadOp>(op);
  if (!load)
    return op.getNumRegions() == 0 && mlir::isPure(&op);
  auto type = load.getBuffer().getType();
  if (type.isGlobal())
    return true;
  for (auto [index, dim] : llvm::zip(load.getIndices(), type.getShape()))
    if (!ranges.rangeOf(index).isWithin(0, dim - 1))
      return false;
  return true;
}

bool isSafe(mlir::Block& block, IndexRanges& ranges) {
  return llvm::all_of(block.without_terminator(),
                      [&](mlir::Operation& op) { return isSafe(op, ranges); });
}

bool isShift(mlir::Operation& op) {
  return mlir::isa<mlir::arith::ShLIOp, mlir::arith::ShRSIOp, mlir::arith::ShRUIOp>(op);
}

/// Whether a number is the same in all iterations of a nest.
bool isSameForAll(mlir::Value number, tile::ParallelOp nest) {
  mlir::Operation* op = number.getDefiningOp();
  if (!nest->isAncestor(number.getParentRegion()->getParentOp()))
    return true;
  return op && op->getNumRegions() == 0 && mlir::isPure(op) &&
         llvm::all_of(op->getOperands(),
                      [&](mlir::Value operand) { return isSameForAll(operand, nest); });
}

/// Whether vector instructions of an NPU may do a shift, whose distance they have one of for all elements: then the
/// condition must not come into it.
bool isForVectors(mlir::Operation& shift, mlir::Value condition) {
  auto nest = shift.getParentOfType<tile::ParallelOp>();
  return nest && nest->getParentOfType<tile::LaunchOp>().getNpu() &&
         isSameForAll(shift.getOperand(1), nest) && !isSameForAll(condition, nest);
}

/// Whether an op shifts by what may be no distance of its type. `ranges` are those outside of the choice.
bool mayShiftTooFar(mlir::Operation& op, IndexRanges& ranges) {
  if (!isShift(op))
    return false;
  const mlir::Type type = op.getOperand(1).getType();
  const int64_t width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return !ranges.rangeOf(op.getOperand(1)).isWithin(0, width - 1);
}

/// Where a side isn't wanted its shifts are by 0, as the distance need not be one there: no branch is needed, and
/// where it is wanted a distance too far is still told.
void guardShifts(Construction& state, mlir::scf::IfOp op, IndexRanges& ranges) {
  for (mlir::Block* block : {op.thenBlock(), op.elseBlock()})
    for (mlir::Operation& each : *block) {
      if (!mayShiftTooFar(each, ranges) || isForVectors(each, op.getCondition()))
        continue;
      state.ir.setInsertionPoint(&each);
      const mlir::Value distance = each.getOperand(1);
      mlir::Value wanted = distance,
                  other = state.constantIr(Constant::ofInteger(0), distance.getType());
      if (block == op.elseBlock())
        std::swap(wanted, other);
      each.setOperand(1, mlir::arith::SelectOp::create(state.ir, each.getLoc(), op.getCondition(),
                                                       wanted, other));
    }
}

/// `condition ? whenTrue : whenFalse` with both computed. The `and` and `or` of conditions are what all rules and targets
/// look for.
mlir::Value select(Construction& state, mlir::Location loc, mlir::Value condition,
                   mlir::Value whenTrue, mlir::Value whenFalse) {
  if (whenTrue.getType().isInteger(1) && mlir::getConstantIntValue(whenFalse) == 0)
    return state.ir.createOrFold<mlir::arith::AndIOp>(loc, condition, whenTrue);
  if (whenTrue.getType().isInteger(1) && mlir::getConstantIntValue(whenTrue).value_or(0) != 0)
    return state.ir.createOrFold<mlir::arith::OrIOp>(loc, condition, whenFalse);
  return state.ir.createOrFold<mlir::arith::SelectOp>(loc, condition, whenTrue, whenFalse);
}

} // namespace

mlir::Value finishChoice(Construction& state, mlir::scf::IfOp op, mlir::Value whenTrue,
                         mlir::Value whenFalse) {
  mlir::Location loc = op.getLoc();
  IndexRanges ranges = rangesIn(op->getParentRegion());
  if (isSafe(*op.thenBlock(), ranges) && isSafe(*op.elseBlock(), ranges)) {
    guardShifts(state, op, ranges);
    state.ir.setInsertionPointAfter(op);
    for (mlir::Block* block : {op.thenBlock(), op.elseBlock()})
      op->getBlock()->getOperations().splice(op->getIterator(), block->getOperations(),
                                             block->begin(), block->getTerminator()->getIterator());
    mlir::Value chosen = select(state, loc, op.getCondition(), whenTrue, whenFalse);
    op.erase();
    return chosen;
  }
  state.ir.setInsertionPointAfter(op);
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
