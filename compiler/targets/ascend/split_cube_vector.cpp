// SPDX-License-Identifier: Apache-2.0
/// SplitCubeVector: makes one program for the cube core and one for the vector cores.
///
///   tile.for %i = ... {
///     npu.mmad ...
///     npu.store_l0c %c ... to %W ...
///     npu.load_ub %W ... to %x ...
///   }
/// becomes
///   ascend.scope cube { tile.for %i = ... { npu.mmad ...; npu.store_l0c %c ... to %W ... } }
///   ascend.scope vector { tile.for %i = ... { npu.load_ub %W ... to %x ... } }
///
/// Each instruction says whose it is; scalar code, loops and branches go to both, and what then
/// does nothing is dropped (also a print of what only the vector cores can read), with the variables that only such loops and branches ask for (needed_work.h). So the split
/// follows the flow of data, not names. Scopes of the user's own are merged. Without `combine` (tl.ascend_auto_cv_combine),
/// they are the only split: what stands outside of them runs on both kinds of core, so there an instruction that only one
/// kind has is refused.
/// It stands last, behind the flags: until here both are in one text order, so that
/// one analysis sees what they do to each other.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/analysis/buffer_name.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/build_program.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/needed_work.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/scalar_agents.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::MemorySpace;

bool isOfOneCore(Pipe pipe, Agent agent) {
  const bool isCubes = pipe == Pipe::M || pipe == Pipe::MTE1 || pipe == Pipe::FIX;
  const bool isVectors = pipe == Pipe::V;
  return agent == Agent::Cube ? isCubes : isVectors;
}

Agent otherThan(Agent agent) {
  return agent == Agent::Cube ? Agent::Vector : Agent::Cube;
}

/// Whether only the other kind of core has this.
bool isForeign(Operation* op, Agent agent) {
  if (auto instruction = dyn_cast<npu::Instruction>(op))
    return instruction.getAgent() == otherThan(agent);
  if (auto scope = dyn_cast<ScopeOp>(op))
    return scope.getAgent() != agent;
  if (auto require = dyn_cast<npu::RequireOp>(op))
    return require.getOn() == otherThan(agent);
  if (auto check = dyn_cast<npu::CheckPartOp>(op))
    return check.getOn() == otherThan(agent);
  if (auto barrier = dyn_cast<PipeBarrierOp>(op))
    return isOfOneCore(barrier.getPipe(), otherThan(agent));
  if (auto set = dyn_cast<SetCrossFlagOp>(op))
    return isOfOneCore(set.getPipe(), otherThan(agent));
  const auto lacksEvent = [&](Pipe from, Pipe to) {
    return !model::hasEvent(modelAgent(agent), static_cast<model::Pipe>(from),
                            static_cast<model::Pipe>(to));
  };
  if (auto set = dyn_cast<SetFlagOp>(op))
    return lacksEvent(set.getFrom(), set.getTo());
  if (auto wait = dyn_cast<WaitFlagOp>(op))
    return lacksEvent(wait.getFrom(), wait.getTo());
  return false;
}

/// Takes out of one core's copy what it needn't do.
class Pruner {
public:
  Pruner(ScopeOp scope) : scope(scope) {}

  LogicalResult run() {
    inlineScopes();
    SmallVector<Operation*> foreign;
    scope.walk([&](Operation* op) {
      if (op != scope && isForeign(op, scope.getAgent()))
        foreign.push_back(op);
    });
    llvm::erase_if(foreign, [](Operation* op) {
      const bool isUnused = op->use_empty();
      if (isUnused)
        op->erase();
      return isUnused;
    });
    SmallVector<Operation*>
        kept; // a loop that waits, or that may have no end, but for the other kind's
    scope.walk([&](tile::WhileOp loop) {
      if (isWaiting(loop) || !dependsOn(scope, loop, foreign))
        kept.push_back(loop);
    });
    dropNeedlessWork(scope, kept);
    return refuseForeign();
  }

private:
  void inlineScopes() {
    SmallVector<ScopeOp> inner;
    scope.walk([&](ScopeOp op) {
      if (op != scope)
        inner.push_back(op);
    });
    for (ScopeOp op : inner) {
      if (op.getAgent() == scope.getAgent())
        op->getBlock()->getOperations().splice(op->getIterator(),
                                               op.getBody().front().getOperations());
      op.erase();
    }
  }

  /// Values that only the other kind of core can have, but that this one needs: an error of each statement that does,
  /// and of each variable that it asks.
  LogicalResult refuseForeign() {
    llvm::MapVector<std::pair<Location, Value>, std::pair<Operation*, SmallVector<Location>>>
        ofVariables;
    bool hasForeign = false;
    scope.walk([&](npu::Instruction op) {
      if (!isForeign(op, scope.getAgent()))
        return;
      hasForeign = true;
      const Need need = needOf(scope, op);
      if (!need.variable)
        return refuseElement(op, scope.getAgent(), need.user ? need.user : *op->getUsers().begin());
      auto& [user, places] = ofVariables[{need.user->getLoc(), need.variable}];
      user = need.user;
      if (!llvm::is_contained(places, op->getLoc()))
        places.push_back(op->getLoc());
    });
    for (const auto& [key, found] : ofVariables)
      refuseVariable(quotedBuffer(key.second), found.first, found.second);
    return failure(hasForeign);
  }

