// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/cuda_ops.h"

#include "compiler/ir/structure_ops.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::cuda;
using tilewright::tile::parseRegion;
using tilewright::tile::printRegion;

#include "compiler/ir/cuda_dialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/cuda_types.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/ir/cuda_ops.cpp.inc"

void CudaDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/ir/cuda_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/cuda_ops.cpp.inc"
      >();
}

LogicalResult BarriersType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count) {
  if (count < 1 || count > 1024)
    return emitError() << "has 1 to 1024 barriers, not " << count;
  return success();
}

LogicalResult WarpGroupsOp::verify() {
  auto launch = (*this)->getParentOfType<tile::LaunchOp>();
  if (!launch || launch.getNpu())
    return emitOpError() << "stands outside of a launch on a GPU";
  if (getGroups().empty())
    return emitOpError() << "lists at least one warp group";
  int64_t count = launch.getThreadCount() / 128;
  for (int64_t group : getGroups())
    if (group < 0 || group >= count)
      return emitOpError() << "lists warp group " << group << " but the launch has " << count
                           << " groups of 128 threads";
  if ((*this)->getParentOfType<WarpGroupsOp>())
    return emitOpError() << "cannot stand inside of another one";
  return success();
}

LogicalResult AllocBarriersOp::verify() {
  if (int64_t(getArrivals().size()) != getType().getCount())
    return emitOpError() << "has " << getArrivals().size() << " numbers of arrivals for "
                         << getType().getCount() << " barriers";
  for (int64_t arrivals : getArrivals())
    if (arrivals < 1 || arrivals > 1024)
      return emitOpError() << "has a barrier with " << arrivals << " arrivals; it needs 1 to 1024";
  return success();
}

static LogicalResult verifyIndex(Operation* op, BarriersType type, Value index) {
  std::optional<int64_t> constant = getConstantIntValue(index);
  if (constant && (*constant < 0 || *constant >= type.getCount()))
    return op->emitOpError() << "uses barrier " << *constant << " of " << type.getCount();
  return success();
}

LogicalResult BarrierArriveOp::verify() {
  return verifyIndex(*this, getBarriers().getType(), getIndex());
}
LogicalResult BarrierExpectOp::verify() {
  return verifyIndex(*this, getBarriers().getType(), getIndex());
}

LogicalResult BarrierWaitOp::verify() {
  std::optional<int64_t> parity = getConstantIntValue(getParity());
  if (parity && *parity != 0 && *parity != 1)
    return emitOpError() << "has parity " << *parity << "; it is 0 or 1";
  return verifyIndex(*this, getBarriers().getType(), getIndex());
}

void AsyncCopyOp::build(OpBuilder& builder, OperationState& state, const BufferRegion& source,
                        const BufferRegion& target, Value barriers, Value index, bool bulk) {
  tile::RegionParts from(source), to(target);
  build(builder, state, source.buffer, from.offsets, from.extents, target.buffer, to.offsets,
        to.extents, barriers, index, from.staticOffsets, from.staticExtents, to.staticOffsets,
        to.staticExtents, bulk);
}

BufferRegion AsyncCopyOp::getSourceRegion() {
  return tile::makeRegion(getSource(), getSourceOffsets(), getSourceExtents(),
                          getStaticSourceOffsets(), getStaticSourceExtents());
}

BufferRegion AsyncCopyOp::getTargetRegion() {
  return tile::makeRegion(getTarget(), getTargetOffsets(), getTargetExtents(),
                          getStaticTargetOffsets(), getStaticTargetExtents());
}

LogicalResult AsyncCopyOp::verify() {
  auto source =
      tile::verifiedRegion(*this, "copy source", getSource(), getSourceOffsets(),
                           getSourceExtents(), getStaticSourceOffsets(), getStaticSourceExtents());
  auto target =
      tile::verifiedRegion(*this, "copy target", getTarget(), getTargetOffsets(),
                           getTargetExtents(), getStaticTargetOffsets(), getStaticTargetExtents());
  if (failed(source) || failed(target))
    return failure();
  if (source->type().getElementType() != target->type().getElementType())
    return emitOpError() << "cannot convert " << source->type().getElementType() << " to "
                         << target->type().getElementType();
  if (getBarriers() && !getBulk())
    return emitOpError() << "has a barrier, which only a bulk copy signals";
  if (getBarriers() && failed(verifyIndex(*this, getBarriers().getType(), getIndex())))
    return failure();
  return tile::verifySameExtents(*this, "copy source", source->staticExtents(), "target",
                                 target->staticExtents());
}

LogicalResult SetMaxRegistersOp::verify() {
  int64_t count = int64_t(getCount());
  if (count < 24 || count > 256 || count % 8 != 0)
    return emitOpError() << "has " << count << " registers; the number is 24 to 256 in steps of 8";
  return success();
}
