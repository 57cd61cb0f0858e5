// SPDX-License-Identifier: Apache-2.0
/// BoundArguments: says what numbers that the kernel is given can be at most, because a part of a tile that each run copies
/// would else end behind the tile.
///
///   func.func @k(%A: ..., %m: i32)                           func.func @k(%A: ..., %m: i32 {ascend.most = 8})
///   %n = arith.index_cast %m : i32 to index                     attributes {ascend.limits = [{argument = 1, most = 8, ..}]}
///   tile.for %k = 0 to 2 {                              ->   (the rest stays)
///     %row = arith.muli %k, %c8
///     tile.copy %A[0, 0] [%n, 24] to %a[%row, 0] [%n, 24] : ... !tile.buffer<16x24xf32, UB>
///
/// The limits are what each call is checked for. Of a part `[%m, %n]` nothing is copied where one of them is 0, so the limit of
/// each holds where the other is 1 or more; passes take it for granted only if nothing else is done with the number then: nothing is
/// copied or filled, and a gemm has a limit for each of its parts, so that each is empty, or the call refused.
/// What stands in a branch, or in a loop that may have no turn, says nothing. Gemms limit as copies do. An extent that is an argument is that itself
/// then, in place of `(i + m) - i`. It stands before copies are expanded: behind that no part of a tile is left, only
/// what of it lies within the tensor.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::ArgumentLeast;

/// Larger numbers are none of a tile.
constexpr int64_t kEndless = int64_t{1} << 40;

/// Of an argument, in a copy or a gemm that each run comes to.
struct Limit {
  BlockArgument argument;
  int64_t most;
  SmallVector<ArgumentLeast> where; ///< the copy moves something then, and nothing else
  Operation* op;
  Value tile; ///< of its sides
};

class Bounds {
public:
  void visit(Block& block) {
    for (Operation& op : block) {
      if (auto copy = dyn_cast<tile::CopyOp>(op))
        noteSides(copy);
      else if (auto gemm = dyn_cast<tile::GemmOp>(op))
        for (const tile::BufferRegion& side :
             {gemm.getARegion(), gemm.getBRegion(), gemm.getCRegion()})
          note(gemm, side);
      else if (auto scope = dyn_cast<ScopeOp>(op))
        visit(scope.getBody().front());
      else if (auto loop = dyn_cast<tile::ForOp>(op); loop && addTurns(loop))
        visit(*loop.getBodyBlock());
    }
  }

  /// Names arguments where a copy has sums that are no more.
  void simplify(tile::CopyOp copy) {
    OpBuilder builder(copy);
    llvm::DenseMap<BlockArgument, Value> named;
    for (OpOperand& operand : copy->getOpOperands()) {
      const Value value = operand.get();
      if (!value.getType().isIndex() || IndexRanges::symbolOf(value) != value)
        continue;
      const std::optional<Length> length = lengthIn(sumOf(value));
      if (!length || length->times != 1 || length->more != 0)
        continue;
      const BlockArgument argument = length->argument;
      Value& number = named[argument];
      if (!number)
        number =
            argument.getType().isIndex()
                ? Value(argument)
                : arith::IndexCastOp::create(builder, copy.getLoc(), value.getType(), argument);
      operand.set(number);
    }
  }

  /// The least limit of each argument that holds in all runs, or where anything is done with it.
  llvm::MapVector<BlockArgument, int64_t> mostOfEach() {
    llvm::MapVector<BlockArgument, int64_t> most;
    for (const Limit& limit : limits) {
      if (!limit.where.empty() && !isIdleWithout(limit))
        continue;
      const auto [at, isNew] = most.try_emplace(limit.argument, limit.most);
      at->second = std::min(at->second, limit.most);
    }
    return most;
  }

  SmallVector<Limit> limits; ///< one for an argument and what it holds for

private:
  /// Of a loop that surely comes to its first and its last turn.
  bool addTurns(tile::ForOp loop) {
    const std::optional<int64_t> lower = getConstantIntValue(loop.getLower()),
                                 upper = getConstantIntValue(loop.getUpper()),
                                 step = getConstantIntValue(loop.getStep());
    const bool isLeft = loop.walk([](Operation* op) {
                              return isa<tile::BreakOp, tile::ContinueOp>(op)
                                         ? WalkResult::interrupt()
                                         : WalkResult::advance();
                            })
                            .wasInterrupted();
    if (!lower || !upper || !step || *step < 1 || *lower >= *upper || isLeft)
      return false;
    lastTurns[loop.getInductionVar()] = *lower + (*upper - *lower - 1) / *step * *step;
    return true;
  }

  void noteSides(tile::CopyOp copy) {
    note(copy, copy.getTargetRegion());
    if (copy.getEnds().empty()) // else not all of its source is read
      note(copy, copy.getSourceRegion());
  }

