// SPDX-License-Identifier: Apache-2.0
// Advanced functions of rows: softmax and its parts, norms, top-k, padding, quantisation. On the chip they are
// sequences of instructions; here the documented result is computed in float and rounded once, but for
// Quantise, which is documented to go through half.
#include "simulator/isa/number_formats.h"
#include "simulator/isa/vector.h"

#include <cmath>
#include <cstring>
#include <numeric>

namespace tilewright::ascend::isa {

namespace {

constexpr uint32_t noOperand = 0; // lists hold an address plus 1

/// A view of a row of one operand.
struct Cells {
  uint8_t* at;
  DType type;

  float get(uint64_t i) const {
    return static_cast<float>(loadElement(at + i * bytesOf(type), type));
  }
  void set(uint64_t i, double value) const {
    storeElement(at + i * bytesOf(type), type, value);
  }
};
Cells rowOf(const Context& context, const Operand& o, uint64_t row, uint64_t pitch) {
  return {context.at(o) + row * pitch * bytesOf(o.type), o.type};
}
bool has(const VectorInstr& i, unsigned k) {
  return i.lists[k] != noOperand;
}
Operand listOperand(const VectorInstr& i, unsigned k, DType type) {
  Operand o;
  o.isWithoutMemory = i.lists[k] == VectorInstr::listWithoutMemory;
  o.address = o.isWithoutMemory ? 0 : i.lists[k] - 1u;
  o.type = type;
  return o;
}
RowFunction functionOf(const VectorInstr& i) {
  return static_cast<RowFunction>(i.mode);
}
bool isSoftmax(RowFunction f) {
  return f <= RowFunction::SoftmaxSimple;
}
bool isNorm(RowFunction f) {
  return f >= RowFunction::LayerNorm && f <= RowFunction::RmsNorm;
}
bool isQuantisation(RowFunction f) {
  return f >= RowFunction::Quantise;
}
DType listType(const VectorInstr& i, unsigned k) {
  return isSoftmax(functionOf(i)) && k == 2 ? i.src0.type : i.extra.type;
}

bool typesFit(const VectorInstr& i) {
  auto isFloat = [](DType t) { return t == DType::F32 || t == DType::F16; };
  switch (functionOf(i)) {
  case RowFunction::Quantise:
    return isFloat(i.src0.type) && i.dst.type == DType::I8;
  case RowFunction::Dequantise:
    return i.src0.type == DType::I32 && (isFloat(i.dst.type) || i.dst.type == DType::BF16);
  case RowFunction::Pad:
    return i.dst.type == i.src0.type && (bytesOf(i.dst.type) == 2 || bytesOf(i.dst.type) == 4);
  case RowFunction::AntiQuantise:
    return i.src0.type == DType::I8 && i.dst.type == DType::F16;
  default:
    return isFloat(i.src0.type) && i.dst.type == i.src0.type;
  }
}

void addRows(AccessList& list, const VectorInstr& i, const Operand& o, uint64_t count,
             uint64_t pitch, AccessKind kind) {
  Region r;
  r.begin = o.address;
  r.length = count * bytesOf(o.type);
  r.inner = i.repeat;
  r.innerStride = static_cast<int64_t>(pitch * bytesOf(o.type));
  list.add(o, r, kind);
}

void addTopK(AccessList& list, const VectorInstr& i) {
  addRows(list, i, i.src0, i.count, i.scalar, AccessKind::Read);
  if (has(i, 1)) // one row of indices for all
    addFlat(list, listOperand(i, 1, DType::I32), i.count * 4, AccessKind::Read);
  if (has(i, 2))
    addFlat(list, listOperand(i, 2, DType::U8), i.repeat, AccessKind::Read);
  addRows(list, i, i.dst, i.lengths[0], i.lengths[1], AccessKind::Write);
  addRows(list, i, listOperand(i, 0, DType::I32), i.lengths[0], i.lengths[2], AccessKind::Write);
}

std::string inspectRows(const VectorInstr& i, AccessList& list, const Context&) {
  RowFunction f = functionOf(i);
  if (!typesFit(i))
    return wrongTypes(i);
  if (auto e = misaligned(i.dst, "dst", blockBytes, true); !e.empty())
    return e;
  if (auto e = misaligned(i.src0, "src", blockBytes, false); !e.empty())
    return e;
  if (f == RowFunction::TopK) {
    addTopK(list, i);
    return {};
  }
  addRows(list, i, i.src0, i.count, i.scalar, AccessKind::Read);
  if (f == RowFunction::Pad) {
    Operand first = i.dst;
    first.address += i.flag ? 0 : i.lengths[0] * bytesOf(i.dst.type);
    addRows(list, i, first, i.flag ? i.lengths[1] : i.count, i.lengths[1], AccessKind::Write);
    return {};
  }
  constexpr unsigned outputs = 2, expMax = 2, inputs = 3, end = 5;
  for (unsigned k = 0; k < end && isSoftmax(f); ++k)
    if (has(i, k) && (k >= inputs))
      addFlat(list, listOperand(i, k, i.extra.type), uint64_t{i.repeat} * blockBytes,
              AccessKind::Read);
  if (isNorm(f) || (isQuantisation(f) && i.src1.bytes))
    addFlat(list, i.src1, i.count * bytesOf(i.src1.type), AccessKind::Read);
  if ((isNorm(f) && f != RowFunction::RmsNorm) || (isQuantisation(f) && i.aux.bytes))
    addFlat(list, i.aux, i.count * bytesOf(i.aux.type), AccessKind::Read);
  addRows(list, i, i.dst, i.count, i.scalar, AccessKind::Write);
  for (unsigned k = 0; k < outputs + (isSoftmax(f) ? 1 : 0); ++k)
    if (has(i, k) && !isQuantisation(f)) {
      DType type = listType(i, k);
      uint64_t bytes = uint64_t{i.repeat} * (isSoftmax(f) ? blockBytes : bytesOf(type));
      static_assert(expMax == outputs);
      addFlat(list, listOperand(i, k, type), bytes, AccessKind::Write);
    }
  return {};
}

/// Sums neighbours, then their sums.
float treeSum(std::vector<float> v) {
  while (v.size() > 1) {
    size_t half = (v.size() + 1) / 2;
    for (size_t k = 0; k < half; ++k)
      v[k] = 2 * k + 1 < v.size() ? v[2 * k] + v[2 * k + 1] : v[2 * k];
    v.resize(half);
  }
  return v.empty() ? 0 : v[0];
}

void fillBlock(const Context& context, const VectorInstr& i, unsigned k, uint64_t row,
               float value) {
  if (!has(i, k))
    return;
  DType type = listType(i, k);
  uint32_t lanes = blockBytes / bytesOf(type);
  Cells block = rowOf(context, listOperand(i, k, type), row, lanes);
  for (uint32_t e = 0; e < lanes; ++e)
    block.set(e, value);
}

void runSoftmax(const VectorInstr& i, const Context& context, uint64_t row) {
  RowFunction f = functionOf(i);
  Cells src = rowOf(context, i.src0, row, i.scalar), dst = rowOf(context, i.dst, row, i.scalar);
  auto input = [&](unsigned k) {
    DType type = i.extra.type;
    return rowOf(context, listOperand(i, k, type), row, blockBytes / bytesOf(type)).get(0);
  };
  bool update = f == RowFunction::SoftmaxUpdate, simple = f == RowFunction::SoftmaxSimple;
  constexpr unsigned sumOut = 0, maxOut = 1, expMaxOut = 2, sumIn = 3, maxIn = 4;
  float before = update || simple ? input(maxIn) : 0,
        sumBefore = update || simple ? input(sumIn) : 0;
  float max = simple ? before : update ? before : src.get(0);
  for (uint64_t k = 0; k < i.count && !simple; ++k)
    max = std::max(max, src.get(k));
  std::vector<float> exps(i.count);
  for (uint64_t k = 0; k < i.count; ++k)
    exps[k] = std::exp(src.get(k) - max);
  float sum = simple ? sumBefore : treeSum(exps);
  bool divides = f == RowFunction::Softmax || simple;
  for (uint64_t k = 0; k < i.count; ++k)
    dst.set(k, divides ? exps[k] / sum : exps[k]);
  if (simple)
    return;
  float scale = update ? std::exp(before - max) : 1;
  fillBlock(context, i, sumOut, row, update ? scale * sumBefore + sum : sum);
  fillBlock(context, i, maxOut, row, max);
  if (update)
    fillBlock(context, i, expMaxOut, row, scale);
}

void runNorm(const VectorInstr& i, const Context& context, uint64_t row) {
  RowFunction f = functionOf(i);
  Cells src = rowOf(context, i.src0, row, i.scalar), dst = rowOf(context, i.dst, row, i.scalar);
  Cells gamma = rowOf(context, i.src1, 0, 0);
  auto n = static_cast<float>(i.count);
  auto epsilon = static_cast<float>(i.scalarValue);
  std::vector<float> x(i.count), squares(i.count);
  for (uint64_t k = 0; k < i.count; ++k)
    x[k] = src.get(k);
  float mean = f == RowFunction::RmsNorm ? 0 : treeSum(x) / n;
  for (uint64_t k = 0; k < i.count; ++k)
    squares[k] = (x[k] - mean) * (x[k] - mean);
  float variance = treeSum(squares) / n, rstd = 1 / std::sqrt(variance + epsilon);
  for (uint64_t k = 0; k < i.count; ++k) {
    float y = (x[k] - mean) * rstd * gamma.get(k);
    dst.set(k, f == RowFunction::RmsNorm ? y : y + rowOf(context, i.aux, 0, 0).get(k));
  }
  if (f == RowFunction::RmsNorm)
    return;
  rowOf(context, listOperand(i, 0, i.extra.type), 0, 0).set(row, mean);
  rowOf(context, listOperand(i, 1, i.extra.type), 0, 0)
      .set(row, f == RowFunction::LayerNorm ? variance : rstd);
}

/// Equal values keep the order of the source.
void runTopK(const VectorInstr& i, const Context& context, uint64_t row) {
  Cells src = rowOf(context, i.src0, row, i.scalar), dst = rowOf(context, i.dst, row, i.lengths[1]);
  std::vector<uint32_t> order(i.count);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    float x = src.get(a), y = src.get(b);
    return (i.flag ? x > y : x < y) || (x == y && a < b);
  });
  uint8_t* index = context.at(listOperand(i, 0, DType::I32)) + row * i.lengths[2] * 4;
  bool finished = has(i, 2) && *(context.at(listOperand(i, 2, DType::U8)) + row);
  std::vector<float> values(i.lengths[0]);
  for (uint32_t k = 0; k < i.lengths[0]; ++k)
    values[k] = src.get(order[k]);
  for (uint32_t k = 0; k < i.lengths[0]; ++k) {
    dst.set(k, values[k]);
    auto number = static_cast<int32_t>(order[k]);
    if (has(i, 1))
      std::memcpy(&number, context.at(listOperand(i, 1, DType::I32)) + order[k] * 4u,
                  sizeof number);
    if (finished)
      number = static_cast<int32_t>(i.count);
    std::memcpy(index + k * 4u, &number, sizeof number);
  }
}

