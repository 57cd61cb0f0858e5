// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/multiply_in_place.h"

#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/analysis/same_number.h"
#include "compiler/targets/ascend/gemm_pieces.h"
#include "compiler/targets/ascend/low_columns.h"
#include "compiler/targets/ascend/run_time_extents.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Dominance.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::MemorySpace;

/// Copies that may be the last to write a buffer before `reader` runs.
SmallVector<tile::CopyOp> lastCopiesTo(Value storage, Operation* reader) {
  SmallVector<tile::CopyOp> found;
  const auto isWrite = [&](Operation* op) {
    auto copy = dyn_cast<tile::CopyOp>(op);
    return copy && npu::storageOf(copy.getTarget()) == storage;
  };
  // From `op` backwards; whether one was found that runs for sure.
  const auto collect = [&](Operation* op) {
    for (; op; op = op->getPrevNode()) {
      if (isWrite(op)) {
        found.push_back(cast<tile::CopyOp>(op));
        return true;
      }
      op->walk([&](tile::CopyOp copy) {
        if (isWrite(copy))
          found.push_back(copy);
      });
    }
    return false;
  };
  for (Operation* op = reader; op && !isa<tile::LaunchOp>(op); op = op->getParentOp()) {
    if (collect(op->getPrevNode()))
      break;
    // What an iteration begins with, the one before has left.
    if (isa<tile::ForOp, tile::WhileOp>(op->getParentOp()))
      collect(&op->getBlock()->back());
  }
  return found;
}

/// Whether two numbers are the same for sure.
bool isOneNumber(OpFoldResult left, OpFoldResult right) {
  return left == right || (isa<Value>(left) && isa<Value>(right) &&
                           isSameNumber(cast<Value>(left), cast<Value>(right)));
}

class Multiplication {
public:
  explicit Multiplication(tile::GemmOp gemm)
      : gemm(gemm), builder(gemm.getLoc(), gemm), make(builder), a(gemm.getARegion()),
        b(gemm.getBRegion()), c(gemm.getCRegion()), c0(npu::blockElements(a.type())) {
    const size_t rank = c.extents.size();
    m = extentOf({{&a, a.extents.size() - 2}, {&c, rank - 2}});
    n = extentOf({{&b, b.extents.size() - 1}, {&c, rank - 1}});
    k = extentOf({{&a, a.extents.size() - 1}, {&b, b.extents.size() - 2}});
    copiesToA = lastCopiesTo(npu::storageOf(a.buffer), gemm);
    copiesToB = lastCopiesTo(npu::storageOf(b.buffer), gemm);
  }

  LogicalResult run() {
    SmallVector<Value> offsets;
    for (const auto& [region, role] : {std::pair(&a, "a"), std::pair(&b, "b")}) {
      auto [row, column] = placeInTile(make, region->offsets);
      if (!isConstantIntValue(row, 0) || !isConstantIntValue(column, 0))
        return gemm.emitError() << "unsupported on ascend: " << role << " of a gemm is a part of "
                                << "a tile in " << stringifyMemorySpace(region->type().getSpace());
      offsets.push_back(make.value(tileOffset(make, region->type(), region->offsets)));
    }
    if (failed(countSquares()) || failed(requireAsFilled(a, "a", k, copiesToA)) ||
        failed(requireAsFilled(b, "b", n, copiesToB)) || failed(countRows()) ||
        failed(requireColumns()))
      return failure();
    // Of no products no sum is made, not even 0.
    requireDepth(builder, gemm, k, "T.mma");
    const int64_t mostRows = roundUp(m.most, kFractalSide),
                  mostColumns = roundUp(n.most, columnUnit);
    SmallVector<Value> counts;
    if (!m.isKnown() || !n.isKnown() || !k.isKnown())
      counts = {m.isKnown() ? make.constant(mostRows) : make.value(m.count),
                n.isKnown() ? make.constant(mostColumns) : make.value(columns()),
                make.value(k.count)};
    const bool isAlone = !counts.empty() && isAloneInResult(gemm);
    auto product = npu::MmadOp::create(
        builder, a.buffer, offsets[0], b.buffer, offsets[1], c.buffer, make.value(offsetOfResult()),
        init(), counts, uint64_t(mostRows), uint64_t(mostColumns), uint64_t(k.most), isInPairs);
    if (hasLowColumns)
      product->setAttr(kLowColumnsAttr, builder.getUnitAttr());
    if (isAlone)
      product->setAttr(npu::kAloneAttr, builder.getUnitAttr());
    gemm.erase();
    return success();
  }

private:
  RunTimeExtent extentOf(std::initializer_list<std::pair<const BufferRegion*, size_t>> sides) {
    return RunTimeExtent::of(gemm, sides);
  }

