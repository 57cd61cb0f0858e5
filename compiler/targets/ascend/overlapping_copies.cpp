// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/overlapping_copies.h"

#include "compiler/ir/npu_access.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

namespace {

/// to - from, if that is a number for sure.
std::optional<int64_t> distance(OpFoldResult from, OpFoldResult to) {
  const auto number = [](OpFoldResult index) { return getConstantIntValue(index).value_or(0); };
  const auto unknown = [](OpFoldResult index) {
    return getConstantIntValue(index) ? Value() : cast<Value>(index);
  };
  const std::optional<int64_t> more = differenceOf(unknown(to), unknown(from));
  return more ? std::optional(*more + number(to) - number(from)) : std::nullopt;
}

bool haveOneLayout(BufferType a, BufferType b) {
  return a.getShape() == b.getShape() && a.getElementBits() == b.getElementBits();
}

/// Of buffers of one layout: they are apart as soon as they are in one dim.
bool areApart(const BufferRegion& a, const BufferRegion& b) {
  const SmallVector<int64_t> counts = a.staticExtents(), others = b.staticExtents();
  for (size_t dim = 0; dim < counts.size(); ++dim) {
    const std::optional<int64_t> step = distance(a.offsets[dim], b.offsets[dim]);
    const bool isBehind = !ShapedType::isDynamic(counts[dim]) && step && *step >= counts[dim];
    const bool isBefore = !ShapedType::isDynamic(others[dim]) && step && -*step >= others[dim];
    if (isBehind || isBefore)
      return true;
  }
  return false;
}

/// The first bit of a region and the one behind its last, counted from where the tile begins.
std::optional<std::pair<int64_t, int64_t>> bitsOf(const BufferRegion& region) {
  int64_t first = 0, last = 0;
  const SmallVector<int64_t> strides = ubStrides(region.type()), counts = region.staticExtents();
  for (auto [offset, count, stride] : llvm::zip(region.staticOffsets(), counts, strides)) {
    if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(count))
      return std::nullopt;
    first += offset * stride;
    last += (offset + count - 1) * stride;
  }
  const int64_t bits = int64_t(region.type().getElementBits());
  return std::pair(first * bits, (last + 1) * bits);
}

} // namespace

bool mayOverlap(const BufferRegion& first, const BufferRegion& second) {
  if (first.type().getSpace() != MemorySpace::UB ||
      npu::storageOf(first.buffer) != npu::storageOf(second.buffer))
    return false;
  const BufferRegion a = withKnownExtents(first), b = withKnownExtents(second);
  if (haveOneLayout(a.type(), b.type()))
    return !areApart(a, b);
  const auto bits = bitsOf(a), others = bitsOf(b);
  return !bits || !others || (bits->first < others->second && others->first < bits->second);
}

static bool isInPlace(const BufferRegion& source, const BufferRegion& target) {
  return haveOneLayout(source.type(), target.type()) && isSameRegion(source, target);
}

bool mayOverwriteSource(tile::CopyOp copy) {
  const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  return mayOverlap(source, target) && (copy.getTranspose() || !isInPlace(source, target));
}

bool mayOverwriteSource(tile::ScanOp scan) {
  const BufferRegion source = scan.getSourceRegion(), target = scan.getTargetRegion();
  return mayOverlap(source, target) && !isInPlace(source, target);
}

} // namespace tilewright::ascend
