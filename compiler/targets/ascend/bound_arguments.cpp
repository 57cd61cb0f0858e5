// SPDX-License-Identifier: Apache-2.0
/// BoundArguments: says what numbers that the kernel is given can be at most, because a part of a tile to which each run copies
/// would else end behind the tile.
///
///   func.func @k(%A: ..., %m: i32)                           func.func @k(%A: ..., %m: i32 {ascend.most = 8})
///   %n = arith.index_cast %m : i32 to index
///   tile.for %k = 0 to 2 {                              ->   (the rest stays)
///     %row = arith.muli %k, %c8
///     tile.copy %A[0, 0] [%n, 24] to %a[%row, 0] [%n, 24] : ... !tile.buffer<16x24xf32, UB>
///
/// What stands in a branch, or in a loop that may have no turn, says nothing. An extent that is an argument is that itself
/// then, in place of `(i + m) - i`. It stands before copies are expanded: behind that no part of a tile is left, only
/// what of it lies within the tensor.
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

/// Larger numbers are none of a tile.
constexpr int64_t kEndless = int64_t{1} << 40;

class Bounds {
public:
  void visit(Block& block) {
    for (Operation& op : block) {
      if (auto copy = dyn_cast<tile::CopyOp>(op))
        note(copy.getTargetRegion());
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
      const BlockArgument argument = argumentIn(sumOf(value));
      if (!argument)
        continue;
      Value& number = named[argument];
      if (!number)
        number =
            argument.getType().isIndex()
                ? Value(argument)
                : arith::IndexCastOp::create(builder, copy.getLoc(), value.getType(), argument);
      operand.set(number);
    }
  }

  llvm::MapVector<BlockArgument, int64_t> most;

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

  void note(const tile::BufferRegion& region) {
    if (region.type().getSpace() == tile::MemorySpace::Global)
      return;
    for (size_t dim = 0; dim < region.extents.size(); ++dim) {
      const Sum extent = sumOf(region.extents[dim]), first = sumOf(region.offsets[dim]);
      const int64_t size = region.type().getShape()[dim];
      const BlockArgument argument = argumentIn(extent);
      const std::optional<int64_t> last = inLastTurn(first);
      if (!argument || !last || *last < 0 || ShapedType::isDynamic(size) || *last > size)
        continue;
      const auto [at, isNew] = most.try_emplace(argument, size - *last);
      at->second = std::min(at->second, size - *last);
    }
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

  /// The argument that a number is; null if it is none.
  static BlockArgument argumentIn(const Sum& sum) {
    const bool isOne = sum.constant == 0 && sum.times.size() == 1 && sum.times.front().second == 1;
    return isOne ? argumentOf(sum.times.front().first) : BlockArgument();
  }

  /// What a number is in the last turn of all loops around; nothing if that isn't known.
  std::optional<int64_t> inLastTurn(const Sum& sum) const {
    int64_t number = sum.constant;
    for (const auto& [value, count] : sum.times) {
      const auto turn = lastTurns.find(value);
      if (turn == lastTurns.end() || std::abs(turn->second) > int64_t{1} << 31)
        return std::nullopt;
      number += count * turn->second;
    }
    return number;
  }

  llvm::DenseMap<Value, int64_t> lastTurns;                ///< of the loops around
  llvm::DenseMap<std::pair<Value, Value>, Value> products; ///< by their factors, the first one
};

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
    for (const auto& [argument, most] : bounds.most)
      kernel.setArgAttr(argument.getArgNumber(), kMostAttr, builder.getI64IntegerAttr(most));
  }
};

} // namespace

std::unique_ptr<Pass> createBoundArguments() {
  return std::make_unique<BoundArguments>();
}

} // namespace tilewright::ascend
