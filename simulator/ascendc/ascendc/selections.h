// SPDX-License-Identifier: Apache-2.0
// Compare, Select, reductions, Gather, Brcb, Transpose, Sort.
#ifndef TILEWRIGHT_ASCENDC_SELECTIONS_H
#define TILEWRIGHT_ASCENDC_SELECTIONS_H

#include "vector.h"

namespace AscendC {

// --- Compare --------------------------------------------------------------------------------

template <class T, class U>
TwVectorInstr twCompareOf(TwVectorOp op, const LocalTensor<U>& dst, const LocalTensor<T>& a,
                          CMPMODE mode) {
  TwVectorInstr i = twVectorOf(op, dst, a);
  i.mode = static_cast<uint8_t>(mode);
  return i;
}
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
             CMPMODE mode, const uint64_t mask[], uint8_t repeatTime,
             const BinaryRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twCompareOf(TwVectorOp::Compare, dst, a, mode);
  i.src1 = b.operand();
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
             CMPMODE mode, const uint64_t mask, uint8_t repeatTime,
             const BinaryRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twCompareOf(TwVectorOp::Compare, dst, a, mode);
  i.src1 = b.operand();
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T, class U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& a, const LocalTensor<T>& b,
             CMPMODE mode, uint32_t count, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twCompareOf(TwVectorOp::Compare, dst, a, mode);
  i.src1 = b.operand();
  twUseCount(i, count);
  twHost::issueVector(i, place);
}
/// Into the compare mask register.
template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& a, const LocalTensor<T>& b, CMPMODE mode, const uint64_t mask[],
             const BinaryRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twCompareOf(TwVectorOp::CompareToMask, a, a, mode);
  i.src1 = b.operand();
  twUseMask<isSetMask>(i, mask, 1);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& a, const LocalTensor<T>& b, CMPMODE mode, const uint64_t mask,
             const BinaryRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twCompareOf(TwVectorOp::CompareToMask, a, a, mode);
  i.src1 = b.operand();
  twUseMask<isSetMask>(i, mask, 1);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
#define TW_COMPARE_SCALAR(Name)                                                                    \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<U>& dst, const LocalTensor<T>& a, const TwNotDeducedT<T> scalar,     \
            CMPMODE mode, const uint64_t mask[], uint8_t repeatTime,                               \
            const UnaryRepeatParams& params, TwPlace place = TwPlace::here()) {                    \
    TwVectorInstr i = twCompareOf(TwVectorOp::CompareScalar, dst, a, mode);                        \
    twUseScalarOf<T>(i, scalar);                                                                   \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, class U, bool isSetMask = true>                                               \
  void Name(const LocalTensor<U>& dst, const LocalTensor<T>& a, const TwNotDeducedT<T> scalar,     \
            CMPMODE mode, const uint64_t mask, uint8_t repeatTime,                                 \
            const UnaryRepeatParams& params, TwPlace place = TwPlace::here()) {                    \
    TwVectorInstr i = twCompareOf(TwVectorOp::CompareScalar, dst, a, mode);                        \
    twUseScalarOf<T>(i, scalar);                                                                   \
    twUseMask<isSetMask>(i, mask, repeatTime);                                                     \
    twUseStrides(i, params);                                                                       \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, class U>                                                                      \
  void Name(const LocalTensor<U>& dst, const LocalTensor<T>& a, const TwNotDeducedT<T> scalar,     \
            CMPMODE mode, uint32_t count, TwPlace place = TwPlace::here()) {                       \
    TwVectorInstr i = twCompareOf(TwVectorOp::CompareScalar, dst, a, mode);                        \
    twUseScalarOf<T>(i, scalar);                                                                   \
    twUseCount(i, count);                                                                          \
    twHost::issueVector(i, place);                                                                 \
  }
TW_COMPARE_SCALAR(CompareScalar)
TW_COMPARE_SCALAR(Compares)
#undef TW_COMPARE_SCALAR

template <class T> void SetCmpMask(const LocalTensor<T>& src, TwPlace place = TwPlace::here()) {
  twHost::issueVector(twVectorOf(TwVectorOp::SetCmpMask, src, src), place);
}
template <class T> void GetCmpMask(const LocalTensor<T>& dst, TwPlace place = TwPlace::here()) {
  twHost::issueVector(twVectorOf(TwVectorOp::GetCmpMask, dst, dst), place);
}

// --- Select ---------------------------------------------------------------------------------

template <class T, class U>
TwVectorInstr twSelectOf(const LocalTensor<T>& dst, const LocalTensor<U>& bits,
                         const LocalTensor<T>& s0, SELMODE mode) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Select, dst, s0);
  i.aux = bits.operand();
  i.mode = static_cast<uint8_t>(mode);
  return i;
}
template <class T, class U, bool isSetMask = true, class M>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& s0,
            const LocalTensor<T>& s1, SELMODE mode, M mask, uint8_t repeatTime,
            const BinaryRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twSelectOf(dst, bits, s0, mode);
  i.src1 = s1.operand();
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& s0,
            const LocalTensor<T>& s1, SELMODE mode, uint32_t count,
            TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twSelectOf(dst, bits, s0, mode);
  i.src1 = s1.operand();
  twUseCount(i, count);
  twHost::issueVector(i, place);
}
template <class T, class U, bool isSetMask = true, class M>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& s0,
            TwNotDeducedT<T> s1, SELMODE mode, M mask, uint8_t repeatTime,
            const BinaryRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twSelectOf(dst, bits, s0, mode);
  i.flag = true;
  twUseScalarOf<T>(i, s1);
  twUseMask<isSetMask>(i, mask, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& s0,
            TwNotDeducedT<T> s1, SELMODE mode, uint32_t count, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twSelectOf(dst, bits, s0, mode);
  i.flag = true;
  twUseScalarOf<T>(i, s1);
  twUseCount(i, count);
  twHost::issueVector(i, place);
}
/// With the compare mask register.
template <class T, SELMODE mode>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& s0, const LocalTensor<T>& s1,
            uint8_t repeatTime, const BinaryRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Select, dst, s0, s1);
  i.mode = static_cast<uint8_t>(mode);
  i.validBits = 1;
  twUseMask<true>(i, uint64_t{256 / sizeof(T)}, repeatTime);
  twUseStrides(i, params);
  twHost::issueVector(i, place);
}

