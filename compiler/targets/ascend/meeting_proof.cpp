// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/meeting_proof.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <llvm/ADT/TypeSwitch.h>

#include <array>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// Numbers beyond are not followed.
constexpr int64_t kFarthest = int64_t{1} << 50;
/// What arithmetic in 64 bits gives is followed as far as nothing wraps round.
constexpr int64_t kWidest = int64_t{1} << 62;
constexpr int64_t kLineBytes = 64;

LinearSum constantSum(int64_t number) {
  return {.constant = number, .factors = {}};
}

/// Who runs two statements.
struct Runners {
  bool areOneCore = false;
  std::optional<MeetingProof::Turns> turns = std::nullopt; ///< if something is known of them
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
    if (runners.turns && runners.turns->same < runners.turns->loops.size())
      if (auto loop = dyn_cast<tile::ForOp>(runners.turns->loops[runners.turns->same]))
        requireTwoTurns(loop);
  }

  bool isImpossible(unsigned mostSteps) const {
    return set.areImpossible(mostSteps);
  }

  void requireNotEmpty(const npu::Access& access, unsigned side) {
    if (access.region)
      for (const OpFoldResult extent : access.region->extents)
        set.require(sumOf(extent, side).plus(constantSum(-1)));
  }

  /// That both touch one element. Of parts of which too little is known, nothing.
  void requireSame(const npu::Access& first, const npu::Access& second) {
    if (npu::storageOf(first.buffer) != npu::storageOf(second.buffer) ||
        first.type().getStrided() || second.type().getStrided())
      return;
    const std::optional<LinearSum> a = elementOf(first, 0), b = elementOf(second, 1);
    if (!a || !b)
      return;
    // A view may have elements of another width.
    const auto bitsOf = [](const npu::Access& access) {
      return static_cast<int64_t>(access.type().getElementBits());
    };
    LinearSum difference;
    for (const auto& [element, access, sign] :
         {std::tuple(&*a, &first, 1), std::tuple(&*b, &second, -1)}) {
      difference.add(*element, sign * bitsOf(*access));
      if (bitsOf(first) != bitsOf(second))
        difference.add(numberBelow(constantSum(bitsOf(*access))), sign);
    }
    set.requireZero(difference);
    // Of two rows that loops choose, the one is behind the other by a whole number of rows.
    std::map<int64_t, LinearSum> steps;
    for (const auto& [variable, factor] : difference.factors)
      steps[std::abs(factor)].add(IntegerChoices::of(variable, factor > 0 ? 1 : -1));
    for (auto& [factor, sum] : steps)
      if (factor > 1 && sum.factors.size() > 1)
        set.askForInteger(std::move(sum));
  }

  /// That the kernel doesn't stop at what checks its parts of a tile before it comes to the statements: within each dim, or
  /// without an element.
  void requireParts(const npu::Access& access, unsigned side) {
    auto tile = npu::storageOf(access.buffer).getDefiningOp<tile::AllocOp>();
    if (!tile || !tile.getSymName())
      return;
    requireChecks(side,
                  [&](npu::CheckPartOp check) { return check.getTile() == *tile.getSymName(); });
  }

  /// The same of all parts that the core checks itself and with which a number has to do that branches around a statement
  /// ask for.
  void requireAskedParts(unsigned side) {
    constexpr unsigned most = 8;
    llvm::SmallPtrSet<void*, 8> asked;
    for (Operation* op = statements[side]; op && !isa<func::FuncOp>(op); op = op->getParentOp())
      if (auto branch = dyn_cast<scf::IfOp>(op))
        forEachSource(branch.getCondition(),
                      [&](Value value) { asked.insert(value.getAsOpaquePointer()); });
    unsigned count = 0;
    const std::optional<Agent> agent = cast<npu::Instruction>(statements[side]).getAgent();
    requireChecks(side, [&](npu::CheckPartOp check) {
      bool isAsked = false;
      if (check.getOn() != agent)
        return false;
      for (const Value number : check.getPart())
        forEachSource(number,
                      [&](Value value) { isAsked |= asked.contains(value.getAsOpaquePointer()); });
      return isAsked && ++count <= most;
    });
  }

