// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/scalar_agents.h"

#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/launch_kind.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

MemorySpace spaceOf(Value buffer) {
  return cast<BufferType>(buffer.getType()).getSpace();
}

/// Whether something comes from what only the vector cores have: elements of UB, and their number. Or, of the cube
/// core, from elements of tensors that it alone reads.
class OwnValues {
public:
  /// Without the cores' number, which is 0 on the cube core.
  explicit OwnValues(bool hasNumber = true) : hasNumber(hasNumber) {}
  explicit OwnValues(Agent agent) : agent(agent), hasNumber(agent == Agent::Vector) {}

  bool decide(Operation* op) {
    return holdOperands(op) || decidePathTo(op);
  }

  /// Where a variable counts as known to all.
  bool decideBut(Operation* op, Value variable) {
    seen.insert(variable);
    return decide(op);
  }

  /// Which way a branch goes, or how often a loop runs.
  bool decideBranch(Operation* op) {
    if (holdOperands(op))
      return true;
    for (Region& region : op->getRegions())
      for (Block& block : region)
        if (auto end =
                dyn_cast_if_present<tile::ConditionOp>(block.empty() ? nullptr : &block.back()))
          if (hold(end.getCondition()))
            return true;
    return false;
  }

  /// In a variable; what one kind of core alone stores differs, too, unless the other never asks.
  bool differ(Value variable) {
    std::optional<std::optional<Agent>> whose;
    for (Operation* user : npu::usersOf(variable)) {
      auto scope = user->getParentOfType<ScopeOp>();
      const std::optional<Agent> agent = scope ? std::optional(scope.getAgent()) : std::nullopt;
      if (whose && *whose != agent)
        return true;
      whose = agent;
    }
    return (!whose || !*whose) && isRead(variable);
  }

  /// The element of UB that has decided, if one has.
  npu::GetValueOp decidingElement() const {
    return element;
  }

  bool decidePathTo(Operation* op) {
    Operation* parent = op->getParentOp();
    return parent && !isa<tile::LaunchOp>(parent) && (decideBranch(parent) || decidePathTo(parent));
  }

private:
  bool holdOperands(Operation* op) {
    return llvm::any_of(op->getOperands(), [&](Value v) { return hold(v); });
  }

  bool hold(Value value) {
    if (!seen.insert(value).second)
      return false;
    Operation* op = value.getDefiningOp();
    if (!op) // the number of a loop, or of a block
      return decideLoop(value.getParentBlock()->getParentOp());
    if (isa<VectorIdOp>(op))
      return hasNumber;
    if (isa<BufferType>(value.getType()))
      return false;
    if (auto get = dyn_cast<npu::GetValueOp>(op); get && get.getAgent() == agent) {
      element = get;
      return true;
    }
    if (auto load = dyn_cast<tile::LoadOp>(op))
      if (isRead(load.getBuffer()))
        return true;
    bool is = holdOperands(op);
    for (Region& region : op->getRegions())
      for (Block& block : region)
        is = is || (!block.empty() && holdOperands(&block.back()));
    return is;
  }

  bool decideLoop(Operation* loop) {
    return !isa<tile::LaunchOp>(loop) && holdOperands(loop);
  }

  /// An element of UB, or of a variable that holds such a number.
  bool isRead(Value buffer) {
    if (spaceOf(buffer) == MemorySpace::UB)
      return agent == Agent::Vector;
    if (!cast<BufferType>(buffer.getType()).isPerThread() || !seen.insert(buffer).second)
      return false;
    return llvm::any_of(npu::usersOf(npu::storageOf(buffer)), [&](Operation* user) {
      auto store = dyn_cast<tile::StoreOp>(user);
      return store && decide(store);
    });
  }

  Agent agent = Agent::Vector;
  bool hasNumber;
  DenseSet<Value> seen;
  npu::GetValueOp element;
};

/// The cores whose instructions need a number.
class Needing {
public:
  explicit Needing(const ScalarAgents& agents) : agents(agents) {}

  void addUsers(Value value) {
    for (OpOperand& use : value.getUses()) {
      Operation* user = use.getOwner();
      if (Value result = resultOfBranch(use))
        addUsers(result);
      else if (auto instruction = dyn_cast<npu::Instruction>(user);
               instruction && instruction.getAgent())
        found.insert(*instruction.getAgent());
      else if (auto store = dyn_cast<tile::StoreOp>(user))
        addStore(store);
      else if (isPrintOfVectors(user))
        found.insert(Agent::Vector);
      else if (isPure(user) && user->getNumResults() == 1 && user->getNumRegions() == 0)
        addUsersOnce(user);
      else if (isa<scf::IfOp, tile::ForOp>(user))
        addAround(user);
      else
        add(std::nullopt);
    }
  }

