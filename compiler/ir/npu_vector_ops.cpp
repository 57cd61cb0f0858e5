// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/npu_ops.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::npu;
using ascend::Agent;
using ascend::Pipe;
using tile::BufferType;
using tile::MemorySpace;

#include "compiler/ir/npu_dialect.cpp.inc"

#include "compiler/ir/npu_enums.cpp.inc"

#include "compiler/ir/npu_interfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/npu_attrs.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/ir/npu_vector_ops.cpp.inc"

void NpuDialect::initialize() {
  addAttributes();
  addTransferOps();
  addVectorOps();
}

void NpuDialect::addAttributes() {
  Dialect::addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/ir/npu_attrs.cpp.inc"
      >();
}

void NpuDialect::addVectorOps() {
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/npu_vector_ops.cpp.inc"
      >();
}

static constexpr int64_t kMostRepeats = 255;

LogicalResult RepeatAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t lanes,
                                 int64_t times, ArrayRef<int64_t> blocks,
                                 ArrayRef<int64_t> strides) {
  if (lanes < 1)
    return emitError() << "repeats have " << lanes << " lanes";
  if (times < 1 || times > kMostRepeats)
    return emitError() << "has " << times << " repeats; 1 to " << kMostRepeats << " are possible";
  if (blocks.size() != strides.size())
    return emitError() << "has " << blocks.size() << " strides of blocks but " << strides.size()
                       << " of repeats";
  return success();
}

using Accesses = SmallVectorImpl<Access>;

/// Sets the bytes that operand `number` takes.
static void setShape(Access& access, Value count, RepeatAttr repeat, size_t number) {
  const int64_t bits = access.type().getElementBits();
  if (!repeat) {
    std::optional<int64_t> elements = getConstantIntValue(count);
    access.bytes = elements ? int64_t(llvm::divideCeil(*elements * bits, 8)) : ShapedType::kDynamic;
    return;
  }
  const int64_t laneBytes = repeat.getLanes() * bits / 8;
  const int64_t blocks = int64_t(llvm::divideCeil(laneBytes, kBlockBytes));
  const int64_t lastBlock = laneBytes - (blocks - 1) * kBlockBytes;
  const int64_t apart = repeat.getBlocks()[number] * kBlockBytes;
  // Where blocks lie one on the other, the last one, which may be short, doesn't end behind those before it.
  const int64_t wholeBlocks = blocks > 1 ? (blocks - 2) * apart + kBlockBytes : 0;
  setRowBytes(access, repeat.getTimes(), std::max((blocks - 1) * apart + lastBlock, wholeBlocks),
              repeat.getStrides()[number] * kBlockBytes);
}

static int64_t maskBytes(Value count) {
  std::optional<int64_t> elements = getConstantIntValue(count);
  return elements ? int64_t(llvm::divideCeil(*elements, 8)) : ShapedType::kDynamic;
}

/// Exactly one of a count and a repeat; operands in UB.
static LogicalResult verifyShape(Operation* op, Value count, RepeatAttr repeat, size_t operands) {
  if (bool(count) == bool(repeat))
    return op->emitOpError() << "needs either a count or a repeat";
  if (repeat && repeat.getBlocks().size() != operands)
    return op->emitOpError() << "has " << operands << " tensors, but its repeat has strides for "
                             << repeat.getBlocks().size();
  return success();
}

static LogicalResult verifyInUb(Operation* op) {
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<BufferType>(operand.getType());
        type && type.getSpace() != MemorySpace::UB)
      return op->emitOpError() << "takes tensors in UB, not in "
                               << stringifyMemorySpace(type.getSpace());
  return success();
}

namespace {

/// Lists the operands of a vector instruction in their order.
class AccessList {
public:
  AccessList(Accesses& accesses, Value count, RepeatAttr repeat)
      : accesses(accesses), count(count), repeat(repeat) {}

  void add(TypedValue<BufferType> buffer, Value offset, bool isRead, bool isWrite) {
    Access access{buffer, offset};
    setShape(access, count, repeat, number++);
    if (isRead)
      accesses.push_back(access);
    access.isWrite = true;
    if (isWrite)
      accesses.push_back(access);
  }
  void reads(TypedValue<BufferType> buffer, Value offset) {
    add(buffer, offset, true, false);
  }
  void writes(TypedValue<BufferType> buffer, Value offset) {
    add(buffer, offset, false, true);
  }

private:
  Accesses& accesses;
  Value count;
  RepeatAttr repeat;
  size_t number = 0;
};

} // namespace

