// SPDX-License-Identifier: Apache-2.0
/// Turns code that tells threads apart into loops over the threads of a block.
///
///   %tx = tile.thread_id 0
///   %v = tile.load %A[%tx]              // each thread's own
///   tile.store %v, %s[%tx]
///   tile.sync block                     // a cut
///   %w = tile.load %s[%other]
///   tile.store %v, %B[%tx]
/// becomes
///   %slot = tile.alloc : !tile.buffer<128xf32, fragment>   // %v lives across the cut
///   tile.parallel (%t) in [128] { %v = tile.load %A[%t] ... tile.store %v, %slot[%t] }
///   tile.parallel (%t) in [128] { %v = tile.load %slot[%t] ... tile.store %v, %B[%t] }
///
/// A segment is what lies between two cuts (collective ops): it runs as one loop over the threads, a tile.for
/// where it holds more than arithmetic, loads, stores and branches. A
/// loop or branch that holds a cut stays outside of these loops; its bounds or condition are those
/// of the first thread (an assertion says that they are the same for all; where threads begin at numbers of their own, as many
/// turns are). A branch that may hold what a warp does together without coming to it is gone through for those who
/// take each side, and the assertion stands where they come to it. A branch that groups of threads take
/// (group_threads.cpp) is run by one group after the other; a group whose threads aren't neighbours is asked for each
/// thread. What holds only shuffles, votes or
/// barriers of a warp is run warp by warp. Values and buffers of a thread that live across a cut get
/// one more dim; cheap index arithmetic is computed again instead.
///
/// It stands before all that knows no threads, and before assertions are numbered. Kernels without thread ids are left alone.
#include "compiler/ir/own_reads.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/ir/thread_groups.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/passes/analysis/thread_choices.h"
#include "compiler/passes/analysis/thread_divergence.h"
#include "compiler/passes/analysis/thread_indices.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/thread_slots.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <mlir/Transforms/RegionUtils.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;

class ThreadSplitter {
public:
  ThreadSplitter(tile::LaunchOp launch, int64_t threads)
      : launch(launch), builder(launch.getLoc(), launch), slots(builder, launch.getThreads()),
        threads(threads), cuts(launch), divergence(launch), indices(launch, divergence),
        choices(threads, divergence, indices) {}

  void split() {
    Block* body = launch.getBodyBlock();
    auto fresh = tile::LaunchOp::create(builder, launch.getGrid(), launch.getThreads());
    fresh->setDiscardableAttrs(launch->getDiscardableAttrDictionary());
    mapping.map(launch.getBlockIds(), fresh.getBlockIds());
    builder.setInsertionPointToStart(fresh.getBodyBlock());
    IndexMath math(builder);
    Group block{math.constant(0), math.constant(threads)};
    block.isOfWarps = true;
    emitBlock(*body, block);
    launch.erase();
  }

private:
  static constexpr llvm::StringLiteral kWarpMessage = "the threads of a warp must agree here";

  /// The threads that the code being emitted is for.
  struct Group {
    Value first, end;
    bool isWarp = false;
    bool isPart = false; ///< of the block
    /// Of the threads between, those that take these sides of branches: the condition, and whether it is the else.
    SmallVector<std::pair<Value, bool>, 1> sides = {};
    bool isOfWarps = false; ///< all threads of a warp are in it, or none
  };

  // Classification

