// SPDX-License-Identifier: Apache-2.0
/// StageGlobalTiles: a nest that reads or writes rectangles of global memory
/// works on tiles in UB instead, which copies fill and empty.
///
///     tile.parallel (%i, %j) in [16, 64] {              %t = tile.alloc
///     "C_tile" : !tile.buffer<16x64xf32, UB>
///       %v = tile.load %x[%i, %j]                ->     tile.parallel (%i, %j)
///       in [16, 64] { tile.store %v, %C[%row + %i, %j]                  ...
///       tile.store %v, %t[%i, %j]
///     }                                                 }
///                                                       tile.copy %t to
///                                                       %C[%row, 0] [16, 64]
///
/// An atomic add of an element for each iteration becomes one of a tile. Of a
/// store in a branch (`if row + i < n`) that part of its tile is copied that
/// the branch leaves: a box, or several. What of it lies before the first
/// block of 32 bytes in its rows goes element by element:
///
///     if (%j >= %n)                                     tile.for %i = 0 to
///     16 { tile.for %j = %n to %b {               ->      tile.store ... } }
///       tile.store %v, %C[%row + %i, %j]                tile.copy %t[0, %b]
///                                                       to %C[%row, %b]
///
/// In a scope of the cube core, which has no single elements of L0C, a nest
/// that only stores those of a gemm's tile is a copy of it:
///
///     tile.parallel (%i, %j) in [16, 64] {              tile.copy %c[0, 0]
///     [16, 64] to %C[%row, 0] [16, 64]
///       %v = tile.load %c[%i, %j]                ->
///       tile.store %v, %C[%row + %i, %j]
///     }
///
/// One that computes with them leaves the scope: vector cores do it, with a
/// remark.
///
/// It stands before what places buffers and shares work, so that the tiles are
/// like any others, and with `stages` only, where the compiler orders
/// instructions. A nest whose tiles are large, or that picks elements by
/// indices of another kind, stays as it is.
#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/leave_scope.h"
#include "compiler/targets/ascend/memory_sizes.h"
#include "compiler/targets/ascend/nest_terms.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

/// One element of global memory in each iteration.
struct OneAccess {
  Operation* op;
  Value buffer;
  SmallVector<NestTerm> terms;
  NestPart part;                  ///< of the iterations, that a store happens in
  Block* block = nullptr;         ///< whenever it runs, a store happens
  SmallVector<Operation*> others; ///< stores to the same element, one of which happens instead

  bool isStore() const {
    return isa<tile::StoreOp, tile::AtomicOp>(op);
  }
  /// The nest's variables in the order of the buffer's dims.
  SmallVector<size_t> variables() const {
    SmallVector<size_t> numbers;
    for (const NestTerm& term : terms)
      if (term.variable)
        numbers.push_back(*term.variable);
    return numbers;
  }
  bool isSame(const OneAccess& other) const {
    return buffer == other.buffer && terms == other.terms;
  }
};

class NestStager {
public:
  NestStager(tile::ParallelOp nest, int64_t mostBytes)
      : nest(nest), last(nest), mostBytes(mostBytes), builder(nest.getLoc(), nest), terms(nest) {}

  /// The nest as one copy of a gemm's tile to a tensor, if it is that.
  bool runAsCopy() {
    const std::optional<SmallVector<int64_t>> known = getConstantIntValues(nest.getMixedExtents());
    if (!known || !collectCopy()) {
      terms.undo();
      return false;
    }
    extents = *known;
    const OneAccess &load = accesses[0], &store = accesses[1];
    const SmallVector<NestRange> all = rangesOf(NestBox());
    tile::CopyOp::create(builder, regionOf(load, all), regionOf(store, all));
    nest.erase();
    return true;
  }

