// SPDX-License-Identifier: Apache-2.0
// Vector instructions: each with a bit mask, a lane count, or an element count.
#ifndef TILEWRIGHT_ASCENDC_VECTOR_H
#define TILEWRIGHT_ASCENDC_VECTOR_H

#include "copies.h"

namespace AscendC {

using tilewright::ascend::VectorForm;
using tilewright::ascend::VectorInstr;
using tilewright::ascend::VectorOp;

// --- the forms ------------------------------------------------------------------------------

inline void useCount(VectorInstr& i, uint64_t count) {
  i.form = VectorForm::Count;
  i.count = count;
}
template <bool isSetMask> void useMask(VectorInstr& i, const uint64_t mask[], uint32_t repeat) {
  i.form = isSetMask ? VectorForm::Mask : VectorForm::Register;
  i.repeat = repeat;
  if (isSetMask) {
    i.mask[0] = mask[0];
    i.mask[1] = mask[1];
  }
}
template <bool isSetMask> void useMask(VectorInstr& i, uint64_t lanes, uint32_t repeat) {
  i.form = isSetMask ? VectorForm::Mask : VectorForm::Register;
  i.repeat = repeat;
  i.maskLength = static_cast<uint16_t>(lanes > 0xFFFF ? 0xFFFF : lanes);
  if (isSetMask && host::maskState().counterMode) { // the count is that of all repeats
    i.form = VectorForm::Register;
    host::maskState().mask[0] = lanes;
  } else if (isSetMask && lanes == 0 && repeat > 0) {
    i.repeat = 0;
    i.mask[0] = i.mask[1] = 0;
  }
}
inline void useStrides(VectorInstr& i, const BinaryRepeatParams& p) {
  i.dstBlk = p.dstBlkStride;
  i.src0Blk = p.src0BlkStride;
  i.src1Blk = p.src1BlkStride;
  i.dstRep = p.dstRepStride;
  i.src0Rep = p.src0RepStride;
  i.src1Rep = p.src1RepStride;
}
inline void useStrides(VectorInstr& i, const UnaryRepeatParams& p) {
  i.dstBlk = p.dstBlkStride;
  i.src0Blk = p.srcBlkStride;
  i.dstRep = p.dstRepStride;
  i.src0Rep = p.srcRepStride;
}
template <class T, class U, class V>
VectorInstr vectorOf(VectorOp op, const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                     const LocalTensor<V>& src1) {
  VectorInstr i;
  i.op = op;
  i.dst = dst.operand();
  i.src0 = src0.operand();
  i.src1 = src1.operand();
  return i;
}
template <class T, class U>
VectorInstr vectorOf(VectorOp op, const LocalTensor<T>& dst, const LocalTensor<U>& src) {
  VectorInstr i;
  i.op = op;
  i.dst = dst.operand();
  i.src0 = src.operand();
  return i;
}
template <class U> void useScalar(VectorInstr& i, U scalar) {
  if constexpr (std::is_integral_v<U>) {
    i.scalar = static_cast<uint64_t>(static_cast<int64_t>(scalar));
    i.scalarValue = static_cast<double>(scalar);
  } else {
    i.scalarValue = static_cast<double>(static_cast<float>(scalar));
    i.scalar = bitsOf(scalar);
  }
}
/// A scalar of the destination's type.
template <class T> void useScalarOf(VectorInstr& i, T scalar) {
  if constexpr (std::is_integral_v<T>) {
    i.scalar = static_cast<uint64_t>(static_cast<int64_t>(scalar));
    i.scalarValue = static_cast<double>(scalar);
  } else {
    i.scalarValue = static_cast<double>(static_cast<float>(scalar));
    i.scalar = bitsOf(scalar);
  }
}

// --- two sources ----------------------------------------------------------------------------

#define TW_BINARY_AS(Name, Op)                                                                     \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,     \
            const uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& params,     \
            Place place = Place::here()) {                                                         \
    VectorInstr i = vectorOf(VectorOp::Op, dst, src0, src1);                                       \
    useMask<isSetMask>(i, mask, repeatTime);                                                       \
    useStrides(i, params);                                                                         \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,     \
            uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& params,             \
            Place place = Place::here()) {                                                         \
    VectorInstr i = vectorOf(VectorOp::Op, dst, src0, src1);                                       \
    useMask<isSetMask>(i, mask, repeatTime);                                                       \
    useStrides(i, params);                                                                         \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,     \
            const int32_t& count, Place place = Place::here()) {                                   \
    VectorInstr i = vectorOf(VectorOp::Op, dst, src0, src1);                                       \
    useCount(i, static_cast<uint64_t>(count));                                                     \
    host::issueVector(i, place);                                                                   \
  }
