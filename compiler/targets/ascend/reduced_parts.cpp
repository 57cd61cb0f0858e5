// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/reduced_parts.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/check_parts.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/short_loops.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

using namespace mlir;

namespace tilewright::ascend {

using tile::BufferRegion;
using tile::BufferType;

bool isOfKnownExtents(const BufferRegion& region) {
  return !llvm::is_contained(region.staticExtents(), ShapedType::kDynamic);
}

BufferRegion makePart(ImplicitLocOpBuilder& builder, const BufferRegion& like, Type element,
                      const char* name) {
  SmallVector<int64_t> shape = like.staticExtents();
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (ShapedType::isDynamic(shape[dim]))
      shape[dim] = std::max<int64_t>(stepsBehind(like, dim), 1);
  BufferRegion part =
      BufferRegion::whole(makeTemporary(builder, builder.getLoc(), shape, element, name));
  part.extents = like.extents;
  return part;
}

void copyElements(ImplicitLocOpBuilder& builder, const BufferRegion& source,
                  const BufferRegion& target) {
  const IndexMaker make(builder);
  const OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> from, to;
  for (size_t dim = 0; dim < source.extents.size(); ++dim) {
    OpFoldResult step = make.index(0);
    if (!isConstantIntValue(source.extents[dim], 1)) {
      auto loop = tile::ForOp::create(builder, make.constant(0), make.value(source.extents[dim]),
                                      make.constant(1));
      nameLoop(loop, "element");
      builder.setInsertionPointToStart(loop.getBodyBlock());
      step = loop.getInductionVar();
    }
    from.push_back(make.value(make.add(source.offsets[dim], step)));
    to.push_back(make.value(make.add(target.offsets[dim], step)));
  }
  Value number = tile::LoadOp::create(builder, source.type().getScalarType(), source.buffer, from,
                                      /*in_bounds=*/true);
  tile::StoreOp::create(builder, number, target.buffer, to, /*in_bounds=*/true);
}

/// `instruction` for so many elements from a first one of each region on, row by row: no more than a row has, so that
/// rows are known to be apart.
static void
forEachPairOfRows(ImplicitLocOpBuilder& builder, UbRows from, const UbRows& to,
                  function_ref<void(Value source, Value target, Value count)> instruction) {
  const IndexMaker make(builder);
  if (!isConstantIntValue(from.rows, 1))
    from.columns = make.min(from.columns, make.index(std::min(from.pitch, to.pitch)));
  forEachRow(builder, make, from, /*isDense=*/false, [&](Value row, Value count) {
    instruction(rowStart(make, from, row), rowStart(make, to, row), count);
  });
}

void copyByNest(ImplicitLocOpBuilder& builder, const BufferRegion& source,
                const BufferRegion& target) {
  const Type from = source.type().getScalarType(), to = target.type().getScalarType();
  const IndexMaker make(builder);
  const std::optional<UbRows> rows = joinedRowsInUb(make, source),
                              its = joinedRowsInUb(make, target);
  if (!isOfKnownExtents(source) && rows && its && !beginWithinBlocks(*rows, source.type()) &&
      !beginWithinBlocks(*its, target.type())) { // nests have known extents
    const npu::Rounding rounding = from.isF32() ? npu::Rounding::Rint : npu::Rounding::None;
    return forEachPairOfRows(builder, *rows, *its, [&](Value first, Value itsFirst, Value count) {
      npu::CastOp::create(builder, target.buffer, itsFirst, source.buffer, first, rounding, count,
                          npu::RepeatAttr());
    });
  }
  mapByNest(builder, source, target, [&](Value number) -> Value {
    if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(builder, to, number);
    return arith::TruncFOp::create(builder, to, number);
  });
}

ReducedNumbers magnitudesOfRows(ImplicitLocOpBuilder& builder, const ReducedNumbers& of,
                                int64_t height, int64_t width) {
  const IndexMaker make(builder);
  const Type element = cast<BufferType>(of.tile.getType()).getElementType();
  const int64_t elements = (height - 1) * of.pitch + std::max(of.pitch, width);
  Value tile = makeTemporary(builder, builder.getLoc(), {elements}, element, "magnitudes");
  npu::UnaryOp::create(builder, npu::UnaryKind::Abs, tile, make.constant(0), of.tile, of.first,
                       make.constant((height - 1) * of.pitch + width), npu::RepeatAttr());
  return {tile, make.constant(0), of.pitch};
}

ReducedNumbers magnitudesOfPart(ImplicitLocOpBuilder& builder, const BufferRegion& source) {
  const SmallVector<int64_t> shape = tile::withoutUnitExtents(source.staticExtents());
  Value tile =
      makeTemporary(builder, builder.getLoc(), shape, source.type().getElementType(), "magnitudes");
  mapByNest(builder, source, BufferRegion::whole(tile),
            [&](Value number) -> Value { return math::AbsFOp::create(builder, number); });
  return {tile, IndexMaker(builder).constant(0), npu::rowPitch(cast<BufferType>(tile.getType()))};
}

ReducedNumbers magnitudesOfCounts(ImplicitLocOpBuilder& builder, const BufferRegion& source,
                                  const UbRows& rows) {
  const IndexMaker make(builder);
  const BufferRegion part = makePart(builder, source, source.type().getElementType(), "magnitudes");
  const UbRows its = *joinedRowsInUb(make, part);
  forEachPairOfRows(builder, rows, its, [&](Value first, Value itsFirst, Value count) {
    npu::UnaryOp::create(builder, npu::UnaryKind::Abs, part.buffer, itsFirst, source.buffer, first,
                         count, npu::RepeatAttr());
  });
  return {part.buffer, make.constant(0), its.pitch};
}

} // namespace tilewright::ascend