  void run() {
    const std::optional<SmallVector<int64_t>> known = getConstantIntValues(nest.getMixedExtents());
    if (!known || !collect(*nest.getBodyBlock(), NestPart()) || accesses.empty() ||
        !llvm::all_of(accesses, [&](const OneAccess& each) { return isOfBoxes(each); }))
      return terms.undo();
    extents = *known;
    if (!mayMove() || !fits())
      return terms.undo();
    for (const OneAccess& access : accesses)
      stage(access);
    for (const OneAccess& number : numbers)
      takeOut(number);
    settleBranches();
    terms.undo();
  }

private:
  /// The load of a tile in L0C and the store to a tensor, if nothing else
  /// happens and all variables go through both in one order.
  bool collectCopy() {
    tile::LoadOp load;
    tile::StoreOp store;
    for (Operation& op : nest.getBodyBlock()->without_terminator()) {
      if (auto each = dyn_cast<tile::LoadOp>(op); each && !load)
        load = each;
      else if (auto each = dyn_cast<tile::StoreOp>(op); each && !store)
        store = each;
      else if (op.getNumRegions() != 0 || !isPure(&op))
        return false;
    }
    if (!load || !store || load.getBuffer().getType().getSpace() != MemorySpace::L0C ||
        !store.getBuffer().getType().isGlobal() || store.getBuffer().getType().getStrided())
      return false;
    // The DMA rounds as a conversion does.
    auto narrowed = store.getValue().getDefiningOp<arith::TruncFOp>();
    if ((narrowed ? narrowed.getIn() : store.getValue()) != load.getValue())
      return false;
    return addAccess(load, load.getBuffer(), load.getIndices()) &&
           addAccess(store, store.getBuffer(), store.getIndices()) &&
           llvm::all_of(accesses, [&](const OneAccess& access) {
             const SmallVector<size_t> variables = access.variables();
             return variables.size() == nestRank() && llvm::is_sorted(variables);
           });
  }

  bool addAccess(Operation* op, Value buffer, ValueRange indices) {
    OneAccess access{op, buffer, {}, {}, op->getBlock(), {}};
    for (Value index : indices) {
      const std::optional<NestTerm> term = terms.of(index);
      if (!term)
        return false;
      access.terms.push_back(*term);
    }
    accesses.push_back(access);
    return true;
  }

  /// Iterations of one variable.
  struct NestRange {
    OpFoldResult first, count;
  };

  /// `begins`: its last index isn't negative, as its guard says.
  tile::BufferRegion regionOf(const OneAccess& access, ArrayRef<NestRange> ranges,
                              bool begins = false) {
    const IndexMaker make(builder);
    tile::BufferRegion region{access.buffer, {}, {}};
    for (const NestTerm& term : access.terms) {
      const OpFoldResult base = term.base ? OpFoldResult(term.base) : builder.getIndexAttr(0);
      region.offsets.push_back(term.variable ? make.add(base, ranges[*term.variable].first) : base);
      region.extents.push_back(term.variable ? ranges[*term.variable].count
                                             : builder.getIndexAttr(1));
    }
    if (begins)
      region.offsets.back() = make.notNegative(region.offsets.back());
    return region;
  }

  /// Of all variables. That of a tile's rows begins at most behind whole blocks.
  SmallVector<NestRange> rangesOf(const NestBox& box, int64_t unit = 1) {
    SmallVector<NestRange> ranges;
    for (size_t variable = 0; variable < nestRank(); ++variable) {
      const bool isLast = variable + 1 == nestRank();
      const OpFoldResult first =
          terms.firstOf(box, variable, roundUp(terms.extentOf(variable), isLast ? unit : 1));
      ranges.push_back({first, terms.countOf(box, variable, first)});
    }
    return ranges;
  }

