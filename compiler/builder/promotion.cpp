// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/promotion.h"

#include "compiler/builder/constant.h"

namespace tilewright::builder {

/// The bits of a value, however it lies in memory.
static int valueBits(Dtype dtype) {
  return dtype.kind() == ScalarKind::Float4E2M1Unpacked ? 4 : dtype.bits();
}

Dtype promote(Dtype left, Dtype right) {
  if (left == right)
    return left;
  if (left.kind() == ScalarKind::Bool)
    return right;
  if (right.kind() == ScalarKind::Bool)
    return left;
  if (left.isFloat() != right.isFloat())
    return left.isFloat() ? left : right;
  if (valueBits(left) != valueBits(right))
    return valueBits(left) > valueBits(right) ? left : right;
  if (left.isFloat())
    return Dtype::float32();
  return left.isSigned() ? right : left;
}

Dtype computeDtype(Dtype common) {
  bool isNarrow = common.isFloat() && common.bits() < 16;
  return isNarrow ? Dtype::float32() : common;
}

Dtype literalBeside(int64_t literal, Dtype other, bool staysNarrow) {
  if (other.isFloat())
    return other;
  if (other.isInteger() && fits(literal, other) && (staysNarrow || other.bits() >= 32))
    return other;
  return literalAlone(literal);
}

Dtype literalAlone(int64_t literal) {
  return fits(literal, Dtype::int32()) ? Dtype::int32() : Dtype::int64();
}

} // namespace tilewright::builder
