// SPDX-License-Identifier: Apache-2.0
/// StructureExits: loops that are left early, and iterations that end early, become branches.
///
///   tile.for %i = %c0 to %n step %c1 {
///     a
///     scf.if %c { tile.break }
///     b
///   }
/// becomes
///   %state = tile.alloc "exit_state" : !tile.buffer<si32, var>            // 0: go on, 1: next iteration, 2: left
///   tile.store 0, %state[]
///   tile.for %i = %c0 to %n step %c1 {
///     scf.if (%state[] != 2) {
///       a
///       scf.if %c { tile.store 2, %state[] }
///       scf.if (%state[] == 0) { b }
///     }
///   }
///
/// A `while` that asks for elements which its body writes is left by a `break` at the beginning of the body, since it asks
/// once more than the body runs:
///
///   tile.while { %v = tile.load %x[%c0] ; ... ; tile.condition %c } do { a }
///   ->  tile.while { tile.condition %true } do { %v = tile.load %x[%c0] ; ... ; scf.if (not %c) { tile.break } ; a }
///
/// So what follows has one way through each block, and InsertFlags can pair a set in an iteration with a
/// wait in the next. The iterations that are left do nothing. Only kernels for which the compiler finds flags
/// need it. It stands where copies and gemms are still one operation each, but behind FoldClears and
/// PlaceBuffers, which look for gemms in loops and for the ways out of them.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/analysis/thread_divergence.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/crossing_places.h"
#include "compiler/targets/ascend/loop_exits.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

enum Exit : int32_t { GoOn = 0, NextIteration = 1, Left = kLeftState };

/// Whether a block leaves its loop, not only an iteration.
bool hasBreak(Block& block) {
  for (Operation& op : block) {
    if (isa<tile::BreakOp>(op))
      return true;
    if (isLoop(&op))
      continue;
    for (Region& region : op.getRegions())
      for (Block& inner : region)
        if (hasBreak(inner))
          return true;
  }
  return false;
}

/// Whether two buffers share bytes: the kernel may have given both an address.
bool sharePlace(Value a, Value b) {
  auto first = a.getDefiningOp<tile::AllocOp>(), second = b.getDefiningOp<tile::AllocOp>();
  if (a == b || !first || !second || !first.getAddress() || !second.getAddress() ||
      first.getType().getSpace() != second.getType().getSpace())
    return a == b;
  const auto begin = static_cast<int64_t>(*first.getAddress()),
             other = static_cast<int64_t>(*second.getAddress());
  return begin < other + npu::storageBytes(second.getType()) &&
         other < begin + npu::storageBytes(first.getType());
}

/// Whether the condition reads memory that the body may write.
bool asksWhatItWrites(tile::WhileOp loop) {
  SmallVector<Value> asked;
  loop.getCondition().walk([&](tile::LoadOp load) {
    if (load.getBuffer().getType().getSpace() != MemorySpace::Var)
      asked.push_back(rootBuffer(load.getBuffer()));
  });
  const auto mayWrite = [&](Operation* op) {
    const auto isAsked = [&](Value operand) {
      return isa<BufferType>(operand.getType()) &&
             llvm::any_of(asked, [&](Value each) { return sharePlace(rootBuffer(operand), each); });
    };
    const bool writes =
        !isa<tile::LoadOp, tile::ViewOp>(op) && llvm::any_of(op->getOperands(), isAsked);
    return writes ? WalkResult::interrupt() : WalkResult::advance();
  };
  return !asked.empty() && loop.getBody().walk(mayWrite).wasInterrupted();
}

/// Asks in the body what the condition asked.
void askInBody(tile::WhileOp loop) {
  Block &asking = loop.getCondition().front(), &body = loop.getBody().front();
  auto condition = cast<tile::ConditionOp>(asking.getTerminator());
  const Location place = condition.getLoc();
  const Value answer = condition.getCondition();
  const Block::iterator first = body.begin();
  body.getOperations().splice(first, asking.getOperations(), asking.begin(),
                              condition->getIterator());
  OpBuilder at(&body, first);
  Value yes = arith::ConstantOp::create(at, place, at.getBoolAttr(true));
  Value isOver = arith::XOrIOp::create(at, place, answer, yes);
  auto branch = scf::IfOp::create(at, place, isOver, /*withElseRegion=*/false);
  at.setInsertionPointToStart(branch.thenBlock());
  tile::BreakOp::create(at, place);
  at.setInsertionPoint(condition);
  condition.getConditionMutable().assign(
      arith::ConstantOp::create(at, place, at.getBoolAttr(true)).getResult());
}

