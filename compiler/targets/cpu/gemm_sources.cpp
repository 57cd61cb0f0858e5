// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/gemm_sources.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

SmallVector<int64_t> matrixShape(const BufferRegion& region) {
  SmallVector<int64_t> extents = region.staticExtents();
  return {extents[extents.size() - 2], extents.back()};
}

void dropEmptyGemms(Operation* kernel) {
  SmallVector<tile::GemmOp> empty;
  kernel->walk([&](tile::GemmOp op) {
    if (llvm::is_contained(matrixShape(op.getARegion()), 0) ||
        llvm::is_contained(matrixShape(op.getCRegion()), 0))
      empty.push_back(op);
  });
  for (tile::GemmOp op : empty) {
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    if (op.getClear())
      builder.setInsertionPointToStart(scf::IfOp::create(builder, op.getClear()).thenBlock());
    const BufferRegion sums = op.getCRegion();
    if (op.getClear() || op.getClearAccum())
      tile::FillOp::create(builder, zero(builder, sums.type().getScalarType()), sums);
    op.erase();
  }
}

SmallVector<tile::GemmOp> gemmsWithElements(Operation* kernel) {
  dropEmptyGemms(kernel);
  SmallVector<tile::GemmOp> gemms;
  kernel->walk([&](tile::GemmOp gemm) { gemms.push_back(gemm); });
  return gemms;
}

bool isOfPlainTiles(tile::GemmOp gemm) {
  const BufferRegion regions[] = {gemm.getARegion(), gemm.getBRegion(), gemm.getCRegion()};
  return llvm::all_of(regions, [](const BufferRegion& region) {
    return !region.type().isGlobal() && !region.type().getLayout() &&
           isa_and_nonnull<tile::AllocOp>(region.buffer.getDefiningOp());
  });
}

SmallVector<Value> placeIn(ImplicitLocOpBuilder& builder, const BufferRegion& region, Value row,
                           Value column) {
  IndexMath math(builder);
  SmallVector<Value> place;
  for (OpFoldResult offset : region.offsets)
    place.push_back(math.value(offset));
  place[place.size() - 2] = math.add(place[place.size() - 2], row);
  place.back() = math.add(place.back(), column);
  return place;
}

BufferRegion turned(ImplicitLocOpBuilder& builder, const BufferRegion& region) {
  const SmallVector<int64_t> shape = matrixShape(region);
  auto type = BufferType::get({shape[1], shape[0]}, region.type().getElementType(),
                              tile::MemorySpace::Shared);
  Value buffer = tile::AllocOp::create(builder, type, StringAttr(), IntegerAttr());
  tile::CopyOp::create(builder, region, BufferRegion::whole(buffer)).setTranspose(true);
  return BufferRegion::whole(buffer);
}

namespace {

/// Whether an op may write to global memory.
bool mayWriteGlobal(Operation* op) {
  if (auto sync = dyn_cast<tile::SyncOp>(op)) // it orders threads; here one runs all of a block
    return sync.getScope() == tile::SyncScope::Grid;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return !effects || llvm::any_of(*effects, [](const MemoryEffects::EffectInstance& effect) {
    if (!isa<MemoryEffects::Write>(effect.getEffect()))
      return false;
    auto type =
        effect.getValue() ? dyn_cast<BufferType>(effect.getValue().getType()) : BufferType();
    return !type || type.isGlobal();
  });
}

/// The copy of a global matrix that alone writes an on-chip buffer, all of it, which `reader` alone reads.
tile::CopyOp soleCopy(tile::GemmOp reader, const BufferRegion& region) {
  auto alloc = region.buffer.getDefiningOp<tile::AllocOp>();
  if (!alloc || !region.isWhole())
    return {};
  tile::CopyOp copy;
  for (OpOperand& use : alloc->getUses()) {
    if (use.getOwner() == reader)
      continue;
    auto user = dyn_cast<tile::CopyOp>(use.getOwner());
    if (!user || copy || user.getTargetRegion().buffer != region.buffer)
      return {};
    copy = user;
  }
  if (!copy || !copy.getTargetRegion().isWhole() || copy.getRelu() || copy.getTranspose() ||
      copy.getPad())
    return {};
  const BufferRegion source = copy.getSourceRegion();
  const bool isMatrix =
      source.type().isGlobal() && tile::withoutUnitExtents(source.staticExtents()).size() == 2;
  return isMatrix ? copy : tile::CopyOp();
}

} // namespace

