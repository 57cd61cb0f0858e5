// SPDX-License-Identifier: Apache-2.0
// The cube core's part of a Matmul: one tile of C after the other, without double buffering.
#ifndef TILEWRIGHT_ASCENDC_LIB_MATMUL_TILES_H
#define TILEWRIGHT_ASCENDC_LIB_MATMUL_TILES_H

#include "../kernel_operator.h"

#include "../ascendc/letters_begin.h"

enum class CubeFormat : uint8_t { ND, NZ, ZN, ZZ, NN, VECTOR, ND_ALIGN };

namespace matmul {

using AscendC::GlobalTensor;
using AscendC::LocalTensor;
using AscendC::TPosition;
using AscendC::TwPlace;
namespace twHost = tilewright::ascend;

/// A matrix where the cube core finds it or leaves it.
struct MatmulOperand {
  uint64_t address = 0; ///< in GM, or a byte of L1
  bool isInL1 = false;
  CubeFormat format = CubeFormat::ND;
  int32_t pitch = 0; ///< elements from one row to the next; NZ: rows of a column of fractals
  bool isTransposed = false;
  bool isTile = false; ///< of C: it has room for one tile only
};

/// What a vector core asks of its cube core.
struct MatmulRequest {
  MatmulOperand a, b, c;
  uint64_t bias = 0; ///< in GM, of the sums' type; 0: none
  bool addsToC = false, hf32 = false, hf32TiesToZero = false;
  uint64_t scale = 0, scales = 0; ///< of quantisation: one, or as many as columns in GM
  int32_t m = 0, n = 0, k = 0;    ///< what is computed
  int32_t baseM = 0, baseN = 0, baseK = 0;
  bool alongMFirst = true; ///< the order of the tiles
  int32_t tile = -1;       ///< number of the tile; -1: all
  int32_t object = 0;

