// SPDX-License-Identifier: Apache-2.0
/// Computes with small floats (float16, bfloat16, 8 bits) in float32, and spells out their
/// conversions.
///
///   %c = arith.addf %a, %b : bf16
/// becomes
///   %0 = arith.bitcast %a : bf16 to i16 ... shift left by 16 ...     (exact)
///   %2 = arith.addf %0, %1 : f32
///   ... add 0x7fff and the odd bit, shift right by 16, keep NaN ...  (to nearest even)
///   %c = arith.bitcast %9 : i16 to bf16
///
/// A whole number that is known to have at most 8 bits is exact in bfloat16: of its float32 the upper half, without rounding
/// (4-bit weights: (byte & 15) - 8).
///
/// Only float16 <-> float32 stays as an op: every machine that we support has an instruction for
/// it. It stands before the conversion to LLVM, whose code generator would call __truncsfbf2 and
/// its like.
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/float_formats.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/TypeUtilities.h>
#include <mlir/Interfaces/InferIntRangeInterface.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;

Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<VectorType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

bool isSmall(Type type) {
  return isSmallFloat(getElementTypeOrSelf(type));
}

/// `value` in float32 if it is a small float, else itself.
Value widened(ImplicitLocOpBuilder& builder, Value value) {
  return isSmall(value.getType()) ? extendToFloat32(builder, value) : value;
}

Value expandExtension(ImplicitLocOpBuilder& builder, arith::ExtFOp op) {
  Value wide = extendToFloat32(builder, op.getIn());
  Type result = getElementTypeOrSelf(op.getType());
  if (isSmallFloat(result))
    return roundToSmall(builder, wide, result);
  return result.isF32() ? wide : arith::ExtFOp::create(builder, op.getType(), wide).getResult();
}

/// An int64 that float64 holds exactly and that rounds to a small float as `value` does: low bits
/// beyond the 53 are folded into one sticky bit.
Value foldLowBits(ImplicitLocOpBuilder& builder, Value value) {
  auto constant = [&](int64_t number) -> Value {
    TypedAttr scalar = builder.getI64IntegerAttr(number);
    auto shaped = dyn_cast<VectorType>(value.getType());
    return shaped ? arith::ConstantOp::create(builder,
                                              DenseElementsAttr::get(shaped, Attribute(scalar)))
                  : arith::ConstantOp::create(builder, scalar);
  };
  Value low = arith::AndIOp::create(builder, value, constant(0x7ff));
  Value lost = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, low, constant(0));
  Value high = arith::SubIOp::create(builder, value, low);
  Value sticky = arith::OrIOp::create(builder, high, constant(0x800));
  Value folded = arith::SelectOp::create(builder, lost, sticky, high);
  // Below 2^53 the number itself is exact.
  Value top = arith::ShRSIOp::create(builder, value, constant(53));
  Value shifted = arith::AddIOp::create(builder, top, constant(1));
  Value isSmallNumber =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ule, shifted, constant(1));
  return arith::SelectOp::create(builder, isSmallNumber, value, folded);
}

/// Between what an integer is, as far as the operations show that make it.
ConstantIntRanges rangeOf(Value value, int depth = 0) {
  constexpr int kMostSteps = 8; // a number may be used twice by each operation
  auto source = value.getDefiningOp<InferIntRangeInterface>();
  ConstantIntRanges range =
      ConstantIntRanges::maxRange(ConstantIntRanges::getStorageBitwidth(value.getType()));
  if (!source || depth == kMostSteps)
    return range;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : source->getOperands()) {
    if (!getElementTypeOrSelf(operand.getType()).isIntOrIndex())
      return range;
    operands.push_back(rangeOf(operand, depth + 1));
  }
  source.inferResultRanges(operands, [&](Value result, const ConstantIntRanges& inferred) {
    if (result == value)
      range = inferred;
  });
  return range;
}

/// Between these negative and positive, bfloat16 and float32 have every whole number.
constexpr int64_t kMostExactBfloat = 1 << 8, kMostExactFloat = 1 << 24;

/// Whether a number made of an integer is at most `most`, negative or positive.
bool isAtMost(Operation* conversion, int64_t most) {
  if (!isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(conversion))
    return false;
  const ConstantIntRanges range = rangeOf(conversion->getOperand(0));
  if (isa<arith::UIToFPOp>(conversion))
    return range.umax().ule(most);
  return range.smin().sge(-most) && range.smax().sle(most);
}

