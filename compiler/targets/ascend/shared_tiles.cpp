// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/shared_tiles.h"

#include "compiler/ir/tensor_ops.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

std::optional<size_t> firstWideDim(const BufferRegion& region) {
  const SmallVector<int64_t> extents = region.staticExtents();
  for (size_t dim = 0; dim < extents.size(); ++dim)
    if (extents[dim] != 1)
      return dim;
  return std::nullopt;
}

SharedTiles::SharedTiles(tile::LaunchOp launch) {
  launch.walk([&](tile::AllocOp alloc) {
    const BufferType type = alloc.getType();
    if (type.getSpace() == MemorySpace::UB && type.getRank() > 0 && type.getShape()[0] > 1 &&
        type.getShape()[0] % 2 == 0)
      tiles.insert(alloc);
  });
  for (bool changed = true; changed;) {
    changed = false;
    launch.walk([&](Operation* op) { changed |= restrict(op); });
  }
}

bool SharedTiles::hasAllRows(const BufferRegion& region) {
  return getConstantIntValue(region.offsets[0]) == 0 &&
         getConstantIntValue(region.extents[0]) == region.type().getShape()[0];
}

/// Whether row i of one becomes row i of the other, for all rows of every shared tile among them.
bool SharedTiles::keepsRows(const BufferRegion& from, const BufferRegion& to) const {
  for (const BufferRegion* region : {&from, &to}) {
    const bool isGlobal = region->type().isGlobal();
    if (contains(region->buffer) ? !hasAllRows(*region) : !isGlobal)
      return false;
  }
  return firstWideDim(from).has_value() && firstWideDim(to).has_value();
}

bool SharedTiles::restrict(Operation* op) {
  const auto check = [&](const BufferRegion& from, const BufferRegion& to, bool isPossible) {
    if (!contains(from.buffer) && !contains(to.buffer))
      return false;
    if (isPossible && keepsRows(from, to))
      return false;
    const bool first = drop(from.buffer), second = drop(to.buffer);
    return first || second;
  };
  if (auto copy = dyn_cast<tile::CopyOp>(op))
    return check(copy.getSourceRegion(), copy.getTargetRegion(), !copy.getTranspose());
  if (auto atomic = dyn_cast<tile::AtomicTileOp>(op))
    return check(atomic.getSourceRegion(), atomic.getTargetRegion(), true);
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return check(reduce.getSourceRegion(), reduce.getTargetRegion(), reduce.getDim() != 0);
  if (auto scan = dyn_cast<tile::ScanOp>(op))
    return check(scan.getSourceRegion(), scan.getTargetRegion(), scan.getDim() != 0);
  if (auto fill = dyn_cast<tile::FillOp>(op))
    return contains(fill.getTarget()) && !hasAllRows(fill.getTargetRegion()) &&
           drop(fill.getTarget());
  if (auto nest = dyn_cast<tile::ParallelOp>(op))
    return restrictNest(nest);
  if (isa<tile::LoadOp, tile::StoreOp, tile::AtomicOp>(op) &&
      op->getParentOfType<tile::ParallelOp>())
    return false; // the nest's
  bool changed = false;
  for (const Value operand : op->getOperands())
    changed |= contains(operand) && drop(operand);
  return changed;
}

namespace {

struct ElementAccess {
  Value buffer;
  ValueRange indices;
  bool isStore = false;
};

SmallVector<ElementAccess> accessesIn(tile::ParallelOp nest) {
  SmallVector<ElementAccess> accesses;
  nest.walk([&](Operation* op) {
    if (auto load = dyn_cast<tile::LoadOp>(op))
      accesses.push_back({load.getBuffer(), load.getIndices(), false});
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      accesses.push_back({store.getBuffer(), store.getIndices(), true});
    else if (auto atomic = dyn_cast<tile::AtomicOp>(op))
      accesses.push_back({atomic.getBuffer(), atomic.getIndices(), true});
  });
  return accesses;
}

} // namespace

bool SharedTiles::isShared(tile::ParallelOp nest) const {
  return llvm::any_of(accessesIn(nest),
                      [&](const ElementAccess& access) { return contains(access.buffer); });
}

bool SharedTiles::writesGlobal(tile::ParallelOp nest) {
  return llvm::any_of(accessesIn(nest), [](const ElementAccess& access) {
    return access.isStore && cast<BufferType>(access.buffer.getType()).isGlobal();
  });
}

bool SharedTiles::restrictNest(tile::ParallelOp nest) {
  const SmallVector<ElementAccess> accesses = accessesIn(nest);
  const std::optional<int64_t> rows = getConstantIntValue(nest.getMixedExtents().front());
  bool changed = false, mayShare = true;
  for (const ElementAccess& access : accesses) {
    const bool isByRow = !access.indices.empty() && access.indices[0] == nest.getInductionVars()[0];
    if (contains(access.buffer) &&
        (!isByRow || rows != cast<BufferType>(access.buffer.getType()).getShape()[0]))
      changed |= drop(access.buffer);
    // What both cores have whole, both must write whole.
    const auto space = cast<BufferType>(access.buffer.getType()).getSpace();
    if (access.isStore && !contains(access.buffer) && space != MemorySpace::Global)
      mayShare = false;
  }
  for (const ElementAccess& access : accesses)
    if (!mayShare && contains(access.buffer))
      changed |= drop(access.buffer);
  return changed;
}

} // namespace tilewright::ascend
