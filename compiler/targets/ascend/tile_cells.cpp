// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/tile_cells.h"

#include <algorithm>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// More would take long to follow.
constexpr size_t kMostCells = 1024;

IndexRange rangeOf(OpFoldResult number, IndexRanges& ranges) {
  if (const std::optional<int64_t> known = getConstantIntValue(number))
    return {*known, *known};
  return ranges.rangeOf(cast<Value>(number));
}

int64_t addUpTo(int64_t value, int64_t more, int64_t limit) {
  return value >= limit - more ? limit : value + more;
}

} // namespace

bool TileBox::isEmpty() const {
  return llvm::any_of(llvm::zip(low, high),
                      [](const auto& ends) { return std::get<0>(ends) >= std::get<1>(ends); });
}

TileBoxes boxesOf(const tile::BufferRegion& region, IndexRanges& ranges) {
  TileBoxes boxes;
  for (auto [dim, limit] : llvm::enumerate(region.type().getShape())) {
    const IndexRange offset = rangeOf(region.offsets[dim], ranges),
                     extent = rangeOf(region.extents[dim], ranges);
    const int64_t first = std::clamp<int64_t>(offset.low, 0, limit),
                  last = std::clamp<int64_t>(offset.high, 0, limit),
                  most = std::clamp<int64_t>(extent.high, 0, limit),
                  least = std::clamp<int64_t>(extent.low, 0, limit);
    boxes.most.low.push_back(first);
    boxes.most.high.push_back(addUpTo(last, most, limit));
    boxes.least.low.push_back(last);
    boxes.least.high.push_back(addUpTo(first, least, limit));
  }
  return boxes;
}

TileCells::TileCells(ArrayRef<int64_t> shape) {
  for (const int64_t extent : shape)
    edges.push_back({0, extent});
}

bool TileCells::cut(const TileBox& box) {
  bool isCut = false;
  if (box.isEmpty())
    return false;
  for (size_t dim = 0; dim < edges.size(); ++dim)
    for (const int64_t edge : {box.low[dim], box.high[dim]}) {
      auto* place = llvm::lower_bound(edges[dim], edge);
      if ((place != edges[dim].end() && *place == edge) || count() >= kMostCells)
        continue;
      edges[dim].insert(place, edge);
      isCut = true;
    }
  return isCut;
}

size_t TileCells::count() const {
  size_t number = 1;
  for (const auto& dim : edges)
    number *= dim.size() - 1;
  return number;
}

void TileCells::forEachWithin(const TileBox& box, llvm::function_ref<void(size_t)> visit) const {
  forEach(box, /*isWithin=*/true, visit);
}

void TileCells::forEachMeeting(const TileBox& box, llvm::function_ref<void(size_t)> visit) const {
  forEach(box, /*isWithin=*/false, visit);
}

void TileCells::forEach(const TileBox& box, bool isWithin,
                        llvm::function_ref<void(size_t)> visit) const {
  SmallVector<size_t> numbers = {0};
  for (size_t dim = 0; dim < edges.size(); ++dim) {
    SmallVector<size_t> next;
    for (size_t at = 0; at + 1 < edges[dim].size(); ++at) {
      const int64_t low = edges[dim][at], high = edges[dim][at + 1];
      const bool isTaken = isWithin ? low >= box.low[dim] && high <= box.high[dim]
                                    : low < box.high[dim] && high > box.low[dim];
      if (isTaken)
        for (const size_t number : numbers)
          next.push_back(number * (edges[dim].size() - 1) + at);
    }
    numbers = std::move(next);
  }
  for (const size_t number : numbers)
    visit(number);
}

} // namespace tilewright::ascend
