// SPDX-License-Identifier: Apache-2.0
// Sequences of vector instructions: reductions, broadcasts, functions with scratch memory.
// Tiles are [rows, columns] with `pitch` elements from one row to the next.
#ifndef TILEWRIGHT_ASCEND_VECTOR_H
#define TILEWRIGHT_ASCEND_VECTOR_H

#include "kernel_operator.h"
#include "tilewright_scalar.h"
#include "tilewright_transfer.h"

namespace tilewright {

constexpr uint32_t repeatBytes = 256;
/// Repeats of one instruction.
constexpr uint32_t mostRepeats = 255;

enum class Reduce { Sum, Max, Min };

/// What orders an instruction of the vector unit after those before it.
__aicore__ inline void afterVector() {
  AscendC::PipeBarrier<PIPE_V>();
}

/// dst = a (op) b.
template <Reduce kind, class T, class... Shape>
__aicore__ inline void combine(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& a,
                               const AscendC::LocalTensor<T>& b, Shape... shape) {
  if constexpr (kind == Reduce::Sum)
    AscendC::Add(dst, a, b, shape...);
  else if constexpr (kind == Reduce::Max)
    AscendC::Max(dst, a, b, shape...);
  else
    AscendC::Min(dst, a, b, shape...);
}

/// Whether there is nothing to reduce or to write: of no numbers, results are what a reduction begins with, or stay.
template <Reduce kind, bool clear, class T>
__aicore__ inline bool reducesNothing(const AscendC::LocalTensor<T>& dst, uint32_t numbers,
                                      uint32_t results TW_PLACE) {
  if (clear && numbers == 0 && results > 0) {
    constexpr bool isSum = kind == Reduce::Sum, isMax = kind == Reduce::Max;
    const float first = isSum ? 0.0f : isMax ? -positiveInfinity() : positiveInfinity();
    afterVector();
    AscendC::Duplicate(dst, static_cast<T>(first), static_cast<int32_t>(results) TW_HERE);
  }
  return numbers == 0 || results == 0;
}

/// One number per repeat of `lanes`; repeats lie `stride` blocks apart.
template <Reduce kind, class T>
__aicore__ inline void reduceRepeats(const AscendC::LocalTensor<T>& dst,
                                     const AscendC::LocalTensor<T>& src, uint32_t lanes,
                                     uint32_t repeats, uint32_t stride TW_PLACE) {
  const auto mask = static_cast<int32_t>(lanes), times = static_cast<int32_t>(repeats);
  const auto step = static_cast<int32_t>(stride);
  if constexpr (kind == Reduce::Sum)
#ifdef TILEWRIGHT_ASCEND
    AscendC::WholeReduceSum(dst, src, mask, times, 1, 1, step,
                            AscendC::ReduceOrder::ORDER_ONLY_VALUE, place);
#else
    AscendC::WholeReduceSum(dst, src, mask, times, 1, 1, step);
#endif
  else if constexpr (kind == Reduce::Max)
    AscendC::WholeReduceMax(dst, src, mask, times, 1, 1, step,
                            AscendC::ReduceOrder::ORDER_ONLY_VALUE TW_HERE);
  else
    AscendC::WholeReduceMin(dst, src, mask, times, 1, 1, step,
                            AscendC::ReduceOrder::ORDER_ONLY_VALUE TW_HERE);
}

/// dst[r] of up to 255 rows. `space` holds 256 bytes per row where a row has more than 256 bytes.
template <Reduce kind, class T>
__aicore__ inline void reduceSomeRows(const AscendC::LocalTensor<T>& dst,
                                      const AscendC::LocalTensor<T>& src,
                                      const AscendC::LocalTensor<T>& space, uint32_t rows,
                                      uint32_t columns, uint32_t pitch TW_PLACE) {
  constexpr uint32_t lanes = repeatBytes / sizeof(T), blockLanes = blockBytes / sizeof(T);
  const auto stride = static_cast<uint8_t>(pitch / blockLanes);
  if (columns <= lanes) {
    reduceRepeats<kind>(dst, src, columns, rows, rows == 1 ? 8 : stride TW_HERE);
    return;
  }
  // Fold all parts of a row into one of 256 bytes. The first instruction copies: max(x, x) is x.
  const uint8_t step = rows == 1 ? 8 : stride;
  AscendC::Max(space, src, src, lanes, static_cast<uint8_t>(rows),
               AscendC::BinaryRepeatParams(1, 1, 1, 8, step, step) TW_HERE);
  for (uint32_t column = lanes; column < columns; column += lanes) {
    const uint32_t width = columns - column < lanes ? columns - column : lanes;
    afterVector();
    combine<kind>(space, space, src[column], width, static_cast<uint8_t>(rows),
                  AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, step) TW_HERE);
  }
  afterVector();
  reduceRepeats<kind>(dst, space, lanes, rows, 8 TW_HERE);
}

