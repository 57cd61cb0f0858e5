// SPDX-License-Identifier: Apache-2.0
/// Turns loops and branches into blocks.
///
///   tile.for %k = %lo to %hi step %s { ...; scf.if %c { tile.break } ... }
/// becomes
///   cf.br ^head(%lo)
///   ^head(%k):  %go = arith.cmpi slt, %k, %hi    cf.cond_br %go, ^body, ^exit
///   ^body:      ...; cf.cond_br %c, ^break, ^rest     ^break: cf.br ^exit
///   ^latch:     %stop = llvm.load volatile %launch      cf.cond_br %stop, ^leave, ^head(%k + %s)
///   ^leave:     llvm.call %launch->leave(%launch)       func.return
///
/// MLIR's own lowering knows neither `tile.break` nor our polling: a loop that the user wrote may
/// run long, so it looks at TwLaunch::stop at each turn. Loops that we made (scf.for) are short and
/// do not. It stands after the buffers are pointers, when nothing needs structured regions any
/// more.
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/told_numbers.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/passes.h"
#include "tilewright/kernel_abi.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Transforms/RegionUtils.h>

#include <cstddef>

namespace tilewright::cpu {
namespace {

using namespace mlir;

/// Byte offsets in TwLaunch.
constexpr int32_t deviceErrorOffset = offsetof(TwLaunch, device_error),
                  leaveOffset = offsetof(TwLaunch, leave), toldOffset = offsetof(TwLaunch, told);
/// A loop that is known to turn no more often is not polled.
constexpr int64_t unpolledTurns = 64;

class Flattener {
public:
  explicit Flattener(func::FuncOp function)
      : function(function), builder(function.getLoc(), function.getContext()) {}

  void flatten() {
    SmallVector<Operation*> ops;
    function.walk([&](Operation* op) {
      if (isa<scf::IfOp, scf::ForOp, scf::WhileOp, tile::ForOp, tile::WhileOp, tile::AssertOp>(op))
        ops.push_back(op);
    });
    for (Operation* op : ops) { // innermost first
      builder.setLoc(op->getLoc());
      if (auto branch = dyn_cast<scf::IfOp>(op))
        flattenIf(branch);
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        flattenCountedLoop(loop);
      else if (auto loop = dyn_cast<scf::WhileOp>(op))
        flattenRetries(loop);
      else if (auto loop = dyn_cast<tile::ForOp>(op))
        flattenUserLoop(loop);
      else if (auto check = dyn_cast<tile::AssertOp>(op))
        asserts.push_back(check);
      else
        flattenWhile(cast<tile::WhileOp>(op));
    }
    // Last, when all blocks are in the function: a failed one leaves it.
    for (tile::AssertOp check : asserts)
      flattenAssert(check);
    // What follows a break is dead; the conversion to LLVM would not visit it.
    IRRewriter rewriter(builder);
    (void)eraseUnreachableBlocks(rewriter, function->getRegions());
  }

private:
  /// Splits the block at `op`: what follows becomes a block with one argument per result of `op`.
  Block* splitAfter(Operation* op) {
    Block* after = op->getBlock()->splitBlock(std::next(op->getIterator()));
    for (Value result : op->getResults())
      result.replaceAllUsesWith(after->addArgument(result.getType(), op->getLoc()));
    return after;
  }

  /// Moves the blocks of `region` before `after`; returns the first and last.
  static std::pair<Block*, Block*> inlineBefore(Region& region, Block* after) {
    Block *first = &region.front(), *last = &region.back();
    after->getParent()->getBlocks().splice(after->getIterator(), region.getBlocks());
    return {first, last};
  }

  /// Replaces the terminator of `block` by a branch.
  void branchInstead(Block* block, Block* target, ValueRange operands) {
    Operation* terminator = block->getTerminator();
    builder.setInsertionPoint(terminator);
    cf::BranchOp::create(builder, target, operands);
    terminator->erase();
  }

