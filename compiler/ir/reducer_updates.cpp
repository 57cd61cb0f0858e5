// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/reducer_updates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OperationSupport.h"

#include "llvm/ADT/SmallPtrSet.h"
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

/// The operands of an operation that may be the element: of a sum also what a product is added to in one rounding.
mlir::OperandRange elementsOf(mlir::Operation* op, llvm::StringRef kind) {
  const mlir::OperandRange all = op->getOperands();
  if (combines(op, kind))
    return all;
  return all.take_back(kind == "sum" && llvm::isa<mlir::math::FmaOp>(op) ? 1 : 0);
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

/// The load of the store's element that a chain of combinations begins with, behind casts; nothing where there is none.
/// `seen`: operations that were looked at, for what a number is made of may be shared many times.
LoadOp beginOfChain(StoreOp store, mlir::Value value, llvm::StringRef kind,
                    llvm::SmallPtrSetImpl<mlir::Operation*>& seen) {
  mlir::Operation* op = definedBehindCasts(value);
  if (auto load = llvm::dyn_cast_or_null<LoadOp>(op)) {
    const bool isOfElement = load->hasOneUse() && load.getBuffer() == store.getBuffer() &&
                             llvm::equal(load.getIndices(), store.getIndices(), isSameIndex);
    return isOfElement ? load : LoadOp();
  }
  if (op && seen.insert(op).second)
    for (mlir::Value operand : elementsOf(op, kind))
      if (LoadOp load = beginOfChain(store, operand, kind, seen))
        return load;
  return {};
}

} // namespace

LoadOp readOfUpdate(StoreOp store) {
  // What was combined may be folded away, as 0 of a sum: then the value is the load itself.
  mlir::StringAttr kind = kindOf(store.getBuffer());
  llvm::SmallPtrSet<mlir::Operation*, 8> seen;
  return kind ? beginOfChain(store, store.getValue(), kind, seen) : LoadOp();
}

bool isUpdate(LoadOp load) {
  if (!kindOf(load.getBuffer()))
    return false;
  mlir::Operation* op = load;
  while (op->hasOneUse()) {
    op = *op->user_begin();
    if (auto store = llvm::dyn_cast<StoreOp>(op))
      return readOfUpdate(store) == load;
  }
  return false;
}

} // namespace tilewright::tile
