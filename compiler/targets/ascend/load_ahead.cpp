// SPDX-License-Identifier: Apache-2.0
/// LoadAhead: in a T.Pipelined loop, the loads that an iteration begins with move to an earlier iteration.
///
///   tile.for %i = %c0 to %n step %c1 pipelined(2) {
///     npu.load_ub %A[%i, 0] [1, 64] : ... to %x[%at_i] : ... pitch 64
///     npu.unary exp %y[%c0] : ..., %x[%at_i] : ... count(%c64)
/// becomes
///   scf.if %c0 < %n { npu.load_ub %A[0, 0] [1, 64] : ... to %x[%at_0] : ... pitch 64 }
///   tile.for %i = %c0 to %n step %c1 pipelined(2) {
///     scf.if %i + 1 < %n { npu.load_ub %A[%i + 1, 0] [1, 64] : ... to %x[%at_i_1] : ... pitch 64 }
///     npu.unary exp %y[%c0] : ..., %x[%at_i] : ... count(%c64)
///
/// The scalar unit puts instructions into queues of 32. Behind the many instructions of a gemm, the next
/// iteration's loads would be queued too late to run beside it. It stands behind RotateBuffers: loads go
/// ahead as far as their buffers have versions.
#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/pipelined_loops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/IRMapping.h>

#include <set>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// What an iteration begins with.
struct Head {
  SmallVector<Operation*> ops;   ///< with what the loads are computed from, in order
  SmallVector<Operation*> loads; ///< of these, the loads, and branches that hold nothing else
  int64_t distance = INT64_MAX;  ///< iterations that the loads can go ahead
};

class Heads {
public:
  explicit Heads(tile::ForOp loop) : loop(loop) {
    loop.walk([&](npu::Instruction op) {
      SmallVector<npu::Access> accesses;
      op.getAccesses(accesses);
      for (const npu::Access& access : accesses)
        if (access.isWrite && access.type().isGlobal())
          written.insert(npu::storageOf(access.buffer).getAsOpaquePointer());
    });
  }

  Head find() {
    Head head;
    for (Operation& op : loop.getBodyBlock()->without_terminator()) {
      if (isa<tile::AssertOp, npu::RequireOp>(op))
        continue; // of where a load begins; it stays
      const bool isLoad = isLoads(&op, head.distance);
      if (!isLoad && !movesAlong(op))
        break;
      head.ops.push_back(&op);
      if (isLoad)
        head.loads.push_back(&op);
    }
    while (!head.ops.empty() && !llvm::is_contained(head.loads, head.ops.back()))
      head.ops.pop_back();
    return head;
  }

private:
  /// What a load needs, and a check of its part of the tile.
  static bool movesAlong(Operation& op) {
    return isa<npu::CheckPartOp>(op) || (isPure(&op) && op.getNumRegions() == 0);
  }

  /// Loads from tensors that the loop doesn't write, into buffers with versions.
  bool isLoads(Operation* op, int64_t& distance) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (branch.elseBlock())
        return false;
      int64_t inner = distance;
      bool holdsLoads = false;
      for (Operation& nested : branch.thenBlock()->without_terminator()) {
        const bool isLoad = isLoads(&nested, inner);
        holdsLoads |= isLoad;
        if (!isLoad && !movesAlong(nested))
          return false;
      }
      distance = holdsLoads ? inner : distance;
      return holdsLoads;
    }
    if (!isa<npu::LoadUbOp, npu::LoadL1Op, npu::FillL1Op>(op))
      return false;
    SmallVector<npu::Access> accesses;
    cast<npu::Instruction>(op).getAccesses(accesses);
    int64_t far = distance;
    for (const npu::Access& access : accesses) {
      const Value storage = npu::storageOf(access.buffer);
      if (!access.isWrite && written.contains(storage.getAsOpaquePointer()))
        return false;
      if (!access.isWrite)
        continue;
      auto versions = storage.getDefiningOp()->getAttrOfType<IntegerAttr>(kVersionsAttr);
      if (!versions || !turnsWith(access.offset))
        return false;
      far = std::min(far, versions.getInt() - 1);
    }
    distance = far;
    return true;
  }

  /// Whether a place is of the version of this loop's iteration: a loop within may have its own versions, whose first
  /// loads stand before it now and are none of this loop's.
  bool turnsWith(Value offset) {
    if (offset == loop.getInductionVar())
      return true;
    Operation* op = offset.getDefiningOp();
    return op && loop->isAncestor(op) &&
           llvm::any_of(op->getOperands(), [&](Value operand) { return turnsWith(operand); });
  }

  tile::ForOp loop;
  std::set<void*> written;
};

