// SPDX-License-Identifier: Apache-2.0
// Scalar expressions: dtypes, folding, and the choice between two values.
#include "compiler/builder/scalars.h"

#include "compiler/builder/choices.h"
#include "compiler/builder/element_types.h"
#include "compiler/builder/index_range.h"
#include "compiler/builder/promotion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright {

using builder::BinaryOp;
using builder::Constant;
using builder::FrameKind;
using builder::Promoted;
using builder::UnaryOp;
using builder::ValueRecord;

// Constants

Value KernelBuilder::constant(bool value) {
  return state->addConstant(Constant::ofInteger(value), Dtype::boolean());
}

Value KernelBuilder::constant(int64_t value, std::optional<Dtype> dtype) {
  Constant constant = Constant::ofInteger(value);
  if (!dtype)
    return state->addConstant(constant, builder::literalAlone(value), true);
  if (!builder::scalarType(*dtype, state->context.get())) {
    state->report(Severity::Unsupported,
                  "a scalar of dtype " + dtype->name() + " is not supported");
    return {};
  }
  if (dtype->isFloat())
    return cast(this->constant(value), *dtype);
  bool isBits = !dtype->isSigned() && dtype->bits() == 64; // uint64 comes as its bits
  if (dtype->kind() != ScalarKind::Bool && !builder::fits(value, *dtype) && !isBits) {
    state->error("the integer " + std::to_string(value) + " does not fit " + dtype->name());
    return {};
  }
  auto folded = builder::foldCast(constant, Dtype::int64(), *dtype);
  return state->addConstant(*folded, *dtype);
}

Value KernelBuilder::constant(uint64_t value) {
  const auto bits = int64_t(value);
  return bits >= 0 ? constant(bits)
                   : state->addConstant(Constant::ofInteger(bits), Dtype(ScalarKind::UInt64), true);
}

Value KernelBuilder::constant(double value, std::optional<Dtype> dtype) {
  Value literal = state->addConstant(Constant::ofReal(value), Dtype::float32(), true);
  return dtype ? cast(literal, *dtype) : literal;
}

std::optional<int64_t> KernelBuilder::constantValue(Value value) const {
  if (value.isPoison() || !state->isOurs(value))
    return std::nullopt;
  const auto& constant = state->record(value).constant;
  return constant && !constant->isReal ? std::optional(constant->integer) : std::nullopt;
}

bool KernelBuilder::isConstant(Value value) const {
  return !value.isPoison() && state->isOurs(value) && state->record(value).constant.has_value();
}

// Operators

