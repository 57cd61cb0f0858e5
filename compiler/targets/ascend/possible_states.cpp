// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/possible_states.h"

#include "compiler/targets/ascend/integer_results.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

#include <algorithm>

namespace tilewright::ascend {

using namespace mlir;

namespace {

__extension__ using Wide = __int128;

bool isOne(IndexRange range) {
  return range.low == range.high;
}

/// Of a sum, a difference or a product that may wrap round nothing is known.
IndexRange withRoom(Wide low, Wide high, IndexRange all) {
  return low < all.low || high > all.high ? all : IndexRange{int64_t(low), int64_t(high)};
}

IndexRange productOf(IndexRange a, IndexRange b, IndexRange all) {
  const std::array<Wide, 4> ends{Wide(a.low) * b.low, Wide(a.low) * b.high, Wide(a.high) * b.low,
                                 Wide(a.high) * b.high};
  const auto [low, high] = std::ranges::minmax(ends);
  return withRoom(low, high, all);
}

/// What is left of a division by a constant.
IndexRange restOf(IndexRange a, int64_t by, IndexRange all) {
  if (by <= 0)
    return all;
  if (a.low >= 0 && a.low / by == a.high / by)
    return {a.low % by, a.high % by};
  return {a.low < 0 ? -(by - 1) : 0, a.high > 0 ? by - 1 : 0};
}

std::optional<bool> compared(arith::CmpIPredicate asked, IndexRange a, IndexRange b) {
  using arith::CmpIPredicate;
  const auto isBelow = [](IndexRange x, IndexRange y) -> std::optional<bool> {
    return x.high < y.low    ? std::optional(true)
           : x.low >= y.high ? std::optional(false)
                             : std::nullopt;
  };
  const auto turned = [](std::optional<bool> known) {
    return known ? std::optional(!*known) : std::nullopt;
  };
  const bool areBothUp = a.low >= 0 && b.low >= 0;
  switch (asked) {
  case CmpIPredicate::eq:
  case CmpIPredicate::ne: {
    const bool isNever = a.high < b.low || b.high < a.low;
    if (!isNever && !(isOne(a) && a == b))
      return std::nullopt;
    return isNever == (asked == CmpIPredicate::ne);
  }
  case CmpIPredicate::ult:
  case CmpIPredicate::ule:
  case CmpIPredicate::ugt:
  case CmpIPredicate::uge:
    if (!areBothUp)
      return std::nullopt;
    break;
  default:
    break;
  }
  switch (asked) {
  case CmpIPredicate::slt:
  case CmpIPredicate::ult:
    return isBelow(a, b);
  case CmpIPredicate::sge:
  case CmpIPredicate::uge:
    return turned(isBelow(a, b));
  case CmpIPredicate::sgt:
  case CmpIPredicate::ugt:
    return isBelow(b, a);
  default:
    return turned(isBelow(b, a));
  }
}

/// With signs, where both are above.
std::optional<arith::CmpIPredicate> withSigns(arith::CmpIPredicate asked, IndexRange a,
                                              IndexRange b) {
  using arith::CmpIPredicate;
  if (asked < CmpIPredicate::ult)
    return asked;
  if (a.low < 0 || b.low < 0)
    return std::nullopt;
  switch (asked) {
  case CmpIPredicate::ult:
    return CmpIPredicate::slt;
  case CmpIPredicate::ule:
    return CmpIPredicate::sle;
  case CmpIPredicate::ugt:
    return CmpIPredicate::sgt;
  default:
    return CmpIPredicate::sge;
  }
}

int64_t lessOne(int64_t number) {
  return number == IndexRange::kLowest ? number : number - 1;
}
int64_t andOne(int64_t number) {
  return number == IndexRange::kHighest ? number : number + 1;
}

/// What is left of two ranges where they compare so. One with no numbers ends below where it begins.
void cut(arith::CmpIPredicate asked, IndexRange& a, IndexRange& b) {
  using arith::CmpIPredicate;
  const auto leaveOut = [](IndexRange& range, IndexRange one) {
    if (!isOne(one))
      return;
    if (range.low == one.low)
      range.low = andOne(range.low);
    if (range.high == one.low)
      range.high = lessOne(range.high);
  };
  switch (asked) {
  case CmpIPredicate::eq:
    a = b = {std::max(a.low, b.low), std::min(a.high, b.high)};
    return;
  case CmpIPredicate::ne:
    leaveOut(a, b);
    leaveOut(b, a);
    return;
  case CmpIPredicate::slt:
    a.high = std::min(a.high, lessOne(b.high));
    b.low = std::max(b.low, andOne(a.low));
    return;
  case CmpIPredicate::sle:
    a.high = std::min(a.high, b.high);
    b.low = std::max(b.low, a.low);
    return;
  case CmpIPredicate::sgt:
    return cut(CmpIPredicate::slt, b, a);
  default:
    return cut(CmpIPredicate::sle, b, a);
  }
}

/// Makes one state of two that differ in one number alone, whose ranges lie side by side.
bool unite(PossibleState& into, const PossibleState& other) {
  if (into.same != other.same)
    return false;
  std::optional<size_t> apart;
  for (size_t slot = 0; slot < into.ranges.size(); ++slot) {
    if (into.ranges[slot] == other.ranges[slot])
      continue;
    if (apart)
      return StateSpace::isCovered(other, into);
    apart = slot;
  }
  if (!apart)
    return true;
  IndexRange& a = into.ranges[*apart];
  const IndexRange b = other.ranges[*apart];
  if (andOne(a.high) < b.low || andOne(b.high) < a.low)
    return false;
  a = {std::min(a.low, b.low), std::max(a.high, b.high)};
  return true;
}

} // namespace

IndexRange rangeOfType(Type type) {
  if (!type.isIntOrIndex())
    return {};
  const unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (width == 1)
    return {0, 1};
  return width > 64 ? IndexRange{} : IndexRange{llvm::minIntN(width), llvm::maxIntN(width)};
}

unsigned StateSpace::addSlot(Value value, IndexRange first) {
  const auto [found, isNew] = slots.try_emplace(value, unsigned(firstRanges.size()));
  if (isNew)
    firstRanges.push_back(first);
  return found->second;
}

std::optional<unsigned> StateSpace::slotOf(Value value) const {
  const auto found = slots.find(value);
  return found == slots.end() ? std::nullopt : std::optional(found->second);
}

PossibleState StateSpace::first() const {
  return {firstRanges, std::vector<int>(firstRanges.size(), -1)};
}

IndexRange StateSpace::rangeOf(const PossibleState& state, Value value) {
  constexpr unsigned most = 300;
  fuel = most;
  return compute(state, value);
}

IndexRange StateSpace::compute(const PossibleState& state, Value value) {
  if (const auto found = assumed.find(value); found != assumed.end())
    return found->second;
  const IndexRange all = rangeOfType(value.getType());
  if (const std::optional<unsigned> slot = slotOf(value))
    return state.ranges[state.numberAt(*slot)];
  if (const std::optional<int64_t> constant = getConstantIntValue(value)) {
    const int64_t number = asOfType(*constant, value.getType());
    return {number, number};
  }
  Operation* op = value.getDefiningOp();
  if (auto load = dyn_cast_if_present<tile::LoadOp>(op))
    return computeLoad(state, load);
  if (!op || op->getNumRegions() > 0 || op->getNumResults() != 1 ||
      !isa<arith::ArithDialect>(op->getDialect())) {
    const IndexRange known = value.getType().isInteger(1) ? all : ranges.rangeOf(value);
    return {std::max(all.low, known.low), std::min(all.high, known.high)};
  }
  if (fuel == 0)
    return all;
  --fuel;
  return computeOp(state, op);
}

IndexRange StateSpace::computeOp(const PossibleState& state, Operation* op) {
  const IndexRange all = rangeOfType(op->getResult(0).getType());
  if (isa<arith::CmpFOp, arith::FPToSIOp>(op))
    return computeOfFloats(state, op, all);
  SmallVector<IndexRange> from;
  SmallVector<int64_t> numbers;
  for (Value operand : op->getOperands()) {
    if (!operand.getType().isIntOrIndex())
      return all;
    from.push_back(compute(state, operand));
    if (isOne(from.back()))
      numbers.push_back(from.back().low);
  }
  if (numbers.size() == from.size()) {
    const std::optional<int64_t> number = integerResult(op, numbers);
    return number ? IndexRange{*number, *number} : all;
  }
  if (auto choice = dyn_cast<arith::SelectOp>(op)) {
    if (isOne(from[0]))
      return from[0].low ? from[1] : from[2];
    return {std::min(from[1].low, from[2].low), std::max(from[1].high, from[2].high)};
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    const bool areSame = isSame(state, compare.getLhs(), compare.getRhs());
    const std::optional<bool> known = areSame ? compared(compare.getPredicate(), {0, 0}, {0, 0})
                                              : compared(compare.getPredicate(), from[0], from[1]);
    return known ? IndexRange{*known, *known} : all;
  }
  if (isa<arith::AddIOp>(op))
    return withRoom(Wide(from[0].low) + from[1].low, Wide(from[0].high) + from[1].high, all);
  if (isa<arith::SubIOp>(op))
    return withRoom(Wide(from[0].low) - from[1].high, Wide(from[0].high) - from[1].low, all);
  if (isa<arith::MulIOp>(op))
    return productOf(from[0], from[1], all);
  if (isa<arith::MinSIOp>(op))
    return {std::min(from[0].low, from[1].low), std::min(from[0].high, from[1].high)};
  if (isa<arith::MaxSIOp>(op))
    return {std::max(from[0].low, from[1].low), std::max(from[0].high, from[1].high)};
  if (isa<arith::AndIOp>(op) && (from[0].low >= 0 || from[1].low >= 0))
    return {0, from[0].low < 0   ? from[1].high
               : from[1].low < 0 ? from[0].high
                                 : std::min(from[0].high, from[1].high)};
  if (isa<arith::OrIOp>(op) && all == IndexRange{0, 1})
    return {std::max(from[0].low, from[1].low), std::max(from[0].high, from[1].high)};
  if (isa<arith::RemSIOp>(op) && isOne(from[1]))
    return restOf(from[0], from[1].low, all);
  if (isa<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op) && isOne(from[1]) &&
      from[1].low > 0) {
    const std::optional<int64_t> low = integerResult(op, {from[0].low, from[1].low}),
                                 high = integerResult(op, {from[0].high, from[1].low});
    return low && high ? IndexRange{*low, *high} : all;
  }
  const bool isWider = isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op) ||
                       (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op) && from[0].low >= 0);
  const bool isOneBit = !from.empty() && op->getOperand(0).getType().isInteger(1);
  if (isWider && !(isOneBit && !isa<arith::ExtUIOp>(op)) && from[0].isWithin(all.low, all.high))
    return from[0];
  return all;
}

