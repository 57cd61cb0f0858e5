// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/leave_scope.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/core_parts.h"
#include "compiler/targets/ascend/loop_exits.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// Whether it reads tiles of gemms, and touches nothing else on chip.
bool worksOnProducts(tile::ParallelOp nest) {
  bool readsProduct = false;
  const WalkResult other = nest.walk([&](Operation* op) {
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<tile::BufferType>(operand.getType());
      if (!type || type.isGlobal())
        continue;
      const bool isOfGemm =
          type.getSpace() == tile::MemorySpace::L0C ||
          (type.getSpace() == tile::MemorySpace::Fragment && npu::isOfCube(operand));
      if (!isOfGemm || !isa<tile::LoadOp>(op))
        return WalkResult::interrupt();
      readsProduct = true;
    }
    return WalkResult::advance();
  });
  return readsProduct && !other.wasInterrupted();
}

/// Whether the vector cores can come to `op` as the cube core does.
bool isReachedAlike(Operation* op, ScopeOp scope) {
  for (Operation* around = op->getParentOp(); around != scope; around = around->getParentOp())
    if (!isa<tile::ForOp, scf::IfOp>(around) || around->getNumResults() != 0)
      return false;
  return !hasExit(scope) && !scope
                                 .walk<WalkOrder::PreOrder>([](Operation* each) {
                                   if (isa<tile::ParallelOp>(each))
                                     return WalkResult::skip();
                                   return isa<tile::StoreOp, tile::AtomicOp>(each)
                                              ? WalkResult::interrupt()
                                              : WalkResult::advance();
                                 })
                                 .wasInterrupted();
}

/// What a nest takes from outside that may be another number on the second vector core.
SetVector<Value> takenByVid(tile::ParallelOp nest) {
  SetVector<Value> taken;
  nest.walk([&](Operation* op) {
    for (Value operand : op->getOperands())
      if (!isa<tile::BufferType>(operand.getType()) &&
          !nest->isAncestor(operand.getParentRegion()->getParentOp()) && npu::differsByVid(operand))
        taken.insert(operand);
  });
  return taken;
}

/// `value`, before the builder's place, as it is where vid is 0.
Value withoutVid(Value value, OpBuilder& builder, IRMapping& made) {
  if (made.contains(value) || !npu::differsByVid(value))
    return made.lookupOrDefault(value);
  Operation* op = value.getDefiningOp();
  if (isa<VectorIdOp>(op)) {
    made.map(value, arith::ConstantIndexOp::create(builder, value.getLoc(), 0));
    return made.lookup(value);
  }
  for (Value operand : op->getOperands())
    made.map(operand, withoutVid(operand, builder, made));
  builder.clone(*op, made);
  return made.lookup(value);
}

/// Takes vid, which is 0 for the cube core, out of a nest.
void setVidOfCube(tile::ParallelOp nest) {
  OpBuilder builder(nest);
  IRMapping made;
  for (Value taken : takenByVid(nest)) {
    Value other = withoutVid(taken, builder, made);
    taken.replaceUsesWithIf(other,
                            [&](OpOperand& use) { return nest->isAncestor(use.getOwner()); });
  }
  nest.walk([&](VectorIdOp vid) {
    vid.replaceAllUsesWith(arith::ConstantIndexOp::create(builder, vid.getLoc(), 0).getResult());
    vid.erase();
  });
}

/// Those of the operations from `first` up to `end` that have values for what stands elsewhere, or are among `ofBoth`. What
/// stands between two of these is a piece: a value that another piece asks for is such, too.
DenseSet<Operation*> neededElsewhere(Block::iterator first, Block::iterator end,
                                     const DenseSet<Operation*>& ofBoth) {
  DenseSet<Operation*> needed;
  DenseMap<Operation*, size_t> pieces;
  for (Operation& op : llvm::make_range(first, end))
    if (ofBoth.contains(&op))
      needed.insert(&op);
  for (size_t before = needed.size() + 1; before != needed.size();) {
    before = needed.size();
    size_t piece = 0;
    for (Operation& op : llvm::make_range(first, end))
      pieces[&op] = piece += needed.contains(&op);
    for (Operation& op : llvm::reverse(llvm::make_range(first, end)))
      for (Operation* user : op.getUsers()) {
        const auto holder = pieces.find(op.getBlock()->findAncestorOpInBlock(*user));
        if (holder == pieces.end() || needed.contains(holder->first) ||
            holder->second != pieces.at(&op))
          needed.insert(&op);
      }
  }
  return needed;
}

/// The operations from `first` up to `end` in scopes, between which is what others need, too.
void enclose(Block::iterator first, Block::iterator end, Agent agent,
             const DenseSet<Operation*>& ofBoth) {
  const DenseSet<Operation*> needed = neededElsewhere(first, end, ofBoth);
  ScopeOp scope;
  for (Operation& op : llvm::make_early_inc_range(llvm::make_range(first, end))) {
    if (needed.contains(&op)) {
      scope = {};
      continue;
    }
    if (!scope) {
      OpBuilder builder(&op);
      scope = ScopeOp::create(builder, op.getLoc(), agent);
      scope.getBody().emplaceBlock();
    }
    Block& body = scope.getBody().front();
    op.moveBefore(&body, body.end());
  }
}