  void note(Operation* op, const tile::BufferRegion& region) {
    if (region.type().getSpace() == tile::MemorySpace::Global)
      return;
    for (size_t dim = 0; dim < region.extents.size(); ++dim) {
      Sum end = sumOf(region.offsets[dim]);
      end.add(1, sumOf(region.extents[dim]));
      const std::optional<Length> length = inLastTurn(end);
      const int64_t size = region.type().getShape()[dim];
      if (!length || ShapedType::isDynamic(size)) {
        for (const auto& [value, count] : end.times)
          if (const BlockArgument argument = argumentOf(value))
            mostIn[{op, argument}] = kEndless;
        continue;
      }
      const int64_t most = llvm::divideFloorSigned(size - length->more, length->times);
      std::optional where = whereMoved(region, length->argument, most);
      int64_t& mostHere = mostIn[{op, length->argument}];
      mostHere = std::max(mostHere, where ? most : kEndless);
      if (where)
        add({length->argument, most, std::move(*where), op, region.buffer});
    }
  }

  void add(Limit limit) {
    for (Limit& other : limits)
      if (other.argument == limit.argument && other.where == limit.where) {
        if (limit.most < other.most)
          other = std::move(limit);
        return;
      }
    limits.push_back(std::move(limit));
  }

  /// What other arguments must be for a part not to be empty where this one is more than `most`; nothing if that isn't known.
  std::optional<SmallVector<ArgumentLeast>> whereMoved(const tile::BufferRegion& region,
                                                       BlockArgument argument, int64_t most) {
    SmallVector<ArgumentLeast> where;
    for (const OpFoldResult extent : region.extents) {
      const Sum sum = sumOf(extent);
      const std::optional<Length> length = lengthIn(sum);
      if (!length && (!sum.times.empty() || sum.constant < 1))
        return std::nullopt;
      if (!length)
        continue;
      const ArgumentLeast needed = length->ofOne();
      if (length->argument == argument && needed.least <= most + 1)
        continue;
      if (!llvm::is_contained(where, needed))
        where.push_back(needed);
    }
    llvm::sort(where);
    return where;
  }

  /// Whether an argument is only used by what does nothing where a limit of it doesn't hold.
  bool isIdleWithout(const Limit& limit) {
    auto kernel = cast<func::FuncOp>(limit.argument.getOwner()->getParentOp());
    if (kernel.getArgAttr(limit.argument.getArgNumber(), tile::kSymbolAttr))
      return false; // extents of tensors name it
    SmallVector<Value> numbers{limit.argument};
    for (size_t next = 0; next < numbers.size(); ++next)
      for (Operation* user : numbers[next].getUsers()) {
        if (isIdleWithout(limit, user))
          continue;
        if (!isa_and_present<arith::ArithDialect>(user->getDialect()))
          return false;
        llvm::append_range(numbers, user->getResults());
      }
    return true;
  }

  /// Of a copy or a fill, whose part is empty then, and of a gemm, each part of which is empty or limits the argument as much.
  bool isIdleWithout(const Limit& limit, Operation* user) {
    if (isa<tile::GemmOp>(user)) {
      const auto most = mostIn.find({user, limit.argument});
      return most != mostIn.end() && most->second <= limit.most;
    }
    auto copy = dyn_cast<tile::CopyOp>(user);
    auto fill = dyn_cast<tile::FillOp>(user);
    return (copy || fill) && llvm::all_of(limit.where, [&](const ArgumentLeast& needed) {
             return isEmptyWithout(copy ? copy.getTargetRegion() : fill.getTargetRegion(), needed);
           });
  }

  bool isEmptyWithout(const tile::BufferRegion& region, const ArgumentLeast& needed) {
    return llvm::any_of(region.extents, [&](OpFoldResult extent) {
      const std::optional<Length> length = lengthIn(sumOf(extent));
      return length && length->ofOne() == needed;
    });
  }

  /// A number as what is added up in it.
  struct Sum {
    int64_t constant = 0;
    llvm::MapVector<Value, int64_t> times;

    void add(int64_t factor, const Sum& other) {
      constant += factor * other.constant;
      for (const auto& [value, count] : other.times)
        times[value] += factor * count;
      times.remove_if([](const auto& each) { return each.second == 0; });
    }
    bool operator==(const Sum& other) const {
      Sum rest = *this;
      rest.add(-1, other);
      return rest.constant == 0 && rest.times.empty();
    }
  };