bool StateSpace::isSame(const PossibleState& state, Value left, Value right) const {
  const std::optional<unsigned> a = slotOf(left), b = slotOf(right);
  return a && b && state.numberAt(*a) == state.numberAt(*b);
}

void StateSpace::assign(PossibleState& state, unsigned variable, IndexRange range) {
  int heir = state.same[variable]; // of all that were the same number
  for (size_t slot = 0; slot < state.same.size(); ++slot)
    if (state.same[slot] == int(variable)) {
      state.same[slot] = heir;
      if (heir >= 0)
        continue;
      state.ranges[slot] = state.ranges[variable];
      heir = int(slot);
    }
  state.same[variable] = -1;
  state.ranges[variable] = range;
}

void StateSpace::assign(const PossibleState& state, unsigned slot, Value value,
                        PossibleStates& into) {
  auto wider = value.getDefiningOp<arith::ExtUIOp>();
  const Value question = wider ? wider.getIn() : value;
  PossibleStates holding, others;
  if (question.getType().isInteger(1) && !isOne(rangeOf(state, question)))
    split(state, question, holding, others);
  else
    holding.push_back(state);
  for (PossibleStates* each : {&holding, &others})
    for (PossibleState& one : *each) {
      const bool isAnswer = !others.empty() || holding.size() > 1;
      const std::optional<unsigned> from = isAnswer ? std::nullopt : slotOf(value);
      const unsigned number = from ? one.numberAt(*from) : slot;
      if (from && number != slot) {
        assign(one, slot, firstRanges[slot]);
        one.same[slot] = int(number);
        into.push_back(std::move(one));
        continue;
      }
      const IndexRange range =
          isAnswer ? IndexRange{each == &holding, each == &holding} : contentOf(one, value);
      assign(one, slot, range);
      into.push_back(std::move(one));
    }
}

