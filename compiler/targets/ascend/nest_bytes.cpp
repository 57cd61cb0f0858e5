// SPDX-License-Identifier: Apache-2.0
// Bytes of a nest's body: the vector unit converts them and does no more, so they are computed in 16 bits of which
// the low 8 count.
#include "compiler/targets/ascend/nest_vectorizer.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using npu::BinaryKind;
using npu::Rounding;
using npu::ScalarKind;
using Tile = TileOperations::Result;

static IntegerType integer(MLIRContext* context, unsigned bits, bool hasNoSign) {
  return IntegerType::get(context, bits, hasNoSign ? IntegerType::Unsigned : IntegerType::Signed);
}

Tile NestVectorizer::shortsOf(Value value) {
  const Tile tile = tileOf(value);
  if (!tile || tiles.elementOf(*tile).isSignedInteger(16))
    return tile;
  return extendedByte(value, tiles.elementOf(*tile).isUnsignedInteger());
}

/// With its sign, or with zeros, in the high bits.
Tile NestVectorizer::extendedByte(Value value, bool hasNoSign) {
  MLIRContext* context = builder.getContext();
  const Type wide = integer(context, 16, false);
  if (Value scalar = scalarOf(value)) {
    const Type type = builder.getI16Type();
    return tiles.duplicate(hasNoSign ? builder.createOrFold<arith::ExtUIOp>(type, scalar)
                                     : builder.createOrFold<arith::ExtSIOp>(type, scalar),
                           wide);
  }
  const Tile tile = tileOf(value);
  if (!tile)
    return std::nullopt;
  if (!tiles.elementOf(*tile).isSignedInteger(16)) {
    const Tile bytes = tiles.viewed(*tile, integer(context, 8, hasNoSign));
    return bytes ? tiles.convert(*bytes, wide, std::nullopt, nullptr) : std::nullopt;
  }
  Value bits = arith::ConstantOp::create(builder, builder.getI16IntegerAttr(8));
  const VectorTile made = tiles.makeTile(wide);
  tiles.withScalar(ScalarKind::ShiftLeft, made, *tile, bits);
  const Tile shifted = tiles.viewed(made, integer(context, 16, hasNoSign));
  tiles.withScalar(ScalarKind::ShiftRight, *shifted, *shifted, bits);
  return made;
}

/// Numbers of 8 bits as float16, of 16 bits as float32.
Tile NestVectorizer::smallAsFloats(Value value, bool hasNoSign) {
  if (value.getType().isInteger(16)) {
    const Tile shorts = hasNoSign ? withTopBitFlipped(value) : tileOf(value);
    const Tile floats =
        shorts ? tiles.convert(*shorts, builder.getF32Type(), std::nullopt, nullptr) : shorts;
    if (!floats || !hasNoSign)
      return floats;
    constexpr double top = 1 << 15;
    Value back = arith::ConstantOp::create(builder, builder.getF32FloatAttr(top));
    tiles.withScalar(ScalarKind::Add, *floats, *floats, back);
    return floats;
  }
  const Type floats = builder.getF16Type();
  const Tile tile = scalarOf(value) ? std::nullopt : tileOf(value);
  if (tile && tiles.elementOf(*tile).isInteger(8)) {
    const Tile bytes = tiles.viewed(*tile, integer(builder.getContext(), 8, hasNoSign));
    return bytes ? tiles.convert(*bytes, floats, std::nullopt, nullptr) : std::nullopt;
  }
  const Tile shorts = extendedByte(value, hasNoSign);
  return shorts ? tiles.convert(*shorts, floats, std::nullopt, nullptr) : std::nullopt;
}

Tile NestVectorizer::computedBytes(Operation* op, BinaryKind kind) {
  if (kind == BinaryKind::Div)
    return none("the vector unit divides no integers");
  const bool isOrdered = kind == BinaryKind::Max || kind == BinaryKind::Min;
  const bool hasNoSign = isa<arith::MaxUIOp, arith::MinUIOp>(op);
  const auto operand = [&](Value value) {
    return isOrdered ? extendedByte(value, hasNoSign) : shortsOf(value);
  };
  const Tile a = operand(op->getOperand(0)), b = operand(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  const VectorTile made = tiles.makeTile(integer(builder.getContext(), 16, false));
  tiles.binary(kind, made, *a, *b);
  return made;
}

Tile NestVectorizer::shiftedBytes(Operation* op) {
  Value amount = scalarOf(op->getOperand(1));
  if (!amount)
    return none("it shifts by a number of its own for each element");
  const bool isLeft = isa<arith::ShLIOp>(op), hasNoSign = isa<arith::ShRUIOp>(op);
  const Tile source =
      isLeft ? shortsOf(op->getOperand(0)) : extendedByte(op->getOperand(0), hasNoSign);
  if (!source)
    return std::nullopt;
  amount = builder.createOrFold<arith::ExtUIOp>(builder.getI16Type(), amount);
  const VectorTile made = tiles.makeTile(tiles.elementOf(*source));
  const Type taken = integer(builder.getContext(), 16, hasNoSign);
  tiles.withScalar(isLeft ? ScalarKind::ShiftLeft : ScalarKind::ShiftRight,
                   *tiles.viewed(made, taken), *tiles.viewed(*source, taken), amount);
  return made;
}

/// Bytes side by side of which two are 16 bits, if that comes out even.
Tile NestVectorizer::pairsOf(Value value) {
  if (Value scalar = scalarOf(value)) {
    const VectorTile made = tiles.makeTile(integer(builder.getContext(), 8, false));
    return tiles.isOfPairs(made) && tiles.fillWith(made, scalar) ? Tile(made) : std::nullopt;
  }
  const Tile tile = tileOf(value);
  return tile && tiles.elementOf(*tile).isInteger(8) && tiles.isOfPairs(*tile) ? tile
                                                                               : std::nullopt;
}

/// Of bytes as they lie; without `right` their inverse.
Tile NestVectorizer::bitsInPairs(Operation* op, Value left, Value right) {
  const Tile a = pairsOf(left), b = right ? pairsOf(right) : a;
  if (!a || !b || a->pitch != b->pitch)
    return std::nullopt;
  VectorTile target = targetOf(op, tiles.elementOf(*a));
  if (!tiles.isOfPairs(target))
    return std::nullopt;
  return right ? tiles.bits(op, *a, *b, &target) : tiles.invertedBits(*a, &target);
}

bool NestVectorizer::storeBytes(const VectorTile& target, Value value) {
  const Type byte = tiles.elementOf(target);
  const Tile numbers = smallAsFloats(value, byte.isUnsignedInteger());
  return numbers && tiles.castTo(*numbers, target, {byte, Rounding::Trunc});
}

} // namespace tilewright::ascend
