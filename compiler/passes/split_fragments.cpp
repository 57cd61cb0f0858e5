// SPDX-License-Identifier: Apache-2.0
/// SplitFragments: groups of threads that use one fragment get one each.
///
///     %acc = tile.alloc "acc" : !tile.buffer<64xf32, fragment>
///     tile.fill %acc .. with %zero                                    // all threads
///     scf.if %below { tile.gemm .. %acc } else { tile.gemm .. %acc }  {tile.thread_groups = ..}
/// becomes
///     %acc = tile.alloc "acc" ..
///     %acc.1 = tile.alloc "acc" ..
///     tile.fill %acc ..
///     tile.fill %acc.1 ..
///     scf.if %below { tile.gemm .. %acc } else { tile.gemm .. %acc.1 }
///
/// A fragment lies in its threads' registers: what one group writes there another one can't see. All fragments that
/// meet in an operation are split by the smallest sets of threads that their uses tell apart (analysis/fragment_sets.h).
/// What several of these sets do together each does with its own, if it changes nothing else; if not, they must
/// have the same there. What only lives in a branch is made in it. Where each element is written by one set of threads only, a
/// fragment stays one, of which each set has a part. One whose elements only single threads use becomes theirs. The rest is an error.
/// It stands behind group-threads, whose marks say where groups are.
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/thread_groups.h"
#include "compiler/passes/analysis/fragment_sets.h"
#include "compiler/passes/analysis/thread_groups.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright {
namespace {

/// Makes a fragment in the branches that use it, where none of them sees what was there before.
class FragmentSinker {
public:
  FragmentSinker(FragmentUses& uses, size_t fragment)
      : uses(uses), fragment(fragment), alloc(uses.fragments[fragment]) {
    for (const FragmentUse& use : uses.uses)
      if (llvm::is_contained(use.reads, fragment) || llvm::is_contained(use.writes, fragment))
        own[use.op] = &use;
  }

  /// Whether it did.
  bool run() {
    llvm::SetVector<Region*> sides;
    for (auto [op, use] : own) {
      Region* side = sideOf(op);
      if (!side)
        return false;
      sides.insert(side);
    }
    if (sides.empty() ||
        llvm::any_of(sides, [&](Region* side) { return visit(side->front()) == Finds::Old; }))
      return false;
    for (Region* side : sides)
      sink(*side);
    return true;
  }

private:
  enum class Finds { Nothing, New, Old };

  /// The outermost side of a branch of groups that an operation stands in and the fragment doesn't.
  Region* sideOf(Operation* op) const {
    Region* side = nullptr;
    for (Region* region = op->getParentRegion(); region != alloc->getParentRegion();
         region = region->getParentRegion())
      if (region->getParentOp()->hasAttr(tile::kThreadGroupsAttr))
        side = region;
    return side;
  }

  /// What the first use finds in the fragment: what was there before, or what is new there.
  Finds visit(Block& block) {
    for (Operation& op : block)
      if (const Finds found = visitOp(op); found != Finds::Nothing)
        return found;
    return Finds::Nothing;
  }

  Finds visitOp(Operation& op) {
    if (auto use = own.find(&op); use != own.end()) {
      if (llvm::is_contained(use->second->reads, fragment))
        return Finds::Old;
      return uses.overwrites(*use->second, fragment) ? Finds::New : Finds::Nothing;
    }
    bool isOld = false, isNew = isa<scf::IfOp>(op) && op.getNumRegions() > 0;
    for (Region& region : op.getRegions()) {
      const Finds found = region.empty() ? Finds::Nothing : visit(region.front());
      isOld |= found == Finds::Old;
      isNew &= found == Finds::New;
    }
    return isOld ? Finds::Old : isNew ? Finds::New : Finds::Nothing;
  }

  void sink(Region& side) {
    OpBuilder builder = OpBuilder::atBlockBegin(&side.front());
    IRMapping inside;
    builder.clone(*alloc, inside);
    side.walk([&](Operation* op) {
      for (OpOperand& operand : op->getOpOperands())
        if (uses.numberOf(operand.get()) == fragment)
          operand.set(localOf(operand.get(), side, inside, builder));
    });
  }

  static Value localOf(Value buffer, Region& side, IRMapping& inside, OpBuilder& builder) {
    if (Value known = inside.lookupOrNull(buffer))
      return known;
    if (side.isAncestor(buffer.getParentRegion()))
      return buffer;
    auto view = buffer.getDefiningOp<tile::ViewOp>();
    localOf(view.getSource(), side, inside, builder);
    return builder.clone(*view, inside)->getResult(0);
  }

  FragmentUses& uses;
  size_t fragment;
  tile::AllocOp alloc;
  llvm::DenseMap<Operation*, const FragmentUse*> own;
};

/// Gives each set of threads its own fragments of a family.
class FragmentSplitter {
public:
  FragmentSplitter(const FragmentUses& uses, const FragmentFamily& family)
      : uses(uses), family(family), mappings(family.count) {}