tile::CopyOp onlySource(tile::GemmOp reader, const BufferRegion& region) {
  tile::CopyOp copy = soleCopy(reader, region);
  if (!copy || copy->getBlock() != reader->getBlock() || !copy->isBeforeInBlock(reader))
    return {};
  for (Operation* op = copy->getNextNode(); op != reader; op = op->getNextNode())
    if (mayWriteGlobal(op))
      return {};
  return copy;
}

tile::CopyOp copyOfOneRun(tile::GemmOp reader, const BufferRegion& region) {
  tile::CopyOp copy = soleCopy(reader, region);
  if (!copy || !copy.getSourceInBounds() || llvm::is_contained(*copy.getSourceInBounds(), false))
    return {};
  const BufferRegion source = copy.getSourceRegion();
  const BufferType type = source.type();
  const SmallVector<int64_t> extents = source.staticExtents();
  const int64_t rank = type.getRank();
  const bool isRun = rank >= 2 && isDenseTensor(source.buffer) &&
                     !ShapedType::isDynamicShape(type.getShape()) &&
                     type.getElementType() == region.type().getElementType() &&
                     extents[rank - 1] == type.getShape()[rank - 1] &&
                     ArrayRef(extents).take_back(2) == ArrayRef(region.staticExtents()) &&
                     llvm::all_of(ArrayRef(extents).drop_back(2), [](int64_t e) { return e == 1; });
  Operation* reading = copy->getBlock()->findAncestorOpInBlock(*reader);
  if (!isRun || !reading || !copy->isBeforeInBlock(reading))
    return {};
  for (Operation* op = copy->getNextNode(); op != reading->getNextNode(); op = op->getNextNode())
    if (mayWriteGlobal(op))
      return {};
  return copy;
}

tile::CopyOp earlierSource(tile::GemmOp reader, const BufferRegion& region) {
  tile::CopyOp copy = soleCopy(reader, region);
  if (!copy || copy->getBlock() == reader->getBlock())
    return {};
  Operation* reading = copy->getBlock()->findAncestorOpInBlock(*reader);
  return reading && copy->isBeforeInBlock(reading) ? copy : tile::CopyOp();
}

Operation* placeToPrepare(tile::GemmOp reader, const BufferRegion& region) {
  // A place that changes may be outside of the buffer where a condition or a loop without turns keeps the gemm from it.
  const bool isFixed = llvm::all_of(
      region.offsets, [](OpFoldResult offset) { return getConstantIntValue(offset).has_value(); });
  Operation* place = reader;
  for (Operation* around = reader->getParentOp(); isFixed && around && !isa<tile::LaunchOp>(around);
       around = around->getParentOp()) {
    const bool isMade = around->isProperAncestor(region.buffer.getDefiningOp());
    const bool isChanged = llvm::any_of(region.buffer.getUses(), [&](OpOperand& use) {
      auto gemm = dyn_cast<tile::GemmOp>(use.getOwner());
      const bool isRead =
          isa<tile::LoadOp>(use.getOwner()) || (gemm && gemm.getCRegion().buffer != region.buffer);
      const bool isSeenElsewhere = isa<tile::ViewOp, tile::AddressOp>(use.getOwner());
      return !isRead && (isSeenElsewhere || around->isAncestor(use.getOwner()));
    });
    if (isMade || isChanged)
      break;
    if (!isa<scf::IfOp>(around))
      place = around;
  }
  return place;
}

bool keepsValues(tile::CopyOp copy) {
  Type from = copy.getSourceRegion().type().getElementType();
  Type to = copy.getTargetRegion().type().getElementType();
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (from == to || (fromFloat && !toFloat))
    return from == to;
  if (fromFloat) // of one width, formats differ in infinities
    return fromFloat.getWidth() < toFloat.getWidth() &&
           APFloat::isRepresentableBy(fromFloat.getFloatSemantics(), toFloat.getFloatSemantics());
  const bool hasSign = from.isSignedInteger();
  const unsigned bits = from.getIntOrFloatBitWidth() - hasSign; // of a magnitude
  if (toFloat)
    return bits <= toFloat.getFPMantissaWidth() &&
           int(bits) <= APFloat::semanticsMaxExponent(toFloat.getFloatSemantics());
  const unsigned room = to.getIntOrFloatBitWidth() - to.isSignedInteger();
  return bits <= room && (!hasSign || to.isSignedInteger());
}

} // namespace tilewright::cpu