#define TW_BINARY_OF_TWO(Name)                                                                     \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,     \
            const uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& params,     \
            Place place = Place::here()) {                                                         \
    VectorInstr i = vectorOf(VectorOp::Name, dst, src0, src1);                                     \
    useMask<isSetMask>(i, mask, repeatTime);                                                       \
    useStrides(i, params);                                                                         \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,     \
            uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& params,             \
            Place place = Place::here()) {                                                         \
    VectorInstr i = vectorOf(VectorOp::Name, dst, src0, src1);                                     \
    useMask<isSetMask>(i, mask, repeatTime);                                                       \
    useStrides(i, params);                                                                         \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, class U>                                                                      \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,     \
            const int32_t& count, Place place = Place::here()) {                                   \
    VectorInstr i = vectorOf(VectorOp::Name, dst, src0, src1);                                     \
    useCount(i, static_cast<uint64_t>(count));                                                     \
    host::issueVector(i, place);                                                                   \
  }
#define TW_BINARY(Name) TW_BINARY_AS(Name, Name)
TW_BINARY(Add)
TW_BINARY(Sub)
TW_BINARY(Mul)
TW_BINARY(Div)
TW_BINARY(Max)
TW_BINARY(Min)
TW_BINARY(And)
TW_BINARY(Or)
TW_BINARY(AddRelu)
TW_BINARY(SubRelu)
TW_BINARY_OF_TWO(MulAddDst)
TW_BINARY(FusedMulAdd)
TW_BINARY(FusedMulAddRelu)
TW_BINARY_AS(MulAddRelu, FusedMulAddRelu)
TW_BINARY_OF_TWO(MulCast)
TW_BINARY_OF_TWO(AddReluCast)
TW_BINARY_OF_TWO(SubReluCast)
#undef TW_BINARY
#undef TW_BINARY_AS
#undef TW_BINARY_OF_TWO

/// Two int32_t, scaled by SetDeqScale, to half.
inline VectorInstr addDeqReluOf(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                                const LocalTensor<int32_t>& src1) {
  VectorInstr i = vectorOf(VectorOp::AddDeqRelu, dst, src0, src1);
  i.scalarValue = host::scalarResults().dequantScale;
  return i;
}
template <bool isSetMask = true>
void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                const LocalTensor<int32_t>& src1, const uint64_t mask[], const uint8_t repeatTime,
                const BinaryRepeatParams& params, Place place = Place::here()) {
  VectorInstr i = addDeqReluOf(dst, src0, src1);
  useMask<isSetMask>(i, mask, repeatTime);
  useStrides(i, params);
  host::issueVector(i, place);
}
template <bool isSetMask = true>
void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                const LocalTensor<int32_t>& src1, uint64_t mask, const uint8_t repeatTime,
                const BinaryRepeatParams& params, Place place = Place::here()) {
  VectorInstr i = addDeqReluOf(dst, src0, src1);
  useMask<isSetMask>(i, mask, repeatTime);
  useStrides(i, params);
  host::issueVector(i, place);
}
inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                       const LocalTensor<int32_t>& src1, const int32_t& count,
                       Place place = Place::here()) {
  VectorInstr i = addDeqReluOf(dst, src0, src1);
  useCount(i, static_cast<uint64_t>(count));
  host::issueVector(i, place);
}
/// With the types, of which there are no others.
template <class T, class U, bool isSetMask = true>
void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                const uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& params,
                Place place = Place::here()) {
  AddDeqRelu<isSetMask>(dst, src0, src1, mask, repeatTime, params, place);
}
template <class T, class U, bool isSetMask = true>
void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& params,
                Place place = Place::here()) {
  AddDeqRelu<isSetMask>(dst, src0, src1, mask, repeatTime, params, place);
}
template <class T, class U>
void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                const int32_t& count, Place place = Place::here()) {
  AddDeqRelu(dst, src0, src1, count, place);
}

