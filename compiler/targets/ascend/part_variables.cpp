// SPDX-License-Identifier: Apache-2.0
/// PartVariables: a variable that both kinds of core know, up to where the vector cores alone change it, is another one from there on.
///
///   tile.while { %i = tile.load %n[] ... } do { (a gemm) ... tile.store %i1, %n[] }
///   tile.while { %z0 = tile.load %z[%c0, %c0] ... } do { ... tile.store %i2, %n[] }      // z lies in UB
/// becomes
///   tile.while { %i = tile.load %n[] ... } do { (a gemm) ... tile.store %i1, %n[] }
///   %n_0 = tile.alloc "n" : !tile.buffer<si32, var>
///   tile.store (tile.load %n[]), %n_0[]
///   tile.while { %z0 = tile.load %z[%c0, %c0] ... } do { ... tile.store %i2, %n_0[] }
///
/// The cube core can't run the second loop, so it would know nothing of the variable at all. Only variables of a whole block are
/// parted, at what stands in the block itself: everything in or behind it comes later. It stands before PlaceBuffers, which
/// asks who knows a variable, and again behind it, when all that lies in UB does, and before StructureExits, which makes variables
/// of its own.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/scalar_agents.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// Whether something in `op` reads the variable.
bool reads(Operation* op, Value variable) {
  return op
      ->walk([&](tile::LoadOp load) {
        return load.getBuffer() == variable ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The first operation of the block in which the vector cores alone change a variable that was read before; null: none.
Operation* firstOfVectors(tile::AllocOp alloc) {
  bool isRead = false;
  for (Operation* op = alloc->getNextNode(); op; op = op->getNextNode()) {
    if (isRead && changeOnVectorCores(op, alloc))
      return op;
    isRead |= reads(op, alloc);
  }
  return nullptr;
}

void part(tile::AllocOp alloc) {
  const bool isPlain =
      alloc.getType().getSpace() == tile::MemorySpace::Var && alloc.getType().getRank() == 0 &&
      llvm::all_of(alloc->getUsers(),
                   [](Operation* user) { return isa<tile::LoadOp, tile::StoreOp>(user); });
  Operation* first = isPlain ? firstOfVectors(alloc) : nullptr;
  if (!first)
    return;
  OpBuilder before(first);
  Operation* other = before.clone(*alloc);
  alloc->replaceUsesWithIf(other, [&](OpOperand& use) {
    Operation* around = alloc->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return around == first || first->isBeforeInBlock(around);
  });
  for (Operation* user : alloc->getUsers())
    if (auto load = dyn_cast<tile::LoadOp>(user)) {
      Operation* now = before.clone(*load);
      tile::StoreOp::create(before, alloc.getLoc(), now->getResult(0), other->getResult(0),
                            ValueRange(), /*in_bounds=*/false);
      return;
    }
}

struct PartVariables : KernelPass<PartVariables> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PartVariables)
  static constexpr llvm::StringLiteral kArgument = "ascend-part-variables";
  static constexpr llvm::StringLiteral kDescription =
      "give the vector cores a variable of their own where they alone change it";

  void runOnOperation() override {
    if (!getOperation().walk([](tile::GemmOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return; // no cube core asks
    for (auto launch : getOperation().getOps<tile::LaunchOp>())
      for (auto alloc : llvm::make_early_inc_range(launch.getBodyBlock()->getOps<tile::AllocOp>()))
        part(alloc);
  }
};

} // namespace

std::unique_ptr<Pass> createPartVariables() {
  return std::make_unique<PartVariables>();
}

} // namespace tilewright::ascend
