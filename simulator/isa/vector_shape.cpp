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

VectorShape pairsOf(VectorShape shape) {
  constexpr uint32_t two = 2;
  auto pairs = [](auto lanes) { return (lanes + 1) / two; };
  shape.total = pairs(shape.total);
  shape.lanes = pairs(shape.lanes);
  shape.lastLanes = pairs(shape.lastLanes);
  // Between runs is a lane or more, so that no pair is of two of them.
  for (unsigned r = 0; r < shape.numRuns; ++r) {
    LaneRun& run = shape.runs[r];
    const uint32_t end = pairs(uint32_t{run.first} + run.count);
    run.first /= two;
    run.count = static_cast<uint16_t>(end - run.first);
  }
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
  a.tensor = operand.tensor;
  a.operand = &operand;
  a.isWithoutMemory = operand.isWithoutMemory;
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

namespace {

/// Bytes from the first lane of a repeat to behind its last active one.
uint64_t rowExtent(const VectorShape& shape, Steps s) {
  if (!shape.numRuns)
    return 0;
  const LaneRun& last = shape.runs[shape.numRuns - 1];
  return s.offset(0, last.first + last.count - 1u) + s.element;
}

/// Bytes from the first lane to behind the last.
uint64_t extentOf(const VectorShape& shape, Steps s) {
  if (shape.flat)
    return shape.total * s.element;
  return shape.repeats ? uint64_t{shape.repeats - 1} * s.repeat + rowExtent(shape, s) : 0;
}

bool meet(uint64_t a, uint64_t aBytes, uint64_t b, uint64_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}

} // namespace

bool meetInPart(const Operand& dst, Steps d, const Operand& src, Steps s,
                const VectorShape& shape) {
  if (!meet(dst.address, extentOf(shape, d), src.address, extentOf(shape, s)))
    return false;
  AccessList reads, writes;
  addAccess(reads, src, shape, s, AccessKind::Read);
  addAccess(writes, dst, shape, d, AccessKind::Write);
  bool same = reads.count == writes.count, any = false;
  for (unsigned w = 0; w < writes.count; ++w) {
    const Region& written = writes.items[w].region;
    same = same && written == reads.items[w].region;
    for (unsigned r = 0; r < reads.count && !any; ++r)
      any = written.overlaps(reads.items[r].region);
  }
  return any && !same;
}

bool overtakes(uint64_t dst, Steps d, uint64_t src, Steps s, const VectorShape& shape) {
  const uint64_t written = rowExtent(shape, d), read = rowExtent(shape, s);
  for (uint64_t w = 0; w < shape.repeats; ++w) {
    const uint64_t to = dst + w * d.repeat, own = src + w * s.repeat;
    if (meet(to, written, own, read) && (to > own || to + written > own + read))
      return true;
    for (uint64_t r = w + 1; r < shape.repeats; ++r)
      if (meet(to, written, src + r * s.repeat, read))
        return true;
  }
  return false;
}

std::string overlapInPart(const Operand& dst, const Operand& src) {
  if (src.address == dst.address)
    return "source and destination overlap in part (both start at UB byte " +
           std::to_string(src.address) + "); their strides must be the same";
  return "source and destination overlap in part (UB bytes " +
         std::to_string(std::min(src.address, dst.address)) + " and " +
         std::to_string(std::max(src.address, dst.address)) + "); they must be the same or apart";
}

std::string overUnread(const Operand& dst, const Operand& src) {
  return "the destination, at UB byte " + std::to_string(dst.address) +
         ", lies over elements of the source, at " + std::to_string(src.address) +
         ", that are yet to be read";
}

} // namespace tilewright::ascend::isa
