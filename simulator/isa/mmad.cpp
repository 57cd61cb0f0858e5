// SPDX-License-Identifier: Apache-2.0
// Matrix multiply of the cube unit: C += A * B. Floats accumulate in float with one rounding a step
// (fma), along k in order; integers are exact.
#include "simulator/isa/cube.h"
#include "simulator/isa/number_formats.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace tilewright::ascend::isa {

MmadShape mmadShape(const CubeInstr& i) {
  uint32_t k0 = rowElements(i.a.type);
  uint32_t k1 = ceilDiv(i.k, k0);
  if (i.a.type == DType::F32 && i.kDirectionAlign)
    k1 = ceilDiv(i.k, 2 * k0) * 2;
  return {ceilDiv(i.m, fractalSide), ceilDiv(i.n, fractalSide), k1};
}

namespace {

/// HF32 keeps 11 bits of the mantissa, rounded to nearest; ties go to even or to zero.
float toHf32(float x, bool tiesToZero) {
  constexpr uint32_t dropped = 12;
  auto u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7F800000) == 0x7F800000)
    return x;
  u += (1u << (dropped - 1)) - 1 + (tiesToZero ? 0 : u >> dropped & 1);
  return std::bit_cast<float>(u & ~((1u << dropped) - 1));
}

template <class T> struct Loader {
  static void row(const uint8_t* in, float* out, uint32_t n) {
    loadRow(reinterpret_cast<const T*>(in), out, n);
  }
  static constexpr uint32_t perRow = rowBytes / sizeof(T);
};

constexpr uint32_t tileRows = 4;
constexpr uint32_t tileColumns = 16;

/// c[4][16] += a[k][4] * b[k][16]; c has `pitch` floats a row.
void microKernel(const float* a, const float* b, float* c, uint32_t k, uint32_t pitch) {
#ifdef __AVX2__
  __m256 sum[tileRows][2];
  for (uint32_t r = 0; r < tileRows; ++r) {
    sum[r][0] = _mm256_loadu_ps(c + r * pitch);
    sum[r][1] = _mm256_loadu_ps(c + r * pitch + 8);
  }
  for (uint32_t i = 0; i < k; ++i, a += tileRows, b += tileColumns) {
    __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + 8);
    for (uint32_t r = 0; r < tileRows; ++r) {
      __m256 x = _mm256_broadcast_ss(a + r);
      sum[r][0] = _mm256_fmadd_ps(x, b0, sum[r][0]);
      sum[r][1] = _mm256_fmadd_ps(x, b1, sum[r][1]);
    }
  }
  for (uint32_t r = 0; r < tileRows; ++r) {
    _mm256_storeu_ps(c + r * pitch, sum[r][0]);
    _mm256_storeu_ps(c + r * pitch + 8, sum[r][1]);
  }
#else
  for (uint32_t i = 0; i < k; ++i, a += tileRows, b += tileColumns)
    for (uint32_t r = 0; r < tileRows; ++r)
      for (uint32_t j = 0; j < tileColumns; ++j)
        c[r * pitch + j] = std::fma(a[r], b[j], c[r * pitch + j]);
#endif
}

struct Scratch {
  std::vector<float> a, b;
  std::vector<int32_t> ia, ib;
};
Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

/// A as panels of 4 rows: a[(m1 * 4 + r4)][k][4].
template <class T> void packA(const CubeInstr& i, MmadShape s, const uint8_t* in, float* out) {
  constexpr uint32_t k0 = Loader<T>::perRow;
  uint32_t panel = i.k * tileRows;
  float row[k0];
  for (uint32_t m1 = 0; m1 < s.m1; ++m1)
    for (uint32_t r = 0; r < fractalSide; ++r) {
      float* to = out + (m1 * (fractalSide / tileRows) + r / tileRows) * panel + r % tileRows;
      bool inside = m1 * fractalSide + r < i.m;
      for (uint32_t k1 = 0; k1 * k0 < i.k; ++k1) {
        uint32_t n = std::min(k0, i.k - k1 * k0);
        if (!inside)
          std::memset(row, 0, sizeof row);
        else if (i.vectorA)
          Loader<T>::row(in + k1 * rowBytes, row, n);
        else
          Loader<T>::row(in + (m1 * s.k1 + k1) * fractalBytes + r * rowBytes, row, n);
        for (uint32_t k = 0; k < n; ++k)
          to[(k1 * k0 + k) * tileRows] = i.hf32 ? toHf32(row[k], i.hf32TiesToZero) : row[k];
      }
    }
}

/// B as panels of 16 columns: b[n1][k][16].
template <class T> void packB(const CubeInstr& i, MmadShape s, const uint8_t* in, float* out) {
  constexpr uint32_t k0 = Loader<T>::perRow;
  float fractal[fractalSide][k0];
  for (uint32_t n1 = 0; n1 < s.n1; ++n1)
    for (uint32_t k1 = 0; k1 * k0 < i.k; ++k1) {
      const uint8_t* from = in + (k1 * s.n1 + n1) * fractalBytes;
      Loader<T>::row(from, &fractal[0][0], fractalSide * k0);
      uint32_t n = std::min(k0, i.k - k1 * k0);
      float* to = out + (uint64_t{n1} * i.k + k1 * k0) * tileColumns;
      for (uint32_t k = 0; k < n; ++k)
        for (uint32_t c = 0; c < fractalSide; ++c)
          to[k * tileColumns + c] =
              i.hf32 ? toHf32(fractal[c][k], i.hf32TiesToZero) : fractal[c][k];
    }
}

