// SPDX-License-Identifier: Apache-2.0
// The cube unit: loads from L1, Mmad, Fixpipe.
#ifndef TILEWRIGHT_ASCENDC_CUBE_H
#define TILEWRIGHT_ASCENDC_CUBE_H

#include "copies.h"

/// Ways that Fixpipe converts.
enum QuantMode_t : uint8_t {
  NoQuant = 0,
  F322F16 = 1,
  VREQ8 = 2,
  REQ8 = 3,
  VDEQF16 = 4,
  DEQF16 = 5,
  F322BF16 = 16,
  VQF322B8_PRE = 23,
  QF322B8_PRE = 24,
};

namespace AscendC {

using ::DEQF16;
using ::F322BF16;
using ::F322F16;
using ::NoQuant;
using ::QF322B8_PRE;
using ::QuantMode_t;
using ::REQ8;
using ::VDEQF16;
using ::VQF322B8_PRE;
using ::VREQ8;
using TwCubeInstr = tilewright::ascend::CubeInstr;
using TwCubeOp = tilewright::ascend::CubeOp;

struct LoadData2DParams {
  uint16_t startIndex = 0;
  uint16_t dstGap = 0;
  uint16_t srcStride = 0;
  bool ifTranspose = false;
  uint8_t repeatTimes = 0;
  uint8_t sid = 0;
  uint8_t addrMode = 0;
  LoadData2DParams() = default;
  LoadData2DParams(uint16_t start, uint8_t repeats, uint16_t stride, uint8_t streamId, uint16_t gap,
                   bool transpose, uint8_t mode)
      : startIndex(start), dstGap(gap), srcStride(stride), ifTranspose(transpose),
        repeatTimes(repeats), sid(streamId), addrMode(mode) {}
};
using LoadData2dParams = LoadData2DParams;
struct LoadData2dTransposeParams {
  uint16_t startIndex = 0;
  uint8_t repeatTimes = 0;
  uint16_t srcStride = 0, dstGap = 0, dstFracGap = 0;
  uint8_t addrMode = 0;
  LoadData2dTransposeParams() = default;
  LoadData2dTransposeParams(uint16_t start, uint8_t repeats, uint16_t stride, uint16_t gap,
                            uint16_t fractalGap, uint8_t mode)
      : startIndex(start), repeatTimes(repeats), srcStride(stride), dstGap(gap),
        dstFracGap(fractalGap), addrMode(mode) {}
  LoadData2dTransposeParams(uint16_t start, uint8_t repeats, uint16_t stride, uint16_t gap,
                            uint16_t fractalGap)
      : LoadData2dTransposeParams(start, repeats, stride, gap, fractalGap, 0) {}
};
template <class T> struct LoadData3DParamsV2 {
  uint8_t padList[4] = {0, 0, 0, 0};
  uint16_t l1H = 0, l1W = 0, channelSize = 0;
  uint16_t kExtension = 0, mExtension = 0, kStartPt = 0, mStartPt = 0;
  uint8_t strideW = 1, strideH = 1, filterW = 1, filterH = 1;
  uint8_t dilationFilterW = 1, dilationFilterH = 1;
  bool enTranspose = false, enSmallK = false;
  T padValue{};
  bool filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
  LoadData3DParamsV2() = default;
  LoadData3DParamsV2(const uint8_t pads[4], uint16_t height, uint16_t width, uint16_t channels,
                     uint16_t kExt, uint16_t mExt, uint16_t kStart, uint16_t mStart, uint8_t strW,
                     uint8_t strH, uint8_t filtW, uint8_t filtH, uint8_t dilW, uint8_t dilH,
                     bool transposes, bool smallK, T pad, bool sizeW = false, bool sizeH = false,
                     bool control = false)
      : l1H(height), l1W(width), channelSize(channels), kExtension(kExt), mExtension(mExt),
        kStartPt(kStart), mStartPt(mStart), strideW(strW), strideH(strH), filterW(filtW),
        filterH(filtH), dilationFilterW(dilW), dilationFilterH(dilH), enTranspose(transposes),
        enSmallK(smallK), padValue(pad), filterSizeW(sizeW), filterSizeH(sizeH),
        fMatrixCtrl(control) {
    for (int k = 0; k < 4; ++k)
      padList[k] = pads[k];
  }
};
/// LoadData3DParamsV2 with its numbers packed, and the image and padding from registers.
struct LoadData3DParamsV2Pro {
  uint16_t channelSize = 0;
  bool enTranspose = false, enSmallK = false;
  bool filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
  uint64_t extConfig = 0;                 ///< kExtension, mExtension, kStart, mStart: 16 bits each
  uint64_t filterConfig = 0x010101010101; ///< strideW, strideH, filterW, filterH, dilations: 8 each
};
/// Several windows with one LoadData: `repeatStride` fractals apart, along m (0) or k (1).
struct LoadDataRepeatParam {
  uint16_t repeatStride = 0;
  uint8_t repeatTime = 1;
  uint8_t repeatMode = 0;
  LoadDataRepeatParam() = default;
  LoadDataRepeatParam(uint16_t stride, uint8_t time, uint8_t mode)
      : repeatStride(stride), repeatTime(time), repeatMode(mode) {}
};
/// Whether LoadData sets the registers from its parameters, or takes what SetFmatrix and
/// SetLoadDataPaddingValue set.
struct IsResetLoad3dConfig {
  bool isSetFMatrix = true;
  bool isSetPadding = true;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};
template <class T> struct InitConstValueParams {
  uint16_t repeatTimes = 0, blockNum = 0, dstGap = 0;
  T initValue{};
  InitConstValueParams() = default;
  InitConstValueParams(uint16_t repeats, uint16_t blocks, uint16_t gap, T value)
      : repeatTimes(repeats), blockNum(blocks), dstGap(gap), initValue(value) {}
  InitConstValueParams(uint16_t repeats, T value) : InitConstValueParams(repeats, 1, 0, value) {}
};
struct MmadParams {
  uint16_t m = 0, n = 0, k = 0;
  bool isBias = false;
  int32_t fmOffset = 0;
  bool enSsparse = false, enWinogradA = false, enWinogradB = false;
  int8_t unitFlag = 0;
  bool kDirectionAlign = false;
  bool cmatrixSource = false;
  bool cmatrixInitVal = true;
  bool disableGemv = false;
  uint8_t fixShiftVal = 0;
  MmadParams() = default;
  MmadParams(uint16_t mSize, uint16_t nSize, uint16_t kSize, bool bias, int32_t offset, bool sparse,
             bool winogradA, bool winogradB)
      : m(mSize), n(nSize), k(kSize), isBias(bias), fmOffset(offset), enSsparse(sparse),
        enWinogradA(winogradA), enWinogradB(winogradB), cmatrixInitVal(!bias) {}
  MmadParams(uint16_t mSize, uint16_t nSize, uint16_t kSize, int8_t flag, bool source, bool init)
      : m(mSize), n(nSize), k(kSize), unitFlag(flag), cmatrixSource(source), cmatrixInitVal(init) {}
};
struct FixpipeParamsV220 {
  uint16_t nSize = 0, mSize = 0;
  uint16_t srcStride = 0;
  uint32_t dstStride = 0;
  QuantMode_t quantPre = NoQuant;
  uint64_t deqScalar = 0;
  uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
  bool reluEn = false;
  uint8_t unitFlag = 0;
  bool isChannelSplit = false;
  FixpipeParamsV220() = default;
  FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t src, uint32_t dst, bool relu)
      : nSize(n), mSize(m), srcStride(src), dstStride(dst), reluEn(relu) {}
  FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t src, uint32_t dst, bool relu,
                    QuantMode_t quant, int64_t scalar, uint16_t nd, uint16_t srcNd, uint16_t dstNd,
                    uint8_t flag)
      : FixpipeParamsV220(n, m, src, dst, relu) {
    quantPre = quant;
    deqScalar = static_cast<uint64_t>(scalar);
    ndNum = nd;
    srcNdStride = srcNd;
    dstNdStride = dstNd;
    unitFlag = flag;
  }
};
enum class CO2Layout : uint8_t { NZ = 0, ROW_MAJOR };
struct FixpipeConfig {
  CO2Layout format;
};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};
constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};

