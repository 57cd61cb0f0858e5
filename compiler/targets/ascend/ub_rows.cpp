// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/ub_rows.h"

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/short_loops.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

int64_t stepsBehind(const BufferRegion& region, size_t dim) {
  return region.type().getShape()[dim] - getConstantIntValue(region.offsets[dim]).value_or(0);
}

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
    rows.mostRows = stepsBehind(region, dims[0]);
    rows.pitch = strides[dims[0]];
  }
  return rows;
}

std::optional<UbRows> joinedRowsInUb(const IndexMaker& make, const BufferRegion& region) {
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
                ubOffset(make, region.type(), region.offsets), strides[outer.back()],
                stepsBehind(region, outer.front()) * inner};
}

bool beginWithinBlocks(const UbRows& rows, BufferType type) {
  return !isConstantIntValue(rows.rows, 1) && rows.pitch % npu::blockElements(type) != 0;
}

UbRows asOneRow(const IndexMaker& make, const UbRows& rows) {
  const std::optional<int64_t> count = getConstantIntValue(rows.rows),
                               columns = getConstantIntValue(rows.columns);
  if (!count || !columns || rows.pitch != *columns)
    return rows;
  return {make.index(1), make.index(*count * *columns), rows.offset, *count * *columns};
}

bool isDenseInUb(const BufferRegion& region) {
  const SmallVector<int64_t> strides = ubStrides(region.type());
  const auto dims = wideDims(region);
  int64_t next = 1;
  for (const size_t dim : llvm::reverse(dims)) {
    const std::optional<int64_t> extent = getConstantIntValue(region.extents[dim]);
    if (!extent || strides[dim] != next)
      return false;
    next *= *extent;
  }
  return true;
}

int64_t reductionScratch(BufferType type, int64_t rows, int64_t columns, int64_t pitch,
                         bool clear) {
  constexpr int64_t kMostRows = 248; // that it takes at once
  const int64_t bytes = int64_t(type.getElementBits()) / 8;
  const bool isFar = rows > 1 && pitch > npu::kMostStride * npu::blockElements(type);
  int64_t scratch = npu::kBlockBytes;
  if (isFar || columns * bytes > npu::kRepeatBytes)
    scratch += std::min(rows, kMostRows) * npu::kRepeatBytes;
  if (!clear)
    scratch += roundUp(rows * bytes, npu::kBlockBytes);
  return scratch;
}

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
  boundTurns(loop, rows.mostRows);
  nameLoop(loop, "row");
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBodyBlock());
  body(loop.getInductionVar(), make.value(rows.columns));
}

bool fillsPitch(const UbRows& rows, BufferType type) {
  std::optional<int64_t> columns = getConstantIntValue(rows.columns);
  if (!columns)
    return false;
  return rows.pitch == *columns ||
         (rows.pitch == npu::rowPitch(type) && *columns == type.getShape().back());
}

void mapByNest(ImplicitLocOpBuilder& builder, const BufferRegion& source,
               const BufferRegion& target, function_ref<Value(Value)> function) {
  const IndexMaker make(builder);
  SmallVector<OpFoldResult> sides;
  for (const size_t dim : wideDims(source))
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
  Value number = tile::LoadOp::create(builder, source.type().getScalarType(), source.buffer,
                                      indices(source), /*in_bounds=*/true);
  tile::StoreOp::create(builder, function(number), target.buffer, indices(target),
                        /*in_bounds=*/true);
}

Value rowStart(const IndexMaker& make, const UbRows& rows, Value row) {
  if (isConstantIntValue(row, 0))
    return make.value(rows.offset);
  return make.value(make.add(rows.offset, make.mul(row, rows.pitch)));
}

} // namespace tilewright::ascend
