// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/index_terms.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/turning_variables.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <map>
#include <numeric>

namespace tilewright::ascend {

using namespace mlir;

namespace {

unsigned widthOf(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// Whether nothing asks for a number, under any type, but loops that end there and what stands in them.
bool isOnlyEnd(Value value, Value end) {
  return llvm::all_of(value.getUses(), [&](OpOperand& use) {
    Operation* user = use.getOwner();
    if (isa<arith::IndexCastOp, arith::ExtSIOp>(user))
      return isOnlyEnd(user->getResult(0), end);
    const auto endsThere = [&](Operation* op) {
      auto loop = dyn_cast<tile::ForOp>(op);
      if (!loop)
        return false;
      Value upper = loop.getUpper();
      while (upper != end &&
             isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(upper.getDefiningOp()))
        upper = upper.getDefiningOp()->getOperand(0);
      return upper == end;
    };
    if (endsThere(user))
      return use.getOperandNumber() == 1;
    for (Operation* around = user->getParentOp(); around; around = around->getParentOp())
      if (endsThere(around))
        return true;
    return false;
  });
}

} // namespace

IndexSum& IndexSum::operator+=(const IndexSum& other) {
  constant += other.constant;
  terms.insert(terms.end(), other.terms.begin(), other.terms.end());
  return *this;
}

IndexSum& IndexSum::operator*=(int64_t factor) {
  constant *= factor;
  for (model::Term& term : terms)
    term.bytes *= factor;
  return *this;
}

void IndexSum::simplify() {
  using Key = std::tuple<unsigned, int64_t, int64_t, std::vector<unsigned>, std::vector<int64_t>,
                         std::vector<unsigned>, unsigned>;
  std::map<Key, int64_t> factors;
  for (const model::Term& term : terms)
    factors[{term.loop, term.modulus, term.shift, term.others, term.table, term.values,
             term.variable}] += term.bytes;
  terms.clear();
  for (const auto& [key, factor] : factors)
    if (const auto& [loop, modulus, shift, others, table, values, variable] = key; factor != 0)
      terms.push_back({loop, factor, modulus, shift, others, table, values, variable});
}

bool IndexSum::isZero() const {
  IndexSum simple = *this;
  simple.simplify();
  return constant == 0 && simple.terms.empty();
}

/// Behind casts that leave the number as it is: to a wider type, or to one that has room for all that the
/// number can be.
Value IndexTerms::withoutCasts(Value value) {
  while (Operation* op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp>(op))
      break;
    const Value from = op->getOperand(0);
    const bool isUnsigned = isa<arith::IndexCastUIOp, arith::ExtUIOp>(op);
    const unsigned width = widthOf(from.getType()), room = widthOf(value.getType());
    const bool isKept = isUnsigned || room < width
                            ? ranges.rangeOf(from).isWithin(isUnsigned ? 0 : llvm::minIntN(room),
                                                            llvm::maxIntN(room))
                            : true;
    if (!isKept)
      break;
    value = from;
  }
  return value;
}

/// Whether an operation's result may have no room in its type, and be another number.
bool IndexTerms::mayWrap(Value value) {
  const unsigned width = widthOf(value.getType());
  const IndexRange range = ranges.rangeOf(value);
  return width < 64 && (range.low == llvm::minIntN(width) || range.high == llvm::maxIntN(width));
}

/// What a number can be in the loops around a branch.
IndexRange IndexTerms::rangeInBranch(Value value) {
  IndexRange range = ranges.rangeOf(value);
  for (const auto& [end, least] : entered)
    if (end == withoutCasts(value))
      range.low = std::max(range.low, least);
  return range;
}

/// Whether a sum or difference in a branch has room in its type for all that it can be there.
bool IndexTerms::fitsInBranch(Operation* op) {
  const unsigned width = widthOf(op->getResult(0).getType());
  if (!isInBranch || width > 32 || !isa<arith::AddIOp, arith::SubIOp>(op))
    return false;
  const IndexRange left = rangeInBranch(op->getOperand(0)),
                   right = rangeInBranch(op->getOperand(1));
  constexpr int64_t least = llvm::minIntN(32), most = llvm::maxIntN(32);
  if (!left.isWithin(least, most) || !right.isWithin(least, most))
    return false;
  const bool isSum = isa<arith::AddIOp>(op);
  const IndexRange result{left.low + (isSum ? right.low : -right.high),
                          left.high + (isSum ? right.high : -right.low)};
  return result.isWithin(llvm::minIntN(width), llvm::maxIntN(width));
}

void IndexTerms::enterLoop(Value lower, Value upper) {
  entered.emplace_back(withoutCasts(upper), ranges.rangeOf(lower).low + 1);
}

std::optional<IndexTerms::EndWithout> IndexTerms::takenFromEnd(Value lower, Value upper) {
  constexpr int64_t most = int64_t{1} << 16;
  const Value end = withoutCasts(upper);
  Operation* op = end.getDefiningOp();
  const std::optional<int64_t> first = getConstantIntValue(lower);
  if (!first || std::abs(*first) > most || !isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) ||
      !end.getType().isInteger(32) || !mayWrap(end))
    return std::nullopt;
  const std::optional<int64_t> by = getConstantIntValue(withoutCasts(op->getOperand(1)));
  const int64_t less = !by ? 0 : isa<arith::SubIOp>(op) ? *by : -*by;
  if (less < 1 || less > most || !isOnlyEnd(end, end))
    return std::nullopt;
  return EndWithout{op->getOperand(0), less};
}

