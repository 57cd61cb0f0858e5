// SPDX-License-Identifier: Apache-2.0
/// Loops of few turns: those that are no loops (`for i in range(n - 1, n)`, and those whose second turn stops the kernel),
/// and the most that others can have.
#pragma once

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/index_terms.h"

namespace tilewright::ascend {

/// Whether a loop makes no more than one turn, whatever its ends are, in runs that come to an end.
bool hasOneTurnAtMost(tile::ForOp loop, IndexTerms& indices);

/// On a loop over a part of a tile whose extent is known at run time only: how many steps the tile has. No copy or fill goes
/// behind its end.
/// On a `while`: how many turns it makes at most, each time that it runs (FollowVariables).
inline constexpr llvm::StringLiteral kMostTurnsAttr = "ascend.most_turns";
/// On such a `while`: it makes as many each time.
inline constexpr llvm::StringLiteral kAllTurnsAttr = "ascend.all_turns";

/// Sets that, if the loop's end isn't known.
void boundTurns(tile::ForOp loop, int64_t most);

/// What the text calls the number of a loop of the compiler's own, where the kernel has no such name.
void nameLoop(tile::ForOp loop, llvm::StringRef number);

/// The most turns that a loop makes, by that and by what its ends can be; nothing if no number is known.
std::optional<int64_t> mostTurnsOf(tile::ForOp loop);

} // namespace tilewright::ascend