// --- reductions per repeat and per block ----------------------------------------------------

template <bool isSetMask, class T, class M>
void twReduceOf(TwVectorOp op, const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask,
                int32_t repeat, int32_t dstRep, int32_t srcBlk, int32_t srcRep, ReduceOrder order,
                TwPlace place) {
  TwVectorInstr i = twVectorOf(op, dst, src);
  twUseMask<isSetMask>(i, mask, static_cast<uint32_t>(repeat));
  i.dstRep = static_cast<uint16_t>(dstRep);
  i.src0Blk = static_cast<uint16_t>(srcBlk);
  i.src0Rep = static_cast<uint16_t>(srcRep);
  i.mode = static_cast<uint8_t>(order);
  twHost::issueVector(i, place);
}
#define TW_WHOLE(Name)                                                                             \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask,              \
            const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride,     \
            const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,        \
            TwPlace place = TwPlace::here()) {                                                     \
    twReduceOf<isSetMask>(TwVectorOp::Name, dst, src, static_cast<uint64_t>(mask), repeatTimes,    \
                          dstRepStride, srcBlkStride, srcRepStride, order, place);                 \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],           \
            const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride,     \
            const int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,        \
            TwPlace place = TwPlace::here()) {                                                     \
    twReduceOf<isSetMask>(TwVectorOp::Name, dst, src, mask, repeatTimes, dstRepStride,             \
                          srcBlkStride, srcRepStride, order, place);                               \
  }
TW_WHOLE(WholeReduceSum)
TW_WHOLE(WholeReduceMax)
TW_WHOLE(WholeReduceMin)
#undef TW_WHOLE
#define TW_BLOCK(Name)                                                                             \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,            \
            const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,            \
            const int32_t srcRepStride, TwPlace place = TwPlace::here()) {                         \
    twReduceOf<isSetMask>(TwVectorOp::Name, dst, src, static_cast<uint64_t>(mask), repeat,         \
                          dstRepStride, srcBlkStride, srcRepStride, ReduceOrder::ORDER_ONLY_VALUE, \
                          place);                                                                  \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,            \
            const uint64_t mask[], const int32_t dstRepStride, const int32_t srcBlkStride,         \
            const int32_t srcRepStride, TwPlace place = TwPlace::here()) {                         \
    twReduceOf<isSetMask>(TwVectorOp::Name, dst, src, mask, repeat, dstRepStride, srcBlkStride,    \
                          srcRepStride, ReduceOrder::ORDER_ONLY_VALUE, place);                     \
  }
