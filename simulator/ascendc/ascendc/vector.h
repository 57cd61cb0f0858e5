// SPDX-License-Identifier: Apache-2.0
// Vector instructions: each with a bit mask, a lane count, or an element count.
#ifndef TILEWRIGHT_ASCENDC_VECTOR_H
#define TILEWRIGHT_ASCENDC_VECTOR_H

#include "copies.h"

namespace AscendC {

using TwVectorForm = tilewright::ascend::VectorForm;
using TwVectorInstr = tilewright::ascend::VectorInstr;
using TwVectorOp = tilewright::ascend::VectorOp;

// --- the forms ------------------------------------------------------------------------------

/// Advanced functions may work in all of the temporary memory that they are given.
template <class T> void twUseScratch(TwVectorInstr& i, const LocalTensor<T>& scratch) {
  i.scratch = scratch.operand();
}
inline void twUseCount(TwVectorInstr& i, uint64_t count) {
  i.form = TwVectorForm::Count;
  i.count = count;
}
template <bool isSetMask> void twUseMask(TwVectorInstr& i, const uint64_t mask[], uint32_t repeat) {
  i.form = isSetMask ? TwVectorForm::Mask : TwVectorForm::Register;
  i.repeat = repeat;
  if (isSetMask) {
    i.mask[0] = mask[0];
    i.mask[1] = mask[1];
  }
}
template <bool isSetMask> void twUseMask(TwVectorInstr& i, uint64_t lanes, uint32_t repeat) {
  i.form = isSetMask ? TwVectorForm::Mask : TwVectorForm::Register;
  i.repeat = repeat;
  i.maskLength = static_cast<uint16_t>(lanes > 0xFFFF ? 0xFFFF : lanes);
  if (isSetMask && twHost::maskState().counterMode) { // the count is that of all repeats
    i.form = TwVectorForm::Register;
    twHost::maskState().mask[0] = lanes;
  } else if (isSetMask && lanes == 0 && repeat > 0) {
    i.repeat = 0;
    i.mask[0] = i.mask[1] = 0;
  }
}
inline void twUseStrides(TwVectorInstr& i, const BinaryRepeatParams& p) {
  i.dstBlk = p.dstBlkStride;
  i.src0Blk = p.src0BlkStride;
  i.src1Blk = p.src1BlkStride;
  i.dstRep = p.dstRepStride;
  i.src0Rep = p.src0RepStride;
  i.src1Rep = p.src1RepStride;
}
inline void twUseStrides(TwVectorInstr& i, const UnaryRepeatParams& p) {
  i.dstBlk = p.dstBlkStride;
  i.src0Blk = p.srcBlkStride;
  i.dstRep = p.dstRepStride;
  i.src0Rep = p.srcRepStride;
}
template <class T, class U, class V>
TwVectorInstr twVectorOf(TwVectorOp op, const LocalTensor<T>& dst, const LocalTensor<U>& src0,
                         const LocalTensor<V>& src1) {
  TwVectorInstr i;
  i.op = op;
  i.dst = dst.operand();
  i.src0 = src0.operand();
  i.src1 = src1.operand();
  return i;
}
template <class T, class U>
TwVectorInstr twVectorOf(TwVectorOp op, const LocalTensor<T>& dst, const LocalTensor<U>& src) {
  TwVectorInstr i;
  i.op = op;
  i.dst = dst.operand();
  i.src0 = src.operand();
  return i;
}
template <class U> void twUseScalar(TwVectorInstr& i, U scalar) {
  if constexpr (std::is_integral_v<U>) {
    i.scalar = static_cast<uint64_t>(static_cast<int64_t>(scalar));
    i.scalarValue = static_cast<double>(scalar);
  } else {
    i.scalarValue = static_cast<double>(static_cast<float>(scalar));
    i.scalar = twBitsOf(scalar);
  }
}
/// A scalar of the destination's type.
template <class T> void twUseScalarOf(TwVectorInstr& i, T scalar) {
  if constexpr (std::is_integral_v<T>) {
    i.scalar = static_cast<uint64_t>(static_cast<int64_t>(scalar));
    i.scalarValue = static_cast<double>(scalar);
  } else {
    i.scalarValue = static_cast<double>(static_cast<float>(scalar));
    i.scalar = twBitsOf(scalar);
  }
}

// --- two sources ----------------------------------------------------------------------------

#define TW_BINARY_AS(Name, Op)                                                                     \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,     \
            const uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& params,     \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Op, dst, src0, src1);                                 \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,     \
            uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& params,             \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Op, dst, src0, src1);                                 \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,     \
            const int32_t& count, TwPlace place = TwPlace::here()) {                               \
    TwVectorInstr i = twVectorOf(TwVectorOp::Op, dst, src0, src1);                                 \
    twUseCount(i, static_cast<uint64_t>(count));                                                   \
    twHost::issueVector(i, place);                                                                 \
  }