/// The upper half of a float32.
Value upperHalf(ImplicitLocOpBuilder& builder, Value value) {
  auto integer = [&](unsigned bits) {
    return withElement(value.getType(), builder.getIntegerType(bits));
  };
  Value bits = arith::BitcastOp::create(builder, integer(32), value);
  TypedAttr half = builder.getIntegerAttr(builder.getI32Type(), 16);
  if (auto shaped = dyn_cast<VectorType>(integer(32)))
    half = DenseElementsAttr::get(shaped, Attribute(half));
  Value shifted = arith::ShRUIOp::create(builder, bits, arith::ConstantOp::create(builder, half));
  Value upper = arith::TruncIOp::create(builder, integer(16), shifted);
  return arith::BitcastOp::create(builder, withElement(value.getType(), builder.getBF16Type()),
                                  upper);
}

template <typename Op> Value expandFromInteger(ImplicitLocOpBuilder& builder, Op op) {
  Value in = op.getIn();
  if (getElementTypeOrSelf(op.getType()).isBF16() && isAtMost(op, kMostExactBfloat))
    return upperHalf(builder,
                     Op::create(builder, withElement(op.getType(), builder.getF32Type()), in));
  const unsigned width = getElementTypeOrSelf(in.getType()).getIntOrFloatBitWidth();
  const bool isWide = width > 16 && !isAtMost(op, kMostExactFloat);
  if (isWide && width > 32)
    in = foldLowBits(builder, in);
  Type wide = isWide ? Type(builder.getF64Type()) : Type(builder.getF32Type());
  Value exact = Op::create(builder, withElement(op.getType(), wide), in);
  return roundToSmall(builder, exact, getElementTypeOrSelf(op.getType()));
}

/// One number on all lanes, as bits. (LLVM's code generator takes bfloat16 apart, lane by lane with conversions, where a vector
/// of it is made outside of the loop that stores it; so storeVector stores bits, too.)
Value expandBroadcast(ImplicitLocOpBuilder& builder, vector::BroadcastOp op) {
  Type source = op.getSource().getType();
  Type bits = builder.getIntegerType(getElementTypeOrSelf(source).getIntOrFloatBitWidth());
  Value number = arith::BitcastOp::create(builder, withElement(source, bits), op.getSource());
  Value lanes = vector::BroadcastOp::create(builder, withElement(op.getType(), bits), number);
  return arith::BitcastOp::create(builder, op.getType(), lanes);
}

/// One of two numbers, as bits: where a machine has no instructions for bfloat16, LLVM's code generator
/// would select in float32, with a conversion back.
Value expandSelect(ImplicitLocOpBuilder& builder, arith::SelectOp op) {
  Type bits = withElement(
      op.getType(),
      builder.getIntegerType(getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth()));
  Value yes = arith::BitcastOp::create(builder, bits, op.getTrueValue());
  Value no = arith::BitcastOp::create(builder, bits, op.getFalseValue());
  Value chosen = arith::SelectOp::create(builder, op.getCondition(), yes, no);
  return arith::BitcastOp::create(builder, op.getType(), chosen);
}

/// a * b + c, rounded once: the product of two small floats is exact in the wide type (of bfloat16 float64, as it has
/// float32's exponents), and a sum that is not gets an odd last digit, with which rounding again is right (Boldo and
/// Melquiond, 2008).
Value expandFma(ImplicitLocOpBuilder& builder, math::FmaOp op) {
  const Type element = getElementTypeOrSelf(op.getType());
  const bool isDouble = element.isBF16();
  const Type wide =
      withElement(op.getType(), isDouble ? builder.getF64Type() : builder.getF32Type());
  auto extended = [&](Value value) {
    Value single = widened(builder, value);
    return isDouble ? arith::ExtFOp::create(builder, wide, single).getResult() : single;
  };
  auto minus = [&](Value a, Value b) { return arith::SubFOp::create(builder, a, b).getResult(); };
  Value product =
      arith::MulFOp::create(builder, extended(op.getA()), extended(op.getB())).getResult();
  Value addend = extended(op.getC());
  Value sum = arith::AddFOp::create(builder, product, addend);
  Value part = minus(sum, product);
  Value lost =
      arith::AddFOp::create(builder, minus(product, minus(sum, part)), minus(addend, part));

  const Type whole =
      withElement(op.getType(), isDouble ? builder.getI64Type() : builder.getI32Type());
  auto constant = [&](int64_t number) {
    const TypedAttr scalar = builder.getIntegerAttr(getElementTypeOrSelf(whole), number);
    auto shaped = dyn_cast<VectorType>(whole);
    return arith::ConstantOp::create(
        builder, shaped ? DenseElementsAttr::get(shaped, Attribute(scalar)) : scalar);
  };
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(wide));
  auto is = [&](arith::CmpFPredicate predicate, Value value) {
    return arith::CmpFOp::create(builder, predicate, value, zero);
  };
  Value bits = arith::BitcastOp::create(builder, whole, sum);
  Value last = arith::AndIOp::create(builder, bits, constant(1));
  Value isEven = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, last, constant(0));
  Value moves = arith::AndIOp::create(builder, isEven, is(arith::CmpFPredicate::ONE, lost));
  Value isInward = arith::XOrIOp::create(builder, is(arith::CmpFPredicate::OGT, lost),
                                         is(arith::CmpFPredicate::OGT, sum));
  Value step = arith::SelectOp::create(builder, isInward, constant(-1), constant(1));
  Value odd = arith::AddIOp::create(builder, bits, step);
  Value exact = arith::BitcastOp::create(
      builder, wide, arith::SelectOp::create(builder, moves, odd, bits).getResult());
  return roundToSmall(builder, exact, element);
}

