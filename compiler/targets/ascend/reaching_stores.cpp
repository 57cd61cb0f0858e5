// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/reaching_stores.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/loop_exits.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// Whether a loop makes one turn at least.
bool hasTurn(Operation* loop) {
  auto counted = dyn_cast<tile::ForOp>(loop);
  if (!counted)
    return false;
  const std::optional<int64_t> lower = getConstantIntValue(counted.getLower()),
                               upper = getConstantIntValue(counted.getUpper());
  return lower && upper && *lower < *upper;
}

Operation* loopAround(Operation* exit) {
  Operation* loop = exit->getParentOp();
  while (!isLoop(loop) && !isa<tile::LaunchOp>(loop))
    loop = loop->getParentOp();
  return loop;
}

} // namespace

/// Goes through a launch in the order in which it runs, around loops until nothing is new.
struct ReachingStores::Walk {
  Value storage;
  Agent cores;
  const DenseSet<Operation*>& ofBoth;
  DenseSet<Operation*> users;
  DenseMap<Operation*, Stores>& atReads;
  DenseMap<Operation*, Exits> exits = DenseMap<Operation*, Exits>();

  void walk(Region& region, Stores& state) {
    for (Block& block : region)
      for (Operation& op : block)
        walk(&op, state);
  }

  void walk(Operation* op, Stores& state) {
    if (isLoop(op))
      return walkLoop(op, state);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Stores other = state;
      walk(branch.getThenRegion(), state);
      walk(branch.getElseRegion(), other);
      state.insert_range(other);
    } else if (isa<tile::BreakOp>(op)) {
      exits[loopAround(op)].ends.insert_range(state);
    } else if (isa<tile::ContinueOp>(op)) {
      exits[loopAround(op)].turns.insert_range(state);
    } else if (users.contains(op)) {
      use(op, state);
    } else {
      for (Region& region : op->getRegions())
        walk(region, state);
    }
  }

  void walkLoop(Operation* loop, Stores& state) {
    auto open = dyn_cast<tile::WhileOp>(loop);
    const Stores before = state;
    Stores first = state, turn, asked;
    for (bool isNew = true; isNew;) {
      turn = first;
      if (open)
        walk(open.getCondition(), turn);
      asked = turn;
      walk(loop->getRegions().back(), turn);
      const Stores& next = exits[loop].turns;
      turn.insert_range(next);
      const size_t known = first.size();
      first.insert_range(turn);
      isNew = first.size() != known;
    }
    state = open ? asked : turn;
    if (!open && !hasTurn(loop))
      state.insert_range(before);
    const Stores& ends = exits[loop].ends;
    state.insert_range(ends);
  }

  void use(Operation* op, Stores& state) {
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!store)
      atReads[op].insert_range(state);
    if (isa<tile::LoadOp>(op))
      return;
    auto scope = op->getParentOfType<ScopeOp>();
    if (scope && scope.getAgent() != cores && !ofBoth.contains(op))
      return;
    if (store && store.getBuffer().getType().getRank() == 0)
      state.clear();
    state.insert(op);
  }
};

const ReachingStores::Stores& ReachingStores::storesTo(Operation* read, Value storage) {
  const auto [found, isNew] = known.try_emplace(storage.getAsOpaquePointer());
  if (isNew) {
    Walk walk{storage, cores, ofBoth, {}, found->second};
    walk.users.insert_range(npu::usersOf(storage));
    Stores none;
    walk.walk(launch.getBody(), none);
  }
  return found->second[read];
}

void VariableOrigins::follow(Operation* root, llvm::function_ref<void(Operation*)> visit) {
  add(root);
  while (!open.empty()) {
    Operation* op = open.pop_back_val();
    followNumbers(op, visit);
    followWay(op);
  }
}

void VariableOrigins::add(Operation* op) {
  if (op && !isa<tile::LaunchOp, func::FuncOp>(op) && seen.insert(op).second)
    open.push_back(op);
}

void VariableOrigins::followNumbers(Operation* op, llvm::function_ref<void(Operation*)> visit) {
  for (Value operand : op->getOperands()) {
    add(operand.getDefiningOp());
    auto type = dyn_cast<tile::BufferType>(operand.getType());
    if (!type || !type.isPerThread() || isa<tile::ViewOp>(op))
      continue;
    for (ReachingStores* view : views)
      for (Operation* store : view->storesTo(op, npu::storageOf(operand))) {
        visit(store);
        add(store);
      }
  }
  if (op->getNumResults() > 0 || isa<tile::WhileOp>(op))
    for (Region& region : op->getRegions())
      if (!region.empty() && region.front().mightHaveTerminator())
        add(region.front().getTerminator());
}

void VariableOrigins::followWay(Operation* op) {
  add(op->getParentOp());
  if (!isLoop(op))
    return;
  op->walk([&](Operation* exit) {
    if (isa<tile::BreakOp, tile::ContinueOp>(exit))
      add(exit);
  });
}

/// Whether a scope changes a variable.
bool storesInScopes(tile::LaunchOp launch) {
  return launch
      .walk([](ScopeOp scope) {
        return scope.walk([](tile::StoreOp store) {
          return store.getBuffer().getType().isPerThread() ? WalkResult::interrupt()
                                                           : WalkResult::advance();
        });
      })
      .wasInterrupted();
}

OwnWays::OwnWays(tile::LaunchOp launch)
    : areThere(storesInScopes(launch)), ofCube(launch, Agent::Cube, none),
      ofVectors(launch, Agent::Vector, none) {}

bool OwnWays::decide(Operation* branch) {
  bool isOwn = false;
  if (areThere)
    VariableOrigins({&ofCube, &ofVectors}).follow(branch, [&](Operation* store) {
      isOwn |= bool(store->getParentOfType<ScopeOp>());
    });
  return isOwn;
}

} // namespace tilewright::ascend
