// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/early_use.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright {

using namespace mlir;

namespace {

bool isOf(tile::LoadOp load, Value tile) {
  Value buffer = load.getBuffer();
  while (auto view = buffer.getDefiningOp<tile::ViewOp>())
    buffer = view.getSource();
  return buffer == tile;
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

/// Whether what a load gives may be no matter, as something is chosen instead.
bool isChosenFrom(Operation* op) {
  return llvm::any_of(op->getUsers(), [](Operation* user) {
    return isa<arith::SelectOp>(user) || (isPure(user) && isChosenFrom(user));
  });
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
    const bool mayRepeat = isa<tile::ForOp, tile::ParallelOp, tile::WhileOp>(around);
    if (mayRepeat && around->isAncestor(traffic.setter) && (isInSomeTurns || mayLeaveTurns(around)))
      return nullptr;
  }
  return use;
}

} // namespace tilewright