namespace {

constexpr const char* kLargerLiteral = "of integers, uint64 alone holds it; cast one side";

std::string operandText(const builder::Construction& state, Value value) {
  const ValueRecord& record = state.record(value);
  if (record.isLiteral)
    return "the " + std::string(record.constant->isReal ? "number " : "integer ") +
           toText(*record.constant, value.dtype());
  return value.dtype().name();
}

std::string message(const builder::Construction& state, BinaryOp op, Value left, Value right,
                    const std::string& what) {
  return "'" + std::string(spelling(op)) + "' of " + operandText(state, left) + " and " +
         operandText(state, right) + ": " + what;
}

/// What an operator doesn't take; empty if it takes the operands.
std::string refuse(const builder::Construction& state, BinaryOp op, Value left, Value right,
                   const Promoted& promoted) {
  const Dtype dtype = promoted.dtype;
  if (!isShift(op) && !isLogical(op) && builder::meetsLargerLiteral(state, left, right))
    return kLargerLiteral;
  if (isBitwise(op) && dtype.isFloat())
    return "it works on integers and bools only";
  if (op == BinaryOp::Div && !dtype.isFloat())
    return "write '//' for floor division, or cast one side to a float";
  if (isReal(op) && !dtype.isFloat())
    return "it works on floats only; cast one side";
  const auto& constant = state.record(right).constant;
  if (isDivision(op) && !dtype.isFloat() && constant && constant->integer == 0)
    return "division by zero";
  const bool isLarge = constant && right.dtype().kind() == ScalarKind::UInt64;
  bool isNegative = constant && !constant->isReal && constant->integer < 0 && !isLarge;
  if (isShift(op) && isNegative)
    return "a shift by a negative number";
  const int width = promoted.isIndex ? 64 : dtype.bits();
  if (isShift(op) && !promoted.isLiteral && constant &&
      uint64_t(constant->integer) >= uint64_t(width))
    return dtype.name() + " has " + std::to_string(width) + " bits, so the most is a shift by " +
           std::to_string(width - 1);
  if (op == BinaryOp::Pow && !dtype.isFloat() &&
      (!constant || isNegative || uint64_t(constant->integer) > 64))
    return "a power of integers needs an exponent from 0 to 64 that is known while building; cast "
           "one side to a float";
  return "";
}

/// Integer power by multiplication: the exponent is known, and small.
mlir::Value integerPower(builder::Construction& state, mlir::Value base, int64_t exponent,
                         Dtype dtype) {
  mlir::Value result = state.constantIr(Constant::ofInteger(1), base.getType());
  for (int64_t i = 0; i < exponent; ++i)
    result = emitBinary(state, BinaryOp::Mul, result, base, dtype);
  return result;
}

/// A constant in a common dtype; literals keep all their digits beside literals.
std::optional<Constant> foldToPromoted(const builder::Construction& state, Value value,
                                       const Promoted& promoted) {
  const ValueRecord& record = state.record(value);
  if (!record.constant)
    return std::nullopt;
  Dtype to =
      promoted.isLiteral && promoted.dtype.isFloat() ? Dtype(ScalarKind::Float64) : promoted.dtype;
  if (!promoted.dtype.isFloat() && (promoted.isLiteral || promoted.isIndex))
    return record.constant;
  return foldCast(*record.constant, value.dtype(), to);
}

std::optional<Value> foldToValue(builder::Construction& state, BinaryOp op, Value left, Value right,
                                 const Promoted& promoted) {
  auto a = foldToPromoted(state, left, promoted), b = foldToPromoted(state, right, promoted);
  if (!a || !b)
    return std::nullopt;
  bool isWide = promoted.isLiteral && !promoted.dtype.isFloat();
  Dtype dtype =
      promoted.isLiteral && promoted.dtype.isFloat() ? Dtype(ScalarKind::Float64) : promoted.dtype;
  auto folded = foldBinary(op, *a, *b, dtype, isWide || promoted.isIndex);
  if (!folded)
    return std::nullopt;
  if (isComparison(op) || isLogical(op))
    return state.addConstant(*folded, Dtype::boolean());
  if (promoted.isIndex)
    return state.add(state.constantIr(*folded, state.ir.getIndexType()), promoted.dtype, true);
  Dtype result = isWide ? builder::literalAlone(folded->integer) : promoted.dtype;
  return state.addConstant(*folded, result, promoted.isLiteral);
}

/// Whether an expression has at most `parts` parts, which are taken off.
bool isWithin(mlir::AffineExpr expression, int& parts) {
  if (--parts < 0)
    return false;
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expression);
  return !binary || (isWithin(binary.getLHS(), parts) && isWithin(binary.getRHS(), parts));
}

/// Shapes of tensors may be made of sums and products of symbols, divided by constants.
void trackAffine(builder::Construction& state, BinaryOp op, Value left, Value right, Value result) {
  auto affineOf = [&](Value value) {
    const ValueRecord& record = state.record(value);
    return record.constant && !record.constant->isReal
               ? state.ir.getAffineConstantExpr(record.constant->integer)
               : record.affine;
  };
  mlir::AffineExpr a = affineOf(left), b = affineOf(right);
  // MLIR's functions on expressions recurse; no shape of a tensor is that large.
  int parts = 256;
  if (!a || !b || !isWithin(a, parts) || !isWithin(b, parts))
    return;
  mlir::AffineExpr& affine = state.record(result).affine;
  if (op == BinaryOp::Add)
    affine = a + b;
  else if (op == BinaryOp::Sub)
    affine = a - b;
  else if (op == BinaryOp::Mul)
    affine = a * b;
  auto divisor = llvm::dyn_cast<mlir::AffineConstantExpr>(b);
  if (!divisor || divisor.getValue() <= 0)
    return;
  if (op == BinaryOp::FloorDiv)
    affine = a.floorDiv(b);
  else if (op == BinaryOp::CeilDiv)
    affine = a.ceilDiv(b);
  else if (op == BinaryOp::FloorMod)
    affine = a % b;
}

} // namespace

