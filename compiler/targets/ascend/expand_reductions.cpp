// SPDX-License-Identifier: Apache-2.0
/// ExpandReductions: a reduction of a tile in UB becomes one statement, with scratch memory.
///
///     tile.reduce max %x dim 1 into %m clear        // [32, 128] of float32
///   ->
///     %s = tile.alloc "scratch" : !tile.buffer<8192xui8, UB>
///     npu.reduce max %m, %x scratch %s of 8192 size 32 x 128 pitch 128 dim 1 clear
///
/// The vector unit reduces floats only. Integers are combined line by line, by nests that become
/// instructions like any others: a sum of rows is one addition a row; one of columns steps through rows,
/// and runs on the scalar unit.
///
/// A reduction of magnitudes (absmax, abssum) makes a tile of them first: by one instruction, or of some
/// columns by a nest, as they may be all that is written.
///
/// Running sums and maxima go line by line, too.
///
/// It stands before memory is planned, which gives the scratch memory its place.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

using namespace mlir;

namespace tilewright::ascend {
namespace {

using tile::BufferRegion;
using tile::BufferType;

/// Rows that reduceRows of device/ascend takes at once.
constexpr int64_t kMostRows = 248;

std::optional<npu::ReduceKind> kindOf(tile::ReduceKind kind) {
  switch (kind) {
  case tile::ReduceKind::Sum:
  case tile::ReduceKind::AbsSum:
    return npu::ReduceKind::Sum;
  case tile::ReduceKind::Max:
  case tile::ReduceKind::AbsMax:
    return npu::ReduceKind::Max;
  case tile::ReduceKind::Min:
    return npu::ReduceKind::Min;
  default:
    return std::nullopt;
  }
}

bool isOfMagnitudes(tile::ReduceOp reduce) {
  return reduce.getKind() == tile::ReduceKind::AbsSum ||
         reduce.getKind() == tile::ReduceKind::AbsMax;
}

/// What a reduction reads: `first` of `tile`, in rows that are `pitch` apart.
struct Numbers {
  Value tile, first;
  int64_t pitch = 0;
};

/// The magnitudes of all columns of a tile; rows lie as the tile's.
Numbers magnitudesOfRows(ImplicitLocOpBuilder& builder, const Numbers& of, int64_t height,
                         int64_t width) {
  const IndexMaker make(builder);
  const Type element = cast<BufferType>(of.tile.getType()).getElementType();
  Value tile = makeTemporary(builder, builder.getLoc(), {height * of.pitch}, element, "magnitudes");
  npu::UnaryOp::create(builder, npu::UnaryKind::Abs, tile, make.constant(0), of.tile, of.first,
                       make.constant((height - 1) * of.pitch + width), npu::RepeatAttr());
  return {tile, make.constant(0), of.pitch};
}

/// The magnitudes of some columns of a tile, by a nest, for what lies between its rows is not read.
Numbers magnitudesOfPart(ImplicitLocOpBuilder& builder, const BufferRegion& source, int64_t height,
                         int64_t width) {
  const IndexMaker make(builder);
  const Value begin = make.constant(0);
  Value tile = makeTemporary(builder, builder.getLoc(), {height, width},
                             source.type().getElementType(), "magnitudes");
  const SmallVector<OpFoldResult> sides = {make.index(height), make.index(width)};
  auto nest = tile::ParallelOp::create(builder, sides);
  const OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(nest.getBodyBlock());
  const SmallVector<Value> to(nest.getInductionVars());
  SmallVector<Value> from;
  bool isRow = true;
  for (auto [offset, extent] : llvm::zip(source.offsets, source.extents)) {
    const bool isWide = !isConstantIntValue(extent, 1);
    from.push_back(make.value(isWide ? make.add(to[isRow ? 0 : 1], offset) : offset));
    isRow = isRow && !isWide;
  }
  Value number = tile::LoadOp::create(builder, source.type().getScalarType(), source.buffer, from,
                                      /*in_bounds=*/true);
  tile::StoreOp::create(builder, math::AbsFOp::create(builder, number), tile, to,
                        /*in_bounds=*/true);
  return {tile, begin, npu::rowPitch(cast<BufferType>(tile.getType()))};
}

bool isOfIntegers(tile::ReduceOp reduce) {
  const BufferRegion source = reduce.getSourceRegion(), target = reduce.getTargetRegion();
  const Type element = source.type().getElementType();
  const auto isInUb = [](const BufferRegion& region) {
    return region.type().getSpace() == tile::MemorySpace::UB;
  };
  return (element.isSignedInteger(32) || element.isSignedInteger(16)) &&
         target.type().getElementType() == element && !isOfMagnitudes(reduce) &&
         kindOf(reduce.getKind()) && isInUb(source) && isInUb(target) &&
         !llvm::is_contained(source.staticExtents(), ShapedType::kDynamic) &&
         (source.extents.size() == 2 || source.extents.size() == 3);
}

/// target = source[.., line, ..], or combined with it, for all that is kept.
class LineReducer {
public:
  explicit LineReducer(tile::ReduceOp reduce)
      : reduce(reduce), builder(reduce.getLoc(), reduce), make(builder),
        source(reduce.getSourceRegion()), target(reduce.getTargetRegion()),
        dim(size_t(reduce.getDim())) {}