enum class HF32Mode : uint8_t { DISABLE, ENABLE };
enum class FmatrixMode : uint8_t { FMATRIX_LEFT, FMATRIX_RIGHT };

inline twHost::CubeRegisters& cubeRegisters() {
  return twHost::agentView().cubeRegisters;
}

template <class Src, class T>
void twLoadFractals(const LocalTensor<T>& dst, const Src& src, const LoadData2DParams& p,
                    TwPlace place) {
  TwCubeInstr i;
  i.op = TwCubeOp::Load2D;
  i.dst = dst.operand();
  i.a = src.operand();
  i.startIndex = p.startIndex;
  i.repeat = p.repeatTimes;
  i.srcStride = p.srcStride;
  i.dstGap = p.dstGap;
  i.transpose = p.ifTranspose;
  i.descending = p.addrMode == 1;
  twHost::issueCube(i, place);
}
template <class T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& p,
              TwPlace place = TwPlace::here()) {
  twLoadFractals(dst, src, p, place);
}
template <class T>
void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& p,
              TwPlace place = TwPlace::here()) {
  twLoadFractals(dst, src, p, place);
}
template <class T>
void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LoadData2dTransposeParams& p, TwPlace place = TwPlace::here()) {
  TwCubeInstr i;
  i.op = TwCubeOp::Load2DTranspose;
  i.dst = dst.operand();
  i.a = src.operand();
  i.startIndex = p.startIndex;
  i.repeat = p.repeatTimes;
  i.srcStride = p.srcStride;
  i.dstGap = p.dstGap;
  i.dstFracGap = p.dstFracGap;
  i.descending = p.addrMode == 1;
  twHost::issueCube(i, place);
}
inline void twSetImage(bool right, uint16_t height, uint16_t width, const uint8_t padding[4]) {
  auto& image = cubeRegisters().image[right];
  image.height = height;
  image.width = width;
  for (int k = 0; k < 4; ++k)
    image.padding[k] = padding[k];
}
/// The parts of a LoadData3D that registers hold.
template <class T>
TwCubeInstr twLoad3dOf(const LocalTensor<T>& dst, const LocalTensor<T>& src, bool right,
                       TwPlace place) {
  twHost::checkRegister(right ? twHost::Register::RightImage : twHost::Register::LeftImage,
                        "LoadData3D", place);
  const twHost::CubeRegisters& r = cubeRegisters();
  TwCubeInstr i;
  i.op = TwCubeOp::Load3D;
  i.dst = dst.operand();
  i.a = src.operand();
  i.l1H = r.image[right].height;
  i.l1W = r.image[right].width;
  for (int k = 0; k < 4; ++k)
    i.pad[k] = r.image[right].padding[k];
  i.padBits = r.loadPadBits;
  i.loadRepeats = r.loadRepeats;
  i.loadRepeatStride = r.loadRepeatStride;
  i.loadRepeatsAlongK = r.loadRepeatsAlongK;
  return i;
}
template <class T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
              const LoadData3DParamsV2<TwNotDeducedT<T>>& p, TwPlace place = TwPlace::here()) {
  bool right = p.fMatrixCtrl;
  if (config.isSetFMatrix) { // the right register is for SetFmatrix alone
    twSetImage(right, p.l1H, p.l1W, p.padList);
    twHost::noteRegister(twHost::Register::LeftImage);
  }
  if (config.isSetPadding)
    cubeRegisters().loadPadBits = twBitsOf(p.padValue);
  TwCubeInstr i = twLoad3dOf(dst, src, right, place);
  i.channels = p.channelSize;
  i.kExtension = p.kExtension;
  i.mExtension = p.mExtension;
  i.kStart = p.kStartPt;
  i.mStart = p.mStartPt;
  i.strideW = p.strideW;
  i.strideH = p.strideH;
  i.filterW = static_cast<uint16_t>(p.filterW + (p.filterSizeW ? 256 : 0));
  i.filterH = static_cast<uint16_t>(p.filterH + (p.filterSizeH ? 256 : 0));
  i.dilationW = p.dilationFilterW;
  i.dilationH = p.dilationFilterH;
  i.transpose = p.enTranspose;
  twHost::issueCube(i, place);
}
template <class T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2Pro& p,
              TwPlace place = TwPlace::here()) {
  TwCubeInstr i = twLoad3dOf(dst, src, p.fMatrixCtrl, place);
  auto word = [&](int k) { return static_cast<uint16_t>(p.extConfig >> (16 * k)); };
  auto byte = [&](int k) { return static_cast<uint8_t>(p.filterConfig >> (8 * k)); };
  i.channels = p.channelSize;
  i.kExtension = word(0);
  i.mExtension = word(1);
  i.kStart = word(2);
  i.mStart = word(3);
  i.strideW = byte(0);
  i.strideH = byte(1);
  i.filterW = static_cast<uint16_t>(byte(2) + (p.filterSizeW ? 256 : 0));
  i.filterH = static_cast<uint16_t>(byte(3) + (p.filterSizeH ? 256 : 0));
  i.dilationW = byte(4);
  i.dilationH = byte(5);
  i.transpose = p.enTranspose;
  twHost::issueCube(i, place);
}
/// A dense B with its indices, for MmadWithSparse.
template <class T = int8_t, class U = uint8_t>
void LoadDataWithSparse(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                        const LocalTensor<U>& idx, const LoadData2DParams& p,
                        TwPlace place = TwPlace::here()) {
  TwCubeInstr i;
  i.op = TwCubeOp::LoadSparse;
  i.dst = dst.operand();
  i.a = src.operand();
  i.b = idx.operand();
  i.startIndex = p.startIndex;
  i.repeat = p.repeatTimes;
  i.srcStride = p.srcStride;
  i.dstGap = p.dstGap;
  i.transpose = p.ifTranspose;
  twHost::issueCube(i, place);
}
template <class T, class U>
void twFillConstant(const LocalTensor<T>& dst, const InitConstValueParams<U>& p, TwPlace place) {
  TwCubeInstr i;
  i.op = TwCubeOp::Fill;
  i.dst = dst.operand();
  i.a = i.dst;
  i.repeat = p.repeatTimes;
  i.m = p.blockNum;
  i.dstGap = p.dstGap;
  i.padBits = twBitsOf(p.initValue);
  twHost::issueCube(i, place);
}
template <class T, class U = T>
void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<U>& p,
                    TwPlace place = TwPlace::here()) {
  twFillConstant(dst, p, place);
}
template <class T, class U = T>
void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& p,
          TwPlace place = TwPlace::here()) {
  twFillConstant(dst, p, place);
}

