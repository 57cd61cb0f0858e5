// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/vid_flow.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"

namespace tilewright::ascend {

using namespace mlir;

VidFlow::VidFlow(func::FuncOp kernel) {
  size_t before = 0;
  do {
    before = differing.size();
    kernel.walk([&](Operation* op) { follow(op); });
  } while (differing.size() != before);
}

bool VidFlow::differs(Value value) const {
  return differing.contains(isa<tile::BufferType>(value.getType()) ? npu::storageOf(value) : value);
}

void VidFlow::follow(Operation* op) {
  const bool isFrom = isa<VectorIdOp>(op) || npu::runsByVid(op) ||
                      llvm::any_of(op->getOperands(), [&](Value each) { return differs(each); });
  if (!isFrom)
    return;
  for (Value result : op->getResults())
    differing.insert(result);
  for (Region& region : op->getRegions())
    for (Block& block : region)
      differing.insert(block.args_begin(), block.args_end());
  if (auto instruction = dyn_cast<npu::Instruction>(op)) {
    SmallVector<npu::Access> accesses;
    instruction.getAccesses(accesses);
    for (const npu::Access& access : accesses)
      if (access.isWrite)
        differing.insert(npu::storageOf(access.buffer));
    return;
  }
  for (Value operand : op->getOperands())
    if (isa<tile::BufferType>(operand.getType()) && !isa<tile::LoadOp>(op))
      differing.insert(npu::storageOf(operand));
}

} // namespace tilewright::ascend
