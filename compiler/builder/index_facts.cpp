// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/index_facts.h"

#include "compiler/builder/linear_form.h"
#include "compiler/ir/index_ranges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tilewright::builder {
namespace {

// Conditions
// ------------------------------------------------------------------------------------------------

/// A condition, and whether it holds.
using Known = std::pair<mlir::Value, bool>;

/// What holds together: comparisons, each of which is true or false.
using Case = llvm::SmallVector<Known, 4>;

constexpr size_t kMostCases = 8;

/// That of which nothing is known.
llvm::SmallVector<Case> anyCase() {
  return llvm::SmallVector<Case>(1);
}

llvm::SmallVector<Case> bothOf(llvm::ArrayRef<Case> left, llvm::ArrayRef<Case> right) {
  llvm::SmallVector<Case> cases;
  for (const Case& one : left)
    for (const Case& other : right) {
      cases.push_back(one);
      cases.back().append(other);
    }
  return cases;
}

/// All ways in which a condition can be what `holds` says: none of a constant that isn't so. One without a comparison
/// tells nothing.
llvm::SmallVector<Case> casesOf(mlir::Value condition, bool holds) {
  mlir::Operation* op = condition.getDefiningOp();
  if (auto constant = mlir::getConstantIntValue(condition))
    return (*constant != 0) == holds ? anyCase() : llvm::SmallVector<Case>();
  if (mlir::isa_and_present<mlir::arith::CmpIOp>(op))
    return {Case{{condition, holds}}};
  const bool isNot = mlir::isa_and_present<mlir::arith::XOrIOp>(op) &&
                     mlir::getConstantIntValue(op->getOperand(1)).value_or(0) != 0;
  if (isNot)
    return casesOf(op->getOperand(0), !holds);
  if (!mlir::isa_and_present<mlir::arith::AndIOp, mlir::arith::OrIOp>(op))
    return anyCase();
  llvm::SmallVector<Case> left = casesOf(op->getOperand(0), holds),
                          right = casesOf(op->getOperand(1), holds);
  if (mlir::isa<mlir::arith::AndIOp>(op) == holds) {
    llvm::SmallVector<Case> cases = bothOf(left, right);
    return cases.size() > kMostCases ? anyCase() : cases;
  }
  left.append(right);
  return left.size() > kMostCases ? anyCase() : left;
}

/// What holds where the next op is built.
llvm::SmallVector<Known> conditionsHere(const Construction& state) {
  llvm::SmallVector<Known> known;
  for (const Construction::Promise& promise : state.promises)
    if (state.isOpen(promise.frame))
      known.emplace_back(promise.condition, true);
  const size_t promised = known.size();
  for (mlir::Region* region = state.ir.getInsertionBlock()->getParent(); region;
       region = region->getParentRegion()) {
    auto loop = mlir::dyn_cast<tile::WhileOp>(region->getParentOp());
    if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(region->getParentOp()))
      known.emplace_back(branch.getCondition(), region == &branch.getThenRegion());
    else if (loop && region == &loop.getBody())
      known.emplace_back(loop.getCondition().front().getTerminator()->getOperand(0), true);
  }
  std::reverse(known.begin() + ptrdiff_t(promised), known.end());
  for (const Known& assumption : state.assumptions)
    if (assumption.first)
      known.push_back(assumption);
  return known;
}

// Bounds
// ------------------------------------------------------------------------------------------------

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
  LinearForm number; // the greatest, or the least, that the variable is
  if (auto known = mlir::getConstantIntValue(bound))
    number.constant = *known;
  else if (!number.add(mlir::cast<mlir::Value>(bound), 1))
    return false;
  return !__builtin_sub_overflow(number.constant, int64_t(coefficient > 0), &number.constant) &&
         form.add(number, coefficient);
}

// Proofs
// ------------------------------------------------------------------------------------------------

