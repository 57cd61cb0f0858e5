// SPDX-License-Identifier: Apache-2.0
/// TakeTurns: sides of branches on the thread's number that wait for each other run in turns.
///
///     scf.if %loads { tile.for .. { tile.assert %free {tile.wait}; A } }
///     else { tile.for .. { tile.assert %full {tile.wait}; B } }
/// becomes
///     tile.while { some side has not come to its end } do {
///       scf.if (%first side is at its wait) { if %free holds: it goes on }
///       scf.if (%first side is at A) { scf.if %loads { A }; it goes on }
///       scf.if (%second side is at its wait) { .. }
///       ..
///       tile.assert (some side has gone on)
///     }
///
/// A side is a list of steps: what stands between two waits, the waits, and the ends of loops and branches that hold
/// waits, or are left by a break or continue. A number in shared memory says where it is. Each step stands in a branch
/// of its own with the side's conditions, so that what stands behind knows nothing of turns. Values that a later step reads are computed again, or kept by
/// each thread. It stands before all that knows of groups.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/thread_groups.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/passes/analysis/thread_divergence.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <deque>
#include <utility>

using namespace mlir;

namespace tilewright {
namespace {

bool isWait(Operation* op) {
  return isa<tile::AssertOp>(op) && op->hasAttr(tile::kWaitAttr);
}

bool anyOf(Operation* op, llvm::function_ref<bool(Operation*)> is) {
  return op
      ->walk([&](Operation* nested) {
        return is(nested) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool holdsWait(Operation* op) {
  return anyOf(op, isWait);
}

/// Whether a break or continue below ends a turn of a loop around `op`.
bool leavesLoop(Operation* op) {
  return anyOf(op, [op](Operation* nested) {
    if (!isa<tile::BreakOp, tile::ContinueOp>(nested))
      return false;
    Operation* loop = nested->getParentOp();
    while (!isa<tile::ForOp, tile::WhileOp, tile::LaunchOp>(loop))
      loop = loop->getParentOp();
    return loop->isProperAncestor(op);
  });
}

/// One step of a side.
struct Step {
  enum Kind {
    Run,    ///< `ops`
    Wait,   ///< goes on if `op`'s condition holds
    Enter,  ///< a loop: its bounds; at `target` if it has no turn
    Next,   ///< its next turn, at `target`, if there is one
    Choose, ///< a branch, or a while's turn: at `target` if its condition doesn't hold
    Jump,   ///< to `target`
  };
  Kind kind;
  Operation* op = nullptr;
  SmallVector<Operation*> ops;
  size_t target = 0;
};

/// The jumps of a loop's breaks and continues, whose targets are known at its end.
struct Exits {
  SmallVector<size_t> breaks, continues;
};

/// The branches that lead to a side: each, and whether by its else.
using Path = SmallVector<std::pair<scf::IfOp, bool>>;

struct Side {
  Path path;
  Block* block = nullptr;
  SmallVector<Step> steps;
  llvm::DenseMap<Operation*, size_t> stepOf; ///< of the statements that stand in steps
};

class Turns {
public:
  Turns(tile::LaunchOp launch, const ThreadDivergence& divergence)
      : launch(launch), divergence(divergence), builder(launch.getContext()) {}

  /// The branches of one run of them in a block. False, with nothing changed, where their sides can't take turns.
  bool run(ArrayRef<scf::IfOp> branches) {
    for (scf::IfOp branch : branches)
      if (!collect(branch, {}))
        return false;
    if (sides.size() < 2)
      return false;
    SmallVector<Operation*> toSides;
    for (const Side& side : sides)
      for (auto [branch, isElse] : side.path)
        toSides.push_back(branch);
    const ThreadDivergence ofSides(launch, toSides);
    inside = &ofSides;
    for (Side& side : sides)
      if (!addSteps(side, *side.block) || !valuesCanMove(side))
        return false;
    scf::IfOp last = branches.back();
    builder.setInsertionPoint(last);
    for (Operation* op : outer)
      op->moveBefore(last);
    write(last.getLoc());
    for (scf::IfOp branch : llvm::reverse(branches))
      branch.erase();
    return true;
  }

private:
  /// The sides below a branch.
  bool collect(scf::IfOp branch, const Path& path) {
    for (bool isElse : {false, true}) {
      Region& region = isElse ? branch.getElseRegion() : branch.getThenRegion();
      if (region.empty() || region.front().without_terminator().empty())
        continue;
      Path here = path;
      here.emplace_back(branch, isElse);
      SmallVector<Operation*> before;
      scf::IfOp only;
      for (Operation& op : region.front().without_terminator()) {
        auto nested = dyn_cast<scf::IfOp>(op);
        if (!only && nested && nested.getNumResults() == 0 && divergence.differs(nested) &&
            holdsWait(nested))
          only = nested;
        else if (!only && isPure(&op) && op.getNumRegions() == 0)
          before.push_back(&op);
        else {
          only = nullptr;
          before.clear();
          break;
        }
      }
      if (only) {
        outer.append(before.begin(), before.end());
        if (!collect(only, here))
          return false;
      } else {
        Side& side = sides.emplace_back();
        side.path = here;
        side.block = &region.front();
      }
    }
    return true;
  }

  bool addSteps(Side& side, Block& block) {
    SmallVector<Operation*> ops;
    const auto flush = [&] {
      if (ops.empty())
        return;
      for (Operation* op : ops)
        side.stepOf[op] = side.steps.size();
      side.steps.push_back({Step::Run, nullptr, std::exchange(ops, {}), 0});
    };
    for (Operation& op : block) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        continue;
      if (isa<tile::BreakOp, tile::ContinueOp>(op)) {
        flush();
        return leave(side, &op); // what follows is dead
      }
      if (!holdsWait(&op) && !leavesLoop(&op)) {
        ops.push_back(&op);
        continue;
      }
      flush();
      if (isWait(&op))
        side.steps.push_back({Step::Wait, &op, {}, 0});
      else if (!addStructure(side, &op))
        return false;
    }
    flush();
    return true;
  }

  bool leave(Side& side, Operation* op) {
    if (exits.empty()) // of a loop around the branches
      return false;
    auto& jumps = isa<tile::BreakOp>(op) ? exits.back().breaks : exits.back().continues;
    jumps.push_back(side.steps.size());
    side.steps.push_back({Step::Jump, op, {}, 0});
    return true;
  }

  bool addStructure(Side& side, Operation* op) {
    if (inside->differs(op) || op->getNumResults() > 0)
      return false;
    if (auto loop = dyn_cast<tile::ForOp>(op))
      return addLoop(side, loop);
    if (auto loop = dyn_cast<tile::WhileOp>(op))
      return addLoop(side, loop);
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch)
      return false;
    const size_t first = side.steps.size();
    side.steps.push_back({Step::Choose, op, {}, 0});
    if (!addSteps(side, *branch.thenBlock()))
      return false;
    const size_t jump = side.steps.size();
    side.steps.push_back({Step::Jump, op, {}, 0});
    side.steps[first].target = side.steps.size();
    if (branch.elseBlock() && !addSteps(side, *branch.elseBlock()))
      return false;
    side.steps[jump].target = side.steps.size();
    return true;
  }

  bool addLoop(Side& side, tile::ForOp loop) {
    const size_t first = side.steps.size();
    side.steps.push_back({Step::Enter, loop, {}, 0});
    if (!addBody(side, *loop.getBodyBlock()))
      return false;
    const size_t next = side.steps.size();
    side.steps.push_back({Step::Next, loop, {}, first + 1});
    side.steps[first].target = side.steps.size();
    close(side, next);
    return true;
  }

  bool addLoop(Side& side, tile::WhileOp loop) {
    const size_t first = side.steps.size();
    Block& condition = loop.getCondition().front();
    if (!addSteps(side, condition))
      return false;
    const size_t choice = side.steps.size();
    side.steps.push_back({Step::Choose, condition.getTerminator(), {}, 0});
    if (!addBody(side, loop.getBody().front()))
      return false;
    side.steps.push_back({Step::Jump, loop, {}, first});
    side.steps[choice].target = side.steps.size();
    close(side, first);
    return true;
  }

  bool addBody(Side& side, Block& body) {
    exits.emplace_back();
    return addSteps(side, body);
  }

  /// Sets the targets of a loop's breaks, to behind it, and of its continues.
  void close(Side& side, size_t next) {
    const Exits jumps = exits.pop_back_val();
    for (size_t jump : jumps.breaks)
      side.steps[jump].target = side.steps.size();
    for (size_t jump : jumps.continues)
      side.steps[jump].target = next;
  }

  /// Whether what steps read of earlier ones can be computed again, or kept in a variable.
  static bool valuesCanMove(Side& side) {
    return llvm::all_of(side.stepOf, [](const auto& entry) {
      Operation* op = entry.first;
      return isPure(op) || isa<tile::AllocOp>(op) ||
             llvm::all_of(op->getResultTypes(),
                          [](Type type) { return type.isIntOrIndexOrFloat(); });
    });
  }

  // What is written --------------------------------------------------------------------------

  Value number(int64_t value) {
    return arith::ConstantOp::create(builder, place, builder.getI64IntegerAttr(value));
  }

  Value slot() {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(top);
    auto type = tile::BufferType::get({}, signedType(), tile::MemorySpace::Shared);
    return tile::AllocOp::create(builder, place, type, StringAttr(), IntegerAttr());
  }

  Type signedType() {
    return IntegerType::get(builder.getContext(), 64, IntegerType::Signed);
  }

  Value get(Value slot) {
    return tile::LoadOp::create(builder, place, builder.getI64Type(), slot, ValueRange{}, true);
  }

  void set(Value slot, Value value) {
    tile::StoreOp::create(builder, place, value, slot, ValueRange{}, true);
  }

  Value isAt(Value slot, int64_t value) {
    return arith::CmpIOp::create(builder, place, arith::CmpIPredicate::eq, get(slot),
                                 number(value));
  }

  void goTo(Side& side, size_t step) {
    set(at[&side], number(int64_t(step)));
    set(moved, number(1));
  }

  /// What `body` writes, in a branch for the side's threads.
  void forThreadsOf(const Side& side, llvm::function_ref<void(IRMapping&)> body) {
    OpBuilder::InsertionGuard guard(builder);
    for (auto [branch, isElse] : side.path) {
      auto made = scf::IfOp::create(builder, branch.getLoc(), branch.getCondition(), isElse);
      builder.setInsertionPointToStart(isElse ? made.elseBlock() : made.thenBlock());
    }
    IRMapping known;
    body(known);
  }

  /// Makes the operands of an op that steps hold known here.
  void bringOperands(Side& side, Operation* op, IRMapping& known) {
    op->walk([&](Operation* nested) {
      for (Value operand : nested->getOperands())
        bring(side, operand, known);
    });
  }

  void bring(Side& side, Value value, IRMapping& known) {
    if (known.contains(value))
      return;
    if (auto slotOfLoop = counters.find(value); slotOfLoop != counters.end()) {
      known.map(value, arith::IndexCastOp::create(builder, place, builder.getIndexType(),
                                                  get(slotOfLoop->second)));
      return;
    }
    Operation* made = value.getDefiningOp();
    if (!made || !side.stepOf.contains(made))
      return; // from outside, or of the op itself
    if (Value kept = variables.lookup(value)) {
      Value loaded =
          tile::LoadOp::create(builder, place, keptType(value), kept, ValueRange{}, true);
      if (value.getType().isIndex())
        loaded = arith::IndexCastOp::create(builder, place, value.getType(), loaded);
      known.map(value, loaded);
      return;
    }
    bringOperands(side, made, known);
    builder.clone(*made, known);
  }

  Type keptType(Value value) {
    return value.getType().isIndex() ? Type(builder.getI64Type()) : value.getType();
  }

  /// Variables for what a later step reads and can't be computed again; buffers are made before the turns.
  void keepValues(Side& side) {
    for (Step& step : side.steps) {
      if (step.kind == Step::Wait)
        askAgain(side, cast<tile::AssertOp>(step.op).getCondition());
      SmallVector<Operation*> left;
      for (Operation* op : step.ops) {
        if (!isa<tile::AllocOp>(op)) {
          left.push_back(op);
          continue;
        }
        op->moveBefore(top);
        side.stepOf.erase(op);
      }
      step.ops = std::move(left);
    }
    for (const Step& step : side.steps)
      for (Operation* op : step.ops)
        for (Value value : op->getResults())
          if (isReadLater(side, op, value))
            keepFor(side, value);
  }

  /// What a wait reads of memory is read each time that it is asked.
  void askAgain(Side& side, Value condition) {
    Operation* made = condition.getDefiningOp();
    if (!made || !side.stepOf.contains(made))
      return;
    auto load = dyn_cast<tile::LoadOp>(made);
    if (load && load.getBuffer().getType().getSpace() == tile::MemorySpace::Shared)
      asked.insert(made);
    else if (isPure(made))
      for (Value operand : made->getOperands())
        askAgain(side, operand);
  }

  void keepFor(Side& side, Value value) {
    Operation* made = value.getDefiningOp();
    if (!made || !side.stepOf.contains(made) || variables.contains(value) || asked.contains(made))
      return;
    if (!isPure(made)) {
      variables[value] = variableFor(value);
      return;
    }
    made->walk([&](Operation* nested) {
      for (Value operand : nested->getOperands())
        keepFor(side, operand);
    });
  }

  bool isReadLater(Side& side, Operation* op, Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation* user) {
      while (user && user->getBlock() != op->getBlock() && !side.stepOf.contains(user))
        user = user->getParentOp();
      const auto step = user ? side.stepOf.find(user) : side.stepOf.end();
      return step == side.stepOf.end() || step->second != side.stepOf.lookup(op);
    });
  }

