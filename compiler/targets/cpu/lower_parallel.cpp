// SPDX-License-Identifier: Apache-2.0
/// Turns tile.parallel into a nest of loops whose innermost LLVM vectorises.
///
///   tile.parallel (%i, %j) in [64, 32] { %v = tile.load %C[%m + %i, %j] ... }
/// becomes
///   %inside = ...           // 0 <= %m and %m + 63 < rows of C: all accesses are in bounds
///   scf.if %inside {
///     scf.for %i = 0 to 64 {
///       scf.for %j = 0 to 32 { %v = tile.load %C[..] in_bounds ... } {vectorize} }
///   } else {
///     ... the same with each access checked by itself ...
///   }
///
/// A condition around all of a nest of one variable, as threads have it, becomes the nest's range first:
///
///   tile.parallel (%t) in [128] { %i = %m + %t    scf.if %i < %n { ... } }
/// is taken for
///   tile.parallel (%t) in [max(min(128, %n - %m), 0)] { %i = %m + %t    ... }
///
/// Only accesses whose indices are sums of loop variables times constants can be decided for the
/// whole nest; others stay checked in both branches. Where the nest fills whole lines of a tensor that is only
/// written, there is a version more, whose stores go past the caches (stream_stores.h).
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/stream_stores.h"
#include "compiler/targets/cpu/transposing_nest.h"
#include "compiler/targets/cpu/vector_nest.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;

/// base + sum of coefficient times loop variable; `base` is made of `constant` and invariant
/// values.
struct LinearIndex {
  int64_t constant = 0;
  SmallVector<std::pair<Value, int64_t>> invariants;
  SmallVector<int64_t> coefficients;
};

class NestAnalysis {
public:
  explicit NestAnalysis(tile::ParallelOp nest)
      : nest(nest), body(nest.getBodyBlock()), extents(nest.getMixedExtents()) {}

  /// `value` as a linear index, scaled; false if it is none.
  bool decompose(Value value, int64_t scale, LinearIndex& result) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (argument.getOwner() == body) {
        result.coefficients[argument.getArgNumber()] += scale;
        return true;
      }
    if (std::optional<int64_t> number = getConstantIntValue(value)) {
      result.constant += *number * scale;
      return true;
    }
    if (!nest->isAncestor(value.getParentBlock()->getParentOp())) {
      result.invariants.emplace_back(value, scale);
      return true;
    }
    Operation* op = value.getDefiningOp();
    if (!op) // the variable of a loop inside
      return false;
    if (auto add = dyn_cast<arith::AddIOp>(op))
      return decompose(add.getLhs(), scale, result) && decompose(add.getRhs(), scale, result);
    if (auto sub = dyn_cast<arith::SubIOp>(op))
      return decompose(sub.getLhs(), scale, result) && decompose(sub.getRhs(), -scale, result);
    if (auto mul = dyn_cast<arith::MulIOp>(op)) {
      if (std::optional<int64_t> factor = getConstantIntValue(mul.getRhs()))
        return decompose(mul.getLhs(), scale * *factor, result);
      if (std::optional<int64_t> factor = getConstantIntValue(mul.getLhs()))
        return decompose(mul.getRhs(), scale * *factor, result);
    }
    return false;
  }

  std::optional<LinearIndex> decompose(Value index) const {
    LinearIndex result;
    result.coefficients.assign(extents.size(), 0);
    if (!decompose(index, 1, result))
      return std::nullopt;
    return result;
  }

  /// An i1 that says that `index` lies in [0, size) in every iteration; null if that is known to be
  /// so. Extents of 0 give any answer: no iteration runs.
  Value isInside(ImplicitLocOpBuilder& builder, const LinearIndex& index, Value size) const {
    IndexMath math(builder);
    Value least = math.constant(index.constant);
    for (auto [value, factor] : index.invariants)
      least = math.add(least, math.mul(value, math.constant(factor)));
    Value most = least;
    for (auto [extent, factor] : llvm::zip(extents, index.coefficients)) {
      Value last = math.sub(math.value(extent), math.constant(1));
      Value reach = math.mul(last, math.constant(factor));
      (factor < 0 ? least : most) = math.add(factor < 0 ? least : most, reach);
    }
    Value low = math.atMost(math.constant(0), least);
    Value high = math.atMost(most, math.sub(size, math.constant(1)));
    Value inside = math.both(low, high);
    if (matchesTrue(inside))
      return {};
    return inside;
  }

