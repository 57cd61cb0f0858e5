// SPDX-License-Identifier: Apache-2.0
/// Turns tile.copy, tile.fill and tile.atomic_tile into loops over elements.
///
///   tile.copy %A[%m, 0] [64, 32] : !tile.buffer<?x32xf16, global>
///     to %As : !tile.buffer<64x32xf16, shared>
/// becomes
///   %inside = ...                               // the 64 rows from %m on are within A
///   scf.if %inside {
///     scf.for %i = 0 to 64 { scf.for %j = 0 to 32 {
///       %v = tile.load %A[%m + %i, %j] in_bounds    tile.store %v, %As[%i, %j] in_bounds } }
///   } else {
///     ... fill As with 0, then the same loops with the extents clamped once, here ...
///   }
///
/// A transposing copy on chip to elements of 32 bits, of extents that are multiples of a vector's lanes,
/// goes block by block: so many rows are loaded, transposed in registers and stored.
///
/// Rows that nobody fetches ahead ({cpu.rows_ahead = 16}, pack_gemm_operands.cpp) ask for those so many further on: rows of
/// a tensor that lie in a page each wait for its address too.
///
/// The loops of the usual, whole tile have constant bounds, which is what lets LLVM vectorise them
/// without a remainder; no element is ever checked by itself.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/stream_stores.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

/// What is known of one dim of a region: its loop variable runs from 0 to `extent`, of which
/// [lower, upper) is inside of the buffer.
struct ClampedDim {
  Value offset, extent;
  Value lower, upper;
  /// The dim must be checked; then `inside` (i1) says that nothing lies outside.
  bool checked = false;
  Value inside;
};

ClampedDim clampDim(ImplicitLocOpBuilder& builder, const BufferRegion& region, int64_t dim,
                    bool inBounds) {
  IndexMath math(builder);
  ClampedDim result;
  result.offset = math.value(region.offsets[dim]);
  result.extent = math.value(region.extents[dim]);
  result.lower = math.constant(0);
  result.upper = result.extent;
  const int64_t extent = region.staticExtents()[dim], offset = region.staticOffsets()[dim];
  const int64_t size = region.type().getShape()[dim];
  auto isKnown = [](int64_t number) { return !ShapedType::isDynamic(number); };
  const bool fits =
      isKnown(extent) && isKnown(offset) && isKnown(size) && offset >= 0 && offset + extent <= size;
  if (inBounds || fits)
    return result;
  result.checked = true;
  Value room = math.sub(math.dim(region.buffer, dim), result.offset);
  Value none = math.constant(0);
  result.inside = math.both(math.atMost(none, result.offset), math.atMost(result.extent, room));
  result.lower = math.min(math.max(math.sub(none, result.offset), none), result.extent);
  result.upper = math.max(math.min(result.extent, room), result.lower);
  return result;
}

/// A copy or fill, taken apart. Loops run over the dims whose extent is not 1; they pair up by
/// order.
struct Transfer {
  ImplicitLocOpBuilder& builder;
  IndexMath math;
  BufferRegion target;
  SmallVector<ClampedDim> targetDims;
  std::optional<BufferRegion> source;
  SmallVector<ClampedDim> sourceDims;
  /// Per loop: its dim in the target and in the source.
  SmallVector<int64_t> targetLoops, sourceLoops;
  /// Makes the stored value from the element indices of the source.
  llvm::function_ref<Value(ImplicitLocOpBuilder&, ValueRange)> element;
  /// Stored where the source has nothing; null if nothing is.
  Value pad;
  /// Set where stores may go past the caches.
  const StreamTargets* streams = nullptr;
  /// Set where vectors may be chosen for it.
  const Machine* machine = nullptr;
  /// Not 0: the row that is so many further on is asked for.
  int64_t rowsAhead = 0;
  /// Set if the target is updated atomically.
  std::optional<tile::AtomicKind> atomic;

  Transfer(ImplicitLocOpBuilder& builder, const BufferRegion& target)
      : builder(builder), math(builder), target(target) {}

  static SmallVector<int64_t> loopDims(const BufferRegion& region) {
    SmallVector<int64_t> dims;
    for (auto [number, extent] : llvm::enumerate(region.staticExtents()))
      if (extent != 1)
        dims.push_back(int64_t(number));
    return dims;
  }

  /// The indices of an element: offset plus loop variable, or the offset alone in dims of extent 1.
  SmallVector<Value> indices(ImplicitLocOpBuilder& inner, ArrayRef<ClampedDim> dims,
                             ArrayRef<int64_t> loops, ValueRange variables) const {
    IndexMath innerMath(inner);
    SmallVector<Value> result;
    for (const ClampedDim& dim : dims)
      result.push_back(dim.offset);
    for (auto [dim, variable] : llvm::zip(loops, variables))
      result[dim] = innerMath.add(result[dim], variable);
    return result;
  }

