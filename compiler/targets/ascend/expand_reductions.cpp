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
/// Running sums and maxima go line by line, too (line_reductions.h). Reductions of bfloat16 go through float32;
/// those that keep more than one dim are one instruction, or one for each row of what they keep.
///
/// Of a part whose extents are known as the kernel runs (`real_shape=[8, n]`), instructions count so many rows and columns:
/// `counts(%c8 x %n)`. What they touch is taken for the most that these can be.
///
/// Results that begin within a block of 32 bytes, as that of a row in `m[i : i + 1]`, go to a tile of their own, from which
/// the scalar unit stores them: `tile.load`, `tile.store`.
///
/// It stands before memory is planned, which gives the scratch memory its place.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/check_parts.h"
#include "compiler/targets/ascend/copy_routes.h"
#include "compiler/targets/ascend/line_reductions.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/reduced_parts.h"
#include "compiler/targets/ascend/short_loops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

using namespace mlir;

namespace tilewright::ascend {
namespace {

using tile::BufferRegion;
using tile::BufferType;

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

bool isInWholeBlocks(const BufferRegion& region, size_t dim) {
  return ubStrides(region.type())[dim] % npu::blockElements(region.type()) == 0;
}

/// Whether numbers lie side by side, of which the first dim may have as many as the kernel knows.
bool areSideBySide(BufferRegion numbers) {
  const SmallVector<size_t> dims = wideDims(numbers);
  if (!dims.empty() && !getConstantIntValue(numbers.extents[dims.front()]))
    numbers.extents[dims.front()] =
        IntegerAttr::get(IndexType::get(numbers.buffer.getContext()), 2);
  return isDenseInUb(numbers);
}

class Reduction {
public:
  explicit Reduction(tile::ReduceOp reduce)
      : reduce(reduce), builder(reduce.getLoc(), reduce), make(builder),
        dim(size_t(reduce.getDim())), source(reduce.getSourceRegion()), target(resultsOf(reduce)) {}

  LogicalResult run() {
    const Type element = source.type().getElementType();
    const bool isCombined = isOfMagnitudes(reduce) && !reduce.getClear();
    const bool isOfIntegers =
        (element.isSignedInteger(16) || element.isSignedInteger(32)) && !isOfMagnitudes(reduce);
    const auto isAnyFloat = [](Type type) { return type.isF16() || type.isBF16() || type.isF32(); };
    const Type result = target.type().getElementType();
    const bool isConverted = isAnyFloat(element) && isAnyFloat(result) && result != element;
    if (result != element && !isConverted)
      return reduce.emitError() << "unsupported on ascend: a reduction of "
                                << tile::dtypeName(element) << " elements into a tile of "
                                << tile::dtypeName(result)
                                << "; reduce into one of the same dtype and convert that "
                                   "(T.tile.cast)";
    if (!kindOf(reduce.getKind()) || isCombined || !(isAnyFloat(element) || isOfIntegers))
      return reduce.emitError() << "unsupported on ascend: a reduction by "
                                << stringifyReduceKind(reduce.getKind()) << " of "
                                << tile::dtypeName(element) << " elements";
    for (const BufferRegion& region : {source, target})
      if (region.type().getSpace() != tile::MemorySpace::UB)
        return reduce.emitError() << "unsupported on ascend: a reduction with a tile in "
                                  << stringifyMemorySpace(region.type().getSpace())
                                  << "; the vector unit reduces tiles in UB, so copy it to one";
    checkParts(reduce);
    for (BufferRegion* region : {&source, &target})
      for (OpFoldResult& extent : region->extents)
        if (!getConstantIntValue(extent) && boundedRangeAt(reduce, extent).low < 0)
          extent = make.notNegative(extent);
    if (isOfIntegers) {
      reduceLines(source, target);
      return success();
    }
    const bool isInFloat32 = element.isBF16() || isConverted;
    if (const std::optional<std::string> why = whyOwnTile())
      return reduceToOwnTile(isInFloat32, *why);
    if (failed(requireBlock(target, "target")))
      return failure();
    return reduceFloats(isInFloat32);
  }

private:
  LogicalResult reduceFloats(bool isInFloat32) {
    if (failed(requireBlock(source, "source")))
      return failure();
    if (isInFloat32)
      reduceInFloat32();
    else
      reduceTile(source, target);
    return success();
  }

  /// Why the instructions can't put their results where they belong: these are known to begin within a block of 32
  /// bytes, or a single one may (`t[i : i + 1]`).
  std::optional<std::string> whyOwnTile() {
    const OpFoldResult start = ubOffset(make, target.type(), target.offsets);
    if (!isOfKnownExtents(target))
      return std::nullopt;
    if (const auto place = startWithinBlock(start, target.type(), reduce))
      return "begins " + *place;
    if (wideDims(target).empty() && !isMultipleOf(start, npu::blockElements(target.type())))
      return "may begin within a block";
    return std::nullopt;
  }

