// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/thread_ops.h"

#include "compiler/ir/structure_ops.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tilewright::tile;

#define GET_OP_CLASSES
#include "compiler/ir/thread_ops.cpp.inc"

void TileDialect::addThreadOps() {
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/thread_ops.cpp.inc"
      >();
}

LogicalResult ThreadIdOp::verify() {
  auto launch = (*this)->getParentOfType<LaunchOp>();
  if (!launch)
    return emitOpError() << "stands outside of a launch";
  if (launch.getNpu())
    return emitOpError() << "has no meaning on an NPU, whose agents have one thread";
  if (getDim() >= std::max<size_t>(launch.getThreads().size(), 1))
    return emitOpError() << "asks for dim " << getDim() << " but the launch has "
                         << launch.getThreads().size() << " thread extents";
  return success();
}

LogicalResult SyncOp::verify() {
  if (getBarrierId() && getScope() != SyncScope::Block)
    return emitOpError() << "has a named barrier, which only a block has";
  if (getBarrierId() && (int64_t(*getBarrierId()) < 0 || int64_t(*getBarrierId()) > 15))
    return emitOpError() << "has barrier " << int64_t(*getBarrierId())
                         << "; the numbers are 0 to 15";
  if (getThreadCount() && (int64_t(*getThreadCount()) < 32 || int64_t(*getThreadCount()) % 32 != 0))
    return emitOpError() << "has " << int64_t(*getThreadCount())
                         << " threads; it needs whole warps of 32";
  if (bool(getBarrierId()) != bool(getThreadCount()))
    return emitOpError() << "has a named barrier without a number of threads";
  return success();
}

LogicalResult ShuffleOp::verify() {
  int64_t width = int64_t(getWidth());
  if (width < 1 || width > 32 || (width & (width - 1)) != 0)
    return emitOpError() << "has width " << width << "; it is a power of 2 of at most 32";
  return success();
}

LogicalResult VoteOp::verify() {
  unsigned bits = getResult().getType().getIntOrFloatBitWidth();
  unsigned wanted = getKind() == VoteKind::Ballot ? 64 : getKind() == VoteKind::Count ? 32 : 1;
  if (bits != wanted)
    return emitOpError() << stringifyVoteKind(getKind()) << " gives i" << wanted << ", not i"
                         << bits;
  if (getKind() == VoteKind::Ballot && getScope() != SyncScope::Warp)
    return emitOpError() << "ballot asks a warp, not a " << stringifySyncScope(getScope());
  if (getKind() == VoteKind::Count && getScope() != SyncScope::Block)
    return emitOpError() << "count asks a block, not a " << stringifySyncScope(getScope());
  return success();
}
