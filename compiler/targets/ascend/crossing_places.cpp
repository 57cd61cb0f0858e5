// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/crossing_places.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/core_parts.h"
#include "compiler/targets/ascend/remade_values.h"
#include "compiler/targets/ascend/scalar_agents.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

Operation* outermostApart(Operation* op) {
  Operation* found = nullptr;
  for (Operation* around = op->getParentOp(); around && !isa<tile::LaunchOp>(around);
       around = around->getParentOp()) {
    if (isa<ScopeOp>(around))
      return nullptr; // one kind of core's own
    if (isa<scf::IfOp, tile::ForOp, tile::WhileOp>(around) && asksVectorCores(around))
      found = around;
  }
  return found;
}

/// Whether a tile has been written whenever `place` is reached.
static bool isWrittenBefore(Value storage, Operation* place) {
  return llvm::any_of(npu::usersOf(storage), [&](Operation* user) {
    auto copy = dyn_cast<tile::CopyOp>(user);
    if (isa<tile::ViewOp>(user) || (copy && npu::storageOf(copy.getTarget()) != storage))
      return false;
    for (Operation* around = user;; around = around->getParentOp()) {
      if (Operation* there = around->getBlock()->findAncestorOpInBlock(*place))
        return around != there && around->isBeforeInBlock(there);
      auto loop = dyn_cast<tile::ForOp>(around->getParentOp());
      const auto lower = loop ? getConstantIntValue(loop.getLower()) : std::nullopt,
                 upper = loop ? getConstantIntValue(loop.getUpper()) : std::nullopt;
      if (!lower || !upper || *lower >= *upper)
        return false;
    }
  });
}

bool maySendBefore(Operation* apart, tile::CopyOp copy) {
  const Value storage = npu::storageOf(copy.getSource());
  const bool isChanged = llvm::any_of(npu::usersOf(storage), [&](Operation* user) {
    auto other = dyn_cast<tile::CopyOp>(user);
    return apart->isAncestor(user) && !isa<tile::ViewOp>(user) &&
           (!other || npu::storageOf(other.getTarget()) == storage);
  });
  // Where gemms follow the cube core's vid, vector cores don't know what is new.
  const bool isForAll = llvm::none_of(npu::usersOf(storage), [](Operation* user) {
    return isa<tile::GemmOp>(user) && outermostApart(user);
  });
  return !isChanged && isForAll && isFixedIn(copy.getSourceRegion(), apart) &&
         (!copy.getScale() || isFixedIn(copy.getScale(), apart)) &&
         (isWrittenBefore(storage, apart) || onlyCoreIn(apart, copy));
}

bool mayFetchBehind(Operation* apart, tile::CopyOp copy) {
  const Value storage = npu::storageOf(copy.getTarget());
  const tile::BufferRegion target = copy.getTargetRegion();
  const bool isAlone = llvm::none_of(npu::usersOf(storage), [&](Operation* user) {
    return user != copy && apart->isAncestor(user) && !isa<tile::ViewOp>(user);
  });
  const bool isOfBoth = llvm::none_of(target.offsets, [](OpFoldResult offset) {
    auto value = dyn_cast<Value>(offset);
    return value && npu::differsByVid(value);
  });
  return isAlone && isOfBoth && isFixedIn(target, apart) && onlyCoreIn(apart, copy);
}

} // namespace tilewright::ascend
