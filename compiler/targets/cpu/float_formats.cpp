// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/float_formats.h"

#include "compiler/ir/dialect.h"
#include "compiler/targets/cpu/attributes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Matchers.h>
#include <mlir/IR/TypeUtilities.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;

/// Integer and float arithmetic on scalars or vectors of one shape, in 32 bits unless said
/// otherwise.
struct Bits {
  ImplicitLocOpBuilder& builder;
  /// The vector type that gives the shape, or null for scalars.
  VectorType shape;

  Bits(ImplicitLocOpBuilder& builder, Value like)
      : builder(builder), shape(dyn_cast<VectorType>(like.getType())) {}

  Type type(Type element) const {
    VectorType vector = shape;
    return vector ? Type(vector.clone(element)) : element;
  }
  Type integer(int width) const {
    return type(builder.getIntegerType(width));
  }
  Value constant(uint32_t value) const {
    TypedAttr scalar = builder.getI32IntegerAttr(int32_t(value));
    if (!shape)
      return arith::ConstantOp::create(builder, scalar);
    return arith::ConstantOp::create(
        builder, DenseElementsAttr::get(cast<ShapedType>(integer(32)), Attribute(scalar)));
  }
  Value floatConstant(uint32_t bits) const {
    return toFloat(constant(bits));
  }
  Value toFloat(Value bits) const {
    return arith::BitcastOp::create(builder, type(builder.getF32Type()), bits);
  }
  Value toBits(Value value, int width) const {
    return arith::BitcastOp::create(builder, integer(width), value);
  }
  Value widen(Value value) const {
    return arith::ExtUIOp::create(builder, integer(32), value);
  }
  Value narrow(Value value, int width) const {
    return arith::TruncIOp::create(builder, integer(width), value);
  }
  Value add(Value a, Value b) const {
    return arith::AddIOp::create(builder, a, b);
  }
  Value sub(Value a, Value b) const {
    return arith::SubIOp::create(builder, a, b);
  }
  Value both(Value a, Value b) const {
    return arith::AndIOp::create(builder, a, b);
  }
  Value either(Value a, Value b) const {
    return arith::OrIOp::create(builder, a, b);
  }
  Value left(Value a, int count) const {
    return arith::ShLIOp::create(builder, a, constant(count));
  }
  Value right(Value a, int count) const {
    return arith::ShRUIOp::create(builder, a, constant(count));
  }
  /// Unsigned comparison.
  Value is(arith::CmpIPredicate predicate, Value a, uint32_t b) const {
    return arith::CmpIOp::create(builder, predicate, a, constant(b));
  }
  Value select(Value condition, Value yes, Value no) const {
    return arith::SelectOp::create(builder, condition, yes, no);
  }
};

using Predicate = arith::CmpIPredicate;

constexpr uint32_t infinityBits = 0x7f800000, magnitudeMask = 0x7fffffff;

/// What is left of this without its `count` low bits is `value` to nearest, ties to even.
Value biased(const Bits& b, Value value, int count) {
  Value odd = b.both(b.right(value, count), b.constant(1));
  Value bias = b.add(odd, b.constant((1u << (count - 1)) - 1));
  return b.add(value, bias);
}

/// Drops `count` low bits, to nearest, ties to even.
Value roundShift(const Bits& b, Value value, int count) {
  return b.right(biased(b, value, count), count);
}

uint32_t powerOfTwo(int exponent) {
  return uint32_t(exponent + 127) << 23;
}

/// float64 to float32 so that a second rounding (to at most 22 bits) gives what one would have
/// given: toward zero, with the last bit set where that lost something ("round to odd").
Value roundToOdd(ImplicitLocOpBuilder& builder, Value value) {
  Bits b(builder, value);
  Value nearest = arith::TruncFOp::create(builder, b.type(builder.getF32Type()), value);
  Value back = arith::ExtFOp::create(builder, value.getType(), nearest);
  Value bits = b.toBits(nearest, 32);
  auto magnitude = [&](Value number) -> Value {
    Type wide = b.type(builder.getI64Type());
    Value raw = arith::BitcastOp::create(builder, wide, number);
    TypedAttr scalar = builder.getI64IntegerAttr(INT64_MAX);
    Value mask =
        b.shape ? arith::ConstantOp::create(
                      builder, DenseElementsAttr::get(cast<ShapedType>(wide), Attribute(scalar)))
                : arith::ConstantOp::create(builder, scalar);
    return arith::AndIOp::create(builder, raw, mask);
  };
  Value grew = arith::CmpIOp::create(builder, Predicate::ugt, magnitude(back), magnitude(value));
  Value inexact = arith::CmpFOp::create(builder, arith::CmpFPredicate::ONE, back, value);
  Value toZero = b.select(grew, b.sub(bits, b.constant(1)), bits);
  Value odd = b.either(toZero, b.constant(1));
  return b.toFloat(b.select(inexact, odd, bits));
}

