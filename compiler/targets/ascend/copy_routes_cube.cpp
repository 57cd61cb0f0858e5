// SPDX-License-Identifier: Apache-2.0
// Copies of the cube core: global memory to L1, L1 to L0A and L0B, L0C to global memory and L1.
#include "compiler/ir/kernel_manifest.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/product_copies.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <functional>
#include <numeric>

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
  return fractalOffset(region);
}

Value CopyExpander::fractalOffset(const BufferRegion& region) {
  const BufferType type = region.type();
  const int64_t side =
      type.getSpace() == MemorySpace::L0C ? kFractalSide : npu::blockElements(type);
  auto [row, column] = placeInTile(make, region.offsets);
  const OpFoldResult inTile =
      make.add(make.mul(column, npu::fractalRows(type)), make.mul(row, side));
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
    const int64_t columns = to.staticExtents().back();
    // Columns that no block ends with are padded with zeros by the load, rows are not.
    const auto fill = [&] {
      if (copy.getPad() || ShapedType::isDynamic(columns))
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
      Value behind = fractalOffset(behindCut(to, from, clamped));
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
      Value behind = fractalOffset(behindCut(tile, tensor, clamped));
      npu::StoreL0cOp::create(builder, tile.buffer, behind, tensor.buffer, parts.offsets,
                              parts.extents, copy.getScale(), parts.staticOffsets,
                              parts.staticExtents, uint64_t(npu::fractalRows(tile.type())),
                              copy.getRelu(), atomicAdd);
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
  if (llvm::is_contained(source.staticExtents(), ShapedType::kDynamic))
    return copy.emitError("unsupported on ascend: a copy from L0C to L1 whose extents are known "
                          "at run time only");
  return forEachRectangle([&](const BufferRegion& product, const BufferRegion& operand) {
    FailureOr<Value> begin = l1Offset(product, "source"), end = l1Offset(operand, "target");
    if (failed(begin) || failed(end))
      return failure();
    const SmallVector<int64_t> extents = operand.staticExtents();
    const int64_t height =
        std::accumulate(extents.begin(), extents.end() - 1, int64_t(1), std::multiplies());
    npu::MoveL0cOp::create(builder, product.buffer, *begin, operand.buffer, *end, copy.getScale(),
                           uint64_t(npu::fractalRows(product.type())),
                           uint64_t(npu::fractalRows(operand.type())), uint64_t(height),
                           uint64_t(roundUp(extents.back(), kFractalSide)), copy.getRelu());
    return success();
  });
}

LogicalResult CopyExpander::l1ToL0() {
  const SmallVector<int64_t> extents = source.staticExtents();
  if (extents.size() < 2 || llvm::is_contained(extents, ShapedType::kDynamic) ||
      source.type().getElementType() != target.type().getElementType())
    return copy.emitError() << "unsupported on ascend: a copy to "
                            << stringifyMemorySpace(target.type().getSpace())
                            << " takes a static tile of two dims and one element type";
  const MemorySpace to = target.type().getSpace();
  const bool isToA = to == MemorySpace::L0A;
  const bool isTransposedOnTheWay = isToA == copy.getTranspose();
  if (failed(requireLoadable(builder, copy, "the copy's source", source, to, isTransposedOnTheWay)))
    return failure();
  const int64_t c0 = npu::blockElements(source.type());
  const int64_t rows = extents[extents.size() - 2];
  const int64_t squares = roundUp(rows, kFractalSide);
  if (isTransposedOnTheWay && isToA && c0 < kFractalSide && squares != roundUp(rows, c0))
    return copy.emitError() << "unsupported on ascend: a copy of " << rows << " rows of "
                            << tile::dtypeName(source.type().getElementType())
                            << " to L0A with transpose, which goes in squares of 16; take "
                            << squares << " rows";
  for (const int64_t extent : ArrayRef(extents).take_back(2))
    if (isTransposedOnTheWay && c0 > kFractalSide && extent % c0 != 0)
      return copy.emitError() << "unsupported on ascend: a copy of " << extent
                              << " rows or columns "
                              << "of " << tile::dtypeName(source.type().getElementType())
                              << " that are transposed on the way; it takes multiples of " << c0;
  auto [row, column] = placeInTile(make, source.offsets);
  auto [targetRow, targetColumn] = placeInTile(make, target.offsets);
  if (!isConstantIntValue(targetRow, 0) || !isConstantIntValue(targetColumn, 0))
    return copy.emitError() << "unsupported on ascend: a copy to a part of a tile in "
                            << stringifyMemorySpace(target.type().getSpace());
  npu::LoadL0Op::create(
      builder, source.buffer, make.value(tileOffset(make, source.type(), source.offsets)),
      make.value(row), make.value(column), target.buffer,
      make.value(tileOffset(make, target.type(), target.offsets)),
      uint64_t(npu::fractalRows(source.type())),
      uint64_t(roundUp(rows, loadedRows(source.type(), to, isTransposedOnTheWay))),
      uint64_t(roundUp(extents.back(), c0)), copy.getTranspose());
  return success();
}

void CopyExpander::fillL1(const BufferRegion& region, Value offset) {
  const BufferType type = region.type();
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
                          make.value(make.add(offset, make.index(piece * step))), uint64_t(bytes));
}

} // namespace tilewright::ascend
