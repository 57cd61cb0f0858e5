// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/index_ranges.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>

using namespace mlir;

namespace tilewright {
namespace {

/// Chains of arithmetic deeper than this are taken as unknown: the recursion must not overflow the
/// stack.
constexpr unsigned kMaxDepth = 64;

IndexRange constant(int64_t value) {
  return {value, value};
}

IndexRange intersect(IndexRange left, IndexRange right) {
  IndexRange result{std::max(left.low, right.low), std::min(left.high, right.high)};
  // Facts that contradict each other stand in dead code: any answer is right.
  return result.low <= result.high ? result : left;
}

IndexRange unite(IndexRange left, IndexRange right) {
  return {std::min(left.low, right.low), std::max(left.high, right.high)};
}

/// What a value of this type can be at all.
IndexRange rangeOfType(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.getWidth() >= 64)
    return {};
  if (integer.getWidth() == 1)
    return {0, 1};
  return {llvm::minIntN(integer.getWidth()), llvm::maxIntN(integer.getWidth())};
}

bool isBounded(IndexRange range) {
  return range.low != IndexRange::kLowest && range.high != IndexRange::kHighest;
}

using Combine = bool (*)(int64_t, int64_t, int64_t&); // true on overflow

/// The hull of an operation, monotonic in each operand, over the ends of two ranges.
IndexRange combineEnds(IndexRange left, IndexRange right, Combine combine) {
  if (!isBounded(left) || !isBounded(right))
    return {};
  std::array<int64_t, 4> ends{};
  size_t count = 0;
  for (int64_t a : {left.low, left.high})
    for (int64_t b : {right.low, right.high})
      if (combine(a, b, ends[count++]))
        return {};
  return {*std::min_element(ends.begin(), ends.end()), *std::max_element(ends.begin(), ends.end())};
}

/// Division by a constant of at least 1, or of what is not negative by what isn't either, which is 0 where that is 0;
/// `divide` is monotonic.
IndexRange divide(IndexRange left, IndexRange right, int64_t (*quotient)(int64_t, int64_t)) {
  if (right.low != right.high && left.low >= 0 && right.low >= 0)
    return {0, left.high == IndexRange::kHighest
                   ? left.high
                   : quotient(left.high, std::max<int64_t>(right.low, 1))};
  if (right.low != right.high || right.low < 1)
    return {};
  IndexRange result;
  if (left.low != IndexRange::kLowest)
    result.low = quotient(left.low, right.low);
  if (left.high != IndexRange::kHighest)
    result.high = quotient(left.high, right.low);
  return result;
}

int64_t truncating(int64_t a, int64_t b) {
  return a / b;
}
int64_t flooring(int64_t a, int64_t b) {
  return llvm::divideFloorSigned(a, b);
}
int64_t ceiling(int64_t a, int64_t b) {
  return llvm::divideCeilSigned(a, b);
}

IndexRange remainder(IndexRange left, IndexRange right) {
  // A remainder of nothing is at most what is divided.
  if (right.low < 0 || (right.low == 0 && left.low < 0))
    return {};
  if (right.low == right.high && left.low >= 0 && left.low / right.low == left.high / right.low)
    return {left.low % right.low, left.high % right.low};
  int64_t most =
      right.high == IndexRange::kHighest ? right.high : std::max<int64_t>(right.high - 1, 0);
  if (left.low >= 0)
    return {0, std::min(left.high, most)};
  return {most == IndexRange::kHighest ? IndexRange::kLowest : -most, most};
}

/// A result that its type cannot hold wraps around.
IndexRange fitInto(IndexRange range, Type type) {
  IndexRange limits = rangeOfType(type);
  return range.isWithin(limits.low, limits.high) ? range : limits;
}

/// An unsigned operation is the signed one where no operand is negative.
bool areNonNegative(IndexRange left, IndexRange right) {
  return left.low >= 0 && right.low >= 0;
}

bool addOverflow(int64_t a, int64_t b, int64_t& sum) {
  return llvm::AddOverflow(a, b, sum);
}
bool subOverflow(int64_t a, int64_t b, int64_t& difference) {
  return llvm::SubOverflow(a, b, difference);
}
bool mulOverflow(int64_t a, int64_t b, int64_t& product) {
  return llvm::MulOverflow(a, b, product);
}

IndexRange computeBinary(Operation* op, IndexRange left, IndexRange right) {
  bool natural = areNonNegative(left, right);
  return llvm::TypeSwitch<Operation*, IndexRange>(op)
      .Case([&](arith::AddIOp) { return combineEnds(left, right, addOverflow); })
      .Case([&](arith::SubIOp) { return combineEnds(left, right, subOverflow); })
      .Case([&](arith::MulIOp) { return combineEnds(left, right, mulOverflow); })
      .Case([&](arith::DivSIOp) { return divide(left, right, truncating); })
      .Case([&](arith::FloorDivSIOp) { return divide(left, right, flooring); })
      .Case([&](arith::CeilDivSIOp) { return divide(left, right, ceiling); })
      .Case([&](arith::ShRSIOp) {
        const bool isKnown = right.low == right.high && right.low >= 0 && right.low < 62;
        return isKnown ? divide(left, {int64_t(1) << right.low, int64_t(1) << right.low}, flooring)
                       : IndexRange();
      })
      .Case(
          [&](arith::DivUIOp) { return natural ? divide(left, right, truncating) : IndexRange(); })
      .Case(
          [&](arith::CeilDivUIOp) { return natural ? divide(left, right, ceiling) : IndexRange(); })
      .Case([&](arith::RemSIOp) { return remainder(left, right); })
      .Case([&](arith::RemUIOp) { return natural ? remainder(left, right) : IndexRange(); })
      .Case([&](arith::MinSIOp) {
        return IndexRange{std::min(left.low, right.low), std::min(left.high, right.high)};
      })
      .Case([&](arith::MaxSIOp) {
        return IndexRange{std::max(left.low, right.low), std::max(left.high, right.high)};
      })
      .Case([&](arith::AndIOp) {
        if (left.low == left.high && right.low == right.high)
          return constant(left.low & right.low);
        // A mask that is not negative bounds the result, whatever the other side is.
        if (right.low >= 0)
          return IndexRange{0, left.low >= 0 ? std::min(left.high, right.high) : right.high};
        return left.low >= 0 ? IndexRange{0, left.high} : IndexRange();
      })
      .Default([](Operation*) { return IndexRange(); });
}

/// Of `i * count + first`, where i counts to ceildiv(total - first, count): total. So work is dealt out
/// in turn, and the number is below total.
Value dealtFrom(arith::AddIOp sum) {
  auto product = sum.getLhs().getDefiningOp<arith::MulIOp>();
  const Value first = sum.getRhs();
  auto number = product ? dyn_cast<BlockArgument>(product.getLhs()) : nullptr;
  auto loop = number ? dyn_cast<tile::ForOp>(number.getOwner()->getParentOp()) : nullptr;
  auto turns = loop ? loop.getUpper().getDefiningOp<arith::CeilDivSIOp>() : nullptr;
  auto left = turns ? turns.getLhs().getDefiningOp<arith::SubIOp>() : nullptr;
  if (!left || left.getRhs() != first || getConstantIntValue(loop.getStep()) != 1)
    return {};
  const std::optional<int64_t> count = getConstantIntValue(product.getRhs());
  return count && *count > 0 && getConstantIntValue(turns.getRhs()) == count ? left.getLhs()
                                                                             : Value();
}

} // namespace

