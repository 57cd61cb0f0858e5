// SPDX-License-Identifier: Apache-2.0
// Loops, branches, and what may stand in them.
#include "compiler/builder/scalars.h"
#include "compiler/ir/place_of.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright {

using builder::Constant;
using builder::Construction;
using builder::Frame;
using builder::FrameKind;

namespace {

const int64_t* known(const Index& index) {
  return std::get_if<int64_t>(&index);
}

tile::LoopKind toIr(LoopKind kind) {
  switch (kind) {
  case LoopKind::Serial:
    return tile::LoopKind::Serial;
  case LoopKind::Unroll:
    return tile::LoopKind::Unroll;
  case LoopKind::Vectorized:
    return tile::LoopKind::Vectorized;
  case LoopKind::Pipelined:
    return tile::LoopKind::Pipelined;
  case LoopKind::Persistent:
    return tile::LoopKind::Persistent;
  }
  return tile::LoopKind::Serial;
}

/// The name of an argument, where the loop has several.
std::string loopName(std::string_view variable) {
  return variable.empty() ? "loop" : "loop over '" + std::string(variable) + "'";
}

/// `num_stages`, 0 where absent; nothing after an error.
std::optional<int64_t> stagesOf(Construction& state, LoopKind kind, const Attributes& attributes) {
  const Attribute* given = builder::find(attributes, "num_stages");
  if (!given || kind != LoopKind::Pipelined)
    return 0;
  const auto* stages = std::get_if<int64_t>(given);
  if (stages && *stages >= 0)
    return *stages;
  state.error("num_stages must be an integer of at least 0" +
              (stages ? ", but it is " + std::to_string(*stages) : std::string()));
  return std::nullopt;
}

/// `order` and `stage` list the same statements.
bool checkSchedule(Construction& state, const Attributes& attributes) {
  const Attribute* order = builder::find(attributes, "order");
  const Attribute* stage = builder::find(attributes, "stage");
  if (!order || !stage)
    return true;
  const auto* orders = std::get_if<std::vector<int64_t>>(order);
  const auto* stages = std::get_if<std::vector<int64_t>>(stage);
  if (orders && stages && orders->size() == stages->size())
    return true;
  state.error("T.Pipelined has " + std::to_string(orders ? orders->size() : 0) +
              " entries in order but " + std::to_string(stages ? stages->size() : 0) + " in stage");
  return false;
}

struct Bounds {
  Index start, stop, step;
};

/// Bounds with a positive step that gives the variable itself, or a number of unit steps from which
/// it is computed.
struct Range {
  Index lower, upper;
  int64_t step = 1;
  bool isComputed = false;
};

std::optional<Bounds> resolveBounds(Construction& state, const Index& start, const Index& stop,
                                    const Index& step) {
  auto first = state.toIndex(start, "a loop's start");
  auto last = state.toIndex(stop, "a loop's stop");
  auto stride = state.toIndex(step, "a loop's step");
  if (!first || !last || !stride)
    return std::nullopt;
  if (known(*stride) && *known(*stride) == 0) {
    state.error("a loop's step is 0");
    return std::nullopt;
  }
  return Bounds{*first, *last, *stride};
}

/// Whether it is a number of 64 bits of the user's, which may be anything; other indices are made of fewer bits, or of
/// extents, and their sums don't come near the limits.
bool isWide(Construction& state, const Index& index) {
  if (known(index))
    return false;
  mlir::Operation* cast = state.indexIr(index).getDefiningOp();
  return mlir::isa_and_present<mlir::arith::IndexCastOp, mlir::arith::IndexCastUIOp>(cast) &&
         cast->getOperand(0).getType().getIntOrFloatBitWidth() == 64;
}

/// Whether it is one of them that has no sign: from 2^63 on it looks negative as an index.
bool isUnsigned(Construction& state, const Index& index) {
  return isWide(state, index) &&
         mlir::isa<mlir::arith::IndexCastUIOp>(state.indexIr(index).getDefiningOp());
}

/// left > right, where each has a sign or not.
mlir::Value isGreater(Construction& state, const Index& left, const Index& right) {
  using Predicate = mlir::arith::CmpIPredicate;
  mlir::OpBuilder& ir = state.ir;
  mlir::Location loc = state.location();
  mlir::Value a = state.indexIr(left), b = state.indexIr(right), zero = state.indexIr(int64_t{0});
  const bool aHasSign = !isUnsigned(state, left), bHasSign = !isUnsigned(state, right);
  auto compare = [&](Predicate predicate, mlir::Value x, mlir::Value y) {
    return ir.createOrFold<mlir::arith::CmpIOp>(loc, predicate, x, y);
  };
  if (aHasSign && bHasSign)
    return compare(Predicate::sgt, a, b);
  mlir::Value isAbove = compare(Predicate::ugt, a, b);
  if (aHasSign)
    return ir.createOrFold<mlir::arith::AndIOp>(loc, isAbove, compare(Predicate::sge, a, zero));
  if (bHasSign)
    return ir.createOrFold<mlir::arith::OrIOp>(loc, isAbove, compare(Predicate::slt, b, zero));
  return isAbove;
}

/// The turns of a loop whose bounds are known: at most as many as an index counts.
int64_t turnsOf(__int128 start, __int128 stop, __int128 step) {
  const __int128 distance = step > 0 ? stop - start : start - stop;
  const __int128 by = step > 0 ? step : -step;
  if (distance <= 0)
    return 0;
  const __int128 most = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min((distance + by - 1) / by, most));
}

