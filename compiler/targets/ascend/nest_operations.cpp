// SPDX-License-Identifier: Apache-2.0
// The operations of a nest's body as instructions on tiles.
#include "compiler/targets/ascend/nest_vectorizer.h"
#include "compiler/targets/ascend/operation_name.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <numbers>

namespace tilewright::ascend {

using namespace mlir;
using npu::BinaryKind;
using npu::FunctionKind;
using npu::Rounding;
using npu::ScalarKind;
using npu::UnaryKind;
using Tile = TileOperations::Result;

std::optional<BinaryKind> binaryKind(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<BinaryKind>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return BinaryKind::Add; })
      .Case<arith::SubFOp, arith::SubIOp>([](auto) { return BinaryKind::Sub; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return BinaryKind::Mul; })
      .Case<arith::DivFOp>([](auto) { return BinaryKind::Div; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(
          [](auto) { return BinaryKind::Max; })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(
          [](auto) { return BinaryKind::Min; })
      .Default([](auto) { return std::nullopt; });
}

/// The form with a scalar on the right.
static std::optional<ScalarKind> scalarKind(BinaryKind kind) {
  switch (kind) {
  case BinaryKind::Add:
  case BinaryKind::Sub: // of the negative
    return ScalarKind::Add;
  case BinaryKind::Mul:
    return ScalarKind::Mul;
  case BinaryKind::Max:
    return ScalarKind::Max;
  case BinaryKind::Min:
    return ScalarKind::Min;
  default:
    return std::nullopt;
  }
}

static std::optional<UnaryKind> unaryKind(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<UnaryKind>>(op)
      .Case<math::ExpOp, math::Exp2Op>([](auto) { return UnaryKind::Exp; })
      .Case<math::LogOp, math::Log2Op, math::Log10Op>([](auto) { return UnaryKind::Ln; })
      .Case<math::SqrtOp>([](auto) { return UnaryKind::Sqrt; })
      .Case<math::RsqrtOp>([](auto) { return UnaryKind::Rsqrt; })
      .Case<math::AbsFOp>([](auto) { return UnaryKind::Abs; })
      .Default([](auto) { return std::nullopt; });
}

static std::optional<FunctionKind> functionKind(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<FunctionKind>>(op)
      .Case<math::SinOp>([](auto) { return FunctionKind::Sin; })
      .Case<math::CosOp>([](auto) { return FunctionKind::Cos; })
      .Case<math::TanhOp>([](auto) { return FunctionKind::Tanh; })
      .Case<math::ErfOp>([](auto) { return FunctionKind::Erf; })
      .Case<math::PowFOp>([](auto) { return FunctionKind::Power; })
      .Default([](auto) { return std::nullopt; });
}

static std::optional<Rounding> integralRounding(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<Rounding>>(op)
      .Case<math::FloorOp>([](auto) { return Rounding::Floor; })
      .Case<math::CeilOp>([](auto) { return Rounding::Ceil; })
      .Case<math::RoundOp>([](auto) { return Rounding::Round; })
      .Case<math::RoundEvenOp>([](auto) { return Rounding::Rint; })
      .Case<math::TruncOp>([](auto) { return Rounding::Trunc; })
      .Default([](auto) { return std::nullopt; });
}

std::string lacking(Operation* op) {
  const std::string text = "the vector unit has no " + operationOfDtype(op);
  const Type type = op->getResult(0).getType();
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return text + ", but divides floats";
  const bool isOfNumbers =
      binaryKind(op) ||
      isa<arith::MaxUIOp, arith::MinUIOp, arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op);
  return type.isInteger(64) && isOfNumbers ? text + ", but has it of 32 bits" : text;
}

Tile NestVectorizer::operandOf(Value value) {
  Tile tile = tileOf(value);
  if (!tile || !tiles.elementOf(*tile).isBF16())
    return tile;
  widensBfloat16 = true;
  return tiles.convert(*tile, builder.getF32Type(), std::nullopt, nullptr);
}

Tile NestVectorizer::narrowed(Operation* op, const VectorTile& wide) {
  const Type element = storedType(op->getResult(0).getType());
  const VectorTile target = targetOf(op, element);
  return tiles.convert(wide, element, std::nullopt, &target);
}

