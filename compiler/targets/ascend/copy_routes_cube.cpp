// SPDX-License-Identifier: Apache-2.0
// Copies of the cube core: global memory to L1, L1 to L0A and L0B, L0C to global memory and L1.
#include "compiler/ir/kernel_manifest.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/low_columns.h"
#include "compiler/targets/ascend/product_copies.h"
#include "compiler/targets/ascend/short_loops.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

/// Where a rectangle of L1 or L0C begins: its columns in whole fractals.
FailureOr<Value> CopyExpander::l1Offset(const BufferRegion& region, StringRef role) {
  const BufferType type = region.type();
  const int64_t side =
      type.getSpace() == MemorySpace::L0C ? kFractalSide : npu::blockElements(type);
  if (failed(requireFractalStart(builder, copy, ("the copy's " + role).str(), region, 1, side)))
    return failure();
  return fractalOffset(region, make.index(npu::fractalRows(type)));
}

Value CopyExpander::fractalOffset(const BufferRegion& region, OpFoldResult height) {
  const BufferType type = region.type();
  const int64_t side =
      type.getSpace() == MemorySpace::L0C ? kFractalSide : npu::blockElements(type);
  auto [row, column] = placeInTile(make, region.offsets);
  const OpFoldResult inTile = make.add(make.product(column, height), make.mul(row, side));
  return make.value(make.add(tileOffset(make, type, region.offsets), inTile));
}

LogicalResult CopyExpander::globalToL1() {
  if (source.type().getElementType() != target.type().getElementType())
    return copy.emitError() << "unsupported on ascend: a copy to L1 of "
                            << tile::dtypeName(source.type().getElementType())
                            << " that converts to "
                            << tile::dtypeName(target.type().getElementType());
  return forEachRectangle([&](const BufferRegion& from, const BufferRegion& to) {
    FailureOr<Value> offset = l1Offset(to, "target");
    if (failed(offset))
      return failure();
    const size_t last = from.offsets.size() - 1;
    if (failed(requireFirst(from, last, "columns of L1 come in groups of 32 bytes")))
      return failure();
    const ClampedRegion clamped = clamp(from, true, last);
    // Columns that no block ends with are padded with zeros by the load, rows are not.
    const auto fill = [&] {
      if (copy.getPad())
        return LogicalResult(copy.emitError(
            "unsupported on ascend: a load to L1 that is cut by the tensor's edge is padded with 0 "
            "only; load to a tile of T.alloc_ub and copy it to L1, which vector cores do"));
      fillL1(to, *offset);
      if (context.waits)
        PipeBarrierOp::create(builder, Pipe::MTE2);
      return success();
    };
    return padAndLoad(clamped, from, to, fill, [&] {
      const tile::RegionParts parts(clamped.region);
      Value behind =
          fractalOffset(behindCut(to, from, clamped), make.index(npu::fractalRows(to.type())));
      npu::LoadL1Op::create(builder, from.buffer, parts.offsets, parts.extents, to.buffer, behind,
                            parts.staticOffsets, parts.staticExtents,
                            uint64_t(npu::fractalRows(to.type())));
    });
  });
}

static bool isScaled(Type from, Type to) {
  return from.isInteger(32) && to.isF16();
}

LogicalResult CopyExpander::l0cToGlobal() {
  const Type from = source.type().getElementType(), to = target.type().getElementType();
  const bool isSum = from.isF32() || from.isInteger(32);
  if (!isSum && llvm::any_of(source.buffer.getUsers(), llvm::IsaPred<tile::GemmOp>))
    return failure(); // the gemm has told that there are no such sums
  if (!isStoredAs(from, to))
    return copy.emitError() << "unsupported on ascend: L0C of " << tile::dtypeName(from)
                            << " cannot be stored to a tensor of " << tile::dtypeName(to);
  if (isScaled(from, to) && !copy.getScale())
    return copy.emitError()
           << "unsupported on ascend: L0C of int32 is stored to float16 by a scale; "
              "call T.set_deq_scale before this copy";
  const OpFoldResult height = columnHeight(builder, copy, source.buffer);
  return forEachRectangle([&](const BufferRegion& tile, const BufferRegion& tensor) {
    FailureOr<Value> offset = l1Offset(tile, "source");
    if (failed(offset))
      return failure();
    const size_t last = tensor.offsets.size() - 1;
    if (failed(requireFirst(tensor, last, "columns of L0C come in groups of 16")))
      return failure();
    const ClampedRegion clamped = clamp(tensor, false, last);
    ifThere(clamped, [&] {
      const tile::RegionParts parts(clamped.region);
      Value behind = fractalOffset(behindCut(tile, tensor, clamped), height);
      const auto [rows, pitch] = rowsAndPitch(tile, height);
      npu::StoreL0cOp::create(builder, tile.buffer, behind, tensor.buffer, parts.offsets,
                              parts.extents, copy.getScale(), pitch, parts.staticOffsets,
                              parts.staticExtents, rows, copy.getRelu(), atomicAdd);
    });
    return success();
  });
}

