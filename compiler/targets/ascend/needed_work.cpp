// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/needed_work.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

bool isKeptInVariable(Value buffer) {
  return cast<tile::BufferType>(buffer.getType()).getSpace() == tile::MemorySpace::Var;
}

/// One of the kernel's own, not one that says whether a loop has been left.
bool isNamedVariable(Value buffer) {
  Operation* alloc = buffer.getDefiningOp();
  return isKeptInVariable(buffer) && !(alloc && alloc->hasAttr(kExitStateAttr));
}

/// What others see of an operation by itself.
bool isSeen(Operation* op) {
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return !isKeptInVariable(store.getBuffer());
  return !isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa<tile::LoadOp, tile::AllocOp, npu::GetValueOp, tile::BreakOp, tile::ContinueOp>(op);
}

/// Nothing is needed until something asks for it, so what only asks for itself isn't.
class Needed {
public:
  Needed(Operation* scope, ArrayRef<Operation*> roots) : scope(scope) {
    for (Operation* root : roots)
      add(root);
    while (!work.empty())
      follow(work.pop_back_val());
  }

  bool contains(Operation* op) const {
    return askers.contains(op);
  }

  /// What asks for an operation; null of a root.
  Operation* askerOf(Operation* op) const {
    return askers.lookup(op);
  }

private:
  void add(Operation* op) {
    if (op && scope->isProperAncestor(op) && askers.try_emplace(op, asker).second)
      work.push_back(op);
  }

  void follow(Operation* op) {
    asker = op;
    for (Value operand : op->getOperands())
      add(operand.getDefiningOp());
    add(op->getParentOp());
    for (Region& region : op->getRegions())
      for (Block& block : region) {
        if (block.mightHaveTerminator())
          add(block.getTerminator());
        if (isLoop(op))
          addExits(block);
      }
    auto load = dyn_cast<tile::LoadOp>(op);
    if (load && isKeptInVariable(load.getBuffer()))
      for (Operation* user : load.getBuffer().getUsers())
        if (!isa<tile::LoadOp>(user))
          add(user);
  }

  /// What leaves a loop, or an iteration, decides how often the rest runs.
  void addExits(Block& block) {
    for (Operation& op : block) {
      if (isa<tile::BreakOp, tile::ContinueOp>(op))
        add(&op);
      if (!isLoop(&op))
        for (Region& region : op.getRegions())
          for (Block& inner : region)
            addExits(inner);
    }
  }

  Operation* scope;
  Operation* asker = nullptr;                         ///< whose needs are added
  llvm::SmallDenseMap<Operation*, Operation*> askers; ///< of all that is needed
  SmallVector<Operation*> work;
};

} // namespace

Need needOf(ScopeOp scope, Operation* op) {
  // Flags are there for other statements: they are the last ones that count.
  SmallVector<Operation*> roots, flags;
  scope.walk([&](Operation* each) {
    const bool isFlag =
        isa<SetFlagOp, WaitFlagOp, PipeBarrierOp, SetCrossFlagOp, WaitCrossFlagOp>(each);
    if (each != scope && isSeen(each))
      (isFlag ? flags : roots).push_back(each);
  });
  for (const SmallVector<Operation*>* some : {&roots, &flags})
    for (Operation* root : *some) {
      const Needed needed(scope, root);
      if (!needed.contains(op))
        continue;
      Need need{root, {}};
      for (Operation* each = op; each; each = needed.askerOf(each))
        if (auto load = dyn_cast<tile::LoadOp>(each); load && isNamedVariable(load.getBuffer()))
          need.variable = load.getBuffer();
      return need;
    }
  return {};
}

bool isWaiting(tile::WhileOp loop) {
  return loop.getBody().front().without_terminator().empty();
}

bool dependsOn(ScopeOp scope, tile::WhileOp loop, ArrayRef<Operation*> ops) {
  const Needed needed(scope, loop.getOperation());
  return llvm::any_of(ops, [&](Operation* op) { return needed.contains(op); });
}

void dropNeedlessWork(Operation* scope, ArrayRef<Operation*> kept) {
  SmallVector<Operation*> roots(kept);
  scope->walk([&](Operation* op) {
    if (op != scope && isSeen(op))
      roots.push_back(op);
  });
  const Needed needed(scope, roots);
  SmallVector<Operation*> needless; // users behind what they use
  scope->walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (op == scope || needed.contains(op) || op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    needless.push_back(op);
    return WalkResult::skip();
  });
  for (Operation* op : llvm::reverse(needless))
    op->erase();
}

} // namespace tilewright::ascend
