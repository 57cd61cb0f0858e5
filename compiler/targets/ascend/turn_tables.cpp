// SPDX-License-Identifier: Apache-2.0
// A loop's number is a table of one entry that drifts by the loop's step. Behind some turns all operands of an operation
// have gone on by their drift; where the operation then gives what it gave before, or that and always the same more, its
// results up to there are a table, too. Of a short loop all turns are.
#include "compiler/targets/ascend/turn_tables.h"
#include "compiler/targets/ascend/integer_results.h"
#include "compiler/targets/ascend/turning_variables.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <algorithm>
#include <numeric>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// What the drift of all operands together does to a result.
enum class DriftRule : uint8_t { None, Sum, Product, Quotient, Bits, Comparison, Choice, Cast };

DriftRule driftRuleOf(Operation* op) {
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return DriftRule::Sum;
  if (isa<arith::MulIOp, arith::ShLIOp>(op))
    return DriftRule::Product;
  if (isa<arith::DivSIOp, arith::RemSIOp, arith::DivUIOp, arith::RemUIOp, arith::FloorDivSIOp,
          arith::ShRSIOp, arith::ShRUIOp>(op))
    return DriftRule::Quotient;
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return DriftRule::Bits;
  if (isa<arith::CmpIOp>(op))
    return DriftRule::Comparison;
  if (isa<arith::SelectOp>(op))
    return DriftRule::Choice;
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
          arith::TruncIOp>(op))
    return DriftRule::Cast;
  return DriftRule::None;
}

bool comparesWithoutSigns(arith::CmpIPredicate predicate) {
  return predicate == arith::CmpIPredicate::ult || predicate == arith::CmpIPredicate::ule ||
         predicate == arith::CmpIPredicate::ugt || predicate == arith::CmpIPredicate::uge;
}

bool isNeverNegative(const TurnTable& table) {
  return table.drift >= 0 && std::ranges::min(table.values) >= 0;
}

/// Of a table that goes round `times` times.
int64_t driftIn(const TurnTable& table, int64_t turns) {
  return table.drift * (turns / table.period());
}

std::vector<int64_t> numbersAt(ArrayRef<TurnTable> operands, int64_t turn) {
  std::vector<int64_t> numbers;
  for (const TurnTable& operand : operands)
    numbers.push_back(operand.at(turn));
  return numbers;
}

std::optional<TurnTable> resultsOf(Operation* op, ArrayRef<TurnTable> operands,
                                   std::vector<Operation*> loops, int64_t turns) {
  TurnTable table{std::move(loops), {}};
  for (int64_t turn = 0; turn < turns; ++turn) {
    const std::optional<int64_t> number = integerResult(op, numbersAt(operands, turn));
    if (!number)
      return std::nullopt;
    table.values.push_back(*number);
  }
  return table;
}

/// How many turns there are, if that is known and so few that each can have an entry.
std::optional<int64_t> allTurns(ArrayRef<Operation*> loops) {
  const std::optional<int64_t> all = loops.size() == 1 ? turnsOf(loops[0]) : std::nullopt;
  return all && *all > 0 && *all <= kMostInTable ? all : std::nullopt;
}

} // namespace

std::optional<int64_t> turnsOf(Operation* op) {
  if (auto open = dyn_cast<tile::WhileOp>(op)) {
    const std::optional<CountedTurns> counted = countedTurns(open);
    return counted && counted->isAll ? mostTurnsOf(*counted) : std::nullopt;
  }
  auto loop = dyn_cast<tile::ForOp>(op);
  const std::optional<int64_t> lower = loop ? getConstantIntValue(loop.getLower()) : std::nullopt,
                               upper = loop ? getConstantIntValue(loop.getUpper()) : std::nullopt,
                               step = loop ? getConstantIntValue(loop.getStep()) : std::nullopt;
  if (!lower || !upper || !step || *step < 1)
    return std::nullopt;
  return std::max<int64_t>(0, (*upper - *lower + *step - 1) / *step);
}

std::optional<TurnTable> withoutDrift(TurnTable table) {
  if (table.drift == 0)
    return table;
  const std::optional<int64_t> all = allTurns(table.loops);
  if (!all)
    return std::nullopt;
  TurnTable written{table.loops, {}};
  for (int64_t turn = 0; turn < *all; ++turn)
    written.values.push_back(table.at(turn));
  return shortened(std::move(written));
}

