// SPDX-License-Identifier: Apache-2.0
// Scopes, loops, and agents that wait for each other.
#include "compiler/interpreter/machine.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/own_reads.h"
#include "compiler/ir/thread_groups.h"

#include "mlir/Transforms/RegionUtils.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace tilewright::interpreter {
namespace {

/// A branch whose sides groups of threads take.
bool isOfGroups(mlir::Operation& op) {
  return llvm::isa<mlir::scf::IfOp>(op) && op.hasAttr(tile::kThreadGroupsAttr);
}

/// The agents that `op` of `agent` waits for: those of its warp, or of its block or group. Nobody if one of them
/// hasn't come to it.
llvm::SmallVector<Agent*> group(llvm::MutableArrayRef<Agent> agents, const Agent& agent,
                                mlir::Operation* op) {
  bool isWarpWide = llvm::isa<tile::ShuffleOp>(op);
  if (auto vote = llvm::dyn_cast<tile::VoteOp>(op))
    isWarpWide = vote.getScope() == tile::SyncScope::Warp;
  if (auto sync = llvm::dyn_cast<tile::SyncOp>(op))
    isWarpWide = sync.getScope() == tile::SyncScope::Warp;
  const Scope& here = agent.scopes.back();
  int64_t first = here.firstThread, end = here.endThread;
  if (isWarpWide) {
    first = agent.thread / tile::kWarpSize * tile::kWarpSize;
    end = std::min(first + tile::kWarpSize, int64_t(agents.size()));
  }
  llvm::SmallVector<Agent*> found;
  for (Agent& other : agents.slice(first, end - first)) {
    if (!isWarpWide && here.members && !here.members->test(unsigned(other.thread)))
      continue;
    if (other.waitsAt != op)
      return {};
    found.push_back(&other);
  }
  return found;
}

} // namespace

void Machine::findNames() {
  const auto seenAs = [&](unsigned first, unsigned second) {
    if (const unsigned narrow = std::min(first, second); first != second)
      narrowestOfViews = narrowestOfViews ? std::min(narrowestOfViews, narrow) : narrow;
  };
  kernel.walk([&](tile::ViewOp view) {
    seenAs(view.getSource().getType().getElementBits(), view.getType().getElementBits());
  });
  llvm::SmallVector<unsigned> ofAddresses;
  kernel.walk([&](tile::TensorAtOp tensor) {
    ofAddresses.push_back(tensor.getResult().getType().getElementBits());
  });
  usesAddresses = !ofAddresses.empty();
  for (unsigned bits : ofAddresses) {
    seenAs(bits, ofAddresses.front());
    for (mlir::Type type : kernel.getArgumentTypes())
      if (auto tensor = llvm::dyn_cast<tile::BufferType>(type))
        seenAs(bits, tensor.getElementBits());
  }
}

