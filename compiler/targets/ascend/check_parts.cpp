// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/check_parts.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/line_reductions.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

#include <optional>
#include <vector>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::MemorySpace;

namespace {

/// One side of a copy, and the tensor on the other side, which may cut what is read.
struct Side {
  BufferRegion part;
  std::optional<BufferRegion> tensor;
  bool isWritten = false, isTransposed = false;
};

bool isOnChip(const BufferRegion& region) {
  return !region.type().isGlobal() && !region.type().isPerThread() && region.type().getRank() > 0;
}

bool staysInside(Operation* op, const BufferRegion& part) {
  const auto rangeOf = [&](OpFoldResult number) {
    const std::optional<int64_t> fixed = getConstantIntValue(number);
    return fixed ? IndexRange{*fixed, *fixed} : boundedRangeAt(op, number);
  };
  for (auto [offset, extent, size] :
       llvm::zip(part.offsets, part.extents, part.type().getShape())) {
    const IndexRange first = rangeOf(offset), count = rangeOf(extent);
    int64_t end = 0;
    if (count.high > 0 &&
        (first.low < 0 || llvm::AddOverflow(first.high, count.high, end) || end > size))
      return false;
  }
  return true;
}

bool isKnownInside(std::optional<ArrayRef<bool>> inBounds) {
  return inBounds && llvm::all_of(*inBounds, [](bool is) { return is; });
}

/// What a nest takes of a buffer, one element a turn, where its numbers and those from outside are only added up; else nothing.
class TakenPart {
public:
  explicit TakenPart(tile::ParallelOp nest) : nest(nest), builder(nest.getLoc(), nest) {}

  std::optional<BufferRegion> of(Value buffer, ValueRange indices) {
    const IndexMaker make(builder);
    BufferRegion part{buffer, {}, {}};
    for (const Value index : indices) {
      OpFoldResult first = make.index(0), extent = make.index(1);
      SmallVector<Value> terms{index};
      while (!terms.empty()) {
        Value term = terms.pop_back_val();
        auto counter = dyn_cast<BlockArgument>(term);
        auto sum = term.getDefiningOp<arith::AddIOp>();
        if (!nest.getBody().isAncestor(term.getParentRegion()))
          first = make.add(first, term);
        else if (counter && isConstantIntValue(extent, 1))
          extent = nest.getMixedExtents()[counter.getArgNumber()];
        else if (sum)
          terms.append({sum.getLhs(), sum.getRhs()});
        else
          return std::nullopt;
      }
      part.offsets.push_back(first);
      part.extents.push_back(extent);
    }
    return part;
  }

private:
  tile::ParallelOp nest;
  ImplicitLocOpBuilder builder;
};

/// Of a function on tiles, all of whose turns take all of its operands.
void addSides(tile::ParallelOp nest, function_ref<void(Side)> add) {
  TakenPart parts(nest);
  SmallVector<std::pair<BufferRegion, bool>> seen; // it may be written to the place that is read
  nest.getBody().walk([&](Operation* op) {
    auto load = dyn_cast<tile::LoadOp>(op);
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!(load && !load.getInBounds()) && !(store && !store.getInBounds()))
      return;
    const Value buffer = load ? load.getBuffer() : store.getBuffer();
    const std::optional<BufferRegion> part =
        parts.of(buffer, load ? load.getIndices() : store.getIndices());
    const auto isSeen = [&](const auto& other) {
      return other.first.buffer == buffer && other.second == bool(store) &&
             isSameRegion(other.first, *part);
    };
    if (!part || llvm::any_of(seen, isSeen))
      return;
    seen.emplace_back(*part, bool(store));
    add({*part, {}, bool(store)});
  });
}

