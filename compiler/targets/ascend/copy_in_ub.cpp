// SPDX-License-Identifier: Apache-2.0
// Copies and conversions within UB.
#include "compiler/targets/ascend/cast_steps.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/short_loops.h"
#include "compiler/targets/ascend/tile_operations.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

namespace {

/// Numbers that a broadcast takes at once.
constexpr int64_t kSpreadRows = 8;

} // namespace

/// In squares of 16, or element by element.
LogicalResult CopyExpander::transposeInUb() {
  const BufferType from = source.type(), to = target.type();
  const SmallVector<int64_t> extents = source.staticExtents();
  const bool isWhole = source.isWhole() && target.isWhole() && extents.size() == 2;
  const unsigned bits = from.getElementBits();
  if (from.getElementType() != to.getElementType() || extents.size() < 2 ||
      llvm::is_contained(extents, ShapedType::kDynamic))
    return copy.emitError()
           << "unsupported on ascend: a transposed copy within UB that converts, or "
              "of extents that are known at run time only";
  const int64_t rows = extents[extents.size() - 2], columns = extents.back();
  if (isWhole && (bits == 16 || bits == 32) && rows % 16 == 0 && columns % 16 == 0) {
    npu::TransposeOp::create(builder, target.buffer, make.constant(0), source.buffer,
                             make.constant(0), uint64_t(rows), uint64_t(columns));
    return success();
  }
  if (wideDims(source).size() > 2)
    return copy.emitError() << "unsupported on ascend: a transposed copy of more than two dims";
  mlir::InFlightDiagnostic remark =
      copy.emitRemark() << "this transpose runs element by element on the scalar unit: ";
  if (bits == 16 || bits == 32)
    remark << "it is not of whole tiles in multiples of 16";
  else
    remark << "the vector unit transposes elements of 16 and 32 bits, not of " << bits;
  remark.report();
  SmallVector<Value> fromIndices, toIndices;
  for (OpFoldResult offset : source.offsets)
    fromIndices.push_back(make.value(offset));
  for (OpFoldResult offset : target.offsets)
    toIndices.push_back(make.value(offset));
  OpBuilder::InsertionGuard guard(builder);
  const auto loop = [&](int64_t extent, StringRef name) {
    auto made =
        tile::ForOp::create(builder, make.constant(0), make.constant(extent), make.constant(1));
    nameLoop(made, name);
    builder.setInsertionPointToStart(made.getBodyBlock());
    return made.getInductionVar();
  };
  Value row = loop(rows, "row"), column = loop(columns, "column");
  const auto move = [&](Value& index, Value by) { index = make.value(make.add(index, by)); };
  move(fromIndices[fromIndices.size() - 2], row);
  move(fromIndices.back(), column);
  move(toIndices[toIndices.size() - 2], column);
  move(toIndices.back(), row);
  Value element = tile::LoadOp::create(builder, from.getScalarType(), source.buffer, fromIndices,
                                       /*in_bounds=*/false);
  tile::StoreOp::create(builder, element, target.buffer, toIndices, /*in_bounds=*/false);
  return success();
}

/// Floats of 32 bits become bytes through integers of 16: float16 on the way would round them up first.
static std::optional<SmallVector<CastStep>> copySteps(Type from, Type to) {
  if (!from.isF32() || !to.isInteger(8))
    return castSteps(from, to);
  SmallVector<CastStep> steps;
  for (Type part : {Type(IntegerType::get(from.getContext(), 16, IntegerType::Signed)),
                    Type(Float16Type::get(from.getContext())), to}) {
    llvm::append_range(steps, *castSteps(from, part));
    from = part;
  }
  return steps;
}

