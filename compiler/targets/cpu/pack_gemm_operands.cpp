// SPDX-License-Identifier: Apache-2.0
/// Brings the operands of every tile.gemm into the form of the micro-kernel: on chip, in the type
/// that accumulates, b as [K, N].
///
///   tile.gemm %A : <64x32xf16, shared>, %B : <64x32xf16, shared> into %C : <64x64xf32, fragment>
///   {transpose_b}
/// becomes
///   %a = tile.alloc : <64x32xf32, shared>      tile.copy %A to %a
///   %b = tile.alloc : <32x64xf32, shared>      tile.copy %B to %b {transpose}
///   tile.gemm %a, %b into %C
///
/// With more rows than one micro-kernel, b is packed into panels: of each vector's worth of columns,
/// all rows one after the other, so that the inner loop reads memory straight on. Such a gemm carries
/// {cpu.packed = g}. g rows lie interleaved in 32 bits: 1; 2 of bfloat16 where the machine has
/// vdpbf16ps; 4 of 8-bit integers where it has vpdpbusd. Element (k, n) of b is at
/// (n / lanes) * K * lanes + (k / g) * lanes * g + (n mod lanes) * g + k mod g, where a panel is one vector wide: on AVX2
/// it is as wide as a micro-kernel, if that divides N, and where those have three vectors also if not: the last panel has
/// those that are left, its rows as far apart. vpdpbusd takes
/// unsigned bytes on one side: where both are signed, b is packed plus 128, and a note says where the gemm may sum up the
/// rows of a, whose 128 fold is too much ({cpu.row_sums}).
///
/// Where a copy brings only a, as it is, and a lies in one run there, the micro-kernels read it in place; pairs and fours
/// only if not all rows of a micro-kernel fall into one set of the first-level cache.
/// A copy from global memory that fills only b's shared buffer, for this gemm alone, is packed as
/// it arrives, unless it converts elements to others: then its result is read, as everyone's. In a pipelined loop the gemm fetches meanwhile what such copies bring next, and what is read in place
/// (fetch_ahead.h).
///
/// A result narrower than float32 is staged too: it accumulates in float32 and is rounded once; a `clear` that is known
/// only at run time becomes a fill under scf.if there. On AVX2 sums of floats narrower than float32 go on from c
/// ({cpu.in_order}). It stands first, so that scratch planning sees the copies' targets.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/gemm_sources.h"
#include "compiler/targets/cpu/gemm_tiles.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/vectors.h"

#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>

#include <numeric>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

/// The type in which a gemm into elements of type `element` accumulates.
Type accumulatorType(Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(element.getContext());
  return element;
}

/// A matrix to read element by element: which dims of its buffer are rows and columns.
struct MatrixSource {
  BufferRegion region;
  unsigned rowDim, columnDim;
  bool inBounds;

  explicit MatrixSource(const BufferRegion& region)
      : region(region), rowDim(unsigned(region.offsets.size()) - 2), columnDim(rowDim + 1),
        inBounds(!region.type().isGlobal()) {}

  explicit MatrixSource(tile::CopyOp copy) : MatrixSource(copy.getSourceRegion()) {
    SmallVector<unsigned> dims;
    for (auto [number, extent] : llvm::enumerate(region.staticExtents()))
      if (extent != 1)
        dims.push_back(unsigned(number));
    rowDim = dims[0];
    columnDim = dims[1];
    inBounds = llvm::all_of(llvm::seq<int64_t>(0, region.type().getRank()),
                            [&](int64_t dim) { return copy.isSourceInBounds(dim); });
  }

  SmallVector<Value> place(ImplicitLocOpBuilder& builder, Value row, Value column) const {
    IndexMath math(builder);
    SmallVector<Value> at;
    for (OpFoldResult offset : region.offsets)
      at.push_back(math.value(offset));
    at[rowDim] = math.add(at[rowDim], row);
    at[columnDim] = math.add(at[columnDim], column);
    return at;
  }