void StateSpace::read(PossibleState& state, Value load, unsigned variable) const {
  const unsigned slot = *slotOf(load);
  assign(state, slot, firstRanges[slot]);
  state.same[slot] = int(variable);
}

void StateSpace::forget(PossibleState& state, unsigned slot) const {
  assign(state, slot, firstRanges[slot]);
}

bool StateSpace::narrowTo(PossibleState& state, Value value, IndexRange range) {
  const IndexRange now = rangeOf(state, value);
  range = {std::max(range.low, now.low), std::min(range.high, now.high)};
  if (range.low > range.high)
    return false;
  if (const std::optional<unsigned> slot = slotOf(value)) {
    state.ranges[state.numberAt(*slot)] = range;
    return true;
  }
  Operation* op = value.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(op) &&
      !op->getOperand(0).getType().isInteger(1)) {
    const IndexRange inner = rangeOfType(op->getOperand(0).getType()),
                     outer = rangeOfType(value.getType());
    return !inner.isWithin(outer.low, outer.high) || narrowTo(state, op->getOperand(0), range);
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return true;
  const std::optional<int64_t> by = getConstantIntValue(op->getOperand(1));
  if (!by || std::abs(*by) > (int64_t{1} << 32))
    return true;
  // Where no number of the operand wraps round, each has one.
  const Wide added = isa<arith::SubIOp>(op) ? -Wide(*by) : Wide(*by);
  const IndexRange from = rangeOf(state, op->getOperand(0)), all = rangeOfType(value.getType());
  if (Wide(from.low) + added < all.low || Wide(from.high) + added > all.high)
    return true;
  const auto back = [&](int64_t number) {
    return int64_t(
        std::clamp<Wide>(Wide(number) - added, IndexRange::kLowest, IndexRange::kHighest));
  };
  return narrowTo(state, op->getOperand(0), {back(range.low), back(range.high)});
}