/// Whether `condition` is `rest < 0`; with a divisor of any sign, `(rest ^ divisor) < 0 & rest != 0`.
static bool isOtherSign(Value condition, arith::RemSIOp rest, bool isPositive) {
  const auto compares = [](Value value, arith::CmpIPredicate predicate) {
    auto comparison = value.getDefiningOp<arith::CmpIOp>();
    const bool isIt = comparison && comparison.getPredicate() == predicate &&
                      getConstantIntValue(comparison.getRhs()) == 0;
    return isIt ? comparison.getLhs() : Value();
  };
  if (isPositive)
    return compares(condition, arith::CmpIPredicate::slt) == rest;
  auto both = condition.getDefiningOp<arith::AndIOp>();
  Value signs = both ? compares(both.getLhs(), arith::CmpIPredicate::slt) : Value();
  auto differ = signs ? signs.getDefiningOp<arith::XOrIOp>() : arith::XOrIOp();
  return differ && differ.getLhs() == rest && differ.getRhs() == rest.getRhs() &&
         compares(both.getRhs(), arith::CmpIPredicate::ne) == rest;
}

arith::RemSIOp flooredRemainder(arith::SelectOp choice) {
  auto rest = choice.getFalseValue().getDefiningOp<arith::RemSIOp>();
  auto corrected = choice.getTrueValue().getDefiningOp<arith::AddIOp>();
  if (!rest || !corrected || corrected.getLhs() != rest)
    return {};
  const std::optional<int64_t> divisor = getConstantIntValue(rest.getRhs());
  const bool isSame = corrected.getRhs() == rest.getRhs() ||
                      (divisor && getConstantIntValue(corrected.getRhs()) == divisor);
  return isSame && isOtherSign(choice.getCondition(), rest, divisor && *divisor > 0)
             ? rest
             : arith::RemSIOp();
}