  Value load(ImplicitLocOpBuilder& builder, Value row, Value column) const {
    return tile::LoadOp::create(builder, region.type().getScalarType(), region.buffer,
                                place(builder, row, column), inBounds);
  }

  /// Whether nothing is outside, and the elements of a row lie side by side in a dense buffer.
  bool isReadableInVectors() const {
    auto argument = dyn_cast<BlockArgument>(region.buffer);
    auto kernel =
        argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
    const bool isDense = kernel ? !kernel.getArgAttr(argument.getArgNumber(), tile::kStridesAttr)
                                : region.buffer.getDefiningOp<tile::AllocOp>() != nullptr;
    return inBounds && isDense && columnDim + 1 == region.offsets.size();
  }

  /// Elements of a row as integers.
  Value loadVector(ImplicitLocOpBuilder& builder, Value row, Value column, int64_t width) const {
    const unsigned bits = region.type().getElementBits();
    auto type = VectorType::get({width}, builder.getIntegerType(bits));
    Value address = addressOf(builder, region.buffer, place(builder, row, column));
    return LLVM::LoadOp::create(builder, type, address, bits / 8);
  }

  /// Asks for an element's line, which may lie outside of the tensor.
  void fetch(ImplicitLocOpBuilder& builder, Value row, Value column) const {
    Value address =
        addressOf(builder, region.buffer, place(builder, row, column), LLVM::GEPNoWrapFlags::none);
    LLVM::Prefetch::create(builder, address, /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }
};

/// Rows between what is packed and what is asked for meanwhile. A tile's rows lie far apart, where no cache foresees
/// the next; of rows 4 KB apart, those that fetch_ahead.h brought have driven each other out of the second level.
constexpr int64_t kRowsFetchedAhead = 16;

/// The copies that may be passed over: onlySource of a and of b, copyOfOneRun of a, earlierSource of b.
struct Sources {
  tile::CopyOp a, b, runOfA, earlierB;
};

class GemmPacker {
public:
  GemmPacker(tile::GemmOp op, const Sources& from, const Machine& machine)
      : op(op), from(from), builder(op.getLoc(), op), machine(machine),
        element(accumulatorType(op.getCRegion().type().getElementType())),
        lanes(machine.vectorBits / int64_t(element.getIntOrFloatBitWidth())) {}

  void pack() {
    BufferRegion c = op.getCRegion();
    Value clear = op.getClear();
    const bool inOrder = isNarrow(op.getARegion()) || isNarrow(op.getBRegion());
    if (clear && needsStage(c)) {
      clearFirst(clear);
      clear = {};
    }
    group = groupOnTiles();
    onTiles = group > 1;
    if (!onTiles)
      group = groupSize();
    bool transposeA = op.getTransposeA();
    BufferRegion a = packA(transposeA);
    isShifted = group == 4 && !onTiles && a.type().getElementType().isSignedInteger(8);
    const bool packed = isPacked();
    BufferRegion b = packed ? packB() : rowMajorB();
    BufferRegion accumulator = c;
    if (needsStage(c))
      accumulator =
          op.getClearAccum() ? newStage(matrixShape(c), element) : stageIn(c, false, element);
    announceNext(packed);
    if (isShifted)
      makeRowSums();
    if (onTiles)
      makeStageOfTiles(a);
    auto result = tile::GemmOp::create(builder, a, b, accumulator, transposeA,
                                       /*transposeB=*/false, clear, op.getClearAccum());
    if (packed)
      result->setAttr(kPackedAttr, builder.getI64IntegerAttr(group));
    if (onTiles)
      result->setAttr(kTilesAttr, builder.getUnitAttr());
    if (inOrder && gemmAddsLate(machine))
      result->setAttr(kInOrderAttr, builder.getUnitAttr());
    if (needsStage(c))
      tile::CopyOp::create(builder, accumulator, c);
    op.erase();
    for (tile::CopyOp copy : replaced) {
      Operation* buffer = copy.getTargetRegion().buffer.getDefiningOp();
      if (!buffer->hasOneUse())
        continue; // the other operand is read from it
      copy.erase();
      buffer->erase();
    }
  }

private:
  void announceNext(bool packed) {
    if (tile::CopyOp inPlace = from.runOfA; inPlace && replaced.contains(inPlace))
      announceNextTile(builder, inPlace, MatrixSource(inPlace).rowDim, "a");
    else if (packed && from.a && (onTiles || !gemmStreamsB(machine, bytesOfB())))
      announceNextTile(builder, from.a, MatrixSource(from.a).rowDim, "a");
    else if (packed && from.a) // what came so early, b would have driven out
      (broughtA ? broughtA : from.a)
          ->setAttr(kRowsAheadAttr, builder.getI64IntegerAttr(kRowsFetchedAhead));
    if (packed && from.b)
      announceNextTile(builder, from.b, MatrixSource(from.b).rowDim, "b");
  }