  void flattenIf(scf::IfOp op) {
    Block* before = op->getBlock();
    Block* after = splitAfter(op);
    auto inlineBranch = [&](Region& region) -> Block* {
      if (region.empty())
        return after;
      auto [first, last] = inlineBefore(region, after);
      SmallVector<Value> results(last->getTerminator()->getOperands());
      branchInstead(last, after, results);
      return first;
    };
    Value condition = op.getCondition();
    Block* whenTrue = inlineBranch(op.getThenRegion());
    Block* whenFalse = inlineBranch(op.getElseRegion());
    op->erase();
    builder.setInsertionPointToEnd(before);
    cf::CondBranchOp::create(builder, condition, whenTrue, whenFalse);
  }

  /// Inserts `head` (with the loop variable and `carried` as arguments), which enters `body` while
  /// the variable is below `upper`.
  Block* makeHead(Block* before, Block* body, Block* after, Value lower, Value upper,
                  ValueRange carried) {
    Block* head = builder.createBlock(body);
    Value variable = head->addArgument(lower.getType(), builder.getLoc());
    SmallVector<Value> initial{lower}, results;
    for (Value value : carried) {
      initial.push_back(value);
      results.push_back(head->addArgument(value.getType(), builder.getLoc()));
    }
    builder.setInsertionPointToEnd(before);
    cf::BranchOp::create(builder, head, initial);
    builder.setInsertionPointToStart(head);
    Value more = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, variable, upper);
    cf::CondBranchOp::create(builder, more, body, ValueRange(), after, results);
    return head;
  }

  void flattenCountedLoop(scf::ForOp op) {
    Block* before = op->getBlock();
    Block* after = splitAfter(op);
    auto [body, last] = inlineBefore(op.getRegion(), after);
    Block* head =
        makeHead(before, body, after, op.getLowerBound(), op.getUpperBound(), op.getInitArgs());
    for (auto [inner, outer] : llvm::zip(body->getArguments(), head->getArguments()))
      inner.replaceAllUsesWith(outer);
    body->eraseArguments(0, body->getNumArguments());

    Operation* yield = last->getTerminator();
    builder.setInsertionPoint(yield);
    SmallVector<Value> next{nextTurn(head->getArgument(0), op.getStep())};
    llvm::append_range(next, yield->getOperands());
    auto latch = cf::BranchOp::create(builder, head, next);
    // The name that llvm.br knows: it takes over cf.br's attributes, and ignores others.
    if (Attribute annotation = op->getAttr(kLoopAttr))
      latch->setAttr("loop_annotation", annotation);
    yield->erase();
    op->erase();
  }

  /// A loop of ours that tries until it succeeds.
  void flattenRetries(scf::WhileOp op) {
    Block* before = op->getBlock();
    Block* after = splitAfter(op);
    auto [head, lastOfCondition] = inlineBefore(op.getBefore(), after);
    auto [body, last] = inlineBefore(op.getAfter(), after);
    builder.setInsertionPointToEnd(before);
    cf::BranchOp::create(builder, head, op.getInits());
    auto condition = cast<scf::ConditionOp>(lastOfCondition->getTerminator());
    builder.setInsertionPoint(condition);
    cf::CondBranchOp::create(builder, condition.getCondition(), body, condition.getArgs(), after,
                             condition.getArgs());
    condition->erase();
    SmallVector<Value> next(last->getTerminator()->getOperands());
    branchInstead(last, head, next);
    op->erase();
  }

  Value nextTurn(Value variable, Value step) {
    auto noWrap = arith::IntegerOverflowFlagsAttr::get(builder.getContext(),
                                                       arith::IntegerOverflowFlags::nsw);
    return arith::AddIOp::create(builder, variable, step, noWrap);
  }

