// SPDX-License-Identifier: Apache-2.0
// Fills of UB and L1.
#include "compiler/ir/kernel_manifest.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/short_loops.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

namespace {

/// All of a buffer in UB, with what lies behind its rows, as one row of integers of other width.
Value asIntegers(ImplicitLocOpBuilder& builder, Value buffer, unsigned bits) {
  const auto type = cast<BufferType>(buffer.getType());
  const auto made = BufferType::get(
      {npu::storageBytes(type) * 8 / int64_t(bits)},
      IntegerType::get(builder.getContext(), bits, IntegerType::Signed), type.getSpace());
  return tile::ViewOp::create(builder, made, buffer, ValueRange());
}

/// Of a region of bytes in UB, the dim whose elements lie side by side.
size_t denseDim(const BufferRegion& region) {
  const ArrayRef<int64_t> shape = region.type().getShape();
  size_t dim = shape.size() - 1;
  while (dim > 0 && shape[dim] == 1)
    --dim;
  return dim;
}

/// Whether an odd number of bytes may be filled with one more: it is known to lie behind its row.
bool endsBeforePadding(const BufferRegion& region, size_t dim) {
  const ArrayRef<int64_t> shape = region.type().getShape();
  const std::optional<int64_t> first = getConstantIntValue(region.offsets[dim]);
  const std::optional<int64_t> count = getConstantIntValue(region.extents[dim]);
  const bool isPadded = dim + 1 == shape.size() || region.type().getNumElements() == shape[dim];
  return isPadded && first && count && *first + *count == shape[dim];
}

/// Element by element: a nest, of which VectorizeParallel tells.
void fillByNest(ImplicitLocOpBuilder& builder, const BufferRegion& region, Value value) {
  const IndexMaker make(builder);
  SmallVector<OpFoldResult> sides;
  for (const size_t dim : wideDims(region))
    sides.push_back(region.extents[dim]);
  if (sides.empty())
    sides.push_back(make.index(1));
  auto nest = tile::ParallelOp::create(builder, sides);
  const OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(nest.getBodyBlock());
  SmallVector<Value> indices;
  size_t next = 0;
  for (auto [offset, extent] : llvm::zip(region.offsets, region.extents)) {
    const bool isWide = !isConstantIntValue(extent, 1);
    indices.push_back(
        make.value(isWide ? make.add(nest.getInductionVars()[next++], offset) : offset));
  }
  tile::StoreOp::create(builder, value, region.buffer, indices, /*in_bounds=*/true);
}

/// One fill; failures are reported at `op`.
class Filler {
public:
  Filler(ImplicitLocOpBuilder& builder, Operation* op, const BufferRegion& region, Value value)
      : builder(builder), make(builder), op(op), region(region), value(value),
        bits(region.type().getElementBits()) {}

  LogicalResult run() {
    rows = joinedRowsInUb(make, region);
    if (region.isWhole()) {
      // Also what lies between rows: instructions over the whole buffer read it.
      const int64_t elements = npu::storageBytes(region.type()) * 8 / int64_t(bits);
      rows = UbRows{make.index(1), make.index(elements), make.index(0), elements};
    }
    if (!rows || bits < 8)
      return op->emitError() << "unsupported on ascend: a fill of "
                             << (region.isWhole() ? "a buffer" : "a part of a buffer") << " of "
                             << tile::dtypeName(region.type().getElementType()) << " elements";
    if (failed(requireBlockStart(builder, op, "the fill", rows->offset, region.type())))
      return failure();
    isDense = fillsPitch(*rows, region.type());
    if (!isDense && beginWithinBlocks(*rows, region.type()))
      return op->emitError()
             << "unsupported on ascend: the fill's rows begin within a block of 32 bytes of "
                "UB, which is accessed in blocks";
    if (bits == 8)
      fillPairs();
    else if (bits == 64)
      fillHalves();
    else
      duplicate(region.buffer, value);
    return success();
  }

private:
  void duplicate(Value buffer, Value number) {
    forEachRow(builder, make, *rows, isDense, [&](Value row, Value count) {
      npu::DuplicateOp::create(builder, buffer, rowStart(make, *rows, row), number, count,
                               npu::RepeatAttr());
    });
  }

