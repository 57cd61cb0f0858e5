// SPDX-License-Identifier: Apache-2.0
/// The element types of arguments: names as in the manifest, and what DLPack calls them.
#pragma once

#include "runtime/dlpack.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::runtime {

struct ElementType {
  std::string_view name;
  DlTypeCode code;
  uint8_t bits;
  /// Of a float: bits of exponent and mantissa, and whether it has infinities.
  uint8_t exponentBits = 0;
  uint8_t mantissaBits = 0;
  enum class Specials : uint8_t { Ieee, NanOnly, NanIsMinusZero, None } specials = Specials::Ieee;

  bool isFloat() const {
    return exponentBits > 0;
  }
  /// The type of the elements in memory: sub-byte elements travel as pairs in int8 or uint8.
  int elementsPerByte() const {
    return bits < 8 ? 8 / bits : 1;
  }

  /// Nothing if there is no such type.
  static const ElementType* find(std::string_view name);
};

/// Whether memory of type `given` may be passed for `expected`: the same type; int8 or uint8 for
/// bool, for types of less than a byte, packed or not, and for formats that few frameworks have.
bool isAccepted(const ElementType& expected, DlDataType given);

/// `float16`, `int8`, `float32x4`, or `type code 3 of 64 bits`.
std::string nameOf(DlDataType type);

/// The bits of `value` rounded to nearest even; nothing if it is finite and out of range.
std::optional<uint64_t> encodeFloat(const ElementType& type, double value);

/// The value of the bits of a float; the inverse of `encodeFloat`.
double decodeFloat(const ElementType& type, uint64_t bits);

/// The bits of the integer `value`, or of the same 64 bits as unsigned if `isUnsigned`; nothing if
/// it is out of the range of an integer or bool type.
std::optional<uint64_t> encodeInteger(const ElementType& type, int64_t value,
                                      bool isUnsigned = false);

} // namespace tilewright::runtime