  bool needsStage(const BufferRegion& region) const {
    return region.type().isGlobal() || region.type().getElementType() != element;
  }

  /// Whether its elements are floats narrower than float32.
  static bool isNarrow(const BufferRegion& region) {
    auto element = dyn_cast<FloatType>(region.type().getElementType());
    return element && element.getWidth() < 32;
  }

  void clearFirst(Value condition) {
    auto branch = scf::IfOp::create(builder, condition);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    BufferRegion c = op.getCRegion();
    tile::FillOp::create(builder, zero(builder, c.type().getScalarType()), c);
  }

  int64_t columns() {
    return matrixShape(op.getCRegion())[1];
  }
  /// Of a panel of b.
  int64_t panelColumns() {
    return onTiles ? tilePanelColumns(columns())
                   : gemmPanelVectors(machine, columns() / lanes, group) * lanes;
  }
  int64_t depth() {
    return matrixShape(op.getBRegion())[op.getTransposeB()];
  }
  /// As it is packed.
  int64_t bytesOfB() {
    return depth() / group * columns() * 4;
  }

  /// How many elements side by side along k AMX multiplies as one; 1: it doesn't.
  int64_t groupOnTiles() {
    Type a = op.getARegion().type().getElementType(), b = op.getBRegion().type().getElementType();
    int64_t count = 1;
    if (machine.hasBf16Tiles && a.isBF16() && b.isBF16() && element.isF32())
      count = 2;
    else if (machine.hasByteTiles && isInt8(a) && isInt8(b) && element.isSignedInteger(32))
      count = 4;
    const bool fits =
        columns() % lanes == 0 && depth() % count == 0 && tileDepth(depth() / count) > 0;
    return fits ? count : 1;
  }

  /// How many products one lane of the machine's instruction for these elements adds up.
  int64_t groupSize() {
    Type a = op.getARegion().type().getElementType(), b = op.getBRegion().type().getElementType();
    int64_t count = 1;
    if (machine.hasBf16Dot && a.isBF16() && b.isBF16() && element.isF32())
      count = 2;
    else if (machine.hasByteDot && isInt8(a) && b.isSignedInteger(8) && element.isSignedInteger(32))
      count = 4;
    const bool fits = columns() % lanes == 0 && depth() % count == 0 &&
                      op.getARegion().type().getShape().back() % count == 0;
    return fits ? count : 1;
  }

  /// Whether the source of `copy` may be read instead of what it brings. Elements that are joined have b's width.
  bool maySkip(tile::CopyOp copy) const {
    return copy && (group == 1 ? keepsValues(copy)
                               : copy.getSourceRegion().type().getElementType() ==
                                     copy.getTargetRegion().type().getElementType());
  }

  static bool isInt8(Type type) {
    return type.isSignedInteger(8) || type.isUnsignedInteger(8);
  }

  /// Whether b is on chip with close rows that one micro-kernel takes whole: it reads memory straight on as it is.
  bool isStraight(const BufferRegion& b) {
    return group == 1 && !maySkip(from.b) && !needsStage(b) && !op.getTransposeB() &&
           b.type().getShape().back() == columns() &&
           columns() <= gemmStraightVectors(machine) * lanes;
  }

