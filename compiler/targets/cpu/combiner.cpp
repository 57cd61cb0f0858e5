// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/combiner.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/IR/TypeUtilities.h>

namespace tilewright::cpu {

using namespace mlir;
using tile::ReduceKind;

Combiner::Combiner(ReduceKind kind, Type element, bool propagateNan)
    : kind(kind), element(element), propagateNan(propagateNan), isFloat(isa<FloatType>(element)),
      isUnsigned(element.isUnsignedInteger() || element.isInteger(1)) {
  if (element.isInteger(1) && (kind == ReduceKind::Sum || kind == ReduceKind::AbsSum))
    this->kind = ReduceKind::BitOr; // a sum of bools is a bool: whether any holds
  if (isFloat && element.getIntOrFloatBitWidth() < 32)
    accumulator = Float32Type::get(element.getContext());
  else if (auto integer = dyn_cast<IntegerType>(element))
    accumulator = IntegerType::get(element.getContext(), integer.getWidth());
  else
    accumulator = element;
}

Value Combiner::identity(ImplicitLocOpBuilder& builder, Type type) const {
  TypedAttr scalar = isFloat ? TypedAttr(FloatAttr::get(accumulator, floatIdentity()))
                             : TypedAttr(IntegerAttr::get(accumulator, integerIdentity()));
  if (auto shaped = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, DenseElementsAttr::get(shaped, Attribute(scalar)));
  return arith::ConstantOp::create(builder, scalar);
}

Value Combiner::enter(ImplicitLocOpBuilder& builder, Value value) const {
  if (getElementTypeOrSelf(value.getType()) != accumulator) {
    auto shaped = dyn_cast<VectorType>(value.getType());
    Type wide = shaped ? Type(shaped.clone(accumulator)) : accumulator;
    value = arith::ExtFOp::create(builder, wide, value);
  }
  if (!takesMagnitudes())
    return value;
  if (isFloat)
    return math::AbsFOp::create(builder, value);
  return isUnsigned ? value : Value(math::AbsIOp::create(builder, value));
}

Value Combiner::combine(ImplicitLocOpBuilder& builder, Value a, Value b) const {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::AbsSum:
    return isFloat ? Value(arith::AddFOp::create(builder, a, b))
                   : arith::AddIOp::create(builder, a, b);
  case ReduceKind::Max:
  case ReduceKind::AbsMax:
    if (isFloat)
      return propagateNan ? Value(arith::MaximumFOp::create(builder, a, b))
                          : arith::MaxNumFOp::create(builder, a, b);
    return comparesUnsigned() ? Value(arith::MaxUIOp::create(builder, a, b))
                              : arith::MaxSIOp::create(builder, a, b);
  case ReduceKind::Min:
    if (isFloat)
      return propagateNan ? Value(arith::MinimumFOp::create(builder, a, b))
                          : arith::MinNumFOp::create(builder, a, b);
    return isUnsigned ? Value(arith::MinUIOp::create(builder, a, b))
                      : arith::MinSIOp::create(builder, a, b);
  case ReduceKind::BitAnd:
    return arith::AndIOp::create(builder, a, b);
  case ReduceKind::BitOr:
    return arith::OrIOp::create(builder, a, b);
  case ReduceKind::BitXor:
    return arith::XOrIOp::create(builder, a, b);
  }
  llvm_unreachable("all kinds are above");
}

Value Combiner::accumulate(ImplicitLocOpBuilder& builder, Value sum, Value value) const {
  const bool isMin = kind == ReduceKind::Min;
  if (!isFloat || propagateNan || !(isMin || kind == ReduceKind::Max || kind == ReduceKind::AbsMax))
    return combine(builder, sum, value);
  // False for NaN, which then is passed over.
  Value isBeyond = arith::CmpFOp::create(
      builder, isMin ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT, value, sum);
  return arith::SelectOp::create(builder, isBeyond, value, sum);
}

Value Combiner::combineHalves(ImplicitLocOpBuilder& builder, Value lanes, int64_t count) const {
  for (int64_t half = cast<VectorType>(lanes.getType()).getNumElements() / 2; half >= count;
       half /= 2) {
    auto low = llvm::to_vector(llvm::seq<int64_t>(0, half));
    auto high = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
    lanes = combine(builder, vector::ShuffleOp::create(builder, lanes, lanes, low),
                    vector::ShuffleOp::create(builder, lanes, lanes, high));
  }
  return lanes;
}

Value Combiner::reduceLanes(ImplicitLocOpBuilder& builder, Value lanes) const {
  const bool isSum = kind == ReduceKind::Sum || kind == ReduceKind::AbsSum;
  if (!isFloat || isSum)
    return vector::ReductionOp::create(builder, lanesKind(), lanes);
  return vector::ExtractOp::create(builder, combineHalves(builder, lanes, 1), 0);
}

APFloat Combiner::floatIdentity() const {
  const llvm::fltSemantics& semantics = cast<FloatType>(accumulator).getFloatSemantics();
  if (kind == ReduceKind::Max)
    return APFloat::getInf(semantics, /*Negative=*/true);
  if (kind == ReduceKind::Min)
    return APFloat::getInf(semantics);
  return APFloat::getZero(semantics);
}

APInt Combiner::integerIdentity() const {
  const unsigned width = accumulator.getIntOrFloatBitWidth();
  if (kind == ReduceKind::Max)
    return isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  if (kind == ReduceKind::Min)
    return isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  return kind == ReduceKind::BitAnd ? APInt::getAllOnes(width) : APInt::getZero(width);
}

vector::CombiningKind Combiner::lanesKind() const {
  using Kind = vector::CombiningKind;
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::AbsSum:
    return Kind::ADD;
  case ReduceKind::Max:
  case ReduceKind::AbsMax:
    if (isFloat)
      return propagateNan ? Kind::MAXIMUMF : Kind::MAXNUMF;
    return comparesUnsigned() ? Kind::MAXUI : Kind::MAXSI;
  case ReduceKind::Min:
    if (isFloat)
      return propagateNan ? Kind::MINIMUMF : Kind::MINNUMF;
    return isUnsigned ? Kind::MINUI : Kind::MINSI;
  case ReduceKind::BitAnd:
    return Kind::AND;
  case ReduceKind::BitOr:
    return Kind::OR;
  case ReduceKind::BitXor:
    return Kind::XOR;
  }
  llvm_unreachable("all kinds are above");
}

} // namespace tilewright::cpu
