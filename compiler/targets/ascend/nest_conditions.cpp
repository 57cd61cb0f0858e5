// SPDX-License-Identifier: Apache-2.0
// Comparisons of a nest's body, what is chosen by them, and their storage as bools.
#include "compiler/targets/ascend/nest_vectorizer.h"
#include "compiler/targets/ascend/operation_name.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using npu::CompareMode;
using npu::Rounding;
using npu::ScalarKind;
using Tile = TileOperations::Result;

static std::optional<CompareMode> compareMode(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OLT:
    return CompareMode::LT;
  case P::OLE:
    return CompareMode::LE;
  case P::OGT:
    return CompareMode::GT;
  case P::OGE:
    return CompareMode::GE;
  case P::OEQ:
    return CompareMode::EQ;
  case P::UNE:
    return CompareMode::NE;
  default:
    return std::nullopt;
  }
}

static bool isUnsigned(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  return predicate == P::ult || predicate == P::ule || predicate == P::ugt || predicate == P::uge;
}

static CompareMode compareMode(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (withSign(predicate)) {
  case P::slt:
    return CompareMode::LT;
  case P::sle:
    return CompareMode::LE;
  case P::sgt:
    return CompareMode::GT;
  case P::sge:
    return CompareMode::GE;
  case P::eq:
    return CompareMode::EQ;
  default:
    return CompareMode::NE;
  }
}

/// The comparison with its sides exchanged.
static CompareMode mirrored(CompareMode mode) {
  switch (mode) {
  case CompareMode::LT:
    return CompareMode::GT;
  case CompareMode::LE:
    return CompareMode::GE;
  case CompareMode::GT:
    return CompareMode::LT;
  case CompareMode::GE:
    return CompareMode::LE;
  default:
    return mode;
  }
}

// --- comparisons --------------------------------------------------------------------------------

Tile NestVectorizer::compared(Operation* op) {
  auto ofIntegers = dyn_cast<arith::CmpIOp>(op);
  if (!ofIntegers)
    return comparedFloats(cast<arith::CmpFOp>(op));
  const Type type = op->getOperand(0).getType(), element = storedType(type);
  if (element.isInteger(8) || element.isInteger(16))
    return comparedAsFloats(ofIntegers);
  if (element.isInteger(64))
    return comparedWide(ofIntegers);
  if (!element.isSignedInteger(32))
    return none("it compares conditions");
  const arith::CmpIPredicate predicate = ofIntegers.getPredicate();
  const auto operand = [&](Value value) {
    return isUnsigned(predicate) ? withTopBitFlipped(value) : tileOf(value);
  };
  const Tile a = operand(ofIntegers.getLhs()), b = operand(ofIntegers.getRhs());
  return a && b ? tiles.compareIntegers(withSign(predicate), *a, *b) : std::nullopt;
}

Tile NestVectorizer::comparedFloats(arith::CmpFOp op) {
  Value left = op.getLhs(), right = op.getRhs();
  std::optional<CompareMode> mode = compareMode(op.getPredicate());
  const Type element = left.getType();
  if (!mode || (!element.isBF16() && !isVectorType(element)))
    return none("the vector unit has no such comparison");
  if (scalarOf(left)) {
    std::swap(left, right);
    mode = mirrored(*mode);
  }
  Value scalar = element.isBF16() ? Value() : scalarOf(right);
  const Tile a = operandOf(left), b = scalar ? Tile(VectorTile{}) : operandOf(right);
  if (!a || !b)
    return std::nullopt;
  return tiles.compareFloats(*mode, *a, scalar ? nullptr : &*b, scalar);
}

/// Of 64 bits there is equality only: where no bit differs. Their floats are 0 for 0 alone.
Tile NestVectorizer::comparedWide(arith::CmpIOp op) {
  const CompareMode mode = compareMode(op.getPredicate());
  if (mode != CompareMode::EQ && mode != CompareMode::NE)
    return none(
        "the vector unit compares integers of 64 bits by == and != only, those of 32 bits by all");
  Value left = op.getLhs(), right = op.getRhs();
  if (scalarOf(left))
    std::swap(left, right);
  const Tile a = asWide(left), b = asWide(right);
  const Tile bits = a && b ? tiles.exclusiveBits(*a, *b) : std::nullopt;
  const Tile numbers =
      bits ? tiles.convert(*bits, builder.getF32Type(), std::nullopt, nullptr) : std::nullopt;
  if (!numbers)
    return std::nullopt;
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(builder.getF32Type()));
  return tiles.compareFloats(mode, *numbers, nullptr, zero);
}

