// SPDX-License-Identifier: Apache-2.0
/// FollowVariables: what no run comes to is left out, by what variables that loops change can be.
///
///   tile.store %c2, %t[]
///   tile.while { %now = tile.load %t[] ; %c = arith.cmpi slt, %now, %c4 ; tile.condition %c } do {
///     a
///     %few = arith.cmpi slt, %n, %c2
///     scf.if %few { tile.store %c9, %t[] }
///     %now = tile.load %t[] ; %next = arith.addi %now, %c2 ; tile.store %next, %t[]
///   }
/// becomes
///   scf.if %c { a ... }                                        // it has no second turn
///
/// possible_runs.h says what runs come to. A branch that goes one way in all of them becomes that way, a loop without a turn
/// is left out, and one that has no second turn is a branch; a variable or element that is one number wherever it is read
/// there is that. Of other loops it is written how many turns they have, and of other reads what they can be (kRangeAttr).
/// It stands before StructureExits, so that only what is left of exits and of elements in conditions becomes branches, and
/// once more behind it, where loops that are left in their first turn are none, and turns are what they stay.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/possible_runs.h"
#include "compiler/targets/ascend/short_loops.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <bit>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// Leaves out what no run comes to.
class Trimmer {
public:
  /// `tellTurns`: how many turns loops make is the same for all that follows.
  Trimmer(const SeenPlaces& places, bool tellTurns) : places(places), tellTurns(tellTurns) {}

  void run(Block& block) {
    for (Operation& op : llvm::make_early_inc_range(block)) {
      const auto found = places.find(&op);
      const Seen* seen = found == places.end() ? nullptr : &found->second;
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        trim(branch, seen);
      } else if (auto loop = dyn_cast<tile::WhileOp>(op)) {
        trim(loop, seen);
      } else if (auto loop = dyn_cast<tile::ForOp>(op)) {
        if (tellTurns && seen && !seen->isEndless && seen->mostTurns &&
            !loop->hasAttr(kMostTurnsAttr))
          boundTurns(loop, *seen->mostTurns);
        run(*loop.getBodyBlock());
      } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
        trim(load, seen);
      } else if (auto scope = dyn_cast<ScopeOp>(op)) {
        run(scope.getBody().front());
      }
    }
  }