  bool collect(Block& block, const NestPart& around) {
    for (Operation& op : block.without_terminator()) {
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        if (!collectBranch(branch, around))
          return false;
        continue;
      }
      auto load = dyn_cast<tile::LoadOp>(op);
      auto store = dyn_cast<tile::StoreOp>(op);
      auto atomic = dyn_cast<tile::AtomicOp>(op);
      if (atomic && !isPlainAdd(atomic))
        return false;
      if (!load && !store && !atomic) {
        if (op.getNumRegions() != 0 || !isPure(&op))
          return false;
        continue;
      }
      Value buffer = load ? load.getBuffer() : store ? store.getBuffer() : atomic.getBuffer();
      const auto type = cast<BufferType>(buffer.getType());
      if (!type.isGlobal())
        continue;
      if (!addAccess(&op, buffer,
                     load    ? load.getIndices()
                     : store ? store.getIndices()
                             : atomic.getIndices()))
        return false;
      OneAccess access = accesses.pop_back_val();
      access.part = load ? NestPart() : around;
      if (!isOfTile(access))
        return false;
      if (!access.variables().empty())
        accesses.push_back(access);
      else if (load && &block != nest.getBodyBlock())
        numbers.push_back(access);
    }
    return true;
  }

  bool collectBranch(scf::IfOp branch, const NestPart& around) {
    NestPart yes = around, no = around;
    terms.cut(yes, branch.getCondition(), /*holds=*/true);
    terms.cut(no, branch.getCondition(), /*holds=*/false);
    const size_t first = accesses.size();
    if (!collect(branch.getThenRegion().front(), yes))
      return false;
    if (branch.getElseRegion().empty())
      return true;
    const size_t middle = accesses.size();
    if (!collect(branch.getElseRegion().front(), no))
      return false;
    joinStores(branch, around, first, middle);
    return true;
  }

  /// What both sides of a branch store to one element is one store, which happens whenever the branch is reached; the
  /// accesses of the two sides begin at `first` and at `middle`.
  void joinStores(scf::IfOp branch, const NestPart& around, size_t first, size_t middle) {
    for (size_t i = first; i < middle; ++i) {
      OneAccess& store = accesses[i];
      const auto isOneOf = [&](const OneAccess& access, Region& side) {
        return isa<tile::StoreOp>(access.op) && access.block == &side.front();
      };
      const auto* other =
          std::find_if(accesses.begin() + middle, accesses.end(), [&](const OneAccess& access) {
            return isOneOf(access, branch.getElseRegion()) && access.isSame(store);
          });
      const bool isOnly =
          std::count_if(accesses.begin() + first, accesses.end(), [&](const OneAccess& access) {
            return npu::storageOf(access.buffer) == npu::storageOf(store.buffer);
          }) == 2;
      if (!isOneOf(store, branch.getThenRegion()) || other == accesses.end() || !isOnly)
        continue;
      store.others.push_back(other->op);
      llvm::append_range(store.others, other->others);
      store.part = around;
      store.block = branch->getBlock();
      accesses.erase(other);
    }
  }

  /// Whether a copy of a tile can do what an access does in all iterations.
  bool isOfTile(const OneAccess& access) {
    const SmallVector<size_t> variables = access.variables();
    const bool isSorted = std::adjacent_find(variables.begin(), variables.end(),
                                             std::greater_equal<>()) == variables.end();
    if (!isSorted || cast<BufferType>(access.buffer.getType()).getStrided())
      return false;
    return !access.isStore() || variables.size() == nestRank();
  }

  /// The same of a store in the iterations in which it happens.
  bool isOfBoxes(const OneAccess& access) {
    if (!access.isStore())
      return true;
    if (!access.part.isKnown ||
        !llvm::all_of(access.part.boxes, [&](const NestBox& box) { return mayBegin(access, box); }))
      return false;
    const NestTerm& dense = access.terms.back();
    // The DMA adds rows; elements of a column are added one by one.
    if (isa<tile::AtomicOp>(access.op) && !dense.variable)
      return false;
    // Elements before a tensor are left out one by one: a copy from UB can't begin there.
    return !dense.variable || !dense.base || !isTakenFrom(dense.base) ||
           rangeAt(nest, dense.base).low >= 0 ||
           llvm::all_of(access.part.boxes,
                        [&](const NestBox& box) { return isInside(dense, box); });
  }

  static bool isInside(const NestTerm& index, const NestBox& box) {
    return llvm::is_contained(box.notNegative, index);
  }

  /// Whether a box may begin where it does in the tile's rows: before the first block elements are stored one by one,
  /// which nothing adds, and which may not happen once for two cores.
  bool mayBegin(const OneAccess& access, const NestBox& box) {
    const auto type = cast<BufferType>(access.buffer.getType());
    if (box.begins.empty() || box.begins.back().empty())
      return true;
    if (type.getElementBits() % 8 != 0)
      return false;
    return (isa<tile::StoreOp>(access.op) && !nest->hasAttr(kOnceAttr)) ||
           llvm::all_of(box.begins.back(), [&](Value begin) {
             return isMultipleOf(getAsOpFoldResult(begin), npu::blockElements(type));
           });
  }

  /// Whether something is subtracted in a number, so that it may be meant to be negative.
  static bool isTakenFrom(Value number) {
    if (const std::optional<int64_t> known = getConstantIntValue(number))
      return *known < 0;
    Operation* op = number.getDefiningOp();
    return isa_and_nonnull<arith::SubIOp>(op) ||
           (isa_and_nonnull<arith::AddIOp, arith::IndexCastOp>(op) &&
            llvm::any_of(op->getOperands(), isTakenFrom));
  }

  /// What the DMA can do while it stores.
  static bool isPlainAdd(tile::AtomicOp atomic) {
    const bool isUsed = atomic.getPrevious() && !atomic.getPrevious().use_empty();
    return atomic.getKind() == tile::AtomicKind::Add && !isUsed &&
           atomic.getBuffer().getType().isGlobal() &&
           isAddedByDma(atomic.getBuffer().getType().getElementType());
  }

  size_t nestRank() {
    return nest.getInductionVars().size();
  }

  /// Loads move before the nest, stores behind it: no load may need what the
  /// nest stores.
  bool mayMove() {
    for (const OneAccess& store : accesses)
      for (const OneAccess& other : accesses)
        if (store.isStore() && other.op != store.op &&
            npu::storageOf(other.buffer) == npu::storageOf(store.buffer) &&
            (!other.isSame(store) || (!other.isStore() && &store < &other)))
          return false;
    return true;
  }

  SmallVector<int64_t> shapeOf(const OneAccess& access) {
    SmallVector<int64_t> shape;
    for (size_t variable : access.variables())
      shape.push_back(extents[variable]);
    return shape;
  }

  bool fits() {
    int64_t bytes = 0;
    for (const OneAccess& access : accesses) {
      int64_t elements = 1;
      for (int64_t extent : shapeOf(access))
        elements *= extent;
      const auto type = cast<BufferType>(access.buffer.getType());
      bytes += elements * int64_t(type.getElementBits()) / 8;
    }
    return bytes <= mostBytes;
  }

  void stage(const OneAccess& access) {
    builder.setInsertionPoint(nest);
    SmallVector<Value> indices;
    for (size_t variable : access.variables())
      indices.push_back(nest.getInductionVars()[variable]);
    const auto type = cast<BufferType>(access.buffer.getType());
    Value tile = tile::AllocOp::create(
        builder, BufferType::get(shapeOf(access), type.getElementType(), MemorySpace::UB),
        builder.getStringAttr("staged"), IntegerAttr());
    tiles.push_back(tile);
    if (auto load = dyn_cast<tile::LoadOp>(access.op)) {
      tile::CopyOp::create(builder, regionOf(access, rangesOf(NestBox())),
                           tile::BufferRegion::whole(tile));
      builder.setInsertionPoint(nest.getBody().findAncestorOpInRegion(*load));
      Value element = tile::LoadOp::create(builder, load.getValue().getType(), tile, indices,
                                           /*in_bounds=*/true);
      load.getValue().replaceAllUsesWith(element);
      load.erase();
    } else {
      for (const NestBox& box : access.part.boxes)
        storeBox(access, box, tile);
      storeElement(access.op, tile, indices);
      for (Operation* other : access.others)
        storeElement(other, tile, indices);
      if (access.block == nest.getBodyBlock())
        filled.push_back(tile);
    }
  }

  /// In a tile, instead of in global memory.
  void storeElement(Operation* op, Value tile, ValueRange indices) {
    auto atomic = dyn_cast<tile::AtomicOp>(op);
    builder.setInsertionPoint(op);
    Value value = atomic ? atomic.getValue() : cast<tile::StoreOp>(op).getValue();
    tile::StoreOp::create(builder, value, tile, indices, /*in_bounds=*/true);
    op->erase();
  }

  /// Behind the nest, what it has made in a box.
  void storeBox(const OneAccess& access, const NestBox& box, Value tile) {
    const IndexMaker make(builder);
    const auto type = cast<BufferType>(tile.getType());
    const int64_t unit = npu::blockElements(type);
    builder.setInsertionPoint(nest);
    SmallVector<NestRange> ranges = rangesOf(box, unit);
    NestRange& row = ranges.back();
    if (!isMultipleOf(row.first, unit)) {
      const OpFoldResult block =
          make.mul(make.div(make.add(row.first, make.index(unit - 1)), unit), unit);
      const OpFoldResult before = make.sub(block, row.first);
      const OpFoldResult rest = make.notNegative(make.sub(row.count, before));
      row.count = make.min(row.count, before);
      storeElements(access, ranges, tile);
      row = {block, rest};
      builder.setInsertionPoint(nest);
    }
    if (isConstantIntValue(row.count, 0))
      return;
    const bool begins = access.terms.back().variable && isInside(access.terms.back(), box);
    const tile::BufferRegion region = regionOf(access, ranges, begins);
    tile::BufferRegion part{tile, {}, {}};
    for (const NestRange& range : ranges) {
      part.offsets.push_back(range.first);
      part.extents.push_back(range.count);
    }
    builder.setInsertionPointAfter(last);
    if (isa<tile::AtomicOp>(access.op))
      last = tile::AtomicTileOp::create(builder, tile::AtomicKind::Add, part, region);
    else
      last = tile::CopyOp::create(builder, part, region);
    if (nest->hasAttr(kOnceAttr))
      last->setAttr(kOnceAttr, builder.getUnitAttr());
  }

  void storeElements(const OneAccess& access, ArrayRef<NestRange> ranges, Value tile) {
    const IndexMaker make(builder);
    builder.setInsertionPoint(nest);
    SmallVector<Value> ends, at;
    for (const NestRange& range : ranges)
      ends.push_back(make.value(make.add(range.first, range.count)));
    builder.setInsertionPointAfter(last);
    for (auto [range, end] : llvm::zip(ranges, ends)) {
      auto loop = tile::ForOp::create(builder, make.value(range.first), end, make.constant(1));
      if (at.empty())
        last = loop;
      at.push_back(loop.getInductionVar());
      builder.setInsertionPointToStart(loop.getBodyBlock());
    }
    SmallVector<Value> indices;
    for (const NestTerm& term : access.terms) {
      const OpFoldResult base = term.base ? OpFoldResult(term.base) : make.index(0);
      indices.push_back(make.value(term.variable ? make.add(base, at[*term.variable]) : base));
    }
    Value element = tile::LoadOp::create(builder, cast<BufferType>(tile.getType()).getScalarType(),
                                         tile, at, /*in_bounds=*/true);
    tile::StoreOp::create(builder, element, access.buffer, indices, /*in_bounds=*/false);
  }

  /// A number in memory, the same in all iterations, is read outside of branches: what isn't in its tensor is 0.
  void takeOut(const OneAccess& number) {
    const auto isStored = [&](const OneAccess& access) {
      return access.isStore() && npu::storageOf(access.buffer) == npu::storageOf(number.buffer);
    };
    if (llvm::any_of(accesses, isStored))
      return;
    auto load = cast<tile::LoadOp>(number.op);
    builder.setInsertionPoint(nest.getBody().findAncestorOpInRegion(*load));
    SmallVector<Value> indices;
    for (const NestTerm& term : number.terms)
      indices.push_back(term.base ? term.base
                                  : arith::ConstantIndexOp::create(builder, 0).getResult());
    load.getValue().replaceAllUsesWith(tile::LoadOp::create(
        builder, load.getValue().getType(), number.buffer, indices, /*in_bounds=*/false));
    load.erase();
  }

  /// Of branches that only store to tensors nothing is left: what lies behind a part of a tile is not copied. Others get
  /// a condition that counts from the nest's first iteration, and numbers where they are not taken.
  void settleBranches() {
    SmallVector<scf::IfOp> branches;
    nest.getBody().walk([&](scf::IfOp branch) { branches.push_back(branch); });
    for (scf::IfOp branch : branches) // from the innermost outwards
      if (storesToTiles(branch) && !runsAlways(branch))
        ask(branch);
    SmallVector<Value> left;
    nest.getBody().walk([&](tile::StoreOp store) {
      if (store->getParentOp() != nest && llvm::is_contained(tiles, store.getBuffer()) &&
          !llvm::is_contained(filled, store.getBuffer()) &&
          !llvm::is_contained(left, store.getBuffer()))
        left.push_back(store.getBuffer());
    });
    builder.setInsertionPoint(nest);
    for (Value tile : left) {
      const Type element = cast<BufferType>(tile.getType()).getScalarType();
      Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(element));
      tile::FillOp::create(builder, zero, tile::BufferRegion::whole(tile));
    }
  }

  bool storesToTiles(scf::IfOp branch) {
    return branch
        ->walk([&](tile::StoreOp store) {
          return llvm::is_contained(tiles, store.getBuffer()) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
        })
        .wasInterrupted();
  }

  bool runsAlways(scf::IfOp branch) {
    Region& otherwise = branch.getElseRegion();
    if (branch.getNumResults() != 0 ||
        (!otherwise.empty() && !otherwise.front().without_terminator().empty()))
      return false;
    Block& block = branch.getThenRegion().front();
    for (Operation& op : block.without_terminator()) {
      auto load = dyn_cast<tile::LoadOp>(op);
      auto store = dyn_cast<tile::StoreOp>(op);
      const bool isHarmless = load    ? isThere(load)
                              : store ? llvm::is_contained(tiles, store.getBuffer())
                                      : op.getNumRegions() == 0 && isPure(&op);
      if (!isHarmless)
        return false;
    }
    block.getTerminator()->erase();
    branch->getBlock()->getOperations().splice(branch->getIterator(), block.getOperations());
    branch.erase();
    return true;
  }

  /// Whether an element has been written in all iterations, also where a branch around isn't taken.
  bool isThere(tile::LoadOp load) {
    const Value buffer = load.getBuffer();
    const BufferType type = load.getBuffer().getType();
    if (llvm::is_contained(tiles, buffer))
      return true;
    if (type.isGlobal() || type.isPerThread() || !buffer.getDefiningOp<tile::AllocOp>() ||
        !type.hasStaticShape() ||
        !llvm::all_of(llvm::zip(load.getIndices(), type.getShape()), [&](const auto& dim) {
          return terms.isWithin(std::get<0>(dim), std::get<1>(dim));
        }))
      return false;
    for (Operation* place = nest; !isa<tile::LaunchOp>(place); place = place->getParentOp())
      for (Operation* op = place->getPrevNode(); op; op = op->getPrevNode())
        if (writesAll(op, buffer))
          return true;
    return false;
  }

  static bool writesAll(Operation* op, Value buffer) {
    if (auto copy = dyn_cast<tile::CopyOp>(op))
      return copy.getTarget() == buffer && copy.getTargetRegion().isWhole();
    if (auto fill = dyn_cast<tile::FillOp>(op))
      return fill.getTarget() == buffer && fill.getTargetRegion().isWhole();
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return reduce.getTarget() == buffer && reduce.getTargetRegion().isWhole();
    auto other = dyn_cast<tile::ParallelOp>(op);
    if (!other)
      return false;
    const std::optional<SmallVector<int64_t>> known = getConstantIntValues(other.getMixedExtents());
    return known &&
           llvm::any_of(other.getBodyBlock()->getOps<tile::StoreOp>(), [&](tile::StoreOp store) {
             return store.getBuffer() == buffer &&
                    llvm::equal(store.getIndices(), other.getInductionVars()) &&
                    ArrayRef<int64_t>(*known) == store.getBuffer().getType().getShape();
           });
  }

  /// Numbers up to the nest's extents are compared at once, whatever the condition counts.
  void ask(scf::IfOp branch) {
    NestPart part;
    terms.cut(part, branch.getCondition(), /*holds=*/true);
    if (!part.isKnown || part.boxes.size() != 1)
      return;
    const NestBox& box = part.boxes.front();
    if (!box.conditions.empty() || box.isWhole())
      return;
    builder.setInsertionPoint(nest);
    struct Bounds {
      OpFoldResult first, end;
    };
    SmallVector<Bounds> bounds;
    for (size_t variable = 0; variable < nestRank(); ++variable)
      bounds.push_back(
          {terms.firstOf(box, variable, terms.extentOf(variable)), terms.endOf(box, variable)});
    builder.setInsertionPoint(branch);
    Value all;
    const auto ask = [&](arith::CmpIPredicate predicate, Value variable, Value bound) {
      Value one = arith::CmpIOp::create(builder, predicate, variable, bound);
      all = all ? arith::AndIOp::create(builder, all, one).getResult() : one;
    };
    const IndexMaker make(builder);
    for (auto [number, variable] : llvm::enumerate(nest.getInductionVars())) {
      if (!box.begins[number].empty())
        ask(arith::CmpIPredicate::sge, variable, make.value(bounds[number].first));
      if (!box.ends[number].empty())
        ask(arith::CmpIPredicate::slt, variable, make.value(bounds[number].end));
    }
    branch.getConditionMutable().assign(all);
  }

  tile::ParallelOp nest;
  Operation* last; ///< of the nest and what has been put behind it, in the
                   ///< order of the stores
  int64_t mostBytes;
  ImplicitLocOpBuilder builder;
  NestTerms terms;
  SmallVector<OneAccess, 0> accesses; ///< in order
  SmallVector<OneAccess, 0> numbers;  ///< loads in branches, the same in all iterations
  SmallVector<Value> tiles;           ///< made for them
  SmallVector<Value> filled;          ///< those of which every element is stored
  SmallVector<int64_t> extents;
};

