// SPDX-License-Identifier: Apache-2.0
/// Takes out what has been inserted and no run needs. `check` takes iterations and runs as one: here iterations are
/// written out (unroll.h), of as little of the program as can decide (slice.h), and runs are told apart by what never
/// changes in them (cases.h).
#pragma once

#include "compiler/targets/ascend/analysis/insertion_state.h"

namespace tilewright::ascend::model {

/// Takes out whole insertions.
void pruneByRuns(InsertionState& state);

/// Where a loop is so short that no iteration waits for one of the events that take turns, one event
/// is enough. True if there are such.
bool endTurns(InsertionState& state);

} // namespace tilewright::ascend::model