  /// Whether b goes into panels: it is read often enough, or must be brought into another form anyway.
  bool isPacked() {
    if (columns() % lanes || isStraight(op.getBRegion()))
      return false;
    const bool isOften = matrixShape(op.getCRegion())[0] > gemmRows(machine);
    return group > 1 || isOften || (needsStage(op.getBRegion()) && !op.getTransposeB());
  }

  BufferRegion packA(bool& transpose) {
    BufferRegion a = op.getARegion();
    if (group == 1) {
      if (!needsStage(a)) {
        if (!from.runOfA)
          return a;
        replaced.insert(from.runOfA);
        return from.runOfA.getSourceRegion();
      }
      a = maySkip(from.a) && !transpose ? stageFromGlobal(from.a) : stageIn(a, transpose, element);
      transpose = false;
      return a;
    }
    tile::CopyOp copy =
        from.runOfA && gemmRowsStaySpread(machine, rowBytes(a)) ? from.runOfA : tile::CopyOp();
    if (onTiles) // each line of a row is read once for each tile: nothing is to stay
      copy = from.runOfA ? from.runOfA : bringsRows(from.a) ? from.a : tile::CopyOp();
    if (copy && !transpose) {
      replaced.insert(copy);
      return copy.getSourceRegion();
    }
    if (a.type().isGlobal() || transpose)
      a = stageIn(a, transpose, a.type().getElementType());
    transpose = false;
    return a;
  }

  /// Whether what a copy of a matrix brings lies as it is in rows of a dense tensor of known size, all of it inside.
  bool bringsRows(tile::CopyOp copy) const {
    if (!maySkip(copy) || !copy.getSourceInBounds() ||
        llvm::is_contained(*copy.getSourceInBounds(), false))
      return false;
    const BufferRegion source = copy.getSourceRegion();
    const SmallVector<int64_t> extents = source.staticExtents();
    return isDenseTensor(source.buffer) && !ShapedType::isDynamicShape(source.type().getShape()) &&
           ArrayRef(extents).take_back(2) ==
               ArrayRef(copy.getTargetRegion().staticExtents()).take_back(2);
  }

  static int64_t rowBytes(const BufferRegion& region) {
    return region.type().getShape().back() * region.type().getElementBits() / 8;
  }

  /// A place for the sum of each row of a.
  void makeRowSums() {
    Value sums = newStage({matrixShape(op.getCRegion())[0]}, element).buffer;
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    UnrealizedConversionCastOp::create(builder, pointer, sums)
        ->setAttr(kRowSumsAttr, builder.getUnitAttr());
  }

  /// A place for parts of a, if micro-kernels copy them.
  void makeStageOfTiles(const BufferRegion& a) {
    const int64_t rows = matrixShape(op.getCRegion())[0];
    if (!tilesAreCopied(rows, columns(), depth() / group, rowBytes(a)))
      return;
    Type byte = builder.getIntegerType(8, /*isSigned=*/false);
    Value stage = newStage({tileStageBytes(columns())}, byte).buffer;
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    UnrealizedConversionCastOp::create(builder, pointer, stage)
        ->setAttr(kStageAttr, builder.getUnitAttr());
  }

  /// `lanes` (i32 or vectors of them) of b as they are packed.
  Value shiftedBytes(ImplicitLocOpBuilder& inner, Value bytes) const {
    if (!isShifted)
      return bytes;
    const APInt tops(32, 0x80808080);
    TypedAttr value = IntegerAttr::get(inner.getI32Type(), tops);
    if (auto vector = dyn_cast<VectorType>(bytes.getType()))
      value = DenseElementsAttr::get(vector, tops);
    return arith::XOrIOp::create(inner, bytes, arith::ConstantOp::create(inner, value));
  }

  BufferRegion rowMajorB() {
    const BufferRegion b = op.getBRegion();
    return needsStage(b) || op.getTransposeB() ? stageIn(b, op.getTransposeB(), element) : b;
  }