template <class C, class A, class B>
TwCubeInstr twMmadOf(const LocalTensor<C>& dst, const LocalTensor<A>& a, const LocalTensor<B>& b,
                     const MmadParams& p) {
  TwCubeInstr i;
  i.op = TwCubeOp::Mmad;
  i.dst = dst.operand();
  i.a = a.operand();
  i.b = b.operand();
  i.m = p.m;
  i.n = p.n;
  i.k = p.k;
  i.unitFlag = static_cast<uint8_t>(p.unitFlag);
  i.initialise = p.cmatrixInitVal;
  i.kDirectionAlign = p.kDirectionAlign;
  i.hf32 = cubeRegisters().hf32 && i.a.type == TwDType::F32;
  i.hf32TiesToZero = cubeRegisters().hf32TiesToZero;
  i.vectorA = p.m == 1 && !p.disableGemv;
  return i;
}
template <class C, class A, class B>
void Mmad(const LocalTensor<C>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter,
          const MmadParams& p, TwPlace place = TwPlace::here()) {
  twHost::issueCube(twMmadOf(dst, fm, filter, p), place);
}
template <class C, class A, class B, class V>
void Mmad(const LocalTensor<C>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter,
          const LocalTensor<V>& bias, const MmadParams& p, TwPlace place = TwPlace::here()) {
  TwCubeInstr i = twMmadOf(dst, fm, filter, p);
  i.c = bias.operand();
  i.hasBias = true;
  i.initialise = false;
  twHost::issueCube(i, place);
}
inline void SetHF32Mode(bool enable) {
  cubeRegisters().hf32 = enable;
}
inline void SetHF32Mode(HF32Mode mode) {
  cubeRegisters().hf32 = mode == HF32Mode::ENABLE;
}
/// B is dense and was loaded by LoadDataWithSparse; k counts the elements of A.
template <class C = int32_t, class A = int8_t>
void MmadWithSparse(const LocalTensor<C>& dst, const LocalTensor<A>& fm,
                    const LocalTensor<A>& filter, const MmadParams& p,
                    TwPlace place = TwPlace::here()) {
  TwCubeInstr i = twMmadOf(dst, fm, filter, p);
  i.sparse = true;
  i.vectorA = false;
  twHost::issueCube(i, place);
}
/// How float becomes HF32: true rounds ties to zero, false to even.
inline void SetHF32TransMode(bool tiesToZero) {
  cubeRegisters().hf32TiesToZero = tiesToZero;
}
/// Whether Mmad goes along n or along m first: the same result, so a hint.
inline void SetMMLayoutTransform(bool) {}
inline void SetMMRowMajor() {}
inline void SetMMColumnMajor() {}
inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4],
                       const FmatrixMode& mode) {
  bool right = mode == FmatrixMode::FMATRIX_RIGHT;
  twSetImage(right, l1H, l1W, padList);
  twHost::noteRegister(right ? twHost::Register::RightImage : twHost::Register::LeftImage);
}
/// Where L1 wraps around for LoadData3D; 0 is nowhere, and the only value supported.
inline void SetLoadDataBoundary(uint32_t boundary, TwPlace place = TwPlace::here()) {
  if (boundary != 0)
    twHost::failKernel(
        "unsupported: SetLoadDataBoundary other than 0; let the image end before L1 does", place);
}
template <class T> void SetLoadDataPaddingValue(T value) {
  cubeRegisters().loadPadBits = twBitsOf(value);
}
inline void SetLoadDataRepeat(const LoadDataRepeatParam& p) {
  cubeRegisters().loadRepeatStride = p.repeatStride;
  cubeRegisters().loadRepeats = p.repeatTime;
  cubeRegisters().loadRepeatsAlongK = p.repeatMode != 0;
}

