// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/print_scalars.h"

#include "compiler/ir/index_ranges.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

bool isSmallFloat(Type type) {
  return type.isF16() || type.isBF16();
}

/// A value in float32 where the scalar unit computes in that.
Expression inFloat(Value value, const SourceText& text) {
  if (!isSmallFloat(value.getType()))
    return text.expression(value);
  return {"toFloat(" + text.text(value) + ")"};
}

/// An expression of float32 as a value of `type`.
Expression fromFloat(Expression expression, Type type) {
  if (!isSmallFloat(type))
    return expression;
  return {"fromFloat<" + cppType(type) + ">(" + expression.text + ")"};
}

Expression infix(const Expression& left, const char* symbol, const Expression& right,
                 int precedence) {
  return {left.within(precedence) + " " + symbol + " " + right.within(precedence + 1), precedence};
}

Expression castTo(const std::string& type, const Expression& value) {
  return {type + "(" + value.text + ")"};
}

struct Infix {
  const char* symbol;
  int precedence;
};

std::optional<Infix> integerInfix(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<Infix>>(op)
      .Case<arith::AddIOp>([](auto) { return Infix{"+", Expression::kSum}; })
      .Case<arith::SubIOp>([](auto) { return Infix{"-", Expression::kSum}; })
      .Case<arith::MulIOp>([](auto) { return Infix{"*", Expression::kProduct}; })
      .Case<arith::DivSIOp, arith::DivUIOp>([](auto) { return Infix{"/", Expression::kProduct}; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return Infix{"%", Expression::kProduct}; })
      .Case<arith::ShLIOp>([](auto) { return Infix{"<<", Expression::kShift}; })
      .Case<arith::ShRSIOp, arith::ShRUIOp>([](auto) { return Infix{">>", Expression::kShift}; })
      .Case<arith::AndIOp>([](auto) { return Infix{"&", Expression::kAnd}; })
      .Case<arith::OrIOp>([](auto) { return Infix{"|", Expression::kOr}; })
      .Case<arith::XOrIOp>([](auto) { return Infix{"^", Expression::kXor}; })
      .Default([](auto) { return std::nullopt; });
}

std::optional<Infix> floatInfix(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<Infix>>(op)
      .Case<arith::AddFOp>([](auto) { return Infix{"+", Expression::kSum}; })
      .Case<arith::SubFOp>([](auto) { return Infix{"-", Expression::kSum}; })
      .Case<arith::MulFOp>([](auto) { return Infix{"*", Expression::kProduct}; })
      .Case<arith::DivFOp>([](auto) { return Infix{"/", Expression::kProduct}; })
      .Default([](auto) { return std::nullopt; });
}

/// Whether a division may be of the least integer by -1, which C++ leaves open. Indices are never so large, and
/// what is narrower than 32 bits is divided in 32.
bool mayDivideLeast(Operation* op) {
  const auto type = dyn_cast<IntegerType>(op->getResult(0).getType());
  if (!type || type.getWidth() < 32)
    return false;
  const IndexRange divisor = rangeAt(op, op->getOperand(1));
  if (divisor.low > -1 || divisor.high < -1)
    return false;
  const int64_t least = APInt::getSignedMinValue(type.getWidth()).getSExtValue();
  return rangeAt(op, op->getOperand(0)).low <= least;
}

