// SPDX-License-Identifier: Apache-2.0
#include "runtime/element_type.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace tilewright::runtime {

namespace {

using Specials = ElementType::Specials;

constexpr std::array elementTypes = {
    ElementType{"bool", DlBool, 8},
    ElementType{"int4", DlInt, 4},
    ElementType{"int8", DlInt, 8},
    ElementType{"int16", DlInt, 16},
    ElementType{"int32", DlInt, 32},
    ElementType{"int64", DlInt, 64},
    ElementType{"uint4", DlUInt, 4},
    ElementType{"uint8", DlUInt, 8},
    ElementType{"uint16", DlUInt, 16},
    ElementType{"uint32", DlUInt, 32},
    ElementType{"uint64", DlUInt, 64},
    ElementType{"float16", DlFloat, 16, 5, 10},
    ElementType{"bfloat16", DlBfloat, 16, 8, 7},
    ElementType{"float32", DlFloat, 32, 8, 23},
    ElementType{"float64", DlFloat, 64, 11, 52},
    ElementType{"float8_e4m3", DlFloat8E4M3, 8, 4, 3},
    ElementType{"float8_e4m3fn", DlFloat8E4M3FN, 8, 4, 3, Specials::NanOnly},
    ElementType{"float8_e4m3fnuz", DlFloat8E4M3FNUZ, 8, 4, 3, Specials::NanIsMinusZero},
    ElementType{"float8_e5m2", DlFloat8E5M2, 8, 5, 2},
    ElementType{"float8_e5m2fnuz", DlFloat8E5M2FNUZ, 8, 5, 2, Specials::NanIsMinusZero},
    ElementType{"float8_e8m0fnu", DlFloat8E8M0FNU, 8},
    ElementType{"float8_e3m4", DlFloat8E3M4, 8, 3, 4},
    ElementType{"float8_e4m3b11fnuz", DlFloat8E4M3B11FNUZ, 8, 4, 3, Specials::NanIsMinusZero},
    ElementType{"float6_e2m3fn", DlFloat6E2M3FN, 6, 2, 3, Specials::None},
    ElementType{"float6_e3m2fn", DlFloat6E3M2FN, 6, 3, 2, Specials::None},
    ElementType{"float4_e2m1fn", DlFloat4E2M1FN, 4, 2, 1, Specials::None},
    ElementType{"float4_e2m1_unpacked", DlFloat4E2M1FN, 8, 2, 1,
                Specials::None}, // the low half of a byte
};

} // namespace

const ElementType* ElementType::find(std::string_view name) {
  for (const ElementType& type : elementTypes)
    if (type.name == name)
      return &type;
  if (name == "float8_e8m0")
    return find("float8_e8m0fnu");
  if (name == "float4_e2m1")
    return find("float4_e2m1fn");
  return nullptr;
}

bool isAccepted(const ElementType& expected, DlDataType given) {
  if (given == DlDataType{expected.code, expected.bits, 1})
    return true;
  bool isByte =
      given.bits == 8 && given.lanes == 1 && (given.code == DlInt || given.code == DlUInt);
  // Formats that few frameworks have travel as bytes, too.
  if (isByte && expected.bits == 8 && expected.code == DlFloat4E2M1FN)
    return true;
  if (isByte && (expected.code == DlFloat8E3M4 || expected.code == DlFloat8E4M3B11FNUZ ||
                 expected.code == DlFloat8E8M0FNU))
    return true;
  return (expected.code == DlBool || expected.bits < 8) &&
         (isByte || given == DlDataType{expected.code, expected.bits, 2});
}

std::string nameOf(DlDataType type) {
  std::string lanes = type.lanes > 1 ? "x" + std::to_string(type.lanes) : "";
  for (const ElementType& known : elementTypes)
    if (known.code == type.code && known.bits == type.bits)
      return std::string(known.name) + lanes;
  if (type.code == DlComplex)
    return "complex" + std::to_string(type.bits) + lanes;
  return "type code " + std::to_string(type.code) + " of " + std::to_string(type.bits) + " bits" +
         lanes;
}

