// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/l1_columns.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/region.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;

/// Whether two stretches of a dim are known to have nothing in common.
static bool areApartIn(OpFoldResult first, OpFoldResult extent, int64_t begin, int64_t end) {
  const std::optional<int64_t> from = getConstantIntValue(first),
                               count = getConstantIntValue(extent);
  return from && ((count && *from + *count <= begin) || *from >= end);
}

static bool areRowsApart(const BufferRegion& a, const BufferRegion& b) {
  for (size_t dim = 0; dim + 1 < a.offsets.size(); ++dim) {
    const std::optional<int64_t> first = getConstantIntValue(a.offsets[dim]),
                                 count = getConstantIntValue(a.extents[dim]);
    if (first && count && areApartIn(b.offsets[dim], b.extents[dim], *first, *first + *count))
      return true;
  }
  return false;
}

/// What an operation writes of a tile that isn't 0; nothing if it doesn't.
static std::optional<BufferRegion> writtenRegion(Operation* op, Value storage) {
  std::optional<BufferRegion> region;
  if (auto copy = dyn_cast<tile::CopyOp>(op))
    region = copy.getTargetRegion();
  else if (auto fill = dyn_cast<tile::FillOp>(op); fill && !isZero(fill.getValue()))
    region = fill.getTargetRegion();
  return region && npu::storageOf(region->buffer) == storage ? region : std::nullopt;
}

int64_t columnsOverwritten(tile::CopyOp copy) {
  const BufferRegion own = copy.getTargetRegion();
  if (own.offsets.empty())
    return 0;
  const int64_t unit = npu::blockElements(own.type()), width = own.type().getShape().back();
  const std::optional<int64_t> first = getConstantIntValue(own.offsets.back()),
                               count = getConstantIntValue(own.extents.back());
  if (!first || !count || *count % unit == 0 || *first + *count >= width)
    return 0;
  const int64_t end = *first + *count;
  const int64_t written = std::min(int64_t(llvm::alignTo(end, unit)), width);
  const Value storage = npu::storageOf(own.buffer);
  const bool isLost = llvm::any_of(npu::usersOf(storage), [&](Operation* user) {
    const std::optional<BufferRegion> other =
        user == copy ? std::nullopt : writtenRegion(user, storage);
    return other && (other->buffer != own.buffer ||
                     (!areApartIn(other->offsets.back(), other->extents.back(), end, written) &&
                      !areRowsApart(own, *other)));
  });
  return isLost ? written - end : 0;
}

/// Whether a load may write a number beyond the tensor that isn't 0.
static bool padsByNumber(tile::CopyOp copy) {
  if (!copy.getPad() || isZero(copy.getPad()))
    return false;
  for (int64_t dim = 0; dim < copy.getSource().getType().getRank(); ++dim)
    if (!copy.isSourceInBounds(dim))
      return true;
  return false;
}

bool isDoneInUb(Operation* op, Value tile) {
  if (auto fill = dyn_cast<tile::FillOp>(op))
    return npu::storageOf(fill.getTarget()) == tile &&
           !(isZero(fill.getValue()) && fill.getTargetRegion().isWhole());
  if (isa<tile::LoadOp, tile::StoreOp>(op))
    return true;
  auto copy = dyn_cast<tile::CopyOp>(op);
  if (!copy || npu::storageOf(copy.getTarget()) != tile)
    return false;
  const bool isLoad = copy.getSource().getType().isGlobal();
  const bool isPlain =
      !copy.getTranspose() && !copy.getRelu() &&
      copy.getSource().getType().getElementType() == copy.getTarget().getType().getElementType();
  return columnsOverwritten(copy) > 0 || (isLoad && (!isPlain || padsByNumber(copy))) ||
         (isLoad && !op->getParentOfType<ScopeOp>() && npu::asksVectorTiles(op));
}

} // namespace tilewright::ascend
