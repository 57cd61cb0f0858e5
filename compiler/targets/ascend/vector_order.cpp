// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/vector_order.h"

#include "compiler/ir/index_growth.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/tile_addresses.h"

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
  std::optional<BufferRegion> region = std::nullopt; ///< of a copy
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

class TensorUses {
public:
  TensorUses(tile::LaunchOp launch, const SharedTiles& tiles) : tiles(tiles) {
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
          {copy, false, tiles.contains(target.buffer) ? halves(source) : Share{Share::Both},
           source});
    else if (target.type().isGlobal() && isUb(source))
      add(target.buffer,
          {copy, true, tiles.contains(source.buffer) ? halves(target) : Share{Share::First},
           target});
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

bool isSame(const Share& a, const Share& b) {
  return a == b && (a.kind == Share::First || a.kind == Share::Halves);
}

/// A number as one that is the same in all iterations, and a constant; nothing if a loop changes it.
std::optional<std::pair<Value, int64_t>> fixedPlace(OpFoldResult number, tile::LaunchOp launch) {
  if (const std::optional<int64_t> fixed = getConstantIntValue(number))
    return std::pair(Value(), *fixed);
  Value base = cast<Value>(number);
  int64_t added = 0;
  while (auto sum = base.getDefiningOp<arith::AddIOp>()) {
    const std::optional<int64_t> by = getConstantIntValue(sum.getRhs());
    if (!by)
      break;
    added += *by;
    base = sum.getLhs();
  }
  Operation* from = base.getParentBlock()->getParentOp();
  return from->isAncestor(launch) ? std::optional(std::pair(base, added)) : std::nullopt;
}

/// Whether two copies touch other elements of a tensor, whichever iterations they are of.
bool areApart(const Use& a, const Use& b, tile::LaunchOp launch) {
  for (size_t dim = 0; a.region && b.region && a.region->buffer == b.region->buffer &&
                       dim < a.region->offsets.size();
       ++dim) {
    const auto first = fixedPlace(a.region->offsets[dim], launch),
               second = fixedPlace(b.region->offsets[dim], launch);
    const std::optional<int64_t> wide = getConstantIntValue(a.region->extents[dim]),
                                 other = getConstantIntValue(b.region->extents[dim]);
    if (first && second && first->first == second->first && wide && other &&
        (second->second - first->second >= *wide || first->second - second->second >= *other))
      return true;
  }
  return false;
}

/// Whether a store of both cores in a loop goes on by fewer rows than it has, so that they are shared
/// otherwise in the next iteration.
bool goesOnByPart(const Use& use, tile::LaunchOp launch) {
  if (use.share.kind != Share::Unknown || !use.region)
    return false;
  const std::optional<size_t> dim = firstWideDim(*use.region);
  const std::optional<int64_t> rows =
      dim ? getConstantIntValue(use.region->extents[*dim]) : std::nullopt;
  for (Operation* outer = use.op->getParentOp(); rows && outer != launch;
       outer = outer->getParentOp())
    if (auto loop = dyn_cast<tile::ForOp>(outer)) {
      const std::optional<int64_t> growth =
          tile::growthWith(use.region->offsets[*dim], loop.getInductionVar());
      const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
      if (growth && step && *growth * *step != 0 && std::abs(*growth * *step) < *rows)
        return true;
    }
  return false;
}

/// Whether one core may store what the other one has stored before, or is to store later.
bool mayStoreTwice(ArrayRef<Use> uses, tile::LaunchOp launch) {
  for (const auto& [number, use] : llvm::enumerate(uses)) {
    if (goesOnByPart(use, launch))
      return true;
    for (const Use& other : uses.drop_front(number + 1))
      if (!isSame(use.share, other.share) && !areApart(use, other, launch))
        return true;
  }
  return false;
}

bool isOrdered(ArrayRef<Use> uses, tile::LaunchOp launch) {
  if (llvm::none_of(uses, [](const Use& use) { return use.isWrite; }))
    return true;
  if (uses.size() == 1 && !isInLoop(uses.front().op, launch))
    return true;
  return llvm::all_of(uses, [&](const Use& use) { return isSame(use.share, uses.front().share); });
}

} // namespace

Operation* unorderedWrite(tile::LaunchOp launch, const SharedTiles& tiles, bool ofReads) {
  const auto isRead = [](const Use& use) { return !use.isWrite; };
  for (const auto& [tensor, uses] : TensorUses(launch, tiles).byTensor)
    if (!isOrdered(uses, launch) &&
        (!ofReads || llvm::any_of(uses, isRead) || mayStoreTwice(uses, launch)))
      return llvm::find_if(uses, [](const Use& use) { return use.isWrite; })->op;
  return nullptr;
}

} // namespace tilewright::ascend
