// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/region_overlap.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::tile {
namespace {

using namespace mlir;

/// Of the rows that are compared one by one.
constexpr int64_t kMostRows = int64_t{1} << 16;

/// An index as a number behind a value, which is null where there is only the number.
std::pair<Value, int64_t> sumOf(OpFoldResult index) {
  if (const std::optional<int64_t> number = getConstantIntValue(index))
    return {Value(), *number};
  Value value = cast<Value>(index);
  int64_t more = 0;
  while (auto add = value.getDefiningOp<arith::AddIOp>()) {
    const std::optional<int64_t> number = getConstantIntValue(add.getRhs());
    if (!number)
      break;
    more += *number;
    value = add.getLhs();
  }
  return {value, more};
}

/// to - from, if that is a number for sure.
std::optional<int64_t> distance(OpFoldResult from, OpFoldResult to) {
  const auto [base, number] = sumOf(from);
  const auto [other, more] = sumOf(to);
  return base == other ? std::optional(more - number) : std::nullopt;
}

Overlap compareBoxes(const BufferRegion& a, const BufferRegion& b) {
  const SmallVector<int64_t> counts = a.staticExtents(), others = b.staticExtents();
  bool isSame = true, isCertain = true;
  for (size_t dim = 0; dim < counts.size(); ++dim) {
    const std::optional<int64_t> step = distance(a.offsets[dim], b.offsets[dim]);
    const bool isKnown = !ShapedType::isDynamic(counts[dim]),
               isOther = !ShapedType::isDynamic(others[dim]);
    if (step && ((isKnown && *step >= counts[dim]) || (isOther && -*step >= others[dim])))
      return Overlap::None;
    isSame &= step == 0 && a.extents[dim] == b.extents[dim];
    isCertain &= step && isKnown && isOther && counts[dim] > 0 && others[dim] > 0;
  }
  return isSame ? Overlap::Same : isCertain ? Overlap::Certain : Overlap::Possible;
}

/// A range of bits, counted from where the storage begins.
using Bits = std::pair<int64_t, int64_t>;

/// What the rows of a part take, in rising order; nothing where that isn't known, or too much.
std::optional<SmallVector<Bits>> rowsOf(const BufferRegion& region) {
  const BufferType type = region.type();
  const SmallVector<int64_t> offsets = region.staticOffsets(), extents = region.staticExtents();
  const auto isUnknown = [](ArrayRef<int64_t> numbers) {
    return llvm::any_of(numbers, ShapedType::isDynamic);
  };
  if (isUnknown(offsets) || isUnknown(extents) || !type.hasStaticShape() || type.getStrided() ||
      type.getSpace() == MemorySpace::UB) // whose rows are padded
    return std::nullopt;
  const int64_t bits = int64_t(type.getElementBits());
  SmallVector<int64_t> firsts = {0};
  int64_t last = 1;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    const bool isLast = dim + 1 == type.getShape().size();
    const int64_t rows = isLast ? 1 : extents[dim];
    last = isLast ? extents[dim] : 1;
    if (offsets[dim] < 0 || extents[dim] < 0 || extents[dim] > size - offsets[dim] ||
        rows * int64_t(firsts.size()) > kMostRows)
      return std::nullopt;
    SmallVector<int64_t> next;
    for (int64_t first : firsts)
      for (int64_t row = 0; row < rows; ++row)
        next.push_back(first * size + offsets[dim] + row);
    firsts = std::move(next);
  }
  SmallVector<Bits> result;
  for (int64_t first : firsts)
    result.emplace_back(first * bits, (first + last) * bits);
  return result;
}

Overlap compareBits(const BufferRegion& a, const BufferRegion& b) {
  const auto rows = rowsOf(a), others = rowsOf(b);
  if (!rows || !others)
    return Overlap::Possible;
  const Bits *row = rows->begin(), *other = others->begin();
  while (row != rows->end() && other != others->end()) {
    if (row->first < other->second && other->first < row->second)
      return Overlap::Certain;
    (row->second <= other->first ? row : other)++;
  }
  return Overlap::None;
}

} // namespace

bool haveOneLayout(Value first, Value second) {
  if (first == second)
    return true;
  const auto a = cast<BufferType>(first.getType()), b = cast<BufferType>(second.getType());
  return a.getShape() == b.getShape() && a.getElementBits() == b.getElementBits() &&
         !a.getStrided() && !b.getStrided() &&
         llvm::none_of(a.getShape().drop_front(a.getRank() > 0), ShapedType::isDynamic);
}

Overlap compareParts(const BufferRegion& first, const BufferRegion& second) {
  return haveOneLayout(first.buffer, second.buffer) ? compareBoxes(first, second)
                                                    : compareBits(first, second);
}

} // namespace tilewright::tile
