// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/ascend_ops.h"

#include "compiler/ir/print_format.h"

#include "compiler/ir/structure_ops.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::ascend;

#include "compiler/ir/ascend_dialect.cpp.inc"

#include "compiler/ir/ascend_enums.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/ir/ascend_ops.cpp.inc"

void AscendDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/ascend_ops.cpp.inc"
      >();
}

/// The op stands in a launch with `npu`.
static LogicalResult verifyOnNpu(Operation* op) {
  auto launch = op->getParentOfType<tilewright::tile::LaunchOp>();
  if (!launch || !launch.getNpu())
    return op->emitOpError() << "stands outside of a launch on an NPU";
  return success();
}

LogicalResult ScopeOp::verify() {
  if (failed(verifyOnNpu(*this)))
    return failure();
  if (auto outer = (*this)->getParentOfType<ScopeOp>()) {
    InFlightDiagnostic error = emitOpError() << "cannot stand inside of another scope";
    error.attachNote(outer.getLoc()) << "the other scope is here";
    return error;
  }
  return success();
}

LogicalResult VectorIdOp::verify() {
  return verifyOnNpu(*this);
}
LogicalResult SyncAllOp::verify() {
  return verifyOnNpu(*this);
}

static LogicalResult verifyRange(Operation* op, StringRef what, Value number, int64_t last) {
  std::optional<int64_t> constant = getConstantIntValue(number);
  if (constant && (*constant < 0 || *constant > last))
    return op->emitOpError() << "has " << what << " " << *constant << "; the numbers are 0 to "
                             << last;
  return success();
}

static LogicalResult verifyFlag(Operation* op, Pipe from, Pipe to, Value event) {
  if (failed(verifyOnNpu(op)))
    return failure();
  if (from == Pipe::All || to == Pipe::All)
    return op->emitOpError() << "needs two single pipes, not all";
  if (from == to)
    return op->emitOpError() << "has pipe " << stringifyPipe(from)
                             << " on both sides; use a pipe barrier";
  return verifyRange(op, "event", event, 7);
}

LogicalResult SetFlagOp::verify() {
  return verifyFlag(*this, getFrom(), getTo(), getEvent());
}
LogicalResult WaitFlagOp::verify() {
  return verifyFlag(*this, getFrom(), getTo(), getEvent());
}

LogicalResult SetCrossFlagOp::verify() {
  if (failed(verifyOnNpu(*this)))
    return failure();
  if (getPipe() == Pipe::All)
    return emitOpError() << "needs a single pipe, not all";
  if (getMode() > 2)
    return emitOpError() << "has mode " << int64_t(getMode()) << "; the modes are 0 to 2";
  return verifyRange(*this, "flag", getFlag(), 15);
}

LogicalResult WaitCrossFlagOp::verify() {
  if (failed(verifyOnNpu(*this)))
    return failure();
  return verifyRange(*this, "flag", getFlag(), 15);
}

LogicalResult PrintfOp::verify() {
  const size_t holders = tile::splitFormat(getFormat()).size() - 1;
  if (holders != getValues().size())
    return emitOpError() << "has " << getValues().size() << " values for " << holders
                         << " place holders";
  return success();
}

LogicalResult CallExternOp::verify() {
  if (failed(verifyOnNpu(*this)))
    return failure();
  size_t next = 0, count = getNumOperands();
  for (auto [index, word] : llvm::enumerate(getAccess())) {
    StringRef access = cast<StringAttr>(word).getValue();
    bool isValue = access == "value";
    if (!isValue && access != "r" && access != "w" && access != "rw")
      return emitOpError() << "has access '" << access << "'; it is r, w, rw or value";
    size_t needed = isValue ? 1 : 2;
    if (next + needed > count ||
        isa<tilewright::tile::BufferType>(getOperand(unsigned(next)).getType()) == isValue ||
        (!isValue && !getOperand(unsigned(next + 1)).getType().isIndex()))
      return emitOpError() << "has operands that don't fit the access of argument " << index;
    next += needed;
  }
  if (next != count)
    return emitOpError() << "has " << count << " operands, but its accesses take " << next;
  const auto buffers = llvm::count_if(getAccess().getAsRange<StringAttr>(),
                                      [](StringAttr word) { return word.getValue() != "value"; });
  if (getRows() && int64_t(getRows()->size()) != 3 * buffers)
    return emitOpError() << "has " << getRows()->size() << " numbers of rows of " << buffers
                         << " buffers; it takes three of each";
  return success();
}
