// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/loop_exits.h"

#include "compiler/ir/structure_ops.h"

namespace tilewright::ascend {

using namespace mlir;

bool isLoop(Operation* op) {
  return isa<tile::ForOp, tile::WhileOp, tile::ParallelOp>(op);
}

bool hasExit(Operation* op) {
  if (isa<tile::BreakOp, tile::ContinueOp>(op))
    return true;
  if (isLoop(op))
    return false; // its own
  for (Region& region : op->getRegions())
    for (Block& block : region)
      if (llvm::any_of(block, [](Operation& inner) { return hasExit(&inner); }))
        return true;
  return false;
}

} // namespace tilewright::ascend