LogicalResult CopyExpander::l0cToL1() {
  const Type from = source.type().getElementType(), to = target.type().getElementType();
  const bool isUnscaled = isScaled(from, to) && !copy.getScale() && !copy.getTranspose();
  if (productRoute(copy) != ProductRoute::Fixpipe) {
    InFlightDiagnostic error = copy.emitError() << "unsupported on ascend: a ";
    if (isUnscaled)
      return error << "copy from L0C of int32 to L1 of float16 without a scale; call "
                      "T.set_deq_scale before this copy";
    error << (copy.getTranspose() ? "transposed copy" : "copy") << " from L0C";
    if (from != to)
      error << " of " << tile::dtypeName(from);
    return error << " to L1" << (from == to ? "" : " of " + tile::dtypeName(to))
                 << "; copy to a tile in UB (T.alloc_ub) and from there to L1, which vector cores "
                    "do";
  }
  const OpFoldResult height = columnHeight(builder, copy, source.buffer);
  return forEachRectangle([&](const BufferRegion& product, const BufferRegion& operand) {
    FailureOr<Value> begin = l1Offset(product, "source"), end = l1Offset(operand, "target");
    if (failed(begin) || failed(end))
      return failure();
    const auto [sourceRows, pitch] = rowsAndPitch(product, height);
    const size_t last = product.extents.size() - 1, lastOfTarget = operand.extents.size() - 1;
    const auto columns = RunTimeExtent::of(copy, {{&product, last}, {&operand, lastOfTarget}});
    const SmallVector<size_t> dims = wideDims(operand), itsDims = wideDims(product);
    RunTimeExtent rows{make.index(1), 1};
    if (!dims.empty() && dims.front() != lastOfTarget)
      rows = RunTimeExtent::of(copy, {{&product, itsDims.front()}, {&operand, dims.front()}});
    npu::MoveL0cOp::create(builder, product.buffer, fractalOffset(product, height), operand.buffer,
                           *end, copy.getScale(), pitch, countsOf(rows, columns), sourceRows,
                           uint64_t(npu::fractalRows(operand.type())), uint64_t(rows.most),
                           uint64_t(roundUp(columns.most, kFractalSide)), copy.getRelu());
    return success();
  });
}

LogicalResult CopyExpander::l1ToL0() {
  const size_t rank = source.extents.size(), targetRank = target.extents.size();
  if (rank < 2 || targetRank < 2 ||
      source.type().getElementType() != target.type().getElementType())
    return copy.emitError() << "unsupported on ascend: a copy to "
                            << stringifyMemorySpace(target.type().getSpace())
                            << " takes a tile of two dims and one element type";
  const MemorySpace to = target.type().getSpace();
  const bool isToA = to == MemorySpace::L0A;
  const bool isTransposedOnTheWay = isToA == copy.getTranspose();
  if (failed(requireLoadable(builder, copy, "the copy's source", source, to, isTransposedOnTheWay)))
    return failure();
  const size_t exchanged = copy.getTranspose() ? 1 : 0;
  const auto rows =
      RunTimeExtent::of(copy, {{&source, rank - 2}, {&target, targetRank - 2 + exchanged}});
  const auto columns =
      RunTimeExtent::of(copy, {{&source, rank - 1}, {&target, targetRank - 1 - exchanged}});
  if (isTransposedOnTheWay && failed(requireSquares(rows, columns)))
    return failure();
  auto [row, column] = placeInTile(make, source.offsets);
  auto [targetRow, targetColumn] = placeInTile(make, target.offsets);
  if (!isConstantIntValue(targetRow, 0) || !isConstantIntValue(targetColumn, 0))
    return copy.emitError() << "unsupported on ascend: a copy to a part of a tile in "
                            << stringifyMemorySpace(target.type().getSpace());
  const int64_t rowUnit = loadedRows(source.type(), to, isTransposedOnTheWay);
  npu::LoadL0Op::create(
      builder, source.buffer, make.value(tileOffset(make, source.type(), source.offsets)),
      make.value(row), make.value(column), target.buffer,
      make.value(tileOffset(make, target.type(), target.offsets)), countsOf(rows, columns),
      uint64_t(npu::fractalRows(source.type())), uint64_t(roundUp(rows.most, rowUnit)),
      uint64_t(roundUp(columns.most, npu::blockElements(source.type()))), copy.getTranspose());
  return success();
}

