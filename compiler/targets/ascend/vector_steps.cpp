// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/vector_steps.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/floor_divisor.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/loop_exits.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;

std::optional<int64_t> vectorStep(Value value) {
  if (!npu::differsByVid(value))
    return 0;
  Operation* op = value.getDefiningOp();
  if (!op || isa<tile::LoadOp>(op) || op->getNumRegions() > 0)
    return std::nullopt;
  if (isa<VectorIdOp>(op))
    return 1;
  SmallVector<std::optional<int64_t>> steps;
  for (Value operand : op->getOperands())
    steps.push_back(vectorStep(operand));
  if (llvm::is_contained(steps, std::nullopt))
    return std::nullopt;
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return steps[0];
  if (isa<arith::AddIOp>(op))
    return *steps[0] + *steps[1];
  if (isa<arith::SubIOp>(op))
    return *steps[0] - *steps[1];
  if (isa<arith::MulIOp>(op))
    for (unsigned side : {0U, 1U})
      if (std::optional<int64_t> factor = getConstantIntValue(op->getOperand(1 - side)))
        return *steps[side] * *factor;
  if (isa<arith::ShLIOp>(op) && *steps[1] == 0)
    if (std::optional<int64_t> by = getConstantIntValue(op->getOperand(1));
        by && *by >= 0 && *by < 32)
      return *steps[0] * (int64_t(1) << *by);
  // `vid * 64 // 2`: a step of whole multiples stays even, wherever it begins.
  if (std::optional<int64_t> divisor = tile::floorDivisor(op); divisor && *steps[0] % *divisor == 0)
    return *steps[0] / *divisor;
  return std::nullopt;
}

/// The last store to a variable before it is loaded, if that is the same one on all ways; or null.
static tile::StoreOp lastStore(tile::LoadOp load) {
  const Value variable = load.getBuffer();
  SmallVector<Operation*> writers;
  for (Operation* user : npu::usersOf(variable))
    if (!isa<tile::LoadOp>(user))
      writers.push_back(user);
  const auto writesIn = [&](Operation* op) {
    return llvm::any_of(writers, [&](Operation* writer) { return op->isAncestor(writer); });
  };
  for (Operation* place = load; !isa<tile::LaunchOp>(place); place = place->getParentOp()) {
    if (isLoop(place) && writesIn(place))
      return {}; // in a turn before, maybe
    for (Operation* before = place->getPrevNode(); before; before = before->getPrevNode())
      if (writesIn(before)) {
        auto store = dyn_cast<tile::StoreOp>(before);
        return store && store.getBuffer() == variable ? store : tile::StoreOp();
      }
  }
  return {};
}

void takeStored(Value number) {
  Operation* op = number.getDefiningOp();
  if (!op)
    return;
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (!cast<BufferType>(load.getBuffer().getType()).isPerThread() || !load.getIndices().empty())
      return;
    tile::StoreOp store = lastStore(load);
    if (!store || store.getValue().getType() != number.getType())
      return;
    const Value stored = store.getValue();
    number.replaceAllUsesWith(stored);
    return takeStored(stored);
  }
  for (Value operand : SmallVector<Value>(op->getOperands()))
    takeStored(operand);
}

void warnOfPartOfVid(npu::StoreL0cOp store) {
  const bool isOfVid = llvm::any_of(
      store.getTargetOffsets(), [](Value offset) { return vectorStep(offset).value_or(0) != 0; });
  if (isOfVid)
    store.emitWarning()
        << "the cube core stores this, once per block and with a vid of 0, so nobody "
           "stores the part of vid 1: copy all of the tile without vid";
}

void onFirstVector(Operation* op) {
  ImplicitLocOpBuilder builder(op->getLoc(), op);
  Value id = VectorIdOp::create(builder);
  Value first = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, id,
                                      arith::ConstantIndexOp::create(builder, 0));
  auto branch = scf::IfOp::create(builder, first, /*withElseRegion=*/false);
  op->moveBefore(branch.thenYield());
}

} // namespace tilewright::ascend
