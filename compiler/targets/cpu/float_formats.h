// SPDX-License-Identifier: Apache-2.0
/// The float formats of at most 8 bits as numbers, and conversions between small floats, float32 and float64
/// written in integer arithmetic, so that emitted code never calls a compiler's support library.
#pragma once

#include <mlir/IR/ImplicitLocOpBuilder.h>

#include <optional>

namespace tilewright::cpu {

/// What the top of a format's range holds.
enum class SpecialValues {
  /// Infinities and NaNs in the highest exponent (float8_e5m2, float8_e4m3).
  Ieee,
  /// No infinity; NaN is all ones (float8_e4m3fn).
  OnlyNan,
  /// No infinity, no negative zero: its pattern is NaN (float8_*fnuz).
  NegativeZeroIsNan,
  /// Neither infinities nor NaN (float6_*, float4_e2m1fn).
  None,
};

struct SmallFormat {
  int bits;
  int mantissaBits;
  int bias;
  SpecialValues special;

  /// All bits but the sign, which is the one above.
  uint32_t magnitudeMask() const {
    return (1u << (bits - 1)) - 1;
  }
  /// Of a format that has it.
  uint32_t infinity() const {
    return (magnitudeMask() >> mantissaBits) << mantissaBits;
  }
  uint32_t largest() const {
    if (special == SpecialValues::Ieee)
      return infinity() - 1;
    return magnitudeMask() - (special == SpecialValues::OnlyNan ? 1 : 0);
  }
};

/// The format of a signed float type of at most 8 bits; nothing for other types.
std::optional<SmallFormat> smallFormat(mlir::Type element);

/// True for the floats narrower than float32: float16, bfloat16 and those of at most 8 bits.
bool isSmallFloat(mlir::Type element);

/// `value` (a small float, or a vector of them) in float32: always exact.
mlir::Value extendToFloat32(mlir::ImplicitLocOpBuilder& builder, mlir::Value value);

/// What is known of a number that becomes a bfloat16, as mark_roundings.cpp says.
struct Rounding {
  bool hasShortNans = false;
  bool isRough = false;
};

/// What the op that rounds says; nothing of a number that no op here rounds.
Rounding roundingOf(mlir::Value rounded);

/// `value` (float32 or float64, or a vector) in the small float `element`, to nearest, ties to
/// even. Beyond the range: infinity in 16 bits; in fewer the largest finite value, as GPUs convert. NaN
/// stays NaN; in formats without one it becomes the largest value.
mlir::Value roundToSmall(mlir::ImplicitLocOpBuilder& builder, mlir::Value value, mlir::Type element,
                         Rounding how = {});

/// Vectors of float32, rounded to bfloat16 as above: 32-bit words with those of `even` in the lower half, those of
/// `odd` in the upper one.
mlir::Value roundToBfloatPairs(mlir::ImplicitLocOpBuilder& builder, mlir::Value even,
                               mlir::Value odd, Rounding how = {});

} // namespace tilewright::cpu
