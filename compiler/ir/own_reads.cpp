// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/own_reads.h"
#include "compiler/ir/root_buffer.h"

namespace tilewright::tile {

using namespace mlir;

SmallVector<LoadOp> ownReads(ParallelOp nest) {
  const auto isOutside = [&](Value value) {
    return !nest.getBody().isAncestor(value.getParentRegion());
  };
  llvm::SmallDenseSet<Value> written;
  nest.walk([&](Operation* op) {
    if (auto store = dyn_cast<StoreOp>(op))
      written.insert(rootBuffer(store.getBuffer()));
    else if (auto atomic = dyn_cast<AtomicOp>(op))
      written.insert(rootBuffer(atomic.getBuffer()));
  });
  SmallVector<LoadOp> reads;
  for (auto load : nest.getBodyBlock()->getOps<LoadOp>()) {
    const auto type = cast<BufferType>(load.getBuffer().getType());
    if (type.isPerThread() && isOutside(load.getBuffer()) &&
        llvm::all_of(load.getIndices(), isOutside) &&
        !written.contains(rootBuffer(load.getBuffer())))
      reads.push_back(load);
  }
  return reads;
}

} // namespace tilewright::tile
