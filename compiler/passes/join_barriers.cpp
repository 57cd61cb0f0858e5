// SPDX-License-Identifier: Apache-2.0
/// JoinBarriers: barriers on both sides of a branch on the thread's number are those of all threads.
///
///     scf.if %below32 { A; tile.sync block; B } else { C; tile.sync block; D }
/// becomes
///     scf.if %below32 { A } else { C }
///     tile.sync block
///     scf.if %below32 { B } else { D }
///
/// So do loops that hold them and have the same bounds on both sides, and branches on the same condition. Sides whose
/// barriers don't come in pairs are an error. It stands before GroupThreads, to which a barrier on one side alone is
/// that of the threads which take it.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/passes/analysis/thread_groups.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace tilewright {
namespace {

/// A barrier for all threads of the block, a named one too.
bool isBarrier(Operation* op) {
  auto sync = dyn_cast<tile::SyncOp>(op);
  if (!sync || sync.getScope() != tile::SyncScope::Block)
    return false;
  const auto count = sync.getThreadCount();
  return !count || int64_t(*count) == sync->getParentOfType<tile::LaunchOp>().getThreadCount();
}

Operation* firstBarrier(Operation* op) {
  Operation* found = nullptr;
  op->walk([&](Operation* nested) {
    if (!isBarrier(nested))
      return WalkResult::advance();
    found = nested;
    return WalkResult::interrupt();
  });
  return found;
}

/// The statements of a side that are, or hold, barriers.
SmallVector<Operation*> barriersOf(Region& side) {
  SmallVector<Operation*> found;
  if (!side.empty())
    for (Operation& op : side.front())
      if (firstBarrier(&op))
        found.push_back(&op);
  return found;
}

bool holdsJump(Operation* op) {
  return op
      ->walk([](Operation* nested) {
        return isa<tile::BreakOp, tile::ContinueOp>(nested) ? WalkResult::interrupt()
                                                            : WalkResult::advance();
      })
      .wasInterrupted();
}

/// What both sides do alike, with the barriers in it: two barriers, two loops, two branches.
using Pair = std::pair<Operation*, Operation*>;

/// The barriers of both sides in pairs; the first that has no other in `single`.
std::optional<SmallVector<Pair>> pairsOf(Region& taken, Region& others, Operation*& single);

bool areAlike(Operation* left, Operation* right, Operation*& single) {
  single = firstBarrier(left);
  if (isBarrier(left) && isBarrier(right))
    return left->getAttrDictionary() == right->getAttrDictionary();
  auto loop = dyn_cast<tile::ForOp>(left), other = dyn_cast<tile::ForOp>(right);
  if (loop && other)
    return loop->getOperands() == other->getOperands() && !holdsJump(loop) && !holdsJump(other) &&
           pairsOf(loop.getBody(), other.getBody(), single);
  auto branch = dyn_cast<scf::IfOp>(left), second = dyn_cast<scf::IfOp>(right);
  if (!branch || !second || branch.getNumResults() > 0 || second.getNumResults() > 0 ||
      branch.getCondition() != second.getCondition())
    return false;
  return pairsOf(branch.getThenRegion(), second.getThenRegion(), single) &&
         pairsOf(branch.getElseRegion(), second.getElseRegion(), single);
}

std::optional<SmallVector<Pair>> pairsOf(Region& taken, Region& others, Operation*& single) {
  const SmallVector<Operation*> left = barriersOf(taken), right = barriersOf(others);
  SmallVector<Pair> pairs;
  for (auto [one, other] : llvm::zip(left, right)) {
    if (!areAlike(one, other, single))
      return std::nullopt;
    pairs.emplace_back(one, other);
  }
  if (left.size() == right.size())
    return pairs;
  const SmallVector<Operation*>& longer = left.size() > right.size() ? left : right;
  single = firstBarrier(longer[pairs.size()]);
  return std::nullopt;
}

class BranchSplitter {
public:
  BranchSplitter(scf::IfOp branch, Operation* before, std::vector<ThreadGroups::Problem>& problems)
      : branch(branch), place(branch.getLoc()), condition(branch.getCondition()), builder(before),
        problems(problems) {}

  /// Puts what stands in both sides in pieces before `before`, with the pairs between them.
  LogicalResult split(Region& taken, Region& others) {
    for (Region* side : {&taken, &others})
      if (!side->empty())
        hoist(side->front());
    Operation* single = nullptr;
    const std::optional<SmallVector<Pair>> pairs = pairsOf(taken, others, single);
    assert(pairs && "looked at before");
    for (bool isElse : {false, true})
      if (Region& side = isElse ? others : taken; !side.empty())
        if (failed(carryValues(side.front(), *pairs, isElse)))
          return failure();
    for (const Pair& pair : *pairs) {
      piece(taken, pair.first, others, pair.second);
      if (failed(join(pair)))
        return failure();
    }
    piece(taken, nullptr, others, nullptr);
    return success();
  }