bool StateSpace::narrow(PossibleState& state, arith::CmpIPredicate asked, Value left, Value right) {
  if (isSame(state, left, right))
    return *compared(asked, {0, 0}, {0, 0});
  IndexRange a = rangeOf(state, left), b = rangeOf(state, right);
  if (compared(asked, a, b) == false)
    return false;
  const std::optional<arith::CmpIPredicate> plain = withSigns(asked, a, b);
  if (!plain || left.getType().isInteger(1))
    return true;
  cut(*plain, a, b);
  return a.low <= a.high && b.low <= b.high && narrowTo(state, left, a) &&
         narrowTo(state, right, b);
}

void StateSpace::split(const PossibleState& state, Value condition, PossibleStates& holding,
                       PossibleStates& others) {
  const IndexRange known = rangeOf(state, condition);
  if (isOne(known)) {
    (known.low ? holding : others).push_back(state);
    return;
  }
  Operation* op = condition.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
    const bool isBoth = isa<arith::AndIOp>(op);
    PossibleStates first, rest;
    split(state, op->getOperand(0), isBoth ? first : holding, isBoth ? others : rest);
    for (const PossibleState& each : isBoth ? first : rest)
      split(each, op->getOperand(1), holding, others);
    return;
  }
  if (isa_and_nonnull<arith::XOrIOp>(op) && matchPattern(op->getOperand(1), m_One()))
    return split(state, op->getOperand(0), others, holding);
  PossibleState yes = state, no = state;
  bool isYes = true, isNo = true;
  if (const std::optional<unsigned> slot = slotOf(condition)) {
    const size_t at = state.numberAt(*slot);
    yes.ranges[at] = {1, 1};
    no.ranges[at] = {0, 0};
  } else if (auto compare = dyn_cast_if_present<arith::CmpIOp>(op)) {
    const arith::CmpIPredicate asked = compare.getPredicate();
    isYes = narrow(yes, asked, compare.getLhs(), compare.getRhs());
    isNo = narrow(no, arith::invertPredicate(asked), compare.getLhs(), compare.getRhs());
  }
  if (isYes)
    holding.push_back(std::move(yes));
  if (isNo)
    others.push_back(std::move(no));
}

bool StateSpace::isCovered(const PossibleState& state, const PossibleState& by) {
  for (size_t slot = 0; slot < state.ranges.size(); ++slot) {
    if (by.same[slot] >= 0 && by.same[slot] != state.same[slot])
      return false;
    if (by.same[slot] < 0 &&
        !state.ranges[state.numberAt(slot)].isWithin(by.ranges[slot].low, by.ranges[slot].high))
      return false;
  }
  return true;
}

PossibleState StateSpace::hullOf(ArrayRef<PossibleState> states) {
  PossibleState hull = states.front();
  for (const PossibleState& state : states.drop_front()) {
    const PossibleState before = hull;
    for (size_t slot = 0; slot < hull.ranges.size(); ++slot) {
      const bool areAlike = hull.same[slot] == state.same[slot];
      const IndexRange a = before.ranges[areAlike ? slot : before.numberAt(slot)],
                       b = state.ranges[areAlike ? slot : state.numberAt(slot)];
      hull.same[slot] = areAlike ? state.same[slot] : -1;
      hull.ranges[slot] = {std::min(a.low, b.low), std::max(a.high, b.high)};
    }
  }
  return hull;
}

void StateSpace::join(PossibleStates& states, size_t most) {
  bool isLess = true;
  while (isLess && states.size() > 1) {
    isLess = false;
    for (size_t i = 0; i < states.size(); ++i)
      for (size_t j = states.size(); j-- > 0;)
        if (i != j && (unite(states[i], states[j]) || isCovered(states[j], states[i]))) {
          states.erase(states.begin() + int64_t(j));
          i -= j < i;
          isLess = true;
        }
  }
  if (states.size() > most)
    states = {hullOf(states)};
}

} // namespace tilewright::ascend