  /// The results go to a tile from which the scalar unit takes them.
  LogicalResult reduceToOwnTile(bool isInFloat32, const std::string& why) {
    reduce.emitRemark()
        << "the scalar unit stores what this reduction gives, element by element: its target "
        << why << ", but the vector unit stores to UB from whole blocks of 32 bytes on";
    const BufferRegion own = makePart(builder, target, target.type().getElementType(), "results");
    const BufferRegion results = std::exchange(target, own);
    if (!reduce.getClear())
      copyElements(builder, results, own);
    if (failed(reduceFloats(isInFloat32)))
      return failure();
    copyElements(builder, own, results);
    return success();
  }

  LogicalResult requireBlock(const BufferRegion& region, StringRef role) {
    return requireBlockStart(builder, reduce, ("the reduction's " + role).str(),
                             ubOffset(make, region.type(), region.offsets), region.type());
  }

  /// The vector unit has no bfloat16, and of two dtypes the wider one accumulates: tiles of float32 stand for those of
  /// another one.
  void reduceInFloat32() {
    const bool isFromFloat32 = source.type().getElementType().isF32();
    const bool isToFloat32 = target.type().getElementType().isF32();
    if (source.type().getElementType().isBF16())
      reduce.emitRemark() << "this reduction of bfloat16 is computed in float32: the vector unit "
                             "has none of bfloat16";
    const auto inFloat32 = [&](const BufferRegion& region, const char* name) {
      return makePart(builder, region, builder.getF32Type(), name);
    };
    const BufferRegion wide = isFromFloat32 ? source : inFloat32(source, "wide");
    const BufferRegion result = isToFloat32 ? target : inFloat32(target, "result");
    if (!isFromFloat32)
      copyByNest(builder, source, wide);
    if (!isToFloat32 && !reduce.getClear())
      copyByNest(builder, target, result);
    PipeBarrierOp::create(builder, Pipe::V);
    reduceTile(wide, result);
    if (isToFloat32)
      return;
    PipeBarrierOp::create(builder, Pipe::V);
    copyByNest(builder, result, target);
  }

  /// By one instruction, or one for each of some dims that are kept.
  void reduceTile(const BufferRegion& from, const BufferRegion& to) {
    SmallVector<size_t> kept = wideDims(from);
    llvm::erase(kept, dim);
    if (kept.size() < 2)
      return reduceRows(from, to, rowsInUb(make, from));
    const bool isOfColumns = wideDims(from).back() == dim;
    const std::optional<UbRows> joined = isOfColumns ? joinedRowsInUb(make, from) : std::nullopt;
    if (joined && areSideBySide(to))
      return reduceRows(from, to, joined);
    kept.pop_back();
    BufferRegion part = from, its = to;
    for (const size_t each : kept)
      part.extents[each] = its.extents[inTarget(each)] = make.index(1);
    if (!beginInWholeBlocks(part, to, kept))
      return reduceLines(from, to);
    const OpBuilder::InsertionGuard guard(builder);
    for (const size_t each : kept) {
      auto loop = tile::ForOp::create(builder, make.constant(0), make.value(from.extents[each]),
                                      make.constant(1));
      boundTurns(loop, stepsBehind(from, each));
      nameLoop(loop, "line");
      builder.setInsertionPointToStart(loop.getBodyBlock());
      for (auto [region, at] : {std::pair(&part, each), std::pair(&its, inTarget(each))})
        region->offsets[at] = make.add(region->offsets[at], loop.getInductionVar());
    }
    reduceRows(part, its, rowsInUb(make, part));
  }

  /// Where a dim of the source that is kept stands in the target.
  size_t inTarget(size_t each) const {
    return each - size_t(target.extents.size() < source.extents.size() && each > dim);
  }

  /// Of all parts that lie along `dims`: the instructions ask it of what they read, and of results,
  /// but of those that rows are reduced to.
  bool beginInWholeBlocks(const BufferRegion& part, const BufferRegion& to, ArrayRef<size_t> dims) {
    const std::optional<UbRows> rows = rowsInUb(make, part);
    const bool isOfResults = !(rows && isAlongRows(part, *rows) && reduce.getClear());
    return llvm::all_of(dims, [&](size_t each) {
      return isInWholeBlocks(part, each) && (!isOfResults || isInWholeBlocks(to, inTarget(each)));
    });
  }

  /// Each row becomes one number; else the rows are combined.
  bool isAlongRows(const BufferRegion& from, const UbRows& rows) const {
    // Where one element is reduced, each number stands for itself.
    if (isConstantIntValue(from.extents[dim], 1))
      return !isConstantIntValue(rows.rows, 1);
    return !isConstantIntValue(rows.columns, 1) && wideDims(from).back() == dim;
  }

  void reduceLines(const BufferRegion& from, const BufferRegion& to) {
    reduceByLines(builder, {*kindOf(reduce.getKind()), from, to, dim, reduce.getClear(),
                            isOfMagnitudes(reduce)});
  }

