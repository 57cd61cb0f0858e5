// SPDX-License-Identifier: Apache-2.0
// Single vector instructions with their strides, for kernels that name them (T.tile's raw wrappers).
#ifndef TILEWRIGHT_ASCEND_RAW_H
#define TILEWRIGHT_ASCEND_RAW_H

#include "kernel_operator.h"

namespace tilewright {

/// Each of 8 elements per repeat fills a block; strides count blocks.
template <class T>
__aicore__ inline void spreadToBlocks(const AscendC::LocalTensor<T>& dst,
                                      const AscendC::LocalTensor<T>& src, uint32_t repeats,
                                      uint32_t blockStride, uint32_t repeatStride TW_PLACE) {
  AscendC::Brcb(dst, src, static_cast<uint8_t>(repeats),
                AscendC::BrcbRepeatParams(static_cast<uint16_t>(blockStride),
                                          static_cast<uint16_t>(repeatStride)) TW_HERE);
}

/// The elements of each repeat whose bit is set.
template <uint64_t low, uint64_t high, class T, class V>
__aicore__ inline void fillRepeats(const AscendC::LocalTensor<T>& dst, V value, uint32_t repeats,
                                   uint32_t blockStride, uint32_t repeatStride TW_PLACE) {
  uint64_t mask[2] = {low, high};
  AscendC::Duplicate(dst, static_cast<T>(value), mask, static_cast<uint8_t>(repeats),
                     static_cast<uint16_t>(blockStride),
                     static_cast<uint8_t>(repeatStride) TW_HERE);
}

template <AscendC::ReduceOrder order, class T>
__aicore__ inline void
wholeReduceMax(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, int32_t mask,
               int32_t repeats, int32_t dstRepeat, int32_t srcBlock, int32_t srcRepeat TW_PLACE) {
  AscendC::WholeReduceMax(dst, src, mask, repeats, dstRepeat, srcBlock, srcRepeat, order TW_HERE);
}
template <AscendC::ReduceOrder order, class T>
__aicore__ inline void
wholeReduceMin(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, int32_t mask,
               int32_t repeats, int32_t dstRepeat, int32_t srcBlock, int32_t srcRepeat TW_PLACE) {
  AscendC::WholeReduceMin(dst, src, mask, repeats, dstRepeat, srcBlock, srcRepeat, order TW_HERE);
}

enum class Expand { Mul, Sub, Div };

/// dst = a (op) b, where b has one block per row; pitches count elements.
template <Expand kind, class T>
__aicore__ inline void rowExpand(const AscendC::LocalTensor<T>& dst,
                                 const AscendC::LocalTensor<T>& a, const AscendC::LocalTensor<T>& b,
                                 uint32_t rows, uint32_t columns, uint32_t pitch,
                                 uint32_t aPitch TW_PLACE) {
  constexpr uint32_t lanes = 256 / sizeof(T), blockLanes = 32 / sizeof(T);
  // Strides are at most 255 blocks: longer rows go one by one.
  const uint32_t most = pitch / blockLanes > 255 || aPitch / blockLanes > 255 ? 1 : 255;
  const AscendC::BinaryRepeatParams strides(1, 1, 0, static_cast<uint8_t>(pitch / blockLanes),
                                            static_cast<uint8_t>(aPitch / blockLanes), 1);
  for (uint32_t row = 0; row < rows; row += most)
    for (uint32_t column = 0; column < columns; column += lanes) {
      const auto count = static_cast<uint8_t>(rows - row < most ? rows - row : most);
      const uint64_t width = columns - column < lanes ? columns - column : lanes;
      const auto to = dst[row * pitch + column], left = a[row * aPitch + column];
      const auto right = b[row * blockLanes];
      if constexpr (kind == Expand::Mul)
        AscendC::Mul(to, left, right, width, count, strides TW_HERE);
      else if constexpr (kind == Expand::Sub)
        AscendC::Sub(to, left, right, width, count, strides TW_HERE);
      else
        AscendC::Div(to, left, right, width, count, strides TW_HERE);
    }
}

} // namespace tilewright

#endif
