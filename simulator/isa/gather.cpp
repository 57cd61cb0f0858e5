// SPDX-License-Identifier: Apache-2.0
// Gather by offsets, by blocks, by blocks with weights, and by a mask of bits.
#include "simulator/isa/number_formats.h"
#include "simulator/isa/vector.h"
#include "simulator/memory/local_memory.h"

#include <algorithm>
#include <cstring>

namespace tilewright::ascend::isa {

namespace {

/// Calls f(byte of the destination, number of its offset): each lane has an offset, active or not.
template <class F> void forEachMoved(const VectorInstr& i, F&& f) {
  constexpr uint64_t blocksPerRepeat = 8;
  if (i.op == VectorOp::Gatherb) {
    for (uint64_t k = 0; k < i.repeat * blocksPerRepeat; ++k)
      f((k / blocksPerRepeat * i.dstRep + k % blocksPerRepeat * i.dstBlk) * blockBytes, k);
    return;
  }
  const uint32_t size = bytesOf(i.dst.type);
  forEachNumbered(shapeOf(i, size), stepsOf(size, i.dstBlk, i.dstRep), f);
}

std::string inspectGather(const VectorInstr& i, AccessList& list, const Context& context) {
  uint32_t size = bytesOf(i.dst.type);
  if (i.op == VectorOp::Gather && size != 2 && size != 4)
    return wrongTypes(i);
  if (auto e = checkForm(i, repeatBytes / size); !e.empty())
    return e;
  const uint64_t unit = i.op == VectorOp::Gatherb ? blockBytes : size;
  uint64_t n = 0; // up to the last offset that is used
  forEachMoved(i, [&](uint64_t, uint64_t k) { n = k + 1; });
  if (i.op == VectorOp::Gatherb) {
    addFlat(list, i.aux, n * sizeof(uint32_t), AccessKind::Read);
  } else { // those of inactive lanes aren't used
    const VectorShape shape = shapeOf(i, size);
    addAccess(list, i.aux, shape, {sizeof(uint32_t), blockBytes, shape.lanes * 4},
              AccessKind::Read);
  }
  constexpr uint32_t ubBytes = spaceBytes[static_cast<unsigned>(Space::UB)];
  if (i.aux.address + n * sizeof(uint32_t) > ubBytes)
    return "the offsets end at UB byte " + std::to_string(i.aux.address + n * sizeof(uint32_t)) +
           ", but UB has " + std::to_string(ubBytes) + " bytes [ErrorRead3]";
  const uint8_t* offsets = context.at(i.aux);
  uint64_t low = ~0ull, high = 0;
  std::string wrong;
  forEachMoved(i, [&](uint64_t, uint64_t k) {
    uint32_t offset;
    std::memcpy(&offset, offsets + k * sizeof offset, sizeof offset);
    const uint64_t at = i.src0.address + i.scalar + offset;
    if (wrong.empty() && offset % unit)
      wrong = "offset " + std::to_string(k) + " is " + std::to_string(offset) +
              ", which is no multiple of " + std::to_string(unit);
    else if (wrong.empty() && at + unit > ubBytes)
      wrong = "offset " + std::to_string(k) + " is " + std::to_string(offset) +
              ", which leads to UB byte " + std::to_string(at) + ", but UB has " +
              std::to_string(ubBytes) + " bytes [ErrorRead3]";
    else if (wrong.empty() && i.src0.bytes && at + unit > i.src0.address + i.src0.bytes)
      wrong = "offset " + std::to_string(k) + " is " + std::to_string(offset) +
              ", which leads to UB byte " + std::to_string(at) + ", but the tensor ends at byte " +
              std::to_string(i.src0.address + i.src0.bytes - 1) + " [ErrorRead3]";
    low = std::min(low, at);
    high = std::max(high, at + unit);
  });
  if (!wrong.empty())
    return wrong;
  if (n) {
    Region source;
    source.begin = low;
    source.length = high - low;
    list.add(i.src0, source, AccessKind::Read);
    Access& read = list.items[list.count - 1];
    read.mayBeUninitialised = read.isMoved = true; // holes between what is gathered
  }
  if (i.op == VectorOp::Gatherb) {
    VectorInstr whole = i;
    whole.form = VectorForm::Mask;
    whole.maskLength = static_cast<uint16_t>(repeatBytes / size);
    VectorShape shape = shapeOf(whole, size);
    shape.flat = false;
    addAccess(list, i.dst, shape, stepsOf(size, i.dstBlk, i.dstRep), AccessKind::Write);
  } else {
    addAccess(list, i.dst, shapeOf(i, size), stepsOf(size, i.dstBlk, i.dstRep), AccessKind::Write);
  }
  return {};
}

void runGather(const VectorInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.dst.type);
  const uint8_t* base = context.at(i.src0) + i.scalar;
  uint8_t* d = context.at(i.dst);
  auto offsetOf = [&](uint64_t k) {
    uint32_t offset;
    std::memcpy(&offset, context.at(i.aux) + k * sizeof offset, sizeof offset);
    return offset;
  };
  const uint64_t unit = i.op == VectorOp::Gatherb ? blockBytes : size;
  forEachMoved(i, [&](uint64_t at, uint64_t k) { std::memcpy(d + at, base + offsetOf(k), unit); });
}

// --- GatherMask -----------------------------------------------------------------------------

/// mode 1 to 7: fixed patterns; 0: bits in src1.
bool chosen(const VectorInstr& i, const uint8_t* bits, uint64_t lane, uint32_t rep) {
  switch (i.mode) {
  case 1:
    return lane % 2 == 0;
  case 2:
    return lane % 2 == 1;
  case 3:
  case 4:
  case 5:
  case 6:
    return lane % 4 == i.mode - 3u;
  case 7:
    return true;
  default: {
    uint64_t index = rep * uint64_t{i.src1Rep} * blockBytes * 8 + lane;
    return bits[index / 8] >> (index % 8) & 1;
  }
  }
}

uint64_t lanesOf(const VectorInstr& i) {
  return i.flag ? i.count : repeatBytes / bytesOf(i.src0.type);
}

std::string inspectGatherMask(const VectorInstr& i, AccessList& list, const Context& context) {
  uint32_t size = bytesOf(i.src0.type);
  constexpr unsigned lastPattern = 7;
  if (size != 2 && size != 4)
    return wrongTypes(i);
  if (i.mode > lastPattern)
    return "pattern is " + std::to_string(i.mode) + ", but patterns go from 1 to 7";
  uint64_t lanes = lanesOf(i);
  Region r;
  r.begin = i.src0.address;
  if (i.src0Blk == 1) {
    r.length = lanes * size;
  } else {
    r.length = blockBytes;
    r.inner = static_cast<uint32_t>((lanes * size + blockBytes - 1) / blockBytes);
    r.innerStride = i.src0Blk * blockBytes;
  }
  r.outer = i.repeat;
  r.outerStride = i.src0Rep * blockBytes;
  list.add(i.src0, r, AccessKind::Read);
  uint64_t kept = 0;
  if (i.mode == 0) {
    Region bits;
    bits.begin = i.src1.address;
    bits.length = (lanes + 7) / 8;
    bits.inner = i.repeat;
    bits.innerStride = i.src1Rep * blockBytes;
    list.add(i.src1, bits, AccessKind::Read);
    constexpr uint32_t ubBytes = spaceBytes[static_cast<unsigned>(Space::UB)];
    if (bits.hull().end > ubBytes)
      return "the pattern ends at UB byte " + std::to_string(bits.hull().end) + ", but UB has " +
             std::to_string(ubBytes) + " bytes [ErrorRead3]";
  }
  const uint8_t* bits = i.mode == 0 ? context.at(i.src1) : nullptr;
  for (uint32_t rep = 0; rep < i.repeat; ++rep)
    for (uint64_t lane = 0; lane < lanes; ++lane)
      kept += chosen(i, bits, lane, rep);
  addFlat(list, i.dst, kept * size, AccessKind::Write);
  return {};
}

void runGatherMask(const VectorInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.src0.type);
  const uint8_t* src = context.at(i.src0);
  const uint8_t* bits = i.mode == 0 ? context.at(i.src1) : nullptr;
  uint8_t* d = context.at(i.dst);
  Steps s = stepsOf(size, i.src0Blk, i.src0Rep);
  uint64_t kept = 0;
  for (uint32_t rep = 0; rep < i.repeat; ++rep)
    for (uint64_t lane = 0; lane < lanesOf(i); ++lane)
      if (chosen(i, bits, lane, rep))
        std::memmove(d + kept++ * size, src + s.offset(rep, static_cast<uint32_t>(lane)), size);
  context.results->gatherCount = kept;
}

