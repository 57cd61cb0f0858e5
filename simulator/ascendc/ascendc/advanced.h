// SPDX-License-Identifier: Apache-2.0
// Advanced functions. On the chip they are composed of several instructions with temporary memory;
// here each is one record of the vector pipe with the documented result.
#ifndef TILEWRIGHT_ASCENDC_ADVANCED_H
#define TILEWRIGHT_ASCENDC_ADVANCED_H

#include "selections.h"

namespace AscendC {

#define TW_FUNCTION(Name, Op)                                                                      \
  template <class T, bool isReuseSource = false>                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const LocalTensor<uint8_t>& scratch, const uint32_t count,                             \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Op, dst, src);                                        \
    twUseCount(i, count);                                                                          \
    twUseScratch(i, scratch);                                                                      \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isReuseSource = false>                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,            \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Op, dst, src);                                        \
    twUseCount(i, count);                                                                          \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isReuseSource = false>                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Op, dst, src);                                        \
    twUseCount(i, src.GetSize());                                                                  \
    twHost::issueVector(i, place);                                                                 \
  }
TW_FUNCTION(Sin, Sin)
TW_FUNCTION(Cos, Cos)
TW_FUNCTION(Tan, Tan)
TW_FUNCTION(Sinh, Sinh)
TW_FUNCTION(Cosh, Cosh)
TW_FUNCTION(Asin, Asin)
TW_FUNCTION(Acos, Acos)
TW_FUNCTION(Atan, Atan)
TW_FUNCTION(Asinh, Asinh)
TW_FUNCTION(Acosh, Acosh)
TW_FUNCTION(Atanh, Atanh)
TW_FUNCTION(Tanh, Tanh)
TW_FUNCTION(Erf, Erf)
TW_FUNCTION(Erfc, Erfc)
TW_FUNCTION(Sigmoid, Sigmoid)
TW_FUNCTION(Silu, Silu)
TW_FUNCTION(Gelu, Gelu)
TW_FUNCTION(Floor, Floor)
TW_FUNCTION(Ceil, Ceil)
TW_FUNCTION(Round, Round)
TW_FUNCTION(Trunc, Trunc)
TW_FUNCTION(Frac, Frac)
TW_FUNCTION(Sign, Sign)
TW_FUNCTION(Log, Ln)
TW_FUNCTION(Log2, Log2)
TW_FUNCTION(Log10, Log10)
#undef TW_FUNCTION