Tile NestVectorizer::computed(Operation* op) {
  if (std::optional<BinaryKind> kind = binaryKind(op))
    return binary(op, *kind);
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp,
          arith::FPToUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp>(op))
    return converted(op);
  if (isa<arith::TruncIOp>(op))
    return lowBits(op);
  if (isa<arith::CmpFOp, arith::CmpIOp>(op))
    return compared(op);
  if (isa<arith::SelectOp>(op))
    return selected(op);
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return bits(op);
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return shifted(op);
  if (isa<arith::MaxUIOp, arith::MinUIOp>(op))
    return unsignedExtreme(op);
  if (isa<math::AbsIOp>(op))
    return magnitude(op);
  if (integralRounding(op))
    return rounded(op);
  // The function's own arithmetic, from the number of an element to its row and column.
  if (nest->hasAttr("function") && op->getNumOperands() == 2 && indices.of(op->getOperand(0)))
    return none("its count goes from one part of a row to the next");
  return unary(op);
}

bool isVectorType(Type type) {
  return type.isF16() || type.isF32() || type.isSignedInteger(16) || type.isSignedInteger(32);
}

Tile NestVectorizer::binary(Operation* op, BinaryKind kind) {
  const Type element = storedType(op->getResult(0).getType());
  if (element.isInteger(8))
    return computedBytes(op, kind);
  const Type work = element.isBF16() ? Type(builder.getF32Type()) : element;
  if (!isVectorType(work))
    return none(lacking(op));
  if (const Tile made = byLines(op, kind))
    return made;
  if (const Tile made = byRows(op, kind))
    return made;
  Value left = op->getOperand(0), right = op->getOperand(1);
  if (scalarOf(left) && scalarKind(kind) && kind != BinaryKind::Sub)
    std::swap(left, right);
  Value factor = scalarKind(kind) ? scalarOf(right) : Value();
  const Tile a = operandOf(left), b = factor ? Tile(VectorTile{}) : operandOf(right);
  if (!a || !b)
    return std::nullopt;
  const VectorTile target = work == element ? targetOf(op, element) : tiles.makeTile(work);
  if (!factor) {
    tiles.binary(kind, target, *a, *b);
  } else {
    if (factor.getType().isIndex())
      factor = arith::IndexCastOp::create(builder, builder.getI32Type(), factor);
    if (factor.getType().isBF16())
      factor = arith::ExtFOp::create(builder, builder.getF32Type(), factor);
    if (kind == BinaryKind::Sub) {
      // x - s is x + (-s), to the last bit.
      Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(factor.getType()));
      factor = isa<FloatType>(factor.getType())
                   ? arith::NegFOp::create(builder, factor).getResult()
                   : arith::SubIOp::create(builder, zero, factor).getResult();
    }
    tiles.withScalar(*scalarKind(kind), target, *a, factor);
  }
  return work == element ? Tile(target) : narrowed(op, target);
}

Tile NestVectorizer::shifted(Operation* op) {
  const Type element = storedType(op->getResult(0).getType());
  if (element.isInteger(8))
    return shiftedBytes(op);
  Value amount = scalarOf(op->getOperand(1));
  if (!amount)
    return none("it shifts by a number of its own for each element");
  if (!isVectorType(element))
    return none(lacking(op));
  const auto width = element.getIntOrFloatBitWidth();
  if (amount.getType().isIndex())
    amount = arith::IndexCastOp::create(builder, builder.getIntegerType(width), amount);
  const bool isUnsigned = isa<arith::ShRUIOp>(op);
  const Type taken =
      isUnsigned ? IntegerType::get(op->getContext(), width, IntegerType::Unsigned) : element;
  Tile source = tileOf(op->getOperand(0));
  if (!source)
    return std::nullopt;
  const VectorTile target = targetOf(op, element);
  source = tiles.viewed(*source, taken);
  const Tile into = tiles.viewed(target, taken);
  if (!source || !into)
    return std::nullopt;
  tiles.withScalar(isa<arith::ShLIOp>(op) ? ScalarKind::ShiftLeft : ScalarKind::ShiftRight, *into,
                   *source, amount);
  return target;
}

