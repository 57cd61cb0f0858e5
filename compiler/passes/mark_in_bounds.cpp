// SPDX-License-Identifier: Apache-2.0
/// MarkInBounds: says `in_bounds` where an access provably stays inside of its buffer.
///
///     tile.launch (%bx) in (%c16) {                            // A has 1024 rows
///       %m = arith.muli %bx, %c64 : index
///       %v = tile.load %A[%m, %c0] : ...                   ->  %v = tile.load %A[%m, %c0]
///       in_bounds : ... tile.copy %A[%m, %k] [64, 32] : ... to %As : ...   ->  ...
///       {source_in_bounds = array<i1: true, false>}
///
/// It stands at the start of each pipeline, while loops and launch are still whole: targets guard what is
/// not marked (a load outside gives 0, a store is dropped) and spend nothing on the rest.
#include "compiler/ir/index_ranges.h"
#include "compiler/ir/tile.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright {
namespace {

class Marker {
public:
  void visit(Region& region) {
    ranges.enter(region);
    for (Block& block : region)
      for (Operation& op : block) {
        mark(&op);
        for (Region& nested : op.getRegions())
          visit(nested);
      }
    ranges.leave();
  }

private:
  IndexRange rangeOf(OpFoldResult number) {
    std::optional<int64_t> fixed = getConstantIntValue(number);
    return fixed ? IndexRange{*fixed, *fixed} : ranges.rangeOf(cast<Value>(number));
  }

  /// Whether value is less than the extent of a dynamic dim.
  bool isBelowDim(Value value, Value buffer, int64_t dim) {
    if (Value extent = symbolOfDim(buffer, dim))
      return ranges.isBelow(value, extent);
    return false;
  }

  /// The value that stands for a dynamic dim: the kernel's symbol, or an operand of a view.
  Value symbolOfDim(Value buffer, int64_t dim) {
    auto type = cast<tile::BufferType>(buffer.getType());
    if (auto view = buffer.getDefiningOp<tile::ViewOp>()) {
      size_t number =
          size_t(llvm::count(type.getShape().take_front(dim), tile::BufferType::kDynamic));
      return IndexRanges::symbolOf(view.getDims()[number]);
    }
    for (Operation* user : buffer.getUsers())
      if (auto extent = dyn_cast<tile::DimOp>(user); extent && int64_t(extent.getDim()) == dim)
        return IndexRanges::symbolOf(extent.getExtent());
    return IndexRanges::symbolOf(buffer, uint64_t(dim));
  }

  bool isElementInside(Value buffer, ValueRange indices) {
    auto type = cast<tile::BufferType>(buffer.getType());
    for (auto [dim, index] : llvm::enumerate(indices)) {
      IndexRange range = ranges.rangeOf(index);
      bool inside = type.isDynamicDim(int64_t(dim))
                        ? range.low >= 0 && isBelowDim(index, buffer, int64_t(dim))
                        : range.isWithin(0, type.getShape()[dim] - 1);
      if (!inside)
        return false;
    }
    return true;
  }

  bool isSpanInside(const tile::BufferRegion& region, int64_t dim) {
    IndexRange offset = rangeOf(region.offsets[dim]), extent = rangeOf(region.extents[dim]);
    if (offset.low < 0)
      return false;
    int64_t end = 0;
    if (!region.type().isDynamicDim(dim))
      return !llvm::AddOverflow(offset.high, extent.high, end) &&
             end <= region.type().getShape()[dim];
    auto offsetValue = dyn_cast<Value>(region.offsets[dim]);
    if (extent == IndexRange{1, 1})
      return offsetValue && isBelowDim(offsetValue, region.buffer, dim);
    auto extentValue = dyn_cast<Value>(region.extents[dim]);
    return offset == IndexRange{0, 0} && extentValue &&
           IndexRanges::symbolOf(extentValue) == symbolOfDim(region.buffer, dim);
  }

  DenseBoolArrayAttr flagsOf(const tile::BufferRegion& region) {
    SmallVector<bool> flags;
    for (int64_t dim = 0; dim < region.type().getRank(); ++dim)
      flags.push_back(isSpanInside(region, dim));
    return DenseBoolArrayAttr::get(region.buffer.getContext(), flags);
  }

  template <typename Op> void markTransfer(Op op) {
    if (!op.getSourceInBounds())
      op.setSourceInBoundsAttr(flagsOf(op.getSourceRegion()));
    if (!op.getTargetInBounds())
      op.setTargetInBoundsAttr(flagsOf(op.getTargetRegion()));
  }

  void mark(Operation* op) {
    llvm::TypeSwitch<Operation*, void>(op)
        .Case<tile::LoadOp, tile::StoreOp, tile::AtomicOp>([&](auto access) {
          if (isElementInside(access.getBuffer(), access.getIndices()))
            access.setInBounds(true);
        })
        .Case([&](tile::CopyOp copy) {
          markTransfer(copy);
          SmallVector<bool> flags(*copy.getSourceInBounds());
          for (const int64_t dim : copy.getEndedDims().value_or(ArrayRef<int64_t>()))
            flags[dim] = false;
          copy.setSourceInBounds(flags);
        })
        .Case([&](tile::AtomicTileOp add) { markTransfer(add); })
        .Case([&](tile::FillOp fill) {
          if (!fill.getTargetInBounds())
            fill.setTargetInBoundsAttr(flagsOf(fill.getTargetRegion()));
        });
  }

  IndexRanges ranges;
};

struct MarkInBounds : KernelPass<MarkInBounds> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkInBounds)
  static constexpr llvm::StringLiteral kArgument = "mark-in-bounds";
  static constexpr llvm::StringLiteral kDescription =
      "mark the accesses that provably stay inside of their buffers";

  void runOnOperation() override {
    Marker().visit(getOperation().getBody());
  }
};

} // namespace

std::unique_ptr<Pass> createMarkInBounds() {
  return std::make_unique<MarkInBounds>();
}

} // namespace tilewright