  void run() {
    if (reduce.getClear())
      takeLine(make.constant(0), /*isFirst=*/true);
    auto loop = tile::ForOp::create(builder, make.constant(reduce.getClear() ? 1 : 0),
                                    make.value(source.extents[dim]), make.constant(1));
    builder.setInsertionPointToStart(loop.getBodyBlock());
    takeLine(loop.getInductionVar(), /*isFirst=*/false);
    reduce.erase();
  }

private:
  void takeLine(Value line, bool isFirst) {
    SmallVector<OpFoldResult> kept;
    for (size_t d = 0; d < source.extents.size(); ++d)
      if (d != dim)
        kept.push_back(source.extents[d]);
    const OpBuilder::InsertionGuard guard(builder);
    auto nest = tile::ParallelOp::create(builder, kept);
    builder.setInsertionPointToStart(nest.getBodyBlock());
    const Type number = source.type().getScalarType();
    const SmallVector<Value> from = indices(source, nest, line),
                             to = indices(target, nest, make.constant(0));
    Value value = tile::LoadOp::create(builder, number, source.buffer, from, /*in_bounds=*/true);
    if (!isFirst)
      value = combined(tile::LoadOp::create(builder, number, target.buffer, to, /*in_bounds=*/true),
                       value);
    tile::StoreOp::create(builder, value, target.buffer, to, /*in_bounds=*/true);
  }

  /// The nest's numbers, with `line` at the reduced dim if the region still has it.
  SmallVector<Value> indices(const BufferRegion& region, tile::ParallelOp nest, Value line) {
    SmallVector<Value> result(nest.getInductionVars());
    if (region.offsets.size() > result.size())
      result.insert(result.begin() + std::ptrdiff_t(dim), line);
    for (auto [index, offset] : llvm::zip(result, region.offsets))
      index = make.value(make.add(OpFoldResult(index), offset));
    return result;
  }

  Value combined(Value left, Value right) {
    switch (reduce.getKind()) {
    case tile::ReduceKind::Max:
      return arith::MaxSIOp::create(builder, left, right);
    case tile::ReduceKind::Min:
      return arith::MinSIOp::create(builder, left, right);
    default:
      return arith::AddIOp::create(builder, left, right);
    }
  }

  tile::ReduceOp reduce;
  ImplicitLocOpBuilder builder;
  IndexMaker make;
  BufferRegion source, target;
  size_t dim;
};

/// A running sum or maximum: one line after the other is combined with a tile of totals, which becomes
/// that line of the result. Small floats are summed in float32.
class LineScanner {
public:
  explicit LineScanner(tile::ScanOp scan)
      : scan(scan), kind(scan.getKind()), builder(scan.getLoc(), scan), make(builder),
        source(scan.getSourceRegion()), target(scan.getTargetRegion()), dim(size_t(scan.getDim())) {
  }

