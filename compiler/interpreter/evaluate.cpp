// SPDX-License-Identifier: Apache-2.0
#include "compiler/interpreter/evaluate.h"

#include "llvm/ADT/StringMap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <bit>
#include <cmath>

namespace tilewright::interpreter {
namespace {

using RealUnary = double (*)(double);
using RealBinary = double (*)(double, double);
using IntegerBinary = int64_t (*)(int64_t, int64_t);
using UnsignedBinary = uint64_t (*)(uint64_t, uint64_t);

double propagateNan(double a, double b, double otherwise) {
  return std::isnan(a) ? a : std::isnan(b) ? b : otherwise;
}

/// std::fmax leaves the order of zeros open; arith says -0 < +0.
double largest(double a, double b) {
  return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
}
double smallest(double a, double b) {
  return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
}

const llvm::StringMap<RealUnary>& realUnary() {
  static const llvm::StringMap<RealUnary> table = {
      {"arith.negf", [](double a) { return -a; }},
      {"math.absf", [](double a) { return std::fabs(a); }},
      {"math.exp", [](double a) { return std::exp(a); }},
      {"math.exp2", [](double a) { return std::exp2(a); }},
      {"math.expm1", [](double a) { return std::expm1(a); }},
      {"math.log", [](double a) { return std::log(a); }},
      {"math.log2", [](double a) { return std::log2(a); }},
      {"math.log10", [](double a) { return std::log10(a); }},
      {"math.log1p", [](double a) { return std::log1p(a); }},
      {"math.sqrt", [](double a) { return std::sqrt(a); }},
      {"math.rsqrt", [](double a) { return 1 / std::sqrt(a); }},
      {"math.cbrt", [](double a) { return std::cbrt(a); }},
      {"math.sin", [](double a) { return std::sin(a); }},
      {"math.cos", [](double a) { return std::cos(a); }},
      {"math.tan", [](double a) { return std::tan(a); }},
      {"math.asin", [](double a) { return std::asin(a); }},
      {"math.acos", [](double a) { return std::acos(a); }},
      {"math.atan", [](double a) { return std::atan(a); }},
      {"math.sinh", [](double a) { return std::sinh(a); }},
      {"math.cosh", [](double a) { return std::cosh(a); }},
      {"math.tanh", [](double a) { return std::tanh(a); }},
      {"math.asinh", [](double a) { return std::asinh(a); }},
      {"math.acosh", [](double a) { return std::acosh(a); }},
      {"math.atanh", [](double a) { return std::atanh(a); }},
      {"math.erf", [](double a) { return std::erf(a); }},
      {"math.erfc", [](double a) { return std::erfc(a); }},
      {"math.floor", [](double a) { return std::floor(a); }},
      {"math.ceil", [](double a) { return std::ceil(a); }},
      {"math.trunc", [](double a) { return std::trunc(a); }},
      {"math.round", [](double a) { return std::round(a); }},
      {"math.roundeven", [](double a) { return std::nearbyint(a); }},
  };
  return table;
}

const llvm::StringMap<RealBinary>& realBinary() {
  static const llvm::StringMap<RealBinary> table = {
      {"arith.addf", [](double a, double b) { return a + b; }},
      {"arith.subf", [](double a, double b) { return a - b; }},
      {"arith.mulf", [](double a, double b) { return a * b; }},
      {"arith.divf", [](double a, double b) { return a / b; }},
      {"arith.remf", [](double a, double b) { return std::fmod(a, b); }},
      {"arith.maxnumf", largest},
      {"arith.minnumf", smallest},
      {"arith.maximumf", [](double a, double b) { return propagateNan(a, b, largest(a, b)); }},
      {"arith.minimumf", [](double a, double b) { return propagateNan(a, b, smallest(a, b)); }},
      {"math.powf", [](double a, double b) { return std::pow(a, b); }},
      {"math.atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"math.copysign", [](double a, double b) { return std::copysign(a, b); }},
  };
  return table;
}

int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t ceilDivide(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}
int64_t wrappingProduct(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) * uint64_t(b));
}

/// Operands sign-extended.
const llvm::StringMap<IntegerBinary>& integerBinary() {
  static const llvm::StringMap<IntegerBinary> table = {
      {"arith.addi", [](int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }},
      {"arith.subi", [](int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }},
      {"arith.muli", wrappingProduct},
      {"arith.divsi", [](int64_t a, int64_t b) { return a / b; }},
      {"arith.remsi", [](int64_t a, int64_t b) { return a % b; }},
      {"arith.floordivsi", floorDivide},
      {"arith.ceildivsi", ceilDivide},
      {"arith.maxsi", [](int64_t a, int64_t b) { return std::max(a, b); }},
      {"arith.minsi", [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"arith.andi", [](int64_t a, int64_t b) { return a & b; }},
      {"arith.ori", [](int64_t a, int64_t b) { return a | b; }},
      {"arith.xori", [](int64_t a, int64_t b) { return a ^ b; }},
      {"arith.shrsi", [](int64_t a, int64_t b) { return a >> b; }},
  };
  return table;
}

/// Operands zero-extended.
const llvm::StringMap<UnsignedBinary>& unsignedBinary() {
  static const llvm::StringMap<UnsignedBinary> table = {
      {"arith.divui", [](uint64_t a, uint64_t b) { return a / b; }},
      {"arith.remui", [](uint64_t a, uint64_t b) { return a % b; }},
      {"arith.ceildivui", [](uint64_t a, uint64_t b) { return a / b + (a % b != 0); }},
      {"arith.maxui", [](uint64_t a, uint64_t b) { return std::max(a, b); }},
      {"arith.minui", [](uint64_t a, uint64_t b) { return std::min(a, b); }},
      {"arith.shli", [](uint64_t a, uint64_t b) { return a << b; }},
      {"arith.shrui", [](uint64_t a, uint64_t b) { return a >> b; }},
  };
  return table;
}

bool divides(llvm::StringRef name) {
  return name.contains("div") || name.contains("rem");
}

unsigned widthOf(mlir::Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

bool compareIntegers(mlir::arith::CmpIOp op, int64_t a, int64_t b) {
  using mlir::arith::CmpIPredicate;
  unsigned width = widthOf(op.getLhs().getType());
  uint64_t ua = unsignedBits(a, width), ub = unsignedBits(b, width);
  // A one-bit integer is signed in signed comparisons: true is -1.
  if (width == 1)
    a = -a, b = -b;
  switch (op.getPredicate()) {
  case CmpIPredicate::eq:
    return a == b;
  case CmpIPredicate::ne:
    return a != b;
  case CmpIPredicate::slt:
    return a < b;
  case CmpIPredicate::sle:
    return a <= b;
  case CmpIPredicate::sgt:
    return a > b;
  case CmpIPredicate::sge:
    return a >= b;
  case CmpIPredicate::ult:
    return ua < ub;
  case CmpIPredicate::ule:
    return ua <= ub;
  case CmpIPredicate::ugt:
    return ua > ub;
  case CmpIPredicate::uge:
    return ua >= ub;
  }
  llvm_unreachable("all predicates are listed");
}

bool compareReals(mlir::arith::CmpFOp op, double a, double b) {
  using mlir::arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (op.getPredicate()) {
  case CmpFPredicate::AlwaysFalse:
    return false;
  case CmpFPredicate::AlwaysTrue:
    return true;
  case CmpFPredicate::OEQ:
    return a == b;
  case CmpFPredicate::OGT:
    return a > b;
  case CmpFPredicate::OGE:
    return a >= b;
  case CmpFPredicate::OLT:
    return a < b;
  case CmpFPredicate::OLE:
    return a <= b;
  case CmpFPredicate::ONE:
    return !unordered && a != b;
  case CmpFPredicate::ORD:
    return !unordered;
  case CmpFPredicate::UEQ:
    return unordered || a == b;
  case CmpFPredicate::UGT:
    return unordered || a > b;
  case CmpFPredicate::UGE:
    return unordered || a >= b;
  case CmpFPredicate::ULT:
    return unordered || a < b;
  case CmpFPredicate::ULE:
    return unordered || a <= b;
  case CmpFPredicate::UNE:
    return a != b;
  case CmpFPredicate::UNO:
    return unordered;
  }
  llvm_unreachable("all predicates are listed");
}

/// Rounds as the mode says, not to nearest even.
double roundAs(mlir::FloatType type, double value, mlir::arith::RoundingMode mode) {
  static constexpr std::array kModes = {
      llvm::APFloat::rmNearestTiesToEven, llvm::APFloat::rmTowardNegative,
      llvm::APFloat::rmTowardPositive, llvm::APFloat::rmTowardZero,
      llvm::APFloat::rmNearestTiesToAway};
  llvm::APFloat rounded(value);
  bool losesInfo = false;
  rounded.convert(type.getFloatSemantics(), kModes[size_t(mode)], &losesInfo);
  rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToDouble();
}

/// Casts: the text of a conversion is its source and result type.
std::optional<Scalar> evaluateCast(mlir::Operation* op, Scalar operand) {
  mlir::Type source = op->getOperand(0).getType(), result = op->getResult(0).getType();
  llvm::StringRef name = op->getName().getStringRef();
  if (auto mode = op->getAttrOfType<mlir::arith::RoundingModeAttr>("roundingmode"))
    return Scalar{0, roundAs(llvm::cast<mlir::FloatType>(result), operand.real, mode.getValue())};
  if (name == "arith.extf" || name == "arith.truncf")
    return Scalar{0, roundTo(llvm::cast<mlir::FloatType>(result), operand.real)};
  if (name == "arith.sitofp")
    return Scalar{0, fromInteger(llvm::cast<mlir::FloatType>(result), operand.integer, true)};
  if (name == "arith.uitofp")
    return Scalar{0, fromInteger(llvm::cast<mlir::FloatType>(result),
                                 int64_t(unsignedBits(operand.integer, widthOf(source))), false)};
  if (name == "arith.fptosi" || name == "arith.fptoui") {
    // What lies outside of the result's range is undefined there; it saturates here, and NaN gives
    // 0.
    bool isSigned = name == "arith.fptosi";
    llvm::APSInt integer(widthOf(result), !isSigned);
    bool isExact = false;
    llvm::APFloat(operand.real).convertToInteger(integer, llvm::APFloat::rmTowardZero, &isExact);
    return Scalar{
        wrapTo(result, isSigned ? integer.getSExtValue() : int64_t(integer.getZExtValue())), 0};
  }
  if (name == "arith.extui" || name == "arith.index_castui")
    return Scalar{wrapTo(result, int64_t(unsignedBits(operand.integer, widthOf(source)))), 0};
  if (name == "arith.extsi" || name == "arith.index_cast" || name == "arith.trunci") {
    // true sign-extends to -1.
    int64_t value =
        source.isInteger(1) && name != "arith.trunci" ? -operand.integer : operand.integer;
    return Scalar{wrapTo(result, value), 0};
  }
  if (name == "arith.bitcast")
    return fromBits(result, toBits(source, operand));
  return std::nullopt;
}

std::optional<Scalar> noResult(mlir::Operation* op) {
  op->emitError("the reference interpreter has no result for '") << op->getName() << "'";
  return std::nullopt;
}

std::optional<Scalar> evaluateInteger(mlir::Operation* op, llvm::ArrayRef<Scalar> operands) {
  mlir::Type type = op->getResult(0).getType();
  llvm::StringRef name = op->getName().getStringRef();
  unsigned width = widthOf(op->getOperand(0).getType());
  if (operands.size() == 2) {
    int64_t a = operands[0].integer, b = operands[1].integer;
    if (divides(name) && b == 0) {
      op->emitError("integer division of ") << a << " by zero";
      return std::nullopt;
    }
    const bool isSigned = name.ends_with("si");
    if (divides(name) && isSigned && b == -1 && a == INT64_MIN)
      return Scalar{name.contains("rem") ? 0 : a, 0}; // wraps, and is a fault in C++
    bool shifts = name.starts_with("arith.sh");
    if (shifts && (b < 0 || b >= width)) {
      op->emitError("shift of a ") << width << "-bit integer by " << b;
      return std::nullopt;
    }
    if (auto found = integerBinary().find(name); found != integerBinary().end())
      return Scalar{wrapTo(type, found->second(a, b)), 0};
    if (auto found = unsignedBinary().find(name); found != unsignedBinary().end())
      return Scalar{
          wrapTo(type, int64_t(found->second(unsignedBits(a, width), unsignedBits(b, width)))), 0};
    return noResult(op);
  }
  uint64_t bits = unsignedBits(operands[0].integer, width);
  if (name == "math.absi")
    return Scalar{wrapTo(type, operands[0].integer < 0 ? int64_t(0 - uint64_t(operands[0].integer))
                                                       : operands[0].integer),
                  0};
  if (name == "math.ctlz")
    return Scalar{int64_t(std::countl_zero(bits)) - (64 - int64_t(width)), 0};
  if (name == "math.cttz")
    return Scalar{bits == 0 ? int64_t(width) : int64_t(std::countr_zero(bits)), 0};
  if (name == "math.ctpop")
    return Scalar{std::popcount(bits), 0};
  return noResult(op);
}

/// a * b + c of numbers of fewer digits than a float32 has, so that rounding to their type rounds once: their product is
/// exact in a double, and a sum that is not gets an odd last digit (Boldo and Melquiond, 2008).
double fusedToOdd(double a, double b, double c) {
  const double product = a * b, sum = product + c, part = sum - product;
  const double lost = (product - (sum - part)) + (c - part);
  const bool isOdd = (std::bit_cast<uint64_t>(sum) & 1) != 0;
  if (lost == 0 || isOdd || !std::isfinite(sum))
    return sum;
  return std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
}

std::optional<Scalar> evaluateReal(mlir::Operation* op, llvm::ArrayRef<Scalar> operands) {
  auto type = llvm::cast<mlir::FloatType>(op->getResult(0).getType());
  llvm::StringRef name = op->getName().getStringRef();
  std::optional<double> result;
  if (operands.size() == 1) {
    if (auto found = realUnary().find(name); found != realUnary().end())
      result = found->second(operands[0].real);
  } else if (operands.size() == 2) {
    if (auto found = realBinary().find(name); found != realBinary().end())
      result = found->second(operands[0].real, operands[1].real);
  } else if (name == "math.fma") {
    double a = operands[0].real, b = operands[1].real, c = operands[2].real;
    if (type.isF32())
      result = double(std::fmaf(float(a), float(b), float(c)));
    else
      result = type.isF64() ? std::fma(a, b, c) : fusedToOdd(a, b, c);
  }
  if (!result)
    return noResult(op);
  return Scalar{0, roundTo(type, *result)};
}

} // namespace

std::optional<Scalar> evaluate(mlir::Operation* op, llvm::ArrayRef<Scalar> operands) {
  if (auto constant = llvm::dyn_cast<mlir::arith::ConstantOp>(op)) {
    if (auto real = llvm::dyn_cast<mlir::FloatAttr>(constant.getValue()))
      return fromBits(real.getType(), real.getValue().bitcastToAPInt().getZExtValue());
    auto integer = llvm::cast<mlir::IntegerAttr>(constant.getValue());
    return Scalar{wrapTo(integer.getType(), integer.getValue().getSExtValue()), 0};
  }
  if (auto compare = llvm::dyn_cast<mlir::arith::CmpIOp>(op))
    return Scalar{compareIntegers(compare, operands[0].integer, operands[1].integer), 0};
  if (auto compare = llvm::dyn_cast<mlir::arith::CmpFOp>(op))
    return Scalar{compareReals(compare, operands[0].real, operands[1].real), 0};
  if (llvm::isa<mlir::arith::SelectOp>(op))
    return operands[operands[0].integer ? 1 : 2];
  llvm::StringRef name = op->getName().getStringRef();
  if (name == "math.isnan")
    return Scalar{std::isnan(operands[0].real), 0};
  if (name == "math.isinf")
    return Scalar{std::isinf(operands[0].real), 0};
  if (name == "math.isfinite")
    return Scalar{std::isfinite(operands[0].real), 0};
  if (op->getNumResults() != 1 || operands.empty())
    return noResult(op);
  if (operands.size() == 1)
    if (auto cast = evaluateCast(op, operands[0]))
      return cast;
  if (llvm::isa<mlir::FloatType>(op->getResult(0).getType()))
    return evaluateReal(op, operands);
  return evaluateInteger(op, operands);
}

} // namespace tilewright::interpreter