private:
  static constexpr unsigned shared = 2;
  using Key = std::pair<void*, unsigned>; ///< a value, and whose: of a statement, or of both

  void requireTwoTurns(tile::ForOp loop) {
    const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    if (!step || *step < 1)
      return;
    const LinearSum apart =
        sumOf(loop.getInductionVar(), 1).plus(sumOf(loop.getInductionVar(), 0), -1);
    set.requireOne({{apart.plus(constantSum(-*step))},
                    {LinearSum().plus(apart, -1).plus(constantSum(-*step))}});
  }

  template <typename IsWanted> void requireChecks(unsigned side, IsWanted isWanted) {
    for (Operation* inner = statements[side]; !isa<func::FuncOp>(inner->getParentOp());
         inner = inner->getParentOp())
      for (auto check : inner->getBlock()->getOps<npu::CheckPartOp>())
        if (check.getTensor().empty() && !check.getTransposed() && check->isBeforeInBlock(inner) &&
            isWanted(check))
          requirePart(check, side);
  }

  /// Of what a number is computed: what isn't computed itself.
  template <typename Visit> static void forEachSource(Value number, Visit visit) {
    SmallVector<Value> open{number};
    llvm::SmallPtrSet<void*, 16> seen;
    while (!open.empty()) {
      const Value value = open.pop_back_val();
      if (!seen.insert(value.getAsOpaquePointer()).second || getConstantIntValue(value))
        continue;
      Operation* op = value.getDefiningOp();
      if (op && isPure(op) && op->getNumOperands() > 0 && op->getNumRegions() == 0)
        llvm::append_range(open, op->getOperands());
      else
        visit(value);
    }
  }

  void requirePart(npu::CheckPartOp check, unsigned side) {
    std::vector<LinearSum> isWithin;
    std::vector<std::vector<LinearSum>> choices;
    for (auto [dim, size] : llvm::enumerate(check.getShape())) {
      const LinearSum first = sumOf(check.getPart()[2 * dim], side),
                      extent = sumOf(check.getPart()[2 * dim + 1], side);
      if (first.factors.empty() && extent.factors.empty())
        continue;
      isWithin.push_back(first);
      isWithin.push_back(constantSum(size).plus(first, -1).plus(extent, -1));
      if (!extent.factors.empty())
        choices.push_back({LinearSum().plus(extent, -1)});
    }
    choices.push_back(std::move(isWithin));
    if (choices.size() > 1)
      return set.requireOne(std::move(choices));
    for (LinearSum& sum : choices.front())
      set.require(std::move(sum));
  }

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

  /// Of which all sums of one aren't negative; nothing where not all of that is known.
  using Choices = std::vector<std::vector<LinearSum>>;

  /// Says nothing of what it doesn't know.
  void requireIf(Value condition, bool holds, unsigned side) {
    Operation* op = condition.getDefiningOp();
    if ((holds && isa_and_nonnull<arith::AndIOp>(op)) ||
        (!holds && isa_and_nonnull<arith::OrIOp>(op))) {
      for (const Value operand : op->getOperands())
        requireIf(operand, holds, side);
      return;
    }
    requireAny(choicesOf(condition, holds, side));
  }

  void requireAny(std::optional<Choices> choices) {
    if (!choices)
      return;
    if (choices->size() != 1)
      return set.requireOne(*std::move(choices));
    for (LinearSum& sum : choices->front())
      set.require(std::move(sum));
  }

  std::optional<Choices> choicesOf(Value condition, bool holds, unsigned side) {
    Operation* op = condition.getDefiningOp();
    if (isa_and_nonnull<arith::XOrIOp>(op) && getConstantIntValue(op->getOperand(1)))
      return choicesOf(op->getOperand(0), !holds, side);
    if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op) && isa<arith::AndIOp>(op) == holds) {
      const std::optional<Choices> left = choicesOf(op->getOperand(0), holds, side),
                                   right = choicesOf(op->getOperand(1), holds, side);
      if (!left || !right)
        return left ? left : right;
      constexpr size_t most = 16;
      return left->size() * right->size() > most ? left : bothOf(*left, *right);
    }
    if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
      std::optional<Choices> left = choicesOf(op->getOperand(0), holds, side),
                             right = choicesOf(op->getOperand(1), holds, side);
      if (!left || !right)
        return std::nullopt;
      llvm::append_range(*left, *right);
      return left;
    }
    auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
    if (!compare || compare.getLhs().getType().isInteger(1))
      return std::nullopt;
    return choicesOf(compare, holds, side);
  }

  static Choices bothOf(const Choices& left, const Choices& right) {
    Choices both;
    for (const std::vector<LinearSum>& a : left)
      for (const std::vector<LinearSum>& b : right) {
        both.push_back(a);
        llvm::append_range(both.back(), b);
      }
    return both;
  }

  std::optional<Choices> choicesOf(arith::CmpIOp compare, bool holds, unsigned side) {
    const LinearSum left = sumOf(compare.getLhs(), side), right = sumOf(compare.getRhs(), side);
    const auto atLeast = [&](const LinearSum& a, const LinearSum& b, int64_t more) {
      return a.plus(b, -1).plus(constantSum(-more));
    };
    arith::CmpIPredicate predicate = compare.getPredicate();
    predicate = holds ? predicate : arith::invertPredicate(predicate);
    switch (predicate) {
    case arith::CmpIPredicate::eq:
      return Choices{{atLeast(left, right, 0), atLeast(right, left, 0)}};
    case arith::CmpIPredicate::ne:
      return Choices{{atLeast(left, right, 1)}, {atLeast(right, left, 1)}};
    case arith::CmpIPredicate::slt:
      return Choices{{atLeast(right, left, 1)}};
    case arith::CmpIPredicate::sle:
      return Choices{{atLeast(right, left, 0)}};
    case arith::CmpIPredicate::sgt:
      return Choices{{atLeast(left, right, 1)}};
    case arith::CmpIPredicate::sge:
      return Choices{{atLeast(left, right, 0)}};
    case arith::CmpIPredicate::ult: // of a number that may be negative, with one that isn't
      if (ranges.rangeOf(compare.getRhs()).low < 0)
        return std::nullopt;
      return Choices{{left, atLeast(right, left, 1)}};
    default:
      return std::nullopt;
    }
  }

  /// Which element an access touches, counted as they lie in memory: any of its part.
  std::optional<LinearSum> elementOf(const npu::Access& access, unsigned side) {
    if (!access.region && !access.type().isGlobal())
      return elementOfTile(access, side);
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

  std::optional<LinearSum> elementOfTile(const npu::Access& access, unsigned side) {
    const auto bits = static_cast<int64_t>(access.type().getElementBits());
    if (!access.offset || bits % 8 != 0)
      return std::nullopt;
    const LinearSum first = sumOf(access.offset, side);
    const int64_t bytes = bits / 8;
    if (access.rows && access.rows->pitch % bytes == 0)
      return first.plus(numberBelow(constantSum(access.rows->count)), access.rows->pitch / bytes)
          .plus(numberBelow(constantSum(llvm::divideCeil(access.rows->bytes, bytes))));
    if (!ShapedType::isDynamic(access.bytes))
      return first.plus(numberBelow(constantSum(llvm::divideCeil(access.bytes, bytes))));
    const auto counted = [&](auto op) -> std::optional<LinearSum> {
      if (!op.getCount())
        return std::nullopt;
      return first.plus(numberBelow(sumOf(op.getCount(), side)));
    };
    const auto inRows = [&](auto copy) -> std::optional<LinearSum> {
      const tile::BufferRegion region = copy.getGlobalRegion();
      LinearSum element = first.plus(wholeBlocks(region.extents.back(), access, side));
      for (const OpFoldResult extent : ArrayRef(region.extents).drop_back())
        if (!isConstantIntValue(extent, 1))
          element.add(numberBelow(sumOf(extent, side)), int64_t(copy.getPitch()));
      return element;
    };
    return llvm::TypeSwitch<Operation*, std::optional<LinearSum>>(statements[side])
        .Case<npu::UnaryOp, npu::BinaryOp, npu::ScalarOp, npu::CastOp, npu::DuplicateOp>(counted)
        .Case([&](npu::LoadUbOp load) {
          return load.getBefore() ? std::optional<LinearSum>() : inRows(load);
        })
        .Case([&](npu::StoreUbOp store) { return inRows(store); })
        .Default([](Operation*) { return std::nullopt; });
  }

  /// Any element of a row of a copy, which takes whole blocks.
  LinearSum wholeBlocks(OpFoldResult columns, const npu::Access& access, unsigned side) {
    const int64_t unit = npu::blockElements(access.type());
    if (isMultipleOf(columns, unit))
      return numberBelow(sumOf(columns, side));
    const LinearSum blocks = quotient(sumOf(columns, side).plus(constantSum(unit - 1)), unit);
    return numberBelow(LinearSum().plus(blocks, unit));
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
             isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
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
    if (!range.isWithin(-kWidest, kWidest))
      return false;
    const Type type = value.getType();
    const unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    const bool isOneOfThem =
        isa_and_nonnull<arith::MaxSIOp, arith::MinSIOp, arith::ShRSIOp, arith::SelectOp>(
            value.getDefiningOp()); // or nearer to 0
    return width == 64 || isOneOfThem ||
           (range.low > llvm::minIntN(width) && range.high < llvm::maxIntN(width));
  }

  /// Of 32 bits or less: the number itself, or as much more or less as the type has numbers.
  std::optional<LinearSum> wrapped(Operation* op, unsigned side) {
    const Type type = op->getResult(0).getType();
    const unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    const bool isProduct = isa<arith::MulIOp>(op);
    const std::optional<int64_t> factor =
        isProduct ? getConstantIntValue(op->getOperand(1)) : std::nullopt;
    if (width > 32 || (isProduct && !factor))
      return std::nullopt;
    const LinearSum left = sumOf(op->getOperand(0), side);
    const LinearSum exact =
        isProduct ? LinearSum().plus(left, *factor)
                  : left.plus(sumOf(op->getOperand(1), side), isa<arith::AddIOp>(op) ? 1 : -1);
    const LinearSum result = IntegerChoices::of(set.addVariable());
    requireRange(result, {llvm::minIntN(width), llvm::maxIntN(width)});
    const LinearSum more = result.plus(exact, -1);
    Choices choices{{more, LinearSum().plus(more, -1)}};
    for (const int64_t sign : {1, -1}) { // above what there is room for, or below
      const LinearSum times = isProduct ? IntegerChoices::of(set.addVariable()) : constantSum(1);
      const LinearSum zero = more.plus(times, sign * (int64_t{1} << width));
      choices.push_back({zero, LinearSum().plus(zero, -1), times.plus(constantSum(-1))});
    }
    set.requireOne(std::move(choices));
    return result;
  }

  /// What arithmetic makes of other numbers; nothing if that isn't followed.
  std::optional<LinearSum> computed(Value value, unsigned side) {
    Operation* op = value.getDefiningOp();
    if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
      return chosen(select, side);
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
    if (!fixed && isa<arith::MulIOp>(op))
      return product(op, side);
    if (!fixed || *fixed < 0 || *fixed > kFarthest)
      return std::nullopt;
    if (isa<arith::MulIOp>(op))
      return LinearSum().plus(operand(0), *fixed);
    return *fixed > 0 && *fixed < 50 ? ofShifts(op, *fixed, side) : ofDivisions(op, *fixed, side);
  }

  std::optional<LinearSum> chosen(arith::SelectOp select, unsigned side) {
    if (select.getType().isInteger(1))
      return std::nullopt;
    const LinearSum result = IntegerChoices::of(set.addVariable());
    Choices all;
    for (const auto& [value, holds] :
         {std::pair(select.getTrueValue(), true), {select.getFalseValue(), false}}) {
      const LinearSum more = result.plus(sumOf(value, side), -1);
      const std::optional<Choices> when = choicesOf(select.getCondition(), holds, side);
      llvm::append_range(all,
                         bothOf(when.value_or(Choices{{}}), {{more, LinearSum().plus(more, -1)}}));
    }
    set.requireOne(std::move(all));
    return result;
  }

  /// Where one factor is one of few numbers.
  std::optional<LinearSum> productOfFew(Operation* op, unsigned number, unsigned side) {
    constexpr int64_t most = 4;
    const IndexRange range = ranges.rangeOf(op->getOperand(number));
    if (!range.isWithin(-kFarthest, kFarthest) || range.high - range.low >= most)
      return std::nullopt;
    const LinearSum factor = sumOf(op->getOperand(number), side),
                    times = sumOf(op->getOperand(1 - number), side);
    if (factor.factors.empty())
      return LinearSum().plus(times, factor.constant);
    const LinearSum result = IntegerChoices::of(set.addVariable());
    Choices all;
    for (int64_t each = range.low; each <= range.high; ++each) {
      const LinearSum apart = factor.plus(constantSum(-each)), more = result.plus(times, -each);
      all.push_back({apart, LinearSum().plus(apart, -1), more, LinearSum().plus(more, -1)});
    }
    set.requireOne(std::move(all));
    return result;
  }

  /// Of two numbers of which both statements have one: what one more of the other adds.
  std::optional<LinearSum> product(Operation* op, unsigned side) {
    for (const unsigned number : {0U, 1U})
      if (const std::optional<LinearSum> few = productOfFew(op, number, side))
        return few;
    const auto whole = llvm::find_if(op->getOperands(), [&](Value each) { return isShared(each); });
    if (whole == op->operand_end() || isShared(op->getResult(0)))
      return std::nullopt;
    const Value other = op->getOperand(1 - unsigned(whole - op->operand_begin()));
    const LinearSum factor = sumOf(other, side), times = sumOf(*whole, side);
    LinearSum& mine = products[{op, side}] = IntegerChoices::of(set.addVariable());
    requireRange(mine, ranges.rangeOf(op->getResult(0)));
    if (const auto its = products.find({op, 1 - side}); its != products.end()) {
      const LinearSum more = mine.plus(its->second, -1),
                      apart = factor.plus(sumOf(other, 1 - side), -1);
      std::vector<std::vector<LinearSum>> choices{
          {apart, LinearSum().plus(apart, -1), more, LinearSum().plus(more, -1)}};
      for (const int64_t sign : {1, -1})     // of what is more
        for (const int64_t isAbove : {1, 0}) // as large a number, or below 0
          choices.push_back(
              {LinearSum().plus(apart, sign).plus(constantSum(-1)),
               isAbove ? times : LinearSum().plus(times, -1).plus(constantSum(-1)),
               LinearSum().plus(more, isAbove ? sign : -sign).plus(times, isAbove ? -1 : 1)});
      set.requireOne(std::move(choices));
    }
    return mine;
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
      return rest(divided, fixed + 1);
    if (fixed < 1)
      return std::nullopt;
    if (isa<arith::FloorDivSIOp>(op) || (isNotNegative && isa<arith::DivSIOp, arith::DivUIOp>(op)))
      return quotient(divided, fixed);
    if (isNotNegative && isa<arith::RemSIOp, arith::RemUIOp>(op))
      return rest(divided, fixed);
    return std::nullopt;
  }

  /// As a number of its own, which is none between two.
  LinearSum rest(const LinearSum& divided, int64_t divisor) {
    const LinearSum result = IntegerChoices::of(set.addVariable());
    set.requireZero(divided.plus(quotient(divided, divisor), -divisor).plus(result, -1));
    return result;
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

  bool isInOneTurn(tile::ForOp loop) {
    if (!runners.turns)
      return false;
    const auto& [loops, same] = *runners.turns;
    const auto* const found = llvm::find(loops, loop.getOperation());
    if (found != loops.end())
      return found < loops.begin() + same;
    // Of one that makes one turn at most, it is that.
    return loop->isAncestor(statements[0]) && loop->isAncestor(statements[1]) &&
           isShared(loop.getLower());
  }

  static tile::ForOp loopOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto loop =
        argument ? dyn_cast<tile::ForOp>(argument.getOwner()->getParentOp()) : tile::ForOp();
    return loop && loop.getInductionVar() == value ? loop : tile::ForOp();
  }

  /// Whether an operation is done once for both statements: by one core, outside of all loops, or only in such as both
  /// statements are in one turn of.
  bool isOfOneTurn(Operation* op) const {
    if (!runners.areOneCore || !runners.turns)
      return false;
    const auto same = runners.turns->loops.take_front(runners.turns->same);
    Operation* around = op->getParentOp();
    while (isa<scf::IfOp, ScopeOp>(around) || llvm::is_contained(same, around))
      around = around->getParentOp();
    return isa<tile::LaunchOp, func::FuncOp>(around);
  }

  /// Whether a value is the same for both statements: not what each has read from memory, nor, on different cores, what
  /// a vector core's number has a part in, nor, in different turns, what their numbers have.
  bool isShared(Value value) {
    if (const auto known = sharing.find(value); known != sharing.end())
      return known->second;
    bool isSo = false;
    if (auto loop = loopOf(value)) {
      isSo = isInOneTurn(loop);
    } else if (auto argument = dyn_cast<BlockArgument>(value)) {
      isSo = isa<func::FuncOp, tile::LaunchOp>(argument.getOwner()->getParentOp());
    } else {
      Operation* op = value.getDefiningOp();
      isSo = isOfOneTurn(op) ||
             ((runners.areOneCore || !isa<VectorIdOp>(op)) &&
              (isPure(op) || isa<tile::DimOp>(op)) && op->getNumRegions() == 0 &&
              llvm::all_of(op->getOperands(), [&](Value each) { return isShared(each); }));
    }
    sharing[value] = isSo;
    return isSo;
  }

  IndexRanges& ranges;
  std::array<Operation*, 2> statements;
  Runners runners;
  IntegerChoices set;
  std::map<Key, LinearSum> sums;
  std::map<std::pair<Operation*, unsigned>, LinearSum> products; ///< by statement
  llvm::DenseMap<Value, bool> sharing;
};

