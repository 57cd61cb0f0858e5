// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/iteration_overlap.h"

#include "compiler/ir/npu_access.h"
#include "compiler/passes/analysis/same_number.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright {

using namespace mlir;

namespace {

/// Combinations of numbers that are looked at; nothing is said of nests that have more.
constexpr int64_t kMostTried = 100'000;
constexpr int64_t kFarthest = int64_t{1} << 40;

/// Adds indices to a place.
class PlaceMaker {
public:
  PlaceMaker(ElementPlace& place, tile::ParallelOp nest) : place(place), nest(nest) {}

  bool add(Value value, int64_t factor, int depth = 0) {
    if (depth > 16 || std::abs(factor) > kFarthest)
      return false;
    if (const std::optional<int64_t> known = getConstantIntValue(value)) {
      if (std::abs(*known) > kFarthest / std::max<int64_t>(1, std::abs(factor)))
        return false;
      place.constant += *known * factor;
      return true;
    }
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == nest.getBodyBlock()) {
      place.factors[argument.getArgNumber()] += factor;
      return true;
    }
    Operation* op = value.getDefiningOp();
    if (isa_and_nonnull<arith::IndexCastOp>(op))
      return add(op->getOperand(0), factor, depth + 1);
    if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
      return add(op->getOperand(0), factor, depth + 1) &&
             add(op->getOperand(1), isa<arith::AddIOp>(op) ? factor : -factor, depth + 1);
    if (isa_and_nonnull<arith::MulIOp>(op))
      if (const std::optional<int64_t> times = getConstantIntValue(op->getOperand(1)))
        return std::abs(*times) < kFarthest && add(op->getOperand(0), factor * *times, depth + 1);
    if (op && nest.getBody().isAncestor(op->getParentRegion()))
      return false; // may be another one in each iteration
    auto* same = llvm::find_if(place.others,
                               [&](const auto& other) { return isSameNumber(other.first, value); });
    if (same == place.others.end())
      place.others.emplace_back(value, factor);
    else
      same->second += factor;
    return true;
  }

private:
  ElementPlace& place;
  tile::ParallelOp nest;
};

/// `step` times each number from `low` to `high`.
struct Steps {
  int64_t step = 0, low = 0, high = 0;
};

/// Whether `distance` plus a number of each is between -`width` and `width`; counts what it tries down.
bool reaches(int64_t distance, int64_t width, ArrayRef<Steps> steps, int64_t& left) {
  int64_t least = distance, most = distance;
  for (const Steps& each : steps) {
    least += std::min(each.step * each.low, each.step * each.high);
    most += std::max(each.step * each.low, each.step * each.high);
  }
  if (most <= -width || least >= width || left-- <= 0)
    return false;
  if (steps.empty())
    return true;
  for (int64_t number = steps[0].low; number <= steps[0].high; ++number)
    if (reaches(distance + steps[0].step * number, width, steps.drop_front(), left))
      return true;
  return false;
}

} // namespace

std::optional<SmallVector<int64_t>> extentsOfStraightNest(tile::ParallelOp nest) {
  SmallVector<int64_t> extents;
  for (OpFoldResult extent : nest.getMixedExtents())
    extents.push_back(getConstantIntValue(extent).value_or(0));
  const bool isStraight =
      llvm::all_of(*nest.getBodyBlock(), [](Operation& op) { return op.getNumRegions() == 0; });
  if (!isStraight || llvm::any_of(extents, [](int64_t extent) { return extent < 1; }))
    return std::nullopt;
  return extents;
}

std::optional<ElementPlace> placeInNest(ValueRange indices, ArrayRef<int64_t> steps,
                                        tile::ParallelOp nest) {
  ElementPlace place;
  place.factors.assign(nest.getInductionVars().size(), 0);
  PlaceMaker maker(place, nest);
  for (auto [index, step] : llvm::zip(indices, steps))
    if (!maker.add(index, step))
      return std::nullopt;
  return place;
}