  /// Int8 and float32 that are transposed on the way come to L0 in squares, of which all count that are loaded.
  LogicalResult countSquares() {
    const auto isTurned = [](bool isToA) {
      return [isToA](tile::CopyOp copy) { return copy.getTranspose() == isToA; };
    };
    isInPairs = false;
    const bool isEven = k.isKnown() && roundUp(k.most, 2 * c0) == roundUp(k.most, c0);
    if (a.type().getElementBits() == 32 && !isEven && llvm::any_of(copiesToA, isTurned(true))) {
      isInPairs = true;
      if (!llvm::all_of(copiesToA, isTurned(true)))
        return refuseUnlike("a");
    }
    columnUnit = kFractalSide;
    const bool isWhole = n.isKnown() && n.most % c0 == 0;
    if (c0 > kFractalSide && !isWhole && llvm::any_of(copiesToB, isTurned(false))) {
      columnUnit = c0;
      if (!llvm::all_of(copiesToB, isTurned(false)))
        return refuseUnlike("b");
    }
    return success();
  }

  LogicalResult refuseUnlike(StringRef role) {
    return gemm.emitError() << "unsupported on ascend: " << role << " of a gemm, of extents that "
                            << "are known at run time only, comes from one copy with transpose "
                            << "and from another without";
  }

  /// The fractals of L0 lie row by row, each as wide as what a copy has filled: each copy that this may be.
  LogicalResult requireAsFilled(const BufferRegion& region, StringRef role,
                                const RunTimeExtent& needed, ArrayRef<tile::CopyOp> copies) {
    const bool isA = region.type().getSpace() == MemorySpace::L0A;
    const int64_t unit = isA ? (isInPairs ? 2 * c0 : c0) : columnUnit;
    const int64_t oneRow = isA ? kFractalSide : c0;
    const RunTimeExtent& lines = isA ? m : k;
    if (lines.most <= oneRow)
      return success();
    const DominanceInfo dominance(gemm->getParentOp());
    for (tile::CopyOp copy : copies) {
      const BufferRegion target = copy.getTargetRegion();
      const auto width = RunTimeExtent::of(copy, {{&target, target.extents.size() - 1}});
      if (width.isSameAs(needed))
        continue;
      if (width.isKnown() && needed.isKnown()) {
        if (roundUp(width.most, unit) == roundUp(needed.most, unit))
          continue;
        InFlightDiagnostic error = gemm.emitError()
                                   << "unsupported on ascend: "
                                   << asFilled(region, role, std::to_string(needed.most),
                                               std::to_string(width.most));
        error.attachNote(copy.getLoc()) << "the copy is here";
        return error;
      }
      // Of several copies nothing is known, nor of one that may fill another slot.
      if (copies.size() == 1 && isSameTile(target, region) &&
          dominance.properlyDominates(copy, gemm))
        requireSame(width, needed, unit, lines, oneRow, asFilled(region, role, "{}", "{}"));
    }
    return success();
  }

  /// Whether two regions of one buffer are of the same of its tiles for sure.
  static bool isSameTile(const BufferRegion& left, const BufferRegion& right) {
    return left.offsets.size() == right.offsets.size() &&
           llvm::all_of(
               llvm::zip(ArrayRef(left.offsets).drop_back(2), ArrayRef(right.offsets).drop_back(2)),
               [](const auto& pair) { return isOneNumber(std::get<0>(pair), std::get<1>(pair)); });
  }

  static std::string asFilled(const BufferRegion& region, StringRef role,
                              const std::string& columns, const std::string& filled) {
    const bool isA = region.type().getSpace() == MemorySpace::L0A;
    return role.str() + " of a gemm is " + columns + " columns of a tile in " +
           (isA ? "L0A" : "L0B") + " that a copy fills with " + filled +
           ", so that its rows do not meet; copy these columns only";
  }

  /// As the kernel runs: as many fractals in each row, or one row.
  void requireSame(const RunTimeExtent& width, const RunTimeExtent& needed, int64_t unit,
                   const RunTimeExtent& lines, int64_t oneRow, const std::string& sentence) {
    const auto fractals = [&](const RunTimeExtent& extent) {
      return make.value(make.div(make.add(extent.count, make.index(unit - 1)), unit));
    };
    using enum arith::CmpIPredicate;
    Value holds = arith::CmpIOp::create(builder, eq, fractals(needed), fractals(width));
    if (!lines.isKnown()) {
      Value isOne =
          arith::CmpIOp::create(builder, sle, make.value(lines.count), make.constant(oneRow));
      holds = arith::OrIOp::create(builder, holds, isOne);
    }
    requireHere(builder, holds, sentence, {make.value(needed.count), make.value(width.count)},
                Agent::Cube);
  }