#define TW_BINARY_OF_TWO(Name)                                                                     \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,     \
            const uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& params,     \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src0, src1);                               \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,     \
            uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& params,             \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src0, src1);                               \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, class U>                                                                      \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,     \
            const int32_t& count, TwPlace place = TwPlace::here()) {                               \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src0, src1);                               \
    twUseCount(i, static_cast<uint64_t>(count));                                                   \
    twHost::issueVector(i, place);                                                                 \
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
inline TwVectorInstr twAddDeqReluOf(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                                    const LocalTensor<int32_t>& src1) {
  TwVectorInstr i = twVectorOf(TwVectorOp::AddDeqRelu, dst, src0, src1);
  i.scalarValue = twHost::scalarResults().dequantScale;
  return i;
}
template <bool isSetMask = true>
void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                const LocalTensor<int32_t>& src1, const uint64_t mask[], const uint8_t repeatTime,
                const BinaryRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twAddDeqReluOf(dst, src0, src1);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <bool isSetMask = true>
void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                const LocalTensor<int32_t>& src1, uint64_t mask, const uint8_t repeatTime,
                const BinaryRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twAddDeqReluOf(dst, src0, src1);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0,
                       const LocalTensor<int32_t>& src1, const int32_t& count,
                       TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twAddDeqReluOf(dst, src0, src1);
  twUseCount(i, static_cast<uint64_t>(count));
  twHost::issueVector(i, place);
}
/// With the types, of which there are no others.
template <class T, class U, bool isSetMask = true>
void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                const uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams& params,
                TwPlace place = TwPlace::here()) {
  AddDeqRelu<isSetMask>(dst, src0, src1, mask, repeatTime, params, place);
}
template <class T, class U, bool isSetMask = true>
void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams& params,
                TwPlace place = TwPlace::here()) {
  AddDeqRelu<isSetMask>(dst, src0, src1, mask, repeatTime, params, place);
}
template <class T, class U>
void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                const int32_t& count, TwPlace place = TwPlace::here()) {
  AddDeqRelu(dst, src0, src1, count, place);
}

// --- one source -----------------------------------------------------------------------------

#define TW_UNARY(Name)                                                                             \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],           \
            const uint8_t repeatTime, const UnaryRepeatParams& params,                             \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src);                                      \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask,                   \
            const uint8_t repeatTime, const UnaryRepeatParams& params,                             \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src);                                      \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T>                                                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count,            \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src);                                      \
    twUseCount(i, static_cast<uint64_t>(count));                                                   \
    twHost::issueVector(i, place);                                                                 \
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
            const TwNotDeducedT<T>& scalarValue, const uint64_t mask[], const uint8_t repeatTime,  \
            const UnaryRepeatParams& params, TwPlace place = TwPlace::here()) {                    \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src);                                      \
    twUseScalarOf<T>(i, scalarValue);                                                              \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const TwNotDeducedT<T>& scalarValue, uint64_t mask, const uint8_t repeatTime,          \
            const UnaryRepeatParams& params, TwPlace place = TwPlace::here()) {                    \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src);                                      \
    twUseScalarOf<T>(i, scalarValue);                                                              \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const TwNotDeducedT<T>& scalarValue, const int32_t& count,                             \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src);                                      \
    twUseScalarOf<T>(i, scalarValue);                                                              \
    twUseCount(i, static_cast<uint64_t>(count));                                                   \
    twHost::issueVector(i, place);                                                                 \
  }
