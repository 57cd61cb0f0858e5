// SPDX-License-Identifier: Apache-2.0
// Moving tiles: global memory to UB and back, and within UB. Pitches are the elements from one row to the next.
#ifndef TILEWRIGHT_ASCEND_TRANSFER_H
#define TILEWRIGHT_ASCEND_TRANSFER_H

#include "kernel_operator.h"

namespace tilewright {

constexpr uint32_t blockBytes = 32;
/// Rows that one DMA instruction takes.
constexpr uint32_t mostRows = 4095;

__aicore__ inline uint32_t roundUp(uint32_t value, uint32_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// What one DMA instruction takes of rows that lie `gap` bytes apart in a tensor, which it counts with
/// 32 bits: those that lie further apart go one by one.
__aicore__ inline uint32_t rowsAtOnce(uint64_t gap) {
  return gap > 0xffffffffull ? 1 : mostRows;
}

/// A buffer at a byte address of its memory.
template <class T>
__aicore__ inline AscendC::LocalTensor<T> localTensor(AscendC::TPosition position, uint32_t address,
                                                      uint32_t elements) {
  return AscendC::LocalTensor<T>(position, address, elements);
}
#ifdef TILEWRIGHT_ASCEND
template <class T>
inline AscendC::LocalTensor<T> localTensor(AscendC::TPosition position, uint32_t address,
                                           uint32_t elements, uint16_t nameNumber) {
  auto tensor = localTensor<T>(position, address, elements);
  tensor.nameNumber = nameNumber;
  return tensor;
}
#endif

template <class T>
__aicore__ inline void loadRows(const AscendC::LocalTensor<T>& ub,
                                const AscendC::GlobalTensor<T>& gm, uint32_t rows, uint32_t columns,
                                uint64_t gmPitch, uint32_t ubPitch, bool isPadded, T pad,
                                uint32_t before TW_PLACE) {
  const uint32_t bytes = columns * sizeof(T), used = before * sizeof(T) + bytes;
  const uint32_t taken = roundUp(used, blockBytes);
  const uint32_t gap = rows > 1 ? (ubPitch * sizeof(T) - taken) / blockBytes : 0;
  const uint64_t gmGap = (gmPitch - columns) * sizeof(T);
  const uint32_t most = rowsAtOnce(gmGap);
  const AscendC::DataCopyPadExtParams<T> padding(isPadded, static_cast<uint8_t>(before),
                                                 static_cast<uint8_t>((taken - used) / sizeof(T)),
                                                 pad);
  for (uint32_t row = 0; row < rows; row += most) {
    const uint32_t count = rows - row < most ? rows - row : most;
    const AscendC::DataCopyExtParams shape(static_cast<uint16_t>(count), bytes,
                                           static_cast<uint32_t>(gmGap), gap, 0);
    AscendC::DataCopyPad(ub[row * ubPitch], gm[row * gmPitch], shape, padding TW_HERE);
  }
}

/// [rows, columns] of a tensor to UB. What is left of a row's last 32 bytes is undefined.
template <class T>
__aicore__ inline void copyGmToUb(const AscendC::LocalTensor<T>& ub,
                                  const AscendC::GlobalTensor<T>& gm, uint32_t rows,
                                  uint32_t columns, uint64_t gmPitch, uint32_t ubPitch TW_PLACE) {
  loadRows(ub, gm, rows, columns, gmPitch, ubPitch, false, T(), 0 TW_HERE);
}
/// The same; what is left of a row's last 32 bytes becomes `pad`, and so do `before` elements in front
/// of each row, fewer than a block has.
template <class T, class P>
__aicore__ inline void
copyGmToUb(const AscendC::LocalTensor<T>& ub, const AscendC::GlobalTensor<T>& gm, uint32_t rows,
           uint32_t columns, uint64_t gmPitch, uint32_t ubPitch, P pad, uint32_t before TW_PLACE) {
  loadRows(ub, gm, rows, columns, gmPitch, ubPitch, true, static_cast<T>(pad), before TW_HERE);
}
template <class T, class P>
__aicore__ inline void
copyGmToUb(const AscendC::LocalTensor<T>& ub, const AscendC::GlobalTensor<T>& gm, uint32_t rows,
           uint32_t columns, uint64_t gmPitch, uint32_t ubPitch, P pad TW_PLACE) {
  copyGmToUb(ub, gm, rows, columns, gmPitch, ubPitch, pad, 0 TW_HERE);
}

template <class T>
__aicore__ inline void copyUbToGm(const AscendC::GlobalTensor<T>& gm,
                                  const AscendC::LocalTensor<T>& ub, uint32_t rows,
                                  uint32_t columns, uint32_t ubPitch, uint64_t gmPitch TW_PLACE) {
  const uint32_t bytes = columns * sizeof(T), taken = roundUp(bytes, blockBytes);
  const uint32_t gap = rows > 1 ? (ubPitch * sizeof(T) - taken) / blockBytes : 0;
  const uint64_t gmGap = (gmPitch - columns) * sizeof(T);
  const uint32_t most = rowsAtOnce(gmGap);
  for (uint32_t row = 0; row < rows; row += most) {
    const uint32_t count = rows - row < most ? rows - row : most;
    const AscendC::DataCopyExtParams shape(static_cast<uint16_t>(count), bytes, gap,
                                           static_cast<uint32_t>(gmGap), 0);
    AscendC::DataCopyPad(gm[row * gmPitch], ub[row * ubPitch], shape TW_HERE);
  }
}

/// How the DMA adds a type: 32 bits without a sign as those with one, which have the same sums.
template <class T> struct AddedAs {
  using Type = T;
};
template <> struct AddedAs<uint32_t> {
  using Type = int32_t;
};

/// Adds to what the tensor holds, atomically.
template <class T>
__aicore__ inline void addUbToGm(const AscendC::GlobalTensor<T>& gm,
                                 const AscendC::LocalTensor<T>& ub, uint32_t rows, uint32_t columns,
                                 uint32_t ubPitch, uint64_t gmPitch TW_PLACE) {
  AscendC::SetAtomicAdd<typename AddedAs<T>::Type>();
  copyUbToGm(gm, ub, rows, columns, ubPitch, gmPitch TW_HERE);
  AscendC::SetAtomicNone();
}

/// `rows` rows of `bytes`, a multiple of 32; pitches in bytes.
template <class T>
__aicore__ inline void copyUbToUb(const AscendC::LocalTensor<T>& dst,
                                  const AscendC::LocalTensor<T>& src, uint32_t rows, uint32_t bytes,
                                  uint32_t srcPitch, uint32_t dstPitch TW_PLACE) {
  for (uint32_t row = 0; row < rows; row += mostRows) {
    const uint32_t count = rows - row < mostRows ? rows - row : mostRows;
    const AscendC::DataCopyParams shape(static_cast<uint16_t>(count),
                                        static_cast<uint16_t>(bytes / blockBytes),
                                        static_cast<uint16_t>((srcPitch - bytes) / blockBytes),
                                        static_cast<uint16_t>((dstPitch - bytes) / blockBytes));
    AscendC::DataCopy(dst[row * (dstPitch / sizeof(T))], src[row * (srcPitch / sizeof(T))],
                      shape TW_HERE);
  }
}

} // namespace tilewright

#endif
