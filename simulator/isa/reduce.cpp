// SPDX-License-Identifier: Apache-2.0
// Reductions. A sum is a tree of neighbours within a repeat (or block), rounded to the element type
// at each step; sums of several repeats are added in order.
#include "simulator/isa/number_formats.h"
#include "simulator/isa/vector.h"

#include <cmath>
#include <cstring>

namespace tilewright::ascend::isa {

namespace {

bool isSum(VectorOp op) {
  return op == VectorOp::WholeReduceSum || op == VectorOp::BlockReduceSum ||
         op == VectorOp::PairReduceSum || op == VectorOp::RepeatReduceSum ||
         op == VectorOp::ReduceSum;
}
bool isMax(VectorOp op) {
  return op == VectorOp::WholeReduceMax || op == VectorOp::BlockReduceMax ||
         op == VectorOp::ReduceMax;
}
bool isWhole(VectorOp op) {
  return op <= VectorOp::WholeReduceMin || op == VectorOp::RepeatReduceSum;
}

float roundTo(DType type, float value) {
  return type == DType::F16 ? toFloat(toHalf(value)) : value;
}

struct Lanes {
  float value[128];
  bool active[128];
  uint32_t count = 0;
};

void loadRepeat(const VectorInstr& i, const VectorShape& shape, const uint8_t* src, Steps s,
                uint32_t rep, Lanes& lanes) {
  lanes.count = shape.lanes;
  std::memset(lanes.active, 0, sizeof lanes.active);
  uint32_t limit = rep + 1 == shape.repeats && shape.lastLanes ? shape.lastLanes : shape.lanes;
  for (unsigned r = 0; r < shape.numRuns; ++r)
    for (uint32_t lane = shape.runs[r].first;
         lane < std::min<uint32_t>(shape.runs[r].first + shape.runs[r].count, limit); ++lane) {
      lanes.value[lane] = static_cast<float>(loadElement(src + s.offset(rep, lane), i.src0.type));
      lanes.active[lane] = true;
    }
}

/// Sum of lanes [first, first + count); count is a power of two. Inactive lanes count as 0.
float treeSum(const Lanes& lanes, uint32_t first, uint32_t count, DType type) {
  float level[128];
  for (uint32_t k = 0; k < count; ++k)
    level[k] = lanes.active[first + k] ? lanes.value[first + k] : 0.0f;
  for (uint32_t n = count; n > 1; n /= 2)
    for (uint32_t k = 0; k < n / 2; ++k)
      level[k] = roundTo(type, level[2 * k] + level[2 * k + 1]);
  return level[0];
}

struct Extreme {
  float value = 0;
  uint32_t index = 0;
  bool any = false;
};
/// The first of the largest (or smallest) active lanes.
Extreme extremeOf(const Lanes& lanes, uint32_t first, uint32_t count, bool max) {
  Extreme e;
  for (uint32_t k = 0; k < count; ++k) {
    if (!lanes.active[first + k])
      continue;
    float v = lanes.value[first + k];
    if (!e.any || (max ? v > e.value : v < e.value) || (v != v && e.value == e.value))
      e = {v, k, true};
  }
  return e;
}

void storeIndex(uint8_t* at, DType type, uint32_t index) {
  std::memcpy(at, &index, bytesOf(type));
}

/// Bytes between the results of two repeats, and bytes of one result.
struct ResultLayout {
  uint64_t stride, bytes;
};
ResultLayout layoutOf(const VectorInstr& i) {
  uint64_t size = bytesOf(i.dst.type);
  constexpr uint64_t blocks = 8;
  if (i.op == VectorOp::PairReduceSum)
    return {i.dstRep * repeatBytes / 2ull, repeatBytes / 2};
  if (!isWhole(i.op))
    return {i.dstRep * blocks * size, blocks * size};
  if (isSum(i.op))
    return {i.dstRep * size, size};
  switch (static_cast<ReduceOrder>(i.mode)) {
  case ReduceOrder::OnlyValue:
    return {i.dstRep * size, size};
  case ReduceOrder::OnlyIndex:
    return {i.dstRep * 4ull, 4};
  default:
    return {i.dstRep * 2 * size, 2 * size};
  }
}

std::string inspectReduce(const VectorInstr& i, AccessList& list, const Context&) {
  uint32_t size = bytesOf(i.src0.type);
  if (i.src0.type != DType::F32 && i.src0.type != DType::F16)
    return wrongTypes(i);
  if (auto e = checkForm(i, repeatBytes / size); !e.empty())
    return e;
  VectorShape shape = shapeOf(i, size);
  shape.flat = false;
  addAccess(list, i.src0, shape, stepsOf(size, i.src0Blk, i.src0Rep), AccessKind::Read);
  ResultLayout result = layoutOf(i);
  Region r;
  r.begin = i.dst.address;
  r.length = result.bytes;
  if (!isWhole(i.op) && i.op != VectorOp::PairReduceSum && i.form == VectorForm::Mask &&
      i.maskLength) // blocks without an active lane keep what dst held
    r.length = (i.maskLength * size + blockBytes - 1) / blockBytes * size;
  r.inner = shape.repeats;
  r.innerStride = static_cast<int64_t>(result.stride);
  list.add(i.dst, r, AccessKind::Write);
  return {};
}

void storeWhole(const VectorInstr& i, const Lanes& lanes, uint8_t* out, const Context& context) {
  DType type = i.dst.type;
  uint32_t size = bytesOf(type);
  if (isSum(i.op)) {
    float sum = treeSum(lanes, 0, lanes.count, type);
    storeElement(out, type, sum);
    std::memcpy(&context.results->accumulated, out, size);
    return;
  }
  Extreme e = extremeOf(lanes, 0, lanes.count, isMax(i.op));
  storeElement(reinterpret_cast<uint8_t*>(&context.results->extreme), type, e.value);
  context.results->extremeIndex = e.index;
  switch (static_cast<ReduceOrder>(i.mode)) {
  case ReduceOrder::ValueIndex:
    storeElement(out, type, e.value);
    storeIndex(out + size, type, e.index);
    return;
  case ReduceOrder::IndexValue:
    storeIndex(out, type, e.index);
    storeElement(out + size, type, e.value);
    return;
  case ReduceOrder::OnlyValue:
    storeElement(out, type, e.value);
    return;
  case ReduceOrder::OnlyIndex:
    std::memcpy(out, &e.index, sizeof e.index);
    return;
  }
}

void runReduce(const VectorInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.src0.type);
  VectorShape shape = shapeOf(i, size);
  Steps s = stepsOf(size, i.src0Blk, i.src0Rep);
  ResultLayout result = layoutOf(i);
  Lanes lanes;
  for (uint32_t rep = 0; rep < shape.repeats; ++rep) {
    loadRepeat(i, shape, context.at(i.src0), s, rep, lanes);
    uint8_t* out = context.at(i.dst) + rep * result.stride;
    if (isWhole(i.op)) {
      storeWhole(i, lanes, out, context);
      continue;
    }
    uint32_t each = i.op == VectorOp::PairReduceSum ? 2 : blockBytes / size;
    for (uint32_t k = 0; k * each < lanes.count; ++k) {
      bool any = false;
      for (uint32_t lane = 0; lane < each; ++lane)
        any = any || lanes.active[k * each + lane];
      if (!any)
        continue;
      float value = isSum(i.op) ? treeSum(lanes, k * each, each, i.dst.type)
                                : extremeOf(lanes, k * each, each, isMax(i.op)).value;
      storeElement(out + k * size, i.dst.type, value);
    }
  }
}

// --- all repeats to one result --------------------------------------------------------------

/// The count form as repeats.
VectorInstr asRepeats(const VectorInstr& i) {
  VectorInstr r = i;
  if (i.form != VectorForm::Count)
    return r;
  r.form = VectorForm::Register; // counter mode
  r.mask[0] = i.count;
  r.src0Blk = 1;
  r.src0Rep = 8;
  return r;
}

/// What is wrong with the temporary memory: it is documented to take a value, of extremes also an index, of each whole
/// repeat, in blocks of 32 bytes.
std::string checkWork(const VectorInstr& i) {
  uint32_t size = bytesOf(i.src0.type);
  uint64_t repeats =
      i.form == VectorForm::Count ? std::max<uint64_t>(i.count * size / repeatBytes, 1) : i.repeat;
  uint64_t bytes = repeats * size * (isSum(i.op) ? 1 : 2);
  uint64_t needed = (bytes + blockBytes - 1) / blockBytes * blockBytes;
  if (!i.aux.bytes || needed <= i.aux.bytes)
    return {};
  return "sharedTmpBuffer has " + std::to_string(i.aux.bytes) + " bytes, but " +
         std::to_string(repeats) + " repeats need " + std::to_string(needed) + ": a value " +
         (isSum(i.op) ? "" : "and an index ") + "of each [ErrorWrite2]";
}

std::string inspectReduceAll(const VectorInstr& given, AccessList& list, const Context&) {
  VectorInstr i = asRepeats(given);
  uint32_t size = bytesOf(i.src0.type);
  if (i.src0.type != DType::F32 && i.src0.type != DType::F16)
    return wrongTypes(i);
  if (auto e = checkForm(i, repeatBytes / size); !e.empty())
    return e;
  if (auto e = checkWork(given); !e.empty())
    return e;
  VectorShape shape = shapeOf(i, size);
  shape.flat = false;
  addAccess(list, i.src0, shape, stepsOf(size, i.src0Blk, i.src0Rep), AccessKind::Read);
  bool pairs = !isSum(i.op);
  uint64_t work = shape.repeats * size * (pairs ? 2 : 1); // a value (and an index) of each repeat
  if (i.aux.bytes || i.aux.isWithoutMemory)
    addFlat(list, i.aux, i.aux.bytes ? std::min(work, i.aux.bytes) : work, AccessKind::Write);
  addFlat(list, i.dst, pairs && i.flag ? 2 * size : size, AccessKind::Write);
  return {};
}

void runReduceAll(const VectorInstr& given, const Context& context) {
  VectorInstr i = asRepeats(given);
  uint32_t size = bytesOf(i.src0.type);
  VectorShape shape = shapeOf(i, size);
  if (!shape.repeats)
    return;
  shape.flat = false;
  Steps s = stepsOf(size, i.src0Blk, i.src0Rep);
  uint8_t* out = context.at(i.dst);
  Lanes lanes;
  float sum = 0;
  Extreme best;
  for (uint32_t rep = 0; rep < shape.repeats; ++rep) {
    loadRepeat(i, shape, context.at(i.src0), s, rep, lanes);
    if (isSum(i.op)) {
      float part = treeSum(lanes, 0, lanes.count, i.dst.type);
      sum = rep ? roundTo(i.dst.type, sum + part) : part;
      continue;
    }
    Extreme e = extremeOf(lanes, 0, lanes.count, isMax(i.op));
    if (e.any && (!best.any || (isMax(i.op) ? e.value > best.value : e.value < best.value)))
      best = {e.value, rep * shape.lanes + e.index, true};
  }
  if (isSum(i.op)) {
    storeElement(out, i.dst.type, sum);
    std::memcpy(&context.results->accumulated, out, size);
    return;
  }
  storeElement(out, i.dst.type, best.value);
  std::memcpy(&context.results->extreme, out, size);
  context.results->extremeIndex = best.index;
  if (i.flag)
    storeIndex(out + size, i.dst.type, best.index);
}

} // namespace

uint64_t resultBytes(const VectorInstr& i) {
  if (i.op <= VectorOp::RepeatReduceSum)
    return layoutOf(i).bytes;
  bool hasIndex = i.op != VectorOp::ReduceSum && i.flag;
  return bytesOf(i.dst.type) * (hasIndex ? 2 : 1);
}

const VectorGroup reduceGroup = {inspectReduce, runReduce};
const VectorGroup reduceAllGroup = {inspectReduceAll, runReduceAll};

} // namespace tilewright::ascend::isa