/// Of 8 bits in float16, of 16 bits in float32, which hold them all.
Tile NestVectorizer::comparedAsFloats(arith::CmpIOp op) {
  Value left = op.getLhs(), right = op.getRhs();
  CompareMode mode = compareMode(op.getPredicate());
  if (scalarOf(left)) {
    std::swap(left, right);
    mode = mirrored(mode);
  }
  const bool hasNoSign = isUnsigned(op.getPredicate());
  const Type floats =
      left.getType().isInteger(8) ? Type(builder.getF16Type()) : Type(builder.getF32Type());
  Value scalar = scalarOf(right);
  if (scalar)
    scalar = hasNoSign ? builder.createOrFold<arith::UIToFPOp>(floats, scalar)
                       : builder.createOrFold<arith::SIToFPOp>(floats, scalar);
  const Tile a = smallAsFloats(left, hasNoSign),
             b = scalar ? Tile(VectorTile{}) : smallAsFloats(right, hasNoSign);
  if (!a || !b)
    return std::nullopt;
  return tiles.compareFloats(mode, *a, scalar ? nullptr : &*b, scalar);
}

Tile NestVectorizer::withTopBitFlipped(Value value) {
  if (Value scalar = scalarOf(value)) {
    if (scalar.getType().isIndex())
      scalar = builder.createOrFold<arith::IndexCastOp>(builder.getI32Type(), scalar);
    return tileOf(tiles.withTopBitFlipped(scalar));
  }
  const Tile source = tileOf(value);
  return source ? tiles.withTopBitFlipped(*source) : source;
}

