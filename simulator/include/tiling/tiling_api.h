// SPDX-License-Identifier: Apache-2.0
/// The host's side of tiling: how a Matmul is cut into tiles. The tiles fit the chip's memories; which
/// would be the fastest is not looked for.
#ifndef TILEWRIGHT_TILING_API_H
#define TILEWRIGHT_TILING_API_H

#include "ascendc/tiling_structures.h"
#include "graph/tensor.h"
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/softmax_tiling.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "ascendc/letters_begin.h"

namespace optiling {

/// The structure as host code fills and saves it.
struct TCubeTiling : ::TCubeTiling {
  size_t GetDataSize() const {
    return sizeof(::TCubeTiling);
  }
  void SaveToBuffer(void* buffer, size_t capacity) const {
    std::memcpy(buffer, static_cast<const ::TCubeTiling*>(this),
                std::min(capacity, sizeof(::TCubeTiling)));
  }
#define TW_CUBE_TILING_FIELD(name)                                                                 \
  int32_t get_##name() const {                                                                     \
    return name;                                                                                   \
  }                                                                                                \
  void set_##name(int32_t value) {                                                                 \
    name = value;                                                                                  \
  }
  TW_CUBE_TILING_FIELD(usedCoreNum)
  TW_CUBE_TILING_FIELD(M)
  TW_CUBE_TILING_FIELD(N)
  TW_CUBE_TILING_FIELD(Ka)
  TW_CUBE_TILING_FIELD(Kb)
  TW_CUBE_TILING_FIELD(singleCoreM)
  TW_CUBE_TILING_FIELD(singleCoreN)
  TW_CUBE_TILING_FIELD(singleCoreK)
  TW_CUBE_TILING_FIELD(baseM)
  TW_CUBE_TILING_FIELD(baseN)
  TW_CUBE_TILING_FIELD(baseK)
  TW_CUBE_TILING_FIELD(depthA1)
  TW_CUBE_TILING_FIELD(depthB1)
  TW_CUBE_TILING_FIELD(stepM)
  TW_CUBE_TILING_FIELD(stepN)
  TW_CUBE_TILING_FIELD(stepKa)
  TW_CUBE_TILING_FIELD(stepKb)
  TW_CUBE_TILING_FIELD(isBias)
  TW_CUBE_TILING_FIELD(transLength)
  TW_CUBE_TILING_FIELD(iterateOrder)
  TW_CUBE_TILING_FIELD(shareMode)
  TW_CUBE_TILING_FIELD(shareL1Size)
  TW_CUBE_TILING_FIELD(shareL0CSize)
  TW_CUBE_TILING_FIELD(shareUbSize)
  TW_CUBE_TILING_FIELD(batchM)
  TW_CUBE_TILING_FIELD(batchN)
  TW_CUBE_TILING_FIELD(dbL0A)
  TW_CUBE_TILING_FIELD(dbL0B)
  TW_CUBE_TILING_FIELD(dbL0C)
#undef TW_CUBE_TILING_FIELD
};

} // namespace optiling

namespace matmul_tiling {

enum class TPosition : int32_t { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC };
enum class CubeFormat : int32_t { ND = 0, NZ, ZN, ZZ, NN, VECTOR };
enum class DataType : int32_t {
  DT_FLOAT = 0,
  DT_FLOAT16 = 1,
  DT_INT8 = 2,
  DT_INT32 = 3,
  DT_BFLOAT16 = 27,
  DT_BF16 = 27,
};

/// Which tiles of C follow each other: those of a column, or those of a row.
enum class MatrixTraverse : int32_t { NOSET = 0, FIRSTM = 1, FIRSTN = 2 };

/// The tiling of one core's product; sizes that aren't set are those of the whole.
class MatmulApiTiling {
public:
  MatmulApiTiling() = default;
  explicit MatmulApiTiling(const platform_ascendc::PlatformAscendC& chip) : platform(chip) {}

