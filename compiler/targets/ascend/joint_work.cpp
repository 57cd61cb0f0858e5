// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/joint_work.h"

#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/targets/ascend/scalar_agents.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

MemorySpace memoryOf(Value buffer) {
  return cast<BufferType>(buffer.getType()).getSpace();
}

bool isTensor(Value buffer) {
  return memoryOf(buffer) == MemorySpace::Global;
}

bool isOnCube(Value buffer) {
  return !cast<BufferType>(buffer.getType()).isPerThread() && !isTensor(buffer) &&
         npu::isOfCube(buffer);
}

bool isL0Operand(Value buffer) {
  return memoryOf(buffer) == MemorySpace::L0A || memoryOf(buffer) == MemorySpace::L0B;
}

/// Whether others see it.
bool isSeenWork(Operation* op) {
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return !store.getBuffer().getType().isPerThread();
  return !isPure(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa<tile::LoadOp, tile::AllocOp, tile::ForOp, tile::WhileOp, scf::IfOp, ScopeOp,
              VectorIdOp, tile::BreakOp, tile::ContinueOp>(op);
}

/// Whether a nest only brings a gemm's tile to global memory, as a copy does.
bool isMove(tile::ParallelOp nest) {
  Operation* only = nullptr;
  for (Operation& op : *nest.getBodyBlock())
    if (isSeenWork(&op)) {
      if (only)
        return false;
      only = &op;
    }
  auto store = dyn_cast_or_null<tile::StoreOp>(only);
  if (!store || !isTensor(store.getBuffer()))
    return false;
  Operation* value = store.getValue().getDefiningOp();
  while (value && value->getNumOperands() == 1 && isPure(value))
    value = value->getOperand(0).getDefiningOp();
  auto load = dyn_cast_or_null<tile::LoadOp>(value);
  return load && isOnCube(load.getBuffer());
}

bool isMadeByGemm(Value tile) {
  return memoryOf(tile) == MemorySpace::L0C ||
         llvm::any_of(npu::usersOf(tile), [&](Operation* user) {
           auto gemm = dyn_cast<tile::GemmOp>(user);
           return gemm && npu::storageOf(gemm.getC()) == tile;
         });
}

/// Whether the cube core does this by itself where it is done to a gemm's tile, or hands the tile on.
bool needsNoTwin(Operation* user, Value tile) {
  auto scope = user->getParentOfType<ScopeOp>();
  if (scope && scope.getAgent() == Agent::Vector)
    return isa<tile::CopyOp>(user);
  if (auto copy = dyn_cast<tile::CopyOp>(user)) {
    const bool isTarget = npu::storageOf(copy.getTarget()) == tile;
    return isL0Operand(copy.getTarget()) || isTarget != isMadeByGemm(tile);
  }
  if (auto nest = user->getParentOfType<tile::ParallelOp>())
    return scope && isMove(nest);
  if (auto fill = dyn_cast<tile::FillOp>(user))
    return (scope && memoryOf(tile) != MemorySpace::Shared &&
            memoryOf(tile) != MemorySpace::Fragment) ||
           matchPattern(fill.getValue(), m_AnyZeroFloat()) ||
           matchPattern(fill.getValue(), m_Zero());
  return isa<tile::GemmOp, tile::AtomicTileOp>(user);
}

} // namespace

JointWork::JointWork(tile::LaunchOp launch) {
  bool hasCube = false, hasVectors = false;
  launch.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (auto scope = dyn_cast<ScopeOp>(op))
      (scope.getAgent() == Agent::Cube ? hasCube : hasVectors) |= !scope.getBody().front().empty();
    if (op == launch || !isSeenWork(op))
      return WalkResult::advance();
    const npu::Touched touched = npu::touchedBy(op);
    hasCube |= touched.ofCube;
    hasVectors |= touched.ofVectors;
    if (auto scope = op->getParentOfType<ScopeOp>())
      addInScope(op, scope, touched);
    else
      add(op, touched);
    return WalkResult::skip();
  });
  hasBoth = hasCube && (hasVectors || !ofBoth[0].empty() || !ofBoth[1].empty());
}

void JointWork::addWork(SmallVector<Operation*>& work, Operation* op) {
  op->walk([&](Operation* inner) { work.push_back(inner); });
}

void JointWork::add(Operation* op, const npu::Touched& touched) {
  const Agent agent = npu::doerOf(op) == npu::Doer::Cube ? Agent::Cube : Agent::Vector;
  const bool isElement = isa<tile::StoreOp>(op) && !touched.ofVectors && !touched.ofCube;
  if (isElement ? !isKnownToVectorsAlone(op) : isJoint(op, touched, agent))
    return addWork(ofBoth[size_t(agent)], op);
  if (tile::isTileOperation(op) || isa<tile::ParallelOp, tile::StoreOp, tile::AtomicOp>(op))
    return addWork(ofOne[size_t(agent)], op);
  for (SmallVector<Operation*>& work : ofOne)
    addWork(work, op);
}

void JointWork::addInScope(Operation* op, ScopeOp scope, const npu::Touched& touched) {
  const auto agent = size_t(scope.getAgent());
  addWork(ofOne[agent], op);
  auto nest = dyn_cast<tile::ParallelOp>(op);
  if (nest && scope.getAgent() == Agent::Cube && touched.ofCube && !isMove(nest))
    addWork(ofBoth[agent], op);
  else if ((touched.ofCube && touched.ofVectors) || usesTileOfBoth(op))
    ofBoth[agent].push_back(scope);
}

bool JointWork::isJoint(Operation* op, const npu::Touched& touched, Agent agent) {
  if (!touched.ofCube)
    return false;
  auto copy = dyn_cast<tile::CopyOp>(op);
  const bool isThroughUb = copy && isOnCube(copy.getSource()) && isOnCube(copy.getTarget()) &&
                           memoryOf(copy.getSource()) != MemorySpace::L1 &&
                           !isL0Operand(copy.getTarget());
  return touched.ofVectors || agent == Agent::Vector || isThroughUb || usesTileOfBoth(op) ||
         !isa<tile::CopyOp, tile::GemmOp, tile::FillOp, tile::AtomicTileOp>(op);
}

bool JointWork::usesTileOfBoth(Operation* op) {
  return op
      ->walk([&](Operation* inner) {
        return llvm::any_of(inner->getOperands(),
                            [&](Value operand) {
                              return isa<BufferType>(operand.getType()) && isOnCube(operand) &&
                                     isOfVectorsToo(npu::storageOf(operand));
                            })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

bool JointWork::isOfVectorsToo(Value tile) {
  const auto [found, isNew] = tilesOfBoth.try_emplace(tile, false);
  if (isNew)
    found->second =
        llvm::any_of(npu::usersOf(tile), [&](Operation* user) { return !needsNoTwin(user, tile); });
  return found->second;
}

} // namespace tilewright::ascend
