// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/uniform_branches.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// What a condition is computed from inside of a nest, in order.
class ConditionSource {
public:
  ConditionSource(tile::ParallelOp nest, ValueRange varying) : nest(nest), varying(varying) {}

  bool add(Value value) {
    if (llvm::is_contained(varying, value))
      return false;
    if (!nest.getBody().isAncestor(value.getParentRegion()))
      return true;
    Operation* op = value.getDefiningOp();
    if (!op) // the number of this nest's loops, of which others may not vary, or of a loop in it
      return value.getParentBlock() == nest.getBodyBlock();
    if (llvm::is_contained(ops, op))
      return true;
    auto load = dyn_cast<tile::LoadOp>(op);
    if (load ? !isFixed(load) : !isPure(op) || op->getNumRegions() != 0)
      return false;
    for (Value operand : op->getOperands())
      if (!add(operand))
        return false;
    ops.push_back(op);
    return true;
  }

  SmallVector<Operation*> ops;

private:
  /// A number that every iteration reads, and none writes.
  bool isFixed(tile::LoadOp load) {
    if (load->getBlock() != nest.getBodyBlock())
      return false;
    for (OpFoldResult extent : nest.getMixedExtents())
      if (getConstantIntValue(extent).value_or(0) < 1)
        return false;
    const Value storage = npu::storageOf(load.getBuffer());
    return !nest->walk([&](tile::StoreOp store) {
                  return npu::storageOf(store.getBuffer()) == storage ? WalkResult::interrupt()
                                                                      : WalkResult::advance();
                })
                .wasInterrupted();
  }

  tile::ParallelOp nest;
  ValueRange varying;
};

/// The first branch whose condition does not vary; what that is computed from goes to `ops`.
scf::IfOp findBranch(tile::ParallelOp nest, ValueRange varying, SmallVector<Operation*>& ops) {
  scf::IfOp found;
  nest.getBody().walk<WalkOrder::PreOrder>([&](scf::IfOp branch) {
    ConditionSource source(nest, varying);
    if (!source.add(branch.getCondition()))
      return WalkResult::advance();
    found = branch;
    ops = source.ops;
    return WalkResult::interrupt();
  });
  return found;
}

/// One side of a branch in its place.
void keepSide(scf::IfOp branch, bool isTaken) {
  Region& side = isTaken ? branch.getThenRegion() : branch.getElseRegion();
  if (!side.empty()) {
    Block& block = side.front();
    Operation* yield = block.getTerminator();
    branch.replaceAllUsesWith(SmallVector<Value>(yield->getOperands()));
    yield->erase();
    branch->getBlock()->getOperations().splice(branch->getIterator(), block.getOperations());
  }
  branch.erase();
}

bool doesNothing(tile::ParallelOp nest) {
  return !nest->walk([&](Operation* op) {
                const bool isIdle = op == nest ||
                                    isa<tile::LoadOp, tile::YieldOp, scf::YieldOp>(op) ||
                                    isa<scf::IfOp>(op) || isPure(op);
                return isIdle ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

} // namespace

std::optional<SmallVector<tile::ParallelOp>> takeOutBranch(tile::ParallelOp nest, bool waits) {
  SmallVector<Operation*> ops;
  scf::IfOp branch = findBranch(nest, nest.getInductionVars(), ops);
  if (!branch)
    return std::nullopt;
  if (const std::optional<int64_t> known = getConstantIntValue(branch.getCondition())) {
    keepSide(branch, *known != 0);
    return SmallVector<tile::ParallelOp>{nest};
  }
  ImplicitLocOpBuilder builder(branch.getLoc(), nest);
  IRMapping outside;
  const bool reads = llvm::any_of(ops, [](Operation* op) { return isa<tile::LoadOp>(op); });
  if (waits && reads)
    PipeBarrierOp::create(builder, Pipe::All);
  for (Operation* op : ops)
    builder.clone(*op, outside);
  const Value condition = outside.lookupOrDefault(branch.getCondition());
  auto choice = scf::IfOp::create(builder, condition, /*withElseRegion=*/true);
  SmallVector<tile::ParallelOp> made;
  for (bool isTaken : {true, false}) {
    Region& region = isTaken ? choice.getThenRegion() : choice.getElseRegion();
    builder.setInsertionPointToStart(&region.front());
    IRMapping copies;
    auto copy = cast<tile::ParallelOp>(builder.clone(*nest, copies));
    keepSide(cast<scf::IfOp>(copies.lookup(branch.getOperation())), isTaken);
    // Other branches may have the same condition.
    builder.setInsertionPoint(copy);
    Value known = arith::ConstantOp::create(builder, builder.getBoolAttr(isTaken));
    copies.lookupOrDefault(branch.getCondition()).replaceUsesWithIf(known, [&](OpOperand& use) {
      return copy->isProperAncestor(use.getOwner());
    });
    if (doesNothing(copy))
      copy.erase();
    else
      made.push_back(copy);
  }
  Region& otherwise = choice.getElseRegion();
  if (llvm::all_of(otherwise.front().without_terminator(),
                   [](Operation& op) { return isPure(&op); }))
    otherwise.front().erase();
  nest.erase();
  return made;
}

bool hasBranchOfRows(tile::ParallelOp nest) {
  SmallVector<Operation*> ops;
  const ValueRange variables = nest.getInductionVars();
  return variables.size() > 1 && findBranch(nest, variables.take_back(), ops);
}

} // namespace tilewright::ascend
