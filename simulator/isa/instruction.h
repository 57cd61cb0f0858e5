// SPDX-License-Identifier: Apache-2.0
// The instructions of arch 2201 as plain data: what the headers of kernels (simulator/ascendc) hand
// to the machine. Effect, hazards and time are all read from these records. C++17.
#ifndef TILEWRIGHT_SIMULATOR_ISA_INSTRUCTION_H
#define TILEWRIGHT_SIMULATOR_ISA_INSTRUCTION_H

#include "place.h"

#include <cstdint>

namespace tilewright::ascend {

enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX };
constexpr unsigned numPipes = 7;

enum class Space : uint8_t { GM, UB, L1, L0A, L0B, L0C, BT, FB };
constexpr unsigned numSpaces = 8;

enum class DType : uint8_t { F32, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64, I4, F64 };

/// Bytes of one element; int4 counts as one byte per pair and gives 1.
constexpr uint32_t bytesOf(DType type) {
  switch (type) {
  case DType::I8:
  case DType::U8:
  case DType::I4:
    return 1;
  case DType::F16:
  case DType::BF16:
  case DType::I16:
  case DType::U16:
    return 2;
  case DType::F32:
  case DType::I32:
  case DType::U32:
    return 4;
  default:
    return 8;
  }
}

/// A tensor as an instruction sees it. `address` is a byte offset in its memory, for GM a pointer.
/// `bytes` is what belongs to the tensor from there on (0: not known).
struct Operand {
  uint64_t address = 0;
  uint64_t bytes = 0;
  Space space = Space::UB;
  DType type = DType::F32;
  uint8_t l2Bypass = 0;   ///< GM, for the timing model: 1 if reads go past L2, plus 2 if writes do
  bool isOfQueue = false; ///< of a tensor that AllocTensor or DeQue gave: FreeTensor ends its life
  bool isWithoutMemory = false; ///< of a LocalTensor that nothing has given an address
  uint16_t tensor = 0;          ///< among the kernel's names for its tensors; 0: it gave none
};

enum class VectorOp : uint8_t {
  // two sources
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,
  And,
  Or,
  Xor,
  AddRelu,
  SubRelu,
  MulAddDst,
  FusedMulAdd,
  FusedMulAddRelu,
  MulCast,     ///< half product to int8 or uint8
  AddReluCast, ///< two halves to int8, or two floats to half
  SubReluCast,
  AddDeqRelu, ///< two int32_t, scaled, to half
  SwiGlu,     ///< src0 * src1 * sigmoid(scalar * src1)
  // a source and a scalar
  Adds,
  Muls,
  Maxs,
  Mins,
  Subs,
  Divs,
  Ands,
  Ors,
  LeakyRelu,
  ShiftLeft,
  ShiftRight,
  Axpy,
  // one source
  Exp,
  Ln,
  Abs,
  Reciprocal,
  Sqrt,
  Rsqrt,
  Relu,
  Not,
  Copy,
  Cast,
  CastDeq, ///< int16_t to 8 bits by scales: mode 1 takes 16 of them from aux; flag: lower half blocks
  // advanced functions, one source each (composites on the chip)
  Sin,
  Cos,
  Tan,
  Sinh,
  Cosh,
  Asin,
  Acos,
  Atan,
  Asinh,
  Acosh,
  Atanh,
  Tanh,
  Erf,
  Erfc,
  Sigmoid,
  Silu,
  Gelu,
  Floor,
  Ceil,
  Round,
  Trunc,
  Frac,
  Sign,
  Log2,
  Log10,
  Powers,      ///< src0 to the scalar
  ScalarPower, ///< the scalar to src0
  Power,
  // no source
  Duplicate,
  CreateVecIndex,
  // masks
  Compare,
  CompareScalar,
  CompareToMask,
  Select,
  SetCmpMask,
  GetCmpMask,
  // reductions
  WholeReduceSum,
  WholeReduceMax,
  WholeReduceMin,
  BlockReduceSum,
  BlockReduceMax,
  BlockReduceMin,
  PairReduceSum,
  RepeatReduceSum,
  ReduceSum,
  ReduceMax,
  ReduceMin,
  // rearrangement
  Gather,
  Gatherb,
  BilinearInterpolation, ///< `count` results of `repeat` weighted blocks; flag: a weight a block
  GatherMask,
  Brcb,
  Transpose,
  TransDataTo5HD,
  Sort32,
  MrgSort,
  Broadcast,  ///< rows and columns: count = rows * scalar
  ReduceRows, ///< of a matrix: mode is the reduction, plus 4 for columns
  ConcatScores,
  ExtractScores,
  RowFunction, ///< advanced functions of the rows of a matrix: `mode` is a RowFunction
};