std::optional<IndexSum> IndexTerms::ofEnd(Value lower, Value upper) {
  const std::optional<EndWithout> taken = takenFromEnd(lower, upper);
  std::optional<IndexSum> sum = of(taken ? taken->number : upper);
  if (taken && sum) {
    sum->constant -= taken->less;
    ends[withoutCasts(upper)] = *sum;
  }
  return taken && !sum ? of(upper) : sum;
}

std::optional<IndexSum> IndexTerms::inBranch(Value value) {
  isInBranch = true;
  std::optional<IndexSum> sum = of(value);
  isInBranch = false;
  return sum;
}

void IndexTerms::addLoop(Value induction, unsigned node, std::optional<IndexSum> lower,
                         std::optional<int64_t> step) {
  loops[induction] = {node, std::move(lower), step};
}

IndexTerms::IndexTerms(func::FuncOp kernel) {
  assumeArgumentBounds(kernel, ranges);
  assumeArgumentBounds(kernel, rangesNotEmpty);
  kernel.walk([&](tile::LoadOp load) {
    assumeCounters(load.getValue(), ranges);
    assumeCounters(load.getValue(), rangesNotEmpty);
  });
  for (const BlockArgument argument : kernel.getArguments())
    if (auto type = dyn_cast<tile::BufferType>(argument.getType()); type && type.isGlobal())
      neverWritten.insert(argument);
  isOfVectorsAlone = true;
  kernel.walk([&](Operation* op) {
    auto instruction = dyn_cast<npu::Instruction>(op);
    auto scope = dyn_cast<ScopeOp>(op);
    if ((instruction && instruction.getAgent() == Agent::Cube) ||
        (scope && scope.getAgent() == Agent::Cube))
      isOfVectorsAlone = false;
    SmallVector<npu::Access> accesses;
    if (instruction)
      instruction.getAccesses(accesses);
    for (const npu::Access& access : accesses)
      if (access.isWrite)
        neverWritten.erase(npu::storageOf(access.buffer));
  });
}

std::optional<IndexSum> IndexTerms::of(Value value) {
  value = withoutCasts(value);
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return IndexSum{*constant, {}};
  if (const auto end = ends.find(value); isInBranch && end != ends.end())
    return end->second;
  if (std::optional<IndexSum> sum = compute(value))
    return sum;
  if (std::optional<IndexSum> sum = unchanging(value))
    return sum;
  if (std::optional<IndexSum> sum = inTurns(value))
    return sum;
  if (std::optional<IndexSum> sum = counted(value))
    return sum;
  if (isOffset && ofVariable)
    if (std::optional<IndexSum> sum = ofVariable(value, toucher))
      return sum;
  return isOffset ? between(value) : std::nullopt;
}

/// Of an argument plus a constant, say, which isn't where it would be if it had wrapped round: what stands before `op` has
/// asked for that.
std::optional<IndexSum> IndexTerms::unwrappedAt(Operation* op, Value value) {
  constexpr int64_t most = int64_t{1} << 16;
  const Value narrow = withoutCasts(value);
  Operation* sum = narrow.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(sum) || !narrow.getType().isInteger(32) ||
      !mayWrap(narrow))
    return std::nullopt;
  const std::optional<int64_t> by = getConstantIntValue(withoutCasts(sum->getOperand(1)));
  if (!by || std::abs(*by) > most)
    return std::nullopt;
  const int64_t more = isa<arith::SubIOp>(sum) ? -*by : *by;
  const IndexRange here = boundedRangeAt(op, value);
  if (more > 0 ? here.low < llvm::minIntN(32) + more : here.high > llvm::maxIntN(32) + more)
    return std::nullopt;
  std::optional<IndexSum> number = of(sum->getOperand(0));
  return number ? std::optional(*number += IndexSum{more, {}}) : std::nullopt;
}

