// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/meeting_proof.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/argument_bounds.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <array>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// More pairs of a kernel, or steps for one of them, take longer than flags are worth.
constexpr unsigned kMostPairsAsked = 200, kMostStepsAsked = 400;
/// Numbers beyond are not followed.
constexpr int64_t kFarthest = int64_t{1} << 50;
constexpr int64_t kLineBytes = 64;

LinearSum constantSum(int64_t number) {
  return {.constant = number, .factors = {}};
}

/// Who runs two statements.
struct Runners {
  bool areOneCore = false;
  bool areInOneTurn = true; ///< of the loops around both
  /// The vector cores, if that is known.
  std::optional<std::array<int64_t, 2>> vids = std::nullopt;
};

/// What must hold for two statements to run, and touch the same.
class Question {
public:
  Question(IndexRanges& ranges, Operation* earlier, Operation* later, const Runners& runners)
      : ranges(ranges), statements{earlier, later}, runners(runners) {
    for (unsigned side : {0U, 1U})
      requireRun(side);
  }

  bool isImpossible() const {
    return set.areImpossible(kMostStepsAsked);
  }

  void requireNotEmpty(const npu::Access& access, unsigned side) {
    if (access.region)
      for (const OpFoldResult extent : access.region->extents)
        set.require(sumOf(extent, side).plus(constantSum(-1)));
  }

  /// That both touch one element. Of parts of which too little is known, nothing.
  void requireSame(const npu::Access& first, const npu::Access& second) {
    if (first.buffer != second.buffer || first.type().getStrided())
      return; // elements of a view may be other ones
    const std::optional<LinearSum> a = elementOf(first, 0), b = elementOf(second, 1);
    if (a && b)
      set.requireZero(a->plus(*b, -1));
  }

private:
  static constexpr unsigned shared = 2;
  using Key = std::pair<void*, unsigned>; ///< a value, and whose: of a statement, or of both

  void requireRun(unsigned side) {
    Operation* inner = statements[side];
    for (Operation* op = inner->getParentOp(); op && !isa<func::FuncOp>(op);
         inner = op, op = op->getParentOp()) {
      if (auto loop = dyn_cast<tile::ForOp>(op)) {
        sumOf(loop.getInductionVar(), side);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        const bool isThen = branch.getThenRegion().isAncestor(inner->getParentRegion());
        requireIf(branch.getCondition(), isThen, side);
      }
    }
  }

  /// Says nothing of what it doesn't know.
  void requireIf(Value condition, bool holds, unsigned side) {
    Operation* op = condition.getDefiningOp();
    if ((holds && isa_and_nonnull<arith::AndIOp>(op)) ||
        (!holds && isa_and_nonnull<arith::OrIOp>(op))) {
      for (const Value operand : op->getOperands())
        requireIf(operand, holds, side);
      return;
    }
    auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
    if (!compare || compare.getLhs().getType().isInteger(1))
      return;
    const LinearSum left = sumOf(compare.getLhs(), side), right = sumOf(compare.getRhs(), side);
    const auto atLeast = [&](const LinearSum& a, const LinearSum& b, int64_t more) {
      return a.plus(b, -1).plus(constantSum(-more));
    };
    arith::CmpIPredicate predicate = compare.getPredicate();
    predicate = holds ? predicate : arith::invertPredicate(predicate);
    switch (predicate) {
    case arith::CmpIPredicate::eq:
      return set.requireZero(left.plus(right, -1));
    case arith::CmpIPredicate::ne:
      return set.requireOne({{atLeast(left, right, 1)}, {atLeast(right, left, 1)}});
    case arith::CmpIPredicate::slt:
      return set.require(atLeast(right, left, 1));
    case arith::CmpIPredicate::sle:
      return set.require(atLeast(right, left, 0));
    case arith::CmpIPredicate::sgt:
      return set.require(atLeast(left, right, 1));
    case arith::CmpIPredicate::sge:
      return set.require(atLeast(left, right, 0));
    case arith::CmpIPredicate::ult: // of a number that may be negative, with one that isn't
      if (ranges.rangeOf(compare.getRhs()).low < 0)
        return;
      set.require(left);
      return set.require(atLeast(right, left, 1));
    default:
      return;
    }
  }