/// Functions of our header, by what they are called there.
const char* functionName(Operation* op) {
  if (isa<arith::DivSIOp, arith::RemSIOp>(op) && mayDivideLeast(op))
    return isa<arith::DivSIOp>(op) ? "truncDiv" : "truncMod";
  return llvm::TypeSwitch<Operation*, const char*>(op)
      .Case<arith::FloorDivSIOp>([](auto) { return "floorDiv"; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([](auto) { return "ceilDiv"; })
      .Case<arith::MaxSIOp, arith::MaxUIOp, arith::MaximumFOp, arith::MaxNumFOp>(
          [](auto) { return "larger"; })
      .Case<arith::MinSIOp, arith::MinUIOp, arith::MinimumFOp, arith::MinNumFOp>(
          [](auto) { return "smaller"; })
      .Case<math::AbsIOp, math::AbsFOp>([](auto) { return "magnitude"; })
      .Case<math::SqrtOp>([](auto) { return "squareRoot"; })
      .Case<math::RoundEvenOp>([](auto) { return "roundToEven"; })
      .Case<math::TruncOp>([](auto) { return "roundToZero"; })
      .Case<math::FloorOp>([](auto) { return "roundDown"; })
      .Case<math::CeilOp>([](auto) { return "roundUp"; })
      .Case<arith::RemFOp>([](auto) { return "floatMod"; })
      .Case<math::CopySignOp>([](auto) { return "copySign"; })
      .Case<math::CtPopOp>([](auto) { return "countBits"; })
      .Case<math::CountLeadingZerosOp>([](auto) { return "leadingZeros"; })
      .Default([](auto) { return nullptr; });
}

bool isUnsignedOp(Operation* op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::ShRUIOp, arith::CeilDivUIOp, arith::MaxUIOp,
             arith::MinUIOp>(op);
}

std::string unsignedType(Type type) {
  return "u" + cppType(type);
}

/// An operand; of a divisor that may be 0 what its text asks for.
Expression operandOf(OpOperand& operand, const SourceText& text) {
  Expression value = inFloat(operand.get(), text);
  if (text.zeroFlag().empty() || operand.getOperandNumber() != 1 ||
      !mayDivideByZero(operand.getOwner()))
    return value;
  return {"nonZeroDivisor(" + value.text + ", " + text.zeroFlag() + ")", Expression::kAtom};
}

Expression call(const std::string& function, Operation* op, const SourceText& text) {
  std::string arguments;
  const bool isUnsigned = isUnsignedOp(op);
  for (OpOperand& operand : op->getOpOperands()) {
    Expression value = operandOf(operand, text);
    if (isUnsigned)
      value = castTo(unsignedType(operand.get().getType()), value);
    else if (isa<math::CtPopOp, math::CountLeadingZerosOp>(op)) // of its own bits, not of an int's
      value = castTo(cppType(operand.get().getType()), value);
    arguments += (arguments.empty() ? "" : ", ") + value.text;
  }
  Expression result{function + "(" + arguments + ")"};
  Type type = op->getResult(0).getType();
  // The quotient of the least integer of 8 or 16 bits by -1 has no room in them.
  const bool isNarrow = type.isInteger(8) || type.isInteger(16);
  const bool mayGrow = isNarrow && isa<arith::FloorDivSIOp, arith::CeilDivSIOp>(op);
  return isUnsigned || mayGrow ? castTo(cppType(type), result) : fromFloat(result, type);
}

/// `block / 2` and `block % 2`, which are shifts and masks by now: of what is not negative they say the same.
std::optional<Expression> asDivision(Operation* op, const SourceText& text) {
  if (!isa<arith::ShRSIOp, arith::AndIOp>(op) || op->getResult(0).getType().isInteger(1))
    return std::nullopt;
  const bool isShift = isa<arith::ShRSIOp>(op);
  const std::optional<int64_t> number = getConstantIntValue(op->getOperand(1));
  if (!number || *number <= 0 || *number > std::numeric_limits<int16_t>::max())
    return std::nullopt;
  const bool isDivision = isShift ? *number <= 30 : llvm::isMask_64(uint64_t(*number));
  if (!isDivision || rangeAt(op, op->getOperand(0)).low < 0)
    return std::nullopt;
  const Expression divisor{std::to_string(isShift ? int64_t{1} << *number : *number + 1)};
  return infix(text.expression(op->getOperand(0)), isShift ? "/" : "%", divisor,
               Expression::kProduct);
}

bool isOf64Bits(Type type) {
  return type.isIndex() || type.isInteger(64);
}

Expression integerExpression(Operation* op, Infix how, const SourceText& text) {
  Expression left = text.expression(op->getOperand(0)),
             right = operandOf(op->getOpOperand(1), text);
  Type type = op->getResult(0).getType();
  // C++ shifts a short literal in 32 bits.
  if (isa<arith::ShLIOp, arith::ShRSIOp>(op) && isOf64Bits(type) &&
      getConstantIntValue(op->getOperand(0)))
    left = castTo(cppType(type), left);
  if (!isUnsignedOp(op)) {
    const Expression wide = infix(left, how.symbol, right, how.precedence);
    // C++ computes in 32 bits at least.
    const bool isNarrow = type.isInteger(8) || type.isInteger(16);
    const bool mayGrow =
        isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::ShLIOp>(op);
    return isNarrow && mayGrow ? castTo(cppType(type), wide) : wide;
  }
  left = castTo(unsignedType(type), left);
  right = castTo(unsignedType(type), right);
  return castTo(cppType(type), infix(left, how.symbol, right, how.precedence));
}

/// Whether a division by 0 may stand in the text of a value.
bool mayFail(Value value, int& budget) {
  Operation* op = value.getDefiningOp();
  if (!op || !isPure(op))
    return false; // named before
  return --budget < 0 || mayDivideByZero(op) ||
         llvm::any_of(op->getOperands(), [&](Value each) { return mayFail(each, budget); });
}

/// `a && b`, `a || b` and `!a` of conditions, where it makes no difference that C++ may leave out b.
std::optional<Expression> ofConditions(Operation* op, const SourceText& text) {
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op) ||
      !op->getResult(0).getType().isInteger(1))
    return std::nullopt;
  const Expression left = text.expression(op->getOperand(0)),
                   right = text.expression(op->getOperand(1));
  if (isa<arith::XOrIOp>(op)) {
    if (!matchPattern(op->getOperand(1), m_One()))
      return std::nullopt;
    return Expression{"!" + left.within(Expression::kAtom), Expression::kProduct};
  }
  constexpr int most = 50;
  int budget = most;
  if (mayFail(op->getOperand(1), budget))
    return std::nullopt;
  // Compilers of C++ ask for brackets around && in ||.
  const bool isAnd = isa<arith::AndIOp>(op);
  const auto part = [&](const Expression& condition) {
    return condition.within(isAnd                                       ? Expression::kBoth
                            : condition.precedence == Expression::kBoth ? Expression::kBoth + 1
                                                                        : Expression::kEither);
  };
  return Expression{part(left) + (isAnd ? " && " : " || ") + part(right),
                    isAnd ? Expression::kBoth : Expression::kEither};
}

