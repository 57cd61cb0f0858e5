// SPDX-License-Identifier: Apache-2.0
#include "simulator/isa/vector.h"
#include "simulator/isa/elementwise.h"
#include "simulator/isa/number_formats.h"

#include <cmath>
#include <cstring>

namespace tilewright::ascend::isa {

namespace {
// clang-format off
const char* const vectorNames[] = {
    "Add", "Sub", "Mul", "Div", "Max", "Min", "And", "Or", "Xor", "AddRelu", "SubRelu",
    "MulAddDst", "FusedMulAdd", "FusedMulAddRelu", "MulCast", "AddReluCast", "SubReluCast",
    "AddDeqRelu", "SwiGLU",
    "Adds", "Muls", "Maxs", "Mins", "Subs", "Divs", "Ands", "Ors", "LeakyRelu", "ShiftLeft",
    "ShiftRight", "Axpy", "Exp", "Ln", "Abs", "Reciprocal", "Sqrt", "Rsqrt", "Relu", "Not",
    "Copy", "Cast", "CastDeq", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Asin", "Acos", "Atan",
    "Asinh", "Acosh", "Atanh", "Tanh", "Erf", "Erfc", "Sigmoid", "Silu", "Gelu", "Floor", "Ceil",
    "Round", "Trunc", "Frac", "Sign", "Log2", "Log10", "Power", "Power", "Power", "Duplicate",
    "CreateVecIndex", "Compare", "CompareScalar", "Compare", "Select", "SetCmpMask", "GetCmpMask",
    "WholeReduceSum", "WholeReduceMax", "WholeReduceMin", "BlockReduceSum", "BlockReduceMax",
    "BlockReduceMin",
    "PairReduceSum", "RepeatReduceSum", "ReduceSum", "ReduceMax", "ReduceMin", "Gather",
    "Gatherb", "BilinearInterpolation", "GatherMask", "Brcb", "Transpose", "TransDataTo5HD",
    "Sort32", "MrgSort", "Broadcast", "Reduce", "Concat", "Extract",
    "SoftMax, LayerNorm, TopK or a like function",
};
// clang-format on
static_assert(sizeof vectorNames / sizeof *vectorNames ==
              static_cast<size_t>(VectorOp::RowFunction) + 1);
} // namespace

const char* nameOf(VectorOp op) {
  return vectorNames[static_cast<size_t>(op)];
}

const char* nameOf(DType type) {
  static const char* const names[] = {"float",    "half",     "bfloat16_t", "int8_t",   "uint8_t",
                                      "int16_t",  "uint16_t", "int32_t",    "uint32_t", "int64_t",
                                      "uint64_t", "int4b_t",  "double"};
  return names[static_cast<size_t>(type)];
}

std::string wrongTypes(const VectorInstr& instr) {
  std::string text =
      std::string("arch 2201 has no ") + nameOf(instr.op) + " of " + nameOf(instr.src0.type);
  if (instr.src0.type != instr.dst.type)
    text += std::string(" to ") + nameOf(instr.dst.type);
  return text;
}

double loadElement(const uint8_t* at, DType type) {
  auto as = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
  case DType::F32:
    return as(float{});
  case DType::F16:
    return toFloat(as(Half{}));
  case DType::BF16:
    return toFloat(as(Bfloat16{}));
  case DType::I8:
    return as(int8_t{});
  case DType::U8:
    return as(uint8_t{});
  case DType::I16:
    return as(int16_t{});
  case DType::U16:
    return as(uint16_t{});
  case DType::I32:
    return as(int32_t{});
  case DType::U32:
    return as(uint32_t{});
  case DType::I64:
    return static_cast<double>(as(int64_t{}));
  case DType::U64:
    return static_cast<double>(as(uint64_t{}));
  default:
    return as(double{});
  }
}

void storeElement(uint8_t* at, DType type, double value) {
  auto put = [&](auto v) { std::memcpy(at, &v, sizeof v); };
  switch (type) {
  case DType::F32:
    return put(static_cast<float>(value));
  case DType::F16:
    return put(toHalf(static_cast<float>(value)));
  case DType::BF16:
    return put(toBfloat16(static_cast<float>(value)));
  case DType::I8:
  case DType::U8:
    return put(static_cast<uint8_t>(static_cast<int64_t>(value)));
  case DType::I16:
  case DType::U16:
    return put(static_cast<uint16_t>(static_cast<int64_t>(value)));
  case DType::I32:
  case DType::U32:
    return put(static_cast<uint32_t>(static_cast<int64_t>(value)));
  case DType::I64:
  case DType::U64:
    return put(static_cast<int64_t>(value));
  default:
    return put(value);
  }
}

