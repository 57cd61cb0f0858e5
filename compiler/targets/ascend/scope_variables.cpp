// SPDX-License-Identifier: Apache-2.0
/// ScopeVariables: each kind of core has a variable of its own, so what both do together takes numbers that both have.
///
///   ascend.scope vector { tile.fill %h ...; %i = tile.load %n[]; tile.store (%i + 1), %n[] }
///   scf.if (tile.load %n[] > 2) { tile.copy %h : UB to %p : L1 }      // the vector cores say whether, both take part
/// becomes
///   ascend.scope vector { tile.fill %h ... }
///   %i = tile.load %n[]; tile.store (%i + 1), %n[]                    // the cube core counts, too
///   scf.if ...
///
/// What both do: copies from the memories of one kind to those of the other; what stands outside of scopes and works on a tile of
/// gemms that vector cores use, too; elements of tensors that are stored there, which one core does for all; nests that leave
/// the cube core's scope. Of each, block_cores.h says whose numbers count. Where the other kind can't compute what is assigned in
/// a scope, or has a use for a number of its own under that name, it is an error. A number that each kind has set before it
/// reads it is its own: assignments count where a read may find them. What only one kind assigns to and the other kind reads for
/// itself gets a warning. It stands before all that moves work between the cores.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/analysis/buffer_name.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/joint_work.h"
#include "compiler/targets/ascend/leave_scope.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/reaching_stores.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVectorExtras.h>

#include <array>

namespace tilewright::ascend {
namespace {

using namespace mlir;

constexpr std::array kAgents = {Agent::Cube, Agent::Vector};

Agent otherKindOf(Agent agent) {
  return agent == Agent::Cube ? Agent::Vector : Agent::Cube;
}

/// Of a store in a scope; nothing outside.
std::optional<Agent> scopeOf(Operation* op) {
  auto scope = op->getParentOfType<ScopeOp>();
  return scope ? std::optional(scope.getAgent()) : std::nullopt;
}

class Variables {
public:
  explicit Variables(tile::LaunchOp launch) : launch(launch), work(launch) {}

  LogicalResult run() {
    if (!work.isOfBoth())
      return success();
    while (addStores()) {
    }
    for (const Agent agent : kAgents)
      checkOwn(agent);
    if (!refused.empty())
      return failure();
    for (const Agent agent : kAgents)
      warnOfOthers(agent);
    storeOnBoth(llvm::map_to_vector(stores, [](const auto& each) { return each.first; }));
    return success();
  }

private:
  /// Those that decide about joint work; false if there are no more.
  bool addStores() {
    ReachingStores ofCube(launch, Agent::Cube, known), ofVectors(launch, Agent::Vector, known);
    SmallVector<Operation*> found;
    for (const Agent agent : kAgents)
      for (Operation* joint : work.joint(agent))
        VariableOrigins({&ofCube, &ofVectors}).follow(joint, [&](Operation* op) {
          const std::optional<Agent> scope = scopeOf(op);
          auto store = dyn_cast<tile::StoreOp>(op);
          if (scope && *scope != agent)
            refuseOther(op, joint, agent);
          else if (!scope || known.contains(op))
            return;
          else if (!store || !canStoreOnBoth(store))
            refuse(op, joint, *scope);
          else if (stores.try_emplace(store, joint).second)
            found.push_back(store);
        });
    known.insert_range(found);
    return !found.empty();
  }

  /// That no such number comes to what the other kind does by itself.
  void checkOwn(Agent agent) {
    if (stores.empty())
      return;
    ReachingStores view(launch, agent, known);
    for (Operation* own : work.own(agent))
      VariableOrigins({&view}).follow(own, [&](Operation* store) {
        if (known.contains(store) && scopeOf(store) != agent)
          refuseOwn(store, own, agent);
      });
  }

