// SPDX-License-Identifier: Apache-2.0
// Copies, conversions and fills within UB, and fills of L1.
#include "compiler/ir/kernel_manifest.h"
#include "compiler/targets/ascend/cast_steps.h"
#include "compiler/targets/ascend/copy_routes.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

std::optional<UbRows> rowsInUb(const IndexMaker& make, const BufferRegion& region) {
  const SmallVector<size_t> dims = wideDims(region);
  const SmallVector<int64_t> strides = ubStrides(region.type());
  UbRows rows{make.index(1), make.index(1), ubOffset(make, region.type(), region.offsets),
              npu::rowPitch(region.type())};
  if (dims.empty())
    return rows;
  const bool isRow = strides[dims.back()] == 1;
  if (dims.size() > 2 || (dims.size() == 2 && !isRow))
    return std::nullopt;
  if (isRow)
    rows.columns = region.extents[dims.back()];
  if (dims.size() == 2 || !isRow) {
    rows.rows = region.extents[dims[0]];
    rows.pitch = strides[dims[0]];
  }
  return rows;
}

/// As rowsInUb, also of more dims, where those before the last are one sequence of rows.
static std::optional<UbRows> joinedRowsInUb(const IndexMaker& make, const BufferRegion& region) {
  SmallVector<size_t> outer = wideDims(region);
  const SmallVector<int64_t> strides = ubStrides(region.type());
  if (outer.size() <= 2 || strides[outer.back()] != 1)
    return rowsInUb(make, region);
  const size_t last = outer.pop_back_val();
  int64_t inner = 1; // rows to one step of the first dim
  for (size_t number = outer.size() - 1; number > 0; --number) {
    const std::optional<int64_t> extent = getConstantIntValue(region.extents[outer[number]]);
    if (!extent || *extent * strides[outer[number]] != strides[outer[number - 1]])
      return std::nullopt;
    inner *= *extent;
  }
  return UbRows{make.mul(region.extents[outer.front()], inner), region.extents[last],
                ubOffset(make, region.type(), region.offsets), strides[outer.back()]};
}

namespace {

/// Numbers that a broadcast takes at once.
constexpr int64_t kSpreadRows = 8;
/// Of a stride between repeats.
constexpr int64_t kMostBlocks = 255;

/// Runs `body` with an offset (in elements) for each row, or once for all where rows lie side by
/// side; `count` is then that of all.
void forEachRow(ImplicitLocOpBuilder& builder, const IndexMaker& make, const UbRows& rows,
                bool isDense, function_ref<void(Value row, Value count)> body) {
  std::optional<int64_t> number = getConstantIntValue(rows.rows);
  std::optional<int64_t> columns = getConstantIntValue(rows.columns);
  if (number == 1) {
    body(make.constant(0), make.value(rows.columns));
    return;
  }
  if (isDense && number && columns) {
    body(make.constant(0), make.constant((*number - 1) * rows.pitch + *columns));
    return;
  }
  auto loop =
      tile::ForOp::create(builder, make.constant(0), make.value(rows.rows), make.constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBodyBlock());
  body(loop.getInductionVar(), make.value(rows.columns));
}

/// Whether nothing that means anything lies between rows: they lie side by side, or they are whole
/// rows of a buffer, which only the padding to a block keeps apart. What lies between parts of rows
/// are other elements, even where it is less than a block.
bool fillsPitch(const UbRows& rows, BufferType type) {
  std::optional<int64_t> columns = getConstantIntValue(rows.columns);
  if (!columns)
    return false;
  return rows.pitch == *columns ||
         (rows.pitch == npu::rowPitch(type) && *columns == type.getShape().back());
}

Value elementOf(ImplicitLocOpBuilder& builder, const IndexMaker& make, const UbRows& rows,
                Value row) {
  if (isConstantIntValue(row, 0))
    return make.value(rows.offset);
  return make.value(make.add(rows.offset, make.mul(row, rows.pitch)));
}

/// Numbers of 64 bits are filled as two of 32, which must be the same: 0, -1 and few others.
Value asHalves(ImplicitLocOpBuilder& builder, BufferRegion& region, UbRows& rows,
               const IndexMaker& make, Value value) {
  const BufferType type = region.type();
  const std::optional<int64_t> number = getConstantIntValue(value);
  SmallVector<int64_t> shape(type.getShape());
  if (!number || shape.empty() || int32_t(*number) != int32_t(*number >> 32))
    return {};
  shape.back() *= 2;
  auto halves = BufferType::get(
      shape, IntegerType::get(builder.getContext(), 32, IntegerType::Signed), type.getSpace());
  region.buffer = tile::ViewOp::create(builder, halves, region.buffer, ValueRange());
  rows.columns = make.mul(rows.columns, 2);
  rows.offset = make.mul(rows.offset, 2);
  rows.pitch *= 2;
  return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(int32_t(*number)));
}

