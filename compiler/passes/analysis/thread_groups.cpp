// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/thread_groups.h"

#include "compiler/ir/tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright {
namespace {

using llvm::BitVector;

/// "threads 0 to 31", "threads 0, 2, 4, ..".
std::string textOf(const std::optional<BitVector>& members) {
  if (!members)
    return "threads that are known only when it runs";
  const SmallVector<int64_t, 4> ranges = rangesOf(*members);
  std::string text = members->count() == 1 ? "thread " : "threads ";
  for (size_t at = 0; at < ranges.size() && at < 6; at += 2) {
    const int64_t first = ranges[at], last = ranges[at + 1] - 1;
    text += (at > 0 ? ", " : "") + std::to_string(first);
    if (last > first)
      text += " to " + std::to_string(last);
  }
  return text + (ranges.size() > 6 ? ", .." : "");
}

std::string nameOf(Operation* op) {
  return llvm::TypeSwitch<Operation*, std::string>(op)
      .Case([](tile::ParallelOp) { return "T.Parallel"; })
      .Case<tile::AllocOp, tile::AllocSizedOp>(
          [](auto) { return "an allocation of the block's memory"; })
      .Case([](tile::SyncOp sync) {
        return sync.getScope() == tile::SyncScope::Block  ? "T.sync_threads"
               : sync.getScope() == tile::SyncScope::Warp ? "T.sync_warp"
                                                          : "T.sync_grid";
      })
      .Case([](tile::ShuffleOp) { return "a shuffle"; })
      .Case([](tile::VoteOp) { return "a vote"; })
      .Default([](Operation*) { return "an operation on tiles"; });
}

bool isForWarp(Operation* op) {
  if (auto sync = dyn_cast<tile::SyncOp>(op))
    return sync.getScope() == tile::SyncScope::Warp;
  if (auto vote = dyn_cast<tile::VoteOp>(op))
    return vote.getScope() == tile::SyncScope::Warp;
  return isa<tile::ShuffleOp>(op);
}

/// The first op of a region, nested ones too, that all threads do together; null if there is none.
Operation* firstForWholeBlock(Region& region) {
  Operation* found = nullptr;
  region.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (!isForWholeBlock(op))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

} // namespace

bool isForWholeBlock(Operation* op) {
  auto isOfBlock = [](Value buffer) {
    return !cast<tile::BufferType>(buffer.getType()).isPerThread();
  };
  if (tile::tileTarget(op))
    return !tile::isOfSingleThread(op);
  if (auto alloc = dyn_cast<tile::AllocOp>(op))
    return isOfBlock(alloc.getBuffer());
  if (isa<tile::SyncOp, tile::VoteOp>(op))
    return !isForWarp(op);
  return isa<tile::ParallelOp, tile::TensorAtOp, tile::AllocSizedOp>(op);
}

bool holdsForWholeBlock(Operation* op) {
  return isForWholeBlock(op) ||
         llvm::any_of(op->getRegions(), [](Region& region) { return firstForWholeBlock(region); });
}

bool hasThreadGroups(tile::LaunchOp launch) {
  return !launch.getNpu() && launch.getThreadCount() > 1 &&
         launch.walk([](tile::ThreadIdOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

ThreadGroups::ThreadGroups(tile::LaunchOp launch)
    : threads(launch.getThreadCount()), divergence(launch), indices(launch, divergence),
      choices(threads, divergence, indices) {
  visit(*launch.getBodyBlock(), {{BitVector(unsigned(threads), true)}});
}

// Branches

void ThreadGroups::visit(Block& block, const Group& group) {
  for (Operation& op : block) {
    if (isa<tile::ParallelOp>(op))
      continue;
    if (group.branch)
      check(op, group);
    if (auto loop = dyn_cast<tile::ForOp>(op); loop && turnsDiffer(loop))
      if (Operation* first = firstForWholeBlock(loop.getBody())) {
        problems.push_back({first, loop,
                            nameOf(first) + " in a loop of other turns in other threads is not "
                                            "supported, as all of them take part in it; let its "
                                            "bounds be the same in all threads"});
        continue;
      }
    auto branch = dyn_cast<scf::IfOp>(op);
    if (branch && branch.getNumResults() == 0 && divergence.differs(branch) &&
        visitBranch(branch, group))
      continue;
    for (Region& region : op.getRegions())
      for (Block& nested : region)
        visit(nested, group);
  }
}

/// Whether it is known that the threads go through a loop a different number of times.
bool ThreadGroups::turnsDiffer(tile::ForOp loop) {
  const ThreadIndex& lower = indices.indexOf(loop.getLower());
  const ThreadIndex& upper = indices.indexOf(loop.getUpper());
  const ThreadIndex& step = indices.indexOf(loop.getStep());
  for (const ThreadIndex* index : {&lower, &upper, &step})
    if (!index->isKnown || !index->terms.empty())
      return false;
  std::optional<int64_t> first;
  for (auto [from, to, by] : llvm::zip(lower.numbers, upper.numbers, step.numbers)) {
    const int64_t turns = by <= 0 || to <= from ? 0 : (to - from - 1) / by + 1;
    if (first.value_or(turns) != turns)
      return true;
    first = turns;
  }
  return false;
}

/// Whether groups take the branch. Where nothing is known of its condition, all of the group must agree.
bool ThreadGroups::visitBranch(scf::IfOp branch, const Group& group) {
  const ThreadChoice choice = choices.choiceOf(branch.getCondition());
  if (!choice.isKnown())
    return false;
  const bool isShared = holdsForWholeBlock(branch);
  if (!isShared && !group.branch)
    return false;
  Branch found{branch, group.threads && choice.members, {}, {}};
  for (bool isElse : {false, true}) {
    Region& side = isElse ? branch.getElseRegion() : branch.getThenRegion();
    const Group taken{group.part(choice, isElse), isShared ? branch : group.branch};
    if (found.isKnown)
      (isElse ? found.others : found.taken) = rangesOf(*taken.threads);
    if (side.empty() || (taken.threads && taken.threads->none()))
      continue;
    const bool isNeighbours = taken.threads ? areNeighbours(*taken.threads)
                              : isElse      ? choice.isRestRange
                                            : choice.isRange;
    if (isShared && (!checkSide(side, taken, isNeighbours) || !checkJumps(side, group, taken)))
      continue;
    visit(side.front(), taken);
  }
  if (isShared)
    branches.push_back(std::move(found));
  return true;
}

bool ThreadGroups::checkSide(Region& side, const Group& part, bool isNeighbours) {
  Operation* first = firstForWholeBlock(side);
  if (!first || isNeighbours)
    return true;
  report(first, part, nameOf(first),
         "as the threads that share its work must be neighbours; take a range of threads, as "
         "`tx < 32`, or write it outside of the branch");
  return false;
}

/// A group can't leave a loop in which others go on.
bool ThreadGroups::checkJumps(Region& side, const Group& group, const Group& part) {
  if (group.threads && part.threads && *group.threads == *part.threads)
    return true;
  Operation* jump = nullptr;
  side.walk([&](Operation* op) {
    if (!isa<tile::BreakOp, tile::ContinueOp>(op))
      return;
    Operation* loop = op->getParentOp();
    while (!isa<tile::ForOp, tile::WhileOp, tile::LaunchOp>(loop))
      loop = loop->getParentOp();
    if (!side.isAncestor(loop->getParentRegion()))
      jump = op;
  });
  if (!jump)
    return true;
  report(jump, part, isa<tile::BreakOp>(jump) ? "break" : "continue",
         "as the other threads go on in the loop; let all threads leave it, by a condition that is "
         "the same for them");
  return false;
}

void ThreadGroups::check(Operation& op, const Group& group) {
  auto sync = dyn_cast<tile::SyncOp>(op);
  auto vote = dyn_cast<tile::VoteOp>(op);
  const bool isBlockSync = sync && sync.getScope() == tile::SyncScope::Block;
  if ((sync && sync.getScope() == tile::SyncScope::Grid) || (vote && !isForWarp(vote)))
    report(&op, group, nameOf(&op),
           "as all threads of the block take part in it; write it outside of the branch");
  else if (isBlockSync && sync.getThreadCount() &&
           (!group.threads || group.threads->count() != size_t(*sync.getThreadCount())))
    report(&op, group, "a barrier for " + std::to_string(*sync.getThreadCount()) + " threads",
           "as the others don't come to it; end the branch, wait with T.sync_threads() for all "
           "threads, and go on in a second one");
  else if ((isBlockSync || isForWarp(&op)) && !group.isOfWarps)
    report(&op, group, nameOf(&op),
           "as it takes whole warps of 32 threads; let the branch begin and end at multiples of "
           "32, or write it outside");
}

void ThreadGroups::report(Operation* op, const Group& group, StringRef what, StringRef why) {
  problems.push_back(
      {op, group.branch,
       (what + " in a branch of " + textOf(group.threads) + " is not supported, " + why).str()});
}

} // namespace tilewright