std::optional<IndexSum> IndexTerms::offsetAt(Operation* op, Value value) {
  isOffset = true;
  toucher = op;
  std::optional<IndexSum> sum = unwrappedAt(op, value);
  sum = sum ? std::move(sum) : of(value);
  isOffset = false;
  if (!sum || !op->getParentOfType<scf::IfOp>())
    return sum;
  for (const auto& [symbol, number] : symbols) {
    const auto isIt = [&, number = number](const model::Term& term) {
      return term.loop == number && term.modulus == 0;
    };
    if (!symbol.getDefiningOp<VectorIdOp>() || llvm::none_of(sum->terms, isIt))
      continue;
    const IndexRange here = rangeAt(op, symbol);
    if (here.low != here.high)
      continue;
    for (model::Term& term : sum->terms) {
      sum->constant += isIt(term) ? term.bytes * here.low : 0;
      term.shift += llvm::count(term.values, number) * here.low;
      llvm::erase(term.values, number);
      if (term.loop == model::kNone && term.values.empty())
        sum->constant += term.bytes * term.ofRest(term.shift % term.modulus);
    }
    llvm::erase_if(sum->terms, [&](const model::Term& term) {
      return isIt(term) || (term.loop == model::kNone && term.values.empty());
    });
  }
  return sum;
}

std::optional<IndexSum> IndexTerms::compute(Value value) {
  if (auto loop = loops.find(value); loop != loops.end()) {
    if (!loop->second.lower || !loop->second.step)
      return std::nullopt;
    IndexSum sum = *loop->second.lower;
    sum.terms.push_back({loop->second.node, *loop->second.step, 0, 0});
    return sum;
  }
  if (const auto once = onces.find(value); once != onces.end())
    return once->second;
  Operation* op = value.getDefiningOp();
  if (!op || (!isa<arith::XOrIOp>(op) && mayWrap(value) && !fitsInBranch(op)))
    return std::nullopt;
  const auto constantAt = [&](unsigned operand) {
    return getConstantIntValue(withoutCasts(op->getOperand(operand)));
  };
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    std::optional<IndexSum> left = of(op->getOperand(0)), right = of(op->getOperand(1));
    if (!left || !right)
      return std::nullopt;
    return *left += *right *= isa<arith::AddIOp>(op) ? 1 : -1;
  }
  if (isa<arith::MulIOp, arith::ShLIOp>(op)) {
    const bool isShift = isa<arith::ShLIOp>(op);
    const unsigned factor = !isShift && constantAt(0) ? 0 : 1;
    std::optional<IndexSum> sum = of(op->getOperand(1 - factor));
    if (!constantAt(factor) || !sum)
      return std::nullopt;
    return *sum *= isShift ? int64_t{1} << *constantAt(factor) : *constantAt(factor);
  }
  if (isa<arith::XOrIOp>(op))
    return isOffset && constantAt(1) ? turnedBits(op->getOperand(0), *constantAt(1)) : std::nullopt;
  if (isa<arith::RemSIOp, arith::RemUIOp>(op) && constantAt(1)) {
    std::optional<IndexSum> sum =
        modulo(op->getOperand(0), *constantAt(1), /*isRoundedDown=*/false);
    return sum || isa<arith::RemUIOp>(op) ? sum : signedRemainder(op, *constantAt(1));
  }
  if (isa<arith::AndIOp>(op) && constantAt(1) && llvm::isPowerOf2_64(*constantAt(1) + 1))
    return modulo(op->getOperand(0), *constantAt(1) + 1, /*isRoundedDown=*/true);
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op) && constantAt(1))
    return quotient(op, *constantAt(1));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (arith::RemSIOp rest = flooredRemainder(select); rest && getConstantIntValue(rest.getRhs()))
      return modulo(rest.getLhs(), *getConstantIntValue(rest.getRhs()), /*isRoundedDown=*/true);
  return std::nullopt;
}