TW_BLOCK(BlockReduceSum)
TW_BLOCK(BlockReduceMax)
TW_BLOCK(BlockReduceMin)
TW_BLOCK(PairReduceSum)
#undef TW_BLOCK
template <class T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
                     const int32_t elemsInOneRepeat, const int32_t, const int32_t srcBlkStride,
                     const int32_t dstRepStride, const int32_t srcRepStride,
                     TwPlace place = TwPlace::here()) {
  twReduceOf<isSetMask>(TwVectorOp::RepeatReduceSum, dst, src,
                        static_cast<uint64_t>(elemsInOneRepeat), repeat, dstRepStride, srcBlkStride,
                        srcRepStride, ReduceOrder::ORDER_ONLY_VALUE, place);
}

// The names of 9.1: mask before repeat everywhere.
constexpr TwVectorOp twPickReduce(ReduceType type, TwVectorOp sum, TwVectorOp max, TwVectorOp min) {
  return type == ReduceType::SUM ? sum : type == ReduceType::MAX ? max : min;
}
template <ReduceType type, class T, class U = T, bool isSetMask = true, class M>
void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, M mask, int32_t repeat,
                  int32_t dstRep, int32_t srcBlk, int32_t srcRep,
                  ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                  TwPlace place = TwPlace::here()) {
  constexpr TwVectorOp op = twPickReduce(type, TwVectorOp::WholeReduceSum,
                                         TwVectorOp::WholeReduceMax, TwVectorOp::WholeReduceMin);
  twReduceOf<isSetMask>(op, dst, src, mask, repeat, dstRep, srcBlk, srcRep, order, place);
}
template <ReduceType type, class T, class U = T, bool isSetMask = true, class M>
void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, M mask, int32_t repeat,
                     int32_t dstRep, int32_t srcBlk, int32_t srcRep,
                     TwPlace place = TwPlace::here()) {
  constexpr TwVectorOp op = twPickReduce(type, TwVectorOp::BlockReduceSum,
                                         TwVectorOp::BlockReduceMax, TwVectorOp::BlockReduceMin);
  twReduceOf<isSetMask>(op, dst, src, mask, repeat, dstRep, srcBlk, srcRep,
                        ReduceOrder::ORDER_ONLY_VALUE, place);
}
template <ReduceType type, class T, class U = T, bool isSetMask = true, class M>
void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, M mask, int32_t repeat,
                    int32_t dstRep, int32_t srcBlk, int32_t srcRep,
                    TwPlace place = TwPlace::here()) {
  static_assert(type == ReduceType::SUM, "pairs are only summed");
  twReduceOf<isSetMask>(TwVectorOp::PairReduceSum, dst, src, mask, repeat, dstRep, srcBlk, srcRep,
                        ReduceOrder::ORDER_ONLY_VALUE, place);
}

/// Without the source's type, which is the destination's.
#define TW_REDUCE_OF_ONE_TYPE(Name)                                                                \
  template <ReduceType type, class T, bool isSetMask, class M>                                     \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeat,          \
            int32_t dstRep, int32_t srcBlk, int32_t srcRep, TwPlace place = TwPlace::here()) {     \
    Name<type, T, T, isSetMask>(dst, src, mask, repeat, dstRep, srcBlk, srcRep, place);            \
  }
TW_REDUCE_OF_ONE_TYPE(ReduceDataBlock)
TW_REDUCE_OF_ONE_TYPE(ReducePairElem)
#undef TW_REDUCE_OF_ONE_TYPE

// --- reductions to one result ---------------------------------------------------------------

