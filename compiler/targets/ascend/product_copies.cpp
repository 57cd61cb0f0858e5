// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/product_copies.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;
using tile::MemorySpace;

bool isStoredAs(Type from, Type to) {
  if (from == to)
    return from.isF32() || from.isInteger(32);
  return (from.isF32() && (to.isF16() || to.isBF16())) || (from.isInteger(32) && to.isF16());
}

bool isConvertedByFixpipe(tile::CopyOp copy) {
  const Type from = copy.getSource().getType().getElementType(),
             to = copy.getTarget().getType().getElementType();
  return isStoredAs(from, to) && (from == to || from.isF32() || copy.getScale());
}

static bool isStatic(const BufferRegion& region) {
  return !llvm::is_contained(region.staticExtents(), ShapedType::kDynamic);
}

/// Whether a part of a tile consists of whole groups of 16 columns, as far as is known.
static bool isOfGroups(const BufferRegion& part, bool isWritten) {
  const std::optional<int64_t> first = getConstantIntValue(part.offsets.back()),
                               count = getConstantIntValue(part.extents.back());
  if (first && *first % kFractalSide != 0)
    return false;
  const bool isLast = first && count && *first + *count == part.type().getShape().back();
  return !isWritten || isLast || (count && *count % kFractalSide == 0);
}

ProductRoute productRoute(tile::CopyOp copy) {
  const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  const Type from = source.type().getElementType(), to = target.type().getElementType();
  if (copy.getTranspose() || !isConvertedByFixpipe(copy) || source.type().getRank() == 0 ||
      target.type().getRank() == 0)
    return ProductRoute::Vectors;
  if (from == to)
    return ProductRoute::Memory;
  const bool isSame = source.staticExtents().back() == target.staticExtents().back();
  return isSame && isOfGroups(source, false) && isOfGroups(target, true) ? ProductRoute::Fixpipe
                                                                         : ProductRoute::Memory;
}

namespace {

/// Where tiles lie, by the kernel's word or by their use.
bool isProduct(Value buffer) {
  const Value storage = npu::storageOf(buffer);
  const MemorySpace space = cast<BufferType>(storage.getType()).getSpace();
  return space == MemorySpace::L0C ||
         ((space == MemorySpace::Shared || space == MemorySpace::Fragment) &&
          llvm::any_of(npu::usersOf(storage), [&](Operation* user) {
            auto gemm = dyn_cast<tile::GemmOp>(user);
            return gemm && npu::storageOf(gemm.getC()) == storage;
          }));
}

/// Whether Fixpipe does a copy, or global memory between two copies of the cube core.
bool isOfCubeCore(tile::CopyOp copy) {
  if (copy.getTarget().getType().isGlobal())
    return !copy.getTranspose() && isStoredAs(copy.getSource().getType().getElementType(),
                                              copy.getTarget().getType().getElementType());
  return productRoute(copy) != ProductRoute::Vectors;
}

void leadThroughUb(tile::CopyOp copy) {
  const BufferRegion source = copy.getSourceRegion(), target = copy.getTargetRegion();
  SmallVector<int64_t> shape = source.staticExtents();
  while (shape.size() > 2 && shape.front() == 1)
    shape.erase(shape.begin());
  const Type from = source.type().getElementType(), to = target.type().getElementType();
  ImplicitLocOpBuilder builder(copy.getLoc(), copy);
  builder.setInsertionPointAfter(npu::storageOf(source.buffer).getDefiningOp());
  auto product = tile::AllocOp::create(
      builder, BufferType::get(shape, isConvertedByFixpipe(copy) ? to : from, MemorySpace::UB),
      builder.getStringAttr("product"), IntegerAttr());
  builder.setInsertionPoint(copy);
  auto first = tile::CopyOp::create(builder, source, BufferRegion::whole(product));
  first.setRelu(copy.getRelu());
  first.getScaleMutable().assign(copy.getScale() ? ValueRange(copy.getScale()) : ValueRange());
  auto second = tile::CopyOp::create(builder, BufferRegion::whole(product), target);
  second.setTranspose(copy.getTranspose());
  second.setTargetInBoundsAttr(copy.getTargetInBoundsAttr());
  const bool happensOnce = copy->hasAttr(kOnceAttr) || !target.type().isGlobal();
  if (happensOnce && mayHaveTwoVectors(copy->getParentOfType<tile::LaunchOp>()))
    second->setAttr(kOnceAttr, builder.getUnitAttr());
  copy.erase();
}

} // namespace

void leadProductsThroughUb(func::FuncOp kernel) {
  SmallVector<tile::CopyOp> copies;
  kernel.walk([&](tile::CopyOp copy) {
    const Value target = copy.getTarget();
    const MemorySpace to = copy.getTargetRegion().type().getSpace();
    if (isProduct(copy.getSource()) && !copy->getParentOfType<ScopeOp>() &&
        isStatic(copy.getSourceRegion()) && to != MemorySpace::UB && !isProduct(target) &&
        (copy.getTargetRegion().type().isGlobal() || npu::isOfCube(target)) && !isOfCubeCore(copy))
      copies.push_back(copy);
  });
  llvm::for_each(copies, leadThroughUb);
}

} // namespace tilewright::ascend
