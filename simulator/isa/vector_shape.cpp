// SPDX-License-Identifier: Apache-2.0
#include "simulator/isa/vector_shape.h"

#include <bit>

namespace tilewright::ascend::isa {

namespace {

void setLanes(VectorShape& shape, uint32_t count) {
  shape.numRuns = count ? 1 : 0;
  shape.runs[0] = {0, static_cast<uint16_t>(count)};
}

void setMask(VectorShape& shape, uint64_t low, uint64_t high) {
  shape.numRuns = 0;
  uint32_t lane = 0;
  while (lane < shape.lanes) {
    auto bit = [&](uint32_t l) { return ((l < 64 ? low >> l : high >> (l - 64)) & 1) != 0; };
    if (!bit(lane)) {
      ++lane;
      continue;
    }
    uint32_t end = lane;
    while (end < shape.lanes && bit(end))
      ++end;
    shape.runs[shape.numRuns++] = {static_cast<uint16_t>(lane), static_cast<uint16_t>(end - lane)};
    lane = end;
  }
}

} // namespace

VectorShape shapeOf(const VectorInstr& instr, uint32_t elementBytes) {
  VectorShape shape;
  if (instr.form == VectorForm::Count) {
    shape.total = instr.count;
    return shape;
  }
  shape.lanes = repeatBytes / elementBytes;
  shape.repeats = instr.repeat;
  if (instr.form == VectorForm::Register) { // counter mode: mask[0] elements in all
    uint64_t total = instr.mask[0];
    shape.repeats = static_cast<uint32_t>((total + shape.lanes - 1) / shape.lanes);
    shape.lastLanes = static_cast<uint32_t>(total % shape.lanes);
    setLanes(shape, shape.lanes);
    shape.total = total;
  } else if (instr.maskLength) {
    setLanes(shape, std::min<uint32_t>(instr.maskLength, shape.lanes));
    shape.total = uint64_t{shape.runs[0].count} * shape.repeats;
  } else {
    setMask(shape, instr.mask[0], shape.lanes > 64 ? instr.mask[1] : 0);
    uint64_t active = 0;
    for (unsigned r = 0; r < shape.numRuns; ++r)
      active += shape.runs[r].count;
    shape.total = active * shape.repeats;
  }
  bool whole = shape.numRuns == 1 && shape.runs[0].count == shape.lanes;
  bool dense = instr.dstBlk == 1 && instr.src0Blk == 1 && instr.src1Blk == 1;
  uint32_t step = 8;
  bool inRow = instr.dstRep == step && instr.src0Rep == step && instr.src1Rep == step;
  bool sameSize =
      bytesOf(instr.dst.type) == elementBytes && bytesOf(instr.src0.type) == elementBytes;
  shape.flat = whole && dense && inRow && sameSize;
  return shape;
}

void AccessList::add(const Operand& operand, Region region, AccessKind kind) {
  if (region.empty())
    return;
  if (count == items.size())
    items.resize(2 * items.size());
  Access& a = items[count++];
  a = Access{};
  region.normalise();
  a.region = region;
  a.space = operand.space;
  a.kind = kind;
}

void addFlat(AccessList& list, const Operand& operand, uint64_t bytes, AccessKind kind) {
  Region region;
  region.begin = operand.address;
  region.length = bytes;
  list.add(operand, region, kind);
}

namespace {

/// Lanes `first` to `first + count` of `repeats` repeats from `rep` on.
void addRun(AccessList& list, const Operand& operand, Steps s, uint32_t rep, uint32_t repeats,
            uint32_t first, uint32_t count, AccessKind kind) {
  Region r;
  r.outer = repeats;
  r.outerStride = s.repeat;
  r.begin = operand.address + s.offset(rep, first);
  uint32_t bytes = count * s.element;
  uint32_t lead = first * s.element % blockBytes;
  if (s.block == blockBytes || lead + bytes <= blockBytes) {
    r.length = bytes;
    list.add(operand, r, kind);
    return;
  }
  uint32_t lanesPerBlock = blockBytes / s.element;
  if (lead) { // up to the end of the block
    uint32_t part = lanesPerBlock - first % lanesPerBlock;
    addRun(list, operand, s, rep, repeats, first, part, kind);
    addRun(list, operand, s, rep, repeats, first + part, count - part, kind);
    return;
  }
  r.length = blockBytes;
  r.inner = bytes / blockBytes;
  r.innerStride = s.block;
  list.add(operand, r, kind);
  if (uint32_t rest = count % lanesPerBlock)
    addRun(list, operand, s, rep, repeats, first + count - rest, rest, kind);
}

} // namespace

void addAccess(AccessList& list, const Operand& operand, const VectorShape& shape, Steps steps,
               AccessKind kind) {
  if (shape.flat) {
    addFlat(list, operand, shape.total * steps.element, kind);
    return;
  }
  uint32_t whole = shape.repeats - (shape.lastLanes ? 1 : 0);
  for (unsigned r = 0; r < shape.numRuns; ++r) {
    if (whole)
      addRun(list, operand, steps, 0, whole, shape.runs[r].first, shape.runs[r].count, kind);
    if (shape.lastLanes && shape.runs[r].first < shape.lastLanes)
      addRun(list, operand, steps, whole, 1, shape.runs[r].first,
             std::min<uint32_t>(shape.runs[r].count, shape.lastLanes - shape.runs[r].first), kind);
  }
}

} // namespace tilewright::ascend::isa