template <class T>
TwVectorInstr twPowerOf(const LocalTensor<T>& dst, const LocalTensor<T>& base,
                        const LocalTensor<T>& exponent) {
  return twVectorOf(TwVectorOp::Power, dst, base, exponent);
}
template <class T>
TwVectorInstr twPowerOf(const LocalTensor<T>& dst, const LocalTensor<T>& base, T exponent) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Powers, dst, base);
  twUseScalarOf<T>(i, exponent);
  return i;
}
template <class T>
TwVectorInstr twPowerOf(const LocalTensor<T>& dst, T base, const LocalTensor<T>& exponent) {
  TwVectorInstr i = twVectorOf(TwVectorOp::ScalarPower, dst, exponent);
  twUseScalarOf<T>(i, base);
  return i;
}
/// `length` is that of a call without a count.
#define TW_POWER(Base, Exponent, length)                                                           \
  template <class T, bool isReuseSource = false>                                                   \
  void Power(const LocalTensor<T>& dst, const Base& base, const Exponent& exponent,                \
             const uint32_t count, TwPlace place = TwPlace::here()) {                              \
    TwVectorInstr i = twPowerOf<T>(dst, base, exponent);                                           \
    twUseCount(i, count);                                                                          \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isReuseSource = false>                                                   \
  void Power(const LocalTensor<T>& dst, const Base& base, const Exponent& exponent,                \
             const LocalTensor<uint8_t>& scratch, const uint32_t count,                            \
             TwPlace place = TwPlace::here()) {                                                    \
    TwVectorInstr i = twPowerOf<T>(dst, base, exponent);                                           \
    twUseCount(i, count);                                                                          \
    twUseScratch(i, scratch);                                                                      \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isReuseSource = false>                                                   \
  void Power(const LocalTensor<T>& dst, const Base& base, const Exponent& exponent,                \
             TwPlace place = TwPlace::here()) {                                                    \
    Power<T, isReuseSource>(dst, base, exponent, length, place);                                   \
  }                                                                                                \
  template <class T, bool isReuseSource = false>                                                   \
  void Power(const LocalTensor<T>& dst, const Base& base, const Exponent& exponent,                \
             const LocalTensor<uint8_t>& scratch, TwPlace place = TwPlace::here()) {               \
    Power<T, isReuseSource>(dst, base, exponent, scratch, length, place);                          \
  }
TW_POWER(LocalTensor<T>, LocalTensor<T>, base.GetSize())
TW_POWER(LocalTensor<T>, TwNotDeducedT<T>, base.GetSize())
TW_POWER(TwNotDeducedT<T>, LocalTensor<T>, exponent.GetSize())
#undef TW_POWER
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
         const LocalTensor<uint8_t>& scratch, const uint32_t count,
         TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Xor, dst, a, b);
  twUseCount(i, count);
  twUseScratch(i, scratch);
  twHost::issueVector(i, place);
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
         const uint32_t count, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Xor, dst, a, b);
  twUseCount(i, count);
  twHost::issueVector(i, place);
}
/// Of all elements of the source.
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
         const LocalTensor<uint8_t>& tmp, TwPlace place = TwPlace::here()) {
  Xor(dst, a, b, tmp, a.GetSize(), place);
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
         TwPlace place = TwPlace::here()) {
  Xor(dst, a, b, a.GetSize(), place);
}
template <class T>
void twClamp(TwVectorOp op, const LocalTensor<T>& dst, const LocalTensor<T>& src,
             const LocalTensor<uint8_t>& scratch, T scalar, uint32_t count, TwPlace place) {
  TwVectorInstr i = twVectorOf(op, dst, src);
  twUseScalar(i, scalar);
  twUseCount(i, count);
  twUseScratch(i, scratch);
  twHost::issueVector(i, place);
}
template <class T, bool isReuseSource = false>
void ClampMax(const LocalTensor<T>& dst, const LocalTensor<T>& src,
              const LocalTensor<uint8_t>& scratch, const TwNotDeducedT<T> scalar,
              const uint32_t count, TwPlace place = TwPlace::here()) {
  twClamp<T>(TwVectorOp::Mins, dst, src, scratch, scalar, count, place);
}
template <class T, bool isReuseSource = false>
void ClampMin(const LocalTensor<T>& dst, const LocalTensor<T>& src,
              const LocalTensor<uint8_t>& scratch, const TwNotDeducedT<T> scalar,
              const uint32_t count, TwPlace place = TwPlace::here()) {
  twClamp<T>(TwVectorOp::Maxs, dst, src, scratch, scalar, count, place);
}

/// src0 * src1 * sigmoid(scalarValue * src1).
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
            const float& scalarValue, const LocalTensor<uint8_t>& scratch, const uint32_t count,
            TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::SwiGlu, dst, src0, src1);
  i.scalarValue = scalarValue;
  twUseCount(i, count);
  twUseScratch(i, scratch);
  twHost::issueVector(i, place);
}
template <class T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
            const float& scalarValue, const uint32_t count, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::SwiGlu, dst, src0, src1);
  i.scalarValue = scalarValue;
  twUseCount(i, count);
  twHost::issueVector(i, place);
}

/// dst of shape dstShape; src has 1 along `axis`.
template <class T, int32_t dim, int32_t axis>
TwVectorInstr twBroadcastOf(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                            const uint32_t dstShape[dim], const uint32_t srcShape[dim]) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Broadcast, dst, src);
  bool isRow = dim == 1 || (axis == 0 && srcShape[0] == 1);
  i.form = TwVectorForm::Mask;
  i.repeat = dim == 1 ? 1 : dstShape[0];
  i.scalar = dstShape[dim - 1];
  i.mode = dim == 1 || !isRow;
  return i;
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim], TwPlace place = TwPlace::here()) {
  twHost::issueVector(twBroadcastOf<T, dim, axis>(dst, src, dstShape, srcShape), place);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim], LocalTensor<uint8_t>& scratch,
               TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twBroadcastOf<T, dim, axis>(dst, src, dstShape, srcShape);
  twUseScratch(i, scratch);
  twHost::issueVector(i, place);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim], LocalTensor<uint8_t>& scratch,
               TwPlace place = TwPlace::here()) {
  Broadcast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, scratch, place);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim], TwPlace place = TwPlace::here()) {
  Broadcast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, place);
}

namespace Pattern {
namespace Reduce {
struct AR {}; ///< the last dimension is reduced
struct RA {}; ///< the first
} // namespace Reduce
} // namespace Pattern

