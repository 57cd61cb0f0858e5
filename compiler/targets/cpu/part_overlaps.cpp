// SPDX-License-Identifier: Apache-2.0
/// A copy between parts of one buffer that may have elements in common reads all before it writes.
///
///   tile.copy %s[0] [6] to %s[2] [6] : !tile.buffer<8xf32, shared>
/// becomes
///   %moved = tile.alloc : !tile.buffer<6xf32, shared>
///   tile.copy %s[0] [6] to %moved
///   tile.copy %moved to %s[2] [6]
///
/// So does the Ascend target (overlapping_copies.h), and the interpreter defines it. Parts that are known to be apart, in
/// one dim at least, are copied at once, and so is a part to itself. Parts of a tensor whose extents only the kernel
/// knows, and those that no tile should hold, stay as they are.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferRegion;

/// Of a tile that a copy goes through.
constexpr int64_t kMostElements = int64_t{1} << 22;

/// An index as a number behind a value, which is null where there is only the number.
std::pair<Value, int64_t> sumOf(OpFoldResult index) {
  if (const std::optional<int64_t> number = getConstantIntValue(index))
    return {Value(), *number};
  Value value = cast<Value>(index);
  int64_t more = 0;
  while (auto add = value.getDefiningOp<arith::AddIOp>()) {
    const std::optional<int64_t> number = getConstantIntValue(add.getRhs());
    if (!number)
      break;
    more += *number;
    value = add.getLhs();
  }
  return {value, more};
}

/// to - from, if that is a number for sure.
std::optional<int64_t> distance(OpFoldResult from, OpFoldResult to) {
  const auto [base, number] = sumOf(from);
  const auto [other, more] = sumOf(to);
  return base == other ? std::optional(more - number) : std::nullopt;
}

enum class Overlap { None, Same, Possible };

Overlap compare(const BufferRegion& a, const BufferRegion& b) {
  if (a.type().getShape() != b.type().getShape() ||
      a.type().getElementBits() != b.type().getElementBits())
    return Overlap::Possible;
  const SmallVector<int64_t> counts = a.staticExtents(), others = b.staticExtents();
  bool isSame = true;
  for (size_t dim = 0; dim < counts.size(); ++dim) {
    const std::optional<int64_t> step = distance(a.offsets[dim], b.offsets[dim]);
    if (step && ((!ShapedType::isDynamic(counts[dim]) && *step >= counts[dim]) ||
                 (!ShapedType::isDynamic(others[dim]) && -*step >= others[dim])))
      return Overlap::None;
    isSame &= step == 0 && a.extents[dim] == b.extents[dim];
  }
  return isSame ? Overlap::Same : Overlap::Possible;
}

bool mayOverwriteSource(tile::CopyOp copy) {
  const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  if (npu::storageOf(source.buffer) != npu::storageOf(target.buffer))
    return false;
  const Overlap found = compare(source, target);
  return found == Overlap::Possible || (found == Overlap::Same && copy.getTranspose());
}

void readAllFirst(tile::CopyOp copy) {
  const BufferRegion source = copy.getSourceRegion();
  SmallVector<int64_t> shape = source.staticExtents();
  for (auto [extent, most] : llvm::zip(shape, source.type().getShape()))
    extent = ShapedType::isDynamic(extent) ? most : extent;
  if (llvm::any_of(shape, ShapedType::isDynamic) ||
      ShapedType::getNumElements(shape) > kMostElements)
    return;
  ImplicitLocOpBuilder builder(copy.getLoc(), copy);
  const auto type =
      tile::BufferType::get(shape, source.type().getElementType(), tile::MemorySpace::Shared);
  BufferRegion moved = BufferRegion::whole(
      tile::AllocOp::create(builder, type, builder.getStringAttr("moved"), IntegerAttr()));
  moved.extents = source.extents;
  auto first = tile::CopyOp::create(builder, source, moved);
  first.getPadMutable().assign(copy.getPad() ? ValueRange(copy.getPad()) : ValueRange());
  auto second = tile::CopyOp::create(builder, moved, copy.getTargetRegion());
  second.setTranspose(copy.getTranspose());
  copy.erase();
}

struct PartOverlaps : KernelPass<PartOverlaps> {
  static constexpr llvm::StringLiteral kArgument = "cpu-part-overlaps";
  static constexpr llvm::StringLiteral kDescription =
      "Copies between parts of one buffer that may overlap go through a tile of their own";

  void runOnOperation() override {
    SmallVector<tile::CopyOp> copies;
    getOperation().walk([&](tile::CopyOp copy) {
      if (mayOverwriteSource(copy))
        copies.push_back(copy);
    });
    for (tile::CopyOp copy : copies)
      readAllFirst(copy);
  }
};

} // namespace

std::unique_ptr<Pass> createPartOverlaps() {
  return std::make_unique<PartOverlaps>();
}

} // namespace tilewright::cpu