std::vector<Side> sidesOf(Operation* op) {
  std::vector<Side> sides;
  const auto add = [&](Side side) {
    if (isOnChip(side.part))
      sides.push_back(std::move(side));
  };
  const auto tensorOf = [](const BufferRegion& target, std::optional<ArrayRef<bool>> inBounds) {
    const bool isCut = target.type().isGlobal() && !isKnownInside(inBounds);
    return isCut ? std::optional(target) : std::nullopt;
  };
  if (auto copy = dyn_cast<tile::CopyOp>(op)) {
    const BufferRegion target = copy.getTargetRegion();
    if (copy.getEnds().empty()) // else not all of its source is read
      add({copy.getSourceRegion(), tensorOf(target, copy.getTargetInBounds()), false,
           copy.getTranspose()});
    add({target, {}, true});
  } else if (auto fill = dyn_cast<tile::FillOp>(op)) {
    add({fill.getTargetRegion(), {}, true});
  } else if (auto atomic = dyn_cast<tile::AtomicTileOp>(op)) {
    add({atomic.getSourceRegion(), tensorOf(atomic.getTargetRegion(), atomic.getTargetInBounds())});
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    add({reduce.getSourceRegion(), {}});
    add({resultsOf(reduce), {}, true});
  } else if (auto scan = dyn_cast<tile::ScanOp>(op)) {
    add({scan.getSourceRegion(), {}});
    add({scan.getTargetRegion(), {}, true});
  } else if (auto gemm = dyn_cast<tile::GemmOp>(op)) {
    add({gemm.getARegion(), {}});
    add({gemm.getBRegion(), {}});
    add({gemm.getCRegion(), {}, true});
  } else if (auto nest = dyn_cast<tile::ParallelOp>(op); nest && nest->hasAttr("function")) {
    addSides(nest, add);
  }
  return sides;
}

void check(ImplicitLocOpBuilder& builder, const Side& side) {
  auto storage = npu::storageOf(side.part.buffer).getDefiningOp<tile::AllocOp>();
  if (!storage || !storage.getSymName() ||
      llvm::any_of(side.part.type().getShape(), ShapedType::isDynamic))
    return;
  const auto value = [&](OpFoldResult number) -> Value {
    const std::optional<int64_t> fixed = getConstantIntValue(number);
    return fixed ? Value(arith::ConstantIndexOp::create(builder, *fixed)) : cast<Value>(number);
  };
  // Dims of one element that a view has in front of the tile's own are none that the kernel names.
  const ArrayRef<int64_t> own = storage.getType().getShape();
  ArrayRef<int64_t> shape = side.part.type().getShape();
  if (shape.take_back(own.size()) == own &&
      llvm::all_of(shape.drop_back(own.size()), [](int64_t size) { return size == 1; }))
    shape = own;
  const size_t added = side.part.type().getShape().size() - shape.size();
  SmallVector<Value> part, tensor;
  for (size_t dim = added; dim < side.part.offsets.size(); ++dim)
    part.append({value(side.part.offsets[dim]), value(side.part.extents[dim])});
  const size_t dims = side.tensor ? side.tensor->offsets.size() : 0;
  for (size_t dim = 0; dim < dims; ++dim) {
    const bool isDynamic = side.tensor->type().isDynamicDim(int64_t(dim));
    const Value size = isDynamic ? Value(tile::DimOp::create(builder, side.tensor->buffer, dim))
                                 : value(builder.getIndexAttr(side.tensor->type().getShape()[dim]));
    tensor.append({value(side.tensor->offsets[dim]), value(side.tensor->extents[dim]), size});
  }
  const Agent agent = side.part.type().getSpace() == MemorySpace::UB ? Agent::Vector : Agent::Cube;
  npu::CheckPartOp::create(builder, *storage.getSymName(), shape, part, tensor, agent,
                           side.isWritten, side.isTransposed);
}

} // namespace

void checkParts(Operation* op) {
  ImplicitLocOpBuilder builder(op->getLoc(), op);
  for (const Side& side : sidesOf(op))
    if (!staysInside(op, side.part))
      check(builder, side);
}

} // namespace tilewright::ascend
