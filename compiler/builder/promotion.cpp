// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/promotion.h"

#include "compiler/builder/constant.h"

namespace tilewright::builder {

Dtype promote(Dtype left, Dtype right) {
  if (left == right)
    return left;
  if (left.kind() == ScalarKind::Bool)
    return right;
  if (right.kind() == ScalarKind::Bool)
    return left;
  if (left.isFloat() != right.isFloat())
    return left.isFloat() ? left : right;
  if (left.bits() != right.bits())
    return left.bits() > right.bits() ? left : right;
  if (left.isFloat())
    return Dtype::float32();
  return left.isSigned() ? right : left;
}

Dtype computeDtype(Dtype common) {
  bool isNarrow = common.isFloat() && common.bits() < 16;
  return isNarrow ? Dtype::float32() : common;
}

Dtype literalBeside(int64_t literal, Dtype other) {
  if (other.isFloat())
    return other;
  if (other.isInteger() && fits(literal, other))
    return other;
  return literalAlone(literal);
}

Dtype literalAlone(int64_t literal) {
  return fits(literal, Dtype::int32()) ? Dtype::int32() : Dtype::int64();
}

} // namespace tilewright::builder