Expression choice(arith::SelectOp op, const SourceText& text) {
  Expression yes = text.expression(op.getTrueValue()), no = text.expression(op.getFalseValue());
  // What is computed with a choice between two short literals is computed in 32 bits.
  if (isOf64Bits(op.getType()) && getConstantIntValue(op.getTrueValue()) &&
      getConstantIntValue(op.getFalseValue()))
    yes = castTo(cppType(op.getType()), yes);
  return {text.expression(op.getCondition()).within(Expression::kChoice + 1) + " ? " +
              yes.within(Expression::kChoice + 1) + " : " + no.within(Expression::kChoice + 1),
          Expression::kChoice};
}

/// What is compared: of indices `5 - i > 0` as `i < 5`, and `i > -1` as `i >= 0`.
struct Comparison {
  arith::CmpIPredicate predicate;
  Expression left, right;
};

Comparison comparisonOf(arith::CmpIOp op, const SourceText& text) {
  using P = arith::CmpIPredicate;
  Comparison made{op.getPredicate(), text.expression(op.getLhs()), text.expression(op.getRhs())};
  std::optional<int64_t> number = getConstantIntValue(op.getRhs());
  constexpr int64_t most = int64_t{1} << 40;
  if (!number || !op.getLhs().getType().isIndex() || made.predicate >= P::ult ||
      std::abs(*number) > most)
    return made;
  auto minus = op.getLhs().getDefiningOp<arith::SubIOp>();
  const std::optional<int64_t> from = minus ? getConstantIntValue(minus.getLhs()) : std::nullopt;
  if (from && std::abs(*from) <= most && made.left.precedence == Expression::kSum) {
    static const P turned[] = {P::eq, P::ne, P::sgt, P::sge, P::slt, P::sle};
    number = *from - *number;
    made = {turned[size_t(made.predicate)],
            text.expression(minus.getRhs()),
            {std::to_string(*number), *number < 0 ? Expression::kProduct : Expression::kAtom}};
  }
  if (made.predicate == P::sgt && number == -1) {
    made.predicate = P::sge;
    made.right = {"0"};
  }
  return made;
}