#define TW_REDUCE_ALL(Name, DefaultIndex)                                                          \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& tmp,       \
            const int32_t count, bool calIndex = false, TwPlace place = TwPlace::here()) {         \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src);                                      \
    i.aux = tmp.operand();                                                                         \
    i.flag = calIndex;                                                                             \
    twUseCount(i, static_cast<uint64_t>(count));                                                   \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& tmp,       \
            const int32_t mask, const int32_t repeatTimes, const int32_t srcRepStride,             \
            bool calIndex = false, TwPlace place = TwPlace::here()) {                              \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src);                                      \
    i.aux = tmp.operand();                                                                         \
    i.flag = calIndex;                                                                             \
    twUseMask<isSetMask>(i, static_cast<uint64_t>(mask), static_cast<uint32_t>(repeatTimes));      \
    i.src0Rep = static_cast<uint16_t>(srcRepStride);                                               \
    twHost::issueVector(i, place);                                                                 \
  }                                                                                                \
  template <class T, bool isSetMask = true>                                                        \
  void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& tmp,       \
            const uint64_t mask[], const int32_t repeatTimes, const int32_t srcRepStride,          \
            bool calIndex = false, TwPlace place = TwPlace::here()) {                              \
    TwVectorInstr i = twVectorOf(TwVectorOp::Name, dst, src);                                      \
    i.aux = tmp.operand();                                                                         \
    i.flag = calIndex;                                                                             \
    twUseMask<isSetMask>(i, mask, static_cast<uint32_t>(repeatTimes));                             \
    i.src0Rep = static_cast<uint16_t>(srcRepStride);                                               \
    twHost::issueVector(i, place);                                                                 \
  }
TW_REDUCE_ALL(ReduceSum, false)
TW_REDUCE_ALL(ReduceMax, true)
TW_REDUCE_ALL(ReduceMin, true)
#undef TW_REDUCE_ALL

template <class T> void twReadExtreme(T& value, T& index, const char* what, TwPlace place) {
  twHost::checkRegister(twHost::Register::Extreme, what, place);
  twHost::drainPipe(TwPipe::V);
  std::memcpy(&value, &twHost::scalarResults().extreme, sizeof value);
  std::memcpy(&index, &twHost::scalarResults().extremeIndex, sizeof index);
}
template <class T> void GetReduceMaxMinCount(T& value, T& index, TwPlace place = TwPlace::here()) {
  twReadExtreme(value, index, "GetReduceMaxMinCount", place);
}
template <class T> void GetReduceMaxMinCount(T& value, TwPlace place = TwPlace::here()) {
  T index;
  twReadExtreme(value, index, "GetReduceMaxMinCount", place);
}
template <class T>
void GetReduceRepeatMaxMinSpr(T& value, T& index, TwPlace place = TwPlace::here()) {
  twReadExtreme(value, index, "GetReduceRepeatMaxMinSpr", place);
}
template <class T> void GetReduceRepeatMaxMinSpr(T& value, TwPlace place = TwPlace::here()) {
  T index;
  twReadExtreme(value, index, "GetReduceRepeatMaxMinSpr", place);
}
template <class T> T twReadSum(const char* what, TwPlace place) {
  twHost::checkRegister(twHost::Register::Accumulated, what, place);
  twHost::drainPipe(TwPipe::V);
  T value;
  std::memcpy(&value, &twHost::scalarResults().accumulated, sizeof value);
  return value;
}
template <class T> T GetAccVal(TwPlace place = TwPlace::here()) {
  return twReadSum<T>("GetAccVal", place);
}
template <class T> T GetReduceRepeatSumSpr(TwPlace place = TwPlace::here()) {
  return twReadSum<T>("GetReduceRepeatSumSpr", place);
}

// --- Gather ---------------------------------------------------------------------------------

