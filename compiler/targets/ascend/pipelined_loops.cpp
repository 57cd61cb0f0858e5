// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/pipelined_loops.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/npu_ops.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

static bool mayOverlap(tile::ForOp loop) {
  const std::optional<int64_t> lower = getConstantIntValue(loop.getLower());
  if (loop.getKind() != tile::LoopKind::Pipelined || int64_t(loop.getNumStages()) < 2 || !lower ||
      *lower < 0 || getConstantIntValue(loop.getStep()) != 1)
    return false;
  const WalkResult found = loop.walk([](Operation* op) {
    return isa<tile::BreakOp, tile::ContinueOp, SetFlagOp, WaitFlagOp, PipeBarrierOp, SyncAllOp,
               SetCrossFlagOp, WaitCrossFlagOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !found.wasInterrupted();
}

int64_t bytesOfVersion(Value buffer) {
  const Value storage = npu::storageOf(buffer);
  const int64_t bytes = npu::storageBytes(cast<tile::BufferType>(storage.getType()));
  auto alloc = storage.getDefiningOp<tile::AllocOp>();
  auto versions = alloc ? alloc->getAttrOfType<IntegerAttr>(kVersionsAttr) : IntegerAttr();
  return int64_t(llvm::divideCeil(bytes, versions ? std::max<int64_t>(versions.getInt(), 1) : 1));
}

SmallVector<tile::ForOp> pipelinedLoops(func::FuncOp kernel) {
  SmallVector<tile::ForOp> loops;
  kernel.walk([&](tile::ForOp loop) {
    if (mayOverlap(loop))
      loops.push_back(loop);
  });
  return loops;
}

} // namespace tilewright::ascend