/// The exits of one loop.
class LoopRewriter {
public:
  explicit LoopRewriter(Operation* loop) : loop(loop), state(makeVariable(kExitStateName)) {
    OpBuilder before(loop);
    set(GoOn, before);
  }

  void run(Block& body) {
    const bool canBeLeft = hasBreak(body);
    rewrite(body);
    OpBuilder inside = OpBuilder::atBlockBegin(&body);
    set(GoOn, inside);
    if (!canBeLeft)
      return;
    guard(body, body.begin(), arith::CmpIPredicate::ne, Left);
    if (auto repeat = dyn_cast<tile::WhileOp>(loop))
      askOnlyInside(repeat);
  }

private:
  /// A number before the loop.
  Value makeVariable(const char* name) {
    OpBuilder before(loop);
    const auto number = IntegerType::get(loop->getContext(), 32, IntegerType::Signed);
    auto alloc =
        tile::AllocOp::create(before, loop->getLoc(), BufferType::get({}, number, MemorySpace::Var),
                              before.getStringAttr(name), IntegerAttr());
    alloc->setAttr(kExitStateAttr, before.getUnitAttr());
    return alloc;
  }

  void set(Exit value, OpBuilder& at) {
    set(value, at, loop->getLoc());
  }
  void set(Exit value, OpBuilder& at, Location place) {
    Value number = arith::ConstantOp::create(at, place, at.getI32IntegerAttr(value));
    tile::StoreOp::create(at, place, number, state, ValueRange(), /*in_bounds=*/false);
  }

  Value is(arith::CmpIPredicate predicate, Exit value, OpBuilder& at) {
    const Location place = loop->getLoc();
    Value now = tile::LoadOp::create(at, place, at.getI32Type(), state, ValueRange(),
                                     /*in_bounds=*/false);
    Value number = arith::ConstantOp::create(at, place, at.getI32IntegerAttr(value));
    return arith::CmpIOp::create(at, place, predicate, now, number);
  }

  /// Moves what stands from `first` on, but the terminator, into a branch; its block.
  Block* guard(Block& block, Block::iterator first, arith::CmpIPredicate predicate, Exit value) {
    OpBuilder at(&block, first);
    auto branch = scf::IfOp::create(at, loop->getLoc(), is(predicate, value, at),
                                    /*withElseRegion=*/false);
    Block* inner = branch.thenBlock();
    inner->getOperations().splice(inner->begin(), block.getOperations(),
                                  std::next(branch->getIterator()), std::prev(block.end()));
    return inner;
  }

  void rewrite(Block& block) {
    for (Operation& op : block) {
      if (!hasExit(&op))
        continue;
      if (isa<tile::BreakOp, tile::ContinueOp>(op)) {
        OpBuilder at(&op);
        set(isa<tile::BreakOp>(op) ? Left : NextIteration, at, op.getLoc());
        dropFrom(block, &op);
        return;
      }
      for (Region& region : op.getRegions())
        for (Block& inner : region)
          rewrite(inner);
      const Block::iterator rest = std::next(op.getIterator());
      if (rest != std::prev(block.end()))
        rewrite(*guard(block, rest, arith::CmpIPredicate::eq, GoOn));
      return;
    }
  }

  /// What follows an exit is dead.
  static void dropFrom(Block& block, Operation* first) {
    while (&*std::prev(block.end(), 2) != first)
      std::prev(block.end(), 2)->erase();
    first->erase();
  }

