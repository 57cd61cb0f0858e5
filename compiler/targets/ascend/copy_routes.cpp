// SPDX-License-Identifier: Apache-2.0
// Copies between global memory and UB, and what all routes share.
#include "compiler/targets/ascend/copy_routes.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/index_ranges.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/analysis/same_number.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/buffer_lives.h"
#include "compiler/targets/ascend/short_loops.h"
#include "compiler/targets/ascend/turning_variables.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <limits>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

SmallVector<size_t> wideDims(const BufferRegion& region) {
  SmallVector<size_t> dims;
  for (auto [dim, extent] : llvm::enumerate(region.extents))
    if (!isConstantIntValue(extent, 1))
      dims.push_back(dim);
  return dims;
}

static bool isInBounds(tile::CopyOp copy, bool isSource, size_t dim) {
  return isSource ? copy.isSourceInBounds(int64_t(dim)) : copy.isTargetInBounds(int64_t(dim));
}

LogicalResult CopyExpander::forEachRectangle(Body body) {
  SmallVector<size_t> from = wideDims(source), to = wideDims(target);
  if (from.size() <= 2)
    return body(source, target);
  BufferRegion innerSource = source, innerTarget = target;
  OpBuilder::InsertionGuard guard(builder);
  for (size_t number = 0; number + 2 < from.size(); ++number) {
    auto loop = tile::ForOp::create(builder, make.constant(0),
                                    make.value(source.extents[from[number]]), make.constant(1));
    const BufferRegion& local = source.type().isGlobal() ? target : source;
    boundTurns(loop, stepsBehind(local, (source.type().isGlobal() ? to : from)[number]));
    nameLoop(loop, "plane");
    builder.setInsertionPointToStart(loop.getBodyBlock());
    for (auto [region, dim] : {std::pair{&innerSource, from[number]}, {&innerTarget, to[number]}}) {
      region->offsets[dim] = make.add(region->offsets[dim], loop.getInductionVar());
      region->extents[dim] = make.index(1);
    }
  }
  return body(innerSource, innerTarget);
}

void CopyExpander::addCondition(Value& all, Value condition) {
  all = all ? arith::AndIOp::create(builder, all, condition).getResult() : condition;
}

/// Whether a tensor's edge cuts through no such part of it: it ends where a whole number of them does.
static bool isAllOrNothing(const BufferRegion& region, size_t dim) {
  const std::optional<int64_t> extent = getConstantIntValue(region.extents[dim]);
  return extent && *extent > 1 && !region.type().isDynamicDim(int64_t(dim)) &&
         region.type().getShape()[dim] % *extent == 0 && isMultipleOf(region.offsets[dim], *extent);
}

static IndexRange rangeIn(IndexRanges ranges, OpFoldResult number) {
  const std::optional<int64_t> fixed = getConstantIntValue(number);
  return fixed ? IndexRange{*fixed, *fixed} : ranges.rangeOf(cast<Value>(number));
}

IndexRanges CopyExpander::rangesIfMoving(bool withinTile) {
  Region* around = copy->getParentRegion();
  IndexRanges ranges = withinTile ? boundedRangesIn(around) : rangesIn(around);
  const auto assume = [&](OpFoldResult number, IndexRange range) {
    if (auto value = dyn_cast<Value>(number))
      ranges.assume(IndexRanges::symbolOf(value), range);
  };
  for (const BufferRegion* region : {&source, &target})
    for (const OpFoldResult offset : region->offsets)
      if (auto value = dyn_cast<Value>(offset))
        assumeCounters(value, ranges);
  for (const OpFoldResult extent : source.extents)
    assume(extent, {1, IndexRange::kHighest});
  if (!withinTile || target.type().getSpace() == MemorySpace::Global)
    return ranges;
  for (size_t dim = 0; dim < target.extents.size(); ++dim) {
    if (target.type().isDynamicDim(int64_t(dim)))
      continue;
    const int64_t size = target.type().getShape()[dim];
    const int64_t least = std::max<int64_t>(rangeIn(ranges, target.extents[dim]).low, 1);
    assume(target.offsets[dim], {0, size - least});
    const int64_t first = rangeIn(ranges, target.offsets[dim]).low;
    assume(target.extents[dim], {IndexRange::kLowest, size - std::max<int64_t>(first, 0)});
  }
  return ranges;
}

