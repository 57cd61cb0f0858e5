// SPDX-License-Identifier: Apache-2.0
// Advanced functions. On the chip they are composed of several instructions with temporary memory;
// here each is one record of the vector pipe with the documented result.
#ifndef TILEWRIGHT_ASCENDC_ADVANCED_H
#define TILEWRIGHT_ASCENDC_ADVANCED_H

#include "selections.h"

namespace AscendC {

#define TW_FUNCTION(Name, Op)                                                                      \
  template <class T, bool isReuseSource = false>                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,     \
            const uint32_t count, Place place = Place::here()) {                                   \
    VectorInstr i = vectorOf(VectorOp::Op, dst, src);                                              \
    useCount(i, count);                                                                            \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, bool isReuseSource = false>                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,            \
            Place place = Place::here()) {                                                         \
    VectorInstr i = vectorOf(VectorOp::Op, dst, src);                                              \
    useCount(i, count);                                                                            \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, bool isReuseSource = false>                                                   \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, Place place = Place::here()) {   \
    VectorInstr i = vectorOf(VectorOp::Op, dst, src);                                              \
    useCount(i, src.GetSize());                                                                    \
    host::issueVector(i, place);                                                                   \
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

template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base, const LocalTensor<T>& exponent,
           const LocalTensor<uint8_t>&, const uint32_t count, Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Power, dst, base, exponent);
  useCount(i, count);
  host::issueVector(i, place);
}
template <class T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base, const LocalTensor<T>& exponent,
           const uint32_t count, Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Power, dst, base, exponent);
  useCount(i, count);
  host::issueVector(i, place);
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
         const LocalTensor<uint8_t>&, const uint32_t count, Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Xor, dst, a, b);
  useCount(i, count);
  host::issueVector(i, place);
}
template <class T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
         const uint32_t count, Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Xor, dst, a, b);
  useCount(i, count);
  host::issueVector(i, place);
}
template <class T, bool isReuseSource = false>
void ClampMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
              const NotDeducedT<T> scalar, const uint32_t count, Place place = Place::here()) {
  Mins(dst, src, scalar, static_cast<int32_t>(count), place);
}
template <class T, bool isReuseSource = false>
void ClampMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
              const NotDeducedT<T> scalar, const uint32_t count, Place place = Place::here()) {
  Maxs(dst, src, scalar, static_cast<int32_t>(count), place);
}

} // namespace AscendC

#endif
