// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/thread_choices.h"

#include "compiler/passes/analysis/thread_divergence.h"
#include "compiler/passes/analysis/thread_indices.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright {

using llvm::BitVector;

SmallVector<int64_t, 4> rangesOf(const BitVector& members) {
  SmallVector<int64_t, 4> ranges;
  for (int first = members.find_first(); first >= 0;) {
    int end = members.find_next_unset(unsigned(first));
    end = end < 0 ? int(members.size()) : end;
    ranges.push_back(first);
    ranges.push_back(end);
    first = end < int(members.size()) ? members.find_next(unsigned(end)) : -1;
  }
  return ranges;
}

namespace {

bool areWholeWarps(const BitVector& members) {
  for (unsigned thread = 0; thread < members.size(); ++thread)
    if (members[thread] != members[thread / tile::kWarpSize * tile::kWarpSize])
      return false;
  return true;
}

} // namespace

bool areNeighbours(const BitVector& members) {
  return rangesOf(members).size() <= 2;
}

ThreadChoice ThreadChoices::choiceOf(BitVector members) const {
  BitVector rest = members;
  rest.flip();
  ThreadChoice choice;
  choice.isRange = areNeighbours(members);
  choice.isRestRange = areNeighbours(rest);
  choice.isOfWarps = areWholeWarps(members);
  choice.members = std::move(members);
  return choice;
}

ThreadChoice ThreadChoices::choiceOf(Value condition) {
  auto isUniform = [&](Value value) { return !divergence.differs(value); };
  if (isUniform(condition))
    return {std::nullopt, true, true, true};
  if (const ThreadIndex& index = indices.indexOf(condition); index.isKnown && index.terms.empty()) {
    BitVector members(unsigned(threads), false);
    for (unsigned thread = 0; thread < members.size(); ++thread)
      members[thread] = index.numbers[thread] != 0;
    return choiceOf(std::move(members));
  }
  Operation* op = condition.getDefiningOp();
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op))
    return choiceOf(comparison);
  if (!isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return {};
  const Value left = op->getOperand(0), right = op->getOperand(1);
  ThreadChoice choice, first = choiceOf(left), second = choiceOf(right);
  choice.isOfWarps = first.isOfWarps && second.isOfWarps;
  if (isa<arith::XOrIOp>(op)) { // not
    const std::optional<int64_t> flipped = getConstantIntValue(right);
    if (!flipped || *flipped == 0)
      return {};
    choice.isRange = first.isRestRange, choice.isRestRange = first.isRange;
    return choice;
  }
  // What is common to two ranges is one; what is in either of them need not be.
  choice.isRange = first.isRange && second.isRange;
  choice.isRestRange = first.isRestRange && second.isRestRange;
  const bool isOfOne = isUniform(left) || isUniform(right);
  (isa<arith::AndIOp>(op) ? choice.isRestRange : choice.isRange) &= isOfOne;
  return choice;
}

/// Whether threads have numbers that go up or down and are the same with and without a sign.
static bool isCount(const ThreadIndex& index) {
  return index.terms.empty() &&
         llvm::all_of(index.numbers, [](int64_t number) { return number >= 0; }) &&
         (llvm::is_sorted(index.numbers) || llvm::is_sorted(index.numbers, std::greater<>()));
}

static bool isSameForAll(const ThreadIndex& index) {
  return llvm::all_equal(index.numbers);
}

ThreadChoice ThreadChoices::choiceOf(arith::CmpIOp comparison) {
  const ThreadIndex& left = indices.indexOf(comparison.getLhs());
  const ThreadIndex& right = indices.indexOf(comparison.getRhs());
  if (!left.isKnown || !right.isKnown)
    return {};
  std::vector<int64_t> apart = left.numbers;
  for (auto [number, other] : llvm::zip(apart, right.numbers))
    number -= other;
  const bool isMonotone = llvm::is_sorted(apart) || llvm::is_sorted(apart, std::greater<>());
  ThreadChoice choice;
  switch (comparison.getPredicate()) {
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::sge:
    choice.isRange = choice.isRestRange = isMonotone;
    break;
  case arith::CmpIPredicate::eq:
    choice.isRange = isMonotone;
    break;
  case arith::CmpIPredicate::ne:
    choice.isRestRange = isMonotone;
    break;
  default: // without a sign
    choice.isRange = choice.isRestRange =
        (isCount(left) && isSameForAll(right)) || (isSameForAll(left) && isCount(right));
    if (!choice.isRange)
      return {};
  }
  choice.isOfWarps = true;
  for (size_t thread = 0; thread < apart.size(); ++thread)
    choice.isOfWarps &= apart[thread] == apart[thread / tile::kWarpSize * tile::kWarpSize];
  return choice;
}

void ThreadChoices::addBounds(Value condition, bool isElse, SmallVectorImpl<ThreadIndex>& bounds) {
  Operation* op = condition.getDefiningOp();
  if (isElse ? isa_and_nonnull<arith::OrIOp>(op) : isa_and_nonnull<arith::AndIOp>(op)) {
    addBounds(op->getOperand(0), isElse, bounds);
    addBounds(op->getOperand(1), isElse, bounds);
  }
  auto comparison = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!comparison)
    return;
  using Predicate = arith::CmpIPredicate;
  const Predicate predicate =
      isElse ? arith::invertPredicate(comparison.getPredicate()) : comparison.getPredicate();
  const bool isBelow = predicate == Predicate::slt || predicate == Predicate::sle;
  if (!isBelow && predicate != Predicate::sgt && predicate != Predicate::sge)
    return;
  const bool isStrict = predicate == Predicate::slt || predicate == Predicate::sgt;
  ThreadIndex apart =
      indices.difference(isBelow ? comparison.getLhs() : comparison.getRhs(),
                         isBelow ? comparison.getRhs() : comparison.getLhs(), isStrict ? 0 : -1);
  if (apart.isKnown && !apart.terms.empty())
    bounds.push_back(std::move(apart));
}

bool ThreadChoices::isOfOne(Value condition, bool isElse) {
  Operation* op = condition.getDefiningOp();
  if (isElse ? isa_and_nonnull<arith::OrIOp>(op) : isa_and_nonnull<arith::AndIOp>(op))
    return isOfOne(op->getOperand(0), isElse) || isOfOne(op->getOperand(1), isElse);
  auto comparison = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!comparison ||
      comparison.getPredicate() != (isElse ? arith::CmpIPredicate::ne : arith::CmpIPredicate::eq))
    return false;
  ThreadIndex apart = indices.difference(comparison.getLhs(), comparison.getRhs());
  apart.sort();
  return apart.isKnown && apart.isOwn;
}

ThreadParty ThreadParty::part(const ThreadChoice& choice, bool isElse) const {
  ThreadParty made;
  made.isOfWarps = isOfWarps && choice.isOfWarps;
  if (!threads || !choice.members)
    return made;
  BitVector members = *choice.members;
  if (isElse)
    members.flip();
  members &= *threads;
  made.isOfWarps = areWholeWarps(members);
  made.threads = std::move(members);
  return made;
}

} // namespace tilewright