  /// All dims of one side are inside; null where none is checked.
  Value allInside(ArrayRef<ClampedDim> dims) const {
    Value result;
    for (const ClampedDim& dim : dims)
      if (dim.checked)
        result = math.both(result, dim.inside);
    return result;
  }

  /// The loops' ranges, clamped to the target and, with `bySource`, to the source. Where a dim
  /// without a loop lies outside, all ranges are empty.
  SmallVector<Range> clampedRanges(bool bySource) const {
    SmallVector<Range> ranges;
    for (int64_t dim : targetLoops)
      ranges.push_back({targetDims[dim].lower, targetDims[dim].upper});
    Value nothing = outsideWithoutLoop(targetDims, targetLoops);
    if (bySource) {
      for (auto [range, dim] : llvm::zip(ranges, sourceLoops)) {
        range.lower = math.max(range.lower, sourceDims[dim].lower);
        range.upper = math.min(range.upper, sourceDims[dim].upper);
      }
      Value more = outsideWithoutLoop(sourceDims, sourceLoops);
      nothing = nothing && more ? builder.createOrFold<arith::OrIOp>(nothing, more)
                                : (nothing ? nothing : more);
    }
    if (nothing)
      for (Range& range : ranges)
        range.upper = builder.createOrFold<arith::SelectOp>(nothing, math.constant(0), range.upper);
    return ranges;
  }

  Value outsideWithoutLoop(ArrayRef<ClampedDim> dims, ArrayRef<int64_t> loops) const {
    Value inside;
    for (auto [number, dim] : llvm::enumerate(dims))
      if (dim.checked && !llvm::is_contained(loops, int64_t(number)))
        inside = math.both(inside, dim.inside);
    if (!inside)
      return {};
    Value yes = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
    return builder.createOrFold<arith::XOrIOp>(inside, yes);
  }

  /// An i1 that says that the loops of the whole region should store past the caches; null if they never should.
  Value isStreamed() const {
    const Value buffer = target.buffer;
    if (!streams || atomic || targetLoops.empty() ||
        targetLoops.back() + 1 != target.type().getRank() || !streams->contains(buffer))
      return {};
    const int64_t length = target.staticExtents().back();
    if (ShapedType::isDynamic(length) || !StreamTargets::fillsLines(buffer, length))
      return {};
    SmallVector<Value> start;
    for (const ClampedDim& dim : targetDims)
      start.push_back(dim.offset);
    return StreamTargets::isWorthIt(builder, buffer, start);
  }