  LogicalResult run() {
    const Type element = source.type().getElementType();
    const bool isKnown = element.isF32() || isSmallFloat(element) || element.isSignedInteger(32) ||
                         element.isSignedInteger(16);
    const auto isInUb = [](const BufferRegion& region) {
      return region.type().getSpace() == tile::MemorySpace::UB;
    };
    const SmallVector<int64_t> extents = source.staticExtents();
    const bool isKindKnown = isMax() || scan.getKind() == tile::ReduceKind::Sum;
    if (!isKindKnown || !isKnown || !isInUb(source) || !isInUb(target) ||
        target.type().getElementType() != element || extents.size() > 3 ||
        llvm::is_contained(extents, ShapedType::kDynamic))
      return scan.emitError()
             << "unsupported on ascend: a running " << stringifyReduceKind(scan.getKind()) << " of "
             << tile::dtypeName(element)
             << " elements of this tile; there are those of static tiles of floats "
                "and of signed integers of 16 or 32 bits in UB";
    for (size_t each = 0; each < extents.size(); ++each)
      if (each != dim)
        kept.push_back(extents[each]);
    if (kept.empty())
      kept.push_back(1);
    const Type wide = isSmallFloat(element) && !isMax() ? builder.getF32Type() : element;
    totals = tile::AllocOp::create(builder, BufferType::get(kept, wide, tile::MemorySpace::UB),
                                   builder.getStringAttr("totals"), IntegerAttr());
    inNest([&](ValueRange at) {
      Value before = arith::ConstantOp::create(builder, beforeAll());
      tile::StoreOp::create(builder, before, totals, at, /*in_bounds=*/true);
    });
    auto loop = tile::ForOp::create(builder, make.constant(0), make.constant(extents[dim]),
                                    make.constant(1));
    builder.setInsertionPointToStart(loop.getBodyBlock());
    Value line = loop.getInductionVar();
    if (scan.getReverse())
      line = make.value(make.sub(make.index(extents[dim] - 1), line));
    inNest([&](ValueRange at) { addLine(line, at); });
    scan.erase();
    return success();
  }

private:
  static bool isSmallFloat(Type type) {
    return type.isF16() || type.isBF16();
  }

  bool isMax() const {
    return kind == tile::ReduceKind::Max;
  }

  /// What the first line is combined with.
  TypedAttr beforeAll() {
    const Type number = cast<BufferType>(totals.getType()).getScalarType();
    if (!isMax())
      return builder.getZeroAttr(number);
    if (auto real = dyn_cast<FloatType>(number))
      return builder.getFloatAttr(real, APFloat::getInf(real.getFloatSemantics(), true));
    return builder.getIntegerAttr(number, APInt::getSignedMinValue(number.getIntOrFloatBitWidth()));
  }

  Value combined(Value total, Value next) {
    if (isa<FloatType>(total.getType()) && isMax()) {
      // A NaN leaves the total as it is; the vector unit's Max would keep the NaN for ever.
      Value isLarger = arith::CmpFOp::create(builder, arith::CmpFPredicate::OGT, next, total);
      return arith::SelectOp::create(builder, isLarger, next, total);
    }
    if (isa<FloatType>(total.getType()))
      return arith::AddFOp::create(builder, total, next);
    return isMax() ? arith::MaxSIOp::create(builder, total, next).getResult()
                   : arith::AddIOp::create(builder, total, next).getResult();
  }

  void inNest(function_ref<void(ValueRange)> body) {
    const OpBuilder::InsertionGuard guard(builder);
    auto nest =
        tile::ParallelOp::create(builder, getAsIndexOpFoldResult(builder.getContext(), kept));
    builder.setInsertionPointToStart(nest.getBodyBlock());
    body(nest.getInductionVars());
  }

  void addLine(Value line, ValueRange at) {
    const Type small = source.type().getScalarType();
    Value next = tile::LoadOp::create(builder, small, source.buffer, indices(source, line, at),
                                      /*in_bounds=*/true);
    const Type number = cast<BufferType>(totals.getType()).getScalarType();
    Value total = tile::LoadOp::create(builder, number, totals, at, /*in_bounds=*/true);
    if (number != small)
      next = arith::ExtFOp::create(builder, number, next);
    total = combined(total, next);
    tile::StoreOp::create(builder, total, totals, at, /*in_bounds=*/true);
    if (number != small)
      total = arith::TruncFOp::create(builder, small, total);
    tile::StoreOp::create(builder, total, target.buffer, indices(target, line, at),
                          /*in_bounds=*/true);
  }

  SmallVector<Value> indices(const BufferRegion& region, Value line, ValueRange at) {
    SmallVector<Value> result(at);
    if (region.offsets.size() == 1)
      result.assign(1, line);
    else
      result.insert(result.begin() + std::ptrdiff_t(dim), line);
    for (auto [index, offset] : llvm::zip(result, region.offsets))
      index = make.value(make.add(OpFoldResult(index), offset));
    return result;
  }