  static bool isShort(tile::ForOp op) {
    std::optional<int64_t> lower = getConstantIntValue(op.getLower());
    std::optional<int64_t> upper = getConstantIntValue(op.getUpper());
    return lower && upper && *upper - *lower <= unpolledTurns;
  }

  void flattenUserLoop(tile::ForOp op) {
    const bool polled = !isShort(op);
    Block* before = op->getBlock();
    Block* after = splitAfter(op);
    auto [body, last] = inlineBefore(op.getBody(), after);
    Block* latch = builder.createBlock(after);
    Block* head = makeHead(before, body, after, op.getLower(), op.getUpper(), {});
    body->getArgument(0).replaceAllUsesWith(head->getArgument(0));
    body->eraseArgument(0);
    branchInstead(last, latch, {});
    routeBreaks(body, latch, after, latch);

    builder.setInsertionPointToEnd(latch);
    Value next = nextTurn(head->getArgument(0), op.getStep());
    closeLoop(latch, head, next, polled);
    op->erase();
  }

  void flattenWhile(tile::WhileOp op) {
    Block* before = op->getBlock();
    Block* after = splitAfter(op);
    auto [head, lastOfCondition] = inlineBefore(op.getCondition(), after);
    auto [body, last] = inlineBefore(op.getBody(), after);
    Block* latch = builder.createBlock(after);
    builder.setInsertionPointToEnd(before);
    cf::BranchOp::create(builder, head);
    auto condition = cast<tile::ConditionOp>(lastOfCondition->getTerminator());
    builder.setInsertionPoint(condition);
    cf::CondBranchOp::create(builder, condition.getCondition(), body, after);
    condition->erase();
    branchInstead(last, latch, {});
    routeBreaks(body, latch, after, latch);
    closeLoop(latch, head, {}, /*polled=*/true);
    op->erase();
  }

  /// Replaces `tile.break` and `tile.continue` in the blocks [first, end) by branches. What follows
  /// them is dead.
  void routeBreaks(Block* first, Block* end, Block* breakTo, Block* continueTo) {
    SmallVector<Operation*> found;
    for (Block* block = first; block != end; block = block->getNextNode())
      for (Operation& op : *block)
        if (isa<tile::BreakOp, tile::ContinueOp>(op))
          found.push_back(&op);
    for (Operation* op : found) {
      op->getBlock()->splitBlock(std::next(op->getIterator()));
      builder.setInsertionPoint(op);
      cf::BranchOp::create(builder, isa<tile::BreakOp>(op) ? breakTo : continueTo);
      op->erase();
    }
  }

  /// Ends `latch` with a branch to `head`, after a look at TwLaunch::stop.
  void closeLoop(Block* latch, Block* head, Value next, bool polled) {
    builder.setInsertionPointToEnd(latch);
    const ValueRange operands = next ? ValueRange(next) : ValueRange();
    if (!polled || !function->hasAttr(kBlocksAttr)) {
      cf::BranchOp::create(builder, head, operands);
      return;
    }
    Value launch = function.getArgument(function.getNumArguments() - 1);
    Value stop = LLVM::LoadOp::create(builder, builder.getI32Type(), launch, /*alignment=*/4,
                                      /*isVolatile=*/true);
    Value none = arith::ConstantOp::create(builder, builder.getI32IntegerAttr(0));
    Value go = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, stop, none);
    auto branch = cf::CondBranchOp::create(builder, go, head, operands, leaveBlock(), ValueRange());
    branch.setBranchWeights(ArrayRef<int32_t>{INT32_MAX, 1});
  }

