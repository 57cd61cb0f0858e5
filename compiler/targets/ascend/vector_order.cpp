// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/vector_order.h"

#include "compiler/ir/npu_access.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/nest_indices.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <llvm/ADT/MapVector.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

/// Who touches which rows of a tensor in an operation.
struct Share {
  enum Kind : uint8_t { First, Both, Halves, Unknown };
  Kind kind = Unknown;
  /// Halves: of each `rows` along `dim`, counted from the tensor's first, one core has the first half.
  size_t dim = 0;
  int64_t rows = 0;

  bool operator==(const Share& other) const = default;
};

struct Use {
  Operation* op;
  bool isWrite;
  Share share;
};

bool isGlobal(Value buffer) {
  return cast<BufferType>(buffer.getType()).isGlobal();
}

bool isInLoop(Operation* op, tile::LaunchOp launch) {
  for (Operation* outer = op->getParentOp(); outer != launch; outer = outer->getParentOp())
    if (isa<tile::ForOp, tile::WhileOp>(outer))
      return true;
  return false;
}

class Uses {
public:
  Uses(tile::LaunchOp launch, const SharedTiles& tiles) : tiles(tiles) {
    launch.walk([&](Operation* op) {
      if (auto copy = dyn_cast<tile::CopyOp>(op)) {
        addCopy(copy);
      } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
        if (isGlobal(load.getBuffer()))
          add(load.getBuffer(), {op, false, ofElement(op, load.getIndices())});
      } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
        if (isGlobal(store.getBuffer()))
          add(store.getBuffer(), {op, true, ofElement(op, store.getIndices())});
      }
    });
  }

  llvm::MapVector<Value, SmallVector<Use>> byTensor;

private:
  void add(Value buffer, Use use) {
    const Value tensor = npu::storageOf(buffer);
    if (tensor != buffer && use.share.kind == Share::Halves)
      use.share = Share(); // a view may have other dims
    byTensor[tensor].push_back(use);
  }

  void addCopy(tile::CopyOp copy) {
    const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
    const auto isUb = [](const BufferRegion& region) {
      return region.type().getSpace() == tile::MemorySpace::UB;
    };
    if (source.type().isGlobal() && isUb(target))
      add(source.buffer,
          {copy, false, tiles.contains(target.buffer) ? halves(source) : Share{Share::Both}});
    else if (target.type().isGlobal() && isUb(source))
      add(target.buffer,
          {copy, true, tiles.contains(source.buffer) ? halves(target) : Share{Share::First}});
  }

  static Share halves(const BufferRegion& region) {
    const std::optional<size_t> dim = firstWideDim(region);
    if (!dim)
      return {};
    const std::optional<int64_t> rows = getConstantIntValue(region.extents[*dim]);
    return rows && isMultipleOf(region.offsets[*dim], *rows) ? Share{Share::Halves, *dim, *rows}
                                                             : Share{};
  }

  /// Nests of which nothing is shared the first core runs alone if they write, else both run them.
  Share ofElement(Operation* op, ValueRange indices) const {
    auto nest = op->getParentOfType<tile::ParallelOp>();
    if (!nest)
      return {Share::Both};
    if (!tiles.isShared(nest))
      return {tiles.writesGlobal(nest) ? Share::First : Share::Both};
    const std::optional<int64_t> rows = getConstantIntValue(nest.getMixedExtents().front());
    const Value row = nest.getInductionVars().front();
    for (auto [dim, index] : llvm::enumerate(indices)) {
      auto sum = index.getDefiningOp<arith::AddIOp>();
      const bool isBehind = sum && (sum.getLhs() == row || sum.getRhs() == row);
      const Value base = !isBehind ? Value() : sum.getLhs() == row ? sum.getRhs() : sum.getLhs();
      if (rows && (index == row || (base && isMultipleOf(base, *rows))))
        return {Share::Halves, dim, *rows};
    }
    return {};
  }

  const SharedTiles& tiles;
};

bool isOrdered(ArrayRef<Use> uses, tile::LaunchOp launch) {
  if (llvm::none_of(uses, [](const Use& use) { return use.isWrite; }))
    return true;
  if (uses.size() == 1 && !isInLoop(uses.front().op, launch))
    return true;
  const Share& share = uses.front().share;
  return (share.kind == Share::First || share.kind == Share::Halves) &&
         llvm::all_of(uses, [&](const Use& use) { return use.share == share; });
}

} // namespace

Operation* unorderedWrite(tile::LaunchOp launch, const SharedTiles& tiles, bool ofReads) {
  const auto isRead = [](const Use& use) { return !use.isWrite; };
  for (const auto& [tensor, uses] : Uses(launch, tiles).byTensor)
    if (!isOrdered(uses, launch) && (!ofReads || llvm::any_of(uses, isRead)))
      return llvm::find_if(uses, [](const Use& use) { return use.isWrite; })->op;
  return nullptr;
}

} // namespace tilewright::ascend
