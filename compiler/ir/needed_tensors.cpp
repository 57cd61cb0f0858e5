// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/needed_tensors.h"

#include "compiler/ir/dialect.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::tile {

using namespace mlir;

namespace {

/// Of more nothing is said.
constexpr size_t kMostCases = 16;

using MaybeCondition = std::optional<Condition>;

MaybeCondition anyOf(MaybeCondition a, const MaybeCondition& b) {
  if (!a || !b)
    return std::nullopt;
  for (const auto& each : *b)
    if (!llvm::is_contained(*a, each))
      a->push_back(each);
  return a->size() <= kMostCases ? a : std::nullopt;
}

MaybeCondition allOf(const MaybeCondition& a, const MaybeCondition& b) {
  if (!a || !b || a->size() * b->size() > kMostCases)
    return std::nullopt;
  Condition both;
  for (const auto& first : *a)
    for (const auto& second : *b) {
      SmallVector<ScalarTest>& tests = both.emplace_back(first);
      for (const ScalarTest& test : second)
        if (!llvm::is_contained(tests, test))
          tests.push_back(test);
    }
  return both;
}

class Conditions {
public:
  explicit Conditions(func::FuncOp kernel) : kernel(kernel) {}

  /// When a value of one bit is `wanted`.
  MaybeCondition of(Value value, bool wanted, int depth = 0) const {
    if (depth > 16)
      return std::nullopt;
    if (const std::optional<int64_t> known = getConstantIntValue(value))
      return bool(*known & 1) == wanted ? Condition(1) : Condition();
    const auto side = [&](Value operand, bool isTrue) { return of(operand, isTrue, depth + 1); };
    Operation* op = value.getDefiningOp();
    if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
      return ofCompare(compare, wanted);
    if (auto choice = dyn_cast_or_null<arith::SelectOp>(op))
      return anyOf(allOf(side(choice.getCondition(), true), side(choice.getTrueValue(), wanted)),
                   allOf(side(choice.getCondition(), false), side(choice.getFalseValue(), wanted)));
    if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
      const MaybeCondition a = side(op->getOperand(0), wanted), b = side(op->getOperand(1), wanted);
      return isa<arith::AndIOp>(op) == wanted ? allOf(a, b) : anyOf(a, b);
    }
    if (isa_and_nonnull<arith::XOrIOp>(op))
      if (const std::optional<int64_t> known = getConstantIntValue(op->getOperand(1)))
        return side(op->getOperand(0), (*known & 1) ? !wanted : wanted);
    const std::optional<int64_t> argument = argumentOf(value);
    if (!argument || !value.getType().isInteger(1))
      return std::nullopt;
    return single({*argument, wanted ? arith::CmpIPredicate::ne : arith::CmpIPredicate::eq, 0});
  }

private:
  static Condition single(ScalarTest test) {
    return {SmallVector<ScalarTest>{test}};
  }

  /// Whether a scalar argument is a bool or unsigned: its bits above are 0 then.
  bool hasNoSign(Value scalar) const {
    const unsigned number = cast<BlockArgument>(scalar).getArgNumber();
    auto dtype = kernel.getArgAttrOfType<TypeAttr>(number, kDtypeAttr);
    return scalar.getType().isInteger(1) || (dtype && dtype.getValue().isUnsignedInteger());
  }

  /// The scalar argument that a number is, as it is or in more bits.
  std::optional<int64_t> argumentOf(Value value) const {
    Operation* widened = nullptr;
    while (Operation* op = value.getDefiningOp()) {
      if (!isa<arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp>(op))
        return std::nullopt;
      widened = isa<arith::IndexCastOp>(op) ? widened : op;
      value = op->getOperand(0);
    }
    if (widened && isa<arith::ExtUIOp>(widened) != hasNoSign(value))
      return std::nullopt;
    auto argument = cast<BlockArgument>(value);
    if (argument.getOwner() != &kernel.getBody().front() || isa<BufferType>(argument.getType()))
      return std::nullopt;
    const unsigned number = argument.getArgNumber();
    if (!kernel.getArgAttr(number, kSymbolAttr))
      return number;
    auto scalar = kernel.getArgAttrOfType<StringAttr>(number, kScalarAttr);
    for (unsigned other = 0; scalar && other < kernel.getNumArguments(); ++other)
      if (kernel.getArgAttr(other, kNameAttr) == scalar)
        return other;
    return std::nullopt;
  }

  MaybeCondition ofCompare(arith::CmpIOp compare, bool wanted) const {
    using Predicate = arith::CmpIPredicate;
    Predicate predicate = compare.getPredicate();
    const std::optional<int64_t> argument = argumentOf(compare.getLhs()),
                                 number = getConstantIntValue(compare.getRhs());
    const bool isUnsigned = predicate == Predicate::ult || predicate == Predicate::ule ||
                            predicate == Predicate::ugt || predicate == Predicate::uge;
    if (!argument || !number || isUnsigned || (*number < 0 && isWithoutSign(*argument)))
      return std::nullopt;
    return single({*argument, wanted ? predicate : arith::invertPredicate(predicate), *number});
  }

  bool isWithoutSign(int64_t argument) const {
    return hasNoSign(kernel.getArgument(unsigned(argument)));
  }

  mutable func::FuncOp kernel; // a handle
};

/// The ops that touch a value, itself or through views and numbers.
void findUses(Value value, SmallVectorImpl<Operation*>& uses) {
  for (Operation* user : value.getUsers()) {
    const bool onlyMakes = isPure(user) && user->getNumResults() > 0 && user->getNumRegions() == 0;
    if (!onlyMakes)
      uses.push_back(user);
    else
      for (Value result : user->getResults())
        findUses(result, uses);
  }
}

} // namespace

std::optional<Condition> neededIf(func::FuncOp kernel, unsigned tensor) {
  SmallVector<Operation*> uses;
  findUses(kernel.getArgument(tensor), uses);
  const Conditions conditions(kernel);
  MaybeCondition needed = Condition();
  for (Operation* use : uses) {
    MaybeCondition here = Condition(1);
    bool isInBranch = false;
    for (Operation* inner = use; inner != kernel && here; inner = inner->getParentOp()) {
      auto branch = dyn_cast<scf::IfOp>(inner->getParentOp());
      if (!branch)
        continue;
      const bool isThen = inner->getParentRegion() == &branch.getThenRegion();
      if (const MaybeCondition condition = conditions.of(branch.getCondition(), isThen)) {
        here = allOf(here, condition);
        isInBranch = true;
      }
    }
    needed = isInBranch ? anyOf(needed, here) : std::nullopt;
    if (!needed)
      return std::nullopt;
  }
  return needed;
}

} // namespace tilewright::tile
