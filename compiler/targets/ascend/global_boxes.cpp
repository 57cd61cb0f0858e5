// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/global_boxes.h"

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/copy_bounds.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

namespace {

/// Some elements of a dim. Dims of one element behind it count as part of it: its elements may be counted in
/// any of them.
struct Span {
  OpFoldResult offset, extent;
  int64_t size = 0;
  size_t dim = 0;
  int64_t mostByTile = IndexRange::kHighest; ///< where the extent is known at run time only
};

/// A part of a tensor, from an instruction's region.
class Box {
public:
  Box(const BufferRegion& region, Operation* op, IndexTerms& indices)
      : region(region), op(op), indices(indices) {}

  /// Its spans; none where it isn't known to lie within the dims.
  SmallVector<Span> spans() {
    SmallVector<Span> all;
    for (size_t dim = 0; dim < region.offsets.size(); ++dim) {
      const Span span{region.offsets[dim], region.extents[dim], region.type().getShape()[dim], dim,
                      mostByTile(op, dim)};
      if (all.empty() || span.size != 1)
        all.push_back(span);
      else if (!joins(all.back(), span) && !isWithin(span))
        return {};
    }
    countRows(all);
    // What leaves the first dim leaves the tensor.
    for (const Span& span : ArrayRef(all).drop_front())
      if (!isWithin(span))
        return {};
    return all;
  }

private:
  /// A dim of one element is counted with the one before it, of which only one moves and only one is wide.
  static bool joins(Span& span, const Span& next) {
    for (auto [mine, other, neutral] :
         {std::tuple(&span.offset, next.offset, 0), {&span.extent, next.extent, 1}}) {
      if (isConstantIntValue(other, neutral))
        continue;
      if (!isConstantIntValue(*mine, neutral))
        return false;
      *mine = other;
      if (neutral == 1)
        span.mostByTile = next.mostByTile;
    }
    return true;
  }

  /// Whole rows that are counted in their own dim, one after the other, become as many of the dim before.
  void countRows(SmallVector<Span>& all) {
    for (size_t at = all.size() - 1; at > 0; --at) {
      Span &span = all[at], &rows = all[at - 1];
      const std::optional<int64_t> extent = getConstantIntValue(span.extent);
      if (ShapedType::isDynamic(span.size) || !extent || *extent <= span.size ||
          *extent % span.size != 0 || !isConstantIntValue(span.offset, 0) ||
          !isConstantIntValue(rows.extent, 1))
        continue;
      Builder builder(op->getContext());
      rows.extent = builder.getIndexAttr(*extent / span.size);
      span.extent = builder.getIndexAttr(span.size);
    }
  }

  bool isWithin(const Span& span) {
    const IndexRange first = boundedRangeAt(op, span.offset),
                     count = boundedRangeAt(op, span.extent);
    if (first.low < 0)
      return false;
    int64_t end = 0;
    if (!ShapedType::isDynamic(span.size) && !llvm::AddOverflow(first.high, count.high, end) &&
        end <= span.size)
      return true;
    return isCutAtEnd(span.extent, span) || isInsideOfBranch(span);
  }

  /// Whether a number is what is left of a span's dim from its first element on: as it stands, or as a sum.
  bool isLeft(Value number, const Span& span) {
    auto left = number.getDefiningOp<arith::SubIOp>();
    if (left && isEqualConstantIntOrValue(left.getRhs(), span.offset) &&
        isSize(left.getLhs(), span))
      return true;
    std::optional<IndexSum> end = indices.of(number), size = sizeOf(span);
    const std::optional<int64_t> fixed = getConstantIntValue(span.offset);
    const std::optional<IndexSum> first =
        fixed ? IndexSum{*fixed, {}} : indices.of(cast<Value>(span.offset));
    if (!end || !size || !first)
      return false;
    *end += *first;
    *end += *size *= -1;
    return end->isZero();
  }

  bool isSize(Value number, const Span& span) {
    if (!ShapedType::isDynamic(span.size))
      return getConstantIntValue(number) == span.size;
    if (number == IndexRanges::symbolOf(region.buffer, span.dim))
      return true;
    auto size = number.getDefiningOp<tile::DimOp>();
    return size && size.getBuffer() == region.buffer && size.getDim() == span.dim;
  }