  Sum sumOf(OpFoldResult number) {
    constexpr int64_t mostTimes = int64_t{1} << 20;
    Sum sum;
    if (const std::optional<int64_t> fixed = getConstantIntValue(number)) {
      sum.constant = std::clamp(*fixed, -kEndless, kEndless);
      return sum;
    }
    Value value = IndexRanges::symbolOf(cast<Value>(number));
    Operation* op = value.getType().isIndex() ? value.getDefiningOp() : nullptr;
    if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
      sum.add(1, sumOf(op->getOperand(0)));
      sum.add(isa<arith::AddIOp>(op) ? 1 : -1, sumOf(op->getOperand(1)));
      return sum;
    }
    if (isa_and_nonnull<arith::MulIOp>(op)) {
      for (const unsigned factor : {0, 1})
        if (const std::optional<int64_t> times = getConstantIntValue(op->getOperand(factor));
            times && std::abs(*times) < mostTimes) {
          sum.add(*times, sumOf(op->getOperand(1 - factor)));
          return sum;
        }
      value = products
                  .try_emplace({IndexRanges::symbolOf(op->getOperand(0)),
                                IndexRanges::symbolOf(op->getOperand(1))},
                               value)
                  .first->second;
    }
    // The two sides of a copy may name one number each in its own way.
    if (isa_and_nonnull<arith::MinSIOp>(op))
      if (Sum one = sumOf(op->getOperand(0)); one == sumOf(op->getOperand(1)))
        return one;
    sum.times[value] = 1;
    return sum;
  }

  /// `times * argument + more`, with `times` above 0.
  struct Length {
    BlockArgument argument;
    int64_t times, more;

    /// What the argument must be for the length to be 1 or more.
    ArgumentLeast ofOne() const {
      return {argument.getArgNumber(), llvm::divideFloorSigned(-more, times) + 1};
    }
  };

  static std::optional<Length> lengthIn(const Sum& sum) {
    if (sum.times.size() != 1 || sum.times.front().second < 1)
      return std::nullopt;
    const BlockArgument argument = argumentOf(sum.times.front().first);
    return argument ? std::optional(Length{argument, sum.times.front().second, sum.constant})
                    : std::nullopt;
  }

  /// What a number is in the last turn of all loops around; nothing if that isn't known, or no argument has part in it.
  std::optional<Length> inLastTurn(const Sum& sum) const {
    Sum rest;
    rest.constant = sum.constant;
    for (const auto& [value, count] : sum.times) {
      const auto turn = lastTurns.find(value);
      if (turn == lastTurns.end())
        rest.times[value] = count;
      else if (std::abs(turn->second) <= int64_t{1} << 31)
        rest.constant += count * turn->second;
      else
        return std::nullopt;
    }
    return lengthIn(rest);
  }

  llvm::DenseMap<std::pair<Operation*, BlockArgument>, int64_t>
      mostIn; ///< what an operation's parts limit an argument to, or kEndless
  llvm::DenseMap<Value, int64_t> lastTurns;                ///< of the loops around
  llvm::DenseMap<std::pair<Value, Value>, Value> products; ///< by their factors, the first one
};

/// Limits by tiles that the kernel names.
void setLimits(func::FuncOp kernel, MutableArrayRef<Limit> limits) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> list;
  for (Limit& limit : limits) {
    auto tile = npu::storageOf(limit.tile).getDefiningOp<tile::AllocOp>();
    if (!tile || !tile.getSymName())
      continue;
    auto copy = dyn_cast<tile::CopyOp>(limit.op);
    SmallVector<int64_t> where;
    for (const ArgumentLeast& needed : limit.where)
      where.append({int64_t(needed.argument), needed.least});
    list.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("argument", builder.getIndexAttr(limit.argument.getArgNumber())),
         builder.getNamedAttr("most", builder.getIndexAttr(limit.most)),
         builder.getNamedAttr("where", builder.getDenseI64ArrayAttr(where)),
         builder.getNamedAttr("tile", tile.getSymNameAttr()),
         builder.getNamedAttr("fills", builder.getBoolAttr(copy && limit.tile == copy.getTarget())),
         builder.getNamedAttr("multiplies", builder.getBoolAttr(!copy)),
         builder.getNamedAttr("tile_place", LocationAttr(tile.getLoc())),
         builder.getNamedAttr("copy_place", LocationAttr(limit.op->getLoc()))}));
  }
  if (!list.empty())
    kernel->setAttr(kLimitsAttr, builder.getArrayAttr(list));
}

struct BoundArguments : KernelPass<BoundArguments> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BoundArguments)
  static constexpr llvm::StringLiteral kArgument = "ascend-bound-arguments";
  static constexpr llvm::StringLiteral kDescription =
      "say what arguments can be at most, by the tiles of which they name a part";

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    Bounds bounds;
    kernel.walk([&](tile::CopyOp copy) { bounds.simplify(copy); });
    for (auto launch : kernel.getOps<tile::LaunchOp>())
      bounds.visit(*launch.getBodyBlock());
    Builder builder(&getContext());
    for (const auto& [argument, most] : bounds.mostOfEach())
      kernel.setArgAttr(argument.getArgNumber(), kMostAttr, builder.getI64IntegerAttr(most));
    setLimits(kernel, bounds.limits);
  }
};

} // namespace

std::unique_ptr<Pass> createBoundArguments() {
  return std::make_unique<BoundArguments>();
}

} // namespace tilewright::ascend
