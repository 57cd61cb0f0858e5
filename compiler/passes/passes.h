// SPDX-License-Identifier: Apache-2.0
/// The target-neutral passes. A pass is one .cpp file of its name, a `create` function here, and a
/// line in registration.cpp.
#pragma once

#include <memory>

namespace mlir {
class Pass;
}

namespace tilewright {

/// mark_in_bounds.cpp
std::unique_ptr<mlir::Pass> createMarkInBounds();

/// assert_regions.cpp
std::unique_ptr<mlir::Pass> createAssertRegions();

/// repeat_atomics.cpp. `findsRaces`: threads are told apart, too, where they also touch what they add to without atomics.
std::unique_ptr<mlir::Pass> createRepeatAtomics(bool findsRaces = false);

/// take_turns.cpp
std::unique_ptr<mlir::Pass> createTakeTurns();

/// join_barriers.cpp
std::unique_ptr<mlir::Pass> createJoinBarriers();

/// group_threads.cpp
std::unique_ptr<mlir::Pass> createGroupThreads();

/// split_fragments.cpp
std::unique_ptr<mlir::Pass> createSplitFragments();

/// hoist_invariants.cpp
std::unique_ptr<mlir::Pass> createHoistInvariants();

/// insert_syncs.cpp
std::unique_ptr<mlir::Pass> createInsertSyncs();

/// Makes all passes of this folder, and MLIR's canonicalize and cse, known to tilewright-opt.
void registerPasses();

} // namespace tilewright