private:
  static bool matchesTrue(Value condition) {
    std::optional<int64_t> known = getConstantIntValue(condition);
    return known && *known != 0;
  }

  Operation* nest;
  Block* body;
  SmallVector<OpFoldResult> extents;
};

struct Access {
  Operation* op;
  Value buffer;
  ValueRange indices;
};

SmallVector<Access> uncheckedAccesses(Operation* nest) {
  SmallVector<Access> found;
  nest->walk([&](Operation* op) {
    if (auto load = dyn_cast<tile::LoadOp>(op); load && !load.getInBounds())
      found.push_back({op, load.getBuffer(), load.getIndices()});
    else if (auto store = dyn_cast<tile::StoreOp>(op); store && !store.getInBounds())
      found.push_back({op, store.getBuffer(), store.getIndices()});
  });
  return found;
}

void setInBounds(Operation* op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    load.setInBounds(true);
  else
    cast<tile::StoreOp>(op).setInBounds(true);
}

/// What the nests are lowered for.
struct Purpose {
  const StreamTargets& targets;
  const Machine& machine;
  /// Whether the machine's own rounding to bfloat16 will do, and quotients nearly as near.
  bool isFast;
};

void emitNest(ImplicitLocOpBuilder& builder, tile::ParallelOp nest, const Purpose& purpose) {
  if (emitOnVectors(builder, nest, purpose.machine, purpose.isFast) ||
      emitTransposed(builder, nest, purpose.machine))
    return;
  IndexMath math(builder);
  SmallVector<Range> ranges;
  for (OpFoldResult extent : nest.getMixedExtents())
    ranges.push_back({math.constant(0), math.value(extent)});
  auto body = [&](ImplicitLocOpBuilder& inner, ValueRange variables) {
    IRMapping mapping;
    mapping.map(nest.getInductionVars(), variables);
    for (Operation& op : nest.getBodyBlock()->without_terminator())
      inner.clone(op, mapping);
  };
  buildParallelNest(builder, ranges, body, &purpose.machine);
}

/// The stores whose lines the nest fills one after the other, in tensors that are only written; and an i1 that says
/// that this pays.
struct Streams {
  SmallVector<tile::StoreOp> stores;
  Value worthIt;
};

/// Where the nest begins to write, if it then goes through whole lines.
std::optional<SmallVector<Value>> startOfLines(ImplicitLocOpBuilder& builder,
                                               const NestAnalysis& analysis, tile::StoreOp store) {
  IndexMath math(builder);
  SmallVector<Value> start;
  for (auto [number, value] : llvm::enumerate(store.getIndices())) {
    std::optional<LinearIndex> index = analysis.decompose(value);
    const bool isLast = number + 1 == store.getIndices().size();
    if (!index || index->coefficients.back() != (isLast ? 1 : 0))
      return std::nullopt;
    for (int64_t step : ArrayRef(index->coefficients).drop_back())
      if (isLast && !StreamTargets::fillsLines(store.getBuffer(), step))
        return std::nullopt;
    Value first = math.constant(index->constant);
    for (auto [invariant, factor] : index->invariants)
      first = math.add(first, math.mul(invariant, math.constant(factor)));
    start.push_back(first);
  }
  return start;
}

Streams findStreams(ImplicitLocOpBuilder& builder, const NestAnalysis& analysis,
                    tile::ParallelOp nest, const StreamTargets& targets) {
  Streams found;
  const int64_t length = nest.getStaticExtents().back();
  if (ShapedType::isDynamic(length))
    return found;
  IndexMath math(builder);
  for (auto store : nest.getBodyBlock()->getOps<tile::StoreOp>()) {
    if (!store.getInBounds() || !targets.contains(store.getBuffer()) ||
        !StreamTargets::fillsLines(store.getBuffer(), length))
      continue;
    if (auto start = startOfLines(builder, analysis, store)) {
      found.stores.push_back(store);
      found.worthIt =
          math.both(found.worthIt, StreamTargets::isWorthIt(builder, store.getBuffer(), *start));
    }
  }
  return found;
}

