// SPDX-License-Identifier: Apache-2.0
/// Multiplies float32, float16 and floats of 8 bits on AMX, which knows only bfloat16: each number as the sum of three, of two, or
/// as one, exactly.
///
///   tile.gemm %a : <64x128xf32, shared>, %b : <128x64xf32, shared> into %C : <64x64xf32, fragment>
/// becomes, with fast math,
///   %x = tile.alloc : <64x384xbf16, shared>   a nest that cuts %a into pieces
///   %y = tile.alloc : <384x64xbf16, shared>   a nest that cuts %b into pieces
///   tile.gemm %x, %y into %C {cpu.packed = 2, cpu.tiles, cpu.pieces = 3}
///
/// A float32 has 24 bits, a bfloat16 8: a = a0 + a1 + a2, a1 at most 2^-8 of a, a2 at most 2^-16, nothing left. Of the nine
/// products of pieces the three smallest, 2^-24 of a b and less, are left out; six are summed in float32. So a sum has the
/// accuracy of float32 (Henry, Tang, Heinecke, Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
/// Computations, 2019); errors are measured smaller in fact (docs/cpu-speed.md), for a tile's products are summed before c is added. A tile makes 16 times as many products
/// in a cycle as the vectors, of which a sixth is more than twice as many.
///
/// What isn't as in float32: an element that is infinite, or rounds to infinity as a bfloat16 (from 3.39e38 on), makes NaN, and
/// elements below 2^-108 lose bits, because AMX takes subnormal pieces for 0.
///
/// A float16 has 11 bits: two pieces, whose four products are all summed, each exact, and none is subnormal. Only the order of
/// sums differs, which is the NPU's to the bit without fast math. What isn't finite is seen as numbers are cut, by the
/// sum of their last pieces, which is NaN then; such a gemm is multiplied by vectors, in six times the time:
///
///   scf.if %odd { a nest that adds %a's elements times rows of %b to %C } else { tile.gemm %x, %y into %C {..., cpu.pieces = 2} }
///
/// A float of 8 bits is one piece, as is a bfloat16 beside it: nothing is cut, and no fast math needed.
///
/// The pieces of a lie as tiles, one after the other: of 16 rows all steps of k, in each three tiles of 16 rows of 32 elements.
/// Those of b lie in panels, as PackGemmOperands makes them of bfloat16; in each step of 32 rows three times 16 pairs of rows. What a loop around
/// doesn't change is cut before it. Operands are on chip; b is transposed first where it is [N, K].
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/gemm_sources.h"
#include "compiler/targets/cpu/gemm_tiles.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

/// Elements of a row of a tile, float32 numbers in a vector.
constexpr int64_t kDeep = 2 * kTileColumns, kLanes = 16;

/// Pieces of each number of a vector: float32 numbers whose lower 16 bits are 0.
using PiecesOfNumbers = SmallVector<Value, 3>;

class PieceGemm {
public:
  PieceGemm(tile::GemmOp op) : op(op), builder(op.getLoc(), op) {}

  /// Whether tiles multiply pieces faster than vectors multiply the numbers, and may.
  bool isWorthIt(bool fast) {
    const BufferRegion a = op.getARegion(), b = op.getBRegion(), c = op.getCRegion();
    if (!isOfPlainTiles(op))
      return false;
    pieces = piecesOfBoth(a.type().getElementType(), b.type().getElementType());
    if (!pieces || (pieces > 1 && !fast) || !c.type().getElementType().isF32() ||
        op->hasAttr(kPackedAttr) || op.getTransposeA())
      return false;
    rows = matrixShape(c)[0], columns = matrixShape(c)[1], depth = matrixShape(a)[1];
    if (rows % kTileRows || columns % (2 * kTileColumns) || depth % kDeep)
      return false;
    placeA = placeToPrepare(op, a), placeB = placeToPrepare(op, b);
    // In thousandths of a cycle a product takes 31 on vectors and 18 by pieces; to cut a number 450 to 550.
    const int64_t toCutA = placeA == op ? 450 * rows : 0, toCutB = placeB == op ? 550 * columns : 0;
    if (pieces < 3) // others would be widened, which takes as long
      return rows >= 2 * kTileRows;
    return 13 * rows * columns > toCutA + toCutB;
  }