template <class C> void initialise(const CubeInstr& i, MmadShape s, C* c, const Context& context) {
  uint64_t all = uint64_t{s.m1} * s.n1 * fractalSide * fractalSide;
  bool bias = i.fromBias || i.hasBias;
  if (!bias) {
    if (i.initialise)
      std::memset(c, 0, all * sizeof(C));
    return;
  }
  auto* row = reinterpret_cast<const C*>(context.at(i.c));
  for (uint64_t e = 0; e < all; ++e) {
    uint64_t n = e / (uint64_t{s.m1} * fractalSide * fractalSide) * fractalSide + e % fractalSide;
    c[e] = n < i.n ? row[n] : C{};
  }
}

template <class T> void multiplyFloats(const CubeInstr& i, const Context& context) {
  MmadShape s = mmadShape(i);
  Scratch& buffers = scratch();
  buffers.a.resize(uint64_t{s.m1} * fractalSide * i.k);
  buffers.b.resize(uint64_t{s.n1} * fractalSide * i.k);
  packA<T>(i, s, context.at(i.a), buffers.a.data());
  packB<T>(i, s, context.at(i.b), buffers.b.data());
  auto* c = reinterpret_cast<float*>(context.at(i.dst));
  initialise(i, s, c, context);
  constexpr uint32_t panels = fractalSide / tileRows;
  for (uint32_t n1 = 0; n1 < s.n1; ++n1)
    for (uint32_t m4 = 0; m4 < s.m1 * panels; ++m4)
      microKernel(buffers.a.data() + uint64_t{m4} * i.k * tileRows,
                  buffers.b.data() + uint64_t{n1} * i.k * tileColumns,
                  c + (uint64_t{n1} * s.m1 * fractalSide + m4 * tileRows) * fractalSide, i.k,
                  fractalSide);
}

int32_t integerAt(const uint8_t* at, uint32_t element, DType type) {
  if (type == DType::U8)
    return at[element];
  if (type == DType::I8)
    return static_cast<int8_t>(at[element]);
  int nibble = at[element / 2] >> (element % 2 * 4) & 15;
  return nibble >= 8 ? nibble - 16 : nibble;
}

/// B as if it were not sparse: each pair of its elements where the indices put them.
void spreadSparse(const CubeInstr& i, uint32_t n1, const Context& context,
                  std::vector<int32_t>& b) {
  constexpr uint32_t depth = 32; // elements of a row of a fractal
  uint32_t columns = n1 * fractalSide;
  const uint8_t* dense = context.at(i.b);
  context.sparseIndices.resize(64 * 1024 / 4);
  for (uint32_t j = 0; j < i.k / 2; ++j)
    for (uint32_t n = 0; n < columns; ++n) {
      uint64_t at = (uint64_t{j / depth} * n1 + n / fractalSide) * fractalBytes +
                    n % fractalSide * rowBytes + j % depth;
      uint64_t indexAt = i.b.address + at;
      uint32_t index = context.sparseIndices[indexAt / 4] >> (indexAt % 4 * 2) & 3;
      uint32_t k = j / 2 * 4 + j % 2 + std::min(index, 2u);
      b[uint64_t{k} * columns + n] += static_cast<int8_t>(dense[at]);
    }
}

void multiplyIntegers(const CubeInstr& i, const Context& context) {
  MmadShape s = mmadShape(i);
  uint32_t k0 = rowElements(i.a.type);
  Scratch& buffers = scratch();
  uint32_t rows = s.m1 * fractalSide, columns = s.n1 * fractalSide;
  buffers.ia.assign(uint64_t{rows} * i.k, 0);
  buffers.ib.assign(uint64_t{columns} * i.k, 0);
  const uint8_t *a = context.at(i.a), *b = context.at(i.b);
  for (uint32_t m = 0; m < i.m; ++m)
    for (uint32_t k = 0; k < i.k; ++k)
      buffers.ia[uint64_t{m} * i.k + k] = integerAt(
          a + (m / fractalSide * s.k1 + k / k0) * fractalBytes + m % fractalSide * rowBytes, k % k0,
          i.a.type);
  if (i.sparse)
    spreadSparse(i, s.n1, context, buffers.ib);
  for (uint32_t n = 0; n < columns && !i.sparse; ++n)
    for (uint32_t k = 0; k < i.k; ++k)
      buffers.ib[uint64_t{k} * columns + n] = integerAt(
          b + (k / k0 * s.n1 + n / fractalSide) * fractalBytes + n % fractalSide * rowBytes, k % k0,
          i.b.type);
  auto* c = reinterpret_cast<int32_t*>(context.at(i.dst));
  initialise(i, s, c, context);
  for (uint32_t m = 0; m < rows; ++m)
    for (uint32_t n1 = 0; n1 < s.n1; ++n1) {
      int32_t* out = c + (uint64_t{n1} * rows + m) * fractalSide;
      for (uint32_t k = 0; k < i.k; ++k) {
        int32_t x = buffers.ia[uint64_t{m} * i.k + k];
        const int32_t* y = &buffers.ib[uint64_t{k} * columns + n1 * fractalSide];
        for (uint32_t n = 0; n < fractalSide; ++n)
          out[n] =
              static_cast<int32_t>(static_cast<uint32_t>(out[n]) + static_cast<uint32_t>(x * y[n]));
      }
    }
}

} // namespace

void runMmad(const CubeInstr& i, const Context& context) {
  switch (i.a.type) {
  case DType::F16:
    return multiplyFloats<Half>(i, context);
  case DType::BF16:
    return multiplyFloats<Bfloat16>(i, context);
  case DType::F32:
    return multiplyFloats<float>(i, context);
  default:
    return multiplyIntegers(i, context);
  }
}

} // namespace tilewright::ascend::isa