/// What is known in one case: intervals of values, and sums that are 0 or less.
class Facts {
public:
  Facts(const Construction& state, llvm::ArrayRef<Known> comparisons) {
    // Symbols have no attributes yet while a kernel is built, but they alone are arguments of type index.
    for (mlir::BlockArgument argument : mlir::func::FuncOp(state.function).getArguments())
      if (argument.getType().isIndex())
        ranges.assume(argument, {0, IndexRanges::kLargestDim});
    for (auto [condition, holds] : comparisons) {
      ranges.learn(condition, holds);
      learn(mlir::cast<mlir::arith::CmpIOp>(condition.getDefiningOp()), holds);
    }
  }

  IndexRange rangeOf(mlir::Value index) {
    return ranges.rangeOf(index);
  }

  bool isBelowZero(LinearForm form) {
    same.join(form);
    for (int sums = 0; sums <= kMostSums; ++sums) { // short proofs first
      steps = 0;
      if (isBelowZero(form, sums))
        return true;
    }
    return false;
  }

  /// Whether no values make all true that is known: then nothing runs where it is. What can't be told may be.
  bool areContradictory() {
    for (int sums = 0; sums <= kMostSums; ++sums) {
      steps = 0; // for all together: few facts contradict others
      for (const LinearForm& sum : notPositive) {
        LinearForm negated;
        if (negated.add(sum, -1) && isBelowZero(std::move(negated), sums))
          return true;
      }
    }
    return false;
  }

private:
  static constexpr int kMostSums = 3;

  /// left - right + distance is 0 or less.
  void addSum(mlir::Value left, mlir::Value right, int64_t distance) {
    LinearForm sum;
    sum.constant = distance;
    if (!sum.add(left, 1) || !sum.add(right, -1))
      return;
    same.join(sum);
    notPositive.push_back(std::move(sum));
  }

  void learn(mlir::arith::CmpIOp comparison, bool holds) {
    using Predicate = mlir::arith::CmpIPredicate;
    const mlir::Value left = comparison.getLhs(), right = comparison.getRhs();
    if (!left.getType().isIntOrIndex())
      return;
    switch (holds ? comparison.getPredicate()
                  : mlir::arith::invertPredicate(comparison.getPredicate())) {
    case Predicate::slt:
      return addSum(left, right, 1);
    case Predicate::sle:
      return addSum(left, right, 0);
    case Predicate::sgt:
      return addSum(right, left, 1);
    case Predicate::sge:
      return addSum(right, left, 0);
    case Predicate::eq:
      addSum(left, right, 0);
      return addSum(right, left, 0);
    default: // no difference of numbers without a sign is meant
      return;
    }
  }

