// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/reducer_updates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OperationSupport.h"

#include "llvm/ADT/StringSwitch.h"

namespace tilewright::tile {
namespace {

namespace arith = mlir::arith;

bool isCast(mlir::Operation* op) {
  return llvm::isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
                   arith::IndexCastOp, arith::IndexCastUIOp>(op);
}

mlir::Operation* definedBehindCasts(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  while (op && isCast(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// What a reducer was made for; null of other buffers.
mlir::StringAttr kindOf(mlir::Value buffer) {
  mlir::Operation* alloc = buffer.getDefiningOp();
  return llvm::isa_and_nonnull<AllocOp, AllocSizedOp>(alloc)
             ? alloc->getAttrOfType<mlir::StringAttr>("reducer")
             : mlir::StringAttr();
}

bool combines(mlir::Operation* op, llvm::StringRef kind) {
  return llvm::StringSwitch<bool>(kind)
      .Case("sum", llvm::isa<arith::AddFOp, arith::AddIOp>(op))
      .Case("max", llvm::isa<arith::MaxNumFOp, arith::MaxSIOp, arith::MaxUIOp>(op))
      .Case("min", llvm::isa<arith::MinNumFOp, arith::MinSIOp, arith::MinUIOp>(op))
      .Case("bitand", llvm::isa<arith::AndIOp>(op))
      .Case("bitor", llvm::isa<arith::OrIOp>(op))
      .Case("bitxor", llvm::isa<arith::XOrIOp>(op))
      .Default(false);
}

/// Whether two indices are computed alike.
bool isSameIndex(mlir::Value a, mlir::Value b) {
  if (a == b)
    return true;
  mlir::Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  return left && right &&
         mlir::OperationEquivalence::isEquivalentTo(
             left, right,
             [](mlir::Value x, mlir::Value y) { return mlir::success(isSameIndex(x, y)); },
             /*markEquivalent=*/nullptr, mlir::OperationEquivalence::IgnoreLocations);
}

} // namespace

LoadOp readOfUpdate(StoreOp store) {
  mlir::StringAttr kind = kindOf(store.getBuffer());
  if (!kind)
    return {};
  auto loadedFrom = [&](mlir::Value value) {
    auto load = llvm::dyn_cast_or_null<LoadOp>(definedBehindCasts(value));
    const bool isOfElement = load && load->hasOneUse() && load.getBuffer() == store.getBuffer() &&
                             llvm::equal(load.getIndices(), store.getIndices(), isSameIndex);
    return isOfElement ? load : LoadOp();
  };
  if (LoadOp load = loadedFrom(store.getValue()))
    return load; // what was combined with it was folded away, as 0 of a sum
  mlir::Operation* combination = definedBehindCasts(store.getValue());
  if (combination && combines(combination, kind))
    for (mlir::Value operand : combination->getOperands())
      if (LoadOp load = loadedFrom(operand))
        return load;
  return {};
}

bool isUpdate(LoadOp load) {
  if (!kindOf(load.getBuffer()))
    return false;
  bool isCombined = false;
  mlir::Operation* op = load;
  while (op->hasOneUse()) {
    op = *op->user_begin();
    if (auto store = llvm::dyn_cast<StoreOp>(op))
      return readOfUpdate(store) == load;
    if (!isCast(op) && std::exchange(isCombined, true))
      return false;
  }
  return false;
}

} // namespace tilewright::tile