Tile NestVectorizer::bits(Operation* op) {
  Value left = op->getOperand(0), right = op->getOperand(1);
  if (scalarOf(left))
    std::swap(left, right);
  const Type element = storedType(op->getResult(0).getType());
  Value scalar = scalarOf(right);
  const bool isInverse = isa<arith::XOrIOp>(op) && scalar && getConstantIntValue(scalar) == -1;
  if (element.isInteger(8))
    if (const Tile made = bitsInPairs(op, left, isInverse ? Value() : right))
      return made;
  const bool isByte = element.isInteger(8);
  const auto operand = [&](Value value) { return isByte ? shortsOf(value) : asWide(value); };
  const Tile a = operand(left);
  if (!a)
    return std::nullopt;
  const Tile b = isInverse                        ? a
                 : scalar && element.isInteger(1) ? tiles.spreadCondition(scalar, a->pitch)
                                                  : operand(right);
  if (!b)
    return std::nullopt;
  if (a->pitch != b->pitch)
    return none("it combines conditions on numbers of different widths");
  const Tile target = a->maskBits ? std::nullopt
                      : isByte    ? Tile(tiles.makeTile(tiles.elementOf(*a)))
                                  : Tile(targetOf(op, element));
  const VectorTile* into = target ? &*target : nullptr;
  return isInverse ? tiles.invertedBits(*a, into) : tiles.bits(op, *a, *b, into);
}

/// Of 64 bits, also where it is computed from the nest's indices.
Tile NestVectorizer::asWide(Value value) {
  const Tile tile = tileOf(value);
  return tile && isOfIndices(*tile, value)
             ? tiles.convert(*tile, storedType(value.getType()), std::nullopt, nullptr)
             : tile;
}

// --- conversions --------------------------------------------------------------------------------

static std::optional<Rounding> floatRounding(Operation* op) {
  auto narrow = dyn_cast<arith::TruncFOp>(op);
  if (!narrow || !narrow.getRoundingmode())
    return std::nullopt;
  switch (*narrow.getRoundingmode()) {
  case arith::RoundingMode::downward:
    return Rounding::Floor;
  case arith::RoundingMode::upward:
    return Rounding::Ceil;
  case arith::RoundingMode::to_nearest_away:
    return Rounding::Round;
  case arith::RoundingMode::toward_zero:
    return Rounding::Trunc;
  default:
    return Rounding::Rint;
  }
}

Tile NestVectorizer::converted(Operation* op) {
  Value given = op->getOperand(0);
  Type from = storedType(given.getType()), to = storedType(op->getResult(0).getType());
  const auto withoutSign = [&](Type type) -> Type {
    return IntegerType::get(op->getContext(), type.getIntOrFloatBitWidth(), IntegerType::Unsigned);
  };
  Tile source = tileOf(given);
  if (!source)
    return std::nullopt;
  if (isa<arith::IndexCastOp>(op))
    return to.isSignedInteger(32) && tiles.elementOf(*source) == to
               ? source
               : none("it computes with integers of 64 bits");
  if (source->maskBits) {
    // 1 where the bit is set.
    const bool isByte = to.isInteger(8);
    if (isByte)
      to = storedType(builder.getI16Type());
    const bool isFloat = isa<FloatType>(to);
    const Type scalar = isFloat ? to : Type(builder.getIntegerType(to.getIntOrFloatBitWidth()));
    Value one =
        arith::ConstantOp::create(builder, isFloat ? TypedAttr(builder.getFloatAttr(scalar, 1.0))
                                                   : TypedAttr(builder.getIntegerAttr(scalar, 1)));
    Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(scalar));
    if (!isVectorType(to))
      return none("it makes integers of 64 bits of a condition");
    const VectorTile ones = tiles.duplicate(one, to), zeros = tiles.duplicate(zero, to);
    return tiles.select(*source, ones, &zeros, Value(),
                        isByte ? tiles.makeTile(to) : targetOf(op, to));
  }
  if (isa<arith::UIToFPOp, arith::ExtUIOp>(op))
    from = withoutSign(from);
  if (given.getType().isInteger(8) && !tiles.elementOf(*source).isInteger(8)) {
    source = extendedByte(given, from.isUnsignedInteger());
    from = storedType(builder.getI16Type());
    if (!source || from == to)
      return source;
  }
  if (from.isUnsignedInteger(16)) {
    source = smallAsFloats(given, /*hasNoSign=*/true);
    from = builder.getF32Type();
    if (!source || from == to)
      return source;
  }
  if (isa<arith::FPToUIOp>(op))
    to = withoutSign(to);
  if (from.isSignedInteger(64) && tiles.elementOf(*source).isSignedInteger(32))
    from = tiles.elementOf(*source); // of the nest's indices
  source = tiles.viewed(*source, from);
  if (!source)
    return std::nullopt;
  std::optional<Rounding> rounding = floatRounding(op);
  if (auto found = roundings.find(given); found != roundings.end())
    rounding = found->second;
  if (to.isUnsignedInteger(16))
    return unsignedShorts(op, *source, rounding);
  const VectorTile target = targetOf(op, to);
  return tiles.convert(*source, to, rounding, &target);
}

