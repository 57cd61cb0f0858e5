// SPDX-License-Identifier: Apache-2.0
#include "simulator/timing/durations.h"

#include <algorithm>
#include <cmath>

namespace tilewright::ascend {
namespace {

constexpr double repeatBytes = 256;

/// Elements per cycle of arch 2201 for elements of `bytes` bytes (documented: theoretical
/// performance of vector instructions); 0: one repeat of 256 bytes per cycle.
double documentedElements(VectorOp op, uint32_t bytes) {
  bool isHalf = bytes <= 2;
  switch (op) {
  case VectorOp::Exp:
  case VectorOp::Ln:
  case VectorOp::Sqrt:
  case VectorOp::Div:
  case VectorOp::Divs:
    return 32;
  case VectorOp::MulAddDst:
  case VectorOp::Axpy:
    return isHalf ? 64 : 32;
  case VectorOp::WholeReduceSum:
  case VectorOp::WholeReduceMax:
  case VectorOp::WholeReduceMin:
  case VectorOp::RepeatReduceSum:
  case VectorOp::ReduceSum:
  case VectorOp::ReduceMax:
  case VectorOp::ReduceMin:
    return isHalf ? 128.0 / 7 : 64.0 / 7;
  case VectorOp::BlockReduceSum:
  case VectorOp::BlockReduceMax:
  case VectorOp::BlockReduceMin:
    return isHalf ? 128.0 / 7 : 64;
  case VectorOp::Gather:
    return 5;
  case VectorOp::Gatherb:
    return isHalf ? 42 : 21;
  case VectorOp::GatherMask:
    return isHalf ? 64 : 32;
  case VectorOp::Sort32:
  case VectorOp::MrgSort:
    return 2;
  default:
    return 0;
  }
}

/// Advanced functions are sequences of plain instructions; nothing is published about their length.
bool isComposite(VectorOp op) {
  return op >= VectorOp::Sin && op <= VectorOp::Power;
}
constexpr double compositeInstructions = 16;

double vectorCycles(const TraceEvent& event, const chips::AscendTiming& timing) {
  auto op = VectorOp(event.op);
  uint32_t bytes = bytesOf(event.type);
  double repeats = std::max<double>(event.repeats, 1);
  double perRepeat = 1;
  if (double elements = documentedElements(op, bytes); elements > 0)
    perRepeat = repeatBytes / bytes / elements;
  else
    perRepeat = bankFactor(event, timing);
  return repeats * perRepeat * (isComposite(op) ? compositeInstructions : 1);
}

/// K that a cycle takes, and K of a fractal, by the type of the left operand.
struct CubeShape {
  double perCycle;
  double unit;
};
CubeShape cubeShape(DType type) {
  switch (type) {
  case DType::I4:
    return {64, 64};
  case DType::I8:
  case DType::U8:
    return {32, 32};
  case DType::F32:
    return {4, 8};
  default:
    return {16, 16};
  }
}

double ceilDivide(double value, double unit) {
  return std::ceil(value / unit);
}

Duration cubeDuration(const TraceEvent& event, const chips::AscendTiming& timing,
                      double l1WriteRate) {
  auto bytes = double(event.bytes);
  switch (CubeOp(event.op)) {
  case CubeOp::Mmad: {
    CubeShape shape = cubeShape(event.type);
    double volume = ceilDivide(event.m, 16) * ceilDivide(event.n, 16) *
                    ceilDivide(event.k, shape.unit) * shape.unit / shape.perCycle;
    return {volume + timing.cubeIssueCycles, timing.cubeLatencyCycles};
  }
  case CubeOp::LoadBias:
    return {timing.loadIssueCycles + bytes / timing.l1ToBiasBytes, timing.loadLatencyCycles};
  case CubeOp::Fixpipe: // to L1; what goes to GM is a transfer
    return {double(event.m) * event.n / timing.fixpipeElements, timing.fixpipeLatencyCycles};
  default: {
    double path = event.to == Space::L0B ? timing.l1ToL0bBytes : timing.l1ToL0aBytes;
    double port = std::max(timing.l1PortBytes - l1WriteRate, timing.l1PortBytes / 8);
    return {timing.loadIssueCycles + bytes / std::min(path, port), timing.loadLatencyCycles};
  }
  }
}

} // namespace

double bankFactor(const TraceEvent& event, const chips::AscendTiming& timing) {
  // A repeat reads 8 successive blocks per source, so 8 of the 16 bank groups. Addresses: bits 5 to
  // 8 are the group, 16 and 17 the bank in it. A repeat's result is written while the next repeat
  // is read.
  constexpr uint32_t groups = 16;
  constexpr uint32_t blocksPerRepeat = 8;
  auto groupsOverlap = [](uint32_t first, uint32_t second) {
    uint32_t distance = (first / 32 - second / 32) % groups;
    return distance < blocksPerRepeat || distance > groups - blocksPerRepeat;
  };
  bool hasTwoSources = VectorOp(event.op) < VectorOp::Adds && event.banks[1] != event.banks[2];
  if (hasTwoSources && groupsOverlap(event.banks[1], event.banks[2]))
    return timing.readConflictFactor;
  uint32_t written = event.banks[0] + groups * 32 - blocksPerRepeat * 32;
  for (int source = 1; source <= (hasTwoSources ? 2 : 1); ++source)
    if (groupsOverlap(written, event.banks[source]) &&
        event.banks[0] >> 16 == event.banks[source] >> 16 && event.repeats > 1 &&
        event.banks[0] != event.banks[source])
      return timing.writeConflictFactor;
  return 1;
}

Duration durationOf(const TraceEvent& event, const chips::AscendTiming& timing,
                    double l1WriteRate) {
  if (event.kind == TraceKind::Vector)
    return {vectorCycles(event, timing), timing.vectorStartCycles};
  if (event.kind == TraceKind::Cube)
    return cubeDuration(event, timing, l1WriteRate);
  // A copy inside the core.
  return {double(event.bytes) / timing.ubToUbBytes + timing.copyIssueCycles, 0};
}

bool isTransfer(const TraceEvent& event) {
  return (event.kind == TraceKind::Copy ||
          (event.kind == TraceKind::Cube && CubeOp(event.op) == CubeOp::Fixpipe)) &&
         (event.from == Space::GM || event.to == Space::GM);
}

TransferLimit transferLimit(const TraceEvent& event, const chips::AscendTiming& timing) {
  if (event.kind == TraceKind::Cube)
    return {timing.l0cToGmBytes, timing.fixpipeLatencyCycles};
  if (event.from == Space::GM && event.to == Space::UB)
    return {timing.gmToUbBytes, 0};
  if (event.from == Space::GM) {
    bool changesLayout = CopyKind(event.op) == CopyKind::Nd2Nz;
    return {timing.gmToL1Bytes, changesLayout ? timing.gmToL1RowCycles * event.rows : 0};
  }
  return {timing.ubToGmBytes, 0};
}

double leastPathCycles(const TraceEvent& event, const chips::AscendTiming& timing) {
  auto bytes = double(event.bytes);
  auto leads = [&](Space from, Space to) { return event.from == from && event.to == to; };
  if (leads(Space::GM, Space::UB))
    return bytes / timing.gmToUbBytes;
  if (leads(Space::GM, Space::L1))
    return bytes / timing.gmToL1TotalBytes;
  if (leads(Space::UB, Space::GM))
    return bytes / timing.ubToGmBytes;
  if (leads(Space::L0C, Space::GM))
    return bytes / timing.l0cToGmBytes;
  if (leads(Space::L0C, Space::L1))
    return bytes / bytesOf(event.type) / timing.fixpipeElements;
  if (leads(Space::UB, Space::UB))
    return bytes / timing.ubToUbBytes;
  if (leads(Space::L1, Space::L0A))
    return bytes / timing.l1ToL0aBytes;
  if (leads(Space::L1, Space::L0B))
    return bytes / timing.l1ToL0bBytes;
  if (leads(Space::L1, Space::BT) || leads(Space::L1, Space::FB))
    return bytes / timing.l1ToBiasBytes;
  return 0;
}

} // namespace tilewright::ascend