  void replace() {
    Value a = cutA(), b = cutB();
    builder.setInsertionPoint(op);
    if (pieces == 2) {
      Value sum = arith::AddFOp::create(builder, lastOfA, lastOfB);
      sum = vector::ReductionOp::create(builder, vector::CombiningKind::ADD, sum);
      Value isOdd = arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, sum, sum);
      auto branch = scf::IfOp::create(builder, isOdd, /*withElseRegion=*/true);
      builder.setInsertionPointToStart(branch.thenBlock());
      multiplyByVectors();
      builder.setInsertionPointToStart(branch.elseBlock());
    }
    auto result = tile::GemmOp::create(builder, BufferRegion::whole(a), BufferRegion::whole(b),
                                       op.getCRegion(),
                                       /*transposeA=*/false, /*transposeB=*/false, op.getClear(),
                                       op.getClearAccum(), op.getPolicy());
    result->setAttr(kPackedAttr, builder.getI64IntegerAttr(2));
    result->setAttr(kTilesAttr, builder.getUnitAttr());
    result->setAttr(kPiecesAttr, builder.getI64IntegerAttr(pieces));
    op.erase();
  }

private:
  /// Whether bfloat16 has all numbers of a type, none of them subnormal.
  static bool isInBfloat16(Type element) {
    return element.isBF16() || (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8 &&
                                !isa<Float8E8M0FNUType>(element));
  }

  /// Into how many pieces a number of each is cut; 0: into none.
  static int64_t piecesOfBoth(Type a, Type b) {
    if (a == b && (a.isF32() || a.isF16()))
      return a.isF32() ? 3 : 2;
    return isInBfloat16(a) && isInBfloat16(b) && !(a.isBF16() && b.isBF16()) ? 1 : 0;
  }

  Value newBuffer(ArrayRef<int64_t> shape, Type type) {
    auto bufferType = BufferType::get(shape, type, tile::MemorySpace::Shared);
    return tile::AllocOp::create(builder, bufferType, StringAttr(), IntegerAttr());
  }

  Value viewOf(Value buffer, ArrayRef<int64_t> shape, Type type) {
    auto view = BufferType::get(shape, type, tile::MemorySpace::Shared);
    return tile::ViewOp::create(builder, view, buffer, ValueRange());
  }

  Type words() {
    return builder.getIntegerType(32, /*isSigned=*/true);
  }

  /// 16 numbers of a row of a matrix.
  Value load(ImplicitLocOpBuilder& inner, const BufferRegion& region, Value row,
             Value column) const {
    Value numbers = loadVector(inner, region.buffer, placeIn(inner, region, row, column), kLanes);
    auto type = VectorType::get({kLanes}, inner.getF32Type());
    return pieces == 3 ? numbers : arith::ExtFOp::create(inner, type, numbers);
  }

  static Value bits(ImplicitLocOpBuilder& inner, Value numbers) {
    return arith::BitcastOp::create(inner, VectorType::get({kLanes}, inner.getI32Type()), numbers);
  }

  static Value word(ImplicitLocOpBuilder& inner, uint32_t value) {
    auto type = VectorType::get({kLanes}, inner.getI32Type());
    return arith::ConstantOp::create(inner, DenseElementsAttr::get(type, APInt(32, value)));
  }

  /// What the pieces don't have right: each element of a times rows of b.
  void multiplyByVectors() {
    const BufferRegion a = op.getARegion(), c = op.getCRegion();
    auto clear = [&] { tile::FillOp::create(builder, zero(builder, c.type().getScalarType()), c); };
    if (op.getClearAccum()) {
      clear();
    } else if (op.getClear()) {
      auto branch = scf::IfOp::create(builder, op.getClear());
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      clear();
    }
    IndexMath math(builder);
    const Range ranges[] = {{math.constant(0), math.constant(rows)},
                            {math.constant(0), math.constant(depth)},
                            {math.constant(0), math.constant(columns / kLanes)}};
    buildNest(builder, ranges, [&](ImplicitLocOpBuilder& inner, ValueRange at) {
      IndexMath innerMath(inner);
      Value column = innerMath.mul(at[2], innerMath.constant(kLanes));
      Value left = loadElement(inner, a.buffer, placeIn(inner, a, at[0], at[1]));
      left = arith::ExtFOp::create(inner, inner.getF32Type(), left);
      auto type = VectorType::get({kLanes}, inner.getF32Type());
      left = vector::BroadcastOp::create(inner, type, left);
      const SmallVector<Value> sum = placeIn(inner, c, at[0], column);
      Value sums = math::FmaOp::create(inner, left, load(inner, rowsOfB, at[1], column),
                                       loadVector(inner, c.buffer, sum, kLanes));
      storeVector(inner, sums, c.buffer, sum);
    });
  }

  /// A nest of loops that goes on with a vector: what `body` gives, from 0 on.
  Value sumOver(ArrayRef<int64_t> counts,
                llvm::function_ref<Value(ImplicitLocOpBuilder&, ValueRange, Value)> body) {
    IndexMath math(builder);
    SmallVector<Value> lower, upper, step;
    for (int64_t count : counts) {
      lower.push_back(math.constant(0));
      upper.push_back(math.constant(count));
      step.push_back(math.constant(1));
    }
    auto type = VectorType::get({kLanes}, builder.getF32Type());
    Value start = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
    return scf::buildLoopNest(builder, op.getLoc(), lower, upper, step, start,
                              [&](OpBuilder& inside, Location loc, ValueRange at, ValueRange sums) {
                                ImplicitLocOpBuilder inner(loc, inside);
                                return scf::ValueVector{body(inner, at, sums.front())};
                              })
        .results.front();
  }

  /// `sum` and the last pieces of two vectors.
  Value withLast(ImplicitLocOpBuilder& inner, Value sum, const PiecesOfNumbers& left,
                 const PiecesOfNumbers& right) const {
    if (pieces != 2)
      return sum;
    Value one = arith::BitcastOp::create(inner, sum.getType(), left.back());
    Value other = arith::BitcastOp::create(inner, sum.getType(), right.back());
    return arith::AddFOp::create(inner, sum, arith::AddFOp::create(inner, one, other));
  }

  /// All but the last are rounded, halves away from 0; nothing is left of that one to be rounded.
  PiecesOfNumbers piecesOf(ImplicitLocOpBuilder& inner, Value numbers) const {
    PiecesOfNumbers result;
    for (int64_t number = 0; number < pieces; ++number) {
      const bool isLast = number + 1 == pieces;
      Value piece = bits(inner, numbers);
      if (!isLast)
        piece = arith::AddIOp::create(inner, piece, word(inner, 0x8000));
      piece = arith::AndIOp::create(inner, piece, word(inner, 0xffff0000));
      result.push_back(piece);
      if (isLast)
        break;
      Value rounded = arith::BitcastOp::create(inner, numbers.getType(), piece);
      numbers = arith::SubFOp::create(inner, numbers, rounded);
    }
    return result;
  }

  /// a, as tiles.
  Value cutA() {
    const BufferRegion a = op.getARegion();
    builder.setInsertionPoint(placeA);
    const int64_t steps = depth / kDeep;
    Value buffer = newBuffer({rows, pieces * depth}, builder.getBF16Type());
    Value tiles =
        viewOf(buffer, {rows / kTileRows, steps, pieces, kTileRows, kTileColumns}, words());
    const int64_t counts[] = {rows / kTileRows, kTileRows, steps};
    lastOfA = sumOver(counts, [&](ImplicitLocOpBuilder& inner, ValueRange at, Value sum) {
      IndexMath innerMath(inner);
      Value row = innerMath.add(innerMath.mul(at[0], innerMath.constant(kTileRows)), at[1]);
      Value column = innerMath.mul(at[2], innerMath.constant(kDeep));
      const PiecesOfNumbers left = piecesOf(inner, load(inner, a, row, column));
      Value further = innerMath.add(column, innerMath.constant(kLanes));
      const PiecesOfNumbers right = piecesOf(inner, load(inner, a, row, further));
      for (size_t piece = 0; piece < size_t(pieces); ++piece)
        storeVector(
            inner, upperHalves(inner, left[piece], right[piece]), tiles,
            {at[0], at[2], innerMath.constant(int64_t(piece)), at[1], innerMath.constant(0)});
      return withLast(inner, sum, left, right);
    });
    return buffer;
  }

  /// The upper 16 bits of 32 numbers, as 16 words.
  static Value upperHalves(ImplicitLocOpBuilder& inner, Value left, Value right) {
    auto halves = VectorType::get({2 * kLanes}, inner.getI16Type());
    left = vector::BitCastOp::create(inner, halves, left);
    right = vector::BitCastOp::create(inner, halves, right);
    SmallVector<int64_t> upper;
    for (int64_t lane = 0; lane < 2 * kLanes; ++lane)
      upper.push_back(2 * lane + 1);
    Value both = vector::ShuffleOp::create(inner, left, right, upper);
    return vector::BitCastOp::create(inner, VectorType::get({kLanes}, inner.getI32Type()), both);
  }

  /// b, as panels of pairs.
  Value cutB() {
    builder.setInsertionPoint(placeB);
    const BufferRegion b = op.getTransposeB() ? turned(builder, op.getBRegion()) : op.getBRegion();
    const int64_t steps = depth / kDeep, width = tilePanelColumns(columns),
                  vectors = width / kLanes;
    Value buffer = newBuffer({pieces * depth, columns}, builder.getBF16Type());
    Value panels = viewOf(buffer, {columns / width, steps, pieces, kTileColumns, width}, words());
    rowsOfB = b;
    const int64_t counts[] = {columns / width, steps, kTileColumns};
    lastOfB = sumOver(counts, [&](ImplicitLocOpBuilder& inner, ValueRange at, Value sum) {
      IndexMath innerMath(inner);
      Value row = innerMath.add(innerMath.mul(at[1], innerMath.constant(kDeep)),
                                innerMath.mul(at[2], innerMath.constant(2)));
      Value below = innerMath.add(row, innerMath.constant(1));
      for (int64_t number = 0; number < vectors; ++number) {
        Value inPanel = innerMath.constant(number * kLanes);
        Value column = innerMath.add(innerMath.mul(at[0], innerMath.constant(width)), inPanel);
        const PiecesOfNumbers upper = piecesOf(inner, load(inner, b, row, column));
        const PiecesOfNumbers lower = piecesOf(inner, load(inner, b, below, column));
        for (size_t piece = 0; piece < size_t(pieces); ++piece) {
          Value first = arith::ShRUIOp::create(inner, upper[piece], word(inner, 16));
          Value pair = arith::OrIOp::create(inner, first, lower[piece]);
          storeVector(inner, pair, panels,
                      {at[0], at[1], innerMath.constant(int64_t(piece)), at[2], inPanel});
        }
        sum = withLast(inner, sum, upper, lower);
      }
      return sum;
    });
    return buffer;
  }

  tile::GemmOp op;
  ImplicitLocOpBuilder builder;
  int64_t rows = 0, columns = 0, depth = 0;
  /// Of a number.
  int64_t pieces = 0;
  Operation *placeA = nullptr, *placeB = nullptr;
  /// As [K, N].
  BufferRegion rowsOfB;
  /// Sums of the last pieces of what was cut.
  Value lastOfA, lastOfB;
};

class MultiplyByPieces : public MachinePass<MultiplyByPieces> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MultiplyByPieces)
  static constexpr llvm::StringLiteral kArgument = "cpu-multiply-by-pieces";
  static constexpr llvm::StringLiteral kDescription =
      "on AMX multiply floats of 8 bits, and with fast math of 16 and 32, by bfloat16 pieces";
  MultiplyByPieces(const Machine& machine, bool fast) : MachinePass(machine), fast(fast) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                    LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    if (!machine.hasBf16Tiles)
      return;
    for (tile::GemmOp op : gemmsWithElements(getOperation()))
      if (PieceGemm gemm(op); gemm.isWorthIt(fast))
        gemm.replace();
  }

private:
  bool fast;
};

} // namespace

std::unique_ptr<Pass> createMultiplyByPieces(const Machine& machine, bool fast) {
  return std::make_unique<MultiplyByPieces>(machine, fast);
}

} // namespace tilewright::cpu
