// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/block_cores.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"

#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::npu {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

namespace {

bool isL0(Value buffer) {
  const MemorySpace space = cast<BufferType>(buffer.getType()).getSpace();
  return space == MemorySpace::L0A || space == MemorySpace::L0B;
}

/// Whether an operation may read, or write, what a buffer holds.
template <typename Effect> bool mayHave(Operation* op, Value buffer) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return true;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffectsOnValue(buffer, effects);
  return llvm::any_of(effects, [](const auto& effect) { return isa<Effect>(effect.getEffect()); });
}

bool isLoop(Operation* op) {
  return isa<tile::ForOp, tile::WhileOp, tile::ParallelOp>(op);
}

/// Whether the end of a turn at `exit` leaves out `op`, which stands in the same loop.
bool standsBefore(Operation* exit, Operation* op) {
  for (Operation* inner = op; inner; inner = inner->getParentOp())
    if (Operation* around = inner->getBlock()->findAncestorOpInBlock(*exit))
      return around != inner && around->isBeforeInBlock(inner);
  return false;
}

/// What numbers come from: what they are computed of, what was stored in variables and tiles that they are loaded
/// from, and what decides whether it was. One query an object.
class Origins {
public:
  enum Kind { Vid, VectorTiles };
  explicit Origins(Kind kind) : kind(kind) {}

  void leaveOut(Value tile) {
    seen.insert(storageOf(tile));
  }

  bool reaches(Value value) {
    if (isa<BufferType>(value.getType()) || !seen.insert(value).second)
      return false;
    Operation* op = value.getDefiningOp();
    if (!op)
      op = value.getParentBlock()->getParentOp();
    if (isa<tile::LaunchOp, func::FuncOp>(op))
      return false;
    return reachesOperands(op) || llvm::any_of(op->getRegions(), [&](Region& region) {
             return !isLoop(op) && !region.empty() &&
                    reachesOperands(region.front().getTerminator());
           });
  }

  /// What an operation itself takes: its numbers, and what it loads.
  bool reachesOperands(Operation* op) {
    if (kind == Vid && isa<ascend::VectorIdOp>(op))
      return true;
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return isa<BufferType>(operand.getType())
                 ? mayHave<MemoryEffects::Read>(op, operand) && reachesContent(operand)
                 : reaches(operand);
    });
  }

  /// What decides whether, and how often, an operation runs.
  bool reachesWay(Operation* op) {
    for (Operation* around = op->getParentOp();
         around && !isa<tile::LaunchOp, func::FuncOp>(around); around = around->getParentOp()) {
      if (llvm::any_of(around->getOperands(), [&](Value operand) { return reaches(operand); }))
        return true;
      auto loop = dyn_cast<tile::WhileOp>(around);
      if (loop && reachesOperands(loop.getCondition().front().getTerminator()))
        return true;
      if (isLoop(around) && reachesExits(around, op))
        return true;
    }
    return false;
  }

private:
  /// Whether it reaches what decides about the exits of a loop that matter to an operation in it: all
  /// that end the loop, and those to its next turn that stand before the operation or such an end.
  bool reachesExits(Operation* loop, Operation* op) {
    SmallVector<Operation*> ends{op}, exits;
    loop->walk([&](Operation* exit) {
      // Those of loops inside are their own; what is asked for a number here isn't asked again.
      if (isa<tile::BreakOp, tile::ContinueOp>(exit) && loopOf(exit) == loop)
        (isa<tile::BreakOp>(exit) ? ends : exits).push_back(exit);
    });
    llvm::erase_if(exits, [&](Operation* exit) {
      return llvm::none_of(ends, [&](Operation* end) { return standsBefore(exit, end); });
    });
    exits.append(std::next(ends.begin()), ends.end());
    return llvm::any_of(exits, [&](Operation* exit) {
      for (Operation* branch = exit->getParentOp(); branch != loop; branch = branch->getParentOp())
        if (llvm::any_of(branch->getOperands(), [&](Value operand) { return reaches(operand); }))
          return true;
      return false;
    });
  }

  static Operation* loopOf(Operation* exit) {
    Operation* around = exit->getParentOp();
    while (!isLoop(around))
      around = around->getParentOp();
    return around;
  }

  bool reachesContent(Value buffer) {
    const Value storage = storageOf(buffer);
    const auto type = cast<BufferType>(storage.getType());
    if (type.isGlobal() || !seen.insert(storage).second)
      return false;
    if (kind == VectorTiles && !type.isPerThread() && !isOfCube(storage))
      return true;
    return llvm::any_of(usersOf(storage), [&](Operation* user) {
      const bool writes = llvm::any_of(user->getOperands(), [&](Value operand) {
        return isa<BufferType>(operand.getType()) && storageOf(operand) == storage &&
               mayHave<MemoryEffects::Write>(user, operand);
      });
      // What the cube core computes is one for both vector cores.
      return writes && !isa<tile::GemmOp>(user) && (reachesWay(user) || reachesOperands(user));
    });
  }

  Kind kind;
  llvm::DenseSet<Value> seen;
};