Value IndexRanges::symbolOf(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  auto dim = value.getDefiningOp<tile::DimOp>();
  const Value symbol = dim ? symbolOf(dim.getBuffer(), dim.getDim()) : Value();
  return symbol ? symbol : value;
}

Value IndexRanges::symbolOf(Value tensor, uint64_t dim) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto function =
      argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function)
    return {};
  auto map = dyn_cast_or_null<AffineMapAttr>(
      function.getArgAttr(argument.getArgNumber(), tile::kShapeAttr));
  if (!map || map.getAffineMap().getNumResults() <= dim)
    return {};
  auto symbol = dyn_cast<AffineSymbolExpr>(map.getAffineMap().getResult(unsigned(dim)));
  if (!symbol)
    return {};
  unsigned position = 0;
  for (BlockArgument other : function.getArguments())
    if (function.getArgAttr(other.getArgNumber(), tile::kSymbolAttr) &&
        position++ == symbol.getPosition())
      return other;
  return {};
}

// Places
// ------------------------------------------------------------------------------------------------

void IndexRanges::enter(Region& region) {
  scopes.push_back(facts.size());
  if (auto branch = dyn_cast<scf::IfOp>(region.getParentOp()))
    learn(branch.getCondition(), &region == &branch.getThenRegion());
}

void IndexRanges::leave() {
  if (facts.size() != scopes.back()) {
    facts.resize(scopes.back());
    known.clear();
  }
  scopes.pop_back();
}

void IndexRanges::assume(Value value, IndexRange range) {
  facts.push_back({value, range, {}});
  known.clear();
}

void IndexRanges::learn(Value condition, bool holds) {
  Operation* op = condition.getDefiningOp();
  if (!op)
    return;
  bool splits = holds ? isa<arith::AndIOp>(op) : isa<arith::OrIOp>(op);
  if (splits) {
    learn(op->getOperand(0), holds);
    learn(op->getOperand(1), holds);
  } else if (isa<arith::CmpIOp>(op)) {
    learnComparison(op, holds);
  }
}

void IndexRanges::learnComparison(Operation* op, bool holds) {
  using Predicate = arith::CmpIPredicate;
  auto comparison = cast<arith::CmpIOp>(op);
  Predicate predicate =
      holds ? comparison.getPredicate() : arith::invertPredicate(comparison.getPredicate());
  Value left = comparison.getLhs(), right = comparison.getRhs();
  if (predicate == Predicate::sgt || predicate == Predicate::sge || predicate == Predicate::ugt ||
      predicate == Predicate::uge) {
    std::swap(left, right);
    predicate = predicate == Predicate::sgt   ? Predicate::slt
                : predicate == Predicate::sge ? Predicate::sle
                : predicate == Predicate::ugt ? Predicate::ult
                                              : Predicate::ule;
  }
  IndexRange a = rangeOf(left), b = rangeOf(right);
  size_t before = facts.size();
  bool isUnsigned = predicate == Predicate::ult || predicate == Predicate::ule;
  bool isStrict = predicate == Predicate::slt || predicate == Predicate::ult;
  if (predicate == Predicate::eq) {
    facts.push_back({left, b, {}});
    facts.push_back({right, a, {}});
  } else if (predicate == Predicate::slt || predicate == Predicate::sle ||
             (isUnsigned && b.low >= 0)) {
    // Unsigned and below something that is not negative: not negative itself.
    int64_t lowest = isUnsigned ? 0 : IndexRange::kLowest;
    bool isOpen = b.high == IndexRange::kHighest || b.high == IndexRange::kLowest;
    facts.push_back({left,
                     {lowest, isOpen ? b.high : b.high - (isStrict ? 1 : 0)},
                     isStrict ? right : Value()});
    if (!isUnsigned && a.low != IndexRange::kLowest && a.low != IndexRange::kHighest)
      facts.push_back({right, {a.low + (isStrict ? 1 : 0), IndexRange::kHighest}, {}});
  }
  if (facts.size() != before)
    known.clear();
}