  /// `places`: what the variable depends on.
  void refuseVariable(const std::string& name, Operation* user, ArrayRef<Location> places) {
    const StringRef own = stringifyAgent(scope.getAgent()),
                    other = stringifyAgent(otherThan(scope.getAgent()));
    auto instruction = dyn_cast<npu::Instruction>(user);
    const bool isOfBoth = !instruction || !instruction.getAgent();
    InFlightDiagnostic error = user->emitError();
    error << "unsupported on ascend: the " << own << " core needs " << name
          << " here, but only the " << other << " core knows it: ";
    if (isOfBoth)
      error << "put this into T.Scope(\"" << (scope.getAgent() == Agent::Cube ? "V" : "C")
            << "\"), or ";
    error << "store " << name << " in an element of a tensor"
          << (scope.getAgent() == Agent::Cube ? ", where vid is 0," : "")
          << " and read that element instead";
    for (const Location place : places)
      error.attachNote(place) << name << " depends on what only the " << other
                              << " core reads here";
  }

  ScopeOp scope;
};

struct SplitCubeVector : KernelPass<SplitCubeVector> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitCubeVector)
  static constexpr llvm::StringLiteral kArgument = "ascend-split-cube-vector";
  static constexpr llvm::StringLiteral kDescription =
      "make one program for the cube core and one for the vector cores";

  SplitCubeVector() = default;
  explicit SplitCubeVector(bool combine) : combine(combine) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<AscendDialect>();
  }

  void runOnOperation() override {
    if (getOperation().getOps<tile::LaunchOp>().empty())
      return; // not a kernel
    tile::LaunchOp launch = *getOperation().getOps<tile::LaunchOp>().begin();
    bool hasCube = false, hasVector = false;
    launch.walk([&](npu::Instruction op) {
      hasCube |= op.getAgent() == Agent::Cube;
      hasVector |= op.getAgent() == Agent::Vector;
    });
    launch.walk([&](ScopeOp scope) {
      if (speaksToOthers(scope) || hasScalarWork(scope))
        (scope.getAgent() == Agent::Cube ? hasCube : hasVector) = true;
    });
    if (hasCube && hasVector && !combine && failed(refuseUnscoped(launch)))
      return signalPassFailure();
    if (!hasCube || !hasVector)
      warnOfIdle(launch, hasCube ? Agent::Cube : Agent::Vector);
    Block& body = *launch.getBodyBlock();
    SmallVector<Operation*> whole;
    for (Operation& op : body.without_terminator())
      if (!isShared(&op))
        whole.push_back(&op);
    SmallVector<Operation*> ofVectors;
    if (combine)
      launch.walk([&](Operation* op) {
        if (isPrintOfVectors(op))
          ofVectors.push_back(op);
      });
    if (hasCube)
      copyFor(Agent::Cube, whole, body, ofVectors);
    if (hasVector || !hasCube)
      copyFor(Agent::Vector, whole, body);
    for (Operation* op : llvm::reverse(whole))
      op->erase();
  }

  /// Of flags and barriers in a kernel of one kind of core that only the other kind has.
  static void warnOfIdle(tile::LaunchOp launch, Agent only) {
    launch.walk([&](Operation* op) {
      if (isa<SetFlagOp, WaitFlagOp, PipeBarrierOp>(op) && isForeign(op, only) &&
          !op->getParentOfType<ScopeOp>())
        op->emitWarning("this is left out: the kernel has no work for the ")
            << stringifyAgent(otherThan(only)) << " core, which alone has "
            << (isa<PipeBarrierOp>(op) ? "this pipe" : "these pipes");
    });
  }

  /// One error, with a note for each further place: an operation has become many instructions.
  static LogicalResult refuseUnscoped(tile::LaunchOp launch) {
    DenseSet<Location> refused;
    std::optional<InFlightDiagnostic> error;
    launch.walk([&](npu::Instruction op) {
      const std::optional<Agent> agent = op.getAgent();
      if (!agent || op->getParentOfType<ScopeOp>() || !refused.insert(op->getLoc()).second)
        return;
      const std::string place =
          (Twine("into T.Scope(\"") + (*agent == Agent::Cube ? "C" : "V") + "\")").str();
      if (error) {
        error->attachNote(op->getLoc())
            << "only the " << stringifyAgent(*agent) << " core can do this, too: " << place;
        return;
      }
      error.emplace(op->emitError());
      *error << "outside of T.Scope, code runs on both kinds of core, but only the "
             << stringifyAgent(*agent) << " core can do this: put it " << place
             << ", or set tl.ascend_auto_cv_combine";
    });
    return failure(error.has_value());
  }

  /// Memory of the whole launch belongs to both.
  static bool isShared(Operation* op) {
    auto alloc = dyn_cast<tile::AllocOp>(op);
    return alloc && alloc.getType().getSpace() == MemorySpace::Global;
  }

  void copyFor(Agent agent, ArrayRef<Operation*> whole, Block& body,
               ArrayRef<Operation*> leftOut = {}) {
    OpBuilder builder(body.getTerminator());
    auto scope = ScopeOp::create(builder, body.getParentOp()->getLoc(), agent);
    builder.setInsertionPointToStart(&scope.getBody().emplaceBlock());
    IRMapping mapping;
    for (Operation* op : whole)
      builder.clone(*op, mapping);
    for (Operation* op : leftOut)
      mapping.lookup(op)->erase();
    if (failed(Pruner(scope).run()))
      signalPassFailure();
  }

  bool combine = true;
};

} // namespace

std::unique_ptr<Pass> createSplitCubeVector(bool combine) {
  return std::make_unique<SplitCubeVector>(combine);
}

} // namespace tilewright::ascend