  void emitWhole(ArrayRef<Range> ranges) const {
    Value streamed = isStreamed();
    if (!streamed)
      return emitLoops(ranges);
    auto branch = scf::IfOp::create(builder, streamed, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    emitLoops(ranges);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    emitLoops(ranges);
    branch.getThenRegion().walk(
        [&](tile::StoreOp store) { store->setAttr(kStreamAttr, builder.getUnitAttr()); });
  }

  void emitLoops(ArrayRef<Range> ranges) const {
    buildParallelNest(
        builder, ranges,
        [&](ImplicitLocOpBuilder& inner, ValueRange variables) {
          if (rowsAhead)
            fetchAhead(inner, variables);
          SmallVector<Value> from;
          if (source)
            from = indices(inner, sourceDims, sourceLoops, variables);
          Value value = element(inner, from);
          SmallVector<Value> to = indices(inner, targetDims, targetLoops, variables);
          if (atomic)
            tile::AtomicOp::create(inner, /*previous=*/Type(), *atomic, target.buffer, to, value,
                                   tile::MemoryOrder::Relaxed, /*in_bounds=*/true);
          else
            storeElement(inner, value, target.buffer, to);
        },
        machine);
  }

  /// Before the loop over a row's elements: asks for the lines of the row that is so much further on, which may lie
  /// outside of the tensor.
  void fetchAhead(ImplicitLocOpBuilder& inner, ValueRange variables) const {
    OpBuilder::InsertionGuard guard(inner);
    inner.setInsertionPoint(variables.back().getParentBlock()->getParentOp());
    SmallVector<Value> at(variables);
    IndexMath innerMath(inner);
    at[at.size() - 2] = innerMath.add(at[at.size() - 2], innerMath.constant(rowsAhead));
    const int64_t step = kLineBytes * 8 / source->type().getElementBits();
    for (int64_t first = 0; first < source->staticExtents().back(); first += step) {
      at.back() = innerMath.constant(first);
      Value address = addressOf(inner, source->buffer, indices(inner, sourceDims, sourceLoops, at),
                                LLVM::GEPNoWrapFlags::none);
      LLVM::Prefetch::create(inner, address, /*rw=*/0, /*hint=*/2, /*cache=*/1);
    }
  }

  void emitPad() const {
    buildParallelNest(builder, clampedRanges(false),
                      [&](ImplicitLocOpBuilder& inner, ValueRange variables) {
                        storeElement(inner, pad, target.buffer,
                                     indices(inner, targetDims, targetLoops, variables));
                      });
  }

  void emit() {
    SmallVector<Range> whole;
    for (int64_t dim : targetLoops)
      whole.push_back({math.constant(0), targetDims[dim].extent});
    // A copy of one element still needs a loop: its range is what the clamping empties.
    if (targetLoops.empty() && target.type().getRank() > 0) {
      targetLoops.push_back(0);
      if (source && source->type().getRank() > 0)
        sourceLoops.push_back(0);
      whole.push_back({math.constant(0), math.constant(1)});
    }
    Value sourceInside = allInside(sourceDims);
    Value inside = math.both(allInside(targetDims), sourceInside);
    if (!inside) {
      emitWhole(whole);
      return;
    }
    auto branch = scf::IfOp::create(builder, inside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    emitWhole(whole);
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    if (sourceInside && pad)
      emitPad();
    emitLoops(clampedRanges(sourceInside != nullptr));
  }
};

void lowerFill(tile::FillOp op) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  Transfer transfer(builder, op.getTargetRegion());
  for (int64_t dim = 0; dim < transfer.target.type().getRank(); ++dim)
    transfer.targetDims.push_back(
        clampDim(builder, transfer.target, dim, op.isTargetInBounds(dim)));
  transfer.targetLoops = Transfer::loopDims(transfer.target);
  auto element = [&](ImplicitLocOpBuilder&, ValueRange) { return op.getValue(); };
  transfer.element = element;
  transfer.emit();
  op.erase();
}

/// Whether a transposing copy can go by blocks of `lanes` x `lanes` elements of 32 bits.
bool goesByBlocks(tile::CopyOp op, int64_t lanes) {
  if (!op.getTranspose() || op.getRelu() || op.getPad())
    return false;
  for (const BufferRegion& region : {op.getSourceRegion(), op.getTargetRegion()}) {
    const SmallVector<int64_t> extents = region.staticExtents();
    if (region.type().isGlobal() || extents.size() < 2)
      return false;
    for (auto [number, extent] : llvm::enumerate(extents))
      if (number + 2 < extents.size() ? extent != 1
                                      : ShapedType::isDynamic(extent) || extent % lanes != 0)
        return false;
  }
  Type from = op.getSourceRegion().type().getElementType();
  Type to = op.getTargetRegion().type().getElementType();
  return to.getIntOrFloatBitWidth() == 32 &&
         (from == to || (to.isF32() && (from.isF16() || from.isBF16())));
}

void lowerByBlocks(tile::CopyOp op, int64_t lanes) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  IndexMath math(builder);
  const BufferRegion source = op.getSourceRegion(), target = op.getTargetRegion();
  const SmallVector<int64_t> extents = source.staticExtents();
  SmallVector<Range> ranges;
  for (int64_t extent : ArrayRef(extents).take_back(2))
    ranges.push_back({math.constant(0), math.constant(extent / lanes)});
  buildNest(builder, ranges, [&](ImplicitLocOpBuilder& inner, ValueRange block) {
    IndexMath innerMath(inner);
    auto place = [&](const BufferRegion& region, Value row, Value column, int64_t step) {
      SmallVector<Value> at;
      for (OpFoldResult offset : region.offsets)
        at.push_back(innerMath.value(offset));
      Value& first = at[at.size() - 2];
      Value moved = innerMath.mul(row, innerMath.constant(lanes));
      first = innerMath.add(first, innerMath.add(moved, innerMath.constant(step)));
      at.back() = innerMath.add(at.back(), innerMath.mul(column, innerMath.constant(lanes)));
      return at;
    };
    SmallVector<Value> rows;
    for (int64_t step = 0; step < lanes; ++step) {
      Value row = loadVector(inner, source.buffer, place(source, block[0], block[1], step), lanes);
      if (source.type().getElementType() != target.type().getElementType())
        row = arith::ExtFOp::create(inner, VectorType::get({lanes}, inner.getF32Type()), row);
      rows.push_back(row);
    }
    rows = transposed(inner, rows);
    for (int64_t step = 0; step < lanes; ++step)
      storeVector(inner, rows[size_t(step)], target.buffer,
                  place(target, block[1], block[0], step));
  });
  op.erase();
}

