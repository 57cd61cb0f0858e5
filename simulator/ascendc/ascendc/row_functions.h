// SPDX-License-Identifier: Apache-2.0
// Advanced functions of the rows of a matrix: SoftMax and its parts, LayerNorm, RmsNorm, TopK, Mean,
// quantisation. Each is one record of the vector pipe with the documented result; the tiling, which
// chooses the way on the chip, changes nothing here. The temporary memory is written.
#ifndef TILEWRIGHT_ASCENDC_ROW_FUNCTIONS_H
#define TILEWRIGHT_ASCENDC_ROW_FUNCTIONS_H

#include "advanced.h"
#include "tiling_structures.h"

namespace AscendC {

using TwRowFunction = tilewright::ascend::RowFunction;

struct SoftMaxShapeInfo {
  uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0;
};
enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };
struct SoftmaxConfig {
  bool isCheckTiling = true;
  uint32_t oriSrcM = 0, oriSrcK = 0;
  SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};

template <class T> uint32_t twListed(const LocalTensor<T>& tensor) {
  return tensor.hasMemory() ? tensor.address + 1 : TwVectorInstr::listWithoutMemory;
}
/// A record for `rows` rows of `columns` elements, `pitch` apart.
template <class D, class S>
TwVectorInstr twRowsOf(TwRowFunction function, const LocalTensor<D>& dst, const LocalTensor<S>& src,
                       uint32_t rows, uint32_t columns, uint32_t pitch) {
  TwVectorInstr i = twVectorOf(TwVectorOp::RowFunction, dst, src);
  i.mode = static_cast<uint8_t>(function);
  i.form = TwVectorForm::Mask;
  i.repeat = rows;
  i.count = columns;
  i.scalar = pitch;
  i.extra.type = TwDTypeOf<S>::value;
  return i;
}

inline void twIssueRows(TwVectorInstr i, const LocalTensor<uint8_t>* scratch, TwPlace place) {
  if (scratch)
    twUseScratch(i, *scratch);
  twHost::issueVector(i, place);
}

// --- softmax --------------------------------------------------------------------------------

