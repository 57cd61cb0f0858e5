// SPDX-License-Identifier: Apache-2.0
/// VectorizeParallel: an element-wise nest over tiles in UB becomes vector instructions, one per
/// operation and over all iterations, or row by row; any other nest becomes loops of single
/// elements, with a remark.
///
///     tile.parallel (%i, %j) in [32, 64] {               npu.scalar mul %t[0], %x[0], %s count(2048)
///       %v = tile.load %x[%i, %j]                  ->    npu.unary exp %y[0], %t[0] count(2048)
///       tile.store exp(%v * %s), %y[%i, %j]
///     }
///
/// Of several statements in a nest, each becomes what it can be: those that read nothing that one
/// between has overwritten are nests of their own then, unless iterations share what they hand on (a variable): these
/// run one by one. Functions of single numbers that the scalar unit lacks
/// become nests over one element.
///
/// It stands behind what cuts vector work into halves and before ExpandElements, which takes the
/// loops. The order of a nest's iterations is free, so each operation may run over all of them
/// before the next one. NestVectorizer does the work.
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/check_parts.h"
#include "compiler/targets/ascend/describe_hazard.h"
#include "compiler/targets/ascend/join_dims.h"
#include "compiler/targets/ascend/line_reductions.h"
#include "compiler/targets/ascend/named_nests.h"
#include "compiler/targets/ascend/nest_branches.h"
#include "compiler/targets/ascend/nest_vectorizer.h"
#include "compiler/targets/ascend/overlapping_operands.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/peel_nest.h"
#include "compiler/targets/ascend/scalar_functions.h"
#include "compiler/targets/ascend/split_statements.h"
#include "compiler/targets/ascend/uniform_branches.h"

#include "compiler/ir/index_growth.h"
#include "compiler/ir/memory_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <set>
#include <string>
#include <utility>

using namespace mlir;