/// As a table of a few turns, or as what each turn adds to.
/// Of an offset that comes again but for what all its turns add, `i ^ 1` in a long loop: whether that is as much in each.
bool IndexTerms::goesOnEvenly(const TurnTable& table) const {
  return isOffset && table.drift != 0 && table.drift % table.period() == 0;
}

std::optional<IndexSum> IndexTerms::inTurns(Value value) {
  std::optional<TurnTable> table = tables.of(value);
  const bool isLinear = table && table->drift && table->period() == 1;
  if (table && !isLinear)
    if (std::optional<TurnTable> written = withoutDrift(*table); written || !goesOnEvenly(*table))
      table = std::move(written);
  if (!table)
    return std::nullopt;
  std::vector<unsigned> nodes;
  for (Operation* loop : table->loops) {
    auto once = dyn_cast<tile::ForOp>(loop);
    if (const std::optional<unsigned> node = nodeOf(loop))
      nodes.push_back(*node);
    else if (!once || !onces.contains(once.getInductionVar()))
      return std::nullopt;
  }
  if (nodes.empty())
    return IndexSum{table->values.front(), {}};
  if (isLinear) {
    IndexSum sum{table->values.front(), {}};
    for (const unsigned node : nodes)
      sum.terms.push_back({node, table->drift});
    return sum;
  }
  IndexSum sum;
  if (const int64_t step = table->drift / table->period(); step != 0) { // and from turn to turn
    for (const unsigned node : nodes)
      sum.terms.push_back({node, step});
    for (int64_t turn = 0; turn < table->period(); ++turn)
      table->values[size_t(turn)] -= step * turn;
  }
  llvm::sort(nodes);
  model::Term term{nodes.front(), 1, table->period(), 0, {nodes.begin() + 1, nodes.end()}};
  for (int64_t turn = 0; turn < table->period(); ++turn)
    if (table->values[size_t(turn)] != turn)
      term.table = table->values;
  sum.terms.push_back(std::move(term));
  return sum;
}

/// Nothing of what is no loop there.
std::optional<unsigned> IndexTerms::nodeOf(Operation* loop) const {
  auto counted = dyn_cast<tile::ForOp>(loop);
  if (const auto found = counted ? loops.find(counted.getInductionVar()) : loops.end();
      found != loops.end())
    return found->second.node;
  const auto open = openLoops.find(loop);
  return open != openLoops.end() ? std::optional(open->second) : std::nullopt;
}

bool IndexTerms::isTurning(tile::LoadOp load) {
  return tables.of(load.getValue()) || countedRead(load);
}

/// Of a variable that a loop counts up from any number on.
std::optional<IndexSum> IndexTerms::counted(Value value) {
  auto load = value.getDefiningOp<tile::LoadOp>();
  const std::optional<CountedRead> read = load ? countedRead(load) : std::nullopt;
  const std::optional<unsigned> node = read ? nodeOf(read->loop) : std::nullopt;
  std::optional<IndexSum> sum = node ? of(read->start) : std::nullopt;
  if (sum) {
    sum->constant += read->ahead;
    sum->terms.push_back({*node, read->step});
  }
  return sum;
}

std::optional<IndexSum> IndexTerms::unchanging(Value value) {
  if (!isUnchanging(value))
    return std::nullopt;
  return IndexSum{0, {{numberOf(value), 1, 0, 0}}};
}

/// As a number modulo how many it can be, of which nobody knows the remainder.
std::optional<IndexSum> IndexTerms::between(Value value) {
  constexpr int64_t most = int64_t{1} << 30;
  const IndexRange range = ranges.rangeOf(value);
  if (!range.isWithin(-most, most))
    return std::nullopt;
  IndexSum sum{range.low, {}};
  if (range.low != range.high)
    sum.terms.push_back({numberOf(value), 1, range.high - range.low + 1, 0});
  return sum;
}

unsigned IndexTerms::numberOf(Value value) {
  return numberIn(symbols, value, ranges.rangeOf(value), rangesNotEmpty.rangeOf(value));
}

unsigned IndexTerms::numberIn(llvm::DenseMap<Value, unsigned>& numbers, Value value,
                              IndexRange range, IndexRange rangeNotEmpty) {
  const auto [found, isNew] = numbers.try_emplace(value, firstSymbol + symbolRanges.size());
  if (isNew) {
    symbolRanges.push_back(range);
    symbolRangesNotEmpty.push_back(rangeNotEmpty);
  }
  return found->second;
}

