// SPDX-License-Identifier: Apache-2.0
// Names and parameter structures of the documented interface.
#ifndef TILEWRIGHT_ASCENDC_ENUMS_H
#define TILEWRIGHT_ASCENDC_ENUMS_H

#include "numbers.h"

enum pipe_t : uint8_t {
  PIPE_S,
  PIPE_V,
  PIPE_M,
  PIPE_MTE1,
  PIPE_MTE2,
  PIPE_MTE3,
  PIPE_ALL,
  PIPE_MTE4,
  PIPE_MTE5,
  PIPE_V2,
  PIPE_FIX,
};
enum event_t : uint8_t {
  EVENT_ID0,
  EVENT_ID1,
  EVENT_ID2,
  EVENT_ID3,
  EVENT_ID4,
  EVENT_ID5,
  EVENT_ID6,
  EVENT_ID7,
};

namespace AscendC {

using ::PIPE_ALL;
using ::PIPE_FIX;
using ::PIPE_M;
using ::PIPE_MTE1;
using ::PIPE_MTE2;
using ::PIPE_MTE3;
using ::PIPE_S;
using ::pipe_t;
using ::PIPE_V;
using TwPipe = tilewright::ascend::Pipe;
using TwSpace = tilewright::ascend::Space;

constexpr TwPipe twPipeOf(pipe_t pipe) {
  switch (pipe) {
  case PIPE_V:
  case PIPE_V2:
    return TwPipe::V;
  case PIPE_M:
    return TwPipe::M;
  case PIPE_MTE1:
    return TwPipe::MTE1;
  case PIPE_MTE2:
    return TwPipe::MTE2;
  case PIPE_MTE3:
    return TwPipe::MTE3;
  case PIPE_FIX:
    return TwPipe::FIX;
  default:
    return TwPipe::S;
  }
}

enum class HardEvent : uint8_t {
  MTE2_MTE1,
  MTE1_MTE2,
  MTE1_M,
  M_MTE1,
  MTE2_V,
  V_MTE2,
  MTE3_V,
  V_MTE3,
  M_V,
  V_M,
  V_V,
  MTE3_MTE1,
  MTE1_MTE3,
  MTE1_V,
  MTE2_M,
  M_MTE2,
  V_MTE1,
  M_FIX,
  FIX_M,
  MTE3_MTE2,
  MTE2_MTE3,
  S_V,
  V_S,
  S_MTE2,
  MTE2_S,
  S_MTE3,
  MTE3_S,
  MTE2_FIX,
  FIX_MTE2,
  FIX_S,
  M_S,
  FIX_MTE3,
  MTE1_FIX,
  FIX_MTE1,
  FIX_FIX,
  FIX_V,
  V_FIX,
  MAX,
};

struct TwEventPipes {
  TwPipe from, to;
};
constexpr TwEventPipes twPipesOf(HardEvent event) {
  constexpr TwEventPipes table[] = {
      {TwPipe::MTE2, TwPipe::MTE1}, {TwPipe::MTE1, TwPipe::MTE2}, {TwPipe::MTE1, TwPipe::M},
      {TwPipe::M, TwPipe::MTE1},    {TwPipe::MTE2, TwPipe::V},    {TwPipe::V, TwPipe::MTE2},
      {TwPipe::MTE3, TwPipe::V},    {TwPipe::V, TwPipe::MTE3},    {TwPipe::M, TwPipe::V},
      {TwPipe::V, TwPipe::M},       {TwPipe::V, TwPipe::V},       {TwPipe::MTE3, TwPipe::MTE1},
      {TwPipe::MTE1, TwPipe::MTE3}, {TwPipe::MTE1, TwPipe::V},    {TwPipe::MTE2, TwPipe::M},
      {TwPipe::M, TwPipe::MTE2},    {TwPipe::V, TwPipe::MTE1},    {TwPipe::M, TwPipe::FIX},
      {TwPipe::FIX, TwPipe::M},     {TwPipe::MTE3, TwPipe::MTE2}, {TwPipe::MTE2, TwPipe::MTE3},
      {TwPipe::S, TwPipe::V},       {TwPipe::V, TwPipe::S},       {TwPipe::S, TwPipe::MTE2},
      {TwPipe::MTE2, TwPipe::S},    {TwPipe::S, TwPipe::MTE3},    {TwPipe::MTE3, TwPipe::S},
      {TwPipe::MTE2, TwPipe::FIX},  {TwPipe::FIX, TwPipe::MTE2},  {TwPipe::FIX, TwPipe::S},
      {TwPipe::M, TwPipe::S},       {TwPipe::FIX, TwPipe::MTE3},  {TwPipe::MTE1, TwPipe::FIX},
      {TwPipe::FIX, TwPipe::MTE1},  {TwPipe::FIX, TwPipe::FIX},   {TwPipe::FIX, TwPipe::V},
      {TwPipe::V, TwPipe::FIX}};
  return table[static_cast<int>(event)];
}

enum class TPosition : uint8_t {
  GM,
  A1,
  A2,
  B1,
  B2,
  C1,
  C2,
  CO1,
  CO2,
  VECIN,
  VECOUT,
  VECCALC,
  LCM = VECCALC,
  SPM,
  SHM = SPM,
  TSCM,
  C2PIPE2GM,
  C2PIPE2LOCAL,
  MAX,
};
using QuePosition = TPosition;

constexpr TwSpace twSpaceOf(TPosition position) {
  switch (position) {
  case TPosition::GM:
  case TPosition::CO2:
    return TwSpace::GM;
  case TPosition::A1:
  case TPosition::B1:
  case TPosition::C1:
  case TPosition::SPM:
  case TPosition::TSCM:
    return TwSpace::L1;
  case TPosition::A2:
    return TwSpace::L0A;
  case TPosition::B2:
    return TwSpace::L0B;
  case TPosition::C2:
    return TwSpace::BT;
  case TPosition::CO1:
    return TwSpace::L0C;
  case TPosition::C2PIPE2GM:
  case TPosition::C2PIPE2LOCAL:
    return TwSpace::FB;
  default:
    return TwSpace::UB;
  }
}

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

enum class RoundMode : uint8_t {
  CAST_NONE,
  CAST_RINT,
  CAST_FLOOR,
  CAST_CEIL,
  CAST_ROUND,
  CAST_TRUNC,
  CAST_ODD,
};
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t {
  VSEL_CMPMASK_SPR,
  VSEL_TENSOR_SCALAR_MODE,
  VSEL_TENSOR_TENSOR_MODE,
};
enum class ReduceOrder : uint8_t {
  ORDER_VALUE_INDEX,
  ORDER_INDEX_VALUE,
  ORDER_ONLY_VALUE,
  ORDER_ONLY_INDEX,
};
enum class ReduceType : uint8_t { SUM, MAX, MIN };
enum class MaskMode : uint8_t { NORMAL, COUNTER };
enum class MemDsbT : uint8_t { ALL, DDR, UB, SEQ };
enum class CacheLine : uint8_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint8_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class CacheRwMode : uint8_t { READ = 1, WRITE = 2, RW = 3 };
enum class CacheMode : uint8_t {
  CACHE_MODE_DISABLE,
  CACHE_MODE_NORMAL,
  CACHE_MODE_LAST,
  CACHE_MODE_PERSISTENT
};
enum class PaddingMode : uint8_t { Normal, Compact };
enum class DataFormat : uint8_t { ND, NZ, NCHW, NC1HWC0, NHWC };

using MaskNone = void;
constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};