/// The same of bounds that the running kernel knows, with no sum that leaves 64 bits: the distance is one without a
/// sign, as a bound of uint64 is. A step of 0, met at run time, has no turns.
mlir::Value turnsOfWide(Construction& state, const Bounds& bounds) {
  using Predicate = mlir::arith::CmpIPredicate;
  mlir::OpBuilder& ir = state.ir;
  mlir::Location loc = state.location();
  mlir::Value start = state.indexIr(bounds.start), stop = state.indexIr(bounds.stop),
              step = state.indexIr(bounds.step), zero = state.indexIr(int64_t{0}),
              one = state.indexIr(int64_t{1});
  auto stepIs = [&](Predicate predicate) {
    return ir.createOrFold<mlir::arith::CmpIOp>(loc, predicate, step, zero);
  };
  auto select = [&](mlir::Value condition, mlir::Value yes, mlir::Value no) {
    return ir.createOrFold<mlir::arith::SelectOp>(loc, condition, yes, no);
  };
  auto subtract = [&](mlir::Value from, mlir::Value value) {
    return ir.createOrFold<mlir::arith::SubIOp>(loc, from, value);
  };
  const bool hasSign = !isUnsigned(state, bounds.step);
  mlir::Value isUp =
      hasSign ? stepIs(Predicate::sge) : state.constantIr(Constant::ofInteger(1), ir.getI1Type());
  mlir::Value first = select(isUp, start, stop), last = select(isUp, stop, start);
  mlir::Value by = select(isUp, step, subtract(zero, step));
  mlir::Value divisor = ir.createOrFold<mlir::arith::MaxUIOp>(loc, by, one);
  mlir::Value count =
      ir.createOrFold<mlir::arith::CeilDivUIOp>(loc, subtract(last, first), divisor);
  mlir::Value most = state.indexIr(std::numeric_limits<int64_t>::max());
  count = ir.createOrFold<mlir::arith::MinUIOp>(loc, count, most);
  auto isBehind = [&] { return isGreater(state, bounds.start, bounds.stop); };
  mlir::Value isAhead;
  if (hasSign && known(bounds.step) && *known(bounds.step) < 0)
    isAhead = isBehind();
  else
    isAhead = isGreater(state, bounds.stop, bounds.start);
  if (hasSign && !known(bounds.step))
    isAhead = select(isUp, isAhead, isBehind());
  mlir::Value runs = ir.createOrFold<mlir::arith::AndIOp>(loc, isAhead, stepIs(Predicate::ne));
  return select(runs, count, zero);
}

Range rangeOf(Construction& state, const Bounds& bounds) {
  const int64_t *start = known(bounds.start), *stop = known(bounds.stop),
                *step = known(bounds.step);
  // Behind the last turn the variable would be one step on, which must not leave 64 bits.
  const int64_t most = std::numeric_limits<int64_t>::max();
  const bool hasUnsigned = isUnsigned(state, bounds.start) || isUnsigned(state, bounds.stop);
  if (step && *step > 0 && !hasUnsigned &&
      (*step == 1 || (stop ? *stop <= most - *step + 1 : !isWide(state, bounds.stop))))
    return {bounds.start, bounds.stop, *step, false};
  if (start && stop && step)
    return {int64_t{0}, turnsOf(*start, *stop, *step), 1, true};
  const bool isNear = stop && step && *step > 0;
  if (!step || isNear || isWide(state, bounds.start) || isWide(state, bounds.stop))
    return {int64_t{0}, state.indexOf(turnsOfWide(state, bounds)), 1, true};
  mlir::Value distance = state.ir.createOrFold<mlir::arith::SubIOp>(
      state.location(), state.indexIr(bounds.stop), state.indexIr(bounds.start));
  mlir::Value count = state.ir.createOrFold<mlir::arith::CeilDivSIOp>(state.location(), distance,
                                                                      state.indexIr(bounds.step));
  return {int64_t{0}, state.indexOf(count), 1, true};
}

