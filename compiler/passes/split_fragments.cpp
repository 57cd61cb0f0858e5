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
/// A fragment lies in its threads' registers: what one group writes there another one can't see. What all
/// threads write they write in each group. Where more than that happens outside of the groups (all read
/// what groups have written, say) it stays one fragment, which the groups share: they may each have a part.
/// It stands behind group-threads, whose marks say who comes where.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/thread_groups.h"
#include "compiler/passes/analysis/thread_groups.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright {
namespace {

/// Whether two values are sure to be the same: made alike, of the same values, and of no memory.
bool isSame(Value left, Value right, int depth = 8) {
  if (left == right)
    return true;
  Operation *one = left.getDefiningOp(), *other = right.getDefiningOp();
  if (!one || !other || depth == 0 || one->getName() != other->getName() ||
      one->getNumRegions() != 0 || !isMemoryEffectFree(one) ||
      one->getNumOperands() != other->getNumOperands() ||
      one->getAttrDictionary() != other->getAttrDictionary() ||
      cast<OpResult>(left).getResultNumber() != cast<OpResult>(right).getResultNumber())
    return false;
  return llvm::all_of(llvm::zip(one->getOperands(), other->getOperands()), [&](auto pair) {
    return isSame(std::get<0>(pair), std::get<1>(pair), depth - 1);
  });
}

/// The threads that come to a place, as far as the branches around it say.
struct Comers {
  struct Side {
    Value condition;
    bool isElse;
  };
  llvm::BitVector known;       ///< those whom no branch with known threads keeps away
  SmallVector<Side, 2> chosen; ///< of the branches whose threads only the run knows

  bool contains(const Comers& part) const {
    return !part.known.test(known) && llvm::all_of(chosen, [&](const Side& side) {
      return part.isAt(side.condition, side.isElse);
    });
  }
  bool isApartFrom(const Comers& other) const {
    return !known.anyCommon(other.known) || llvm::any_of(chosen, [&](const Side& side) {
      return other.isAt(side.condition, !side.isElse);
    });
  }

private:
  bool isAt(Value condition, bool isElse) const {
    return llvm::any_of(chosen, [&](const Side& side) {
      return side.isElse == isElse && isSame(side.condition, condition);
    });
  }
};

/// One fragment, and what is done with it.
class Splitter {
public:
  Splitter(tile::LaunchOp launch, tile::AllocOp fragment)
      : launch(launch), fragment(fragment), values{fragment.getBuffer()} {}

  void run() {
    if (!collect() || !findGroups())
      return;
    makeFragments();
    // Views first: the groups' own ones take their place in what follows.
    for (bool isOfViews : {true, false})
      for (const Use& use : uses)
        if (isa<tile::ViewOp>(use.op) == isOfViews)
          rewrite(use);
  }

private:
  struct Use {
    Operation* op; ///< a view, an op on tiles, or the outermost parallel loop that it stands in
    Comers comers;
  };

  // Who comes where

  Comers comersAt(Operation* op) {
    Comers comers;
    comers.known.resize(unsigned(launch.getThreadCount()), true);
    bool isInnermost = true;
    for (Operation* outer = op; outer->getParentOp() != launch; outer = outer->getParentOp()) {
      auto branch = dyn_cast<scf::IfOp>(outer->getParentOp());
      auto sides = branch ? branch->getAttrOfType<ArrayAttr>(tile::kThreadGroupsAttr) : ArrayAttr();
      if (!sides)
        continue;
      const unsigned number = outer->getParentRegion()->getRegionNumber();
      if (sides.size() == 2) {
        if (isInnermost) // it says all that those around it say
          keep(comers.known, sides[number]);
        isInnermost = false;
      } else if (isFixed(branch.getCondition())) {
        comers.chosen.push_back({branch.getCondition(), number == 1});
      }
    }
    return comers;
  }

  static void keep(llvm::BitVector& threads, Attribute ranges) {
    llvm::BitVector kept(threads.size());
    if (auto ends = dyn_cast<DenseI64ArrayAttr>(ranges))
      for (int64_t at = 0; at + 1 < ends.size(); at += 2)
        if (ends[at] >= 0 && ends[at] < ends[at + 1] && ends[at + 1] <= int64_t(kept.size()))
          kept.set(unsigned(ends[at]), unsigned(ends[at + 1]));
    threads &= kept;
  }

  /// Whether it is the same as long as there is the fragment.
  bool isFixed(Value condition) {
    for (Operation* loop = condition.getParentRegion()->getParentOp(); loop && loop != launch;
         loop = loop->getParentOp())
      if (isa<tile::ForOp, tile::WhileOp>(loop) && !loop->isAncestor(fragment))
        return false;
    return true;
  }

  // Uses

  /// Finds all uses; false where one of them can't be followed.
  bool collect() {
    for (size_t at = 0; at < values.size(); ++at)
      for (Operation* user : values[at].getUsers()) {
        if (isa<tile::DimOp>(user))
          continue;
        if (isa<tile::ViewOp>(user))
          values.push_back(user->getResult(0));
        else if (!isa<MemoryEffectOpInterface>(user))
          return false;
        addUse(user);
      }
    return true;
  }

  void addUse(Operation* op) {
    for (Operation* outer = op; outer != launch; outer = outer->getParentOp())
      if (isa<tile::ParallelOp>(outer))
        op = outer;
    if (llvm::none_of(uses, [&](const Use& use) { return use.op == op; }))
      uses.push_back({op, comersAt(op)});
  }

