// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/fetch_ahead.h"

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/vectors.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {

using namespace mlir;

NextTurn::NextTurn(ImplicitLocOpBuilder& builder, Operation* scope, Value variable, Value step)
    : builder(builder), scope(scope) {
  known.map(variable, IndexMath(builder).add(variable, step));
}

Value NextTurn::of(Value value) {
  if (Value mapped = known.lookupOrNull(value))
    return mapped;
  Operation* op = value.getDefiningOp();
  if (!op || !scope->isProperAncestor(op))
    return value;
  if (!isPure(op) || op->getNumRegions() > 0 || op->getNumResults() != 1)
    return {};
  bool moves = false;
  for (Value operand : op->getOperands()) {
    Value next = of(operand);
    if (!next)
      return {};
    moves |= next != operand;
    known.map(operand, next);
  }
  if (!moves)
    return value;
  builder.clone(*op, known);
  return known.lookup(value);
}

int64_t operationCost(Operation* op) {
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) ? 16 : 1;
}

bool isDenseTensor(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  auto kernel =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return kernel && !kernel.getArgAttr(argument.getArgNumber(), tile::kStridesAttr);
}

namespace {

/// Bytes from one element of dim `dim` to the next; elements have whole bytes.
Value bytesBetween(ImplicitLocOpBuilder& builder, Value buffer, unsigned dim) {
  IndexMath math(builder);
  const auto type = cast<tile::BufferType>(buffer.getType());
  Value bytes = math.constant(type.getElementBits() / 8);
  for (int64_t inner = int64_t(dim) + 1; inner < type.getRank(); ++inner)
    bytes = math.mul(bytes, math.dim(buffer, inner));
  return bytes;
}

/// The turns of the loops between `loop` and the builder's place: the number of this one, null if it is the only one, and
/// how many there are. None: that isn't known.
std::optional<std::pair<Value, int64_t>> turnsInside(ImplicitLocOpBuilder& builder,
                                                     tile::ForOp loop) {
  IndexMath math(builder);
  Value turn;
  int64_t turns = 1;
  for (Operation* op = builder.getInsertionBlock()->getParentOp(); op != loop;
       op = op->getParentOp()) {
    if (isa<scf::IfOp>(op))
      continue;
    auto inner = dyn_cast<tile::ForOp>(op);
    if (!inner)
      return {};
    std::optional<int64_t> lower = getConstantIntValue(inner.getLower()),
                           upper = getConstantIntValue(inner.getUpper()),
                           step = getConstantIntValue(inner.getStep());
    if (!lower || !upper || !step || *upper <= *lower)
      return {};
    Value number = math.sub(inner.getInductionVar(), math.constant(*lower));
    if (*step != 1)
      number = builder.createOrFold<arith::DivUIOp>(number, math.constant(*step));
    number = math.mul(number, math.constant(turns));
    turn = turn ? math.add(turn, number) : number;
    turns *= int64_t(llvm::divideCeil(*upper - *lower, *step));
  }
  return std::pair(turn, turns);
}

} // namespace

void announceNextTile(ImplicitLocOpBuilder& builder, tile::CopyOp copy, unsigned rowDim,
                      StringRef operand) {
  auto loop = dyn_cast<tile::ForOp>(copy->getParentOp());
  const tile::BufferRegion region = copy.getSourceRegion();
  if (!loop || loop.getNumStages() < 2 || !isDenseTensor(region.buffer) ||
      region.type().getElementBits() < 8)
    return;
  const auto inside = turnsInside(builder, loop);
  if (!inside)
    return;
  const auto [number, turns] = *inside;
  IndexMath math(builder);
  NextTurn turn(builder, loop, loop.getInductionVar(), loop.getStep());
  SmallVector<Value> place;
  for (OpFoldResult offset : region.offsets) {
    Value next = turn.of(math.value(offset));
    if (!next)
      return;
    place.push_back(next);
  }
  // After the last turn it lies outside, where an address that promises to be inside is poison.
  Value address = addressOf(builder, region.buffer, place, LLVM::GEPNoWrapFlags::none);
  Value bytes = bytesBetween(builder, region.buffer, rowDim);
  SmallVector<Value> held{address, bytes};
  if (number)
    held.push_back(number);
  auto note = UnrealizedConversionCastOp::create(builder, TypeRange(ValueRange(held)), held);
  if (number)
    note->setAttr(kTurnsAttr, builder.getI64IntegerAttr(turns));
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
    if (auto turns = op->getAttrOfType<IntegerAttr>(kTurnsAttr)) {
      tile.turn = op->getOperand(2);
      tile.turns = turns.getInt();
    }
    op->erase();
    return tile;
  }
  return {};
}

void prefetch(ImplicitLocOpBuilder& builder, Value address, Value bytes, CacheLevel level) {
  Value wide = arith::IndexCastOp::create(builder, builder.getI64Type(), bytes);
  Value line = LLVM::GEPOp::create(builder, address.getType(), builder.getI8Type(), address,
                                   ValueRange(wide));
  LLVM::Prefetch::create(builder, line, /*rw=*/0, level == CacheLevel::First ? 3 : 2, /*cache=*/1);
}

} // namespace tilewright::cpu