/// What stands around `op` in its scope, and itself, the innermost first.
SmallVector<Operation*> wayTo(Operation* op, ScopeOp scope) {
  SmallVector<Operation*> way = {op};
  while (way.back()->getParentOp() != scope)
    way.push_back(way.back()->getParentOp());
  return way;
}

/// `ofBoth`: what the other kind of core does, too.
void leave(Operation* op, const DenseSet<Operation*>& ofBoth = {}) {
  auto scope = op->getParentOfType<ScopeOp>();
  const Agent agent = scope.getAgent();
  const SmallVector<Operation*> way = wayTo(op, scope);
  Block& body = scope.getBody().front();
  Block::iterator begin = body.begin(), end = std::next(scope->getIterator());
  if (body.empty())
    begin = end;
  scope->getBlock()->getOperations().splice(end, body.getOperations());
  scope.erase();
  for (Operation* around : llvm::reverse(way)) {
    enclose(begin, around->getIterator(), agent, ofBoth);
    enclose(std::next(around->getIterator()), end, agent, ofBoth);
    if (around == op)
      break;
    for (Region& region : around->getRegions())
      for (Block& block : region) {
        const Block::iterator last =
            block.mightHaveTerminator() ? block.getTerminator()->getIterator() : block.end();
        if (!block.findAncestorOpInBlock(*op)) {
          enclose(block.begin(), last, agent, ofBoth);
          continue;
        }
        begin = block.begin();
        end = last;
      }
  }
}

/// Whether an exit in a scope leaves it, or a loop of the way.
bool mayBeLeft(ScopeOp scope, ArrayRef<Operation*> way) {
  return scope
      ->walk([&](Operation* exit) {
        if (!isa<tile::BreakOp, tile::ContinueOp>(exit))
          return WalkResult::advance();
        Operation* loop = exit->getParentOp();
        while (!isLoop(loop) && loop != scope)
          loop = loop->getParentOp();
        return loop == scope || llvm::is_contained(way, loop) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
      })
      .wasInterrupted();
}

Value conditionOf(tile::WhileOp loop) {
  return cast<tile::ConditionOp>(loop.getCondition().front().getTerminator()).getCondition();
}

/// Whether a number is computed of variables and of what stands outside of a scope.
bool isOfVariables(Value number, ScopeOp scope) {
  Operation* op = number.getDefiningOp();
  if (!op || !scope->isAncestor(op) || isa<tile::BufferType>(number.getType()))
    return true;
  auto load = dyn_cast<tile::LoadOp>(op);
  return (load ? load.getBuffer().getType().isPerThread() : isPure(op)) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isOfVariables(operand, scope); });
}

/// The numbers that say whether and where an operation runs, by itself.
SmallVector<Value> numbersOf(Operation* op) {
  SmallVector<Value> numbers;
  if (auto loop = dyn_cast<tile::WhileOp>(op))
    numbers.push_back(conditionOf(loop));
  for (Value operand : op->getOperands())
    if (!isa<tile::BufferType>(operand.getType()))
      numbers.push_back(operand);
  return numbers;
}

/// What the other kind of core can find out as the cores of a scope do on their way to an operation in it.
class KnownToBoth {
public:
  KnownToBoth(Operation* op, ScopeOp scope) : way(wayTo(op, scope)), scope(scope) {}

  /// A number that doesn't come from what only the cores of the scope have loaded or found out there.
  bool knows(Value number) {
    Operation* op = number.getDefiningOp();
    if (isa<tile::BufferType>(number.getType()) || !op)
      return true;
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      const bool isVariable = load.getBuffer().getType().getSpace() == tile::MemorySpace::Var;
      return isVariable ? knowsVariable(load.getBuffer()) : !scope->isAncestor(op);
    }
    return (!scope->isAncestor(op) || isPure(op) || isa<VectorIdOp>(op)) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return knows(operand); });
  }

  /// How often a loop or branch of the way runs, and where.
  bool knowsWay(Operation* around) {
    return llvm::all_of(numbersOf(around), [&](Value each) { return knows(each); });
  }

  /// The stores in the scope on which that depends.
  const DenseSet<Operation*>& storesOfBoth() const {
    return stores;
  }