  std::optional<IndexSum> sizeOf(const Span& span) {
    if (!ShapedType::isDynamic(span.size))
      return IndexSum{span.size, {}};
    if (const Value symbol = IndexRanges::symbolOf(region.buffer, span.dim))
      return indices.of(symbol);
    for (Operation* user : region.buffer.getUsers())
      if (isa<tile::DimOp>(user) && isSize(user->getResult(0), span))
        return indices.of(user->getResult(0));
    return std::nullopt;
  }

  /// Whether an extent is at most what is left of the dim.
  bool isCutAtEnd(OpFoldResult extent, const Span& span) {
    Operation* op = isa<Value>(extent) ? cast<Value>(extent).getDefiningOp() : nullptr;
    if (auto more = dyn_cast_or_null<arith::MaxSIOp>(op);
        more && isConstantIntValue(more.getRhs(), 0))
      return isCutAtEnd(more.getLhs(), span);
    if (auto least = dyn_cast_or_null<arith::MinSIOp>(op))
      return isCutAtEnd(least.getLhs(), span) || isCutAtEnd(least.getRhs(), span);
    return isa<Value>(extent) && isLeft(cast<Value>(extent), span);
  }

  /// Whether the branch around holds only if the span, which no edge cuts, begins within the dim.
  bool isInsideOfBranch(const Span& span) {
    const std::optional<int64_t> count = getConstantIntValue(span.extent);
    const bool isUncut =
        count && (*count == 1 || (!ShapedType::isDynamic(span.size) && span.size % *count == 0 &&
                                  isMultipleOf(span.offset, *count)));
    for (Operation* inner = op; isUncut && inner->getParentOp(); inner = inner->getParentOp())
      if (auto branch = dyn_cast<scf::IfOp>(inner->getParentOp());
          branch && inner->getBlock() == branch.thenBlock() &&
          asksWhetherInside(branch.getCondition(), span))
        return true;
    return false;
  }

  bool asksWhetherInside(Value condition, const Span& span) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      return asksWhetherInside(both.getLhs(), span) || asksWhetherInside(both.getRhs(), span);
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    return compare && compare.getPredicate() == arith::CmpIPredicate::sgt &&
           isConstantIntValue(compare.getRhs(), 0) && isLeft(compare.getLhs(), span);
  }

  const BufferRegion& region;
  Operation* op;
  IndexTerms& indices;
};

/// A dim of which nothing is known.
model::Range anything() {
  return {.begin = 0, .end = model::kUnknownExtent, .rows = 1, .pitch = 0, .terms = {}};
}

model::Range rangeOf(const Span& span, Operation* op, IndexTerms& indices) {
  const std::optional<int64_t> fixed = getConstantIntValue(span.offset);
  std::optional<IndexSum> sum =
      fixed ? IndexSum{*fixed, {}} : indices.offsetAt(op, llvm::cast<Value>(span.offset));
  if (!sum)
    return anything();
  // Of a part that is cut off, only the most that is left of it is known.
  const int64_t whole = ShapedType::isDynamic(span.size) ? model::kUnknownExtent : span.size;
  const int64_t width = std::max(boundedRangeAt(op, span.extent).high, int64_t{0});
  const int64_t most =
      getConstantIntValue(span.extent) ? width : std::min({width, whole, span.mostByTile});
  return {.begin = sum->constant,
          .end = sum->constant + most,
          .rows = 1,
          .pitch = 0,
          .terms = std::move(sum->terms)};
}

/// Whether an operation touches all of the line of the scalar unit's cache that its element lies in. A store brings it there,
/// and what cleans it writes it back.
bool touchesCacheLine(Operation* op) {
  return isa<npu::SetValueOp>(op) || op->hasAttr(kOfElementAttr);
}

/// Makes an element's place that of its line of `size` elements: a tensor begins with one. Where it isn't known at which of
/// its line's elements that is, it may be any.
void widenToLine(model::Range& range, int64_t size) {
  const bool isKnown =
      llvm::all_of(range.terms, [size](const model::Term& term) { return term.bytes % size == 0; });
  range.end = range.begin + size;
  range.begin =
      isKnown ? llvm::divideFloorSigned(range.begin, size) * size : range.begin - size + 1;
  if (isKnown)
    range.end = range.begin + size;
}

constexpr int64_t kCacheLine = 64;