Value KernelBuilder::binary(std::string_view name, Value left, Value right) {
  bool isUsable = state->isUsable(left);
  if (!state->isUsable(right) || !isUsable)
    return {};
  auto op = builder::parseBinary(name);
  if (!op) {
    state->error("there is no operator '" + std::string(name) + "'");
    return {};
  }
  Promoted promoted = promoteBoth(*state, left, right);
  if (builder::isShift(*op) && !state->record(left).isLiteral && !left.dtype().isFloat() &&
      !right.dtype().isFloat() && left.dtype().kind() != ScalarKind::Bool) {
    // The distance changes no dtype, but that a wider one widens less than 32 bits.
    const bool isWidened = !state->isNpu && left.dtype().bits() < 32 && promoted.dtype.bits() >= 32;
    promoted = isWidened ? Promoted{promoted.dtype, false, false}
                         : Promoted{left.dtype(), state->record(left).isIndex, false};
  }
  bool isBits = *op == BinaryOp::And || *op == BinaryOp::Or || *op == BinaryOp::Xor;
  if (promoted.dtype.kind() == ScalarKind::Bool && !isBits && !isComparison(*op))
    promoted.dtype = Dtype::int32();
  if (builder::isReal(*op) && *op != BinaryOp::Div && promoted.isLiteral)
    promoted.dtype = Dtype::float32();
  if (*op == BinaryOp::Div && promoted.isLiteral) // of two Python numbers, as in Python
    promoted.dtype = Dtype::float32();
  if (isLogical(*op))
    promoted = {Dtype::boolean(), false, false};
  promoted.dtype = builder::computeDtype(promoted.dtype);
  if (std::string why = refuse(*state, *op, left, right, promoted); !why.empty()) {
    state->typeError(message(*state, *op, left, right, why));
    return {};
  }
  if (auto folded = foldToValue(*state, *op, left, right, promoted))
    return *folded;
  const bool isInt32 =
      promoted.isIndex && (state->record(left).isInt32 || state->record(right).isInt32);
  promoted.isIndex &= !isInt32 || *op != BinaryOp::Pow;
  bool isLogical = builder::isLogical(*op);
  mlir::Value a = isLogical ? state->toBool(left) : toPromoted(*state, left, promoted);
  if (*op == BinaryOp::Pow && !promoted.dtype.isFloat())
    return state->add(
        integerPower(*state, a, state->record(right).constant->integer, promoted.dtype),
        promoted.dtype, promoted.isIndex);
  mlir::Value b = isLogical ? state->toBool(right) : toPromoted(*state, right, promoted);
  mlir::Value result = emitBinary(*state, *op, a, b, promoted.dtype);
  if (isComparison(*op) || isLogical)
    return state->add(result, Dtype::boolean());
  if (isInt32 && !builder::isOfInt32(result))
    return state->add(emitBinary(*state, *op, state->toIr(left, promoted.dtype),
                                 state->toIr(right, promoted.dtype), promoted.dtype),
                      promoted.dtype);
  Value value = state->add(result, promoted.dtype, promoted.isIndex);
  state->record(value).isInt32 = isInt32;
  trackAffine(*state, *op, left, right, value);
  return value;
}

namespace {

/// The dtype in which a function computes, or nothing with an error.
std::optional<Dtype> functionDtype(builder::Construction& state, UnaryOp op, Dtype dtype) {
  if (op == UnaryOp::LogicalNot)
    return Dtype::boolean();
  bool isBits = op == UnaryOp::Not || op == UnaryOp::PopCount || op == UnaryOp::Clz;
  if (isBits && dtype.isFloat()) {
    state.typeError("'" + std::string(spelling(op)) + "' of " + dtype.name() +
                    ": it works on integers and bools only");
    return std::nullopt;
  }
  if (isReal(op) && !dtype.isFloat())
    return Dtype::float32();
  if ((op == UnaryOp::Neg || op == UnaryOp::Abs) && dtype.kind() == ScalarKind::Bool)
    return Dtype::int32();
  return builder::computeDtype(dtype);
}

} // namespace

