// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/fetch_ahead.h"

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {

using namespace mlir;

namespace {

/// Values of a loop's body as they will be in its next turn. They are computed anew, from the induction
/// variable on.
class NextTurn {
public:
  NextTurn(ImplicitLocOpBuilder& builder, tile::ForOp loop) : builder(builder), loop(loop) {
    IndexMath math(builder);
    known.map(loop.getInductionVar(), math.add(loop.getInductionVar(), loop.getStep()));
  }

  /// Null if `value` depends on more than the induction variable: on memory, or on an inner region.
  Value of(Value value) {
    if (Value mapped = known.lookupOrNull(value))
      return mapped;
    Operation* op = value.getDefiningOp();
    if (!op || !loop->isProperAncestor(op))
      return value;
    if (!isPure(op) || op->getNumRegions() > 0 || op->getNumResults() != 1)
      return {};
    for (Value operand : op->getOperands()) {
      Value next = of(operand);
      if (!next)
        return {};
      known.map(operand, next);
    }
    builder.clone(*op, known);
    return known.lookup(value);
  }

private:
  ImplicitLocOpBuilder& builder;
  tile::ForOp loop;
  IRMapping known;
};

/// Whether the elements of a buffer lie densely, by the sizes of its dims.
bool isDense(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  auto kernel =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return kernel && !kernel.getArgAttr(argument.getArgNumber(), tile::kStridesAttr);
}

/// Bytes from one element of dim `dim` to the next; elements have whole bytes.
Value bytesBetween(ImplicitLocOpBuilder& builder, Value buffer, unsigned dim) {
  IndexMath math(builder);
  const auto type = cast<tile::BufferType>(buffer.getType());
  Value bytes = math.constant(type.getElementBits() / 8);
  for (int64_t inner = int64_t(dim) + 1; inner < type.getRank(); ++inner)
    bytes = math.mul(bytes, math.dim(buffer, inner));
  return bytes;
}

} // namespace

void announceNextTile(ImplicitLocOpBuilder& builder, tile::CopyOp copy, unsigned rowDim,
                      StringRef operand) {
  auto loop = dyn_cast<tile::ForOp>(copy->getParentOp());
  const tile::BufferRegion region = copy.getSourceRegion();
  if (!loop || loop.getNumStages() < 2 || !isDense(region.buffer) ||
      region.type().getElementBits() < 8)
    return;
  IndexMath math(builder);
  NextTurn turn(builder, loop);
  SmallVector<Value> place;
  for (OpFoldResult offset : region.offsets) {
    Value next = turn.of(math.value(offset));
    if (!next)
      return;
    place.push_back(next);
  }
  Value address = addressOf(builder, region.buffer, place);
  Value bytes = bytesBetween(builder, region.buffer, rowDim);
  auto note = UnrealizedConversionCastOp::create(
      builder, TypeRange{address.getType(), bytes.getType()}, ValueRange{address, bytes});
  note->setAttr(kAheadAttr, builder.getStringAttr(operand));
  note->setAttr(kElementBytesAttr, builder.getI64IntegerAttr(region.type().getElementBits() / 8));
}

NextTile takeNextTile(tile::GemmOp gemm, StringRef operand) {
  for (Operation* op = gemm->getPrevNode(); op; op = op->getPrevNode()) {
    if (isa<tile::GemmOp>(op))
      break;
    auto name = op->getAttrOfType<StringAttr>(kAheadAttr);
    if (!name || name.getValue() != operand)
      continue;
    NextTile tile{op->getOperand(0), op->getOperand(1),
                  op->getAttrOfType<IntegerAttr>(kElementBytesAttr).getInt()};
    op->erase();
    return tile;
  }
  return {};
}

void prefetch(ImplicitLocOpBuilder& builder, Value address, Value bytes) {
  Value wide = arith::IndexCastOp::create(builder, builder.getI64Type(), bytes);
  Value line = LLVM::GEPOp::create(builder, address.getType(), builder.getI8Type(), address,
                                   ValueRange(wide));
  LLVM::Prefetch::create(builder, line, /*rw=*/0, /*hint=*/2, /*cache=*/1);
}

} // namespace tilewright::cpu