/// Whether an extent is at most what the tensor has behind where its part begins: `min(32, rows - first)`.
static bool isBoundedByTensor(const BufferRegion& region, size_t dim) {
  const int64_t size = region.type().getShape()[dim];
  const auto isWhatIsLeft = [&](Value number) {
    auto left = number.getDefiningOp<arith::SubIOp>();
    if (!left || !isSameNumber(left.getRhs(), dyn_cast<Value>(region.offsets[dim])))
      return false;
    if (!ShapedType::isDynamic(size)) {
      const std::optional<int64_t> all = getConstantIntValue(left.getLhs());
      return all && *all <= size;
    }
    const Value all = IndexRanges::symbolOf(left.getLhs());
    return llvm::any_of(region.buffer.getUsers(), [&](Operation* user) {
      auto extent = dyn_cast<tile::DimOp>(user);
      return extent && extent.getDim() == dim && IndexRanges::symbolOf(extent.getExtent()) == all;
    });
  };
  SmallVector<Value> bounds;
  if (auto extent = dyn_cast<Value>(region.extents[dim]))
    bounds.push_back(extent);
  for (size_t next = 0; next < bounds.size(); ++next)
    if (auto smaller = bounds[next].getDefiningOp<arith::MinSIOp>())
      bounds.append({smaller.getLhs(), smaller.getRhs()});
  return isa<Value>(region.offsets[dim]) && llvm::any_of(bounds, isWhatIsLeft);
}

/// Of a dim of constant size.
static bool isInside(const IndexRanges& ranges, const BufferRegion& region, size_t dim) {
  const IndexRange first = rangeIn(ranges, region.offsets[dim]),
                   count = rangeIn(ranges, region.extents[dim]);
  int64_t end = 0;
  return first.low >= 0 && !llvm::AddOverflow(first.high, count.high, end) &&
         end <= region.type().getShape()[dim];
}

bool CopyExpander::mayBeCut(const BufferRegion& region, size_t dim) {
  if (isBoundedByTensor(region, dim))
    return rangeIn(rangesIfMoving(/*withinTile=*/true), region.offsets[dim]).low < 0;
  if (region.type().isDynamicDim(int64_t(dim)))
    return true;
  return !isInside(rangesIfMoving(/*withinTile=*/true), region, dim);
}

ClampedRegion CopyExpander::clamp(const BufferRegion& region, bool isSource,
                                  std::optional<size_t> uncutBefore) {
  ClampedRegion clamped{region, Value(), /*mayBeMissing=*/false,
                        SmallVector<OpFoldResult>(region.extents.size(), make.index(0))};
  for (size_t dim = 0; dim < region.extents.size(); ++dim) {
    const bool isKnown = !region.type().isDynamicDim(int64_t(dim)) &&
                         isInside(rangesIfMoving(/*withinTile=*/false), region, dim);
    if (isInBounds(copy, isSource, dim))
      continue;
    if (isKnown && !(isSource && copy.endOf(int64_t(dim)))) {
      OpFoldResult& extent = clamped.region.extents[dim];
      if (rangeAt(copy, extent).low < 0) // fewer than none are none
        extent = make.notNegative(extent);
      continue;
    }
    OpFoldResult size =
        region.type().isDynamicDim(int64_t(dim))
            ? OpFoldResult(tile::DimOp::create(builder, region.buffer, dim).getResult())
            : make.index(region.type().getShape()[dim]);
    Value end = isSource ? copy.endOf(int64_t(dim)) : Value();
    if (end)
      size = make.min(size, getAsOpFoldResult(end));
    const OpFoldResult left = make.sub(size, region.offsets[dim]);
    const bool mayBeBefore =
        dim != uncutBefore &&
        rangeIn(rangesIfMoving(/*withinTile=*/false), region.offsets[dim]).low < 0;
    const bool isOne =
        isConstantIntValue(region.extents[dim], 1) && dim + 1 < region.extents.size();
    if (isOne || (!end && isAllOrNothing(region, dim))) {
      addCondition(clamped.isThere, isMore(left, 0));
      if (mayBeBefore)
        addCondition(clamped.isThere, isMore(region.offsets[dim], -1));
      clamped.mayBeMissing |= end || mayBeCut(region, dim);
      continue;
    }
    const std::optional<int64_t> most = getConstantIntValue(left);
    const IndexRange extent = rangeAt(copy, region.extents[dim]);
    const bool mayBeMore =
        (!most || extent.high > *most) && (end || !isBoundedByTensor(region, dim));
    const OpFoldResult smaller =
        mayBeMore ? make.min(region.extents[dim], left) : region.extents[dim];
    clamped.region.extents[dim] = mayBeMore || extent.low < 0 ? make.notNegative(smaller) : smaller;
    if (mayBeBefore)
      cutBefore(clamped, dim);
  }
  return clamped;
}

