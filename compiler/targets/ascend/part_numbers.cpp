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

/// The read that a store assigns as it is.
tile::LoadOp readAssigned(tile::StoreOp store) {
  return store.getValue().getDefiningOp<tile::LoadOp>();
}

/// Whether two stores are `a, b = b, a`: both reads stand before both of them, and nothing else is assigned to the two, or may
/// leave the block, meanwhile.
bool areSwap(tile::StoreOp store, tile::StoreOp other) {
  tile::LoadOp read = readAssigned(store), back = readAssigned(other);
  if (!read || !back || read.getBuffer() == store.getBuffer() ||
      read.getBuffer() != other.getBuffer() || back.getBuffer() != store.getBuffer())
    return false;
  Block* block = store->getBlock();
  if (other->getBlock() != block || read->getBlock() != block || back->getBlock() != block)
    return false;
  const auto [first, last] =
      store->isBeforeInBlock(other) ? std::pair(store, other) : std::pair(other, store);
  if (!read->isBeforeInBlock(first) || !back->isBeforeInBlock(first))
    return false;
  for (Operation* op = read->isBeforeInBlock(back) ? read : back; op != last;
       op = op->getNextNode()) {
    const bool isBetween = op->getNumRegions() > 0 && first->isBeforeInBlock(op);
    const bool assigns = assignsIn(op, store.getBuffer()) || assignsIn(op, other.getBuffer());
    if (isBetween || (assigns && op != first))
      return false;
  }
  return true;
}

/// The store with which this one is a swap.
tile::StoreOp otherOfSwap(tile::StoreOp store) {
  tile::LoadOp read = readAssigned(store);
  if (read)
    for (Operation* user : read.getBuffer().getUsers())
      if (auto other = dyn_cast<tile::StoreOp>(user); other && areSwap(store, other))
        return other;
  return {};
}

/// The only constant that a variable is given, by the launch itself; else it is swapped with `other`.
std::optional<int64_t> onlyConstantBut(Value variable, Value other) {
  std::optional<int64_t> only;
  Operation* given = nullptr;
  SmallVector<Operation*> swaps;
  for (Operation* user : variable.getUsers()) {
    auto store = dyn_cast<tile::StoreOp>(user);
    if (!store)
      continue;
    const std::optional<int64_t> constant = getConstantIntValue(store.getValue());
    tile::StoreOp back = constant ? tile::StoreOp() : otherOfSwap(store);
    const bool isFirst = constant && !only && isa<tile::LaunchOp>(store->getParentOp());
    if (!isFirst && (!back || back.getBuffer() != other))
      return std::nullopt;
    if (isFirst)
      only = constant, given = store;
    else
      swaps.push_back(store);
  }
  const auto isBehind = [&](Operation* swap) {
    Operation* around = given ? given->getBlock()->findAncestorOpInBlock(*swap) : nullptr;
    return around && given->isBeforeInBlock(around);
  };
  return llvm::all_of(swaps, isBehind) ? only : std::nullopt;
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

std::optional<int64_t> sumOfSwapped(tile::StoreOp store) {
  tile::StoreOp back = otherOfSwap(store);
  if (!back)
    return std::nullopt;
  const std::optional<int64_t> first = onlyConstantBut(store.getBuffer(), back.getBuffer()),
                               second = onlyConstantBut(back.getBuffer(), store.getBuffer());
  constexpr int64_t most = 1 << 20;
  const bool areSmall =
      first && second && *first >= 0 && *second >= 0 && *first < most && *second < most;
  return areSmall ? std::optional(*first + *second) : std::nullopt;
}

Value sourceOf(tile::StoreOp store) {
  if (sumOfSwapped(store))
    return {};
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
      (haveCopies && differsOnVectorCores(buffer) && !isOfOneAlone(buffer, Agent::Vector)))
    return std::nullopt;
  PartUses uses;
  unsigned fuel = mostUses;
  SmallVector<tile::LoadOp> reads;
  for (Operation* user : buffer.getUsers()) {
    if (auto store = dyn_cast<tile::StoreOp>(user)) {
      if (const std::optional<int64_t> sum = sumOfSwapped(store)) {
        uses.most = std::max(uses.most, *sum);
        continue;
      }
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