// --- one source -----------------------------------------------------------------------------

#define TW_UNARY(Name)                                                                             \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],           \
            const uint8_t repeatTime, const UnaryRepeatParams& params,                             \
            Place place = Place::here()) {                                                         \
    VectorInstr i = vectorOf(VectorOp::Name, dst, src);                                            \
    useMask<isSetMask>(i, mask, repeatTime);                                                       \
    useStrides(i, params);                                                                         \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask,                   \
            const uint8_t repeatTime, const UnaryRepeatParams& params,                             \
            Place place = Place::here()) {                                                         \
    VectorInstr i = vectorOf(VectorOp::Name, dst, src);                                            \
    useMask<isSetMask>(i, mask, repeatTime);                                                       \
    useStrides(i, params);                                                                         \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T>                                                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count,            \
            Place place = Place::here()) {                                                         \
    VectorInstr i = vectorOf(VectorOp::Name, dst, src);                                            \
    useCount(i, static_cast<uint64_t>(count));                                                     \
    host::issueVector(i, place);                                                                   \
  }
TW_UNARY(Exp)
TW_UNARY(Ln)
TW_UNARY(Abs)
TW_UNARY(Reciprocal)
TW_UNARY(Sqrt)
TW_UNARY(Rsqrt)
TW_UNARY(Relu)
TW_UNARY(Not)
#undef TW_UNARY

// --- a source and a scalar ------------------------------------------------------------------

#define TW_SCALAR(Name)                                                                            \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const NotDeducedT<T>& scalarValue, const uint64_t mask[], const uint8_t repeatTime,    \
            const UnaryRepeatParams& params, Place place = Place::here()) {                        \
    VectorInstr i = vectorOf(VectorOp::Name, dst, src);                                            \
    useScalarOf<T>(i, scalarValue);                                                                \
    useMask<isSetMask>(i, mask, repeatTime);                                                       \
    useStrides(i, params);                                                                         \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const NotDeducedT<T>& scalarValue, uint64_t mask, const uint8_t repeatTime,            \
            const UnaryRepeatParams& params, Place place = Place::here()) {                        \
    VectorInstr i = vectorOf(VectorOp::Name, dst, src);                                            \
    useScalarOf<T>(i, scalarValue);                                                                \
    useMask<isSetMask>(i, mask, repeatTime);                                                       \
    useStrides(i, params);                                                                         \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const NotDeducedT<T>& scalarValue, const int32_t& count,                               \
            Place place = Place::here()) {                                                         \
    VectorInstr i = vectorOf(VectorOp::Name, dst, src);                                            \
    useScalarOf<T>(i, scalarValue);                                                                \
    useCount(i, static_cast<uint64_t>(count));                                                     \
    host::issueVector(i, place);                                                                   \
  }
/// The same with the scalar's type among the template arguments, which nobody has to say.
#define TW_SCALAR_TYPED(Name)                                                                      \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const NotDeducedT<U>& scalarValue, const uint64_t mask[], const uint8_t repeatTime,    \
            const UnaryRepeatParams& params, Place place = Place::here()) {                        \
    Name<T, isSetMask>(dst, src, static_cast<T>(scalarValue), mask, repeatTime, params, place);    \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const NotDeducedT<U>& scalarValue, uint64_t mask, const uint8_t repeatTime,            \
            const UnaryRepeatParams& params, Place place = Place::here()) {                        \
    Name<T, isSetMask>(dst, src, static_cast<T>(scalarValue), mask, repeatTime, params, place);    \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const NotDeducedT<U>& scalarValue, const int32_t& count,                               \
            Place place = Place::here()) {                                                         \
    Name<T, isSetMask>(dst, src, static_cast<T>(scalarValue), count, place);                       \
  }
