// SPDX-License-Identifier: Apache-2.0
/// The host's side of SoftMax: its tiling, and how much temporary memory a kernel sets aside. Here SoftMax
/// needs none; the sizes hold float copies of rows, each with a block for its sum and one for its maximum.
#ifndef TILEWRIGHT_TILING_SOFTMAX_TILING_H
#define TILEWRIGHT_TILING_SOFTMAX_TILING_H

#include "ascendc/tiling_structures.h"
#include "graph/tensor.h"
#include "register/tilingdata_base.h"

#include <algorithm>
#include <cstdio>

#include "ascendc/letters_begin.h"

namespace optiling {

/// The structure as host code fills and saves it.
struct SoftMaxTiling : ::SoftMaxTiling {
  size_t GetDataSize() const {
    return sizeof(::SoftMaxTiling);
  }
  void SaveToBuffer(void* buffer, size_t capacity) const {
    saveTilingData("SoftMaxTiling", this, sizeof(::SoftMaxTiling), buffer, capacity);
  }
};

} // namespace optiling

namespace AscendC {

namespace tiling {
using ::SoftMaxTiling;
} // namespace tiling

/// A shape as rows of its last dimension.
struct SoftMaxRows {
  static constexpr uint32_t blockFloats = 8;
  uint32_t rows = 0, columns = 0;

  explicit SoftMaxRows(const ge::Shape& shape) {
    if (shape.GetShapeSize() <= 0)
      return;
    columns = static_cast<uint32_t>(shape.GetDim(shape.GetDimNum() - 1));
    rows = static_cast<uint32_t>(shape.GetShapeSize() / columns);
  }
  uint32_t bytesOf(uint32_t count) const {
    return count * (columns + 2 * blockFloats) * static_cast<uint32_t>(sizeof(float));
  }
};
/// For all rows at once.
inline uint32_t GetSoftMaxMaxTmpSize(const ge::Shape& srcShape, uint32_t, bool) {
  SoftMaxRows matrix(srcShape);
  return matrix.bytesOf(matrix.rows);
}
/// For a row at a time.
inline uint32_t GetSoftMaxMinTmpSize(const ge::Shape& srcShape, uint32_t, bool) {
  SoftMaxRows matrix(srcShape);
  return matrix.bytesOf(matrix.rows ? 1 : 0);
}
inline void GetSoftMaxMaxMinTmpSize(const ge::Shape& srcShape, uint32_t typeSize,
                                    bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {
  maxValue = GetSoftMaxMaxTmpSize(srcShape, typeSize, isReuseSource);
  minValue = GetSoftMaxMinTmpSize(srcShape, typeSize, isReuseSource);
}

/// `workBytes` of temporary memory say how many rows are taken at a time. `typeSize` is that of sums and
/// maxima. Says so, and leaves the tiling as it is, if the memory holds no row.
inline void SoftMaxTilingFunc(const ge::Shape& srcShape, uint32_t typeSize, uint32_t workBytes,
                              ::SoftMaxTiling& tiling) {
  SoftMaxRows matrix(srcShape);
  uint32_t rowBytes = matrix.bytesOf(1);
  if (matrix.rows == 0 || workBytes < rowBytes || typeSize == 0) {
    std::fprintf(stderr,
                 "error: SoftMaxTilingFunc of %u rows, %u bytes an element: %u bytes of temporary "
                 "memory, but a row takes %u\n",
                 matrix.rows, typeSize, workBytes, rowBytes);
    return;
  }
  tiling.srcM = matrix.rows;
  tiling.srcK = matrix.columns;
  tiling.srcSize = matrix.rows * matrix.columns;
  tiling.outMaxM = matrix.rows;
  tiling.outMaxK = SoftMaxRows::blockFloats * static_cast<uint32_t>(sizeof(float)) / typeSize;
  tiling.outMaxSize = tiling.outMaxM * tiling.outMaxK;
  tiling.splitM = tiling.reduceM = std::min(matrix.rows, workBytes / rowBytes);
  tiling.splitK = matrix.columns;
  tiling.splitSize = tiling.splitM * tiling.splitK;
  tiling.reduceK = SoftMaxRows::blockFloats;
  tiling.reduceSize = tiling.reduceM * tiling.reduceK;
  tiling.rangeM = matrix.rows / tiling.splitM;
  tiling.tailM = matrix.rows % tiling.splitM;
  tiling.tailSplitSize = tiling.tailM * tiling.splitK;
  tiling.tailReduceSize = tiling.tailM * tiling.reduceK;
}

} // namespace AscendC

#include "ascendc/letters_end.h"

#endif