/// Advanced functions of `repeat` rows of `count` elements, `scalar` elements apart, in dst and src0.
/// What a row has one of lies in a block of 32 bytes each (softmax) or in a row (norms); the addresses
/// are in `lists`, 0 for none, the element type of the first two is that of `extra`.
enum class RowFunction : uint8_t {
  Softmax,       ///< lists: sum, max
  SoftmaxFlash,  ///< exp(x - max): lists: sum, max
  SoftmaxUpdate, ///< with what came before: lists: sum, max, expMax (type of src0), inSum, inMax
  SoftmaxSimple, ///< exp(x - inMax) / inSum: lists: 0, 0, 0, inSum, inMax
  LayerNorm,     ///< src1: gamma, aux: beta, lists: mean, variance
  LayerNormRstd, ///< the same, lists: mean, 1 / sqrt(variance + epsilon)
  RmsNorm,       ///< src1: gamma
  TopK,     ///< flag: the largest; lists: dst index, src index, finished; lengths: k, pitch of dst
  Pad,      ///< lengths: first column in dst, pitch of dst; flag: the rest becomes scalarValue
  Quantise, ///< to int8_t, in half: src1: scales (or scalarValue), aux: offsets (or lists[0])
  Dequantise,   ///< from int32_t: src1: scales (or scalarValue)
  AntiQuantise, ///< from int8_t to half: src1: scales, aux: offsets (or scalarValue, lists[0])
};

enum class RoundMode : uint8_t { None, Rint, Floor, Ceil, Round, Trunc, Odd };
enum class CompareMode : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SelectMode : uint8_t { MaskRegister, TensorScalar, TensorTensor };
enum class ReduceOrder : uint8_t { ValueIndex, IndexValue, OnlyValue, OnlyIndex };

/// How many elements a vector instruction works on.
enum class VectorForm : uint8_t {
  Count,    ///< `count` elements in a row
  Mask,     ///< `repeat` repeats of up to 256 bytes, lanes by `mask`
  Register, ///< the same, lanes (or the total, in counter mode) by the mask register
};

struct VectorInstr {
  VectorOp op = VectorOp::Add;
  VectorForm form = VectorForm::Count;
  /// RoundMode, CompareMode, SelectMode, ReduceOrder, pattern of GatherMask: by op.
  uint8_t mode = 0;
  /// By op: ShiftRight rounds; ReduceMax wants the index; Select has a scalar source;
  /// GatherMask's reduce mode (counter form); MrgSort suspends when a list ends.
  bool flag = false;
  /// The lanes of `mask` were given as a count (kept for messages).
  uint16_t maskLength = 0;
  Operand dst, src0, src1;
  Operand aux; ///< offsets, indices, temporary memory
  /// What an advanced function works in besides: nobody may rely on what is there behind it.
  Operand scratch;
  uint64_t mask[2] = {~0ull, ~0ull};
  uint64_t count = 0;
  uint32_t repeat = 1;
  uint16_t dstBlk = 1, src0Blk = 1, src1Blk = 1;
  uint16_t dstRep = 8, src0Rep = 8, src1Rep = 8;
  /// The scalar operand: bits of the source's element type; Gather: base offset in bytes.
  uint64_t scalar = 0;
  double scalarValue = 0;
  /// MrgSort: lengths of the lists; addresses of lists 2 and 3 in aux and `extra`.
  uint16_t lengths[4] = {0, 0, 0, 0};
  uint16_t validBits = 0;
  Operand extra;
  /// TransDataTo5HD: 16 destination and 16 source addresses; copied when the record is queued.
  uint32_t lists[32] = {};
  static constexpr uint32_t listWithoutMemory =
      ~0u; ///< of a LocalTensor like Operand::isWithoutMemory
};

