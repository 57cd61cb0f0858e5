// SPDX-License-Identifier: Apache-2.0
/// The element types of the language, by the names that users write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

enum class ScalarKind : uint8_t {
  Bool,
  Int4,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt4,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Float8E4M3,
  Float8E4M3FN,
  Float8E4M3FNUZ,
  Float8E5M2,
  Float8E5M2FNUZ,
  Float8E8M0,
  Float4E2M1,
  Float8E3M4,
  Float8E4M3B11FNUZ,
  Float6E2M3,
  Float6E3M2,
  Float4E2M1Unpacked,
  TFloat32,
};

/// A dtype: a scalar kind and a number of lanes (1 for a scalar).
class Dtype {
public:
  constexpr Dtype() = default;
  constexpr Dtype(ScalarKind kind, int lanes = 1) : scalarKind(kind), laneCount(int16_t(lanes)) {}
  static constexpr Dtype boolean() {
    return {ScalarKind::Bool};
  }
  static constexpr Dtype uint8() {
    return {ScalarKind::UInt8};
  }
  static constexpr Dtype int32() {
    return {ScalarKind::Int32};
  }
  static constexpr Dtype int64() {
    return {ScalarKind::Int64};
  }
  static constexpr Dtype float32() {
    return {ScalarKind::Float32};
  }

  /// Reads `float16`, `half`, `uint8`, `float8_e4m3fn`, `float32x4`, ...; nothing if there is no
  /// such dtype. Lanes are powers of two up to 64.
  static std::optional<Dtype> parse(std::string_view name);
  /// The full name, which `parse` reads back: "float16", "float8_e8m0fnu", "float32x4".
  std::string name() const;

  constexpr ScalarKind kind() const {
    return scalarKind;
  }
  constexpr int lanes() const {
    return laneCount;
  }
  /// Bits of one lane as it is stored: 8 for bool, 4 for the packed int4, uint4 and float4_e2m1fn.
  int bits() const;
  bool isFloat() const;
  bool isSigned() const;
  bool isInteger() const {
    return !isFloat() && scalarKind != ScalarKind::Bool;
  }
  bool operator==(const Dtype&) const = default;

private:
  ScalarKind scalarKind = ScalarKind::Float32;
  int16_t laneCount = 1;
};

} // namespace tilewright