/// The matrix: from the call, else from the source tensor's shape, else from the tiling.
template <class D, class T>
TwVectorInstr twSoftmaxOf(TwRowFunction function, const LocalTensor<D>& dst,
                          const LocalTensor<T>& src, const SoftMaxTiling& tiling,
                          const SoftMaxShapeInfo& given, bool isNz, TwPlace place) {
  if (isNz)
    twHost::failKernel("unsupported: SoftMax in NZ format; convert to ND", place);
  uint32_t rows = given.srcM, pitch = given.srcK, columns = given.oriSrcK;
  ShapeInfo shape = src.GetShapeInfo();
  if (rows == 0 && shape.shapeDim >= 2) {
    rows = 1;
    for (uint8_t k = 0; k + 1 < shape.shapeDim; ++k)
      rows *= shape.shape[k];
    pitch = shape.shape[shape.shapeDim - 1];
    columns = shape.originalShape[shape.originalShapeDim - 1];
  }
  if (rows == 0) {
    rows = tiling.srcM;
    pitch = tiling.srcK;
  }
  return twRowsOf(function, dst, src, rows, columns ? columns : pitch, pitch);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,
             const LocalTensor<T>& src, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& shape = {}, TwPlace place = TwPlace::here(),
             const LocalTensor<uint8_t>* scratch = nullptr) {
  TwVectorInstr i =
      twSoftmaxOf(TwRowFunction::Softmax, dst, src, tiling, shape, isDataFormatNZ, place);
  i.lists[0] = twListed(sum);
  i.lists[1] = twListed(max);
  i.extra.type = TwDTypeOf<S>::value;
  twIssueRows(i, scratch, place);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,
             const LocalTensor<T>& src, const LocalTensor<uint8_t>& scratch,
             const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
             TwPlace place = TwPlace::here()) {
  SoftMax<T, isReuseSource, isBasicBlock, isDataFormatNZ, config>(dst, sum, max, src, tiling, shape,
                                                                  place, &scratch);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& shape = {}, TwPlace place = TwPlace::here(),
             const LocalTensor<uint8_t>* scratch = nullptr) {
  twIssueRows(twSoftmaxOf(TwRowFunction::Softmax, dst, src, tiling, shape, false, place), scratch,
              place);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src,
             const LocalTensor<uint8_t>& scratch, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& shape = {}, TwPlace place = TwPlace::here()) {
  SoftMax<T, isReuseSource, isBasicBlock, config>(dst, src, tiling, shape, place, &scratch);
}
/// exp(src - inMax) / inSum, row by row.
template <class T, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S>
void SimpleSoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& inSum,
                   const LocalTensor<S>& inMax, const LocalTensor<T>& src,
                   const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
                   TwPlace place = TwPlace::here(), const LocalTensor<uint8_t>* scratch = nullptr) {
  TwVectorInstr i =
      twSoftmaxOf(TwRowFunction::SoftmaxSimple, dst, src, tiling, shape, isDataFormatNZ, place);
  i.lists[3] = twListed(inSum);
  i.lists[4] = twListed(inMax);
  i.extra.type = TwDTypeOf<S>::value;
  twIssueRows(i, scratch, place);
}
/// exp(src - max) with sums and maxima that go on from those of earlier columns if `isUpdate`.
template <class T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S>
void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& expSum,
                    const LocalTensor<S>& max, const LocalTensor<T>& src,
                    const LocalTensor<T>& expMax, const LocalTensor<S>& inExpSum,
                    const LocalTensor<S>& inMax, const SoftMaxTiling& tiling,
                    const SoftMaxShapeInfo& shape = {}, TwPlace place = TwPlace::here(),
                    const LocalTensor<uint8_t>* scratch = nullptr) {
  TwVectorInstr i =
      twSoftmaxOf(isUpdate ? TwRowFunction::SoftmaxUpdate : TwRowFunction::SoftmaxFlash, dst, src,
                  tiling, shape, isDataFormatNZ, place);
  i.lists[0] = twListed(expSum);
  i.lists[1] = twListed(max);
  if (isUpdate) {
    i.lists[2] = twListed(expMax);
    i.lists[3] = twListed(inExpSum);
    i.lists[4] = twListed(inMax);
  }
  i.extra.type = TwDTypeOf<S>::value;
  twIssueRows(i, scratch, place);
}
template <class T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S>
void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& expSum,
                    const LocalTensor<S>& max, const LocalTensor<T>& src,
                    const LocalTensor<T>& expMax, const LocalTensor<S>& inExpSum,
                    const LocalTensor<S>& inMax, const LocalTensor<uint8_t>& scratch,
                    const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
                    TwPlace place = TwPlace::here()) {
  SoftmaxFlashV2<T, isUpdate, isReuseSource, isBasicBlock, isDataFormatNZ, config>(
      dst, expSum, max, src, expMax, inExpSum, inMax, tiling, shape, place, &scratch);
}

/// Rows whose maximum has the bits `from` (all of them masked out) become `to`. True if one did.
template <class T1, class T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
bool AdjustSoftMaxRes(const LocalTensor<T1>& softMaxRes, const LocalTensor<T2>& maxTensor,
                      const uint32_t from, const T1 to, const SoftMaxShapeInfo& shape,
                      TwPlace place = TwPlace::here()) {
  if (isDataFormatNZ)
    twHost::failKernel("unsupported: AdjustSoftMaxRes in NZ format; convert to ND", place);
  twHost::drainPipe(TwPipe::V);
  bool any = false;
  for (uint32_t row = 0; row < shape.srcM; ++row) {
    T2 max = maxTensor.GetValue(row * (stepSizeMode ? stepSizeMode : 32 / sizeof(T2)), place);
    uint32_t bits = 0;
    std::memcpy(&bits, &max, sizeof max);
    if (bits != from)
      continue;
    any = true;
    for (uint32_t k = 0; k < shape.srcK; ++k)
      softMaxRes.SetValue(row * shape.srcK + k, to, place);
  }
  return any;
}