/// The nest whose accesses are decided on; twice if its stores may go past the caches.
void emitVersions(ImplicitLocOpBuilder& builder, const NestAnalysis& analysis,
                  tile::ParallelOp nest, const Purpose& purpose) {
  const Streams streams = findStreams(builder, analysis, nest, purpose.targets);
  if (!streams.worthIt)
    return emitNest(builder, nest, purpose);
  auto branch = scf::IfOp::create(builder, streams.worthIt, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getElseRegion().front());
  emitNest(builder, nest, purpose);
  for (tile::StoreOp store : streams.stores)
    store->setAttr(kStreamAttr, builder.getUnitAttr());
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  emitNest(builder, nest, purpose);
}

/// What holds of (b, a) where `predicate` holds of (a, b); signed ones only.
arith::CmpIPredicate seenFromRight(arith::CmpIPredicate predicate) {
  using arith::CmpIPredicate;
  switch (predicate) {
  case CmpIPredicate::slt:
    return CmpIPredicate::sgt;
  case CmpIPredicate::sle:
    return CmpIPredicate::sge;
  case CmpIPredicate::sgt:
    return CmpIPredicate::slt;
  case CmpIPredicate::sge:
    return CmpIPredicate::sle;
  default:
    return predicate;
  }
}

/// The turns of a nest of one variable in which a condition holds.
struct Turns {
  Value begin, end;
};

/// Narrows `turns` to those of which `condition` is true, where it compares the variable with a value from outside, or
/// is several such comparisons at once.
bool narrow(ImplicitLocOpBuilder& builder, const NestAnalysis& analysis, Value condition,
            Turns& turns) {
  using arith::CmpIPredicate;
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return narrow(builder, analysis, both.getLhs(), turns) &&
           narrow(builder, analysis, both.getRhs(), turns);
  auto comparison = condition.getDefiningOp<arith::CmpIOp>();
  LinearIndex difference;
  difference.coefficients.assign(1, 0);
  if (!comparison || !comparison.getLhs().getType().isIndex() ||
      !analysis.decompose(comparison.getLhs(), 1, difference) ||
      !analysis.decompose(comparison.getRhs(), -1, difference))
    return false;
  const int64_t factor = difference.coefficients.front();
  if (factor != 1 && factor != -1)
    return false;
  // Of variable * factor + rest, compared with 0: where the variable is `zero`, both sides are equal.
  IndexMath math(builder);
  Value zero = math.constant(-difference.constant * factor), one = math.constant(1);
  for (auto [value, scale] : difference.invariants)
    zero = math.sub(zero, math.mul(value, math.constant(scale * factor)));
  CmpIPredicate predicate = comparison.getPredicate();
  if (factor < 0)
    predicate = seenFromRight(predicate);
  Value after = math.add(zero, one);
  switch (predicate) {
  case CmpIPredicate::slt:
    turns.end = math.min(turns.end, zero);
    return true;
  case CmpIPredicate::sle:
    turns.end = math.min(turns.end, after);
    return true;
  case CmpIPredicate::sgt:
    turns.begin = math.max(turns.begin, after);
    return true;
  case CmpIPredicate::sge:
    turns.begin = math.max(turns.begin, zero);
    return true;
  case CmpIPredicate::eq:
    turns.begin = math.max(turns.begin, zero);
    turns.end = math.min(turns.end, after);
    return true;
  default:
    return false;
  }
}

/// The branch that holds all that a body does; null if it does more than compute beside it.
scf::IfOp onlyBranch(Block& body) {
  scf::IfOp found;
  for (Operation& op : body.without_terminator()) {
    auto branch = dyn_cast<scf::IfOp>(op);
    if (branch ? found || branch.getNumResults() > 0 || !branch.getElseRegion().empty()
               : !isPure(&op))
      return {};
    found = branch ? branch : found;
  }
  return found;
}