  /// Which element an access touches, counted as they lie in memory: any of its part.
  std::optional<LinearSum> elementOf(const npu::Access& access, unsigned side) {
    if (!access.region) {
      const auto bits = static_cast<int64_t>(access.type().getElementBits());
      if (!access.offset || ShapedType::isDynamic(access.bytes) || access.rows || bits % 8 != 0)
        return std::nullopt;
      // The scalar unit's cache has whole lines, which begin anywhere in a tensor.
      const int64_t count = access.bytes * 8 / bits, line = kLineBytes * 8 / bits;
      const LinearSum beside = numberBelow(constantSum(count + 2 * (line - 1)));
      return sumOf(access.offset, side).plus(beside).plus(constantSum(1 - line));
    }
    LinearSum element;
    int64_t pitch = 1;
    for (size_t dim = access.region->offsets.size(); dim-- > 0;) {
      if (pitch <= 0 || pitch > kFarthest)
        return std::nullopt;
      element.add(sumOf(access.region->offsets[dim], side), pitch);
      element.add(numberBelow(sumOf(access.region->extents[dim], side)), pitch);
      const int64_t size = access.type().getShape()[dim];
      pitch = ShapedType::isDynamic(size) || llvm::MulOverflow(pitch, size, pitch) ? -1 : pitch;
    }
    return element;
  }

  /// Any number from 0 to below `count`.
  LinearSum numberBelow(const LinearSum& count) {
    const LinearSum number = IntegerChoices::of(set.addVariable());
    set.require(number);
    set.require(count.plus(number, -1).plus(constantSum(-1)));
    return number;
  }

  LinearSum sumOf(OpFoldResult number, unsigned side) {
    if (const std::optional<int64_t> fixed = getConstantIntValue(number))
      return constantSum(*fixed);
    return sumOf(cast<Value>(number), side);
  }

