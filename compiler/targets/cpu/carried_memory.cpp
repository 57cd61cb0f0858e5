// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/carried_memory.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/root_buffer.h"

#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <cstdlib>
#include <set>
#include <vector>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferType;

/// Indices that are no sums are tried for each turn of a loop of so many at most.
constexpr int64_t kMostTurns = 4096;

/// How an index moves with the variable of a loop: by `step` a turn, and within a turn by at most `spread`.
struct Motion {
  int64_t step = 0, spread = 0;
};

class LoopIndices {
public:
  explicit LoopIndices(scf::ForOp loop) : loop(loop), variable(loop.getInductionVar()) {}

  /// Whether two iterations never use the same element at these indices.
  bool areApart(ValueRange indices) const {
    return llvm::any_of(indices,
                        [&](Value index) {
                          const std::optional<Motion> motion = motionOf(index);
                          return motion && std::abs(motion->step) > motion->spread;
                        }) ||
           differInEachTurn(indices);
  }

private:
  bool isOutside(Value value) const {
    return !loop->isAncestor(value.getParentBlock()->getParentOp());
  }

  static std::optional<Motion> ofInnerLoop(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto inner = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
    if (!inner || inner.getInductionVar() != value)
      return std::nullopt;
    const std::optional<int64_t> lower = getConstantIntValue(inner.getLowerBound());
    const std::optional<int64_t> upper = getConstantIntValue(inner.getUpperBound());
    if (!lower || !upper)
      return std::nullopt;
    return Motion{0, std::max<int64_t>(*upper - *lower - 1, 0)};
  }

  std::optional<Motion> motionOf(Value value) const {
    if (value == variable)
      return Motion{1, 0};
    if (isOutside(value))
      return Motion{};
    Operation* op = value.getDefiningOp();
    if (!op)
      return ofInnerLoop(value);
    if (isa<arith::ConstantOp>(op))
      return Motion{};
    if (isa<arith::IndexCastOp>(op))
      return motionOf(op->getOperand(0));
    if (op->getNumOperands() != 2)
      return std::nullopt;
    const std::optional<Motion> left = motionOf(op->getOperand(0));
    const std::optional<Motion> right = motionOf(op->getOperand(1));
    if (!left || !right)
      return std::nullopt;
    if (isa<arith::AddIOp>(op))
      return Motion{left->step + right->step, left->spread + right->spread};
    if (isa<arith::SubIOp>(op))
      return Motion{left->step - right->step, left->spread + right->spread};
    if (isa<arith::MulIOp>(op))
      for (auto [motion, other] : {std::pair(left, 1), std::pair(right, 0)})
        if (std::optional<int64_t> factor = getConstantIntValue(op->getOperand(other)))
          return Motion{motion->step * *factor, motion->spread * std::abs(*factor)};
    return std::nullopt;
  }

  /// The part of an index that the loop's variable makes, in one turn. `isSum`: what comes from outside of the loop may
  /// be left out, as it is the same in all turns.
  std::optional<int64_t> valueIn(int64_t turn, Value value, bool isSum) const {
    if (value == variable)
      return turn;
    if (std::optional<int64_t> known = getConstantIntValue(value))
      return known;
    if (isOutside(value))
      return isSum ? std::optional<int64_t>(0) : std::nullopt;
    Operation* op = value.getDefiningOp();
    if (!op || op->getNumOperands() == 0 || op->getNumOperands() > 2)
      return std::nullopt;
    if (isa<arith::IndexCastOp>(op))
      return valueIn(turn, op->getOperand(0), isSum);
    const bool keepsSum = isSum && isa<arith::AddIOp, arith::SubIOp>(op);
    const std::optional<int64_t> left = valueIn(turn, op->getOperand(0), keepsSum);
    const std::optional<int64_t> right =
        op->getNumOperands() == 2 ? valueIn(turn, op->getOperand(1), keepsSum) : std::nullopt;
    return left && right ? folded(op, *left, *right) : std::nullopt;
  }

  static std::optional<int64_t> folded(Operation* op, int64_t left, int64_t right) {
    if (isa<arith::AddIOp>(op))
      return left + right;
    if (isa<arith::SubIOp>(op))
      return left - right;
    if (isa<arith::MulIOp>(op))
      return left * right;
    if (isa<arith::AndIOp>(op))
      return left & right;
    if (isa<arith::XOrIOp>(op))
      return left ^ right;
    if (left < 0 || right < 0)
      return std::nullopt;
    if (isa<arith::ShRSIOp, arith::ShRUIOp>(op) && right < 63)
      return left >> right;
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op) && right != 0)
      return left / right;
    if (isa<arith::RemSIOp, arith::RemUIOp>(op) && right != 0)
      return left % right;
    return std::nullopt;
  }

  bool differInEachTurn(ValueRange indices) const {
    const std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
    const std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
    const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    if (!lower || !upper || step != 1 || *upper - *lower > kMostTurns)
      return false;
    std::set<std::vector<int64_t>> seen;
    for (int64_t turn = *lower; turn < *upper; ++turn) {
      std::vector<int64_t> place;
      // A dim of which nothing is known may be the same in all turns.
      for (Value index : indices)
        place.push_back(valueIn(turn, index, /*isSum=*/true).value_or(0));
      if (!seen.insert(std::move(place)).second)
        return false;
    }
    return true;
  }

  mutable scf::ForOp loop;
  Value variable;
};

bool isSharedByIterations(tile::StoreOp store, Operation* loop) {
  Operation* source = store.getBuffer().getDefiningOp();
  const auto type = cast<BufferType>(store.getBuffer().getType());
  return (type.isPerThread() && !(source && loop->isProperAncestor(source))) ||
         type.getElementBits() < 8;
}

} // namespace

bool carriesMemory(scf::ForOp loop) {
  llvm::DenseSet<Value> read;
  loop->walk([&](tile::LoadOp load) { read.insert(rootBuffer(load.getBuffer())); });
  const LoopIndices indices(loop);
  return loop
      ->walk([&](tile::StoreOp store) {
        const bool isReadToo = read.contains(rootBuffer(store.getBuffer()));
        return isSharedByIterations(store, loop) ||
                       (isReadToo && !indices.areApart(store.getIndices()))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace tilewright::cpu
