// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/thread_indices.h"

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/passes/analysis/variable_reads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace tilewright {
namespace {

/// Folds an op of integer constants, as MLIR folds it; nothing where it can't.
std::optional<int64_t> folded(Operation* op, ArrayRef<int64_t> operands) {
  SmallVector<Attribute> attributes;
  for (auto [value, number] : llvm::zip(op->getOperands(), operands))
    attributes.push_back(IntegerAttr::get(value.getType(), number));
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(attributes, results)) || results.size() != 1)
    return std::nullopt;
  auto attribute = dyn_cast<Attribute>(results[0]);
  if (!attribute) {
    auto found = llvm::find(op->getOperands(), cast<Value>(results[0]));
    if (found == op->operand_end())
      return std::nullopt;
    return operands[size_t(std::distance(op->operand_begin(), found))];
  }
  auto integer = dyn_cast<IntegerAttr>(attribute);
  if (!integer)
    return std::nullopt;
  return integer.getType().isInteger(1) ? int64_t(integer.getValue().getZExtValue())
                                        : integer.getInt();
}

bool isNumber(Type type) {
  return type.isIndex() || (type.isInteger() && type.getIntOrFloatBitWidth() <= 64);
}

void addTerm(ThreadIndex& index, Value value, int64_t factor) {
  for (auto& [term, known] : index.terms)
    if (term == value) {
      known += factor;
      return;
    }
  index.terms.emplace_back(value, factor);
}

/// left + factor * right.
ThreadIndex sum(const ThreadIndex& left, const ThreadIndex& right, int64_t factor) {
  if (!left.isKnown || !right.isKnown)
    return {};
  ThreadIndex made{true, left.numbers, left.terms};
  for (auto [total, number] : llvm::zip(made.numbers, right.numbers))
    total += factor * number;
  for (auto [value, known] : right.terms)
    addTerm(made, value, factor * known);
  llvm::erase_if(made.terms, [](auto& term) { return term.second == 0; });
  return made;
}

/// The number where it is a constant.
std::optional<int64_t> constantOf(const ThreadIndex& index) {
  if (!index.isKnown || !index.terms.empty() || !llvm::all_equal(index.numbers))
    return std::nullopt;
  return index.numbers.front();
}

/// A number without the casts around it.
Value uncast(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  return value;
}

/// The number of which bits are flipped, the same ones each time; null where none are.
Value unflipped(Value value) {
  auto flip = uncast(value).getDefiningOp<arith::XOrIOp>();
  if (!flip || (getConstantIntValue(flip.getRhs()).value_or(0) & INT32_MAX) == 0)
    return {};
  return uncast(flip.getLhs());
}

bool isInside(Value value, ArrayRef<Operation*> loops) {
  Operation* owner = value.getParentBlock()->getParentOp();
  return llvm::any_of(loops, [&](Operation* loop) { return loop->isAncestor(owner); });
}

} // namespace

bool ThreadPairs::hasAny(size_t threads) const {
  std::optional<size_t> first;
  for (size_t thread = 0; thread < threads; ++thread) {
    if (members && !(*members)[unsigned(thread)])
      continue;
    if (first && has(*first, thread))
      return true;
    first = first.value_or(thread);
  }
  return false;
}

void ThreadIndex::sort() {
  if (!order.empty())
    return;
  order.resize(numbers.size());
  std::iota(order.begin(), order.end(), size_t(0));
  const auto numberOf = [&](size_t thread) { return numbers[thread]; };
  if (!std::ranges::is_sorted(order, {}, numberOf))
    std::ranges::sort(order, {}, numberOf);
  isOwn = std::ranges::adjacent_find(order, {}, numberOf) == order.end();
}

const ThreadIndex& ThreadIndices::indexOf(Value value) {
  std::unique_ptr<ThreadIndex>& index = known[value];
  if (index)
    return *index;
  auto made = std::make_unique<ThreadIndex>(compute(value));
  return *(known[value] = std::move(made)); // `index` may have moved
}

ThreadIndex ThreadIndices::difference(Value left, Value right, int64_t more) {
  indexOf(left), indexOf(right); // both, before either's address is taken
  ThreadIndex made = sum(indexOf(left), indexOf(right), -1);
  for (int64_t& number : made.numbers)
    number += more;
  return made;
}