  /// The condition is asked for no more once the loop has been left.
  void askOnlyInside(tile::WhileOp repeat) {
    Block& block = repeat.getCondition().front();
    auto condition = cast<tile::ConditionOp>(block.getTerminator());
    const Location place = loop->getLoc();
    Value answer = makeVariable("goes_on");
    OpBuilder at(condition);
    Value wide = arith::ExtUIOp::create(at, place, at.getI32Type(), condition.getCondition());
    tile::StoreOp::create(at, place, wide, answer, ValueRange(), /*in_bounds=*/false);
    guard(block, block.begin(), arith::CmpIPredicate::ne, Left);
    OpBuilder first = OpBuilder::atBlockBegin(&block);
    Value zero = arith::ConstantOp::create(first, place, first.getI32IntegerAttr(0));
    tile::StoreOp::create(first, place, zero, answer, ValueRange(), /*in_bounds=*/false);
    at.setInsertionPoint(condition);
    Value given = tile::LoadOp::create(at, place, at.getI32Type(), answer, ValueRange(),
                                       /*in_bounds=*/false);
    Value none = arith::ConstantOp::create(at, place, at.getI32IntegerAttr(0));
    condition.getConditionMutable().assign(
        arith::CmpIOp::create(at, place, arith::CmpIPredicate::ne, given, none).getResult());
  }

  Operation* loop;
  Value state;
};

struct StructureExits : KernelPass<StructureExits> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StructureExits)
  static constexpr llvm::StringLiteral kArgument = "ascend-structure-exits";
  static constexpr llvm::StringLiteral kDescription =
      "make branches of what leaves a loop or an iteration early";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<scf::SCFDialect, arith::ArithDialect>();
  }

  StructureExits() = default;
  explicit StructureExits(bool always) : always(always) {}

  void runOnOperation() override {
    const auto isCrossing = [](tile::CopyOp copy) {
      return crossesCores(copy) ? WalkResult::interrupt() : WalkResult::advance();
    };
    if (always || getOperation().walk(isCrossing).wasInterrupted())
      structureExits(getOperation());
  }

  bool always = true;
};

} // namespace

void structureExits(func::FuncOp kernel) {
  SmallVector<Operation*> loops; // inner ones first
  kernel.walk([&](Operation* op) {
    if (isa<tile::ForOp, tile::WhileOp>(op))
      loops.push_back(op);
  });
  for (Operation* loop : loops) {
    Block& body = loop->getRegions().back().front();
    if (auto repeat = dyn_cast<tile::WhileOp>(loop); repeat && asksWhatItWrites(repeat))
      askInBody(repeat);
    if (llvm::any_of(body, [](Operation& op) { return hasExit(&op); }))
      LoopRewriter(loop).run(body);
  }
}

WhileQuestion questionOf(tile::WhileOp loop) {
  Block& block = loop.getCondition().front();
  auto condition = cast<tile::ConditionOp>(block.getTerminator());
  const WhileQuestion plain{condition.getCondition(), &block, {}};
  const auto loadIn = [](Value compared) {
    auto compare = compared.getDefiningOp<arith::CmpIOp>();
    return compare ? compare.getLhs().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
  };
  tile::LoadOp given = loadIn(condition.getCondition());
  Operation* answer = given ? given.getBuffer().getDefiningOp() : nullptr;
  if (!answer || !answer->hasAttr(kExitStateAttr))
    return plain;
  WhileQuestion asked; // askOnlyInside stores 0, and the answer in a branch on the state
  for (Operation* user : answer->getUsers()) {
    auto store = dyn_cast<tile::StoreOp>(user);
    if (!store || getConstantIntValue(store.getValue()) == 0)
      continue;
    auto wide = store.getValue().getDefiningOp<arith::ExtUIOp>();
    auto branch = dyn_cast<scf::IfOp>(store->getParentOp());
    tile::LoadOp now = branch ? loadIn(branch.getCondition()) : tile::LoadOp();
    if (asked.state || !now)
      return plain;
    asked = {wide ? wide.getIn() : store.getValue(), branch.thenBlock(), now.getBuffer()};
  }
  return asked.state ? asked : plain;
}

std::unique_ptr<Pass> createStructureExits(bool always) {
  return std::make_unique<StructureExits>(always);
}

} // namespace tilewright::ascend
