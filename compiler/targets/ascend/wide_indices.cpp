// SPDX-License-Identifier: Apache-2.0
/// WideIndices: an index of 32 bits that grows with each turn of a loop is computed in 64, and the kernel stops in the turn
/// in which it would wrap round.
///
///   %i = tile.load %count[] : !tile.buffer<si32, var>      // counted up: while i < n
///   %row = arith.muli %i, %c32 : i32
///   %first = arith.index_cast %row : i32 to index
///   tile.copy %x to %C[%first, 0] [32, 64]
/// becomes
///   %i = tile.load %count[] : !tile.buffer<si32, var>
///   %wide = arith.index_cast %i : i32 to index
///   %first = arith.muli %wide, %c32 : index
///   %fits = arith.cmpi sle, %first, %most : index          // 2^31 - 1
///   npu.require %fits "..." (%first)
///   tile.copy %x to %C[%first, 0] [32, 64]
///
/// After 2^27 turns row i * 32 would be row 0 again, so turns that far apart would need an order, and all others would wait
/// for it. As it is, each turn has rows of its own, and a run that comes so far ends with an error. What may wrap round
/// sooner, because of a number that the kernel is given, say, stays as it is: only what takes kLeastTurns turns counts. So
/// does what a variable is counted up to, where no end of a loop is known that bounds it. It stands before the copies are
/// expanded, which take the indices into their own sums.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/argument_bounds.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/tile_addresses.h"
#include "compiler/targets/ascend/turning_variables.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::MemorySpace;

constexpr int64_t kMostInt32 = llvm::maxIntN(32), kLeastInt32 = llvm::minIntN(32);
/// Before it wraps round, a number that begins no nearer to the ends of int32 than kMostFirst and goes on by kMostStep at
/// most has made so many turns.
constexpr int64_t kMostFirst = int64_t{1} << 30, kMostStep = int64_t{1} << 16;
constexpr int64_t kLeastTurns = (kMostInt32 - kMostFirst) / kMostStep;
static_assert(kLeastTurns >= 1 << 13);

/// Which kind of core alone has all copies that a number has a part in; nothing if that isn't so.
class IndexUsers {
public:
  std::optional<Agent> agentOf(Value number) {
    visit(number);
    return isOther ? std::nullopt : agent;
  }

private:
  void visit(Value number) {
    for (Operation* user : number.getUsers()) {
      if (!seen.insert(user).second)
        continue;
      if (auto copy = dyn_cast<tile::CopyOp>(user))
        addCopy(copy);
      else if (isPure(user) && user->getNumRegions() == 0)
        llvm::for_each(user->getResults(), [&](Value result) { visit(result); });
    }
  }

  void addCopy(tile::CopyOp copy) {
    const MemorySpace from = copy.getSource().getType().getSpace(),
                      to = copy.getTarget().getType().getSpace();
    const bool isOfUb = from == MemorySpace::UB || to == MemorySpace::UB;
    const bool isGlobal = from == MemorySpace::Global || to == MemorySpace::Global;
    const Agent own = isOfUb ? Agent::Vector : Agent::Cube;
    isOther = isOther || !isGlobal || (agent && *agent != own);
    agent = own;
  }

  DenseSet<Operation*> seen;
  std::optional<Agent> agent;
  bool isOther = false;
};

/// What a number of 32 bits is if nothing wraps round: in the first turn, and by how much it goes on at most.
struct Exact {
  IndexRange first, all;
  int64_t step = 0;
};

struct WideIndices : KernelPass<WideIndices> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WideIndices)
  static constexpr llvm::StringLiteral kArgument = "ascend-wide-indices";
  static constexpr llvm::StringLiteral kDescription =
      "indices that loops count up are computed in 64 bits";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<npu::NpuDialect, AscendDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::StoreOp> sums;
    getOperation().walk([&](tile::StoreOp store) {
      if (isCountedWithoutEnd(store))
        sums.push_back(store);
    });
    for (tile::StoreOp store : sums)
      boundCounter(store);
    SmallVector<arith::IndexCastOp> casts;
    getOperation().walk([&](arith::IndexCastOp cast) {
      if (cast.getIn().getType().isInteger(32) && !cast->getParentOfType<tile::ParallelOp>())
        casts.push_back(cast);
    });
    for (arith::IndexCastOp cast : casts)
      widen(cast);
  }