LogicalResult CopyExpander::ubToUb() {
  if (copy.getTranspose())
    return transposeInUb();
  keepRowsApart();
  std::optional<UbRows> from = joinedRowsInUb(make, source), to = joinedRowsInUb(make, target);
  if (wideDims(source).size() > 2 && (!from || !to))
    return forEachRectangle([&](const BufferRegion& part, const BufferRegion& itsTarget) {
      CopyExpander rectangle(*this);
      rectangle.source = part;
      rectangle.target = itsTarget;
      return rectangle.ubToUb();
    });
  if (!from || !to)
    return copy.emitError() << "unsupported on ascend: a copy within UB of two dims, in neither of "
                               "which elements lie side by side";
  if (isColumnInUb(source) != isColumnInUb(target))
    return columnInUb(*from, *to);
  const BufferType fromType = source.type(), toType = target.type();
  const bool isWithin = beginWithinBlocks(*from, fromType) || beginWithinBlocks(*to, toType);
  if (isWithin) {
    from = asOneRow(make, *from);
    to = asOneRow(make, *to);
  }
  const Type element = fromType.getElementType();
  const bool isDense =
      fillsPitch(*from, fromType) && fillsPitch(*to, toType) && from->pitch == to->pitch;
  if (keepsLowBits(element, toType.getElementType()))
    return lowBitsInUb();
  std::optional<SmallVector<CastStep>> steps = copySteps(element, toType.getElementType());
  if (!steps)
    return numbersInUb();
  if (isWithin && !(isConstantIntValue(from->rows, 1) && isConstantIntValue(to->rows, 1)))
    return numbersInUb();
  if (failed(requireBlockStart(source, "source")) || failed(requireBlockStart(target, "target")))
    return failure();
  Value buffer = source.buffer;
  UbRows rows = *from;
  for (auto [number, step] : llvm::enumerate(*steps)) {
    const bool isLast = number + 1 == steps->size();
    Value next = target.buffer;
    UbRows nextRows = *to;
    if (!isLast) {
      next = makeTemporary(builder, builder.getLoc(), toType.getShape(), step.to, "converted");
      nextRows = {to->rows, to->columns, make.index(0),
                  npu::rowPitch(cast<BufferType>(next.getType()))};
    }
    const bool isDenseStep = isDense && nextRows.pitch == rows.pitch;
    forEachRow(builder, make, rows, isDenseStep, [&](Value row, Value count) {
      Value targetOffset = rowStart(make, nextRows, row);
      Value sourceOffset = rowStart(make, rows, row);
      npu::CastOp::create(builder, next, targetOffset, buffer, sourceOffset, step.rounding, count,
                          npu::RepeatAttr());
    });
    if (!isLast && context.waits)
      PipeBarrierOp::create(builder, Pipe::V);
    buffer = next;
    rows = nextRows;
  }
  if (!steps->empty())
    return success();
  return copyRows(*from, *to);
}

/// To integers of as many bits or fewer: a nest, which becomes what the same nest of a user does.
LogicalResult CopyExpander::lowBitsInUb() {
  const Type given = source.type().getScalarType(), kept = target.type().getScalarType();
  mapByNest(builder, source, target, [&](Value number) -> Value {
    return given == kept ? number : arith::TruncIOp::create(builder, kept, number).getResult();
  });
  return success();
}

static Value asType(OpBuilder& builder, Location loc, Value number, Type from, Type to) {
  const Type wide = builder.getF32Type(), scalar = number.getType();
  const bool isUnsigned = from.isUnsignedInteger() || to.isUnsignedInteger();
  if (from == to)
    return number;
  if (to.isInteger(1)) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(scalar));
    return isa<FloatType>(scalar)
               ? arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, number, zero)
                     .getResult()
               : arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, number, zero)
                     .getResult();
  }
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    number = from == wide ? number : arith::ExtFOp::create(builder, loc, wide, number).getResult();
    return to == wide ? number : arith::TruncFOp::create(builder, loc, to, number).getResult();
  }
  if (isa<FloatType>(to))
    return isUnsigned ? arith::UIToFPOp::create(builder, loc, to, number).getResult()
                      : arith::SIToFPOp::create(builder, loc, to, number).getResult();
  const Type integer = builder.getIntegerType(to.getIntOrFloatBitWidth());
  if (isa<FloatType>(scalar))
    return isUnsigned ? arith::FPToUIOp::create(builder, loc, integer, number).getResult()
                      : arith::FPToSIOp::create(builder, loc, integer, number).getResult();
  return from.isUnsignedInteger()
             ? arith::ExtUIOp::create(builder, loc, integer, number).getResult()
             : arith::ExtSIOp::create(builder, loc, integer, number).getResult();
}

/// What no single way of casts holds all of, and rows that begin within blocks: a nest, too.
LogicalResult CopyExpander::numbersInUb() {
  const Type from = source.type().getElementType(), to = target.type().getElementType();
  mapByNest(builder, source, target,
            [&](Value number) { return asType(builder, builder.getLoc(), number, from, to); });
  return success();
}

/// A column to a row or a row to a column, of one element type: the reduction of rows of one number, and
/// the broadcast of numbers to rows of one element.
LogicalResult CopyExpander::columnInUb(const UbRows& from, const UbRows& to) {
  const BufferType type = source.type();
  const Type element = type.getElementType();
  const bool isColumn = isColumnInUb(source);
  const std::optional<int64_t> count = getConstantIntValue(isColumn ? from.rows : to.rows);
  const int64_t unit = npu::blockElements(type);
  const auto beginsBlock = [&](const UbRows& rows) { return isMultipleOf(rows.offset, unit); };
  const bool isFloat = element.isF16() || element.isF32();
  const bool isWord = isFloat || element.isInteger(16) || element.isInteger(32);
  const bool fits = count && beginsBlock(from) && beginsBlock(to);
  const bool isSpread =
      isWord && fits && *count % kSpreadRows == 0 && to.pitch <= npu::kMostStride * unit;
  if (isColumn ? !fits || !isFloat : !isSpread)
    return copyElements();
  const int64_t scratch = isColumn ? reductionScratch(type, *count, 1, from.pitch, /*clear=*/true)
                                   : npu::kBlockBytes * *count;
  Value space =
      makeTemporary(builder, builder.getLoc(), {scratch},
                    IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned), "scratch");
  if (isColumn)
    npu::ReduceOp::create(builder, npu::ReduceKind::Max, target.buffer, make.value(to.offset),
                          source.buffer, make.value(from.offset), space, make.constant(0),
                          uint64_t(scratch), uint64_t(*count), 1, uint64_t(from.pitch), 1, true,
                          Value(), Value());
  else
    npu::BroadcastOp::create(builder, target.buffer, make.value(to.offset), source.buffer,
                             make.value(from.offset), space, make.constant(0), uint64_t(scratch),
                             uint64_t(*count), 1, uint64_t(to.pitch), 1);
  return success();
}

