// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/joined_products.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/clear_conditions.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/remade_values.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Dominance.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

/// Neighbours in a block, of which gemms into one part are all that uses the tile.
class Group {
public:
  Group(Value tile, tile::GemmOp gemm)
      : opener(gemm), first(gemm), last(gemm), part(withKnownExtents(gemm.getCRegion())) {
    users.insert_range(npu::usersOf(tile));
    leaveLoops();
    takeMore();
  }

  tile::GemmOp opener; ///< whose own clear counts
  Operation *first, *last;
  BufferRegion part;
  SmallVector<tile::ForOp>
      loops; ///< around the opener, from the innermost one on; all if it clears

  SmallVector<tile::GemmOp> gemms() const {
    SmallVector<tile::GemmOp> all;
    for (Operation* op = first; op != last->getNextNode(); op = op->getNextNode())
      op->walk([&](tile::GemmOp gemm) {
        if (users.contains(gemm))
          all.push_back(gemm);
      });
    return all;
  }

private:
  bool uses(Operation* op) const {
    return op
        ->walk([&](Operation* inner) {
          return users.contains(inner) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Whether all uses in `op` are gemms that add to the part, but for the opener.
  bool isOfGroup(Operation* op) const {
    const auto adds = [&](Operation* user) {
      auto gemm = dyn_cast<tile::GemmOp>(user);
      return gemm == opener || (gemm && gemm.getC() == part.buffer && !gemm.getClearAccum() &&
                                !gemm.getClear() && isSameRegion(gemm.getCRegion(), part));
    };
    return !op->walk([&](Operation* user) {
                return users.contains(user) && !adds(user) ? WalkResult::interrupt()
                                                           : WalkResult::advance();
              }).wasInterrupted();
  }

  /// The product of a whole loop is one, if its part is the same in all turns.
  void leaveLoops() {
    if (opener.getClearAccum())
      return;
    bool isFirst = true;
    for (Operation *inner = opener, *around = inner->getParentOp();
         isa<scf::IfOp, tile::ForOp, tile::WhileOp>(around) && isOfGroup(around);
         inner = around, around = around->getParentOp()) {
      auto loop = dyn_cast<tile::ForOp>(around);
      isFirst &= loop && !mayBeSkipped(inner, nullptr);
      if (opener.getClear() && !(isFirst && clearsFirstOnly(loop)))
        return;
      if (!isLoop(around))
        continue;
      if (!isFixedIn(part, around))
        return;
      first = last = around;
      if (loop)
        loops.push_back(loop);
    }
  }

  /// Whether the opener clears in no turn of `loop` but the first one, and whether it does is known before.
  bool clearsFirstOnly(tile::ForOp loop) {
    SmallVector<Value> turns = {loop.getInductionVar()};
    for (tile::ForOp inner : loops) {
      if (!isFixedIn(inner.getLower(), loop) || !isFixedIn(inner.getUpper(), loop))
        return false;
      turns.push_back(inner.getInductionVar());
    }
    return holdsInFirstTurnOnly(opener.getClear(), loop) &&
           isFixedIn(opener.getClear(), loop, turns);
  }

  void takeMore() {
    for (Operation* next = last->getNextNode(); next && !hasExit(next);
         next = next->getNextNode()) {
      if (!uses(next))
        continue;
      if (!isOfGroup(next))
        return;
      last = next;
    }
  }

  llvm::DenseSet<Operation*> users;
};

/// Makes the product of a group.
class Product {
public:
  Product(const Group& group, ZeroProducts& zeroProducts, bool waits)
      : group(group), opener(group.opener), last(group.last), gemms(group.gemms()),
        zeroProducts(zeroProducts), waits(waits), before(group.first),
        builder(opener.getLoc(), group.first) {
    part = before.of(group.part);
    isKnown = !llvm::is_contained(part.staticExtents(), ShapedType::kDynamic);
    const SmallVector<int64_t> extents = wide().staticExtents();
    shape.append(extents.end() - 2, extents.end());
  }

  void make(func::FuncOp kernel, tile::AllocOp tile) {
    element = opener.getA().getType().getElementType();
    const std::string name = tile.getSymName().value_or("tile").str() + "_product";
    builder.setInsertionPointAfter(tile);
    product = makeTile(MemorySpace::L0C, name);
    builder.setInsertionPoint(group.first);
    findCondition();
    const bool isCopied = isCleared;
    if (!isCopied && isClearedIf)
      clearTile();
    const bool isSummedApart = !isKnown && !isWritten(tile, kernel);
    clearProduct(kernel);
    builder.setInsertionPointAfter(last);
    if (isCopied)
      return copyToTile();
    builder.setInsertionPointAfter(tile);
    Value twin = makeTile(MemorySpace::UB, name + "_ub");
    Value old = isSummedApart ? makeTile(MemorySpace::UB, name + "_old") : Value();
    builder.setInsertionPointAfter(last);
    if (isKnown)
      addToTile(twin);
    else if (isSummedApart)
      addApart(twin, old);
    else
      addPart(twin);
  }

private:
  Value makeTile(MemorySpace space, const std::string& name) {
    return tile::AllocOp::create(builder,
                                 BufferType::get(shape, part.type().getElementType(), space),
                                 builder.getStringAttr(name), IntegerAttr());
  }

  tile::FillOp fillWithZero(const BufferRegion& region) {
    Value zero =
        arith::ConstantOp::create(builder, builder.getZeroAttr(region.type().getScalarType()));
    return tile::FillOp::create(builder, zero, region);
  }

  /// The part, and where an extent is known at run time only, all that the tile has in this dim.
  BufferRegion wide() {
    BufferRegion all = part;
    const SmallVector<int64_t> extents = part.staticExtents();
    for (size_t dim = 0; dim < extents.size(); ++dim)
      if (ShapedType::isDynamic(extents[dim])) {
        all.offsets[dim] = builder.getIndexAttr(0);
        all.extents[dim] = builder.getIndexAttr(part.type().getShape()[dim]);
      }
    return all;
  }

  /// What a part of the tile is of the product, from its first row and column on.
  BufferRegion inProduct(const BufferRegion& region) {
    BufferRegion inside = BufferRegion::whole(product);
    if (!isKnown)
      llvm::copy(ArrayRef(region.extents).take_back(2), inside.extents.begin());
    return inside;
  }

  /// What the part is of a tile that has the rows and columns of `wide`.
  BufferRegion inTwin(Value twin) {
    BufferRegion inside = BufferRegion::whole(twin);
    const SmallVector<int64_t> extents = part.staticExtents();
    for (size_t dim = 0, in = extents.size() - 2; dim < 2; ++dim, ++in)
      if (ShapedType::isDynamic(extents[in])) {
        inside.offsets[dim] = part.offsets[in];
        inside.extents[dim] = part.extents[in];
      }
    return inside;
  }

  /// The first gemm clears the product, if it is sure to multiply something.
  void clearProduct(func::FuncOp kernel) {
    const bool mayFold = llvm::all_of(gemms, multipliesSomething);
    tile::FillOp fill = fillWithZero(mayFold ? inProduct(part) : BufferRegion::whole(product));
    for (tile::GemmOp gemm : gemms)
      retarget(gemm);
    if (mayFold && foldIntoGemm(kernel, fill))
      return;
    builder.setInsertionPoint(fill);
    tile::FillOp all = fillWithZero(BufferRegion::whole(product));
    zeroProducts.clear(all, product, element);
    all.erase();
    fill.erase();
  }

  /// Whether all of the tile has been written before, whichever way the kernel has gone.
  bool isWritten(tile::AllocOp tile, func::FuncOp kernel) const {
    const DominanceInfo dominance(kernel);
    const auto writesAll = [&](Operation* op) {
      auto fill = dyn_cast<tile::FillOp>(op);
      auto copy = dyn_cast<tile::CopyOp>(op);
      if (!fill && !copy)
        return false;
      const BufferRegion target = fill ? fill.getTargetRegion() : copy.getTargetRegion();
      return target.buffer == tile.getResult() && target.isWhole() &&
             dominance.properlyDominates(op, group.first);
    };
    return llvm::any_of(tile->getUsers(), writesAll);
  }

  /// Whether the opener clears the tile, and where only the kernel knows, or where its loops may run no turn:
  /// if what.
  void findCondition() {
    isCleared = opener.getClearAccum();
    Value clear = opener.getClear();
    if (!clear)
      return;
    FirstTurn turn(opener);
    for (tile::ForOp loop : group.loops)
      turn.add(loop);
    isCleared = turn.holds(clear);
    for (tile::ForOp loop : llvm::reverse(group.loops))
      before.assume(loop.getInductionVar(), before.of(loop.getLower()));
    if (!isCleared)
      isClearedIf = before.of(clear);
    for (tile::ForOp loop : group.loops) {
      if (!mayRunNoIteration(loop))
        continue;
      Value runs = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt,
                                         before.of(loop.getLower()), before.of(loop.getUpper()));
      isClearedIf =
          isClearedIf ? arith::AndIOp::create(builder, isClearedIf, runs).getResult() : runs;
    }
  }

  void clearTile() {
    auto branch = scf::IfOp::create(builder, isClearedIf, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenYield());
    fillWithZero(part);
    builder.setInsertionPointAfter(branch);
  }

  void retarget(tile::GemmOp gemm) {
    OpBuilder here(gemm);
    auto made = tile::GemmOp::create(here, gemm.getLoc(), gemm.getARegion(), gemm.getBRegion(),
                                     inProduct(withKnownExtents(gemm.getCRegion())),
                                     gemm.getTransposeA(), gemm.getTransposeB(),
                                     /*clear=*/Value(), gemm.getClearAccum(), gemm.getPolicy());
    if (last == gemm)
      last = made;
    gemm.erase();
  }

  void copyToTile() {
    if (isClearedIf) {
      auto branch = scf::IfOp::create(builder, isClearedIf, /*withElseRegion=*/false);
      builder.setInsertionPoint(branch.thenYield());
    }
    tile::CopyOp::create(builder, inProduct(part), part);
    orderAll();
  }

  void addToTile(Value twin) {
    tile::CopyOp::create(builder, BufferRegion::whole(product), BufferRegion::whole(twin));
    orderAll();
    add(twin, part);
  }

  /// The vector unit takes tiles of a known size, so all is added, with 0 around the part.
  void addPart(Value twin) {
    copyAmongZeros(inProduct(part), twin);
    add(twin, wide());
  }

  /// What is around the part may never have been written: the part is added in a tile of its own.
  void addApart(Value twin, Value old) {
    copyAmongZeros(inProduct(part), twin);
    copyAmongZeros(part, old);
    add(twin, BufferRegion::whole(old));
    tile::CopyOp::create(builder, inTwin(old), part);
    orderAll();
  }

  void copyAmongZeros(const BufferRegion& from, Value to) {
    fillWithZero(BufferRegion::whole(to));
    orderAll();
    tile::CopyOp::create(builder, from, inTwin(to));
    orderAll();
  }

  /// sum += twin
  void add(Value twin, const BufferRegion& sum) {
    OpBuilder::InsertionGuard guard(builder);
    const SmallVector<int64_t> all = sum.staticExtents();
    SmallVector<size_t> dims;
    SmallVector<OpFoldResult> extents;
    for (size_t dim = all.size() - 2; dim < all.size(); ++dim)
      if (all[dim] != 1 || dim + 1 == all.size()) {
        dims.push_back(dim);
        extents.push_back(builder.getIndexAttr(all[dim]));
      }
    auto nest = tile::ParallelOp::create(builder, extents);
    orderAll();
    builder.setInsertionPointToStart(nest.getBodyBlock());
    SmallVector<Value> inTile, inMore;
    for (OpFoldResult offset : sum.offsets)
      inTile.push_back(getValueOrCreateConstantIndexOp(builder, builder.getLoc(), offset));
    for (size_t dim = all.size() - 2; dim < all.size(); ++dim) {
      const auto* at = llvm::find(dims, dim);
      if (at == dims.end()) {
        inMore.push_back(arith::ConstantIndexOp::create(builder, 0));
        continue;
      }
      Value index = nest.getInductionVars()[size_t(at - dims.begin())];
      inMore.push_back(index);
      inTile[dim] = isConstantIntValue(sum.offsets[dim], 0)
                        ? index
                        : arith::AddIOp::create(builder, inTile[dim], index).getResult();
    }
    const Type number = sum.type().getScalarType();
    Value before = load(number, sum.buffer, inTile), more = load(number, twin, inMore);
    Value both = isa<FloatType>(number) ? arith::AddFOp::create(builder, before, more).getResult()
                                        : arith::AddIOp::create(builder, before, more).getResult();
    tile::StoreOp::create(builder, both, sum.buffer, inTile, /*in_bounds=*/true);
  }

  Value load(Type number, Value buffer, ArrayRef<Value> indices) {
    return tile::LoadOp::create(builder, number, buffer, indices, /*in_bounds=*/true);
  }

  void orderAll() {
    if (waits)
      PipeBarrierOp::create(builder, Pipe::All);
  }

  const Group& group;
  tile::GemmOp opener;
  Operation* last;
  SmallVector<tile::GemmOp> gemms;
  ZeroProducts& zeroProducts;
  bool waits;
  RemadeValues before;
  ImplicitLocOpBuilder builder;
  BufferRegion part;
  bool isKnown = true; ///< the part's extents
  SmallVector<int64_t> shape;
  Type element;
  Value product;
  bool isCleared = false;
  Value isClearedIf; ///< null: always, as `isCleared` says
};

} // namespace

LogicalResult ProductJoiner::join(func::FuncOp kernel, Value tile, tile::GemmOp gemm) {
  const Group group(tile, gemm);
  Product(group, zeroProducts, waits).make(kernel, tile.getDefiningOp<tile::AllocOp>());
  return success();
}

} // namespace tilewright::ascend
