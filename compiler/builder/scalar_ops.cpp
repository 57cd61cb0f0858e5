// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/index_range.h"
#include "compiler/builder/promotion.h"
#include "compiler/builder/scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

namespace tilewright::builder {
namespace {

namespace arith = mlir::arith;
namespace math = mlir::math;

/// Makes ops at the builder's place; what folds, folds.
struct Emitter {
  Construction& state;
  mlir::Location loc = state.location();

  template <typename Op, typename... Operands> mlir::Value make(Operands&&... operands) {
    return state.ir.createOrFold<Op>(loc, std::forward<Operands>(operands)...);
  }
  mlir::Value constant(int64_t value, mlir::Type type) {
    return state.constantIr(Constant::ofInteger(value), type);
  }
  mlir::Value constant(double value, mlir::Type type) {
    return state.constantIr(Constant::ofReal(value), type);
  }
};

arith::CmpIPredicate integerPredicate(BinaryOp op, bool isSigned) {
  switch (op) {
  case BinaryOp::Lt:
    return isSigned ? arith::CmpIPredicate::slt : arith::CmpIPredicate::ult;
  case BinaryOp::Le:
    return isSigned ? arith::CmpIPredicate::sle : arith::CmpIPredicate::ule;
  case BinaryOp::Gt:
    return isSigned ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::ugt;
  case BinaryOp::Ge:
    return isSigned ? arith::CmpIPredicate::sge : arith::CmpIPredicate::uge;
  case BinaryOp::Eq:
    return arith::CmpIPredicate::eq;
  default:
    return arith::CmpIPredicate::ne;
  }
}

/// NaN compares as in C: unequal to all, and false otherwise.
arith::CmpFPredicate realPredicate(BinaryOp op) {
  switch (op) {
  case BinaryOp::Lt:
    return arith::CmpFPredicate::OLT;
  case BinaryOp::Le:
    return arith::CmpFPredicate::OLE;
  case BinaryOp::Gt:
    return arith::CmpFPredicate::OGT;
  case BinaryOp::Ge:
    return arith::CmpFPredicate::OGE;
  case BinaryOp::Eq:
    return arith::CmpFPredicate::OEQ;
  default:
    return arith::CmpFPredicate::UNE;
  }
}

std::optional<int64_t> constantInteger(mlir::Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto integer =
      constant ? mlir::dyn_cast<mlir::IntegerAttr>(constant.getValue()) : mlir::IntegerAttr();
  return integer ? std::optional(integer.getValue().getSExtValue()) : std::nullopt;
}

bool isPowerOfTwo(std::optional<int64_t> value) {
  return value && *value > 0 && (*value & (*value - 1)) == 0;
}

mlir::Value floorDivideSigned(Emitter emit, mlir::Value left, mlir::Value right) {
  auto divisor = constantInteger(right);
  if (!isPowerOfTwo(divisor))
    return emit.make<arith::FloorDivSIOp>(left, right);
  mlir::Value shift = emit.constant(int64_t(__builtin_ctzll(uint64_t(*divisor))), left.getType());
  return emit.make<arith::ShRSIOp>(left, shift);
}

mlir::Value floorModSigned(Emitter emit, mlir::Value left, mlir::Value right) {
  auto divisor = constantInteger(right);
  if (isPowerOfTwo(divisor))
    return emit.make<arith::AndIOp>(left, emit.constant(*divisor - 1, left.getType()));
  mlir::Value rest = emit.make<arith::RemSIOp>(left, right);
  mlir::Value zero = emit.constant(int64_t(0), left.getType());
  mlir::Value corrected = emit.make<arith::AddIOp>(rest, right);
  if (divisor && *divisor > 0)
    return emit.make<arith::SelectOp>(
        emit.make<arith::CmpIOp>(arith::CmpIPredicate::slt, rest, zero), corrected, rest);
  mlir::Value signs = emit.make<arith::XOrIOp>(rest, right);
  mlir::Value differ = emit.make<arith::CmpIOp>(arith::CmpIPredicate::slt, signs, zero);
  mlir::Value hasRest = emit.make<arith::CmpIOp>(arith::CmpIPredicate::ne, rest, zero);
  return emit.make<arith::SelectOp>(emit.make<arith::AndIOp>(differ, hasRest), corrected, rest);
}

mlir::Value divideIntegers(Emitter emit, BinaryOp op, mlir::Value a, mlir::Value b, bool isSigned) {
  switch (op) {
  case BinaryOp::FloorDiv:
    return isSigned ? floorDivideSigned(emit, a, b) : emit.make<arith::DivUIOp>(a, b);
  case BinaryOp::FloorMod:
    return isSigned ? floorModSigned(emit, a, b) : emit.make<arith::RemUIOp>(a, b);
  case BinaryOp::TruncDiv:
    return isSigned ? emit.make<arith::DivSIOp>(a, b) : emit.make<arith::DivUIOp>(a, b);
  case BinaryOp::TruncMod:
    return isSigned ? emit.make<arith::RemSIOp>(a, b) : emit.make<arith::RemUIOp>(a, b);
  default:
    return isSigned ? emit.make<arith::CeilDivSIOp>(a, b) : emit.make<arith::CeilDivUIOp>(a, b);
  }
}

mlir::Value emitInteger(Emitter emit, BinaryOp op, mlir::Value a, mlir::Value b, bool isSigned) {
  if (isComparison(op))
    return emit.make<arith::CmpIOp>(integerPredicate(op, isSigned), a, b);
  if (isDivision(op))
    return divideIntegers(emit, op, a, b, isSigned);
  switch (op) {
  case BinaryOp::Add:
    return emit.make<arith::AddIOp>(a, b);
  case BinaryOp::Sub:
    // The extent of a slice [k * 64 : (k + 1) * 64]: what is known here is known to every rule and target.
    if (auto known = constantDifference(a, b))
      return emit.constant(*known, a.getType());
    return emit.make<arith::SubIOp>(a, b);
  case BinaryOp::Mul:
    return emit.make<arith::MulIOp>(a, b);
  case BinaryOp::Min:
    return isSigned ? emit.make<arith::MinSIOp>(a, b) : emit.make<arith::MinUIOp>(a, b);
  case BinaryOp::Max:
    return isSigned ? emit.make<arith::MaxSIOp>(a, b) : emit.make<arith::MaxUIOp>(a, b);
  case BinaryOp::Shl:
    return emit.make<arith::ShLIOp>(a, b);
  case BinaryOp::Shr:
    return isSigned ? emit.make<arith::ShRSIOp>(a, b) : emit.make<arith::ShRUIOp>(a, b);
  case BinaryOp::And:
  case BinaryOp::LogicalAnd:
    return emit.make<arith::AndIOp>(a, b);
  case BinaryOp::Or:
  case BinaryOp::LogicalOr:
    return emit.make<arith::OrIOp>(a, b);
  default:
    return emit.make<arith::XOrIOp>(a, b);
  }
}

mlir::Value emitReal(Emitter emit, BinaryOp op, mlir::Value a, mlir::Value b) {
  if (isComparison(op))
    return emit.make<arith::CmpFOp>(realPredicate(op), a, b);
  auto quotient = [&] { return emit.make<arith::DivFOp>(a, b); };
  switch (op) {
  case BinaryOp::Add:
    return emit.make<arith::AddFOp>(a, b);
  case BinaryOp::Sub:
    return emit.make<arith::SubFOp>(a, b);
  case BinaryOp::Mul:
    return emit.make<arith::MulFOp>(a, b);
  case BinaryOp::Div:
    return quotient();
  case BinaryOp::FloorDiv:
    return emit.make<math::FloorOp>(quotient());
  case BinaryOp::CeilDiv:
    return emit.make<math::CeilOp>(quotient());
  case BinaryOp::TruncDiv:
    return emit.make<math::TruncOp>(quotient());
  case BinaryOp::FloorMod:
    return emit.make<arith::SubFOp>(
        a, emit.make<arith::MulFOp>(emit.make<math::FloorOp>(quotient()), b));
  case BinaryOp::TruncMod:
  case BinaryOp::Fmod:
    return emit.make<arith::RemFOp>(a, b);
  case BinaryOp::Min: // a NaN gives the other operand, as fmin and the GPU's min do
    return emit.make<arith::MinNumFOp>(a, b);
  case BinaryOp::Max:
    return emit.make<arith::MaxNumFOp>(a, b);
  case BinaryOp::Pow:
    return emit.make<math::PowFOp>(a, b);
  case BinaryOp::Atan2:
    return emit.make<math::Atan2Op>(a, b);
  default:
    return emit.make<math::CopySignOp>(a, b);
  }
}

template <typename Op> mlir::Value makeUnary(Emitter emit, mlir::Value operand) {
  return emit.make<Op>(operand);
}

/// exp(x) / (1 + exp(x)): right down to the least number of the type, where exp(-x) is infinite. From `most` on the answer
/// is 1, and exp(x) finite. Of types narrower than float32 it is computed in that and rounded once: their own 1 + exp(x)
/// is rounded too soon. An NPU computes 1 / (1 + exp(-x)), in the type of the tile.
mlir::Value sigmoid(Emitter emit, mlir::Value x) {
  const mlir::Type type = x.getType();
  const bool isNpu = emit.state.isNpu;
  const bool isNarrow = type.getIntOrFloatBitWidth() < 32 && !isNpu;
  if (isNarrow)
    x = emit.make<arith::ExtFOp>(emit.state.ir.getF32Type(), x);
  mlir::Value one = emit.constant(1.0, x.getType());
  mlir::Value result;
  if (isNpu) {
    mlir::Value decay = emit.make<math::ExpOp>(emit.make<arith::NegFOp>(x));
    result = emit.make<arith::DivFOp>(one, emit.make<arith::AddFOp>(one, decay));
  } else {
    mlir::Value most = emit.constant(x.getType().isF64() ? 700.0 : 80.0, x.getType());
    mlir::Value isMore = emit.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, most);
    mlir::Value growth = emit.make<math::ExpOp>(emit.make<arith::SelectOp>(isMore, most, x));
    result = emit.make<arith::DivFOp>(growth, emit.make<arith::AddFOp>(one, growth));
  }
  return isNarrow ? emit.make<arith::TruncFOp>(type, result) : result;
}

/// 10^x of float32 or float64 as 2^k 10^r, k a whole number and |r| at most log10(2) / 2: the rounding of
/// x log2(10) alone would be an error that grows with x. k log10(2) is taken away in two parts (Cody and Waite,
/// "Software Manual for the Elementary Functions", chapter 6), the first so short that its products are exact.
mlir::Value wideExp10(Emitter emit, mlir::Value x) {
  const mlir::Type type = x.getType();
  const double high = type.isF64() ? 0x1.34413509f8000p-2 : 0x1.3440000000000p-2;
  const double low = type.isF64() ? -0x1.80433b83b532ap-44 : 0x1.3509f79fef312p-18;
  auto number = [&](double value) { return emit.constant(value, type); };
  auto times = [&](mlir::Value value, double factor) {
    return emit.make<arith::MulFOp>(value, number(factor));
  };
  mlir::Value power =
      emit.make<math::RoundEvenOp>(times(x, std::numbers::ln10 / std::numbers::ln2));
  mlir::Value rest = emit.make<arith::SubFOp>(x, times(power, high));
  rest = emit.make<arith::SubFOp>(rest, times(power, low));
  // Beyond that 2^k is 0, infinite or no number, and so is the answer.
  mlir::Value isNear = emit.make<arith::CmpFOp>(arith::CmpFPredicate::OLT,
                                                emit.make<math::AbsFOp>(power), number(1100.0));
  rest = emit.make<arith::SelectOp>(isNear, rest, number(0.0));
  mlir::Value factor = emit.make<math::ExpOp>(times(rest, std::numbers::ln10));
  // Below the largest answers 2^k itself is infinite.
  power = emit.make<math::Exp2Op>(emit.make<arith::SubFOp>(power, number(1.0)));
  return emit.make<arith::MulFOp>(power, times(factor, 2.0));
}

mlir::Value exp10(Emitter emit, mlir::Value x) {
  if (x.getType().getIntOrFloatBitWidth() >= 32)
    return wideExp10(emit, x);
  mlir::Value wide = emit.make<arith::ExtFOp>(emit.state.ir.getF32Type(), x);
  return emit.make<arith::TruncFOp>(x.getType(), wideExp10(emit, wide));
}

mlir::Value classify(Emitter emit, UnaryOp op, mlir::Value x) {
  if (op == UnaryOp::IsNan)
    return emit.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
  mlir::Value infinity = emit.constant(std::numeric_limits<double>::infinity(), x.getType());
  auto predicate = op == UnaryOp::IsInf ? arith::CmpFPredicate::OEQ : arith::CmpFPredicate::OLT;
  return emit.make<arith::CmpFOp>(predicate, emit.make<math::AbsFOp>(x), infinity);
}

using UnaryMaker = mlir::Value (*)(Emitter, mlir::Value);

/// The functions of real numbers, in the order of the enum from Exp to Trunc.
constexpr UnaryMaker kRealFunctions[] = {
    makeUnary<math::ExpOp>,
    makeUnary<math::Exp2Op>,
    exp10,
    makeUnary<math::LogOp>,
    makeUnary<math::Log2Op>,
    makeUnary<math::Log10Op>,
    makeUnary<math::Log1pOp>,
    makeUnary<math::ExpM1Op>,
    makeUnary<math::SqrtOp>,
    makeUnary<math::RsqrtOp>,
    sigmoid,
    makeUnary<math::TanhOp>,
    makeUnary<math::SinhOp>,
    makeUnary<math::CoshOp>,
    makeUnary<math::SinOp>,
    makeUnary<math::CosOp>,
    makeUnary<math::TanOp>,
    makeUnary<math::AsinOp>,
    makeUnary<math::AcosOp>,
    makeUnary<math::AtanOp>,
    makeUnary<math::AsinhOp>,
    makeUnary<math::AcoshOp>,
    makeUnary<math::AtanhOp>,
    makeUnary<math::ErfOp>,
    makeUnary<math::FloorOp>,
    makeUnary<math::CeilOp>,
    makeUnary<math::RoundOp>,
    makeUnary<math::RoundEvenOp>,
    makeUnary<math::TruncOp>,
};
static_assert(std::size(kRealFunctions) == size_t(UnaryOp::Trunc) - size_t(UnaryOp::Exp) + 1);

mlir::Value emitIntegerUnary(Emitter emit, UnaryOp op, mlir::Value x, bool isSigned) {
  mlir::Value zero = emit.constant(int64_t(0), x.getType());
  switch (op) {
  case UnaryOp::Neg:
    return emit.make<arith::SubIOp>(zero, x);
  case UnaryOp::Not:
  case UnaryOp::LogicalNot:
    return emit.make<arith::XOrIOp>(x, emit.constant(int64_t(-1), x.getType()));
  case UnaryOp::PopCount:
    return emit.make<math::CtPopOp>(x);
  case UnaryOp::Clz:
    return emit.make<math::CountLeadingZerosOp>(x);
  default:
    return isSigned ? emit.make<arith::MaxSIOp>(x, emit.make<arith::SubIOp>(zero, x)) : x;
  }
}

} // namespace