/// As above, of up to 255 rows that lie further apart than a stride says: each is folded by itself. The results are written by
/// one instruction, which begins at a block: one for each row would begin where a maximum may not.
template <Reduce kind, class T>
__aicore__ inline void reduceFarRows(const AscendC::LocalTensor<T>& dst,
                                     const AscendC::LocalTensor<T>& src,
                                     const AscendC::LocalTensor<T>& space, uint32_t rows,
                                     uint32_t columns, uint32_t pitch TW_PLACE) {
  constexpr uint32_t lanes = repeatBytes / sizeof(T);
  for (uint32_t column = 0; column < columns; column += lanes) {
    const uint32_t left = columns - column;
    const auto width = static_cast<int32_t>(left < lanes ? left : lanes);
    if (column > 0)
      afterVector();
    for (uint32_t row = 0; row < rows; ++row) {
      const auto part = src[row * pitch + column], folded = space[row * lanes];
      if (column == 0)
        AscendC::Max(folded, part, part, width TW_HERE);
      else
        combine<kind>(folded, folded, part, width TW_HERE);
    }
  }
  afterVector();
  reduceRepeats<kind>(dst, space, columns < lanes ? columns : lanes, rows, 8 TW_HERE);
}

/// dst[r] = the reduction of row r; without `clear` combined with what dst[r] was. Scratch: 256
/// bytes per row where rows have more than 256 bytes or lie more than 255 blocks apart, and a row of results.
template <Reduce kind, bool clear = true, class T>
__aicore__ inline void reduceRows(const AscendC::LocalTensor<T>& dst,
                                  const AscendC::LocalTensor<T>& src,
                                  const AscendC::LocalTensor<uint8_t>& scratch, uint32_t rows,
                                  uint32_t columns, uint32_t pitch TW_PLACE) {
  constexpr uint32_t blockLanes = blockBytes / sizeof(T);
  if (reducesNothing<kind, clear>(dst, columns, rows TW_HERE))
    return;
  const auto space = scratch.template ReinterpretCast<T>();
  const uint32_t resultLanes = clear ? 0 : roundUp(rows, blockLanes);
  const auto result = clear ? dst : space;
  // Parts begin at a block of results.
  constexpr uint32_t part = mostRepeats / blockLanes * blockLanes;
  for (uint32_t row = 0; row < rows; row += part) {
    const uint32_t count = rows - row < part ? rows - row : part;
    if (count > 1 && pitch / blockLanes > mostRepeats)
      reduceFarRows<kind>(result[row], src[row * pitch], space[resultLanes], count, columns,
                          pitch TW_HERE);
    else
      reduceSomeRows<kind>(result[row], src[row * pitch], space[resultLanes], count, columns,
                           pitch TW_HERE);
    if (row + part < rows)
      afterVector();
  }
  if constexpr (!clear) {
    afterVector();
    combine<kind>(dst, dst, result, static_cast<int32_t>(rows) TW_HERE);
  }
}

/// dst[c] = the reduction of column c.
template <Reduce kind, bool clear = true, class T>
__aicore__ inline void reduceColumns(const AscendC::LocalTensor<T>& dst,
                                     const AscendC::LocalTensor<T>& src,
                                     const AscendC::LocalTensor<uint8_t>&, uint32_t rows,
                                     uint32_t columns, uint32_t pitch TW_PLACE) {
  const auto count = static_cast<int32_t>(columns);
  if (reducesNothing<kind, clear>(dst, rows, columns TW_HERE))
    return;
  if constexpr (clear) {
    if (rows == 1)
      AscendC::Max(dst, src, src, count TW_HERE);
    else
      combine<kind>(dst, src, src[pitch], count TW_HERE);
  }
  for (uint32_t row = clear ? 2 : 0; row < rows; ++row) {
    if (row > 0)
      afterVector();
    combine<kind>(dst, dst, src[row * pitch], count TW_HERE);
  }
}

