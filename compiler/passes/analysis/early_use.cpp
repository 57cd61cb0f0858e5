// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/early_use.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/root_buffer.h"
#include "compiler/ir/structure_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright {

using namespace mlir;

namespace {

bool isOf(tile::LoadOp load, Value tile) {
  return rootBuffer(load.getBuffer()) == tile;
}

/// Whether anything that a tile held goes into a number, be it only in some cases.
bool mayHold(Value number, Value tile, llvm::SmallPtrSetImpl<Operation*>& seen) {
  Operation* op = number.getDefiningOp();
  if (!op || !seen.insert(op).second)
    return false;
  const auto loadsIt = [&](tile::LoadOp load) {
    return isOf(load, tile) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return op->walk(loadsIt).wasInterrupted() || llvm::any_of(op->getOperands(), [&](Value operand) {
           return mayHold(operand, tile, seen);
         });
}

/// Whether what a load gives may be no matter: something is chosen instead, or a branch alone uses it.
bool isChosenFrom(Operation* op) {
  return llvm::any_of(op->getUsers(), [&](Operation* user) {
    return isa<arith::SelectOp, arith::AndIOp, arith::OrIOp>(user) ||
           user->getBlock() != op->getBlock() || (isPure(user) && isChosenFrom(user));
  });
}

/// The turns of a loop, where they are known.
std::optional<int64_t> turnsOf(Operation* loop) {
  if (auto nest = dyn_cast<tile::ParallelOp>(loop)) {
    int64_t turns = 1;
    for (int64_t extent : nest.getStaticExtents()) {
      if (ShapedType::isDynamic(extent))
        return std::nullopt;
      turns = extent == 0 ? 0 : turns;
    }
    return turns;
  }
  auto counted = cast<tile::ForOp>(loop);
  const auto lower = getConstantIntValue(counted.getLower()),
             upper = getConstantIntValue(counted.getUpper()),
             step = getConstantIntValue(counted.getStep());
  if (!lower || !upper || !step || *step == 0)
    return std::nullopt;
  return (*step > 0 ? *lower < *upper : *lower > *upper) ? 1 : 0;
}

bool mayLeaveTurns(Operation* loop) {
  const auto leaves = [](Operation* op) {
    return isa<tile::BreakOp, tile::ContinueOp>(op) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
  };
  return loop->walk(leaves).wasInterrupted();
}

} // namespace

Operation* earlyUse(Value tile, const tile::BufferTraffic& traffic) {
  const tile::MemorySpace space = cast<tile::BufferType>(tile.getType()).getSpace();
  const bool isShared = space != tile::MemorySpace::Fragment && space != tile::MemorySpace::Local &&
                        space != tile::MemorySpace::Var;
  Operation* use = traffic.earlyUse;
  if (!use || !traffic.setter || isShared)
    return nullptr;
  llvm::SmallPtrSet<Operation*, 16>
      seen; // `x = T.if_then_else(.., x)` keeps what doesn't matter yet
  if (auto store = dyn_cast<tile::StoreOp>(traffic.setter))
    if (mayHold(store.getValue(), tile, seen))
      return nullptr;
  bool isInSomeTurns = isChosenFrom(use); // of a loop around it
  Operation* end = tile.getDefiningOp()->getParentOp();
  for (Operation* around = use->getParentOp(); around != end; around = around->getParentOp()) {
    if (!isa<tile::ForOp, tile::ParallelOp>(around))
      isInSomeTurns = true;
    if (isa<tile::ForOp, tile::ParallelOp>(around) && !around->isAncestor(traffic.setter)) {
      const std::optional<int64_t> turns = turnsOf(around);
      if (turns == 0)
        return nullptr;
      isInSomeTurns |= !turns; // it may have none in the first turn of a loop around it
    }
    const bool mayRepeat = isa<tile::ForOp, tile::ParallelOp, tile::WhileOp>(around);
    if (mayRepeat && around->isAncestor(traffic.setter) && (isInSomeTurns || mayLeaveTurns(around)))
      return nullptr;
  }
  return use;
}

} // namespace tilewright