// --- norms ----------------------------------------------------------------------------------

template <class T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& mean,
               const LocalTensor<T>& variance, const LocalTensor<T>& x, const LocalTensor<T>& gamma,
               const LocalTensor<T>& beta, const TwNotDeducedT<T> epsilon,
               const LayerNormTiling& tiling, TwPlace place = TwPlace::here(),
               const LocalTensor<uint8_t>* scratch = nullptr) {
  TwVectorInstr i = twRowsOf(TwRowFunction::LayerNorm, output, x, tiling.bLength * tiling.sLength,
                             tiling.originalHLength, tiling.hLength);
  i.src1 = gamma.operand();
  i.aux = beta.operand();
  i.lists[0] = twListed(mean);
  i.lists[1] = twListed(variance);
  i.scalarValue = static_cast<float>(epsilon);
  twIssueRows(i, scratch, place);
}
template <class T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& mean,
               const LocalTensor<T>& variance, const LocalTensor<T>& x, const LocalTensor<T>& gamma,
               const LocalTensor<T>& beta, const LocalTensor<uint8_t>& scratch,
               const TwNotDeducedT<T> epsilon, const LayerNormTiling& tiling,
               TwPlace place = TwPlace::here()) {
  LayerNorm<T, isReuseSource>(output, mean, variance, x, gamma, beta, epsilon, tiling, place,
                              &scratch);
}
struct LayerNormPara {
  uint32_t aLength = 0, rLength = 0, rLengthWithPadding = 0;
};
struct LayerNormConfig {
  bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false;
};
constexpr LayerNormConfig LNCFG_NORM = {false, false, false};
/// With float means and 1 / sqrt(variance + epsilon).
template <class U, class T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& mean,
               const LocalTensor<float>& rstd, const LocalTensor<T>& x, const LocalTensor<U>& gamma,
               const LocalTensor<U>& beta, const float epsilon, const LayerNormPara& para,
               const LayerNormSeparateTiling&, TwPlace place = TwPlace::here(),
               const LocalTensor<uint8_t>* scratch = nullptr) {
  if (config.isNoBeta || config.isNoGamma)
    twHost::failKernel("unsupported: LayerNorm without gamma or beta; give ones and zeros", place);
  TwVectorInstr i = twRowsOf(TwRowFunction::LayerNormRstd, output, x, para.aLength, para.rLength,
                             para.rLengthWithPadding ? para.rLengthWithPadding : para.rLength);
  i.src1 = gamma.operand();
  i.aux = beta.operand();
  i.lists[0] = twListed(mean);
  i.lists[1] = twListed(rstd);
  i.extra.type = TwDType::F32;
  i.scalarValue = epsilon;
  twIssueRows(i, scratch, place);
}
template <class U, class T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& mean,
               const LocalTensor<float>& rstd, const LocalTensor<T>& x, const LocalTensor<U>& gamma,
               const LocalTensor<U>& beta, const float epsilon, const LocalTensor<uint8_t>& scratch,
               const LayerNormPara& para, const LayerNormSeparateTiling& tiling,
               TwPlace place = TwPlace::here()) {
  LayerNorm<U, T, isReuseSource, config>(output, mean, rstd, x, gamma, beta, epsilon, para, tiling,
                                         place, &scratch);
}
template <class T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
             const TwNotDeducedT<T> epsilon, const RmsNormTiling& tiling,
             TwPlace place = TwPlace::here(), const LocalTensor<uint8_t>* scratch = nullptr) {
  TwVectorInstr i = twRowsOf(TwRowFunction::RmsNorm, dst, src, tiling.bLength * tiling.sLength,
                             tiling.originalHLength, tiling.hLength);
  i.src1 = gamma.operand();
  i.scalarValue = static_cast<float>(epsilon);
  twIssueRows(i, scratch, place);
}
template <class T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
             const LocalTensor<uint8_t>& scratch, const TwNotDeducedT<T> epsilon,
             const RmsNormTiling& tiling, TwPlace place = TwPlace::here()) {
  RmsNorm<T, isBasicBlock>(dst, src, gamma, epsilon, tiling, place, &scratch);
}