  /// A false condition stores 1 + number in TwLaunch::device_error, what the message tells in TwLaunch::told, and
  /// leaves.
  void flattenAssert(tile::AssertOp op) {
    builder.setLoc(op.getLoc());
    auto number = op->getAttrOfType<IntegerAttr>(kAssertAttr);
    Block* before = op->getBlock();
    Block* after = splitAfter(op);
    Block* failed = builder.createBlock(after);
    Value launch = function.getArgument(function.getNumArguments() - 1);
    Value address = LLVM::GEPOp::create(builder, launch.getType(), builder.getI8Type(), launch,
                                        ArrayRef<LLVM::GEPArg>(deviceErrorOffset),
                                        LLVM::GEPNoWrapFlags::inbounds);
    Value code = arith::ConstantOp::create(
        builder, builder.getI32IntegerAttr(number ? int32_t(number.getInt()) + 1 : 1));
    auto comparison = op.getCondition().getDefiningOp<arith::CmpIOp>();
    if (op->hasAttr(tile::kTellsAttr) && comparison &&
        comparison.getLhs().getType().isInteger(64)) {
      Value told =
          LLVM::GEPOp::create(builder, launch.getType(), builder.getI8Type(), launch,
                              ArrayRef<LLVM::GEPArg>(toldOffset), LLVM::GEPNoWrapFlags::inbounds);
      LLVM::StoreOp::create(builder, comparison.getLhs(), told);
    }
    LLVM::StoreOp::create(builder, code, address);
    cf::BranchOp::create(builder, leaveBlock());
    builder.setInsertionPointToEnd(before);
    auto branch = cf::CondBranchOp::create(builder, op.getCondition(), after, failed);
    branch.setBranchWeights(ArrayRef<int32_t>{INT32_MAX, 1});
    op->erase();
  }

  /// The block that calls TwLaunch::leave; made once.
  Block* leaveBlock() {
    if (leave)
      return leave;
    OpBuilder::InsertionGuard guard(builder);
    leave = builder.createBlock(&function.getBody(), function.getBody().end());
    Value launch = function.getArgument(function.getNumArguments() - 1);
    auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Value address =
        LLVM::GEPOp::create(builder, pointer, builder.getI8Type(), launch,
                            ArrayRef<LLVM::GEPArg>(leaveOffset), LLVM::GEPNoWrapFlags::inbounds);
    Value target = LLVM::LoadOp::create(builder, pointer, address);
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {pointer});
    for (auto call : llvm::to_vector(function.getBody().front().getOps<func::CallOp>()))
      if (call.getCallee() == "malloc") // of place_sized_tiles.cpp
        func::CallOp::create(builder, "free", TypeRange(), call.getResults());
    LLVM::CallOp::create(builder, type, ValueRange{target, launch});
    if (function->hasAttr(kTilesAttr)) // it may return, see c_entry.cpp
      LLVM::CallIntrinsicOp::create(builder, builder.getStringAttr("llvm.x86.tilerelease"),
                                    ValueRange());
    func::ReturnOp::create(builder);
    return leave;
  }

  func::FuncOp function;
  ImplicitLocOpBuilder builder;
  Block* leave = nullptr;
  SmallVector<tile::AssertOp> asserts;
};

struct FlattenControlFlow : KernelPass<FlattenControlFlow> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FlattenControlFlow)
  static constexpr llvm::StringLiteral kArgument = "cpu-flatten-control-flow";
  static constexpr llvm::StringLiteral kDescription = "turn loops and branches into blocks";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect>();
  }

  /// Blocks of a region that stays can't leave it.
  static bool staysWhole(Operation* op) {
    return op->getNumRegions() > 0 &&
           !isa<func::FuncOp, scf::IfOp, scf::ForOp, scf::WhileOp, tile::ForOp, tile::WhileOp>(op);
  }

  void runOnOperation() override {
    const WalkResult walked = getOperation().walk<WalkOrder::PreOrder>([](Operation* op) {
      if (!staysWhole(op))
        return WalkResult::advance();
      op->emitOpError("isn't lowered yet, and holds other ops");
      return WalkResult::interrupt();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    Flattener(getOperation()).flatten();
  }
};

} // namespace

std::unique_ptr<Pass> createFlattenControlFlow() {
  return std::make_unique<FlattenControlFlow>();
}

} // namespace tilewright::cpu
