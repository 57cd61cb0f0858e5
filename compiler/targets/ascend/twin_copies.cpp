// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/twin_copies.h"

#include "compiler/targets/ascend/clear_conditions.h"
#include "compiler/targets/ascend/loop_exits.h"

#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

using Operations = llvm::SetVector<Operation*>;

bool holds(Operation* op, ArrayRef<Operation*> uses) {
  return llvm::any_of(uses, [&](Operation* use) { return op->isAncestor(use); });
}

bool holdsGemms(const TwinUses& uses, Operation* op) {
  return holds(op, uses.gemms);
}

bool holdsTwinUses(const TwinUses& uses, Operation* op) {
  return holds(op, uses.readers) || holds(op, uses.writers);
}

/// Follows which of the two tiles is the newer one, on all ways through a kernel.
class Ages {
public:
  Ages(const TwinUses& uses, const Operations& copies) : uses(uses), copies(copies) {}

  /// Whether no use of the twin is of an old one, and no copy of an old tile.
  bool areRight(func::FuncOp kernel) {
    walk(kernel.getBody());
    return isRight;
  }

private:
  enum Age : unsigned { Same = 1, TileNewer = 2, TwinNewer = 4 };

  void walk(Region& region) {
    for (Block& block : region)
      for (Operation& op : block)
        visit(&op);
  }

  void visit(Operation* op) {
    if (copies.contains(op)) {
      isRight &= !(ages & TwinNewer);
      ages = ages ? Same : 0;
    }
    if (llvm::is_contained(uses.gemms, op)) {
      ages = TileNewer;
    } else if (llvm::is_contained(uses.readers, op)) {
      isRight &= !(ages & TileNewer);
    } else if (llvm::is_contained(uses.writers, op)) {
      isRight &= !(ages & TileNewer);
      ages = TwinNewer;
    } else if (op->getNumRegions() == 0 && hasExit(op)) {
      atExits |= ages;
      ages = 0;
    } else if (isLoop(op)) {
      visitLoop(op);
    } else {
      visitBranches(op);
    }
  }

  /// A loop of nothing but gemms is taken to run: without a turn there is no product.
  void visitLoop(Operation* loop) {
    const unsigned before = ages, around = atExits;
    unsigned atStart = 0, atEnd = before;
    while ((atStart | atEnd) != atStart) {
      atStart |= atEnd;
      ages = atStart;
      atExits = 0;
      for (Region& region : loop->getRegions())
        walk(region);
      atEnd = ages | atExits;
    }
    auto counted = dyn_cast<tile::ForOp>(loop);
    const bool runs = holdsGemms(uses, loop) &&
                      (!holdsTwinUses(uses, loop) || (counted && !mayRunNoIteration(counted)));
    ages = runs ? atEnd : atEnd | before;
    atExits = around;
  }

  /// Each region runs or doesn't; one that isn't of a branch runs.
  void visitBranches(Operation* op) {
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch) {
      for (Region& region : op->getRegions())
        walk(region);
      return;
    }
    const unsigned before = ages;
    walk(branch.getThenRegion());
    const unsigned then = ages;
    ages = before;
    walk(branch.getElseRegion());
    ages |= then;
  }

  const TwinUses& uses;
  const Operations& copies;
  unsigned ages = Same;
  unsigned atExits = 0; ///< of the loop around
  bool isRight = true;
};

/// The operation before which a copy runs once for all of `user`, behind `gemm`.
Operation* placeBetween(Operation* gemm, Operation* user) {
  Block* block = user->getBlock();
  while (!block->findAncestorOpInBlock(*gemm))
    block = block->getParentOp()->getBlock();
  return block->findAncestorOpInBlock(*user);
}

/// Before the first use behind each gemm, in text order.
Operations beforeUses(func::FuncOp kernel, const TwinUses& uses) {
  Operations places;
  Operation* lastGemm = nullptr;
  kernel.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (llvm::is_contained(uses.gemms, op)) {
      lastGemm = op;
    } else if (lastGemm &&
               (llvm::is_contained(uses.readers, op) || llvm::is_contained(uses.writers, op))) {
      places.insert(placeBetween(lastGemm, op));
      lastGemm = nullptr;
    }
  });
  return places;
}

/// Behind each gemm, or behind the loops around it that hold no use of the twin.
Operations behindGemms(const TwinUses& uses, bool behindLoops) {
  Operations places;
  for (Operation* place : uses.gemms) {
    while (behindLoops && isLoop(place->getParentOp()) &&
           !holdsTwinUses(uses, place->getParentOp()))
      place = place->getParentOp();
    places.insert(place->getNextNode());
  }
  return places;
}

} // namespace

SmallVector<Operation*> placesOfCopies(func::FuncOp kernel, const TwinUses& uses) {
  const auto areRight = [&](const Operations& places) {
    return Ages(uses, places).areRight(kernel);
  };
  Operations places = beforeUses(kernel, uses);
  if (!areRight(places))
    places = behindGemms(uses, /*behindLoops=*/true);
  if (!areRight(places))
    places = behindGemms(uses, /*behindLoops=*/false);
  return places.takeVector();
}

} // namespace tilewright::ascend
