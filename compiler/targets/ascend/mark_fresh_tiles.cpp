// SPDX-License-Identifier: Apache-2.0
/// MarkFreshTiles: marks tiles of which one copy writes a part, and nothing is read but what it has just written.
///
///   %a = tile.alloc "a" : !tile.buffer<128x64xf16, L1>                                          ->  ... {ascend.fresh}
///   tile.for %s = ... {
///     tile.copy %A[%x, %z] [%m, %k] : ... to %a[0, 0] [%m, %k] : ...     // all of it is known as the kernel runs only
///     tile.gemm %a[0, 0] [%m, %k] : ..., %b[0, 0] [%k, %n] : ... into %c[0, 0] [%m, %n] : ...
///   }
///
/// Such a tile keeps nothing from one turn of a loop to the next, though no turn writes all of it. It stands before gemms and
/// copies are expanded: behind that parts are addresses and counts. RotateBuffers and PlanMemory ask for it.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/buffer_lives.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Dominance.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;

/// The lesser of two numbers that are one: the two sides of a copy may name it each in its own way.
OpFoldResult asOne(OpFoldResult number) {
  auto value = dyn_cast<Value>(number);
  auto least = value ? value.getDefiningOp<arith::MinSIOp>() : nullptr;
  return least && differenceOf(least.getLhs(), least.getRhs()) == 0 ? asOne(least.getLhs())
                                                                    : number;
}

bool isAtMost(OpFoldResult less, OpFoldResult more) {
  less = asOne(less);
  more = asOne(more);
  const std::optional<int64_t> known = getConstantIntValue(less), other = getConstantIntValue(more);
  if (known && other)
    return *known <= *other;
  if (isSameIndex(less, more))
    return true;
  auto number = dyn_cast<Value>(less);
  auto least = number ? number.getDefiningOp<arith::MinSIOp>() : nullptr;
  return least && (isAtMost(least.getLhs(), more) || isAtMost(least.getRhs(), more));
}

/// Whether a part of a tile lies within another one for sure.
bool liesWithin(const BufferRegion& read, const BufferRegion& written) {
  const ArrayRef<int64_t> shape = written.type().getShape();
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const bool isAll = isConstantIntValue(written.offsets[dim], 0) &&
                       getConstantIntValue(written.extents[dim]) == shape[dim];
    if (!isAll && !(isSameIndex(read.offsets[dim], written.offsets[dim]) &&
                    isAtMost(read.extents[dim], written.extents[dim])))
      return false;
  }
  return true;
}

/// What an operation reads of a tile; nothing if it may do anything else with it.
SmallVector<BufferRegion> partsRead(Operation* op, Value tile) {
  SmallVector<BufferRegion> parts;
  if (auto copy = dyn_cast<tile::CopyOp>(op); copy && copy.getTarget() != tile)
    parts = {copy.getSourceRegion()};
  else if (auto gemm = dyn_cast<tile::GemmOp>(op); gemm && gemm.getC() != tile)
    parts = {gemm.getARegion(), gemm.getBRegion()};
  else if (auto reduce = dyn_cast<tile::ReduceOp>(op); reduce && reduce.getTarget() != tile)
    parts = {reduce.getSourceRegion()};
  llvm::erase_if(parts, [&](const BufferRegion& part) { return part.buffer != tile; });
  for (BufferRegion& part : parts)
    part = withKnownExtents(part);
  return parts;
}

bool isFresh(tile::AllocOp alloc, DominanceInfo& dominance) {
  const Value tile = alloc.getResult();
  if (!alloc.getType().hasStaticShape())
    return false;
  tile::CopyOp writer;
  for (Operation* user : tile.getUsers())
    if (auto copy = dyn_cast<tile::CopyOp>(user); copy && copy.getTarget() == tile) {
      if (writer || copy.getSource() == tile)
        return false;
      writer = copy;
    }
  if (!writer)
    return false;
  const BufferRegion written = withKnownExtents(writer.getTargetRegion());
  if (written.isWhole()) // as instructions show, too
    return false;
  return llvm::all_of(tile.getUsers(), [&](Operation* user) {
    if (user == writer)
      return true;
    const SmallVector<BufferRegion> parts = partsRead(user, tile);
    return !parts.empty() && dominance.properlyDominates(writer, user) &&
           llvm::all_of(parts, [&](const BufferRegion& part) { return liesWithin(part, written); });
  });
}

struct MarkFreshTiles : KernelPass<MarkFreshTiles> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkFreshTiles)
  static constexpr llvm::StringLiteral kArgument = "ascend-mark-fresh-tiles";
  static constexpr llvm::StringLiteral kDescription =
      "mark tiles of which nothing is read but what one copy has just written";

  void runOnOperation() override {
    DominanceInfo dominance(getOperation());
    getOperation().walk([&](tile::AllocOp alloc) {
      if (isFresh(alloc, dominance))
        alloc->setAttr(kFreshAttr, UnitAttr::get(&getContext()));
    });
  }
};

} // namespace

std::unique_ptr<Pass> createMarkFreshTiles() {
  return std::make_unique<MarkFreshTiles>();
}

} // namespace tilewright::ascend