/// One after the other by the scalar unit.
LogicalResult CopyExpander::copyElements() {
  copy.emitRemark() << "this copy between a row and a column runs element by element on the scalar "
                       "unit: the vector unit takes floats (to a column, also integers, 8 at a "
                       "time) from whole blocks of 32 bytes on";
  const size_t fromDim = wideDims(source)[0], toDim = wideDims(target)[0];
  OpBuilder::InsertionGuard guard(builder);
  auto loop = tile::ForOp::create(builder, make.constant(0), make.value(source.extents[fromDim]),
                                  make.constant(1));
  nameLoop(loop, "element");
  builder.setInsertionPointToStart(loop.getBodyBlock());
  const auto indices = [&](const BufferRegion& region, size_t dim) {
    SmallVector<Value> values;
    for (auto [at, offset] : llvm::enumerate(region.offsets))
      values.push_back(make.value(at == dim ? make.add(offset, loop.getInductionVar()) : offset));
    return values;
  };
  Value element = tile::LoadOp::create(builder, source.type().getScalarType(), source.buffer,
                                       indices(source, fromDim), /*in_bounds=*/false);
  tile::StoreOp::create(builder, element, target.buffer, indices(target, toDim),
                        /*in_bounds=*/false);
  return success();
}

/// Whole blocks go by the DMA; what ends within one as the larger of a number and itself, which reads nothing
/// behind the last number.
LogicalResult CopyExpander::copyRows(const UbRows& from, const UbRows& to) {
  const std::optional<int64_t> rows = getConstantIntValue(from.rows);
  const std::optional<int64_t> columns = getConstantIntValue(from.columns);
  const unsigned bits = source.type().getElementBits();
  const int64_t size = int64_t(bits) / 8;
  const bool areAllOfBoth = rows && columns && source.isWhole() && target.isWhole();
  const auto copyBlocks = [&] {
    const int64_t bytes =
        int64_t(llvm::alignTo(uint64_t(*columns * size), uint64_t(npu::kBlockBytes)));
    npu::CopyUbOp::create(builder, source.buffer, make.value(from.offset), target.buffer,
                          make.value(to.offset), uint64_t(*rows), uint64_t(bytes),
                          uint64_t(*rows == 1 ? bytes : from.pitch * size),
                          uint64_t(*rows == 1 ? bytes : to.pitch * size));
    return success();
  };
  if (rows && columns && *columns * size % npu::kBlockBytes == 0)
    return copyBlocks();
  const bool isDense = areAllOfBoth && from.pitch == to.pitch;
  if (bits != 16 && bits != 32) {
    TileOperations tiles(builder, /*waits=*/false);
    tiles.setShape(rows.value_or(0), columns.value_or(0));
    if (isDense && tiles.copyInto({target.buffer, make.value(to.offset), to.pitch},
                                  {source.buffer, make.value(from.offset), from.pitch}))
      return success();
    if (areAllOfBoth) // an odd number of bytes
      return copyBlocks();
    mapByNest(builder, source, target, [](Value number) { return number; });
    return success();
  }
  const Type element = source.type().getElementType();
  // As an integer with a sign if it has no other order: an exact copy.
  const bool needsView = !element.isF16() && !element.isF32() && !element.isSignedInteger();
  const auto inMax = [&](const BufferRegion& region) -> Value {
    const auto sameBits = BufferType::get(
        region.type().getShape(), IntegerType::get(builder.getContext(), bits, IntegerType::Signed),
        MemorySpace::UB);
    return needsView
               ? tile::ViewOp::create(builder, sameBits, region.buffer, ValueRange()).getResult()
               : region.buffer;
  };
  Value read = inMax(source), written = inMax(target);
  forEachRow(builder, make, from, isDense, [&](Value row, Value count) {
    Value offset = rowStart(make, from, row);
    npu::BinaryOp::create(builder, npu::BinaryKind::Max, written, rowStart(make, to, row), read,
                          offset, read, offset, count, npu::RepeatAttr());
  });
  return success();
}

} // namespace tilewright::ascend