std::string checkForm(const VectorInstr& i, uint32_t lanes) {
  constexpr uint32_t mostRepeats = 255;
  if (i.form == VectorForm::Count)
    return {};
  if (i.form == VectorForm::Mask && i.maskLength > lanes)
    return "mask is " + std::to_string(i.maskLength) + ", but a repeat has " +
           std::to_string(lanes) + " lanes";
  if (i.repeat > mostRepeats)
    return "repeatTime is " + std::to_string(i.repeat) + ", but at most 255 repeats are possible";
  return {};
}

namespace {

uint32_t widest(const VectorInstr& i) {
  return std::max(bytesOf(i.dst.type), bytesOf(i.src0.type));
}

/// Elements may grow or shrink towards where they came from, as long as none lands on one that is
/// yet to be read.
std::string checkResized(const VectorInstr& i, const Operand& src, Steps s, Steps d,
                         const VectorShape& shape) {
  const uint64_t to = i.dst.address, from = src.address;
  if (!meetInPart(i.dst, d, src, s, shape))
    return {};
  auto lands = [&](uint64_t count) { return to + count * d.element > from + count * s.element; };
  bool late = shape.flat ? shape.total > 1 && (lands(1) || lands(shape.total))
                         : overtakes(to, d, from, s, shape);
  return late ? overUnread(i.dst, src) : std::string();
}

/// Full overlap or none: the chip reads and writes several repeats at once. Repeats that stay where
/// they are accumulate.
std::string checkOverlap(const VectorInstr& i, const Operand& src, Steps s, Steps d,
                         const VectorShape& shape) {
  if (src.space != i.dst.space)
    return {};
  const bool inPlace = src.address == i.dst.address, counted = i.form == VectorForm::Count;
  if (s.element != d.element && (!counted || i.op == VectorOp::Cast))
    return checkResized(i, src, s, d, shape);
  if (counted) {
    uint64_t low = std::min(src.address, i.dst.address);
    bool meet = low + i.count * widest(i) > std::max(src.address, i.dst.address);
    return meet && !inPlace ? overlapInPart(i.dst, src) : std::string();
  }
  if (inPlace && s == d)
    return {};
  return meetInPart(i.dst, d, src, s, shape) ? overlapInPart(i.dst, src) : std::string();
}

/// Duplicate takes lanes of 16 and 32 bits; sequences are of half, float, int16_t, int32_t.
bool canFill(const VectorInstr& i) {
  DType t = i.dst.type;
  if (i.op == VectorOp::Duplicate)
    return bytesOf(t) == 2 || bytesOf(t) == 4;
  return t == DType::F16 || t == DType::F32 || t == DType::I16 || t == DType::I32;
}

std::string inspectElementwise(const VectorInstr& i, AccessList& list, const Context&) {
  const bool noSource = !hasSource(i.op);
  uint32_t size = noSource ? bytesOf(i.dst.type) : widest(i);
  if (auto e = checkForm(i, repeatBytes / size); !e.empty())
    return e;
  if (noSource ? !canFill(i) : !elementwiseRun(i))
    return wrongTypes(i);
  if (auto e = misaligned(i.dst, "dst", blockBytes, true); !e.empty())
    return e;
  VectorShape shape = shapeOf(i, size);
  Steps d = stepsOf(bytesOf(i.dst.type), i.dstBlk, i.dstRep);
  if (!noSource) {
    if (auto e = misaligned(i.src0, "src0", blockBytes, false); !e.empty())
      return e;
    const Steps s0 = stepsOf(bytesOf(i.src0.type), i.src0Blk, i.src0Rep);
    if (auto e = checkOverlap(i, i.src0, s0, d, shape); !e.empty())
      return e;
    addAccess(list, i.src0, shape, s0, AccessKind::Read);
    if (hasTwoSources(i.op)) {
      if (auto e = misaligned(i.src1, "src1", blockBytes, false); !e.empty())
        return e;
      const Steps s1 = stepsOf(bytesOf(i.src1.type), i.src1Blk, i.src1Rep);
      if (auto e = checkOverlap(i, i.src1, s1, d, shape); !e.empty())
        return e;
      addAccess(list, i.src1, shape, s1, AccessKind::Read);
    }
    if (readsDestination(i.op))
      addAccess(list, i.dst, shape, d, AccessKind::Read);
  }
  addAccess(list, i.dst, shape, d, AccessKind::Write);
  return {};
}

template <class T> void fill(uint8_t* at, uint64_t n, uint64_t bits) {
  auto value = static_cast<T>(bits);
  for (uint64_t k = 0; k < n; ++k)
    std::memcpy(at + k * sizeof(T), &value, sizeof(T));
}

void runNoSource(const VectorInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.dst.type);
  VectorShape shape = shapeOf(i, size);
  uint8_t* d = context.at(i.dst);
  Steps s = stepsOf(size, i.dstBlk, i.dstRep);
  if (i.op == VectorOp::CreateVecIndex) {
    // With a step (ArithProgression), its bits are in the unused mask.
    double step = i.flag ? std::bit_cast<double>(i.mask[0]) : 1;
    forEachNumbered(shape, s, [&](uint64_t at, uint64_t index) {
      storeElement(d + at, i.dst.type, i.scalarValue + static_cast<double>(index) * step);
    });
    return;
  }
  forEachRun(shape, s, s, s, [&](uint64_t at, uint64_t, uint64_t, uint64_t n) {
    switch (size) {
    case 1:
      return fill<uint8_t>(d + at, n, i.scalar);
    case 2:
      return fill<uint16_t>(d + at, n, i.scalar);
    case 4:
      return fill<uint32_t>(d + at, n, i.scalar);
    default:
      return fill<uint64_t>(d + at, n, i.scalar);
    }
  });
}