  bool isUniform(Value value) {
    return mapping.contains(value) || !launch.getBody().isAncestor(value.getParentRegion());
  }
  static bool isPlain(Operation* op) {
    return op->getNumRegions() == 0 && isMemoryEffectFree(op) && !isa<tile::ThreadIdOp>(op);
  }
  bool isUniform(Operation* op) {
    return isPlain(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isUniform(operand); });
  }
  bool isCheap(Operation* op) {
    if (isa<tile::ThreadIdOp>(op))
      return true;
    return isPlain(op) && isa<arith::ArithDialect>(op->getDialect()) &&
           llvm::all_of(op->getOperands(),
                        [&](Value value) { return isUniform(value) || cheap.contains(value); });
  }
  static bool isUsedOutside(Value value, const llvm::SmallPtrSetImpl<Operation*>& segment) {
    return llvm::any_of(value.getUsers(), [&](Operation* user) {
      Operation* here = value.getParentBlock()->findAncestorOpInBlock(*user);
      return !segment.contains(here);
    });
  }

  // Values of a thread

  /// The value that `old` has in thread `t`; `local` holds those that this loop has already.
  Value threadValue(Value old, Value t, IRMapping& local) {
    if (Value known = local.lookupOrNull(old))
      return known;
    if (Value known = mapping.lookupOrNull(old))
      return known;
    Operation* op = old.getDefiningOp();
    Value made = old;
    if (slots.has(old)) {
      made = slots.read(slots.arrayOf(old), old.getType(), t);
    } else if (op && cheap.contains(old)) {
      if (auto id = dyn_cast<tile::ThreadIdOp>(op)) {
        made = slots.threadId(t, int64_t(id.getDim()));
      } else {
        IRMapping operands;
        for (Value operand : op->getOperands())
          operands.map(operand, threadValue(operand, t, local));
        made = builder.clone(*op, operands)->getResult(0);
      }
    }
    local.map(old, made);
    return made;
  }

  /// Clones an op with all that it holds, for thread `t`.
  Operation* cloneFor(Operation* op, Value t, IRMapping& local) {
    IRMapping operands(local);
    auto take = [&](Value value) {
      if (!operands.contains(value))
        operands.map(value, threadValue(value, t, local));
    };
    op->walk([&](Operation* nested) {
      for (Value operand : nested->getOperands())
        if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
          take(operand);
    });
    Operation* made = builder.clone(*op, operands);
    for (auto [before, after] : llvm::zip(op->getResults(), made->getResults()))
      local.map(before, after);
    slots.adapt(made, t);
    return made;
  }

  /// A value in code that runs once for the group: that of its first thread, which all must have.
  Value groupValue(Value old, const Group& group) {
    IRMapping local;
    Value first = threadValue(old, group.first, local);
    if (isUniform(old))
      return first;
    requireSame(group, [&](Value t) {
      IRMapping own;
      return threadValue(old, t, own);
    });
    return first;
  }

  /// An assertion that all threads of a group have the number that the first one has.
  void requireSame(const Group& group, llvm::function_ref<Value(Value)> numberOf) {
    const Value first = numberOf(group.first);
    overThreads(group, builder.getLoc(), [&](Value t) {
      const Value other = numberOf(t);
      Value same;
      if (isa<FloatType>(first.getType()))
        same = arith::CmpFOp::create(builder, arith::CmpFPredicate::UEQ, other, first);
      else
        same = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, other, first);
      tile::AssertOp::check(builder, builder.getLoc(), same,
                            group.isWarp ? kWarpMessage : "the threads of a block must agree here");
    });
  }

  // Segments

  void emitSegment(ArrayRef<Operation*> ops, const Group& group) {
    const llvm::SmallPtrSet<Operation*, 16> segment(ops.begin(), ops.end());
    SmallVector<Operation*> rest;
    for (Operation* op : ops) {
      if (isUniform(op)) {
        Operation* made = builder.clone(*op, mapping);
        for (auto [before, after] : llvm::zip(op->getResults(), made->getResults()))
          mapping.map(before, after);
      } else if (isCheap(op)) {
        cheap.insert_range(op->getResults());
      } else if (op->getNumResults() == 1 && isa<tile::BufferType>(op->getResult(0).getType()) &&
                 (isUsedOutside(op->getResult(0), segment) || isOfWidened(op))) {
        mapping.map(op->getResult(0), slots.widen(op, mapping));
      } else {
        rest.push_back(op);
      }
    }
    if (!rest.empty())
      emitThreadLoop(rest, segment, group);
  }

  bool isOfWidened(Operation* op) {
    auto view = dyn_cast<tile::ViewOp>(op);
    return view && mapping.contains(view.getSource());
  }

  void emitThreadLoop(ArrayRef<Operation*> ops, const llvm::SmallPtrSetImpl<Operation*>& segment,
                      const Group& group) {
    for (Operation* op : ops)
      for (Value result : op->getResults())
        if (!isa<tile::BufferType>(result.getType()) && isUsedOutside(result, segment))
          slots.make(result);
    const bool isElementwise = llvm::all_of(ops, [](Operation* op) { return goesByVectors(op); });
    auto body = [&](Value t) {
      IRMapping local;
      for (Operation* op : ops) {
        builder.setLoc(op->getLoc());
        cloneFor(op, t, local);
        for (Value result : op->getResults())
          if (slots.has(result))
            slots.write(slots.arrayOf(result), local.lookup(result), t);
      }
    };
    if (isElementwise)
      atOnce(group, ops.front()->getLoc(), body);
    else
      overThreads(group, ops.front()->getLoc(), body);
  }

  /// Whether an op is such that a vector can do it for several threads: arithmetic, loads, stores, and branches
  /// around these. Between two cuts, threads touch no memory that another one writes.
  static bool goesByVectors(Operation* op) {
    return !op->walk([](Operation* nested) {
                const bool isAllowed =
                    isa<tile::LoadOp, tile::StoreOp, scf::IfOp, scf::YieldOp, tile::AllocOp>(
                        nested) ||
                    (nested->getNumRegions() == 0 && isMemoryEffectFree(nested));
                return isAllowed ? WalkResult::advance() : WalkResult::interrupt();
              }).wasInterrupted();
  }

  void overThreads(const Group& group, Location loc, llvm::function_ref<void(Value)> body) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setLoc(loc);
    IndexMath math(builder);
    auto loop = tile::ForOp::create(builder, group.first, group.end, math.constant(1));
    builder.setInsertionPointToStart(loop.getBodyBlock());
    whereOf(group, loop.getInductionVar(), [&] { body(loop.getInductionVar()); });
  }

  /// As overThreads, and the threads may run at once.
  void atOnce(const Group& group, Location loc, llvm::function_ref<void(Value)> body) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setLoc(loc);
    IndexMath math(builder);
    const OpFoldResult count = getAsOpFoldResult(math.sub(group.end, group.first));
    auto nest = tile::ParallelOp::create(builder, count);
    builder.setInsertionPointToStart(nest.getBodyBlock());
    Value t = math.add(nest.getInductionVars().front(), group.first);
    whereOf(group, t, [&] { body(t); });
  }

  /// What `body` makes, for a thread that takes the group's sides.
  void whereOf(const Group& group, Value t, llvm::function_ref<void()> body) {
    OpBuilder::InsertionGuard guard(builder);
    for (auto [condition, isElse] : group.sides) {
      IRMapping local;
      Value isTaken = threadValue(condition, t, local);
      if (isElse)
        isTaken = negated(isTaken);
      auto taken = scf::IfOp::create(builder, TypeRange(), isTaken, /*withElseRegion=*/false);
      builder.setInsertionPointToStart(taken.thenBlock());
    }
    body();
  }

  Value negated(Value condition) {
    Value isTrue = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
    return arith::XOrIOp::create(builder, condition, isTrue);
  }

  /// Calls `body` for each warp of the group (for a warp: once), with those of its threads that are in the group.
  void overWarps(const Group& group, llvm::function_ref<void(const Group&)> body) {
    if (group.isWarp)
      return body(group);
    OpBuilder::InsertionGuard guard(builder);
    IndexMath math(builder);
    Value start = group.first;
    if (group.isPart) { // which may begin and end within a warp
      Value lane = arith::RemUIOp::create(builder, start, math.constant(tile::kWarpSize));
      start = math.sub(start, lane);
    }
    auto loop = tile::ForOp::create(builder, start, group.end, math.constant(tile::kWarpSize));
    builder.setInsertionPointToStart(loop.getBodyBlock());
    Value first = loop.getInductionVar();
    Value end = math.add(first, math.constant(tile::kWarpSize));
    if (group.isPart || threads % tile::kWarpSize != 0)
      end = math.min(end, group.end);
    if (group.isPart)
      first = math.max(first, group.first);
    const Group warp{first, end, /*isWarp=*/true, group.isPart, {}, group.isOfWarps};
    if (group.isOfWarps || group.sides.empty())
      return whereOf(group, first, [&] { body(warp); });
    Group among = warp;
    among.sides = group.sides;
    forAnyone(choose(among), [&](const Group& found) { body(found); });
  }

  /// What `body` makes, if there is a thread in the group.
  void forAnyone(const Group& group, llvm::function_ref<void(const Group&)> body) {
    IndexMath math(builder);
    Value isAnyone = math.atMost(math.add(group.first, math.constant(1)), group.end);
    auto made = scf::IfOp::create(builder, TypeRange(), isAnyone, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.thenBlock());
    body(group);
  }

  /// An assertion that all threads of each warp of the group have come here.
  void requireWarps(const Group& group, Location loc) {
    if (group.isOfWarps)
      return;
    overWarps(group, [&](const Group& warp) {
      IndexMath math(builder);
      Value count = makeCount(math.constant(0));
      overThreads(warp, loc, [&](Value) { set(count, math.add(get(count), math.constant(1))); });
      Value start =
          math.mul(arith::DivUIOp::create(builder, warp.first, math.constant(tile::kWarpSize)),
                   math.constant(tile::kWarpSize));
      Value all = math.min(math.constant(tile::kWarpSize), math.sub(math.constant(threads), start));
      tile::AssertOp::check(builder, loc, math.atMost(all, get(count)), kWarpMessage);
    });
  }

  void emitBlock(Block& block, const Group& group) {
    SmallVector<Operation*> segment;
    auto flush = [&] {
      if (!segment.empty())
        emitSegment(segment, group);
      segment.clear();
    };
    for (Operation& op : block) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        break;
      if (!cuts.isCut(&op)) {
        segment.push_back(&op);
        continue;
      }
      flush();
      builder.setLoc(op.getLoc());
      emitCut(&op, group);
    }
    flush();
  }

  // Cuts

  void emitCut(Operation* op, const Group& group) {
    if (auto shuffle = dyn_cast<tile::ShuffleOp>(op))
      return emitShuffle(shuffle, group);
    if (auto vote = dyn_cast<tile::VoteOp>(op))
      return emitVote(vote, group);
    if (auto sync = dyn_cast<tile::SyncOp>(op)) { // the loop's end is the barrier of a block
      if (sync.getScope() == tile::SyncScope::Grid)
        builder.clone(*op);
      if (sync.getScope() == tile::SyncScope::Warp)
        requireWarps(group, op->getLoc());
      return;
    }
    if (!isStructure(op)) {
      IRMapping local;
      if (auto nest = dyn_cast<tile::ParallelOp>(op))
        takeIntoNest(nest, group, local);
      for (Value operand : op->getOperands())
        if (operand.getType().isIntOrIndex())
          local.map(operand, groupValue(operand, group));
      Operation* made = cloneFor(op, group.first, local);
      for (auto [before, after] : llvm::zip(op->getResults(), made->getResults()))
        mapping.map(before, after);
      return;
    }
    if (!cuts.isBlockWide(op) && !group.isWarp)
      return overWarps(group, [&](const Group& warp) { emitStructure(op, warp); });
    emitStructure(op, group);
  }

  /// The numbers that a nest takes from outside: which thread runs an iteration isn't known, so all must have the same.
  void takeIntoNest(tile::ParallelOp nest, const Group& group, IRMapping& local) {
    llvm::SetVector<Value> taken;
    getUsedValuesDefinedAbove(nest.getBody(), taken);
    for (Value value : taken)
      if (value.getType().isIntOrIndexOrFloat() && !isUniform(value))
        local.map(value, groupValue(value, group));
    for (tile::LoadOp load : tile::ownReads(nest))
      if (divergence.differs(rootBuffer(load.getBuffer())))
        requireSame(group, [&](Value t) {
          IRMapping own;
          return cloneFor(load, t, own)->getResult(0);
        });
  }

  static bool isStructure(Operation* op) {
    return isa<tile::ForOp, tile::WhileOp, scf::IfOp>(op);
  }

  void emitInside(Block* target, Block& source, const Group& group) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(target);
    emitBlock(source, group);
  }

  void emitStructure(Operation* op, const Group& group) {
    if (auto loop = dyn_cast<tile::ForOp>(op)) {
      auto made = tile::ForOp::create(builder, groupValue(loop.getLower(), group),
                                      groupValue(loop.getUpper(), group),
                                      groupValue(loop.getStep(), group), loop.getKind());
      made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
      mapping.map(loop.getInductionVar(), made.getInductionVar());
      emitInside(made.getBodyBlock(), *loop.getBodyBlock(), group);
    } else if (auto loop = dyn_cast<tile::WhileOp>(op)) {
      auto made = tile::WhileOp::create(builder);
      Block& condition = loop.getCondition().front();
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&made.getCondition().front());
      emitBlock(condition, group);
      auto end = cast<tile::ConditionOp>(condition.getTerminator());
      tile::ConditionOp::create(builder, groupValue(end.getCondition(), group));
      emitInside(&made.getBody().front(), loop.getBody().front(), group);
    } else if (op->hasAttr(tile::kThreadGroupsAttr)) {
      emitGroups(cast<scf::IfOp>(op), group);
    } else if (auto branch = cast<scf::IfOp>(op); partsWarps(branch, group)) {
      emitSide(branch, false, group);
      emitSide(branch, true, group);
    } else {
      const bool hasElse = !branch.getElseRegion().empty();
      auto made = scf::IfOp::create(builder, TypeRange(), groupValue(branch.getCondition(), group),
                                    hasElse);
      emitInside(made.thenBlock(), *branch.thenBlock(), group);
      if (hasElse)
        emitInside(made.elseBlock(), *branch.elseBlock(), group);
    }
  }

  /// Whether threads of a warp may go two ways through a branch, as what they must do together stands where they
  /// may not come to. Elsewhere it is told at the branch.
  bool partsWarps(scf::IfOp branch, const Group& group) {
    const Value condition = branch.getCondition();
    return group.isWarp && !isUniform(condition) && divergence.differs(condition) &&
           cuts.mayPassBy(branch) && !choices.choiceOf(condition).isOfWarps;
  }

  /// A side of a branch, for those threads of a warp that take it.
  void emitSide(scf::IfOp branch, bool isElse, const Group& group) {
    Region& side = branch->getRegion(isElse);
    if (side.empty())
      return;
    Group among = group;
    among.sides.emplace_back(branch.getCondition(), isElse);
    among.isOfWarps = false;
    forAnyone(choose(among), [&](const Group& part) { emitBlock(side.front(), part); });
  }

  // Groups

  /// Those who take the one side, then those who take the other.
  void emitGroups(scf::IfOp branch, const Group& group) {
    const Sides sides = sidesOf(branch, group);
    auto emit = [&](Region& side, ArrayRef<Group> parts) {
      for (const Group& part : parts) {
        if (side.empty())
          continue;
        forAnyone(part, [&](const Group& those) { emitBlock(side.front(), those); });
      }
    };
    emit(branch.getThenRegion(), sides.taken);
    emit(branch.getElseRegion(), sides.others);
  }

  struct Sides {
    SmallVector<Group, 2> taken, others;
  };
  Sides sidesOf(scf::IfOp branch, const Group& group) {
    const auto known = branch->getAttrOfType<ArrayAttr>(tile::kThreadGroupsAttr);
    if (known.size() == 2)
      return {knownParts(branch, false, known[0], group),
              knownParts(branch, true, known[1], group)};
    // A side with work for a group is one range; the other one may be what lies around it.
    const bool isElse = !isShared(branch.getThenRegion());
    const Group one = choose(branch.getCondition(), isElse, group);
    const SmallVector<Group, 2> rest =
        isShared(branch.getElseRegion())
            ? SmallVector<Group, 2>{choose(branch.getCondition(), !isElse, group)}
            : around(one, group);
    return isElse ? Sides{around(one, group), {one}} : Sides{{one}, rest};
  }

  bool isShared(Region& side) {
    return !side.empty() &&
           llvm::any_of(side.front(), [&](Operation& op) { return cuts.isBlockWide(&op); });
  }

  /// Each range of a side's threads, or one group of them all where these wait for each other.
  SmallVector<Group, 2> knownParts(scf::IfOp branch, bool isElse, Attribute ranges,
                                   const Group& group) {
    IndexMath math(builder);
    SmallVector<Group, 2> parts;
    const ArrayRef<int64_t> ends = cast<DenseI64ArrayAttr>(ranges).asArrayRef();
    const size_t length = isShared(branch->getRegion(isElse)) ? ends.size() : 2;
    const bool areOfWarps = llvm::all_of(
        ends, [&](int64_t end) { return end % tile::kWarpSize == 0 || end == threads; });
    for (size_t at = 0; at < ends.size(); at += length)
      parts.push_back({math.constant(ends[at]),
                       math.constant(ends[at + length - 1]),
                       /*isWarp=*/false,
                       true,
                       {},
                       areOfWarps});
    if (length > 2) {
      parts[0].sides = group.sides;
      parts[0].sides.emplace_back(branch.getCondition(), isElse);
    }
    return parts;
  }

  SmallVector<Group, 2> around(const Group& part, const Group& group) {
    IndexMath math(builder);
    return {{group.first, part.first, /*isWarp=*/false, /*isPart=*/true, group.sides},
            {math.max(part.end, part.first), group.end, /*isWarp=*/false, /*isPart=*/true,
             group.sides}};
  }

  /// The threads of a group for which a condition holds, or doesn't: neighbours.
  Group choose(Value condition, bool isElse, const Group& group) {
    Group among = group;
    among.sides.emplace_back(condition, isElse);
    const Group found = choose(among);
    return {found.first, found.end, /*isWarp=*/false, /*isPart=*/true, group.sides};
  }

  /// The group from the first that takes its sides to the last one. For nobody it gives from the group's end to
  /// its first.
  Group choose(const Group& group) {
    Value first = makeCount(group.end), end = makeCount(group.first);
    overThreads(group, builder.getLoc(), [&](Value t) {
      IndexMath math(builder);
      set(first, math.min(get(first), t));
      set(end, math.add(t, math.constant(1)));
    });
    Group found = group;
    found.first = get(first);
    found.end = get(end);
    found.isPart = true;
    return found;
  }
  Value makeCount(Value start) {
    const auto type =
        tile::BufferType::get({}, IntegerType::get(builder.getContext(), 64, IntegerType::Signed),
                              tile::MemorySpace::Var);
    Value made = tile::AllocOp::create(builder, type, StringAttr(), IntegerAttr());
    set(made, start);
    return made;
  }
  void set(Value variable, Value index) {
    Value number = arith::IndexCastOp::create(builder, builder.getI64Type(), index);
    tile::StoreOp::create(builder, number, variable, ValueRange(), /*in_bounds=*/true);
  }
  Value get(Value variable) {
    Value number = tile::LoadOp::create(builder, builder.getI64Type(), variable, ValueRange(),
                                        /*in_bounds=*/true);
    return arith::IndexCastOp::create(builder, builder.getIndexType(), number);
  }

  /// An array with every thread's value of `old`.
  Value arrayWith(Value old, const Group& group) {
    if (slots.has(old))
      return slots.arrayOf(old);
    Value array = slots.allocate(old.getType());
    atOnce(group, builder.getLoc(), [&](Value t) {
      IRMapping local;
      slots.write(array, threadValue(old, t, local), t);
    });
    return array;
  }

  void emitShuffle(tile::ShuffleOp op, const Group& group) {
    requireWarps(group, op.getLoc());
    Value given = arrayWith(op.getValue(), group);
    slots.make(op.getResult());
    atOnce(group, op.getLoc(), [&](Value t) {
      IRMapping local;
      Value from = slots.partner(op, t, threadValue(op.getLane(), t, local));
      slots.write(slots.arrayOf(op.getResult()), slots.read(given, op.getType(), from), t);
    });
  }

  void emitVote(tile::VoteOp op, const Group& group) {
    slots.make(op.getResult());
    auto count = [&](const Group& voters) {
      if (voters.isWarp && op.getScope() == tile::SyncScope::Warp)
        requireWarps(voters, op.getLoc());
      Value total = slots.startVote(op);
      overThreads(voters, op.getLoc(), [&](Value t) {
        IRMapping local;
        slots.addVote(op, total, threadValue(op.getCondition(), t, local), t);
      });
      overThreads(voters, op.getLoc(), [&](Value t) {
        Value said = tile::LoadOp::create(builder, op.getType(), total, ValueRange(), true);
        slots.write(slots.arrayOf(op.getResult()), said, t);
      });
    };
    if (op.getScope() == tile::SyncScope::Warp)
      overWarps(group, count);
    else
      count(group);
  }

  tile::LaunchOp launch;
  ImplicitLocOpBuilder builder;
  ThreadSlots slots;
  int64_t threads;
  ThreadCuts cuts;
  ThreadDivergence divergence;
  ThreadIndices indices;
  ThreadChoices choices;
  /// Values that are the same for all threads, and buffers: old to new.
  IRMapping mapping;
  /// Index arithmetic on thread ids, which each loop computes for itself.
  llvm::DenseSet<Value> cheap;
};