/// Whether all numbers between are of that dtype: one bound is, and the other, or is a literal that it has.
bool areUint64(const Index& start, const Index& stop) {
  auto isOfDtype = [](const Index& bound) {
    const auto* value = std::get_if<Value>(&bound);
    return value && value->dtype() == Dtype(ScalarKind::UInt64);
  };
  auto fits = [&](const Index& bound) {
    return isOfDtype(bound) || (known(bound) && *known(bound) >= 0);
  };
  return fits(start) && fits(stop) && (isOfDtype(start) || isOfDtype(stop));
}

bool checkLoopPlace(Construction& state, LoopKind kind) {
  const Frame* parallel = state.enclosing(FrameKind::Parallel);
  if (!parallel || (kind != LoopKind::Pipelined && kind != LoopKind::Persistent))
    return true;
  state.error(std::string(kind == LoopKind::Pipelined ? "T.Pipelined" : "T.Persistent") +
                  " stands inside of T.Parallel, which holds code on single elements only",
              {{parallel->place, "T.Parallel is here"}});
  return false;
}

} // namespace

Value KernelBuilder::beginFor(LoopKind kind, Index start, Index stop, Index step,
                              std::string_view name, const Attributes& attributes) {
  bool isPlaced = state->requireLaunch("a loop") && checkLoopPlace(*state, kind);
  auto bounds = resolveBounds(*state, start, stop, step);
  auto stages = stagesOf(*state, kind, attributes);
  bool hasSchedule = checkSchedule(*state, attributes);
  if (bounds && kind == LoopKind::Vectorized && (!known(bounds->start) || !known(bounds->stop))) {
    state->error("T.vectorized needs bounds that are known while building the kernel");
    bounds.reset();
  }
  if (!isPlaced || !hasSchedule || !bounds || !stages)
    bounds.reset();
  // After an error the body is built all the same, for the errors in it.
  Range range = bounds ? rangeOf(*state, *bounds) : Range{int64_t{0}, int64_t{1}, 1, false};
  auto loop = tile::ForOp::create(state->ir, state->location(), state->indexIr(range.lower),
                                  state->indexIr(range.upper), state->indexIr(range.step),
                                  toIr(kind), stages.value_or(0));
  annotate(*state, loop, "a loop", attributes, {"num_stages"});
  if (!range.isComputed && !name.empty()) // an NPU's text, which people read, has it
    loop->setAttr(tile::kNameAttr,
                  state->ir.getStringAttr(llvm::StringRef(name.data(), name.size())));
  state->push(FrameKind::Loop, loopName(name), loop, loop.getBodyBlock()).hadEarlyExit =
      state->hasEarlyExit;
  mlir::Value variable = loop.getInductionVar();
  if (range.isComputed) {
    mlir::Location loc = state->location();
    mlir::Value moved =
        state->ir.createOrFold<mlir::arith::MulIOp>(loc, variable, state->indexIr(bounds->step));
    variable =
        state->ir.createOrFold<mlir::arith::AddIOp>(loc, state->indexIr(bounds->start), moved);
  }
  const bool isPlain = kind == LoopKind::Serial || kind == LoopKind::Unroll;
  if (!isPlain || !areUint64(start, stop))
    return state->add(variable, Dtype::int32(), true, name);
  variable = mlir::arith::IndexCastUIOp::create(state->ir, state->location(),
                                                state->ir.getI64Type(), variable);
  return state->add(variable, ScalarKind::UInt64, false, name);
}

void KernelBuilder::endFor() {
  if (auto frame = state->pop(FrameKind::Loop, "a loop"))
    state->hasEarlyExit = frame->hadEarlyExit;
}

// Parallel loops