std::optional<int64_t> distanceOf(const ElementPlace& write, const ElementPlace& read) {
  SmallVector<std::pair<Value, int64_t>> others = write.others;
  for (const auto& [value, factor] : read.others) {
    auto* same =
        llvm::find_if(others, [&](const auto& other) { return isSameNumber(other.first, value); });
    if (same == others.end())
      return std::nullopt;
    same->second -= factor;
  }
  if (llvm::any_of(others, [](const auto& other) { return other.second != 0; }))
    return std::nullopt;
  return write.constant - read.constant;
}

std::optional<bool> meetElsewhere(const ElementPlace& write, const ElementPlace& read,
                                  ArrayRef<int64_t> extents, int64_t width) {
  const std::optional<int64_t> distance = distanceOf(write, read);
  if (!distance)
    return std::nullopt;
  SmallVector<Steps> steps;
  bool isElsewhere = *distance != 0;
  for (auto [extent, to, from] : llvm::zip(extents, write.factors, read.factors)) {
    if (extent == 1)
      continue;
    if (to == from)
      steps.push_back({to, 1 - extent, extent - 1});
    else if (to == 0 || from == 0)
      steps.push_back({to - from, 0, extent - 1});
    else
      return std::nullopt;
    isElsewhere |= to != from;
  }
  // The longest steps first, so that few are tried.
  llvm::sort(steps,
             [](const Steps& a, const Steps& b) { return std::abs(a.step) > std::abs(b.step); });
  int64_t left = kMostTried;
  if (!isElsewhere)
    return false;
  const bool isReached = reaches(*distance, width, steps, left);
  return isReached || left > 0 ? std::optional(isReached) : std::nullopt;
}

std::optional<int64_t> overlapOf(const ElementPlace& write, const ElementPlace& read,
                                 ArrayRef<int64_t> extents, int64_t width) {
  return meetElsewhere(write, read, extents, width) == true ? distanceOf(write, read)
                                                            : std::nullopt;
}

bool isReadElsewhere(tile::StoreOp store, tile::LoadOp load, ArrayRef<int64_t> extents,
                     tile::ParallelOp nest) {
  // The places get steps by which no index reaches into another's.
  SmallVector<int64_t> steps(store.getIndices().size(), 1);
  int64_t step = 1;
  for (size_t dim = steps.size(); dim-- > 0;) {
    const std::optional<ElementPlace> write = placeInNest(store.getIndices()[dim], {1}, nest);
    const std::optional<ElementPlace> read = placeInNest(load.getIndices()[dim], {1}, nest);
    if (!write || !read || write->factors != read->factors)
      return false;
    const std::optional<int64_t> distance = distanceOf(*write, *read);
    if (!distance)
      return false;
    steps[dim] = step;
    int64_t farthest = std::abs(*distance);
    for (auto [extent, factor] : llvm::zip(extents, write->factors))
      farthest += std::abs(factor) * (extent - 1);
    if (farthest >= kFarthest / step / 2)
      return false;
    step *= 2 * farthest + 1;
  }
  const std::optional<ElementPlace> write = placeInNest(store.getIndices(), steps, nest);
  const std::optional<ElementPlace> read = placeInNest(load.getIndices(), steps, nest);
  return write && read && overlapOf(*write, *read, extents, 1);
}

tile::StoreOp dependsOnItself(tile::ParallelOp nest) {
  const std::optional<SmallVector<int64_t>> extents = extentsOfStraightNest(nest);
  Block& body = *nest.getBodyBlock();
  if (!extents || !body.getOps<arith::SelectOp>().empty()) // what is chosen may be another one
    return {};
  for (auto store : body.getOps<tile::StoreOp>())
    for (auto load : body.getOps<tile::LoadOp>())
      if (store.getBuffer() == load.getBuffer() && isReadElsewhere(store, load, *extents, nest))
        return store;
  return {};
}

} // namespace tilewright
