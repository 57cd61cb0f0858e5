// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/twin_copies.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/remade_values.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;

// Uses
// ------------------------------------------------------------------------------------------------

/// Whether it only reads the buffer for sure.
bool isReader(Operation* user, Value buffer) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  auto interface = dyn_cast<MemoryEffectOpInterface>(user);
  if (!interface || isa<tile::CallOp>(user))
    return false;
  interface.getEffectsOnValue(buffer, effects);
  return !effects.empty() && llvm::all_of(effects, [](const auto& effect) {
    return isa<MemoryEffects::Read>(effect.getEffect());
  });
}

BufferRegion elementOf(Value buffer, ValueRange indices) {
  const Attribute one = IntegerAttr::get(IndexType::get(buffer.getContext()), 1);
  return {buffer, llvm::to_vector_of<OpFoldResult>(indices),
          SmallVector<OpFoldResult>(indices.size(), one)};
}

/// The parts of its buffers that an operation names.
SmallVector<BufferRegion> regionsOf(Operation* op) {
  return TypeSwitch<Operation*, SmallVector<BufferRegion>>(op)
      .Case<tile::CopyOp, tile::ReduceOp, tile::ScanOp, tile::AtomicTileOp>(
          [](auto move) -> SmallVector<BufferRegion> {
            return {move.getSourceRegion(), move.getTargetRegion()};
          })
      .Case([](tile::FillOp fill) -> SmallVector<BufferRegion> { return {fill.getTargetRegion()}; })
      .Case<tile::LoadOp, tile::StoreOp>([](auto access) -> SmallVector<BufferRegion> {
        return {elementOf(access.getBuffer(), access.getIndices())};
      })
      .Default([](Operation*) { return SmallVector<BufferRegion>(); });
}

/// Whether a nest stores each element of a tile, under its own name or a view's, and takes none of it: `c[i, j] = ...`
/// over all of c.
bool isStoreToAll(tile::StoreOp store, Value buffer, Value tile) {
  auto nest = dyn_cast<tile::ParallelOp>(store->getParentOp());
  if (!nest || store.getBuffer() != buffer ||
      !llvm::equal(store.getIndices(), nest.getInductionVars()))
    return false;
  const auto type = cast<tile::BufferType>(buffer.getType()),
             whole = cast<tile::BufferType>(tile.getType());
  const auto bitsOf = [](tile::BufferType each) {
    return ShapedType::getNumElements(each.getShape()) * int64_t(each.getElementBits());
  };
  const bool isAll =
      type.hasStaticShape() && whole.hasStaticShape() && bitsOf(type) == bitsOf(whole) &&
      llvm::all_of_zip(nest.getMixedExtents(), type.getShape(), [](auto extent, int64_t size) {
        return getConstantIntValue(extent) == size;
      });
  const auto mayTake = [&](Operation* user) {
    return isa<tile::AddressOp>(user) || (user != store && nest->isAncestor(user));
  };
  return isAll && llvm::none_of(npu::usersOf(tile), mayTake);
}

/// Whether it writes all of the part that it names, and reads nothing of the tile.
bool overwrites(Operation* user, Value tile) {
  if (auto copy = dyn_cast<tile::CopyOp>(user))
    return copy.getTarget() == tile && npu::storageOf(copy.getSource()) != tile;
  return isa<tile::FillOp>(user);
}

void addUses(TwinUses& uses, Operation* user, Value buffer) {
  if (isa<tile::ViewOp, tile::AddressOp>(user) && !user->use_empty()) {
    for (Operation* next : user->getUsers())
      addUses(uses, next, user->getResult(0));
    return;
  }
  if (auto store = dyn_cast<tile::StoreOp>(user); store && isStoreToAll(store, buffer, uses.tile)) {
    uses.others.push_back({user, BufferRegion::whole(uses.tile), false, /*overwrites=*/true});
    return;
  }
  const bool reads = isReader(user, buffer);
  const size_t before = uses.others.size();
  if (buffer == uses.tile)
    for (const BufferRegion& region : regionsOf(user))
      if (region.buffer == buffer)
        uses.others.push_back({user, withKnownExtents(region), reads, overwrites(user, buffer)});
  if (uses.others.size() == before)
    uses.others.push_back({user, BufferRegion::whole(uses.tile), reads});
}

bool isUse(const TwinUses& uses, Operation* op) {
  return llvm::any_of(uses.others, [&](const TwinUse& use) { return use.op == op; });
}

// Places
// ------------------------------------------------------------------------------------------------

/// The operation before which a copy runs once for all of `user`, behind `gemm`.
Operation* placeBetween(Operation* gemm, Operation* user) {
  Block* block = user->getBlock();
  while (!block->findAncestorOpInBlock(*gemm))
    block = block->getParentOp()->getBlock();
  return block->findAncestorOpInBlock(*user);
}