Scalar scalarOf(const VectorInstr& i) {
  return {static_cast<float>(i.scalarValue), static_cast<int64_t>(i.scalar)};
}

void runElementwise(const VectorInstr& i, const Context& context) {
  if (!hasSource(i.op))
    return runNoSource(i, context);
  RunFunction f = elementwiseRun(i);
  VectorShape shape = shapeOf(i, widest(i));
  uint8_t* d = context.at(i.dst);
  const uint8_t* a = context.at(i.src0);
  bool two = hasTwoSources(i.op);
  const uint8_t* b = two ? context.at(i.src1) : a;
  Steps sd = stepsOf(bytesOf(i.dst.type), i.dstBlk, i.dstRep);
  Steps sa = stepsOf(bytesOf(i.src0.type), i.src0Blk, i.src0Rep);
  Steps sb = two ? stepsOf(bytesOf(i.src1.type), i.src1Blk, i.src1Rep) : sa;
  Scalar s = scalarOf(i);
  forEachRun(shape, sd, sa, sb, [&](uint64_t od, uint64_t oa, uint64_t ob, uint64_t n) {
    f(d + od, a + oa, b + ob, n, s);
  });
}

bool ofInt4(const VectorInstr& i) {
  return i.src0.type == DType::I4 || i.dst.type == DType::I4;
}

std::string inspectCast(const VectorInstr& i, AccessList& list, const Context&) {
  uint32_t size = widest(i);
  if (auto e = checkForm(i, repeatBytes / size); !e.empty())
    return e;
  if (!castRun(i)) {
    std::string modes = modesOfCast(i);
    return wrongTypes(i) +
           (modes.empty() ? "" : " with this rounding mode; it takes the modes " + modes);
  }
  if (auto e = misaligned(i.dst, "dst", blockBytes, true); !e.empty())
    return e;
  if (auto e = misaligned(i.src0, "src", blockBytes, false); !e.empty())
    return e;
  const VectorShape shape = shapeOf(i, size);
  const Steps s = stepsOf(bytesOf(i.src0.type), i.src0Blk, i.src0Rep);
  const Steps d = stepsOf(bytesOf(i.dst.type), i.dstBlk, i.dstRep);
  if (!ofInt4(i)) {
    if (auto e = checkOverlap(i, i.src0, s, d, shape); !e.empty())
      return e;
    addAccess(list, i.src0, shape, s, AccessKind::Read);
    addAccess(list, i.dst, shape, d, AccessKind::Write);
    return {};
  }
  const VectorShape pairs = pairsOf(shape);
  auto ofPair = [](Steps steps, DType type) {
    return type == DType::I4 ? steps : Steps{2 * steps.element, steps.block, steps.repeat};
  };
  if (auto e = checkOverlap(i, i.src0, ofPair(s, i.src0.type), ofPair(d, i.dst.type), pairs);
      !e.empty())
    return e;
  addAccess(list, i.src0, i.src0.type == DType::I4 ? pairs : shape, s, AccessKind::Read);
  addAccess(list, i.dst, i.dst.type == DType::I4 ? pairs : shape, d, AccessKind::Write);
  return {};
}

