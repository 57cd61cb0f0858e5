// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/column_copies.h"

#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/short_loops.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::MemorySpace;

/// Elements of a column at once: each takes a block of 32 bytes of UB.
static constexpr int64_t kMostElements = 256;

bool keepsElementsApart(const BufferRegion& global) {
  const SmallVector<size_t> dims = wideDims(global);
  return !dims.empty() && llvm::any_of(global.type().getShape().drop_front(dims.back() + 1),
                                       [](int64_t extent) { return extent != 1; });
}

/// The same copy of `extent` elements of one of its dims from `offset` on.
static tile::CopyOp copyPart(ImplicitLocOpBuilder& builder, tile::CopyOp copy, size_t number,
                             OpFoldResult offset, int64_t extent) {
  const IndexMaker make(builder);
  BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  for (BufferRegion* region : {&source, &target}) {
    const size_t dim = wideDims(*region)[number];
    region->offsets[dim] = make.add(region->offsets[dim], offset);
    region->extents[dim] = make.index(extent);
  }
  auto part = tile::CopyOp::create(builder, source, target);
  part.getPadMutable().assign(copy.getPad() ? ValueRange(copy.getPad()) : ValueRange());
  part.setSourceInBoundsAttr(copy.getSourceInBoundsAttr());
  part.takeEnds(copy);
  part.setTargetInBoundsAttr(copy.getTargetInBoundsAttr());
  return part;
}

SmallVector<tile::CopyOp> splitLines(tile::CopyOp copy) {
  const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  const BufferRegion &global = source.type().isGlobal() ? source : target,
                     &local = source.type().isGlobal() ? target : source;
  const SmallVector<size_t> dims = wideDims(global);
  if (!global.type().isGlobal() || local.type().getSpace() != MemorySpace::UB ||
      dims.size() != wideDims(local).size() || copy.getTranspose() || !keepsElementsApart(global))
    return {};
  ImplicitLocOpBuilder builder(copy.getLoc(), copy);
  const IndexMaker make(builder);
  const OpFoldResult extent = global.extents[dims.front()];
  const auto inLoop = [&](OpFoldResult count, int64_t step) {
    auto loop = tile::ForOp::create(builder, make.constant(0), make.value(count), make.constant(1));
    nameLoop(loop, "part");
    const OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBodyBlock());
    return copyPart(builder, copy, 0, make.mul(loop.getInductionVar(), step), step);
  };
  if (dims.size() > 1)
    return {inLoop(extent, 1)};
  const std::optional<int64_t> count = getConstantIntValue(extent);
  if (!count || *count <= kMostElements)
    return {};
  SmallVector<tile::CopyOp> parts = {inLoop(make.index(*count / kMostElements), kMostElements)};
  if (const int64_t rest = *count % kMostElements; rest != 0)
    parts.push_back(copyPart(builder, copy, 0, make.index(*count - rest), rest));
  return parts;
}

} // namespace tilewright::ascend