TW_SCALAR(Adds)
TW_SCALAR(Muls)
TW_SCALAR(Maxs)
TW_SCALAR(Mins)
TW_SCALAR(Subs)
TW_SCALAR(Divs)
TW_SCALAR(Ands)
TW_SCALAR(Ors)
TW_SCALAR(LeakyRelu)
TW_SCALAR(ShiftLeft)
TW_SCALAR_TYPED(Adds)
TW_SCALAR_TYPED(Muls)
TW_SCALAR_TYPED(Maxs)
TW_SCALAR_TYPED(Mins)
TW_SCALAR_TYPED(Subs)
TW_SCALAR_TYPED(Divs)
TW_SCALAR_TYPED(LeakyRelu)
#undef TW_SCALAR_TYPED
#undef TW_SCALAR

template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                const NotDeducedT<T>& scalarValue, const uint64_t mask[], const uint8_t repeatTime,
                const UnaryRepeatParams& params, bool roundEn = false,
                Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::ShiftRight, dst, src);
  useScalarOf<T>(i, scalarValue);
  useMask<isSetMask>(i, mask, repeatTime);
  useStrides(i, params);
  i.flag = roundEn;
  host::issueVector(i, place);
}
template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                const NotDeducedT<T>& scalarValue, uint64_t mask, const uint8_t repeatTime,
                const UnaryRepeatParams& params, bool roundEn = false,
                Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::ShiftRight, dst, src);
  useScalarOf<T>(i, scalarValue);
  useMask<isSetMask>(i, mask, repeatTime);
  useStrides(i, params);
  i.flag = roundEn;
  host::issueVector(i, place);
}
template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                const NotDeducedT<T>& scalarValue, const int32_t& count,
                Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::ShiftRight, dst, src);
  useScalarOf<T>(i, scalarValue);
  useCount(i, static_cast<uint64_t>(count));
  host::issueVector(i, place);
}

template <class T, class U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const NotDeducedT<U>& scalarValue,
          const uint64_t mask[], const uint8_t repeatTime, const UnaryRepeatParams& params,
          Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Axpy, dst, src);
  useScalar(i, scalarValue);
  useMask<isSetMask>(i, mask, repeatTime);
  useStrides(i, params);
  host::issueVector(i, place);
}
template <class T, class U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const NotDeducedT<U>& scalarValue,
          uint64_t mask, const uint8_t repeatTime, const UnaryRepeatParams& params,
          Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Axpy, dst, src);
  useScalar(i, scalarValue);
  useMask<isSetMask>(i, mask, repeatTime);
  useStrides(i, params);
  host::issueVector(i, place);
}
template <class T, class U>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const NotDeducedT<U>& scalarValue,
          const int32_t& count, Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Axpy, dst, src);
  useScalar(i, scalarValue);
  useCount(i, static_cast<uint64_t>(count));
  host::issueVector(i, place);
}

// --- no source ------------------------------------------------------------------------------

template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const NotDeducedT<T>& scalarValue, const uint64_t mask[],
               const uint8_t repeatTime, const uint16_t dstBlockStride,
               const uint8_t dstRepeatStride, Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Duplicate, dst, dst);
  useScalarOf<T>(i, scalarValue);
  useMask<isSetMask>(i, mask, repeatTime);
  i.dstBlk = dstBlockStride;
  i.dstRep = dstRepeatStride;
  host::issueVector(i, place);
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const NotDeducedT<T>& scalarValue, uint64_t mask,
               const uint8_t repeatTime, const uint16_t dstBlockStride,
               const uint8_t dstRepeatStride, Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Duplicate, dst, dst);
  useScalarOf<T>(i, scalarValue);
  useMask<isSetMask>(i, mask, repeatTime);
  i.dstBlk = dstBlockStride;
  i.dstRep = dstRepeatStride;
  host::issueVector(i, place);
}
template <class T>
void Duplicate(const LocalTensor<T>& dst, const NotDeducedT<T>& scalarValue, const int32_t& count,
               Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Duplicate, dst, dst);
  useScalarOf<T>(i, scalarValue);
  useCount(i, static_cast<uint64_t>(count));
  host::issueVector(i, place);
}
/// The scalar is the first element of `src`.
template <class T>
void Duplicate(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count,
               Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Broadcast, dst, src);
  i.form = VectorForm::Mask;
  i.repeat = 1;
  i.scalar = static_cast<uint64_t>(count);
  i.mode = 1;
  host::issueVector(i, place);
}
template <class T>
void CreateVecIndex(LocalTensor<T> dst, const NotDeducedT<T>& first, uint32_t count,
                    Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::CreateVecIndex, dst, dst);
  useScalarOf<T>(i, first);
  useCount(i, count);
  host::issueVector(i, place);
}
template <class T>
void CreateVecIndex(LocalTensor<T> dst, const NotDeducedT<T>& first, uint64_t mask,
                    uint8_t repeatTime, uint16_t dstBlkStride, uint8_t dstRepStride,
                    Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::CreateVecIndex, dst, dst);
  useScalarOf<T>(i, first);
  useMask<true>(i, mask, repeatTime);
  i.dstBlk = dstBlkStride;
  i.dstRep = dstRepStride;
  host::issueVector(i, place);
}
template <class T>
void CreateVecIndex(LocalTensor<T> dst, const NotDeducedT<T>& first, const uint64_t mask[],
                    uint8_t repeatTime, uint16_t dstBlkStride, uint8_t dstRepStride,
                    Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::CreateVecIndex, dst, dst);
  useScalarOf<T>(i, first);
  useMask<true>(i, mask, repeatTime);
  i.dstBlk = dstBlkStride;
  i.dstRep = dstRepStride;
  host::issueVector(i, place);
}
// --- copies and conversions -----------------------------------------------------------------