std::optional<uint64_t> encodeFloat(const ElementType& type, double value) {
  if (type.bits == 64)
    return std::bit_cast<uint64_t>(value);
  const int mantissaBits = type.mantissaBits;
  const int maxExponentField = (1 << type.exponentBits) - 1;
  // The fnuz types shift the bias by one, and have no negative zero: its code is their NaN.
  const bool shifted = type.specials == Specials::NanIsMinusZero;
  const int bias = (1 << (type.exponentBits - 1)) - (shifted ? 0 : 1);
  const uint64_t signBit = uint64_t(1) << (type.exponentBits + mantissaBits);
  const uint64_t sign = std::signbit(value) ? signBit : 0;
  const uint64_t infinity = uint64_t(maxExponentField) << mantissaBits;
  if (std::isnan(value)) {
    if (type.specials == Specials::None)
      return std::nullopt;
    if (shifted)
      return signBit;
    return infinity | ((uint64_t(1) << mantissaBits) - 1);
  }
  if (std::isinf(value))
    return type.specials == Specials::Ieee ? std::optional(sign | infinity) : std::nullopt;
  if (value == 0)
    return shifted ? 0 : sign;

  // In units of the last place of the result, rounded to nearest even: exact, since ldexp only
  // scales.
  int exponent = std::max(std::ilogb(value), 1 - bias);
  double units = std::nearbyint(std::ldexp(std::fabs(value), mantissaBits - exponent));
  // A carry out of the mantissa moves on into the exponent field by itself.
  uint64_t field = uint64_t(exponent + bias - 1) << mantissaBits;
  uint64_t bits = field + uint64_t(units);
  uint64_t largest = infinity - 1;
  if (type.specials == Specials::NanOnly)
    largest = infinity | ((uint64_t(1) << mantissaBits) - 2);
  else if (type.specials != Specials::Ieee)
    largest = infinity | ((uint64_t(1) << mantissaBits) - 1);
  if (bits > largest)
    return std::nullopt;
  return (shifted && bits == 0) ? 0 : sign | bits;
}

double decodeFloat(const ElementType& type, uint64_t bits) {
  if (type.bits == 64)
    return std::bit_cast<double>(bits);
  const bool shifted = type.specials == Specials::NanIsMinusZero;
  const int bias = (1 << (type.exponentBits - 1)) - (shifted ? 0 : 1);
  const auto mantissa = int64_t(bits & ((uint64_t(1) << type.mantissaBits) - 1));
  const auto largestField = (1 << type.exponentBits) - 1;
  const auto field = int(bits >> type.mantissaBits) & largestField;
  const uint64_t signBit = uint64_t(1) << (type.exponentBits + type.mantissaBits);
  const bool isNegative = (bits & signBit) != 0;
  const double sign = isNegative ? -1 : 1;
  const bool isAllOnes = field == largestField;
  if (shifted && bits == signBit)
    return std::numeric_limits<double>::quiet_NaN();
  if (type.specials == Specials::Ieee && isAllOnes)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  if (type.specials == Specials::NanOnly && isAllOnes &&
      mantissa == (int64_t(1) << type.mantissaBits) - 1)
    return std::numeric_limits<double>::quiet_NaN();
  const int64_t units = field == 0 ? mantissa : mantissa + (int64_t(1) << type.mantissaBits);
  return sign * std::ldexp(double(units), std::max(field, 1) - bias - type.mantissaBits);
}

std::optional<uint64_t> encodeInteger(const ElementType& type, int64_t value, bool isUnsigned) {
  const bool isHuge = isUnsigned && value < 0; // above what int64 holds
  bool fits;
  if (type.code == DlBool)
    fits = value == 0 || value == 1;
  else if (type.code == DlInt)
    fits =
        !isHuge && value >= INT64_MIN >> (64 - type.bits) && value <= INT64_MAX >> (64 - type.bits);
  else if (type.bits == 64)
    fits = isUnsigned || value >= 0;
  else
    fits = value >= 0 && value < int64_t(1) << type.bits;
  return fits ? std::optional(uint64_t(value)) : std::nullopt;
}

} // namespace tilewright::runtime
