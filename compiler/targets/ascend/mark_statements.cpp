// SPDX-License-Identifier: Apache-2.0
/// MarkStatements: gives each statement of a kernel a number, for kernels that have flags of their own.
///
///   tile.copy %A[%i] [64] to %ub loc("k.py":3:1)
/// becomes
///   tile.copy %A[%i] [64] to %ub loc(fused<0 : i64>["k.py":3:1])
///
/// Lines and columns don't tell statements apart: a loop of Python and a macro come to one line several times.
/// A nest is one statement with all that it holds. InsertFlags takes the numbers away.
#include "compiler/targets/ascend/mark_statements.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

namespace tilewright::ascend {

using namespace mlir;

namespace {

bool isMark(FusedLoc location) {
  return isa_and_nonnull<IntegerAttr>(location.getMetadata());
}

Location unmarked(Location location) {
  if (auto fused = dyn_cast<FusedLoc>(location); fused && isMark(fused))
    return unmarked(fused.getLocations().front());
  if (auto name = dyn_cast<NameLoc>(location))
    return NameLoc::get(name.getName(), unmarked(name.getChildLoc()));
  return location;
}

struct MarkStatements : KernelPass<MarkStatements> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkStatements)
  static constexpr llvm::StringLiteral kArgument = "ascend-mark-statements";
  static constexpr llvm::StringLiteral kDescription = "give each statement of the kernel a number";

  void runOnOperation() override {
    int64_t number = 0;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation* op) {
      const bool isNest = isa<tile::ParallelOp>(op);
      if (!isNest && (op->getNumRegions() > 0 || isMemoryEffectFree(op) || isa<tile::AllocOp>(op)))
        return WalkResult::advance();
      const auto mark = IntegerAttr::get(IntegerType::get(op->getContext(), 64), number++);
      op->walk([&](Operation* part) {
        part->setLoc(FusedLoc::get({part->getLoc()}, mark, op->getContext()));
      });
      return isNest ? WalkResult::skip() : WalkResult::advance();
    });
  }
};

} // namespace

std::optional<unsigned> statementOf(Operation* op) {
  std::optional<unsigned> number;
  op->getLoc()->walk([&](Location location) {
    auto fused = dyn_cast<FusedLoc>(location);
    if (!fused || !isMark(fused))
      return WalkResult::advance();
    number = unsigned(cast<IntegerAttr>(fused.getMetadata()).getInt());
    return WalkResult::interrupt();
  });
  return number;
}

void unmarkStatements(func::FuncOp kernel) {
  kernel.walk([](Operation* op) {
    op->setLoc(unmarked(op->getLoc()));
    for (Region& region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setLoc(unmarked(argument.getLoc()));
  });
}

std::unique_ptr<Pass> createMarkStatements() {
  return std::make_unique<MarkStatements>();
}

} // namespace tilewright::ascend