namespace tilewright::ascend {
namespace {

/// One iteration after the other.
void makeLoopOfElements(tile::ParallelOp nest) {
  ImplicitLocOpBuilder builder(nest.getLoc(), nest);
  Value index = makeLoopFor(builder, nest.getInductionVars()[0], nest.getMixedExtents()[0]);
  Block* body = nest.getBodyBlock();
  body->getArgument(0).replaceAllUsesWith(index);
  body->getTerminator()->erase();
  builder.getInsertionBlock()->getOperations().splice(builder.getInsertionPoint(),
                                                      body->getOperations());
  nest.erase();
}

/// Whether atomic adds of elements, which are copies by now, stand in a nest.
bool addsToElements(tile::ParallelOp nest) {
  return nest
      ->walk([](npu::StoreUbOp store) {
        return store.getAtomicAdd() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether an access walks through its buffer as the nest goes on.
bool isMoving(Value index, tile::ParallelOp nest) {
  if (llvm::is_contained(nest.getInductionVars(), index))
    return true;
  Operation* op = index.getDefiningOp();
  return op &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return isMoving(operand, nest); });
}

/// What to do about the elements of tensors that a nest takes, or stores, one by one; empty if it does neither.
std::string wayOutOf(tile::ParallelOp nest) {
  std::string taken, stored;
  nest->walk([&](Operation* op) {
    auto load = dyn_cast<tile::LoadOp>(op);
    auto store = dyn_cast<tile::StoreOp>(op);
    if (!load && !store)
      return;
    const Value buffer = load ? load.getBuffer() : store.getBuffer();
    const ValueRange indices =
        load ? ValueRange(load.getIndices()) : ValueRange(store.getIndices());
    std::string& name = load ? taken : stored;
    if (cast<tile::BufferType>(buffer.getType()).isGlobal() && name.empty() &&
        llvm::any_of(indices, [&](Value index) { return isMoving(index, nest); }))
      name = quotedBuffer(npu::storageOf(buffer));
  });
  if (!taken.empty())
    return "; copy what it takes of " + taken + " to a tile first, with T.copy";
  return stored.empty() ? "" : "; let it fill a tile, which T.copy stores to " + stored;
}

/// The same of one that no two iterations of a loop around the nest begin at a block with.
std::optional<std::string> misalignmentInLoop(tile::BufferType type, ValueRange access,
                                              tile::ParallelOp nest) {
  const SmallVector<int64_t> strides = ubStrides(type);
  const std::optional<int64_t> step =
      stepBesides(nest, npu::blockElements(type), [&](Value counter) -> std::optional<int64_t> {
        int64_t sum = 0;
        for (auto [index, stride] : llvm::zip(access, strides)) {
          const std::optional<int64_t> growth = tile::growthWith(index, counter);
          if (!growth)
            return std::nullopt;
          sum += *growth * stride;
        }
        return sum;
      });
  if (!step)
    return std::nullopt;
  return std::to_string(std::abs(*step) * int64_t(type.getElementBits()) / 8) +
         " bytes from where it did in the iteration before";
}

/// Where an access is known to begin within a block of 32 bytes, if it does.
std::optional<std::string> misalignment(Value buffer, ValueRange access, tile::ParallelOp nest) {
  const auto type = cast<tile::BufferType>(buffer.getType());
  if (type.getSpace() != tile::MemorySpace::UB ||
      llvm::none_of(access, [&](Value index) { return isMoving(index, nest); }))
    return std::nullopt;
  const int64_t block = npu::blockElements(type);
  int64_t first = 0;
  for (auto [index, stride] : llvm::zip(access, ubStrides(type))) {
    const std::optional<int64_t> rest = remainderOf(index, block, [&](Value value) {
      return llvm::is_contained(nest.getInductionVars(), value);
    });
    if (!rest)
      return misalignmentInLoop(type, access, nest);
    first += *rest * stride;
  }
  first %= block;
  if (first == 0)
    return std::nullopt;
  return std::to_string(first * int64_t(type.getElementBits()) / 8) +
         " bytes behind the start of a block of UB";
}

using Barriers = llvm::SmallPtrSet<Operation*, 8>;

/// Behind an instruction stands a barrier of its pipe, unless one of all pipes follows. The kernel's `own`
/// stay.
void dropNeedlessBarriers(func::FuncOp kernel, const Barriers& own) {
  SmallVector<PipeBarrierOp> needless;
  kernel.walk([&](PipeBarrierOp barrier) {
    Operation* next = barrier->getNextNode();
    while (next && (isPure(next) || isa<tile::AllocOp>(next)))
      next = next->getNextNode();
    auto all = dyn_cast_or_null<PipeBarrierOp>(next);
    if (!own.contains(barrier) && barrier.getPipe() == Pipe::V && all && all.getPipe() == Pipe::All)
      needless.push_back(barrier);
  });
  for (PipeBarrierOp barrier : needless)
    barrier.erase();
}

/// What stands before `end` in its block, or last in the block if that is null, besides numbers and memory.
Operation* lastBefore(Operation* end, Block* block) {
  Operation* last = end ? end->getPrevNode() : &block->back();
  while (last &&
         (last->hasTrait<OpTrait::IsTerminator>() || isPure(last) || isa<tile::AllocOp>(last)))
    last = last->getPrevNode();
  return last;
}

/// Parts of one operation wait for each other, but what follows is the kernel's to order: the barrier behind the
/// last part goes. In a loop over rows it stays, if parts of one row use what those of the one before did.
void dropBarrierBehind(Operation* last, const Barriers& own) {
  if (auto barrier = dyn_cast_or_null<PipeBarrierOp>(last);
      barrier && barrier.getPipe() == Pipe::V && !own.contains(barrier))
    return barrier.erase();
  if (auto branch = dyn_cast_or_null<scf::IfOp>(last))
    for (Region& side : branch->getRegions())
      if (!side.empty())
        dropBarrierBehind(lastBefore(nullptr, &side.front()), own);
  auto loop = dyn_cast_or_null<tile::ForOp>(last);
  if (!loop)
    return;
  int64_t parts = 0;
  loop.walk([&](npu::Instruction) { ++parts; });
  if (parts == 1)
    dropBarrierBehind(lastBefore(nullptr, loop.getBodyBlock()), own);
}

class VectorizeParallel : public KernelPass<VectorizeParallel> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-vectorize-parallel";
  static constexpr llvm::StringLiteral kDescription =
      "element-wise nests become vector instructions, others loops";

  explicit VectorizeParallel(bool waits) : waits(waits) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<npu::NpuDialect, AscendDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::ParallelOp> nests;
    Barriers own;
    getOperation().walk([&](tile::ParallelOp nest) { nests.push_back(nest); });
    // Those of the kernel, and of operations that have been expanded already.
    getOperation().walk([&](PipeBarrierOp barrier) { own.insert(barrier); });
    bool isRefused = false;
    for (tile::ParallelOp nest : nests)
      isRefused |= !checkOperands(nest);
    if (isRefused)
      return signalPassFailure();
    for (tile::ParallelOp nest : nests)
      checkParts(nest);
    for (tile::ParallelOp nest : nests) {
      Operation* next = nest->getNextNode();
      Block* block = nest->getBlock();
      lower(nest);
      if (waits)
        dropBarrierBehind(lastBefore(next, block), own);
    }
    for (tile::ParallelOp nest : moveToVectorUnit(getOperation(), waits))
      if (!makeInstructions(nest)) {
        nest.emitError() << "unsupported on ascend: this function of a single number: " << reason;
        signalPassFailure();
      }
    if (waits)
      dropNeedlessBarriers(getOperation(), own);
  }

private:
  /// As instructions; else each statement by itself; else element by element. `versions`: how many branches have been
  /// taken out of it.
  void lower(tile::ParallelOp nest, unsigned versions = 0) {
    constexpr unsigned kMostVersions = 4; // each may double the kernel's text
    moveViewsOut(nest);
    if (versions < kMostVersions)
      if (const auto parts = takeOutBranch(nest, waits)) {
        for (tile::ParallelOp part : *parts)
          lower(part, versions + 1);
        return;
      }
    nest = joinDims(nest);
    if (expandNamedNest(nest, waits) || makeInstructions(nest) || makeChosenInstructions(nest))
      return;
    if (const SmallVector<tile::ParallelOp> parts = splitStatements(nest); !parts.empty()) {
      for (tile::ParallelOp part : parts)
        lower(part, versions);
      return;
    }
    if (hasBranchOfRows(nest))
      return lower(peelNest(nest), versions);
    if (refuseMisaligned(nest))
      return;
    if (addsToElements(nest))
      reason = "it adds to single elements of a tensor";
    remarkOn(nest);
    while (nest.getInductionVars().size() > 1)
      nest = peelNest(nest);
    makeLoopOfElements(nest);
  }