// --- BilinearInterpolation ------------------------------------------------------------------

constexpr uint32_t blocksAtOnce = 8;

/// Weights of one horizontal step: one, or one for each of its 8 blocks.
uint32_t weightsPerStep(const VectorInstr& i) {
  return i.flag ? blocksAtOnce : 1;
}
/// The results as repeats: blocks `dstBlk` blocks apart, repeats `scalar` elements.
VectorShape resultShape(const VectorInstr& i) {
  VectorInstr results = i;
  results.repeat = static_cast<uint32_t>(i.count);
  VectorShape shape = shapeOf(results, bytesOf(i.dst.type));
  shape.flat = false;
  return shape;
}
Steps resultSteps(const VectorInstr& i) {
  return {sizeof(Half), i.dstBlk * blockBytes, static_cast<uint32_t>(i.scalar * sizeof(Half))};
}

std::string inspectBilinear(const VectorInstr& i, AccessList& list, const Context& context) {
  if (i.dst.type != DType::F16)
    return wrongTypes(i);
  if (auto e = checkForm(i, repeatBytes / sizeof(Half)); !e.empty())
    return e;
  uint64_t steps = i.count * i.repeat;
  uint64_t offsetBytes = steps * blocksAtOnce * sizeof(uint32_t);
  addFlat(list, i.aux, offsetBytes, AccessKind::Read);
  addFlat(list, i.src1, steps * weightsPerStep(i) * sizeof(Half), AccessKind::Read);
  constexpr uint32_t ubBytes = spaceBytes[static_cast<unsigned>(Space::UB)];
  if (i.aux.address + offsetBytes > ubBytes)
    return "the offsets end at UB byte " + std::to_string(i.aux.address + offsetBytes) +
           ", but UB has " + std::to_string(ubBytes) + " bytes [ErrorRead3]";
  uint64_t low = ~0ull, high = 0;
  for (uint64_t k = 0; k < steps * blocksAtOnce; ++k) {
    uint32_t offset;
    std::memcpy(&offset, context.at(i.aux) + k * sizeof offset, sizeof offset);
    if (offset % blockBytes)
      return "offset " + std::to_string(k) + " is " + std::to_string(offset) +
             ", which is no multiple of " + std::to_string(blockBytes);
    low = std::min<uint64_t>(low, offset);
    high = std::max<uint64_t>(high, uint64_t{offset} + blockBytes);
  }
  if (steps) {
    Region source;
    source.begin = i.src0.address + low;
    source.length = high - low;
    list.add(i.src0, source, AccessKind::Read);
    Access& read = list.items[list.count - 1];
    read.mayBeUninitialised = read.isMoved = true; // holes between what is gathered
  }
  addAccess(list, i.dst, resultShape(i), resultSteps(i), AccessKind::Write);
  return {};
}