/// `if` around the whole body of a nest of one variable, as `if tx < count` of threads: a nest of the turns for which
/// it holds, since a condition in a loop on vectors costs more than all else there. Null if there is none such.
tile::ParallelOp withoutGuard(tile::ParallelOp nest) {
  scf::IfOp branch =
      nest.getStaticExtents().size() == 1 ? onlyBranch(*nest.getBodyBlock()) : scf::IfOp();
  if (!branch)
    return {};
  ImplicitLocOpBuilder builder(nest.getLoc(), nest);
  IndexMath math(builder);
  const NestAnalysis analysis(nest);
  Turns turns{math.constant(0), math.value(nest.getMixedExtents().front())};
  if (!narrow(builder, analysis, branch.getCondition(), turns))
    return {};
  Value count = math.max(math.sub(turns.end, turns.begin), math.constant(0));
  auto narrower = tile::ParallelOp::create(builder, getAsOpFoldResult(count));
  builder.setInsertionPointToStart(narrower.getBodyBlock());
  IRMapping mapping;
  mapping.map(nest.getInductionVars().front(),
              math.add(turns.begin, narrower.getInductionVars().front()));
  for (Operation& op : nest.getBodyBlock()->without_terminator())
    if (&op != branch)
      builder.clone(op, mapping);
  for (Operation& op : branch.thenBlock()->without_terminator())
    builder.clone(op, mapping);
  nest.erase();
  return narrower;
}

void lowerParallel(tile::ParallelOp nest, const Purpose& purpose) {
  while (tile::ParallelOp narrower = withoutGuard(nest))
    nest = narrower;
  ImplicitLocOpBuilder builder(nest.getLoc(), nest);
  NestAnalysis analysis(nest);
  Value inside;
  SmallVector<Operation*> decided;
  for (const Access& access : uncheckedAccesses(nest)) {
    SmallVector<LinearIndex> indices;
    for (Value index : access.indices)
      if (std::optional<LinearIndex> linear = analysis.decompose(index))
        indices.push_back(*linear);
    if (indices.size() != access.indices.size())
      continue;
    IndexMath math(builder);
    Value here;
    for (auto [number, index] : llvm::enumerate(indices))
      here = math.both(here,
                       analysis.isInside(builder, index, math.dim(access.buffer, int64_t(number))));
    if (!here) {
      setInBounds(access.op);
      continue;
    }
    decided.push_back(access.op);
    inside = math.both(inside, here);
  }
  if (!inside) {
    emitVersions(builder, analysis, nest, purpose);
    nest.erase();
    return;
  }
  auto branch = scf::IfOp::create(builder, inside, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(&branch.getElseRegion().front());
  emitNest(builder, nest, purpose);
  for (Operation* op : decided)
    setInBounds(op);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  emitVersions(builder, analysis, nest, purpose);
  nest.erase();
}

struct LowerParallel : MachinePass<LowerParallel> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerParallel)
  LowerParallel(const Machine& machine, bool isFast) : MachinePass(machine) {
    fast = isFast;
  }
  LowerParallel(const LowerParallel& other) : MachinePass(other) {}
  static constexpr llvm::StringLiteral kArgument = "cpu-lower-parallel";
  static constexpr llvm::StringLiteral kDescription =
      "turn tile.parallel into loops that LLVM vectorises";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry
        .insert<arith::ArithDialect, scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    const StreamTargets targets(getOperation(), machine);
    const Purpose purpose{targets, machine, fast};
    getOperation()->walk([&](tile::ParallelOp nest) { lowerParallel(nest, purpose); });
  }

  Option<bool> fast{*this, "fast", llvm::cl::desc("subnormal numbers round to bfloat16 as 0")};
};

} // namespace

std::unique_ptr<Pass> createLowerParallel(const Machine& machine, bool fast) {
  return std::make_unique<LowerParallel>(machine, fast);
}

} // namespace tilewright::cpu