TurnTable shortened(TurnTable table) {
  if (table.drift != 0)
    return table;
  const auto size = table.values.size();
  for (size_t period = 1; period < size; ++period) {
    const auto isSame = [&](size_t at) { return table.values[at] == table.values[at % period]; };
    bool doRepeat = size % period == 0;
    for (size_t at = period; at < size && doRepeat; ++at)
      doRepeat = isSame(at);
    if (doRepeat) {
      table.values.resize(period);
      break;
    }
  }
  if (table.values.size() == 1)
    table.loops.clear();
  return table;
}

std::optional<TurnTable> TurnTables::of(Value value) {
  if (const auto found = known.find(value); found != known.end())
    return found->second;
  std::optional<TurnTable> table = compute(value);
  if (table)
    table = shortened(*std::move(table));
  return known[value] = std::move(table);
}

std::optional<TurnTable> TurnTables::compute(Value value) {
  const Type type = value.getType();
  if (!type.isIntOrIndex() || (!type.isIndex() && type.getIntOrFloatBitWidth() > 64))
    return std::nullopt;
  if (const std::optional<int64_t> constant = getConstantIntValue(value))
    return TurnTable{{}, {asOfType(*constant, type)}};
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofTurns(argument);
  Operation* op = value.getDefiningOp();
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return ofVariable(load);
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || op->getNumOperands() == 0)
    return std::nullopt;
  SmallVector<TurnTable> operands;
  for (Value operand : op->getOperands()) {
    std::optional<TurnTable> table = of(operand);
    if (!table)
      return std::nullopt;
    operands.push_back(*std::move(table));
  }
  return result(op, operands);
}

std::optional<TurnTable> TurnTables::ofVariable(tile::LoadOp load) {
  const std::optional<TurnTable> table = turnsOfCounter(load);
  if (table)
    assumeCounters(load.getValue(), ranges);
  return table || !hasVariables ? table : turnsOfVariable(load);
}

std::optional<TurnTable> TurnTables::ofTurns(BlockArgument induction) {
  auto loop = dyn_cast<tile::ForOp>(induction.getOwner()->getParentOp());
  const std::optional<int64_t> lower = loop ? getConstantIntValue(loop.getLower()) : std::nullopt,
                               step = loop ? getConstantIntValue(loop.getStep()) : std::nullopt;
  constexpr int64_t most = int64_t{1} << 31;
  if (!lower || !step || *step < 1 || *step > most || std::abs(*lower) > most)
    return std::nullopt;
  return TurnTable{{loop}, {*lower}, *step};
}

std::optional<TurnTable> TurnTables::result(Operation* op, ArrayRef<TurnTable> operands) {
  std::vector<Operation*> loops;
  int64_t common = 1;
  for (const TurnTable& operand : operands) {
    if (operand.isConstant())
      continue;
    if (!loops.empty() && loops != operand.loops)
      return sumOfLoops(op, operands);
    loops = operand.loops;
    common = std::lcm(common, operand.period());
  }
  if (loops.empty())
    return resultsOf(op, operands, {}, 1);
  if (const std::optional<int64_t> turns = turnsToRepeat(op, operands, common)) {
    std::optional<TurnTable> table = resultsOf(op, operands, loops, *turns);
    const std::optional<int64_t> next = integerResult(op, numbersAt(operands, *turns));
    if (!table || !next)
      return std::nullopt;
    table->drift = *next - table->values.front();
    return table;
  }
  const std::optional<int64_t> all = allTurns(loops);
  return all ? resultsOf(op, operands, loops, *all) : std::nullopt;
}