IndexSum sumOf(OpFoldResult number, Operation* op, IndexTerms& indices, bool& isKnown) {
  if (const std::optional<int64_t> fixed = getConstantIntValue(number))
    return {*fixed, {}};
  const std::optional<IndexSum> sum = indices.offsetAt(op, cast<Value>(number));
  isKnown = isKnown && sum;
  return sum.value_or(IndexSum());
}

/// The bytes of an access of a dense tensor, under whichever name and shape.
std::optional<model::Range> lineOf(const npu::Access& access, Operation* op, IndexTerms& indices) {
  constexpr int64_t most = int64_t{1} << 31; // of a number that is taken times others
  const BufferType type = access.type();
  const auto bytes = static_cast<int64_t>(type.getElementBits() / 8);
  if (type.getStrided() || type.getElementBits() % 8 != 0)
    return std::nullopt;
  bool isKnown = true;
  model::Range line;
  IndexSum first;
  if (!access.region) {
    isKnown = access.offset && (touchesCacheLine(op) || !ShapedType::isDynamic(access.bytes));
    line.end = touchesCacheLine(op) ? 0 : access.bytes;
    if (isKnown)
      first = sumOf(access.offset, op, indices, isKnown);
  } else {
    const BufferRegion& region = *access.region;
    const auto highest = [&](size_t dim) {
      int64_t high = std::max(boundedRangeAt(op, region.extents[dim]).high, int64_t{0});
      if (!getConstantIntValue(region.extents[dim]))
        high = std::min(high, mostByTile(op, dim));
      isKnown = isKnown && high < most;
      return isKnown ? high : 0;
    };
    line.end = highest(region.extents.size() - 1) * bytes;
    int64_t pitch = 1;
    for (size_t dim = region.offsets.size(); dim-- > 0 && isKnown;) {
      IndexSum offset = sumOf(region.offsets[dim], op, indices, isKnown);
      first += offset *= pitch;
      if (dim + 1 < region.offsets.size() && !isConstantIntValue(region.extents[dim], 1)) {
        isKnown = isKnown && line.rows <= 1; // else rows of rows
        line.rows = highest(dim);
        line.pitch = pitch * bytes;
      }
      const int64_t size = type.getShape()[dim];
      isKnown = isKnown && (dim == 0 || (!ShapedType::isDynamic(size) && size < most &&
                                         !llvm::MulOverflow(pitch, size, pitch) && pitch < most));
    }
  }
  if (!isKnown)
    return std::nullopt;
  first *= bytes;
  first.simplify();
  line.begin = first.constant;
  line.end += line.begin;
  line.terms = std::move(first.terms);
  if (touchesCacheLine(op))
    widenToLine(line, kCacheLine);
  return line;
}

} // namespace

void setBox(const npu::Access& access, Operation* op, IndexTerms& indices, model::Access& result) {
  static_cast<model::Range&>(result) = anything();
  const Value storage = npu::storageOf(access.buffer);
  const auto hasUser = [&](auto isAsked) { return llvm::any_of(storage.getUsers(), isAsked); };
  const bool hasViews = hasUser([](Operation* user) { return isa<tile::ViewOp>(user); });
  if (hasViews ||
      hasUser([](Operation* user) { return isa<npu::GetValueOp, npu::SetValueOp>(user); }))
    result.line = lineOf(access, op, indices);
  if (access.buffer != storage)
    return; // a view may fold dims
  const BufferType type = access.type();
  SmallVector<Span> spans;
  if (access.region) {
    spans = Box(*access.region, op, indices).spans();
  } else if (type.getRank() == 1 && access.offset &&
             (touchesCacheLine(op) || !ShapedType::isDynamic(access.bytes))) {
    // One element that the scalar unit touches is known only in a tensor of one dim.
    const OpFoldResult one = IntegerAttr::get(IndexType::get(op->getContext()), 1);
    spans.push_back({access.offset, one, type.getShape().front(), 0});
  }
  for (auto [number, span] : llvm::enumerate(spans)) {
    model::Range range = rangeOf(span, op, indices);
    if (!access.region && touchesCacheLine(op) && range.end == range.begin + 1)
      widenToLine(range, kCacheLine * 8 / int64_t(type.getElementBits()));
    if (number == 0)
      static_cast<model::Range&>(result) = std::move(range);
    else
      result.otherDims.push_back(std::move(range));
  }
}

} // namespace tilewright::ascend