/// The same with the scalar's type among the template arguments, which nobody has to say.
#define TW_SCALAR_TYPED(Name)                                                                      \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const TwNotDeducedT<U>& scalarValue, const uint64_t mask[], const uint8_t repeatTime,  \
            const UnaryRepeatParams& params, TwPlace place = TwPlace::here()) {                    \
    Name<T, isSetMask>(dst, src, static_cast<T>(scalarValue), mask, repeatTime, params, place);    \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const TwNotDeducedT<U>& scalarValue, uint64_t mask, const uint8_t repeatTime,          \
            const UnaryRepeatParams& params, TwPlace place = TwPlace::here()) {                    \
    Name<T, isSetMask>(dst, src, static_cast<T>(scalarValue), mask, repeatTime, params, place);    \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                  \
            const TwNotDeducedT<U>& scalarValue, const int32_t& count,                             \
            TwPlace place = TwPlace::here()) {                                                     \
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
                const TwNotDeducedT<T>& scalarValue, const uint64_t mask[],
                const uint8_t repeatTime, const UnaryRepeatParams& params, bool roundEn = false,
                TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::ShiftRight, dst, src);
  twUseScalarOf<T>(i, scalarValue);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  i.flag = roundEn;
  twHost::issueVector(i, place);
}
template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                const TwNotDeducedT<T>& scalarValue, uint64_t mask, const uint8_t repeatTime,
                const UnaryRepeatParams& params, bool roundEn = false,
                TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::ShiftRight, dst, src);
  twUseScalarOf<T>(i, scalarValue);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  i.flag = roundEn;
  twHost::issueVector(i, place);
}
template <class T, bool isSetMask = true>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                const TwNotDeducedT<T>& scalarValue, const int32_t& count,
                TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::ShiftRight, dst, src);
  twUseScalarOf<T>(i, scalarValue);
  twUseCount(i, static_cast<uint64_t>(count));
  twHost::issueVector(i, place);
}

template <class T, class U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const TwNotDeducedT<U>& scalarValue,
          const uint64_t mask[], const uint8_t repeatTime, const UnaryRepeatParams& params,
          TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Axpy, dst, src);
  twUseScalar(i, scalarValue);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T, class U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const TwNotDeducedT<U>& scalarValue,
          uint64_t mask, const uint8_t repeatTime, const UnaryRepeatParams& params,
          TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Axpy, dst, src);
  twUseScalar(i, scalarValue);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T, class U>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const TwNotDeducedT<U>& scalarValue,
          const int32_t& count, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Axpy, dst, src);
  twUseScalar(i, scalarValue);
  twUseCount(i, static_cast<uint64_t>(count));
  twHost::issueVector(i, place);
}

// --- no source ------------------------------------------------------------------------------

