// SPDX-License-Identifier: Apache-2.0
/// Branches on the thread's number that hold what threads do together.
///
///     scf.if %below32 { tile.copy .. } else { tile.gemm .. }
///
/// The threads that take one side are a group: they do its operations on tiles as all threads of the block
/// do those outside, and its barriers are theirs. That needs threads that are neighbours.
#pragma once

#include "compiler/passes/analysis/thread_choices.h"
#include "compiler/passes/analysis/thread_divergence.h"
#include "compiler/passes/analysis/thread_indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <string>
#include <vector>

namespace tilewright {

/// Whether all threads of a block (or of a group of it) do this together.
bool isForWholeBlock(mlir::Operation* op);
/// Whether an op holds any that is.
bool holdsForWholeBlock(mlir::Operation* op);

/// Whether a launch has threads that may take ways of their own.
bool hasThreadGroups(tile::LaunchOp launch);

class ThreadGroups {
public:
  /// A branch whose sides groups take. Where they are known, each side's threads are ranges: first, end,
  /// and again; else the condition says in the run, and they are one range.
  struct Branch {
    mlir::scf::IfOp op;
    bool isKnown = false;
    llvm::SmallVector<int64_t, 4> taken, others;
  };
  /// What no group can do, and the branch (or loop) that it stands in.
  struct Problem {
    mlir::Operation* op;
    mlir::Operation* branch;
    std::string message;
  };

  explicit ThreadGroups(tile::LaunchOp launch);

  std::vector<Branch> branches;
  std::vector<Problem> problems;

private:
  /// The threads that come to a place.
  struct Group : ThreadParty {
    mlir::Operation* branch = nullptr; ///< that makes them a part of the block
  };

  void visit(mlir::Block& block, const Group& group);
  bool turnsDiffer(tile::ForOp loop);
  bool visitBranch(mlir::scf::IfOp branch, const Group& group);
  bool checkSide(mlir::Region& side, const Group& part, bool isNeighbours);
  bool checkJumps(mlir::Region& side, const Group& group, const Group& part);
  void check(mlir::Operation& op, const Group& group);
  void report(mlir::Operation* op, const Group& group, llvm::StringRef what, llvm::StringRef why);

  int64_t threads;
  ThreadDivergence divergence;
  ThreadIndices indices;
  ThreadChoices choices;
};

/// Marks the branches that groups take (group_threads.cpp).
void markThreadGroups(llvm::ArrayRef<ThreadGroups::Branch> branches);

/// What each thread adds is added for each of them (repeat_atomics.cpp).
void repeatAtomics(tile::LaunchOp launch, bool findsRaces = false);

/// Barriers on both sides of branches become those of all threads (join_barriers.cpp); gives what can't be.
std::vector<ThreadGroups::Problem> joinBarriers(tile::LaunchOp launch);

} // namespace tilewright
