// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/gemm_pieces.h"

#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/low_columns.h"
#include "compiler/targets/ascend/multiply_in_place.h"
#include "compiler/targets/ascend/short_loops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

namespace {

/// m and n come in fractals of 16; where they are transposed on the way, in blocks.
int64_t unitOf(int64_t c0, bool isTransposedOnTheWay) {
  return isTransposedOnTheWay ? std::max(c0, kFractalSide) : kFractalSide;
}

} // namespace

int64_t rowUnitOf(BufferType operand) {
  return std::max(npu::blockElements(operand), kFractalSide);
}

GemmShape GemmShape::of(tile::GemmOp gemm, const GemmRooms& rooms) {
  const BufferRegion a = gemm.getARegion(), b = gemm.getBRegion(), c = gemm.getCRegion();
  const bool turnsA = gemm.getTransposeA(), turnsB = gemm.getTransposeB();
  const size_t ofA = a.extents.size(), ofB = b.extents.size(), ofC = c.extents.size();
  GemmShape shape;
  shape.m = RunTimeExtent::of(gemm, {{&a, ofA - (turnsA ? 1 : 2)}, {&c, ofC - 2}});
  shape.k = RunTimeExtent::of(gemm, {{&a, ofA - (turnsA ? 2 : 1)}, {&b, ofB - (turnsB ? 1 : 2)}});
  shape.n = RunTimeExtent::of(gemm, {{&b, ofB - (turnsB ? 2 : 1)}, {&c, ofC - 1}});
  shape.c0 = npu::blockElements(a.type());

  const int64_t unit = rowUnitOf(a.type()), bits = int64_t(a.type().getElementBits());
  const int64_t unitOfN = unitOf(shape.c0, !turnsB), n = roundUp(shape.n.most, kFractalSide);
  const int64_t rows = roundUp(shape.m.most, unitOf(shape.c0, turnsA));
  const int64_t columns = roundUp(shape.n.most, unitOfN);
  // The cube unit writes columns of 16 of its m rows side by side. Several of them fill a tile of as many rows only.
  const int64_t ofTile = npu::fractalRows(c.type());
  const bool hasAllRows = ofTile == kFractalSide ||
                          (shape.m.isKnown() && roundUp(shape.m.most, kFractalSide) == ofTile);
  const bool isInSquares = unitOfN > kFractalSide, fills = n <= kFractalSide || hasAllRows;
  shape.hasLowColumns = !fills && !shape.m.isKnown() && mayHaveLowColumns(gemm);
  shape.isInColumns =
      !(fills || shape.hasLowColumns) || (isInSquares && (!shape.n.isKnown() || columns != n));
  const int64_t most =
      std::min(rooms.a.half * 8 / (rows * bits), rooms.b.half * 8 / (columns * bits));
  shape.step = std::min(roundUp(shape.k.most, unit), most / unit * unit);
  // A square of b holds two columns of fractals, which lie side by side in one row of them only.
  if (shape.isInColumns && isInSquares)
    shape.step = std::min(shape.step, unit);
  return shape;
}

bool GemmPieces::comesInSquares() {
  return unitOf(shape.c0, !gemm.getTransposeB()) > kFractalSide;
}

GemmPieces::Stretch GemmPieces::stretchOfK(int64_t step) const {
  const int64_t first = step * shape.step, most = std::min(shape.step, shape.k.most - first);
  OpFoldResult count = make.index(most);
  if (!shape.k.isKnown()) {
    count = shape.k.count;
    if (first > 0)
      count = make.notNegative(make.sub(count, make.index(first)));
    if (first + most < shape.k.most)
      count = make.min(count, make.index(most));
  }
  return {make.index(first), {count, most}};
}

/// The columns that one multiplication makes at a time.
void GemmPieces::forEachPart(function_ref<void(const Stretch&)> body) {
  if (!shape.isInColumns)
    return body({make.index(0), shape.n});
  if (shape.n.isKnown()) {
    for (int64_t first = 0; first < shape.n.most; first += kFractalSide) {
      const int64_t count = std::min(kFractalSide, shape.n.most - first);
      body({make.index(first), {make.index(count), count}});
    }
    return;
  }
  // As many as there may be, so that who finds flags knows how far they go; those behind n are empty.
  const auto groups = int64_t(llvm::divideCeil(shape.n.most, kFractalSide));
  auto loop =
      tile::ForOp::create(builder, make.constant(0), make.constant(groups), make.constant(1));
  nameLoop(loop, "group");
  const OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBodyBlock());
  const OpFoldResult first = make.mul(loop.getInductionVar(), kFractalSide);
  const OpFoldResult left = make.notNegative(make.sub(shape.n.count, first));
  body({first, {make.min(left, make.index(kFractalSide)), kFractalSide}});
}

/// Where an operand's part lies in L0.
int64_t GemmPieces::startInA(int64_t turn) const {
  return turn * rooms.a.half * 8 / int64_t(a.type().getElementBits());
}