model::Values IndexTerms::valueRanges() const {
  constexpr int64_t most = int64_t{1} << 30;
  model::Values result;
  for (const auto& [number, range] : llvm::enumerate(symbolRanges))
    if (range.isWithin(-most, most))
      result[firstSymbol + unsigned(number)] = {range.low, range.high};
  return result;
}

model::Condition IndexTerms::condition(model::Comparison kind, const IndexSum& sum) {
  // Sums of such products have room.
  constexpr int64_t most = int64_t{1} << 60, mostFactor = int64_t{1} << 18;
  IndexSum simple = sum;
  simple.simplify();
  model::Condition result{kind, simple.constant, {}};
  for (const model::Term& term : simple.terms) {
    if (term.loop < firstSymbol)
      result.terms.push_back(term);
    else if (std::abs(term.bytes) <= mostFactor)
      result.values.push_back(term);
    else
      return {kind, -most, {}, 2 * most}; // of which nothing is known
  }
  return result;
}

/// A loop from `l` in steps of `s` makes `n` turns to its end `l + length`: length = s * n - d, where d is from 0 to
/// s - 1. With e of them still to come behind the one of number i, i = n - 1 - e. So c * i, where c = k * s, is
/// k * (length + d) - c - c * e; and the sum knows the end if k * length takes away all that nothing is known of.
std::optional<model::Condition> IndexTerms::conditionOnEnd(model::Comparison kind, IndexSum sum,
                                                           const model::Term& counter,
                                                           IndexSum length, int64_t step) const {
  sum.simplify();
  const auto isCounter = [&](const model::Term& term) {
    return term.loop == counter.loop && term.modulus == 0;
  };
  const auto isSymbol = [](const model::Term& term) { return term.loop >= firstSymbol; };
  const auto found = llvm::find_if(sum.terms, isCounter);
  if (found == sum.terms.end() || found->bytes % step != 0 || llvm::none_of(sum.terms, isSymbol))
    return std::nullopt;
  const int64_t bytes = found->bytes, times = bytes / step;
  sum.terms.erase(found);
  sum += length *= times;
  sum.simplify();
  if (llvm::any_of(sum.terms, isSymbol))
    return std::nullopt;
  model::Condition result = condition(kind, sum);
  result.constant += std::min(times, int64_t{0}) * (step - 1) - bytes;
  result.spread += std::abs(times) * (step - 1);
  result.left.push_back({counter.loop, -bytes});
  return result;
}

bool IndexTerms::isAboveZero(const IndexSum& sum, bool isIfNotEmpty) {
  constexpr int64_t most = int64_t{1} << 50, mostFactor = int64_t{1} << 8;
  IndexSum simple = sum;
  simple.simplify();
  int64_t least = simple.constant;
  for (const model::Term& term : simple.terms) {
    if (term.loop < firstSymbol || std::abs(term.bytes) > mostFactor)
      return false;
    const unsigned number = term.loop - firstSymbol;
    const IndexRange range = (isIfNotEmpty ? symbolRangesNotEmpty : symbolRanges)[number];
    const int64_t end = term.bytes > 0 ? range.low : range.high;
    if (std::abs(end / 2) > most)
      return false;
    least += term.bytes * end;
  }
  return least > 0;
}

/// Whether an element is the same number wherever a core uses it: one that is read once in a run, or at one place of a
/// tensor that nothing writes.
bool IndexTerms::isOneNumber(Operation* op) {
  auto get = dyn_cast<npu::GetValueOp>(op);
  if (!get)
    return false;
  const Value storage = npu::storageOf(get.getSource());
  if (neverWritten.contains(storage) && isUnchanging(get.getSourceOffset()))
    return true;
  if (!isOfVectorsAlone)
    return false;
  Operation* around = op->getParentOp();
  while (isa<scf::IfOp, ScopeOp>(around))
    around = around->getParentOp();
  return isa<tile::LaunchOp>(around);
}

/// A constant, an argument, a block's id, such an element, or computed from such.
bool IndexTerms::isUnchanging(Value value) {
  if (auto known = unchangingValues.find(value); known != unchangingValues.end())
    return known->second;
  bool result = false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    result = isa<func::FuncOp, tile::LaunchOp>(argument.getOwner()->getParentOp());
  } else {
    Operation* op = value.getDefiningOp();
    const bool isPlain = isPure(op) || isa<tile::DimOp, VectorIdOp>(op);
    result =
        isOneNumber(op) ||
        (isPlain && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isUnchanging(operand); }));
  }
  unchangingValues[value] = result;
  return result;
}

} // namespace tilewright::ascend