/// Of the whole tile before the first use behind each gemm, in text order.
TwinPlan beforeUses(func::FuncOp kernel, const TwinUses& uses) {
  llvm::SetVector<Operation*> places;
  Operation* lastGemm = nullptr;
  kernel.walk<WalkOrder::PreOrder>([&](Operation* op) {
    auto gemm = dyn_cast<tile::GemmOp>(op);
    if (gemm && llvm::is_contained(uses.gemms, gemm)) {
      lastGemm = op;
    } else if (lastGemm && isUse(uses, op)) {
      places.insert(placeBetween(lastGemm, op));
      lastGemm = nullptr;
    }
  });
  TwinPlan plan;
  for (Operation* place : places)
    plan.copies.push_back({place, BufferRegion::whole(uses.tile), {}, {}});
  return plan;
}

/// Of what each gemm writes, right behind it.
TwinPlan behindGemms(const TwinUses& uses) {
  TwinPlan plan;
  for (tile::GemmOp gemm : uses.gemms)
    plan.copies.push_back({gemm->getNextNode(), withKnownExtents(gemm.getCRegion()), gemm, {}});
  return plan;
}

/// The loops around a gemm behind which a copy could stand, from the outermost one on.
SmallVector<Operation*> loopsToLeave(tile::GemmOp gemm, const TwinUses& uses) {
  SmallVector<Operation*> loops;
  const BufferRegion part = withKnownExtents(gemm.getCRegion());
  for (Operation* around = gemm->getParentOp();
       isa<scf::IfOp, tile::ForOp, tile::WhileOp>(around) && !holdsTwinUses(uses, around);
       around = around->getParentOp()) {
    if (!isFixedIn(part, around))
      break;
    if (isLoop(around))
      loops.push_back(around);
  }
  return SmallVector<Operation*>(llvm::reverse(loops));
}

bool isRight(func::FuncOp kernel, const TwinUses& uses, const TwinPlan& plan) {
  return followTwins(kernel, uses, plan).isRight;
}

/// Behind loops, where that is right.
void moveBehindLoops(func::FuncOp kernel, const TwinUses& uses, TwinPlan& plan) {
  for (size_t at = 0; at < plan.copies.size(); ++at)
    for (Operation* loop : loopsToLeave(plan.copies[at].gemm, uses)) {
      const TwinCopy before = plan.copies[at];
      plan.copies[at] = {loop->getNextNode(), before.region, {}, {}};
      if (isRight(kernel, uses, plan))
        break;
      plan.copies[at].ifRuns = dyn_cast<tile::ForOp>(loop);
      if (plan.copies[at].ifRuns && isRight(kernel, uses, plan))
        break;
      plan.copies[at] = before;
    }
}

/// Leaves out the copies that no use needs.
void dropNeedless(func::FuncOp kernel, const TwinUses& uses, TwinPlan& plan) {
  for (size_t at = 0; at < plan.copies.size();) {
    const TwinCopy copy = plan.copies[at];
    const bool isThere = llvm::any_of(ArrayRef(plan.copies).take_front(at), [&](const auto& other) {
      return !copy.gemm && other.before == copy.before && other.ifRuns == copy.ifRuns &&
             isSameRegion(other.region, copy.region);
    });
    plan.copies.erase(plan.copies.begin() + at);
    if (isThere || isRight(kernel, uses, plan))
      continue;
    plan.copies.insert(plan.copies.begin() + at, copy);
    ++at;
  }
}

/// The clears that the tile needs, in `plan`; the first gemm for which not even all of them suffice, or null.
tile::GemmOp findClears(func::FuncOp kernel, const TwinUses& uses, ArrayRef<Operation*> clears,
                        TwinPlan& plan) {
  tile::GemmOp conflict = followTwins(kernel, uses, plan).conflict;
  if (!conflict || clears.empty())
    return conflict;
  plan.clears.insert(clears.begin(), clears.end());
  conflict = followTwins(kernel, uses, plan).conflict;
  if (conflict)
    return conflict;
  for (Operation* clear : clears) {
    plan.clears.erase(clear);
    if (followTwins(kernel, uses, plan).conflict)
      plan.clears.insert(clear);
  }
  return {};
}

} // namespace

TwinUses twinUsesOf(func::FuncOp kernel, Value tile, ArrayRef<Operation*> others) {
  TwinUses uses;
  uses.tile = tile;
  kernel.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (auto gemm = dyn_cast<tile::GemmOp>(op); gemm && gemm.getC() == tile)
      uses.gemms.push_back(gemm);
  });
  for (Operation* user : others)
    addUses(uses, user, tile);
  return uses;
}

std::optional<TwinPlan> planTwin(func::FuncOp kernel, const TwinUses& uses,
                                 ArrayRef<Operation*> clears, tile::GemmOp& conflict) {
  TwinPlan plan = behindGemms(uses);
  conflict = findClears(kernel, uses, clears, plan);
  if (conflict)
    return std::nullopt;
  TwinPlan whole = beforeUses(kernel, uses);
  whole.clears = plan.clears;
  if (isRight(kernel, uses, whole)) {
    dropNeedless(kernel, uses, whole);
    return whole;
  }
  moveBehindLoops(kernel, uses, plan);
  dropNeedless(kernel, uses, plan);
  return plan;
}

} // namespace tilewright::ascend