template <class T>
void twReduceRows(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t rows,
                  uint32_t columns, uint32_t pitch, ReduceType type, bool byColumn, TwPlace place,
                  const LocalTensor<uint8_t>* scratch = nullptr) {
  TwVectorInstr i = twVectorOf(TwVectorOp::ReduceRows, dst, src);
  i.form = TwVectorForm::Mask;
  i.repeat = rows;
  i.scalar = columns;
  i.src0Rep = static_cast<uint16_t>(pitch);
  i.mode = static_cast<uint8_t>(static_cast<uint8_t>(type) + (byColumn ? 4 : 0));
  if (scratch)
    twUseScratch(i, *scratch);
  twHost::issueVector(i, place);
}
#define TW_PATTERN(Name, Kind)                                                                     \
  template <class T, class ReducePattern, bool isReuseSource = false>                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const LocalTensor<uint8_t>& scratch, const uint32_t srcShape[], bool,                  \
            TwPlace place = TwPlace::here()) {                                                     \
    constexpr bool byColumn = std::is_same_v<ReducePattern, Pattern::Reduce::RA>;                  \
    twReduceRows(dst, src, srcShape[0], srcShape[1], srcShape[1], ReduceType::Kind, byColumn,      \
                 place, &scratch);                                                                 \
  }                                                                                                \
  template <class T, class ReducePattern, bool isReuseSource = false>                              \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t srcShape[], bool, \
            TwPlace place = TwPlace::here()) {                                                     \
    constexpr bool byColumn = std::is_same_v<ReducePattern, Pattern::Reduce::RA>;                  \
    twReduceRows(dst, src, srcShape[0], srcShape[1], srcShape[1], ReduceType::Kind, byColumn,      \
                 place);                                                                           \
  }
TW_PATTERN(ReduceSum, SUM)
TW_PATTERN(ReduceMax, MAX)
TW_PATTERN(ReduceMin, MIN)
#undef TW_PATTERN

struct SumParams {
  uint32_t outter = 1, inner = 0, n = 0;
};
/// The sum of the first `n` of each row of `inner` elements.
template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& scratch,
         const SumParams& p, TwPlace place = TwPlace::here()) {
  twReduceRows(dst, src, p.outter, p.n, p.inner, ReduceType::SUM, false, place, &scratch);
}
template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SumParams& p,
         TwPlace place = TwPlace::here()) {
  twReduceRows(dst, src, p.outter, p.n, p.inner, ReduceType::SUM, false, place);
}

// --- whole tensors: dst = a + b -------------------------------------------------------------

/// What an operator leaves for the assignment to a tensor. It has no line of its own: reports name
/// the last instruction before it.
template <class T> struct TwTensorExpression {
  TwVectorOp op;
  LocalTensor<T> a, b;
};
#define TW_OPERATOR(symbol, Op)                                                                    \
  template <class T>                                                                               \
  TwTensorExpression<T> operator symbol(const LocalTensor<T>& a, const LocalTensor<T>& b) {        \
    return {TwVectorOp::Op, a, b};                                                                 \
  }
TW_OPERATOR(+, Add)
TW_OPERATOR(-, Sub)
TW_OPERATOR(*, Mul)
TW_OPERATOR(/, Div)
TW_OPERATOR(&, And)
TW_OPERATOR(|, Or)
#undef TW_OPERATOR
template <class T> struct TwTensorComparison {
  CMPMODE mode;
  LocalTensor<T> a, b;
};
#define TW_COMPARISON(symbol, mode)                                                                \
  template <class T>                                                                               \
  TwTensorComparison<T> operator symbol(const LocalTensor<T>& a, const LocalTensor<T>& b) {        \
    return {CMPMODE::mode, a, b};                                                                  \
  }
TW_COMPARISON(<, LT)
TW_COMPARISON(>, GT)
TW_COMPARISON(==, EQ)
TW_COMPARISON(<=, LE)
TW_COMPARISON(>=, GE)
TW_COMPARISON(!=, NE)
#undef TW_COMPARISON
template <class T>
template <class U>
void LocalTensor<T>::operator=(const TwTensorComparison<U>& c) {
  Compare(*this, c.a, c.b, c.mode, c.a.GetSize(), twHost::lastPlace());
}
template <class T> void LocalTensor<T>::operator=(const TwTensorExpression<T>& e) {
  TwVectorInstr i = twVectorOf(e.op, *this, e.a, e.b);
  twUseCount(i, GetSize());
  twHost::issueVector(i, twHost::lastPlace());
}

} // namespace AscendC

#endif