namespace {

constexpr const char* kNestedParallel = "a T.Parallel inside of another must be its only "
                                        "statement; write one T.Parallel with all extents";

/// Adds an inner loop's extents to the parallel loop around it, which must hold nothing else so
/// far.
tile::ParallelOp mergeParallel(Construction& state, Frame& outer,
                               llvm::ArrayRef<mlir::OpFoldResult> extents) {
  auto before = mlir::cast<tile::ParallelOp>(outer.op);
  auto all = before.getMixedExtents();
  all.append(extents.begin(), extents.end());
  state.ir.setInsertionPoint(before);
  auto merged = tile::ParallelOp::create(state.ir, before.getLoc(), all);
  merged->setDiscardableAttrs(before->getDiscardableAttrDictionary());
  // The values of the outer variables live on in the merged loop.
  for (auto [argument, made] : llvm::zip(before.getInductionVars(), merged.getInductionVars())) {
    made.setLoc(argument.getLoc());
    for (builder::ValueRecord& record : state.values)
      if (record.ir == argument)
        record.ir = made;
  }
  for (Frame& frame : state.frames) {
    if (frame.op != before)
      continue;
    frame.op = merged;
    frame.block = merged.getBodyBlock();
  }
  outer.hasMerged = true;
  before.erase();
  return merged;
}

std::optional<llvm::SmallVector<mlir::OpFoldResult>> parallelExtents(Construction& state,
                                                                     std::span<const Index> given) {
  llvm::SmallVector<mlir::OpFoldResult> extents;
  if (given.empty()) {
    state.error("T.Parallel needs at least one extent");
    return std::nullopt;
  }
  for (const Index& extent : given) {
    auto resolved = state.toIndex(extent, "an extent of T.Parallel");
    if (!resolved)
      return std::nullopt;
    if (known(*resolved) && *known(*resolved) < 0) {
      state.error("an extent of T.Parallel is " + state.text(*resolved) +
                  ", but it cannot be negative");
      return std::nullopt;
    }
    extents.push_back(state.foldResult(*resolved));
  }
  return extents;
}

/// Whether a parallel loop that opens here merges with the one around it: it is its first
/// statement. An error if it may not stand here.
bool mergesWithOuter(Construction& state) {
  const Frame* outer = state.enclosing(FrameKind::Parallel);
  if (!state.requireLaunch("T.Parallel") || !outer)
    return false;
  bool isDirect = outer == &state.frames.back();
  if (isDirect && outer->block->without_terminator().empty() && !outer->hasMerged)
    return true;
  state.stateError(kNestedParallel, {{outer->place, "the outer T.Parallel is here"}});
  return false;
}

} // namespace

std::vector<Value> KernelBuilder::beginParallel(std::span<const Index> extents,
                                                std::span<const std::string> names,
                                                const Attributes& attributes) {
  bool merges = mergesWithOuter(*state);
  auto resolved = parallelExtents(*state, extents);
  mlir::Block* outer = state->frames.back().block;
  auto isFromOuter = [&](mlir::OpFoldResult extent) {
    auto value = mlir::dyn_cast<mlir::Value>(extent);
    return value && value.getParentBlock() == outer;
  };
  if (merges && resolved && llvm::any_of(*resolved, isFromOuter)) {
    state->error(
        "the extents of a T.Parallel inside of another cannot depend on the outer variables",
        {{state->frames.back().place, "the outer T.Parallel is here"}});
    merges = false;
  }
  size_t count = std::max<size_t>(extents.size(), 1);
  llvm::SmallVector<mlir::OpFoldResult> operands =
      resolved ? *resolved
               : llvm::SmallVector<mlir::OpFoldResult>(count, state->ir.getIndexAttr(1));
  tile::ParallelOp loop = merges ? mergeParallel(*state, state->frames.back(), operands)
                                 : tile::ParallelOp::create(state->ir, state->location(), operands);
  annotate(*state, loop, "T.Parallel", attributes, {});
  state->push(FrameKind::Parallel, "T.Parallel", loop, loop.getBodyBlock()).isMerged = merges;
  std::vector<Value> variables;
  for (auto [number, variable] : llvm::enumerate(loop.getInductionVars().take_back(count))) {
    const std::string_view name = number < names.size() ? std::string_view(names[number]) : "";
    if (!name.empty()) // for an NPU's text, as that of a loop
      variable.setLoc(named(llvm::StringRef(name.data(), name.size()), variable.getLoc()));
    variables.push_back(state->add(variable, Dtype::int32(), true, name));
  }
  return variables;
}