/// Whether a NaN among these numbers is a quiet one: the machine's arithmetic makes no others. (With a constant, LLVM might
/// leave out the operation.)
bool hasQuietNans(Value value) {
  for (auto part = value.getDefiningOp<vector::ShuffleOp>(); part;
       part = value.getDefiningOp<vector::ShuffleOp>()) {
    if (part.getV1() != part.getV2())
      return false;
    value = part.getV1();
  }
  Operation* op = value.getDefiningOp();
  return isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op) &&
         llvm::none_of(op->getOperands(), [](Value operand) {
           if (auto spread = operand.getDefiningOp<vector::BroadcastOp>())
             operand = spread.getSource();
           return matchPattern(operand, m_Constant());
         });
}

/// The upper half is the bfloat16.
Value roundedInUpperHalf(const Bits& b, Value value, Rounding how) {
  Value bits = b.toBits(value, 32);
  if (how.hasShortNans && hasQuietNans(value))
    return how.isRough ? b.add(bits, b.constant(0x8000)) : biased(b, bits, 16);
  Value isNan = arith::CmpFOp::create(b.builder, arith::CmpFPredicate::UNO, value, value);
  Value nan = hasQuietNans(value) ? bits : b.either(bits, b.constant(0x400000));
  return b.select(isNan, nan, biased(b, bits, 16));
}

Value bfloatFromFloat32(const Bits& b, Value value, Type element, Rounding how) {
  Value upper = b.right(roundedInUpperHalf(b, value, how), 16);
  return arith::BitcastOp::create(b.builder, b.type(element), b.narrow(upper, 16));
}

Value smallToFloat32(const Bits& b, Value value, const SmallFormat& format) {
  const uint32_t mask = format.magnitudeMask();
  Value pattern = b.widen(b.toBits(value, format.bits));
  Value magnitude = b.both(pattern, b.constant(mask));
  // With the exponent field read as float32's, the value is off by a power of two; the product is
  // exact, and makes subnormals normal.
  Value scaled =
      arith::MulFOp::create(b.builder, b.toFloat(b.left(magnitude, 23 - format.mantissaBits)),
                            b.floatConstant(powerOfTwo(127 - format.bias)));
  Value bits = b.toBits(scaled, 32);
  const Value nan = b.constant(0x7fc00000);
  if (format.special == SpecialValues::OnlyNan) {
    bits = b.select(b.is(Predicate::eq, magnitude, mask), nan, bits);
  } else if (format.special == SpecialValues::Ieee) {
    const uint32_t infinity = format.infinity();
    bits = b.select(b.is(Predicate::eq, magnitude, infinity), b.constant(infinityBits), bits);
    bits = b.select(b.is(Predicate::ugt, magnitude, infinity), nan, bits);
  }
  bits = b.either(bits, b.left(b.both(pattern, b.constant(mask + 1)), 32 - format.bits));
  if (format.special == SpecialValues::NegativeZeroIsNan)
    bits = b.select(b.is(Predicate::eq, pattern, mask + 1), nan, bits);
  return b.toFloat(bits);
}

Value smallFromFloat32(const Bits& b, Value value, Type element, const SmallFormat& format) {
  const int shift = 23 - format.mantissaBits;
  const uint32_t mask = format.magnitudeMask(), largest = format.largest();
  Value bits = b.toBits(value, 32);
  Value magnitude = b.both(bits, b.constant(magnitudeMask));
  Value sign = b.both(b.right(bits, 32 - format.bits), b.constant(mask + 1));

  Value normal = b.sub(roundShift(b, magnitude, shift),
                       b.constant(uint32_t(127 - format.bias) << format.mantissaBits));
  // Adding a number whose last place is the subnormals' step lets the hardware round.
  const uint32_t step = powerOfTwo(1 - format.bias - format.mantissaBits + 23);
  Value sum = arith::AddFOp::create(b.builder, b.toFloat(magnitude), b.floatConstant(step));
  Value subnormal = b.sub(b.toBits(sum, 32), b.constant(step));
  Value result =
      b.select(b.is(Predicate::ult, magnitude, powerOfTwo(1 - format.bias)), subnormal, normal);
  result = b.select(b.is(Predicate::ugt, result, largest), b.constant(largest), result);

  Value isNan = b.is(Predicate::ugt, magnitude, infinityBits);
  switch (format.special) {
  case SpecialValues::Ieee:
    result =
        b.select(isNan, b.constant(format.infinity() | (1u << (format.mantissaBits - 1))), result);
    result = b.either(result, sign);
    break;
  case SpecialValues::OnlyNan:
    result = b.either(b.select(isNan, b.constant(mask), result), sign);
    break;
  case SpecialValues::NegativeZeroIsNan:
    result = b.select(b.is(Predicate::eq, result, 0), result, b.either(result, sign));
    result = b.select(isNan, b.constant(mask + 1), result);
    break;
  case SpecialValues::None:
    result = b.select(isNan, b.constant(mask), b.either(result, sign));
    break;
  }
  return arith::BitcastOp::create(b.builder, b.type(element), b.narrow(result, format.bits));
}

