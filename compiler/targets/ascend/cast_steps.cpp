// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/cast_steps.h"

namespace tilewright::ascend {

using namespace mlir;
using npu::Rounding;

/// One instruction of arch 2201 that keeps or rounds as tile.copy does.
static std::optional<Rounding> direct(Type from, Type to) {
  const bool fromByte = from.isInteger(8), fromShort = from.isSignedInteger(16);
  if (to.isF32()) {
    if (from.isF16() || from.isBF16() || fromShort)
      return Rounding::None;
    if (from.isSignedInteger(32) || from.isSignedInteger(64))
      return Rounding::Rint;
  }
  if (to.isF16()) {
    if (fromByte || from.isSignedInteger(4))
      return Rounding::None;
    if (from.isF32() || fromShort)
      return Rounding::Rint;
  }
  if (to.isBF16() && from.isF32())
    return Rounding::Rint;
  if (from.isF32() && (to.isSignedInteger(16) || to.isSignedInteger(32) || to.isSignedInteger(64)))
    return Rounding::Trunc;
  if (from.isF16() && (to.isSignedInteger(16) || to.isSignedInteger(32) || to.isInteger(8)))
    return Rounding::Trunc;
  if (from.isBF16() && to.isSignedInteger(32))
    return Rounding::Trunc;
  if (from.isSignedInteger(32) && to.isSignedInteger(64))
    return Rounding::None;
  return std::nullopt;
}

std::optional<SmallVector<CastStep>> castSteps(Type from, Type to) {
  SmallVector<CastStep> steps;
  if (from == to)
    return steps;
  if (std::optional<Rounding> rounding = direct(from, to)) {
    steps.push_back({to, *rounding});
    return steps;
  }
  // Through one type that holds all values of one side: bytes through float16, others float32.
  const Type small = Float16Type::get(from.getContext()),
             large = Float32Type::get(from.getContext());
  for (Type middle : {from.isInteger(8) ? small : large, from.isInteger(8) ? large : small}) {
    std::optional<Rounding> first = direct(from, middle), second = direct(middle, to);
    // An integer that float32 has no room for is beyond float16 anyway.
    const bool isExact = first == Rounding::None || (from.isInteger(8) && middle.isF16()) ||
                         (middle.isF32() && to.isF16());
    if (first && second && isExact) {
      steps.push_back({middle, *first});
      steps.push_back({to, *second});
      return steps;
    }
  }
  if (from.isInteger(8) && direct(large, to))
    return SmallVector<CastStep>{
        {small, Rounding::None}, {large, Rounding::None}, {to, *direct(large, to)}};
  // Whole numbers first: float16 would round what has a fraction.
  if (to.isInteger(8) && (from.isF32() || from.isBF16())) {
    if (from.isBF16())
      steps.push_back({large, Rounding::None});
    steps.append({{large, Rounding::Trunc}, {small, Rounding::Rint}, {to, Rounding::Trunc}});
    return steps;
  }
  return std::nullopt;
}

bool keepsLowBits(Type from, Type to) {
  if (!from.isSignedInteger() && !from.isUnsignedInteger())
    return false;
  if (!to.isSignedInteger() && !to.isUnsignedInteger())
    return false;
  const unsigned given = from.getIntOrFloatBitWidth(), kept = to.getIntOrFloatBitWidth();
  return kept >= 8 && (kept < given || (kept == given && from != to));
}

} // namespace tilewright::ascend