  Value variableFor(Value value) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(top);
    Type type = value.getType();
    if (type.isIndex() || (type.isInteger() && type.getIntOrFloatBitWidth() > 1))
      type = IntegerType::get(type.getContext(), type.isIndex() ? 64 : type.getIntOrFloatBitWidth(),
                              IntegerType::Signed);
    return tile::AllocOp::create(builder, place,
                                 tile::BufferType::get({}, type, tile::MemorySpace::Var),
                                 StringAttr(), IntegerAttr());
  }

  void write(Location where) {
    place = where;
    Value zero = number(0);
    top = zero.getDefiningOp();
    moved = slot();
    said = slot();
    for (Side& side : sides) {
      at[&side] = slot();
      set(at[&side], zero);
      for (const Step& step : side.steps)
        if (step.kind == Step::Enter) {
          auto loop = cast<tile::ForOp>(step.op);
          counters[loop.getInductionVar()] = slot();
          ends[step.op] = slot();
        }
      keepValues(side);
    }
    auto turns = tile::WhileOp::create(builder, place);
    builder.setInsertionPointToEnd(&turns.getCondition().front());
    Value isOpen;
    for (Side& side : sides) {
      Value goesOn = arith::CmpIOp::create(builder, place, arith::CmpIPredicate::ne, get(at[&side]),
                                           number(int64_t(side.steps.size())));
      isOpen = isOpen ? arith::OrIOp::create(builder, place, isOpen, goesOn).getResult() : goesOn;
    }
    tile::ConditionOp::create(builder, place, isOpen);
    builder.setInsertionPointToStart(&turns.getBody().front());
    set(moved, number(0));
    for (Side& side : sides)
      for (size_t step = 0; step < side.steps.size(); ++step) {
        OpBuilder::InsertionGuard guard(builder);
        auto turn = scf::IfOp::create(builder, place, isAt(at[&side], int64_t(step)), false);
        builder.setInsertionPointToStart(turn.thenBlock());
        writeStep(side, step);
      }
    tellStuck();
  }

