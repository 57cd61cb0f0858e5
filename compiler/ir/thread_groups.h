// SPDX-License-Identifier: Apache-2.0
/// Warps, and what the IR says of branches that groups of threads take.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace tilewright::tile {

/// So many threads go together: shuffles, votes and named barriers take whole warps.
inline constexpr int64_t kWarpSize = 32;

/// On an scf.if: groups of threads take its sides, and do together what stands there. An array of each
/// side's ranges of threads (first, end, ..); an empty one where the condition says in the run.
inline constexpr llvm::StringLiteral kThreadGroupsAttr = "tile.thread_groups";

/// On a tile.assert: a group of threads waits until its condition holds.
inline constexpr llvm::StringLiteral kWaitAttr = "tile.wait";

} // namespace tilewright::tile
