// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/line_reductions.h"

#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/short_loops.h"
#include "compiler/targets/ascend/ub_rows.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

namespace {

/// target = source[.., line, ..], or combined with it, for all that is kept.
class LineReducer {
public:
  LineReducer(ImplicitLocOpBuilder& builder, const LineReduction& reduction)
      : builder(builder), make(builder), kind(reduction.kind), source(reduction.source),
        target(reduction.target), dim(reduction.dim), clear(reduction.clear),
        ofMagnitudes(reduction.ofMagnitudes) {}

  void run() {
    if (clear)
      takeFirstLine();
    auto loop = tile::ForOp::create(builder, make.constant(clear ? 1 : 0),
                                    make.value(source.extents[dim]), make.constant(1));
    boundTurns(loop, stepsBehind(source, dim));
    nameLoop(loop, "line");
    const OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBodyBlock());
    takeLine(loop.getInductionVar(), /*isFirst=*/false);
  }

private:
  /// Of no lines, as the kernel may have, the result is what a reduction begins with.
  void takeFirstLine() {
    if (getConstantIntValue(source.extents[dim]))
      return takeLine(make.constant(0), /*isFirst=*/true);
    const OpBuilder::InsertionGuard guard(builder);
    Value isAny = arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt,
                                        make.value(source.extents[dim]), make.constant(0));
    auto branch = scf::IfOp::create(builder, isAny, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(branch.thenBlock());
    takeLine(make.constant(0), /*isFirst=*/true);
    builder.setInsertionPointToStart(branch.elseBlock());
    tile::ParallelOp nest = makeNest();
    builder.setInsertionPointToStart(nest.getBodyBlock());
    Value before = arith::ConstantOp::create(builder, beforeAll());
    tile::StoreOp::create(builder, before, target.buffer, indices(target, nest, make.constant(0)),
                          /*in_bounds=*/true);
  }

  TypedAttr beforeAll() {
    const Type number = source.type().getScalarType();
    auto real = dyn_cast<FloatType>(number);
    if (!real || ofMagnitudes || kind == npu::ReduceKind::Sum)
      return builder.getZeroAttr(number);
    return builder.getFloatAttr(
        real, APFloat::getInf(real.getFloatSemantics(), kind == npu::ReduceKind::Max));
  }

  /// Over all that is kept.
  tile::ParallelOp makeNest() {
    SmallVector<OpFoldResult> kept;
    for (size_t d = 0; d < source.extents.size(); ++d)
      if (d != dim)
        kept.push_back(source.extents[d]);
    if (kept.empty())
      kept.push_back(make.index(1));
    auto nest = tile::ParallelOp::create(builder, kept);
    nest->setAttr(kReductionAttr, builder.getStringAttr(integersAlongRows()));
    return nest;
  }

  void takeLine(Value line, bool isFirst) {
    const OpBuilder::InsertionGuard guard(builder);
    tile::ParallelOp nest = makeNest();
    builder.setInsertionPointToStart(nest.getBodyBlock());
    const Type number = source.type().getScalarType();
    const SmallVector<Value> from = indices(source, nest, line),
                             to = indices(target, nest, make.constant(0));
    Value value = tile::LoadOp::create(builder, number, source.buffer, from, /*in_bounds=*/true);
    if (ofMagnitudes)
      value = math::AbsFOp::create(builder, value);
    if (!isFirst)
      value = combined(tile::LoadOp::create(builder, number, target.buffer, to, /*in_bounds=*/true),
                       value);
    tile::StoreOp::create(builder, value, target.buffer, to, /*in_bounds=*/true);
  }

  /// The dtype of integers that lie side by side; empty of all else.
  std::string integersAlongRows() const {
    const Type element = source.type().getElementType();
    const bool isLast =
        llvm::all_of(ArrayRef(source.extents).drop_front(dim + 1),
                     [](OpFoldResult extent) { return isConstantIntValue(extent, 1); });
    return isLast && !isa<FloatType>(element) ? tile::dtypeName(element) : "";
  }

  /// The nest's numbers, with `line` at the reduced dim if the region still has it.
  SmallVector<Value> indices(const BufferRegion& region, tile::ParallelOp nest, Value line) {
    SmallVector<Value> result(nest.getInductionVars());
    if (source.extents.size() == 1)
      result.clear();
    if (region.offsets.size() > result.size())
      result.insert(result.begin() + std::ptrdiff_t(dim), line);
    for (auto [index, offset] : llvm::zip(result, region.offsets))
      index = make.value(make.add(OpFoldResult(index), offset));
    return result;
  }

  Value combined(Value left, Value right) {
    const bool isFloat = isa<FloatType>(left.getType());
    switch (kind) {
    case npu::ReduceKind::Max:
      if (isFloat)
        return arith::MaxNumFOp::create(builder, left, right);
      return arith::MaxSIOp::create(builder, left, right);
    case npu::ReduceKind::Min:
      if (isFloat)
        return arith::MinNumFOp::create(builder, left, right);
      return arith::MinSIOp::create(builder, left, right);
    default:
      if (isFloat)
        return arith::AddFOp::create(builder, left, right);
      return arith::AddIOp::create(builder, left, right);
    }
  }

  ImplicitLocOpBuilder& builder;
  IndexMaker make;
  npu::ReduceKind kind;
  BufferRegion source, target;
  size_t dim;
  bool clear, ofMagnitudes;
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
    nameLoop(loop, "line");
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

} // namespace

BufferRegion resultsOf(tile::ReduceOp reduce) {
  const BufferRegion source = reduce.getSourceRegion();
  BufferRegion target = reduce.getTargetRegion();
  const auto dim = size_t(reduce.getDim());
  const bool drops = target.extents.size() < source.extents.size();
  for (size_t each = 0; each < source.extents.size(); ++each)
    if (each != dim)
      target.extents[each - size_t(drops && each > dim)] = source.extents[each];
  return target;
}

void reduceByLines(ImplicitLocOpBuilder& builder, const LineReduction& reduction) {
  LineReducer(builder, reduction).run();
}

LogicalResult scanByLines(tile::ScanOp scan) {
  return LineScanner(scan).run();
}

} // namespace tilewright::ascend