  /// Where no side has gone on, each that has not ended is at a wait: the first one is told.
  void tellStuck() {
    auto branch = scf::IfOp::create(builder, place, isAt(moved, 0), false);
    builder.setInsertionPointToStart(branch.thenBlock());
    for (Side& side : sides)
      for (auto [number_, step] : llvm::enumerate(side.steps))
        if (step.kind == Step::Wait) {
          Value isElsewhere = arith::CmpIOp::create(builder, place, arith::CmpIPredicate::ne,
                                                    get(at[&side]), number(int64_t(number_)));
          tile::AssertOp::check(builder, step.op->getLoc(), isElsewhere,
                                cast<tile::AssertOp>(step.op).getMessage());
        }
  }

  void writeStep(Side& side, size_t number_) {
    const Step& step = side.steps[number_];
    switch (step.kind) {
    case Step::Run:
      forThreadsOf(side, [&](IRMapping& known) {
        for (Operation* op : step.ops) {
          bringOperands(side, op, known);
          builder.clone(*op, known);
          for (Value value : op->getResults())
            if (Value kept = variables.lookup(value)) {
              Value stored = known.lookup(value);
              if (value.getType().isIndex())
                stored = arith::IndexCastOp::create(builder, place, builder.getI64Type(), stored);
              tile::StoreOp::create(builder, place, stored, kept, ValueRange{}, true);
            }
        }
      });
      goTo(side, number_ + 1);
      return;
    case Step::Wait:
      say(side, cast<tile::AssertOp>(step.op).getCondition());
      whereSaid([&] { goTo(side, number_ + 1); });
      return;
    case Step::Choose:
      say(side, conditionOf(step.op));
      set(at[&side], number(int64_t(step.target)));
      set(moved, number(1));
      whereSaid([&] { goTo(side, number_ + 1); });
      return;
    case Step::Enter: {
      auto loop = cast<tile::ForOp>(step.op);
      forThreadsOf(side, [&](IRMapping& known) {
        keep(side, loop.getLower(), counters[loop.getInductionVar()], known);
        keep(side, loop.getUpper(), ends[step.op], known);
      });
      chooseTurn(side, loop, number_ + 1, step.target);
      return;
    }
    case Step::Next: {
      auto loop = cast<tile::ForOp>(step.op);
      Value counter = counters[loop.getInductionVar()];
      forThreadsOf(side, [&](IRMapping& known) { keep(side, loop.getStep(), said, known); });
      set(counter, arith::AddIOp::create(builder, place, get(counter), get(said)));
      chooseTurn(side, loop, step.target, number_ + 1);
      return;
    }
    case Step::Jump:
      goTo(side, step.target);
      return;
    }
  }

