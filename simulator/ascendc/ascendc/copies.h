// SPDX-License-Identifier: Apache-2.0
// Data movement by DMA, and copies inside UB.
#ifndef TILEWRIGHT_ASCENDC_COPIES_H
#define TILEWRIGHT_ASCENDC_COPIES_H

#include "queues.h"

namespace AscendC {

using TwCopyInstr = tilewright::ascend::CopyInstr;
using TwCopyKind = tilewright::ascend::CopyKind;

constexpr uint32_t twBlockBytes = 32;

inline TwPipe twCopyPipe(TwSpace from, TwSpace to) {
  if (from == TwSpace::GM)
    return TwPipe::MTE2;
  if (from == TwSpace::UB && to == TwSpace::UB)
    return TwPipe::V;
  if (from == TwSpace::L1 && (to == TwSpace::BT || to == TwSpace::L0A || to == TwSpace::L0B))
    return TwPipe::MTE1;
  if (from == TwSpace::L1 && to == TwSpace::FB)
    return TwPipe::FIX;
  return TwPipe::MTE3;
}

/// Bursts of 32-byte units (or bytes, by `unit`), with gaps between them.
inline void twCopyBursts(const twHost::Operand& dst, const twHost::Operand& src, uint32_t count,
                         uint64_t bytes, int64_t srcGap, int64_t dstGap, TwPlace place) {
  TwCopyInstr i;
  i.pipe = twCopyPipe(src.space, dst.space);
  i.dst = dst;
  i.src = src;
  i.count = count;
  i.length = bytes;
  i.srcStride = static_cast<int64_t>(i.sourceBytes()) + srcGap;
  i.dstStride = static_cast<int64_t>(bytes) + dstGap;
  twHost::issueCopy(i, place);
}

template <class T>
void twCopyCount(const twHost::Operand& dst, const twHost::Operand& src, uint64_t count,
                 TwPlace place) {
  uint64_t bytes = twBytesIn<T>(count);
  if (bytes % twBlockBytes) {
    char text[160];
    twHost::formatText(text, sizeof text,
                       "DataCopy moves %llu bytes, which is no multiple of 32; use DataCopyPad",
                       static_cast<unsigned long long>(bytes));
    twHost::reportKernel(text, true, place);
  }
  twCopyBursts(dst, src, 1, bytes, 0, 0, place);
}

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count,
              TwPlace place = TwPlace::here()) {
  twCopyCount<T>(dst.operand(), src.operand(), count, place);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
              TwPlace place = TwPlace::here()) {
  twCopyCount<T>(dst.operand(), src.operand(), count, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
              TwPlace place = TwPlace::here()) {
  twCopyCount<T>(dst.operand(), src.operand(), count, place);
}

/// Lengths and gaps count blocks of 32 bytes; those of BT count 64 bytes, those of FB 128, from the
/// start of a burst to the start of the next.
template <class Dst, class Src>
void twCopyByParams(const Dst& dst, const Src& src, const DataCopyParams& p, TwPlace place) {
  const twHost::Operand to = dst.operand();
  const uint32_t unit = to.space == TwSpace::BT ? 64 : to.space == TwSpace::FB ? 128 : twBlockBytes;
  const uint64_t bytes = uint64_t{p.blockLen} * unit;
  const int64_t inGap = to.space == TwSpace::FB ? static_cast<int64_t>(bytes) : 0;
  twCopyBursts(to, src.operand(), p.blockCount, bytes, int64_t{p.srcStride} * twBlockBytes - inGap,
               int64_t{p.dstStride} * unit - inGap, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
              TwPlace place = TwPlace::here()) {
  twCopyByParams(dst, src, p, place);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
              TwPlace place = TwPlace::here()) {
  twCopyByParams(dst, src, p, place);
}
/// Of two types: half becomes float on its way to BT. Lengths are those of BT.
template <class T, class U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& p,
              TwPlace place = TwPlace::here()) {
  constexpr bool isOne = std::is_same_v<T, U>;
  constexpr bool widens = std::is_same_v<T, float> && std::is_same_v<U, half>;
  if (!isOne && !(widens && twSpaceOf(dst.position) == TwSpace::BT))
    twHost::failKernel(
        "DataCopy of one type to another: only half becomes float, on its way from C1 "
        "to C2; use ReinterpretCast to copy bytes",
        place);
  twCopyByParams(dst, src, p, place);
}

inline void twNd2nz(const twHost::Operand& dst, const twHost::Operand& src, const Nd2NzParams& p,
                    TwPlace place) {
  TwCopyInstr i;
  i.kind = TwCopyKind::Nd2Nz;
  i.pipe = src.space == TwSpace::GM ? TwPipe::MTE2 : TwPipe::MTE3;
  i.dst = dst;
  i.src = src;
  i.ndNum = p.ndNum;
  i.nValue = p.nValue;
  i.dValue = p.dValue;
  i.srcNdMatrixStride = p.srcNdMatrixStride;
  i.srcDValue = p.srcDValue;
  i.dstNzC0Stride = p.dstNzC0Stride;
  i.dstNzNStride = p.dstNzNStride;
  i.dstNzMatrixStride = p.dstNzMatrixStride;
  twHost::issueCopy(i, place);
}
/// Bursts of the innermost dimension; each outer dimension runs from startIndex to endIndex and
/// skips `stride` after each element.
template <class T, class Dst, class Src>
void twCopySlices(const Dst& dst, const Src& src, const SliceInfo* d, const SliceInfo* s,
                  uint32_t dim, TwPlace place) {
  uint64_t dPitch[8] = {}, sPitch[8] = {}, dCount[8] = {};
  constexpr uint32_t most = 8;
  if (dim == 0 || dim > most)
    twHost::failKernel("DataCopy: SliceInfo has 1 to 8 dimensions", place);
  uint64_t dp = 1, sp = 1;
  uint64_t burst = uint64_t{s[0].burstLen} * twBlockBytes / sizeof(T);
  for (uint32_t k = 0; k < dim; ++k) {
    dPitch[k] = dp;
    sPitch[k] = sp;
    dp *= d[k].shapeValue;
    sp *= s[k].shapeValue;
    uint64_t span = uint64_t{s[k].endIndex} - s[k].startIndex + 1;
    uint64_t step = k ? 1 : burst;
    dCount[k] = (span + s[k].stride) / (step + s[k].stride);
  }
  uint64_t index[8] = {};
  for (;;) {
    uint64_t from = 0, to = 0;
    for (uint32_t k = 0; k < dim; ++k) {
      uint64_t step = k ? 1 : burst;
      from += (s[k].startIndex + index[k] * (step + s[k].stride)) * sPitch[k];
      to += (d[k].startIndex + index[k] * (step + d[k].stride)) * dPitch[k];
    }
    twCopyBursts(dst[static_cast<uint32_t>(to)].operand(),
                 src[static_cast<uint32_t>(from)].operand(), 1, burst * sizeof(T), 0, 0, place);
    uint32_t k = 0;
    while (k < dim && ++index[k] == dCount[k])
      index[k++] = 0;
    if (k == dim)
      return;
  }
}

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& p,
              TwPlace place = TwPlace::here()) {
  twNd2nz(dst.operand(), src.operand(), p, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Nd2NzParams& p,
              TwPlace place = TwPlace::here()) {
  twNd2nz(dst.operand(), src.operand(), p, place);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Nz2NdParamsFull& p,
              TwPlace place = TwPlace::here()) {
  TwCopyInstr i;
  i.kind = TwCopyKind::Nz2Nd;
  i.pipe = TwPipe::MTE3;
  i.dst = dst.operand();
  i.src = src.operand();
  i.ndNum = p.ndNum;
  i.nValue = p.nValue;
  i.dValue = p.dValue;
  constexpr uint64_t fractalBytes = 512;
  i.dstNzMatrixStride = p.srcNdMatrixStride * fractalBytes / sizeof(T);
  i.dstNzC0Stride = p.srcNStride;
  i.srcDValue = p.dstDStride;
  i.srcNdMatrixStride = p.dstNdMatrixStride;
  twHost::issueCopy(i, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSlices[],
              const SliceInfo srcSlices[], uint32_t dim = 1, TwPlace place = TwPlace::here()) {
  twCopySlices<T>(dst, src, dstSlices, srcSlices, dim, place);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSlices[],
              const SliceInfo srcSlices[], uint32_t dim = 1, TwPlace place = TwPlace::here()) {
  twCopySlices<T>(dst, src, dstSlices, srcSlices, dim, place);
}
template <PaddingMode mode, class T>
void twPadIn(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count, uint64_t length,
             int64_t srcGap, int64_t dstGapBlocks, bool isPad, uint32_t left, uint32_t right,
             uint64_t bits, TwPlace place) {
  TwCopyInstr i;
  i.isPadded = true;
  i.pipe = TwPipe::MTE2;
  i.dst = dst.operand();
  i.src = src.operand();
  i.count = count;
  i.length = length;
  i.srcStride = static_cast<int64_t>(length) + srcGap;
  if (mode == PaddingMode::Compact) {
    i.dstStride = static_cast<int64_t>(length);
    twHost::issueCopy(i, place);
    return;
  }
  uint64_t before = isPad ? left * sizeof(T) : 0, after = isPad ? right * sizeof(T) : 0;
  uint64_t row = before + length + after;
  uint64_t rounded = (row + twBlockBytes - 1) / twBlockBytes * twBlockBytes;
  if (before > twBlockBytes || after > twBlockBytes)
    twHost::failKernel("DataCopyPad: padding is at most 32 bytes on each side", place);
  i.padLeft = static_cast<uint16_t>(before);
  i.padRight = static_cast<uint16_t>(rounded - before - length);
  twHost::AgentView& view = twHost::agentView();
  i.padDefined = isPad || view.padKnown;
  i.padBits = isPad ? bits : view.padBits;
  view.padKnown = view.padKnown && !isPad; // a value of its own goes through the same register
  i.dstStride = static_cast<int64_t>(rounded) + dstGapBlocks * twBlockBytes;
  twHost::issueCopy(i, place);
}
template <class T> uint64_t twBitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& p,
                 const DataCopyPadExtParams<TwNotDeducedT<T>>& pad,
                 TwPlace place = TwPlace::here()) {
  twPadIn<mode>(dst, src, p.blockCount, p.blockLen, p.srcStride, p.dstStride, pad.isPad,
                pad.leftPadding, pad.rightPadding, twBitsOf(pad.paddingValue), place);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
                 const DataCopyPadParams& pad, TwPlace place = TwPlace::here()) {
  twPadIn<mode>(dst, src, p.blockCount, p.blockLen, p.srcStride, p.dstStride, pad.isPad,
                pad.leftPadding, pad.rightPadding, pad.paddingValue, place);
}
template <class T>
void twPadOut(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
              uint64_t length, int64_t srcGapBlocks, int64_t dstGap, TwPlace place) {
  TwCopyInstr i;
  i.isPadded = true;
  i.pipe = TwPipe::MTE3;
  i.dst = dst.operand();
  i.src = src.operand();
  i.count = count;
  i.length = length;
  uint64_t rounded = (length + twBlockBytes - 1) / twBlockBytes * twBlockBytes;
  i.srcStride = static_cast<int64_t>(rounded) + srcGapBlocks * twBlockBytes;
  i.dstStride = static_cast<int64_t>(length) + dstGap;
  twHost::issueCopy(i, place);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p,
                 TwPlace place = TwPlace::here()) {
  twPadOut(dst, src, p.blockCount, p.blockLen, p.srcStride, p.dstStride, place);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
                 TwPlace place = TwPlace::here()) {
  twPadOut(dst, src, p.blockCount, p.blockLen, p.srcStride, p.dstStride, place);
}

/// What DataCopyPad fills with when its parameters give no value.
template <class T, TPosition = TPosition::MAX> void SetPadValue(T value) {
  twHost::agentView().padBits = twBitsOf(value);
  twHost::agentView().padKnown = true;
}

enum class BlockMode : uint8_t {
  BLOCK_MODE_NORMAL,
  BLOCK_MODE_MATRIX,
  BLOCK_MODE_VECTOR,
  BLOCK_MODE_SMALL_CHANNEL,
  BLOCK_MODE_DEPTHWISE,
};
enum class DeqScale : uint8_t { DEQ_NONE, DEQ, VDEQ, DEQ8, VDEQ8, DEQ16, VDEQ16 };
/// Conversions on the way of a copy: those of older chips. Arch 2201 converts in Fixpipe.
struct DataCopyEnhancedParams {
  BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
  DeqScale deqScale = DeqScale::DEQ_NONE;
  uint64_t deqValue = 0;
  uint8_t sidStoreMode = 0;
  bool isRelu = false;
  uint64_t padValue = 0;
};
template <class Dst, class Src>
void twCopyEnhanced(const Dst& dst, const Src& src, const DataCopyParams& p,
                    const DataCopyEnhancedParams& e, TwPlace place) {
  if (e.blockMode != BlockMode::BLOCK_MODE_NORMAL || e.deqScale != DeqScale::DEQ_NONE || e.isRelu)
    twHost::failKernel(
        "unsupported: DataCopyEnhancedParams with a conversion; arch 2201 converts on "
        "the way out of L0C alone, by Fixpipe",
        place);
  twCopyByParams(dst, src, p, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
              const DataCopyEnhancedParams& e, TwPlace place = TwPlace::here()) {
  twCopyEnhanced(dst, src, p, e, place);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
              const DataCopyEnhancedParams& e, TwPlace place = TwPlace::here()) {
  twCopyEnhanced(dst, src, p, e, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
              const DataCopyEnhancedParams& e, TwPlace place = TwPlace::here()) {
  twCopyEnhanced(dst, src, p, e, place);
}

/// What the DMA of arch 2201 combines with what memory holds.
template <class T>
inline constexpr bool twIsAtomicType =
    std::is_same_v<T, float> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> ||
    std::is_same_v<T, int8_t> || std::is_same_v<T, int16_t> || std::is_same_v<T, int32_t>;
template <class T> void twSetAtomic(twHost::AtomicOp op, TwPlace place) {
  static_assert(twIsAtomicType<T>,
                "atomic stores are of float, half, bfloat16_t, int8_t, int16_t and "
                "int32_t on arch 2201");
  twHost::storeState() = {op, TwDTypeOf<T>::value, place};
}
template <class T> void SetAtomicAdd(TwPlace place = TwPlace::here()) {
  twSetAtomic<T>(twHost::AtomicOp::Add, place);
}
template <class T> void SetAtomicMax(TwPlace place = TwPlace::here()) {
  twSetAtomic<T>(twHost::AtomicOp::Max, place);
}
template <class T> void SetAtomicMin(TwPlace place = TwPlace::here()) {
  twSetAtomic<T>(twHost::AtomicOp::Min, place);
}
template <class T> void SetAtomicType() {
  static_assert(twIsAtomicType<T>,
                "atomic stores are of float, half, bfloat16_t, int8_t, int16_t and "
                "int32_t on arch 2201");
  twHost::storeState().atomicType = TwDTypeOf<T>::value;
}
enum class AtomicDtype : uint8_t {
  ATOMIC_NONE,
  ATOMIC_F32,
  ATOMIC_F16,
  ATOMIC_S16,
  ATOMIC_S32,
  ATOMIC_S8,
  ATOMIC_BF16,
};
enum class AtomicOp : uint8_t { ATOMIC_SUM };
template <AtomicDtype type, AtomicOp op>
void SetStoreAtomicConfig(TwPlace place = TwPlace::here()) {
  constexpr TwDType types[] = {TwDType::F32, TwDType::F32, TwDType::F16, TwDType::I16,
                               TwDType::I32, TwDType::I8,  TwDType::BF16};
  bool isNone = type == AtomicDtype::ATOMIC_NONE;
  twHost::storeState() = {isNone ? twHost::AtomicOp::None : twHost::AtomicOp::Add,
                          types[static_cast<int>(type)], place};
}
inline void SetAtomicNone() {
  twHost::storeState() = {};
}
inline void DisableDmaAtomic() {
  twHost::storeState() = {};
}

} // namespace AscendC

inline void set_atomic_none() {
  AscendC::SetAtomicNone();
}

#endif