template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const TwNotDeducedT<T>& scalarValue,
               const uint64_t mask[], const uint8_t repeatTime, const uint16_t dstBlockStride,
               const uint8_t dstRepeatStride, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Duplicate, dst, dst);
  twUseScalarOf<T>(i, scalarValue);
  twUseMask<isSetMask>(i, mask, repeatTime);
  i.dstBlk = dstBlockStride;
  i.dstRep = dstRepeatStride;
  twHost::issueVector(i, place);
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const TwNotDeducedT<T>& scalarValue, uint64_t mask,
               const uint8_t repeatTime, const uint16_t dstBlockStride,
               const uint8_t dstRepeatStride, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Duplicate, dst, dst);
  twUseScalarOf<T>(i, scalarValue);
  twUseMask<isSetMask>(i, mask, repeatTime);
  i.dstBlk = dstBlockStride;
  i.dstRep = dstRepeatStride;
  twHost::issueVector(i, place);
}
template <class T>
void Duplicate(const LocalTensor<T>& dst, const TwNotDeducedT<T>& scalarValue, const int32_t& count,
               TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Duplicate, dst, dst);
  twUseScalarOf<T>(i, scalarValue);
  twUseCount(i, static_cast<uint64_t>(count));
  twHost::issueVector(i, place);
}
/// The scalar is the first element of `src`.
template <class T>
void Duplicate(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count,
               TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Broadcast, dst, src);
  i.form = TwVectorForm::Mask;
  i.repeat = 1;
  i.scalar = static_cast<uint64_t>(count);
  i.mode = 1;
  twHost::issueVector(i, place);
}
template <class T>
void CreateVecIndex(LocalTensor<T> dst, const TwNotDeducedT<T>& first, uint32_t count,
                    TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::CreateVecIndex, dst, dst);
  twUseScalarOf<T>(i, first);
  twUseCount(i, count);
  twHost::issueVector(i, place);
}
template <class T>
void CreateVecIndex(LocalTensor<T> dst, const TwNotDeducedT<T>& first, uint64_t mask,
                    uint8_t repeatTime, uint16_t dstBlkStride, uint8_t dstRepStride,
                    TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::CreateVecIndex, dst, dst);
  twUseScalarOf<T>(i, first);
  twUseMask<true>(i, mask, repeatTime);
  i.dstBlk = dstBlkStride;
  i.dstRep = dstRepStride;
  twHost::issueVector(i, place);
}
template <class T>
void CreateVecIndex(LocalTensor<T> dst, const TwNotDeducedT<T>& first, const uint64_t mask[],
                    uint8_t repeatTime, uint16_t dstBlkStride, uint8_t dstRepStride,
                    TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::CreateVecIndex, dst, dst);
  twUseScalarOf<T>(i, first);
  twUseMask<true>(i, mask, repeatTime);
  i.dstBlk = dstBlkStride;
  i.dstRep = dstRepStride;
  twHost::issueVector(i, place);
}
// --- copies and conversions -----------------------------------------------------------------

inline void twUseStrides(TwVectorInstr& i, const CopyRepeatParams& p) {
  i.dstBlk = p.dstStride;
  i.src0Blk = p.srcStride;
  i.dstRep = p.dstRepeatSize;
  i.src0Rep = p.srcRepeatSize;
}
template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],
          const uint8_t repeatTime, const CopyRepeatParams& params,
          TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Copy, dst, src);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask,
          const uint8_t repeatTime, const CopyRepeatParams& params,
          TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Copy, dst, src);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count,
          TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Copy, dst, src);
  twUseCount(i, count);
  twHost::issueVector(i, place);
}

