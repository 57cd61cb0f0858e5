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
/// enter. In a branch that a group of threads takes, it is the group's. Loops are gone through twice, for what
/// one iteration leaves to the next.
#include "compiler/ir/thread_groups.h"
#include "compiler/ir/tile.h"
#include "compiler/passes/analysis/thread_groups.h"
#include "compiler/passes/analysis/thread_indices.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright {
namespace {

enum class AccessKind { Read, Write, Atomic };

struct Access {
  Value buffer; ///< as it is named there: a view has indices of its own
  AccessKind kind;
  bool isWhole; ///< all of the buffer
  ThreadAccess place;
};

using Accesses = SmallVector<Access>;

bool isOfBlock(Value buffer) {
  auto type = dyn_cast<tile::BufferType>(buffer.getType());
  return type && !type.isPerThread() && !type.isGlobal();
}

class SyncInserter {
public:
  explicit SyncInserter(tile::LaunchOp launch)
      : launch(launch), divergence(launch), indices(launch, divergence), builder(launch) {}

  void run() {
    Accesses pending;
    visit(*launch.getBodyBlock(), pending);
  }

private:
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
    if (before.isWhole || now.isWhole || before.buffer != now.buffer)
      return true;
    return indices.mayMeet(before.place, now.place);
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
      pending.clear();
      ++inserted;
    }
    llvm::append_range(pending, now);
  }

  void visit(Block& block, Accesses& pending) {
    for (Operation& op : llvm::make_early_inc_range(block)) {
      if (isMeeting(op)) {
        pending.clear();
        continue;
      }
      // All must agree on the way to what they do together, whatever decides it.
      const bool isOpen = isa<tile::ForOp, tile::WhileOp, scf::IfOp>(op) &&
                          op.getNumResults() == 0 && !op.hasAttr(tile::kThreadGroupsAttr) &&
                          (!divergence.differs(&op) || holdsForWholeBlock(&op));
      if (isOpen) {
        visitStructure(op, pending);
        continue;
      }
      Accesses now;
      collect(op, now);
      if (!now.empty())
        meetBefore(op, now, pending);
      if (op.hasAttr(tile::kThreadGroupsAttr))
        visitGroups(op);
    }
  }

  /// A group's own barriers order what its threads do; what others did is ordered before the branch.
  void visitGroups(Operation& branch) {
    for (Region& region : branch.getRegions()) {
      Accesses inner;
      if (!region.empty())
        visit(region.front(), inner);
    }
  }

  void visitStructure(Operation& op, Accesses& pending) {
    if (isa<scf::IfOp>(op)) {
      Accesses after;
      for (Region& region : op.getRegions()) {
        Accesses branch = pending;
        if (!region.empty())
          visit(region.front(), branch);
        llvm::append_range(after, branch);
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
        llvm::append_range(pending, inner);
    }
    simplify(pending);
  }

  void visitBodies(Operation& op, Accesses& pending) {
    for (Region& region : op.getRegions())
      visit(region.front(), pending);
  }

  static void simplify(Accesses& accesses) {
    Accesses kept;
    for (Access& access : accesses) {
      const bool isKnown = llvm::any_of(kept, [&](const Access& other) {
        return other.buffer == access.buffer && other.kind == access.kind &&
               other.isWhole == access.isWhole && other.place.indices == access.place.indices &&
               other.place.stale == access.place.stale;
      });
      if (!isKnown)
        kept.push_back(std::move(access));
    }
    accesses = std::move(kept);
  }

  tile::LaunchOp launch;
  ThreadDivergence divergence;
  ThreadIndices indices;
  OpBuilder builder;
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
