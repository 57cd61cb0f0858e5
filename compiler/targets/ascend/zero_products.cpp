// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/zero_products.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

/// More are not worth their time.
constexpr int64_t kMostProducts = 16;

/// `number` + `more`.
OpFoldResult plus(OpBuilder& builder, Location place, OpFoldResult number, int64_t more) {
  if (const std::optional<int64_t> known = getConstantIntValue(number))
    return builder.getIndexAttr(*known + more);
  Value sum = arith::AddIOp::create(builder, place, cast<Value>(number),
                                    arith::ConstantIndexOp::create(builder, place, more));
  return sum;
}

/// The parts of two dims that a region consists of.
SmallVector<BufferRegion> flatParts(OpBuilder& builder, Location place,
                                    const BufferRegion& region) {
  SmallVector<BufferRegion> parts = {region};
  const SmallVector<int64_t> extents = region.staticExtents();
  for (size_t dim = 0; dim + 2 < extents.size(); ++dim) {
    SmallVector<BufferRegion> next;
    for (const BufferRegion& part : parts)
      for (int64_t at = 0; at < extents[dim]; ++at) {
        next.push_back(part);
        next.back().offsets[dim] = plus(builder, place, part.offsets[dim], at);
        next.back().extents[dim] = builder.getIndexAttr(1);
      }
    parts = std::move(next);
  }
  return parts;
}

} // namespace

bool ZeroProducts::canClear(tile::FillOp fill) {
  if (!isZero(fill.getValue()))
    return false;
  const BufferRegion region = withKnownExtents(fill.getTargetRegion());
  const SmallVector<int64_t> extents = region.staticExtents(), offsets = region.staticOffsets();
  if (extents.size() < 2 || llvm::is_contained(extents, ShapedType::kDynamic))
    return false;
  int64_t products = 1;
  for (const int64_t extent : ArrayRef(extents).drop_back(2))
    products *= extent;
  const auto isWholeFractals = [&](size_t dim) {
    return extents[dim] == region.type().getShape()[dim] ||
           (offsets[dim] != ShapedType::kDynamic && offsets[dim] % kFractalSide == 0 &&
            extents[dim] % kFractalSide == 0);
  };
  return products <= kMostProducts && isWholeFractals(extents.size() - 2) &&
         isWholeFractals(extents.size() - 1);
}

void ZeroProducts::clear(tile::FillOp fill, Value tile, Type element) {
  OpBuilder builder(fill);
  BufferRegion region = withKnownExtents(fill.getTargetRegion());
  region.buffer = tile;
  const int64_t rank = region.type().getRank();
  for (const BufferRegion& part : flatParts(builder, fill.getLoc(), region)) {
    const SmallVector<int64_t> sides = part.staticExtents();
    const int64_t height = sides[sides.size() - 2], width = sides.back();
    const Value zeros = zeroTile(fill, rank, std::max(height, width), element);
    const auto rows = [&](int64_t count) {
      BufferRegion top = BufferRegion::whole(zeros);
      top.extents[top.extents.size() - 2] = builder.getIndexAttr(count);
      return top;
    };
    tile::GemmOp::create(builder, fill.getLoc(), rows(height), rows(width), part,
                         /*transposeA=*/false, /*transposeB=*/true, /*clear=*/Value(),
                         /*clearAccum=*/true);
  }
}

/// As wide as the cube unit's smallest step of k.
Value ZeroProducts::zeroTile(tile::FillOp fill, int64_t rank, int64_t rows, Type element) {
  SmallVector<int64_t> shape(size_t(rank), 1);
  shape[shape.size() - 2] = rows;
  Value& zeros = zeroTiles[BufferType::get(shape, element, MemorySpace::L1)];
  if (zeros)
    return zeros;
  auto launch = fill->getParentOfType<tile::LaunchOp>();
  OpBuilder builder = OpBuilder::atBlockBegin(launch.getBodyBlock());
  const auto block = [&](int64_t columns) {
    shape.back() = columns;
    return BufferType::get(shape, element, MemorySpace::L1);
  };
  const int64_t columns = std::max(kFractalSide, npu::blockElements(block(kFractalSide)));
  zeros = tile::AllocOp::create(builder, fill.getLoc(), block(columns),
                                builder.getStringAttr("zeros"), IntegerAttr());
  const Type number =
      isa<FloatType>(element) ? element : builder.getIntegerType(element.getIntOrFloatBitWidth());
  const Value zero = arith::ConstantOp::create(builder, fill.getLoc(), builder.getZeroAttr(number));
  tile::FillOp::create(builder, fill.getLoc(), zero, BufferRegion::whole(zeros));
  return zeros;
}

} // namespace tilewright::ascend
