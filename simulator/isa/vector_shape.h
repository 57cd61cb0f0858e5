// SPDX-License-Identifier: Apache-2.0
// Which elements a vector instruction touches: repeats, blocks of 32 bytes, lanes of a mask.
#ifndef TILEWRIGHT_SIMULATOR_ISA_VECTOR_SHAPE_H
#define TILEWRIGHT_SIMULATOR_ISA_VECTOR_SHAPE_H

#include "simulator/isa/effects.h"

#include <algorithm>
#include <cstdint>

namespace tilewright::ascend::isa {

constexpr uint32_t blockBytes = 32;
constexpr uint32_t repeatBytes = 256;

/// Lanes in a row that are active.
struct LaneRun {
  uint16_t first, count;
};

struct VectorShape {
  bool flat = true;   ///< `total` elements in a row; nothing below matters
  uint64_t total = 0; ///< flat: elements; else active lanes of all repeats
  uint32_t repeats = 0;
  uint32_t lanes = 0;     ///< lanes of a whole repeat
  uint32_t lastLanes = 0; ///< counter mode: lanes of the last repeat; 0: as the others
  unsigned numRuns = 0;
  LaneRun runs[64];
};

/// The shape of an instruction whose widest element has `elementBytes`.
VectorShape shapeOf(const VectorInstr& instr, uint32_t elementBytes);

/// The lanes of `shape` two by two, for int4b_t: two share a byte. A lane alone counts as its pair.
VectorShape pairsOf(VectorShape shape);

/// One operand's steps, in bytes.
struct Steps {
  uint32_t element, block, repeat;

  uint64_t offset(uint32_t rep, uint32_t lane) const {
    uint32_t inRow = lane * element;
    return uint64_t{rep} * repeat + uint64_t{inRow / blockBytes} * block + inRow % blockBytes;
  }
  bool operator==(const Steps&) const = default;
};

inline Steps stepsOf(uint32_t element, uint32_t blk, uint32_t rep) {
  return {element, blk * blockBytes, rep * blockBytes};
}

/// Calls f(dstOffset, src0Offset, src1Offset, n) for stretches that are contiguous in all three,
/// in the order of the hardware: repeat by repeat.
template <class F> void forEachRun(const VectorShape& shape, Steps d, Steps a, Steps b, F&& f) {
  if (shape.flat) {
    f(uint64_t{0}, uint64_t{0}, uint64_t{0}, shape.total);
    return;
  }
  uint32_t widest = std::max({d.element, a.element, b.element});
  auto dense = [](Steps s) { return s.block == blockBytes; };
  uint32_t piece = dense(d) && dense(a) && dense(b) ? shape.lanes : blockBytes / widest;
  for (uint32_t rep = 0; rep < shape.repeats; ++rep) {
    uint32_t limit = rep + 1 == shape.repeats && shape.lastLanes ? shape.lastLanes : shape.lanes;
    for (unsigned r = 0; r < shape.numRuns; ++r) {
      uint32_t end = std::min<uint32_t>(shape.runs[r].first + shape.runs[r].count, limit);
      for (uint32_t lane = shape.runs[r].first; lane < end;) {
        uint32_t stop = std::min(end, (lane / piece + 1) * piece);
        f(d.offset(rep, lane), a.offset(rep, lane), b.offset(rep, lane), uint64_t{stop - lane});
        lane = stop;
      }
    }
  }
}

/// Calls f(offset, number) for each active lane: its byte, and its number among all lanes.
template <class F> void forEachNumbered(const VectorShape& shape, Steps s, F&& f) {
  if (shape.flat) {
    for (uint64_t k = 0; k < shape.total; ++k)
      f(k * s.element, k);
    return;
  }
  for (uint32_t rep = 0; rep < shape.repeats; ++rep) {
    uint32_t limit = rep + 1 == shape.repeats && shape.lastLanes ? shape.lastLanes : shape.lanes;
    for (unsigned r = 0; r < shape.numRuns; ++r)
      for (uint32_t lane = shape.runs[r].first;
           lane < std::min<uint32_t>(shape.runs[r].first + shape.runs[r].count, limit); ++lane)
        f(s.offset(rep, lane), uint64_t{rep} * shape.lanes + lane);
  }
}

/// Adds the bytes that `operand` touches.
void addAccess(AccessList& list, const Operand& operand, const VectorShape& shape, Steps steps,
               AccessKind kind);
/// Adds `bytes` bytes in a row.
void addFlat(AccessList& list, const Operand& operand, uint64_t bytes, AccessKind kind);

/// True if bytes of the two operands are the same, unless all of them are, in the same order.
bool meetInPart(const Operand& dst, Steps d, const Operand& src, Steps s, const VectorShape& shape);
/// True if a repeat writes what a later one, or its own later elements, are yet to read.
bool overtakes(uint64_t dst, Steps d, uint64_t src, Steps s, const VectorShape& shape);
/// "source and destination overlap in part (UB bytes 0 and 32); ..."
std::string overlapInPart(const Operand& dst, const Operand& src);
/// "the destination, at UB byte 0, lies over elements of the source, ..."
std::string overUnread(const Operand& dst, const Operand& src);

} // namespace tilewright::ascend::isa

#endif
