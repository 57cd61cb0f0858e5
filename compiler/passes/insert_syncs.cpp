// SPDX-License-Identifier: Apache-2.0
/// InsertSyncs: where threads of a block hand memory over to each other, they wait for each other.
///
///     tile.store %v, %s[%tx]
///     %w = tile.load %s[%other]           // another thread's element
/// becomes
///     tile.store %v, %s[%tx]
///     tile.sync block
///     %w = tile.load %s[%other]
///
/// The language wants no T.sync_threads for that (reference/tilelang.md, section 3, ThreadSync): two
/// accesses of a shared buffer by different threads that may touch one element, one of them a store, have a
/// barrier between. It goes where all threads come by: before an `if` or a loop that only some of them
/// enter. In a branch that a group of threads takes, it is the group's: the branch is marked as such
/// (group_threads.cpp) where something is handed over in it. Loops are gone through twice, for what one
/// iteration leaves to the next.
#include "compiler/ir/thread_groups.h"
#include "compiler/ir/tile.h"
#include "compiler/passes/analysis/thread_groups.h"
#include "compiler/passes/analysis/thread_indices.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tilewright {
namespace {

enum class AccessKind { Read, Write, Atomic };

struct Access {
  Value buffer; ///< as it is named there: a view has indices of its own
  AccessKind kind;
  bool isWhole; ///< all of the buffer
  ThreadAccess place;
  bool isInWarps = false; ///< since then, the threads of each warp have waited for each other
};

using Accesses = SmallVector<Access>;

bool isOfBlock(Value buffer) {
  auto type = dyn_cast<tile::BufferType>(buffer.getType());
  return type && !type.isPerThread() && !type.isGlobal();
}

bool isOfShared(Value buffer) {
  return cast<tile::BufferType>(buffer.getType()).getSpace() == tile::MemorySpace::Shared;
}

/// Whether the threads of a warp meet there, if not those of the block.
bool isWarpMeeting(Operation& op) {
  if (auto sync = dyn_cast<tile::SyncOp>(op))
    return sync.getScope() == tile::SyncScope::Warp;
  if (auto vote = dyn_cast<tile::VoteOp>(op))
    return vote.getScope() == tile::SyncScope::Warp;
  return isa<tile::ShuffleOp>(op);
}

bool holds(Region& side, llvm::function_ref<bool(Operation*)> is) {
  return side
      .walk([&](Operation* op) { return is(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

/// Whether a break or continue ends a turn of a loop around a side.
bool leavesLoop(Region& side) {
  return holds(side, [&](Operation* op) {
    if (!isa<tile::BreakOp, tile::ContinueOp>(op))
      return false;
    Operation* loop = op->getParentOp();
    while (!isa<tile::ForOp, tile::WhileOp, tile::LaunchOp>(loop))
      loop = loop->getParentOp();
    return !side.isAncestor(loop->getParentRegion());
  });
}

/// Whether a value is the same each time that its place in the launch is come to.
bool isSteady(Value given) {
  llvm::SetVector<Value> asked;
  asked.insert(given);
  for (size_t at = 0; at < asked.size(); ++at) {
    Value value = asked[at];
    Operation* op = value.getDefiningOp();
    Operation* outer = op ? op->getParentOp() : value.getParentBlock()->getParentOp();
    if (op && isPure(op) && op->getNumRegions() == 0) {
      asked.insert_range(op->getOperands());
      continue;
    }
    while (outer && !isa<tile::LaunchOp, tile::ForOp, tile::WhileOp>(outer))
      outer = outer->getParentOp();
    if (outer && !isa<tile::LaunchOp>(outer))
      return false;
  }
  return true;
}

class SyncInserter {
public:
  explicit SyncInserter(tile::LaunchOp launch)
      : launch(launch), divergence(launch), indices(launch, divergence),
        choices(launch.getThreadCount(), divergence, indices), builder(launch) {}

  void run() {
    Accesses pending;
    visit(*launch.getBodyBlock(), pending);
  }

private:
  /// Threads that take one side of a branch, and what leads there.
  struct Group {
    ThreadParty party;
    ThreadGroups::Branch branch;
    Group* outer;
    bool isMarked; ///< before anything was put in
    /// The branches that they take alike, each time; among them what differs otherwise may be the same.
    SmallVector<Operation*> together;
    SmallVector<ThreadIndex> bounds; ///< numbers that are below 0 for them
    std::unique_ptr<ThreadDivergence> divergence;
  };

  /// Whether all threads of the block meet at an op anyway.
  static bool isMeeting(Operation& op) {
    if (auto sync = dyn_cast<tile::SyncOp>(op))
      return sync.getScope() != tile::SyncScope::Warp && !sync.getBarrierId();
    if (auto vote = dyn_cast<tile::VoteOp>(op))
      return vote.getScope() != tile::SyncScope::Warp;
    if (auto alloc = dyn_cast<tile::AllocOp>(op))
      return isOfBlock(alloc.getBuffer());
    return isa<tile::ParallelOp>(op) || (tile::tileTarget(&op) && !tile::isOfSingleThread(&op));
  }

  /// What an op and all that it holds touches of the block's memory.
  static void collect(Operation& outer, Accesses& found) {
    outer.walk([&](Operation* op) {
      const bool isOfAll = op->getParentOfType<tile::ParallelOp>() != nullptr;
      auto add = [&](Value buffer, AccessKind kind, ValueRange at, bool isWhole = false) {
        if (isOfBlock(buffer))
          found.push_back({buffer, kind, isWhole || isOfAll, {at, {}}});
      };
      if (auto load = dyn_cast<tile::LoadOp>(op))
        return add(load.getBuffer(), AccessKind::Read, load.getIndices());
      if (auto store = dyn_cast<tile::StoreOp>(op))
        return add(store.getBuffer(), AccessKind::Write, store.getIndices());
      if (auto atomic = dyn_cast<tile::AtomicOp>(op))
        return add(atomic.getBuffer(), AccessKind::Atomic, atomic.getIndices());
      if (isa<tile::ViewOp, tile::DimOp>(op))
        return;
      const bool mayWrite = isa<tile::AddressOp>(op);
      const Value target = tile::tileTarget(op);
      for (Value operand : op->getOperands())
        add(operand, mayWrite || operand == target ? AccessKind::Write : AccessKind::Read, {},
            /*isWhole=*/true);
    });
  }

  bool conflicts(const Access& before, const Access& now) {
    if (rootBuffer(before.buffer) != rootBuffer(now.buffer))
      return false;
    if (before.kind == now.kind && now.kind != AccessKind::Write)
      return false;
    if (group && !group->isMarked && !isOfShared(now.buffer))
      return false;
    ThreadPairs pairs;
    if (group && group->party.threads)
      pairs.members = &*group->party.threads;
    if (group)
      pairs.bounds = group->bounds;
    pairs.isAcrossWarps = before.isInWarps;
    if (before.isWhole || now.isWhole || before.buffer != now.buffer)
      return pairs.hasAny(size_t(launch.getThreadCount()));
    return indices.mayMeet(before.place, now.place, pairs);
  }

  /// Puts a barrier before `op` where that needs what is pending.
  void meetBefore(Operation& op, const Accesses& now, Accesses& pending) {
    const bool isNeeded = llvm::any_of(now, [&](const Access& access) {
      return llvm::any_of(pending, [&](const Access& before) { return conflicts(before, access); });
    });
    if (isNeeded) {
      builder.setInsertionPoint(&op);
      tile::SyncOp::create(builder, op.getLoc(), tile::SyncScope::Block, IntegerAttr(),
                           IntegerAttr());
      for (const Group* marked = group; marked; marked = marked->outer)
        if (!marked->branch.op->hasAttr(tile::kThreadGroupsAttr))
          markThreadGroups(marked->branch);
      pending.clear();
      ++inserted;
    }
    add(pending, now);
  }

  void visit(Block& block, Accesses& pending) {
    for (Operation& op : llvm::make_early_inc_range(block)) {
      if (isMeeting(op)) {
        pending.clear();
        continue;
      }
      if (group && isWarpMeeting(op)) {
        Accesses before = std::exchange(pending, {});
        for (Access& access : before)
          access.isInWarps = true;
        add(pending, before);
      }
      // All must agree on the way to what they do together, whatever decides it.
      const bool isOpen = isa<tile::ForOp, tile::WhileOp, scf::IfOp>(op) &&
                          op.getNumResults() == 0 && !op.hasAttr(tile::kThreadGroupsAttr) &&
                          (!differs(op) || holdsForWholeBlock(&op));
      if (isOpen) {
        visitStructure(op, pending);
        continue;
      }
      Accesses now;
      collect(op, now);
      if (!now.empty())
        meetBefore(op, now, pending);
      if (auto branch = dyn_cast<scf::IfOp>(op);
          branch && branch.getNumResults() == 0 && visited.insert(branch).second)
        visitSides(branch);
    }
  }

  /// Whether the threads that are here may go different ways.
  bool differs(Operation& structure) {
    if (!divergence.differs(&structure))
      return false;
    if (!group || group->together.empty())
      return true;
    if (!group->divergence)
      group->divergence = std::make_unique<ThreadDivergence>(launch, group->together);
    return group->divergence->differs(&structure);
  }

  /// A group's own barriers order what its threads do; what others did is ordered before the branch.
  void visitSides(scf::IfOp branch) {
    const bool isMarked = branch->hasAttr(tile::kThreadGroupsAttr);
    const ThreadChoice choice = choices.choiceOf(branch.getCondition());
    const ThreadParty here = group ? group->party : ofBlock();
    const ThreadParty parties[] = {here.part(choice, false), here.part(choice, true)};
    ThreadGroups::Branch found{branch, parties[0].threads.has_value(), {}, {}};
    if (found.isKnown)
      found.taken = rangesOf(*parties[0].threads), found.others = rangesOf(*parties[1].threads);
    const bool isSame =
        (!group || !group->together.empty()) && (found.isKnown || isSteady(branch.getCondition()));
    for (Region& side : branch->getRegions()) {
      const bool isElse = side.getRegionNumber() == 1;
      const ThreadParty& party = parties[isElse];
      const bool isShared = isMarked && holds(side, isForWholeBlock);
      const bool isRange = isElse ? choice.isRestRange : choice.isRange;
      if (side.empty() || (!isShared && (!mayWait(side, party, isRange) ||
                                         choices.isOfOne(branch.getCondition(), isElse))))
        continue;
      Group part{party, found, group, isMarked, {}, {}, {}};
      if (group)
        part.bounds = group->bounds;
      choices.addBounds(branch.getCondition(), isElse, part.bounds);
      if (isSame && group)
        part.together = group->together;
      if (isSame)
        part.together.push_back(branch);
      const llvm::SaveAndRestore inside(group, &part);
      Accesses inner;
      visit(side.front(), inner);
    }
  }

  ThreadParty ofBlock() {
    return {llvm::BitVector(unsigned(launch.getThreadCount()), true)};
  }

  /// Whether those who take a side can wait for each other there.
  static bool mayWait(Region& side, const ThreadParty& party, bool isRange) {
    if (party.threads ? party.threads->count() < 2 : !isRange)
      return false;
    return !leavesLoop(side) &&
           (party.isOfWarps || !holds(side, [](Operation* op) { return isWarpMeeting(*op); }));
  }

  void visitStructure(Operation& op, Accesses& pending) {
    if (isa<scf::IfOp>(op)) {
      Accesses after;
      for (Region& region : op.getRegions()) {
        Accesses branch = pending;
        if (!region.empty())
          visit(region.front(), branch);
        add(after, branch);
      }
      pending = std::move(after);
      return;
    }
    for (bool again = true; again;) {
      const size_t before = inserted;
      Accesses inner = pending;
      visitBodies(op, inner);
      Accesses carried = inner;
      for (Access& access : carried)
        access.place.stale.push_back(&op);
      visitBodies(op, carried);
      again = inserted != before; // a barrier changes what is pending at the loop's end
      if (!again)
        add(pending, inner);
    }
  }

  void visitBodies(Operation& op, Accesses& pending) {
    for (Region& region : op.getRegions())
      visit(region.front(), pending);
  }

  /// Each access once, however often it is written.
  static void add(Accesses& accesses, ArrayRef<Access> more) {
    for (const Access& access : more)
      if (llvm::none_of(accesses, [&](const Access& known) { return isSame(known, access); }))
        accesses.push_back(access);
  }

  static bool isSame(const Access& one, const Access& other) {
    return one.buffer == other.buffer && one.kind == other.kind && one.isWhole == other.isWhole &&
           one.isInWarps == other.isInWarps && one.place.indices == other.place.indices &&
           one.place.stale == other.place.stale;
  }

  tile::LaunchOp launch;
  ThreadDivergence divergence;
  ThreadIndices indices;
  ThreadChoices choices;
  OpBuilder builder;
  Group* group = nullptr;             ///< who comes where it is visited; null for all of the block
  llvm::DenseSet<Operation*> visited; ///< branches whose sides have been
  size_t inserted = 0;
};

class InsertSyncs : public KernelPass<InsertSyncs> {
public:
  static constexpr llvm::StringLiteral kArgument = "insert-syncs";
  static constexpr llvm::StringLiteral kDescription =
      "threads of a block wait where they hand memory over to each other";

  void runOnOperation() override {
    for (tile::LaunchOp launch : getOperation().getOps<tile::LaunchOp>())
      if (hasThreadGroups(launch))
        SyncInserter(launch).run();
  }
};

} // namespace

std::unique_ptr<Pass> createInsertSyncs() {
  return std::make_unique<InsertSyncs>();
}

} // namespace tilewright