/// `isBehindBarrier`: what is written there, the instruction reads behind a barrier of its own.
static void addScratch(Accesses& accesses, Value buffer, Value offset, int64_t bytes,
                       bool isBehindBarrier = false) {
  accesses.push_back({buffer, offset, bytes, false});
  accesses.back().isBehindBarrier = isBehindBarrier;
  accesses.push_back({buffer, offset, bytes, true});
}

#define TILEWRIGHT_VECTOR(Op)                                                                      \
  Pipe Op::getPipe() {                                                                             \
    return Pipe::V;                                                                                \
  }                                                                                                \
  std::optional<Agent> Op::getAgent() {                                                            \
    return Agent::Vector;                                                                          \
  }
TILEWRIGHT_VECTOR(UnaryOp)
TILEWRIGHT_VECTOR(BinaryOp)
TILEWRIGHT_VECTOR(ScalarOp)
TILEWRIGHT_VECTOR(FunctionOp)
TILEWRIGHT_VECTOR(CompareOp)
TILEWRIGHT_VECTOR(CompareScalarOp)
TILEWRIGHT_VECTOR(SelectOp)
TILEWRIGHT_VECTOR(SelectScalarOp)
TILEWRIGHT_VECTOR(CastOp)
TILEWRIGHT_VECTOR(DuplicateOp)
TILEWRIGHT_VECTOR(SequenceOp)
TILEWRIGHT_VECTOR(ReduceOp)
TILEWRIGHT_VECTOR(BroadcastOp)
TILEWRIGHT_VECTOR(RowBinaryOp)
TILEWRIGHT_VECTOR(TransposeOp)
#undef TILEWRIGHT_VECTOR

void UnaryOp::getAccesses(Accesses& accesses) {
  AccessList list(accesses, getCount(), getRepeatAttr());
  list.writes(getTarget(), getTargetOffset());
  list.reads(getSource(), getSourceOffset());
}
LogicalResult UnaryOp::verify() {
  return failed(verifyInUb(*this)) ? failure() : verifyShape(*this, getCount(), getRepeatAttr(), 2);
}

void BinaryOp::getAccesses(Accesses& accesses) {
  AccessList list(accesses, getCount(), getRepeatAttr());
  list.add(getTarget(), getTargetOffset(), getKind() == BinaryKind::MulAddDst, true);
  list.reads(getSource(), getSourceOffset());
  list.reads(getOther(), getOtherOffset());
}
LogicalResult BinaryOp::verify() {
  return failed(verifyInUb(*this)) ? failure() : verifyShape(*this, getCount(), getRepeatAttr(), 3);
}

void ScalarOp::getAccesses(Accesses& accesses) {
  AccessList list(accesses, getCount(), getRepeatAttr());
  list.add(getTarget(), getTargetOffset(), getKind() == ScalarKind::Axpy, true);
  list.reads(getSource(), getSourceOffset());
}
LogicalResult ScalarOp::verify() {
  return failed(verifyInUb(*this)) ? failure() : verifyShape(*this, getCount(), getRepeatAttr(), 2);
}

void FunctionOp::getAccesses(Accesses& accesses) {
  AccessList list(accesses, getCount(), {});
  list.writes(getTarget(), getTargetOffset());
  list.reads(getSource(), getSourceOffset());
  if (getOther())
    list.reads(getOther(), getOtherOffset());
  addScratch(accesses, getScratch(), getScratchOffset(), int64_t(getScratchBytes()));
}
LogicalResult FunctionOp::verify() {
  if (bool(getOther()) != bool(getOtherOffset()))
    return emitOpError() << "has a second source without an offset";
  return verifyInUb(*this);
}

void CompareOp::getAccesses(Accesses& accesses) {
  accesses.push_back({getTarget(), getTargetOffset(), maskBytes(getCount()), true});
  AccessList list(accesses, getCount(), {});
  list.reads(getSource(), getSourceOffset());
  list.reads(getOther(), getOtherOffset());
}
LogicalResult CompareOp::verify() {
  return verifyInUb(*this);
}

void CompareScalarOp::getAccesses(Accesses& accesses) {
  accesses.push_back({getTarget(), getTargetOffset(), maskBytes(getCount()), true});
  AccessList list(accesses, getCount(), {});
  list.reads(getSource(), getSourceOffset());
}
LogicalResult CompareScalarOp::verify() {
  return verifyInUb(*this);
}

