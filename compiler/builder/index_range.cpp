// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/index_range.h"

#include "compiler/ir/floor_divisor.h"
#include "compiler/ir/index_ranges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::builder {
namespace {

/// constant + sum of coefficient * variable. A variable that occurs twice counts once, with its net coefficient:
/// that keeps the range exact.
struct LinearForm {
  int64_t constant = 0;
  llvm::MapVector<mlir::Value, int64_t> terms;
};

bool addScaled(LinearForm& form, mlir::Value value, int64_t scale, int depth);

bool addProduct(LinearForm& form, mlir::arith::MulIOp product, int64_t scale, int depth) {
  for (auto [factor, other] : {std::pair(product.getLhs(), product.getRhs()),
                               std::pair(product.getRhs(), product.getLhs())}) {
    auto known = mlir::getConstantIntValue(factor);
    int64_t scaled = 0;
    if (known && !__builtin_mul_overflow(scale, *known, &scaled))
      return addScaled(form, other, scaled, depth);
  }
  mlir::Value whole = product.getResult(); // of two that are unknown: a variable of its own
  return !__builtin_add_overflow(form.terms[whole], scale, &form.terms[whole]);
}

/// `vid * 64 // 2` is `vid * 32`: a sum of multiples of the divisor.
bool addQuotient(LinearForm& form, mlir::Value dividend, int64_t divisor, int64_t scale,
                 int depth) {
  LinearForm inner;
  if (!addScaled(inner, dividend, 1, depth) || inner.constant % divisor != 0)
    return false;
  for (auto [variable, coefficient] : inner.terms)
    if (coefficient % divisor != 0)
      return false;
  int64_t part = 0;
  if (__builtin_mul_overflow(inner.constant / divisor, scale, &part) ||
      __builtin_add_overflow(form.constant, part, &form.constant))
    return false;
  for (auto [variable, coefficient] : inner.terms)
    if (__builtin_mul_overflow(coefficient / divisor, scale, &part) ||
        __builtin_add_overflow(form.terms[variable], part, &form.terms[variable]))
      return false;
  return true;
}

bool addScaled(LinearForm& form, mlir::Value value, int64_t scale, int depth) {
  if (auto known = mlir::getConstantIntValue(value)) {
    int64_t product = 0;
    return !__builtin_mul_overflow(*known, scale, &product) &&
           !__builtin_add_overflow(form.constant, product, &form.constant);
  }
  mlir::Operation* op = value.getDefiningOp();
  // Indices are small expressions; what is deeper is let through.
  if (depth > 32)
    return false;
  if (auto sum = mlir::dyn_cast_if_present<mlir::arith::AddIOp>(op))
    return addScaled(form, sum.getLhs(), scale, depth + 1) &&
           addScaled(form, sum.getRhs(), scale, depth + 1);
  if (auto difference = mlir::dyn_cast_if_present<mlir::arith::SubIOp>(op))
    return addScaled(form, difference.getLhs(), scale, depth + 1) &&
           addScaled(form, difference.getRhs(), -scale, depth + 1);
  if (auto product = mlir::dyn_cast_if_present<mlir::arith::MulIOp>(op))
    return addProduct(form, product, scale, depth + 1);
  if (const std::optional<int64_t> divisor = tile::floorDivisor(op)) {
    LinearForm before = form;
    if (addQuotient(form, op->getOperand(0), *divisor, scale, depth + 1))
      return true;
    form = before;
  }
  return !__builtin_add_overflow(form.terms[value], scale, &form.terms[value]);
}

/// Nothing is written from the first of two loads to the second, so that equal places give equal values.
bool nothingIsWrittenBetween(mlir::Operation* first, mlir::Operation* second) {
  if (first->getBlock() != second->getBlock())
    return false;
  if (second->isBeforeInBlock(first))
    std::swap(first, second);
  for (mlir::Operation* op = first; op != second; op = op->getNextNode())
    if (!mlir::isa<tile::LoadOp>(op) && !mlir::isMemoryEffectFree(op))
      return false;
  return true;
}

/// Whether two values are the same expression of the same variables: building never joins them, so
/// that `k % 3 : k % 3 + 1` holds two of `k % 3`. `budget` bounds the comparisons.
bool isSame(mlir::Value left, mlir::Value right, int& budget) {
  if (left == right)
    return true;
  mlir::Operation *a = left.getDefiningOp(), *b = right.getDefiningOp();
  if (--budget < 0 || !a || !b || a->getNumRegions() || a->getNumResults() != 1)
    return false;
  bool isLoad = mlir::isa<tile::LoadOp>(a);
  if (!isLoad && !mlir::isMemoryEffectFree(a))
    return false;
  auto operandsAgree = [&](mlir::Value x, mlir::Value y) {
    return mlir::success(isSame(x, y, budget));
  };
  return mlir::OperationEquivalence::isEquivalentTo(a, b, operandsAgree, nullptr,
                                                    mlir::OperationEquivalence::IgnoreLocations) &&
         (!isLoad || nothingIsWrittenBetween(a, b));
}

/// Adds up the coefficients of variables that are the same expression.
void joinSameTerms(LinearForm& form) {
  constexpr int kMostComparisons = 1000; // an index is a small expression
  int budget = kMostComparisons;
  for (auto left = form.terms.begin(); left != form.terms.end(); ++left)
    for (auto right = std::next(left); right != form.terms.end(); ++right)
      if (left->second != 0 && right->second != 0 && isSame(left->first, right->first, budget) &&
          !__builtin_add_overflow(left->second, right->second, &left->second))
        right->second = 0;
}

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

/// What no value of the form is above, where that is known.
std::optional<int64_t> mostOf(const LinearForm& form, IndexRanges& ranges) {
  int64_t most = form.constant;
  for (auto [variable, coefficient] : form.terms) {
    if (coefficient == 0)
      continue;
    const IndexRange range = ranges.rangeOf(variable);
    const int64_t end = coefficient > 0 ? range.high : range.low;
    int64_t part = 0;
    if (end == IndexRange::kHighest || end == IndexRange::kLowest ||
        __builtin_mul_overflow(end, coefficient, &part) ||
        __builtin_add_overflow(most, part, &most))
      return std::nullopt;
  }
  return most;
}

/// From where a variable counts, and what it stays below.
struct Bounds {
  mlir::OpFoldResult start, stop;
};

std::optional<Bounds> boundsOf(mlir::Value variable) {
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(variable);
  if (!argument)
    return std::nullopt;
  mlir::Operation* owner = argument.getOwner()->getParentOp();
  const mlir::OpFoldResult zero = mlir::IntegerAttr::get(argument.getType(), 0);
  if (auto loop = mlir::dyn_cast<tile::ForOp>(owner))
    return Bounds{loop.getLower(), loop.getUpper()};
  if (auto launch = mlir::dyn_cast<tile::LaunchOp>(owner))
    return Bounds{zero, launch.getGrid()[argument.getArgNumber()]};
  if (auto nest = mlir::dyn_cast<tile::ParallelOp>(owner))
    return Bounds{zero, nest.getMixedExtents()[argument.getArgNumber()]};
  return std::nullopt;
}

/// The variable of a loop that no other loop of the form's variables is in; null if there is none.
mlir::Value innermostVariable(const LinearForm& form) {
  mlir::Value innermost;
  for (auto [variable, coefficient] : form.terms) {
    if (coefficient == 0 || !boundsOf(variable))
      continue;
    if (!innermost || innermost.getParentRegion()->isAncestor(variable.getParentRegion()))
      innermost = variable;
  }
  return innermost;
}

/// Puts a bound in the place of a loop's variable, so that no value of the form gets smaller.
bool replaceByBound(LinearForm& form, mlir::Value variable) {
  const int64_t coefficient = std::exchange(form.terms[variable], 0);
  const Bounds bounds = *boundsOf(variable);
  const mlir::OpFoldResult bound = coefficient > 0 ? bounds.stop : bounds.start;
  int64_t part = 0;
  if (coefficient > 0 && __builtin_sub_overflow(form.constant, coefficient, &form.constant))
    return false;
  if (auto known = mlir::getConstantIntValue(bound))
    return !__builtin_mul_overflow(*known, coefficient, &part) &&
           !__builtin_add_overflow(form.constant, part, &form.constant);
  return addScaled(form, mlir::cast<mlir::Value>(bound), coefficient, 0);
}

/// What is known where a kernel is being built: its symbols have no attributes yet, but they alone are
/// arguments of type index.
IndexRanges rangesWhileBuilding(const Construction& state) {
  mlir::Region* region = state.ir.getInsertionBlock()->getParent();
  IndexRanges ranges = rangesIn(region);
  for (mlir::Region* around = region; around; around = around->getParentRegion())
    if (mlir::isa<mlir::FunctionOpInterface>(around->getParentOp()))
      for (mlir::BlockArgument argument : around->getArguments())
        if (argument.getType().isIndex())
          ranges.assume(argument, {0, IndexRanges::kLargestDim});
  for (auto [condition, holds] : state.assumptions)
    if (condition)
      ranges.learn(condition, holds);
  return ranges;
}

} // namespace