  LinearSum sumOf(Value value, unsigned side) {
    if (const std::optional<int64_t> fixed = getConstantIntValue(value))
      return constantSum(*fixed);
    if (runners.vids && value.getDefiningOp<VectorIdOp>())
      return constantSum((*runners.vids)[side]);
    const Key key{value.getAsOpaquePointer(), isShared(value) ? shared : side};
    if (const auto known = sums.find(key); known != sums.end())
      return known->second;
    const IndexRange range = ranges.rangeOf(value);
    std::optional<LinearSum> sum;
    if (isFollowed(value, range))
      sum = computed(value, side);
    else if (Operation* op = value.getDefiningOp();
             isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
      sum = wrapped(op, side);
    if (!sum) {
      sum = IntegerChoices::of(set.addVariable());
      requireRange(*sum, range);
    }
    if (auto loop = loopOf(value); loop && getConstantIntValue(loop.getStep()).value_or(0) > 0) {
      set.require(sum->plus(sumOf(loop.getLower(), side), -1));
      set.require(sumOf(loop.getUpper(), side).plus(*sum, -1).plus(constantSum(-1)));
    }
    return sums[key] = *sum;
  }

  void requireRange(const LinearSum& sum, const IndexRange& range) {
    if (range.low > -kFarthest)
      set.require(sum.plus(constantSum(-range.low)));
    if (range.high < kFarthest)
      set.require(constantSum(range.high).plus(sum, -1));
  }

  /// Whether arithmetic gives the number itself: nothing wraps round.
  static bool isFollowed(Value value, const IndexRange& range) {
    if (!range.isWithin(-kFarthest, kFarthest))
      return false;
    const Type type = value.getType();
    const unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    const bool isOneOfThem = isa_and_nonnull<arith::MaxSIOp, arith::MinSIOp, arith::ShRSIOp>(
        value.getDefiningOp()); // or nearer to 0
    return width == 64 || isOneOfThem ||
           (range.low > llvm::minIntN(width) && range.high < llvm::maxIntN(width));
  }

  /// Of 32 bits or less: the number itself, or as much more or less as the type has numbers.
  std::optional<LinearSum> wrapped(Operation* op, unsigned side) {
    const Type type = op->getResult(0).getType();
    const unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    if (width > 32)
      return std::nullopt;
    const LinearSum exact =
        sumOf(op->getOperand(0), side)
            .plus(sumOf(op->getOperand(1), side), isa<arith::AddIOp>(op) ? 1 : -1);
    LinearSum result = IntegerChoices::of(set.addVariable());
    requireRange(result, {llvm::minIntN(width), llvm::maxIntN(width)});
    std::vector<std::vector<LinearSum>> choices;
    for (const int64_t times : {0, 1, -1}) {
      const LinearSum zero =
          result.plus(exact, -1).plus(constantSum(times * (int64_t{1} << width)));
      choices.push_back({zero, LinearSum().plus(zero, -1)});
    }
    set.requireOne(std::move(choices));
    return result;
  }

  /// What arithmetic makes of other numbers; nothing if that isn't followed.
  std::optional<LinearSum> computed(Value value, unsigned side) {
    Operation* op = value.getDefiningOp();
    if (!op || op->getNumRegions() != 0 || op->getNumOperands() == 0 || op->getNumOperands() > 2)
      return std::nullopt;
    const auto operand = [&](unsigned number) { return sumOf(op->getOperand(number), side); };
    if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
      return isKept(op) ? std::optional(operand(0)) : std::nullopt;
    if (isa<arith::AddIOp>(op))
      return operand(0).plus(operand(1));
    if (isa<arith::SubIOp>(op))
      return operand(0).plus(operand(1), -1);
    if (isa<arith::MaxSIOp>(op))
      return greatestOf(operand(0), operand(1), 1);
    if (isa<arith::MinSIOp>(op))
      return greatestOf(operand(0), operand(1), -1);
    const std::optional<int64_t> fixed =
        op->getNumOperands() == 2 ? getConstantIntValue(op->getOperand(1)) : std::nullopt;
    if (!fixed || *fixed < 0 || *fixed > kFarthest)
      return std::nullopt;
    if (isa<arith::MulIOp>(op))
      return LinearSum().plus(operand(0), *fixed);
    return *fixed > 0 && *fixed < 50 ? ofShifts(op, *fixed, side) : ofDivisions(op, *fixed, side);
  }

  std::optional<LinearSum> ofShifts(Operation* op, int64_t fixed, unsigned side) {
    if (isa<arith::ShLIOp>(op))
      return LinearSum().plus(sumOf(op->getOperand(0), side), int64_t{1} << fixed);
    if (isa<arith::ShRSIOp>(op))
      return quotient(sumOf(op->getOperand(0), side), int64_t{1} << fixed);
    return ofDivisions(op, fixed, side);
  }

  std::optional<LinearSum> ofDivisions(Operation* op, int64_t fixed, unsigned side) {
    const LinearSum divided = sumOf(op->getOperand(0), side);
    const bool isNotNegative = ranges.rangeOf(op->getOperand(0)).low >= 0;
    if (isa<arith::AndIOp>(op) && llvm::isPowerOf2_64(static_cast<uint64_t>(fixed) + 1))
      return divided.plus(quotient(divided, fixed + 1), -(fixed + 1));
    if (fixed < 1)
      return std::nullopt;
    if (isa<arith::FloorDivSIOp>(op) || (isNotNegative && isa<arith::DivSIOp, arith::DivUIOp>(op)))
      return quotient(divided, fixed);
    if (isNotNegative && isa<arith::RemSIOp, arith::RemUIOp>(op))
      return divided.plus(quotient(divided, fixed), -fixed);
    return std::nullopt;
  }

  /// Rounded down.
  LinearSum quotient(const LinearSum& divided, int64_t divisor) {
    const LinearSum result = IntegerChoices::of(set.addVariable());
    const LinearSum rest = divided.plus(result, -divisor);
    set.require(rest);
    set.require(constantSum(divisor - 1).plus(rest, -1));
    return result;
  }

  /// With the sign -1, the least.
  LinearSum greatestOf(const LinearSum& a, const LinearSum& b, int64_t sign) {
    const LinearSum result = IntegerChoices::of(set.addVariable());
    const auto above = [&](const LinearSum& sum) {
      return LinearSum().plus(result, sign).plus(sum, -sign);
    };
    set.require(above(a));
    set.require(above(b));
    set.requireOne({{LinearSum().plus(above(a), -1)}, {LinearSum().plus(above(b), -1)}});
    return result;
  }

  bool isKept(Operation* op) {
    const Type type = op->getResult(0).getType();
    if (type.isIndex())
      return true;
    const unsigned width = type.getIntOrFloatBitWidth();
    return ranges.rangeOf(op->getOperand(0)).isWithin(llvm::minIntN(width), llvm::maxIntN(width));
  }

  static tile::ForOp loopOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto loop =
        argument ? dyn_cast<tile::ForOp>(argument.getOwner()->getParentOp()) : tile::ForOp();
    return loop && loop.getInductionVar() == value ? loop : tile::ForOp();
  }

