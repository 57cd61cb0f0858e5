// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/fragment_uses.h"

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/thread_groups.h"
#include "compiler/ir/tile.h"
#include "compiler/passes/analysis/thread_groups.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright {
namespace {

constexpr unsigned kMostSteps = 16; ///< of a condition's arithmetic

/// Whether two values are sure to be the same: made alike, of the same values, and of no memory.
bool isSame(Value left, Value right, unsigned depth = 0) {
  if (left == right)
    return true;
  Operation *one = left.getDefiningOp(), *other = right.getDefiningOp();
  if (!one || !other || depth == kMostSteps || one->getName() != other->getName() ||
      one->getNumRegions() != 0 || !isMemoryEffectFree(one) ||
      one->getNumOperands() != other->getNumOperands() ||
      one->getAttrDictionary() != other->getAttrDictionary() ||
      cast<OpResult>(left).getResultNumber() != cast<OpResult>(right).getResultNumber())
    return false;
  return llvm::all_of(llvm::zip(one->getOperands(), other->getOperands()), [&](auto pair) {
    return isSame(std::get<0>(pair), std::get<1>(pair), depth + 1);
  });
}

bool isFragment(Value buffer) {
  auto type = dyn_cast<tile::BufferType>(buffer.getType());
  return type && type.getSpace() == tile::MemorySpace::Fragment;
}

/// The region that an operation on tiles writes.
std::optional<tile::BufferRegion> writtenRegion(Operation* op) {
  if (auto copy = dyn_cast<tile::CopyOp>(op))
    return copy.getTargetRegion();
  if (auto fill = dyn_cast<tile::FillOp>(op))
    return fill.getTargetRegion();
  if (auto gemm = dyn_cast<tile::GemmOp>(op))
    return gemm.getCRegion();
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return reduce.getTargetRegion();
  if (auto scan = dyn_cast<tile::ScanOp>(op))
    return scan.getTargetRegion();
  if (auto atomic = dyn_cast<tile::AtomicTileOp>(op))
    return atomic.getTargetRegion();
  return std::nullopt;
}

SmallVector<tile::BufferRegion, 2> readRegions(Operation* op) {
  if (auto copy = dyn_cast<tile::CopyOp>(op))
    return {copy.getSourceRegion()};
  if (auto gemm = dyn_cast<tile::GemmOp>(op))
    return {gemm.getARegion(), gemm.getBRegion(), gemm.getCRegion()};
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return {reduce.getSourceRegion(), reduce.getTargetRegion()};
  if (auto scan = dyn_cast<tile::ScanOp>(op))
    return {scan.getSourceRegion()};
  if (auto atomic = dyn_cast<tile::AtomicTileOp>(op))
    return {atomic.getSourceRegion(), atomic.getTargetRegion()};
  return {};
}

/// Elements of a buffer, from the lowest to the highest in each dim; without any where they aren't known.
using ElementBox = SmallVector<IndexRange, 4>;

ElementBox boxOf(Operation* op, const tile::BufferRegion& region) {
  ElementBox box;
  for (auto [offset, extent] : llvm::zip(region.offsets, region.extents)) {
    const IndexRange from = rangeAt(op, offset), size = rangeAt(op, extent);
    if (from.low == IndexRange::kLowest || from.high > IndexRanges::kLargestDim ||
        size.high > IndexRanges::kLargestDim)
      return {};
    box.push_back({from.low, from.high + size.high - 1});
  }
  return box;
}

ElementBox boxOf(Operation* op, ValueRange indices) {
  ElementBox box;
  for (Value index : indices)
    box.push_back(rangeAt(op, index));
  return box;
}

/// What each access of `root` in an operation touches.
SmallVector<ElementBox> boxesOf(Operation* outer, Value root) {
  SmallVector<ElementBox> boxes;
  outer->walk([&](Operation* op) {
    if (isa<tile::ViewOp, tile::DimOp>(op))
      return;
    auto add = [&](Value buffer, auto&& make) {
      if (rootBuffer(buffer) == root)
        boxes.push_back(buffer == root ? make() : ElementBox());
    };
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return add(load.getBuffer(), [&] { return boxOf(op, load.getIndices()); });
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return add(store.getBuffer(), [&] { return boxOf(op, store.getIndices()); });
    if (auto atomic = dyn_cast<tile::AtomicOp>(op))
      return add(atomic.getBuffer(), [&] { return boxOf(op, atomic.getIndices()); });
    const auto written = writtenRegion(op);
    if (written) {
      add(written->buffer, [&] { return boxOf(op, *written); });
      for (const tile::BufferRegion& region : readRegions(op))
        add(region.buffer, [&] { return boxOf(op, region); });
      return;
    }
    for (Value operand : op->getOperands())
      if (isa<tile::BufferType>(operand.getType()))
        add(operand, [] { return ElementBox(); });
  });
  return boxes;
}

bool areDisjoint(const ElementBox& left, const ElementBox& right) {
  if (left.empty() || right.empty())
    return false;
  return llvm::any_of(llvm::zip(left, right), [](auto pair) {
    auto [one, other] = pair;
    return one.high < other.low || other.high < one.low;
  });
}

/// Whether an access is that of a nest's own element of a buffer.
bool isAtNest(tile::ParallelOp nest, Value root, Value buffer, ValueRange indices) {
  return buffer == root && llvm::equal(indices, nest.getInductionVars());
}

/// The store of a nest to each element of a buffer, in each iteration; null without one.
tile::StoreOp storeOfAll(tile::ParallelOp nest, Value root) {
  auto type = cast<tile::BufferType>(root.getType());
  const SmallVector<OpFoldResult> extents = nest.getMixedExtents();
  for (auto store : nest.getBodyBlock()->getOps<tile::StoreOp>())
    if (isAtNest(nest, root, store.getBuffer(), store.getIndices()) &&
        llvm::all_of(llvm::zip(extents, type.getShape()), [](auto pair) {
          return getConstantIntValue(std::get<0>(pair)) == std::get<1>(pair);
        }))
      return store;
  return nullptr;
}

/// Whether a nest reads of a buffer only what it has stored there itself.
bool readsOnlyItsStores(tile::ParallelOp nest, Value root) {
  tile::StoreOp store = storeOfAll(nest, root);
  if (!store)
    return false;
  return !nest.walk([&](Operation* op) {
                auto load = dyn_cast<tile::LoadOp>(op);
                const bool isOther =
                    llvm::any_of(op->getOperands(),
                                 [&](Value operand) {
                                   return isa<tile::BufferType>(operand.getType()) &&
                                          rootBuffer(operand) == root;
                                 }) &&
                    !isa<tile::StoreOp>(op);
                const bool isBehind =
                    load && isAtNest(nest, root, load.getBuffer(), load.getIndices()) &&
                    store->isBeforeInBlock(nest.getBodyBlock()->findAncestorOpInBlock(*op));
                return isOther && !isBehind ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

/// Whether what an operation finds in `buffer` doesn't matter to it.
bool isCleared(Operation* op, Value buffer) {
  if (auto gemm = dyn_cast<tile::GemmOp>(op))
    return gemm.getClearAccum() && gemm.getC() == buffer && gemm.getA() != buffer &&
           gemm.getB() != buffer;
  auto reduce = dyn_cast<tile::ReduceOp>(op);
  return reduce && reduce.getClear() && reduce.getTarget() == buffer &&
         reduce.getSource() != buffer;
}

SmallVector<MemoryEffects::EffectInstance> effectsOf(Operation* op) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  if (auto touching = dyn_cast<MemoryEffectOpInterface>(op))
    touching.getEffects(effects);
  return effects;
}

/// The loops around an operation, inside of what holds the fragment.
SmallVector<Operation*, 2> loopsAround(Operation* op, tile::AllocOp fragment) {
  SmallVector<Operation*, 2> loops;
  for (Operation* outer = op->getParentOp(); outer && !outer->isAncestor(fragment);
       outer = outer->getParentOp())
    if (isa<tile::ForOp, tile::WhileOp>(outer))
      loops.push_back(outer);
  return loops;
}

} // namespace

// Conditions

Condition Condition::of(Value value) {
  using Predicate = arith::CmpIPredicate;
  Condition made;
  if (auto flip = value.getDefiningOp<arith::XOrIOp>())
    if (getConstantIntValue(flip.getRhs()).value_or(0) != 0) {
      made = of(flip.getLhs());
      made.isFlipped = !made.isFlipped;
      return made;
    }
  made.value = value;
  auto comparison = value.getDefiningOp<arith::CmpIOp>();
  if (!comparison)
    return made;
  made.left = comparison.getLhs(), made.right = comparison.getRhs();
  switch (made.predicate = comparison.getPredicate()) {
  case Predicate::sgt:
  case Predicate::sle:
    std::swap(made.left, made.right);
    made.isFlipped = made.predicate == Predicate::sle; // a <= b: not b < a
    made.predicate = Predicate::slt;
    break;
  case Predicate::sge:
    made.isFlipped = true;
    made.predicate = Predicate::slt;
    break;
  case Predicate::ne:
    made.isFlipped = true;
    made.predicate = Predicate::eq;
    break;
  default:
    break;
  }
  return made;
}

bool Condition::isLike(const Condition& other) const {
  if (!left || !other.left)
    return isSame(value, other.value);
  return predicate == other.predicate && isSame(left, other.left) && isSame(right, other.right);
}

bool Comers::contains(const Comers& part) const {
  return !part.known.test(known) && llvm::all_of(sides, [&](const Side& side) {
    return llvm::any_of(part.sides, [&](const Side& other) {
      return other.holds == side.holds && other.condition.isLike(side.condition);
    });
  });
}

bool Comers::isApartFrom(const Comers& other) const {
  return !known.anyCommon(other.known) || llvm::any_of(sides, [&](const Side& side) {
    return llvm::any_of(other.sides, [&](const Side& second) {
      return second.holds != side.holds && second.condition.isLike(side.condition);
    });
  });
}

// Uses

FragmentUses::FragmentUses(tile::LaunchOp launch)
    : launch(launch), divergence(launch), indices(launch, divergence) {
  launch.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
      if (isFragment(alloc.getBuffer()) && !alloc->getParentOfType<tile::ParallelOp>()) {
        numbers[alloc.getBuffer()] = fragments.size();
        fragments.push_back(alloc);
      }
      return WalkResult::advance();
    }
    const bool isNest = isa<tile::ParallelOp>(op);
    if (isNest || (op->getNumRegions() == 0 && llvm::any_of(op->getOperands(), isFragment)))
      add(op);
    return isNest ? WalkResult::skip() : WalkResult::advance();
  });
}

