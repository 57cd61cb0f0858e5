// SPDX-License-Identifier: Apache-2.0
// Transpose with a shape: of one square, or between [N, C, H, W] and [N, H, W, C].
#ifndef TILEWRIGHT_ASCENDC_TRANSPOSES_H
#define TILEWRIGHT_ASCENDC_TRANSPOSES_H

#include "vector.h"

namespace AscendC {

/// Arch 2201 has the first and the last three; the first does nothing.
enum class TransposeType : uint8_t {
  TRANSPOSE_TYPE_NONE,
  TRANSPOSE_NZ2ND_0213,
  TRANSPOSE_NZ2NZ_0213,
  TRANSPOSE_NZ2NZ_012_WITH_N,
  TRANSPOSE_NZ2ND_012_WITH_N,
  TRANSPOSE_NZ2ND_012_WITHOUT_N,
  TRANSPOSE_NZ2NZ_012_WITHOUT_N,
  TRANSPOSE_ND2ND_ONLY,
  TRANSPOSE_ND_UB_GM,
  TRANSPOSE_GRAD_ND_UB_GM,
  TRANSPOSE_ND2ND_B16,
  TRANSPOSE_NCHW2NHWC,
  TRANSPOSE_NHWC2NCHW,
};
struct TransposeParamsExt {
  uint16_t nSize = 0, cSize = 0, hSize = 0, wSize = 0;
  TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
  TransposeParamsExt() = default;
  TransposeParamsExt(uint16_t n, uint16_t c, uint16_t h, uint16_t w, TransposeType type)
      : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type) {}
};

template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
               const LocalTensor<uint8_t>& scratch, const TransposeParamsExt& params,
               TwPlace place = TwPlace::here()) {
  if (params.transposeType == TransposeType::TRANSPOSE_TYPE_NONE)
    return;
  TwVectorInstr i = twVectorOf(TwVectorOp::Transpose, dst, src);
  twUseScratch(i, scratch);
  switch (params.transposeType) {
  case TransposeType::TRANSPOSE_ND2ND_B16:
    break;
  case TransposeType::TRANSPOSE_NCHW2NHWC:
    i.mode = 1;
    break;
  case TransposeType::TRANSPOSE_NHWC2NCHW:
    i.mode = 2;
    break;
  default:
    twHost::failKernel(
        "unsupported: Transpose of this transposeType; there are TRANSPOSE_ND2ND_B16, "
        "TRANSPOSE_NCHW2NHWC and TRANSPOSE_NHWC2NCHW",
        place);
  }
  i.lengths[0] = params.nSize;
  i.lengths[1] = params.cSize;
  i.lengths[2] = params.hSize;
  i.lengths[3] = params.wSize;
  if (i.mode) {
    uint64_t bytes = sizeof(T) * params.nSize * params.cSize * params.hSize * params.wSize;
    if (bytes == 0)
      return;
    i.repeat = static_cast<uint32_t>((bytes + 255) / 256);
  }
  twHost::issueVector(i, place);
}

} // namespace AscendC

#endif