/// The scales of a VREQ8 or VDEQF16 conversion, in FB, for DataCopy from L0C and Fixpipe.
/// With `setRelu` the table has slopes, which arch 2201 doesn't take: ReLU is on or off.
template <class T, bool setRelu = false>
void SetFixPipeConfig(const LocalTensor<T>& quantPre, bool = false) {
  if (!setRelu)
    cubeRegisters().quantScales = quantPre.operand();
}
template <class T>
void SetFixPipeConfig(const LocalTensor<T>&, const LocalTensor<T>& quantPre,
                      bool isUnitFlag = false) {
  SetFixPipeConfig(quantPre, isUnitFlag);
}
inline void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint16_t dstNdStride) {
  cubeRegisters().ndNum = ndNum;
  cubeRegisters().srcNdStride = srcNdStride;
  cubeRegisters().dstNdStride = dstNdStride;
}
inline void SetFixpipePreQuantFlag(uint64_t config) {
  cubeRegisters().quantScale = config;
  twHost::noteRegister(twHost::Register::QuantScale);
}

template <class Dst, class U>
TwCubeInstr twFixpipeOf(const Dst& dst, const LocalTensor<U>& src, bool rowMajor,
                        const FixpipeParamsV220& p) {
  TwCubeInstr i;
  i.op = TwCubeOp::Fixpipe;
  i.dst = dst.operand();
  i.a = src.operand();
  i.n = p.nSize;
  i.m = p.mSize;
  i.fixSrcStride = p.srcStride;
  i.fixDstStride = p.dstStride;
  i.ndNum = p.ndNum;
  i.srcNdStride = p.srcNdStride;
  i.dstNdStride = p.dstNdStride;
  i.rowMajor = rowMajor;
  i.relu = p.reluEn;
  i.channelSplit = p.isChannelSplit;
  i.quant = static_cast<twHost::QuantMode>(p.quantPre);
  i.quantScale = p.deqScalar;
  i.unitFlag = p.unitFlag;
  i.c = cubeRegisters().quantScales; // unless the call has its own
  return i;
}
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& p,
             TwPlace place = TwPlace::here()) {
  twHost::issueCube(twFixpipeOf(dst, src, config.format == CO2Layout::ROW_MAJOR, p), place);
}
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& p,
             TwPlace place = TwPlace::here()) {
  twHost::issueCube(twFixpipeOf(dst, src, config.format == CO2Layout::ROW_MAJOR, p), place);
}
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
             const LocalTensor<uint64_t>& scales, const FixpipeParamsV220& p,
             TwPlace place = TwPlace::here()) {
  TwCubeInstr i = twFixpipeOf(dst, src, config.format == CO2Layout::ROW_MAJOR, p);
  i.c = scales.operand();
  twHost::issueCube(i, place);
}
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
             const LocalTensor<uint64_t>& scales, const FixpipeParamsV220& p,
             TwPlace place = TwPlace::here()) {
  TwCubeInstr i = twFixpipeOf(dst, src, config.format == CO2Layout::ROW_MAJOR, p);
  i.c = scales.operand();
  twHost::issueCube(i, place);
}