private:
  static void boundCounter(tile::StoreOp store) {
    Operation* sum = store.getValue().getDefiningOp();
    Value before = sum->getOperand(0);
    const std::optional<Agent> agent = agentOfVariable(store.getBuffer());
    if (!agent || !before.getType().isInteger(32))
      return;
    ImplicitLocOpBuilder builder(store.getLoc(), sum);
    const int64_t most = kMostInt32 - *getConstantIntValue(sum->getOperand(1));
    Value last = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(int32_t(most)));
    Value fits = arith::CmpIOp::create(builder, arith::CmpIPredicate::sle, before, last);
    Value number = arith::IndexCastOp::create(builder, builder.getIndexType(), before);
    requireHere(builder, fits,
                "a variable that a loop counts is {}, and what is added to it has no room in int32",
                number, *agent);
  }

  static std::optional<Agent> agentOfVariable(Value variable) {
    IndexUsers users;
    std::optional<Agent> agent;
    for (Operation* user : variable.getUsers())
      if (auto load = dyn_cast<tile::LoadOp>(user))
        agent = users.agentOf(load.getValue());
    return agent;
  }

  static void widen(arith::IndexCastOp cast) {
    const std::optional<Exact> exact = exactOf(cast.getIn());
    const bool mayBeMore = exact && exact->all.high > kMostInt32,
               mayBeLess = exact && exact->all.low < kLeastInt32;
    if ((!mayBeMore && !mayBeLess) || exact->step == 0 || exact->step > kMostStep ||
        !exact->first.isWithin(-kMostFirst, kMostFirst))
      return;
    const std::optional<Agent> agent = IndexUsers().agentOf(cast.getOut());
    if (!agent)
      return;
    ImplicitLocOpBuilder builder(cast.getLoc(), cast);
    const Value wide = inIndices(builder, cast.getIn());
    const auto requireEnd = [&](arith::CmpIPredicate predicate, int64_t end) {
      Value fits = arith::CmpIOp::create(builder, predicate, wide,
                                         arith::ConstantIndexOp::create(builder, end));
      requireHere(builder, fits, "an index is {}, which has no room in int32", wide, *agent);
    };
    if (mayBeMore)
      requireEnd(arith::CmpIPredicate::sle, kMostInt32);
    if (mayBeLess)
      requireEnd(arith::CmpIPredicate::sge, kLeastInt32);
    cast.getOut().replaceAllUsesWith(wide);
    cast.erase();
  }

  /// Of sums and products of what loops count and of what is known to be small; nothing of anything else.
  static std::optional<Exact> exactOf(Value value) {
    if (const std::optional<int64_t> fixed = getConstantIntValue(value))
      return Exact{{*fixed, *fixed}, {*fixed, *fixed}};
    Operation* op = value.getDefiningOp();
    if (auto load = dyn_cast_or_null<tile::LoadOp>(op))
      if (const std::optional<CountedRead> read = countedRead(load)) {
        IndexRange first = boundedRangeAt(op, read->start);
        first = {first.low + read->ahead, first.high + read->ahead};
        return Exact{first, read->range, read->step};
      }
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
      const IndexRange range =
          boundedRangeAt(op ? op : value.getParentBlock()->getParentOp(), value);
      return Exact{range, range};
    }
    std::optional<Exact> left = exactOf(op->getOperand(0)), right = exactOf(op->getOperand(1));
    if (!left || !right || !isKnown(*left) || !isKnown(*right))
      return std::nullopt;
    if (!isa<arith::MulIOp>(op))
      return sum(*left, *right, isa<arith::AddIOp>(op) ? 1 : -1);
    const std::optional<int64_t> factor = getConstantIntValue(op->getOperand(1));
    return factor && std::abs(*factor) <= kMostInt32 ? std::optional(times(*left, *factor))
                                                     : std::nullopt;
  }

  /// Far from where sums of such have no room in 64 bits.
  static bool isKnown(const Exact& exact) {
    constexpr int64_t most = int64_t{1} << 28;
    return exact.all.isWithin(-most * kMostFirst, most * kMostFirst) && exact.step <= kMostStep;
  }

  static Exact sum(const Exact& a, const Exact& b, int64_t sign) {
    const auto added = [&](IndexRange x, IndexRange y) {
      return sign > 0 ? IndexRange{x.low + y.low, x.high + y.high}
                      : IndexRange{x.low - y.high, x.high - y.low};
    };
    return {added(a.first, b.first), added(a.all, b.all), a.step + b.step};
  }

  static Exact times(const Exact& a, int64_t factor) {
    const auto scaled = [&](IndexRange x) {
      int64_t low = 0, high = 0;
      const bool isTooFar =
          llvm::MulOverflow(x.low, factor, low) || llvm::MulOverflow(x.high, factor, high);
      return isTooFar ? IndexRange() : IndexRange{std::min(low, high), std::max(low, high)};
    };
    return {scaled(a.first), scaled(a.all), a.step * std::abs(factor)};
  }

  static Value inIndices(ImplicitLocOpBuilder& builder, Value value) {
    if (const std::optional<int64_t> fixed = getConstantIntValue(value))
      return arith::ConstantIndexOp::create(builder, *fixed);
    Operation* op = value.getDefiningOp();
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
      return arith::IndexCastOp::create(builder, builder.getIndexType(), value);
    const Value left = inIndices(builder, op->getOperand(0)),
                right = inIndices(builder, op->getOperand(1));
    if (isa<arith::AddIOp>(op))
      return arith::AddIOp::create(builder, left, right);
    if (isa<arith::SubIOp>(op))
      return arith::SubIOp::create(builder, left, right);
    return arith::MulIOp::create(builder, left, right);
  }
};

} // namespace

std::unique_ptr<Pass> createWideIndices() {
  return std::make_unique<WideIndices>();
}

} // namespace tilewright::ascend
