// SPDX-License-Identifier: Apache-2.0
// Walks the kernel once with known integers in place of values. A loop whose body costs the same in
// each turn is counted once and multiplied; one whose body depends on the loop variable (a causal
// mask, say) is walked turn by turn, up to a limit.
#include "compiler/passes/analysis/count_work.h"

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/kernel_arguments.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/ir/thread_ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright {
namespace {

using namespace mlir;
using tile::BufferRegion;

constexpr int64_t mostVisits = 2'000'000;

struct Count {
  double flops = 0, bfloat16Flops = 0, byteOperations = 0;
  bool isUpperBound = false;

  void add(const Count& other, double times = 1) {
    flops += times * other.flops;
    bfloat16Flops += times * other.bfloat16Flops;
    byteOperations += times * other.byteOperations;
    isUpperBound |= other.isUpperBound;
  }
};

class WorkCounter {
public:
  WorkCounter(func::FuncOp kernel, ArrayRef<std::optional<int64_t>> arguments) {
    for (auto [argument, value] : llvm::zip(kernel.getArguments(), arguments))
      if (value)
        known[argument] = *value;
  }

  /// `takesLarger`: conditions that stay unknown cost as much as their larger side.
  std::optional<Count> count(func::FuncOp kernel, bool takesLarger) {
    this->takesLarger = takesLarger;
    visits = 0;
    return countBlock(kernel.getBody().front());
  }

private:
  using Evaluated = std::optional<int64_t>;

  std::optional<Count> countBlock(Block& block) {
    if (++visits > mostVisits)
      return std::nullopt;
    Count sum;
    for (Operation& op : block) {
      std::optional<Count> cost = countOp(op);
      if (!cost)
        return std::nullopt;
      sum.add(*cost);
    }
    return sum;
  }

  std::optional<Count> countOp(Operation& op) {
    if (auto launch = dyn_cast<tile::LaunchOp>(op)) {
      threads = 1;
      launch.walk([&](tile::ThreadIdOp) { threads = double(launch.getThreadCount()); });
      return countNest(launch.getBlockIds(), evaluateAll(launch.getGrid()), *launch.getBodyBlock());
    }
    if (auto parallel = dyn_cast<tile::ParallelOp>(op))
      return countParallel(parallel);
    if (auto loop = dyn_cast<tile::ForOp>(op))
      return countLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return countBranch(branch);
    if (op.getNumRegions() == 1 && op.getRegion(0).hasOneBlock())
      return countBlock(op.getRegion(0).front()); // a scope
    if (op.getNumRegions() != 0)
      return std::nullopt;
    return countLeaf(op);
  }

  std::optional<Count> countLeaf(Operation& op) {
    Count cost;
    if (auto gemm = dyn_cast<tile::GemmOp>(op))
      return countGemm(gemm);
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return elements(reduce.getSourceRegion());
    if (auto scan = dyn_cast<tile::ScanOp>(op))
      return elements(scan.getSourceRegion());
    if (auto atomic = dyn_cast<tile::AtomicTileOp>(op))
      return elements(atomic.getSourceRegion());
    bool isFloat = op.getNumResults() == 1 && isa<FloatType>(op.getResult(0).getType());
    if (!isFloat ||
        isa<arith::ConstantOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp, arith::BitcastOp>(
            op))
      return cost;
    if (isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
      cost.flops = (isa<math::FmaOp>(op) ? 2 : 1) * (isInNest ? 1 : threads);
    return cost;
  }

  std::optional<Count> countGemm(tile::GemmOp gemm) {
    auto product = [&](const BufferRegion& region) -> Evaluated { return volume(region); };
    Evaluated a = product(gemm.getARegion()), c = product(gemm.getCRegion());
    Evaluated rows = evaluate(gemm.getCRegion().extents.end()[-2]);
    if (!a || !c || !rows || *rows == 0)
      return std::nullopt;
    Count cost;
    cost.flops = 2.0 * double(*c) * (double(*a) / double(*rows));
    Type element = gemm.getARegion().type().getElementType();
    if (element.isBF16())
      cost.bfloat16Flops = cost.flops;
    else if (element.isInteger() && element.getIntOrFloatBitWidth() <= 8)
      cost.byteOperations = cost.flops;
    return cost;
  }

  std::optional<Count> elements(const BufferRegion& region) {
    Evaluated number = volume(region);
    if (!number)
      return std::nullopt;
    Count cost;
    cost.flops = isa<FloatType>(region.type().getElementType()) ? double(*number) : 0;
    return cost;
  }

  Evaluated volume(const BufferRegion& region) {
    int64_t product = 1;
    for (OpFoldResult extent : region.extents) {
      Evaluated value = evaluate(extent);
      if (!value)
        return std::nullopt;
      product *= *value;
    }
    return product;
  }

  std::optional<Count> countLoop(tile::ForOp loop) {
    Evaluated low = evaluate(loop.getLower()), high = evaluate(loop.getUpper()),
              step = evaluate(loop.getStep());
    if (!low || !high || !step || *step <= 0)
      return std::nullopt;
    const int64_t turns = *high > *low ? (*high - *low + *step - 1) / *step : 0;
    return countTurns(loop.getInductionVar(), turns, *low, *step,
                      [&] { return countBlock(*loop.getBodyBlock()); });
  }

  std::optional<Count> countParallel(tile::ParallelOp parallel) {
    double iterations = 1;
    for (OpFoldResult extent : parallel.getMixedExtents()) {
      Evaluated value = evaluate(extent);
      if (!value)
        return std::nullopt;
      iterations *= double(*value);
    }
    isInNest = true;
    std::optional<Count> body = countBlock(*parallel.getBodyBlock());
    isInNest = false;
    if (!body)
      return std::nullopt;
    Count sum;
    sum.add(*body, iterations);
    return sum;
  }

  /// A launch: one loop per grid extent.
  std::optional<Count> countNest(ValueRange ids, const SmallVector<Evaluated>& extents, Block& body,
                                 size_t depth = 0) {
    if (depth == extents.size())
      return countBlock(body);
    if (!extents[depth])
      return std::nullopt;
    return countTurns(ids[depth], *extents[depth], 0, 1,
                      [&] { return countNest(ids, extents, body, depth + 1); });
  }

  /// `turns` times what `body` costs: at once if the cost doesn't depend on `variable`.
  std::optional<Count> countTurns(Value variable, int64_t turns, int64_t low, int64_t step,
                                  llvm::function_ref<std::optional<Count>()> body) {
    Count sum;
    if (turns <= 0)
      return sum;
    known.erase(variable);
    if (std::optional<Count> each = body()) {
      sum.add(*each, double(turns));
      return sum;
    }
    for (int64_t turn = 0; turn < turns && visits <= mostVisits; ++turn) {
      known[variable] = low + turn * step;
      std::optional<Count> each = body();
      if (!each) {
        known.erase(variable);
        return std::nullopt;
      }
      sum.add(*each);
    }
    known.erase(variable);
    return visits <= mostVisits ? std::optional(sum) : std::nullopt;
  }

  std::optional<Count> countBranch(scf::IfOp branch) {
    auto side = [&](Region& region) {
      return region.empty() ? std::optional(Count()) : countBlock(region.front());
    };
    if (Evaluated condition = evaluate(branch.getCondition()))
      return side(*condition != 0 ? branch.getThenRegion() : branch.getElseRegion());
    std::optional<Count> yes = side(branch.getThenRegion()), no = side(branch.getElseRegion());
    if (!yes || !no)
      return std::nullopt;
    if (yes->flops == no->flops)
      return yes;
    if (!takesLarger && !isInNest)
      return std::nullopt;
    Count larger = yes->flops > no->flops ? *yes : *no;
    larger.isUpperBound = true;
    return larger;
  }

  // Integers ---------------------------------------------------------------------------------

  SmallVector<Evaluated> evaluateAll(ValueRange values) {
    SmallVector<Evaluated> results;
    for (Value value : values)
      results.push_back(evaluate(value));
    return results;
  }

  Evaluated evaluate(OpFoldResult value) {
    if (auto attribute = dyn_cast<Attribute>(value))
      return cast<IntegerAttr>(attribute).getInt();
    return evaluate(cast<Value>(value));
  }

  Evaluated evaluate(Value value) {
    value = IndexRanges::symbolOf(value);
    if (auto found = known.find(value); found != known.end())
      return found->second;
    Operation* op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto dim = dyn_cast<tile::DimOp>(op)) {
      SmallVector<OpFoldResult> folded;
      if (succeeded(op->fold(folded)) && !folded.empty())
        if (auto number = dyn_cast_if_present<IntegerAttr>(dyn_cast<Attribute>(folded[0])))
          return number.getInt();
      return std::nullopt;
    }
    if (!isa<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1)
      return std::nullopt;
    return evaluateArith(op);
  }

  /// Folds the op with what is known of its operands, as MLIR's own folder does.
  Evaluated evaluateArith(Operation* op) {
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      Evaluated condition = evaluate(select.getCondition());
      if (!condition)
        return std::nullopt;
      return evaluate(*condition != 0 ? select.getTrueValue() : select.getFalseValue());
    }
    SmallVector<Attribute> constants;
    for (Value operand : op->getOperands()) {
      Evaluated value = evaluate(operand);
      constants.push_back(value && operand.getType().isIntOrIndex()
                              ? IntegerAttr::get(operand.getType(), *value)
                              : Attribute());
    }
    SmallVector<OpFoldResult> folded;
    if (failed(op->fold(constants, folded)) || folded.size() != 1)
      return std::nullopt;
    if (auto number = dyn_cast_if_present<IntegerAttr>(dyn_cast<Attribute>(folded[0])))
      return number.getType().isInteger(1) ? int64_t(number.getValue().getBoolValue())
                                           : number.getValue().getSExtValue();
    Value other = dyn_cast<Value>(folded[0]);
    return other && other != op->getResult(0) ? evaluate(other) : std::nullopt;
  }

  llvm::DenseMap<Value, int64_t> known;
  int64_t visits = 0;
  double threads = 1;
  bool isInNest = false;
  bool takesLarger = false;
};

} // namespace

KernelWork countWork(func::FuncOp kernel, ArrayRef<std::optional<int64_t>> arguments) {
  KernelWork work;
  tile::ArgumentTraffic traffic = tile::argumentTraffic(kernel);
  work.isRead = std::move(traffic.isRead);
  work.isWritten = std::move(traffic.isWritten);
  WorkCounter counter(kernel, arguments);
  std::optional<Count> count = counter.count(kernel, /*takesLarger=*/false);
  if (!count)
    count = counter.count(kernel, /*takesLarger=*/true);
  if (count) {
    work.flops = count->flops;
    work.isUpperBound = count->isUpperBound;
    work.bfloat16Flops = count->bfloat16Flops;
    work.byteOperations = count->byteOperations;
  }
  return work;
}

} // namespace tilewright
