// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/lone_loads.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/nest_indices.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::MemorySpace;

namespace {

/// Whether an operation may write what a name of a tile stands for.
bool mayChange(Operation* op, Value name) {
  if (auto instruction = dyn_cast<npu::Instruction>(op)) {
    SmallVector<npu::Access> accesses;
    instruction.getAccesses(accesses);
    return llvm::any_of(accesses, [&](const npu::Access& access) {
      return access.isWrite && npu::storageOf(access.buffer) == npu::storageOf(name);
    });
  }
  if (!isa<tile::LoadOp, tile::StoreOp, tile::CopyOp, tile::FillOp, tile::ReduceOp, tile::ScanOp,
           tile::AtomicTileOp, tile::AtomicOp>(op))
    return true;
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(op).getEffectsOnValue(name, effects);
  return llvm::any_of(
      effects, [](const auto& effect) { return isa<MemoryEffects::Write>(effect.getEffect()); });
}

/// All that may write a tile, by any name. False if that isn't known.
bool collectWriters(Value name, SmallVectorImpl<Operation*>& writers) {
  for (Operation* user : name.getUsers()) {
    if (auto view = dyn_cast<tile::ViewOp>(user)) {
      if (!collectWriters(view.getResult(), writers))
        return false;
    } else if (mayChange(user, name)) {
      writers.push_back(user);
    }
  }
  return true;
}

class Marker {
public:
  explicit Marker(tile::AllocOp alloc) : alloc(alloc) {}

  void run() {
    const tile::BufferType type = alloc.getType();
    SmallVector<Operation*> writers;
    if (type.getSpace() != MemorySpace::UB || type.getRank() == 0 || alloc.getAddressAttr() ||
        !collectWriters(alloc, writers) || writers.empty() ||
        !llvm::all_of(writers, [&](Operation* op) { return isAlike(op); }))
      return;
    for (Operation* op : writers)
      op->setAttr(kLoneLoadAttr, UnitAttr::get(op->getContext()));
  }

private:
  /// A load of the same columns as the first one, in all turns of loops around it while the tile lives.
  bool isAlike(Operation* op) {
    auto copy = dyn_cast<tile::CopyOp>(op);
    if (!copy || copy.getTarget() != alloc || !copy.getSource().getType().isGlobal())
      return false;
    const BufferRegion region = copy.getTargetRegion();
    const OpFoldResult offset = region.offsets.back(), extent = region.extents.back();
    if (!isFixed(offset) || !isFixed(extent))
      return false;
    if (!first)
      first = region;
    return isSameIndex(offset, first->offsets.back()) && isSameIndex(extent, first->extents.back());
  }

  bool isFixed(OpFoldResult number) {
    auto value = dyn_cast<Value>(number);
    return !value || isSumOf(value, [&](Value term) {
      Operation* op = term.getDefiningOp();
      if (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op))
        return isFixed(op->getOperand(0)) && isFixed(op->getOperand(1));
      return term.getParentRegion()->isAncestor(alloc->getParentRegion());
    });
  }

  tile::AllocOp alloc;
  std::optional<BufferRegion> first;
};

} // namespace

void markLoneLoads(func::FuncOp kernel) {
  kernel.walk([&](tile::AllocOp alloc) { Marker(alloc).run(); });
}

} // namespace tilewright::ascend
