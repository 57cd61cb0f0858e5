// SPDX-License-Identifier: Apache-2.0
/// Variables (T.alloc_var) that each turn of a loop changes in the same way: `buf = 1 - buf`, `buf = (buf + 1) % n`.
#pragma once

#include "compiler/targets/ascend/turn_tables.h"

namespace tilewright::ascend {

/// What is read of an integer, by the turns of the loops around; nothing if it doesn't come again within kMostInTable,
/// or if what decides isn't known: an argument, an element of a tensor, a loop of unknown length before the read.
std::optional<TurnTable> turnsOfVariable(tile::LoadOp load);

/// The same of one that nothing but a loop counts up, by a constant in each turn: it drifts.
std::optional<TurnTable> turnsOfCounter(tile::LoadOp load);

/// Whether a buffer is an integer that is only loaded and stored, and that each core which reads it has stored itself.
bool isVariable(mlir::Value buffer);

} // namespace tilewright::ascend
