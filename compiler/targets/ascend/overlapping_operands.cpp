// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/overlapping_operands.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

namespace {

/// Combinations of numbers that are looked at; nothing is said of nests that have more.
constexpr int64_t kMostTried = 100'000;

/// Where a nest's iteration accesses UB, in bits: a constant, its numbers times factors, and other values times
/// factors.
struct ElementPlace {
  int64_t constant = 0;
  SmallVector<int64_t> factors;
  SmallVector<std::pair<Value, int64_t>> others;
};

class OperandAccess {
public:
  OperandAccess(Value buffer, ValueRange indices, tile::ParallelOp nest)
      : type(cast<BufferType>(buffer.getType())), nest(nest) {
    place.factors.assign(nest.getInductionVars().size(), 0);
    const auto bits = int64_t(type.getElementBits());
    isKnown = type.getSpace() == MemorySpace::UB;
    if (isKnown)
      for (auto [index, stride] : llvm::zip(indices, ubStrides(type)))
        isKnown &= add(index, stride * bits, 0);
  }

  BufferType type;
  ElementPlace place;
  bool isKnown = false;

private:
  bool add(Value value, int64_t factor, int depth) {
    constexpr int64_t farthest = int64_t{1} << 40;
    if (depth > 16 || std::abs(factor) > farthest)
      return false;
    if (const std::optional<int64_t> known = getConstantIntValue(value)) {
      if (std::abs(*known) > farthest / std::max<int64_t>(1, std::abs(factor)))
        return false;
      place.constant += *known * factor;
      return true;
    }
    tile::ParallelOp loops = nest;
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == loops.getBodyBlock()) {
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
        return std::abs(*times) < farthest && add(op->getOperand(0), factor * *times, depth + 1);
    if (op && loops.getBody().isAncestor(op->getParentRegion()))
      return false; // may be another one in each iteration
    auto* same = llvm::find_if(place.others,
                               [&](const auto& other) { return isSameNumber(other.first, value); });
    if (same == place.others.end())
      place.others.emplace_back(value, factor);
    else
      same->second += factor;
    return true;
  }

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

/// How far what a nest writes begins behind what it reads, in bits, if one iteration surely reads what another
/// one writes.
std::optional<int64_t> overlapOf(const OperandAccess& write, const OperandAccess& read,
                                 ArrayRef<int64_t> extents) {
  ElementPlace apart = write.place; // from what is read
  apart.constant -= read.place.constant;
  for (const auto& [value, factor] : read.place.others) {
    auto* same = llvm::find_if(apart.others,
                               [&](const auto& other) { return isSameNumber(other.first, value); });
    if (same == apart.others.end())
      return std::nullopt;
    same->second -= factor;
  }
  if (llvm::any_of(apart.others, [](const auto& other) { return other.second != 0; }))
    return std::nullopt;
  SmallVector<Steps> steps;
  bool isElsewhere = apart.constant != 0;
  for (auto [extent, to, from] : llvm::zip(extents, write.place.factors, read.place.factors)) {
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
  const auto width = int64_t(std::min(write.type.getElementBits(), read.type.getElementBits()));
  return isElsewhere && reaches(apart.constant, width, steps, left) ? std::optional(apart.constant)
                                                                    : std::nullopt;
}

/// From the first byte that a nest accesses to the last, of factors that are not negative.
int64_t bytesOf(const OperandAccess& access, ArrayRef<int64_t> extents) {
  int64_t bits = int64_t(access.type.getElementBits());
  for (auto [extent, factor] : llvm::zip(extents, access.place.factors))
    bits += std::abs(factor) * (extent - 1);
  return int64_t(llvm::divideCeil(bits, 8));
}

} // namespace

bool checkOperands(tile::ParallelOp nest) {
  SmallVector<int64_t> extents;
  for (OpFoldResult extent : nest.getMixedExtents())
    extents.push_back(getConstantIntValue(extent).value_or(0));
  const bool isStraight =
      llvm::all_of(*nest.getBodyBlock(), [](Operation& op) { return op.getNumRegions() == 0; });
  if (!isStraight || llvm::any_of(extents, [](int64_t extent) { return extent < 1; }))
    return true;
  auto function = nest->getAttrOfType<StringAttr>("function");
  for (auto store : nest.getBodyBlock()->getOps<tile::StoreOp>())
    for (auto load : nest.getBodyBlock()->getOps<tile::LoadOp>()) {
      if (npu::storageOf(store.getBuffer()) != npu::storageOf(load.getBuffer()))
        continue;
      const OperandAccess write(store.getBuffer(), store.getIndices(), nest),
          read(load.getBuffer(), load.getIndices(), nest);
      if (!write.isKnown || !read.isKnown)
        continue;
      const std::optional<int64_t> apart = overlapOf(write, read, extents);
      if (!apart)
        continue;
      const std::string name = quotedBuffer(npu::storageOf(store.getBuffer()));
      InFlightDiagnostic told = function ? nest.emitError() : nest.emitWarning();
      told << (function ? "T.tile." + function.getValue().str() : "this T.Parallel loop")
           << " writes " << bytesOf(write, extents) << " bytes of "
           << (name.empty() ? "a tile" : name) << " that begin ";
      if (*apart == 0)
        told << "with";
      else
        told << std::abs(*apart) / 8 << " bytes " << (*apart > 0 ? "behind" : "before");
      told
          << " the " << bytesOf(read, extents)
          << " that it reads of it; the vector unit has no order for what overlaps in part, so let "
             "them be the same or apart";
      return !function;
    }
  return true;
}

} // namespace tilewright::ascend
