// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/vector_steps.h"

#include "compiler/ir/ascend_ops.h"
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

std::optional<int64_t> VectorSteps::of(Value value) {
  Operation* op = value.getDefiningOp();
  if (!op)
    return ofLoop(dyn_cast<tile::ForOp>(value.getParentBlock()->getParentOp()));
  if (isa<VectorIdOp>(op))
    return 1;
  if (auto load = dyn_cast<tile::LoadOp>(op); load && mayDiffer(load))
    return std::nullopt;
  return ofResult(op);
}

std::optional<int64_t> VectorSteps::ofLoop(tile::ForOp loop) {
  const bool isSame = !loop || (of(loop.getLower()) == 0 && of(loop.getStep()) == 0);
  return isSame ? std::optional<int64_t>(0) : std::nullopt;
}

std::optional<int64_t> VectorSteps::ofResult(Operation* op) {
  SmallVector<std::optional<int64_t>> steps;
  for (Value operand : op->getOperands())
    steps.push_back(of(operand));
  if (llvm::all_of(steps, [](std::optional<int64_t> step) { return step == 0; }))
    return 0;
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
  // `vid * 64 // 2`: a step of whole multiples stays even, wherever it begins.
  if (std::optional<int64_t> divisor = tile::floorDivisor(op); divisor && *steps[0] % *divisor == 0)
    return *steps[0] / *divisor;
  return std::nullopt;
}

bool VectorSteps::mayDiffer(tile::LoadOp load) {
  const BufferType type = load.getBuffer().getType();
  if (type.isGlobal())
    return false;
  const Value variable = npu::storageOf(load.getBuffer());
  if (!type.isPerThread())
    return true;
  return followed.insert(variable).second &&
         llvm::any_of(npu::usersOf(variable), [&](Operation* user) {
           auto store = dyn_cast<tile::StoreOp>(user);
           return !isa<tile::LoadOp>(user) &&
                  (!store || of(store.getValue()) != 0 || !runsOnBoth(store));
         });
}

bool VectorSteps::runsOnBoth(Operation* op) {
  const auto differs = [&](Value number) { return of(number) != 0; };
  for (Operation* around = op->getParentOp(); around && !isa<tile::LaunchOp>(around);
       around = around->getParentOp()) {
    auto loop = dyn_cast<tile::WhileOp>(around);
    if (loop && (llvm::any_of(loop.getBody().front(), [](Operation& op) { return hasExit(&op); }) ||
                 llvm::any_of(loop.getCondition().front().getTerminator()->getOperands(), differs)))
      return false;
    if (llvm::any_of(around->getOperands(), differs))
      return false;
  }
  return true;
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

void onFirstVector(Operation* op) {
  ImplicitLocOpBuilder builder(op->getLoc(), op);
  Value id = VectorIdOp::create(builder);
  Value first = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, id,
                                      arith::ConstantIndexOp::create(builder, 0));
  auto branch = scf::IfOp::create(builder, first, /*withElseRegion=*/false);
  op->moveBefore(branch.thenYield());
}

} // namespace tilewright::ascend