/// The larger or smaller one of unsigned numbers.
Tile NestVectorizer::unsignedExtreme(Operation* op) {
  const npu::BinaryKind kind =
      isa<arith::MaxUIOp>(op) ? npu::BinaryKind::Max : npu::BinaryKind::Min;
  const Type element = storedType(op->getResult(0).getType());
  if (element.isInteger(8))
    return computedBytes(op, kind);
  if (!isVectorType(element))
    return none(lacking(op));
  const Tile a = withTopBitFlipped(op->getOperand(0)), b = withTopBitFlipped(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  const VectorTile found = tiles.makeTile(element), target = targetOf(op, element);
  tiles.binary(kind, found, *a, *b);
  const unsigned width = element.getIntOrFloatBitWidth();
  Value top =
      arith::ConstantOp::create(builder, builder.getIntegerAttr(builder.getIntegerType(width),
                                                                APInt::getSignedMinValue(width)));
  tiles.withScalar(ScalarKind::Add, target, found, top);
  return target;
}

// --- choices ------------------------------------------------------------------------------------

/// The mask of a condition, for numbers whose rows lie as those of `like`.
Tile NestVectorizer::maskFor(Value condition, const VectorTile& like) {
  if (Value scalar = scalarOf(condition))
    return tiles.spreadCondition(scalar, like.pitch);
  return tileOf(condition);
}

Tile NestVectorizer::selected(Operation* op) {
  auto choice = cast<arith::SelectOp>(op);
  const Type element = storedType(choice.getType());
  if (element.isInteger(1))
    return selectedConditions(choice);
  if (element.isInteger(8))
    return selectedBytes(choice);
  if (element.isInteger(64))
    return selectedWide(choice);
  if (!isVectorType(element) && !element.isBF16())
    return none("the vector unit has no choice between " + operationOfDtype(op));
  const Tile a = tileOf(choice.getTrueValue());
  Value scalar =
      isa<FloatType>(element) && !element.isBF16() ? scalarOf(choice.getFalseValue()) : Value();
  const Tile b = scalar ? Tile(VectorTile{}) : tileOf(choice.getFalseValue());
  const Tile mask = a ? maskFor(choice.getCondition(), *a) : std::nullopt;
  if (!mask || !b)
    return std::nullopt;
  return tiles.select(*mask, *a, scalar ? nullptr : &*b, scalar, targetOf(op, element));
}

Tile NestVectorizer::selectedBytes(arith::SelectOp op) {
  const Tile a = shortsOf(op.getTrueValue()), b = shortsOf(op.getFalseValue());
  const Tile mask = a ? maskFor(op.getCondition(), *a) : std::nullopt;
  if (!mask || !b)
    return std::nullopt;
  return tiles.select(*mask, *a, &*b, Value(), tiles.makeTile(tiles.elementOf(*a)));
}

/// Of 64 bits by a mask of all bits or none: an integer of 32 bits keeps its sign.
Tile NestVectorizer::selectedWide(arith::SelectOp op) {
  const Tile a = asWide(op.getTrueValue()), b = asWide(op.getFalseValue());
  const Type half = storedType(builder.getI32Type());
  const VectorTile made = tiles.makeTile(half);
  const Tile mask = maskFor(op.getCondition(), made);
  if (!a || !b || !mask)
    return std::nullopt;
  const VectorTile all =
      tiles.duplicate(arith::ConstantOp::create(builder, builder.getI32IntegerAttr(-1)), half);
  const VectorTile none =
      tiles.duplicate(arith::ConstantOp::create(builder, builder.getI32IntegerAttr(0)), half);
  const Tile taken = tiles.select(*mask, all, &none, Value(), made);
  const Tile wide =
      taken ? tiles.convert(*taken, storedType(op.getType()), std::nullopt, nullptr) : taken;
  const Tile left = wide ? tiles.invertedBits(*wide) : std::nullopt;
  using npu::BinaryKind;
  if (!left || !tiles.combinedBits(BinaryKind::And, *wide, *a, &*wide) ||
      !tiles.combinedBits(BinaryKind::And, *left, *b, &*left))
    return std::nullopt;
  const VectorTile target = targetOf(op, storedType(op.getType()));
  return tiles.combinedBits(BinaryKind::Or, *wide, *left, &target);
}

/// Where the condition holds the one, else the other.
Tile NestVectorizer::selectedConditions(arith::SelectOp op) {
  const Value all[] = {op.getCondition(), op.getTrueValue(), op.getFalseValue()};
  Tile like;
  for (Value each : all)
    if (!like && !scalarOf(each) && !(like = tileOf(each)))
      return std::nullopt;
  if (!like)
    return none("it chooses between conditions that are the same for all elements");
  const Tile condition = maskFor(all[0], *like), yes = maskFor(all[1], *like),
             no = maskFor(all[2], *like);
  if (!condition || !yes || !no)
    return std::nullopt;
  if (condition->pitch != yes->pitch || condition->pitch != no->pitch)
    return none("it combines conditions on numbers of different widths");
  using npu::BinaryKind;
  const Tile taken = tiles.combinedBits(BinaryKind::And, *condition, *yes);
  const Tile inverse = tiles.invertedBits(*condition);
  const Tile left = inverse ? tiles.combinedBits(BinaryKind::And, *inverse, *no) : std::nullopt;
  return taken && left ? tiles.combinedBits(BinaryKind::Or, *taken, *left) : std::nullopt;
}

// --- bools in memory ----------------------------------------------------------------------------

/// A bool is a byte, 0 or 1.
bool NestVectorizer::storeCondition(const VectorTile& target, Value condition) {
  MLIRContext* context = builder.getContext();
  const Type byte = IntegerType::get(context, 8, IntegerType::Unsigned),
             number = builder.getF16Type();
  const Tile bytes = tiles.viewed(target, byte);
  if (!bytes)
    return false;
  if (Value scalar = scalarOf(condition))
    return tiles.fillWith(*bytes,
                          builder.createOrFold<arith::ExtUIOp>(builder.getI8Type(), scalar));
  const Tile mask = tileOf(condition);
  if (!mask)
    return false;
  Value one = arith::ConstantOp::create(builder, builder.getFloatAttr(number, 1.0));
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(number));
  const VectorTile ones = tiles.duplicate(one, number);
  const Tile made = tiles.select(*mask, ones, nullptr, zero, tiles.makeTile(number));
  return made && tiles.castTo(*made, *bytes, {byte, Rounding::Trunc});
}

} // namespace tilewright::ascend