  BufferRegion newStage(ArrayRef<int64_t> shape, Type type) {
    auto bufferType = BufferType::get(shape, type, MemorySpace::Shared);
    Value buffer = tile::AllocOp::create(builder, bufferType, StringAttr(), IntegerAttr());
    return BufferRegion::whole(buffer);
  }

  BufferRegion stageIn(const BufferRegion& region, bool transpose, Type type) {
    SmallVector<int64_t> shape = matrixShape(region);
    if (transpose)
      std::swap(shape[0], shape[1]);
    BufferRegion stage = newStage(shape, type);
    auto copy = tile::CopyOp::create(builder, region, stage);
    copy.setTranspose(transpose);
    return stage;
  }

  /// Where the elements of an operand are read: past the copy that brings them, if there is one and it may be skipped.
  MatrixSource sourceOf(tile::CopyOp copy, const BufferRegion& region) {
    if (!maySkip(copy))
      return MatrixSource(region);
    replaced.insert(copy);
    return MatrixSource(copy);
  }

  /// What `copy` brings, in the accumulating type.
  BufferRegion stageFromGlobal(tile::CopyOp copy) {
    BufferRegion stage = newStage(matrixShape(op.getARegion()), element);
    auto direct = tile::CopyOp::create(builder, copy.getSourceRegion(), stage);
    direct.setSourceInBoundsAttr(copy.getSourceInBoundsAttr());
    replaced.insert(copy);
    broughtA = direct;
    return stage;
  }

  Value viewAs(Value buffer, ArrayRef<int64_t> shape, Type type) {
    auto view = BufferType::get(shape, type, MemorySpace::Shared);
    return tile::ViewOp::create(builder, view, buffer, ValueRange());
  }

  /// What a lane holds: an element, or a group of them.
  Type laneType() {
    return group == 1 ? element : builder.getIntegerType(32, /*isSigned=*/true);
  }

  BufferRegion packB() {
    const BufferRegion b = op.getBRegion();
    OpBuilder::InsertionGuard guard(builder);
    if (from.earlierB && maySkip(from.earlierB))
      builder.setInsertionPoint(from.earlierB);
    else if (from.earlierB)
      builder.setInsertionPointAfter(from.earlierB);
    Type type = group == 1 ? element : b.type().getElementType();
    const int64_t width = panelColumns(), count = llvm::divideCeil(columns(), width);
    BufferRegion stage = newStage({depth(), count * width}, type);
    Value panels = viewAs(stage.buffer, {count, depth() / group, width}, laneType());
    if (op.getTransposeB())
      packColumns(b, panels);
    else
      packRows(b, panels);
    stage.extents[1] = builder.getIndexAttr(columns());
    return stage;
  }

  void forElements(ArrayRef<int64_t> shape, llvm::function_ref<void(ValueRange)> body) {
    SmallVector<OpFoldResult> extents;
    for (int64_t extent : shape)
      extents.push_back(builder.getIndexAttr(extent));
    auto nest = tile::ParallelOp::create(builder, extents);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(nest.getBodyBlock());
    body(nest.getInductionVars());
  }

  /// b as [K, N]: a row of it goes to one row of every panel.
  void packRows(const BufferRegion& b, Value panels) {
    const MatrixSource source = sourceOf(from.b ? from.b : from.earlierB, b);
    if (onTiles && source.isReadableInVectors())
      return packRowsOfPanels(source, panels);
    if (group > 1 && columns() % (lanes * group) == 0 && source.isReadableInVectors())
      return packWholeVectors(source, panels);
    const int64_t width = panelColumns();
    packElements(source, panels, 0, columns() / width, width);
    if (columns() % width)
      packElements(source, panels, columns() / width, 1, columns() % width);
  }