  /// What no statement of a side has made goes before the branch, where the other side's is the same.
  void hoist(Block& side) {
    for (Operation& op : llvm::make_early_inc_range(side)) {
      const bool isOutside = llvm::all_of(op.getOperands(), [&](Value operand) {
        return operand.getParentRegion()->isProperAncestor(side.getParent()) ||
               hoisted.contains(operand.getDefiningOp());
      });
      if (!isOutside || op.hasTrait<OpTrait::IsTerminator>() || op.getNumRegions() > 0 ||
          (!isPure(&op) && !isa<tile::AllocOp>(op)))
        continue;
      Operation* same = nullptr;
      if (!isa<tile::AllocOp>(op))
        for (Operation* earlier : hoisted)
          if (OperationEquivalence::isEquivalentTo(earlier, &op,
                                                   OperationEquivalence::IgnoreLocations))
            same = earlier;
      if (same) {
        op.replaceAllUsesWith(same);
        op.erase();
        continue;
      }
      op.moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
      hoisted.insert(&op);
    }
  }

private:
  /// Values that a later piece reads go through a variable of the thread.
  LogicalResult carryValues(Block& side, ArrayRef<Pair> pairs, bool isElse) {
    llvm::DenseMap<Operation*, size_t> pieces;
    size_t piece = 0;
    for (Operation& op : side) {
      const bool isPair = piece / 2 < pairs.size() &&
                          &op == (isElse ? pairs[piece / 2].second : pairs[piece / 2].first);
      pieces[&op] = isPair ? ++piece : piece;
      piece += isPair;
    }
    const auto own = llvm::to_vector(llvm::make_pointer_range(side)); // without what is put in
    for (Operation* op : own)
      for (Value value : op->getResults())
        if (failed(carry(value, side, pieces)))
          return failure();
    return success();
  }

  LogicalResult carry(Value value, Block& side, const llvm::DenseMap<Operation*, size_t>& pieces) {
    const size_t own = pieces.lookup(value.getDefiningOp());
    SmallVector<OpOperand*> later;
    for (OpOperand& use : value.getUses())
      if (Operation* at = side.findAncestorOpInBlock(*use.getOwner()); pieces.lookup(at) != own)
        later.push_back(&use);
    if (later.empty())
      return success();
    Type type = value.getType();
    if (!type.isIntOrIndexOrFloat()) {
      problems.push_back({value.getDefiningOp(), branch,
                          "this is not supported behind a barrier on both sides of a branch, whose "
                          "parts are branches of their own; make it before the branch"});
      return failure();
    }
    const bool isIndex = type.isIndex();
    const unsigned width = isIndex ? 64 : type.getIntOrFloatBitWidth();
    Type element = isa<FloatType>(type) || width == 1
                       ? type
                       : IntegerType::get(type.getContext(), width, IntegerType::Signed);
    auto variable = tile::AllocOp::create(
        builder, value.getLoc(), tile::BufferType::get({}, element, tile::MemorySpace::Var),
        StringAttr(), IntegerAttr());
    OpBuilder inside(side.getParentOp());
    inside.setInsertionPointAfter(value.getDefiningOp());
    Value stored =
        isIndex ? arith::IndexCastOp::create(inside, value.getLoc(), inside.getI64Type(), value)
                      .getResult()
                : value;
    tile::StoreOp::create(inside, value.getLoc(), stored, variable, ValueRange{}, true);
    for (OpOperand* use : later) {
      inside.setInsertionPoint(side.findAncestorOpInBlock(*use->getOwner()));
      Value loaded = tile::LoadOp::create(inside, value.getLoc(), stored.getType(), variable,
                                          ValueRange{}, true);
      if (isIndex)
        loaded = arith::IndexCastOp::create(inside, value.getLoc(), type, loaded);
      use->set(loaded);
    }
    return success();
  }

  /// A branch of what stands before `left` and `right`, or at the end where they are null.
  void piece(Region& taken, Operation* left, Region& others, Operation* right) {
    auto made = scf::IfOp::create(builder, place, condition, /*withElseRegion=*/true);
    move(taken, left, *made.thenBlock());
    move(others, right, *made.elseBlock());
    if (made.elseBlock()->without_terminator().empty())
      made.getElseRegion().getBlocks().clear();
    if (made.thenBlock()->without_terminator().empty() && made.getElseRegion().empty())
      made.erase();
  }

