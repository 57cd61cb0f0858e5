// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/leave_scope.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/core_parts.h"
#include "compiler/targets/ascend/loop_exits.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// Whether it reads tiles of gemms, and touches nothing else on chip.
bool worksOnProducts(tile::ParallelOp nest) {
  bool readsProduct = false;
  const WalkResult other = nest.walk([&](Operation* op) {
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<tile::BufferType>(operand.getType());
      if (!type || type.isGlobal())
        continue;
      const bool isOfGemm =
          type.getSpace() == tile::MemorySpace::L0C ||
          (type.getSpace() == tile::MemorySpace::Fragment && npu::isOfCube(operand));
      if (!isOfGemm || !isa<tile::LoadOp>(op))
        return WalkResult::interrupt();
      readsProduct = true;
    }
    return WalkResult::advance();
  });
  return readsProduct && !other.wasInterrupted();
}

/// Whether the vector cores can come to `op` as the cube core does.
bool isReachedAlike(Operation* op, ScopeOp scope) {
  for (Operation* around = op->getParentOp(); around != scope; around = around->getParentOp())
    if (!isa<tile::ForOp, scf::IfOp>(around) || around->getNumResults() != 0)
      return false;
  return !hasExit(scope) && !scope
                                 .walk<WalkOrder::PreOrder>([](Operation* each) {
                                   if (isa<tile::ParallelOp>(each))
                                     return WalkResult::skip();
                                   return isa<tile::StoreOp, tile::AtomicOp>(each)
                                              ? WalkResult::interrupt()
                                              : WalkResult::advance();
                                 })
                                 .wasInterrupted();
}

/// What a nest takes from outside that may be another number on the second vector core.
SetVector<Value> takenByVid(tile::ParallelOp nest) {
  SetVector<Value> taken;
  nest.walk([&](Operation* op) {
    for (Value operand : op->getOperands())
      if (!isa<tile::BufferType>(operand.getType()) &&
          !nest->isAncestor(operand.getParentRegion()->getParentOp()) && npu::differsByVid(operand))
        taken.insert(operand);
  });
  return taken;
}

/// `value`, before the builder's place, as it is where vid is 0.
Value withoutVid(Value value, OpBuilder& builder, IRMapping& made) {
  if (made.contains(value) || !npu::differsByVid(value))
    return made.lookupOrDefault(value);
  Operation* op = value.getDefiningOp();
  if (isa<VectorIdOp>(op)) {
    made.map(value, arith::ConstantIndexOp::create(builder, value.getLoc(), 0));
    return made.lookup(value);
  }
  for (Value operand : op->getOperands())
    made.map(operand, withoutVid(operand, builder, made));
  builder.clone(*op, made);
  return made.lookup(value);
}

/// Takes vid, which is 0 for the cube core, out of a nest.
void setVidOfCube(tile::ParallelOp nest) {
  OpBuilder builder(nest);
  IRMapping made;
  for (Value taken : takenByVid(nest)) {
    Value other = withoutVid(taken, builder, made);
    taken.replaceUsesWithIf(other,
                            [&](OpOperand& use) { return nest->isAncestor(use.getOwner()); });
  }
  nest.walk([&](VectorIdOp vid) {
    vid.replaceAllUsesWith(arith::ConstantIndexOp::create(builder, vid.getLoc(), 0).getResult());
    vid.erase();
  });
}

/// The operations from `first` up to `end` in scopes of the cube core, between which values are, for both.
void encloseInCube(Block::iterator first, Block::iterator end) {
  ScopeOp scope;
  for (Operation& op : llvm::make_early_inc_range(llvm::make_range(first, end))) {
    if (op.getNumResults() != 0) {
      scope = {};
      continue;
    }
    if (!scope) {
      OpBuilder builder(&op);
      scope = ScopeOp::create(builder, op.getLoc(), Agent::Cube);
      scope.getBody().emplaceBlock();
    }
    Block& body = scope.getBody().front();
    op.moveBefore(&body, body.end());
  }
}

} // namespace

std::optional<std::string> whyInCubeScope(tile::ParallelOp nest) {
  auto scope = nest->getParentOfType<ScopeOp>();
  if (!scope || scope.getAgent() != Agent::Cube || !worksOnProducts(nest) ||
      !isReachedAlike(nest, scope))
    return "T.Scope(\"C\") has no vector unit and no single elements of L0C";
  const std::string noVectors = "T.Scope(\"C\") has no vector unit, and the vector cores can't do "
                                "this in its place: ";
  if (npu::runsByVid(nest))
    return noVectors +
           "vid says whether or how often it runs, so they would not meet the cube core";
  if (!llvm::all_of(takenByVid(nest), isMadeOfVid))
    return noVectors + "it reads a variable that vid has set, which is 0 for the cube core";
  return std::nullopt;
}

void leaveCubeScope(tile::ParallelOp nest) {
  auto scope = nest->getParentOfType<ScopeOp>();
  SmallVector<Operation*> way = {nest};
  while (way.back()->getParentOp() != scope)
    way.push_back(way.back()->getParentOp());
  Block& body = scope.getBody().front();
  Block::iterator begin = body.begin(), end = std::next(scope->getIterator());
  scope->getBlock()->getOperations().splice(end, body.getOperations());
  scope.erase();
  for (Operation* op : llvm::reverse(way)) {
    encloseInCube(begin, op->getIterator());
    encloseInCube(std::next(op->getIterator()), end);
    if (op == nest)
      break;
    for (Region& region : op->getRegions())
      for (Block& block : region) {
        const Block::iterator last =
            block.mightHaveTerminator() ? block.getTerminator()->getIterator() : block.end();
        if (!block.findAncestorOpInBlock(*nest)) {
          encloseInCube(block.begin(), last);
          continue;
        }
        begin = block.begin();
        end = last;
      }
  }
  OpBuilder builder(nest);
  auto vectors = ScopeOp::create(builder, nest.getLoc(), Agent::Vector);
  Block& own = vectors.getBody().emplaceBlock();
  nest->moveBefore(&own, own.end());
  setVidOfCube(nest);
}

} // namespace tilewright::ascend