void lowerCopy(tile::CopyOp op, const Machine& machine, const StreamTargets& streams) {
  if (goesByBlocks(op, machine.vectorBits / 32))
    return lowerByBlocks(op, machine.vectorBits / 32);
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  Transfer transfer(builder, op.getTargetRegion());
  transfer.source = op.getSourceRegion();
  const BufferRegion& source = *transfer.source;
  const BufferType from = source.type(), to = transfer.target.type();
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    transfer.targetDims.push_back(
        clampDim(builder, transfer.target, dim, op.isTargetInBounds(dim)));
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    transfer.sourceDims.push_back(clampDim(builder, source, dim, op.isSourceInBounds(dim)));
  transfer.targetLoops = Transfer::loopDims(transfer.target);
  transfer.sourceLoops = Transfer::loopDims(source);
  if (op.getTranspose() && transfer.sourceLoops.size() >= 2)
    std::swap(transfer.sourceLoops.back(), transfer.sourceLoops[transfer.sourceLoops.size() - 2]);

  auto element = [&](ImplicitLocOpBuilder& inner, ValueRange indices) {
    Value value = loadElement(inner, source.buffer, indices);
    value = convertElement(inner, value, from.getElementType(), to.getElementType());
    if (op.getRelu()) {
      Value none = zero(inner, value.getType());
      value = isa<FloatType>(value.getType())
                  ? arith::MaxNumFOp::create(inner, value, none).getResult()
                  : arith::MaxSIOp::create(inner, value, none).getResult();
    }
    return value;
  };
  transfer.element = element;
  transfer.streams = &streams;
  transfer.machine = &machine;
  auto rows = op->getAttrOfType<IntegerAttr>(kRowsAheadAttr);
  if (rows && transfer.sourceLoops.size() > 1 && !op.getTranspose())
    transfer.rowsAhead = rows.getInt();
  transfer.pad =
      op.getPad() ? convertElement(builder, op.getPad(), from.getElementType(), to.getElementType())
                  : zero(builder, to.getScalarType());
  transfer.emit();
  op.erase();
}

void lowerAtomicTile(tile::AtomicTileOp op) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  Transfer transfer(builder, op.getTargetRegion());
  transfer.source = op.getSourceRegion();
  const BufferRegion& source = *transfer.source;
  for (int64_t dim = 0; dim < transfer.target.type().getRank(); ++dim)
    transfer.targetDims.push_back(
        clampDim(builder, transfer.target, dim, op.isTargetInBounds(dim)));
  // What lies outside of the source is 0, which only leaves a sum as it was.
  const bool countsOutside = source.type().isGlobal() && op.getKind() != tile::AtomicKind::Add;
  bool isOutside = false;
  for (int64_t dim = 0; dim < source.type().getRank(); ++dim) {
    const ClampedDim known = clampDim(builder, source, dim, op.isSourceInBounds(dim));
    isOutside |= countsOutside && known.checked;
    transfer.sourceDims.push_back(countsOutside ? clampDim(builder, source, dim, true) : known);
  }
  transfer.targetLoops = Transfer::loopDims(transfer.target);
  transfer.sourceLoops = Transfer::loopDims(source);
  auto element = [&](ImplicitLocOpBuilder& inner, ValueRange indices) {
    Value loaded = tile::LoadOp::create(inner, source.type().getScalarType(), source.buffer,
                                        indices, /*in_bounds=*/!isOutside);
    return convertElement(inner, loaded, source.type().getElementType(),
                          transfer.target.type().getElementType());
  };
  transfer.element = element;
  transfer.atomic = op.getKind();
  transfer.emit();
  op.erase();
}

struct LowerCopies : MachinePass<LowerCopies> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerCopies)
  using MachinePass::MachinePass;
  static constexpr llvm::StringLiteral kArgument = "cpu-lower-copies";
  static constexpr llvm::StringLiteral kDescription =
      "turn tile.copy, tile.fill and tile.atomic_tile into loops over elements";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry
        .insert<arith::ArithDialect, scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    const StreamTargets streams(getOperation(), machine);
    getOperation()->walk([&](Operation* op) {
      if (auto copy = dyn_cast<tile::CopyOp>(op))
        lowerCopy(copy, machine, streams);
      else if (auto fill = dyn_cast<tile::FillOp>(op))
        lowerFill(fill);
      else if (auto atomic = dyn_cast<tile::AtomicTileOp>(op))
        lowerAtomicTile(atomic);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createLowerCopies(const Machine& machine) {
  return std::make_unique<LowerCopies>(machine);
}

} // namespace tilewright::cpu