/// Any other op: the same op on float32.
Value expandArithmetic(ImplicitLocOpBuilder& builder, Operation* op) {
  OperationState state(builder.getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.addOperands(widened(builder, operand));
  Type result = op->getResult(0).getType();
  state.addTypes(isSmall(result) ? withElement(result, builder.getF32Type()) : result);
  state.attributes = op->getDiscardableAttrDictionary();
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Value value = builder.create(state)->getResult(0);
  return isSmall(result) ? roundToSmall(builder, value, getElementTypeOrSelf(result)) : value;
}

/// The replacement of an op, or null if it may stay.
Value expand(ImplicitLocOpBuilder& builder, Operation* op) {
  // These move bits, or are native.
  if (isa<arith::ConstantOp, arith::BitcastOp>(op))
    return {};
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return getElementTypeOrSelf(op->getResult(0)).isBF16() ? expandSelect(builder, select)
                                                           : Value();
  if (auto extension = dyn_cast<arith::ExtFOp>(op)) {
    Type from = getElementTypeOrSelf(extension.getIn().getType());
    if (from.isF16() && getElementTypeOrSelf(extension.getType()).isF32())
      return {};
    return expandExtension(builder, extension);
  }
  if (auto truncation = dyn_cast<arith::TruncFOp>(op)) {
    Type from = getElementTypeOrSelf(truncation.getIn().getType());
    Type to = getElementTypeOrSelf(truncation.getType());
    if (from.isF32() && to.isF16())
      return {};
    if (from.isF32() && to.isBF16() &&
        isAtMost(truncation.getIn().getDefiningOp(), kMostExactBfloat))
      return upperHalf(builder, truncation.getIn());
    return roundToSmall(builder, widened(builder, truncation.getIn()), to,
                        roundingOf(truncation.getOut()));
  }
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return expandBroadcast(builder, broadcast);
  if (auto fused = dyn_cast<math::FmaOp>(op))
    return expandFma(builder, fused);
  if (auto convert = dyn_cast<arith::SIToFPOp>(op))
    return expandFromInteger(builder, convert);
  if (auto convert = dyn_cast<arith::UIToFPOp>(op))
    return expandFromInteger(builder, convert);
  return expandArithmetic(builder, op);
}

struct ExpandSmallFloats : KernelPass<ExpandSmallFloats> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandSmallFloats)
  static constexpr llvm::StringLiteral kArgument = "cpu-expand-small-floats";
  static constexpr llvm::StringLiteral kDescription =
      "compute with small floats in float32, and spell out their conversions";

  void runOnOperation() override {
    SmallVector<Operation*> found;
    getOperation()->walk([&](Operation* op) {
      if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
          !isa<vector::BroadcastOp>(op))
        return;
      if (llvm::any_of(op->getOperandTypes(), isSmall) ||
          llvm::any_of(op->getResultTypes(), isSmall))
        found.push_back(op);
    });
    for (Operation* op : found) {
      ImplicitLocOpBuilder builder(op->getLoc(), op);
      if (Value replacement = expand(builder, op)) {
        op->getResult(0).replaceAllUsesWith(replacement);
        op->erase();
      }
    }
  }
};

} // namespace

std::unique_ptr<Pass> createExpandSmallFloats() {
  return std::make_unique<ExpandSmallFloats>();
}

} // namespace tilewright::cpu
