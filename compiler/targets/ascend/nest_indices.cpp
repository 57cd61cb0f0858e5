// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/nest_indices.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <numeric>

namespace tilewright::ascend {

using namespace mlir;

std::optional<IndexForm> NestIndices::of(Value value) const {
  if (auto found = forms.find(value); found != forms.end())
    return found->second;
  tile::ParallelOp loops = nest;
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == loops.getBodyBlock()) {
    IndexForm form;
    const size_t fromLast = loops.getInductionVars().size() - 1 - argument.getArgNumber();
    form.factors[1 - fromLast] = 1;
    return form;
  }
  const bool isOutside = !loops.getBody().isAncestor(value.getParentRegion());
  if (isOutside)
    return IndexForm{{0, 0}, value};
  if (Value outside = uniform.lookupOrNull(value))
    return IndexForm{{0, 0}, outside};
  return std::nullopt;
}

bool NestIndices::add(Operation* op) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex())
    return false;
  SmallVector<IndexForm, 2> operands;
  for (Value operand : op->getOperands()) {
    std::optional<IndexForm> form = of(operand);
    if (!form)
      return false;
    operands.push_back(*form);
  }
  IndexForm result;
  const auto sum = [&](int64_t sign) {
    for (size_t dim = 0; dim < 2; ++dim)
      result.factors[dim] = operands[0].factors[dim] + sign * operands[1].factors[dim];
    Value left = operands[0].base, right = operands[1].base;
    if (!left && right && sign < 0)
      left = arith::ConstantOp::create(builder, builder.getZeroAttr(right.getType()));
    if (!left || !right)
      result.base = left ? left : right;
    else if (sign > 0)
      result.base = arith::AddIOp::create(builder, left, right);
    else
      result.base = arith::SubIOp::create(builder, left, right);
  };
  if (isa<arith::AddIOp>(op)) {
    sum(1);
  } else if (isa<arith::SubIOp>(op)) {
    sum(-1);
  } else if (isa<arith::MulIOp>(op)) {
    if (!operands[1].isFixed())
      std::swap(operands[0], operands[1]);
    const std::optional<int64_t> factor =
        operands[1].base ? getConstantIntValue(operands[1].base) : std::optional<int64_t>(0);
    if (!operands[1].isFixed() || !factor)
      return false;
    for (size_t dim = 0; dim < 2; ++dim)
      result.factors[dim] = operands[0].factors[dim] * *factor;
    if (operands[0].base)
      result.base = arith::MulIOp::create(builder, operands[0].base, operands[1].base);
  } else if (isa<arith::IndexCastOp>(op)) {
    result = operands[0];
    if (result.base)
      result.base = arith::IndexCastOp::create(builder, op->getResult(0).getType(), result.base);
  } else {
    return false;
  }
  forms[op->getResult(0)] = result;
  return true;
}

namespace {

/// A number as a constant and other numbers times constants.
struct Sum {
  int64_t constant = 0;
  SmallVector<std::pair<Value, int64_t>> terms;

  /// False: the expression is too deep, or its numbers too large.
  bool add(Value value, int64_t factor, int depth = 0) {
    int64_t product = 0;
    if (const std::optional<int64_t> known = getConstantIntValue(value))
      return !__builtin_mul_overflow(*known, factor, &product) &&
             !__builtin_add_overflow(constant, product, &constant);
    if (depth > 16)
      return false;
    if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
      return add(cast.getIn(), factor, depth + 1);
    if (auto sum = value.getDefiningOp<arith::AddIOp>())
      return add(sum.getLhs(), factor, depth + 1) && add(sum.getRhs(), factor, depth + 1);
    if (auto difference = value.getDefiningOp<arith::SubIOp>())
      return add(difference.getLhs(), factor, depth + 1) &&
             add(difference.getRhs(), -factor, depth + 1);
    if (auto times = value.getDefiningOp<arith::MulIOp>())
      if (const std::optional<int64_t> known = getConstantIntValue(times.getRhs()))
        return !__builtin_mul_overflow(*known, factor, &product) &&
               add(times.getLhs(), product, depth + 1);
    auto* same =
        llvm::find_if(terms, [&](const auto& term) { return isSameNumber(term.first, value); });
    if (same == terms.end())
      terms.emplace_back(value, factor);
    else
      same->second += factor;
    return true;
  }
};

} // namespace

std::optional<int64_t> differenceOf(Value a, Value b) {
  Sum sum;
  if ((a && !sum.add(a, 1)) || (b && !sum.add(b, -1)))
    return std::nullopt;
  const bool isConstant =
      llvm::all_of(sum.terms, [](const auto& term) { return term.second == 0; });
  return isConstant ? std::optional(sum.constant) : std::nullopt;
}

bool isSumOf(Value number, llvm::function_ref<bool(Value)> isKnown) {
  Sum sum;
  return sum.add(number, 1) && llvm::all_of(sum.terms, [&](const auto& term) {
           return term.second == 0 || isKnown(term.first);
         });
}

tile::BufferRegion withKnownExtents(tile::BufferRegion region) {
  for (OpFoldResult& extent : region.extents)
    if (auto value = dyn_cast<Value>(extent))
      if (const std::optional<int64_t> known = differenceOf(value, nullptr))
        extent = IntegerAttr::get(IndexType::get(value.getContext()), *known);
  return region;
}

bool isSameIndex(OpFoldResult a, OpFoldResult b) {
  const std::optional<int64_t> known = getConstantIntValue(a), other = getConstantIntValue(b);
  if (known || other)
    return known == other;
  return differenceOf(cast<Value>(a), cast<Value>(b)) == 0;
}

bool isSameRegion(const tile::BufferRegion& a, const tile::BufferRegion& b) {
  const tile::BufferRegion first = withKnownExtents(a), second = withKnownExtents(b);
  const auto areSame = [](ArrayRef<OpFoldResult> left, ArrayRef<OpFoldResult> right) {
    return llvm::equal(left, right, [](OpFoldResult x, OpFoldResult y) {
      const std::optional<int64_t> known = getConstantIntValue(x), other = getConstantIntValue(y);
      return known || other ? known == other : isSameNumber(cast<Value>(x), cast<Value>(y));
    });
  };
  return areSame(first.extents, second.extents) && areSame(first.offsets, second.offsets);
}

} // namespace tilewright::ascend
