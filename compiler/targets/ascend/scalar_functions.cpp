// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/scalar_functions.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Math/IR/Math.h>

namespace tilewright::ascend {

using namespace mlir;

static bool isOfVectorUnit(Operation* op) {
  return isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::Log10Op, math::RsqrtOp,
             math::SinOp, math::CosOp, math::TanhOp, math::ErfOp, math::PowFOp, math::RoundOp>(op);
}

static tile::ParallelOp makeNest(Operation* op, bool waits) {
  ImplicitLocOpBuilder builder(op->getLoc(), op);
  const IndexMaker make(builder);
  const Value first = make.constant(0);
  SmallVector<Value> buffers;
  for (Value operand : op->getOperands()) {
    buffers.push_back(makeTemporary(builder, builder.getLoc(), {1}, operand.getType(), "number"));
    tile::StoreOp::create(builder, operand, buffers.back(), first, /*in_bounds=*/true);
  }
  if (waits)
    PipeBarrierOp::create(builder, Pipe::All);
  const OpFoldResult one = make.index(1);
  auto nest = tile::ParallelOp::create(builder, ArrayRef(one));
  if (waits)
    PipeBarrierOp::create(builder, Pipe::All);
  auto result = tile::LoadOp::create(builder, op->getResult(0).getType(), buffers[0], first, true);
  op->getResult(0).replaceAllUsesWith(result.getValue());
  builder.setInsertionPointToStart(nest.getBodyBlock());
  const Value number = nest.getInductionVars()[0];
  for (auto [index, buffer] : llvm::enumerate(buffers))
    op->setOperand(unsigned(index),
                   tile::LoadOp::create(builder, op->getOperand(unsigned(index)).getType(), buffer,
                                        number, true));
  op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
  tile::StoreOp::create(builder, op->getResult(0), buffers[0], number, true);
  return nest;
}

SmallVector<tile::ParallelOp> moveToVectorUnit(Operation* kernel, bool waits) {
  SmallVector<Operation*> found;
  kernel->walk([&](Operation* op) {
    if (isOfVectorUnit(op) && op->getParentOfType<tile::LaunchOp>() &&
        !op->getParentOfType<tile::ParallelOp>())
      found.push_back(op);
  });
  SmallVector<tile::ParallelOp> nests;
  for (Operation* op : found)
    nests.push_back(makeNest(op, waits));
  return nests;
}

} // namespace tilewright::ascend
