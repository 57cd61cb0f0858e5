// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/index_range.h"

#include "compiler/builder/linear_form.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <limits>

namespace tilewright::builder {
namespace {

std::optional<ExactRange> fromCount(std::optional<int64_t> count) {
  return count && *count > 0 ? std::optional(ExactRange{0, *count - 1}) : std::nullopt;
}

std::optional<ExactRange> rangeOfLoop(tile::ForOp loop) {
  auto lower = mlir::getConstantIntValue(loop.getLower()),
       upper = mlir::getConstantIntValue(loop.getUpper()),
       step = mlir::getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || *step < 1 || *upper <= *lower)
    return std::nullopt;
  return ExactRange{*lower, *lower + (*upper - 1 - *lower) / *step * *step};
}

/// The range of one variable.
std::optional<ExactRange> rangeOfVariable(mlir::Value variable) {
  if (auto thread = variable.getDefiningOp<tile::ThreadIdOp>()) {
    auto threads = thread->getParentOfType<tile::LaunchOp>().getThreads();
    return thread.getDim() < threads.size() ? fromCount(threads[thread.getDim()]) : std::nullopt;
  }
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(variable);
  if (!argument)
    return std::nullopt;
  mlir::Operation* owner = argument.getOwner()->getParentOp();
  if (auto loop = mlir::dyn_cast<tile::ForOp>(owner))
    return rangeOfLoop(loop);
  if (auto launch = mlir::dyn_cast<tile::LaunchOp>(owner))
    return fromCount(mlir::getConstantIntValue(launch.getGrid()[argument.getArgNumber()]));
  auto parallel = mlir::dyn_cast<tile::ParallelOp>(owner);
  if (!parallel)
    return std::nullopt;
  int64_t extent = parallel.getStaticExtents()[argument.getArgNumber()];
  return mlir::ShapedType::isDynamic(extent) ? std::nullopt : fromCount(extent);
}

} // namespace

std::optional<ExactRange> rangeOf(mlir::Value index) {
  LinearForm form;
  if (!form.add(index, 1))
    return std::nullopt;
  ExactRange range{form.constant, form.constant};
  for (auto [variable, coefficient] : form.terms) {
    auto bounds = rangeOfVariable(variable);
    int64_t atLeast = 0, atGreatest = 0;
    if (!bounds || __builtin_mul_overflow(bounds->least, coefficient, &atLeast) ||
        __builtin_mul_overflow(bounds->greatest, coefficient, &atGreatest) ||
        __builtin_add_overflow(range.least, std::min(atLeast, atGreatest), &range.least) ||
        __builtin_add_overflow(range.greatest, std::max(atLeast, atGreatest), &range.greatest))
      return std::nullopt;
  }
  return range;
}

/// `steps` bounds the work: what takes more is let through.
static bool isOfInt32(mlir::Value index, int& steps) {
  using Limits = std::numeric_limits<int32_t>;
  if (const auto range = rangeOf(index))
    return range->least >= Limits::min() && range->greatest <= Limits::max();
  mlir::Operation* op = index.getDefiningOp();
  if (!op || !mlir::isa<mlir::arith::ArithDialect>(op->getDialect()))
    return true; // a variable
  if (--steps < 0)
    return false;
  if (mlir::isa<mlir::arith::IndexCastOp, mlir::arith::IndexCastUIOp>(op))
    return op->getOperand(0).getType().isInteger(32);
  const bool isWithinOperands =
      mlir::isa<mlir::arith::FloorDivSIOp, mlir::arith::CeilDivSIOp, mlir::arith::DivSIOp,
                mlir::arith::RemSIOp, mlir::arith::MinSIOp, mlir::arith::MaxSIOp,
                mlir::arith::AndIOp, mlir::arith::OrIOp, mlir::arith::XOrIOp, mlir::arith::ShRSIOp>(
          op);
  return isWithinOperands && llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
           return isOfInt32(operand, steps);
         });
}

bool isOfInt32(mlir::Value index) {
  int steps = 64; // an index is a small expression
  return isOfInt32(index, steps);
}

std::optional<int64_t> constantDifference(mlir::Value left, mlir::Value right) {
  LinearForm form;
  if (!form.add(left, 1) || !form.add(right, -1))
    return std::nullopt;
  SameValues().join(form);
  return form.isConstant() ? std::optional(form.constant) : std::nullopt;
}

bool runsAlways(const Construction& state) {
  if (state.hasEarlyExit)
    return false;
  return llvm::all_of(state.frames, [](const Frame& frame) {
    switch (frame.kind) {
    case FrameKind::Function:
    case FrameKind::Launch:
    case FrameKind::Parallel:
    case FrameKind::Agents: // all cores of a kind
      return true;
    case FrameKind::Loop: // one that never runs runs nothing
      return frame.op && rangeOfLoop(mlir::cast<tile::ForOp>(frame.op)).has_value();
    default:
      return false;
    }
  });
}

} // namespace tilewright::builder