  int32_t tilesAlongM() const {
    return (m + baseM - 1) / baseM;
  }
  int32_t tilesAlongN() const {
    return (n + baseN - 1) / baseN;
  }
};

constexpr uint32_t ceilDiv(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}
constexpr uint32_t roundUp(uint32_t a, uint32_t b) {
  return ceilDiv(a, b) * b;
}

template <class A, class B, class C> class MatmulTiles {
  using Sum = std::conditional_t<std::is_integral_v<A>, int32_t, float>;
  static constexpr uint32_t k0 = 32 / sizeof(A); ///< elements of a row of a fractal
  static constexpr uint32_t fractal = 16 * k0;   ///< elements of a fractal
  /// What LoadDataWithTranspose takes at once: 32 x 32 bytes, or 16 x 16 words in two fractals side by side.
  static constexpr bool isByte = sizeof(A) == 1, isWord = sizeof(A) == 4;

public:
  MatmulTiles(const MatmulRequest& request, TwPlace place) : q(request), place(place) {
    // Operands of the user in L1 come first, then the tiles of this object.
    uint32_t used = 0;
    for (const MatmulOperand* o : {&q.a, &q.b})
      if (o->isInL1)
        used = std::max(used, static_cast<uint32_t>(o->address) + l1BytesOf(*o));
    l1A = roundUp(used, 512);
    l1B = l1A + (q.a.isInL1 ? 0 : tileBytes(q.baseM));
    l1Rest = l1B + (q.b.isInL1 ? 0 : tileBytes(q.baseN));
  }

  void run() {
    int32_t rows = q.tilesAlongM(), columns = q.tilesAlongN();
    for (int32_t t = 0; t < rows * columns; ++t)
      if (q.tile < 0 || q.tile == t)
        runTile((q.alongMFirst ? t % rows : t / columns) * q.baseM,
                (q.alongMFirst ? t / rows : t % columns) * q.baseN);
  }

private:
  /// Where fractals of a part of a matrix are in L1: the first one, and the number from one column of
  /// fractals to the next.
  template <class T> struct Fractals {
    LocalTensor<T> l1;
    uint32_t first, pitch;
  };
  static constexpr uint32_t l0Bytes = 64 * 1024;

  uint32_t tileBytes(int32_t side) const {
    return roundUp(side, 32) * roundUp(q.baseK, 32) * sizeof(A);
  }
  uint32_t l1BytesOf(const MatmulOperand& o) const {
    bool isA = &o == &q.a;
    uint32_t across = o.isTransposed == isA ? (isA ? q.m : q.n) : q.k;
    return static_cast<uint32_t>(o.pitch) * roundUp(across, k0) * sizeof(A);
  }
  template <class T> static GlobalTensor<T> global(uint64_t address, uint64_t element = 0) {
    GlobalTensor<T> t;
    t.SetGlobalBuffer(reinterpret_cast<T*>(address) + element);
    return t;
  }
  void barrier() const {
    twHost::issueBarrierAll(place);
  }

  void runTile(int32_t mAt, int32_t nAt) {
    auto m = static_cast<uint32_t>(std::min(q.baseM, q.m - mAt));
    auto n = static_cast<uint32_t>(std::min(q.baseN, q.n - nAt));
    // Columns that only fill squares of 32 are multiplied, too, and not stored.
    uint32_t columns = isByte && !q.b.isTransposed ? roundUp(n, 32) : n;
    LocalTensor<Sum> sum(TPosition::CO1, 0, roundUp(m, 16) * roundUp(columns, 16));
    LocalTensor<Sum> bias(TPosition::C2, 0, roundUp(columns, 16));
    LocalTensor<A> a(TPosition::A2, 0, l0Bytes / sizeof(A));
    LocalTensor<B> b(TPosition::B2, 0, l0Bytes / sizeof(B));
    if (q.bias)
      loadBias(nAt, n, columns, bias);
    for (int32_t kAt = 0; kAt < q.k; kAt += q.baseK) {
      auto k = static_cast<uint32_t>(std::min(q.baseK, q.k - kAt));
      loadA(mAt, kAt, m, k, a);
      loadB(nAt, kAt, n, k, b);
      barrier();
      AscendC::MmadParams p(static_cast<uint16_t>(m), static_cast<uint16_t>(columns),
                            static_cast<uint16_t>(k), 0, false, kAt == 0);
      p.disableGemv = true;
      p.kDirectionAlign = isWord && q.a.isTransposed;
      AscendC::SetHF32Mode(q.hf32);
      AscendC::SetHF32TransMode(q.hf32TiesToZero);
      if (kAt == 0 && q.bias)
        AscendC::Mmad(sum, a, b, bias, p, place);
      else
        AscendC::Mmad(sum, a, b, p, place);
      AscendC::SetHF32Mode(false);
      barrier();
    }
    store(mAt, nAt, m, n, sum);
    barrier();
  }

  /// Rows [row, row + rows) and columns [column, ...) of a matrix, as it is stored, to fractals in L1.
  /// `bySquares`: fractals of 16 rows lie side by side, not below each other.
  template <class T>
  Fractals<T> toL1(const MatmulOperand& o, uint32_t row, uint32_t column, uint32_t rows,
                   uint32_t columns, uint32_t l1Byte, uint32_t bytes, bool bySquares) const {
    if (o.isInL1) {
      uint32_t pitch = static_cast<uint32_t>(o.pitch) / 16;
      bool turnsBytes = isByte && (&o == &q.a) == o.isTransposed;
      if (bySquares || (turnsBytes && pitch % 2))
        twHost::failKernel("unsupported: Matmul transposes words, or an odd number of fractals of "
                           "bytes, in L1; take the matrix from GM",
                           place);
      LocalTensor<T> l1(TPosition::A1, static_cast<uint32_t>(o.address),
                        static_cast<uint32_t>(o.pitch) * roundUp(column + columns, k0));
      return {l1, column / k0 * pitch + row / 16, pitch};
    }
    LocalTensor<T> l1(TPosition::A1, l1Byte, bytes / sizeof(T));
    uint32_t pitch = bySquares ? 1 : roundUp(rows, isByte ? 32 : 16) / 16;
    uint32_t step = bySquares ? 16 : roundUp(rows, 16); // rows of one copy
    for (uint32_t r = 0; r < rows; r += step) {
      uint32_t to = r / 16 * roundUp(columns, 16) * 16;
      if (o.format == CubeFormat::NZ)
        copyFractals(l1[to], o, row + r, column, std::min(step, roundUp(rows - r, 16)),
                     ceilDiv(columns, k0), pitch);
      else
        copyRows(l1[to], o, row + r, column, std::min(step, rows - r), columns, pitch);
    }
    barrier();
    return {l1, 0, pitch};
  }
  /// From rows in GM, which go one by one where they lie further apart than an instruction can say.
  template <class T>
  void copyRows(const LocalTensor<T>& l1, const MatmulOperand& o, uint32_t row, uint32_t column,
                uint32_t rows, uint32_t columns, uint32_t pitch) const {
    constexpr int32_t farthest = 65535;
    const uint32_t count = o.pitch > farthest ? 1 : rows;
    for (uint32_t r = 0; r < rows; r += count)
      AscendC::DataCopy(l1[r * k0], global<T>(o.address, uint64_t{row + r} * o.pitch + column),
                        AscendC::Nd2NzParams(1, static_cast<uint16_t>(count),
                                             static_cast<uint16_t>(columns), 0,
                                             static_cast<uint32_t>(o.pitch),
                                             static_cast<uint16_t>(pitch * 16), 1, 0),
                        place);
  }
  /// From fractals in GM; `rows` is a multiple of 16.
  template <class T>
  void copyFractals(const LocalTensor<T>& l1, const MatmulOperand& o, uint32_t row, uint32_t column,
                    uint32_t rows, uint32_t columnsOfFractals, uint32_t pitch) const {
    uint64_t at = uint64_t{column / k0} * o.pitch * k0 + uint64_t{row} * k0;
    AscendC::DataCopy(l1, global<T>(o.address, at),
                      AscendC::DataCopyParams(
                          static_cast<uint16_t>(columnsOfFractals), static_cast<uint16_t>(rows),
                          static_cast<uint16_t>(static_cast<uint32_t>(o.pitch) - rows),
                          static_cast<uint16_t>(pitch * 16 - rows)),
                      place);
  }

  void load(const LocalTensor<A>& to, const Fractals<A>& f, uint32_t first, uint32_t count,
            uint32_t step, bool isTransposed) const {
    AscendC::LoadData(to, f.l1,
                      AscendC::LoadData2DParams(static_cast<uint16_t>(f.first + first),
                                                static_cast<uint8_t>(count),
                                                static_cast<uint16_t>(step), 0, 0, isTransposed, 0),
                      place);
  }
  /// `count` squares; `gap` and `inner`: fractals from one to the next, and of the two of a square.
  void loadSquares(const LocalTensor<A>& to, const Fractals<A>& f, uint32_t first, uint32_t count,
                   uint32_t step, uint32_t gap, uint32_t inner) const {
    AscendC::LoadDataWithTranspose(
        to, f.l1,
        AscendC::LoadData2dTransposeParams(static_cast<uint16_t>(f.first / 2 + first),
                                           static_cast<uint8_t>(count), static_cast<uint16_t>(step),
                                           static_cast<uint16_t>(gap - 1),
                                           static_cast<uint16_t>(inner - 1)),
        place);
  }

  /// L0A has rows of fractals.
  void loadA(uint32_t mAt, uint32_t kAt, uint32_t m, uint32_t k, const LocalTensor<A>& a) const {
    uint32_t m1 = ceilDiv(m, 16), k1 = ceilDiv(k, k0), bytes = tileBytes(q.baseM);
    if (!q.a.isTransposed) {
      auto f = toL1<A>(q.a, mAt, kAt, m, k, l1A, bytes, false);
      for (uint32_t i = 0; i < m1; ++i)
        load(a[i * k1 * fractal], f, i, k1, f.pitch, false);
      return;
    }
    auto f = toL1<A>(q.a, kAt, mAt, k, m, l1A, bytes, isWord);
    if (isByte)
      for (uint32_t i = 0; i < ceilDiv(m, 32); ++i)
        loadSquares(a[2 * i * k1 * fractal], f, i * f.pitch / 2, k1, 1, 1, k1);
    else if (isWord)
      for (uint32_t i = 0; i < m1; ++i)
        loadSquares(a[i * 2 * ceilDiv(k, 16) * fractal], f, i, ceilDiv(k, 16), m1, 2, 1);
    else
      for (uint32_t i = 0; i < m1; ++i)
        load(a[i * k1 * fractal], f, i * f.pitch, k1, 1, true);
  }

  /// L0B has rows of fractals, too, whose elements lie column after column.
  void loadB(uint32_t nAt, uint32_t kAt, uint32_t n, uint32_t k, const LocalTensor<B>& b) const {
    uint32_t n1 = ceilDiv(n, 16), k1 = ceilDiv(k, k0), bytes = tileBytes(q.baseN);
    if (q.b.isTransposed) {
      auto f = toL1<B>(q.b, nAt, kAt, n, k, l1B, bytes, false);
      for (uint32_t i = 0; i < k1; ++i)
        load(b[i * n1 * fractal], f, i * f.pitch, n1, 1, false);
      return;
    }
    auto f = toL1<B>(q.b, kAt, nAt, k, n, l1B, bytes, isWord);
    if (isByte)
      for (uint32_t i = 0; i < k1; ++i)
        loadSquares(b[i * 2 * ceilDiv(n, 32) * fractal], f, i, ceilDiv(n, 32), f.pitch / 2, 2, 1);
    else if (isWord)
      for (uint32_t i = 0; i < ceilDiv(k, 16); ++i)
        loadSquares(b[2 * i * n1 * fractal], f, i * n1, n1, 1, 1, n1);
    else
      for (uint32_t i = 0; i < k1; ++i)
        load(b[i * n1 * fractal], f, i, n1, f.pitch, true);
  }

  /// `bytes` of GM to the rest of L1, with zeros up to `padded` bytes.
  template <class T>
  LocalTensor<T> rowToL1(uint64_t address, uint32_t bytes, uint32_t padded) const {
    LocalTensor<T> l1(TPosition::A1, l1Rest, padded / sizeof(T));
    AscendC::TwCopyInstr copy;
    copy.pipe = AscendC::TwPipe::MTE2;
    copy.dst = l1.operand();
    copy.src = global<T>(address).operand();
    copy.length = bytes;
    copy.padRight = static_cast<uint16_t>(padded - bytes);
    twHost::issueCopy(copy, place);
    barrier();
    return l1;
  }
  void loadBias(uint32_t nAt, uint32_t n, uint32_t columns, const LocalTensor<Sum>& bias) const {
    constexpr uint32_t unit = 64;
    uint32_t padded = roundUp(columns * sizeof(Sum), unit);
    auto l1 = rowToL1<Sum>(q.bias + uint64_t{nAt} * sizeof(Sum),
                           static_cast<uint32_t>(n * sizeof(Sum)), padded);
    AscendC::DataCopy(
        bias, l1, AscendC::DataCopyParams(1, static_cast<uint16_t>(padded / unit), 0, 0), place);
  }

  QuantMode_t quantMode() const {
    if (std::is_same_v<C, Sum>)
      return NoQuant;
    if (std::is_same_v<Sum, float> && std::is_same_v<C, half>)
      return F322F16;
    if (std::is_same_v<Sum, float> && std::is_same_v<C, bfloat16_t>)
      return F322BF16;
    if (!q.scale && !q.scales)
      twHost::failKernel(
          "Matmul: the type of C needs a scale; call SetQuantScalar or SetQuantVector", place);
    bool perColumn = q.scales != 0;
    if (std::is_same_v<C, half>)
      return perColumn ? VDEQF16 : DEQF16;
    if (std::is_same_v<Sum, float>)
      return perColumn ? VQF322B8_PRE : QF322B8_PRE;
    return perColumn ? VREQ8 : REQ8;
  }

  void store(uint32_t mAt, uint32_t nAt, uint32_t m, uint32_t n,
             const LocalTensor<Sum>& sum) const {
    bool isNz = q.c.format == CubeFormat::NZ;
    constexpr uint32_t n0 = sizeof(C) == 1 ? 32 : 16; // columns of a fractal of C
    auto pitch = static_cast<uint32_t>(q.c.pitch);
    AscendC::FixpipeParamsV220 p(
        static_cast<uint16_t>(n), static_cast<uint16_t>(m), static_cast<uint16_t>(roundUp(m, 16)),
        isNz ? pitch * n0 * static_cast<uint32_t>(sizeof(C)) / 32 : pitch, false);
    p.quantPre = quantMode();
    p.deqScalar = q.scale;
    uint64_t at = q.c.isTile ? 0
                  : isNz     ? uint64_t{nAt / n0} * pitch * n0 + uint64_t{mAt} * n0
                             : uint64_t{mAt} * pitch + nAt;
    LocalTensor<uint64_t> scales(TPosition::C2PIPE2GM, 0, roundUp(n, 16));
    if (q.scales) {
      constexpr uint32_t unit = 128;
      uint32_t padded = roundUp(n * sizeof(uint64_t), unit);
      auto l1 = rowToL1<uint64_t>(q.scales + uint64_t{nAt} * sizeof(uint64_t),
                                  static_cast<uint32_t>(n * sizeof(uint64_t)), padded);
      AscendC::DataCopy(scales, l1,
                        AscendC::DataCopyParams(1, static_cast<uint16_t>(padded / unit), 0, 0),
                        place);
      barrier();
    }
    if (q.addsToC)
      AscendC::SetAtomicAdd<C>();
    auto c = global<C>(q.c.address, at);
    if (isNz)
      AscendC::Fixpipe<C, Sum, AscendC::CFG_NZ>(c, sum, scales, p, place);
    else
      AscendC::Fixpipe<C, Sum>(c, sum, scales, p, place);
    if (q.addsToC)
      AscendC::SetAtomicNone();
  }

  const MatmulRequest& q;
  const TwPlace place;
  uint32_t l1A = 0, l1B = 0, l1Rest = 0; ///< bytes of L1 where tiles go
};

} // namespace matmul

#include "../ascendc/letters_end.h"

#endif