  /// Of what one kind reads and only the other kind assigns to: by the order of the text it would find that.
  void warnOfOthers(Agent agent) {
    DenseSet<Operation*> all;
    launch.walk([&](tile::StoreOp store) { all.insert(store); });
    ReachingStores view(launch, agent, all);
    DenseSet<Value> told;
    for (Operation* own : work.own(agent))
      VariableOrigins({&view}).follow(own, [&](Operation* op) {
        auto store = dyn_cast<tile::StoreOp>(op);
        if (!store || known.contains(op) || scopeOf(op).value_or(agent) == agent ||
            assignsToo(agent, store.getBuffer()) || !told.insert(store.getBuffer()).second)
          return;
        const std::string name = quotedBuffer(store.getBuffer());
        InFlightDiagnostic warning = store.emitWarning();
        warning << assigns(otherKindOf(agent), name) << ", so " << coresOf(agent)
                << (agent == Agent::Cube ? " reads" : " read") << " another number: assign to "
                << name << " outside of T.Scope";
        warning.attachNote(own->getLoc()) << name << " is read for this";
      });
  }

  /// Whether that kind counts in scopes of its own.
  static bool assignsToo(Agent agent, Value variable) {
    return llvm::any_of(npu::usersOf(npu::storageOf(variable)), [&](Operation* user) {
      return !isa<tile::LoadOp>(user) && scopeOf(user) == agent;
    });
  }

  static std::string assigns(Agent agent, const std::string& name) {
    return (agent == Agent::Cube ? "only the cube core assigns to "
                                 : "only the vector cores assign to ") +
           name + " here";
  }

  static std::string coresOf(Agent agent) {
    return agent == Agent::Cube ? "the cube core" : "the vector cores";
  }

  /// An error, but of each variable once.
  std::optional<InFlightDiagnostic> errorOf(Operation* store, Agent agent, std::string& name) {
    for (Value operand : store->getOperands())
      if (auto type = dyn_cast<tile::BufferType>(operand.getType()); type && type.isPerThread()) {
        const Value variable = npu::storageOf(operand);
        if (!refused.insert(variable).second)
          return std::nullopt;
        name = quotedBuffer(variable);
      }
    if (name.empty())
      name = "a variable";
    return store->emitError("unsupported on ascend: ") << assigns(agent, name);
  }

  void refuse(Operation* store, Operation* joint, Agent agent) {
    std::string name;
    if (auto error = errorOf(store, agent, name)) {
      *error << ", but what needs it takes both kinds of core, and " << coresOf(otherKindOf(agent))
             << " can't compute it: assign to " << name << " outside of T.Scope";
      error->attachNote(joint->getLoc()) << name << " is needed here";
    }
  }

  void refuseOther(Operation* store, Operation* joint, Agent agent) {
    std::string name;
    if (auto error = errorOf(store, otherKindOf(agent), name)) {
      *error << ", but the " << name << " of " << coresOf(agent)
             << " is needed for what takes both kinds of core: assign to " << name
             << " outside of T.Scope, or use another variable in it";
      error->attachNote(joint->getLoc()) << name << " is needed here";
    }
  }

  void refuseOwn(Operation* store, Operation* own, Agent agent) {
    std::string name;
    if (auto error = errorOf(store, otherKindOf(agent), name)) {
      *error << ", but what needs it takes both kinds of core, and elsewhere " << coresOf(agent)
             << (agent == Agent::Cube ? " needs " : " need ") << name
             << " without this: use another variable there";
      error->attachNote(stores.lookup(store)->getLoc()) << name << " is needed here";
      error->attachNote(own->getLoc()) << name << " is needed without this here";
    }
  }

  tile::LaunchOp launch;
  JointWork work;
  DenseSet<Operation*> known;                     ///< stores in scopes that both are to do
  llvm::MapVector<Operation*, Operation*> stores; ///< the same in order, and what needs each
  DenseSet<Value> refused;
};

struct ScopeVariables : KernelPass<ScopeVariables> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScopeVariables)
  static constexpr llvm::StringLiteral kArgument = "ascend-scope-variables";
  static constexpr llvm::StringLiteral kDescription =
      "let both kinds of core know the variables that decide about what they do together";

  void runOnOperation() override {
    for (auto launch : getOperation().getOps<tile::LaunchOp>())
      if (storesInScopes(launch) && failed(Variables(launch).run()))
        signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createScopeVariables() {
  return std::make_unique<ScopeVariables>();
}

} // namespace tilewright::ascend