ThreadIndex ThreadIndices::compute(Value value) {
  ThreadIndex made;
  if (!isNumber(value.getType()))
    return made;
  made.isKnown = true;
  made.numbers.assign(size_t(threads), 0);
  Operation* op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    made.numbers.assign(size_t(threads), cast<IntegerAttr>(constant.getValue()).getInt());
    return made;
  }
  if (auto id = dyn_cast_or_null<tile::ThreadIdOp>(op)) {
    const auto dim = size_t(id.getDim());
    int64_t before = 1;
    for (int64_t extent : extents.take_front(dim))
      before *= extent;
    for (int64_t thread = 0; thread < threads; ++thread)
      made.numbers[size_t(thread)] = dim < extents.size() ? thread / before % extents[dim] : 0;
    return made;
  }
  if (ThreadIndex computed = op ? combined(op) : ThreadIndex(); computed.isKnown)
    return computed;
  if (divergence.differs(value))
    return {};
  auto load = dyn_cast_or_null<tile::LoadOp>(op);
  made.terms.emplace_back(load ? firstRead(load) : value, 1);
  return made;
}

ThreadIndex ThreadIndices::combined(Operation* op) {
  if (!isa<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1 ||
      !llvm::all_of(op->getOperandTypes(), isNumber))
    return {};
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return indexOf(op->getOperand(0));
  if (isa<arith::AddIOp>(op))
    return sum(indexOf(op->getOperand(0)), indexOf(op->getOperand(1)), 1);
  if (isa<arith::SubIOp>(op))
    return sum(indexOf(op->getOperand(0)), indexOf(op->getOperand(1)), -1);
  if (isa<arith::MulIOp>(op))
    for (unsigned side : {0U, 1U})
      if (auto factor = constantOf(indexOf(op->getOperand(side)))) {
        ThreadIndex zero{true, std::vector<int64_t>(size_t(threads), 0), {}};
        return sum(zero, indexOf(op->getOperand(1 - side)), *factor);
      }
  // Anything else only on plain numbers of each thread.
  SmallVector<const ThreadIndex*> operands;
  for (Value operand : op->getOperands()) {
    const ThreadIndex& index = indexOf(operand);
    if (!index.isKnown || !index.terms.empty())
      return {};
    operands.push_back(&index);
  }
  ThreadIndex made{true, {}, {}};
  for (size_t thread = 0; thread < size_t(threads); ++thread) {
    SmallVector<int64_t> numbers;
    for (const ThreadIndex* operand : operands)
      numbers.push_back(operand->numbers[thread]);
    std::optional<int64_t> number = folded(op, numbers);
    if (!number)
      return {};
    made.numbers.push_back(*number);
  }
  return made;
}

ThreadIndices::Distance ThreadIndices::distance(const ThreadIndex& before, const ThreadIndex& now,
                                                ArrayRef<Operation*> stale) const {
  if (!before.isKnown || !now.isKnown)
    return {true};
  Distance made;
  IndexRanges ranges;
  auto add = [&](Value value, int64_t factor) {
    if (factor == 0 || made.isAny)
      return;
    const IndexRange range = ranges.rangeOf(value);
    int64_t ends[2];
    if (range.low == IndexRange::kLowest || range.high == IndexRange::kHighest ||
        llvm::MulOverflow(range.low, factor, ends[0]) ||
        llvm::MulOverflow(range.high, factor, ends[1]) ||
        llvm::AddOverflow(made.low, std::min(ends[0], ends[1]), made.low) ||
        llvm::AddOverflow(made.high, std::max(ends[0], ends[1]), made.high))
      made = {true};
  };
  ThreadIndex rest; // what both have in common goes away
  for (auto [value, factor] : before.terms)
    if (isInside(value, stale))
      add(value, factor);
    else
      addTerm(rest, value, factor);
  for (auto [value, factor] : now.terms)
    if (isInside(value, stale))
      add(value, -factor);
    else
      addTerm(rest, value, -factor);
  for (auto [value, factor] : rest.terms)
    add(value, factor);
  return made;
}

