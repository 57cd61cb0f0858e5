// SPDX-License-Identifier: Apache-2.0
// Where the destination of a vector instruction may lie over its sources, or over itself. The rule
// is the documentation's: all of a source or nothing, and a repeat never writes what a later one is
// yet to read.
#include "simulator/isa/elementwise.h"
#include "simulator/isa/vector.h"
#include "simulator/memory/local_memory.h"

#include <algorithm>
#include <cstring>

namespace tilewright::ascend::isa {

namespace {

bool touch(uint64_t a, uint64_t aBytes, uint64_t b, uint64_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}

/// True if bytes that the instruction writes are bytes that it reads of `source`.
bool writesOver(const AccessList& list, const Operand& source) {
  for (unsigned r = 0; r < list.count; ++r) {
    const Access& read = list.items[r];
    if (read.kind != AccessKind::Read || read.operand != &source)
      continue;
    for (unsigned w = 0; w < list.count; ++w)
      if (list.items[w].kind != AccessKind::Read && list.items[w].space == source.space &&
          list.items[w].region.overlaps(read.region))
        return true;
  }
  return false;
}

/// Elements (blocks of Gatherb) come from anywhere: only one that stays where it is may be written.
std::string checkGather(const VectorInstr& i, const AccessList& list, const Context& context) {
  const uint32_t size = bytesOf(i.dst.type);
  const bool blocks = i.op == VectorOp::Gatherb;
  const uint64_t unit = blocks ? blockBytes : size;
  // Each offset goes when it was used.
  const bool inPlace = i.dst.address == i.aux.address && !blocks &&
                       (i.form == VectorForm::Count || i.dstRep * blockBytes <= repeatBytes);
  if (!inPlace && writesOver(list, i.aux))
    return overUnread(i.dst, i.aux);
  bool any = false;
  for (unsigned r = 0; r < list.count && !any; ++r)
    for (unsigned w = 0; w < list.count && !any; ++w)
      any = list.items[r].mayBeUninitialised && list.items[w].kind != AccessKind::Read &&
            list.items[w].region.overlaps(list.items[r].region);
  if (!any)
    return {};
  struct Moved {
    uint64_t to, from;
  };
  std::vector<Moved> all;
  auto add = [&](uint64_t at, uint64_t k) {
    uint32_t offset;
    std::memcpy(&offset, context.at(i.aux) + k * sizeof offset, sizeof offset);
    all.push_back({i.dst.address + at, i.src0.address + i.scalar + offset});
  };
  if (blocks)
    for (uint64_t k = 0; k < i.repeat * 8; ++k)
      add((k / 8 * i.dstRep + k % 8 * i.dstBlk) * blockBytes, k);
  else
    forEachNumbered(shapeOf(i, size), stepsOf(size, i.dstBlk, i.dstRep), add);
  constexpr uint32_t piece = 2; // bytes: nothing smaller is gathered
  std::vector<uint32_t> writers(spaceBytes[static_cast<unsigned>(Space::UB)] / piece);
  for (uint32_t k = 0; k < all.size(); ++k)
    for (uint64_t at = all[k].to; at < all[k].to + unit && at / piece < writers.size(); at += piece)
      writers[at / piece] = k + 1;
  for (uint32_t k = 0; k < all.size(); ++k)
    for (uint64_t at = all[k].from; at < all[k].from + unit; at += piece)
      if (writers[at / piece] && (writers[at / piece] != k + 1 || all[k].to != all[k].from))
        return overUnread(i.dst, i.src0);
  return {};
}

/// A repeat's results may lie where it has read itself, but not where a later one reads.
std::string checkReduced(const VectorInstr& i, const AccessList& list) {
  if (i.form != VectorForm::Mask || !i.src0Rep || !writesOver(list, i.src0))
    return {};
  const uint32_t size = bytesOf(i.src0.type);
  const VectorShape shape = shapeOf(i, size);
  if (!shape.numRuns)
    return {};
  const Steps s = stepsOf(size, i.src0Blk, i.src0Rep);
  const LaneRun& last = shape.runs[shape.numRuns - 1];
  const uint64_t first = s.offset(0, shape.runs[0].first),
                 end = s.offset(0, last.first + last.count - 1u) + size;
  const uint64_t bytes = resultBytes(i);
  for (uint64_t w = 0; w < i.repeat; ++w)
    for (uint64_t r = w + 1; r < i.repeat; ++r)
      if (touch(i.dst.address + w * i.dstRep * bytes, bytes, i.src0.address + r * s.repeat + first,
                end - first))
        return overUnread(i.dst, i.src0);
  return {};
}

std::string checkSelect(const VectorInstr& i, const AccessList& list) {
  if (i.aux.bytes && writesOver(list, i.aux))
    return overUnread(i.dst, i.aux);
  const uint32_t size = bytesOf(i.dst.type);
  const VectorShape shape = shapeOf(i, size);
  const Steps d = stepsOf(size, i.dstBlk, i.dstRep);
  const Steps sources[] = {stepsOf(size, i.src0Blk, i.src0Rep),
                           stepsOf(size, i.src1Blk, i.src1Rep)};
  for (unsigned k = 0; k < (i.flag ? 1u : 2u); ++k) {
    const Operand& src = k ? i.src1 : i.src0;
    const bool inPlace = src.address == i.dst.address && (shape.flat || sources[k] == d);
    if (!inPlace && meetInPart(i.dst, d, src, sources[k], shape))
      return overlapInPart(i.dst, src);
  }
  return {};
}

std::string checkTransData(const VectorInstr& i) {
  constexpr uint32_t side = 16;
  auto spanOf = [&](unsigned list, uint64_t step) { // of all repeats
    auto [low, high] = std::minmax_element(i.lists + list, i.lists + list + side);
    return Interval{*low, *high + (std::max(i.repeat, 1u) - 1) * step * blockBytes + blockBytes};
  };
  const Interval to = spanOf(0, i.dstRep), from = spanOf(side, i.src0Rep);
  if (!touch(to.begin, to.end - to.begin, from.begin, from.end - from.begin))
    return {};
  for (uint64_t w = 0; w < i.repeat; ++w)
    for (uint64_t k = 0; k < side; ++k) {
      const uint64_t at = i.lists[k] + w * i.dstRep * blockBytes;
      for (uint64_t r = w + 1; r < i.repeat; ++r)
        for (unsigned source = side; source < 2 * side; ++source)
          if (touch(at, blockBytes, i.lists[source] + r * i.src0Rep * blockBytes, blockBytes))
            return "the block at UB byte " + std::to_string(at) + ", which repeat " +
                   std::to_string(w) + " writes, is yet to be read by repeat " + std::to_string(r);
    }
  return {};
}

} // namespace

std::string checkOverlaps(const VectorInstr& i, const AccessList& list, const Context& context) {
  switch (i.op) {
  case VectorOp::Gather:
  case VectorOp::Gatherb:
    return checkGather(i, list, context);
  case VectorOp::GatherMask:
    if (i.mode == 0 && writesOver(list, i.src1))
      return overUnread(i.dst, i.src1);
    return i.dst.address > i.src0.address && writesOver(list, i.src0) ? overUnread(i.dst, i.src0)
                                                                      : std::string();
  case VectorOp::Sort32:
    for (const Operand* source : {&i.src0, &i.src1})
      if (writesOver(list, *source))
        return overUnread(i.dst, *source);
    return {};
  case VectorOp::MrgSort:
    for (const Operand* source : {&i.src0, &i.src1, &i.aux, &i.extra})
      if (writesOver(list, *source))
        return overUnread(i.dst, *source);
    return {};
  case VectorOp::Transpose:
    return !i.mode && i.dst.address != i.src0.address && writesOver(list, i.src0)
               ? overlapInPart(i.dst, i.src0)
               : std::string();
  case VectorOp::TransDataTo5HD:
    return checkTransData(i);
  case VectorOp::Select:
    return checkSelect(i, list);
  default:
    break;
  }
  if (i.op >= VectorOp::WholeReduceSum && i.op <= VectorOp::RepeatReduceSum)
    return checkReduced(i, list);
  const bool reads =
      readsDestination(i.op) ||
      (hasSource(i.op) && (i.src0.address == i.dst.address ||
                           (hasTwoSources(i.op) && i.src1.address == i.dst.address)));
  return reads && overlapsItself(i)
             ? itsRepeats(i) + ", so that repeats read what others have just changed"
             : std::string();
}

namespace {
/// Blocks that lanes of a repeat of the destination lie in.
uint32_t blocksOf(uint32_t lanes, DType type) {
  const uint32_t bytes = type == DType::I4 ? lanes / 2 : lanes * bytesOf(type);
  return std::max(bytes / blockBytes, 1u);
}
} // namespace

std::string itsRepeats(const VectorInstr& i) {
  const uint32_t size = bytesOf(i.dst.type);
  const uint32_t lanes =
      repeatBytes / (hasSource(i.op) ? std::max(size, bytesOf(i.src0.type)) : size);
  return "dstRepStride is " + std::to_string(i.dstRep) + ", but a repeat spans " +
         std::to_string((blocksOf(lanes, i.dst.type) - 1) * i.dstBlk + 1) + " blocks";
}

bool overlapsItself(const VectorInstr& i) {
  const bool blocks = i.op == VectorOp::Brcb || i.op == VectorOp::Gatherb;
  const bool inLanes = isElementwise(i.op) || i.op == VectorOp::Cast || !hasSource(i.op) ||
                       i.op == VectorOp::Gather || i.op == VectorOp::Select;
  const bool hasRepeats = i.form != VectorForm::Count && i.dstRep != 0 && i.repeat > 1;
  const uint32_t size = bytesOf(i.dst.type);
  const bool isOneValue = i.op == VectorOp::Duplicate; // which none of its repeats changes
  if ((!blocks && !inLanes) || !hasRepeats || !size || isOneValue)
    return false;
  const uint32_t widest = blocks || !hasSource(i.op) ? size : std::max(size, bytesOf(i.src0.type));
  const uint32_t written = blocksOf(repeatBytes / widest, i.dst.type);
  const Steps d = stepsOf(size, i.dstBlk, i.dstRep);
  if ((written - 1) * i.dstBlk + 1 <= i.dstRep)
    return false; // the usual case
  VectorInstr one = i;
  one.repeat = 1;
  if (blocks || one.form == VectorForm::Register) {
    one.form = VectorForm::Mask;
    one.maskLength = static_cast<uint16_t>(repeatBytes / widest);
  }
  VectorShape shape = shapeOf(one, widest);
  shape.flat = false;
  AccessList first;
  addAccess(first, i.dst, i.dst.type == DType::I4 ? pairsOf(shape) : shape, d, AccessKind::Write);
  for (uint32_t r = 1; r < i.repeat && r * i.dstRep < (written - 1) * i.dstBlk + 1; ++r)
    for (unsigned a = 0; a < first.count; ++a)
      for (unsigned b = 0; b < first.count; ++b) {
        Region later = first.items[b].region;
        later.begin += r * d.repeat;
        if (first.items[a].region.overlaps(later))
          return true;
      }
  return false;
}

} // namespace tilewright::ascend::isa
