// SPDX-License-Identifier: Apache-2.0
/// Variables (T.alloc_var) that each turn of a loop changes in the same way: `buf = 1 - buf`, `buf = (buf + 1) % n`.
#pragma once

#include "compiler/targets/ascend/turn_tables.h"

namespace tilewright::ascend {

/// What is read of an integer, by the turns of the loops around; nothing if it doesn't come again within kMostInTable,
/// or if what decides isn't known: an argument, an element of a tensor, a loop of unknown length before the read.
std::optional<TurnTable> turnsOfVariable(tile::LoadOp load);

/// How many turns a `while` makes each time that it runs, if that is one and the same small number, as variables of constants say.
std::optional<int64_t> turnsByVariables(tile::WhileOp loop);
/// How many turns it makes at most, by those of its variables of which that is known: `while t < 1 and k < n`.
std::optional<int64_t> mostTurnsByVariables(tile::WhileOp loop);

/// A read of a variable that a loop counts up, by a constant in each turn: it gives `start`, which it was before the loop, and
/// `ahead`, and `step` for each turn before.
struct CountedRead {
  mlir::Operation* loop = nullptr;
  mlir::Value start;
  int64_t step = 0, ahead = 0;
  IndexRange range; ///< all that it can be
};

/// Nothing if that isn't known, or if the number might come to the end of its type.
std::optional<CountedRead> countedRead(tile::LoadOp load);

/// Whether a store adds a constant to a variable in each turn of a loop, and might come to the end of its type: what begins
/// far from there, and goes on by little.
bool isCountedWithoutEnd(tile::StoreOp store);

/// The same as a table, which drifts, where the variable is a small constant before the loop.
std::optional<TurnTable> turnsOfCounter(tile::LoadOp load);

/// How long a `while` goes on that asks for a variable which each turn counts by a constant: as long as that, `start` before
/// the first turn, is below `bound` plus `more`, or, with a `step` below 0, above `bound` less `more`.
struct CountedTurns {
  mlir::Value start, bound;
  int64_t step = 0, more = 0;
  bool isAll = false; ///< nothing else ends it
};

/// Nothing if that isn't known, or if the number might come to the end of its type.
std::optional<CountedTurns> countedTurns(tile::WhileOp loop);

/// How many turns that is at most, if it goes from constant to constant.
std::optional<int64_t> mostTurnsOf(const CountedTurns& turns);

/// Of all such reads that a number is computed from.
void assumeCounters(mlir::Value number, IndexRanges& ranges);

/// Whether a buffer is an integer that is only loaded and stored, and that each core which reads it has stored itself.
bool isVariable(mlir::Value buffer);

} // namespace tilewright::ascend
