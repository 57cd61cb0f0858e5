// SPDX-License-Identifier: Apache-2.0
// The agents of an NPU's block: a cube agent and vector agents. The agent that is furthest behind
// in the text goes on first, so what the agents share without flags is used in the order of the
// text; an agent waits at a cross flag until it is set.
#include "compiler/interpreter/lazy_choices.h"
#include "compiler/interpreter/machine.h"
#include "compiler/interpreter/storage.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/flag_cores.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/print_format.h"

#include "llvm/ADT/TypeSwitch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cstdio>

namespace tilewright::interpreter {
namespace {

constexpr int64_t kGridMode = 0;

/// Whether agents may do different things: else one agent stands for all of a block.
bool tellsAgentsApart(tile::LaunchOp launch) {
  bool hasTwoVectors = launch.getThreads().empty();
  return launch
      .walk([&](mlir::Operation* op) {
        bool isAtomic = llvm::isa<tile::AtomicOp, tile::AtomicTileOp>(op);
        bool differs =
            llvm::isa<ascend::ScopeOp, ascend::SetCrossFlagOp, ascend::WaitCrossFlagOp>(op) ||
            (llvm::isa<ascend::VectorIdOp>(op) && !op->use_empty()) || (isAtomic && hasTwoVectors);
        return differs ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

bool isGridFlag(mlir::Operation* op) {
  auto set = llvm::dyn_cast<ascend::SetCrossFlagOp>(op);
  return set && set.getMode() == kGridMode;
}

bool hasGridFlags(tile::LaunchOp launch) {
  return launch
      .walk([](mlir::Operation* op) {
        return isGridFlag(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether blocks wait for each other, so that all must run at once.
bool tiesBlocks(tile::LaunchOp launch) {
  return launch
      .walk([](mlir::Operation* op) {
        return llvm::isa<ascend::SyncAllOp>(op) || isGridFlag(op) ? mlir::WalkResult::interrupt()
                                                                  : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

bool isTileOp(mlir::Operation& op) {
  return tile::isTileOperation(&op) || llvm::isa<tile::ParallelOp, ascend::CallExternOp>(op);
}

/// Where an agent may be overtaken: what touches memory that others see, and what waits.
bool isPoint(mlir::Operation& op) {
  if (auto load = llvm::dyn_cast<tile::LoadOp>(op))
    return !load.getBuffer().getType().isPerThread();
  if (auto store = llvm::dyn_cast<tile::StoreOp>(op))
    return !store.getBuffer().getType().isPerThread();
  return isTileOp(op) || llvm::isa<tile::AtomicOp>(op) ||
         llvm::isa<ascend::AscendDialect>(op.getDialect());
}

/// Whether an op writes a buffer of each thread's own.
bool writesPrivate(mlir::Operation& op) {
  auto effects = llvm::dyn_cast<mlir::MemoryEffectOpInterface>(op);
  return effects && llvm::any_of(op.getOperands(), [&](mlir::Value operand) {
           auto type = llvm::dyn_cast<tile::BufferType>(operand.getType());
           llvm::SmallVector<mlir::MemoryEffects::EffectInstance> found;
           if (type && type.isPerThread())
             effects.getEffectsOnValue(operand, found);
           return llvm::any_of(found, [](const auto& effect) {
             return llvm::isa<mlir::MemoryEffects::Write>(effect.getEffect());
           });
         });
}

/// Whether the first agent is behind the second in the text (of loops, in an earlier turn).
bool isBehind(const Agent& left, const Agent& right) {
  for (auto [a, b] : llvm::zip(left.scopes, right.scopes)) {
    if (a.turn != b.turn)
      return a.turn < b.turn;
    if (a.block != b.block) { // the two ways of a branch
      mlir::Region *ofLeft = a.block->getParent(), *ofRight = b.block->getParent();
      return ofLeft->getParentOp() == ofRight->getParentOp() &&
             ofLeft->getRegionNumber() < ofRight->getRegionNumber();
    }
    bool leftEnds = a.next == a.block->end(), rightEnds = b.next == b.block->end();
    if (leftEnds != rightEnds)
      return rightEnds;
    // Inside of a loop or branch, `next` is what follows that: the inner scope decides.
    if (!leftEnds && &*a.next != &*b.next)
      return a.next->isBeforeInBlock(&*b.next);
  }
  // The one that is still inside of a scope is behind the one that has left it.
  return left.scopes.size() > right.scopes.size();
}

bool isInScope(const Agent& agent) {
  return llvm::any_of(agent.scopes,
                      [](const Scope& scope) { return llvm::isa<ascend::ScopeOp>(scope.owner); });
}

std::string nameOfAgent(const Agent& agent, bool withBlock) {
  std::string name = agent.kind == AgentKind::Whole ? "the core"
                     : agent.kind == AgentKind::Cube
                         ? "the cube core"
                         : "vector core " + std::to_string(agent.thread);
  return withBlock ? name + " of block " + std::to_string(agent.block->number) : name;
}

/// MTE2, as the chip's documents call it.
std::string upperName(ascend::Pipe pipe) {
  return ascend::stringifyPipe(pipe).upper();
}

/// Flags of pipes that a core lacks order nothing there.
bool hasPipes(const Agent& agent, ascend::Pipe from, ascend::Pipe to) {
  using enum ascend::Pipe;
  const auto isOfCube = [](ascend::Pipe pipe) { return pipe == M || pipe == MTE1 || pipe == FIX; };
  if (agent.kind == AgentKind::Cube)
    return from != V && to != V;
  return agent.kind == AgentKind::Whole || (!isOfCube(from) && !isOfCube(to));
}

} // namespace

Machine::Owner Machine::ownerOf(mlir::Value buffer) {
  buffer = npu::storageOf(buffer);
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  if (!alloc || alloc.getType().isGlobal())
    return Owner::Block;
  auto [found, isNew] = owners.try_emplace(buffer, Owner::Block);
  if (isNew && !npu::isOfCube(buffer))
    found->second = Owner::Vector;
  return found->second;
}

mlir::LogicalResult Machine::checkScope(ascend::ScopeOp scope) {
  if (!checkedScopes.insert(scope).second)
    return mlir::success();
  const auto isOfVectors = [&](mlir::Value operand) {
    auto type = llvm::dyn_cast<tile::BufferType>(operand.getType());
    return type && !type.isGlobal() && !type.isPerThread() && ownerOf(operand) == Owner::Vector;
  };
  llvm::DenseSet<mlir::Operation*> refused; ///< operations, and nests, of which one error is enough
  scope.walk([&](mlir::Operation* op) {
    auto copy = llvm::dyn_cast<tile::CopyOp>(op);
    if (llvm::isa<tile::AllocOp, tile::ViewOp, tile::DimOp>(op) || (copy && crosses(copy)))
      return;
    auto found = llvm::find_if(op->getOperands(), isOfVectors);
    auto nest = op->getParentOfType<tile::ParallelOp>();
    if (found == op->getOperands().end() || !refused.insert(nest ? nest : op).second)
      return;
    mlir::Value tile = npu::storageOf(*found);
    auto name = tile.getDefiningOp<tile::AllocOp>().getSymName();
    auto error = op->emitError("'")
                 << name.value_or("buffer")
                 << "' is in UB, which the cube core of this T.Scope cannot reach: put this "
                    "into T.Scope(\"V\")";
    error.attachNote(scope.getLoc()) << "T.Scope is here";
    error.attachNote(tile.getLoc()) << "'" << name.value_or("buffer") << "' was allocated here";
  });
  return mlir::success(refused.empty());
}

bool Machine::crosses(tile::CopyOp copy) {
  const auto isOnChip = [](mlir::Value tile) {
    auto type = llvm::cast<tile::BufferType>(tile.getType());
    return !type.isGlobal() && !type.isPerThread();
  };
  return isOnChip(copy.getSource()) && isOnChip(copy.getTarget()) &&
         ownerOf(copy.getSource()) != ownerOf(copy.getTarget());
}

mlir::LogicalResult Machine::lendTile(Agent& agent, Agent& owner, mlir::Value tile,
                                      llvm::SmallVectorImpl<mlir::Value>& names) {
  names.push_back(tile);
  if (auto found = owner.buffers.find(tile); found != owner.buffers.end()) {
    agent.buffers.insert_or_assign(tile, found->second);
    return mlir::success();
  }
  auto view = tile.getDefiningOp<tile::ViewOp>();
  if (!view)
    return mlir::emitError(tile.getLoc(), kNoTile);
  return mlir::success(succeeded(lendTile(agent, owner, view.getSource(), names)) &&
                       succeeded(runView(agent, view)));
}

mlir::LogicalResult Machine::runCrossing(Agent& agent, tile::CopyOp copy) {
  // The first vector core hands on its tile; each has what the cube core has.
  const bool isFromVector = ownerOf(copy.getSource()) == Owner::Vector;
  mlir::Value theirs = isFromVector ? copy.getSource() : copy.getTarget();
  for (Agent& other : agent.block->agents) {
    if (other.kind != AgentKind::Vector || (isFromVector && other.thread != 0))
      continue;
    llvm::SmallVector<mlir::Value> names;
    const bool isDone =
        succeeded(lendTile(agent, other, theirs, names)) && succeeded(runCopy(agent, copy));
    for (mlir::Value name : names)
      agent.buffers.erase(name);
    if (!isDone)
      return mlir::failure();
  }
  return mlir::success();
}

npu::Doer Machine::doerOf(mlir::Operation& op) {
  auto [found, isNew] = doers.try_emplace(&op);
  if (isNew)
    found->second = npu::doerOf(&op);
  return found->second;
}

/// Of a flag between cores outside of scopes, where all work stands in one text: else both kinds run what isn't in one.
std::optional<ascend::Agent> Machine::coreOfFlag(mlir::Operation& op) {
  if (!flagCores) {
    flagCores.emplace();
    const npu::CrossFlagCores cores(kernel);
    for (const auto* flags : {&cores.sets, &cores.waits})
      for (const npu::CrossFlagCores::Flag& flag : *flags)
        if (cores.isSplit)
          (*flagCores)[flag.op] = flag.agent;
  }
  return flagCores->lookup(&op);
}

mlir::LogicalResult Machine::runNpuGrid(tile::LaunchOp launch, llvm::ArrayRef<int64_t> grid) {
  threadsDiffer = false;
  threadCount = 1;
  agentsDiffer = tellsAgentsApart(launch);
  // Of its own variables the cube agent must know at the load whether it has their values.
  lazyOps = findLazyOps(kernel, /*withOwn=*/!agentsDiffer);
  int64_t count = grid.front();
  if (tiesBlocks(launch)) {
    // Flags of the grid order some cores of other blocks, which isn't followed.
    blockNumber = hasGridFlags(launch) ? -1 : 0;
    gridSyncs = 0;
    std::vector<Block> blocks(std::max<int64_t>(count, 0));
    for (int64_t number = 0; number < count; ++number)
      makeNpuBlock(launch, {number}, blocks[number]);
    return runNpuBlocks(blocks);
  }
  for (int64_t number = 0; number < count; ++number) {
    Block block;
    blockNumber = number;
    makeNpuBlock(launch, {number}, block);
    if (failed(runNpuBlocks(block)))
      return mlir::failure();
  }
  return mlir::success();
}

void Machine::makeNpuBlock(tile::LaunchOp launch, llvm::ArrayRef<int64_t> ids, Block& block) {
  block.number = ids.front();
  int64_t vectors = launch.getThreads().empty() ? 2 : 1;
  block.agents.resize(agentsDiffer ? 1 + vectors : 1);
  for (auto [number, agent] : llvm::enumerate(block.agents)) {
    if (agentsDiffer)
      agent.kind = number == 0 ? AgentKind::Cube : AgentKind::Vector;
    agent.thread = number == 0 ? 0 : int64_t(number) - 1;
    agent.block = &block;
    for (auto [value, id] : llvm::zip(launch.getBlockIds(), ids))
      agent.scalars[value] = {id, 0};
    enter(agent, *launch, *launch.getBodyBlock());
  }
}

mlir::LogicalResult Machine::runNpuBlocks(llvm::MutableArrayRef<Block> blocks) {
  liveBlocks = blocks;
  auto isDone = [](const Agent& agent) { return agent.isDone(); };
  while (true) {
    bool isOver = true, progress = false;
    for (Block& block : blocks)
      while (!llvm::all_of(block.agents, isDone)) {
        isOver = false;
        mlir::FailureOr<bool> went = advance(blocks, block);
        if (failed(went))
          return mlir::failure();
        if (!*went)
          break;
        progress = true;
      }
    if (isOver)
      return mlir::success();
    if (!progress)
      return reportStuck(blocks);
  }
}

/// Runs the agent that is furthest behind and need not wait; false if all wait.
mlir::FailureOr<bool> Machine::advance(llvm::MutableArrayRef<Block> blocks, Block& block) {
  Agent* chosen = nullptr;
  for (Agent& agent : block.agents) {
    if (agent.isDone() || (agent.waitsAt && !mayGoOn(blocks, agent, *agent.waitsAt)))
      continue;
    if (!chosen || isBehind(agent, *chosen))
      chosen = &agent;
  }
  if (!chosen)
    return false;
  if (blockNumber >= 0)
    blockNumber = block.number;
  if (failed(runToNextPoint(*chosen)))
    return mlir::failure();
  return true;
}

mlir::LogicalResult Machine::runToNextPoint(Agent& agent) {
  memory.changeUnseen(); // flags and what other agents have done
  for (bool isFirst = true; !agent.isDone(); isFirst = false) {
    Scope& scope = agent.scopes.back();
    bool isEnd = scope.next == scope.block->end();
    if (!isEnd && !isFirst && isPoint(*scope.next))
      return mlir::success();
    if (!isEnd && llvm::isa<ascend::WaitCrossFlagOp, ascend::SyncAllOp>(*scope.next) &&
        !agent.waitsAt && !isLeftToOthers(agent, *scope.next)) {
      agent.waitsAt = &*scope.next;
      return mlir::success();
    }
    bool isParallel = !isEnd && llvm::isa<tile::ParallelOp>(*scope.next);
    size_t depth = agent.scopes.size();
    do {
      if (step(agent) != Outcome::Ran)
        return mlir::failure();
    } while (isParallel && agent.scopes.size() > depth);
  }
  return checkPipes(agent);
}

mlir::LogicalResult Machine::checkPipes(const Agent& agent) {
  const PipeQueues::Entry* stuck = agent.pipes.stuckWait();
  if (!stuck)
    return mlir::success();
  const auto& [from, to, event] = stuck->flag;
  mlir::InFlightDiagnostic error =
      stuck->op->emitError() << nameOfAgent(agent, liveBlocks.size() > 1)
                             << " waits here for event " << event << " from " << upperName(from)
                             << " to " << upperName(to) << ", which is never set";
  if (mlir::Operation* late = agent.pipes.lateSetOf(stuck->flag))
    error.attachNote(late->getLoc())
        << upperName(from) << " would set it here, but waits itself before that";
  return error;
}

bool Machine::mayGoOn(llvm::MutableArrayRef<Block> blocks, Agent& agent, mlir::Operation& op) {
  if (auto wait = llvm::dyn_cast<ascend::WaitCrossFlagOp>(op))
    return agent.crossFlags.lookup(scalar(agent, wait.getFlag()).integer) > 0;
  // sync_all: how many an agent has passed is a count in `crossFlags`. One that still waits at an earlier one isn't there.
  return llvm::all_of(blocks, [&](Block& block) {
    return llvm::all_of(block.agents, [&](Agent& other) {
      const int64_t waits = other.waitsAt && llvm::isa<ascend::SyncAllOp>(other.waitsAt);
      return other.crossFlags.lookup(-1) + waits > agent.crossFlags.lookup(-1);
    });
  });
}

mlir::LogicalResult Machine::reportStuck(llvm::MutableArrayRef<Block> blocks) {
  bool many = blocks.size() > 1;
  std::optional<mlir::InFlightDiagnostic> error;
  llvm::SmallDenseSet<mlir::Operation*> shown;
  auto what = [&](Agent& agent) -> std::string {
    auto wait = llvm::dyn_cast<ascend::WaitCrossFlagOp>(agent.waitsAt);
    return wait ? " for cross-core flag " + std::to_string(scalar(agent, wait.getFlag()).integer) +
                      ", which is never set"
                : " for cores that never come";
  };
  for (Block& block : blocks)
    for (Agent& agent : block.agents) {
      if (!agent.waitsAt || !shown.insert(agent.waitsAt).second)
        continue;
      if (!error)
        error.emplace(agent.waitsAt->emitError()
                      << nameOfAgent(agent, many) << " waits here" << what(agent));
      else
        error->attachNote(agent.waitsAt->getLoc()) << nameOfAgent(agent, many) << " waits here";
    }
  for (const Block& block : blocks)
    for (const Agent& agent : block.agents)
      if (error && agent.isDone() && !many)
        error->attachNote(kernel.getLoc()) << nameOfAgent(agent, many) << " has ended";
  return mlir::failure();
}

void Machine::raiseCrossFlag(Agent& agent, int64_t flag, int64_t mode) {
  Block& block = *agent.block;
  bool isCube = agent.kind == AgentKind::Cube;
  if (mode == 2 && isCube) {
    for (Agent& other : block.agents)
      if (other.kind == AgentKind::Vector)
        ++other.crossFlags[flag];
    return;
  }
  // Of the other modes, a flag is set when all of the group have set it.
  llvm::SmallVector<Agent*> group;
  for (Block& each : mode == kGridMode ? liveBlocks : llvm::MutableArrayRef<Block>(block))
    for (Agent& other : each.agents)
      if (other.kind == agent.kind)
        group.push_back(&other);
  Block& keeper = mode == kGridMode ? liveBlocks.front() : block;
  auto& raised = keeper.raised[{flag, mode * 2 + int64_t(isCube)}];
  raised.resize(group.size(), 0);
  ++raised[size_t(llvm::find(group, &agent) - group.begin())];
  if (llvm::is_contained(raised, 0))
    return;
  for (int64_t& count : raised)
    --count;
  if (mode == 2) {
    ++block.agents.front().crossFlags[flag];
    return;
  }
  for (Agent* other : group)
    ++other->crossFlags[flag];
}

mlir::LogicalResult Machine::runNpuOp(Agent& agent, mlir::Operation& op) {
  auto number = [&](mlir::Value value) { return scalar(agent, value).integer; };
  return llvm::TypeSwitch<mlir::Operation*, mlir::LogicalResult>(&op)
      .Case([&](ascend::VectorIdOp id) {
        agent.scalars[id.getId()] = {agent.thread, 0};
        return mlir::success();
      })
      .Case([&](ascend::SetFlagOp set) {
        if (hasPipes(agent, set.getFrom(), set.getTo()))
          agent.pipes.set(set, set.getFrom(), set.getTo(), number(set.getEvent()));
        return mlir::success();
      })
      .Case([&](ascend::WaitFlagOp wait) {
        if (hasPipes(agent, wait.getFrom(), wait.getTo()))
          agent.pipes.wait(wait, wait.getFrom(), wait.getTo(), number(wait.getEvent()));
        return mlir::success();
      })
      .Case([&](ascend::PipeBarrierOp barrier) {
        return barrier.getPipe() == ascend::Pipe::All ? checkPipes(agent) : mlir::success();
      })
      .Case([&](ascend::SetCrossFlagOp set) {
        raiseCrossFlag(agent, number(set.getFlag()), int64_t(set.getMode()));
        return mlir::success();
      })
      .Case([&](ascend::WaitCrossFlagOp wait) {
        --agent.crossFlags[number(wait.getFlag())];
        agent.waitsAt = nullptr;
        return mlir::success();
      })
      .Case([&](ascend::SyncAllOp) {
        if (++agent.crossFlags[-1] > gridSyncs) { // all have come
          ++gridSyncs;
          ++gridRound;
        }
        agent.waitsAt = nullptr;
        return mlir::success();
      })
      .Case([&](ascend::PrintfOp print) { return runPrintf(agent, print); })
      .Case([&](ascend::CallExternOp call) { return runNpuCall(agent, call); })
      .Default([](mlir::Operation* other) {
        return other->emitError("the reference interpreter doesn't run '")
               << other->getName() << "'";
      });
}

mlir::LogicalResult Machine::runPrintf(Agent& agent, ascend::PrintfOp print) {
  std::string text;
  const auto append = [&](const std::string& format, auto value) {
    const int length = std::snprintf(nullptr, 0, format.c_str(), value);
    std::string printed(size_t(length) + 1, 0);
    std::snprintf(printed.data(), printed.size(), format.c_str(), value);
    text.append(printed, 0, size_t(length));
  };
  size_t number = 0;
  for (const tile::FormatPart& part : tile::splitFormat(print.getFormat())) {
    text += part.words;
    if (part.conversion == 0)
      break;
    mlir::Value printed = print.getValues()[number++];
    const Scalar value = scalar(agent, printed);
    const unsigned bits =
        printed.getType().isIndex() ? 64 : printed.getType().getIntOrFloatBitWidth();
    if (part.isFloat())
      append(part.flags + part.conversion, value.real);
    else if (part.conversion == 'c')
      append(part.flags + part.conversion, int(value.integer));
    else if (part.isUnsigned())
      append(part.flags + "ll" + part.conversion,
             static_cast<unsigned long long>(unsignedBits(value.integer, bits)));
    else
      append(part.flags + "ll" + part.conversion, static_cast<long long>(value.integer));
  }
  if (options.printed)
    *options.printed += text;
  else
    llvm::outs() << text;
  return mlir::success();
}

/// Numbers are given as they are, buffers as the address of the element that the pointer names.
mlir::LogicalResult Machine::runNpuCall(Agent& agent, ascend::CallExternOp call) {
  std::vector<Number> given;
  auto operand = call.getOperands().begin();
  for (auto access : call.getAccess().getAsRange<mlir::StringAttr>()) {
    mlir::Value argument = *operand++;
    if (access.getValue() == "value") {
      const Scalar value = scalar(agent, argument);
      if (llvm::isa<mlir::FloatType>(argument.getType()))
        given.emplace_back(value.real);
      else
        given.emplace_back(value.integer);
      continue;
    }
    const BufferValue& held = buffer(agent, argument);
    const int64_t element = scalar(agent, *operand++).integer;
    uint8_t* address =
        held.storage->lend(element * int64_t(held.type.getElementBits()), access.getValue() != "r");
    given.emplace_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(address)));
  }
  memory.changeUnseen();
  Number result;
  std::string problem = "which is known by its Ascend C only";
  if (!options.call || !options.call(call.getCallee(), given, result, problem))
    return call.emitError("the reference interpreter can't run the function '")
           << call.getCallee() << "', " << problem;
  return mlir::success();
}

bool Machine::isLeftToOthers(Agent& agent, mlir::Operation& op) {
  bool isCube = agent.kind == AgentKind::Cube;
  if (iteration >= 0 || !agent.block)
    return false;
  if (auto alloc = llvm::dyn_cast<tile::AllocOp>(op)) {
    if (alloc.getType().isPerThread())
      return false;
    bool isVectors = ownerOf(alloc.getBuffer()) == Owner::Vector;
    return isVectors ? isCube : !isCube && !(isInScope(agent) && agent.thread == 0);
  }
  if (auto view = llvm::dyn_cast<tile::ViewOp>(op))
    return isCube && ownerOf(view.getSource()) == Owner::Vector;
  // Without vid, the first vector core makes what the block has one of, also in a scope.
  if (isInScope(agent))
    return !isCube && agent.thread != 0 && isTileOp(op) && doerOf(op) != npu::Doer::EachVector &&
           npu::touchedBy(&op).writesCube;
  if (llvm::isa<ascend::SetCrossFlagOp, ascend::WaitCrossFlagOp>(op)) {
    const std::optional<ascend::Agent> core = coreOfFlag(op);
    return core && (*core == ascend::Agent::Cube) != isCube;
  }
  auto store = llvm::dyn_cast<tile::StoreOp>(op);
  if (store && store.getBuffer().getType().isPerThread())
    return false;
  if (llvm::isa<tile::AtomicOp, tile::PrintOp, ascend::PrintfOp>(op))
    return isCube;
  if (!store && !isTileOp(op))
    return false;
  if (writesPrivate(op) && !llvm::isa<tile::ParallelOp>(op))
    return isCube && npu::touchedBy(&op).ofVectors;
  const npu::Doer doer = doerOf(op);
  return isCube != (doer == npu::Doer::Cube) ||
         (doer == npu::Doer::FirstVector && agent.thread != 0);
}

mlir::LogicalResult Machine::passByOthers(Agent& agent, mlir::Operation& op) {
  auto found = op.walk([&](tile::GemmOp) { return mlir::WalkResult::interrupt(); });
  if (found.wasInterrupted())
    return op.emitError(
        "a gemm depends on a value here that only the vector cores know, not the cube core");
  op.walk([&](tile::StoreOp store) {
    auto held = agent.buffers.find(store.getBuffer()); // else it is made inside
    if (!store.getBuffer().getType().isPerThread() || held == agent.buffers.end())
      return;
    const tile::BufferType type = held->second.type;
    const unsigned bits = type.getElementBits();
    const int64_t first = held->second.bitOffset(llvm::SmallVector<int64_t>(type.getRank(), 0));
    for (int64_t element = 0; element < type.getNumElements(); ++element)
      held->second.storage->forget(first + element * bits, bits);
  });
  return mlir::success();
}

mlir::FailureOr<bool> Machine::passUnknown(Agent& agent, mlir::Operation& op) {
  bool isUnknown = llvm::any_of(
      op.getOperands(), [&](mlir::Value operand) { return agent.unknown.contains(operand); });
  if (auto load = llvm::dyn_cast<tile::LoadOp>(op); load && agent.kind == AgentKind::Cube) {
    mlir::Value source = load.getBuffer();
    bool isOwn = load.getBuffer().getType().isPerThread();
    isUnknown |= !isOwn && ownerOf(source) == Owner::Vector;
    if (isOwn && !isUnknown) {
      BufferValue& held = buffer(agent, source);
      llvm::SmallVector<int64_t> indices = integers(agent, load.getIndices());
      mlir::FailureOr<bool> exists = isInBounds(&op, held, indices, false);
      if (failed(exists))
        return mlir::failure();
      isUnknown = !held.storage->isWritten(held.bitOffset(indices), held.type.getElementBits());
    }
  }
  if (!isUnknown) {
    for (mlir::Value result : op.getResults())
      agent.unknown.erase(result);
    return false;
  }
  if (agent.kind != AgentKind::Cube)
    return false;
  if (llvm::isa<tile::GemmOp>(op) || (isTileOp(op) && !isInScope(agent)))
    return op.emitError("the cube core needs a value here that only the vector cores know");
  if (op.getNumRegions() != 0 && failed(passByOthers(agent, op)))
    return mlir::failure();
  if (auto store = llvm::dyn_cast<tile::StoreOp>(op);
      store && store.getBuffer().getType().isPerThread()) {
    BufferValue& held = buffer(agent, store.getBuffer());
    if (!llvm::any_of(store.getIndices(),
                      [&](mlir::Value index) { return agent.unknown.contains(index); }))
      held.storage->forget(held.bitOffset(integers(agent, store.getIndices())),
                           held.type.getElementBits());
  }
  for (mlir::Value result : op.getResults())
    agent.unknown.insert(result);
  ++agent.scopes.back().next;
  return true;
}

} // namespace tilewright::interpreter