/// Bytes are filled in pairs, as 16-bit numbers.
Value asPairs(ImplicitLocOpBuilder& builder, BufferRegion& region, UbRows& rows,
              const IndexMaker& make, Value value) {
  const BufferType type = region.type();
  SmallVector<int64_t> shape(type.getShape());
  std::optional<int64_t> byte = getConstantIntValue(value);
  if (!byte || shape.empty() || shape.back() % 2 != 0)
    return {};
  shape.back() /= 2;
  auto halves = BufferType::get(
      shape, IntegerType::get(builder.getContext(), 16, IntegerType::Signed), type.getSpace());
  region.buffer = tile::ViewOp::create(builder, halves, region.buffer, ValueRange());
  rows.columns = make.div(make.add(rows.columns, make.index(1)), 2);
  rows.offset = make.div(rows.offset, 2);
  rows.pitch /= 2;
  const int64_t pair = (*byte & 0xFF) | (*byte & 0xFF) << 8;
  return arith::ConstantOp::create(builder, builder.getI16IntegerAttr(int16_t(pair)));
}

} // namespace

LogicalResult fillRegion(ImplicitLocOpBuilder& builder, Operation* op, const BufferRegion& given,
                         Value value) {
  const IndexMaker make(builder);
  BufferRegion region = given;
  if (region.type().getSpace() == MemorySpace::L1 && region.isWhole() &&
      (matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero()))) {
    npu::FillL1Op::create(builder, region.buffer, make.constant(0),
                          uint64_t(npu::storageBytes(region.type())));
    return success();
  }
  if (region.type().getSpace() != MemorySpace::UB)
    return op->emitError() << "unsupported on ascend: a fill of a buffer in "
                           << stringifyMemorySpace(region.type().getSpace());
  std::optional<UbRows> rows = joinedRowsInUb(make, region);
  if (region.isWhole()) {
    // Also what lies between rows: instructions over the whole buffer read it.
    const int64_t elements =
        npu::storageBytes(region.type()) * 8 / int64_t(region.type().getElementBits());
    rows = UbRows{make.index(1), make.index(elements), make.index(0), elements};
  }
  if (!rows)
    return op->emitError() << "unsupported on ascend: a fill of a part of a buffer of "
                           << region.extents.size() << " dims";
  if (const std::optional<std::string> start = startWithinBlock(rows->offset, region.type(), op))
    return op->emitError() << "unsupported on ascend: the fill begins " << *start
                           << ", but UB is accessed in blocks of 32 bytes";
  const unsigned bits = region.type().getElementBits();
  const ArrayRef<int64_t> shape = given.type().getShape();
  if (bits == 8 && !shape.empty() && shape.back() % 2 != 0)
    return op->emitError() << "unsupported on ascend: a fill of rows of " << shape.back() << " "
                           << tile::dtypeName(given.type().getElementType())
                           << " elements, which the vector unit fills in pairs";
  if (bits == 8)
    value = asPairs(builder, region, *rows, make, value);
  else if (bits == 64)
    value = asHalves(builder, region, *rows, make, value);
  if (!value || bits < 8)
    return op->emitError() << "unsupported on ascend: a fill of "
                           << tile::dtypeName(given.type().getElementType())
                           << " elements with this value";
  forEachRow(builder, make, *rows, fillsPitch(*rows, region.type()), [&](Value row, Value count) {
    npu::DuplicateOp::create(builder, region.buffer, elementOf(builder, make, *rows, row), value,
                             count, npu::RepeatAttr());
  });
  return success();
}

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
  copy.emitRemark() << "this transpose runs element by element on the scalar unit: it is not of "
                       "whole tiles in multiples of 16";
  SmallVector<Value> fromIndices, toIndices;
  for (OpFoldResult offset : source.offsets)
    fromIndices.push_back(make.value(offset));
  for (OpFoldResult offset : target.offsets)
    toIndices.push_back(make.value(offset));
  OpBuilder::InsertionGuard guard(builder);
  const auto loop = [&](int64_t extent) {
    auto made =
        tile::ForOp::create(builder, make.constant(0), make.constant(extent), make.constant(1));
    builder.setInsertionPointToStart(made.getBodyBlock());
    return made.getInductionVar();
  };
  Value row = loop(rows), column = loop(columns);
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