struct BinaryRepeatParams {
  uint32_t blockNumber = 8;
  uint8_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1;
  uint8_t dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
  bool repeatStrideMode = false, strideSizeMode = false;
  BinaryRepeatParams() = default;
  BinaryRepeatParams(uint8_t dstBlk, uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep,
                     uint8_t src0Rep, uint8_t src1Rep)
      : dstBlkStride(dstBlk), src0BlkStride(src0Blk), src1BlkStride(src1Blk), dstRepStride(dstRep),
        src0RepStride(src0Rep), src1RepStride(src1Rep) {}
};
struct UnaryRepeatParams {
  uint32_t blockNumber = 8;
  uint16_t dstBlkStride = 1, srcBlkStride = 1;
  uint8_t dstRepStride = 8, srcRepStride = 8;
  bool halfBlock = false;
  UnaryRepeatParams() = default;
  UnaryRepeatParams(uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep, uint8_t srcRep)
      : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep) {}
  UnaryRepeatParams(uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep, uint8_t srcRep, bool halfBlk)
      : UnaryRepeatParams(dstBlk, srcBlk, dstRep, srcRep) {
    halfBlock = halfBlk;
  }
};
struct CopyRepeatParams {
  uint16_t dstStride = 1, srcStride = 1, dstRepeatSize = 8, srcRepeatSize = 8;
  CopyRepeatParams() = default;
  CopyRepeatParams(uint16_t dst, uint16_t src, uint16_t dstRepeat, uint16_t srcRepeat)
      : dstStride(dst), srcStride(src), dstRepeatSize(dstRepeat), srcRepeatSize(srcRepeat) {}
};
struct BrcbRepeatParams {
  uint16_t dstBlkStride = 1, dstRepStride = 8;
  BrcbRepeatParams() = default;
  BrcbRepeatParams(uint16_t blk, uint16_t rep) : dstBlkStride(blk), dstRepStride(rep) {}
};
struct GatherRepeatParams {
  uint16_t dstBlkStride = 1, dstRepStride = 8;
  GatherRepeatParams() = default;
  GatherRepeatParams(uint16_t blk, uint16_t rep) : dstBlkStride(blk), dstRepStride(rep) {}
};
struct GatherMaskParams {
  uint8_t src0BlockStride = 1;
  uint16_t repeatTimes = 0, src0RepeatStride = 0;
  uint8_t src1RepeatStride = 0;
  GatherMaskParams() = default;
  GatherMaskParams(uint8_t src0Block, uint16_t repeats, uint16_t src0Repeat, uint8_t src1Repeat)
      : src0BlockStride(src0Block), repeatTimes(repeats), src0RepeatStride(src0Repeat),
        src1RepeatStride(src1Repeat) {}
};

