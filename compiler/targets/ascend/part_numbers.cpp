// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/part_numbers.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/index_terms.h"
#include "compiler/targets/ascend/integer_results.h"
#include "compiler/targets/ascend/scalar_agents.h"
#include "compiler/targets/ascend/turning_variables.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// A number computed from others that many steps away isn't followed.
constexpr unsigned kMostOperations = 24;

bool isOfNumbers(Operation* op) {
  return op && op->getNumRegions() == 0 && op->getNumResults() == 1 &&
         isa<arith::ArithDialect>(op->getDialect());
}

bool addReadBehind(Value number, tile::LoadOp& found, unsigned& fuel) {
  if (getConstantIntValue(number))
    return true;
  Operation* op = number.getDefiningOp();
  if (auto load = dyn_cast_if_present<tile::LoadOp>(op)) {
    const bool isOther = found && found != load;
    found = load;
    return !isOther;
  }
  if (!isOfNumbers(op) || fuel == 0)
    return false;
  --fuel;
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return addReadBehind(operand, found, fuel); });
}

std::optional<int64_t> computeHeld(Value number, Value variable, int64_t held, unsigned& fuel) {
  if (const std::optional<int64_t> constant = getConstantIntValue(number))
    return asOfType(*constant, number.getType());
  Operation* op = number.getDefiningOp();
  if (auto load = dyn_cast_if_present<tile::LoadOp>(op))
    return load.getBuffer() == variable ? std::optional(held) : std::nullopt;
  if (!isOfNumbers(op) || fuel == 0)
    return std::nullopt;
  --fuel;
  SmallVector<int64_t> numbers;
  for (Value operand : op->getOperands()) {
    const std::optional<int64_t> each = operand.getType().isIntOrIndex()
                                            ? computeHeld(operand, variable, held, fuel)
                                            : std::nullopt;
    if (!each)
      return std::nullopt;
    numbers.push_back(*each);
  }
  return integerResult(op, numbers);
}

bool assignsIn(Operation* op, Value variable) {
  return op
      ->walk([&](tile::StoreOp store) {
        return store.getBuffer() == variable ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Small constants with which a number, or what is computed from it, is compared, or modulo which it is taken; and whether
/// instructions ask for it.
struct PartUses {
  int64_t most = -1;
  bool isOfPart = false;
  bool isTaken = false; ///< by another variable
};

void addPartUses(Value number, PartUses& uses, unsigned& fuel) {
  for (Operation* user : number.getUsers()) {
    if (fuel == 0)
      return;
    --fuel;
    uses.isOfPart = uses.isOfPart || isa<npu::Instruction>(user);
    auto store = dyn_cast<tile::StoreOp>(user);
    uses.isTaken = uses.isTaken || (store && sourceOf(store));
    if (!isOfNumbers(user))
      continue;
    const bool isOfTwo = user->getNumOperands() == 2, isTakenFrom = isa<arith::SubIOp>(user);
    const std::optional<int64_t> constant =
        isOfTwo ? getConstantIntValue(user->getOperand(isTakenFrom ? 0 : 1)) : std::nullopt;
    if (constant && isa<arith::CmpIOp, arith::RemSIOp, arith::RemUIOp, arith::AndIOp, arith::XOrIOp,
                        arith::SubIOp>(user))
      uses.most = std::max(uses.most, *constant);
    addPartUses(user->getResult(0), uses, fuel);
  }
}

} // namespace

tile::LoadOp readBehind(Value number) {
  tile::LoadOp found;
  unsigned fuel = kMostOperations;
  return addReadBehind(number, found, fuel) ? found : tile::LoadOp();
}

Value sourceOf(tile::StoreOp store) {
  tile::LoadOp read = readBehind(store.getValue());
  return read && read.getBuffer() != store.getBuffer() ? read.getBuffer() : Value();
}

std::optional<int64_t> numberBy(Value number, Value variable, int64_t held) {
  unsigned fuel = kMostOperations;
  return computeHeld(number, variable, held, fuel);
}

bool isStillHeld(tile::LoadOp load, Operation* at) {
  const Value variable = load.getBuffer();
  while (at->getBlock() != load->getBlock()) {
    Operation* around = at->getParentOp();
    if (!around || isa<tile::LaunchOp>(around))
      return false;
    const bool isOnce = isa<scf::IfOp, ScopeOp>(around);
    if (!isOnce && assignsIn(around, variable))
      return false;
    for (Operation* op = at->getPrevNode(); op; op = op->getPrevNode())
      if (assignsIn(op, variable))
        return false;
    at = around;
  }
  if (!load->isBeforeInBlock(at))
    return false;
  for (Operation* op = load->getNextNode(); op != at; op = op->getNextNode())
    if (assignsIn(op, variable))
      return false;
  return true;
}

std::optional<int64_t> countOfPartNumbers(Value buffer, bool haveCopies, IndexTerms& indices) {
  constexpr int64_t mostNumbers = 8;
  constexpr unsigned mostUses = 200;
  if (!isVariable(buffer) ||
      (haveCopies && differsOnVectorCores(buffer) && !isOfVectorsAlone(buffer)))
    return std::nullopt;
  PartUses uses;
  unsigned fuel = mostUses;
  SmallVector<tile::LoadOp> reads;
  for (Operation* user : buffer.getUsers()) {
    if (auto store = dyn_cast<tile::StoreOp>(user)) {
      tile::LoadOp before;
      unsigned steps = kMostOperations;
      if (!addReadBehind(store.getValue(), before, steps) ||
          (before && !isStillHeld(before, store)))
        return std::nullopt;
      continue;
    }
    auto load = cast<tile::LoadOp>(user);
    PartUses own;
    addPartUses(load, own, fuel);
    uses.most = std::max(uses.most, own.most);
    uses.isTaken = uses.isTaken || own.isTaken;
    if (own.isOfPart)
      reads.push_back(load);
  }
  if ((reads.empty() && !uses.isTaken) || uses.most < 1 || uses.most >= mostNumbers)
    return std::nullopt;
  const bool isNeeded = uses.isTaken || llvm::any_of(reads, [&](tile::LoadOp load) {
                          return !indices.isTurning(load);
                        });
  return isNeeded ? std::optional(uses.most + 1) : std::nullopt;
}

} // namespace tilewright::ascend
