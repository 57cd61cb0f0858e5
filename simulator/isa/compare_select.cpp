// SPDX-License-Identifier: Apache-2.0
// Compare writes one bit an element, lowest bit first; Select reads such bits.
#include "simulator/isa/elementwise.h"
#include "simulator/isa/number_formats.h"
#include "simulator/isa/vector.h"

#include <cstring>

namespace tilewright::ascend::isa {

namespace {

bool isRegisterSelect(const VectorInstr& i) {
  return i.validBits != 0;
}

/// Bytes of result bits, whole repeats.
uint64_t bitBytes(const VectorInstr& i, const VectorShape& shape) {
  uint64_t elements =
      shape.flat ? shape.total : uint64_t{shape.repeats} * (repeatBytes / bytesOf(i.src0.type));
  return (elements + 7) / 8;
}

std::string inspectCompare(const VectorInstr& i, AccessList& list) {
  uint32_t size = bytesOf(i.src0.type);
  if (auto e = checkForm(i, repeatBytes / size); !e.empty())
    return e;
  bool known = i.src0.type == DType::F32 || i.src0.type == DType::F16 ||
               i.src0.type == DType::I32 || i.src0.type == DType::I16 || i.src0.type == DType::BF16;
  if (!known || (i.src0.type == DType::I32 && i.mode != static_cast<uint8_t>(CompareMode::EQ)))
    return wrongTypes(i) + (known ? " but with EQ" : "");
  if (i.form == VectorForm::Count && i.count * size % repeatBytes)
    return "count is " + std::to_string(i.count) + ", but count * " + std::to_string(size) +
           " bytes must be a multiple of 256";
  VectorShape shape = shapeOf(i, size);
  const Operand& source = i.src0;
  addAccess(list, source, shape, stepsOf(size, i.src0Blk, i.src0Rep), AccessKind::Read);
  if (i.op != VectorOp::CompareScalar)
    addAccess(list, i.src1, shape, stepsOf(size, i.src1Blk, i.src1Rep), AccessKind::Read);
  if (i.op != VectorOp::CompareToMask)
    addFlat(list, i.dst, bitBytes(i, shape), AccessKind::Write);
  return {};
}

std::string inspectSelect(const VectorInstr& i, AccessList& list) {
  uint32_t size = bytesOf(i.src0.type);
  if (auto e = checkForm(i, repeatBytes / size); !e.empty())
    return e;
  if (size != 2 && size != 4)
    return wrongTypes(i);
  VectorShape shape = shapeOf(i, size);
  addAccess(list, i.src0, shape, stepsOf(size, i.src0Blk, i.src0Rep), AccessKind::Read);
  if (!i.flag)
    addAccess(list, i.src1, shape, stepsOf(size, i.src1Blk, i.src1Rep), AccessKind::Read);
  if (!isRegisterSelect(i)) {
    bool once = i.mode == static_cast<uint8_t>(SelectMode::MaskRegister);
    uint64_t bytes = once ? repeatBytes / size / 8 : bitBytes(i, shape);
    if (shape.flat && once)
      bytes = std::min<uint64_t>(bytes, (shape.total + 7) / 8);
    addFlat(list, i.aux, bytes, AccessKind::Read);
  }
  addAccess(list, i.dst, shape, stepsOf(size, i.dstBlk, i.dstRep), AccessKind::Write);
  return {};
}

std::string inspectCompareGroup(const VectorInstr& i, AccessList& list, const Context&) {
  constexpr uint64_t registerBytes = 16;
  switch (i.op) {
  case VectorOp::Select:
    return inspectSelect(i, list);
  case VectorOp::SetCmpMask:
    addFlat(list, i.src0, registerBytes, AccessKind::Read);
    return {};
  case VectorOp::GetCmpMask:
    addFlat(list, i.dst, registerBytes, AccessKind::Write);
    return {};
  default:
    return inspectCompare(i, list);
  }
}

template <class T> bool holds(CompareMode mode, T a, T b) {
  switch (mode) {
  case CompareMode::LT:
    return a < b;
  case CompareMode::GT:
    return a > b;
  case CompareMode::EQ:
    return a == b;
  case CompareMode::LE:
    return a <= b;
  case CompareMode::GE:
    return a >= b;
  default:
    return a != b;
  }
}

float numberAt(const uint8_t* at, DType type) {
  uint16_t bits;
  switch (type) {
  case DType::F32: {
    float f;
    std::memcpy(&f, at, sizeof f);
    return f;
  }
  case DType::F16:
    std::memcpy(&bits, at, sizeof bits);
    return toFloat(Half{bits});
  case DType::BF16:
    std::memcpy(&bits, at, sizeof bits);
    return toFloat(Bfloat16{bits});
  default:
    std::memcpy(&bits, at, sizeof bits);
    return static_cast<float>(static_cast<int16_t>(bits));
  }
}

void setBit(uint8_t* bits, uint64_t index, bool value) {
  auto mask = static_cast<uint8_t>(1u << (index % 8));
  bits[index / 8] = static_cast<uint8_t>(value ? bits[index / 8] | mask : bits[index / 8] & ~mask);
}
bool getBit(const uint8_t* bits, uint64_t index) {
  return bits[index / 8] >> (index % 8) & 1;
}

/// Calls f(element's number in the bits, dstOffset, src0Offset, src1Offset) for active lanes.
template <class F> void forEachLane(const VectorInstr& i, F&& f) {
  uint32_t size = bytesOf(i.src0.type);
  VectorShape shape = shapeOf(i, size);
  if (shape.flat) {
    for (uint64_t k = 0; k < shape.total; ++k)
      f(k, k * size, k * size, k * size);
    return;
  }
  Steps d = stepsOf(size, i.dstBlk, i.dstRep), a = stepsOf(size, i.src0Blk, i.src0Rep),
        b = stepsOf(size, i.src1Blk, i.src1Rep);
  for (uint32_t rep = 0; rep < shape.repeats; ++rep) {
    uint32_t limit = rep + 1 == shape.repeats && shape.lastLanes ? shape.lastLanes : shape.lanes;
    for (unsigned r = 0; r < shape.numRuns; ++r)
      for (uint32_t lane = shape.runs[r].first;
           lane < std::min<uint32_t>(shape.runs[r].first + shape.runs[r].count, limit); ++lane)
        f(uint64_t{rep} * shape.lanes + lane, d.offset(rep, lane), a.offset(rep, lane),
          b.offset(rep, lane));
  }
}

void runCompare(const VectorInstr& i, const Context& context) {
  const uint8_t* a = context.at(i.src0);
  bool scalar = i.op == VectorOp::CompareScalar;
  const uint8_t* b = scalar ? a : context.at(i.src1);
  auto* bits = i.op == VectorOp::CompareToMask
                   ? reinterpret_cast<uint8_t*>(context.results->compareMask)
                   : context.at(i.dst);
  auto mode = static_cast<CompareMode>(i.mode);
  DType type = i.src0.type;
  auto s = static_cast<float>(i.scalarValue);
  forEachLane(i, [&](uint64_t index, uint64_t, uint64_t oa, uint64_t ob) {
    bool value;
    if (type == DType::I32) {
      int32_t x, y = static_cast<int32_t>(i.scalar);
      std::memcpy(&x, a + oa, sizeof x);
      if (!scalar)
        std::memcpy(&y, b + ob, sizeof y);
      value = holds(mode, x, y);
    } else {
      value = holds(mode, numberAt(a + oa, type), scalar ? s : numberAt(b + ob, type));
    }
    setBit(bits, index, value);
  });
}

void runSelect(const VectorInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.src0.type);
  uint8_t* d = context.at(i.dst);
  const uint8_t* a = context.at(i.src0);
  const uint8_t* b = i.flag ? reinterpret_cast<const uint8_t*>(&i.scalar) : context.at(i.src1);
  const uint8_t* bits = isRegisterSelect(i)
                            ? reinterpret_cast<const uint8_t*>(context.results->compareMask)
                            : context.at(i.aux);
  bool once = i.mode == static_cast<uint8_t>(SelectMode::MaskRegister);
  uint64_t lanes = repeatBytes / size;
  forEachLane(i, [&](uint64_t index, uint64_t od, uint64_t oa, uint64_t ob) {
    bool first = getBit(bits, once ? index % lanes : index);
    std::memcpy(d + od, first ? a + oa : b + (i.flag ? 0 : ob), size);
  });
}

void runCompareGroup(const VectorInstr& i, const Context& context) {
  constexpr size_t registerBytes = 16;
  switch (i.op) {
  case VectorOp::Select:
    return runSelect(i, context);
  case VectorOp::SetCmpMask:
    std::memcpy(context.results->compareMask, context.at(i.src0), registerBytes);
    return;
  case VectorOp::GetCmpMask:
    std::memcpy(context.at(i.dst), context.results->compareMask, registerBytes);
    return;
  default:
    return runCompare(i, context);
  }
}

} // namespace

bool worksInReservedBytes(const VectorInstr& i) {
  return i.op == VectorOp::Select && !isRegisterSelect(i) &&
         i.mode != static_cast<uint8_t>(SelectMode::MaskRegister);
}

const VectorGroup compareGroup = {inspectCompareGroup, runCompareGroup};

} // namespace tilewright::ascend::isa
