// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/crossing_places.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/index_ranges.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/core_parts.h"
#include "compiler/targets/ascend/remade_values.h"
#include "compiler/targets/ascend/scalar_agents.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

bool crossesCores(tile::CopyOp copy) {
  using tile::MemorySpace;
  const MemorySpace from = copy.getSourceRegion().type().getSpace();
  const MemorySpace to = copy.getTargetRegion().type().getSpace();
  return (from == MemorySpace::L0C && to == MemorySpace::UB) ||
         (from == MemorySpace::UB && to == MemorySpace::L1);
}

Operation* outermostApart(Operation* op) {
  Operation* found = nullptr;
  for (Operation* around = op->getParentOp(); around && !isa<tile::LaunchOp>(around);
       around = around->getParentOp()) {
    if (isa<ScopeOp>(around))
      return nullptr; // one kind of core's own
    if (isa<scf::IfOp, tile::ForOp, tile::WhileOp>(around) && asksVectorCores(around))
      found = around;
  }
  return found;
}

/// The part of a tile that an operation writes, as far as it is known.
static std::optional<tile::BufferRegion> writtenBy(Operation* user, Value storage) {
  std::optional<tile::BufferRegion> written;
  if (auto copy = dyn_cast<tile::CopyOp>(user))
    written = copy.getTargetRegion();
  else if (auto gemm = dyn_cast<tile::GemmOp>(user))
    written = gemm.getCRegion();
  else if (auto fill = dyn_cast<tile::FillOp>(user))
    written = fill.getTargetRegion();
  return written && npu::storageOf(written->buffer) == storage ? written : std::nullopt;
}

/// Whether `part` lies in `whole` for all that its offsets can be, where no branch says less.
static bool isWithin(const tile::BufferRegion& part, const tile::BufferRegion& whole) {
  if (part.buffer != whole.buffer)
    return whole.isWhole() && isWithin(part, tile::BufferRegion::whole(part.buffer));
  const auto rangeOf = [](OpFoldResult number) {
    const auto constant = getConstantIntValue(number);
    return constant ? IndexRange{*constant, *constant} : IndexRanges().rangeOf(cast<Value>(number));
  };
  return llvm::all_of(llvm::seq<size_t>(0, part.offsets.size()), [&](size_t dim) {
    const auto first = getConstantIntValue(whole.offsets[dim]),
               extent = getConstantIntValue(whole.extents[dim]);
    const IndexRange start = rangeOf(part.offsets[dim]), size = rangeOf(part.extents[dim]);
    const bool isKnown = size.high != IndexRange::kHighest && start.high != IndexRange::kHighest;
    return first && extent && isKnown && start.low >= *first &&
           start.high <= *first + *extent - size.high;
  });
}

/// Whether a part of a tile has been written whenever `place` is reached.
static bool isWrittenBefore(const tile::BufferRegion& part, Operation* place) {
  const Value storage = npu::storageOf(part.buffer);
  return llvm::any_of(npu::usersOf(storage), [&](Operation* user) {
    const auto written = writtenBy(user, storage);
    if (!written || !isWithin(part, *written))
      return false;
    for (Operation* around = user;; around = around->getParentOp()) {
      if (Operation* there = around->getBlock()->findAncestorOpInBlock(*place))
        return around != there && around->isBeforeInBlock(there);
      auto loop = dyn_cast<tile::ForOp>(around->getParentOp());
      const auto lower = loop ? getConstantIntValue(loop.getLower()) : std::nullopt,
                 upper = loop ? getConstantIntValue(loop.getUpper()) : std::nullopt;
      if (!lower || !upper || *lower >= *upper)
        return false;
    }
  });
}

bool maySendBefore(Operation* apart, tile::CopyOp copy) {
  const Value storage = npu::storageOf(copy.getSource());
  const bool isChanged = llvm::any_of(npu::usersOf(storage), [&](Operation* user) {
    auto other = dyn_cast<tile::CopyOp>(user);
    return apart->isAncestor(user) && !isa<tile::ViewOp>(user) &&
           (!other || npu::storageOf(other.getTarget()) == storage);
  });
  // Where gemms follow the cube core's vid, vector cores don't know what is new.
  const bool isForAll = llvm::none_of(npu::usersOf(storage), [](Operation* user) {
    return isa<tile::GemmOp>(user) && outermostApart(user);
  });
  return !isChanged && isForAll && isFixedIn(copy.getSourceRegion(), apart) &&
         (!copy.getScale() || isFixedIn(copy.getScale(), apart)) &&
         (onlyCoreIn(apart, copy) || isWrittenBefore(copy.getSourceRegion(), apart));
}

/// Whether one core for sure, and only one, brings a part of the block's tile that both know.
static bool isOfOneCore(Operation* apart, tile::CopyOp copy) {
  const tile::BufferRegion target = copy.getTargetRegion();
  const bool isOfBoth = llvm::none_of(target.offsets, [](OpFoldResult offset) {
    auto value = dyn_cast<Value>(offset);
    return value && npu::differsByVid(value);
  });
  return isOfBoth && isFixedIn(target, apart) && onlyCoreIn(apart, copy);
}

/// Whether two parts of a tile never meet, by numbers that are known.
static bool areDisjoint(const tile::BufferRegion& a, const tile::BufferRegion& b) {
  const auto endsBefore = [](const tile::BufferRegion& one, const tile::BufferRegion& other,
                             size_t dim) {
    const auto first = getConstantIntValue(one.offsets[dim]),
               extent = getConstantIntValue(one.extents[dim]),
               next = getConstantIntValue(other.offsets[dim]);
    return first && extent && next && *first + *extent <= *next;
  };
  return a.buffer == b.buffer &&
         llvm::any_of(llvm::seq<size_t>(0, a.offsets.size()),
                      [&](size_t dim) { return endsBefore(a, b, dim) || endsBefore(b, a, dim); });
}

bool mayFetchBehind(Operation* apart, tile::CopyOp copy) {
  const Value storage = npu::storageOf(copy.getTarget());
  // Other parts may be fetched behind it, too: their order doesn't matter.
  const auto isOther = [&](Operation* user) {
    auto other = dyn_cast<tile::CopyOp>(user);
    return other && npu::storageOf(other.getTarget()) == storage &&
           other.getSourceRegion().type().getSpace() == tile::MemorySpace::UB &&
           areDisjoint(copy.getTargetRegion(), other.getTargetRegion()) &&
           isOfOneCore(apart, other);
  };
  const bool isAlone = llvm::none_of(npu::usersOf(storage), [&](Operation* user) {
    return user != copy && apart->isAncestor(user) && !isa<tile::ViewOp>(user) && !isOther(user);
  });
  return isAlone && isOfOneCore(apart, copy);
}

} // namespace tilewright::ascend