  /// Bytes are filled in pairs, as 16-bit numbers; the last of an odd number that something follows, by itself.
  void fillPairs() {
    if (!region.isWhole()) {
      const size_t dim = denseDim(region);
      const std::optional<int64_t> count = getConstantIntValue(region.extents[dim]);
      if (!count)
        return fillByNest(builder, region, value);
      if (*count % 2 != 0 && !endsBeforePadding(region, dim)) {
        BufferRegion last = region;
        last.offsets[dim] = make.add(last.offsets[dim], make.index(*count - 1));
        last.extents[dim] = make.index(1);
        fillByNest(builder, last, value);
        rows->columns = make.index(*count - 1);
        isDense = false;
        if (*count == 1)
          return;
      }
    }
    rows->columns = make.div(make.add(rows->columns, make.index(1)), 2);
    rows->offset = make.div(rows->offset, 2);
    rows->pitch /= 2;
    Value pair;
    if (const std::optional<int64_t> byte = getConstantIntValue(value)) {
      const int64_t both = (*byte & 0xFF) | (*byte & 0xFF) << 8;
      pair = arith::ConstantOp::create(builder, builder.getI16IntegerAttr(int16_t(both)));
    } else {
      Value twice = arith::ConstantOp::create(builder, builder.getI16IntegerAttr(0x101));
      Value byteOf = arith::ExtUIOp::create(builder, builder.getI16Type(), value);
      pair = arith::MulIOp::create(builder, byteOf, twice);
    }
    duplicate(asIntegers(builder, region.buffer, 16), pair);
  }

  /// Numbers of 64 bits are filled as two of 32, if these are the same: 0, -1 and few others.
  void fillHalves() {
    const std::optional<int64_t> number = getConstantIntValue(value);
    if (!number || int32_t(*number) != int32_t(*number >> 32))
      return fillByNest(builder, region, value);
    rows->columns = make.mul(rows->columns, 2);
    rows->offset = make.mul(rows->offset, 2);
    rows->pitch *= 2;
    duplicate(asIntegers(builder, region.buffer, 32),
              arith::ConstantOp::create(builder, builder.getI32IntegerAttr(int32_t(*number))));
  }

  ImplicitLocOpBuilder& builder;
  IndexMaker make;
  Operation* op;
  BufferRegion region;
  Value value;
  unsigned bits;
  std::optional<UbRows> rows;
  bool isDense = false;
};

/// In a loop over a dim whose steps are no rows of one sequence.
LogicalResult fillEach(ImplicitLocOpBuilder& builder, Operation* op, BufferRegion region,
                       size_t dim, Value value) {
  const IndexMaker make(builder);
  auto loop = tile::ForOp::create(builder, make.constant(0), make.value(region.extents[dim]),
                                  make.constant(1));
  boundTurns(loop, stepsBehind(region, dim));
  nameLoop(loop, "plane");
  const OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBodyBlock());
  region.offsets[dim] = make.add(region.offsets[dim], loop.getInductionVar());
  region.extents[dim] = make.index(1);
  return fillRegion(builder, op, region, value);
}

} // namespace

LogicalResult fillRegion(ImplicitLocOpBuilder& builder, Operation* op, const BufferRegion& region,
                         Value value) {
  const BufferType type = region.type();
  if (type.getSpace() == MemorySpace::L1 && region.isWhole() && isZero(value)) {
    npu::FillL1Op::create(builder, region.buffer, IndexMaker(builder).constant(0), Value(),
                          uint64_t(npu::storageBytes(type)));
    return success();
  }
  if (type.getSpace() == MemorySpace::L1)
    return op->emitError(
        "unsupported on ascend: a fill of a buffer in L1, but of all of it with 0; fill "
        "a tile of T.alloc_ub and copy it to L1, which vector cores do");
  if (type.getSpace() == MemorySpace::Global) {
    const std::string name = quotedBuffer(npu::storageOf(region.buffer));
    return op->emitError() << "unsupported on ascend: a fill of "
                           << (name.empty() ? "" : name + ", ")
                           << "a tensor; fill a tile (T.alloc_shared) and copy it there";
  }
  if (type.getSpace() != MemorySpace::UB)
    return op->emitError() << "unsupported on ascend: a fill of a buffer in "
                           << stringifyMemorySpace(type.getSpace());
  const SmallVector<size_t> dims = wideDims(region);
  if (dims.size() <= 1 || joinedRowsInUb(IndexMaker(builder), region))
    return Filler(builder, op, region, value).run();
  return fillEach(builder, op, region, dims[0], value);
}

} // namespace tilewright::ascend