  void remarkOn(tile::ParallelOp nest) {
    constexpr const char* on = " runs element by element on the scalar unit: ";
    auto dtype = nest->getAttrOfType<StringAttr>(kReductionAttr);
    if (!dtype) {
      if (told.insert({nest.getLoc().getAsOpaquePointer(), reason}).second)
        nest.emitRemark() << "this nest" << on << reason << wayOutOf(nest);
    } else if (toldReductions.insert(nest.getLoc()).second) { // its first line, and the others
      nest.emitRemark() << "this reduction" << on
                        << (dtype.empty() ? reason
                                          : "the vector unit has none of " +
                                                dtype.getValue().str() + " along rows");
    }
  }

  /// A function of T.tile is one of the vector unit's; the scalar unit takes only what is a loop.
  bool refuseMisaligned(tile::ParallelOp nest) {
    auto function = nest->getAttrOfType<StringAttr>("function");
    if (!function)
      return false;
    std::optional<std::string> start;
    bool isLaterBit = false; // of a byte of a mask, which begins with the first
    nest.walk([&](Operation* op) {
      isLaterBit |= function.getValue() == "compare" && isa<arith::CmpFOp, arith::CmpIOp>(op);
      if (auto load = dyn_cast<tile::LoadOp>(op); load && !start && !isLaterBit)
        start = misalignment(load.getBuffer(), load.getIndices(), nest);
      else if (auto store = dyn_cast<tile::StoreOp>(op); store && !start)
        start = misalignment(store.getBuffer(), store.getIndices(), nest);
    });
    if (!start)
      return false;
    nest.emitError()
        << "unsupported on ascend: an operand of T.tile." << function.getValue() << " begins "
        << *start
        << ", but the vector unit takes blocks of 32 bytes; a T.Parallel loop can do without";
    signalPassFailure();
    return true;
  }

  /// The same with choices for its branches. Where that doesn't go, single elements do better with branches.
  bool makeChosenInstructions(tile::ParallelOp nest) {
    if (!hasBranches(nest))
      return false;
    OpBuilder builder(nest);
    auto copy = cast<tile::ParallelOp>(builder.clone(*nest));
    const bool done = makeChoices(copy) && makeInstructions(copy);
    (done ? nest : copy).erase();
    return done;
  }

  /// Over all of the nest; else over its inner dims, in loops over the outer ones. Where neither goes,
  /// nothing is changed.
  bool makeInstructions(tile::ParallelOp nest) {
    const Location place = nest.getLoc();
    NestVectorizer vectorizer(nest, waits);
    const std::optional<std::string> found = vectorizer.run();
    if (!found && vectorizer.widensBfloat16 && !std::exchange(hasToldOfBfloat16, true))
      mlir::emitRemark(place) << "this kernel computes bfloat16 in float32, from this line on: the "
                                 "vector unit has no arithmetic of bfloat16";
    if (!found)
      return true;
    reason = *found;
    if (nest.getInductionVars().size() == 1)
      return false;
    OpBuilder builder(nest);
    tile::ParallelOp inner = peelNest(cast<tile::ParallelOp>(builder.clone(*nest)));
    Operation* loop = inner->getParentOp();
    const bool done = makeInstructions(inner);
    (done ? nest.getOperation() : loop)->erase();
    return done;
  }

  std::string reason;
  DenseSet<Location> toldReductions;
  std::set<std::pair<const void*, std::string>> told; ///< of parts of a nest
  bool hasToldOfBfloat16 = false;
  bool waits;
};

} // namespace

std::unique_ptr<Pass> createVectorizeParallel(bool waits) {
  return std::make_unique<VectorizeParallel>(waits);
}

} // namespace tilewright::ascend