/// Loops that hold a cut and begin elsewhere in each thread, `T.serial(lane, n, 32)`: all threads must take as many
/// turns, so these are counted, and the variable is each thread's.
void countTurns(tile::LaunchOp launch) {
  const ThreadCuts cuts(launch);
  const ThreadDivergence divergence(launch);
  SmallVector<tile::ForOp> loops;
  launch.walk([&](tile::ForOp loop) {
    if (cuts.isCut(loop) && divergence.differs(loop.getLower()))
      loops.push_back(loop);
  });
  for (tile::ForOp loop : loops) {
    ImplicitLocOpBuilder builder(loop.getLoc(), loop);
    IndexMath math(builder);
    Value lower = loop.getLower(), step = loop.getStep();
    Value distance = math.sub(loop.getUpper(), lower);
    Value turns =
        math.max(builder.createOrFold<arith::CeilDivSIOp>(distance, step), math.constant(0));
    loop.getLowerMutable().assign(math.constant(0));
    loop.getUpperMutable().assign(turns);
    loop.getStepMutable().assign(math.constant(1));
    Value turn = loop.getInductionVar();
    builder.setInsertionPointToStart(loop.getBodyBlock());
    Value moved = math.mul(turn, step), value = math.add(lower, moved);
    const llvm::SmallPtrSet<Operation*, 2> own{moved.getDefiningOp(), value.getDefiningOp()};
    turn.replaceAllUsesExcept(value, own);
  }
}

struct SplitThreads : KernelPass<SplitThreads> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitThreads)
  static constexpr llvm::StringLiteral kArgument = "cpu-split-threads";
  static constexpr llvm::StringLiteral kDescription =
      "turn code that tells threads apart into loops over the threads";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::LaunchOp> launches(getOperation().getOps<tile::LaunchOp>());
    for (tile::LaunchOp launch : launches)
      if (tellsThreadsApart(launch)) {
        countTurns(launch);
        ThreadSplitter(launch, launch.getThreadCount()).split();
      }
  }
};

} // namespace

std::unique_ptr<Pass> createSplitThreads() {
  return std::make_unique<SplitThreads>();
}

} // namespace tilewright::cpu
