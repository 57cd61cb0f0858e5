// SPDX-License-Identifier: Apache-2.0
// CastDeq: int16_t to 8 bits, by one scale and offset or by 16 of them in turn (the layout of
// SetDeqScale's table: 32 bits of scale, 9 of offset from bit 37, the sign in bit 46). The bytes of
// a block of 16 elements fill one half of a block of 32 bytes.
#include "simulator/isa/number_formats.h"
#include "simulator/isa/vector.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tilewright::ascend::isa {

namespace {

constexpr uint32_t groupLanes = 16, tableBytes = 128, numRepeatLanes = 128;

/// The instruction as repeats of 128 lanes; a count covers whole repeats and a rest.
VectorShape deqShape(const VectorInstr& i) {
  VectorInstr r = i;
  if (i.form == VectorForm::Count) {
    r.form = VectorForm::Register;
    r.mask[0] = i.count;
  }
  VectorShape shape = shapeOf(r, sizeof(int16_t));
  shape.flat = false;
  return shape;
}
Steps sourceSteps(const VectorInstr& i) {
  return i.form == VectorForm::Count ? stepsOf(2, 1, 8) : stepsOf(2, i.src0Blk, i.src0Rep);
}
/// Byte of lane `lane`: half a block of each block.
uint64_t deqOffset(const VectorInstr& i, uint32_t rep, uint32_t lane) {
  bool counted = i.form == VectorForm::Count;
  uint64_t repeat = counted ? 8 : i.dstRep, block = counted ? 1 : i.dstBlk;
  return (rep * repeat + lane / groupLanes * block) * blockBytes + lane % groupLanes +
         (i.flag ? 0 : groupLanes);
}

std::string inspectDeq(const VectorInstr& i, AccessList& list, const Context&) {
  bool byte = i.dst.type == DType::I8 || i.dst.type == DType::U8;
  if (i.src0.type != DType::I16 || !byte)
    return wrongTypes(i);
  if (auto e = checkForm(i, numRepeatLanes); !e.empty())
    return e;
  if (auto e = misaligned(i.dst, "dst", blockBytes, true); !e.empty())
    return e;
  if (auto e = misaligned(i.src0, "src", blockBytes, false); !e.empty())
    return e;
  VectorShape shape = deqShape(i);
  addAccess(list, i.src0, shape, sourceSteps(i), AccessKind::Read);
  if (i.mode)
    addFlat(list, i.aux, tableBytes, AccessKind::Read);
  // Lanes are written in runs of one block each.
  for (uint32_t block = 0; block < numRepeatLanes / groupLanes; ++block) {
    uint32_t low = ~0u, high = 0;
    for (unsigned r = 0; r < shape.numRuns; ++r)
      for (uint32_t lane = shape.runs[r].first;
           lane < uint32_t{shape.runs[r].first} + shape.runs[r].count; ++lane)
        if (lane / groupLanes == block) {
          low = std::min(low, lane % groupLanes);
          high = std::max(high, lane % groupLanes + 1);
        }
    if (low >= high)
      continue;
    Region w;
    w.begin = i.dst.address + deqOffset(i, 0, block * groupLanes + low);
    w.length = high - low;
    w.inner = shape.repeats;
    if (shape.lastLanes && shape.lastLanes <= block * groupLanes)
      --w.inner;
    w.innerStride = static_cast<int64_t>(deqOffset(i, 1, 0) - deqOffset(i, 0, 0));
    list.add(i.dst, w, AccessKind::Write);
  }
  return {};
}

void runDeq(const VectorInstr& i, const Context& context) {
  VectorShape shape = deqShape(i);
  Steps s = sourceSteps(i);
  for (uint32_t rep = 0; rep < shape.repeats; ++rep) {
    uint32_t limit = rep + 1 == shape.repeats && shape.lastLanes ? shape.lastLanes : shape.lanes;
    for (unsigned r = 0; r < shape.numRuns; ++r)
      for (uint32_t lane = shape.runs[r].first;
           lane < std::min<uint32_t>(shape.runs[r].first + shape.runs[r].count, limit); ++lane) {
        uint64_t parameters = i.scalar;
        if (i.mode)
          std::memcpy(&parameters, context.at(i.aux) + lane % groupLanes * sizeof parameters,
                      sizeof parameters);
        auto scale = std::bit_cast<float>(static_cast<uint32_t>(parameters));
        int offset = static_cast<int>(parameters >> 37 & 511);
        offset = offset >= 256 ? offset - 512 : offset;
        int16_t x;
        std::memcpy(&x, context.at(i.src0) + s.offset(rep, lane), sizeof x);
        float y = std::nearbyint(static_cast<float>(x) * scale) + static_cast<float>(offset);
        bool isSigned = parameters >> 46 & 1;
        float low = isSigned ? -128 : 0, high = low + 255;
        auto result = static_cast<int>(y != y ? 0 : y < low ? low : y > high ? high : y);
        *(context.at(i.dst) + deqOffset(i, rep, lane)) = static_cast<uint8_t>(result);
      }
  }
}

} // namespace

const VectorGroup quantiseGroup = {inspectDeq, runDeq};

} // namespace tilewright::ascend::isa
