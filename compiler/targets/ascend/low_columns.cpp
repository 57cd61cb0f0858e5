// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/low_columns.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/targets/ascend/clear_conditions.h"
#include "compiler/targets/ascend/multiply_in_place.h"
#include "compiler/targets/ascend/run_time_extents.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Dominance.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;

/// Of a tile in L0C: whether its columns may be low.
constexpr llvm::StringLiteral kMayBeLowAttr = "npu.may_be_low";

/// The gemms into one tile, and the copies out of it, of which each number of rows lives as long as the block does in which it
/// is computed.
class RowsOfTile {
public:
  RowsOfTile(tile::GemmOp gemm, tile::AllocOp tile)
      : region(gemm.getCRegion()), row(region.extents.size() - 2), tile(tile),
        rows(RunTimeExtent::of(gemm, {{&region, row}})) {
    // In text order.
    gemm->getParentOfType<func::FuncOp>().walk([&](Operation* op) {
      const bool isUse = npu::usesStorage(op, tile);
      if (auto multiply = dyn_cast<tile::GemmOp>(op); multiply && isUse)
        gemms.push_back(multiply);
      else if (auto copy = dyn_cast<tile::CopyOp>(op); copy && isUse)
        copies.push_back(copy);
    });
  }

  bool areOne() const {
    Value count = dyn_cast<Value>(rows.count);
    return count && isConstantIntValue(region.offsets[row], 0) && isAloneInResult(gemms.front()) &&
           areClearedWith(count.getParentBlock()) &&
           llvm::all_of(copies, [&](tile::CopyOp copy) { return takesTheseRows(copy); });
  }

private:
  /// Whether the tile is cleared first whenever the number is computed anew.
  bool areClearedWith(Block* block) const {
    tile::GemmOp first = gemms.front();
    Operation* ofTile = block->findAncestorOpInBlock(*tile);
    if (ofTile)
      return true; // both live as long
    Operation* op = first;
    FirstTurn turn(first);
    for (; op->getBlock() != block; op = op->getParentOp()) {
      auto loop = dyn_cast_or_null<tile::ForOp>(op->getParentOp());
      if (!loop || mayBeSkipped(op, nullptr) || mayLeaveOutSome(loop, block))
        return false;
      turn.add(loop);
    }
    return first.getClearAccum() || (first.getClear() && turn.holds(first.getClear()));
  }

  /// Whether the loop may run no turn with one of the numbers, but some with another.
  bool mayLeaveOutSome(tile::ForOp loop, Block* block) const {
    Operation* around = block->getParentOp();
    for (; around->getBlock() != tile->getBlock(); around = around->getParentOp())
      if (isa<tile::LaunchOp>(around->getParentOp()))
        break;
    const auto isFixed = [&](Value bound) {
      return !around->isAncestor(bound.getParentBlock()->getParentOp()) ||
             getConstantIntValue(bound);
    };
    return !(isFixed(loop.getLower()) && isFixed(loop.getUpper())) && mayRunNoIteration(loop);
  }

  /// Of a copy: whether it stands behind the gemms, where their number is known, and takes no more.
  bool takesTheseRows(tile::CopyOp copy) const {
    const BufferRegion source = copy.getSourceRegion();
    const size_t itsRow = source.extents.size() - 2;
    const auto taken = RunTimeExtent::of(copy, {{&source, itsRow}});
    return isConstantIntValue(source.offsets[itsRow], 0) && rows.isSameAs(taken) &&
           cast<Value>(rows.count).getParentBlock()->findAncestorOpInBlock(*copy) &&
           llvm::all_of(gemms, [&](tile::GemmOp gemm) { return isBehind(copy, gemm); });
  }

  static bool isBehind(Operation* later, Operation* earlier) {
    for (Block* block = later->getBlock(); block; block = block->getParentOp()->getBlock())
      if (Operation* before = block->findAncestorOpInBlock(*earlier))
        return before->isBeforeInBlock(block->findAncestorOpInBlock(*later));
    return false;
  }

  BufferRegion region;
  size_t row;
  tile::AllocOp tile;
  RunTimeExtent rows;
  SmallVector<tile::GemmOp> gemms;
  SmallVector<tile::CopyOp> copies;
};

/// A number where `place` stands, computed anew if it must be; null where that can't be.
Value knownAt(Operation* place, Value number, const DominanceInfo& dominance, IRMapping& made) {
  if (dominance.properlyDominates(number, place))
    return number;
  if (const Value known = made.lookupOrNull(number))
    return known;
  Operation* op = number.getDefiningOp();
  if (!op || !isPure(op) || op->getNumRegions() != 0)
    return {};
  for (Value operand : op->getOperands()) {
    const Value known = knownAt(place, operand, dominance, made);
    if (!known)
      return {};
    made.map(operand, known);
  }
  OpBuilder(place).clone(*op, made);
  return made.lookup(number);
}

