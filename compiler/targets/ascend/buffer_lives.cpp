// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/buffer_lives.h"

#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/loop_exits.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::MemorySpace;

namespace {

bool isOnChip(MemorySpace space) {
  return space == MemorySpace::UB || space == MemorySpace::L1 || space == MemorySpace::L0A ||
         space == MemorySpace::L0B || space == MemorySpace::L0C;
}

class Lives {
public:
  explicit Lives(func::FuncOp kernel) {
    int64_t number = 0;
    numberOps(kernel, number);
  }

  BufferLife of(tile::AllocOp alloc) {
    BufferLife life{alloc, INT64_MAX, -1};
    SmallVector<Operation*> users = npu::usersOf(alloc);
    llvm::sort(users, [&](Operation* a, Operation* b) { return spans[a].first < spans[b].first; });
    for (Operation* user : users) {
      Span span = spans[user];
      for (Operation* outer = user->getParentOp(); outer && outer != alloc->getParentOp();
           outer = outer->getParentOp())
        if (isLoop(outer) && !startsAfresh(alloc, outer))
          span = spans[outer];
      life.first = std::min(life.first, span.first);
      life.last = std::max(life.last, span.last);
    }
    if (!users.empty()) {
      life.firstUser = users.front();
      life.lastUser = users.back();
    }
    return life;
  }

private:
  struct Span {
    int64_t first = 0, last = 0;
  };

  void numberOps(Operation* op, int64_t& number) {
    const int64_t first = number++;
    for (Region& region : op->getRegions())
      for (Block& block : region)
        for (Operation& nested : block)
          numberOps(&nested, number);
    spans[op] = {first, number++};
  }

  static bool isLoop(Operation* op) {
    return op->getNumRegions() > 0 && !isa<scf::IfOp, ScopeOp, tile::LaunchOp>(op);
  }

  DenseMap<Operation*, Span> spans;
};

/// Whether something that stands before `op` in its block may leave it.
bool isBehindExit(Operation* op) {
  for (Operation* before = op->getPrevNode(); before; before = before->getPrevNode())
    if (hasExit(before))
      return true;
  return false;
}

/// In each iteration that is begun.
bool isAlwaysRun(Operation* op, Operation* loop) {
  if (isBehindExit(op))
    return false;
  for (Operation* outer = op->getParentOp(); outer != loop; outer = outer->getParentOp()) {
    if (isBehindExit(outer))
      return false;
    if (isa<ScopeOp>(outer))
      continue;
    auto inner = dyn_cast<tile::ForOp>(outer);
    const std::optional<int64_t> lower =
        inner ? getConstantIntValue(inner.getLower()) : std::nullopt;
    const std::optional<int64_t> upper =
        inner ? getConstantIntValue(inner.getUpper()) : std::nullopt;
    if (!lower || !upper || *lower >= *upper)
      return false;
  }
  return true;
}

/// What an instruction writes of a buffer of which it reads nothing.
SmallVector<npu::Access> writesTo(Operation* op, tile::AllocOp alloc) {
  auto instruction = dyn_cast<npu::Instruction>(op);
  if (!instruction || op->hasAttr("repeat"))
    return {};
  SmallVector<npu::Access> accesses;
  instruction.getAccesses(accesses);
  llvm::erase_if(accesses, [&](const npu::Access& access) {
    return npu::storageOf(access.buffer) != alloc.getResult();
  });
  if (llvm::any_of(accesses, [](const npu::Access& access) { return !access.isWrite; }))
    return {};
  return accesses;
}

bool overwrites(Operation* op, tile::AllocOp alloc) {
  return llvm::any_of(writesTo(op, alloc), [&](const npu::Access& access) {
    return !access.isAtMost && access.offset && getConstantIntValue(access.offset) == 0 &&
           !ShapedType::isDynamic(access.bytes) &&
           access.bytes >= npu::storageBytes(alloc.getType());
  });
}

/// The branch that begins a load which an edge may cut, if `op` is its filling.
Operation* branchOfCutLoad(Operation* op, Operation* loop) {
  for (Operation* outer = op->getParentOp(); outer != loop; outer = outer->getParentOp())
    if (outer->hasAttr(kOverwritesAttr))
      return outer;
  return nullptr;
}

} // namespace

bool startsAfresh(tile::AllocOp alloc, Operation* loop) {
  if (alloc->hasAttr(kFreshAttr) && llvm::all_of(npu::usersOf(alloc), [&](Operation* user) {
        return loop->isProperAncestor(user);
      }))
    return true;
  Operation* first = nullptr;
  loop->walk<WalkOrder::PreOrder>([&](Operation* op) {
    first = npu::usesStorage(op, alloc) ? op : nullptr;
    return first ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!first)
    return false;
  Operation* branch = branchOfCutLoad(first, loop);
  return isAlwaysRun(branch ? branch : first, loop) &&
         (branch ? !writesTo(first, alloc).empty() : overwrites(first, alloc));
}

SmallVector<BufferLife> findBufferLives(func::FuncOp kernel) {
  Lives lives(kernel);
  SmallVector<BufferLife> result;
  kernel.walk([&](tile::AllocOp alloc) {
    if (isOnChip(alloc.getType().getSpace()))
      result.push_back(lives.of(alloc));
  });
  return result;
}

} // namespace tilewright::ascend
