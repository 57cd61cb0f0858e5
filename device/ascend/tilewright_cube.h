// SPDX-License-Identifier: Apache-2.0
// The cube core: tiles as fractals of 16 rows of 32 bytes, and their products.
// In L1 a tile is columns of fractals (NZ): fractal (i, j) is number j * rows / 16 + i.
// L0A holds (m, k) at m * K + k, L0B holds (k, n) at k * N + n, both counted in fractals.
#ifndef TILEWRIGHT_ASCEND_CUBE_H
#define TILEWRIGHT_ASCEND_CUBE_H

#include "kernel_operator.h"

namespace tilewright {

constexpr uint32_t fractalRows = 16, fractalBytes = 512, rowBytes = 32;

__aicore__ inline uint32_t unitsIn(uint32_t count, uint32_t unit) {
  return (count + unit - 1) / unit;
}

/// Elements from one row of a tensor to the next that an instruction to L1 can count.
constexpr uint64_t mostGmPitch = 65535;

/// [rows, columns] of a tensor to a tile of `l1Rows` rows in L1. Rows that lie further apart than one
/// instruction can say go one by one.
template <class T>
__aicore__ inline void copyGmToL1(const AscendC::LocalTensor<T>& l1,
                                  const AscendC::GlobalTensor<T>& gm, uint32_t rows,
                                  uint32_t columns, uint64_t gmPitch, uint32_t l1Rows TW_PLACE) {
  const bool isFar = gmPitch > mostGmPitch;
  const uint32_t count = isFar ? 1 : rows;
  const auto pitch = static_cast<uint16_t>(isFar ? columns : gmPitch);
  for (uint32_t row = 0; row < rows; row += count)
    AscendC::DataCopy(l1[row * (rowBytes / sizeof(T))], gm[row * gmPitch],
                      AscendC::Nd2NzParams(1, count, columns, 0, pitch, l1Rows, 1, 0) TW_HERE);
}

template <class T>
__aicore__ inline void fillL1(const AscendC::LocalTensor<T>& l1, uint32_t bytes TW_PLACE) {
  const auto words = l1.template ReinterpretCast<half>();
  AscendC::InitConstValue(
      words, AscendC::InitConstValueParams<half>(1, static_cast<uint16_t>(bytes / rowBytes), 0,
                                                 half(0.0f)) TW_HERE);
}

/// `count` fractals from number `first` on, `stride` apart, to one after the other; none is nothing.
template <class T>
__aicore__ inline void loadFractals(const AscendC::LocalTensor<T>& l0,
                                    const AscendC::LocalTensor<T>& l1, uint32_t first,
                                    uint32_t count, uint32_t stride, bool isTransposed TW_PLACE) {
  if (count == 0)
    return;
  AscendC::LoadData(
      l0, l1,
      AscendC::LoadData2DParams(static_cast<uint16_t>(first), static_cast<uint8_t>(count),
                                static_cast<uint16_t>(stride), 0, 0, isTransposed, 0) TW_HERE);
}

/// A rectangle of a tile of floats, each fractal of which is transposed. LoadDataWithTranspose takes two neighbours for a
/// square of 16 floats, but in L1 they lie below each other: the tile is an image of a row of `l1Rows` places.
template <class T>
__aicore__ inline void loadTransposedFloats(const AscendC::LocalTensor<T>& l0,
                                            const AscendC::LocalTensor<T>& l1, uint32_t row,
                                            uint32_t column, uint32_t l1Rows, uint32_t height,
                                            uint32_t width, bool toRowsOfA TW_PLACE) {
  if (height == 0 || width == 0)
    return;
  AscendC::LoadData3DParamsV2<T> window;
  window.l1H = 1;
  window.l1W = static_cast<uint16_t>(l1Rows);
  window.channelSize = static_cast<uint16_t>(width);
  window.mStartPt = static_cast<uint16_t>(row);
  window.mExtension = static_cast<uint16_t>(height);
  window.kExtension = static_cast<uint16_t>(width);
  window.strideW = window.strideH = window.filterW = window.filterH = 1;
  window.dilationFilterW = window.dilationFilterH = 1;
  window.enTranspose = toRowsOfA;
  AscendC::LoadData(l0, l1[column * l1Rows], window TW_HERE);
}

/// The rectangle [height, width] at (row, column) of a tile, as it is. As all of these loads, in the fractals that hold it.
template <class T>
__aicore__ inline void copyL1ToL0A(const AscendC::LocalTensor<T>& l0a,
                                   const AscendC::LocalTensor<T>& l1, uint32_t row, uint32_t column,
                                   uint32_t l1Rows, uint32_t height, uint32_t width TW_PLACE) {
  constexpr uint32_t c0 = rowBytes / sizeof(T), fractal = fractalBytes / sizeof(T);
  const uint32_t stride = l1Rows / fractalRows, kCount = unitsIn(width, c0);
  const uint32_t first = column / c0 * stride + row / fractalRows;
  for (uint32_t m = 0; m < unitsIn(height, fractalRows); ++m)
    loadFractals(l0a[m * kCount * fractal], l1, first + m, kCount, stride, false TW_HERE);
}

/// A tile of [k, m]: each fractal is transposed.
template <class T>
__aicore__ inline void copyL1ToL0ATransposed(const AscendC::LocalTensor<T>& l0a,
                                             const AscendC::LocalTensor<T>& l1, uint32_t row,
                                             uint32_t column, uint32_t l1Rows, uint32_t height,
                                             uint32_t width TW_PLACE) {
  constexpr uint32_t c0 = rowBytes / sizeof(T), fractal = fractalBytes / sizeof(T);
  const uint32_t stride = l1Rows / fractalRows;
  if constexpr (sizeof(T) == 2) {
    const uint32_t kCount = unitsIn(height, fractalRows);
    const uint32_t first = column / c0 * stride + row / fractalRows;
    for (uint32_t m = 0; m < unitsIn(width, c0); ++m)
      loadFractals(l0a[m * kCount * fractal], l1, first + m * stride, kCount, 1, true TW_HERE);
  } else if constexpr (sizeof(T) == 4) {
    loadTransposedFloats(l0a, l1, row, column, l1Rows, unitsIn(height, fractalRows) * fractalRows,
                         unitsIn(width, c0) * c0, true TW_HERE);
  } else {
    // Squares of 32 x 32 bytes: two fractals below each other become two of the next rows of m.
    const uint32_t kCount = unitsIn(height, c0);
    for (uint32_t m = 0; kCount > 0 && m < unitsIn(width, c0); ++m)
      AscendC::LoadDataWithTranspose(
          l0a[2 * m * kCount * fractal], l1,
          AscendC::LoadData2dTransposeParams(
              static_cast<uint16_t>((column / c0 + m) * (stride / 2) + row / c0),
              static_cast<uint8_t>(kCount), 1, 0, static_cast<uint16_t>(kCount - 1)) TW_HERE);
  }
}

/// A tile of [k, n]: each fractal is transposed.
template <class T>
__aicore__ inline void copyL1ToL0B(const AscendC::LocalTensor<T>& l0b,
                                   const AscendC::LocalTensor<T>& l1, uint32_t row, uint32_t column,
                                   uint32_t l1Rows, uint32_t height, uint32_t width TW_PLACE) {
  constexpr uint32_t c0 = rowBytes / sizeof(T), fractal = fractalBytes / sizeof(T);
  const uint32_t stride = l1Rows / fractalRows, nCount = unitsIn(width, c0) * c0 / fractalRows;
  if constexpr (sizeof(T) == 4)
    return loadTransposedFloats(l0b, l1, row, column, l1Rows, unitsIn(height, c0) * c0,
                                unitsIn(width, c0) * c0, false TW_HERE);
  for (uint32_t k = 0; k < unitsIn(height, c0); ++k) {
    if constexpr (sizeof(T) == 2)
      loadFractals(l0b[k * nCount * fractal], l1, column / c0 * stride + row / fractalRows + k,
                   nCount, stride, true TW_HERE);
    else if (nCount > 0)
      AscendC::LoadDataWithTranspose(
          l0b[k * nCount * fractal], l1,
          AscendC::LoadData2dTransposeParams(
              static_cast<uint16_t>(column / c0 * (stride / 2) + row / c0 + k),
              static_cast<uint8_t>(unitsIn(width, c0)), static_cast<uint16_t>(stride / 2), 1, 0)
              TW_HERE);
  }
}

/// A tile of [n, k]: its fractals are as L0B wants them.
template <class T>
__aicore__ inline void copyL1ToL0BTransposed(const AscendC::LocalTensor<T>& l0b,
                                             const AscendC::LocalTensor<T>& l1, uint32_t row,
                                             uint32_t column, uint32_t l1Rows, uint32_t height,
                                             uint32_t width TW_PLACE) {
  constexpr uint32_t c0 = rowBytes / sizeof(T), fractal = fractalBytes / sizeof(T);
  const uint32_t stride = l1Rows / fractalRows, nCount = unitsIn(height, fractalRows);
  const uint32_t first = column / c0 * stride + row / fractalRows;
  for (uint32_t k = 0; k < unitsIn(width, c0); ++k)
    loadFractals(l0b[k * nCount * fractal], l1, first + k * stride, nCount, 1, false TW_HERE);
}

/// c += a * b, or c = a * b where `init` is true. `kInPairs`: an even number of fractals lies in each row of a, as of
/// transposed floats, also where k needs one less. Nothing where there is none of m, n or k.
template <bool kInPairs = false, class C, class T>
__aicore__ inline void multiply(const AscendC::LocalTensor<C>& c, const AscendC::LocalTensor<T>& a,
                                const AscendC::LocalTensor<T>& b, uint32_t m, uint32_t n,
                                uint32_t k, bool init TW_PLACE) {
  if (m == 0 || n == 0 || k == 0)
    return;
  // With one row the unit would read a as a vector, in another order.
  const auto rows = static_cast<uint16_t>(m == 1 ? fractalRows : m);
  AscendC::MmadParams shape(rows, static_cast<uint16_t>(n), static_cast<uint16_t>(k), 0, false,
                            init);
  shape.kDirectionAlign = kInPairs;
  AscendC::Mmad(c, a, b, shape TW_HERE);
}

template <class To, class From> struct Conversion {
  static constexpr QuantMode_t mode = NoQuant;
};
template <> struct Conversion<half, float> {
  static constexpr QuantMode_t mode = F322F16;
};
template <> struct Conversion<bfloat16_t, float> {
  static constexpr QuantMode_t mode = F322BF16;
};
template <> struct Conversion<half, int32_t> {
  static constexpr QuantMode_t mode = DEQF16;
};

/// Of a scale, as the Fixpipe takes it.
__aicore__ inline uint32_t bitsOfScale(float scale) {
  union {
    float value;
    uint32_t bits;
  } factor = {scale};
  return factor.bits;
}

/// [rows, columns] of a tile of `l0cRows` rows to a tensor, converted; int32 to half by `scale`. Rows that lie further apart
/// than 32 bits can say go one by one.
template <bool relu = false, class To, class From>
__aicore__ inline void copyL0cToGm(const AscendC::GlobalTensor<To>& gm,
                                   const AscendC::LocalTensor<From>& l0c, uint32_t rows,
                                   uint32_t columns, uint32_t l0cRows, uint64_t gmPitch,
                                   float scale = 1.0f TW_PLACE) {
  const bool isFar = gmPitch > UINT32_MAX;
  const uint32_t count = isFar ? 1 : rows;
  AscendC::FixpipeParamsV220 shape(static_cast<uint16_t>(columns), static_cast<uint16_t>(count),
                                   static_cast<uint16_t>(l0cRows),
                                   isFar ? columns : static_cast<uint32_t>(gmPitch), relu);
  shape.quantPre = Conversion<To, From>::mode;
  shape.deqScalar = bitsOfScale(scale);
  for (uint32_t row = 0; row < rows; row += count)
    AscendC::Fixpipe<To, From, AscendC::CFG_ROW_MAJOR>(gm[row * gmPitch], l0c[row * fractalRows],
                                                       shape TW_HERE);
}

/// [rows, columns] of a tile of `l0cRows` rows to one of `l1Rows` rows in L1, where they are operands of 16 bits;
/// converted as by copyL0cToGm. Columns come in groups of 16.
template <bool relu = false, class To, class From>
__aicore__ inline void copyL0cToL1(const AscendC::LocalTensor<To>& l1,
                                   const AscendC::LocalTensor<From>& l0c, uint32_t rows,
                                   uint32_t columns, uint32_t l0cRows, uint32_t l1Rows,
                                   float scale = 1.0f TW_PLACE) {
  AscendC::FixpipeParamsV220 shape(
      static_cast<uint16_t>(unitsIn(columns, fractalRows) * fractalRows),
      static_cast<uint16_t>(rows), static_cast<uint16_t>(l0cRows), l1Rows, relu);
  shape.quantPre = Conversion<To, From>::mode;
  shape.deqScalar = bitsOfScale(scale);
  AscendC::Fixpipe<To, From, AscendC::CFG_NZ>(l1, l0c, shape TW_HERE);
}

/// Adds to what the tensor holds, atomically.
template <bool relu = false, class To, class From>
__aicore__ inline void addL0cToGm(const AscendC::GlobalTensor<To>& gm,
                                  const AscendC::LocalTensor<From>& l0c, uint32_t rows,
                                  uint32_t columns, uint32_t l0cRows, uint64_t gmPitch TW_PLACE) {
  AscendC::SetAtomicAdd<To>();
  copyL0cToGm<relu>(gm, l0c, rows, columns, l0cRows, gmPitch, 1.0f TW_HERE);
  AscendC::SetAtomicNone();
}

} // namespace tilewright

#endif