// Values
// ------------------------------------------------------------------------------------------------

IndexRange IndexRanges::rangeOf(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  if (depth == kMaxDepth)
    return rangeOfType(value.getType());
  ++depth;
  IndexRange range = fitInto(compute(value), value.getType());
  --depth;
  for (const Fact& fact : facts)
    if (fact.value == value)
      range = intersect(range, fact.range);
  known[value] = range;
  return range;
}

bool IndexRanges::isBelow(Value value, Value limit) {
  limit = symbolOf(limit);
  for (const Fact& fact : facts)
    if (fact.value == value && fact.below && symbolOf(fact.below) == limit)
      return true;
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  Operation* parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto loop = dyn_cast<tile::ForOp>(parent))
    return symbolOf(loop.getUpper()) == limit;
  if (auto launch = dyn_cast<tile::LaunchOp>(parent))
    return symbolOf(launch.getGrid()[number]) == limit;
  if (auto nest = dyn_cast<tile::ParallelOp>(parent)) {
    auto extent = dyn_cast<Value>(nest.getMixedExtents()[number]);
    return extent && symbolOf(extent) == limit;
  }
  return false;
}

static std::optional<bool> inverse(std::optional<bool> truth) {
  return truth ? std::optional(!*truth) : std::nullopt;
}

/// Whether a < b.
static std::optional<bool> isLess(IndexRange a, IndexRange b) {
  if (a.high < b.low)
    return true;
  return a.low >= b.high ? std::optional(false) : std::nullopt;
}