private:
  void trim(scf::IfOp branch, const Seen* seen) {
    const bool isDecided = seen && seen->isTaken != seen->isPassed;
    if (!isDecided || saysWhetherLeft(branch)) {
      for (Region& region : branch->getRegions())
        for (Block& block : region)
          run(block);
      return;
    }
    Block* way = seen->isTaken ? branch.thenBlock() : branch.elseBlock();
    if (way) {
      run(*way);
      inlineBefore(*way, branch);
      branch->replaceAllUsesWith(way->getTerminator()->getOperands());
    }
    branch.erase();
  }

  /// By such branches others tell what a loop's exits are.
  bool saysWhetherLeft(scf::IfOp branch) const {
    auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
    auto load = compare ? compare.getLhs().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
    Operation* state = load ? load.getBuffer().getDefiningOp() : nullptr;
    return state && state->hasAttr(kExitStateAttr) && !ofNoLoop.contains(state);
  }

  void trim(tile::WhileOp loop, const Seen* seen) {
    const bool isKnown = seen && !seen->isEndless && seen->mostTurns;
    if (isKnown && *seen->mostTurns == 0) {
      loop.erase();
      return;
    }
    Block &asking = loop.getCondition().front(), &body = loop.getBody().front();
    const bool isLoop = !isKnown || *seen->mostTurns > 1 ||
                        llvm::any_of(body, [](Operation& op) { return hasExit(&op); });
    auto first = dyn_cast<tile::StoreOp>(body.front()); // of one with exits: it goes on so far
    if (!isLoop && first && first.getBuffer().getDefiningOp()->hasAttr(kExitStateAttr))
      ofNoLoop.insert(first.getBuffer().getDefiningOp());
    run(asking);
    run(body);
    if (!isKnown)
      return;
    if (isLoop) {
      if (!tellTurns)
        return;
      Builder builder(loop.getContext());
      loop->setAttr(kMostTurnsAttr, builder.getI64IntegerAttr(*seen->mostTurns));
      if (seen->leastTurns == seen->mostTurns)
        loop->setAttr(kAllTurnsAttr, builder.getUnitAttr());
      return;
    }
    auto condition = cast<tile::ConditionOp>(asking.getTerminator());
    inlineBefore(asking, loop);
    if (seen->leastTurns == 1) {
      inlineBefore(body, loop);
    } else {
      OpBuilder at(loop);
      auto branch = scf::IfOp::create(at, loop.getLoc(), condition.getCondition(),
                                      /*withElseRegion=*/false);
      Block& then = *branch.thenBlock();
      then.getOperations().splice(then.begin(), body.getOperations(), body.begin(),
                                  std::prev(body.end()));
    }
    loop.erase();
  }

  /// All but its terminator.
  static void inlineBefore(Block& block, Operation* place) {
    const auto end = block.mightHaveTerminator() ? std::prev(block.end()) : block.end();
    place->getBlock()->getOperations().splice(place->getIterator(), block.getOperations(),
                                              block.begin(), end);
  }

  /// By the variables that say how loops are left others look for their ends.
  void trim(tile::LoadOp load, const Seen* seen) {
    Operation* variable = load.getBuffer().getDefiningOp();
    if (!seen || !seen->range || !variable || variable->hasAttr(kExitStateAttr))
      return;
    OpBuilder at(load);
    const Type type = load.getValue().getType();
    if (seen->range->low != seen->range->high) {
      if (tellTurns && type.isSignlessInteger() && *seen->range != rangeOfType(type))
        load->setAttr(tile::kRangeAttr,
                      at.getDenseI64ArrayAttr({seen->range->low, seen->range->high}));
      return;
    }
    const TypedAttr known =
        type.isIntOrIndex()
            ? TypedAttr(at.getIntegerAttr(type, seen->range->low))
            : TypedAttr(at.getFloatAttr(type, std::bit_cast<double>(seen->range->low)));
    Value number = arith::ConstantOp::create(at, load.getLoc(), known);
    load.getValue().replaceAllUsesWith(number);
    load.erase();
  }

  const SeenPlaces& places;
  DenseSet<Operation*> ofNoLoop; ///< what said how loops are left that are branches now
  bool tellTurns;
};

struct FollowVariables : KernelPass<FollowVariables> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FollowVariables)
  static constexpr llvm::StringLiteral kArgument = "ascend-follow-variables";
  static constexpr llvm::StringLiteral kDescription =
      "leave out what no run comes to, by what the variables of while loops can be";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<scf::SCFDialect, arith::ArithDialect>();
  }

  FollowVariables() = default;
  explicit FollowVariables(bool tellTurns) : tellTurns(tellTurns) {}

  void runOnOperation() override {
    for (auto launch : getOperation().getOps<tile::LaunchOp>()) {
      const std::optional<SeenPlaces> places =
          hasLoopsByVariables(launch) ? seenIn(launch) : std::nullopt;
      if (places)
        Trimmer(*places, tellTurns).run(launch.getBody().front());
    }
  }

  /// A `while`, or a variable to which a loop assigns.
  static bool hasLoopsByVariables(tile::LaunchOp launch) {
    return launch
        .walk([](Operation* op) {
          auto store = dyn_cast<tile::StoreOp>(op);
          const bool changes = store && store.getBuffer().getType().isPerThread() &&
                               store.getIndices().empty() && op->getParentOfType<tile::ForOp>();
          return isa<tile::WhileOp>(op) || changes ? WalkResult::interrupt()
                                                   : WalkResult::advance();
        })
        .wasInterrupted();
  }

  bool tellTurns = true;
};

} // namespace

std::unique_ptr<Pass> createFollowVariables(bool tellTurns) {
  return std::make_unique<FollowVariables>(tellTurns);
}

} // namespace tilewright::ascend