/// One lane after the other, as a mask may take one of the two of a byte and leave the other.
void runLanesOfInt4(const VectorInstr& i, RunFunction f, const VectorShape& shape, Steps sd,
                    Steps sa, const Context& context) {
  uint8_t* d = context.at(i.dst);
  const uint8_t* a = context.at(i.src0);
  const bool packs = i.dst.type == DType::I4;
  forEachNumbered(shape, packs ? sa : sd, [&](uint64_t at, uint64_t number) {
    const auto rep = static_cast<uint32_t>(number / shape.lanes);
    const auto lane = static_cast<uint32_t>(number % shape.lanes);
    const uint64_t pair = (packs ? sd : sa).offset(rep, lane / 2);
    const unsigned shift = lane % 2 * 4;
    if (packs) {
      uint8_t nibble = 0;
      f(&nibble, a + at, nullptr, 1, {});
      d[pair] = static_cast<uint8_t>((d[pair] & ~(15u << shift)) | (nibble & 15u) << shift);
    } else {
      const auto nibble = static_cast<uint8_t>(a[pair] >> shift);
      f(d + at, &nibble, nullptr, 1, {});
    }
  });
}

void runCast(const VectorInstr& i, const Context& context) {
  RunFunction f = castRun(i);
  VectorShape shape = shapeOf(i, widest(i));
  uint8_t* d = context.at(i.dst);
  const uint8_t* a = context.at(i.src0);
  Steps sd = stepsOf(bytesOf(i.dst.type), i.dstBlk, i.dstRep);
  Steps sa = stepsOf(bytesOf(i.src0.type), i.src0Blk, i.src0Rep);
  if (ofInt4(i) && !shape.flat)
    return runLanesOfInt4(i, f, shape, sd, sa, context);
  Scalar s = scalarOf(i);
  forEachRun(shape, sd, sa, sa, [&](uint64_t od, uint64_t oa, uint64_t, uint64_t n) {
    f(d + od, a + oa, nullptr, n, s);
  });
}

const VectorGroup& groupOf(VectorOp op) {
  if (isElementwise(op) || !hasSource(op))
    return elementwiseGroup;
  if (op == VectorOp::Cast)
    return castGroup;
  if (op == VectorOp::CastDeq)
    return quantiseGroup;
  if (op <= VectorOp::GetCmpMask)
    return compareGroup;
  if (op <= VectorOp::RepeatReduceSum)
    return reduceGroup;
  if (op <= VectorOp::ReduceMin)
    return reduceAllGroup;
  if (op <= VectorOp::GatherMask)
    return gatherGroup;
  if (op == VectorOp::RowFunction)
    return rowGroup;
  if (op <= VectorOp::TransDataTo5HD || op == VectorOp::Broadcast || op == VectorOp::ReduceRows)
    return rearrangeGroup;
  return sortGroup;
}

/// Element-wise instructions, casts and functions of rows see to the starts of their operands themselves.
bool hasOwnStarts(const VectorGroup& group) {
  return &group == &elementwiseGroup || &group == &castGroup || &group == &quantiseGroup ||
         &group == &rowGroup;
}

} // namespace

const VectorGroup elementwiseGroup = {inspectElementwise, runElementwise};
const VectorGroup castGroup = {inspectCast, runCast};

std::string inspect(const VectorInstr& instr, AccessList& accesses, const Context& context) {
  const VectorGroup& group = groupOf(instr.op);
  std::string error = group.inspect(instr, accesses, context);
  if (error.empty() && !hasOwnStarts(group))
    error = checkStarts(instr);
  if (error.empty())
    error = checkOverlaps(instr, accesses, context);
  if (error.empty())
    error = addScratch(instr, accesses);
  if (!error.empty())
    return error;
  if (isByElements(instr))
    for (unsigned k = 0; k < accesses.count; ++k)
      accesses.items[k].isByElements = accesses.items[k].kind == AccessKind::Read;
  // A tensor ends before its memory does: compare with the operand's own size.
  auto beyond = [&](const Operand& o, const Access& a) {
    return o.bytes && a.space == o.space && a.region.begin >= o.address &&
           a.region.begin <= o.address + o.bytes && a.region.hull().end > o.address + o.bytes;
  };
  for (unsigned k = 0; k < accesses.count; ++k) {
    const Access& a = accesses.items[k];
    bool write = a.kind != AccessKind::Read;
    const Operand* candidates[3] = {&instr.dst, &instr.src0, &instr.src1};
    for (unsigned c = write ? 0 : 1; c < (write ? 1u : 3u); ++c)
      if (a.region.begin == candidates[c]->address && beyond(*candidates[c], a))
        return std::string(write ? "writes" : "reads") + " up to UB byte " +
               std::to_string(a.region.hull().end - 1) + ", but the tensor ends at byte " +
               std::to_string(candidates[c]->address + candidates[c]->bytes - 1) +
               (write ? " [ErrorWrite2]" : " [ErrorRead3]");
  }
  return {};
}

void run(const VectorInstr& instr, const Context& context) {
  groupOf(instr.op).run(instr, context);
}

} // namespace tilewright::ascend::isa