  /// Whether a value is the same for both statements: not what is read from memory, nor, on different cores, what a
  /// vector core's number has a part in, nor, in different turns, what their numbers have.
  bool isShared(Value value) {
    if (const auto known = sharing.find(value); known != sharing.end())
      return known->second;
    bool isSo = false;
    if (auto loop = loopOf(value)) {
      isSo = runners.areInOneTurn && loop->isAncestor(statements[0]) &&
             loop->isAncestor(statements[1]);
    } else if (auto argument = dyn_cast<BlockArgument>(value)) {
      isSo = isa<func::FuncOp, tile::LaunchOp>(argument.getOwner()->getParentOp());
    } else {
      Operation* op = value.getDefiningOp();
      isSo = (runners.areOneCore || !isa<VectorIdOp>(op)) && (isPure(op) || isa<tile::DimOp>(op)) &&
             op->getNumRegions() == 0 &&
             llvm::all_of(op->getOperands(), [&](Value each) { return isShared(each); });
    }
    sharing[value] = isSo;
    return isSo;
  }

  IndexRanges& ranges;
  std::array<Operation*, 2> statements;
  Runners runners;
  IntegerChoices set;
  std::map<Key, LinearSum> sums;
  llvm::DenseMap<Value, bool> sharing;
};

bool isFixed(OpFoldResult number) {
  return getConstantIntValue(number).has_value();
}

bool areNeverSame(Question question, const npu::Access& first, const npu::Access& second) {
  question.requireNotEmpty(first, 0);
  question.requireNotEmpty(second, 1);
  question.requireSame(first, second);
  return question.isImpossible();
}

} // namespace

MeetingProof::MeetingProof(func::FuncOp kernel) {
  assumeArgumentBounds(kernel, ranges);
}

bool MeetingProof::isDecidedByNumbers(Operation* op, const npu::Access& access) {
  if (access.region && !llvm::all_of(access.region->extents, isFixed))
    return true;
  for (Operation* around = op->getParentOp(); around && !isa<func::FuncOp>(around);
       around = around->getParentOp()) {
    auto loop = dyn_cast<tile::ForOp>(around);
    if (isa<scf::IfOp>(around) || (loop && !(isFixed(loop.getLower()) && isFixed(loop.getUpper()))))
      return true;
  }
  return false;
}

bool MeetingProof::areApart(Operation* earlier, const npu::Access& first, Operation* later,
                            const npu::Access& second, bool areOfOneCore) {
  if (questions == kMostPairsAsked)
    return false;
  ++questions;
  return areNeverSame({ranges, earlier, later, {.areOneCore = areOfOneCore}}, first, second);
}

bool MeetingProof::areApartOnVectors(int64_t vid, Operation* op, const npu::Access& access,
                                     Operation* other, const npu::Access& itsAccess) {
  if (questions == kMostPairsAsked)
    return false;
  ++questions;
  const Runners runners{.areInOneTurn = false, .vids = std::array{vid, 1 - vid}};
  return areNeverSame({ranges, op, other, runners}, access, itsAccess);
}

} // namespace tilewright::ascend