  /// `width` columns of each of `count` panels, from the panel `first` on.
  void packElements(const MatrixSource& source, Value panels, int64_t first, int64_t count,
                    int64_t width) {
    forElements({depth() / group, count, width}, [&](ValueRange at) {
      IndexMath math(builder);
      Value panel = math.add(at[1], math.constant(first));
      Value column = math.add(math.mul(panel, math.constant(panelColumns())), at[2]);
      Value row = math.mul(at[0], math.constant(group)), value;
      if (group == 1)
        value = convertElement(builder, source.load(builder, row, column),
                               source.region.type().getElementType(), element);
      else
        value = shiftedBytes(builder, joined([&](int64_t number) {
                               return source.load(builder, math.add(row, math.constant(number)),
                                                  column);
                             }));
      storeElement(builder, value, panels, {panel, at[0], at[2]});
    });
  }

  /// For tiles: a panel's part of `group` rows, one after the other in a register, put in turns by one permutation.
  void packRowsOfPanels(const MatrixSource& source, Value panels) {
    // Of a line of a row, so many vectors; of which a panel has so many.
    const int64_t inPanel = panelColumns() / lanes;
    const int64_t atOnce = columns() % (lanes * group) == 0 ? group : inPanel;
    // Panels begin in few sets of the caches: one gets a run of lines before it is the next one's turn.
    const int64_t groups = depth() / group, run = std::gcd<int64_t>(groups, 8);
    IndexMath math(builder);
    const Range ranges[] = {{math.constant(0), math.constant(groups / run)},
                            {math.constant(0), math.constant(columns() / (lanes * atOnce))},
                            {math.constant(0), math.constant(run)}};
    buildNest(builder, ranges, [&](ImplicitLocOpBuilder& inner, ValueRange at) {
      IndexMath innerMath(inner);
      Value inDepth = innerMath.add(innerMath.mul(at[0], innerMath.constant(run)), at[2]);
      Value row = innerMath.mul(inDepth, innerMath.constant(group));
      Value first = innerMath.mul(at[1], innerMath.constant(atOnce * lanes));
      Value firstPanel = innerMath.mul(at[1], innerMath.constant(atOnce / inPanel));
      for (int64_t number = 0; number < atOnce; ++number) {
        Value column = innerMath.add(first, innerMath.constant(number * lanes));
        SmallVector<Value> parts;
        for (int64_t below = 0; below < group; ++below) {
          Value here = innerMath.add(row, innerMath.constant(below));
          parts.push_back(source.loadVector(inner, here, column, lanes));
          if (number == 0 && source.region.type().isGlobal())
            fetchForPanels(inner, source, here, column, run * group);
        }
        Value panel = innerMath.add(firstPanel, innerMath.constant(number / inPanel));
        storeVector(inner, inTurns(inner, parts), panels,
                    {panel, inDepth, innerMath.constant(number % inPanel * lanes)});
      }
    });
  }

  /// Asks for the line below, where the rows that are packed at once leave room for more in the first-level cache, or for
  /// one further on in its row.
  void fetchForPanels(ImplicitLocOpBuilder& inner, const MatrixSource& source, Value row,
                      Value column, int64_t rows) {
    constexpr int64_t room = 16 << 10, linesAhead = 4;
    IndexMath innerMath(inner);
    const int64_t elementBytes = 4 / group;
    if (rows * columns() * elementBytes <= room)
      row = innerMath.add(row, innerMath.constant(rows));
    else
      column = innerMath.add(column, innerMath.constant(linesAhead * kLineBytes / elementBytes));
    source.fetch(inner, row, column);
  }