  static Value conditionOf(Operation* op) {
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return branch.getCondition();
    return cast<tile::ConditionOp>(op).getCondition();
  }

  void keep(Side& side, Value value, Value slot, IRMapping& known) {
    bring(side, value, known);
    set(slot, arith::IndexCastOp::create(builder, place, builder.getI64Type(),
                                         known.lookupOrDefault(value)));
  }

  void chooseTurn(Side& side, tile::ForOp loop, size_t turn, size_t end) {
    Value isLeft = arith::CmpIOp::create(builder, place, arith::CmpIPredicate::slt,
                                         get(counters[loop.getInductionVar()]), get(ends[loop]));
    auto choice = arith::SelectOp::create(builder, place, isLeft, number(int64_t(turn)),
                                          number(int64_t(end)));
    set(at[&side], choice);
    set(moved, number(1));
  }

  /// The side's threads say whether a condition holds.
  void say(Side& side, Value condition) {
    forThreadsOf(side, [&](IRMapping& known) {
      bring(side, condition, known);
      set(said, arith::ExtUIOp::create(builder, place, builder.getI64Type(),
                                       known.lookupOrDefault(condition)));
    });
  }

  void whereSaid(llvm::function_ref<void()> body) {
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, place, isAt(said, 1), false);
    builder.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  tile::LaunchOp launch;
  const ThreadDivergence& divergence;
  const ThreadDivergence* inside = nullptr; ///< what differs among the threads of a side
  SmallVector<Exits> exits;                 ///< of the loops around what is added
  OpBuilder builder;
  Location place = UnknownLoc::get(builder.getContext());
  Operation* top = nullptr; ///< before it stands what the turns use
  std::deque<Side> sides;
  SmallVector<Operation*> outer;          ///< of blocks on the way to sides
  Value moved, said;                      ///< whether some side has gone on; what a side says
  llvm::DenseMap<Side*, Value> at;        ///< the step that a side is at
  llvm::DenseMap<Value, Value> counters;  ///< of loops, by their variables
  llvm::DenseMap<Operation*, Value> ends; ///< of loops
  llvm::DenseMap<Value, Value> variables; ///< what threads keep
  llvm::DenseSet<Operation*> asked;       ///< loads for conditions of waits
};

