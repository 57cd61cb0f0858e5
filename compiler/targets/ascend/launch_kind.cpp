// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/launch_kind.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/crossing_places.h"
#include "compiler/targets/ascend/passes.h"

namespace tilewright::ascend {

using namespace mlir;

const char* LaunchKind::taskType() const {
  if (isMixed())
    return hasTwoVectors ? "KERNEL_TYPE_MIX_AIC_1_2" : "KERNEL_TYPE_MIX_AIC_1_1";
  if (hasCube)
    return hasCrossFlags ? "KERNEL_TYPE_MIX_AIC_1_0" : "KERNEL_TYPE_AIC_ONLY";
  return hasCrossFlags ? "KERNEL_TYPE_MIX_AIV_1_0" : "KERNEL_TYPE_AIV_ONLY";
}

/// Of a cross-core flag: between the vector cores of a block.
static constexpr int64_t kPairMode = 1;

bool mayHaveTwoVectors(tile::LaunchOp launch) {
  return launch && launch.getNpu() && launch.getThreads().empty() && !launch->hasAttr(kOfGpuAttr);
}

/// Whether a launch has two vector cores to a block, whatever they do.
static bool isOfTwoVectors(tile::LaunchOp launch) {
  return mayHaveTwoVectors(launch) && !launch->hasAttr(kOneVectorAttr);
}

/// Whether an element of a tensor is stored where the cores' number says so: on the cube core that is always 0.
static bool isStoredByNumber(Operation* op) {
  auto store = dyn_cast<tile::StoreOp>(op);
  return store && cast<tile::BufferType>(store.getBuffer().getType()).isGlobal() &&
         outermostApart(op) != nullptr;
}

LaunchKind launchKindOf(func::FuncOp kernel) {
  LaunchKind kind;
  bool pairs = false;
  kernel.walk([&](Operation* op) {
    if (auto instruction = dyn_cast<npu::Instruction>(op)) {
      const std::optional<Agent> agent = instruction.getAgent();
      kind.hasCube |= agent == Agent::Cube;
      kind.hasVector |= agent == Agent::Vector;
    }
    if (auto scope = dyn_cast<ScopeOp>(op); scope && !scope.getBody().front().empty())
      (scope.getAgent() == Agent::Cube ? kind.hasCube : kind.hasVector) = true;
    kind.usesVectorId |= isa<VectorIdOp>(op);
    kind.hasTwoVectors |= op->hasAttr(kAsksVidAttr);
    kind.hasVector |= isStoredByNumber(op);
    if (auto store = dyn_cast<npu::StoreUbOp>(op); store && store.getAtomicAdd())
      kind.hasTwoVectors |= isOfTwoVectors(store->getParentOfType<tile::LaunchOp>());
    kind.hasCrossFlags |= isa<SetCrossFlagOp, WaitCrossFlagOp, SyncAllOp>(op);
    auto set = dyn_cast<SetCrossFlagOp>(op);
    pairs |= set && set.getMode() == kPairMode;
  });
  kind.hasTwoVectors |= kind.usesVectorId;
  // Only a mixed launch gives a block two vector cores that know each other.
  kind.hasCube |= pairs && kind.usesVectorId;
  // A kernel that does nothing, or only writes single elements, is vector work.
  kind.hasVector |= !kind.hasCube;
  return kind;
}

bool speaksToOthers(ScopeOp scope) {
  return scope
      ->walk([](Operation* op) {
        return isa<SetCrossFlagOp, WaitCrossFlagOp, SyncAllOp>(op) ? WalkResult::interrupt()
                                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether an instruction that either kind of core has writes where others see it.
static bool writesGlobal(npu::Instruction instruction) {
  SmallVector<npu::Access> accesses;
  instruction.getAccesses(accesses);
  return llvm::any_of(accesses, [](const npu::Access& access) {
    return access.isWrite && access.type().getSpace() == tile::MemorySpace::Global;
  });
}

/// Whether an operation leaves nothing behind, or only one kind of core has it.
static bool isSilent(Operation* op) {
  if (auto instruction = dyn_cast<npu::Instruction>(op))
    return instruction.getAgent() || !writesGlobal(instruction);
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getBuffer().getType().getSpace() == tile::MemorySpace::Var;
  return op->getNumRegions() > 0 || isPure(op) || op->hasTrait<OpTrait::IsTerminator>() ||
         isa<npu::RequireOp, npu::CheckPartOp, tile::AllocOp, tile::LoadOp, tile::BreakOp,
             tile::ContinueOp, PipeBarrierOp, SetFlagOp, WaitFlagOp>(op);
}

bool hasScalarWork(ScopeOp scope) {
  return scope
      ->walk([](Operation* op) {
        return isSilent(op) ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

} // namespace tilewright::ascend
