// SPDX-License-Identifier: Apache-2.0
/// What the loops and branches around a branch or statement say of what it asks: `if k >= m` inside of `if k < m` is
/// never taken. Neither the walk (happens_before.h) nor what is written out (unroll.h) compares conditions.
#pragma once

#include "compiler/targets/ascend/analysis/program.h"

namespace tilewright::ascend::model {

/// Conditions that always hold, or never, where they stand become constant ones. A branch that leaves a loop (assigns to
/// a variable) and asks what one before it in its block has asked, in the same turn of all loops, goes by that one.
void settleBranches(Program& program);

} // namespace tilewright::ascend::model
