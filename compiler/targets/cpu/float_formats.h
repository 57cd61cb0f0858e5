// SPDX-License-Identifier: Apache-2.0
/// The 8-bit float formats as numbers, and conversions between small floats, float32 and float64
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
};

struct SmallFormat {
  int mantissaBits;
  int bias;
  SpecialValues special;
};

/// The format of a signed 8-bit float type; nothing for other types.
std::optional<SmallFormat> smallFormat(mlir::Type element);

/// True for the floats narrower than float32: float16, bfloat16 and the 8-bit formats.
bool isSmallFloat(mlir::Type element);

/// `value` (a small float, or a vector of them) in float32: always exact.
mlir::Value extendToFloat32(mlir::ImplicitLocOpBuilder& builder, mlir::Value value);

/// `value` (float32 or float64, or a vector) in the small float `element`, to nearest, ties to
/// even. Beyond the range: infinity, or NaN in formats without one.
mlir::Value roundToSmall(mlir::ImplicitLocOpBuilder& builder, mlir::Value value,
                         mlir::Type element);

} // namespace tilewright::cpu