/// Whether the threads' bounds leave no two of them one number: where `before` - `now` is, but for what threads add,
/// what a bound has, or its opposite.
bool ThreadIndices::isBeyond(const ThreadIndex& before, const ThreadIndex& now,
                             ArrayRef<Operation*> stale, ArrayRef<ThreadIndex> bounds) {
  const auto isStale = [&](auto& term) { return isInside(term.first, stale); };
  if (!before.isKnown || !now.isKnown || llvm::any_of(before.terms, isStale) ||
      llvm::any_of(now.terms, isStale))
    return false; // one value at either time needn't be one number
  const std::vector<int64_t>&first = before.numbers, &second = now.numbers;
  const auto least = [&](auto numberOf) {
    int64_t found = INT64_MAX;
    for (size_t thread = 0; thread < first.size(); ++thread)
      found = std::min(found, numberOf(thread));
    return found;
  };
  for (const ThreadIndex& bound : bounds)
    for (int64_t sign : {1, -1}) {
      ThreadIndex rest;
      for (auto [value, factor] : before.terms)
        addTerm(rest, value, factor);
      for (auto [value, factor] : now.terms)
        addTerm(rest, value, -factor);
      for (auto [value, factor] : bound.terms)
        addTerm(rest, value, -sign * factor);
      if (llvm::any_of(rest.terms, [](auto& term) { return term.second != 0; }) ||
          llvm::any_of(bound.terms, isStale))
        continue;
      // On one number, the bound's terms are sign * (second - first); with them, each has less than 0.
      const std::vector<int64_t>& own = bound.numbers;
      if (least([&](size_t t) { return own[t] - sign * first[t]; }) +
                  least([&](size_t t) { return sign * second[t]; }) >=
              0 ||
          least([&](size_t t) { return own[t] + sign * second[t]; }) +
                  least([&](size_t t) { return -sign * first[t]; }) >=
              0)
        return true;
    }
  return false;
}

/// Whether no two threads come that near, as all have numbers of their own or none has a number in that range.
bool ThreadIndices::isFar(const ThreadIndex& before, const ThreadIndex& now, Distance distance) {
  if (distance.low == 0 && distance.high == 0 && now.isOwn && before.numbers == now.numbers)
    return true;
  const int64_t nearest = before.numbers[before.order.front()] + distance.low;
  const int64_t farthest = before.numbers[before.order.back()] + distance.high;
  return farthest < now.numbers[now.order.front()] || nearest > now.numbers[now.order.back()];
}

bool ThreadIndices::areApart(Value before, Value now, ArrayRef<Operation*> stale) const {
  const Value first = unflipped(before), second = unflipped(now);
  const Value common = first == uncast(now) ? first : second == uncast(before) ? second : Value();
  return common && !divergence.differs(common) && !isInside(common, stale);
}

bool ThreadIndices::mayMeet(const ThreadAccess& before, const ThreadAccess& now,
                            ThreadPairs pairs) {
  // A thread's own place, though nobody knows where: the user sees to it that no other has it.
  if (before.stale.empty() && before.indices == now.indices &&
      llvm::any_of(now.indices, [&](Value index) {
        return divergence.differs(index) && !indexOf(index).isKnown;
      }))
    return false;
  struct Dim {
    ThreadIndex *before, *now;
    Distance distance;
  };
  SmallVector<Dim> dims;
  for (auto [first, second] : llvm::zip(before.indices, now.indices)) {
    if (areApart(first, second, before.stale))
      return false;
    indexOf(first), indexOf(second); // both, before either's address is taken
    Dim dim{known[first].get(), known[second].get(), {}};
    dim.distance = distance(*dim.before, *dim.now, before.stale);
    if (isBeyond(*dim.before, *dim.now, before.stale, pairs.bounds))
      return false;
    if (dim.distance.isAny)
      continue;
    dim.before->sort(), dim.now->sort();
    if (isFar(*dim.before, *dim.now, dim.distance))
      return false;
    dims.push_back(dim);
  }
  if (dims.empty())
    return pairs.hasAny(size_t(threads));
  // now - before = distance in all dims: candidates by the first dim, sorted.
  const Dim& first = dims.front();
  const std::vector<size_t>& order = first.now->order;
  for (size_t thread = 0; thread < size_t(threads); ++thread) {
    const int64_t base = first.before->numbers[thread];
    auto at = std::ranges::lower_bound(order, base + first.distance.low, {},
                                       [&](size_t other) { return first.now->numbers[other]; });
    for (; at != order.end() && first.now->numbers[*at] <= base + first.distance.high; ++at)
      if (pairs.has(thread, *at) && llvm::all_of(ArrayRef(dims).drop_front(), [&](const Dim& dim) {
            const int64_t apart = dim.now->numbers[*at] - dim.before->numbers[thread];
            return dim.distance.low <= apart && apart <= dim.distance.high;
          }))
        return true;
  }
  return false;
}

} // namespace tilewright
