// SPDX-License-Identifier: Apache-2.0
#include "simulator/memory/region.h"

#include <algorithm>

namespace tilewright::ascend {

void Region::normalise() {
  if (inner > 1 && innerStride == 0)
    inner = 1;
  if (outer > 1 && outerStride == 0)
    outer = 1;
  if (inner > 1 && innerStride > 0 && static_cast<uint64_t>(innerStride) <= length) {
    length += static_cast<uint64_t>(innerStride) * (inner - 1);
    inner = 1;
  }
  if (inner == 1 && outer > 1) {
    inner = outer;
    innerStride = outerStride;
    outer = 1;
    if (innerStride > 0 && static_cast<uint64_t>(innerStride) <= length) {
      length += static_cast<uint64_t>(innerStride) * (inner - 1);
      inner = 1;
    }
  } else if (inner > 1 && outer > 1 && outerStride == innerStride * static_cast<int64_t>(inner)) {
    inner *= outer;
    outer = 1;
  }
  if (inner == 1)
    innerStride = 0;
  if (outer == 1)
    outerStride = 0;
}

Interval Region::hull() const {
  int64_t low = 0, high = 0;
  int64_t a = innerStride * static_cast<int64_t>(inner - 1);
  int64_t b = outerStride * static_cast<int64_t>(outer - 1);
  low += std::min<int64_t>(a, 0) + std::min<int64_t>(b, 0);
  high += std::max<int64_t>(a, 0) + std::max<int64_t>(b, 0);
  return {begin + static_cast<uint64_t>(low), begin + static_cast<uint64_t>(high) + length};
}

void Region::intervals(std::vector<Interval>& out) const {
  size_t first = out.size();
  for (uint32_t o = 0; o < outer; ++o)
    for (uint32_t i = 0; i < inner; ++i) {
      uint64_t at = begin + static_cast<uint64_t>(outerStride * o + innerStride * i);
      out.push_back({at, at + length});
    }
  auto from = out.begin() + static_cast<std::ptrdiff_t>(first);
  auto less = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(from, out.end(), less))
    std::sort(from, out.end(), less);
  size_t kept = first;
  for (size_t i = first + 1; i < out.size(); ++i) {
    if (out[i].begin <= out[kept].end)
      out[kept].end = std::max(out[kept].end, out[i].end);
    else
      out[++kept] = out[i];
  }
  if (out.size() > first)
    out.resize(kept + 1);
}

bool Region::overlaps(const Region& other) const {
  Interval a = hull(), b = other.hull();
  if (a.end <= b.begin || b.end <= a.begin)
    return false;
  bool simple = inner == 1 && outer == 1, otherSimple = other.inner == 1 && other.outer == 1;
  if (simple && otherSimple)
    return true;
  bool sameRows = outer == 1 && other.outer == 1 && innerStride == other.innerStride;
  if (sameRows && innerStride > 0) {
    // Rows of one matrix: compare the columns, unless a row wraps around.
    auto pitch = static_cast<uint64_t>(innerStride);
    uint64_t low = begin < other.begin ? begin : other.begin;
    uint64_t columnA = (begin - low) % pitch, columnB = (other.begin - low) % pitch;
    if (columnA + length <= pitch && columnB + other.length <= pitch &&
        (columnA + length <= columnB || columnB + other.length <= columnA))
      return false;
  }
  std::vector<Interval> mine, theirs;
  intervals(mine);
  other.intervals(theirs);
  size_t i = 0, j = 0;
  while (i < mine.size() && j < theirs.size()) {
    if (mine[i].end <= theirs[j].begin)
      ++i;
    else if (theirs[j].end <= mine[i].begin)
      ++j;
    else
      return true;
  }
  return false;
}

Overlap overlapOf(const Region& a, const Region& b) {
  std::vector<Interval> ofA, ofB;
  a.intervals(ofA);
  b.intervals(ofB);
  Overlap overlap;
  for (size_t i = 0, k = 0; i < ofA.size() && k < ofB.size() && !overlap.more;) {
    Interval both{std::max(ofA[i].begin, ofB[k].begin), std::min(ofA[i].end, ofB[k].end)};
    if (both.begin < both.end) {
      overlap.more = overlap.first.end != 0;
      if (!overlap.more)
        overlap.first = both;
    }
    ++(ofA[i].end < ofB[k].end ? i : k);
  }
  return overlap;
}

} // namespace tilewright::ascend
