// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/operators.h"

#include <array>

namespace tilewright::builder {
namespace {

struct Name {
  std::string_view name;     // as the front ends pass it
  std::string_view spelling; // as users write it
};

// In the order of the enums.
constexpr std::array<Name, 28> kBinary = {{
    {"add", "+"},
    {"sub", "-"},
    {"mul", "*"},
    {"div", "/"},
    {"floordiv", "//"},
    {"floormod", "%"},
    {"truncdiv", "truncdiv"},
    {"truncmod", "truncmod"},
    {"ceildiv", "ceildiv"},
    {"min", "min"},
    {"max", "max"},
    {"pow", "pow"},
    {"shl", "<<"},
    {"shr", ">>"},
    {"and", "&"},
    {"or", "|"},
    {"xor", "^"},
    {"lt", "<"},
    {"le", "<="},
    {"gt", ">"},
    {"ge", ">="},
    {"eq", "=="},
    {"ne", "!="},
    {"logical_and", "and"},
    {"logical_or", "or"},
    {"fmod", "fmod"},
    {"atan2", "atan2"},
    {"copysign", "copysign"},
}};
static_assert(kBinary.size() == size_t(BinaryOp::CopySign) + 1);
static_assert(kBinary.back().name == "copysign");

constexpr std::array<Name, 38> kUnary = {{
    {"neg", "-"},
    {"not", "~"},
    {"abs", "abs"},
    {"logical_not", "not"},
    {"popcount", "popcount"},
    {"clz", "clz"},
    {"exp", "exp"},
    {"exp2", "exp2"},
    {"exp10", "exp10"},
    {"log", "log"},
    {"log2", "log2"},
    {"log10", "log10"},
    {"log1p", "log1p"},
    {"expm1", "expm1"},
    {"sqrt", "sqrt"},
    {"rsqrt", "rsqrt"},
    {"sigmoid", "sigmoid"},
    {"tanh", "tanh"},
    {"sinh", "sinh"},
    {"cosh", "cosh"},
    {"sin", "sin"},
    {"cos", "cos"},
    {"tan", "tan"},
    {"asin", "asin"},
    {"acos", "acos"},
    {"atan", "atan"},
    {"asinh", "asinh"},
    {"acosh", "acosh"},
    {"atanh", "atanh"},
    {"erf", "erf"},
    {"floor", "floor"},
    {"ceil", "ceil"},
    {"round", "round"},
    {"nearbyint", "nearbyint"},
    {"trunc", "trunc"},
    {"isnan", "isnan"},
    {"isinf", "isinf"},
    {"isfinite", "isfinite"},
}};
static_assert(kUnary.size() == size_t(UnaryOp::IsFinite) + 1);

template <typename Op, size_t size>
std::optional<Op> find(const std::array<Name, size>& table, std::string_view name) {
  for (size_t i = 0; i < size; ++i)
    if (table[i].name == name)
      return Op(i);
  return std::nullopt;
}

} // namespace

std::optional<BinaryOp> parseBinary(std::string_view name) {
  return find<BinaryOp>(kBinary, name);
}
std::optional<UnaryOp> parseUnary(std::string_view name) {
  return find<UnaryOp>(kUnary, name);
}
std::string_view spelling(BinaryOp op) {
  return kBinary[size_t(op)].spelling;
}
std::string_view spelling(UnaryOp op) {
  return kUnary[size_t(op)].spelling;
}

} // namespace tilewright::builder