/// Atomic state of stores to GM.
enum class AtomicOp : uint8_t { None, Add, Max, Min };

enum class CopyKind : uint8_t { Burst, Nd2Nz, Nz2Nd, FillLocal };

/// Data movement by DMA. Burst: `count` rows of `length` bytes, starts `srcStride`/`dstStride`
/// bytes apart.
struct CopyInstr {
  CopyKind kind = CopyKind::Burst;
  Pipe pipe = Pipe::MTE2;
  AtomicOp atomic = AtomicOp::None;
  DType atomicType = DType::F32;
  bool isPadded = false; ///< DataCopyPad: rows of any number of bytes
  Operand dst, src;
  uint32_t count = 1;
  uint64_t length = 0;
  int64_t srcStride = 0, dstStride = 0;
  /// Padding of each destination row (bytes) in front and behind; `padDefined` false leaves bytes
  /// that nobody may rely on.
  uint16_t padLeft = 0, padRight = 0;
  bool padDefined = true;
  uint64_t padBits = 0;
  /// Nd2Nz and Nz2Nd.
  uint32_t ndNum = 1, nValue = 0, dValue = 0;
  uint64_t srcNdMatrixStride = 0, srcDValue = 0;
  uint64_t dstNzC0Stride = 0, dstNzNStride = 0, dstNzMatrixStride = 0;

  /// A bias of halves becomes float on its way to BT; `length` is that of the floats.
  bool widens() const {
    return dst.space == Space::BT && dst.type == DType::F32 && src.type == DType::F16;
  }
  uint64_t sourceBytes() const {
    return widens() ? length / 2 : length;
  }
};

enum class CubeOp : uint8_t {
  Load2D,
  Load2DTranspose,
  Load3D,
  LoadSparse, ///< a dense B with the indices (operand b) that Mmad's `sparse` needs
  Mmad,
  Fixpipe,
  LoadBias,
  Fill,
};

/// QuantMode_t of Fixpipe.
enum class QuantMode : uint8_t {
  None = 0,
  F32ToF16 = 1,
  VReq8 = 2,
  Req8 = 3,
  VDeqF16 = 4,
  DeqF16 = 5,
  F32ToBf16 = 16,
  VQF32ToB8 = 23,
  QF32ToB8 = 24,
};

struct CubeInstr {
  CubeOp op = CubeOp::Mmad;
  Operand dst, a, b, c;
  // Load2D: units of 512-byte fractals
  uint32_t startIndex = 0, repeat = 0, srcStride = 0, dstGap = 0, dstFracGap = 0;
  bool transpose = false, descending = false;
  // Load3D
  uint16_t l1H = 0, l1W = 0, channels = 0;
  uint16_t kExtension = 0, mExtension = 0, kStart = 0, mStart = 0;
  uint8_t strideW = 1, strideH = 1;
  uint16_t filterW = 1, filterH = 1;
  uint8_t dilationW = 1, dilationH = 1;
  uint8_t pad[4] = {0, 0, 0, 0};
  uint64_t padBits = 0;
  uint16_t loadRepeatStride = 0; ///< between windows, in fractals along m or k
  uint8_t loadRepeats = 1;
  bool loadRepeatsAlongK = false;
  // Mmad
  uint32_t m = 0, n = 0, k = 0;
  bool initialise = false, fromBias = false, hf32 = false, hasBias = false;
  uint8_t unitFlag = 0;
  bool kDirectionAlign = false;
  bool hf32TiesToZero = false;
  bool sparse = false;  ///< B holds two of each four elements along k
  bool vectorA = false; ///< m is 1 and A is one row without padding (GEMV)
  // Fixpipe
  uint32_t fixSrcStride = 0, fixDstStride = 0;
  uint32_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
  bool rowMajor = true, relu = false, channelSplit = false;
  QuantMode quant = QuantMode::None;
  uint64_t quantScale = 0;
  AtomicOp atomic = AtomicOp::None;
  DType atomicType = DType::F32;
};

} // namespace tilewright::ascend

#endif