  void run() {
    for (size_t fragment : family.fragments) {
      tile::AllocOp alloc = uses.fragments[fragment];
      OpBuilder builder(alloc);
      builder.setInsertionPointAfter(alloc);
      for (IRMapping& mapping : llvm::drop_begin(mappings))
        builder.setInsertionPointAfter(builder.clone(*alloc, mapping));
    }
    // Views first: the sets' own ones take their place in what follows.
    for (bool isOfViews : {true, false})
      for (auto [use, members] : llvm::zip(family.uses, family.sets))
        if (isa<tile::ViewOp>(use->op) == isOfViews)
          rewrite(*use, members);
  }

private:
  void rewrite(const FragmentUse& use, const llvm::BitVector& members) {
    if (members.none())
      return;
    OpBuilder builder(use.op);
    builder.setInsertionPointAfter(use.op);
    const bool isView = isa<tile::ViewOp>(use.op);
    const auto first = unsigned(members.find_first());
    // What has a result, or isn't a store of a nest, is done once: all have the same.
    const auto elsewhere = storesElsewhere(uses, family, use.op);
    const bool isChange =
        llvm::any_of(use.writes, [&](size_t fragment) { return family.has(fragment); });
    if (isView || (elsewhere && isChange))
      for (unsigned set : members.set_bits()) {
        if (set == first)
          continue;
        IRMapping local = mappings[set]; // what a clone holds is its own
        Operation* made = builder.clone(*use.op, local);
        if (isView)
          mappings[set].map(use.op->getResult(0), made->getResult(0));
        else
          for (Operation* store : *elsewhere)
            local.lookup(store)->erase();
      }
    use.op->walk([&](Operation* inner) {
      for (OpOperand& operand : inner->getOpOperands())
        if (const auto fragment = uses.numberOf(operand.get()); fragment && family.has(*fragment))
          operand.set(
              mappings[isView || isChange ? first : setFor(members, *fragment)].lookupOrDefault(
                  operand.get()));
    });
  }

  /// Whose fragment several sets use: one who has written there.
  unsigned setFor(const llvm::BitVector& members, size_t fragment) const {
    llvm::BitVector writers = writersOf(family, fragment);
    writers &= members;
    return unsigned((writers.any() ? writers : members).find_first());
  }

  const FragmentUses& uses;
  const FragmentFamily& family;
  SmallVector<IRMapping> mappings; ///< of each set: from the fragments and their views to its own
};

class SplitFragments : public KernelPass<SplitFragments> {
public:
  static constexpr llvm::StringLiteral kArgument = "split-fragments";
  static constexpr llvm::StringLiteral kDescription =
      "groups of threads that use one fragment get one each";

  void runOnOperation() override {
    for (tile::LaunchOp launch : getOperation().getOps<tile::LaunchOp>())
      for (const FragmentProblem& problem : splitFragments(launch)) {
        auto error = problem.op->emitError(problem.message);
        if (problem.other)
          error.attachNote(problem.other->getLoc()) << problem.note;
        signalPassFailure();
      }
  }
};

/// Whether only elements of a fragment are used, outside of nests, or all of it is filled.
bool isUsedByElements(const FragmentUses& uses, size_t fragment) {
  return llvm::all_of(uses.uses, [&](const FragmentUse& use) {
    const bool isUsed =
        llvm::is_contained(use.reads, fragment) || llvm::is_contained(use.writes, fragment) ||
        (isa<tile::ViewOp>(use.op) && uses.numberOf(use.op->getOperand(0)) == fragment);
    return !isUsed || isa<tile::LoadOp, tile::StoreOp, tile::FillOp>(use.op);
  });
}

/// Fragments in which each thread keeps what is its own, and which they don't use together, are that: local.
void makeLocal(tile::LaunchOp launch) {
  FragmentUses uses(launch);
  for (auto [fragment, alloc] : llvm::enumerate(uses.fragments)) {
    const bool isOfEach = llvm::any_of(uses.uses, [&](const FragmentUse& use) {
      return use.isEach && llvm::is_contained(use.writes, fragment) &&
             !uses.isDistinct(use, fragment);
    });
    if (!isOfEach || !isUsedByElements(uses, fragment))
      continue;
    const tile::BufferType type = alloc.getType();
    alloc.getBuffer().setType(
        tile::BufferType::get(type.getShape(), type.getElementType(), tile::MemorySpace::Local));
  }
}

/// Whether a fragment is made in branches now.
bool sinkOne(tile::LaunchOp launch) {
  FragmentUses uses(launch);
  for (size_t fragment = 0; fragment < uses.fragments.size(); ++fragment)
    if (isOfSomeThreads(uses, fragment) && FragmentSinker(uses, fragment).run())
      return true;
  return false;
}

} // namespace

/// `own[k] += 1` reads and writes in one place.
static std::vector<FragmentProblem> toldOnce(const std::vector<FragmentProblem>& problems) {
  std::vector<FragmentProblem> told;
  for (const FragmentProblem& problem : problems)
    if (llvm::none_of(told, [&](const FragmentProblem& before) {
          return before.op->getLoc() == problem.op->getLoc() && before.message == problem.message;
        }))
      told.push_back(problem);
  return told;
}

std::vector<FragmentProblem> splitFragments(tile::LaunchOp launch) {
  std::vector<FragmentProblem> problems;
  if (!hasThreadGroups(launch))
    return problems;
  makeLocal(launch);
  while (sinkOne(launch)) {
  }
  FragmentUses uses(launch);
  const std::vector<FragmentFamily> families = familiesOf(uses, problems);
  for (const FragmentFamily& family : families)
    checkFamily(uses, family, launch, problems);
  if (problems.empty())
    for (const FragmentFamily& family : families)
      FragmentSplitter(uses, family).run();
  return toldOnce(problems);
}

std::unique_ptr<Pass> createSplitFragments() {
  return std::make_unique<SplitFragments>();
}

} // namespace tilewright