  /// Lanes of 32 bits, each an element of every one of `parts`, which are `lanes` small integers.
  Value inTurns(ImplicitLocOpBuilder& inner, SmallVector<Value> parts) const {
    const int64_t bytes = 4 / group, partBytes = lanes * bytes;
    auto together = [&](Value low, Value high, ArrayRef<int64_t> order) -> Value {
      return vector::ShuffleOp::create(inner, low, high, order);
    };
    for (Value& part : parts)
      part =
          vector::BitCastOp::create(inner, VectorType::get({partBytes}, inner.getI8Type()), part);
    if (group == 4) {
      const SmallVector<int64_t> oneByOne = llvm::to_vector(llvm::seq<int64_t>(0, 2 * partBytes));
      parts = {together(parts[0], parts[1], oneByOne), together(parts[2], parts[3], oneByOne)};
    }
    SmallVector<int64_t> order;
    for (int64_t byte = 0; byte < 4 * lanes; ++byte) {
      const int64_t lane = byte / 4, part = byte / bytes % group;
      order.push_back(part * partBytes + lane * bytes + byte % bytes);
    }
    return vector::BitCastOp::create(inner, VectorType::get({lanes}, inner.getI32Type()),
                                     together(parts[0], parts[1], order));
  }

  /// As many columns at once as fill `group` panels: the rows' elements in turns, then pairs of them.
  void packWholeVectors(const MatrixSource& source, Value panels) {
    const int64_t width = lanes * group;
    IndexMath math(builder);
    const Range ranges[] = {{math.constant(0), math.constant(depth() / group)},
                            {math.constant(0), math.constant(columns() / width)}};
    buildNest(builder, ranges, [&](ImplicitLocOpBuilder& inner, ValueRange at) {
      IndexMath innerMath(inner);
      SmallVector<Value> vectors;
      for (int64_t number = 0; number < group; ++number) {
        Value row = innerMath.mul(at[0], innerMath.constant(group));
        row = innerMath.add(row, innerMath.constant(number));
        Value column = innerMath.mul(at[1], innerMath.constant(width));
        vectors.push_back(source.loadVector(inner, row, column, width));
        if (source.region.type().isGlobal())
          source.fetch(inner, innerMath.add(row, innerMath.constant(kRowsFetchedAhead)), column);
      }
      Value first = innerMath.mul(at[1], innerMath.constant(group));
      for (auto [number, lane] : llvm::enumerate(joinedVectors(inner, vectors))) {
        Value panel = innerMath.add(first, innerMath.constant(int64_t(number)));
        storeVector(inner, shiftedBytes(inner, lane), panels,
                    {panel, at[0], innerMath.constant(0)});
      }
    });
  }

  /// Vectors of lanes, each a group of elements, one from each of `rows`.
  SmallVector<Value> joinedVectors(ImplicitLocOpBuilder& inner, SmallVector<Value> rows) {
    for (unsigned bits = unsigned(32 / group); bits < 32; bits *= 2) {
      // Of rows 0, 1, 2, 3: the halves of 0 with 1 and of 2 with 3; then those of the pairs.
      SmallVector<Value> wider;
      const unsigned joinedBits = 2 * bits;
      auto type = VectorType::get({lanes * 32 / joinedBits}, inner.getIntegerType(joinedBits));
      const size_t half = bits == 8 ? 1 : rows.size() / 2;
      for (size_t number = 0; number < rows.size(); ++number) {
        if (number & half)
          continue;
        auto [low, high] = interleaved(inner, rows[number], rows[number + half]);
        wider.push_back(vector::BitCastOp::create(inner, type, low));
        wider.push_back(vector::BitCastOp::create(inner, type, high));
      }
      rows = wider;
    }
    return rows;
  }

  /// `group` elements in 32 bits, the first lowest.
  Value joined(llvm::function_ref<Value(int64_t)> element) {
    const unsigned bits = unsigned(32 / group);
    Value result;
    for (int64_t number = 0; number < group; ++number) {
      Value value = element(number);
      if (isa<FloatType>(value.getType()))
        value = arith::BitcastOp::create(builder, builder.getIntegerType(bits), value);
      value = arith::ExtUIOp::create(builder, builder.getI32Type(), value);
      if (!number) {
        result = value;
        continue;
      }
      Value distance = arith::ConstantOp::create(
          builder, builder.getI32IntegerAttr(int32_t(bits) * int32_t(number)));
      value = arith::ShLIOp::create(builder, value, distance);
      result = arith::OrIOp::create(builder, result, value);
    }
    return result;
  }