bool isAlwaysNegative(const Construction& state, mlir::Value index) {
  LinearForm form;
  if (!addScaled(form, index, 1, 0))
    return false;
  joinSameTerms(form);
  IndexRanges ranges = rangesWhileBuilding(state);
  // Intervals don't know that `i - m` is below 0 for i below m; with the bound in the place of i they do.
  for (int loops = 0; loops < 16; ++loops) {
    if (auto most = mostOf(form, ranges); most && *most < 0)
      return true;
    const mlir::Value variable = innermostVariable(form);
    if (!variable || !replaceByBound(form, variable))
      return false;
  }
  return false;
}

bool isNeverNegative(const Construction& state, mlir::Value index) {
  return rangesWhileBuilding(state).rangeOf(index).low >= 0;
}

std::optional<ExactRange> rangeOf(mlir::Value index) {
  LinearForm form;
  if (!addScaled(form, index, 1, 0))
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

std::optional<int64_t> constantDifference(mlir::Value left, mlir::Value right) {
  LinearForm form;
  if (!addScaled(form, left, 1, 0) || !addScaled(form, right, -1, 0))
    return std::nullopt;
  joinSameTerms(form);
  for (auto [variable, coefficient] : form.terms)
    if (coefficient != 0)
      return std::nullopt;
  return form.constant;
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
