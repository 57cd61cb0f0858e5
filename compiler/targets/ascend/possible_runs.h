// SPDX-License-Identifier: Apache-2.0
/// What a kernel's runs come to, for all that its arguments and elements can be.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/possible_states.h"

namespace tilewright::ascend {

/// What was so in all states that came to a place.
struct Seen {
  bool isTaken = false, isPassed = false;       ///< of branches
  std::optional<int64_t> leastTurns, mostTurns; ///< of loops, each time that they run
  bool isEndless = false;                       ///< they may have more turns than were followed
  std::optional<IndexRange> range;              ///< of reads, as slots of states have it
};
using SeenPlaces = llvm::DenseMap<mlir::Operation*, Seen>;

/// Of all loops, branches and reads that variables and known elements have a part in; those that no state came to are not
/// there. Nothing, if a launch is too long to be followed to its end.
std::optional<SeenPlaces> seenIn(tile::LaunchOp launch);

} // namespace tilewright::ascend
