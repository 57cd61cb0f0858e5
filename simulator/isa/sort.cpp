// SPDX-License-Identifier: Apache-2.0
// Sorting: lists of 8-byte pairs (score, index), falling, equal scores in the order of the source.
// A half score lies in the first two bytes of its pair.
#include "simulator/isa/number_formats.h"
#include "simulator/isa/vector.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tilewright::ascend::isa {

namespace {

constexpr uint32_t pairBytes = 8;
constexpr uint32_t listLength = 32;
constexpr unsigned numLists = 4;

struct Pair {
  uint8_t bytes[pairBytes];
  uint32_t position = 0; ///< in the source: equal scores keep its order
};
float scoreOf(const Pair& p, DType type) {
  return static_cast<float>(loadElement(p.bytes, type));
}

const Operand& listOperand(const VectorInstr& i, unsigned k) {
  const Operand* all[numLists] = {&i.src0, &i.src1, &i.aux, &i.extra};
  return *all[k];
}

std::string inspectSortGroup(const VectorInstr& i, AccessList& list, const Context&) {
  DType type = i.src0.type;
  uint32_t size = bytesOf(type);
  if (type != DType::F32 && type != DType::F16)
    return wrongTypes(i);
  uint64_t all = uint64_t{i.repeat} * listLength;
  switch (i.op) {
  case VectorOp::Sort32:
    addFlat(list, i.src0, all * size, AccessKind::Read);
    addFlat(list, i.src1, all * sizeof(uint32_t), AccessKind::Read);
    addFlat(list, i.dst, all * pairBytes, AccessKind::Write);
    return {};
  case VectorOp::ExtractScores:
    addFlat(list, i.src0, all * pairBytes, AccessKind::Read);
    addFlat(list, i.dst, all * size, AccessKind::Write);
    addFlat(list, i.aux, all * sizeof(uint32_t), AccessKind::Write);
    return {};
  default:
    break;
  }
  uint64_t total = 0;
  bool equal = true;
  for (unsigned k = 0; k < numLists; ++k) {
    if (!(i.validBits >> k & 1))
      continue;
    constexpr unsigned longest = 4095;
    if (i.lengths[k] > longest)
      return "list " + std::to_string(k) + " has " + std::to_string(i.lengths[k]) +
             " elements, but at most 4095 are possible";
    equal = equal && i.lengths[k] == i.lengths[0];
    total += i.lengths[k];
  }
  if (i.repeat > 1 && (i.validBits != 15 || !equal))
    return "repeatTimes is " + std::to_string(i.repeat) +
           ", but only four lists of one length can be repeated";
  for (unsigned k = 0; k < numLists; ++k)
    if (i.validBits >> k & 1)
      addFlat(list, listOperand(i, k),
              (i.repeat > 1 && k == 0 ? total * i.repeat : i.lengths[k]) * pairBytes,
              AccessKind::Read);
  addFlat(list, i.dst, total * i.repeat * pairBytes, AccessKind::Write);
  return {};
}

void runSort32(const VectorInstr& i, const Context& context) {
  DType type = i.src0.type;
  uint32_t size = bytesOf(type);
  uint32_t length = i.flag ? i.repeat * listLength : listLength;
  std::vector<Pair> pairs(length);
  for (uint32_t begin = 0; begin < i.repeat * listLength; begin += length) {
    for (uint32_t k = 0; k < length; ++k) {
      std::memset(pairs[k].bytes, 0, pairBytes);
      pairs[k].position = k;
      std::memcpy(pairs[k].bytes, context.at(i.src0) + (begin + k) * size, size);
      std::memcpy(pairs[k].bytes + 4, context.at(i.src1) + (begin + k) * 4, 4);
    }
    std::sort(pairs.begin(), pairs.end(), [&](const Pair& a, const Pair& b) {
      float x = scoreOf(a, type), y = scoreOf(b, type);
      return x > y || (!(y > x) && a.position < b.position);
    });
    for (uint32_t k = 0; k < length; ++k)
      std::memcpy(context.at(i.dst) + (begin + k) * pairBytes, pairs[k].bytes, pairBytes);
  }
}

void runExtract(const VectorInstr& i, const Context& context) {
  uint32_t size = bytesOf(i.src0.type);
  const uint8_t* pairs = context.at(i.src0);
  for (uint32_t k = 0; k < i.repeat * listLength; ++k) {
    std::memcpy(context.at(i.dst) + k * size, pairs + k * pairBytes, size);
    std::memcpy(context.at(i.aux) + k * 4, pairs + k * pairBytes + 4, 4);
  }
}

void runMerge(const VectorInstr& i, const Context& context) {
  DType type = i.src0.type;
  uint64_t total = 0;
  for (unsigned k = 0; k < numLists; ++k)
    total += i.validBits >> k & 1 ? i.lengths[k] : 0;
  std::vector<Pair> out(total);
  for (uint32_t rep = 0; rep < i.repeat; ++rep) {
    uint32_t taken[numLists] = {0, 0, 0, 0};
    uint64_t made = 0;
    auto at = [&](unsigned k) {
      Pair p;
      std::memcpy(p.bytes, context.at(listOperand(i, k)) + (rep * total + taken[k]) * pairBytes,
                  pairBytes);
      return p;
    };
    auto left = [&](unsigned k) { return (i.validBits >> k & 1) && taken[k] < i.lengths[k]; };
    while (made < total) {
      int best = -1;
      for (unsigned k = 0; k < numLists; ++k)
        if (left(k) &&
            (best < 0 || scoreOf(at(k), type) > scoreOf(at(static_cast<unsigned>(best)), type)))
          best = static_cast<int>(k);
      auto b = static_cast<unsigned>(best);
      out[made++] = at(b);
      ++taken[b];
      if (i.flag && !left(b))
        break; // suspended when a list ends
    }
    for (uint64_t k = 0; k < made; ++k)
      std::memcpy(context.at(i.dst) + (rep * total + k) * pairBytes, out[k].bytes, pairBytes);
    std::copy(taken, taken + numLists, context.results->sortedCounts);
  }
}

void runSortGroup(const VectorInstr& i, const Context& context) {
  if (i.op == VectorOp::Sort32)
    return runSort32(i, context);
  if (i.op == VectorOp::ExtractScores)
    return runExtract(i, context);
  runMerge(i, context);
}

} // namespace

const VectorGroup sortGroup = {inspectSortGroup, runSortGroup};

} // namespace tilewright::ascend::isa
