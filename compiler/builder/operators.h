// SPDX-License-Identifier: Apache-2.0
/// The scalar operators of the language by the names that `KernelBuilder::binary` and `unary` take.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright::builder {

enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  FloorMod,
  TruncDiv,
  TruncMod,
  CeilDiv,
  Min,
  Max,
  Pow,
  Shl,
  Shr,
  And,
  Or,
  Xor,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  LogicalAnd,
  LogicalOr,
  Fmod,
  Atan2,
  CopySign,
};

enum class UnaryOp : uint8_t {
  Neg,
  Not,
  Abs,
  LogicalNot,
  PopCount,
  Clz,
  Exp,
  Exp2,
  Exp10,
  Log,
  Log2,
  Log10,
  Log1p,
  Expm1,
  Sqrt,
  Rsqrt,
  Sigmoid,
  Tanh,
  Sinh,
  Cosh,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Asinh,
  Acosh,
  Atanh,
  Erf,
  Floor,
  Ceil,
  Round,
  NearbyInt,
  Trunc,
  IsNan,
  IsInf,
  IsFinite,
};

std::optional<BinaryOp> parseBinary(std::string_view name);
std::optional<UnaryOp> parseUnary(std::string_view name);

/// As a user writes it, for messages: "+", "//", "max".
std::string_view spelling(BinaryOp op);
std::string_view spelling(UnaryOp op);

constexpr bool isComparison(BinaryOp op) {
  return op >= BinaryOp::Lt && op <= BinaryOp::Ne;
}
constexpr bool isLogical(BinaryOp op) {
  return op >= BinaryOp::LogicalAnd && op <= BinaryOp::LogicalOr;
}
constexpr bool isShift(BinaryOp op) {
  return op == BinaryOp::Shl || op == BinaryOp::Shr;
}
/// Operators on the bits of integers and bools.
constexpr bool isBitwise(BinaryOp op) {
  return op >= BinaryOp::Shl && op <= BinaryOp::Xor;
}
/// Operators that are defined for real numbers only.
constexpr bool isReal(BinaryOp op) {
  return op == BinaryOp::Div || op >= BinaryOp::Fmod;
}
constexpr bool isDivision(BinaryOp op) {
  return op >= BinaryOp::Div && op <= BinaryOp::CeilDiv;
}
/// Functions that take an integer as a float32.
constexpr bool isReal(UnaryOp op) {
  return op >= UnaryOp::Exp && op <= UnaryOp::Erf;
}
constexpr bool isRounding(UnaryOp op) {
  return op >= UnaryOp::Floor && op <= UnaryOp::Trunc;
}
constexpr bool isClassification(UnaryOp op) {
  return op >= UnaryOp::IsNan;
}

} // namespace tilewright::builder