Value CopyExpander::isMore(OpFoldResult number, int64_t than) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, make.value(number),
                               make.constant(than));
}

void CopyExpander::cutBefore(ClampedRegion& clamped, size_t dim) {
  OpFoldResult &offset = clamped.region.offsets[dim], &extent = clamped.region.extents[dim];
  clamped.before[dim] = make.min(make.notNegative(make.sub(make.index(0), offset)), extent);
  offset = make.notNegative(offset);
  extent = make.sub(extent, clamped.before[dim]);
  addCondition(clamped.isThere, isMore(extent, 0));
  clamped.mayBeMissing = true;
}

BufferRegion CopyExpander::behindCut(const BufferRegion& local, const BufferRegion& global,
                                     const ClampedRegion& clamped) {
  BufferRegion behind = local;
  for (auto [from, to] : llvm::zip(wideDims(global), wideDims(local)))
    if (!isConstantIntValue(clamped.before[from], 0))
      behind.offsets[to] = make.add(behind.offsets[to], clamped.before[from]);
  return behind;
}

std::optional<size_t> CopyExpander::densePartner(const BufferRegion& global,
                                                 const BufferRegion& ub) {
  const SmallVector<int64_t> strides = ubStrides(ub.type());
  for (auto [from, to] : llvm::zip(wideDims(global), wideDims(ub)))
    if (strides[to] == 1)
      return from;
  return std::nullopt;
}

Value CopyExpander::padBefore(BufferRegion& ub, const BufferRegion& whole) {
  const SmallVector<size_t> dims = wideDims(whole);
  if (dims.empty() || ubStrides(ub.type())[dims.back()] != 1 ||
      ub.offsets[dims.back()] == whole.offsets[dims.back()])
    return {};
  const OpFoldResult first = whole.offsets[dims.back()];
  const int64_t unit = npu::blockElements(ub.type());
  const OpFoldResult cut = make.sub(ub.offsets[dims.back()], first);
  const OpFoldResult blocks = make.mul(make.div(cut, unit), unit);
  ub.offsets[dims.back()] = make.add(first, blocks);
  return make.value(make.sub(cut, blocks));
}

/// Whether what a number can be is known when the kernel runs only: an argument, the extent of a tensor, or
/// what memory holds.
static bool comesFromOutside(Value number) {
  if (auto argument = dyn_cast<BlockArgument>(number)) {
    Operation* parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<tile::ForOp>(parent))
      return comesFromOutside(loop.getLower()) || comesFromOutside(loop.getUpper());
    return isa<func::FuncOp>(parent);
  }
  Operation* op = number.getDefiningOp();
  return isa<tile::LoadOp, tile::DimOp>(op) || llvm::any_of(op->getOperands(), comesFromOutside);
}