std::optional<size_t> FragmentUses::numberOf(Value buffer) const {
  if (!isa<tile::BufferType>(buffer.getType()))
    return std::nullopt;
  auto found = numbers.find(rootBuffer(buffer));
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

void FragmentUses::add(Operation* op) {
  if (isa<tile::DimOp>(op))
    return;
  FragmentUse use;
  use.op = op;
  auto note = [](SmallVector<size_t, 2>& list, size_t number) {
    if (!llvm::is_contained(list, number))
      list.push_back(number);
  };
  op->walk([&](Operation* inner) {
    if (isa<tile::ViewOp, tile::DimOp>(inner))
      return;
    const bool isTold = isa<MemoryEffectOpInterface>(inner) && !isa<tile::PrintOp>(inner);
    if (!isTold)
      for (Value operand : inner->getOperands())
        if (auto number = numberOf(operand))
          note(use.reads, *number);
    for (const MemoryEffects::EffectInstance& effect : effectsOf(inner)) {
      const bool isWrite = isa<MemoryEffects::Write>(effect.getEffect());
      if (auto number = effect.getValue() ? numberOf(effect.getValue()) : std::nullopt;
          number && (isWrite || !isCleared(inner, effect.getValue())))
        note(isWrite ? use.writes : use.reads, *number);
    }
  });
  if (auto nest = dyn_cast<tile::ParallelOp>(op))
    llvm::erase_if(use.reads, [&](size_t number) {
      return readsOnlyItsStores(nest, fragments[number].getBuffer());
    });
  if (use.reads.empty() && use.writes.empty() && !isa<tile::ViewOp>(op))
    return;
  use.comers = comersAt(op);
  use.isEach = !use.writes.empty() && isEachOf(op);
  uses.push_back(std::move(use));
}

Comers FragmentUses::comersAt(Operation* op) {
  Comers comers;
  comers.known.resize(unsigned(launch.getThreadCount()), true);
  for (Operation* inner = op; inner->getParentOp() != launch; inner = inner->getParentOp()) {
    auto branch = dyn_cast<scf::IfOp>(inner->getParentOp());
    // Where nothing is known of who goes which way, all must agree on it.
    if (!branch || !divergence.differs(branch) ||
        (!branch->hasAttr(tile::kThreadGroupsAttr) && holdsForWholeBlock(branch)))
      continue;
    const bool isElse = inner->getParentRegion()->getRegionNumber() == 1;
    if (narrow(comers.known, branch.getCondition(), !isElse))
      continue;
    const Condition condition = Condition::of(branch.getCondition());
    comers.sides.push_back({condition, condition.isFlipped == isElse});
  }
  return comers;
}

/// Keeps of the threads those for whom a condition may be what `holds` says. False where only the run knows all of them:
/// the known parts of `and`, or of what is not `or`, keep some away even so.
bool FragmentUses::narrow(llvm::BitVector& threads, Value condition, bool holds) {
  const ThreadIndex& index = indices.indexOf(condition);
  if (index.isKnown && index.terms.empty()) {
    for (unsigned thread = 0; thread < threads.size(); ++thread)
      if ((index.numbers[thread] != 0) != holds)
        threads.reset(thread);
    return true;
  }
  Operation* op = condition.getDefiningOp();
  const bool isBoth =
      holds ? isa_and_present<arith::AndIOp>(op) : isa_and_present<arith::OrIOp>(op);
  if (isBoth)
    for (Value part : op->getOperands())
      narrow(threads, part, holds);
  else if (isa_and_present<arith::XOrIOp>(op) &&
           getConstantIntValue(op->getOperand(1)).value_or(0) != 0)
    narrow(threads, op->getOperand(0), !holds);
  return false;
}

/// Whether each thread may write a number of its own, or at a place of its own.
bool FragmentUses::isEachOf(Operation* op) const {
  if (isa<tile::AddressOp>(op))
    return true;
  for (Operation* outer = op->getParentOp(); outer != launch; outer = outer->getParentOp())
    if (isa<tile::ForOp, tile::WhileOp>(outer) && divergence.differs(outer) &&
        !holdsForWholeBlock(outer))
      return true;
  return isa<tile::StoreOp, tile::AtomicOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return divergence.differs(operand); });
}