/// Whether the numbers of an operation and of those in it come from there: not what they load themselves.
bool reachesNumbers(Origins& origins, Operation* op) {
  return op
      ->walk([&](Operation* inner) {
        const bool any = llvm::any_of(inner->getOperands(), [&](Value operand) {
          return !op->isAncestor(operand.getParentRegion()->getParentOp()) &&
                 origins.reaches(operand);
        });
        return any || isa<ascend::VectorIdOp>(inner) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

bool isOfCube(Value buffer) {
  const Value storage = storageOf(buffer);
  const MemorySpace space = cast<BufferType>(storage.getType()).getSpace();
  if (space != MemorySpace::Shared && space != MemorySpace::Fragment)
    return space != MemorySpace::UB;
  return llvm::any_of(usersOf(storage), [](Operation* user) {
    auto copy = dyn_cast<tile::CopyOp>(user);
    return isa<tile::GemmOp>(user) || (copy && isL0(copy.getTarget()));
  });
}

Touched touchedBy(Operation* op) {
  Touched touched;
  op->walk([&](Operation* inner) {
    if (!isa<MemoryEffectOpInterface>(inner) || isa<tile::ParallelOp>(inner))
      return;
    for (Value operand : inner->getOperands()) {
      const auto type = dyn_cast<BufferType>(operand.getType());
      if (!type || type.isPerThread())
        continue;
      const bool isWritten = mayHave<MemoryEffects::Write>(inner, operand);
      if (type.isGlobal()) {
        touched.writesGlobal |= isWritten;
      } else if (isOfCube(operand)) {
        touched.ofCube = true;
        touched.writesCube |= isWritten;
      } else {
        touched.ofVectors = true;
      }
    }
  });
  return touched;
}

Doer doerOf(Operation* op) {
  if (isa<tile::GemmOp>(op))
    return Doer::Cube;
  const Touched touched = touchedBy(op);
  if (!touched.ofCube)
    return Doer::EachVector;
  // Nothing but the cube core loads what gemms read.
  if (isa<tile::CopyOp>(op) && touched.writesCube && !touched.ofVectors)
    return Doer::Cube;
  if (asksVid(op))
    return Doer::EachVector;
  if (touched.ofVectors)
    return touched.writesCube ? Doer::FirstVector : Doer::EachVector;
  return asksVectorTiles(op) ? Doer::FirstVector : Doer::Cube;
}

bool asksVectorTiles(Operation* op) {
  Origins ofVectors(Origins::VectorTiles);
  return ofVectors.reachesWay(op) || reachesNumbers(ofVectors, op);
}

bool differsByVid(Value number) {
  return Origins(Origins::Vid).reaches(number);
}

bool runsByVid(Operation* op) {
  return Origins(Origins::Vid).reachesWay(op);
}

bool asksVid(Operation* op) {
  Origins origins(Origins::Vid);
  return origins.reachesWay(op) || reachesNumbers(origins, op);
}

bool makesApart(Operation* op, Value tile) {
  Origins origins(Origins::Vid);
  origins.leaveOut(tile);
  return origins.reachesWay(op) || op->walk([&](Operation* inner) {
                                       return origins.reachesOperands(inner)
                                                  ? WalkResult::interrupt()
                                                  : WalkResult::advance();
                                     }).wasInterrupted();
}

} // namespace tilewright::npu
