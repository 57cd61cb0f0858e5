// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/check_lowered.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/targets/cpu/attributes.h"

#include <mlir/Dialect/LLVMIR/LLVMDialect.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferType;

bool isBuffer(Value value) {
  return isa<BufferType>(value.getType());
}

bool isPointer(Value value) {
  return isa<LLVM::LLVMPointerType>(value.getType());
}

/// (pointer, dims, strides) to a buffer, or a buffer to its pointer.
bool isKnownCast(UnrealizedConversionCastOp op) {
  if (op.getNumResults() != 1 || op.getNumOperands() == 0)
    return false;
  auto type = dyn_cast<BufferType>(op.getResult(0).getType());
  if (!type)
    return isPointer(op.getResult(0)) && op.getNumOperands() == 1;
  return op.getNumOperands() == 1 + 2 * size_t(type.getRank()) && isPointer(op.getOperand(0)) &&
         llvm::all_of(op.getOperands().drop_front(),
                      [](Value value) { return value.getType().isIndex(); });
}

/// Whether the function has the arguments that a buffer's memory is found by: scratch, or workspaces in its launch.
bool hasPlace(tile::AllocOp op, func::FuncOp function) {
  auto offset = op->getAttrOfType<IntegerAttr>(kOffsetAttr);
  const bool global = op.getType().isGlobal();
  if (!offset)
    return op.getType().getSpace() == tile::MemorySpace::Var;
  const unsigned count = function.getNumArguments();
  return count >= 2 && isPointer(function.getArgument(global ? count - 1 : 1));
}

LogicalResult checkOp(Operation* op, func::FuncOp function) {
  const bool lowered =
      isa<UnrealizedConversionCastOp, tile::AllocOp, tile::ViewOp, tile::TensorAtOp,
          tile::AddressOp, tile::DimOp, tile::LoadOp, tile::StoreOp, tile::AtomicOp>(op);
  auto cast = dyn_cast<UnrealizedConversionCastOp>(op);
  if (!lowered || (cast && !isKnownCast(cast)))
    return op->emitOpError("isn't lowered yet, and uses a buffer");
  auto alloc = dyn_cast<tile::AllocOp>(op);
  if (alloc && !hasPlace(alloc, function))
    return op->emitOpError("has no place in memory yet");
  return success();
}

} // namespace

LogicalResult checkLowered(func::FuncOp function) {
  llvm::DenseSet<Value> placed;
  // In the order of the text, which is the order in which they get their addresses.
  const WalkResult walked = function.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (llvm::none_of(op->getOperands(), isBuffer) && llvm::none_of(op->getResults(), isBuffer))
      return WalkResult::advance();
    if (failed(checkOp(op, function)))
      return WalkResult::interrupt();
    for (Value operand : op->getOperands())
      if (isBuffer(operand) && !placed.contains(operand)) {
        op->emitOpError("uses a buffer that has no address yet");
        return WalkResult::interrupt();
      }
    placed.insert(op->result_begin(), op->result_end());
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

Value launchArgument(Operation* op) {
  auto function = op->getParentOfType<func::FuncOp>();
  if (function && function.getNumArguments() > 0)
    if (Value last = function.getArgument(function.getNumArguments() - 1); isPointer(last))
      return last;
  op->emitOpError("is in no entry point, whose last argument is the launch");
  return {};
}

} // namespace tilewright::cpu