class TakeTurns : public KernelPass<TakeTurns> {
public:
  static constexpr llvm::StringLiteral kArgument = "take-turns";
  static constexpr llvm::StringLiteral kDescription =
      "let groups of threads that wait for each other run in turns";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    for (tile::LaunchOp launch : getOperation().getOps<tile::LaunchOp>()) {
      if (!holdsWait(launch))
        continue;
      const ThreadDivergence divergence(launch);
      findBarriers(launch);
      SmallVector<Block*> blocks;
      launch.walk<WalkOrder::PreOrder>([&](Block* block) { blocks.push_back(block); });
      for (Block* block : blocks)
        if (visit(launch, divergence, *block))
          break; // what is nested has gone
    }
  }

private:
  /// What waits read.
  void findBarriers(tile::LaunchOp launch) {
    barriers.clear();
    launch.walk([&](tile::AssertOp wait) {
      SmallVector<Value> read;
      if (isWait(wait))
        read.push_back(wait.getCondition());
      while (!read.empty()) {
        Operation* made = read.pop_back_val().getDefiningOp();
        if (auto load = dyn_cast_or_null<tile::LoadOp>(made))
          barriers.insert(rootBuffer(load.getBuffer()));
        else if (made && isPure(made))
          llvm::append_range(read, made->getOperands());
      }
    });
  }

  bool holdsArrival(Operation* op) const {
    return anyOf(op, [&](Operation* nested) {
      auto atomic = dyn_cast<tile::AtomicOp>(nested);
      return atomic && barriers.contains(rootBuffer(atomic.getBuffer()));
    });
  }

  /// The runs of branches in a block of which some wait.
  bool visit(tile::LaunchOp launch, const ThreadDivergence& divergence, Block& block) {
    SmallVector<scf::IfOp> branches;
    SmallVector<SmallVector<scf::IfOp>> runs;
    const auto flush = [&] {
      if (llvm::any_of(branches, [](scf::IfOp branch) { return holdsWait(branch); }))
        runs.push_back(branches);
      branches.clear();
    };
    for (Operation& op : block) {
      auto branch = dyn_cast<scf::IfOp>(op);
      if (branch && branch.getNumResults() == 0 && divergence.differs(branch) &&
          (holdsWait(branch) || holdsArrival(branch)))
        branches.push_back(branch);
      else if (!isPure(&op) || op.getNumRegions() > 0)
        flush();
    }
    flush();
    bool hasChanged = false;
    for (ArrayRef<scf::IfOp> run : runs)
      hasChanged |= Turns(launch, divergence).run(run);
    return hasChanged;
  }

  llvm::DenseSet<Value> barriers;
};

} // namespace

std::unique_ptr<Pass> createTakeTurns() {
  return std::make_unique<TakeTurns>();
}

} // namespace tilewright
