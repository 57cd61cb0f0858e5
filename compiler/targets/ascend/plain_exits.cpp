// SPDX-License-Identifier: Apache-2.0
/// PlainExits: what StructureExits has made of `break` and `continue` becomes that again, with the flags that the rest
/// of the iteration would have set or waited for.
///
///   tile.for %i = ... {                                     tile.for %i = ... {
///     ascend.wait_flag mte3 to mte2, 0                        ascend.wait_flag mte3 to mte2, 0
///     scf.if (%state[] != 2) {                                a
///       tile.store 0, %state[]                                scf.if %c {
///       a                                            ->         ascend.set_flag mte3 to mte2, 0
///       scf.if %c { tile.store 2, %state[] }                    tile.break
///       scf.if (%state[] == 0) { b }                          }
///     }                                                       b
///     ascend.set_flag mte3 to mte2, 0                         ascend.set_flag mte3 to mte2, 0
///   }                                                       }
///
/// So the text reads as the kernel does. Iterations behind a `break` were idle: they waited for the flags that they
/// set themselves, so that none is missing, and came to barriers, which the exit brings along. Loops in which more happens on the way out stay as they are. It stands
/// last: nothing behind it asks which way a kernel goes.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Dominance.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

constexpr int64_t kNextIteration = 1, kLeft = 2;
/// Flags that an exit may bring along; a text of more is longer than that of the branches.
constexpr size_t kMostFlags = 4;

bool isSameEvent(Value a, Value b) {
  const std::optional<int64_t> first = getConstantIntValue(a), second = getConstantIntValue(b);
  return a == b || (first && first == second);
}

