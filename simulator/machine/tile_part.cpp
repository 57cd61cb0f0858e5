// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/tile_part.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright::ascend {

namespace {

using Range = std::pair<int64_t, int64_t>;

std::string list(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

/// From which element on to before which one each dim of more than one element is moved, of those of the tensor's part.
/// Nothing if all of it lies beyond the tensor.
std::optional<std::vector<Range>> movedOf(const TilePart& part) {
  std::vector<Range> moved;
  for (uint64_t dim = 0; dim < part.tensorRank; ++dim) {
    const PartDim& each = part.tensor[dim];
    const int64_t begin = std::max<int64_t>(-each.first, 0),
                  end = std::min(each.extent, each.size - each.first);
    if (begin >= end)
      return std::nullopt;
    if (each.extent != 1)
      moved.emplace_back(begin, end);
  }
  if (part.isTransposed && moved.size() > 1)
    std::swap(moved[moved.size() - 1], moved[moved.size() - 2]);
  return moved;
}

} // namespace

std::string outsideOf(const TilePart& part) {
  const std::optional<std::vector<Range>> moved = movedOf(part);
  if (!moved)
    return {};
  std::vector<int64_t> first, last, shape;
  bool isWithin = true;
  uint64_t next = 0;
  for (uint64_t dim = 0; dim < part.rank; ++dim) {
    const PartDim& each = part.dims[dim];
    Range range{0, each.extent};
    if (each.extent != 1 && next < moved->size())
      range = (*moved)[next++];
    if (range.first >= range.second)
      return {};
    first.push_back(each.first + range.first);
    last.push_back(each.first + range.second - 1);
    shape.push_back(each.size);
    isWithin &= first.back() >= 0 && last.back() < each.size;
  }
  if (isWithin)
    return {};
  return "'" + std::string(part.tile) + (part.isWritten ? "' is written at [" : "' is read at [") +
         list(first) + "]" + (first == last ? "" : " to [" + list(last) + "]") +
         ", but its shape is (" + list(shape) + ")";
}

} // namespace tilewright::ascend