  static void move(Region& side, Operation* end, Block& to) {
    if (side.empty())
      return;
    Block& from = side.front();
    const Block::iterator last =
        end ? end->getIterator()
            : (from.mightHaveTerminator() && isa<scf::YieldOp, tile::YieldOp>(from.back())
                   ? std::prev(from.end())
                   : from.end());
    to.getOperations().splice(to.without_terminator().end(), from.getOperations(), from.begin(),
                              last);
    if (to.getOperations().size() > 1 && !end &&
        isa<tile::BreakOp, tile::ContinueOp>(*std::prev(to.end(), 2)))
      to.back().erase(); // a jump ends it
  }

  LogicalResult join(const Pair& pair) {
    auto [left, right] = pair;
    LogicalResult done = success();
    if (auto loop = dyn_cast<tile::ForOp>(left)) {
      auto other = cast<tile::ForOp>(right);
      auto made = cast<tile::ForOp>(builder.cloneWithoutRegions(*left));
      Block& body = made.getBody().emplaceBlock();
      body.addArgument(builder.getIndexType(), loop.getLoc());
      OpBuilder inside = OpBuilder::atBlockEnd(&body);
      Operation* end = tile::YieldOp::create(inside, loop.getLoc());
      loop.getInductionVar().replaceAllUsesWith(made.getInductionVar());
      other.getInductionVar().replaceAllUsesWith(made.getInductionVar());
      done = BranchSplitter(branch, end, problems).split(loop.getBody(), other.getBody());
    } else if (auto branch = dyn_cast<scf::IfOp>(left)) {
      auto other = cast<scf::IfOp>(right);
      auto made = scf::IfOp::create(builder, branch.getLoc(), branch.getCondition(), true);
      done = BranchSplitter(this->branch, made.thenBlock()->getTerminator(), problems)
                 .split(branch.getThenRegion(), other.getThenRegion());
      if (succeeded(done))
        done = BranchSplitter(this->branch, made.elseBlock()->getTerminator(), problems)
                   .split(branch.getElseRegion(), other.getElseRegion());
    } else {
      builder.clone(*left);
    }
    left->erase();
    right->erase();
    return done;
  }

  scf::IfOp branch;
  Location place;
  Value condition;
  OpBuilder builder;
  std::vector<ThreadGroups::Problem>& problems;
  llvm::SetVector<Operation*> hoisted;
};

void joinBranch(scf::IfOp branch, std::vector<ThreadGroups::Problem>& problems) {
  Region &taken = branch.getThenRegion(), &others = branch.getElseRegion();
  if (barriersOf(taken).empty() || barriersOf(others).empty())
    return;
  BranchSplitter splitter(branch, branch, problems);
  splitter.hoist(taken.front());
  splitter.hoist(others.front());
  Operation* single = nullptr;
  if (!pairsOf(taken, others, single)) {
    problems.push_back(
        {single, branch,
         "T.sync_threads on both sides of a branch is one barrier of all threads, but to this one "
         "no other of the other side belongs, which is not supported; let both sides have as many, "
         "in loops of the same bounds, or end the branch before it"});
    return;
  }
  if (succeeded(splitter.split(taken, others)))
    branch.erase();
}

class JoinBarriers : public KernelPass<JoinBarriers> {
public:
  static constexpr llvm::StringLiteral kArgument = "join-barriers";
  static constexpr llvm::StringLiteral kDescription =
      "make one of barriers that stand on both sides of a branch on the thread's number";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    for (tile::LaunchOp launch : getOperation().getOps<tile::LaunchOp>())
      for (const ThreadGroups::Problem& problem : joinBarriers(launch)) {
        problem.op->emitError(problem.message).attachNote(problem.branch->getLoc())
            << "the branch is here";
        signalPassFailure();
      }
  }
};

} // namespace

std::vector<ThreadGroups::Problem> joinBarriers(tile::LaunchOp launch) {
  std::vector<ThreadGroups::Problem> problems;
  if (!hasThreadGroups(launch))
    return problems;
  const ThreadDivergence divergence(launch);
  SmallVector<scf::IfOp> branches; // inner ones first
  launch.walk([&](scf::IfOp branch) {
    if (branch.getNumResults() == 0 && divergence.differs(branch))
      branches.push_back(branch);
  });
  for (scf::IfOp branch : branches)
    if (problems.empty())
      joinBranch(branch, problems);
  return problems;
}

std::unique_ptr<Pass> createJoinBarriers() {
  return std::make_unique<JoinBarriers>();
}

} // namespace tilewright