LogicalResult CopyExpander::requireFirst(const BufferRegion& global, std::optional<size_t> dim,
                                         StringRef reason) {
  if (!dim)
    return success();
  const OpFoldResult offset = global.offsets[*dim];
  const IndexRange range = rangeAt(copy, offset);
  if (range.low >= 0)
    return success();
  const std::string dimOfTensor = " of dim " + std::to_string(*dim) + " of its tensor, but ";
  const bool isKnown = range.low != IndexRange::kLowest;
  if (getConstantIntValue(offset) || (isKnown && !comesFromOutside(cast<Value>(offset))))
    return copy.emitError() << "unsupported on ascend: this copy may begin at element " << range.low
                            << dimOfTensor << reason;
  requireHere(builder, isMore(offset, -1),
              "this copy begins before element 0 of dim " + std::to_string(*dim) +
                  " of its tensor, at {}, but " + reason.str(),
              cast<Value>(offset),
              source.type().getSpace() == MemorySpace::UB ? Agent::Vector : Agent::Cube);
  return success();
}

Value CopyExpander::isCut(const ClampedRegion& clamped, const BufferRegion& whole) {
  Value cut;
  auto also = [&](Value condition) {
    cut = cut ? arith::OrIOp::create(builder, cut, condition).getResult() : condition;
  };
  for (auto [dim, left, extent] : llvm::enumerate(clamped.region.extents, whole.extents))
    if (left != extent && (copy.endOf(int64_t(dim)) || mayBeCut(whole, dim)))
      also(arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, make.value(left),
                                 make.value(extent)));
  if (clamped.isThere && clamped.mayBeMissing) {
    Value yes = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
    also(arith::XOrIOp::create(builder, clamped.isThere, yes));
  }
  return cut;
}