template <class T, class U>
TwVectorInstr twCastOf(const LocalTensor<T>& dst, const LocalTensor<U>& src, RoundMode mode) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Cast, dst, src);
  i.mode = static_cast<uint8_t>(mode);
  i.scalarValue = twHost::scalarResults().dequantScale; // for int32_t to half
  return i;
}
template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode,
          const uint64_t mask[], const uint8_t repeatTime, const UnaryRepeatParams& params,
          TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twCastOf(dst, src, mode);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode,
          const uint64_t mask, const uint8_t repeatTime, const UnaryRepeatParams& params,
          TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twCastOf(dst, src, mode);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T, class U>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode,
          const uint32_t count, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twCastOf(dst, src, mode);
  twUseCount(i, count);
  twHost::issueVector(i, place);
}
inline void SetDeqScale(half scale) {
  twHost::noteRegister(twHost::Register::DeqScale);
  twHost::scalarResults().dequantScale = scale;
}
/// Scale, offset and sign as the scalar unit hands them to CastDeq.
inline uint64_t twDeqParameters(float scale, int16_t offset, bool signMode) {
  return twHost::bitsOfFloat(scale) | static_cast<uint64_t>(offset & 511) << 37 |
         static_cast<uint64_t>(signMode) << 46;
}
inline void SetDeqScale(float scale, int16_t offset, bool signMode) {
  twHost::noteRegister(twHost::Register::DeqScale);
  twHost::noteRegister(twHost::Register::DeqParameters);
  twHost::scalarResults().dequantScale = scale;
  twHost::scalarResults().dequantParameters = twDeqParameters(scale, offset, signMode);
}
struct VdeqInfo {
  float vdeqScale[16] = {};
  int16_t vdeqOffset[16] = {};
  bool vdeqSignMode[16] = {};
};
/// 16 scales, which the scalar unit writes to 128 bytes of UB.
template <class T>
void SetDeqScale(const LocalTensor<T>& table, const VdeqInfo& info,
                 TwPlace place = TwPlace::here()) {
  LocalTensor<uint64_t> words = table.template ReinterpretCast<uint64_t>();
  for (uint32_t k = 0; k < 16; ++k)
    words.SetValue(k, twDeqParameters(info.vdeqScale[k], info.vdeqOffset[k], info.vdeqSignMode[k]),
                   place);
  twHost::scalarResults().dequantTable = words.operand();
  twHost::noteRegister(twHost::Register::DeqTable);
}
template <bool isVecDeq, bool halfBlock, class T, class U>
TwVectorInstr twCastDeqOf(const LocalTensor<T>& dst, const LocalTensor<U>& src) {
  if constexpr (std::is_same_v<U, int32_t>)
    return twCastOf(dst, src, RoundMode::CAST_NONE);
  TwVectorInstr i = twVectorOf(TwVectorOp::CastDeq, dst, src);
  i.mode = isVecDeq;
  i.flag = halfBlock;
  i.scalar = twHost::scalarResults().dequantParameters;
  i.aux = twHost::scalarResults().dequantTable;
  return i;
}
#define TW_CAST_DEQ(Name)                                                                          \
  template <class T, class U, bool isVecDeq = true, bool halfBlock = true>                         \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count,            \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twCastDeqOf<isVecDeq, halfBlock>(dst, src);                                  \
    twUseCount(i, count);                                                                          \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask,              \
            uint8_t repeatTime, const UnaryRepeatParams& params,                                   \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twCastDeqOf<isVecDeq, halfBlock>(dst, src);                                  \
    twUseMask<isSetMask>(i, static_cast<uint64_t>(mask), repeatTime);                              \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>  \
  void Name(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],           \
            uint8_t repeatTime, const UnaryRepeatParams& params,                                   \
            TwPlace place = TwPlace::here()) {                                                     \
    TwVectorInstr i = twCastDeqOf<isVecDeq, halfBlock>(dst, src);                                  \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }
TW_CAST_DEQ(CastDeq)
TW_CAST_DEQ(CastDequant)
#undef TW_CAST_DEQ
template <class T> void SetSaturationFlag(bool) {}

// --- the mask register ----------------------------------------------------------------------

template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow) {
  twHost::maskState().mask[0] = maskLow;
  twHost::maskState().mask[1] = maskHigh;
}
template <class T, MaskMode mode = MaskMode::NORMAL> void SetVectorMask(int32_t len) {
  auto& mask = twHost::maskState().mask;
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
  twHost::maskState().mask[0] = twHost::maskState().mask[1] = ~0ull;
}
inline void SetMaskCount(TwPlace place = TwPlace::here()) {
  twHost::maskState().counterMode = true;
  twHost::maskState().countsSince = place;
}
inline void SetMaskNorm() {
  twHost::maskState().counterMode = false;
  twHost::maskState().countsSince = {};
}

} // namespace AscendC

/// The same by the names of the instructions.
inline void set_vector_mask(uint64_t high, uint64_t low) {
  AscendC::SetVectorMask<uint8_t>(high, low);
}
inline void set_mask_count(AscendC::TwPlace place = AscendC::TwPlace::here()) {
  AscendC::SetMaskCount(place);
}
inline void set_mask_norm() {
  AscendC::SetMaskNorm();
}

#endif
