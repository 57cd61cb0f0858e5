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
using npu::CompareMode;
using npu::FunctionKind;
using npu::Rounding;
using npu::ScalarKind;
using npu::UnaryKind;
using Tile = TileOperations::Result;

static std::optional<BinaryKind> binaryKind(Operation* op) {
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

static std::optional<CompareMode> compareMode(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
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
  case P::ne:
    return CompareMode::NE;
  default:
    return std::nullopt;
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

/// What the vector unit computes in.
static bool isVectorType(Type type) {
  return type.isF16() || type.isF32() || type.isSignedInteger(16) || type.isSignedInteger(32);
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
  if (isa<math::AbsIOp>(op))
    return magnitude(op);
  if (integralRounding(op))
    return rounded(op);
  // The function's own arithmetic, from the number of an element to its row and column.
  if (nest->hasAttr("function") && op->getNumOperands() == 2 && indices.of(op->getOperand(0)))
    return none("its count goes from one part of a row to the next");
  return unary(op);
}

Tile NestVectorizer::binary(Operation* op, BinaryKind kind) {
  const Type element = storedType(op->getResult(0).getType());
  const Type work = element.isBF16() ? Type(builder.getF32Type()) : element;
  if (!isVectorType(work))
    return none("the vector unit has no " + operationOfDtype(op));
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
  Value amount = scalarOf(op->getOperand(1));
  if (!amount || !isVectorType(element))
    return none("it shifts by a number of its own for each element, or bytes");
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
  const Tile a = tileOf(op->getOperand(0));
  if (!a)
    return std::nullopt;
  const bool isInverse = isa<arith::XOrIOp>(op) && scalarOf(op->getOperand(1)) &&
                         getConstantIntValue(scalarOf(op->getOperand(1))) == -1;
  const Tile b = isInverse ? a : tileOf(op->getOperand(1));
  if (!b)
    return std::nullopt;
  if (a->pitch != b->pitch)
    return none("it combines conditions on numbers of different widths");
  if (isOfIndices(*a, op->getOperand(0)) || isOfIndices(*b, op->getOperand(1)))
    return none("it computes with its indices in 64 bits");
  const Tile target =
      a->maskBits ? std::nullopt : Tile(targetOf(op, storedType(op->getResult(0).getType())));
  const VectorTile* into = target ? &*target : nullptr;
  return isInverse ? tiles.invertedBits(*a, into) : tiles.bits(op, *a, *b, into);
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
    const bool isFloat = isa<FloatType>(to);
    const Type scalar = isFloat ? to : Type(builder.getIntegerType(to.getIntOrFloatBitWidth()));
    Value one =
        arith::ConstantOp::create(builder, isFloat ? TypedAttr(builder.getFloatAttr(scalar, 1.0))
                                                   : TypedAttr(builder.getIntegerAttr(scalar, 1)));
    Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(scalar));
    if (!isVectorType(to))
      return none("it makes bytes of a condition");
    const VectorTile ones = tiles.duplicate(one, to), zeros = tiles.duplicate(zero, to);
    return tiles.select(*source, ones, &zeros, Value(), targetOf(op, to));
  }
  if (isa<arith::UIToFPOp, arith::ExtUIOp>(op))
    from = withoutSign(from);
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
  const VectorTile target = targetOf(op, to);
  return tiles.convert(*source, to, rounding, &target);
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

/// Of 32-bit integers the 16 low ones, with their sign: the cast limits what does not fit.
Tile NestVectorizer::lowBits(Operation* op) {
  Value given = op->getOperand(0);
  constexpr int64_t kept = 16;
  if (!given.getType().isInteger(32) || !op->getResult(0).getType().isInteger(kept))
    return none("the vector unit takes low bits of 32-bit integers only, 16 of them");
  const Type wide = storedType(given.getType()), narrow = storedType(op->getResult(0).getType());
  Tile source = tileOf(given);
  source = source ? tiles.viewed(*source, wide) : source;
  if (!source)
    return std::nullopt;
  Value bits = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(32 - kept));
  const VectorTile number = tiles.makeTile(wide);
  tiles.withScalar(ScalarKind::ShiftLeft, number, *source, bits);
  tiles.withScalar(ScalarKind::ShiftRight, number, number, bits);
  const VectorTile target = targetOf(op, narrow);
  return tiles.castTo(number, target, {narrow, Rounding::None});
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

// --- choices ------------------------------------------------------------------------------------

Tile NestVectorizer::compared(Operation* op) {
  Value left = op->getOperand(0), right = op->getOperand(1);
  auto ofFloats = dyn_cast<arith::CmpFOp>(op);
  const std::optional<CompareMode> mode = ofFloats
                                              ? compareMode(ofFloats.getPredicate())
                                              : compareMode(cast<arith::CmpIOp>(op).getPredicate());
  const Type element = storedType(left.getType());
  if (!mode || (!element.isBF16() && !isVectorType(element)))
    return none("the vector unit has no such comparison");
  if (element.isSignedInteger(32)) {
    const Tile a = tileOf(left), b = tileOf(right);
    if (!a || !b)
      return std::nullopt;
    return tiles.compareIntegers(cast<arith::CmpIOp>(op).getPredicate(), *a, *b);
  }
  const bool isMirrored = scalarOf(left) && ofFloats;
  if (isMirrored)
    std::swap(left, right);
  Value scalar = element.isF16() || element.isF32() ? scalarOf(right) : Value();
  Tile a = operandOf(left), b = scalar ? Tile(VectorTile{}) : operandOf(right);
  if (!a || !b)
    return std::nullopt;
  if (!ofFloats) { // of 16 bits: float32 holds them all
    a = tiles.convert(*a, builder.getF32Type(), std::nullopt, nullptr);
    b = tiles.convert(*b, builder.getF32Type(), std::nullopt, nullptr);
    if (!a || !b)
      return std::nullopt;
  }
  return tiles.compareFloats(isMirrored ? mirrored(*mode) : *mode, *a, scalar ? nullptr : &*b,
                             scalar);
}

Tile NestVectorizer::selected(Operation* op) {
  const Type element = storedType(op->getResult(0).getType());
  if (scalarOf(op->getOperand(0)) || (!isVectorType(element) && !element.isBF16()))
    return none("it chooses by a condition that is the same for all elements, or between bytes");
  const Tile mask = tileOf(op->getOperand(0)), a = tileOf(op->getOperand(1));
  Value scalar =
      isa<FloatType>(element) && !element.isBF16() ? scalarOf(op->getOperand(2)) : Value();
  const Tile b = scalar ? Tile(VectorTile{}) : tileOf(op->getOperand(2));
  if (!mask || !a || !b)
    return std::nullopt;
  return tiles.select(*mask, *a, scalar ? nullptr : &*b, scalar, targetOf(op, element));
}

// --- functions ----------------------------------------------------------------------------------

Tile NestVectorizer::magnitude(Operation* op) {
  const Type element = storedType(op->getResult(0).getType());
  const Tile source = tileOf(op->getOperand(0));
  if (!source || !isVectorType(element))
    return source ? none("the vector unit does not compute in bytes") : source;
  const VectorTile negative = tiles.makeTile(element);
  const Type scalar = builder.getIntegerType(element.getIntOrFloatBitWidth());
  Value minusOne = arith::ConstantOp::create(builder, builder.getIntegerAttr(scalar, -1));
  tiles.withScalar(ScalarKind::Mul, negative, *source, minusOne);
  const VectorTile target = targetOf(op, element);
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
  const std::string refusal = "the vector unit has no " + operationOfDtype(op);
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