  int32_t SetAType(TPosition, CubeFormat, DataType type, bool = false) {
    elementBytes = bytesOf(type);
    return 0;
  }
  int32_t SetBType(TPosition, CubeFormat, DataType, bool = false) {
    return 0;
  }
  int32_t SetCType(TPosition, CubeFormat, DataType) {
    return 0;
  }
  int32_t SetBiasType(TPosition, CubeFormat, DataType) {
    return 0;
  }
  int32_t SetShape(int32_t m, int32_t n, int32_t k) {
    singleM = m;
    singleN = n;
    singleK = k;
    return 0;
  }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) {
    return SetOrgShape(m, n, k, k);
  }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) {
    orgM = m;
    orgN = n;
    orgKa = ka;
    orgKb = kb;
    return 0;
  }
  int32_t SetBias(bool isBias = false) {
    EnableBias(isBias);
    return 0;
  }
  int32_t EnableBias(bool isBias = false) {
    bias = isBias;
    return 0;
  }
  int32_t SetFixSplit(int32_t m = -1, int32_t n = -1, int32_t k = -1) {
    fixedM = m;
    fixedN = n;
    fixedK = k;
    return 0;
  }
  int32_t SetTraverse(MatrixTraverse order) {
    traverse = order;
    return 0;
  }
  int32_t SetBufferSpace(int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1) {
    return 0;
  }
  /// 0, or -1 if a size is missing or the fixed tiles don't fit.
  int64_t GetTiling(::TCubeTiling& t) const {
    int32_t m = singleM > 0 ? singleM : orgM, n = singleN > 0 ? singleN : orgN,
            k = singleK > 0 ? singleK : orgKa;
    if (m <= 0 || n <= 0 || k <= 0)
      return -1;
    t.M = orgM > 0 ? orgM : m;
    t.N = orgN > 0 ? orgN : n;
    t.Ka = orgKa > 0 ? orgKa : k;
    t.Kb = orgKb > 0 ? orgKb : k;
    t.singleCoreM = m;
    t.singleCoreN = n;
    t.singleCoreK = k;
    t.baseM = fixedM > 0 ? fixedM : std::min(128, rounded(m));
    t.baseN = fixedN > 0 ? fixedN : std::min(128, rounded(n));
    uint64_t l0a = 0, l0c = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::L0_A, l0a);
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::L0_C, l0c);
    int32_t deepest = static_cast<int32_t>(l0a) / 2 / elementBytes / std::max(t.baseM, t.baseN);
    constexpr int32_t unit = 64;
    t.baseK = fixedK > 0 ? fixedK : std::min(std::max(deepest / unit * unit, unit), rounded(k));
    t.isBias = bias;
    t.iterateOrder = traverse == MatrixTraverse::FIRSTN ? 1 : 0;
    auto bytesOf = [](int32_t rows, int32_t columns, int32_t each) {
      return static_cast<uint64_t>(int64_t{rows} * columns * each);
    };
    constexpr int32_t sumBytes = 4;
    bool fits = bytesOf(t.baseM, t.baseK, elementBytes) <= l0a &&
                bytesOf(t.baseN, t.baseK, elementBytes) <= l0a &&
                bytesOf(t.baseM, t.baseN, sumBytes) <= l0c;
    return fits ? 0 : -1;
  }

protected:
  static int32_t bytesOf(DataType type) {
    return type == DataType::DT_INT8                                  ? 1
           : type == DataType::DT_FLOAT || type == DataType::DT_INT32 ? 4
                                                                      : 2;
  }
  static int32_t rounded(int32_t size) {
    constexpr int32_t side = 16;
    return (size + side - 1) / side * side;
  }

  platform_ascendc::PlatformAscendC platform;
  int32_t elementBytes = 2;
  int32_t orgM = 0, orgN = 0, orgKa = 0, orgKb = 0, singleM = 0, singleN = 0, singleK = 0;
  int32_t fixedM = -1, fixedN = -1, fixedK = -1;
  bool bias = false;
  MatrixTraverse traverse = MatrixTraverse::NOSET;
};

/// The same for several cores, each with rows of C, or with the part that SetSingleShape asks for.
class MultiCoreMatmulTiling : public MatmulApiTiling {
public:
  using MatmulApiTiling::MatmulApiTiling;
  int32_t SetDim(int32_t dim) {
    cores = dim;
    return 0;
  }
  /// What one core computes; -1 leaves it to GetTiling.
  int32_t SetSingleShape(int32_t m = -1, int32_t n = -1, int32_t k = -1) {
    askedM = m;
    askedN = n;
    askedK = k;
    return 0;
  }
  int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim) const {
    int32_t rows = rowsOfCore(), columns = askedN > 0 ? askedN : orgN;
    mDim = rows > 0 ? (orgM + rows - 1) / rows : 0;
    nDim = columns > 0 ? (orgN + columns - 1) / columns : 0;
    dim = mDim * nDim;
    return 0;
  }
  /// -1 also if the parts are more than the cores.
  int64_t GetTiling(::TCubeTiling& t) const {
    int32_t mDim = 0, nDim = 0;
    GetCoreNum(t.usedCoreNum, mDim, nDim);
    if (t.usedCoreNum > cores)
      return -1;
    MultiCoreMatmulTiling part = *this;
    part.SetShape(rowsOfCore(), askedN > 0 ? askedN : singleN, askedK > 0 ? askedK : singleK);
    return part.MatmulApiTiling::GetTiling(t);
  }

private:
  int32_t rowsOfCore() const {
    return askedM > 0 ? askedM : rounded((orgM + cores - 1) / std::max(cores, 1));
  }

  int32_t cores = 1;
  int32_t askedM = -1, askedN = -1, askedK = -1;
};

} // namespace matmul_tiling

#include "ascendc/letters_end.h"

#endif