/// Products and sums are each rounded to half.
void runBilinear(const VectorInstr& i, const Context& context) {
  constexpr uint32_t lanesPerBlock = blockBytes / sizeof(Half);
  auto halfAt = [](const uint8_t* at) {
    Half h;
    std::memcpy(&h, at, sizeof h);
    return toFloat(h);
  };
  VectorShape shape = resultShape(i);
  Steps s = resultSteps(i);
  for (uint32_t v = 0; v < i.count; ++v)
    for (unsigned r = 0; r < shape.numRuns; ++r)
      for (uint32_t lane = shape.runs[r].first;
           lane < uint32_t{shape.runs[r].first} + shape.runs[r].count; ++lane) {
        uint32_t block = lane / lanesPerBlock;
        float sum = 0;
        for (uint32_t h = 0; h < i.repeat; ++h) {
          uint64_t step = uint64_t{v} * i.repeat + h;
          uint32_t offset;
          std::memcpy(&offset, context.at(i.aux) + (step * blocksAtOnce + block) * sizeof offset,
                      sizeof offset);
          uint64_t weight = step * weightsPerStep(i) + (i.flag ? block : 0);
          float product =
              halfAt(context.at(i.src0) + offset + lane % lanesPerBlock * sizeof(Half)) *
              halfAt(context.at(i.src1) + weight * sizeof(Half));
          product = toFloat(toHalf(product));
          sum = h ? toFloat(toHalf(sum + product)) : product;
        }
        storeElement(context.at(i.dst) + s.offset(v, lane), DType::F16, sum);
      }
}