/// A row of which each number is the one that a block of 32 bytes holds.
template <class T>
__aicore__ inline void fillRow(const AscendC::LocalTensor<T>& dst,
                               const AscendC::LocalTensor<T>& block, uint32_t columns TW_PLACE) {
  constexpr uint32_t lanes = repeatBytes / sizeof(T);
  for (uint32_t column = 0; column < columns;) {
    const uint32_t left = (columns - column) / lanes;
    const uint32_t times = left == 0 ? 1 : left < mostRepeats ? left : mostRepeats;
    const uint32_t width = left == 0 ? columns - column : lanes;
    AscendC::Max(dst[column], block, block, width, static_cast<uint8_t>(times),
                 AscendC::BinaryRepeatParams(1, 0, 0, 8, 0, 0) TW_HERE);
    column += width * times;
  }
}

/// Block r of 32 bytes is full of src[r], for those that come. Scratch: 32 bytes per row, rows rounded up to 8.
template <class T>
__aicore__ inline AscendC::LocalTensor<T> blocksOf(const AscendC::LocalTensor<T>& src,
                                                   const AscendC::LocalTensor<uint8_t>& scratch,
                                                   uint32_t rows TW_PLACE) {
  constexpr uint32_t blockLanes = blockBytes / sizeof(T);
  constexpr uint32_t mostSpread = (mostRepeats - 1) * 8; // at which a block of numbers begins
  const auto blocks = scratch.template ReinterpretCast<T>();
  for (uint32_t row = 0; row < rows; row += mostSpread) {
    const uint32_t count = rows - row < mostSpread ? rows - row : mostSpread;
    AscendC::Brcb(blocks[row * blockLanes], src[row], static_cast<uint8_t>((count + 7) / 8),
                  AscendC::BrcbRepeatParams(1, 8) TW_HERE);
  }
  afterVector();
  return blocks;
}

/// Row r becomes src[r]. Scratch as above.
template <class T>
__aicore__ inline void broadcastRows(const AscendC::LocalTensor<T>& dst,
                                     const AscendC::LocalTensor<T>& src,
                                     const AscendC::LocalTensor<uint8_t>& scratch, uint32_t rows,
                                     uint32_t columns, uint32_t pitch TW_PLACE) {
  constexpr uint32_t lanes = repeatBytes / sizeof(T), blockLanes = blockBytes / sizeof(T);
  constexpr uint32_t most = mostRepeats / 8 * 8;
  const auto blocks = blocksOf(src, scratch, rows TW_HERE);
  if (pitch / blockLanes > mostRepeats) { // more than a stride can say
    for (uint32_t row = 0; row < rows; ++row)
      fillRow(dst[row * pitch], blocks[row * blockLanes], columns TW_HERE);
    return;
  }
  for (uint32_t row = 0; row < rows; row += most)
    for (uint32_t column = 0; column < columns; column += lanes) {
      const uint32_t count = rows - row < most ? rows - row : most;
      const uint64_t width = columns - column < lanes ? columns - column : lanes;
      const auto from = blocks[row * blockLanes];
      AscendC::Max(dst[row * pitch + column], from, from, width, static_cast<uint8_t>(count),
                   AscendC::BinaryRepeatParams(1, 0, 0, static_cast<uint8_t>(pitch / blockLanes), 1,
                                               1) TW_HERE);
    }
}