inline void useStrides(VectorInstr& i, const CopyRepeatParams& p) {
  i.dstBlk = p.dstStride;
  i.src0Blk = p.srcStride;
  i.dstRep = p.dstRepeatSize;
  i.src0Rep = p.srcRepeatSize;
}
template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
          const uint8_t repeatTime, const CopyRepeatParams& params, Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Copy, dst, src);
  useMask<isSetMask>(i, mask, repeatTime);
  useStrides(i, params);
  host::issueVector(i, place);
}
template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask,
          const uint8_t repeatTime, const CopyRepeatParams& params, Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Copy, dst, src);
  useMask<isSetMask>(i, mask, repeatTime);
  useStrides(i, params);
  host::issueVector(i, place);
}
template <class T>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
          Place place = Place::here()) {
  VectorInstr i = vectorOf(VectorOp::Copy, dst, src);
  useCount(i, count);
  host::issueVector(i, place);
}

template <class T, class U>
VectorInstr castOf(const LocalTensor<T>& dst, const LocalTensor<U>& src, RoundMode mode) {
  VectorInstr i = vectorOf(VectorOp::Cast, dst, src);
  i.mode = static_cast<uint8_t>(mode);
  i.scalarValue = host::scalarResults().dequantScale; // for int32_t to half
  return i;
}
template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode,
          const uint64_t mask[], const uint8_t repeatTime, const UnaryRepeatParams& params,
          Place place = Place::here()) {
  VectorInstr i = castOf(dst, src, mode);
  useMask<isSetMask>(i, mask, repeatTime);
  useStrides(i, params);
  host::issueVector(i, place);
}
template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode,
          const uint64_t mask, const uint8_t repeatTime, const UnaryRepeatParams& params,
          Place place = Place::here()) {
  VectorInstr i = castOf(dst, src, mode);
  useMask<isSetMask>(i, mask, repeatTime);
  useStrides(i, params);
  host::issueVector(i, place);
}
template <class T, class U>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode,
          const uint32_t count, Place place = Place::here()) {
  VectorInstr i = castOf(dst, src, mode);
  useCount(i, count);
  host::issueVector(i, place);
}
inline void SetDeqScale(half scale) {
  host::noteRegister(host::Register::DeqScale);
  host::scalarResults().dequantScale = scale;
}
/// Scale, offset and sign as the scalar unit hands them to CastDeq.
inline uint64_t deqParameters(float scale, int16_t offset, bool signMode) {
  return host::bitsOfFloat(scale) | static_cast<uint64_t>(offset & 511) << 37 |
         static_cast<uint64_t>(signMode) << 46;
}
inline void SetDeqScale(float scale, int16_t offset, bool signMode) {
  host::noteRegister(host::Register::DeqScale);
  host::noteRegister(host::Register::DeqParameters);
  host::scalarResults().dequantScale = scale;
  host::scalarResults().dequantParameters = deqParameters(scale, offset, signMode);
}
struct VdeqInfo {
  float vdeqScale[16] = {};
  int16_t vdeqOffset[16] = {};
  bool vdeqSignMode[16] = {};
};
/// 16 scales, which the scalar unit writes to 128 bytes of UB.
template <class T>
void SetDeqScale(const LocalTensor<T>& table, const VdeqInfo& info, Place place = Place::here()) {
  LocalTensor<uint64_t> words = table.template ReinterpretCast<uint64_t>();
  for (uint32_t k = 0; k < 16; ++k)
    words.SetValue(k, deqParameters(info.vdeqScale[k], info.vdeqOffset[k], info.vdeqSignMode[k]),
                   place);
  host::scalarResults().dequantTable = words.operand();
  host::noteRegister(host::Register::DeqTable);
}
template <bool isVecDeq, bool halfBlock, class T, class U>
VectorInstr castDeqOf(const LocalTensor<T>& dst, const LocalTensor<U>& src) {
  if constexpr (std::is_same_v<U, int32_t>)
    return castOf(dst, src, RoundMode::CAST_NONE);
  VectorInstr i = vectorOf(VectorOp::CastDeq, dst, src);
  i.mode = isVecDeq;
  i.flag = halfBlock;
  i.scalar = host::scalarResults().dequantParameters;
  i.aux = host::scalarResults().dequantTable;
  return i;
}
#define TW_CAST_DEQ(Name)                                                                          \
  template <class T, class U, bool isVecDeq = true, bool halfBlock = true>                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count,            \
            Place place = Place::here()) {                                                         \
    VectorInstr i = castDeqOf<isVecDeq, halfBlock>(dst, src);                                      \
    useCount(i, count);                                                                            \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask,              \
            uint8_t repeatTime, const UnaryRepeatParams& params, Place place = Place::here()) {    \
    VectorInstr i = castDeqOf<isVecDeq, halfBlock>(dst, src);                                      \
    useMask<isSetMask>(i, static_cast<uint64_t>(mask), repeatTime);                                \
    useStrides(i, params);                                                                         \
    host::issueVector(i, place);                                                                   \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],           \
            uint8_t repeatTime, const UnaryRepeatParams& params, Place place = Place::here()) {    \
    VectorInstr i = castDeqOf<isVecDeq, halfBlock>(dst, src);                                      \
    useMask<isSetMask>(i, mask, repeatTime);                                                       \
    useStrides(i, params);                                                                         \
    host::issueVector(i, place);                                                                   \
  }