static std::optional<bool> compare(arith::CmpIPredicate predicate, IndexRange a, IndexRange b) {
  using Predicate = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::eq:
    if (a.low == a.high && a == b)
      return true;
    return a.high < b.low || b.high < a.low ? std::optional(false) : std::nullopt;
  case Predicate::ne:
    return inverse(compare(Predicate::eq, a, b));
  case Predicate::slt:
    return isLess(a, b);
  case Predicate::sle:
    return inverse(isLess(b, a));
  case Predicate::sgt:
    return isLess(b, a);
  case Predicate::sge:
    return inverse(isLess(a, b));
  case Predicate::ult:
    return areNonNegative(a, b) ? isLess(a, b) : std::nullopt;
  case Predicate::ule:
    return areNonNegative(a, b) ? inverse(isLess(b, a)) : std::nullopt;
  case Predicate::ugt:
    return areNonNegative(a, b) ? isLess(b, a) : std::nullopt;
  case Predicate::uge:
    return areNonNegative(a, b) ? inverse(isLess(a, b)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<bool> IndexRanges::truthOf(Value condition) {
  if (const std::optional<int64_t> fixed = getConstantIntValue(condition))
    return *fixed != 0;
  Operation* op = condition.getDefiningOp();
  if (!op || depth == kMaxDepth)
    return std::nullopt;
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    return compare(comparison.getPredicate(), rangeOf(comparison.getLhs()),
                   rangeOf(comparison.getRhs()));
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return std::nullopt;
  ++depth;
  const std::optional<bool> left = truthOf(op->getOperand(0)), right = truthOf(op->getOperand(1));
  --depth;
  if (isa<arith::XOrIOp>(op))
    return left && right ? std::optional(*left != *right) : std::nullopt;
  const bool decisive = isa<arith::OrIOp>(op); // one side that is so decides
  if (left == decisive || right == decisive)
    return decisive;
  return left && right ? std::optional(!decisive) : std::nullopt;
}

/// 0 to one less than the largest that `extent` can be.
static IndexRange counted(IndexRange extent) {
  return {0, extent.high == IndexRange::kHighest ? extent.high
                                                 : std::max<int64_t>(extent.high - 1, 0)};
}

IndexRange IndexRanges::computeArgument(BlockArgument argument) {
  Operation* parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto function = dyn_cast<FunctionOpInterface>(parent))
    return function.getArgAttr(number, tile::kSymbolAttr) ? IndexRange{leastDim, kLargestDim}
                                                          : IndexRange();
  if (auto launch = dyn_cast<tile::LaunchOp>(parent)) {
    IndexRange block = counted(rangeOf(launch.getGrid()[number]));
    if (launch.getNpu()) // the runtime refuses more
      block.high = std::min<int64_t>(block.high, std::numeric_limits<int32_t>::max());
    return block;
  }
  if (auto nest = dyn_cast<tile::ParallelOp>(parent)) {
    OpFoldResult extent = nest.getMixedExtents()[number];
    std::optional<int64_t> fixed = getConstantIntValue(extent);
    return counted(fixed ? constant(*fixed) : rangeOf(cast<Value>(extent)));
  }
  if (auto loop = dyn_cast<tile::ForOp>(parent)) {
    IndexRange lower = rangeOf(loop.getLower());
    IndexRange upper = rangeOf(loop.getUpper());
    if (upper.high == IndexRange::kHighest)
      return {lower.low, upper.high};
    const std::optional<int64_t> first = getConstantIntValue(loop.getLower());
    const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    int64_t last = std::max(lower.low, upper.high - 1);
    if (first && step && *step > 0 && getConstantIntValue(loop.getUpper()))
      last -= (last - *first) % *step;
    return {lower.low, last};
  }
  return {};
}

IndexRange IndexRanges::compute(Value value) {
  if (std::optional<int64_t> fixed = getConstantIntValue(value))
    return constant(*fixed);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeArgument(argument);
  Operation* op = value.getDefiningOp();
  if (auto thread = dyn_cast<tile::ThreadIdOp>(op)) {
    auto launch = op->getParentOfType<tile::LaunchOp>();
    ArrayRef<int64_t> threads = launch ? launch.getThreads() : ArrayRef<int64_t>();
    return {0, thread.getDim() < threads.size() ? threads[thread.getDim()] - 1 : 0};
  }
  if (isa<ascend::VectorIdOp>(op))
    return {0, 1};
  if (auto range = op->getAttrOfType<DenseI64ArrayAttr>(tile::kRangeAttr))
    return {range[0], range[1]};
  if (auto dim = dyn_cast<tile::DimOp>(op)) {
    Value symbol = symbolOf(value);
    return symbol == value ? IndexRange{leastDim, kLargestDim} : rangeOf(symbol);
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return rangeOf(op->getOperand(0));
  if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op)) {
    IndexRange from = rangeOf(op->getOperand(0));
    unsigned width = op->getOperand(0).getType().isIndex()
                         ? 64
                         : op->getOperand(0).getType().getIntOrFloatBitWidth();
    if (from.low >= 0)
      return from;
    return width < 63 ? IndexRange{0, (int64_t(1) << width) - 1} : IndexRange();
  }
  if (auto choice = dyn_cast<arith::SelectOp>(op)) {
    arith::RemSIOp rest = flooredRemainder(choice);
    const IndexRange divisor = rest ? rangeOf(rest.getRhs()) : IndexRange();
    if (rest && divisor.low >= 0) {
      // Both have the divisor's sign, but for that of a divisor of 0.
      const IndexRange plain = rangeOf(rest);
      if (plain.low >= 0)
        return plain;
      if (divisor.low > 0 && divisor.high != IndexRange::kHighest)
        return {0, divisor.high - 1};
    }
    if (const std::optional<bool> truth = truthOf(choice.getCondition()))
      return rangeOf(*truth ? choice.getTrueValue() : choice.getFalseValue());
    return unite(rangeOf(choice.getTrueValue()), rangeOf(choice.getFalseValue()));
  }
  if (auto sum = dyn_cast<arith::AddIOp>(op))
    if (const Value total = dealtFrom(sum)) {
      const IndexRange plain = computeBinary(op, rangeOf(sum.getLhs()), rangeOf(sum.getRhs()));
      const int64_t most = rangeOf(total).high;
      return {plain.low,
              most == IndexRange::kHighest ? plain.high : std::min(plain.high, most - 1)};
    }
  if (op->getNumOperands() == 2 && op->getNumResults() == 1 &&
      isa<arith::ArithDialect>(op->getDialect()) && value.getType().isIntOrIndex())
    return computeBinary(op, rangeOf(op->getOperand(0)), rangeOf(op->getOperand(1)));
  return {};
}

IndexRanges rangesIn(Region* region) {
  SmallVector<Region*> around;
  for (; region; region = region->getParentRegion())
    around.push_back(region);
  IndexRanges ranges;
  for (Region* each : llvm::reverse(around))
    ranges.enter(*each);
  return ranges;
}

IndexRange rangeAt(Operation* place, OpFoldResult number) {
  if (std::optional<int64_t> fixed = getConstantIntValue(number))
    return constant(*fixed);
  return rangesIn(place->getParentRegion()).rangeOf(cast<Value>(number));
}

} // namespace tilewright