// --- top-k ----------------------------------------------------------------------------------

enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };
struct TopKInfo {
  int32_t outter = 1, inner = 0, n = 0;
};
/// The k largest (or smallest) of each row's first n elements, and their numbers. Rows of the result
/// are rounded up to 32 bytes in the normal mode.
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex,
          const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,
          const LocalTensor<bool>& finish, const int32_t k, const TopkTiling&, const TopKInfo& info,
          const bool isLargest = true, TwPlace place = TwPlace::here(),
          const LocalTensor<uint8_t>* scratch = nullptr) {
  if (k < 1 || k > info.n)
    twHost::failKernel("TopK: k starts at 1 and ends at n", place);
  TwVectorInstr i = twRowsOf(TwRowFunction::TopK, dstValue, src, static_cast<uint32_t>(info.outter),
                             static_cast<uint32_t>(info.n), static_cast<uint32_t>(info.inner));
  constexpr bool isSmall = topkMode == TopKMode::TOPK_NSMALL;
  auto rounded = [&](int32_t unit) {
    return static_cast<uint16_t>(isSmall ? k : (k + unit - 1) / unit * unit);
  };
  i.lengths[0] = static_cast<uint16_t>(k);
  i.lengths[1] = rounded(32 / sizeof(T));
  i.lengths[2] = rounded(32 / sizeof(int32_t));
  i.lists[0] = twListed(dstIndex);
  if (isInitIndex)
    i.lists[1] = twListed(srcIndex);
  if (isHasfinish)
    i.lists[2] = twListed(finish);
  i.flag = isLargest;
  twIssueRows(i, scratch, place);
}
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex,
          const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,
          const LocalTensor<bool>& finish, const LocalTensor<uint8_t>& scratch, const int32_t k,
          const TopkTiling& tiling, const TopKInfo& info, const bool isLargest = true,
          TwPlace place = TwPlace::here()) {
  TopK<T, isInitIndex, isHasfinish, isReuseSrc, topkMode>(
      dstValue, dstIndex, src, srcIndex, finish, k, tiling, info, isLargest, place, &scratch);
}

// --- means ----------------------------------------------------------------------------------

struct MeanParams {
  uint32_t outter = 1, inner = 0, n = 0;
};
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const MeanParams& p,
          TwPlace place = TwPlace::here(), const LocalTensor<uint8_t>* scratch = nullptr) {
  twReduceRows(dst, src, p.outter, p.n, p.inner, ReduceType::SUM, false, place, scratch);
  twHost::issueBarrier(TwPipe::V, place);
  Muls(dst, dst, static_cast<T>(1.0f / static_cast<float>(p.n)), static_cast<int32_t>(p.outter),
       place);
}
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& scratch,
          const MeanParams& p, TwPlace place = TwPlace::here()) {
  Mean<T, accType, isReuseSource, isBasicBlock, reduceDim>(dst, src, p, place, &scratch);
}

// --- padding --------------------------------------------------------------------------------