template <class T>
TwVectorInstr twGatherOf(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                         const LocalTensor<uint32_t>& offsets, uint32_t base) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Gather, dst, src);
  i.aux = offsets.operand();
  i.scalar = base;
  return i;
}
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
            const LocalTensor<uint32_t>& offsets, const uint32_t base, const uint32_t count,
            TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twGatherOf(dst, src, offsets, base);
  twUseCount(i, count);
  twHost::issueVector(i, place);
}
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
            const LocalTensor<uint32_t>& offsets, const uint32_t base, const uint64_t mask,
            const uint8_t repeatTime, const uint8_t dstRepStride, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twGatherOf(dst, src, offsets, base);
  twUseMask<true>(i, mask, repeatTime);
  i.dstRep = dstRepStride;
  twHost::issueVector(i, place);
}
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
            const LocalTensor<uint32_t>& offsets, const uint32_t base, const uint64_t mask[],
            const uint8_t repeatTime, const uint8_t dstRepStride, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twGatherOf(dst, src, offsets, base);
  twUseMask<true>(i, mask, repeatTime);
  i.dstRep = dstRepStride;
  twHost::issueVector(i, place);
}
template <class T>
void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src,
             const LocalTensor<uint32_t>& offsets, const uint8_t repeatTime,
             const GatherRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twGatherOf(dst, src, offsets, 0);
  i.op = TwVectorOp::Gatherb;
  i.form = TwVectorForm::Mask;
  i.repeat = repeatTime;
  i.dstBlk = params.dstBlkStride;
  i.dstRep = params.dstRepStride;
  twHost::issueVector(i, place);
}
/// `vRepeat` results, `vROffset` elements apart: each the sum of `hRepeat` times 8 blocks of `src0` (by
/// byte offsets) with weights of `src1`, one a time or, with `repeatMode`, one a block.
template <class T, class M>
void bilinear(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
              const LocalTensor<uint32_t>& offsets, const LocalTensor<T>& src1, M mask,
              uint8_t hRepeat, bool repeatMode, uint16_t dstBlkStride, uint16_t vROffset,
              uint8_t vRepeat, const LocalTensor<uint8_t>& scratch, TwPlace place) {
  TwVectorInstr i = twVectorOf(TwVectorOp::BilinearInterpolation, dst, src0, src1);
  twUseScratch(i, scratch);
  i.aux = offsets.operand();
  twUseMask<true>(i, mask, hRepeat);
  i.flag = repeatMode;
  i.dstBlk = dstBlkStride;
  i.scalar = vROffset;
  i.count = vRepeat;
  twHost::issueVector(i, place);
}
template <class T>
void BilinearInterpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                           const LocalTensor<uint32_t>& src0Offset, const LocalTensor<T>& src1,
                           uint64_t mask, uint8_t hRepeat, bool repeatMode, uint16_t dstBlkStride,
                           uint16_t vROffset, uint8_t vRepeat, const LocalTensor<uint8_t>& scratch,
                           TwPlace place = TwPlace::here()) {
  bilinear(dst, src0, src0Offset, src1, mask, hRepeat, repeatMode, dstBlkStride, vROffset, vRepeat,
           scratch, place);
}
template <class T>
void BilinearInterpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                           const LocalTensor<uint32_t>& src0Offset, const LocalTensor<T>& src1,
                           const uint64_t mask[], uint8_t hRepeat, bool repeatMode,
                           uint16_t dstBlkStride, uint16_t vROffset, uint8_t vRepeat,
                           const LocalTensor<uint8_t>& scratch, TwPlace place = TwPlace::here()) {
  bilinear(dst, src0, src0Offset, src1, mask, hRepeat, repeatMode, dstBlkStride, vROffset, vRepeat,
           scratch, place);
}
template <class T>
void twGatherByMask(TwVectorInstr i, bool reduceMode, uint32_t mask, const GatherMaskParams& params,
                    uint64_t& kept, TwPlace place) {
  i.flag = reduceMode;
  i.count = mask;
  i.repeat = params.repeatTimes;
  i.src0Blk = params.src0BlockStride;
  i.src0Rep = params.src0RepeatStride;
  i.src1Rep = params.src1RepeatStride;
  twHost::issueVector(i, place);
  twHost::drainPipe(TwPipe::V);
  kept = twHost::scalarResults().gatherCount;
}
template <class T>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t pattern,
                const bool reduceMode, const uint32_t mask, const GatherMaskParams& params,
                uint64_t& rsvdCnt, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::GatherMask, dst, src0);
  i.mode = pattern;
  twGatherByMask<T>(i, reduceMode, mask, params, rsvdCnt, place);
}
template <class T, class U>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                const LocalTensor<U>& pattern, const bool reduceMode, const uint32_t mask,
                const GatherMaskParams& params, uint64_t& rsvdCnt,
                TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::GatherMask, dst, src0, pattern);
  twGatherByMask<T>(i, reduceMode, mask, params, rsvdCnt, place);
}

// --- rearrangement --------------------------------------------------------------------------

template <class T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint8_t repeatTime,
          const BrcbRepeatParams& params, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Brcb, dst, src);
  i.form = TwVectorForm::Mask;
  i.repeat = repeatTime;
  i.dstBlk = params.dstBlkStride;
  i.dstRep = params.dstRepStride;
  twHost::issueVector(i, place);
}
template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
               TwPlace place = TwPlace::here()) {
  twHost::issueVector(twVectorOf(TwVectorOp::Transpose, dst, src), place);
}

