// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/constant.h"

#include "llvm/ADT/APFloat.h"

#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

namespace tilewright::builder {
namespace {

int64_t wrap(int64_t value, Dtype dtype) {
  if (dtype.kind() == ScalarKind::Bool)
    return value != 0;
  int shift = 64 - dtype.bits();
  auto bits = uint64_t(value) << shift;
  return dtype.isSigned() ? int64_t(bits) >> shift : int64_t(bits >> shift);
}

/// A double rounded to a float dtype, where all targets round alike.
std::optional<double> roundTo(double value, Dtype dtype) {
  llvm::APFloat rounded(value);
  bool losesInfo = false;
  switch (dtype.kind()) {
  case ScalarKind::Float64:
    return value;
  case ScalarKind::Float32:
    rounded.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    break;
  case ScalarKind::Float16:
    rounded.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    break;
  case ScalarKind::BFloat16:
    rounded.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    break;
  default:
    return std::nullopt;
  }
  return rounded.convertToDouble();
}

bool compare(BinaryOp op, auto a, auto b) {
  switch (op) {
  case BinaryOp::Lt:
    return a < b;
  case BinaryOp::Le:
    return a <= b;
  case BinaryOp::Gt:
    return a > b;
  case BinaryOp::Ge:
    return a >= b;
  case BinaryOp::Eq:
    return a == b;
  default:
    return a != b;
  }
}

std::optional<int64_t> divideSigned(BinaryOp op, int64_t a, int64_t b, bool wide) {
  if (b == 0)
    return std::nullopt;
  const bool isMod = op == BinaryOp::FloorMod || op == BinaryOp::TruncMod;
  // Wraps, and is a fault in C++.
  if (a == std::numeric_limits<int64_t>::min() && b == -1)
    return isMod ? std::optional<int64_t>(0) : wide ? std::nullopt : std::optional(a);
  const int64_t quotient = a / b, rest = a % b;
  const bool isBelowZero = (a < 0) != (b < 0);
  switch (op) {
  case BinaryOp::FloorDiv:
    return quotient - (rest != 0 && isBelowZero ? 1 : 0);
  case BinaryOp::FloorMod:
    return rest + (rest != 0 && isBelowZero ? b : 0);
  case BinaryOp::TruncDiv:
    return quotient;
  case BinaryOp::TruncMod:
    return rest;
  case BinaryOp::CeilDiv:
    return quotient + (rest != 0 && !isBelowZero ? 1 : 0);
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> divideUnsigned(BinaryOp op, uint64_t a, uint64_t b) {
  if (b == 0)
    return std::nullopt;
  switch (op) {
  case BinaryOp::FloorDiv:
  case BinaryOp::TruncDiv:
    return int64_t(a / b);
  case BinaryOp::FloorMod:
  case BinaryOp::TruncMod:
    return int64_t(a % b);
  case BinaryOp::CeilDiv:
    return int64_t(a / b + (a % b != 0 ? 1 : 0));
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> arithmetic(BinaryOp op, int64_t a, int64_t b, bool wide) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
  case BinaryOp::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case BinaryOp::Sub:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case BinaryOp::Mul:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  default:
    return std::nullopt;
  }
  // The builtins give the low 64 bits, which is what a narrower dtype wraps to.
  return overflow && wide ? std::nullopt : std::optional(result);
}

std::optional<int64_t> power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return std::nullopt;
  int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (base == 0 || base == 1)
      return base;
    if (base == -1)
      return exponent % 2 == 0 ? result : -result;
    if (__builtin_mul_overflow(result, base, &result))
      return std::nullopt;
  }
  return result;
}

std::optional<int64_t> foldIntegers(BinaryOp op, int64_t a, int64_t b, Dtype dtype, bool wide) {
  bool isUnsigned = !dtype.isSigned();
  if (isComparison(op))
    return isUnsigned ? compare(op, uint64_t(a), uint64_t(b)) : compare(op, a, b);
  if (isDivision(op))
    return isUnsigned ? divideUnsigned(op, uint64_t(a), uint64_t(b)) : divideSigned(op, a, b, wide);
  if (isShift(op)) {
    if (b < 0 || b >= (wide ? 63 : dtype.bits()))
      return std::nullopt;
    if (op == BinaryOp::Shr)
      return isUnsigned ? int64_t(uint64_t(a) >> b) : a >> b;
    auto shifted = int64_t(uint64_t(a) << b);
    return wide && (shifted >> b) != a ? std::nullopt : std::optional(shifted);
  }
  bool isLess = isUnsigned ? uint64_t(a) < uint64_t(b) : a < b;
  switch (op) {
  case BinaryOp::Min:
    return isLess ? a : b;
  case BinaryOp::Max:
    return isLess ? b : a;
  case BinaryOp::And:
    return a & b;
  case BinaryOp::Or:
    return a | b;
  case BinaryOp::Xor:
    return a ^ b;
  case BinaryOp::LogicalAnd:
    return a != 0 && b != 0;
  case BinaryOp::LogicalOr:
    return a != 0 || b != 0;
  case BinaryOp::Pow:
    return power(a, b);
  default:
    return arithmetic(op, a, b, wide);
  }
}

/// -0 is less than 0 here, which std::fmin leaves open.
double smaller(double a, double b) {
  return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
}

std::optional<double> foldReals(BinaryOp op, double a, double b) {
  switch (op) {
  case BinaryOp::Add:
    return a + b;
  case BinaryOp::Sub:
    return a - b;
  case BinaryOp::Mul:
    return a * b;
  case BinaryOp::Div:
    return a / b;
  case BinaryOp::Min:
    return smaller(a, b);
  case BinaryOp::Max:
    return -smaller(-a, -b);
  default:
    return std::nullopt;
  }
}

} // namespace

bool isExactInDouble(Constant integer, Dtype dtype) {
  const bool isNegative = integer.integer < 0 && dtype.kind() != ScalarKind::UInt64;
  const auto bits = uint64_t(integer.integer);
  const uint64_t magnitude = isNegative ? 0 - bits : bits;
  return magnitude == 0 || std::countl_zero(magnitude) + std::countr_zero(magnitude) >=
                               64 - std::numeric_limits<double>::digits;
}

bool fits(int64_t value, Dtype dtype) {
  if (dtype.isFloat())
    return true;
  if (dtype.kind() == ScalarKind::Bool)
    return value == 0 || value == 1;
  if (!dtype.isSigned())
    return value >= 0 && (dtype.bits() >= 63 || value < (int64_t(1) << dtype.bits()));
  return dtype.bits() == 64 || (value >= -(int64_t(1) << (dtype.bits() - 1)) &&
                                value < (int64_t(1) << (dtype.bits() - 1)));
}

std::optional<Constant> foldCast(Constant value, Dtype from, Dtype to) {
  if (!value.isReal && !to.isFloat())
    return Constant::ofInteger(wrap(value.integer, to));
  if (!value.isReal) {
    // Rounding twice could differ from the kernel's single rounding beyond 53 bits.
    if (!isExactInDouble(value, from))
      return std::nullopt;
    bool isUnsigned = from.kind() == ScalarKind::UInt64;
    double real = isUnsigned ? double(uint64_t(value.integer)) : double(value.integer);
    auto rounded = roundTo(real, to);
    return rounded ? std::optional(Constant::ofReal(*rounded)) : std::nullopt;
  }
  if (to.isFloat()) {
    auto rounded = roundTo(value.real, to);
    return rounded ? std::optional(Constant::ofReal(*rounded)) : std::nullopt;
  }
  if (to.kind() == ScalarKind::Bool)
    return Constant::ofInteger(value.real != 0);
  double truncated = std::trunc(value.real);
  if (!(std::abs(truncated) < 9.2e18) || !fits(int64_t(truncated), to))
    return std::nullopt;
  return Constant::ofInteger(int64_t(truncated));
}

std::optional<Constant> foldBinary(BinaryOp op, Constant left, Constant right, Dtype dtype,
                                   bool wide) {
  if (!dtype.isFloat()) {
    auto result = foldIntegers(op, left.integer, right.integer, dtype, wide);
    if (!result)
      return std::nullopt;
    bool keeps = wide || isComparison(op) || isLogical(op);
    return Constant::ofInteger(keeps ? *result : wrap(*result, dtype));
  }
  if (isComparison(op))
    return Constant::ofInteger(compare(op, left.real, right.real));
  auto result = foldReals(op, left.real, right.real);
  auto rounded = result ? roundTo(*result, dtype) : std::nullopt;
  return rounded ? std::optional(Constant::ofReal(*rounded)) : std::nullopt;
}

std::optional<Constant> foldUnary(UnaryOp op, Constant operand, Dtype dtype, bool wide) {
  if (dtype.isFloat())
    return op == UnaryOp::Neg   ? std::optional(Constant::ofReal(-operand.real))
           : op == UnaryOp::Abs ? std::optional(Constant::ofReal(std::abs(operand.real)))
                                : std::nullopt;
  int64_t value = operand.integer;
  if (op == UnaryOp::LogicalNot)
    return Constant::ofInteger(value == 0);
  bool isMinimum = value == std::numeric_limits<int64_t>::min();
  if (op == UnaryOp::Not)
    value = ~value;
  else if (op == UnaryOp::Neg && !isMinimum)
    value = -value;
  else if (op == UnaryOp::Abs && !isMinimum)
    value = dtype.isSigned() ? std::abs(value) : value;
  else
    return std::nullopt;
  return Constant::ofInteger(wide ? value : wrap(value, dtype));
}

std::string toText(Constant value, Dtype dtype) {
  if (!value.isReal && dtype.kind() == ScalarKind::UInt64)
    return std::to_string(uint64_t(value.integer));
  if (!value.isReal)
    return std::to_string(value.integer);
  std::ostringstream text;
  text << value.real;
  return text.str();
}

} // namespace tilewright::builder