void KernelBuilder::endParallel() {
  auto frame = state->pop(FrameKind::Parallel, "T.Parallel");
  if (!frame)
    return;
  auto lastOp = [](mlir::Block* block) {
    auto body = block->without_terminator();
    return body.empty() ? nullptr : &*std::prev(body.end());
  };
  mlir::Operation* last = lastOp(frame->block);
  if (frame->hasMerged && frame->lastMerged != last)
    state->stateError(kNestedParallel, {{frame->place, "the outer T.Parallel is here"}});
  if (frame->isMerged)
    state->frames.back().lastMerged = last;
}

// Branches

void KernelBuilder::beginIf(Value condition) {
  bool isPlaced = state->requireLaunch("an if");
  bool isUsable = state->isUsable(condition) && isPlaced;
  mlir::Value flag = isUsable ? state->toBool(condition)
                              : state->constantIr(Constant::ofInteger(1), state->ir.getI1Type());
  auto op = mlir::scf::IfOp::create(state->ir, state->location(), flag, /*withElseRegion=*/false);
  state->push(FrameKind::If, "if", op, op.thenBlock());
}

void KernelBuilder::beginElse() {
  auto frame = state->pop(FrameKind::If, "the first branch of an if");
  if (!frame)
    return;
  auto op = mlir::cast<mlir::scf::IfOp>(frame->op);
  mlir::Block* block = state->ir.createBlock(&op.getElseRegion());
  mlir::scf::YieldOp::create(state->ir, op.getLoc());
  state->push(FrameKind::Else, "else", op, block);
}

void KernelBuilder::endIf() {
  state->pop(state->frames.back().kind == FrameKind::Else ? FrameKind::Else : FrameKind::If,
             "an if");
}

// While

void KernelBuilder::beginWhile() {
  state->requireLaunch("a while loop");
  auto op = tile::WhileOp::create(state->ir, state->location());
  state->push(FrameKind::WhileCondition, "while loop", op, &op.getCondition().front());
}

void KernelBuilder::whileCondition(Value condition) {
  bool isUsable = state->isUsable(condition);
  auto constant = isUsable ? state->constantOf(condition) : std::nullopt;
  if (constant && !constant->isReal && constant->integer != 0)
    state->error("the condition of this while loop is always true");
  mlir::Value flag = isUsable ? state->toBool(condition)
                              : state->constantIr(Constant::ofInteger(0), state->ir.getI1Type());
  auto frame = state->pop(FrameKind::WhileCondition, "the condition of a while loop");
  if (!frame)
    return;
  state->ir.setInsertionPointToEnd(frame->block);
  tile::ConditionOp::create(state->ir, state->location(), flag);
  auto op = mlir::cast<tile::WhileOp>(frame->op);
  state->push(FrameKind::While, "while loop", op, &op.getBody().front()).hadEarlyExit =
      state->hasEarlyExit;
}

void KernelBuilder::endWhile() {
  if (auto frame = state->pop(FrameKind::While, "a while loop"))
    state->hasEarlyExit = frame->hadEarlyExit;
}

// Early exits

namespace {

bool checkEarlyExit(Construction& state, std::string_view what) {
  for (auto frame = state.frames.rbegin(); frame != state.frames.rend(); ++frame) {
    if (frame->kind == FrameKind::Loop || frame->kind == FrameKind::While)
      return true;
    if (frame->kind == FrameKind::Parallel) {
      state.stateError("'" + std::string(what) +
                           "' inside of T.Parallel, whose iterations have no order",
                       {{frame->place, "T.Parallel is here"}});
      return false;
    }
    if (frame->kind == FrameKind::Agents) {
      state.stateError("'" + std::string(what) + "' leaves a loop from inside of T.Scope",
                       {{frame->place, "T.Scope is here"}});
      return false;
    }
    if (frame->kind == FrameKind::SelectTrue || frame->kind == FrameKind::SelectFalse ||
        frame->kind == FrameKind::WhileCondition)
      break;
  }
  state.stateError("'" + std::string(what) + "' outside of a loop");
  return false;
}

} // namespace

void KernelBuilder::breakLoop() {
  if (!checkEarlyExit(*state, "break"))
    return;
  state->hasEarlyExit = true;
  tile::BreakOp::create(state->ir, state->location());
}

void KernelBuilder::continueLoop() {
  if (!checkEarlyExit(*state, "continue"))
    return;
  state->hasEarlyExit = true;
  tile::ContinueOp::create(state->ir, state->location());
}

} // namespace tilewright
