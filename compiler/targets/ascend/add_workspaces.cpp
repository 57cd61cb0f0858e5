// SPDX-License-Identifier: Apache-2.0
/// AddWorkspaces: leads copies between the cube and the vector cores through global memory.
///
///   tile.copy %c : !tile.buffer<64x64xf32, L0C> to %x : !tile.buffer<64x64xf32, UB>
/// becomes
///   %w = tile.alloc "workspace_0" : !tile.buffer<24x64x64xf32, global>   // one per block
///   tile.copy %c : ... to %w[%cid, 0, 0] [1, 64, 64] : ...
///   ...                                                                  // up to the first use of %x
///   tile.copy %w[%cid, 0, 0] [1, 64, 64] : ... to %x : ...
///
/// The same for UB to L1: the chip has no path between the cores but global memory. It stands behind
/// the placing of buffers, which decides what is such a copy, and before threads share vector work:
/// then the halves that each vector core has are parts of ordinary copies. InsertFlags finds the
/// waits.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/region.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

bool crosses(tile::CopyOp copy) {
  const MemorySpace from = copy.getSourceRegion().type().getSpace();
  const MemorySpace to = copy.getTargetRegion().type().getSpace();
  return (from == MemorySpace::L0C && to == MemorySpace::UB) ||
         (from == MemorySpace::UB && to == MemorySpace::L1);
}

/// The first operation behind `op` in its block that touches `buffer`, or the block's end.
Operation* firstUse(Operation* op, Value buffer) {
  Operation* next = op->getNextNode();
  const auto touches = [&](Operation* user) {
    return user
        ->walk([&](Operation* inner) {
          return llvm::is_contained(inner->getOperands(), buffer) ? WalkResult::interrupt()
                                                                  : WalkResult::advance();
        })
        .wasInterrupted();
  };
  while (!next->hasTrait<OpTrait::IsTerminator>() && next->getNextNode() && !touches(next))
    next = next->getNextNode();
  return next;
}

struct AddWorkspaces : KernelPass<AddWorkspaces> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AddWorkspaces)
  static constexpr llvm::StringLiteral kArgument = "ascend-add-workspaces";
  static constexpr llvm::StringLiteral kDescription =
      "lead copies between cube and vector cores through global memory";

  void runOnOperation() override {
    SmallVector<tile::CopyOp> copies;
    getOperation().walk([&](tile::CopyOp copy) {
      if (crosses(copy))
        copies.push_back(copy);
    });
    unsigned number = 0;
    for (tile::CopyOp copy : copies)
      if (failed(split(copy, number++)))
        return signalPassFailure();
  }

  LogicalResult split(tile::CopyOp copy, unsigned number) {
    auto launch = copy->getParentOfType<tile::LaunchOp>();
    // Where the number of blocks is known at run time only, each block has a workspace of its own.
    std::optional<SmallVector<int64_t>> blocks =
        getConstantIntValues(getAsOpFoldResult(launch.getGrid()));
    const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
    SmallVector<int64_t> shape = tile::withoutUnitExtents(source.staticExtents());
    if (llvm::is_contained(shape, ShapedType::kDynamic))
      return copy.emitError("unsupported on ascend: a copy between cube and vector memories whose "
                            "extents are known at run time only");
    if (shape.empty())
      shape.push_back(1);
    const BufferRegion space = makeSpace(launch, blocks, shape, target.type(), number);

    OpBuilder builder(copy);
    auto there = tile::CopyOp::create(builder, copy.getLoc(), source, space);
    there.setRelu(copy.getRelu());
    there.setTranspose(copy.getTranspose());
    there.setTargetInBoundsAttr(allInBounds(space));
    builder.setInsertionPoint(firstUse(copy, target.buffer));
    auto back = tile::CopyOp::create(builder, copy.getLoc(), space, target);
    back.setSourceInBoundsAttr(allInBounds(space));
    copy.erase();
    return success();
  }

  /// Room for one tile of every block; the part of this block.
  BufferRegion makeSpace(tile::LaunchOp launch, const std::optional<SmallVector<int64_t>>& known,
                         ArrayRef<int64_t> tileShape, BufferType like, unsigned number) {
    OpBuilder builder = OpBuilder::atBlockBegin(launch.getBodyBlock());
    const SmallVector<int64_t> blocks = known.value_or(SmallVector<int64_t>());
    SmallVector<int64_t> shape(blocks);
    llvm::append_range(shape, tileShape);
    auto alloc = tile::AllocOp::create(
        builder, launch.getLoc(),
        BufferType::get(shape, like.getElementType(), MemorySpace::Global),
        builder.getStringAttr("workspace_" + std::to_string(number)), IntegerAttr());
    BufferRegion region{alloc, {}, {}};
    if (known)
      region.offsets = getAsOpFoldResult(launch.getBlockIds());
    else
      alloc->setAttr(kPerBlockAttr, builder.getUnitAttr());
    region.extents.assign(blocks.size(), builder.getIndexAttr(1));
    for (const int64_t extent : tileShape) {
      region.offsets.push_back(builder.getIndexAttr(0));
      region.extents.push_back(builder.getIndexAttr(extent));
    }
    return region;
  }

  static DenseBoolArrayAttr allInBounds(const BufferRegion& region) {
    return DenseBoolArrayAttr::get(region.buffer.getContext(),
                                   SmallVector<bool>(region.offsets.size(), true));
  }
};

} // namespace

std::unique_ptr<Pass> createAddWorkspaces() {
  return std::make_unique<AddWorkspaces>();
}

} // namespace tilewright::ascend