class StageGlobalTiles : public KernelPass<StageGlobalTiles> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-stage-global-tiles";
  static constexpr llvm::StringLiteral kDescription =
      "nests work on tiles in UB instead of global memory";

  StageGlobalTiles(int64_t mostBytes, bool stages) : mostBytes(mostBytes), stages(stages) {}

  void runOnOperation() override {
    SmallVector<tile::ParallelOp> nests;
    getOperation().walk([&](tile::ParallelOp nest) { nests.push_back(nest); });
    for (tile::ParallelOp nest : nests) {
      auto scope = nest->getParentOfType<ScopeOp>();
      const bool isOfCube = scope && scope.getAgent() == Agent::Cube;
      if (isOfCube && NestStager(nest, mostBytes).runAsCopy())
        continue;
      const std::optional<std::string> why = isOfCube ? whyInCubeScope(nest) : std::nullopt;
      if (isOfCube && !why)
        giveToVectors(nest);
      if (why && usesElementsOfL0C(nest)) {
        nest.emitError("unsupported on ascend: ") << *why << "; put this nest into T.Scope(\"V\")";
        signalPassFailure();
      } else if (!why && stages) {
        NestStager(nest, mostBytes).run();
      }
    }
  }

private:
  static bool usesElementsOfL0C(tile::ParallelOp nest) {
    return nest
        .walk([](Operation* op) {
          return llvm::any_of(op->getOperandTypes(),
                              [](Type type) {
                                auto buffer = dyn_cast<BufferType>(type);
                                return buffer && buffer.getSpace() == MemorySpace::L0C;
                              })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Whether vid says where a nest stores to global memory.
  static bool storesByVid(tile::ParallelOp nest) {
    return nest
        .walk([](Operation* op) {
          auto store = dyn_cast<tile::StoreOp>(op);
          auto atomic = dyn_cast<tile::AtomicOp>(op);
          const ValueRange indices = store    ? ValueRange(store.getIndices())
                                     : atomic ? ValueRange(atomic.getIndices())
                                              : ValueRange();
          return llvm::any_of(indices, npu::differsByVid) ? WalkResult::interrupt()
                                                          : WalkResult::advance();
        })
        .wasInterrupted();
  }

  static void giveToVectors(tile::ParallelOp nest) {
    if (storesByVid(nest))
      nest.emitWarning(
          "this nest runs once per block and with a vid of 0, as T.Scope(\"C\") has it, "
          "so nobody stores the part of vid 1: take all of the tile without vid, or "
          "put the nest into T.Scope(\"V\")");
    leaveCubeScope(nest);
    nest.emitRemark()
        << "the cube core has no vector unit: vector cores run this nest, to which the "
           "gemm's tile goes through global memory";
    if (mayHaveTwoVectors(nest->getParentOfType<tile::LaunchOp>()))
      nest->setAttr(kOnceAttr, UnitAttr::get(nest.getContext()));
  }

  int64_t mostBytes;
  bool stages;
};

} // namespace

std::unique_ptr<Pass> createStageGlobalTiles(const chips::AscendChip& chip, bool stages) {
  // Other tiles need room, too.
  return std::make_unique<StageGlobalTiles>(capacityOf(chip, MemorySpace::UB) / 4, stages);
}

} // namespace tilewright::ascend