/// A literal beyond int64.
static bool isLargerLiteral(const Construction& state, Value value) {
  return state.record(value).isLiteral && value.dtype().kind() == ScalarKind::UInt64;
}

bool meetsLargerLiteral(const Construction& state, Value left, Value right) {
  const auto meets = [&](Value literal, Value other) {
    return isLargerLiteral(state, literal) && !state.record(other).isLiteral &&
           other.dtype().isInteger() && other.dtype().kind() != ScalarKind::UInt64;
  };
  return meets(left, right) || meets(right, left);
}

Promoted promoteBoth(const Construction& state, Value left, Value right) {
  const ValueRecord& a = state.record(left);
  const ValueRecord& b = state.record(right);
  const bool isLarger = isLargerLiteral(state, left) || isLargerLiteral(state, right);
  if (a.isLiteral && b.isLiteral) {
    bool isReal = a.constant->isReal || b.constant->isReal;
    Dtype wider = left.dtype().bits() >= right.dtype().bits() ? left.dtype() : right.dtype();
    if (isLarger)
      return {isReal ? Dtype::float32() : Dtype(ScalarKind::UInt64), false, false};
    return {isReal ? Dtype::float32() : wider, false, true};
  }
  if (isLarger)
    return {promote(left.dtype(), right.dtype()), false, false};
  bool isIndex = a.isIndex || b.isIndex;
  auto beside = [&](const ValueRecord& literal, Dtype other) -> Promoted {
    if (literal.constant->isReal) {
      bool isDouble = other.kind() == ScalarKind::Float64;
      return {isDouble ? other : promote(Dtype::float32(), other), false, false};
    }
    if (isIndex)
      return {Dtype::int32(), true, false};
    return {promote(literalBeside(literal.constant->integer, other, state.isNpu), other), false,
            false};
  };
  if (a.isLiteral)
    return beside(a, right.dtype());
  if (b.isLiteral)
    return beside(b, left.dtype());
  Dtype dtype = promote(left.dtype(), right.dtype());
  return {dtype, isIndex && dtype == Dtype::int32(), false};
}