/// Where a copy of what a product of an earlier turn has made stands before the next one: the outermost loop around both.
/// Else the copy itself.
Operation* whereProductIsKnown(tile::CopyOp copy, npu::MmadOp product) {
  Operation* before = copy;
  while (before && !before->getBlock()->findAncestorOpInBlock(*product))
    before = before->getParentOp();
  if (!before || !before->isBeforeInBlock(before->getBlock()->findAncestorOpInBlock(*product)))
    return copy;
  Operation* place = copy;
  for (Operation* around = before->getParentOp(); around && !isa<tile::LaunchOp>(around);
       around = around->getParentOp())
    if (isa<tile::ForOp, tile::WhileOp, LoopLikeOpInterface>(around))
      place = around;
  return place;
}

/// On a store to a variable: how high columns of a tile in L0C lie from there on.
constexpr llvm::StringLiteral kHeightAttr = "npu.height";

/// The variable that says how high columns lie: the one that there is, or a new one, which each product into the tile sets.
Value heightVariable(tile::AllocOp tile, ArrayRef<npu::MmadOp> products) {
  if (auto store = dyn_cast_or_null<tile::StoreOp>(products.front()->getNextNode());
      store && store->hasAttr(kHeightAttr))
    return store.getBuffer();
  ImplicitLocOpBuilder builder(tile.getLoc(), tile->getContext());
  builder.setInsertionPointAfter(tile);
  const Type number = builder.getIntegerType(32, /*isSigned=*/true);
  const std::string name = (tile.getSymName().value_or("product") + "_rows").str();
  Value variable =
      tile::AllocOp::create(builder, tile::BufferType::get({}, number, tile::MemorySpace::Var),
                            builder.getStringAttr(name), IntegerAttr());
  const auto set = [&](OpFoldResult height) {
    const IndexMaker make(builder);
    Value value = arith::IndexCastOp::create(builder, builder.getI32Type(), make.value(height));
    tile::StoreOp::create(builder, value, variable, ValueRange(), /*in_bounds=*/true)
        ->setAttr(kHeightAttr, builder.getUnitAttr());
  };
  set(builder.getIndexAttr(npu::fractalRows(tile.getType())));
  for (npu::MmadOp product : products) {
    builder.setLoc(product.getLoc());
    builder.setInsertionPointAfter(product);
    set(roundUpTo(IndexMaker(builder), product.getCounts().front(), kFractalSide));
  }
  return variable;
}

} // namespace

bool mayHaveLowColumns(tile::GemmOp gemm) {
  auto tile = npu::storageOf(gemm.getC()).getDefiningOp<tile::AllocOp>();
  if (!tile)
    return false;
  if (auto known = tile->getAttrOfType<BoolAttr>(kMayBeLowAttr))
    return known.getValue();
  const bool mayBe = RowsOfTile(gemm, tile).areOne();
  tile->setAttr(kMayBeLowAttr, BoolAttr::get(gemm.getContext(), mayBe));
  return mayBe;
}

OpFoldResult columnHeight(ImplicitLocOpBuilder& builder, tile::CopyOp copy, Value buffer) {
  const IndexMaker make(builder);
  SmallVector<npu::MmadOp> products;
  const Value storage = npu::storageOf(buffer);
  for (Operation* user : npu::usersOf(storage))
    if (auto product = dyn_cast<npu::MmadOp>(user); product && product->hasAttr(kLowColumnsAttr))
      products.push_back(product);
  if (products.empty())
    return make.index(npu::fractalRows(cast<tile::BufferType>(buffer.getType())));
  npu::MmadOp product = products.front();
  if (product.getCounts().empty())
    return make.index(int64_t(product.getM()));
  const DominanceInfo dominance(copy->getParentOp());
  IRMapping made;
  if (const Value rows =
          knownAt(whereProductIsKnown(copy, product), product.getCounts().front(), dominance, made))
    return roundUpTo(make, getAsOpFoldResult(rows), kFractalSide);
  const Value variable = heightVariable(storage.getDefiningOp<tile::AllocOp>(), products);
  const Value height = tile::LoadOp::create(builder, builder.getI32Type(), variable, ValueRange(),
                                            /*in_bounds=*/true);
  return arith::IndexCastOp::create(builder, builder.getIndexType(), height).getResult();
}

} // namespace tilewright::ascend
