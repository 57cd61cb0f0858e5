// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/workspaces.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

BufferRegion makeWorkspace(tile::LaunchOp launch, ArrayRef<int64_t> shape, Type element,
                           StringRef name) {
  OpBuilder builder = OpBuilder::atBlockBegin(launch.getBodyBlock());
  const std::optional<SmallVector<int64_t>> known =
      getConstantIntValues(getAsOpFoldResult(launch.getGrid()));
  const SmallVector<int64_t> blocks = known.value_or(SmallVector<int64_t>());
  SmallVector<int64_t> all(blocks);
  llvm::append_range(all, shape);
  auto alloc = tile::AllocOp::create(builder, launch.getLoc(),
                                     BufferType::get(all, element, tile::MemorySpace::Global),
                                     builder.getStringAttr(name), IntegerAttr());
  BufferRegion region{alloc, {}, {}};
  if (known)
    region.offsets = getAsOpFoldResult(launch.getBlockIds());
  else
    alloc->setAttr(kPerBlockAttr, builder.getUnitAttr());
  region.extents.assign(blocks.size(), builder.getIndexAttr(1));
  for (const int64_t extent : shape) {
    region.offsets.push_back(builder.getIndexAttr(0));
    region.extents.push_back(builder.getIndexAttr(extent));
  }
  return region;
}

DenseBoolArrayAttr allInBounds(const BufferRegion& region) {
  return DenseBoolArrayAttr::get(region.buffer.getContext(),
                                 SmallVector<bool>(region.offsets.size(), true));
}

} // namespace tilewright::ascend