mlir::Value toPromoted(Construction& state, Value value, const Promoted& promoted) {
  if (!promoted.isIndex)
    return state.toIr(value, promoted.dtype);
  const ValueRecord& entry = state.record(value);
  if (entry.constant)
    return state.constantIr(*entry.constant, state.ir.getIndexType());
  if (entry.isIndex)
    return entry.ir;
  mlir::Type type = state.ir.getIndexType();
  if (value.dtype().isSigned())
    return arith::IndexCastOp::create(state.ir, state.location(), type, entry.ir);
  return arith::IndexCastUIOp::create(state.ir, state.location(), type, entry.ir);
}

mlir::Value emitBinary(Construction& state, BinaryOp op, mlir::Value left, mlir::Value right,
                       Dtype dtype) {
  Emitter emit{state};
  if (dtype.isFloat())
    return emitReal(emit, op, left, right);
  return emitInteger(emit, op, left, right, dtype.isSigned());
}

mlir::Value emitUnary(Construction& state, UnaryOp op, mlir::Value operand, Dtype dtype) {
  Emitter emit{state};
  if (!dtype.isFloat())
    return emitIntegerUnary(emit, op, operand, dtype.isSigned());
  if (op == UnaryOp::Neg)
    return emit.make<arith::NegFOp>(operand);
  if (op == UnaryOp::Abs)
    return emit.make<math::AbsFOp>(operand);
  if (isClassification(op))
    return classify(emit, op, operand);
  return kRealFunctions[size_t(op) - size_t(UnaryOp::Exp)](emit, operand);
}

} // namespace tilewright::builder
