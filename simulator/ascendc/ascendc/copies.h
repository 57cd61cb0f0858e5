// SPDX-License-Identifier: Apache-2.0
// Data movement by DMA, and copies inside UB.
#ifndef TILEWRIGHT_ASCENDC_COPIES_H
#define TILEWRIGHT_ASCENDC_COPIES_H

#include "queues.h"

namespace AscendC {

using tilewright::ascend::CopyInstr;
using tilewright::ascend::CopyKind;

constexpr uint32_t blockBytes = 32;

inline Pipe copyPipe(Space from, Space to) {
  if (from == Space::GM)
    return Pipe::MTE2;
  if (from == Space::UB && to == Space::UB)
    return Pipe::V;
  if (from == Space::L1 && (to == Space::BT || to == Space::L0A || to == Space::L0B))
    return Pipe::MTE1;
  if (from == Space::L1 && to == Space::FB)
    return Pipe::FIX;
  return Pipe::MTE3;
}

/// Bursts of 32-byte units (or bytes, by `unit`), with gaps between them.
inline void copyBursts(const host::Operand& dst, const host::Operand& src, uint32_t count,
                       uint64_t bytes, int64_t srcGap, int64_t dstGap, Place place) {
  CopyInstr i;
  i.pipe = copyPipe(src.space, dst.space);
  i.dst = dst;
  i.src = src;
  i.count = count;
  i.length = bytes;
  i.srcStride = static_cast<int64_t>(i.sourceBytes()) + srcGap;
  i.dstStride = static_cast<int64_t>(bytes) + dstGap;
  host::issueCopy(i, place);
}

template <class T>
void copyCount(const host::Operand& dst, const host::Operand& src, uint64_t count, Place place) {
  uint64_t bytes = bytesIn<T>(count);
  if (bytes % blockBytes) {
    char text[160];
    host::formatText(text, sizeof text,
                     "DataCopy moves %llu bytes, which is no multiple of 32; use DataCopyPad",
                     static_cast<unsigned long long>(bytes));
    host::reportKernel(text, true, place);
  }
  copyBursts(dst, src, 1, bytes, 0, 0, place);
}

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count,
              Place place = Place::here()) {
  copyCount<T>(dst.operand(), src.operand(), count, place);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
              Place place = Place::here()) {
  copyCount<T>(dst.operand(), src.operand(), count, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count,
              Place place = Place::here()) {
  copyCount<T>(dst.operand(), src.operand(), count, place);
}

/// Lengths and gaps count blocks of 32 bytes; those of BT count 64 bytes, those of FB 128, from the
/// start of a burst to the start of the next.
template <class Dst, class Src>
void copyByParams(const Dst& dst, const Src& src, const DataCopyParams& p, Place place) {
  const host::Operand to = dst.operand();
  const uint32_t unit = to.space == Space::BT ? 64 : to.space == Space::FB ? 128 : blockBytes;
  const uint64_t bytes = uint64_t{p.blockLen} * unit;
  const int64_t inGap = to.space == Space::FB ? static_cast<int64_t>(bytes) : 0;
  copyBursts(to, src.operand(), p.blockCount, bytes, int64_t{p.srcStride} * blockBytes - inGap,
             int64_t{p.dstStride} * unit - inGap, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
              Place place = Place::here()) {
  copyByParams(dst, src, p, place);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
              Place place = Place::here()) {
  copyByParams(dst, src, p, place);
}
/// Of two types: half becomes float on its way to BT. Lengths are those of BT.
template <class T, class U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& p,
              Place place = Place::here()) {
  constexpr bool isOne = std::is_same_v<T, U>;
  constexpr bool widens = std::is_same_v<T, float> && std::is_same_v<U, half>;
  if (!isOne && !(widens && spaceOf(dst.position) == Space::BT))
    host::failKernel("DataCopy of one type to another: only half becomes float, on its way from C1 "
                     "to C2; use ReinterpretCast to copy bytes",
                     place);
  copyByParams(dst, src, p, place);
}

inline void nd2nz(const host::Operand& dst, const host::Operand& src, const Nd2NzParams& p,
                  Place place) {
  CopyInstr i;
  i.kind = CopyKind::Nd2Nz;
  i.pipe = src.space == Space::GM ? Pipe::MTE2 : Pipe::MTE3;
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
  host::issueCopy(i, place);
}
/// Bursts of the innermost dimension; each outer dimension runs from startIndex to endIndex and
/// skips `stride` after each element.
template <class T, class Dst, class Src>
void copySlices(const Dst& dst, const Src& src, const SliceInfo* d, const SliceInfo* s,
                uint32_t dim, Place place) {
  uint64_t dPitch[8] = {}, sPitch[8] = {}, dCount[8] = {};
  constexpr uint32_t most = 8;
  if (dim == 0 || dim > most)
    host::failKernel("DataCopy: SliceInfo has 1 to 8 dimensions", place);
  uint64_t dp = 1, sp = 1;
  uint64_t burst = uint64_t{s[0].burstLen} * blockBytes / sizeof(T);
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
    copyBursts(dst[static_cast<uint32_t>(to)].operand(), src[static_cast<uint32_t>(from)].operand(),
               1, burst * sizeof(T), 0, 0, place);
    uint32_t k = 0;
    while (k < dim && ++index[k] == dCount[k])
      index[k++] = 0;
    if (k == dim)
      return;
  }
}

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& p,
              Place place = Place::here()) {
  nd2nz(dst.operand(), src.operand(), p, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Nd2NzParams& p,
              Place place = Place::here()) {
  nd2nz(dst.operand(), src.operand(), p, place);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Nz2NdParamsFull& p,
              Place place = Place::here()) {
  CopyInstr i;
  i.kind = CopyKind::Nz2Nd;
  i.pipe = Pipe::MTE3;
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
  host::issueCopy(i, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSlices[],
              const SliceInfo srcSlices[], uint32_t dim = 1, Place place = Place::here()) {
  copySlices<T>(dst, src, dstSlices, srcSlices, dim, place);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSlices[],
              const SliceInfo srcSlices[], uint32_t dim = 1, Place place = Place::here()) {
  copySlices<T>(dst, src, dstSlices, srcSlices, dim, place);
}
template <PaddingMode mode, class T>
void padIn(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count, uint64_t length,
           int64_t srcGap, int64_t dstGapBlocks, bool isPad, uint32_t left, uint32_t right,
           uint64_t bits, Place place) {
  CopyInstr i;
  i.isPadded = true;
  i.pipe = Pipe::MTE2;
  i.dst = dst.operand();
  i.src = src.operand();
  i.count = count;
  i.length = length;
  i.srcStride = static_cast<int64_t>(length) + srcGap;
  if (mode == PaddingMode::Compact) {
    i.dstStride = static_cast<int64_t>(length);
    host::issueCopy(i, place);
    return;
  }
  uint64_t before = isPad ? left * sizeof(T) : 0, after = isPad ? right * sizeof(T) : 0;
  uint64_t row = before + length + after;
  uint64_t rounded = (row + blockBytes - 1) / blockBytes * blockBytes;
  if (before > blockBytes || after > blockBytes)
    host::failKernel("DataCopyPad: padding is at most 32 bytes on each side", place);
  i.padLeft = static_cast<uint16_t>(before);
  i.padRight = static_cast<uint16_t>(rounded - before - length);
  host::AgentView& view = host::agentView();
  i.padDefined = isPad || view.padKnown;
  i.padBits = isPad ? bits : view.padBits;
  view.padKnown = view.padKnown && !isPad; // a value of its own goes through the same register
  i.dstStride = static_cast<int64_t>(rounded) + dstGapBlocks * blockBytes;
  host::issueCopy(i, place);
}
template <class T> uint64_t bitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& p,
                 const DataCopyPadExtParams<NotDeducedT<T>>& pad, Place place = Place::here()) {
  padIn<mode>(dst, src, p.blockCount, p.blockLen, p.srcStride, p.dstStride, pad.isPad,
              pad.leftPadding, pad.rightPadding, bitsOf(pad.paddingValue), place);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
                 const DataCopyPadParams& pad, Place place = Place::here()) {
  padIn<mode>(dst, src, p.blockCount, p.blockLen, p.srcStride, p.dstStride, pad.isPad,
              pad.leftPadding, pad.rightPadding, pad.paddingValue, place);
}
template <class T>
void padOut(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, uint64_t length,
            int64_t srcGapBlocks, int64_t dstGap, Place place) {
  CopyInstr i;
  i.isPadded = true;
  i.pipe = Pipe::MTE3;
  i.dst = dst.operand();
  i.src = src.operand();
  i.count = count;
  i.length = length;
  uint64_t rounded = (length + blockBytes - 1) / blockBytes * blockBytes;
  i.srcStride = static_cast<int64_t>(rounded) + srcGapBlocks * blockBytes;
  i.dstStride = static_cast<int64_t>(length) + dstGap;
  host::issueCopy(i, place);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p,
                 Place place = Place::here()) {
  padOut(dst, src, p.blockCount, p.blockLen, p.srcStride, p.dstStride, place);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
                 Place place = Place::here()) {
  padOut(dst, src, p.blockCount, p.blockLen, p.srcStride, p.dstStride, place);
}

/// What DataCopyPad fills with when its parameters give no value.
template <class T, TPosition = TPosition::MAX> void SetPadValue(T value) {
  host::agentView().padBits = bitsOf(value);
  host::agentView().padKnown = true;
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
void copyEnhanced(const Dst& dst, const Src& src, const DataCopyParams& p,
                  const DataCopyEnhancedParams& e, Place place) {
  if (e.blockMode != BlockMode::BLOCK_MODE_NORMAL || e.deqScale != DeqScale::DEQ_NONE || e.isRelu)
    host::failKernel("unsupported: DataCopyEnhancedParams with a conversion; arch 2201 converts on "
                     "the way out of L0C alone, by Fixpipe",
                     place);
  copyByParams(dst, src, p, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p,
              const DataCopyEnhancedParams& e, Place place = Place::here()) {
  copyEnhanced(dst, src, p, e, place);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
              const DataCopyEnhancedParams& e, Place place = Place::here()) {
  copyEnhanced(dst, src, p, e, place);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p,
              const DataCopyEnhancedParams& e, Place place = Place::here()) {
  copyEnhanced(dst, src, p, e, place);
}

/// What the DMA of arch 2201 combines with what memory holds.
template <class T>
inline constexpr bool isAtomicType =
    std::is_same_v<T, float> || std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> ||
    std::is_same_v<T, int8_t> || std::is_same_v<T, int16_t> || std::is_same_v<T, int32_t>;
template <class T> void setAtomic(host::AtomicOp op, Place place) {
  static_assert(isAtomicType<T>,
                "atomic stores are of float, half, bfloat16_t, int8_t, int16_t and "
                "int32_t on arch 2201");
  host::storeState() = {op, DTypeOf<T>::value, place};
}
template <class T> void SetAtomicAdd(Place place = Place::here()) {
  setAtomic<T>(host::AtomicOp::Add, place);
}
template <class T> void SetAtomicMax(Place place = Place::here()) {
  setAtomic<T>(host::AtomicOp::Max, place);
}
template <class T> void SetAtomicMin(Place place = Place::here()) {
  setAtomic<T>(host::AtomicOp::Min, place);
}
template <class T> void SetAtomicType() {
  static_assert(isAtomicType<T>,
                "atomic stores are of float, half, bfloat16_t, int8_t, int16_t and "
                "int32_t on arch 2201");
  host::storeState().atomicType = DTypeOf<T>::value;
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
template <AtomicDtype type, AtomicOp op> void SetStoreAtomicConfig(Place place = Place::here()) {
  constexpr DType types[] = {DType::F32, DType::F32, DType::F16, DType::I16,
                             DType::I32, DType::I8,  DType::BF16};
  bool isNone = type == AtomicDtype::ATOMIC_NONE;
  host::storeState() = {isNone ? host::AtomicOp::None : host::AtomicOp::Add,
                        types[static_cast<int>(type)], place};
}
inline void SetAtomicNone() {
  host::storeState() = {};
}
inline void DisableDmaAtomic() {
  host::storeState() = {};
}

} // namespace AscendC

inline void set_atomic_none() {
  AscendC::SetAtomicNone();
}

#endif
