// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/copy_bounds.h"

#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/pipelined_loops.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <algorithm>

namespace tilewright::ascend {

using namespace mlir;

namespace {

struct Size {
  int64_t rows = 1, columns = 0;
};

/// The most that a region's numbers can be at `op`; nothing if that is no less than a whole tile of `most`.
std::optional<Size> largest(const tile::BufferRegion& region, Operation* op, int64_t most) {
  const auto highest = [&](size_t dim) {
    const int64_t number = boundedRangeAt(op, region.extents[dim]).high;
    return std::clamp(number, int64_t{0}, mostByTile(op, dim));
  };
  const size_t last = region.extents.size() - 1;
  Size size{1, highest(last)};
  for (size_t dim = 0; dim < last; ++dim)
    if (!isConstantIntValue(region.extents[dim], 1))
      size.rows = highest(dim);
  return size.rows <= most && size.columns <= most ? std::optional(size) : std::nullopt;
}

} // namespace

/// Of a copy by the cube core, the region whose rows and columns are those of a part of a tile in columns.
static std::optional<tile::BufferRegion> regionInColumns(Operation* op) {
  if (auto load = dyn_cast<npu::LoadL1Op>(op))
    return load.getGlobalRegion();
  if (auto store = dyn_cast<npu::StoreL0cOp>(op))
    return store.getGlobalRegion();
  return std::nullopt;
}

int64_t mostByTile(Operation* op, size_t dim) {
  // Of `rows` rows, or of all columns that a tile has if all rows together have so many elements.
  const auto most = [&](const tile::BufferRegion& global, int64_t rows, int64_t columns) {
    return dim + 1 == global.extents.size() ? columns : rows;
  };
  const auto elementsOf = [](Value tile) {
    const auto type = cast<tile::BufferType>(tile.getType());
    return bytesOfVersion(tile) * 8 / int64_t(type.getElementBits());
  };
  const auto inUb = [&](auto copy, Value tile) {
    const int64_t all = elementsOf(tile), pitch = std::max<int64_t>(int64_t(copy.getPitch()), 1);
    return most(copy.getGlobalRegion(), int64_t(llvm::divideCeil(all, pitch)), all);
  };
  return llvm::TypeSwitch<Operation*, int64_t>(op)
      .Case([&](npu::LoadUbOp load) { return inUb(load, load.getTarget()); })
      .Case([&](npu::StoreUbOp store) { return inUb(store, store.getSource()); })
      .Case([&](npu::LoadL1Op load) {
        const auto rows = int64_t(load.getRows());
        return most(load.getGlobalRegion(), rows, elementsOf(load.getTarget()) / rows);
      })
      .Case([&](npu::StoreL0cOp store) {
        return most(store.getGlobalRegion(), int64_t(store.getRows()),
                    elementsOf(store.getSource()));
      })
      .Default(IndexRange::kHighest);
}

void boundBytes(npu::Access& access, Operation* op) {
  if (access.region)
    return;
  // Of rows that aren't known the dialect names all that the tile has.
  const std::optional<tile::BufferRegion> inColumns = regionInColumns(op);
  const bool isOpen =
      inColumns && llvm::is_contained(inColumns->staticExtents(), ShapedType::kDynamic);
  if (!ShapedType::isDynamic(access.bytes) && !isOpen)
    return;
  const tile::BufferType type = access.type();
  const int64_t most = npu::storageBytes(type), element = type.getElementBits() / 8;
  const auto boundRows = [&](auto copy) {
    if (const std::optional<Size> size = largest(copy.getGlobalRegion(), op, most)) {
      const auto bytes = int64_t(llvm::alignTo(size->columns * element, npu::kBlockBytes));
      npu::setRowBytes(access, size->rows, bytes, int64_t(copy.getPitch()) * element);
    }
  };
  // Columns lie in groups of all rows of the tile.
  const auto boundColumns = [&](auto copy, int64_t group, int64_t columnBytes) {
    if (const std::optional<Size> size = largest(copy.getGlobalRegion(), op, most)) {
      const auto rows = int64_t(copy.getRows());
      npu::setRowBytes(access, int64_t(llvm::divideCeil(size->columns, group)),
                       std::min(size->rows, rows) * group * columnBytes,
                       rows * group * columnBytes);
    }
  };
  const auto boundCount = [&](auto vector) {
    if (!vector.getCount())
      return;
    const int64_t elements = std::max(boundedRangeAt(op, vector.getCount()).high, int64_t{0});
    if (elements < most)
      access.bytes = int64_t(llvm::divideCeil(elements * type.getElementBits(), 8));
  };
  llvm::TypeSwitch<Operation*>(op)
      .Case<npu::UnaryOp, npu::BinaryOp, npu::ScalarOp, npu::CastOp, npu::DuplicateOp>(boundCount)
      .Case([&](npu::LoadUbOp load) {
        if (!load.getBefore())
          boundRows(load);
      })
      .Case([&](npu::StoreUbOp store) { boundRows(store); })
      .Case([&](npu::LoadL1Op load) { boundColumns(load, npu::blockElements(type), element); })
      .Case([&](npu::StoreL0cOp store) {
        if (!store.getPitch())
          boundColumns(store, 16, 4);
      });
}

} // namespace tilewright::ascend