Value KernelBuilder::unary(std::string_view name, Value operand) {
  if (!state->isUsable(operand))
    return {};
  auto op = builder::parseUnary(name);
  if (!op) {
    state->error("there is no function '" + std::string(name) + "'");
    return {};
  }
  auto dtype = functionDtype(*state, *op, operand.dtype());
  if (!dtype)
    return {};
  // An integer is its own floor, and is always finite.
  if (!dtype->isFloat() && isRounding(*op))
    return operand;
  if (!dtype->isFloat() && isClassification(*op))
    return constant(*op == UnaryOp::IsFinite);
  const ValueRecord record = state->record(operand);
  const bool isCount = *op == UnaryOp::PopCount || *op == UnaryOp::Clz; // of the bits of the dtype
  if (record.constant) {
    bool isLiteral = record.isLiteral && *op != UnaryOp::LogicalNot &&
                     operand.dtype().kind() != ScalarKind::UInt64;
    const bool staysIndex = record.isIndex && *dtype == Dtype::int32() && !isCount;
    bool keeps = staysIndex || (isLiteral && record.constant->isReal == dtype->isFloat());
    auto converted = keeps ? record.constant : foldCast(*record.constant, operand.dtype(), *dtype);
    const bool isWide = isLiteral || staysIndex;
    auto folded = converted ? foldUnary(*op, *converted, *dtype, isWide) : std::nullopt;
    if (folded && staysIndex)
      return state->add(state->constantIr(*folded, state->ir.getIndexType()), *dtype, true);
    if (folded)
      return state->addConstant(*folded, *dtype, isLiteral);
  }
  bool isIndex = record.isIndex && *dtype == Dtype::int32() && !isCount;
  mlir::Value value = *op == UnaryOp::LogicalNot
                          ? state->toBool(operand)
                          : toPromoted(*state, operand, {*dtype, isIndex, false});
  mlir::Value result = emitUnary(*state, *op, value, *dtype);
  Value made = state->add(result, isClassification(*op) ? Dtype::boolean() : *dtype, isIndex);
  state->record(made).isInt32 = isIndex && record.isInt32;
  return made;
}

/// The dtype in which x * y + z is rounded once, or nothing where the operators' dtypes count.
static std::optional<Dtype> fusedDtype(const builder::Construction& state,
                                       llvm::ArrayRef<Value> operands) {
  std::optional<Dtype> common;
  bool hasReal = false;
  for (Value operand : operands) {
    const ValueRecord& record = state.record(operand);
    if (record.isLiteral)
      hasReal = hasReal || record.constant->isReal;
    else
      common = common ? builder::promote(*common, operand.dtype()) : operand.dtype();
  }
  if (hasReal && !(common && common->isFloat()))
    return Dtype::float32();
  const bool isFused = common && common->isFloat() && common->bits() >= 16;
  return isFused ? common : std::nullopt;
}

Value KernelBuilder::fma(Value x, Value y, Value z) {
  const bool hasX = state->isUsable(x), hasY = state->isUsable(y);
  if (!state->isUsable(z) || !hasX || !hasY)
    return {};
  const std::optional<Dtype> dtype = fusedDtype(*state, {x, y, z});
  if (!dtype)
    return binary("add", binary("mul", x, y), z);
  mlir::Value a = state->toIr(x, *dtype), b = state->toIr(y, *dtype), c = state->toIr(z, *dtype);
  return state->add(mlir::math::FmaOp::create(state->ir, state->location(), a, b, c), *dtype);
}

Value KernelBuilder::cast(Value value, Dtype dtype) {
  if (!state->isUsable(value))
    return {};
  if (!builder::scalarType(dtype, state->context.get())) {
    state->report(Severity::Unsupported, "a scalar of dtype " + dtype.name() + " is not supported");
    return {};
  }
  const ValueRecord& record = state->record(value);
  if (record.constant)
    if (auto folded = builder::foldCast(*record.constant, value.dtype(), dtype))
      return state->addConstant(*folded, dtype);
  if (value.dtype() == dtype && record.isIndex && builder::isOfInt32(record.ir)) {
    Value same = state->add(record.ir, dtype, true);
    ValueRecord& made = state->record(same);
    made.affine = state->record(value).affine;
    made.name = state->record(value).name;
    made.isInt32 = true;
    return same;
  }
  if (value.dtype() == dtype && !record.isLiteral && !record.isIndex)
    return value;
  return state->add(state->toIr(value, dtype), dtype);
}

/// `value` as a value of another type, whose bits may be fewer or more than its own: an unpacked 4-bit float has
/// 4 of the 8 that it takes in memory.
static mlir::Value withBitsOf(builder::Construction& state, mlir::Value value, mlir::Type type) {
  auto recast = [&](mlir::Value of, mlir::Type to) -> mlir::Value {
    return of.getType() == to
               ? of
               : state.ir.createOrFold<mlir::arith::BitcastOp>(state.location(), to, of);
  };
  const unsigned before = value.getType().getIntOrFloatBitWidth();
  const unsigned after = type.getIntOrFloatBitWidth();
  if (before == after)
    return recast(value, type);
  mlir::Type from = state.ir.getIntegerType(before), to = state.ir.getIntegerType(after);
  mlir::Value bits = recast(value, from);
  if (before < after)
    bits = mlir::arith::ExtUIOp::create(state.ir, state.location(), to, bits);
  else
    bits = mlir::arith::TruncIOp::create(state.ir, state.location(), to, bits);
  return recast(bits, type);
}