  /// b as [N, K]: its groups lie together already, and only change places. Panel by panel, so that
  /// the copies transpose whole blocks.
  void packColumns(BufferRegion b, Value panels) {
    if (b.type().isGlobal() || (group > 1 && !b.isWhole()))
      b = stageIn(b, false, b.type().getElementType());
    if (group > 1)
      b = BufferRegion::whole(viewAs(b.buffer, {columns(), depth() / group}, laneType()));
    IndexMath math(builder);
    const int64_t whole = columns() / panelColumns();
    auto loop =
        scf::ForOp::create(builder, math.constant(0), math.constant(whole), math.constant(1));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      packPanel(b, panels, loop.getInductionVar(), panelColumns());
    }
    if (const int64_t left = columns() % panelColumns())
      packPanel(b, panels, math.constant(whole), left);
  }

  /// `width` columns of b, which is [N, K], to a panel.
  void packPanel(const BufferRegion& b, Value panels, Value number, int64_t width) {
    IndexMath math(builder);
    const size_t rows = b.offsets.size() - 2;
    Value first = math.mul(number, math.constant(panelColumns()));
    BufferRegion from = b, to = BufferRegion::whole(panels);
    from.offsets[rows] = math.add(math.value(b.offsets[rows]), first);
    from.extents[rows] = builder.getIndexAttr(width);
    to.offsets[0] = number;
    to.extents[0] = builder.getIndexAttr(1);
    to.extents[2] = builder.getIndexAttr(width);
    tile::CopyOp::create(builder, from, to).setTranspose(true);
    if (isShifted)
      shiftPanel(number, panels);
  }

  /// A panel that was just packed, and is in the first-level cache.
  void shiftPanel(Value number, Value panels) {
    forElements({depth() / group, panelColumns()}, [&](ValueRange at) {
      Value bytes = loadElement(builder, panels, {number, at[0], at[1]});
      storeElement(builder, shiftedBytes(builder, bytes), panels, {number, at[0], at[1]});
    });
  }

  tile::GemmOp op;
  Sources from;
  ImplicitLocOpBuilder builder;
  const Machine& machine;
  Type element;
  int64_t lanes, group = 1;
  /// AMX multiplies.
  bool onTiles = false;
  /// Bytes of b are packed plus 128.
  bool isShifted = false;
  /// Nothing reads the targets of these any more.
  llvm::SmallSetVector<tile::CopyOp, 2> replaced; // one, where both operands are one buffer
  tile::CopyOp broughtA;                          // the copy that stands for a replaced one of a
};

struct PackGemmOperands : MachinePass<PackGemmOperands> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PackGemmOperands)
  static constexpr llvm::StringLiteral kArgument = "cpu-pack-gemm-operands";
  static constexpr llvm::StringLiteral kDescription =
      "bring gemm operands on chip, into the accumulating type and row-major order";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry
        .insert<arith::ArithDialect, scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  }

  using MachinePass::MachinePass;

  void runOnOperation() override {
    dropEmptyGemms(getOperation());
    SmallVector<tile::GemmOp> ops;
    getOperation().walk([&](tile::GemmOp op) {
      if (!op->hasAttr(kPackedAttr))
        ops.push_back(op);
    });
    // First of all: vectors of our own hide what they write.
    SmallVector<Sources> sources;
    for (tile::GemmOp op : ops)
      sources.push_back({op.getTransposeA() ? tile::CopyOp() : onlySource(op, op.getARegion()),
                         op.getTransposeB() ? tile::CopyOp() : onlySource(op, op.getBRegion()),
                         copyOfOneRun(op, op.getARegion()),
                         op.getTransposeB() ? tile::CopyOp() : earlierSource(op, op.getBRegion())});
    for (auto [op, source] : llvm::zip(ops, sources))
      GemmPacker(op, source, machine).pack();
  }
};

} // namespace

std::unique_ptr<Pass> createPackGemmOperands(const Machine& machine) {
  return std::make_unique<PackGemmOperands>(machine);
}

} // namespace tilewright::cpu