  /// The cube unit writes columns of 16 of its m rows side by side: several of them fill a tile of as many rows, or one
  /// that they have for themselves.
  LogicalResult countRows() {
    const int64_t ofTile = npu::fractalRows(c.type());
    if (n.most <= kFractalSide || (m.isKnown() && roundUp(m.most, kFractalSide) == ofTile))
      return success();
    hasLowColumns = true;
    if (isConstantIntValue(placeInTile(make, c.offsets).first, 0) && isAloneInResult(gemm))
      return success();
    if (m.isKnown())
      return gemm.emitError() << "unsupported on ascend: T.mma into " << m.most
                              << " rows of a tile of " << ofTile
                              << " in L0C, whose columns its product would not meet; give the rows "
                              << "a tile of their own, take columns, or use T.gemm_v0";
    return gemm.emitError() << "unsupported on ascend: T.mma into rows of a tile of " << ofTile
                            << " in L0C, whose columns its product would not meet where it has "
                            << "fewer: their number is known at run time only, and there are other "
                            << "parts of the tile; give these rows a tile of their own";
  }

  /// What is computed besides n must have room.
  LogicalResult requireColumns() {
    const OpFoldResult column = placeInTile(make, c.offsets).second;
    const int64_t size = c.type().getShape().back();
    const int64_t all = roundUp(c.type().getShape().back(), kFractalSide);
    const int64_t first = getConstantIntValue(column).value_or(size - n.most);
    const bool isWider = roundUp(n.most, columnUnit) > roundUp(n.most, kFractalSide);
    if (isWider && !isAloneInResult(gemm))
      return gemm.emitError() << "unsupported on ascend: T.mma of columns of "
                              << tile::dtypeName(b.type().getElementType())
                              << ", which a copy transposes on their way, makes up to "
                              << roundUp(n.most, columnUnit)
                              << " columns of a tile in L0C, of which it takes up to " << n.most
                              << ", and there are other parts of the tile; give these columns a "
                              << "tile of their own";
    if (first + roundUp(n.most, columnUnit) <= all)
      return success();
    return gemm.emitError() << "unsupported on ascend: T.mma of columns of "
                            << tile::dtypeName(b.type().getElementType())
                            << ", which a copy transposes on their way, makes up to "
                            << first + roundUp(n.most, columnUnit) << " of a tile of " << all
                            << " in L0C; give it as many";
  }

  OpFoldResult columns() {
    if (columnUnit == kFractalSide)
      return n.count;
    return roundUpTo(make, n.count, columnUnit);
  }

  Value init() {
    if (gemm.getClear() && !gemm.getClearAccum())
      return gemm.getClear();
    return arith::ConstantOp::create(builder, builder.getBoolAttr(gemm.getClearAccum()));
  }

  OpFoldResult offsetOfResult() {
    auto [row, column] = placeInTile(make, c.offsets);
    const OpFoldResult height = hasLowColumns
                                    ? roundUpTo(make, m.count, kFractalSide)
                                    : OpFoldResult(make.index(npu::fractalRows(c.type())));
    return make.add(tileOffset(make, c.type(), c.offsets),
                    make.add(make.product(column, height), make.mul(row, kFractalSide)));
  }

  tile::GemmOp gemm;
  ImplicitLocOpBuilder builder;
  IndexMaker make;
  BufferRegion a, b, c;
  int64_t c0;
  RunTimeExtent m, n, k;
  int64_t columnUnit = kFractalSide;
  bool isInPairs = false, hasLowColumns = false;
  SmallVector<tile::CopyOp> copiesToA, copiesToB;
};

/// Of a tile in L0C: all gemms have one part of it.
constexpr llvm::StringLiteral kOnePartAttr = "npu.one_part";

} // namespace

bool isAloneInResult(tile::GemmOp gemm) {
  const BufferRegion c = gemm.getCRegion();
  auto tile = npu::storageOf(c.buffer).getDefiningOp<tile::AllocOp>();
  if (!tile || tile->hasAttr(kOnePartAttr))
    return bool(tile);
  const auto areSame = [](ArrayRef<OpFoldResult> left, ArrayRef<OpFoldResult> right) {
    return llvm::all_of(llvm::zip(left.take_back(2), right.take_back(2)), [](const auto& pair) {
      return isOneNumber(std::get<0>(pair), std::get<1>(pair));
    });
  };
  const auto isThisPart = [&](const BufferRegion& part) {
    return part.buffer == c.buffer && areSame(part.offsets, c.offsets) &&
           areSame(part.extents, c.extents);
  };
  const bool isAlone = llvm::all_of(npu::usersOf(tile), [&](Operation* user) {
    if (auto other = dyn_cast<tile::GemmOp>(user))
      return other->hasAttr("mma") == gemm->hasAttr("mma") && isThisPart(other.getCRegion());
    auto copy = dyn_cast<tile::CopyOp>(user);
    return copy && npu::storageOf(copy.getTarget()) != tile.getResult();
  });
  if (isAlone)
    tile->setAttr(kOnePartAttr, UnitAttr::get(gemm.getContext()));
  return isAlone;
}

LogicalResult multiplyInPlace(tile::GemmOp gemm) {
  return Multiplication(gemm).run();
}

} // namespace tilewright::ascend
