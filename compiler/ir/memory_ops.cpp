// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/memory_ops.h"

#include "compiler/ir/known_of_call.h"
#include "compiler/ir/npu_access.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tilewright::tile;

#define GET_OP_CLASSES
#include "compiler/ir/memory_ops.cpp.inc"

void TileDialect::addMemoryOps() {
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/memory_ops.cpp.inc"
      >();
}

LogicalResult AllocOp::verify() {
  if (!getType().hasStaticShape())
    return emitOpError() << "needs a static shape, but got " << getType();
  if (std::optional<uint64_t> address = getAddress(); address && int64_t(*address) < 0)
    return emitOpError() << "has the negative address " << int64_t(*address);
  return success();
}

bool tilewright::tile::isKnownOfCall(Value number) {
  if (auto argument = dyn_cast<BlockArgument>(number))
    return isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  Operation* op = number.getDefiningOp();
  if (op->getNumOperands() == 0) // the number of a thread or a vector core
    return op->hasTrait<OpTrait::ConstantLike>();
  return isPure(op) && op->getNumRegions() == 0 && llvm::all_of(op->getOperands(), isKnownOfCall);
}

LogicalResult AllocSizedOp::verify() {
  const BufferType type = getBuffer().getType();
  if (type.getSpace() != MemorySpace::Shared || type.getStrided())
    return emitOpError() << "gives dense tiles in shared, not " << type;
  if (llvm::count(type.getShape(), BufferType::kDynamic) != int64_t(getDims().size()))
    return emitOpError() << "has " << getDims().size() << " dims but its type has "
                         << llvm::count(type.getShape(), BufferType::kDynamic)
                         << " that are not static";
  if (!llvm::all_of(getDims(), isKnownOfCall))
    return emitOpError() << "has dims that are not made of the kernel's arguments";
  return success();
}

LogicalResult ViewOp::verify() {
  BufferType source = getSource().getType(), result = getType();
  if (source.getSpace() != result.getSpace())
    return emitOpError() << "cannot move a buffer from " << stringifyMemorySpace(source.getSpace())
                         << " to " << stringifyMemorySpace(result.getSpace());
  if (source.getStrided() || result.getStrided())
    return emitOpError() << "needs dense buffers, but one is strided";
  if (size_t(llvm::count(result.getShape(), BufferType::kDynamic)) != getDims().size())
    return emitOpError() << "has " << getDims().size() << " dims as operands but its result has "
                         << llvm::count(result.getShape(), BufferType::kDynamic)
                         << " that are not static";
  if (!source.hasStaticShape() || !result.hasStaticShape())
    return success();
  int64_t from = source.getNumElements() * source.getElementBits();
  int64_t to = result.getNumElements() * result.getElementBits();
  // As one row, a tile in UB is seen with what lies behind its rows.
  const bool isAllOfUb = source.getSpace() == MemorySpace::UB && result.getRank() == 1 &&
                         to == npu::storageBytes(source) * 8;
  if (from != to && !isAllOfUb)
    return emitOpError() << "has a source of " << from << " bits but a result of " << to;
  return success();
}

LogicalResult TensorAtOp::verify() {
  auto type = cast<BufferType>(getResult().getType());
  if (!type.isGlobal())
    return emitOpError() << "gives global memory, not " << stringifyMemorySpace(type.getSpace());
  auto unknown = llvm::count_if(type.getShape(), ShapedType::isDynamic);
  if (int64_t(getDims().size()) != unknown)
    return emitOpError() << "has " << getDims().size() << " dims but its type has " << unknown
                         << " that are not static";
  size_t strides = type.getStrided() ? size_t(type.getRank()) : 0;
  if (getStrides().size() != strides)
    return emitOpError() << "has " << getStrides().size() << " strides but its type needs "
                         << strides;
  return success();
}

LogicalResult AddressOp::verify() {
  auto rank = cast<BufferType>(getBuffer().getType()).getRank();
  if (int64_t(getIndices().size()) != rank)
    return emitOpError() << "has " << getIndices().size() << " indices but its buffer has " << rank
                         << " dims";
  return success();
}

LogicalResult DimOp::verify() {
  if (int64_t(getDim()) >= getBuffer().getType().getRank())
    return emitOpError() << "asks for dim " << getDim() << " of a buffer with "
                         << getBuffer().getType().getRank() << " dims";
  return success();
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  BufferType type = getBuffer().getType();
  if (int64_t(getDim()) < type.getRank() && !type.isDynamicDim(int64_t(getDim())))
    return Builder(getContext()).getIndexAttr(type.getShape()[getDim()]);
  if (auto view = getBuffer().getDefiningOp<ViewOp>())
    return view
        .getDims()[size_t(llvm::count(type.getShape().take_front(getDim()), BufferType::kDynamic))];
  return {};
}

static LogicalResult verifyIndices(Operation* op, BufferType type, ValueRange indices) {
  if (int64_t(indices.size()) == type.getRank())
    return success();
  return op->emitOpError() << "has " << indices.size()
                           << (indices.size() == 1 ? " index" : " indices")
                           << " but the buffer has " << type.getRank() << " dims";
}

LogicalResult LoadOp::verify() {
  return verifyIndices(*this, getBuffer().getType(), getIndices());
}
LogicalResult StoreOp::verify() {
  return verifyIndices(*this, getBuffer().getType(), getIndices());
}

LogicalResult AtomicOp::verify() {
  BufferType type = getBuffer().getType();
  if (failed(verifyIndices(*this, type, getIndices())))
    return failure();
  bool isLoad = getKind() == AtomicKind::Load;
  if (isLoad ? bool(getValue()) : !getValue())
    return emitOpError() << stringifyAtomicKind(getKind())
                         << (isLoad ? " takes no value" : " needs a value");
  if (isLoad && !getPrevious())
    return emitOpError() << "load needs a result";
  if (getKind() == AtomicKind::Store && getPrevious())
    return emitOpError() << "store has no result";
  for (Value scalar : {getValue(), getPrevious()})
    if (scalar && scalar.getType() != type.getScalarType())
      return emitOpError() << "has a value of type " << scalar.getType() << " but elements of type "
                           << type.getScalarType();
  if (getKind() == AtomicKind::Or && isa<FloatType>(type.getElementType()))
    return emitOpError() << "or works on integers, not on " << type.getElementType();
  return success();
}
