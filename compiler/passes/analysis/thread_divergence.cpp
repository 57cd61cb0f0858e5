// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/thread_divergence.h"

#include "compiler/ir/tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright {
namespace {

bool isOfThread(Value buffer) {
  auto type = dyn_cast<tile::BufferType>(buffer.getType());
  return type && type.isPerThread();
}

/// Whether each thread has a result of its own, whatever the operands.
bool isSource(Operation& op) {
  if (auto vote = dyn_cast<tile::VoteOp>(op))
    return vote.getScope() == tile::SyncScope::Warp;
  return isa<tile::ThreadIdOp, tile::ShuffleOp, tile::AtomicOp, tile::CallOp, tile::AddressOp>(op);
}

} // namespace

ThreadDivergence::ThreadDivergence(tile::LaunchOp launch, llvm::ArrayRef<Operation*> together)
    : together(together.begin(), together.end()) {
  do {
    changed = false;
    visit(*launch.getBodyBlock(), /*isApart=*/false);
  } while (changed);
}

bool ThreadDivergence::anyDiffers(ValueRange given) const {
  return llvm::any_of(given, [&](Value value) {
    return values.contains(isa<tile::BufferType>(value.getType()) ? rootBuffer(value) : value);
  });
}

void ThreadDivergence::visit(Block& block, bool isApart) {
  for (Operation& op : block)
    visitOp(op, isApart);
}

void ThreadDivergence::visitOp(Operation& op, bool isApart) {
  if (isa<tile::ParallelOp>(op))
    return; // all threads together
  const bool isDifferent = isSource(op) || anyDiffers(op.getOperands());
  if (op.getNumRegions() > 0)
    return visitStructure(op, isApart);
  if (isa<tile::BreakOp, tile::ContinueOp>(op) && isApart) {
    Operation* loop = op.getParentOp();
    while (!isa<tile::ForOp, tile::WhileOp, tile::LaunchOp>(loop))
      loop = loop->getParentOp();
    changed |= structures.insert(loop).second;
    return;
  }
  for (Value result : op.getResults())
    if (isDifferent && !isa<tile::BufferType>(result.getType()))
      mark(result);
  // What a thread writes to its own memory differs with the value, the place and the way there.
  Value target = tile::tileTarget(&op);
  if (auto store = dyn_cast<tile::StoreOp>(op))
    target = store.getBuffer();
  if (auto atomic = dyn_cast<tile::AtomicOp>(op))
    target = atomic.getBuffer();
  if (target && isOfThread(target) && (isDifferent || isApart))
    mark(rootBuffer(target));
}

void ThreadDivergence::visitStructure(Operation& op, bool isApart) {
  bool isOwnWay = anyDiffers(op.getOperands()) || structures.contains(&op);
  if (auto loop = dyn_cast<tile::WhileOp>(op)) {
    Operation* end = loop.getCondition().front().getTerminator();
    isOwnWay |= anyDiffers(end->getOperands());
  }
  isOwnWay &= !together.contains(&op);
  if (isOwnWay) {
    changed |= structures.insert(&op).second;
    for (Region& region : op.getRegions())
      for (Value argument : region.getArguments())
        mark(argument);
    for (Value result : op.getResults())
      mark(result);
  }
  for (Region& region : op.getRegions())
    for (Block& block : region) {
      visit(block, isApart || isOwnWay);
      if (isa<scf::IfOp>(op))
        for (auto [given, result] :
             llvm::zip(block.getTerminator()->getOperands(), op.getResults()))
          if (values.contains(given))
            mark(result);
    }
}

} // namespace tilewright