private:
  /// What is stored in no scope, or on the way and of such numbers: each kind of core has a variable of its own, so
  /// where only one reads it, the other one may go along.
  bool knowsVariable(Value variable) {
    const SmallVector<Operation*> users = npu::usersOf(npu::storageOf(variable));
    const auto isStoredInScope = [](Operation* user) {
      return isa<tile::StoreOp>(user) && user->getParentOfType<ScopeOp>();
    };
    if (!seen.insert(variable).second)
      return true;
    if (llvm::none_of(users, isStoredInScope))
      return llvm::all_of(users, [&](Operation* user) {
        return !isa<tile::StoreOp>(user) || (knowsWay(user) && knowsWayOutside(user));
      });
    return llvm::all_of(users, [&](Operation* user) {
      auto store = dyn_cast<tile::StoreOp>(user);
      const bool isInScope = user->getParentOfType<ScopeOp>() == scope;
      return isa<tile::LoadOp>(user) ? isInScope : store && mayBeOfBoth(store, isInScope);
    });
  }

  /// Of what stands in no scope.
  bool knowsWayOutside(Operation* op) {
    for (Operation* around = op->getParentOp(); !isa<tile::LaunchOp>(around);
         around = around->getParentOp())
      if (!knowsWay(around))
        return false;
    return true;
  }

  bool mayBeOfBoth(tile::StoreOp store, bool isInScope) {
    Operation* around = store->getParentOp();
    if ((isInScope && around != scope && !llvm::is_contained(way, around)) ||
        (!isInScope && (store->getParentOfType<ScopeOp>() || !knowsWayOutside(store))) ||
        npu::differsByVid(store.getValue()) || !knows(store.getValue()))
      return false;
    if (isInScope)
      stores.insert(store);
    return true;
  }

  SmallVector<Operation*> way;
  ScopeOp scope;
  DenseSet<Value> seen;
  DenseSet<Operation*> stores;
};

} // namespace

std::optional<std::string> whyInCubeScope(tile::ParallelOp nest) {
  auto scope = nest->getParentOfType<ScopeOp>();
  if (!scope || scope.getAgent() != Agent::Cube || !worksOnProducts(nest) ||
      !isReachedAlike(nest, scope))
    return "T.Scope(\"C\") has no vector unit and no single elements of L0C";
  const std::string noVectors = "T.Scope(\"C\") has no vector unit, and the vector cores can't do "
                                "this in its place: ";
  if (npu::runsByVid(nest))
    return noVectors +
           "vid says whether or how often it runs, so they would not meet the cube core";
  if (!llvm::all_of(takenByVid(nest), isMadeOfVid))
    return noVectors + "it reads a variable that vid has set, which is 0 for the cube core";
  return std::nullopt;
}

void leaveCubeScope(tile::ParallelOp nest) {
  leave(nest);
  OpBuilder builder(nest);
  auto vectors = ScopeOp::create(builder, nest.getLoc(), Agent::Vector);
  Block& own = vectors.getBody().emplaceBlock();
  nest->moveBefore(&own, own.end());
  setVidOfCube(nest);
}

void leaveScopes(ArrayRef<tile::CopyOp> copies) {
  DenseSet<Operation*> ofBoth; // before a scope becomes several
  for (tile::CopyOp copy : copies) {
    auto scope = copy->getParentOfType<ScopeOp>();
    KnownToBoth known(copy, scope);
    for (Operation* around : wayTo(copy, scope))
      known.knowsWay(around);
    ofBoth.insert_range(known.storesOfBoth());
  }
  for (tile::CopyOp copy : copies) {
    leave(copy, ofBoth);
    copy->setAttr(kLeftScopeAttr, UnitAttr::get(copy.getContext()));
  }
}

void storeOnBoth(ArrayRef<Operation*> stores) {
  DenseSet<Operation*> ofBoth;
  ofBoth.insert_range(stores);
  for (Operation* store : stores)
    if (store->getParentOfType<ScopeOp>()) // else it has left it with another one
      leave(store, ofBoth);
}

bool canStoreOnBoth(tile::StoreOp store) {
  auto scope = store->getParentOfType<ScopeOp>();
  const SmallVector<Operation*> way = wayTo(store, scope);
  return !mayBeLeft(scope, way) && llvm::all_of(way, [&](Operation* around) {
    const bool isPassed = isa<tile::ForOp, tile::WhileOp, scf::IfOp, tile::StoreOp>(around);
    return isPassed && around->getNumResults() == 0 &&
           llvm::all_of(numbersOf(around), [&](Value number) {
             return isOfVariables(number, scope) && !npu::differsByVid(number);
           });
  });
}

std::optional<std::string> whyInScope(tile::CopyOp copy) {
  auto scope = copy->getParentOfType<ScopeOp>();
  const SmallVector<Operation*> way = wayTo(copy, scope);
  if (mayBeLeft(scope, way))
    return "a `break` or `continue` in the scope is not theirs";
  KnownToBoth known(copy, scope);
  for (Operation* around : way) {
    const bool isPassed = isa<tile::ForOp, tile::WhileOp, scf::IfOp, tile::CopyOp>(around);
    if (!isPassed || around->getNumResults() != 0 || !known.knowsWay(around))
      return "a variable or an element that is read in the scope says whether or where";
    if (scope.getAgent() == Agent::Cube && llvm::any_of(numbersOf(around), npu::differsByVid))
      return "vid, which is 0 in T.Scope(\"C\"), says whether or where";
  }
  return std::nullopt;
}

} // namespace tilewright::ascend