/// Whether nothing is missing where an operation doesn't run.
bool isHarmless(Operation* op) {
  return isPure(op) || isa<tile::LoadOp, tile::AllocOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// The exits of one loop, by its state.
class ExitRestorer {
public:
  explicit ExitRestorer(tile::AllocOp state) : state(state) {}

  /// Changes nothing if that can't be.
  void run() {
    if (!collect() || !checkGuards() || !checkExits() || !checkCondition())
      return;
    for (const Exit& exit : exits)
      leaveAt(exit);
    if (auto repeat = dyn_cast<tile::WhileOp>(loop))
      restoreCondition(repeat);
    for (scf::IfOp guard : guards)
      inlineGuard(guard);
    for (tile::StoreOp reset : resets)
      reset.erase();
    for (tile::LoadOp load : loads)
      load.erase();
    state.erase();
  }

private:
  struct Exit {
    tile::StoreOp store;
    SmallVector<Operation*> rest; ///< what of its iteration still comes: flags and barriers
    bool skips = false;           ///< and whether something doesn't
  };

  /// All that touches the state; false if something else than StructureExits has made does.
  bool collect() {
    for (Operation* user : state->getUsers()) {
      if (auto store = dyn_cast<tile::StoreOp>(user)) {
        const std::optional<int64_t> value = getConstantIntValue(store.getValue());
        if (!value)
          return false;
        if (*value == kNextIteration || *value == kLeft)
          exits.push_back({store, {}});
        else
          resets.push_back(store);
      } else if (auto load = dyn_cast<tile::LoadOp>(user)) {
        loads.push_back(load);
      } else {
        return false;
      }
      Operation* around = state->getBlock()->findAncestorOpInBlock(*user);
      if (!around || (around != user && loop && around != loop))
        return false;
      if (around != user)
        loop = around;
    }
    return isa_and_nonnull<tile::ForOp, tile::WhileOp>(loop);
  }

  Block& body() const {
    return loop->getRegions().back().front();
  }

  /// Each load decides about one branch, and in the loop's body all but flags is in the first of them.
  bool checkGuards() {
    for (tile::LoadOp load : loads) {
      auto compare = load->hasOneUse() ? dyn_cast<arith::CmpIOp>(*load->user_begin()) : nullptr;
      auto guard =
          compare && compare->hasOneUse() ? dyn_cast<scf::IfOp>(*compare->user_begin()) : nullptr;
      if (!guard || !guard.getElseRegion().empty() || guard->getNumResults() > 0)
        return false;
      if (compare.getPredicate() == arith::CmpIPredicate::eq)
        guards.push_back(guard);
      else if (guard->getBlock() == &body())
        entry = guard;
      else if (isa<tile::WhileOp>(loop) && !condition)
        condition = guard;
      else
        return false;
    }
    if (entry)
      guards.push_back(entry);
    return !entry || isIdleBalanced();
  }

  /// Whether an iteration behind a `break` leaves the flags as they are.
  bool isIdleBalanced() {
    SmallVector<WaitFlagOp> waits;
    for (Operation& op : body()) {
      if (isa<PipeBarrierOp>(op) && isa<tile::ForOp>(loop) && op.isBeforeInBlock(entry))
        ofIdle.push_back(&op);
      if (&op == entry || isHarmless(&op) || isa<PipeBarrierOp>(op))
        continue;
      if (auto wait = dyn_cast<WaitFlagOp>(op); wait && op.isBeforeInBlock(entry)) {
        waits.push_back(wait);
        continue;
      }
      auto set = dyn_cast<SetFlagOp>(op);
      auto own = !set || op.isBeforeInBlock(entry)
                     ? waits.end()
                     : llvm::find_if(waits, [&](WaitFlagOp wait) {
                         return wait.getFrom() == set.getFrom() && wait.getTo() == set.getTo() &&
                                isSameEvent(wait.getEvent(), set.getEvent());
                       });
      if (own == waits.end())
        return false;
      waits.erase(own);
    }
    return waits.empty();
  }

  /// What comes behind each exit in its iteration, outside of branches that it closes.
  bool checkExits() {
    DominanceInfo dominance;
    for (Exit& exit : exits) {
      for (Operation* op = exit.store; op != loop; op = op->getParentOp()) {
        for (Operation* next = op->getNextNode(); next; next = next->getNextNode()) {
          exit.skips |= llvm::is_contained(guards, next);
          if (llvm::is_contained(guards, next) || isHarmless(next))
            continue;
          auto flag = dyn_cast<SetFlagOp>(next);
          auto wait = dyn_cast<WaitFlagOp>(next);
          if (!flag && !wait && !isa<PipeBarrierOp>(next))
            return false;
          const Value event = flag ? flag.getEvent() : wait ? wait.getEvent() : Value();
          if (event && !getConstantIntValue(event) &&
              !dominance.properlyDominates(event, exit.store))
            return false;
          exit.rest.push_back(next);
        }
        if (op->getBlock() == &body())
          break;
      }
      if (getConstantIntValue(exit.store.getValue()) == kLeft)
        llvm::append_range(exit.rest, ofIdle);
      if (exit.rest.size() > kMostFlags)
        return false;
    }
    return true;
  }

  /// Of a `while` that can be left: what it asks stands in a branch, whose answer a variable holds.
  bool checkCondition() {
    auto repeat = dyn_cast<tile::WhileOp>(loop);
    if (!repeat || !condition)
      return !condition && (!repeat || !entry);
    for (Operation& op : repeat.getCondition().front())
      if (auto store = dyn_cast<tile::StoreOp>(op))
        answer = store.getBuffer();
      else if (&op != condition && !isHarmless(&op))
        return false;
    auto last = dyn_cast<tile::StoreOp>(condition.thenBlock()->getTerminator()->getPrevNode());
    const bool isKnown = last && (last.getValue().getDefiningOp<arith::ExtUIOp>() ||
                                  getConstantIntValue(last.getValue()) == 1);
    return answer && isKnown && last.getBuffer() == answer &&
           answer.getDefiningOp()->hasAttr(kExitStateAttr);
  }

  void restoreCondition(tile::WhileOp repeat) {
    if (!condition)
      return;
    Block& block = repeat.getCondition().front();
    auto last = cast<tile::StoreOp>(condition.thenBlock()->getTerminator()->getPrevNode());
    auto end = cast<tile::ConditionOp>(block.getTerminator());
    auto wide = last.getValue().getDefiningOp<arith::ExtUIOp>();
    Value asked;
    if (wide) {
      asked = wide.getIn();
    } else { // `while True`
      OpBuilder at(end);
      asked = arith::ConstantOp::create(at, end.getLoc(), at.getBoolAttr(true));
    }
    last.erase();
    if (wide)
      wide.erase();
    inlineGuard(condition);
    end.getConditionMutable().assign(asked);
    for (Operation* user : llvm::make_early_inc_range(answer.getUsers())) {
      for (Operation* of : llvm::make_early_inc_range(user->getUsers()))
        of->erase();
      user->erase();
    }
    answer.getDefiningOp()->erase();
  }

  /// The exit itself, behind copies of what else comes. The iteration may end here anyway.
  static void leaveAt(const Exit& exit) {
    tile::StoreOp store = exit.store;
    OpBuilder builder(store);
    if (getConstantIntValue(store.getValue()) == kLeft || exit.skips) {
      for (Operation* op : exit.rest) {
        IRMapping known;
        for (Value operand : op->getOperands())
          if (getConstantIntValue(operand))
            known.map(operand, builder.clone(*operand.getDefiningOp())->getResult(0));
        builder.clone(*op, known);
      }
      if (getConstantIntValue(store.getValue()) == kLeft)
        tile::BreakOp::create(builder, store.getLoc());
      else
        tile::ContinueOp::create(builder, store.getLoc());
    }
    auto branch = dyn_cast<scf::IfOp>(store->getParentOp());
    store.erase();
    if (branch && branch.getElseRegion().empty() &&
        branch.thenBlock()->without_terminator().empty())
      branch.erase();
  }

  static void inlineGuard(scf::IfOp guard) {
    Block* inner = guard.thenBlock();
    guard->getBlock()->getOperations().splice(guard->getIterator(), inner->getOperations(),
                                              inner->begin(), std::prev(inner->end()));
    Operation* compare = guard.getCondition().getDefiningOp();
    guard.erase();
    compare->erase();
  }

  tile::AllocOp state;
  Operation* loop = nullptr;
  SmallVector<Exit> exits;
  SmallVector<tile::StoreOp> resets;
  SmallVector<tile::LoadOp> loads;
  SmallVector<scf::IfOp> guards;
  scf::IfOp entry, condition;
  SmallVector<Operation*> ofIdle; ///< barriers that the iterations behind a `break` come to
  Value answer;
};

struct PlainExits : KernelPass<PlainExits> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlainExits)
  static constexpr llvm::StringLiteral kArgument = "ascend-plain-exits";
  static constexpr llvm::StringLiteral kDescription =
      "make 'break' and 'continue' of branches on the state of a loop";

  void runOnOperation() override {
    SmallVector<tile::AllocOp> states;
    getOperation().walk([&](tile::AllocOp alloc) {
      if (alloc->hasAttr(kExitStateAttr) && alloc.getSymName() == kExitStateName)
        states.push_back(alloc);
    });
    for (tile::AllocOp state : states)
      ExitRestorer(state).run();
  }
};

} // namespace

std::unique_ptr<Pass> createPlainExits() {
  return std::make_unique<PlainExits>();
}

} // namespace tilewright::ascend