/// float8_e8m0fnu: only an exponent; 255 is NaN.
Value exponentToFloat32(const Bits& b, Value value) {
  Value pattern = b.widen(b.toBits(value, 8));
  Value bits = b.left(pattern, 23);
  bits = b.select(b.is(Predicate::eq, pattern, 0), b.constant(0x00400000), bits);
  bits = b.select(b.is(Predicate::eq, pattern, 255), b.constant(0x7fc00000), bits);
  return b.toFloat(bits);
}

Value exponentFromFloat32(const Bits& b, Value value, Type element) {
  Value bits = b.toBits(value, 32);
  // To nearest in the significand's sense: 1.5 and above goes up (ties go up: the even neighbour is
  // not defined for a format without mantissa). Zero and below have no code but NaN or the least
  // power.
  Value rounded = b.right(b.add(bits, b.constant(0x00400000)), 23);
  Value tiny = b.is(Predicate::ult, bits, 0x00600000);
  Value result = b.select(tiny, b.constant(0), rounded);
  result = b.select(b.is(Predicate::ugt, result, 254), b.constant(254), result);
  Value isNan = b.is(Predicate::ugt, bits, infinityBits); // negative numbers, too
  Value isMinusZero = b.is(Predicate::eq, bits, 0x80000000);
  result = b.select(isMinusZero, b.constant(0), b.select(isNan, b.constant(255), result));
  return arith::BitcastOp::create(b.builder, b.type(element), b.narrow(result, 8));
}

} // namespace

std::optional<SmallFormat> smallFormat(Type element) {
  if (isa<Float8E5M2Type>(element))
    return SmallFormat{8, 2, 15, SpecialValues::Ieee};
  if (isa<Float8E4M3Type>(element))
    return SmallFormat{8, 3, 7, SpecialValues::Ieee};
  if (isa<Float8E3M4Type>(element))
    return SmallFormat{8, 4, 3, SpecialValues::Ieee};
  if (isa<Float8E4M3FNType>(element))
    return SmallFormat{8, 3, 7, SpecialValues::OnlyNan};
  if (isa<Float8E4M3FNUZType>(element))
    return SmallFormat{8, 3, 8, SpecialValues::NegativeZeroIsNan};
  if (isa<Float8E5M2FNUZType>(element))
    return SmallFormat{8, 2, 16, SpecialValues::NegativeZeroIsNan};
  if (isa<Float8E4M3B11FNUZType>(element))
    return SmallFormat{8, 3, 11, SpecialValues::NegativeZeroIsNan};
  if (isa<Float6E2M3FNType>(element))
    return SmallFormat{6, 3, 1, SpecialValues::None};
  if (isa<Float6E3M2FNType>(element))
    return SmallFormat{6, 2, 3, SpecialValues::None};
  if (isa<Float4E2M1FNType, tile::UnpackedFloat4Type>(element))
    return SmallFormat{4, 1, 1, SpecialValues::None};
  return std::nullopt;
}

bool isSmallFloat(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32;
}

Value extendToFloat32(ImplicitLocOpBuilder& builder, Value value) {
  Bits b(builder, value);
  Type element = getElementTypeOrSelf(value.getType());
  if (element.isF16())
    return arith::ExtFOp::create(builder, b.type(builder.getF32Type()), value);
  if (element.isBF16())
    return b.toFloat(b.left(b.widen(b.toBits(value, 16)), 16));
  if (isa<Float8E8M0FNUType>(element))
    return exponentToFloat32(b, value);
  return smallToFloat32(b, value, *smallFormat(element));
}

Rounding roundingOf(Value rounded) {
  Operation* op = rounded.getDefiningOp();
  return op ? Rounding{op->hasAttr(kShortNansAttr), op->hasAttr(kRoughAttr)} : Rounding();
}

Value roundToSmall(ImplicitLocOpBuilder& builder, Value value, Type element, Rounding how) {
  if (getElementTypeOrSelf(value.getType()).isF64())
    value = roundToOdd(builder, value);
  Bits b(builder, value);
  if (element.isF16())
    return arith::TruncFOp::create(builder, b.type(element), value);
  if (element.isBF16())
    return bfloatFromFloat32(b, value, element, how);
  if (isa<Float8E8M0FNUType>(element))
    return exponentFromFloat32(b, value, element);
  return smallFromFloat32(b, value, element, *smallFormat(element));
}

Value roundToBfloatPairs(ImplicitLocOpBuilder& builder, Value even, Value odd, Rounding how) {
  Bits b(builder, even);
  Value low = b.right(roundedInUpperHalf(b, even, how), 16);
  Value high = b.both(roundedInUpperHalf(b, odd, how), b.constant(0xffff0000));
  return b.either(low, high);
}

} // namespace tilewright::cpu