/// What is transposed on its way comes in whole squares, some of which are larger than L0's fractals: of int8 32 x 32, of float32
/// 16 x 16 to L0A.
LogicalResult CopyExpander::requireSquares(const RunTimeExtent& rows,
                                           const RunTimeExtent& columns) {
  const BufferType type = source.type();
  const int64_t c0 = npu::blockElements(type);
  const ArrayRef<int64_t> tile = target.type().getShape().take_back(2);
  const auto upTo = [](const RunTimeExtent& extent) {
    return (extent.isKnown() ? "" : "up to ") + std::to_string(extent.most);
  };
  const int64_t squares = roundUp(rows.most, kFractalSide);
  if (copy.getTranspose() && c0 < kFractalSide && squares > roundUp(tile[1], c0))
    return copy.emitError() << "unsupported on ascend: a copy of " << upTo(rows) << " rows of "
                            << tile::dtypeName(type.getElementType())
                            << " to L0A with transpose, which goes in squares of 16; take "
                            << squares << " rows";
  const size_t exchanged = copy.getTranspose() ? 1 : 0;
  for (const auto& [extent, size] :
       {std::pair(&rows, tile[exchanged]), std::pair(&columns, tile[1 - exchanged])})
    if (c0 > kFractalSide && roundUp(extent->most, c0) > roundUp(size, kFractalSide))
      return copy.emitError() << "unsupported on ascend: a copy of " << upTo(*extent)
                              << " rows or columns of " << tile::dtypeName(type.getElementType())
                              << " that are transposed on the way; it takes multiples of " << c0;
  return success();
}

/// The height of a tile in L0C, as it is known at most, and as a value if it is one of the running kernel.
std::pair<uint64_t, Value> CopyExpander::rowsAndPitch(const BufferRegion& tile,
                                                      OpFoldResult height) {
  if (const std::optional<int64_t> rows = getConstantIntValue(height))
    return {uint64_t(*rows), Value()};
  return {uint64_t(npu::fractalRows(tile.type())), cast<Value>(height)};
}

/// Rows and columns as the kernel runs, if they aren't known before.
SmallVector<Value> CopyExpander::countsOf(const RunTimeExtent& rows, const RunTimeExtent& columns) {
  if (rows.isKnown() && columns.isKnown())
    return {};
  return {make.value(rows.count), make.value(columns.count)};
}

void CopyExpander::fillL1(const BufferRegion& region, Value offset) {
  const BufferType type = region.type();
  if (llvm::is_contained(region.staticExtents(), ShapedType::kDynamic))
    return fillColumns(region, offset);
  const SmallVector<int64_t> extents = region.staticExtents();
  const int64_t rows = extents.size() < 2 ? 1 : extents[extents.size() - 2];
  const int64_t groups = int64_t(llvm::divideCeil(extents.back(), npu::blockElements(type)));
  // Rows of a part of the tile have others below them, which stay; those of all of it fill their fractals.
  const bool isWholeColumns = extents.size() < 2 || rows == type.getShape()[extents.size() - 2];
  const int64_t tileRows = npu::fractalRows(type), filled = isWholeColumns ? tileRows : rows;
  const int64_t pieces = isWholeColumns ? 1 : groups;
  const int64_t bytes = filled * npu::kBlockBytes * (isWholeColumns ? groups : 1);
  const int64_t step = tileRows * npu::blockElements(type);
  for (int64_t piece = 0; piece < pieces; ++piece)
    npu::FillL1Op::create(builder, region.buffer,
                          make.value(make.add(offset, make.index(piece * step))), Value(),
                          uint64_t(bytes));
}

/// Of extents that are known at run time only: in each group of columns so many rows.
void CopyExpander::fillColumns(const BufferRegion& region, Value offset) {
  const BufferType type = region.type();
  const size_t last = region.extents.size() - 1;
  const auto columns = RunTimeExtent::of(copy, {{&region, last}});
  const auto rows =
      last == 0 ? RunTimeExtent{make.index(1), 1} : RunTimeExtent::of(copy, {{&region, last - 1}});
  const int64_t c0 = npu::blockElements(type);
  const OpFoldResult groups = make.div(make.add(columns.count, make.index(c0 - 1)), c0);
  auto loop = tile::ForOp::create(builder, make.constant(0), make.value(groups), make.constant(1));
  boundTurns(loop, int64_t(llvm::divideCeil(columns.most, c0)));
  nameLoop(loop, "group");
  const OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBodyBlock());
  const OpFoldResult at =
      make.add(offset, make.mul(loop.getInductionVar(), npu::fractalRows(type) * c0));
  npu::FillL1Op::create(builder, region.buffer, make.value(at),
                        make.value(make.mul(rows.count, npu::kBlockBytes)),
                        uint64_t(rows.most * npu::kBlockBytes));
}

} // namespace tilewright::ascend