bool isFixed(OpFoldResult number) {
  return getConstantIntValue(number).has_value();
}

bool areNeverSame(Question question, const npu::Access& first, const npu::Access& second,
                  unsigned mostSteps) {
  for (const auto& [access, side] : {std::pair(&first, 0U), {&second, 1U}}) {
    question.requireNotEmpty(*access, side);
    question.requireParts(*access, side);
  }
  question.requireSame(first, second);
  return question.isImpossible(mostSteps);
}

} // namespace

MeetingProof::MeetingProof(func::FuncOp kernel, Limits limits) : left(limits) {
  assumeArgumentBounds(kernel, ranges);
}

bool MeetingProof::isDecidedByNumbers(Operation* op, const npu::Access& access) {
  if (access.region && !llvm::all_of(access.region->extents, isFixed))
    return true;
  if (!access.region && !access.type().isGlobal() && ShapedType::isDynamic(access.bytes))
    return true;
  for (Operation* around = op->getParentOp(); around && !isa<func::FuncOp>(around);
       around = around->getParentOp()) {
    auto loop = dyn_cast<tile::ForOp>(around);
    if (isa<scf::IfOp>(around) || (loop && !(isFixed(loop.getLower()) && isFixed(loop.getUpper()))))
      return true;
  }
  return false;
}