LogicalResult CopyExpander::ubToUb() {
  if (copy.getTranspose())
    return transposeInUb();
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
  const Type element = fromType.getElementType();
  const bool isDense =
      fillsPitch(*from, fromType) && fillsPitch(*to, toType) && from->pitch == to->pitch;
  if (keepsLowBits(element, toType.getElementType()))
    return lowBitsInUb();
  std::optional<SmallVector<CastStep>> steps = castSteps(element, toType.getElementType());
  if (!steps)
    return copy.emitError() << "unsupported on ascend: the vector unit does not convert "
                            << tile::dtypeName(element) << " to "
                            << tile::dtypeName(toType.getElementType());
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
      Value targetOffset = elementOf(builder, make, nextRows, row);
      Value sourceOffset = elementOf(builder, make, rows, row);
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
  SmallVector<OpFoldResult> sides;
  for (size_t dim : wideDims(source))
    sides.push_back(source.extents[dim]);
  if (sides.empty())
    sides.push_back(make.index(1));
  auto nest = tile::ParallelOp::create(builder, sides);
  const OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(nest.getBodyBlock());
  const auto indices = [&](const BufferRegion& region) {
    SmallVector<Value> values;
    size_t next = 0;
    for (auto [offset, extent] : llvm::zip(region.offsets, region.extents)) {
      const bool isWide = !isConstantIntValue(extent, 1);
      values.push_back(
          make.value(isWide ? make.add(nest.getInductionVars()[next++], offset) : offset));
    }
    return values;
  };
  const Type given = source.type().getScalarType(), kept = target.type().getScalarType();
  Value number = tile::LoadOp::create(builder, given, source.buffer, indices(source),
                                      /*in_bounds=*/true);
  if (given != kept)
    number = arith::TruncIOp::create(builder, kept, number);
  tile::StoreOp::create(builder, number, target.buffer, indices(target), /*in_bounds=*/true);
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
  const auto beginsBlock = [&](const UbRows& rows) {
    const std::optional<int64_t> offset = getConstantIntValue(rows.offset);
    return offset && *offset % unit == 0;
  };
  const bool isFloat = element.isF16() || element.isF32();
  const bool isWord = isFloat || element.isInteger(16) || element.isInteger(32);
  const bool fits = count && beginsBlock(from) && beginsBlock(to);
  const bool isSpread =
      isWord && fits && *count % kSpreadRows == 0 && to.pitch <= kMostBlocks * unit;
  if (isColumn ? !fits || !isFloat : !isSpread)
    return copyElements();
  const int64_t scratch = npu::kBlockBytes * (isColumn ? 1 : *count);
  Value space =
      makeTemporary(builder, builder.getLoc(), {scratch},
                    IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned), "scratch");
  if (isColumn)
    npu::ReduceOp::create(builder, npu::ReduceKind::Max, target.buffer, make.value(to.offset),
                          source.buffer, make.value(from.offset), space, make.constant(0),
                          uint64_t(scratch), uint64_t(*count), 1, uint64_t(from.pitch), 1, true);
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

LogicalResult CopyExpander::copyRows(const UbRows& from, const UbRows& to) {
  std::optional<int64_t> rows = getConstantIntValue(from.rows);
  std::optional<int64_t> columns = getConstantIntValue(from.columns);
  const int64_t size = int64_t(source.type().getElementBits()) / 8;
  const bool isWhole = columns && (*columns * size % npu::kBlockBytes == 0 ||
                                   (source.isWhole() && target.isWhole()));
  if (rows && isWhole) {
    const int64_t bytes =
        int64_t(llvm::alignTo(uint64_t(*columns * size), uint64_t(npu::kBlockBytes)));
    npu::CopyUbOp::create(builder, source.buffer, make.value(from.offset), target.buffer,
                          make.value(to.offset), uint64_t(*rows), uint64_t(bytes),
                          uint64_t(*rows == 1 ? bytes : from.pitch * size),
                          uint64_t(*rows == 1 ? bytes : to.pitch * size));
    return success();
  }
  const Type element = source.type().getElementType();
  if (!element.isF16() && !element.isF32() && !element.isInteger(16) && !element.isInteger(32))
    return copy.emitError() << "unsupported on ascend: a copy within UB of a part of rows of "
                            << tile::dtypeName(element);
  // The larger of a number and itself: an exact copy of any count.
  forEachRow(builder, make, from, false, [&](Value row, Value count) {
    Value offset = elementOf(builder, make, from, row);
    npu::BinaryOp::create(builder, npu::BinaryKind::Max, target.buffer,
                          elementOf(builder, make, to, row), source.buffer, offset, source.buffer,
                          offset, count, npu::RepeatAttr());
  });
  return success();
}

} // namespace tilewright::ascend