Expression compareIntegers(arith::CmpIOp op, const SourceText& text) {
  using P = arith::CmpIPredicate;
  static const char* const symbols[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
  auto [predicate, left, right] = comparisonOf(op, text);
  if (predicate >= P::ult && !op.getLhs().getType().isInteger(1)) {
    left = castTo(unsignedType(op.getLhs().getType()), left);
    right = castTo(unsignedType(op.getLhs().getType()), right);
  }
  const bool isEquality = predicate == P::eq || predicate == P::ne;
  return infix(left, symbols[size_t(predicate)], right,
               isEquality ? Expression::kEquality : Expression::kRelation);
}

std::optional<Expression> compareFloats(arith::CmpFOp op, const SourceText& text) {
  using P = arith::CmpFPredicate;
  const Expression left = inFloat(op.getLhs(), text), right = inFloat(op.getRhs(), text);
  auto compare = [&](const char* symbol, bool negate) -> Expression {
    const bool isEquality = symbol[0] == '=' || symbol[0] == '!';
    Expression plain =
        infix(left, symbol, right, isEquality ? Expression::kEquality : Expression::kRelation);
    return negate ? Expression{"!(" + plain.text + ")"} : plain;
  };
  switch (op.getPredicate()) {
  case P::OEQ:
    return compare("==", false);
  case P::OGT:
    return compare(">", false);
  case P::OGE:
    return compare(">=", false);
  case P::OLT:
    return compare("<", false);
  case P::OLE:
    return compare("<=", false);
  case P::UNE:
    return compare("!=", false);
  case P::UGT:
    return compare("<=", true);
  case P::UGE:
    return compare("<", true);
  case P::ULT:
    return compare(">=", true);
  case P::ULE:
    return compare(">", true);
  case P::UNO:
    if (op.getLhs() == op.getRhs())
      return compare("!=", false);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

const char* roundModeName(arith::RoundingMode mode) {
  switch (mode) {
  case arith::RoundingMode::downward:
    return "CAST_FLOOR";
  case arith::RoundingMode::upward:
    return "CAST_CEIL";
  case arith::RoundingMode::toward_zero:
    return "CAST_TRUNC";
  case arith::RoundingMode::to_nearest_away:
    return "CAST_ROUND";
  case arith::RoundingMode::to_nearest_even:
    return "CAST_RINT";
  }
  llvm_unreachable("all modes are listed");
}

/// Whether float32 may have no room for an integer on its way to bfloat16.
bool isRoundedTwice(Operation* op) {
  constexpr int64_t most = 1 << 24;
  if (!isa<arith::SIToFPOp, arith::UIToFPOp>(op) || !op->getResult(0).getType().isBF16() ||
      op->getOperand(0).getType().getIntOrFloatBitWidth() <= 24)
    return false;
  return !rangeAt(op, op->getOperand(0)).isWithin(isa<arith::UIToFPOp>(op) ? 0 : -most, most);
}

std::optional<Expression> convert(Operation* op, const SourceText& text) {
  Value source = op->getOperand(0);
  Type from = source.getType(), to = op->getResult(0).getType();
  Expression value = text.expression(source);
  if (isa<arith::ExtUIOp, arith::UIToFPOp, arith::IndexCastUIOp>(op) && !from.isInteger(1))
    value = castTo(unsignedType(from), value);
  if (isa<arith::ExtSIOp>(op) && from.isInteger(1))
    value = {"-" + castTo(cppType(to), value).within(Expression::kAtom), Expression::kSum};
  if (isa<arith::TruncIOp>(op) && to.isInteger(1))
    return Expression{"(" + value.within(Expression::kAnd + 1) + " & 1) != 0",
                      Expression::kEquality};
  if (isSmallFloat(from))
    value = inFloat(source, text);
  if (auto narrow = dyn_cast<arith::TruncFOp>(op); narrow && narrow.getRoundingmode())
    return Expression{"roundedTo<" + cppType(to) + ", RoundMode::" +
                      roundModeName(*narrow.getRoundingmode()) + ">(" + value.text + ")"};
  if (isRoundedTwice(op))
    return Expression{"toBfloat16(" + value.text + ")"};
  if (isSmallFloat(to))
    return fromFloat(castTo("float", value), to);
  if (isa<arith::FPToSIOp>(op))
    return Expression{"toInteger<" + cppType(to) + ">(" + value.text + ")"};
  if (isa<arith::FPToUIOp>(op))
    return castTo(cppType(to), {"toInteger<" + unsignedType(to) + ">(" + value.text + ")"});
  return castTo(cppType(to), value);
}

} // namespace

bool mayDivideByZero(Operation* op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp>(op) &&
         !rangeAt(op, op->getOperand(1)).isWithin(1, IndexRange().high) &&
         !rangeAt(op, op->getOperand(1)).isWithin(IndexRange().low, -1);
}

std::string constantText(Attribute value, Type type) {
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    if (type.isInteger(1))
      return integer.getValue().isZero() ? "false" : "true";
    const int64_t number = integer.getValue().getSExtValue();
    if (number == std::numeric_limits<int64_t>::min())
      return "(-0x7fffffffffffffff - 1)";
    // A minus sign before a number of 64 bits otherwise.
    if (type.isInteger(32) && number == std::numeric_limits<int32_t>::min())
      return "(-0x7fffffff - 1)";
    return std::to_string(number);
  }
  const APFloat number = cast<FloatAttr>(value).getValue();
  std::string text;
  if (!number.isFinite()) {
    text = number.isNaN()        ? "notANumber()"
           : number.isNegative() ? "-positiveInfinity()"
                                 : "positiveInfinity()";
  } else {
    SmallString<32> digits;
    number.toString(digits);
    text = digits.str().str();
    if (text.find_first_of(".E") == std::string::npos)
      text += ".0";
    text += "f";
  }
  return isSmallFloat(type) ? "fromFloat<" + cppType(type) + ">(" + text + ")" : text;
}

std::optional<Expression> scalarExpression(Operation* op, const SourceText& text) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    std::string written = constantText(constant.getValue(), constant.getType());
    const bool isNegative = written[0] == '-';
    return Expression{std::move(written), isNegative ? Expression::kProduct : Expression::kAtom};
  }
  if (std::optional<Expression> division = asDivision(op, text))
    return division;
  if (std::optional<Expression> condition = ofConditions(op, text))
    return condition;
  const char* function = functionName(op);
  if (std::optional<Infix> how = integerInfix(op); how && !function)
    return integerExpression(op, *how, text);
  if (std::optional<Infix> how = floatInfix(op))
    return fromFloat(infix(inFloat(op->getOperand(0), text), how->symbol,
                           inFloat(op->getOperand(1), text), how->precedence),
                     op->getResult(0).getType());
  if (function)
    return call(text.function(function), op, text);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare, text);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareFloats(compare, text);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return choice(select, text);
  if (auto negate = dyn_cast<arith::NegFOp>(op))
    return fromFloat(
        {"-" + inFloat(negate.getOperand(), text).within(Expression::kAtom), Expression::kProduct},
        negate.getType());
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp,
          arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp, arith::ExtFOp,
          arith::TruncFOp>(op))
    return convert(op, text);
  if (auto bits = dyn_cast<arith::BitcastOp>(op)) {
    // C++ makes a wider number of what it computes with one that is narrow.
    const Type from = bits.getIn().getType();
    Expression value = text.expression(bits.getIn());
    if (isa<IntegerType>(from) && value.precedence < Expression::kAtom)
      value = castTo(cppType(from), value);
    return Expression{"sameBits<" + cppType(bits.getType()) + ">(" + value.text + ")"};
  }
  return std::nullopt;
}

} // namespace tilewright::ascend