struct PadParams {
  uint16_t leftPad = 0, rightPad = 0;
  int32_t padValue = 0;
};
struct UnPadParams {
  uint16_t leftPad = 0, rightPad = 0;
};
/// Rows get `leftPad` values in front and `rightPad` behind.
template <class T>
void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const PadParams& p,
         const PadTiling& tiling, TwPlace place = TwPlace::here(),
         const LocalTensor<uint8_t>* scratch = nullptr) {
  TwVectorInstr i =
      twRowsOf(TwRowFunction::Pad, dst, src, tiling.srcHeight, tiling.srcOriWidth, tiling.srcWidth);
  i.lengths[0] = p.leftPad;
  i.lengths[1] = static_cast<uint16_t>(p.leftPad + tiling.srcOriWidth + p.rightPad);
  i.flag = true;
  i.scalarValue = p.padValue;
  twIssueRows(i, scratch, place);
}
template <class T>
void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const PadParams& p,
         const LocalTensor<uint8_t>& scratch, const PadTiling& tiling,
         TwPlace place = TwPlace::here()) {
  Pad(dst, src, p, tiling, place, &scratch);
}
/// Rows without their last `rightPad` values, one behind the other.
template <class T>
void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const UnPadParams& p,
           const UnPadTiling& tiling, TwPlace place = TwPlace::here(),
           const LocalTensor<uint8_t>* scratch = nullptr) {
  TwVectorInstr i = twRowsOf(TwRowFunction::Pad, dst, src, tiling.srcHeight,
                             tiling.srcWidth - p.rightPad, tiling.srcWidth);
  i.lengths[1] = static_cast<uint16_t>(tiling.srcWidth - p.rightPad);
  twIssueRows(i, scratch, place);
}
template <class T>
void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, const UnPadParams& p,
           const LocalTensor<uint8_t>& scratch, const UnPadTiling& tiling,
           TwPlace place = TwPlace::here()) {
  UnPad(dst, src, p, tiling, place, &scratch);
}

// --- quantisation ---------------------------------------------------------------------------

template <class D, class S>
TwVectorInstr twQuantOf(TwRowFunction function, const LocalTensor<D>& dst,
                        const LocalTensor<S>& src, uint32_t rows, uint32_t columns, float scale,
                        float offset) {
  TwVectorInstr i = twRowsOf(function, dst, src, rows, columns, columns);
  i.src1.bytes = i.aux.bytes = 0;
  i.scalarValue = scale;
  i.lists[0] = twHost::bitsOfFloat(offset);
  return i;
}
/// round(src * scale + offset) in half; one scale for all.
template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const float scale,
                 const float offset, const uint32_t count, TwPlace place = TwPlace::here(),
                 const LocalTensor<uint8_t>* scratch = nullptr) {
  twIssueRows(twQuantOf(TwRowFunction::Quantise, dst, src, 1, count, scale, offset), scratch,
              place);
}
template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src,
                 const LocalTensor<uint8_t>& scratch, const float scale, const float offset,
                 const uint32_t count, TwPlace place = TwPlace::here()) {
  AscendQuant<T, isReuseSource>(dst, src, scale, offset, count, place, &scratch);
}
/// A scale and an offset for each of `scaleCount` columns.
template <class T, bool isReuseSource = false>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src,
                 const LocalTensor<uint8_t>& scratch, const LocalTensor<T>& scales,
                 const LocalTensor<T>& offsets, const uint32_t scaleCount, const uint32_t,
                 const uint32_t count, TwPlace place = TwPlace::here()) {
  TwVectorInstr i =
      twQuantOf(TwRowFunction::Quantise, dst, src, count / scaleCount, scaleCount, 1, 0);
  i.src1 = scales.operand();
  i.aux = offsets.operand();
  twUseScratch(i, scratch);
  twHost::issueVector(i, place);
}
struct DequantParams {
  uint32_t m = 0, n = 0, calCount = 0;
};
/// src * scale, a scale for each column. Rows of src are rounded up to 32 bytes.
template <class D, class S>
void AscendDequant(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src,
                   const LocalTensor<S>& scales, const LocalTensor<uint8_t>& scratch,
                   DequantParams p, TwPlace place = TwPlace::here()) {
  TwVectorInstr i = twQuantOf(TwRowFunction::Dequantise, dst, src, p.m, p.calCount, 1, 0);
  i.scalar = (p.n + 7) / 8 * 8;
  i.src1 = scales.operand();
  twUseScratch(i, scratch);
  twHost::issueVector(i, place);
}
/// (src + offset) * scale, one for all.
inline void AscendAntiQuant(const LocalTensor<half>& dst, const LocalTensor<int8_t>& src,
                            const half offset, const half scale,
                            const LocalTensor<uint8_t>& scratch, const uint32_t count,
                            TwPlace place = TwPlace::here()) {
  twIssueRows(twQuantOf(TwRowFunction::AntiQuantise, dst, src, 1, count, scale, offset), &scratch,
              place);
}

} // namespace AscendC

#endif