/// Calls f(address, bytes) for what each lane takes of src0.
template <class F> void forEachTaken(const VectorInstr& i, const Context& context, F&& f) {
  auto offsetOf = [&](uint64_t k) {
    uint32_t offset;
    std::memcpy(&offset, context.at(i.aux) + k * sizeof offset, sizeof offset);
    return i.src0.address + offset;
  };
  if (i.op != VectorOp::BilinearInterpolation) {
    const uint64_t unit = i.op == VectorOp::Gatherb ? blockBytes : bytesOf(i.dst.type);
    return forEachMoved(i, [&](uint64_t, uint64_t k) { f(offsetOf(k) + i.scalar, unit); });
  }
  constexpr uint32_t lanesPerBlock = blockBytes / sizeof(Half);
  const VectorShape shape = resultShape(i);
  for (uint64_t step = 0; step < uint64_t{i.count} * i.repeat; ++step)
    for (unsigned r = 0; r < shape.numRuns; ++r)
      for (uint32_t lane = shape.runs[r].first;
           lane < uint32_t{shape.runs[r].first} + shape.runs[r].count; ++lane)
        f(offsetOf(step * blocksAtOnce + lane / lanesPerBlock) +
              lane % lanesPerBlock * sizeof(Half),
          sizeof(Half));
}

std::string inspectGatherGroup(const VectorInstr& i, AccessList& list, const Context& context) {
  if (i.op == VectorOp::BilinearInterpolation)
    return inspectBilinear(i, list, context);
  return i.op == VectorOp::GatherMask ? inspectGatherMask(i, list, context)
                                      : inspectGather(i, list, context);
}
void runGatherGroup(const VectorInstr& i, const Context& context) {
  if (i.op == VectorOp::BilinearInterpolation)
    return runBilinear(i, context);
  i.op == VectorOp::GatherMask ? runGatherMask(i, context) : runGather(i, context);
}

} // namespace

bool isGather(VectorOp op) {
  return op == VectorOp::Gather || op == VectorOp::Gatherb || op == VectorOp::BilinearInterpolation;
}

std::vector<LocalBytes> gathered(const VectorInstr& i, const Context& context,
                                 const std::vector<LocalBytes>& unwritten) {
  std::vector<LocalBytes> found;
  forEachTaken(i, context, [&](uint64_t at, uint64_t size) {
    auto isPartOfIt = [&](const LocalBytes& bytes) {
      return bytes.begin < at + size && at < bytes.end;
    };
    if (std::any_of(unwritten.begin(), unwritten.end(), isPartOfIt))
      found.push_back({Space::UB, at, at + size});
  });
  return found;
}

const VectorGroup gatherGroup = {inspectGatherGroup, runGatherGroup};

} // namespace tilewright::ascend::isa