  /// What no value of the form is above, where that is known.
  std::optional<int64_t> mostOf(const LinearForm& form) {
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

  /// Takes sums that are 0 or less from the form, `sums` of them at most, and puts bounds in the place of loops' variables:
  /// intervals don't know that `i - m` is below 0 for i below m.
  bool isBelowZero(LinearForm form, int sums) {
    constexpr int kMostSteps = 200; // what takes more is let through
    while (++steps <= kMostSteps) {
      if (auto most = mostOf(form); most && *most < 0)
        return true;
      if (sums > 0 && isBelowZeroWithout(form, sums - 1))
        return true;
      const mlir::Value variable = innermostVariable(form);
      if (!variable || !replaceByBound(form, variable))
        return false;
      same.join(form);
    }
    return false;
  }

  bool isBelowZeroWithout(const LinearForm& form, int sums) {
    for (const LinearForm& sum : notPositive)
      for (auto [variable, coefficient] : sum.terms) {
        const int64_t found = form.terms.lookup(variable);
        // A variable that both sides of a comparison have may be gone: 0 times.
        if (found == 0 || coefficient == 0 || found % coefficient != 0 || found / coefficient < 0)
          continue;
        LinearForm rest = form;
        if (rest.add(sum, -(found / coefficient)) && isBelowZero(std::move(rest), sums))
          return true;
      }
    return false;
  }

  IndexRanges ranges;
  SameValues same;
  std::vector<LinearForm> notPositive;
  int steps = 0;
};

// Questions
// ------------------------------------------------------------------------------------------------

enum class Sign { Negative, NotNegative };

bool hasSign(Facts& facts, mlir::Value index, Sign sign) {
  const IndexRange range = facts.rangeOf(index);
  if (sign == Sign::Negative ? range.high < 0 : range.low >= 0)
    return true;
  LinearForm below; // 0: the index, or -1 - index
  below.constant = sign == Sign::Negative ? 0 : -1;
  return below.add(index, sign == Sign::Negative ? 1 : -1) && facts.isBelowZero(std::move(below));
}

/// max(x, 0 - x)
bool isAbs(mlir::Value number) {
  auto greater = number.getDefiningOp<mlir::arith::MaxSIOp>();
  auto negated =
      greater ? greater.getRhs().getDefiningOp<mlir::arith::SubIOp>() : mlir::arith::SubIOp();
  return negated && negated.getRhs() == greater.getLhs() &&
         mlir::getConstantIntValue(negated.getLhs()) == 0;
}

/// What is found of an index: that it has a sign, or not, or that nothing runs where it stands.
enum class Found { No, Yes, NeverRuns };

/// Of two that an index is one of, or of two cases.
Found both(Found left, Found right) {
  if (left == Found::NeverRuns || right == Found::NeverRuns)
    return left == Found::NeverRuns ? right : left;
  return left == right ? left : Found::No;
}

llvm::SmallVector<Case> casesOf(llvm::ArrayRef<Known> known) {
  llvm::SmallVector<Case> cases = anyCase();
  for (auto [condition, holds] : known) {
    llvm::SmallVector<Case> all = bothOf(cases, casesOf(condition, holds));
    if (all.size() <= kMostCases)
      cases = std::move(all);
  }
  return cases;
}

/// In one case. `asks`: also whether that can be, if the sign isn't found. An index of both signs is none.
Found signIn(const Construction& state, const Case& comparisons, mlir::Value index, Sign sign,
             bool asks) {
  Facts facts(state, comparisons);
  const Sign other = sign == Sign::Negative ? Sign::NotNegative : Sign::Negative;
  const bool isFound = hasSign(facts, index, sign);
  if (!isFound && !asks)
    return Found::No;
  if ((isFound && hasSign(facts, index, other)) || facts.areContradictory())
    return Found::NeverRuns;
  return isFound ? Found::Yes : Found::No;
}

/// Where `known` holds. Choices in choices are looked into `depth` times.
Found findSign(const Construction& state, llvm::ArrayRef<Known> known, mlir::Value index, Sign sign,
               int depth = 0) {
  constexpr int kMostChoices = 3;
  Found found = Found::NeverRuns;
  const llvm::SmallVector<Case> cases = casesOf(known);
  for (const Case& comparisons : cases)
    found = both(found, signIn(state, comparisons, index, sign, cases.size() > 1 || depth > 0));
  if (found != Found::No)
    return found;
  auto choice = uncast(index).getDefiningOp<mlir::arith::SelectOp>();
  if (!choice || depth == kMostChoices)
    return Found::No;
  auto ofSide = [&](mlir::Value side, bool holds) {
    llvm::SmallVector<Known> inside(known);
    inside.emplace_back(choice.getCondition(), holds);
    return findSign(state, inside, side, sign, depth + 1);
  };
  return both(ofSide(choice.getTrueValue(), true), ofSide(choice.getFalseValue(), false));
}

} // namespace

bool isAlwaysNegative(const Construction& state, mlir::Value index) {
  return findSign(state, conditionsHere(state), index, Sign::Negative) == Found::Yes;
}

bool isNeverNegative(const Construction& state, mlir::Value index) {
  index = uncast(index);
  if (isAbs(index))
    return true;
  if (auto shift = index.getDefiningOp<mlir::arith::ShLIOp>())
    return isNeverNegative(state, shift.getLhs());
  return findSign(state, conditionsHere(state), index, Sign::NotNegative) != Found::No;
}

bool neverRuns(const Construction& state) {
  return llvm::all_of(casesOf(conditionsHere(state)), [&](const Case& comparisons) {
    return Facts(state, comparisons).areContradictory();
  });
}

} // namespace tilewright::builder