struct LoadAhead : KernelPass<LoadAhead> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LoadAhead)
  static constexpr llvm::StringLiteral kArgument = "ascend-load-ahead";
  static constexpr llvm::StringLiteral kDescription =
      "the loads that an iteration of a pipelined loop begins with move to an earlier one";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<scf::SCFDialect, arith::ArithDialect>();
  }

  void runOnOperation() override {
    if (!areSound())
      return signalPassFailure();
    for (tile::ForOp loop : pipelinedLoops(getOperation()))
      if (const Head head = Heads(loop).find(); !head.loads.empty())
        moveAhead(loop, head);
  }

private:
  /// Whether buffers have as many versions as RotateBuffers gives at most; text may say anything.
  bool areSound() {
    constexpr int64_t kMost = 1 << 13; // of 32 bytes in the largest memory
    const WalkResult walked = getOperation().walk([&](tile::AllocOp alloc) {
      auto versions = alloc->getAttrOfType<IntegerAttr>(kVersionsAttr);
      if (!versions || (versions.getInt() >= 1 && versions.getInt() <= kMost))
        return WalkResult::advance();
      alloc.emitError() << "'" << kVersionsAttr << "' is " << versions.getInt() << " but from 1 to "
                        << kMost << " is expected";
      return WalkResult::interrupt();
    });
    return !walked.wasInterrupted();
  }

  static void moveAhead(tile::ForOp loop, const Head& head) {
    OpBuilder builder(loop);
    const int64_t lower = *getConstantIntValue(loop.getLower());
    for (int64_t first = lower; first < lower + head.distance; ++first)
      loadIn(builder, loop, head, arith::ConstantIndexOp::create(builder, loop.getLoc(), first));
    builder.setInsertionPoint(head.ops.front());
    const Value distance = arith::ConstantIndexOp::create(builder, loop.getLoc(), head.distance);
    loadIn(builder, loop, head,
           arith::AddIOp::create(builder, loop.getLoc(), loop.getInductionVar(), distance));
    for (Operation* op : head.ops)
      if (isa<npu::CheckPartOp>(op) || llvm::is_contained(head.loads, op))
        op->erase();
  }

  /// The loads of one iteration, if there is such.
  static void loadIn(OpBuilder& builder, tile::ForOp loop, const Head& head, Value iteration) {
    OpBuilder::InsertionGuard guard(builder);
    const std::optional<int64_t> number = getConstantIntValue(iteration);
    const std::optional<int64_t> upper = getConstantIntValue(loop.getUpper());
    if (number && upper && *number >= *upper)
      return;
    if (!number || !upper) {
      const Value isThere = arith::CmpIOp::create(builder, loop.getLoc(), arith::CmpIPredicate::slt,
                                                  iteration, loop.getUpper());
      auto branch = scf::IfOp::create(builder, loop.getLoc(), isThere, /*withElseRegion=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), iteration);
    for (Operation* op : head.ops)
      builder.clone(*op, mapping);
  }
};

} // namespace

std::unique_ptr<Pass> createLoadAhead() {
  return std::make_unique<LoadAhead>();
}

} // namespace tilewright::ascend