TW_CAST_DEQ(CastDeq)
TW_CAST_DEQ(CastDequant)
#undef TW_CAST_DEQ
template <class T> void SetSaturationFlag(bool) {}

// --- the mask register ----------------------------------------------------------------------

template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow) {
  host::maskState().mask[0] = maskLow;
  host::maskState().mask[1] = maskHigh;
}
template <class T, MaskMode mode = MaskMode::NORMAL> void SetVectorMask(int32_t len) {
  auto& mask = host::maskState().mask;
  if (mode == MaskMode::COUNTER) {
    mask[0] = static_cast<uint64_t>(len);
    mask[1] = 0;
    return;
  }
  auto lanes = [](int32_t count) {
    return count >= 64 ? ~0ull : count > 0 ? (1ull << count) - 1 : 0;
  };
  mask[0] = lanes(len);
  mask[1] = lanes(len - 64);
}
inline void ResetMask() {
  host::maskState().mask[0] = host::maskState().mask[1] = ~0ull;
}
inline void SetMaskCount(Place place = Place::here()) {
  host::maskState().counterMode = true;
  host::maskState().countsSince = place;
}
inline void SetMaskNorm() {
  host::maskState().counterMode = false;
  host::maskState().countsSince = {};
}

} // namespace AscendC

/// The same by the names of the instructions.
inline void set_vector_mask(uint64_t high, uint64_t low) {
  AscendC::SetVectorMask<uint8_t>(high, low);
}
inline void set_mask_count(AscendC::Place place = AscendC::Place::here()) {
  AscendC::SetMaskCount(place);
}
inline void set_mask_norm() {
  AscendC::SetMaskNorm();
}

#endif
