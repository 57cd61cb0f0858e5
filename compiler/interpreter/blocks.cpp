// SPDX-License-Identifier: Apache-2.0
// The blocks of a launch, and how they take turns where they wait for each other.
#include "compiler/interpreter/lazy_choices.h"
#include "compiler/interpreter/machine.h"
#include "compiler/ir/kernel_arguments.h"
#include "compiler/ir/kernel_manifest.h"

#include "llvm/ADT/ScopeExit.h"

namespace tilewright::interpreter {
namespace {

/// Ops that show that threads of one block may do different things.
bool tellsThreadsApart(mlir::Operation* op) {
  return llvm::isa<tile::ThreadIdOp, tile::ShuffleOp, tile::VoteOp>(op);
}

llvm::SmallVector<Agent*> everyone(Block& block) {
  return llvm::to_vector(llvm::make_pointer_range(block.agents));
}

} // namespace

mlir::LogicalResult Machine::runGrid(tile::LaunchOp launch) {
  Agent nobody;
  llvm::SmallVector<int64_t> grid = integers(nobody, launch.getGrid());
  unusedOps = tile::unusedOps(kernel);
  othersMayEnd = !launch.getNpu();
  followsOrders = !launch.getNpu() && hasOrders(launch);
  if (launch.getNpu())
    return runNpuGrid(launch, grid);
  if (llvm::any_of(grid, [](int64_t extent) { return extent < 0; })) {
    auto error = launch.emitError("the grid is (");
    llvm::interleaveComma(grid, error);
    return error << ") but extents from 0 on were expected";
  }
  lazyOps = findLazyOps(kernel);
  agentsDiffer = false;
  threadsDiffer = launch
                      .walk([](mlir::Operation* op) {
                        return tellsThreadsApart(op) ? mlir::WalkResult::interrupt()
                                                     : mlir::WalkResult::advance();
                      })
                      .wasInterrupted();
  threadCount = threadsDiffer ? launch.getThreadCount() : 1;
  const bool isTogether = tile::waitsForBlocks(launch);
  blocksBefore = blockCount;
  lateWait = {};
  std::list<Block> blocks; // those that have ended are no more, unless they are together
  // x runs fastest, so positions are visited with the dims reversed.
  llvm::SmallVector<int64_t> reversed(llvm::reverse(grid));
  if (failed(forEachPosition(reversed, [&](llvm::ArrayRef<int64_t> position) {
        llvm::SmallVector<int64_t> blockIds(llvm::reverse(position));
        makeBlock(launch, blockIds, blocks.emplace_back());
        return isTogether ? mlir::success() : beginLast(blocks);
      })))
    return mlir::failure();
  return isTogether ? runTogether(blocks) : runToEnd(blocks);
}

void Machine::makeBlock(tile::LaunchOp launch, llvm::ArrayRef<int64_t> blockIds, Block& block) {
  block.number = ++blockCount;
  block.agents.resize(threadCount);
  for (auto [thread, agent] : llvm::enumerate(block.agents)) {
    agent.thread = int64_t(thread);
    agent.block = &block;
    for (auto [value, id] : llvm::zip(launch.getBlockIds(), blockIds))
      agent.scalars[value] = {id, 0};
    enter(agent, *launch, *launch.getBodyBlock());
    agent.scopes.back().endThread = threadCount;
  }
  order(everyone(block));
}

mlir::FailureOr<bool> Machine::goOn(std::list<Block>& blocks, std::list<Block>::iterator from) {
  bool cameFurther = false;
  while (from != blocks.end()) {
    const uint64_t before = memory.written();
    mlir::FailureOr<bool> hasEnded = runBlock(*from);
    if (failed(hasEnded))
      return mlir::failure();
    cameFurther |= *hasEnded || memory.written() != before;
    from = *hasEnded ? blocks.erase(from) : std::next(from);
  }
  return cameFurther;
}

/// Blocks begin in their order. One that waits for others in a loop is left for the next one.
mlir::LogicalResult Machine::beginLast(std::list<Block>& blocks) {
  const bool isOnly = blocks.size() == 1;
  mlir::FailureOr<bool> cameFurther = goOn(blocks, std::prev(blocks.end()));
  if (failed(cameFurther))
    return mlir::failure();
  if (isOnly) {
    if (!blocks.empty() && waitsIn.isForOthers && !lateWait.loop)
      lateWait = {waitsIn.loop, blocks.front().number};
    return mlir::success();
  }
  return *cameFurther ? mlir::LogicalResult(goOn(blocks, blocks.begin())) : mlir::success();
}

/// All blocks have begun.
mlir::LogicalResult Machine::runToEnd(std::list<Block>& blocks) {
  while (!blocks.empty()) {
    mlir::FailureOr<bool> cameFurther = goOn(blocks, blocks.begin());
    if (failed(cameFurther))
      return mlir::failure();
    othersMayEnd = *cameFurther;
  }
  if (lateWait.loop)
    lateWait.loop->emitWarning("block ")
        << lateWait.block - 1 - blocksBefore
        << " waits here for a later block, which need not begin before this one has ended; a block "
           "may wait for earlier ones, or for all in a launch with T.sync_grid";
  return mlir::success();
}

/// Blocks that wait for each other: each runs until it is done or waits for the others.
mlir::LogicalResult Machine::runTogether(std::list<Block>& blocks) {
  auto isDone = [](const Block& block) { return block.agents.front().isDone(); };
  size_t settled = 0;
  while (true) {
    size_t settledNow = 0;
    bool hasWritten = false;
    for (Block& block : blocks) {
      const uint64_t before = memory.written();
      mlir::FailureOr<bool> isSettled = runBlock(block);
      if (failed(isSettled))
        return mlir::failure();
      settledNow += size_t(*isSettled);
      hasWritten |= memory.written() != before;
    }
    if (settledNow < blocks.size()) {
      othersMayEnd = settledNow > settled || hasWritten;
      settled = settledNow;
      continue;
    }
    settled = 0;
    if (llvm::all_of(blocks, isDone))
      return mlir::success();
    const Block& waiting = *llvm::find_if_not(blocks, isDone);
    mlir::Operation* barrier = waiting.agents.front().waitsAt;
    for (Block& block : blocks) {
      if (!isDone(block) && block.agents.front().waitsAt == barrier)
        continue;
      auto error = barrier->emitError("block ")
                   << waiting.number - 1 - blocksBefore << " waits here for block "
                   << block.number - 1 - blocksBefore;
      if (isDone(block))
        return error << ", which has ended";
      error.attachNote(block.agents.front().waitsAt->getLoc()) << "that block waits here";
      return error;
    }
    ++gridRound; // what was before is ordered before what comes
    for (Block& block : blocks) {
      order(everyone(block));
      for (Agent& agent : block.agents) {
        agent.waitsAt = nullptr;
        ++agent.scopes.back().next;
      }
    }
  }
}

bool Machine::waitsForGrid(const Block& block) {
  return llvm::all_of(block.agents, [&](const Agent& agent) {
    auto sync = llvm::dyn_cast_or_null<tile::SyncOp>(agent.waitsAt);
    return sync && sync.getScope() == tile::SyncScope::Grid &&
           agent.waitsAt == block.agents.front().waitsAt;
  });
}

mlir::FailureOr<bool> Machine::runBlock(Block& block) {
  llvm::MutableArrayRef<Agent> agents = block.agents;
  blockNumber = block.number;
  llvm::scope_exit stop([&] { running = nullptr; });
  while (true) {
    for (Agent& agent : agents) {
      acting = &agent;
      running = agents.size() > 1 ? &agent : nullptr;
      memory.changeUnseen(); // what another agent has done is not all in memory
      while (!agent.isDone() && !agent.waitsAt) {
        Outcome outcome = step(agent);
        if (outcome == Outcome::Failed)
          return mlir::failure();
        if (outcome == Outcome::Waits)
          agent.waitsAt = &*agent.scopes.back().next;
        if (std::exchange(isInWait, false))
          return false;
      }
    }
    running = nullptr;
    if (llvm::all_of(agents, [](const Agent& agent) { return agent.isDone(); }) ||
        waitsForGrid(block))
      return true;
    if (failed(meet(agents)))
      return mlir::failure();
  }
}

} // namespace tilewright::interpreter
