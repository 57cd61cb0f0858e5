// SPDX-License-Identifier: Apache-2.0
#include "compiler/base/libm_functions.h"

#include <algorithm>

namespace tilewright {
namespace {

/// Arguments and result, a letter each: r is a real number of the form's width, i an int, l a long
/// long. python/tilewright/language/libm.py has the same table, and a test compares them.
struct Signature {
  std::string_view name, kinds;
};
constexpr Signature kFunctions[] = {
    {"acos", "rr"},      {"acosh", "rr"},      {"asin", "rr"},      {"asinh", "rr"},
    {"atan", "rr"},      {"atan2", "rrr"},     {"atanh", "rr"},     {"cbrt", "rr"},
    {"ceil", "rr"},      {"copysign", "rrr"},  {"cos", "rr"},       {"cosh", "rr"},
    {"erf", "rr"},       {"erfc", "rr"},       {"exp", "rr"},       {"exp10", "rr"},
    {"exp2", "rr"},      {"expm1", "rr"},      {"fabs", "rr"},      {"fdim", "rrr"},
    {"floor", "rr"},     {"fma", "rrrr"},      {"fmax", "rrr"},     {"fmin", "rrr"},
    {"fmod", "rrr"},     {"hypot", "rrr"},     {"ilogb", "ri"},     {"ldexp", "rir"},
    {"lgamma", "rr"},    {"llrint", "rl"},     {"llround", "rl"},   {"log", "rr"},
    {"log10", "rr"},     {"log1p", "rr"},      {"log2", "rr"},      {"logb", "rr"},
    {"lrint", "rl"},     {"lround", "rl"},     {"nearbyint", "rr"}, {"nextafter", "rrr"},
    {"pow", "rrr"},      {"remainder", "rrr"}, {"rint", "rr"},      {"round", "rr"},
    {"roundeven", "rr"}, {"scalbn", "rir"},    {"sin", "rr"},       {"sinh", "rr"},
    {"sqrt", "rr"},      {"tan", "rr"},        {"tanh", "rr"},      {"tgamma", "rr"},
    {"trunc", "rr"},
};

const Signature* find(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, &Signature::name);
  return found == std::end(kFunctions) ? nullptr : found;
}

} // namespace

std::optional<LibmFunction> findLibmFunction(std::string_view name) {
  ScalarKind real = ScalarKind::Float64;
  const Signature* signature = find(name);
  if (!signature && name.ends_with('f')) {
    real = ScalarKind::Float32;
    signature = find(name.substr(0, name.size() - 1));
  }
  if (!signature)
    return std::nullopt;
  auto dtypeOf = [&](char letter) {
    return Dtype(letter == 'r' ? real : letter == 'i' ? ScalarKind::Int32 : ScalarKind::Int64);
  };
  LibmFunction function{{}, dtypeOf(signature->kinds.back())};
  for (char letter : signature->kinds.substr(0, signature->kinds.size() - 1))
    function.arguments.push_back(dtypeOf(letter));
  return function;
}

} // namespace tilewright
