// SPDX-License-Identifier: Apache-2.0
/// GroupThreads: marks the branches that groups of threads take, each with what they do together.
///
///     scf.if %below32 { tile.copy .. } else { tile.fill .. }
/// becomes, with 96 threads,
///     scf.if %below32 { .. } else { .. } {tile.thread_groups = [array<i64: 0, 32>, array<i64: 32, 96>]}
///
/// Each side has the ranges of threads that take it; `[]` where that is known in the run only. What no group
/// can do is an error. It stands before all that knows of the threads of a branch.
#include "compiler/ir/thread_groups.h"
#include "compiler/passes/analysis/thread_groups.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/passes/passes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright {
namespace {

class GroupThreads : public KernelPass<GroupThreads> {
public:
  static constexpr llvm::StringLiteral kArgument = "group-threads";
  static constexpr llvm::StringLiteral kDescription =
      "mark the branches whose tile operations a part of the block's threads does";

  void runOnOperation() override {
    for (tile::LaunchOp launch : getOperation().getOps<tile::LaunchOp>())
      if (hasThreadGroups(launch))
        mark(ThreadGroups(launch));
  }

private:
  void mark(const ThreadGroups& groups) {
    for (const ThreadGroups::Problem& problem : groups.problems) {
      problem.op->emitError(problem.message).attachNote(problem.branch->getLoc())
          << (isa<tile::ForOp>(problem.branch) ? "the loop is here" : "the branch is here");
      signalPassFailure();
    }
    markThreadGroups(groups.branches);
  }
};

} // namespace

void markThreadGroups(ArrayRef<ThreadGroups::Branch> branches) {
  for (const ThreadGroups::Branch& branch : branches) {
    Builder builder(branch.op->getContext());
    SmallVector<Attribute> sides;
    if (branch.isKnown)
      sides = {builder.getDenseI64ArrayAttr(branch.taken),
               builder.getDenseI64ArrayAttr(branch.others)};
    scf::IfOp(branch.op)->setAttr(tile::kThreadGroupsAttr, builder.getArrayAttr(sides));
  }
}

std::unique_ptr<Pass> createGroupThreads() {
  return std::make_unique<GroupThreads>();
}

} // namespace tilewright