  /// The most that a number of rows or columns can be, of which the tile has `behind` from the first one on.
  int64_t mostOf(OpFoldResult count, int64_t behind) {
    const std::optional<int64_t> known = getConstantIntValue(count);
    return known ? *known : std::clamp<int64_t>(boundedRangeAt(reduce, count).high, 1, behind);
  }

  static int64_t columnsBehind(const BufferRegion& from) {
    const SmallVector<size_t> wide = wideDims(from);
    return wide.empty() ? 1 : stepsBehind(from, wide.back());
  }

  ReducedNumbers magnitudesOf(const BufferRegion& from, const UbRows& rows, int64_t height,
                              int64_t width) {
    const BufferType type = from.type();
    const bool isPart =
        height > 1 && (width != type.getShape().back() || rows.pitch != npu::rowPitch(type));
    const ReducedNumbers numbers{from.buffer, make.value(rows.offset), rows.pitch};
    return !isOfKnownExtents(from) ? magnitudesOfCounts(builder, from, rows)
           : isPart                ? magnitudesOfPart(builder, from)
                                   : magnitudesOfRows(builder, numbers, height, width);
  }

  /// Of magnitudes of none the greatest is 0, of other numbers the lowest one.
  bool beginsWithZeros(const BufferRegion& from, const BufferRegion& to) {
    if (reduce.getKind() != tile::ReduceKind::AbsMax || getConstantIntValue(from.extents[dim]))
      return false;
    const UbRows results = *joinedRowsInUb(make, to);
    Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(to.type().getScalarType()));
    npu::DuplicateOp::create(builder, to.buffer, make.value(results.offset), zero,
                             make.value(make.product(results.rows, results.columns)),
                             npu::RepeatAttr());
    return true;
  }

  void reduceRows(const BufferRegion& from, const BufferRegion& to,
                  const std::optional<UbRows>& rows) {
    const BufferType type = from.type();
    const int64_t height = rows ? mostOf(rows->rows, rows->mostRows) : 0;
    const int64_t width = rows ? mostOf(rows->columns, columnsBehind(from)) : 0;
    // The instructions take rows from whole blocks on, and put their numbers side by side.
    if (!rows || !areSideBySide(to) || (height > 1 && rows->pitch % npu::blockElements(type) != 0))
      return reduceLines(from, to);
    // Magnitudes of one column are made number by number: no tile of them is worth it.
    if (isOfMagnitudes(reduce) && height > 1 && width == 1)
      return reduceLines(from, to);
    const bool alongRows = isAlongRows(from, *rows);
    const bool clears = reduce.getClear() && !beginsWithZeros(from, to);
    const int64_t scratch =
        alongRows ? reductionScratch(type, height, width, rows->pitch, clears) : npu::kBlockBytes;
    Value space =
        makeTemporary(builder, builder.getLoc(), {scratch},
                      IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned), "scratch");
    ReducedNumbers numbers{from.buffer, make.value(rows->offset), rows->pitch};
    if (isOfMagnitudes(reduce)) {
      numbers = magnitudesOf(from, *rows, height, width);
      PipeBarrierOp::create(builder, Pipe::V);
    }
    const auto count = [&](OpFoldResult number) {
      return isOfKnownExtents(from) ? Value() : make.value(number);
    };
    npu::ReduceOp::create(builder, *kindOf(reduce.getKind()), to.buffer,
                          make.value(ubOffset(make, to.type(), to.offsets)), numbers.tile,
                          numbers.first, space, make.constant(0), uint64_t(scratch),
                          uint64_t(height), uint64_t(width), uint64_t(numbers.pitch),
                          uint64_t(alongRows ? 1 : 0), clears, count(rows->rows),
                          count(rows->columns));
  }

  tile::ReduceOp reduce;
  ImplicitLocOpBuilder builder;
  IndexMaker make;
  size_t dim;
  BufferRegion source, target;
};

LogicalResult expand(tile::ReduceOp reduce) {
  if (failed(Reduction(reduce).run()))
    return failure();
  reduce.erase();
  return success();
}

class ExpandReductions : public KernelPass<ExpandReductions> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-expand-reductions";
  static constexpr llvm::StringLiteral kDescription = "reductions become instructions";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<math::MathDialect, npu::NpuDialect, scf::SCFDialect, AscendDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::ReduceOp> work;
    getOperation().walk([&](tile::ReduceOp reduce) { work.push_back(reduce); });
    for (tile::ReduceOp reduce : work)
      if (failed(expand(reduce)))
        signalPassFailure();
    SmallVector<tile::ScanOp> scans;
    getOperation().walk([&](tile::ScanOp scan) { scans.push_back(scan); });
    for (tile::ScanOp scan : scans) {
      checkParts(scan);
      if (failed(scanByLines(scan)))
        signalPassFailure();
    }
  }
};

} // namespace

std::unique_ptr<Pass> createExpandReductions() {
  return std::make_unique<ExpandReductions>();
}

} // namespace tilewright::ascend