/// The older way out of L0C: nSize and mSize elements, strides as in FixpipeParamsV220.
struct DataCopyCO12DstParams {
  uint16_t nSize = 0, mSize = 0;
  uint32_t dstStride = 0;
  uint16_t srcStride = 0;
  QuantMode_t quantPre = NoQuant;
  uint8_t reluPre = 0;
  bool channelSplit = false, nz2ndEn = false;
  uint8_t sid = 0, unitFlag = 0;
  DataCopyCO12DstParams() = default;
  DataCopyCO12DstParams(uint16_t n, uint16_t m, uint32_t dst, uint16_t src, QuantMode_t quant,
                        uint8_t relu, bool split, bool nz2nd)
      : nSize(n), mSize(m), dstStride(dst), srcStride(src), quantPre(quant), reluPre(relu),
        channelSplit(split), nz2ndEn(nz2nd) {}
};
template <class Dst, class U>
void twCopyFromL0C(const Dst& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& p,
                   TwPlace place) {
  FixpipeParamsV220 f(p.nSize, p.mSize, p.srcStride, p.dstStride, p.reluPre != 0);
  f.quantPre = p.quantPre;
  if (p.quantPre == DEQF16 || p.quantPre == REQ8 || p.quantPre == QF322B8_PRE)
    twHost::checkRegister(twHost::Register::QuantScale, "DataCopy", place);
  f.deqScalar = cubeRegisters().quantScale;
  f.isChannelSplit = p.channelSplit;
  f.unitFlag = p.unitFlag;
  f.ndNum = cubeRegisters().ndNum;
  f.srcNdStride = cubeRegisters().srcNdStride;
  f.dstNdStride = cubeRegisters().dstNdStride;
  twHost::issueCube(twFixpipeOf(dst, src, p.nz2ndEn, f), place);
}
template <class T, class U>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& p,
              TwPlace place = TwPlace::here()) {
  twCopyFromL0C(dst, src, p, place);
}
template <class T, class U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& p,
              TwPlace place = TwPlace::here()) {
  twCopyFromL0C(dst, src, p, place);
}

} // namespace AscendC

#endif