/// Floats as 0 to 65535: as integers of 32 bits, of which that range has the low bits.
Tile NestVectorizer::unsignedShorts(Operation* op, const VectorTile& floats,
                                    std::optional<Rounding> rounding) {
  constexpr int32_t largest = 65535;
  const Tile whole =
      tiles.convert(floats, storedType(builder.getI32Type()), rounding, /*target=*/nullptr);
  if (!whole)
    return std::nullopt;
  const auto bound = [&](ScalarKind kind, int32_t limit) {
    Value number = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(limit));
    tiles.withScalar(kind, *whole, *whole, number);
  };
  bound(ScalarKind::Max, 0);
  bound(ScalarKind::Min, largest);
  return lowHalves(*whole, targetOf(op, storedType(builder.getI16Type())));
}

/// The rounding of a T.tile.cast whose nest says in bits, or by its neighbours, what is one instruction.
std::optional<Rounding> NestVectorizer::namedRounding() {
  auto mode = nest->getAttrOfType<StringAttr>("mode");
  auto loads = nest.getBodyBlock()->getOps<tile::LoadOp>();
  if (!mode || !mode.getValue().starts_with("CAST_") || !llvm::hasSingleElement(loads))
    return std::nullopt;
  tile::LoadOp read = *loads.begin();
  const bool isOdd = mode.getValue() == "CAST_ODD";
  const bool isChosen =
      llvm::any_of(*nest.getBodyBlock(), [](Operation& op) { return isa<arith::SelectOp>(op); });
  if (!isOdd && (!isChosen || !read.getBuffer().getType().getElementType().isSignedInteger()))
    return std::nullopt;
  return npu::symbolizeRounding(mode.getValue().drop_front(5).lower());
}

bool NestVectorizer::castBy(Rounding rounding) {
  auto loads = nest.getBodyBlock()->getOps<tile::LoadOp>();
  auto stores = nest.getBodyBlock()->getOps<tile::StoreOp>();
  tile::StoreOp write = *stores.begin();
  Operation* choice = write.getValue().getDefiningOp();
  if (!load(*loads.begin()))
    return false;
  const Tile source = tileOf((*loads.begin()).getValue());
  const Type to = write.getValue().getType();
  const VectorTile target = targetOf(choice, to);
  const Tile made = tiles.convert(*source, to, rounding, &target);
  if (!made)
    return false;
  values[write.getValue()] = *made;
  return store(write);
}

/// The low bits of an integer.
Tile NestVectorizer::lowBits(Operation* op) {
  const Type to = op->getResult(0).getType();
  const Tile source = tileOf(op->getOperand(0));
  if (!source)
    return std::nullopt;
  const Type from = tiles.elementOf(*source);
  const bool isByte = to.isInteger(8);
  if ((isByte && from.isSignedInteger(16)) || (to.isInteger(32) && from.isSignedInteger(32)))
    return source; // of the nest's indices, or what has low bits already
  if (!from.isSignedInteger(32) || (!isByte && !to.isInteger(16)))
    return none("the vector unit takes no low bits of integers of 64 bits");
  const Type narrow = storedType(builder.getI16Type());
  return lowHalves(*source, isByte ? tiles.makeTile(narrow) : targetOf(op, narrow));
}

/// Of 32-bit integers the 16 low ones, with their sign: the cast limits what does not fit.
Tile NestVectorizer::lowHalves(const VectorTile& source, const VectorTile& target) {
  constexpr int32_t dropped = 16;
  Value bits = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(dropped));
  const VectorTile number = tiles.makeTile(tiles.elementOf(source));
  tiles.withScalar(ScalarKind::ShiftLeft, number, source, bits);
  tiles.withScalar(ScalarKind::ShiftRight, number, number, bits);
  return tiles.castTo(number, target, {tiles.elementOf(target), Rounding::None});
}

/// To an integral value. What is converted to an integer next is rounded by that.
Tile NestVectorizer::rounded(Operation* op) {
  Value result = op->getResult(0);
  const Rounding rounding = *integralRounding(op);
  const bool isForInteger = llvm::all_of(result.getUsers(), [](Operation* user) {
    return isa<arith::FPToSIOp, arith::FPToUIOp>(user);
  });
  Tile source = tileOf(op->getOperand(0));
  if (!source)
    return std::nullopt;
  if (isForInteger && !result.use_empty()) {
    roundings[result] = rounding;
    return source;
  }
  const Type wide = builder.getF32Type();
  const bool isWide = result.getType().isF32();
  if (!isWide)
    source = tiles.convert(*source, wide, std::nullopt, nullptr);
  if (!source)
    return std::nullopt;
  const VectorTile target = isWide ? targetOf(op, wide) : tiles.makeTile(wide);
  const Tile made = tiles.convert(*source, wide, rounding, &target);
  return isWide || !made ? made : narrowed(op, *made);
}