/// Row r of dst becomes row r of src (op) numbers[r]; rows of at most 255 blocks. Scratch as above.
#define TW_BY_ROWS(name, Function)                                                                 \
  template <class T>                                                                               \
  __aicore__ inline void name(                                                                     \
      const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,                      \
      const AscendC::LocalTensor<T>& numbers, const AscendC::LocalTensor<uint8_t>& scratch,        \
      uint32_t rows, uint32_t columns TW_PLACE) {                                                  \
    constexpr uint32_t lanes = repeatBytes / sizeof(T), blockLanes = blockBytes / sizeof(T);       \
    constexpr uint32_t most = mostRepeats / 8 * 8;                                                 \
    const auto blocks = blocksOf(numbers, scratch, rows TW_HERE);                                  \
    const auto stride = static_cast<uint8_t>(columns / blockLanes);                                \
    for (uint32_t row = 0; row < rows; row += most)                                                \
      for (uint32_t column = 0; column < columns; column += lanes) {                               \
        const uint32_t count = rows - row < most ? rows - row : most, at = row * columns + column; \
        const uint64_t width = columns - column < lanes ? columns - column : lanes;                \
        AscendC::Function(dst[at], src[at], blocks[row * blockLanes], width,                       \
                          static_cast<uint8_t>(count),                                             \
                          AscendC::BinaryRepeatParams(1, 1, 0, stride, stride, 1) TW_HERE);        \
      }                                                                                            \
  }
TW_BY_ROWS(addByRows, Add)
TW_BY_ROWS(subByRows, Sub)
TW_BY_ROWS(mulByRows, Mul)
TW_BY_ROWS(divByRows, Div)
TW_BY_ROWS(maxByRows, Max)
TW_BY_ROWS(minByRows, Min)
#undef TW_BY_ROWS

/// Each row becomes src.
template <class T>
__aicore__ inline void broadcastColumns(const AscendC::LocalTensor<T>& dst,
                                        const AscendC::LocalTensor<T>& src,
                                        const AscendC::LocalTensor<uint8_t>&, uint32_t rows,
                                        uint32_t columns, uint32_t pitch TW_PLACE) {
  for (uint32_t row = 0; row < rows; ++row)
    AscendC::Max(dst[row * pitch], src, src, static_cast<int32_t>(columns) TW_HERE);
}

#define TW_WITH_SCRATCH(name, Function)                                                            \
  template <class T>                                                                               \
  __aicore__ inline void name(                                                                     \
      const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,                      \
      const AscendC::LocalTensor<uint8_t>& scratch, uint32_t count TW_PLACE) {                     \
    AscendC::Function(dst, src, scratch, count TW_HERE);                                           \
  }
TW_WITH_SCRATCH(sine, Sin)
TW_WITH_SCRATCH(cosine, Cos)
TW_WITH_SCRATCH(hyperbolicTangent, Tanh)
TW_WITH_SCRATCH(errorFunction, Erf)
TW_WITH_SCRATCH(roundDown, Floor)
TW_WITH_SCRATCH(roundToEven, Round)
#undef TW_WITH_SCRATCH

template <class T>
__aicore__ inline void
power(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& base,
      const AscendC::LocalTensor<T>& exponent, const AscendC::LocalTensor<uint8_t>& scratch,
      uint32_t count TW_PLACE) {
  AscendC::Power(dst, base, exponent, scratch, count TW_HERE);
}
template <class T>
__aicore__ inline void
exclusiveOr(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& a,
            const AscendC::LocalTensor<T>& b, const AscendC::LocalTensor<uint8_t>& scratch,
            uint32_t count TW_PLACE) {
  AscendC::Xor(dst, a, b, scratch, count TW_HERE);
}

/// A tile of [rows, columns] to [columns, rows], both multiples of 16: 16 rows of 32 bytes at once.
template <class T>
__aicore__ inline void transposeTile(const AscendC::LocalTensor<T>& dst,
                                     const AscendC::LocalTensor<T>& src, uint32_t rows,
                                     uint32_t columns TW_PLACE) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "transposes elements of 2 or 4 bytes");
  constexpr uint32_t side = 16, width = blockBytes / sizeof(T);
  // A column becomes a row of 16 elements: one block, or two of 4-byte elements.
  constexpr uint32_t blocks = side / width;
  for (uint32_t row = 0; row < rows; row += side)
    for (uint32_t column = 0; column < columns; column += width) {
      AscendC::LocalTensor<T> from[side], to[side];
      for (uint32_t i = 0; i < side; ++i) {
        from[i] = src[(row + i) * columns + column];
        to[i] = dst[(column + i / blocks) * rows + row + i % blocks * width];
      }
      AscendC::TransDataTo5HD(to, from,
                              AscendC::TransDataTo5HDParams(false, false, 1, 0, 0) TW_HERE);
    }
}

} // namespace tilewright

#endif