bool MeetingProof::isFollowedOnChip(Operation* op, const npu::Access& access) {
  if (!ShapedType::isDynamic(access.bytes))
    return true;
  auto load = dyn_cast<npu::LoadUbOp>(op);
  return (load && !load.getBefore()) || isa<npu::StoreUbOp, npu::UnaryOp, npu::BinaryOp,
                                            npu::ScalarOp, npu::CastOp, npu::DuplicateOp>(op);
}

bool MeetingProof::neverRuns(Operation* op, ArrayRef<npu::Access> accesses) {
  if (left.asked == 0)
    return false;
  --left.asked;
  Question question(ranges, op, op, {.areOneCore = true});
  for (const npu::Access& access : accesses)
    question.requireParts(access, 0);
  question.requireAskedParts(0);
  return question.isImpossible(left.steps);
}

bool MeetingProof::areApart(Use earlier, Use later, Turns turns, bool areOfOneCore) {
  if (left.asked == 0)
    return false;
  --left.asked;
  const Runners runners{.areOneCore = areOfOneCore, .turns = turns};
  return areNeverSame({ranges, earlier.op, later.op, runners}, earlier.access, later.access,
                      left.steps);
}

bool MeetingProof::areApartOnVectors(int64_t vid, Operation* op, const npu::Access& access,
                                     Operation* other, const npu::Access& itsAccess) {
  if (left.asked == 0)
    return false;
  --left.asked;
  const Runners runners{.vids = std::array{vid, 1 - vid}};
  return areNeverSame({ranges, op, other, runners}, access, itsAccess, left.steps);
}

} // namespace tilewright::ascend