// --- functions ----------------------------------------------------------------------------------

Tile NestVectorizer::magnitude(Operation* op) {
  const bool isByte = op->getResult(0).getType().isInteger(8);
  const Type element = storedType(isByte ? builder.getI16Type() : op->getResult(0).getType());
  const Tile source =
      isByte ? extendedByte(op->getOperand(0), /*hasNoSign=*/false) : tileOf(op->getOperand(0));
  if (!source || !isVectorType(element))
    return source ? none(lacking(op)) : source;
  const VectorTile negative = tiles.makeTile(element);
  const Type scalar = builder.getIntegerType(element.getIntOrFloatBitWidth());
  Value minusOne = arith::ConstantOp::create(builder, builder.getIntegerAttr(scalar, -1));
  tiles.withScalar(ScalarKind::Mul, negative, *source, minusOne);
  const VectorTile target = isByte ? tiles.makeTile(element) : targetOf(op, element);
  tiles.binary(BinaryKind::Max, target, *source, negative);
  return target;
}

Tile NestVectorizer::multiplied(const VectorTile& source, double factor, Operation* op) {
  const Type element = tiles.elementOf(source);
  Value number = arith::ConstantOp::create(builder, builder.getFloatAttr(element, factor));
  const VectorTile target = op ? targetOf(op, element) : tiles.makeTile(element);
  tiles.withScalar(ScalarKind::Mul, target, source, number);
  return target;
}

Tile NestVectorizer::function(FunctionKind kind, Operation* op) {
  const Tile source = operandOf(op->getOperand(0));
  const Tile other = op->getNumOperands() == 2 ? operandOf(op->getOperand(1)) : Tile(VectorTile{});
  if (!source || !other)
    return std::nullopt;
  // The composed functions may use their target before they have read all of the source.
  auto write = op->hasOneUse() ? dyn_cast<tile::StoreOp>(*op->user_begin()) : nullptr;
  const auto isTarget = [&](const Tile& read) {
    return write && read->buffer &&
           npu::storageOf(read->buffer) == npu::storageOf(write.getBuffer());
  };
  const Type element = tiles.elementOf(*source);
  const bool isWide = storedType(op->getResult(0).getType()) == element;
  const VectorTile made = !isWide || isTarget(source) || isTarget(other)
                              ? tiles.makeTile(element)
                              : targetOf(op, element, /*mayBeSource=*/false);
  tiles.function(kind, made, *source, op->getNumOperands() == 2 ? &*other : nullptr);
  return isWide ? Tile(made) : narrowed(op, made);
}

Tile NestVectorizer::unary(Operation* op) {
  const Type type = op->getResult(0).getType();
  const std::string refusal = lacking(op);
  if (!type.isF16() && !type.isF32() && !type.isBF16())
    return none(refusal);
  const bool isWide = !type.isBF16();
  if (std::optional<FunctionKind> kind = functionKind(op))
    return function(*kind, op);
  const Tile source = op->getNumOperands() == 1 ? operandOf(op->getOperand(0)) : std::nullopt;
  const std::optional<UnaryKind> kind = unaryKind(op);
  if (!source || (!kind && !isa<arith::NegFOp>(op)))
    return reason.empty() && tiles.reason.empty() ? none(refusal) : std::nullopt;
  Operation* last = isWide ? op : nullptr;
  Tile made;
  if (isa<arith::NegFOp>(op)) {
    made = multiplied(*source, -1.0, last);
  } else {
    const Tile scaled =
        isa<math::Exp2Op>(op) ? multiplied(*source, std::numbers::ln2, nullptr) : source;
    const double factor = isa<math::Log2Op>(op)    ? 1 / std::numbers::ln2
                          : isa<math::Log10Op>(op) ? 1 / std::numbers::ln10
                                                   : 1;
    const Type element = tiles.elementOf(*source);
    const VectorTile target = last && factor == 1 ? targetOf(op, element) : tiles.makeTile(element);
    tiles.unary(*kind, target, *scaled);
    made = factor == 1 ? Tile(target) : multiplied(target, factor, last);
  }
  return isWide ? made : narrowed(op, *made);
}

} // namespace tilewright::ascend