struct TransDataTo5HDParams {
  bool dstHighHalf = false, srcHighHalf = false;
  uint8_t repeatTimes = 1;
  uint16_t dstRepStride = 0, srcRepStride = 0;
  TransDataTo5HDParams() = default;
  TransDataTo5HDParams(bool dstHigh, bool srcHigh, uint8_t repeats, uint16_t dstRep,
                       uint16_t srcRep)
      : dstHighHalf(dstHigh), srcHighHalf(srcHigh), repeatTimes(repeats), dstRepStride(dstRep),
        srcRepStride(srcRep) {}
};
template <class T> TwVectorInstr twTransDataOf(const TransDataTo5HDParams& p) {
  TwVectorInstr i;
  i.op = TwVectorOp::TransDataTo5HD;
  i.form = TwVectorForm::Mask;
  i.dst.type = i.src0.type = TwDTypeOf<T>::value;
  i.flag = p.dstHighHalf;
  i.mode = p.srcHighHalf;
  i.repeat = p.repeatTimes;
  i.dstRep = p.dstRepStride;
  i.src0Rep = p.srcRepStride;
  return i;
}
template <class T>
void TransDataTo5HD(const LocalTensor<T> (&dst)[16], const LocalTensor<T> (&src)[16],
                    const TransDataTo5HDParams& p, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twTransDataOf<T>(p);
  for (int k = 0; k < 16; ++k) {
    i.lists[k] = dst[k].address;
    i.lists[16 + k] = src[k].address;
    i.dst.isWithoutMemory |= !dst[k].hasMemory();
    i.src0.isWithoutMemory |= !src[k].hasMemory();
  }
  twHost::issueVector(i, place);
}
template <class T>
void TransDataTo5HD(uint64_t dst[16], uint64_t src[16], const TransDataTo5HDParams& p,
                    TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twTransDataOf<T>(p);
  auto base = reinterpret_cast<uint64_t>(twHost::agentView().memory[static_cast<int>(TwSpace::UB)]);
  for (int k = 0; k < 16; ++k) {
    i.lists[k] = static_cast<uint32_t>(dst[k] >= base ? dst[k] - base : dst[k]);
    i.lists[16 + k] = static_cast<uint32_t>(src[k] >= base ? src[k] - base : src[k]);
  }
  twHost::issueVector(i, place);
}

/// As kernels' libraries call it, with lists of pointers into UB.
template <class T>
void TransDataTo5HDImpl(uint64_t dst[16], uint64_t src[16], const TransDataTo5HDParams& p,
                        TwPlace place = TwPlace::here()) {
  TransDataTo5HD<T>(dst, src, p, place);
}
template <class T>
void TransDataTo5HDImpl(__ubuf__ T* dst[16], __ubuf__ T* src[16], const TransDataTo5HDParams& p,
                        TwPlace place = TwPlace::here()) {
  uint64_t to[16], from[16];
  for (int k = 0; k < 16; ++k) {
    to[k] = reinterpret_cast<uint64_t>(dst[k]);
    from[k] = reinterpret_cast<uint64_t>(src[k]);
  }
  TransDataTo5HD<T>(to, from, p, place);
}

// --- sorting --------------------------------------------------------------------------------