OpFoldResult GemmPieces::startInB(const Stretch& part, const Stretch& ofK, int64_t turn) const {
  const int64_t start = turn * rooms.b.half * 8 / int64_t(b.type().getElementBits());
  return make.add(make.index(start),
                  make.mul(part.first, roundUp(ofK.size.most, rowUnitOf(a.type()))));
}

void GemmPieces::load(int64_t step, int64_t turn, Value l0a, Value l0b) {
  const Stretch ofK = stretchOfK(step);
  const Stretch all{make.index(0), shape.n};
  loadOperand(a, gemm.getTransposeA(), l0a, make.index(startInA(turn)), ofK,
              {make.index(0), shape.m});
  const auto loadPart = [&](const Stretch& part) {
    loadOperand(b, gemm.getTransposeB(), l0b, startInB(part, ofK, turn), ofK, part);
  };
  if (comesInSquares())
    loadPart(all);
  else
    forEachPart(loadPart);
}

/// A stretch of k of some rows of a, or of some columns of b, to element `at` of L0.
void GemmPieces::loadOperand(const BufferRegion& region, bool isTransposed, Value l0,
                             OpFoldResult at, const Stretch& ofK, const Stretch& ofResult) {
  const MemorySpace to = cast<BufferType>(l0.getType()).getSpace();
  const bool kIsColumn = (to == MemorySpace::L0A) != isTransposed;
  auto [row, column] = placeInTile(make, region.offsets);
  const Stretch &rows = kIsColumn ? ofResult : ofK, &columns = kIsColumn ? ofK : ofResult;
  const int64_t height = roundUp(rows.size.most, loadedRows(region.type(), to, !kIsColumn));
  SmallVector<Value> counts;
  if (!rows.size.isKnown() || !columns.size.isKnown())
    counts = {make.value(rows.size.count), make.value(columns.size.count)};
  npu::LoadL0Op::create(
      builder, region.buffer, make.value(tileOffset(make, region.type(), region.offsets)),
      make.value(make.add(row, rows.first)), make.value(make.add(column, columns.first)), l0,
      make.value(at), counts, npu::fractalRows(region.type()), height,
      roundUp(columns.size.most, shape.c0), isTransposed);
}

void GemmPieces::multiply(int64_t step, int64_t turn, Value l0a, Value l0b, Value init) {
  const Stretch ofK = stretchOfK(step);
  forEachPart([&](const Stretch& part) {
    const int64_t rows = roundUp(shape.m.most, kFractalSide);
    const int64_t columns = roundUp(part.size.most, kFractalSide);
    SmallVector<Value> counts;
    if (!shape.isKnown())
      counts = {shape.m.isKnown() ? make.constant(rows) : make.value(shape.m.count),
                part.size.isKnown() ? make.constant(columns) : make.value(part.size.count),
                make.value(ofK.size.count)};
    auto product = npu::MmadOp::create(builder, l0a, make.constant(startInA(turn)), l0b,
                                       make.value(startInB(part, ofK, turn)), c.buffer,
                                       make.value(offsetOfResult(part.first)), init, counts, rows,
                                       columns, ofK.size.most, isInPairs(ofK.size));
    if (!shape.hasLowColumns)
      return;
    product->setAttr(kLowColumnsAttr, builder.getUnitAttr());
    product->setAttr(npu::kAloneAttr, builder.getUnitAttr());
  });
}

/// Whether rows of a hold one fractal more than k needs: transposed floats come in squares of two.
bool GemmPieces::isInPairs(const RunTimeExtent& depth) {
  const int64_t square = unitOf(shape.c0, true);
  return gemm.getTransposeA() && square != shape.c0 &&
         (!depth.isKnown() || roundUp(depth.most, square) != roundUp(depth.most, shape.c0));
}

OpFoldResult GemmPieces::offsetOfResult(OpFoldResult firstColumn) {
  auto [row, column] = placeInTile(make, c.offsets);
  OpFoldResult height = make.index(npu::fractalRows(c.type()));
  if (shape.hasLowColumns)
    height = roundUpTo(make, shape.m.count, kFractalSide);
  const OpFoldResult offset = make.product(make.add(column, firstColumn), height);
  return make.add(tileOffset(make, c.type(), c.offsets),
                  make.add(offset, make.mul(row, kFractalSide)));
}

void requireDepth(ImplicitLocOpBuilder& builder, tile::GemmOp gemm, const RunTimeExtent& k,
                  StringRef name) {
  const bool mayClear = gemm.getClearAccum() || gemm.getClear();
  if (k.isKnown() || !mayClear || boundedRangeAt(gemm, k.count).low >= 1)
    return;
  const IndexMaker make(builder);
  Value holds = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, make.value(k.count),
                                      make.constant(1));
  if (Value clear = gemm.getClear()) {
    Value adds = arith::XOrIOp::create(
        builder, clear, arith::ConstantOp::create(builder, builder.getBoolAttr(true)));
    holds = arith::OrIOp::create(builder, holds, adds);
  }
  requireHere(builder, holds,
              (name + " with init multiplies {} " + (gemm.getTransposeA() ? "rows" : "columns") +
               " of a, but leaves c as it is for none")
                  .str(),
              make.value(k.count), Agent::Cube);
}

} // namespace tilewright::ascend