  bool isOurs(Value buffer) const {
    return buffer && rootBuffer(buffer) == values.front();
  }

  bool writes(Operation* op) const {
    const WalkResult walked = op->walk([&](Operation* inner) {
      for (const MemoryEffects::EffectInstance& effect : effectsOf(inner))
        if (isa<MemoryEffects::Write>(effect.getEffect()) && isOurs(effect.getValue()))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    return walked.wasInterrupted();
  }

  static SmallVector<MemoryEffects::EffectInstance> effectsOf(Operation* op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    if (auto touching = dyn_cast<MemoryEffectOpInterface>(op))
      touching.getEffects(effects);
    return effects;
  }

  /// Whether nothing but the fragment is changed: then each group may do it with its own.
  bool isRepeatable(Operation* op) const {
    if (isa<tile::ViewOp>(op))
      return true;
    if (op->getNumResults() != 0)
      return false;
    auto isInside = [&](Value buffer) { // memory that is made in the op itself
      auto made = rootBuffer(buffer).getDefiningOp<tile::AllocOp>();
      return made && op->isProperAncestor(made);
    };
    const WalkResult walked = op->walk([&](Operation* inner) {
      const bool isKnown = isa<MemoryEffectOpInterface>(inner) ||
                           inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                           inner->hasTrait<OpTrait::IsTerminator>();
      if (!isKnown)
        return WalkResult::interrupt();
      for (const MemoryEffects::EffectInstance& effect : effectsOf(inner)) {
        const Value buffer = effect.getValue();
        if (isa<MemoryEffects::Write>(effect.getEffect()) &&
            !(buffer && (isOurs(buffer) || isInside(buffer))))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return !walked.wasInterrupted();
  }

  // Groups

  /// The smallest sets of threads that use the fragment. False where it is no group's own.
  bool findGroups() {
    SmallVector<const Use*> used;
    for (const Use& use : uses)
      if (use.comers.known.any())
        used.push_back(&use);
    auto isSmallest = [&](const Comers& comers) {
      return llvm::none_of(used, [&](const Use* other) {
        return comers.contains(other->comers) && !other->comers.contains(comers);
      });
    };
    for (const Use* use : used)
      if (isSmallest(use->comers) &&
          llvm::none_of(groups, [&](const Comers& known) { return known.contains(use->comers); }))
        groups.push_back(use->comers);
    // By some of the groups alone: what all write is the same in each.
    const bool isWritten = llvm::any_of(used, [&](const Use* use) {
      return writes(use->op) && !llvm::all_of(groups, [&](const Comers& group) {
               return use->comers.contains(group);
             });
    });
    return isWritten && groups.size() > 1 && llvm::all_of(used, [&](const Use* use) {
             return llvm::all_of(groups, [&](const Comers& group) {
               const bool isSame = group.contains(use->comers), holds = use->comers.contains(group);
               return isSame || use->comers.isApartFrom(group) || (holds && isRepeatable(use->op));
             });
           });
  }

  // Rewriting

  void makeFragments() {
    OpBuilder builder(fragment);
    builder.setInsertionPointAfter(fragment);
    mappings.resize(groups.size());
    for (IRMapping& mapping : llvm::drop_begin(mappings))
      builder.clone(*fragment, mapping);
  }

  void rewrite(const Use& use) {
    OpBuilder builder(use.op);
    builder.setInsertionPointAfter(use.op);
    IRMapping* own = nullptr;
    SmallVector<IRMapping*> others;
    for (auto [group, mapping] : llvm::zip(groups, mappings))
      if (use.comers.contains(group))
        (own ? others.emplace_back() : own) = &mapping;
    for (IRMapping* mapping : others) {
      IRMapping local = *mapping; // what a clone holds is its own
      Operation* made = builder.clone(*use.op, local);
      for (auto [before, after] : llvm::zip(use.op->getResults(), made->getResults()))
        mapping->map(before, after);
    }
    if (own)
      use.op->walk([&](Operation* inner) {
        for (OpOperand& operand : inner->getOpOperands())
          operand.set(own->lookupOrDefault(operand.get()));
      });
  }

  tile::LaunchOp launch;
  tile::AllocOp fragment;
  SmallVector<Value> values; ///< the fragment and its views
  SmallVector<Use> uses;
  SmallVector<Comers> groups;
  SmallVector<IRMapping> mappings; ///< of each group: from the fragment and its views to its own
};

class SplitFragments : public KernelPass<SplitFragments> {
public:
  static constexpr llvm::StringLiteral kArgument = "split-fragments";
  static constexpr llvm::StringLiteral kDescription =
      "groups of threads that use one fragment get one each";

  void runOnOperation() override {
    for (tile::LaunchOp launch : getOperation().getOps<tile::LaunchOp>()) {
      if (!hasThreadGroups(launch))
        continue;
      SmallVector<tile::AllocOp> fragments;
      launch.walk([&](tile::AllocOp alloc) {
        if (alloc.getType().getSpace() == tile::MemorySpace::Fragment &&
            !alloc->getParentOfType<tile::ParallelOp>())
          fragments.push_back(alloc);
      });
      for (tile::AllocOp fragment : fragments)
        Splitter(launch, fragment).run();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createSplitFragments() {
  return std::make_unique<SplitFragments>();
}

} // namespace tilewright