Value KernelBuilder::reinterpret(Value value, Dtype dtype) {
  if (!state->isUsable(value))
    return {};
  mlir::Type type = builder::scalarType(dtype, state->context.get());
  Dtype from = value.dtype();
  bool isBool = from.kind() == ScalarKind::Bool || dtype.kind() == ScalarKind::Bool;
  if (!type || isBool || from.bits() != dtype.bits()) {
    state->typeError("reinterpret of " + from.name() + " as " + dtype.name() + ": " +
                     (type && !isBool ? "they have " + std::to_string(from.bits()) + " and " +
                                            std::to_string(dtype.bits()) + " bits"
                                      : "it works on integers and floats only"));
    return {};
  }
  mlir::Value bits = state->toIr(value, from);
  if (bits.getType() != type)
    bits = withBitsOf(*state, bits, type);
  return state->add(bits, dtype);
}

// Choices

namespace {

/// What a choice is computed in, or nothing with an error.
std::optional<Promoted> promoteSides(builder::Construction& state, Value whenTrue,
                                     Value whenFalse) {
  if (!builder::meetsLargerLiteral(state, whenTrue, whenFalse))
    return promoteBoth(state, whenTrue, whenFalse);
  state.typeError("a choice between " + operandText(state, whenTrue) + " and " +
                  operandText(state, whenFalse) + ": " + kLargerLiteral);
  return std::nullopt;
}

} // namespace

Value KernelBuilder::select(Value condition, Value whenTrue, Value whenFalse) {
  bool hasCondition = state->isUsable(condition), hasTrue = state->isUsable(whenTrue);
  if (!state->isUsable(whenFalse) || !hasCondition || !hasTrue)
    return {};
  const std::optional<Promoted> promoted = promoteSides(*state, whenTrue, whenFalse);
  if (!promoted)
    return {};
  mlir::Value a = toPromoted(*state, whenTrue, *promoted),
              b = toPromoted(*state, whenFalse, *promoted);
  mlir::Value chosen = state->ir.createOrFold<mlir::arith::SelectOp>(
      state->location(), state->toBool(condition), a, b);
  return state->add(chosen, promoted->dtype, promoted->isIndex);
}

void KernelBuilder::beginSelect(Value condition) {
  bool isUsable = state->isUsable(condition);
  mlir::Value flag = isUsable ? state->toBool(condition)
                              : state->constantIr(Constant::ofInteger(1), state->ir.getI1Type());
  auto op = mlir::scf::IfOp::create(state->ir, state->location(), flag, /*withElseRegion=*/true);
  builder::Frame& frame = state->push(FrameKind::SelectTrue, "choice", op, op.thenBlock());
  frame.isPoisoned = !isUsable;
}

void KernelBuilder::elseSelect(Value whenTrue) {
  bool isUsable = state->isUsable(whenTrue);
  auto frame = state->pop(FrameKind::SelectTrue, "the first side of a choice");
  if (!frame)
    return;
  auto op = mlir::cast<mlir::scf::IfOp>(frame->op);
  builder::Frame& other = state->push(FrameKind::SelectFalse, "choice", op, op.elseBlock());
  other.whenTrue = whenTrue;
  other.isPoisoned = frame->isPoisoned || !isUsable;
}

namespace {

mlir::Value convertAtEnd(builder::Construction& state, mlir::Block* block, Value value,
                         const Promoted& promoted) {
  state.ir.setInsertionPoint(block->getTerminator());
  return toPromoted(state, value, promoted);
}

} // namespace

Value KernelBuilder::endSelect(Value whenFalse) {
  bool isUsable = state->isUsable(whenFalse);
  auto frame = state->pop(FrameKind::SelectFalse, "a choice");
  if (!frame)
    return {};
  auto op = mlir::cast<mlir::scf::IfOp>(frame->op);
  if (frame->isPoisoned || !isUsable)
    return {};
  const std::optional<Promoted> promoted = promoteSides(*state, frame->whenTrue, whenFalse);
  if (!promoted)
    return {};
  mlir::Value a = convertAtEnd(*state, op.thenBlock(), frame->whenTrue, *promoted);
  mlir::Value b = convertAtEnd(*state, op.elseBlock(), whenFalse, *promoted);
  mlir::Value chosen = builder::finishChoice(*state, op, a, b);
  state->resumeAtInnermost();
  return state->add(chosen, promoted->dtype, promoted->isIndex);
}

} // namespace tilewright