mlir::LogicalResult Machine::run() {
  findNames();
  hasWhile =
      kernel.walk([](tile::WhileOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
  Agent host;
  enter(host, *kernel, kernel.getBody().front());
  while (!host.isDone()) {
    mlir::Operation& op = *host.scopes.back().next;
    if (auto launch = llvm::dyn_cast<tile::LaunchOp>(op)) {
      launchScalars.insert(host.scalars.begin(), host.scalars.end());
      launchBuffers.insert(host.buffers.begin(), host.buffers.end());
      if (failed(runGrid(launch)))
        return mlir::failure();
      ++gridRound; // what this launch did is ordered before what comes
      blockNumber = -1;
      othersMayEnd = false;
      ++host.scopes.back().next;
    } else if (step(host) == Outcome::Failed) {
      return mlir::failure();
    }
  }
  return mlir::success();
}

mlir::LogicalResult Machine::meetAt(llvm::ArrayRef<Agent*> agents, bool isPart,
                                    mlir::Operation* op) {
  const bool isMeeting = !isOfGroups(*op); // those who part don't wait for each other
  acting = agents.front();
  if (isPart && isMeeting) { // what a group does races with other groups
    order(agents);
    running = agents.front();
  } else if (isMeeting && followsOrders) {
    shareClocks(agents);
  }
  if (failed(runCollective(agents, op)))
    return mlir::failure();
  running = nullptr;
  if (isMeeting)
    order(agents);
  for (Agent* agent : agents) {
    agent->waitsAt = nullptr;
    ++agent->scopes.back().next;
  }
  if (isOfGroups(*op))
    part(agents, llvm::cast<mlir::scf::IfOp>(op));
  return mlir::success();
}

/// All agents wait or are done: runs each op that all of its group have reached.
mlir::LogicalResult Machine::meet(llvm::MutableArrayRef<Agent> agents) {
  bool progress = false;
  for (Agent& agent : agents) {
    mlir::Operation* op = agent.waitsAt;
    if (!op)
      continue;
    const llvm::SmallVector<Agent*> others = group(agents, agent, op);
    if (others.empty())
      continue;
    if (failed(meetAt(others, others.size() < agents.size(), op)))
      return mlir::failure();
    progress = true;
  }
  if (progress)
    return mlir::success();
  const Agent* waiting = llvm::find_if(agents, [](const Agent& agent) { return agent.waitsAt; });
  auto error = waiting->waitsAt->emitError("thread ")
               << waiting->thread << " waits here for threads that never come";
  llvm::SmallPtrSet<mlir::Operation*, 4> shown = {waiting->waitsAt};
  for (const Agent& agent : agents)
    if (agent.waitsAt && shown.insert(agent.waitsAt).second)
      error.attachNote(agent.waitsAt->getLoc()) << "thread " << agent.thread << " waits here";
  if (const Agent* done = llvm::find_if(agents, [](const Agent& agent) { return agent.isDone(); });
      done != agents.end())
    error.attachNote(kernel.getLoc()) << "thread " << done->thread << " has ended";
  return mlir::failure();
}

static mlir::LogicalResult checkSame(mlir::Operation* op, mlir::Type type, const Agent& one,
                                     Scalar first, const Agent& other, Scalar second) {
  const bool isReal = llvm::isa<mlir::FloatType>(type);
  const bool areNone = std::isnan(first.real) && std::isnan(second.real);
  if (isReal ? first.real == second.real || areNone : first.integer == second.integer)
    return mlir::success();
  const auto text = [&](Scalar scalar) {
    return isReal ? llvm::formatv("{0:g}", scalar.real).str() : std::to_string(scalar.integer);
  };
  return op->emitError("threads of a block take part in this operation with different values: ")
         << text(first) << " in thread " << one.thread << ", " << text(second) << " in thread "
         << other.thread;
}

std::optional<Scalar> Machine::ownElement(Agent& agent, tile::LoadOp load) {
  const BufferValue& own = buffer(agent, load.getBuffer());
  const llvm::SmallVector<int64_t> indices = integers(agent, load.getIndices());
  for (auto [index, extent] : llvm::zip(indices, own.shape))
    if (index < 0 || index >= extent)
      return std::nullopt;
  const int64_t offset = own.bitOffset(indices);
  const unsigned bits = own.type.getElementBits();
  if (!own.storage || !own.storage->isWritten(offset, bits))
    return std::nullopt;
  return fromBits(own.type.getElementType(), own.storage->readBits(offset, bits));
}

mlir::LogicalResult Machine::checkUniform(llvm::ArrayRef<Agent*> agents, mlir::Operation* op) {
  llvm::SetVector<mlir::Value> taken(op->operand_begin(), op->operand_end());
  if (llvm::isa<tile::ParallelOp>(op)) // which thread runs an iteration isn't known
    mlir::getUsedValuesDefinedAbove(op->getRegions(), taken);
  for (mlir::Value operand : taken) {
    auto first = agents.front()->scalars.find(operand);
    if (first == agents.front()->scalars.end())
      continue;
    for (const Agent* agent : agents)
      // A choice's side that this thread hasn't computed has no value.
      if (auto found = agent->scalars.find(operand); found != agent->scalars.end())
        if (failed(checkSame(op, operand.getType(), *agents.front(), first->second, *agent,
                             found->second)))
          return mlir::failure();
  }
  auto nest = llvm::dyn_cast<tile::ParallelOp>(op);
  for (tile::LoadOp load : nest ? tile::ownReads(nest) : llvm::SmallVector<tile::LoadOp>()) {
    std::optional<Scalar> first = ownElement(*agents.front(), load);
    for (Agent* agent : agents)
      if (const std::optional<Scalar> found = ownElement(*agent, load); found && first)
        if (failed(checkSame(op, load.getType(), *agents.front(), *first, *agent, *found)))
          return mlir::failure();
  }
  return mlir::success();
}

mlir::LogicalResult Machine::runCollective(llvm::ArrayRef<Agent*> agents, mlir::Operation* op) {
  if (auto shuffleOp = llvm::dyn_cast<tile::ShuffleOp>(op))
    return shuffle(agents, shuffleOp);
  if (auto voteOp = llvm::dyn_cast<tile::VoteOp>(op))
    return vote(agents, voteOp);
  if (llvm::isa<tile::SyncOp, mlir::scf::IfOp>(op))
    return mlir::success();
  if (failed(checkUniform(agents, op)))
    return mlir::failure();
  Agent& first = *agents.front();
  if (auto parallel = llvm::dyn_cast<tile::ParallelOp>(op)) {
    // One agent runs all iterations; nothing in them can wait.
    size_t depth = first.scopes.size();
    if (failed(enterParallel(first, parallel)))
      return mlir::failure();
    while (first.scopes.size() > depth)
      if (step(first) != Outcome::Ran)
        return mlir::failure();
    --first.scopes.back().next; // the caller steps over the op, for all agents alike
    return mlir::success();
  }
  return runScalar(first, *op);
}

void Machine::part(llvm::ArrayRef<Agent*> agents, mlir::scf::IfOp branch) {
  const size_t count = agents.front()->block->agents.size();
  for (mlir::Region* side : {&branch.getThenRegion(), &branch.getElseRegion()}) {
    llvm::SmallVector<Agent*> taken;
    for (Agent* agent : agents)
      if ((scalar(*agent, branch.getCondition()).integer != 0) == (side == &branch.getThenRegion()))
        taken.push_back(agent);
    if (side->empty() || taken.empty())
      continue;
    const int64_t first = taken.front()->thread, end = taken.back()->thread + 1;
    std::shared_ptr<llvm::BitVector> members;
    if (int64_t(taken.size()) < end - first) {
      members = std::make_shared<llvm::BitVector>(unsigned(count), false);
      for (Agent* agent : taken)
        members->set(unsigned(agent->thread));
    }
    for (Agent* agent : taken) {
      enter(*agent, *branch, side->front());
      Scope& scope = agent->scopes.back();
      scope.firstThread = first;
      scope.endThread = end;
      scope.members = members;
    }
  }
}

bool Machine::needsOthers(const Agent& agent, mlir::Operation& op) const {
  if (auto sync = llvm::dyn_cast<tile::SyncOp>(op); sync && !agentsDiffer && agent.block)
    if (sync.getScope() == tile::SyncScope::Grid)
      return true;
  if (!threadsDiffer || iteration >= 0 || !llvm::isa<tile::LaunchOp>(agent.scopes.front().owner))
    return false;
  if (llvm::isa<tile::SyncOp, tile::ShuffleOp, tile::VoteOp, tile::ParallelOp>(op) ||
      isOfGroups(op))
    return true;
  if (auto alloc = llvm::dyn_cast<tile::AllocOp>(op))
    return !alloc.getType().isPerThread();
  return llvm::isa<tile::AllocSizedOp>(op) ||
         (tile::tileTarget(&op) && !tile::isOfSingleThread(&op));
}

void Machine::enter(Agent& agent, mlir::Operation& owner, mlir::Block& block) {
  Scope scope;
  scope.owner = &owner;
  scope.block = &block;
  scope.next = block.begin();
  if (!agent.scopes.empty()) {
    scope.firstThread = agent.scopes.back().firstThread;
    scope.endThread = agent.scopes.back().endThread;
    scope.members = agent.scopes.back().members;
  }
  agent.scopes.push_back(std::move(scope));
}

Machine::Outcome Machine::step(Agent& agent) {
  if (agent.scopes.back().next == agent.scopes.back().block->end()) {
    agent.scopes.pop_back(); // a body without terminator
    return Outcome::Ran;
  }
  mlir::Operation& op = *agent.scopes.back().next;
  if (++steps > options.maxSteps) {
    op.emitError("kernel ran ") << options.maxSteps << " operations without coming to an end"
                                << options.moreSteps;
    return Outcome::Failed;
  }
  if (isCancelled()) {
    op.emitError("interrupted");
    return Outcome::Failed;
  }
  if (needsOthers(agent, op))
    return Outcome::Waits;
  if (agentsDiffer && isLeftToOthers(agent, op)) {
    ++agent.scopes.back().next;
    return Outcome::Ran;
  }
  if (op.hasTrait<mlir::OpTrait::IsTerminator>())
    return succeeded(terminate(agent, op)) ? Outcome::Ran : Outcome::Failed;
  return succeeded(enterOrRun(agent, op)) ? Outcome::Ran : Outcome::Failed;
}

mlir::LogicalResult Machine::enterOrRun(Agent& agent, mlir::Operation& op) {
  if (llvm::isa<tile::BreakOp>(op))
    return leaveLoop(agent, /*again=*/false);
  if (llvm::isa<tile::ContinueOp>(op))
    return leaveLoop(agent, /*again=*/true);
  if (auto parallel = llvm::dyn_cast<tile::ParallelOp>(op))
    return enterParallel(agent, parallel);
  if (agentsDiffer) {
    mlir::FailureOr<bool> passed = passUnknown(agent, op);
    if (failed(passed) || *passed)
      return passed;
  }
  ++agent.scopes.back().next;
  if (lazyOps.contains(&op))
    return mlir::success();
  if (auto scope = llvm::dyn_cast<ascend::ScopeOp>(op)) {
    bool isCube = scope.getAgent() == ascend::Agent::Cube;
    if (isCube && failed(checkScope(scope)))
      return mlir::failure();
    if (agent.kind == (isCube ? AgentKind::Cube : AgentKind::Vector))
      enter(agent, op, scope.getBody().front());
    return mlir::success();
  }
  if (auto loop = llvm::dyn_cast<tile::ForOp>(op)) {
    int64_t lower = scalar(agent, loop.getLower()).integer,
            upper = scalar(agent, loop.getUpper()).integer;
    int64_t step = scalar(agent, loop.getStep()).integer;
    if (step <= 0)
      return op.emitError("loop has step ") << step << " but steps must be positive";
    if (lower >= upper)
      return mlir::success();
    enter(agent, op, *loop.getBodyBlock());
    Scope& scope = agent.scopes.back();
    scope.induction = lower, scope.upper = upper, scope.step = step;
    agent.scalars[loop.getInductionVar()] = {lower, 0};
    return mlir::success();
  }
  if (auto loop = llvm::dyn_cast<tile::WhileOp>(op)) {
    enter(agent, op, loop.getCondition().front());
    return mlir::success();
  }
  if (auto branch = llvm::dyn_cast<mlir::scf::IfOp>(op)) {
    mlir::Region& region = scalar(agent, branch.getCondition()).integer ? branch.getThenRegion()
                                                                        : branch.getElseRegion();
    if (!region.empty())
      enter(agent, op, region.front());
    return mlir::success();
  }
  if (op.getNumRegions() != 0)
    return op.emitError("the reference interpreter doesn't run '") << op.getName() << "'";
  return runScalar(agent, op);
}

mlir::LogicalResult Machine::enterParallel(Agent& agent, tile::ParallelOp op) {
  ++agent.scopes.back().next;
  llvm::SmallVector<int64_t> extents;
  for (mlir::OpFoldResult extent : op.getMixedExtents())
    extents.push_back(integer(agent, extent));
  if (llvm::any_of(extents, [](int64_t extent) { return extent <= 0; }))
    return mlir::success();
  enter(agent, *op, *op.getBodyBlock());
  agent.scopes.back().extents = extents;
  agent.scopes.back().point.assign(extents.size(), 0);
  ++epoch;
  iteration = 0;
  setPoint(agent, op);
  return mlir::success();
}

void Machine::setPoint(Agent& agent, tile::ParallelOp op) {
  for (auto [value, index] : llvm::zip(op.getInductionVars(), agent.scopes.back().point))
    agent.scalars[value] = {index, 0};
}

mlir::LogicalResult Machine::terminate(Agent& agent, mlir::Operation& terminator) {
  Scope& scope = agent.scopes.back();
  if (auto loop = llvm::dyn_cast<tile::ForOp>(scope.owner)) {
    const bool isBeyond = __builtin_add_overflow(scope.induction, scope.step, &scope.induction);
    ++scope.turn;
    if (!isBeyond && scope.induction < scope.upper) {
      scope.next = scope.block->begin();
      agent.scalars[loop.getInductionVar()] = {scope.induction, 0};
      return mlir::success();
    }
  } else if (auto loop = llvm::dyn_cast<tile::WhileOp>(scope.owner)) {
    auto condition = llvm::dyn_cast<tile::ConditionOp>(terminator);
    if (condition && agent.unknown.contains(condition.getCondition())) {
      if (failed(passByOthers(agent, *loop)))
        return mlir::failure();
    } else if (!condition || scalar(agent, condition.getCondition()).integer) {
      if (condition && failed(checkEnds(scope, loop)))
        return mlir::failure();
      scope.block = condition ? &loop.getBody().front() : &loop.getCondition().front();
      scope.next = scope.block->begin();
      ++scope.turn;
      return mlir::success();
    }
  } else if (auto parallel = llvm::dyn_cast<tile::ParallelOp>(scope.owner)) {
    size_t dim = scope.extents.size();
    while (dim > 0 && ++scope.point[dim - 1] == scope.extents[dim - 1])
      scope.point[--dim] = 0;
    if (dim > 0) {
      ++iteration;
      scope.next = scope.block->begin();
      setPoint(agent, parallel);
      return mlir::success();
    }
    iteration = -1;
  } else if (auto branch = llvm::dyn_cast<mlir::scf::IfOp>(scope.owner)) {
    for (auto [result, value] : llvm::zip(branch.getResults(), terminator.getOperands())) {
      agent.scalars[result] = scalar(agent, value);
      if (agent.unknown.erase(result); agent.unknown.contains(value))
        agent.unknown.insert(result);
    }
  }
  agent.scopes.pop_back();
  return mlir::success();
}

mlir::LogicalResult Machine::checkEnds(Scope& scope, tile::WhileOp loop) {
  if (scope.turn == 0 && !mayEnd.contains(loop)) {
    if (auto names = fixedCondition(loop, threadsDiffer || agentsDiffer)) {
      auto error = loop.emitError("this loop never ends: nothing in it changes ");
      if (names->empty())
        return error << "its condition";
      error << (names->size() == 1 ? "'" : "one of '");
      llvm::interleave(*names, error, "', '");
      return error << "', of which its condition is made";
    }
    mayEnd.insert(loop);
  }
  // Each turn runs the condition's block and the body.
  if (const int64_t turns = scope.turn / 2,
      most = options.maxSteps / InterpretOptions::kStepsPerTurn;
      turns >= std::max<int64_t>(most, 1))
    return loop.emitError("this loop ran ")
           << turns << " turns without coming to an end" << options.moreSteps;
  // Views of other elements would count the same memory in two ways.
  const int64_t ago = narrowestOfViews ? 0 : scope.turns.begin(memory);
  constexpr int64_t kTurnsAtOnce = 1024;
  if (othersMayEnd && iteration < 0 && (ago > 0 || scope.turn / 2 % kTurnsAtOnce == 1) &&
      asksOthers(loop)) {
    scope.turns = {};
    isInWait = true;
    waitsIn = {loop, ago > 0};
    return mlir::success();
  }
  if (ago == 0)
    return mlir::success();
  auto error = loop.emitError("this loop never ends: all of the kernel's memory is as it was ");
  return error << ago << (ago == 1 ? " turn" : " turns") << " before";
}

bool Machine::asksOthers(tile::WhileOp loop) {
  auto [found, isNew] = asking.try_emplace(loop, false);
  if (isNew)
    found->second = loop.walk([](tile::AtomicOp op) {
                          return op.getBuffer().getType().isGlobal() ? mlir::WalkResult::interrupt()
                                                                     : mlir::WalkResult::advance();
                        })
                        .wasInterrupted();
  return found->second;
}

/// break and continue: leaves branches up to the innermost loop, then that or its iteration.
mlir::LogicalResult Machine::leaveLoop(Agent& agent, bool again) {
  while (!agent.isDone() && llvm::isa<mlir::scf::IfOp>(agent.scopes.back().owner))
    agent.scopes.pop_back();
  assert(!agent.isDone() && (llvm::isa<tile::ForOp, tile::WhileOp>(agent.scopes.back().owner)) &&
         "the verifier lets break and continue stand in a loop only");
  if (again)
    return terminate(agent, agent.scopes.back().block->back());
  agent.scopes.pop_back();
  return mlir::success();
}

} // namespace tilewright::interpreter