/// Of several loops: a sum of their numbers.
std::optional<TurnTable> TurnTables::sumOfLoops(Operation* op, ArrayRef<TurnTable> operands) {
  constexpr int64_t mostTimes = 8;
  if (!isa<arith::AddIOp>(op) || mayWrap(op->getResult(0)))
    return std::nullopt;
  const TurnTable &a = operands[0], &b = operands[1];
  if (a.period() != 1 || b.period() != 1 || a.drift < 1 || b.drift < 1)
    return std::nullopt;
  const int64_t unit = std::gcd(a.drift, b.drift);
  TurnTable sum{{}, {a.values[0] + b.values[0]}, unit};
  for (const TurnTable* each : {&a, &b}) {
    if (each->drift / unit > mostTimes)
      return std::nullopt;
    for (int64_t times = 0; times < each->drift / unit; ++times)
      sum.loops.insert(sum.loops.end(), each->loops.begin(), each->loops.end());
  }
  std::ranges::sort(sum.loops);
  return sum;
}

/// After how many turns, a multiple of `common`, an operation gives the same as before, or always the same more.
std::optional<int64_t> TurnTables::turnsToRepeat(Operation* op, ArrayRef<TurnTable> operands,
                                                 int64_t common) {
  const auto drifts = [&](size_t number) { return driftIn(operands[number], common) != 0; };
  const bool isAnyDrifting =
      llvm::any_of(operands, [](const TurnTable& operand) { return operand.drift != 0; });
  const auto times = [&](int64_t factor) -> std::optional<int64_t> {
    return factor <= kMostInTable / common ? std::optional(common * factor) : std::nullopt;
  };
  if (!isAnyDrifting)
    return times(1);
  // How often until a drift is a multiple of something.
  const auto untilMultiple = [&](size_t number, int64_t of) {
    return times(of / std::gcd(of, driftIn(operands[number], common)));
  };
  const auto constantAt = [&](size_t number) {
    return operands[number].isConstant() ? std::optional(operands[number].values[0]) : std::nullopt;
  };
  // As numbers without a sign, those below 0 lie above all others.
  auto compare = dyn_cast<arith::CmpIOp>(op);
  const bool hasNoSigns = isa<arith::ExtUIOp, arith::IndexCastUIOp>(op) ||
                          (compare && comparesWithoutSigns(compare.getPredicate()));
  if (hasNoSigns && !llvm::all_of(operands, isNeverNegative))
    return std::nullopt;
  switch (driftRuleOf(op)) {
  case DriftRule::Sum:
  case DriftRule::Cast:
    return mayWrap(op->getResult(0)) ? std::nullopt : times(1);
  case DriftRule::Product: {
    const bool isByConstant = constantAt(1) || (constantAt(0) && isa<arith::MulIOp>(op));
    return !isByConstant || mayWrap(op->getResult(0)) ? std::nullopt : times(1);
  }
  case DriftRule::Quotient: {
    const bool isShift = isa<arith::ShRSIOp, arith::ShRUIOp>(op);
    const std::optional<int64_t> by = constantAt(1);
    const bool isRoundedDown =
        isNeverNegative(operands[0]) || isa<arith::FloorDivSIOp, arith::ShRSIOp>(op);
    if (!by || !isRoundedDown || (isShift ? *by < 0 || *by > 30 : *by < 1))
      return std::nullopt;
    return untilMultiple(0, isShift ? int64_t{1} << *by : *by);
  }
  case DriftRule::Bits: {
    const size_t moved = constantAt(1) ? 0 : 1;
    const std::optional<int64_t> bits = constantAt(1 - moved);
    if (!bits || *bits < 0 || *bits >= int64_t{1} << 30)
      return std::nullopt;
    return untilMultiple(moved, int64_t(llvm::PowerOf2Ceil(uint64_t(*bits) + 1)));
  }
  case DriftRule::Comparison:
    return driftIn(operands[0], common) == driftIn(operands[1], common) ? times(1) : std::nullopt;
  case DriftRule::Choice:
    return !drifts(0) && driftIn(operands[1], common) == driftIn(operands[2], common)
               ? times(1)
               : std::nullopt;
  case DriftRule::None:
    return std::nullopt;
  }
  return std::nullopt;
}

/// Whether a result may have no room in its type.
bool TurnTables::mayWrap(Value value) {
  const unsigned width = value.getType().isIndex() ? 64 : value.getType().getIntOrFloatBitWidth();
  const IndexRange range = ranges.rangeOf(value);
  return width < 64 && (range.low <= llvm::minIntN(width) || range.high >= llvm::maxIntN(width));
}

} // namespace tilewright::ascend