template <class T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& idx,
            const int32_t repeatTimes, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Sort32, dst, src, idx);
  i.repeat = static_cast<uint32_t>(repeatTimes);
  twHost::issueVector(i, place);
}
template <class T> struct MrgSortSrcList {
  LocalTensor<T> src1, src2, src3, src4;
  MrgSortSrcList() = default;
  MrgSortSrcList(const LocalTensor<T>& a, const LocalTensor<T>& b, const LocalTensor<T>& c,
                 const LocalTensor<T>& d)
      : src1(a), src2(b), src3(c), src4(d) {}
};
struct MrgSort4Info {
  uint16_t elementLengths[4] = {0, 0, 0, 0};
  bool ifExhaustedSuspension = false;
  uint16_t validBit = 15;
  uint16_t repeatTimes = 1;
  MrgSort4Info() = default;
  MrgSort4Info(const uint16_t lengths[4], bool suspend, uint16_t valid, uint16_t repeats)
      : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(repeats) {
    for (int k = 0; k < 4; ++k)
      elementLengths[k] = lengths[k];
  }
};
template <class T>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& lists, const MrgSort4Info& info,
             TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::MrgSort, dst, lists.src1, lists.src2);
  i.form = TwVectorForm::Mask;
  i.aux = lists.src3.operand();
  i.extra = lists.src4.operand();
  for (int k = 0; k < 4; ++k)
    i.lengths[k] = info.elementLengths[k];
  i.flag = info.ifExhaustedSuspension;
  i.validBits = info.validBit;
  i.repeat = info.repeatTimes;
  twHost::issueVector(i, place);
}
inline void GetMrgSortResult(uint16_t& a, uint16_t& b, uint16_t& c, uint16_t& d,
                             TwPlace place = TwPlace::here()) {
  twHost::checkRegister(twHost::Register::SortedCounts, "GetMrgSortResult", place);
  twHost::drainPipe(TwPipe::V);
  const auto& counts = twHost::scalarResults().sortedCounts;
  a = static_cast<uint16_t>(counts[0]);
  b = static_cast<uint16_t>(counts[1]);
  c = static_cast<uint16_t>(counts[2]);
  d = static_cast<uint16_t>(counts[3]);
}
template <class T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& lists,
             const uint16_t elementLengths[4], uint32_t sortedNum[4], uint16_t validBit,
             const int32_t repeatTimes, TwPlace place = TwPlace::here()) {
  MrgSort(dst, lists,
          MrgSort4Info(elementLengths, isExhaustedSuspension, validBit,
                       static_cast<uint16_t>(repeatTimes)),
          place);
  twHost::drainPipe(TwPipe::V);
  for (int k = 0; k < 4; ++k)
    sortedNum[k] = twHost::scalarResults().sortedCounts[k];
}
template <class T>
void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&,
            const int32_t) {
  concat = src; // arch 2201 sorts the scores as they are
}
template <class T, bool isFullSort>
void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat,
          const LocalTensor<uint32_t>& index, LocalTensor<T>& scratch, const int32_t repeatTimes,
          TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::Sort32, dst, concat, index);
  i.repeat = static_cast<uint32_t>(repeatTimes);
  i.flag = isFullSort;
  if (isFullSort) // merges go there and back
    twUseScratch(i, scratch);
  twHost::issueVector(i, place);
}
template <class T>
void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex,
             const LocalTensor<T>& sorted, const int32_t repeatTimes,
             TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::ExtractScores, dstValue, sorted);
  i.aux = dstIndex.operand();
  i.repeat = static_cast<uint32_t>(repeatTimes);
  twHost::issueVector(i, place);
}
template <class T> uint32_t GetSortOffset(uint32_t elements) {
  return elements * 8 / sizeof(T);
}
template <class T> uint32_t GetSortLen(uint32_t elements) {
  return elements * 8 / sizeof(T);
}

// --- what arch 2201 has not -----------------------------------------------------------------

/// The name is documented for other chips; a kernel that uses it is told so when it is compiled.
#define TW_NOT_ON_2201(Name, advice)                                                               \
  template <class... Arguments> void Name(Arguments&&...) {                                        \
    static_assert(sizeof...(Arguments) > 255, #Name " isn't on arch 2201; " advice);               \
  }
TW_NOT_ON_2201(Scatter, "write from the other side with Gather, or with scalars")
TW_NOT_ON_2201(ProposalConcat, "use Concat and Sort32")
TW_NOT_ON_2201(RpSort16, "use Sort32")
TW_NOT_ON_2201(MrgSort4, "use MrgSort")
TW_NOT_ON_2201(ProposalExtract, "use Extract")
TW_NOT_ON_2201(LoadDataWithStride, "use LoadData with LoadData3DParamsV2")
TW_NOT_ON_2201(SetLoadDataRepeatWithStride, "use SetLoadDataRepeat")
#undef TW_NOT_ON_2201

// --- sequences ------------------------------------------------------------------------------

/// dst[i] = first + i * diff.
template <class T>
void ArithProgression(const LocalTensor<T>& dst, TwNotDeducedT<T> first, TwNotDeducedT<T> diff,
                      const int32_t count, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twVectorOf(TwVectorOp::CreateVecIndex, dst, dst);
  twUseScalarOf<T>(i, first);
  i.flag = true;
  i.scalar = static_cast<uint64_t>(count);
  double step = static_cast<double>(static_cast<float>(diff));
  if constexpr (std::is_integral_v<T>)
    step = static_cast<double>(diff);
  std::memcpy(&i.mask[0], &step, sizeof step);
  twUseCount(i, static_cast<uint64_t>(count));
  twHost::issueVector(i, place);
}
template <class T>
void Arange(const LocalTensor<T>& dst, TwNotDeducedT<T> first, TwNotDeducedT<T> diff,
            const int32_t count, TwPlace place = TwPlace::here()) {
  ArithProgression(dst, first, diff, count, place);
}

} // namespace AscendC

#endif