// Questions

bool FragmentUses::isSettled(Value value, tile::AllocOp fragment, unsigned depth) {
  Operation* owner = value.getParentBlock()->getParentOp();
  bool isInLoop = false;
  for (Operation* outer = owner; outer && !outer->isAncestor(fragment);
       outer = outer->getParentOp())
    isInLoop |= isa<tile::ForOp, tile::WhileOp>(outer);
  if (!isInLoop)
    return true;
  Operation* op = value.getDefiningOp();
  return op && depth < kMostSteps && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(
             op->getOperands(),
             [&](Value operand) { return isSettled(operand, fragment, depth + 1); });
}

bool FragmentUses::isSettled(const Comers& comers, size_t fragment) {
  return llvm::all_of(comers.sides, [&](const Comers::Side& side) {
    return isSettled(side.condition.value, fragments[fragment]);
  });
}

bool FragmentUses::contains(const FragmentUse& whole, const FragmentUse& part, size_t fragment) {
  return !whole.isEach && isSettled(whole.comers, fragment) && whole.comers.contains(part.comers);
}

bool FragmentUses::areApart(const FragmentUse& left, const FragmentUse& right, size_t fragment) {
  const Value root = fragments[fragment].getBuffer();
  const SmallVector<ElementBox> others = boxesOf(right.op, root);
  return llvm::all_of(boxesOf(left.op, root), [&](const ElementBox& box) {
    return llvm::all_of(others, [&](const ElementBox& other) { return areDisjoint(box, other); });
  });
}

bool FragmentUses::isDistinct(const FragmentUse& use, size_t fragment) {
  ValueRange places;
  if (auto store = dyn_cast<tile::StoreOp>(use.op))
    places = store.getIndices();
  else if (auto atomic = dyn_cast<tile::AtomicOp>(use.op))
    places = atomic.getIndices();
  else
    return false;
  return !indices.mayMeet({places, loopsAround(use.op, fragments[fragment])}, {places, {}});
}

bool FragmentUses::overwrites(const FragmentUse& use, size_t fragment) {
  const Value root = fragments[fragment].getBuffer();
  if (llvm::is_contained(use.reads, fragment) || !llvm::is_contained(use.writes, fragment))
    return false;
  if (auto nest = dyn_cast<tile::ParallelOp>(use.op))
    return storeOfAll(nest, root) != nullptr;
  if (auto gemm = dyn_cast<tile::GemmOp>(use.op); gemm && !gemm.getClearAccum())
    return false;
  if (auto reduce = dyn_cast<tile::ReduceOp>(use.op); reduce && !reduce.getClear())
    return false;
  const auto region = writtenRegion(use.op);
  return region && region->isWhole() && rootBuffer(region->buffer) == root;
}

} // namespace tilewright
