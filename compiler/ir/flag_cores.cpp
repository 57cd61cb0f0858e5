// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/flag_cores.h"

#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"

#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <array>

namespace tilewright::npu {
namespace {

using namespace mlir;
using ascend::Agent;
using Flag = CrossFlagCores::Flag;

Agent otherThan(Agent agent) {
  return agent == Agent::Cube ? Agent::Vector : Agent::Cube;
}

/// The kind of core that alone has a pipe.
std::optional<Agent> onlyOwnerOf(ascend::Pipe pipe) {
  using enum ascend::Pipe;
  if (pipe == V)
    return Agent::Vector;
  return pipe == M || pipe == MTE1 || pipe == FIX ? std::optional(Agent::Cube) : std::nullopt;
}

/// Which kind of core does a statement outside of scopes; nothing of one that both do, or either.
std::optional<Agent> coreOf(Operation* op) {
  if (!tile::isTileOperation(op) && !isa<tile::ParallelOp, tile::StoreOp, ascend::CallExternOp>(op))
    return std::nullopt;
  const Touched touched = touchedBy(op);
  if (!touched.ofCube && !touched.ofVectors)
    return std::nullopt;
  // A tile of gemms goes to UB by way of global memory: the cube core puts it there, and it is taken where it is used.
  if (isa<tile::CopyOp>(op) && touched.ofCube && touched.ofVectors && !touched.writesCube)
    return Agent::Cube;
  return doerOf(op) == Doer::Cube ? Agent::Cube : Agent::Vector;
}

Value numberOf(const Flag& flag) {
  auto set = dyn_cast<ascend::SetCrossFlagOp>(flag.op);
  return set ? set.getFlag() : cast<ascend::WaitCrossFlagOp>(flag.op).getFlag();
}

/// Whether two numbers are computed alike of the same.
bool areAlike(Value a, Value b) {
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  if (a == b || !first || !second || !isPure(first) || first->getNumRegions() != 0)
    return a == b;
  return first->getName() == second->getName() &&
         first->getAttrDictionary() == second->getAttrDictionary() &&
         first->getNumOperands() == second->getNumOperands() &&
         llvm::all_of_zip(first->getOperands(), second->getOperands(), areAlike);
}

/// From the core that sets a flag to the one that waits for it, and back.
Agent acrossFrom(Agent agent, const Flag& set) {
  constexpr int64_t betweenKinds = 2;
  const bool isBetweenKinds = cast<ascend::SetCrossFlagOp>(set.op).getMode() == betweenKinds;
  return isBetweenKinds ? otherThan(agent) : agent;
}

/// The only kind of core that is across from the known ones of `others`.
std::optional<Agent> onlyAcross(const Flag& flag, ArrayRef<Flag> others) {
  std::optional<Agent> only;
  for (const Flag& other : others) {
    if (!other.agent || !areAlike(numberOf(flag), numberOf(other)))
      continue;
    const bool isSet = isa<ascend::SetCrossFlagOp>(flag.op);
    const Agent across = acrossFrom(*other.agent, isSet ? flag : other);
    if (only && *only != across)
      return std::nullopt;
    only = across;
  }
  return only;
}

} // namespace

CrossFlagCores::CrossFlagCores(func::FuncOp kernel) {
  std::array<bool, 2> works{}, worksUnscoped{};
  std::optional<Agent> before;
  kernel.walk<WalkOrder::PreOrder>([&](Operation* op) {
    auto scope = op->getParentOfType<ascend::ScopeOp>();
    auto set = dyn_cast<ascend::SetCrossFlagOp>(op);
    const bool isFlag = set || isa<ascend::WaitCrossFlagOp>(op);
    std::optional<Agent> agent;
    if (scope && !isPure(op) && !isa<tile::AllocOp>(op))
      agent = scope.getAgent();
    else if (set)
      agent = onlyOwnerOf(set.getPipe());
    else if (!scope)
      agent = coreOf(op);
    if (agent) {
      before = agent;
      works[size_t(*agent)] |= !isFlag || scope;
      worksUnscoped[size_t(*agent)] |= !isFlag && !scope;
    }
    if (isFlag)
      (set ? sets : waits).push_back({op, before, scope != nullptr});
    return isa<tile::ParallelOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  isOfBoth = works[0] && works[1];
  isSplit = worksUnscoped[0] && worksUnscoped[1];
  for (Flag& wait : waits)
    if (std::optional<Agent> told = onlyAcross(wait, sets); told && !wait.isScoped)
      wait.agent = told;
  for (Flag& set : sets)
    if (!set.agent)
      set.agent = onlyAcross(set, waits);
}

} // namespace tilewright::npu