struct DataCopyParams {
  uint16_t blockCount = 1, blockLen = 0, srcStride = 0, dstStride = 0;
  DataCopyParams() = default;
  DataCopyParams(uint16_t count, uint16_t len, uint16_t src, uint16_t dst)
      : blockCount(count), blockLen(len), srcStride(src), dstStride(dst) {}
};
struct DataCopyExtParams {
  uint16_t blockCount = 1;
  uint32_t blockLen = 0;
  int64_t srcStride = 0, dstStride = 0;
  uint32_t rsv = 0;
  DataCopyExtParams() = default;
  DataCopyExtParams(uint16_t count, uint32_t len, int64_t src, int64_t dst, uint32_t reserved)
      : blockCount(count), blockLen(len), srcStride(src), dstStride(dst), rsv(reserved) {}
};
struct DataCopyPadParams {
  bool isPad = false;
  uint8_t leftPadding = 0, rightPadding = 0;
  uint64_t paddingValue = 0;
  DataCopyPadParams() = default;
  DataCopyPadParams(bool pad, uint8_t left, uint8_t right, uint64_t value)
      : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};
template <class T> struct DataCopyPadExtParams {
  bool isPad = false;
  uint8_t leftPadding = 0, rightPadding = 0;
  T paddingValue{};
  DataCopyPadExtParams() = default;
  DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value)
      : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};
struct Nd2NzParams {
  uint16_t ndNum = 0, nValue = 0, dValue = 0;
  uint32_t srcNdMatrixStride = 0, srcDValue = 0;
  uint16_t dstNzC0Stride = 0, dstNzNStride = 0;
  uint32_t dstNzMatrixStride = 0;
  Nd2NzParams() = default;
  Nd2NzParams(uint16_t num, uint16_t n, uint16_t d, uint32_t srcMatrix, uint32_t srcD,
              uint16_t dstC0, uint16_t dstN, uint32_t dstMatrix)
      : ndNum(num), nValue(n), dValue(d), srcNdMatrixStride(srcMatrix), srcDValue(srcD),
        dstNzC0Stride(dstC0), dstNzNStride(dstN), dstNzMatrixStride(dstMatrix) {}
};
struct Nz2NdParamsFull {
  uint16_t ndNum = 1, nValue = 0, dValue = 0, srcNdMatrixStride = 1, srcNStride = 0;
  uint32_t dstDStride = 0;
  uint16_t dstNdMatrixStride = 1;
  Nz2NdParamsFull() = default;
  Nz2NdParamsFull(uint16_t num, uint16_t n, uint16_t d, uint16_t srcMatrix, uint16_t srcN,
                  uint32_t dstD, uint16_t dstMatrix)
      : ndNum(num), nValue(n), dValue(d), srcNdMatrixStride(srcMatrix), srcNStride(srcN),
        dstDStride(dstD), dstNdMatrixStride(dstMatrix) {}
};
struct SliceInfo {
  uint32_t startIndex = 0, endIndex = 0, stride = 0, burstLen = 32, shapeValue = 0;
};

} // namespace AscendC

#endif