  tile::ScanOp scan;
  tile::ReduceKind kind;
  ImplicitLocOpBuilder builder;
  IndexMaker make;
  BufferRegion source, target;
  size_t dim;
  SmallVector<int64_t> kept; ///< the extents of a line
  Value totals;
};

LogicalResult expand(tile::ReduceOp reduce) {
  if (isOfIntegers(reduce)) {
    LineReducer(reduce).run();
    return success();
  }
  ImplicitLocOpBuilder builder(reduce.getLoc(), reduce);
  const IndexMaker make(builder);
  const BufferRegion source = reduce.getSourceRegion(), target = reduce.getTargetRegion();
  const BufferType type = source.type();
  const Type element = type.getElementType();
  std::optional<npu::ReduceKind> kind = kindOf(reduce.getKind());
  const bool isCombined = isOfMagnitudes(reduce) && !reduce.getClear();
  if (!kind || isCombined || (!element.isF16() && !element.isF32()) ||
      target.type().getElementType() != element)
    return reduce.emitError() << "unsupported on ascend: a reduction by "
                              << stringifyReduceKind(reduce.getKind()) << " of "
                              << tile::dtypeName(element) << " elements";
  std::optional<UbRows> rows = rowsInUb(make, source), results = rowsInUb(make, target);
  std::optional<int64_t> height = rows ? getConstantIntValue(rows->rows) : std::nullopt;
  std::optional<int64_t> width = rows ? getConstantIntValue(rows->columns) : std::nullopt;
  if (!height || !width || !results || type.getSpace() != tile::MemorySpace::UB ||
      target.type().getSpace() != tile::MemorySpace::UB)
    return reduce.emitError() << "unsupported on ascend: a reduction that is not of a static tile "
                                 "of two dims in UB";
  if (const std::optional<std::string> start = startWithinBlock(rows->offset, type, reduce))
    return reduce.emitError() << "unsupported on ascend: the reduction's source begins " << *start
                              << ", but UB is accessed in blocks of 32 bytes";
  // A dim of one element may be what is reduced: then it is the columns of one-element rows.
  const bool alongRows = reduce.getDim() + 1 == source.extents.size();
  const int64_t bytes = int64_t(type.getElementBits()) / 8;
  int64_t scratch = npu::kBlockBytes;
  if (alongRows && *width * bytes > npu::kRepeatBytes)
    scratch += std::min(*height, kMostRows) * npu::kRepeatBytes;
  if (alongRows && !reduce.getClear())
    scratch += int64_t(llvm::alignTo(uint64_t(*height * bytes), uint64_t(npu::kBlockBytes)));
  Value space =
      makeTemporary(builder, builder.getLoc(), {scratch},
                    IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned), "scratch");
  Numbers numbers{source.buffer, make.value(rows->offset), rows->pitch};
  if (isOfMagnitudes(reduce)) {
    const bool isPart = *height > 1 && *width != type.getShape().back();
    numbers = isPart ? magnitudesOfPart(builder, source, *height, *width)
                     : magnitudesOfRows(builder, numbers, *height, *width);
    PipeBarrierOp::create(builder, Pipe::V);
  }
  npu::ReduceOp::create(builder, *kind, target.buffer, make.value(results->offset), numbers.tile,
                        numbers.first, space, make.constant(0), uint64_t(scratch),
                        uint64_t(*height), uint64_t(*width), uint64_t(numbers.pitch),
                        uint64_t(alongRows ? 1 : 0), reduce.getClear());
  reduce.erase();
  return success();
}

class ExpandReductions : public KernelPass<ExpandReductions> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-expand-reductions";
  static constexpr llvm::StringLiteral kDescription = "reductions become instructions";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<math::MathDialect, npu::NpuDialect, AscendDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::ReduceOp> work;
    getOperation().walk([&](tile::ReduceOp reduce) { work.push_back(reduce); });
    for (tile::ReduceOp reduce : work)
      if (failed(expand(reduce)))
        signalPassFailure();
    SmallVector<tile::ScanOp> scans;
    getOperation().walk([&](tile::ScanOp scan) { scans.push_back(scan); });
    for (tile::ScanOp scan : scans)
      if (failed(LineScanner(scan).run()))
        signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createExpandReductions() {
  return std::make_unique<ExpandReductions>();
}

} // namespace tilewright::ascend