void CopyExpander::ifThere(const ClampedRegion& clamped, function_ref<void()> body) {
  if (!clamped.isThere) {
    body();
    return;
  }
  auto branch = scf::IfOp::create(builder, clamped.isThere, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// Whether a part is all that its buffer's memory holds.
static bool isAllOfIts(const BufferRegion& tile) {
  const auto storage = cast<BufferType>(npu::storageOf(tile.buffer).getType());
  return tile.isWhole() && npu::storageBytes(tile.type()) == npu::storageBytes(storage);
}

LogicalResult CopyExpander::padAndLoad(const ClampedRegion& clamped, const BufferRegion& whole,
                                       const BufferRegion& tile, function_ref<LogicalResult()> fill,
                                       function_ref<void()> load) {
  const OpBuilder::InsertionGuard guard(builder);
  const auto mark = [&](scf::IfOp branch) {
    if (isAllOfIts(tile))
      branch->setAttr(kOverwritesAttr, builder.getUnitAttr());
  };
  if (clamped.mayBeMissing && clamped.region.extents == whole.extents) {
    auto branch = scf::IfOp::create(builder, clamped.isThere, /*withElseRegion=*/true);
    mark(branch);
    builder.setInsertionPointToStart(branch.thenBlock());
    load();
    builder.setInsertionPointToStart(branch.elseBlock());
    return fill();
  }
  if (Value cut = isCut(clamped, whole)) {
    auto branch = scf::IfOp::create(builder, cut, /*withElseRegion=*/false);
    mark(branch);
    builder.setInsertionPointToStart(branch.thenBlock());
    if (failed(fill()))
      return failure();
    builder.setInsertionPointAfter(branch);
  }
  ifThere(clamped, load);
  return success();
}

void CopyExpander::order(Pipe from, Pipe to) {
  if (context.waits)
    context.events.order(builder, from, to);
}

LogicalResult CopyExpander::requireBlockStart(const BufferRegion& region, StringRef role) {
  return ascend::requireBlockStart(builder, copy, ("the copy's " + role).str(),
                                   ubOffset(make, region.type(), region.offsets), region.type());
}

Value CopyExpander::padValue() {
  const Type type = source.type().getScalarType();
  if (copy.getPad())
    return copy.getPad();
  return arith::ConstantOp::create(builder, builder.getZeroAttr(type));
}

LogicalResult CopyExpander::refuseRowsWithinBlocks() {
  return copy.emitError()
         << "unsupported on ascend: the copy's rows begin within a block of 32 bytes of UB, "
            "which is accessed in blocks";
}

bool isColumnInUb(const BufferRegion& ub) {
  const SmallVector<size_t> dims = wideDims(ub);
  return dims.size() == 1 && dims[0] + 1 != ub.extents.size() && npu::rowPitch(ub.type()) > 1;
}

/// Rows of a rectangle must begin at a block; a column (one element a row) lies side by side in UB.
LogicalResult CopyExpander::requireRows(const BufferRegion& global, const BufferRegion& ub) {
  const SmallVector<size_t> dims = wideDims(global), ubDims = wideDims(ub);
  const SmallVector<int64_t> strides = ubStrides(ub.type());
  const bool mayBeSeveral = ubDims.size() == 2 && ub.type().getShape()[ubDims.front()] > 1;
  if (mayBeSeveral && strides[ubDims.front()] % npu::blockElements(ub.type()) != 0)
    return refuseRowsWithinBlocks();
  if (dims.empty() || dims.back() + 1 == global.extents.size())
    return success();
  if (dims.size() == 1 && isColumnInUb(ub))
    return success();
  if (endsInDenseDim(global) && (dims.size() == 1 || strides[ubDims.back()] == 1))
    return success();
  return copy.emitError() << "unsupported on ascend: a copy between "
                          << "elements that are not side by side in global memory and a row in UB";
}

/// Whether the elements of the last wide dim are side by side because all dims behind it have one element.
bool CopyExpander::endsInDenseDim(const BufferRegion& global) {
  const SmallVector<size_t> dims = wideDims(global);
  if (dims.empty() || global.type().getStrided())
    return false;
  return llvm::all_of(global.type().getShape().drop_front(dims.back() + 1),
                      [](int64_t extent) { return extent == 1; });
}

bool rowsBeginWithinBlocks(const BufferRegion& ub) {
  SmallVector<size_t> dims = wideDims(ub);
  const SmallVector<int64_t> strides = ubStrides(ub.type());
  if (dims.size() < 2 || strides[dims.back()] != 1)
    return false;
  dims.pop_back();
  return llvm::any_of(
      dims, [&](size_t dim) { return strides[dim] % npu::blockElements(ub.type()) != 0; });
}

std::optional<int64_t> elementsOfOneRow(tile::CopyOp copy, bool isLoad) {
  const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  const BufferRegion &global = isLoad ? source : target, &ub = isLoad ? target : source;
  const SmallVector<size_t> dims = wideDims(global);
  const ArrayRef<int64_t> shape = global.type().getShape();
  if (dims.size() < 2 || global.type().getStrided() || !isDenseInUb(ub) ||
      (dims.back() + 1 == shape.size() && !rowsBeginWithinBlocks(ub)))
    return std::nullopt;
  int64_t all = 1;
  for (size_t dim = dims.front(); dim < shape.size(); ++dim) {
    const std::optional<int64_t> extent = getConstantIntValue(global.extents[dim]);
    if (!extent || (dim > dims.front() && *extent != shape[dim]) || !isInBounds(copy, isLoad, dim))
      return std::nullopt;
    all *= *extent;
  }
  return all;
}

void CopyExpander::joinRows(BufferRegion& global, BufferRegion& ub, bool isLoad) {
  const std::optional<int64_t> all = elementsOfOneRow(copy, isLoad);
  if (!all)
    return;
  for (BufferRegion* region : {&global, &ub}) {
    llvm::fill(region->extents, make.index(1));
    region->extents.back() = make.index(*all);
  }
}

void CopyExpander::keepRowsApart() {
  const SmallVector<size_t> from = wideDims(source), to = wideDims(target);
  if (from.size() < 2 || from.size() != to.size())
    return;
  OpFoldResult &columns = source.extents[from.back()], &itsColumns = target.extents[to.back()];
  if (getConstantIntValue(columns) || columns != itsColumns)
    return;
  auto left = [](const BufferRegion& region, size_t dim) {
    if (region.type().isGlobal())
      return std::numeric_limits<int64_t>::max();
    return region.type().getShape()[dim] - getConstantIntValue(region.offsets[dim]).value_or(0);
  };
  const int64_t most = std::min(left(source, from.back()), left(target, to.back()));
  if (rangeAt(copy, columns).high > most)
    columns = itsColumns = make.min(columns, make.index(most));
}

LogicalResult CopyExpander::globalToUb() {
  joinRows(source, target, /*isLoad=*/true);
  keepRowsApart();
  return forEachRectangle([&](const BufferRegion& from, const BufferRegion& to) {
    if (failed(requireBlockStart(to, "target")) || failed(requireRows(from, to)))
      return failure();
    const ClampedRegion clamped = clamp(from, true, std::nullopt);
    const auto fill = [&] {
      order(Pipe::MTE2, Pipe::V);
      order(Pipe::MTE3, Pipe::V);
      if (failed(fillRegion(builder, copy, to, padValue())))
        return failure();
      order(Pipe::V, Pipe::MTE2);
      return success();
    };
    return padAndLoad(clamped, from, to, fill, [&] {
      const BufferRegion region = isColumnInUb(to) ? clamped.region : asRows(clamped.region, from);
      const tile::RegionParts parts(region);
      const bool isWhole = isMultipleOfBlock(region.extents.back(), region.type());
      BufferRegion behind = behindCut(to, from, clamped);
      Value before = padBefore(behind, to);
      npu::LoadUbOp::create(builder, region.buffer, parts.offsets, parts.extents, to.buffer,
                            make.value(ubOffset(make, to.type(), behind.offsets)),
                            isWhole && !before ? Value() : padValue(), before, parts.staticOffsets,
                            parts.staticExtents, uint64_t(pitchOf(to)));
    });
  });
}

LogicalResult CopyExpander::ubToGlobal() {
  joinRows(target, source, /*isLoad=*/false);
  return forEachRectangle([&](const BufferRegion& from, const BufferRegion& to) {
    if (failed(requireBlockStart(from, "source")) || failed(requireRows(to, from)))
      return failure();
    const std::optional<size_t> dense = densePartner(to, from);
    if (failed(requireFirst(to, dense, "the DMA reads UB from the start of a block of 32 bytes")))
      return failure();
    const ClampedRegion clamped = clamp(to, false, dense);
    ifThere(clamped, [&] {
      const BufferRegion region = isColumnInUb(from) ? clamped.region : asRows(clamped.region, to);
      const tile::RegionParts parts(region);
      const BufferRegion behind = behindCut(from, to, clamped);
      npu::StoreUbOp::create(builder, from.buffer,
                             make.value(ubOffset(make, from.type(), behind.offsets)), region.buffer,
                             parts.offsets, parts.extents, parts.staticOffsets, parts.staticExtents,
                             uint64_t(pitchOf(from)), atomicAdd);
    });
    return success();
  });
}

bool CopyExpander::isMultipleOfBlock(OpFoldResult extent, BufferType type) {
  std::optional<int64_t> columns = getConstantIntValue(extent);
  return columns && *columns % npu::blockElements(type) == 0;
}

/// Dense columns as rows: their dim moves to the end, where its stride is 1 as well. `whole` is the region
/// before it was cut: of a tile that is cut to one column, rows stay rows.
BufferRegion CopyExpander::asRows(BufferRegion region, const BufferRegion& whole) {
  if (!endsInDenseDim(whole))
    return region;
  const size_t dim = wideDims(whole).back();
  std::swap(region.extents[dim], region.extents.back());
  std::swap(region.offsets[dim], region.offsets.back());
  return region;
}

/// Elements between rows in UB of the dim that is the rectangle's rows.
int64_t CopyExpander::pitchOf(const BufferRegion& ub) {
  const SmallVector<size_t> dims = wideDims(ub);
  const SmallVector<int64_t> strides = ubStrides(ub.type());
  if (dims.size() == 2)
    return strides[dims[0]];
  if (dims.size() == 1 && dims[0] + 1 != ub.extents.size())
    return strides[dims[0]];
  return npu::rowPitch(ub.type());
}

} // namespace tilewright::ascend