  std::optional<Agent> only() const {
    return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
  }

private:
  /// Of what is computed of a number.
  void addUsersOnce(Operation* pure) {
    if (seen.insert(pure).second)
      addUsers(pure->getResult(0));
  }

  void add(std::optional<Agent> agent) {
    for (const Agent each : {Agent::Cube, Agent::Vector})
      if (!agent || agent == each)
        found.insert(each);
  }

  void addStore(tile::StoreOp store) {
    const MemorySpace space = spaceOf(store.getBuffer());
    if (space == MemorySpace::Var)
      addVariable(npu::storageOf(store.getBuffer()));
    else
      add(space == MemorySpace::UB ? std::optional(Agent::Vector) : agents.ofStore(store));
  }

  void addVariable(Value variable) {
    if (seen.insert(variable.getAsOpaquePointer()).second)
      for (Operation* user : npu::usersOf(variable))
        if (auto load = dyn_cast<tile::LoadOp>(user))
          addUsers(load.getValue());
  }

  /// Those that have work in a branch or loop, or need what it gives.
  void addAround(Operation* around) {
    if (!seen.insert(around).second)
      return;
    around->walk([&](Operation* op) { addWork(op); });
    for (Value result : around->getResults())
      addUsers(result);
  }

  void addWork(Operation* op) {
    // What leaves a loop decides about the rest of it; a `while` may wait for what others store.
    if (isa<tile::BreakOp, tile::ContinueOp, tile::WhileOp>(op))
      return add(std::nullopt);
    const bool isNone =
        isPure(op) || op->hasTrait<OpTrait::IsTerminator>() ||
        isa<scf::IfOp, tile::ForOp, ScopeOp, tile::AllocOp, tile::LoadOp, npu::GetValueOp>(op);
    if (isNone || op->hasAttr(kOfElementAttr))
      return;
    if (auto scope = op->getParentOfType<ScopeOp>())
      add(scope.getAgent());
    else if (auto instruction = dyn_cast<npu::Instruction>(op))
      add(instruction.getAgent());
    else if (auto require = dyn_cast<npu::RequireOp>(op))
      add(require.getOn());
    else if (auto check = dyn_cast<npu::CheckPartOp>(op))
      add(check.getOn());
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      addStore(store);
    else
      add(isPrintOfVectors(op) ? std::optional(Agent::Vector) : std::nullopt);
  }

  const ScalarAgents& agents;
  llvm::SmallDenseSet<Agent, 2> found;
  DenseSet<void*> seen; ///< variables, and operations that need the number
};

} // namespace

Value resultOfBranch(OpOperand& use) {
  auto yield = dyn_cast<scf::YieldOp>(use.getOwner());
  auto branch = yield ? dyn_cast<scf::IfOp>(yield->getParentOp()) : scf::IfOp();
  return branch ? branch.getResult(use.getOperandNumber()) : Value();
}

bool asksVectorCores(Operation* branch) {
  return OwnValues().decideBranch(branch);
}

bool asksCubeCore(Operation* branch) {
  return OwnValues(Agent::Cube).decideBranch(branch);
}

npu::GetValueOp elementAskedAround(Operation* op) {
  for (Operation* around = op->getParentOp(); around && !isa<tile::LaunchOp>(around);
       around = around->getParentOp()) {
    OwnValues values(/*hasNumber=*/false);
    if (values.decideBranch(around) && values.decidingElement())
      return values.decidingElement();
  }
  return {};
}

void refuseElement(Operation* read, Agent agent, Operation* user) {
  const StringRef own = stringifyAgent(agent),
                  other = stringifyAgent(agent == Agent::Cube ? Agent::Vector : Agent::Cube);
  InFlightDiagnostic error = read->emitError();
  error << "unsupported on ascend: the " << own << " core needs this value, but only the " << other
        << " core can read it: take what the " << own
        << " core does out of the loop or branch that asks for it, or ask an element of a tensor";
  error.attachNote(user->getLoc()) << "it is needed here";
}