void runPad(const VectorInstr& i, const Context& context, uint64_t row) {
  uint32_t size = bytesOf(i.dst.type);
  Cells dst = rowOf(context, i.dst, row, i.lengths[1]);
  for (uint64_t k = 0; i.flag && k < i.lengths[1]; ++k)
    dst.set(k, i.scalarValue);
  std::memmove(dst.at + i.lengths[0] * size, rowOf(context, i.src0, row, i.scalar).at,
               i.count * size);
}

void runQuantisation(const VectorInstr& i, const Context& context, uint64_t row) {
  RowFunction f = functionOf(i);
  Cells src = rowOf(context, i.src0, row, i.scalar), dst = rowOf(context, i.dst, row, i.scalar);
  float offset;
  std::memcpy(&offset, &i.lists[0], sizeof offset);
  auto half = [](float x) { return toFloat(toHalf(x)); };
  for (uint64_t k = 0; k < i.count; ++k) {
    float scale =
        i.src1.bytes ? rowOf(context, i.src1, 0, 0).get(k) : static_cast<float>(i.scalarValue);
    float shift = i.aux.bytes ? rowOf(context, i.aux, 0, 0).get(k) : offset;
    float x = src.get(k);
    if (f == RowFunction::Quantise) {
      float y = std::nearbyint(half(half(half(x) * half(scale)) + half(shift)));
      dst.set(k, y != y ? 0 : std::min(std::max(y, -128.0f), 127.0f));
    } else if (f == RowFunction::Dequantise) {
      dst.set(k, x * scale);
    } else {
      dst.set(k, half((x + half(shift))) * half(scale));
    }
  }
}

void runRows(const VectorInstr& i, const Context& context) {
  RowFunction f = functionOf(i);
  auto run = isSoftmax(f)             ? runSoftmax
             : isNorm(f)              ? runNorm
             : f == RowFunction::TopK ? runTopK
             : f == RowFunction::Pad  ? runPad
                                      : runQuantisation;
  for (uint64_t row = 0; row < i.repeat; ++row)
    run(i, context, row);
}

} // namespace

const VectorGroup rowGroup = {inspectRows, runRows};

} // namespace tilewright::ascend::isa