void SelectOp::getAccesses(Accesses& accesses) {
  accesses.push_back({getMask(), getMaskOffset(), maskBytes(getCount()), false});
  AccessList list(accesses, getCount(), {});
  list.writes(getTarget(), getTargetOffset());
  list.reads(getSource(), getSourceOffset());
  list.reads(getOther(), getOtherOffset());
}
LogicalResult SelectOp::verify() {
  return verifyInUb(*this);
}

void SelectScalarOp::getAccesses(Accesses& accesses) {
  accesses.push_back({getMask(), getMaskOffset(), maskBytes(getCount()), false});
  AccessList list(accesses, getCount(), {});
  list.writes(getTarget(), getTargetOffset());
  list.reads(getSource(), getSourceOffset());
}
LogicalResult SelectScalarOp::verify() {
  return verifyInUb(*this);
}

void CastOp::getAccesses(Accesses& accesses) {
  AccessList list(accesses, getCount(), getRepeatAttr());
  list.writes(getTarget(), getTargetOffset());
  list.reads(getSource(), getSourceOffset());
}
LogicalResult CastOp::verify() {
  return failed(verifyInUb(*this)) ? failure() : verifyShape(*this, getCount(), getRepeatAttr(), 2);
}

void DuplicateOp::getAccesses(Accesses& accesses) {
  AccessList list(accesses, getCount(), getRepeatAttr());
  list.writes(getTarget(), getTargetOffset());
}
LogicalResult DuplicateOp::verify() {
  return failed(verifyInUb(*this)) ? failure() : verifyShape(*this, getCount(), getRepeatAttr(), 1);
}

void SequenceOp::getAccesses(Accesses& accesses) {
  AccessList list(accesses, getCount(), {});
  list.writes(getTarget(), getTargetOffset());
}
LogicalResult SequenceOp::verify() {
  return verifyInUb(*this);
}

static Access tileAccess(TypedValue<BufferType> buffer, Value offset, int64_t rows, int64_t columns,
                         int64_t pitch, bool isWrite) {
  const int64_t bits = buffer.getType().getElementBits();
  Access access{buffer, offset, 0, isWrite};
  setRowBytes(access, rows, columns * bits / 8, pitch * bits / 8);
  return access;
}

/// What a reduction reads: before its first barrier only what its first instruction takes, of columns one row or two,
/// of long rows so much of each as is folded at once; behind it all.
static void addReducedRows(ReduceOp op, SmallVectorImpl<Access>& accesses) {
  const auto rows = int64_t(op.getRows()), columns = int64_t(op.getColumns());
  const auto pitch = int64_t(op.getPitch());
  const auto bits = int64_t(op.getSource().getType().getElementBits());
  const int64_t atOnce = kRepeatBytes * 8 / bits;
  int64_t firstRows = rows, firstColumns = columns;
  if (op.getDim() == 0)
    firstRows = std::min<int64_t>(rows, op.getClear() ? 2 : 1);
  else
    firstColumns = std::min(columns, atOnce);
  accesses.push_back(tileAccess(op.getSource(), op.getSourceOffset(), firstRows, firstColumns,
                                pitch, /*isWrite=*/false));
  if (firstRows == rows && firstColumns == columns)
    return;
  accesses.push_back(tileAccess(op.getSource(), op.getSourceOffset(), rows, columns, pitch,
                                /*isWrite=*/false));
  accesses.back().isBehindBarrier = true;
}