bool changeOnVectorCores(Operation* op, Value variable) {
  return op
      ->walk([&](tile::StoreOp store) {
        const bool is = store.getBuffer() == variable && OwnValues().decideBut(store, variable);
        return is ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

std::optional<Agent> agentOf(npu::Instruction op) {
  if (std::optional<Agent> agent = op.getAgent())
    return agent;
  if (auto scope = op->getParentOfType<ScopeOp>())
    return scope.getAgent();
  return std::nullopt;
}

namespace {

/// Something that the cores of this kind don't do by themselves.
bool holdsWorkOfOthers(Operation* branch, Agent agent) {
  return branch
      ->walk([agent](Operation* op) {
        auto instruction = dyn_cast<npu::Instruction>(op);
        const bool isOfOthers = instruction ? agentOf(instruction) != agent
                                            : isa<SetCrossFlagOp, WaitCrossFlagOp, SyncAllOp>(op);
        return isOfOthers ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a number that is read of a variable has a part in nothing but what one kind of core does, and in the variable.
bool decidesForOneAlone(Value number, Value variable, Agent agent, unsigned& fuel) {
  return llvm::all_of(number.getUsers(), [&](Operation* user) {
    if (fuel == 0)
      return false;
    --fuel;
    if (auto instruction = dyn_cast<npu::Instruction>(user))
      return agentOf(instruction) == agent;
    if (auto store = dyn_cast<tile::StoreOp>(user))
      return store.getBuffer() == variable && store.getValue() == number;
    if (isa<scf::IfOp>(user))
      return !holdsWorkOfOthers(user, agent);
    if (isa<tile::ConditionOp>(user))
      return !holdsWorkOfOthers(user->getParentOp(), agent);
    return isa<npu::CheckPartOp>(user) ||
           (isPure(user) && user->getNumRegions() == 0 && user->getNumResults() == 1 &&
            decidesForOneAlone(user->getResult(0), variable, agent, fuel));
  });
}

} // namespace

bool isOfOneAlone(Value buffer, Agent agent) {
  return llvm::all_of(buffer.getUsers(), [&](Operation* user) {
    auto scope = user->getParentOfType<ScopeOp>();
    if (scope && scope.getAgent() != agent)
      return false;
    auto load = dyn_cast<tile::LoadOp>(user);
    unsigned fuel = 100;
    return !load || decidesForOneAlone(load, buffer, agent, fuel);
  });
}

bool isKnownToVectorsAlone(Operation* op) {
  return OwnValues().decide(op);
}

bool isPrintOfVectors(Operation* op) {
  return isa<tile::PrintOp, PrintfOp, tile::AssertOp>(op) && !op->getParentOfType<ScopeOp>() &&
         OwnValues(/*hasNumber=*/false).decide(op);
}

bool differsOnVectorCores(Value variable) {
  return OwnValues().differ(variable);
}

ScalarAgents::ScalarAgents(func::FuncOp kernel, bool splits) : splits(splits) {
  const LaunchKind kind = launchKindOf(kernel);
  hasCube = kind.hasCube;
  hasVector = kind.hasVector;
  hasTwoVectors = kind.hasTwoVectors;
  kernel.walk([&](npu::Instruction op) {
    if (op.getAgent() != Agent::Cube)
      return;
    SmallVector<npu::Access> accesses;
    op.getAccesses(accesses);
    for (const npu::Access& access : accesses)
      ofCube.insert(npu::storageOf(access.buffer));
  });
}

bool ScalarAgents::isLeftToUs(Operation* op) const {
  return hasCube && hasVector && splits && !op->getParentOfType<ScopeOp>();
}

std::optional<Agent> ScalarAgents::ofStore(tile::StoreOp store) const {
  if (!isLeftToUs(store) || !store.getBuffer().getType().isGlobal())
    return std::nullopt;
  if (OwnValues().decide(store))
    return Agent::Vector;
  const bool isOfCube = hasTwoVectors || ofCube.contains(npu::storageOf(store.getBuffer()));
  return isOfCube ? Agent::Cube : Agent::Vector;
}

std::optional<Agent> ScalarAgents::ofLoad(tile::LoadOp load) const {
  if (!isLeftToUs(load) || !load.getBuffer().getType().isGlobal())
    return std::nullopt;
  if (OwnValues(/*hasNumber=*/false).decidePathTo(load))
    return Agent::Vector; // where the cube core can't come
  Needing needing(*this);
  needing.addUsers(load.getValue());
  return needing.only();
}

SmallVector<Agent, 2> ScalarAgents::running(Operation* op, std::optional<Agent> agent) const {
  if (agent)
    return {*agent};
  if (auto scope = op->getParentOfType<ScopeOp>())
    return {scope.getAgent()};
  if (hasCube && hasVector)
    return {Agent::Cube, Agent::Vector};
  return {hasCube ? Agent::Cube : Agent::Vector};
}

} // namespace tilewright::ascend