void ReduceOp::getAccesses(Accesses& accesses) {
  const auto rows = int64_t(getRows()), columns = int64_t(getColumns());
  BufferType type = getTarget().getType();
  const int64_t results = (getDim() == 1 ? rows : columns) * int64_t(type.getElementBits()) / 8;
  // Rows of one repeat become numbers at once, and columns are combined in the target.
  const bool isLong = columns * int64_t(type.getElementBits()) / 8 > kRepeatBytes;
  // Rows that lie far apart become rows of scratch memory, too.
  const bool isFar =
      rows > 1 && int64_t(getPitch()) > kMostStride * blockElements(getSource().getType());
  const bool hasScratch = getDim() == 1 && (isLong || isFar || !getClear());
  // Rows that turn out to be short need no barrier, nor does a single one.
  const bool isSurelyLong =
      (isLong && (!getColumnCount() || getConstantIntValue(getColumnCount()))) ||
      (isFar && (!getRowCount() || getConstantIntValue(getRowCount())));
  Access target{getTarget(), getTargetOffset(), results, true};
  target.isBehindBarrier = getDim() == 1 && (isSurelyLong || !getClear());
  accesses.push_back(target);
  if (!getClear()) {
    target.isWrite = false;
    accesses.push_back(target);
  }
  // A barrier stands before each row of columns but the first that is combined with the target.
  if (getDim() == 0 && rows > (getClear() ? 2 : 1)) {
    target.isBehindBarrier = true;
    for (const bool isWrite : {false, true}) {
      target.isWrite = isWrite;
      accesses.push_back(target);
    }
  }
  addReducedRows(*this, accesses);
  for (Access& access : accesses)
    access.isAtMost = bool(getRowCount());
  if (hasScratch)
    addScratch(accesses, getScratch(), getScratchOffset(), int64_t(getScratchBytes()),
               /*isBehindBarrier=*/true);
}
LogicalResult ReduceOp::verify() {
  if (getDim() > 1)
    return emitOpError() << "reduces dim " << getDim() << "; there are 0 and 1";
  return verifyInUb(*this);
}

void BroadcastOp::getAccesses(Accesses& accesses) {
  const auto rows = int64_t(getRows()), columns = int64_t(getColumns());
  BufferType type = getSource().getType();
  // Numbers of rows are taken eight at a time.
  const int64_t taken = getDim() == 1 ? int64_t(llvm::alignTo(uint64_t(rows), 8)) : columns;
  const int64_t sources = taken * int64_t(type.getElementBits()) / 8;
  accesses.push_back(tileAccess(getTarget(), getTargetOffset(), rows, columns, int64_t(getPitch()),
                                /*isWrite=*/true));
  accesses.back().isBehindBarrier = getDim() == 1; // numbers become blocks of scratch first
  accesses.push_back({getSource(), getSourceOffset(), sources, false});
  if (getDim() == 1)
    addScratch(accesses, getScratch(), getScratchOffset(), int64_t(getScratchBytes()),
               /*isBehindBarrier=*/true);
}
LogicalResult BroadcastOp::verify() {
  if (getDim() > 1)
    return emitOpError() << "broadcasts along dim " << getDim() << "; there are 0 and 1";
  return verifyInUb(*this);
}

void RowBinaryOp::getAccesses(Accesses& accesses) {
  const auto rows = int64_t(getRows()), columns = int64_t(getColumns());
  const int64_t bits = int64_t(getOther().getType().getElementBits());
  for (auto [buffer, offset, isWrite] : {std::tuple(getTarget(), getTargetOffset(), true),
                                         {getSource(), getSourceOffset(), false}}) {
    accesses.push_back({buffer, offset, rows * columns * bits / 8, isWrite});
    accesses.back().isBehindBarrier = true;
  }
  const int64_t taken = int64_t(llvm::alignTo(uint64_t(rows), 8));
  accesses.push_back({getOther(), getOtherOffset(), taken * bits / 8, false});
  addScratch(accesses, getScratch(), getScratchOffset(), int64_t(getScratchBytes()),
             /*isBehindBarrier=*/true);
}
LogicalResult RowBinaryOp::verify() {
  const BufferType type = getTarget().getType();
  const int64_t lanes = blockElements(type), columns = int64_t(getColumns());
  if (columns % lanes != 0 || columns / lanes > 255)
    return emitOpError() << "takes rows of 1 to 255 blocks, not of " << columns << " elements";
  if (getKind() == BinaryKind::And || getKind() == BinaryKind::Or ||
      getKind() == BinaryKind::MulAddDst)
    return emitOpError() << "has no " << stringifyBinaryKind(getKind());
  return verifyInUb(*this);
}

void TransposeOp::getAccesses(Accesses& accesses) {
  const int64_t bytes =
      int64_t(getRows() * getColumns()) * int64_t(getTarget().getType().getElementBits()) / 8;
  accesses.push_back({getTarget(), getTargetOffset(), bytes, true});
  accesses.push_back({getSource(), getSourceOffset(), bytes, false});
}
LogicalResult TransposeOp::verify() {
  if (getRows() % 16 != 0 || getColumns() % 16 != 0)
    return emitOpError() << "takes multiples of 16, not " << getRows() << "x" << getColumns();
  return verifyInUb(*this);
}
